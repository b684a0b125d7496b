//! What was read and not yet taken. The stream's task puts in; a reader waits without taking, then takes without waiting, so
//! that a wait which is given up loses nothing. Items and bytes are bounded, whatever the reader does.

use super::item::{Item, Notice, RESTARTED};
use super::options::{Options, Overflow};
use super::queue::Queue;
use super::sync::{Mutex, MutexGuard, PoisonError, wait, waker};
use crate::error::Error;
use std::future::poll_fn;
use std::iter::Peekable;
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
    /// Gaps that the service closed.
    pub recovered: u64,
    /// When the newest update was received.
    pub last: Option<SystemTime>,
}

/// Updates that have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    pub all: u64,
    /// Of those, the ones that were not taken.
    pub waiting: usize,
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
    /// Nothing is given for now.
    is_held: bool,
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
            is_held: false,
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
        if inner.is_held {
            return Taken::Nothing;
        }
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

    /// Gives nothing until `release`, or the end.
    pub fn hold(&self) {
        let mut inner = self.inner();
        inner.is_held = inner.end.is_none();
    }

    /// What is there can be taken again, after this item.
    pub fn release(&self, first: Option<Item>) {
        let mut inner = self.inner();
        inner.is_held = false;
        if let Some(item) = first.filter(|_| inner.end.is_none()) {
            inner.counts.recovered += u64::from(matches!(item, Item::Notice(Notice::Recovered { .. })));
            inner.queue.put_back(item);
        }
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
    pub fn ready_within(&self, limit: Duration) -> bool {
        if self.inner().is_ready() {
            return true;
        }
        let waker = waker();
        let is_ready = wait(limit, &waker, |cx| self.poll_ready(cx.waker()));
        if !is_ready {
            self.forget(&waker);
        }
        is_ready
    }

    /// Nothing more is put in. What is there can still be taken, then comes the error.
    pub fn end(&self, error: Option<Error>) {
        let mut inner = self.inner();
        inner.end.get_or_insert(error);
        inner.is_held = false;
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

    /// What waits takes so many bytes, about.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.inner().queue.bytes()
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

    pub fn received(&self) -> Received {
        let inner = self.inner();
        Received { all: inner.counts.updates, waiting: inner.queue.updates() }
    }

    /// How long the oldest update has waited to be taken.
    pub fn lag(&self, now: SystemTime) -> Duration {
        let oldest = self.inner().queue.oldest();
        oldest.and_then(|at| now.duration_since(at).ok()).unwrap_or_default()
    }
}

impl Inner {
    fn is_ready(&self) -> bool {
        !self.is_held && (!self.queue.is_empty() || self.end.is_some())
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
