//! Tests thread interleavings with shuttle: the buffer of a stream (the same file, compiled with shuttle's locks), and the waker
//! of an event loop.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used)]

use super::{gap_reason, item, options, queue};
use item::{Item, Update};
use options::{Overflow, StreamOptions};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::{future, thread};
use std::time::{Duration, SystemTime};

// The same file, compiled with shuttle's locks; the model uses only part of it.
#[allow(dead_code, clippy::duplicate_mod)]
#[allow(unreachable_pub)] // They are exported from the module itself.
#[path = "buffer.rs"]
mod buffer;

use buffer::{Buffer, Taken};

mod sync {
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Duration;

    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;

    struct ShuttleUnpark(shuttle::thread::Thread);

    impl Wake for ShuttleUnpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }

    pub(super) fn waker() -> Waker {
        Waker::from(std::sync::Arc::new(ShuttleUnpark(shuttle::thread::current())))
    }

    /// Waits without a limit: a lost wake-up is a deadlock, which shuttle reports.
    pub(super) fn wait(_limit: Duration, waker: &Waker, mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) -> bool {
        while poll(&mut Context::from_waker(waker)).is_pending() {
            shuttle::thread::park();
        }
        true
    }
}

const SCHEDULES: usize = 500;
const DAY: Duration = Duration::from_secs(86_400);

fn update(n: i64) -> Item {
    let received_at = SystemTime::UNIX_EPOCH;
    Item::Update(Update {
        event: None,
        id: "".into(),
        text: String::new(),
        binary: None,
        seq: Some(n),
        source: None,
        received_at,
    })
}

/// Every item is taken once and in order, by a waiting thread or task, however small the buffer is.
#[test]
fn all_items_reach_a_waiting_reader() {
    let model = |blocks: bool| {
        move || {
            let options = StreamOptions { buffer: 2, overflow: Overflow::Block, ..StreamOptions::default() };
            let buffer = Arc::new(Buffer::new(&options));
            let sink = buffer.clone();
            let producer = thread::spawn(move || {
                future::block_on(sink.push_all((0..5).map(update).collect()));
                sink.end(None);
            });
            let mut seen = Vec::new();
            loop {
                match buffer.take() {
                    Taken::Item(Item::Update(update)) => seen.extend(update.seq),
                    Taken::Item(Item::Notice(_)) => {}
                    Taken::Nothing if blocks => assert!(buffer.ready_within(DAY)),
                    Taken::Nothing => future::block_on(buffer.ready()),
                    Taken::Ended(_) => break,
                }
            }
            assert_eq!(seen, [0, 1, 2, 3, 4]);
            producer.join().unwrap();
        }
    };
    shuttle::check_random(model(true), SCHEDULES);
    shuttle::check_random(model(false), SCHEDULES);
}

/// `close` from any thread wakes the waiting reader and producer.
#[test]
fn close_ends_all_waits() {
    let model = || {
        let options = StreamOptions { buffer: 1, overflow: Overflow::Block, ..StreamOptions::default() };
        let buffer = Arc::new(Buffer::new(&options));
        let (sink, closed) = (buffer.clone(), buffer.clone());
        let producer = thread::spawn(move || future::block_on(sink.push_all((0..3).map(update).collect())));
        let closer = thread::spawn(move || closed.close());
        while !matches!(buffer.take(), Taken::Ended(_)) {
            buffer.ready_within(DAY);
        }
        producer.join().unwrap();
        closer.join().unwrap();
    };
    shuttle::check_random(model, SCHEDULES);
}

/// The protocol of `crates/python/src/loop_waker.rs`: whoever adds the first completion writes a byte; the loop reads bytes before it takes all
/// completions. In the other order it could consume the byte of a completion that it has not taken.
#[test]
fn an_event_loop_is_woken_for_every_completion() {
    let model = || {
        const PER_THREAD: usize = 2;
        let queue = Arc::new((Mutex::new(Vec::new()), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    for n in 0..PER_THREAD {
                        let is_first = {
                            let mut completions = queue.0.lock().unwrap();
                            completions.push(n);
                            completions.len() == 1
                        };
                        if is_first {
                            queue.1.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        let mut count = 0;
        let mut drain = || {
            queue.1.store(0, Ordering::SeqCst);
            count += std::mem::take(&mut *queue.0.lock().unwrap()).len();
        };
        for _ in 0..3 {
            if queue.1.load(Ordering::SeqCst) > 0 {
                drain();
            }
            thread::yield_now();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // Now the loop would sleep unless there is a byte.
        while queue.1.load(Ordering::SeqCst) > 0 {
            drain();
        }
        assert_eq!(count, 2 * PER_THREAD);
    };
    shuttle::check_random(model, 4 * SCHEDULES);
}
