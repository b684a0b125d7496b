//! Limits the bytes of the response bodies that a client receives, inflates and checks at once, and of those that a
//! running batch keeps. A body that has been returned belongs to the caller and no longer counts.
//!
//! A lease is a request's share of these bytes (the leases of an archive are something else). A body with a known
//! length leases all of it before it is read, and waits if there is no space. If no lease can make
//! progress, the latest one is preempted: its bytes are freed and its request is repeated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

#[derive(Debug)]
pub(super) struct ResponseMemory {
    limit: usize,
    state: Mutex<MemoryState>,
    /// Bytes were freed, or a lease was preempted.
    notify: Notify,
}

#[derive(Debug, Default)]
struct MemoryState {
    used: usize,
    next: u64,
    /// By lease id: in the order of the requests.
    allocations: BTreeMap<u64, Allocation>,
    /// The bytes of complete bodies that are kept until their batch ends: no request looks at each of them.
    retained_bytes: BTreeMap<u64, usize>,
}

#[derive(Debug, Default)]
struct Allocation {
    bytes: usize,
    /// Additional bytes that the lease waits for.
    requested_bytes: usize,
    is_preempted: bool,
}

/// Why a lease cannot grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseError {
    /// The body alone exceeds this limit.
    TooLarge(usize),
    /// Bodies that are kept leave no room, and nothing else could make some.
    Full,
    /// Other leases need its bytes: the request must be repeated.
    Preempted,
}

impl MemoryState {
    /// Whether a response is still coming in, or one that waits will have its space.
    fn can_progress(&self, limit: usize) -> bool {
        self.allocations.values().any(|allocation| match allocation.requested_bytes {
            0 => allocation.bytes > 0,
            requested_bytes => allocation.is_preempted || self.used.saturating_add(requested_bytes) <= limit,
        })
    }
}

impl ResponseMemory {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(ResponseMemory { limit, state: Mutex::default(), notify: Notify::new() })
    }

    /// Waits until no body waits for space: another response would only have to wait too.
    pub(super) async fn wait_for_space(&self) {
        loop {
            let mut notification = std::pin::pin!(self.notify.notified());
            notification.as_mut().enable();
            if self.state().allocations.values().all(|allocation| allocation.requested_bytes == 0) {
                return;
            }
            notification.await;
        }
    }

    /// Returns an empty lease for one response.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        let mut state = self.state();
        state.next += 1;
        Lease { memory: self.clone(), id: state.next, wait: Mutex::default() }
    }

    /// Tries to grow an allocation to `bytes`; `None`: it waits. If all wait for each other, the latest is preempted.
    fn grow(&self, id: u64, bytes: usize) -> Option<Result<(), LeaseError>> {
        let state = &mut *self.state();
        let allocation = state.allocations.entry(id).or_default();
        let more = bytes.saturating_sub(allocation.bytes);
        allocation.requested_bytes = 0;
        if std::mem::take(&mut allocation.is_preempted) {
            return Some(Err(LeaseError::Preempted));
        }
        if state.used.saturating_add(more) <= self.limit {
            allocation.bytes += more;
            state.used += more;
            return Some(Ok(()));
        }
        allocation.requested_bytes = more;
        if state.can_progress(self.limit) {
            return None;
        }
        let latest = state.allocations.iter().rev().find(|(_, allocation)| allocation.bytes > 0).map(|(id, _)| *id);
        let has_others = state.allocations.iter().any(|(other, allocation)| *other != id && allocation.bytes > 0);
        let error = match latest {
            _ if !state.retained_bytes.is_empty() && !has_others => LeaseError::Full,
            Some(latest) if latest != id => {
                state.allocations.entry(latest).or_default().is_preempted = true;
                // This wakes the current task too, but only once.
                self.notify.notify_waiters();
                return None;
            }
            _ => LeaseError::Preempted,
        };
        state.allocations.entry(id).or_default().requested_bytes = 0;
        Some(Err(error))
    }

    /// The bytes in use now.
    pub(super) fn used(&self) -> usize {
        self.state().used
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of one response, freed on drop.
#[derive(Debug)]
pub struct Lease {
    memory: Arc<ResponseMemory>,
    id: u64,
    wait: Mutex<WaitTime>,
}

#[derive(Debug, Default)]
struct WaitTime {
    /// Of the waits that are over.
    total: Duration,
    /// Start of the current wait.
    since: Option<Instant>,
}

impl Lease {
    /// Runs a future until the deadline, which is extended by the time that this lease waits for memory.
    pub(super) async fn timeout_at<T>(&self, deadline: Instant, future: impl Future<Output = T>) -> Result<T, Elapsed> {
        let mut future = std::pin::pin!(future);
        let mut extension = Duration::ZERO;
        loop {
            match timeout_at(deadline + extension, &mut future).await {
                Err(elapsed) if self.wait_time() <= extension => return Err(elapsed),
                Err(_) => extension = self.wait_time(),
                Ok(result) => return Ok(result),
            }
        }
    }

    /// Waits until the response may use `bytes` in total.
    pub(super) async fn grow_to(&self, bytes: usize) -> Result<(), LeaseError> {
        let memory = &*self.memory;
        if bytes > memory.limit {
            return Err(LeaseError::TooLarge(memory.limit));
        }
        loop {
            let mut notification = std::pin::pin!(memory.notify.notified());
            notification.as_mut().enable();
            let Some(result) = memory.grow(self.id, bytes) else {
                self.wait().since.get_or_insert_with(Instant::now);
                notification.await;
                continue;
            };
            let mut wait = self.wait();
            if let Some(since) = wait.since.take() {
                wait.total += since.elapsed();
                memory.notify.notify_waiters();
            }
            return result;
        }
    }

    /// Frees all but `bytes`.
    pub(super) fn shrink_to(&self, bytes: usize) {
        let state = &mut *self.memory.state();
        if let Some(allocation) = state.allocations.get_mut(&self.id) {
            let surplus = allocation.bytes.saturating_sub(bytes);
            allocation.bytes -= surplus;
            state.used -= surplus;
        }
        self.memory.notify.notify_waiters();
    }

    /// Its body is complete, and counts until it is released: whoever has no room beside kept bodies fails.
    pub(crate) fn keep(&self) {
        let state = &mut *self.memory.state();
        if let Some(allocation) = state.allocations.remove(&self.id) {
            state.retained_bytes.insert(self.id, allocation.bytes);
        }
        self.memory.notify.notify_waiters();
    }

    /// Frees all bytes: the body now belongs to the caller.
    pub(crate) fn release(&self) {
        let state = &mut *self.memory.state();
        let growing = state.allocations.remove(&self.id).map(|allocation| allocation.bytes);
        if let Some(bytes) = growing.or_else(|| state.retained_bytes.remove(&self.id)) {
            state.used -= bytes;
            self.memory.notify.notify_waiters();
        }
    }

    /// The time spent waiting for space, which counts towards no timeout.
    pub(super) fn wait_time(&self) -> Duration {
        let wait = self.wait();
        wait.total + wait.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn wait(&self) -> MutexGuard<'_, WaitTime> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn bytes_are_in_use_until_they_are_freed() {
        let memory = ResponseMemory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(60).await.unwrap();
        first.grow_to(50).await.unwrap();
        assert_eq!(second.grow_to(50).now_or_never(), None, "60 are in use");
        first.shrink_to(50);
        second.grow_to(50).await.unwrap();
        assert_eq!(memory.used(), 100);
        drop(first);
        second.release();
        assert_eq!(memory.used(), 0);
        assert!(memory.state().allocations.is_empty());
        assert_eq!(second.grow_to(101).await, Err(LeaseError::TooLarge(100)));
    }

    #[tokio::test]
    async fn a_new_request_waits_while_a_body_waits_for_space() {
        let memory = ResponseMemory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(100).await.unwrap();
        assert!(memory.wait_for_space().now_or_never().is_some(), "no lease waits");
        {
            let mut growth = std::pin::pin!(second.grow_to(1));
            assert!(growth.as_mut().now_or_never().is_none());
            assert!(memory.wait_for_space().now_or_never().is_none());
            first.release();
            growth.await.unwrap();
        }
        assert!(memory.wait_for_space().now_or_never().is_some());
        assert!(second.wait_time() > Duration::ZERO);
    }

    #[tokio::test]
    async fn a_cancelled_wait_does_not_block_others() {
        let memory = ResponseMemory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(100).await.unwrap();
        assert!(second.grow_to(1).now_or_never().is_none());
        drop(second);
        assert!(memory.wait_for_space().now_or_never().is_some());
    }

    #[tokio::test]
    async fn in_a_deadlock_the_latest_lease_is_preempted() {
        let memory = ResponseMemory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(50).await.unwrap();
        second.grow_to(50).await.unwrap();
        let mut growth = std::pin::pin!(first.grow_to(80));
        assert!(growth.as_mut().now_or_never().is_none());
        assert_eq!(second.grow_to(60).await, Err(LeaseError::Preempted));
        drop(second);
        growth.await.unwrap();
    }

    #[tokio::test]
    async fn bodies_that_are_kept_fail_those_that_have_no_room_beside_them() {
        let memory = ResponseMemory::new(100);
        let (first, growing, last) = (memory.lease(), memory.lease(), memory.lease());
        first.grow_to(60).await.unwrap();
        first.keep();
        growing.grow_to(30).await.unwrap();
        {
            let mut growth = std::pin::pin!(last.grow_to(20));
            assert!(growth.as_mut().now_or_never().is_none(), "the other may end");
            assert_eq!(growing.grow_to(50).await, Err(LeaseError::Full));
            growing.release();
            growth.await.unwrap();
        }
        assert_eq!(last.grow_to(41).await, Err(LeaseError::Full));
        first.release();
        last.grow_to(41).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_looks_at_no_body_that_is_kept() {
        let memory = ResponseMemory::new(100);
        let lease = memory.lease();
        lease.grow_to(60).await.unwrap();
        lease.keep();
        assert!(memory.state().allocations.is_empty(), "else the time of a batch grows with the square of its bodies");
        assert_eq!(memory.used(), 60);
        drop(lease);
        assert!(memory.state().retained_bytes.is_empty());
        assert_eq!(memory.used(), 0);
    }

    /// Together the bodies exceed the limit, and they grow in small steps.
    #[tokio::test]
    async fn concurrent_bodies_all_complete_within_the_limit() {
        const LIMIT: usize = 1000;
        let memory = ResponseMemory::new(LIMIT);
        let peak = Arc::new(AtomicUsize::new(0));
        let receive = |size: usize, step: usize| {
            let (memory, peak) = (memory.clone(), peak.clone());
            async move {
                let mut preemptions = 0;
                'request: loop {
                    memory.wait_for_space().await;
                    let lease = memory.lease();
                    for at in (0..size).step_by(step).skip(1).chain([size]) {
                        if lease.grow_to(at).await == Err(LeaseError::Preempted) {
                            preemptions += 1;
                            drop(lease);
                            continue 'request;
                        }
                        peak.fetch_max(memory.used(), Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                    return preemptions;
                }
            }
        };
        let requests = (0..40).map(|n| receive(100 + 23 * n, 7 + n % 5));
        let preemptions: Vec<u32> = join_all(requests).await;
        assert!(preemptions.iter().sum::<u32>() > 0, "no lease was preempted");
        let peak = peak.load(Ordering::Relaxed);
        assert!(peak <= LIMIT && peak > LIMIT / 2, "{peak}");
        assert_eq!(memory.state().allocations.len(), 0);
    }
}
