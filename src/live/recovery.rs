//! Closes gaps, beside the stream: after the reader has taken a gap, the state of the game is requested until the gap is closed.
//! The stream waits for none of it: what was recovered follows the updates received before it.

use super::buffer::Buffer;
use super::game_state::{Failure, GameState, State};
use super::item::{Item, Notice};
use super::open_gaps::OpenGaps;
use crate::machine;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The open gaps of one stream, and the requests for them.
pub(super) struct Recovery {
    state: GameState,
    gaps: Mutex<OpenGaps>,
    notify: Notify,
    start: Instant,
}

impl Recovery {
    pub(super) fn new(state: GameState, gaps: OpenGaps) -> Self {
        Recovery { state, gaps: Mutex::new(gaps), notify: Notify::new(), start: Instant::now() }
    }

    /// Whether the stream has changes alone, so that it does not tell itself what happened before.
    pub(super) fn is_of_changes(&self) -> bool {
        matches!(self.state, GameState::CatchUp { .. })
    }

    /// Records an item that the reader took.
    pub(super) fn take(&self, item: &Item, buffer: &Buffer) {
        match item {
            Item::Notice(gap @ Notice::Gap { .. }) => {
                if self.gaps().take_gap(gap, self.start.elapsed()) {
                    buffer.count_merged_gaps(1);
                }
                self.notify.notify_one();
            }
            Item::Update(update) => {
                let mut gaps = self.gaps();
                let closed = gaps.take_update(update, self.start.elapsed());
                // They belong to this update, before all later ones.
                buffer.push_closed_gaps(closed);
            }
            Item::Notice(_) => {}
        }
    }

    /// Sends the requests that are due, as long as the stream is open.
    pub(super) async fn run(&self, buffer: &Buffer) -> Infallible {
        loop {
            let due = self.gaps().due.and_then(|due| self.start.checked_add(due));
            let Some(due) = due else {
                self.notify.notified().await;
                continue;
            };
            let is_early = timeout_at(due, self.notify.notified()).await.is_ok();
            let requested_at = self.start.elapsed();
            if is_early || !self.gaps().start_attempt(requested_at) {
                continue;
            }
            let result = self.state.request().await;
            // Without the lock: a logger may wait for a thread that waits for the lock.
            if let Some(failure) = self.settle(result, requested_at, buffer) {
                log::warn!("live stream: not recovered: {}", failure.reason);
            }
        }
    }

    /// Records the result of an attempt, and tells the reader; returns why it failed.
    fn settle(&self, result: Result<State, Failure>, requested_at: Duration, buffer: &Buffer) -> Option<Failure> {
        let now = self.start.elapsed();
        let mut gaps = self.gaps();
        let (notices, failure) = match result {
            // The stream itself has closed them meanwhile.
            _ if gaps.due.is_none() => (Vec::new(), None),
            Ok(state) => {
                buffer.count_unreadable(state.rows.problems.len() as u64);
                (gaps.take_state(state, requested_at, now, machine::chance()), None)
            }
            Err(failure) => (gaps.take_failure(&failure, now, machine::chance()), Some(failure)),
        };
        // Under the lock, so that nothing about a gap follows its end. Notices always fit.
        buffer.try_push(&mut notices.into_iter().map(Item::Notice).collect());
        failure
    }

    fn gaps(&self) -> MutexGuard<'_, OpenGaps> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
