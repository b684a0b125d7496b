//! When to connect again. Pure: durations and chance are given.

use super::options::Options;
use std::time::Duration;

/// A connection that stood so long was a good one, even if it brought nothing.
const A_WHILE: Duration = Duration::from_secs(5);
/// The first wait of a row of connections that each were lost at once after their first event.
const SHORT: Duration = Duration::from_millis(50);

/// What was lived through so far.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    retry_wait: Duration,
    max_wait: Duration,
    /// The stream's own wish.
    asked: Option<Duration>,
    /// Attempts that failed in a row.
    failed: u32,
    /// Connections in a row that brought something and were lost at once.
    short: u32,
}

impl Backoff {
    pub(super) fn new(options: &Options) -> Self {
        let (retry_wait, max_wait) = (options.retry_wait, options.max_wait.max(options.retry_wait));
        Backoff { retry_wait, max_wait, asked: None, failed: 0, short: 0 }
    }

    /// Attempts that failed in a row.
    pub(super) fn failed(&self) -> u32 {
        self.failed
    }

    /// The stream's `retry:`.
    pub(super) fn asked(&mut self, asked: Option<Duration>) {
        self.asked = asked.or(self.asked);
    }

    /// The wait after an attempt without a connection, or one whose connection was lost at once. `chance` lies in 0..1.
    pub(super) fn after_failure(&mut self, chance: f64) -> Duration {
        let base = self.asked.unwrap_or(self.retry_wait);
        let grown = base.saturating_mul(1_u32.checked_shl(self.failed).unwrap_or(u32::MAX)).min(self.max_wait);
        self.failed = self.failed.saturating_add(1);
        // Never earlier than said, up to a fifth later: clients that were cut off together do not come back together.
        grown + grown.mul_f64(chance.clamp(0.0, 1.0) / 5.0)
    }

    /// The wait after a connection was lost that stood for `stood`.
    pub(super) fn after_loss(&mut self, stood: Duration, had_update: bool, chance: f64) -> Duration {
        if !had_update && stood < A_WHILE {
            return self.after_failure(chance);
        }
        self.failed = 0;
        self.short = if stood < A_WHILE { self.short.saturating_add(1) } else { 0 };
        match (self.asked, self.short) {
            (Some(asked), _) => asked.min(self.max_wait),
            // At once: what is sent meanwhile is missed.
            (None, 0 | 1) => Duration::ZERO,
            // A service that cuts every connection after an event would be asked without pause.
            (None, more) => SHORT.saturating_mul(1_u32.checked_shl(more - 2).unwrap_or(u32::MAX)).min(self.retry_wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn backoff() -> Backoff {
        Backoff::new(&Options::default())
    }

    #[test]
    fn the_wait_after_a_failure_starts_at_five_seconds_and_doubles_to_a_minute() {
        let mut it = backoff();
        let waits: Vec<u64> = (0..7).map(|_| it.after_failure(0.0).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60, 60]);
        assert_eq!(it.failed(), 7);
    }

    #[test]
    fn jitter_adds_up_to_a_fifth_and_never_takes_away() {
        assert_eq!(backoff().after_failure(1.0), seconds(6));
        assert_eq!(backoff().after_failure(0.5), Duration::from_millis(5500));
    }

    #[test]
    fn only_an_update_or_a_while_up_starts_the_row_anew() {
        let mut it = backoff();
        it.after_failure(0.0);
        assert_eq!(it.after_loss(seconds(1), false, 0.0), seconds(10), "lost at once: a failed attempt");
        assert_eq!(it.after_loss(seconds(1), true, 0.0), Duration::ZERO);
        assert_eq!(it.after_failure(0.0), seconds(5));
        it.after_failure(0.0);
        assert_eq!(it.after_loss(seconds(5), false, 0.0), Duration::ZERO);
        assert_eq!(it.after_failure(0.0), seconds(5));
    }

    #[test]
    fn the_streams_own_retry_is_honoured_up_to_the_maximum() {
        let mut it = backoff();
        it.asked(Some(Duration::from_millis(2)));
        assert_eq!(it.after_loss(seconds(1), true, 0.0), Duration::from_millis(2));
        assert_eq!(it.after_failure(0.0), Duration::from_millis(2));
        it.asked(None);
        assert_eq!(it.after_loss(seconds(9), true, 0.0), Duration::from_millis(2));
        it.asked(Some(seconds(86_400)));
        assert_eq!(it.after_loss(seconds(9), true, 0.0), seconds(60));
        assert_eq!(it.after_failure(0.0), seconds(60));
    }

    #[test]
    fn a_service_that_cuts_after_each_event_is_not_asked_without_pause() {
        let mut it = backoff();
        let waits: Vec<u128> = (0..9).map(|_| it.after_loss(Duration::ZERO, true, 0.0).as_millis()).collect();
        assert_eq!(waits, [0, 50, 100, 200, 400, 800, 1600, 3200, 5000]);
        it.after_loss(seconds(5), true, 0.0);
        assert_eq!(it.after_loss(Duration::ZERO, true, 0.0), Duration::ZERO);
    }

    #[test]
    fn a_wait_longer_than_its_maximum_is_the_maximum() {
        let options = Options { retry_wait: seconds(90), ..Options::default() };
        assert_eq!(Backoff::new(&options).after_failure(0.0), seconds(90));
    }
}
