//! Warnings of requests that are sent again: the first is told, those that follow soon are counted.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// One warning in this time.
const PERIOD: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct RetryLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl RetryLog {
    /// How many were left out since the last warning, if it is time for one.
    pub(super) fn count(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < PERIOD) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_the_rest_is_counted() {
        let (log, start) = (RetryLog::default(), Instant::now());
        let at = |seconds| log.count(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(1), at(9), at(10), at(11), at(40)], [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
