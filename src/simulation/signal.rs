//! Something that happens again and again. Those who wait for it go on in the order in which they began to wait: tokio's
//! `watch` wakes them in random order, which no seed can replay.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

pub(super) struct Signal<T> {
    /// How often it happened, and what was last said of it.
    latest: Mutex<(u64, T)>,
    happened: Notify,
}

impl<T: Copy> Signal<T> {
    pub(super) fn new(initial: T) -> Self {
        Signal { latest: Mutex::new((0, initial)), happened: Notify::new() }
    }

    fn latest(&self) -> MutexGuard<'_, (u64, T)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, value: T) {
        let mut latest = self.latest();
        *latest = (latest.0 + 1, value);
        drop(latest);
        self.happened.notify_waiters();
    }

    pub(super) fn count(&self) -> u64 {
        self.latest().0
    }

    /// Waits until it has happened more than `count` times; how often it did, and what was said last.
    pub(super) async fn beyond(&self, count: u64) -> (u64, T) {
        loop {
            let happened = self.happened.notified();
            let latest = *self.latest();
            if latest.0 > count {
                return latest;
            }
            happened.await;
        }
    }
}
