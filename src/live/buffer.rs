//! What was read and not yet taken. The stream's task puts in; a reader waits without taking, then takes without waiting, so
//! that a wait which is given up loses nothing. Items and bytes are bounded, whatever the reader does.

use super::item::{Item, Notice, RESTARTED};
use super::options::{Options, Overflow};
use super::queue::Queue;
use crate::error::Error;
use crate::machine;
use std::future::poll_fn;
use std::iter::Peekable;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Where a stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not asked for an item yet.
    New,
    Connecting,
    Connected,
    /// Before the next attempt.
    Waiting,
    Closed,
}

/// What a stream has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub updates: u64,
    pub bytes: u64,
    pub reconnects: u64,
    pub gaps: u64,
    /// Messages that an earlier connection had delivered, and that were left out.
    pub repeats: u64,
    pub dropped: u64,
    /// When the newest update was received.
    pub last: Option<SystemTime>,
}

/// What a reader gets.
#[derive(Debug)]
pub enum Taken {
    Item(Item),
    /// None is there yet.
    Nothing,
    /// There will be none: the stream was closed, or failed, which is told once.
    Ended(Option<Error>),
}

#[derive(Debug)]
pub struct Buffer {
    inner: Mutex<Inner>,
    room: Notify,
    capacity: usize,
    max_bytes: usize,
    overflow: Overflow,
    notices: bool,
    first_quiet: bool,
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    /// Somebody has more to put in than there is room for.
    is_starved: bool,
    state: State,
    counts: Counts,
    /// `Some`: nothing more is put in.
    end: Option<Option<Error>>,
    /// Those who await something to take, or the end: tasks, event loops and threads.
    waiting: Vec<Waker>,
}

impl Buffer {
    pub fn new(options: &Options) -> Self {
        let capacity = options.buffer.max(1);
        let inner = Inner {
            queue: Queue::new(capacity),
            is_starved: false,
            state: State::New,
            counts: Counts::default(),
            end: None,
            waiting: Vec::new(),
        };
        Buffer {
            inner: Mutex::new(inner),
            room: Notify::new(),
            capacity,
            max_bytes: options.max_buffer_bytes,
            overflow: options.overflow,
            notices: options.notices,
            first_quiet: options.first_quiet,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item in; under `block` an update waits for room.
    pub async fn push(&self, item: Item) {
        self.push_all(std::iter::once(item)).await;
    }

    /// Puts items in, in their order: locked once and waking once for all that there is room for.
    pub async fn push_all(&self, items: impl Iterator<Item = Item> + Send) {
        let mut items = items.peekable();
        loop {
            let room = self.room();
            if self.try_push(&mut items) {
                return;
            }
            room.await;
        }
    }

    /// Ends when there is room for what was refused after this call.
    pub fn room(&self) -> Notified<'_> {
        self.room.notified()
    }

    /// Takes no more items than there is room for; whether those were all. Notices never wait.
    pub fn try_push<I: Iterator<Item = Item>>(&self, items: &mut Peekable<I>) -> bool {
        let mut inner = self.inner();
        while inner.end.is_none()
            && let Some(item) = items.next_if(|item| self.has_room(&inner.queue, item))
        {
            inner.count(&item);
            if !self.is_kept(&inner, &item) {
                continue;
            }
            if matches!(item, Item::Update(_)) {
                self.make_room(&mut inner, item.size());
            }
            inner.queue.push(item);
        }
        let all = inner.end.is_some() || items.peek().is_none();
        inner.is_starved |= !all;
        self.wake(inner);
        all
    }

    fn has_room(&self, queue: &Queue, item: &Item) -> bool {
        // One item always fits, however large.
        let fits = queue.len() < self.capacity && queue.bytes().saturating_add(item.size()) <= self.max_bytes;
        self.overflow != Overflow::Block || matches!(item, Item::Notice(_)) || queue.is_empty() || fits
    }

    fn make_room(&self, inner: &mut Inner, size: usize) {
        let most = match self.overflow {
            Overflow::Block => return,
            Overflow::DropOldest => self.capacity,
            Overflow::Latest => 1,
        };
        let queue = &mut inner.queue;
        while queue.updates() > 0 && (queue.updates() >= most || queue.bytes().saturating_add(size) > self.max_bytes) {
            inner.counts.gaps += u64::from(queue.drop_oldest(self.notices));
            inner.counts.dropped += 1;
        }
    }

    pub fn gives_notices(&self) -> bool {
        self.notices
    }

    fn is_kept(&self, inner: &Inner, item: &Item) -> bool {
        let is_first_quiet = || self.first_quiet && inner.counts.updates == 0;
        match item {
            Item::Update(_) => true,
            Item::Notice(Notice::Quiet { .. }) => self.notices || is_first_quiet(),
            Item::Notice(_) => self.notices,
        }
    }

    fn wake(&self, mut inner: MutexGuard<'_, Inner>) {
        if !inner.is_ready() {
            return;
        }
        let waiting = std::mem::take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The next item, if it is there.
    pub fn take(&self) -> Taken {
        let mut inner = self.inner();
        match inner.queue.pop() {
            Some(item) => {
                // Half empty: for each item alone the task would be woken too often.
                let has_room = inner.queue.len() <= self.capacity / 2 && inner.queue.bytes() <= self.max_bytes / 2;
                let is_awaited = has_room && std::mem::take(&mut inner.is_starved);
                drop(inner);
                if is_awaited {
                    self.room.notify_waiters();
                }
                Taken::Item(item)
            }
            None => match &mut inner.end {
                None => Taken::Nothing,
                Some(error) => Taken::Ended(error.take()),
            },
        }
    }

    /// Gives back what was taken last: it is the next to be taken.
    pub fn put_back(&self, item: Item) {
        let mut inner = self.inner();
        inner.queue.put_back(item);
        self.wake(inner);
    }

    /// Waits until there is something to take, and takes nothing.
    pub async fn ready(&self) {
        poll_fn(|cx| self.poll_ready(cx.waker())).await;
    }

    /// Whether there is something to take. If not, the waker is woken when there is, once for each time it was given.
    pub fn poll_ready(&self, waker: &Waker) -> Poll<()> {
        let mut inner = self.inner();
        if inner.is_ready() {
            return Poll::Ready(());
        }
        inner.waiting.push(waker.clone());
        Poll::Pending
    }

    /// The waker, made of an `Arc`, is woken no more.
    pub fn forget(&self, waker: &Waker) {
        // `will_wake` compares tables of functions too, of which a type may have several.
        self.inner().waiting.retain(|there| there.data() != waker.data());
    }

    /// As `ready`, on this thread and for so long at most; whether there is something to take.
    pub fn ready_within(&self, wait: Duration) -> bool {
        if self.inner().is_ready() {
            return true;
        }
        let waker = machine::waker();
        let is_ready = machine::wait(wait, &waker, |cx| self.poll_ready(cx.waker()));
        if !is_ready {
            self.forget(&waker);
        }
        is_ready
    }

    /// Nothing more is put in. What is there can still be taken, then comes the error.
    pub fn end(&self, error: Option<Error>) {
        let mut inner = self.inner();
        inner.end.get_or_insert(error);
        inner.state = State::Closed;
        self.wake(inner);
        self.room.notify_waiters();
    }

    /// The reader wants no more: what is there is thrown away.
    pub fn close(&self) {
        self.end(None);
        let mut inner = self.inner();
        inner.queue = Queue::new(self.capacity);
        inner.end = Some(None);
    }

    pub fn set_state(&self, state: State) {
        let mut inner = self.inner();
        if inner.end.is_none() {
            inner.state = state;
        }
    }

    pub fn state(&self) -> State {
        self.inner().state
    }

    /// Counts what was read.
    pub fn add_read(&self, bytes: usize, repeats: usize) {
        let counts = &mut self.inner().counts;
        counts.bytes += bytes as u64;
        counts.repeats += repeats as u64;
    }

    pub fn counts(&self) -> Counts {
        self.inner().counts
    }

    /// How long the oldest update has waited to be taken.
    pub fn lag(&self, now: SystemTime) -> Duration {
        let oldest = self.inner().queue.oldest();
        oldest.and_then(|at| now.duration_since(at).ok()).unwrap_or_default()
    }
}

impl Inner {
    fn is_ready(&self) -> bool {
        !self.queue.is_empty() || self.end.is_some()
    }

    fn count(&mut self, item: &Item) {
        match item {
            Item::Update(update) => {
                self.counts.updates += 1;
                self.counts.last = Some(update.received_at);
            }
            Item::Notice(Notice::Gap { end, reason, dropped, .. }) => {
                self.counts.gaps += 1;
                // The other gaps stand within a connection.
                let is_reconnect = end.is_some() && dropped.is_none() && reason != RESTARTED;
                self.counts.reconnects += u64::from(is_reconnect);
            }
            Item::Notice(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::item::Update;
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

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

    /// Whether they were all put in.
    fn put(buffer: &Buffer, items: impl IntoIterator<Item = Item>) -> bool {
        buffer.try_push(&mut items.into_iter().peekable())
    }

    fn buffer(capacity: usize, overflow: Overflow, notices: bool) -> Buffer {
        Buffer::new(&Options { buffer: capacity, overflow, notices, ..Options::default() })
    }

    fn filled(overflow: Overflow, notices: bool, one_by_one: bool) -> Buffer {
        let buffer = buffer(3, overflow, notices);
        let items = [update(1), notice(), update(2), update(3), update(4), update(5)];
        if one_by_one {
            for item in items {
                put(&buffer, [item]);
            }
        } else {
            put(&buffer, items);
        }
        buffer
    }

    #[test]
    fn a_full_buffer_takes_no_more_or_gives_way_as_its_policy_says() {
        for one_by_one in [true, false] {
            assert_eq!(numbers(&filled(Overflow::Block, true, one_by_one)), [Some(1), None, Some(2)]);
            let dropped = filled(Overflow::DropOldest, true, one_by_one);
            assert_eq!(dropped.counts().dropped, 2);
            assert_eq!(dropped.counts().gaps, 2);
            // A gap for 1, the notice, a gap for 2.
            assert_eq!(numbers(&dropped), [None, None, None, Some(3), Some(4), Some(5)]);
            let latest = filled(Overflow::Latest, false, one_by_one);
            assert_eq!((latest.counts().dropped, latest.counts().updates), (4, 5));
            assert_eq!(numbers(&latest), [Some(5)]);
        }
    }

    #[test]
    fn bytes_bound_the_buffer_under_every_policy_and_one_item_always_fits() {
        let large = |n: i64| {
            let Item::Update(update) = update(n) else { panic!() };
            Item::Update(Update { text: "x".repeat(1_000), ..update })
        };
        for overflow in [Overflow::Block, Overflow::DropOldest, Overflow::Latest] {
            let options = Options { max_buffer_bytes: 4_000, overflow, notices: false, ..Options::default() };
            let buffer = Buffer::new(&options);
            let mut items = (0..100).map(large).peekable();
            buffer.try_push(&mut items);
            assert!(buffer.inner().queue.bytes() <= 4_000);
            assert_eq!(items.peek().is_some(), overflow == Overflow::Block);
        }
        let small = Buffer::new(&Options { max_buffer_bytes: 10, ..Options::default() });
        assert!(put(&small, [large(1)]) && !put(&small, [large(2)]));
    }

    #[test]
    fn notices_are_never_kept_waiting() {
        let buffer = buffer(2, Overflow::Block, true);
        assert!(put(&buffer, [update(1), update(2)]) && !put(&buffer, [update(3)]));
        assert!(put(&buffer, [notice(), notice()]));
    }

    #[test]
    fn quiet_is_an_item_without_notices_until_the_first_update_where_that_is_wanted() {
        let quiet = || Item::Notice(Notice::Quiet { since: SystemTime::UNIX_EPOCH });
        for first_quiet in [false, true] {
            let buffer = Buffer::new(&Options { notices: false, first_quiet, ..Options::default() });
            assert!(put(&buffer, [quiet(), update(1), quiet()]));
            let first = if first_quiet { buffer.take() } else { Taken::Nothing };
            assert_eq!(matches!(first, Taken::Item(Item::Notice(Notice::Quiet { .. }))), first_quiet);
            assert!(matches!(buffer.take(), Taken::Item(Item::Update(_))), "{first_quiet}");
            assert!(matches!(buffer.take(), Taken::Nothing), "{first_quiet}");
        }
    }

    #[test]
    fn the_end_comes_after_what_was_put_in_before_and_its_error_once() {
        let buffer = buffer(3, Overflow::Block, true);
        assert!(put(&buffer, [update(1)]));
        buffer.end(Some(Error::Closed));
        assert!(put(&buffer, [update(2)]));
        assert!(matches!(buffer.take(), Taken::Item(_)));
        assert!(matches!(buffer.take(), Taken::Ended(Some(Error::Closed))));
        assert!(matches!(buffer.take(), Taken::Ended(None)));
        assert_eq!(buffer.state(), State::Closed);
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_takes_nothing() {
        let buffer = Arc::new(buffer(3, Overflow::Block, true));
        for n in 0..100 {
            let waiting = tokio::time::timeout(Duration::from_micros(n * 7), buffer.ready());
            let pushing = async { buffer.push(update(n as i64)).await };
            let _ = tokio::join!(waiting, pushing);
            assert_eq!(numbers(&buffer), [Some(n as i64)]);
        }
    }

    #[tokio::test]
    async fn a_blocked_push_goes_on_when_there_is_room_and_when_it_ends() {
        let buffer = Arc::new(buffer(2, Overflow::Block, true));
        let put = buffer.clone();
        let task = tokio::spawn(async move {
            for n in (0..1000).step_by(10) {
                put.push_all((n..n + 10).map(update)).await;
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 500 {
            buffer.ready().await;
            taken.extend(numbers(&buffer));
        }
        buffer.close();
        tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
        assert_eq!(taken, (0..taken.len() as i64).map(Some).collect::<Vec<_>>());
        assert!(matches!(buffer.take(), Taken::Ended(None)));
    }

    #[test]
    fn a_waker_is_woken_once_where_something_is_to_be_taken_and_not_once_it_is_forgotten() {
        #[derive(Default)]
        struct Heard(AtomicUsize);
        impl Wake for Heard {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (heard, forgotten) = (Arc::new(Heard::default()), Arc::new(Heard::default()));
        let buffer = buffer(3, Overflow::Block, false);
        for waker in [&heard, &forgotten].map(|heard| Waker::from(heard.clone())) {
            assert!(buffer.poll_ready(&waker).is_pending());
        }
        buffer.forget(&Waker::from(forgotten.clone()));
        assert_eq!(Arc::strong_count(&forgotten), 1);
        put(&buffer, [notice()]);
        assert_eq!(heard.0.load(Ordering::Relaxed), 0, "a notice that is not kept is nothing to take");
        put(&buffer, [update(1)]);
        put(&buffer, [update(2)]);
        assert_eq!(heard.0.load(Ordering::Relaxed), 1);
        assert!(buffer.poll_ready(&Waker::from(heard.clone())).is_ready());
        numbers(&buffer);
        assert!(buffer.poll_ready(&Waker::from(heard.clone())).is_pending());
        buffer.end(None);
        assert_eq!((heard.0.load(Ordering::Relaxed), forgotten.0.load(Ordering::Relaxed)), (2, 0));
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn a_thread_that_waits_is_woken_by_an_item_and_by_the_end() {
        let buffer = Arc::new(buffer(2, Overflow::Block, true));
        assert!(!buffer.ready_within(Duration::from_millis(1)));
        for end in [false, true] {
            let there = buffer.clone();
            let thread = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                if end { there.end(None) } else { assert!(put(&there, [update(1)])) }
            });
            assert!(buffer.ready_within(Duration::from_secs(20)));
            numbers(&buffer);
            thread.join().unwrap();
        }
    }
}
