//! How many bytes of response bodies a client holds at once: those that are being received, inflated and checked. A body that
//! is returned belongs to its caller and counts no more.
//!
//! A body whose length is announced reserves all of it before it is read. Without room it waits; if nobody who holds bytes can
//! go on, the latest gives its bytes up and is requested again, so that the others end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Memory {
    limit: usize,
    state: Mutex<State>,
    /// Bytes were given back, or somebody has to give way.
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    peak: usize,
    next: u64,
    /// In the order of the requests.
    held: BTreeMap<u64, Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// So many more are waited for.
    wanted: usize,
    gives_way: bool,
}

/// Why a body gets no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// It alone exceeds the limit.
    TooLarge(usize),
    /// Others wait for what it holds: it has to be requested again.
    GivesWay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Granted,
    Wait,
    /// The same, and another was told to give way.
    WaitForOther,
    GiveWay,
}

impl State {
    /// `more` bytes for one that holds some.
    fn grow(&mut self, id: u64, more: usize, limit: usize) -> Verdict {
        let fits = self.used.saturating_add(more) <= limit;
        let held = self.held.entry(id).or_default();
        if std::mem::take(&mut held.gives_way) {
            held.wanted = 0;
            return Verdict::GiveWay;
        }
        if fits {
            held.bytes += more;
            held.wanted = 0;
            self.used += more;
            self.peak = self.peak.max(self.used);
            return Verdict::Granted;
        }
        held.wanted = more;
        match self.latest_of_a_deadlock(limit) {
            Some(latest) if latest == id => {
                self.held.entry(id).or_default().wanted = 0;
                Verdict::GiveWay
            }
            Some(latest) => {
                self.held.entry(latest).or_default().gives_way = true;
                Verdict::WaitForOther
            }
            None => Verdict::Wait,
        }
    }

    /// The latest that holds bytes, if nobody can go on.
    fn latest_of_a_deadlock(&self, limit: usize) -> Option<u64> {
        let goes_on = |held: &Held| match held.wanted {
            0 => held.bytes > 0,
            wanted => held.gives_way || self.used.saturating_add(wanted) <= limit,
        };
        if self.held.values().any(goes_on) {
            return None;
        }
        self.held.iter().rev().find(|(_, held)| held.bytes > 0).map(|(id, _)| *id)
    }

    fn shrink_to(&mut self, id: u64, bytes: usize) {
        let Some(held) = self.held.get_mut(&id) else { return };
        let less = held.bytes.saturating_sub(bytes);
        held.bytes -= less;
        self.used -= less;
    }
}

impl Memory {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Memory { limit, state: Mutex::default(), news: Notify::new() })
    }

    /// Waits until no body waits for room: a request that is sent before only adds to those.
    pub(super) async fn room(&self) {
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            if self.state().held.values().all(|held| held.wanted == 0) {
                return;
            }
            news.await;
        }
    }

    /// For one response; it holds nothing yet.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        let mut state = self.state();
        state.next += 1;
        Lease { memory: self.clone(), id: state.next, waits: Mutex::default() }
    }

    /// The most bytes that were held at once.
    pub(super) fn peak(&self) -> usize {
        self.state().peak
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of one response, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: Arc<Memory>,
    id: u64,
    waits: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    ended: Duration,
    since: Option<Instant>,
}

impl Lease {
    /// Waits until the response may hold so many bytes.
    pub(super) async fn grow_to(&self, bytes: usize) -> Result<(), NoRoom> {
        let memory = &*self.memory;
        if bytes > memory.limit {
            return Err(NoRoom::TooLarge(memory.limit));
        }
        loop {
            let mut news = std::pin::pin!(memory.news.notified());
            news.as_mut().enable();
            let verdict = {
                let mut state = memory.state();
                let more = bytes.saturating_sub(state.held.get(&self.id).map_or(0, |held| held.bytes));
                if more == 0 { Verdict::Granted } else { state.grow(self.id, more, memory.limit) }
            };
            match verdict {
                Verdict::Wait | Verdict::WaitForOther => {
                    self.waits().since.get_or_insert_with(Instant::now);
                    if verdict == Verdict::WaitForOther {
                        // This wakes its caller too, once: the other is told once.
                        memory.news.notify_waiters();
                    }
                    news.await;
                }
                Verdict::Granted | Verdict::GiveWay => {
                    let mut waits = self.waits();
                    if let Some(since) = waits.since.take() {
                        waits.ended += since.elapsed();
                        memory.news.notify_waiters();
                    }
                    return if verdict == Verdict::Granted { Ok(()) } else { Err(NoRoom::GivesWay) };
                }
            }
        }
    }

    /// Gives back what is beyond so many bytes.
    pub(super) fn shrink_to(&self, bytes: usize) {
        self.memory.state().shrink_to(self.id, bytes);
        self.memory.news.notify_waiters();
    }

    /// Gives all back: the body is its caller's now.
    pub(crate) fn release(&self) {
        let mut state = self.memory.state();
        state.shrink_to(self.id, 0);
        if state.held.remove(&self.id).is_some() {
            drop(state);
            self.memory.news.notify_waiters();
        }
    }

    /// How long it has waited for room, which is no silence of the service.
    pub(super) fn waited(&self) -> Duration {
        let waits = self.waits();
        waits.ended + waits.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[tokio::test]
    async fn bytes_are_held_until_they_are_given_back() {
        let memory = Memory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(60).await.unwrap();
        first.grow_to(50).await.unwrap();
        assert_eq!(second.grow_to(50).now_or_never(), None, "60 are held");
        first.shrink_to(50);
        second.grow_to(50).await.unwrap();
        assert_eq!((memory.peak(), memory.state().used), (100, 100));
        drop(first);
        second.release();
        assert_eq!(memory.state().used, 0);
        assert!(memory.state().held.is_empty());
        assert_eq!(second.grow_to(101).await, Err(NoRoom::TooLarge(100)));
    }

    #[tokio::test]
    async fn a_new_request_waits_while_a_body_waits() {
        let memory = Memory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(100).await.unwrap();
        assert!(memory.room().now_or_never().is_some(), "nobody waits");
        {
            let mut waits = std::pin::pin!(second.grow_to(1));
            assert!(waits.as_mut().now_or_never().is_none());
            assert!(memory.room().now_or_never().is_none());
            first.release();
            waits.await.unwrap();
        }
        assert!(memory.room().now_or_never().is_some());
        assert!(second.waited() > Duration::ZERO);
    }

    #[tokio::test]
    async fn one_that_is_cancelled_while_it_waits_stands_in_nobody_s_way() {
        let memory = Memory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(100).await.unwrap();
        assert!(second.grow_to(1).now_or_never().is_none());
        drop(second);
        assert!(memory.room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn of_those_that_wait_for_each_other_the_latest_gives_way() {
        let memory = Memory::new(100);
        let (first, second) = (memory.lease(), memory.lease());
        first.grow_to(50).await.unwrap();
        second.grow_to(50).await.unwrap();
        let mut waits = std::pin::pin!(first.grow_to(80));
        assert!(waits.as_mut().now_or_never().is_none());
        assert_eq!(second.grow_to(60).await, Err(NoRoom::GivesWay));
        drop(second);
        waits.await.unwrap();
    }

    /// Many bodies of more than the limit together, which grow byte by byte and in any order: all end, within the limit.
    #[tokio::test]
    async fn all_end_within_the_limit() {
        const LIMIT: usize = 1000;
        let memory = Memory::new(LIMIT);
        let receive = |size: usize, step: usize| {
            let memory = memory.clone();
            async move {
                let mut given_way = 0;
                'again: loop {
                    memory.room().await;
                    let lease = memory.lease();
                    for at in (0..size).step_by(step).skip(1).chain([size]) {
                        if lease.grow_to(at).await == Err(NoRoom::GivesWay) {
                            given_way += 1;
                            drop(lease);
                            continue 'again;
                        }
                        tokio::task::yield_now().await;
                    }
                    return given_way;
                }
            }
        };
        let sizes = (0..40).map(|n| receive(100 + 23 * n, 7 + n % 5));
        let given_way: Vec<u32> = join_all(sizes).await;
        assert!(given_way.iter().sum::<u32>() > 0, "they met");
        assert!(memory.peak() <= LIMIT && memory.peak() > LIMIT / 2, "{}", memory.peak());
        assert_eq!(memory.state().held.len(), 0);
    }
}
