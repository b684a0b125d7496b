//! Buffers the items between the stream's task and its reader. Waiting and taking are separate calls, so that a cancelled wait
//! loses nothing. Items and bytes are bounded.

use super::gap_reason::GapReason;
use super::item::{Item, Notice};
use super::options::{Overflow, StreamOptions};
use super::queue::Queue;
use super::sync::{Mutex, MutexGuard, PoisonError, wait, waker};
use crate::error::Error;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The state of a stream's connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// Not opened yet.
    #[default]
    New,
    Connecting,
    Connected,
    /// Waiting before the next attempt.
    Waiting,
    Closed,
}

/// Counters of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    pub updates: u64,
    pub bytes: u64,
    pub reconnects: u64,
    pub gaps: u64,
    /// Messages left out because an earlier connection delivered them.
    pub repeats: u64,
    pub dropped: u64,
    /// Gaps that are closed.
    pub recovered: u64,
    /// Gaps that are neither closed nor final.
    pub open_gaps: u64,
    /// Rows that batches, displays and recovery could not read.
    pub unreadable: u64,
    /// When the newest update was received.
    pub last: Option<SystemTime>,
}

/// The result of taking.
#[derive(Debug)]
pub enum Taken {
    Item(Item),
    /// No item yet.
    Nothing,
    /// No more items: the stream was closed or failed. The error is returned once.
    Ended(Option<Error>),
}

#[derive(Debug)]
pub struct Buffer {
    inner: Mutex<BufferState>,
    /// Wakes pushers that wait for room.
    pushers: Notify,
    pub(super) options: StreamOptions,
}

#[derive(Debug, Default)]
struct BufferState {
    queue: Queue,
    /// A pusher waits for room.
    is_pusher_waiting: bool,
    state: ConnectionState,
    counts: StreamCounts,
    /// `Some`: pushes are ignored.
    end: Option<Option<Error>>,
    /// Readers to wake: tasks, event loops and threads.
    wakers: Vec<Waker>,
}

impl Buffer {
    pub fn new(options: &StreamOptions) -> Self {
        let queue = Queue::new(options.buffer, options.max_buffer_bytes);
        let inner = BufferState { queue, ..BufferState::default() };
        Buffer { inner: Mutex::new(inner), pushers: Notify::new(), options: options.clone() }
    }

    fn inner(&self) -> MutexGuard<'_, BufferState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pushes an item; with `Block`, an update waits for room.
    pub async fn push(&self, item: Item) {
        self.push_all([item].into()).await;
    }

    /// Pushes items in order, with one lock and one wake-up for all that fit.
    pub(crate) async fn push_all(&self, mut items: VecDeque<Item>) {
        loop {
            let notification = self.room();
            if self.try_push(&mut items) {
                return;
            }
            notification.await;
        }
    }

    /// Resolves when there is room for an item that `try_push` leaves over after this call.
    pub(crate) fn room(&self) -> Notified<'_> {
        self.pushers.notified()
    }

    /// Pushes the items that fit; returns whether those were all. Notices always fit.
    pub(crate) fn try_push(&self, items: &mut VecDeque<Item>) -> bool {
        let mut inner = self.inner();
        while inner.end.is_none()
            && items.front().is_some_and(|item| self.has_room(&inner.queue, item))
            && let Some(item) = items.pop_front()
        {
            inner.count(&item);
            if !self.should_keep(&inner, &item) {
                continue;
            }
            if matches!(item, Item::Update(_)) {
                self.make_room(&mut inner, item.size());
            }
            let merged_gaps = inner.queue.push(item);
            inner.close_gaps(merged_gaps);
        }
        let is_done = inner.end.is_some() || items.is_empty();
        inner.is_pusher_waiting |= !is_done;
        self.wake(inner);
        is_done
    }

    fn has_room(&self, queue: &Queue, item: &Item) -> bool {
        // One item always fits, however large.
        let StreamOptions { buffer, max_buffer_bytes, overflow, .. } = self.options;
        let fits = queue.len() < buffer && queue.bytes.saturating_add(item.size()) <= max_buffer_bytes;
        overflow != Overflow::Block || matches!(item, Item::Notice(_)) || queue.len() == 0 || fits
    }

    fn make_room(&self, inner: &mut BufferState, size: usize) {
        let StreamOptions { buffer, max_buffer_bytes, overflow, notices, .. } = self.options;
        let max_updates = match overflow {
            Overflow::Block => return,
            Overflow::DropOldest => buffer,
            Overflow::Latest => 1,
        };
        let queue = &mut inner.queue;
        while queue.updates > 0 && (queue.updates >= max_updates || queue.bytes.saturating_add(size) > max_buffer_bytes)
        {
            let is_new_gap = u64::from(queue.drop_oldest(notices));
            inner.counts.gaps += is_new_gap;
            inner.counts.open_gaps += is_new_gap;
            inner.counts.dropped += 1;
        }
    }

    fn should_keep(&self, inner: &BufferState, item: &Item) -> bool {
        let is_first_quiet = self.options.first_quiet && inner.counts.updates == 0;
        match item {
            Item::Update(_) => true,
            Item::Notice(Notice::Quiet { .. }) if is_first_quiet => true,
            Item::Notice(_) => self.options.notices,
        }
    }

    fn wake(&self, mut inner: MutexGuard<'_, BufferState>) {
        if !inner.is_ready() {
            return;
        }
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Takes the next item, if there is one.
    pub fn take(&self) -> Taken {
        let mut inner = self.inner();
        match inner.queue.pop() {
            Some(item) => {
                // Wake the task when the buffer is half empty, not for each item.
                let StreamOptions { buffer, max_buffer_bytes, .. } = self.options;
                let has_room = inner.queue.len() <= buffer / 2 && inner.queue.bytes <= max_buffer_bytes / 2;
                let wakes_pusher = has_room && std::mem::take(&mut inner.is_pusher_waiting);
                drop(inner);
                if wakes_pusher {
                    self.pushers.notify_waiters();
                }
                Taken::Item(item)
            }
            None => match &mut inner.end {
                None => Taken::Nothing,
                Some(error) => Taken::Ended(error.take()),
            },
        }
    }

    /// Puts back the item taken last, so that it is taken next.
    pub(crate) fn put_back(&self, item: Item) {
        let mut inner = self.inner();
        inner.queue.put_back(item);
        self.wake(inner);
    }

    /// Pushes the notices that the item taken last has closed all gaps. They precede all buffered items, and follow those of
    /// earlier gaps: where these are not taken yet, the item has closed those gaps too, and what was requested is discarded.
    pub(crate) fn push_closed_gaps(&self, notices: Vec<Notice>) {
        let Some(Notice::Recovered { updates, .. }) = notices.first() else { return };
        let mut inner = self.inner();
        if inner.end.is_none() {
            let mut closed = inner.queue.take_closed_gaps();
            for item in &mut closed {
                if let Item::Notice(Notice::Recovered { updates: recovered_updates, requested_at, .. }) = item {
                    (*recovered_updates, *requested_at) = (updates.clone(), None);
                }
            }
            for item in notices.into_iter().map(Item::Notice) {
                inner.count(&item);
                closed.push(item);
            }
            closed.into_iter().rev().for_each(|item| inner.queue.put_back(item));
        }
        self.wake(inner);
    }

    /// Waits until there is an item or the end, without taking it.
    pub async fn ready(&self) {
        poll_fn(|cx| self.poll_ready(cx.waker())).await;
    }

    /// Checks for an item or the end. If there is neither, the waker is called once when there is.
    pub fn poll_ready(&self, waker: &Waker) -> Poll<()> {
        let mut inner = self.inner();
        if inner.is_ready() {
            return Poll::Ready(());
        }
        inner.wakers.push(waker.clone());
        Poll::Pending
    }

    /// Removes a waker, which was made from an `Arc`.
    pub fn remove_waker(&self, waker: &Waker) {
        // `will_wake` also compares vtables, of which one type may have several.
        self.inner().wakers.retain(|other| other.data() != waker.data());
    }

    /// Like `ready`, but blocks this thread for at most `limit`; returns whether there is an item or the end.
    pub fn ready_within(&self, limit: Duration) -> bool {
        let waker = waker();
        let is_ready = wait(limit, &waker, |cx| self.poll_ready(cx.waker()));
        self.remove_waker(&waker);
        is_ready
    }

    /// Ends the stream: later pushes are ignored. Buffered items can still be taken, then the error.
    pub fn end(&self, error: Option<Error>) {
        let mut inner = self.inner();
        inner.end.get_or_insert(error);
        inner.state = ConnectionState::Closed;
        self.wake(inner);
        self.pushers.notify_waiters();
    }

    /// Ends the stream and discards the buffered items.
    pub fn close(&self) {
        self.end(None);
        let mut inner = self.inner();
        inner.queue = Queue::default();
        inner.end = Some(None);
    }

    pub(crate) fn set_state(&self, state: ConnectionState) {
        let mut inner = self.inner();
        if inner.end.is_none() {
            inner.state = state;
        }
    }

    /// Approximate size of the buffered items in bytes.
    pub fn bytes(&self) -> usize {
        self.inner().queue.bytes
    }

    pub fn state(&self) -> ConnectionState {
        self.inner().state
    }

    pub(crate) fn count_read(&self, bytes: usize, repeats: usize) {
        let counts = &mut self.inner().counts;
        counts.bytes += bytes as u64;
        counts.repeats += repeats as u64;
    }

    /// Counts rows that could not be read.
    pub fn count_unreadable(&self, rows: u64) {
        self.inner().counts.unreadable += rows;
    }

    /// Counts open gaps that became part of others.
    pub(crate) fn count_merged_gaps(&self, merged_gaps: u64) {
        self.inner().close_gaps(merged_gaps);
    }

    pub fn counts(&self) -> StreamCounts {
        self.inner().counts
    }

    /// Age of the oldest update that was not taken.
    pub fn lag(&self, now: SystemTime) -> Duration {
        let oldest = self.inner().queue.oldest();
        oldest.and_then(|at| now.duration_since(at).ok()).unwrap_or_default()
    }
}

impl BufferState {
    fn is_ready(&self) -> bool {
        self.queue.len() > 0 || self.end.is_some()
    }

    fn count(&mut self, item: &Item) {
        match item {
            Item::Update(update) => {
                self.counts.updates += 1;
                self.counts.last = Some(update.received_at);
            }
            // It says of an earlier one that nothing will close it.
            Item::Notice(Notice::Gap { is_final: true, .. }) => self.close_gaps(1),
            Item::Notice(Notice::Recovered { .. }) => {
                self.counts.recovered += 1;
                self.close_gaps(1);
            }
            Item::Notice(Notice::Gap { end, reason, dropped, .. }) => {
                self.counts.gaps += 1;
                self.counts.open_gaps += 1;
                // Other gaps occur within a connection, or in a journal.
                let is_reconnect =
                    end.is_some() && dropped.is_none() && matches!(reason, GapReason::Overflow | GapReason::Other(_));
                self.counts.reconnects += u64::from(is_reconnect);
            }
            Item::Notice(_) => {}
        }
    }

    /// Counts open gaps that were closed, or became part of others.
    fn close_gaps(&mut self, gaps: u64) {
        self.counts.open_gaps = self.counts.open_gaps.saturating_sub(gaps);
    }
}
