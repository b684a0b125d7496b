//! Limits the rate of retry warnings: one is logged per interval, the others are counted.

use std::time::Duration;
use tokio::time::Instant;

const WARNING_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct RetryLog {
    last: Option<Instant>,
    suppressed_warnings: u64,
}

impl RetryLog {
    /// Records a retry. If a warning is due, returns the number of retries that had none since the last warning.
    pub(super) fn record(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < WARNING_INTERVAL) {
            self.suppressed_warnings += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed_warnings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_warning_is_due_per_interval() {
        let (mut log, start) = (RetryLog::default(), Instant::now());
        let mut at = |seconds| log.record(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(1), at(9), at(10), at(11), at(40)], [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
