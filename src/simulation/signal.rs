//! A signal with a value, which wakes its waiters in the order in which they started to wait. tokio's `watch` wakes them in
//! random order, which no seed can replay.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

pub(super) struct Signal<T> {
    /// How often it was sent, and its last value.
    latest: Mutex<(u64, T)>,
    notify: Notify,
}

impl<T: Copy> Signal<T> {
    pub(super) fn new(initial: T) -> Self {
        Signal { latest: Mutex::new((0, initial)), notify: Notify::new() }
    }

    fn latest(&self) -> MutexGuard<'_, (u64, T)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, value: T) {
        let mut latest = self.latest();
        *latest = (latest.0 + 1, value);
        drop(latest);
        self.notify.notify_waiters();
    }

    pub(super) fn count(&self) -> u64 {
        self.latest().0
    }

    /// Waits until it was sent more than `count` times; returns how often it was, and its last value.
    pub(super) async fn wait_beyond(&self, count: u64) -> (u64, T) {
        loop {
            let next = self.notify.notified();
            let latest = *self.latest();
            if latest.0 > count {
                return latest;
            }
            next.await;
        }
    }
}
