//! Tests of the buffer.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::buffer::{Buffer, ConnectionState, Taken};
use super::item::{Item, Notice, Update};
use super::options::{Overflow, StreamOptions};
use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, SystemTime};

fn update(n: i64) -> Item {
    let text = n.to_string();
    let received_at = SystemTime::UNIX_EPOCH;
    Item::Update(Update { event: None, id: "".into(), text, binary: None, seq: Some(n), source: None, received_at })
}

fn notice() -> Item {
    Item::Notice(Notice::Quiet { since: SystemTime::UNIX_EPOCH })
}

fn numbers(buffer: &Buffer) -> Vec<Option<i64>> {
    let mut all = Vec::new();
    while let Taken::Item(item) = buffer.take() {
        all.push(match item {
            Item::Update(update) => update.seq,
            Item::Notice(_) => None,
        });
    }
    all
}

/// Returns whether all items were pushed.
fn push(buffer: &Buffer, items: impl IntoIterator<Item = Item>) -> bool {
    buffer.try_push(&mut items.into_iter().collect())
}

fn buffer(capacity: usize, overflow: Overflow, notices: bool) -> Buffer {
    Buffer::new(&StreamOptions { buffer: capacity, overflow, notices, ..StreamOptions::default() })
}

fn full_buffer(overflow: Overflow, notices: bool, one_by_one: bool) -> Buffer {
    let buffer = buffer(3, overflow, notices);
    let items = [update(1), notice(), update(2), update(3), update(4), update(5)];
    if one_by_one {
        for item in items {
            push(&buffer, [item]);
        }
    } else {
        push(&buffer, items);
    }
    buffer
}

#[test]
fn a_full_buffer_blocks_or_drops_by_its_policy() {
    for one_by_one in [true, false] {
        assert_eq!(numbers(&full_buffer(Overflow::Block, true, one_by_one)), [Some(1), None, Some(2)]);
        let dropped = full_buffer(Overflow::DropOldest, true, one_by_one);
        assert_eq!(dropped.counts().dropped, 2);
        assert_eq!(dropped.counts().gaps, 2);
        // A gap for 1, the notice, a gap for 2.
        assert_eq!(numbers(&dropped), [None, None, None, Some(3), Some(4), Some(5)]);
        let latest = full_buffer(Overflow::Latest, false, one_by_one);
        assert_eq!((latest.counts().dropped, latest.counts().updates), (4, 5));
        assert_eq!(numbers(&latest), [Some(5)]);
    }
}

#[test]
fn bytes_are_bounded_under_every_policy_and_one_item_always_fits() {
    let large = |n: i64| {
        let Item::Update(update) = update(n) else { panic!() };
        Item::Update(Update { text: "x".repeat(1_000), ..update })
    };
    for overflow in [Overflow::Block, Overflow::DropOldest, Overflow::Latest] {
        let options = StreamOptions { max_buffer_bytes: 4_000, overflow, notices: false, ..StreamOptions::default() };
        let buffer = Buffer::new(&options);
        let mut items = (0..100).map(large).collect();
        buffer.try_push(&mut items);
        assert!(buffer.bytes() <= 4_000);
        assert_eq!(!items.is_empty(), overflow == Overflow::Block);
    }
    let small = Buffer::new(&StreamOptions { max_buffer_bytes: 10, ..StreamOptions::default() });
    assert!(push(&small, [large(1)]) && !push(&small, [large(2)]));
}

#[test]
fn notices_never_wait_for_room() {
    let buffer = buffer(2, Overflow::Block, true);
    assert!(push(&buffer, [update(1), update(2)]) && !push(&buffer, [update(3)]));
    assert!(push(&buffer, [notice(), notice()]));
}

#[test]
fn with_first_quiet_a_quiet_notice_is_an_item_until_the_first_update() {
    let quiet = || Item::Notice(Notice::Quiet { since: SystemTime::UNIX_EPOCH });
    for first_quiet in [false, true] {
        let buffer = Buffer::new(&StreamOptions { notices: false, first_quiet, ..StreamOptions::default() });
        assert!(push(&buffer, [quiet(), update(1), quiet()]));
        let first = if first_quiet { buffer.take() } else { Taken::Nothing };
        assert_eq!(matches!(first, Taken::Item(Item::Notice(Notice::Quiet { .. }))), first_quiet);
        assert!(matches!(buffer.take(), Taken::Item(Item::Update(_))), "{first_quiet}");
        assert!(matches!(buffer.take(), Taken::Nothing), "{first_quiet}");
    }
}

#[test]
fn the_end_follows_the_buffered_items_and_its_error_is_returned_once() {
    let buffer = buffer(3, Overflow::Block, true);
    assert!(push(&buffer, [update(1)]));
    buffer.end(Some(Error::Closed));
    assert!(push(&buffer, [update(2)]));
    assert!(matches!(buffer.take(), Taken::Item(_)));
    assert!(matches!(buffer.take(), Taken::Ended(Some(Error::Closed))));
    assert!(matches!(buffer.take(), Taken::Ended(None)));
    assert_eq!(buffer.state(), ConnectionState::Closed);
}

#[tokio::test]
async fn a_cancelled_wait_takes_nothing() {
    let buffer = Arc::new(buffer(3, Overflow::Block, true));
    for n in 0..100 {
        let waiting = tokio::time::timeout(Duration::from_micros(n * 7), buffer.ready());
        let pushing = async { buffer.push(update(n as i64)).await };
        let _ = tokio::join!(waiting, pushing);
        assert_eq!(numbers(&buffer), [Some(n as i64)]);
    }
}

#[tokio::test]
async fn a_blocked_push_continues_when_there_is_room_and_at_the_end() {
    let buffer = Arc::new(buffer(2, Overflow::Block, true));
    let sink = buffer.clone();
    let task = tokio::spawn(async move {
        for n in (0..1000).step_by(10) {
            sink.push_all((n..n + 10).map(update).collect()).await;
        }
    });
    let mut taken_numbers = Vec::new();
    while taken_numbers.len() < 500 {
        buffer.ready().await;
        taken_numbers.extend(numbers(&buffer));
    }
    buffer.close();
    tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
    assert_eq!(taken_numbers, (0..taken_numbers.len() as i64).map(Some).collect::<Vec<_>>());
    assert!(matches!(buffer.take(), Taken::Ended(None)));
}

#[test]
fn a_waker_is_called_once_per_registration_and_never_after_its_removal() {
    #[derive(Default)]
    struct WakeCount(AtomicUsize);
    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (count, other_count) = (Arc::new(WakeCount::default()), Arc::new(WakeCount::default()));
    let buffer = buffer(3, Overflow::Block, false);
    for waker in [&count, &other_count].map(|count| Waker::from(count.clone())) {
        assert!(buffer.poll_ready(&waker).is_pending());
    }
    buffer.remove_waker(&Waker::from(other_count.clone()));
    assert_eq!(Arc::strong_count(&other_count), 1);
    push(&buffer, [notice()]);
    assert_eq!(count.0.load(Ordering::Relaxed), 0, "a discarded notice is no item");
    push(&buffer, [update(1)]);
    push(&buffer, [update(2)]);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(buffer.poll_ready(&Waker::from(count.clone())).is_ready());
    numbers(&buffer);
    assert!(buffer.poll_ready(&Waker::from(count.clone())).is_pending());
    buffer.end(None);
    assert_eq!((count.0.load(Ordering::Relaxed), other_count.0.load(Ordering::Relaxed)), (2, 0));
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_waiting_thread_is_woken_by_an_item_and_by_the_end() {
    let buffer = Arc::new(buffer(2, Overflow::Block, true));
    assert!(!buffer.ready_within(Duration::from_millis(1)));
    for end in [false, true] {
        let shared = buffer.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            if end { shared.end(None) } else { assert!(push(&shared, [update(1)])) }
        });
        assert!(buffer.ready_within(Duration::from_secs(20)));
        numbers(&buffer);
        thread.join().unwrap();
    }
}

fn cut(is_final: bool) -> Notice {
    let at = SystemTime::UNIX_EPOCH;
    Notice::Gap { start: at, end: Some(at), reason: "it was cut".into(), dropped: None, is_final }
}

fn recovered() -> Notice {
    Notice::Recovered { gap: Box::new(cut(false)), updates: Vec::new().into(), requested_at: None }
}

#[test]
fn gaps_that_the_stream_closes_precede_the_buffered_items() {
    let recovering = Notice::Recovering {
        gap: Box::new(cut(false)),
        updates: Vec::new().into(),
        missing: Vec::new(),
        requested_at: SystemTime::UNIX_EPOCH,
    };
    let buffer = buffer(8, Overflow::Block, true);
    push(&buffer, [Item::Notice(recovering), update(1)]);
    buffer.push_closed_gaps(vec![recovered()]);
    assert!(matches!(buffer.take(), Taken::Item(Item::Notice(Notice::Recovered { .. }))));
    assert_eq!((buffer.counts().recovered, numbers(&buffer)), (1, vec![Some(1)]), "without the partial state");
    assert_eq!(buffer.bytes(), 0);
    buffer.end(None);
    buffer.push_closed_gaps(vec![recovered()]);
    assert!(matches!(buffer.take(), Taken::Ended(None)), "nothing follows the end");
}

#[test]
fn gaps_that_the_stream_closes_follow_those_that_a_request_has_closed() {
    let from = |second| Notice::Gap {
        start: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
        end: Some(SystemTime::UNIX_EPOCH),
        reason: "it was cut".into(),
        dropped: None,
        is_final: second == 1,
    };
    let closed = |second, requested_at| Notice::Recovered {
        gap: Box::new(from(second)),
        updates: Vec::new().into(),
        requested_at,
    };
    let buffer = buffer(8, Overflow::Block, true);
    push(&buffer, [update(1), Item::Notice(from(1)), Item::Notice(closed(2, Some(SystemTime::UNIX_EPOCH)))]);
    buffer.push_closed_gaps(vec![closed(3, None)]);
    for second in 1..=3 {
        let (gap, requested_at) = match buffer.take() {
            Taken::Item(Item::Notice(Notice::Recovered { gap, requested_at, .. })) => (*gap, requested_at),
            Taken::Item(Item::Notice(gap)) => (gap, None),
            other => panic!("{other:?}"),
        };
        assert_eq!((gap, requested_at), (from(second), None));
    }
    assert_eq!((buffer.counts().recovered, numbers(&buffer)), (2, vec![Some(1)]));
    assert_eq!(buffer.bytes(), 0);
}

#[test]
fn gaps_are_open_until_they_are_closed_or_final() {
    let buffer = buffer(2, Overflow::DropOldest, true);
    let open = || (buffer.counts().gaps, buffer.counts().open_gaps);
    push(&buffer, [Item::Notice(cut(false)), update(1)]);
    push(&buffer, [Item::Notice(cut(false))]);
    assert_eq!(open(), (2, 2));
    push(&buffer, [Item::Notice(recovered())]);
    assert_eq!(open(), (2, 1));
    push(&buffer, [Item::Notice(cut(true))]);
    assert_eq!(open(), (2, 0), "the end of an earlier one, not another gap");
    push(&buffer, [update(2)]);
    push(&buffer, [update(3)]);
    assert_eq!(open(), (3, 1), "an overflow");
    // Those that nobody takes are merged.
    for _ in 0..100 {
        push(&buffer, [Item::Notice(cut(false))]);
    }
    let items = std::iter::from_fn(|| match buffer.take() {
        Taken::Item(item) => Some(item),
        _ => None,
    });
    let gaps = items.filter(|item| matches!(item, Item::Notice(Notice::Gap { is_final: false, .. }))).count();
    assert_eq!(open(), (103, gaps as u64 - 2), "all but the first two, which were closed or final");
}
