//! When to connect again. Pure: durations and chance are passed in.

use super::options::Options;
use std::time::Duration;

/// A connection that stood so long was a good one, even if it brought nothing.
const LONG_ENOUGH: Duration = Duration::from_secs(5);
/// The first wait after two connections in a row that delivered something and were lost at once.
const SHORT: Duration = Duration::from_millis(50);
/// The shortest wait that a service can ask for.
pub const MIN_RETRY: Duration = Duration::from_millis(100);
/// Waits grow from here where `retry_wait` is 0.
const MIN_STEP: Duration = Duration::from_millis(1);

#[derive(Debug, Clone)]
pub(super) struct Backoff {
    retry_wait: Duration,
    max_wait: Duration,
    /// The service's `retry:`.
    asked: Option<Duration>,
    /// Attempts that failed in a row.
    failed: u32,
    /// Connections in a row that delivered something and were lost at once.
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

    /// Takes the service's `retry:`, which is for connections that delivered something.
    pub(super) fn ask(&mut self, asked: Option<Duration>) {
        self.asked = asked.map(|asked| asked.clamp(MIN_RETRY.min(self.max_wait), self.max_wait)).or(self.asked);
    }

    /// The wait after an attempt without a connection, or one whose connection was lost at once. `chance` lies in 0..1.
    pub(super) fn after_failure(&mut self, chance: f64) -> Duration {
        let factor = 1_u32.checked_shl(self.failed).unwrap_or(u32::MAX);
        let grown = match self.failed {
            0 => self.retry_wait,
            _ => self.retry_wait.max(MIN_STEP).saturating_mul(factor).min(self.max_wait),
        };
        self.failed = self.failed.saturating_add(1);
        // Never earlier, up to a fifth later: clients that were cut off together do not come back together.
        grown.saturating_add(grown.mul_f64(chance.clamp(0.0, 1.0) / 5.0))
    }

    /// The wait after a connection was lost that stood for `stood`.
    pub(super) fn after_loss(&mut self, stood: Duration, has_delivered: bool, chance: f64) -> Duration {
        if !has_delivered && stood < LONG_ENOUGH {
            return self.after_failure(chance);
        }
        self.failed = 0;
        self.short = if stood < LONG_ENOUGH { self.short.saturating_add(1) } else { 0 };
        match (self.asked, self.short) {
            (Some(asked), _) => asked,
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
    fn retry_sets_the_wait_after_a_connection_that_delivered_something_within_bounds() {
        let mut it = backoff();
        it.ask(Some(Duration::from_millis(2_500)));
        assert_eq!(it.after_loss(seconds(1), true, 0.0), Duration::from_millis(2_500));
        it.ask(None);
        assert_eq!(it.after_loss(seconds(9), true, 0.0), Duration::from_millis(2_500));
        for (asked, wait) in [(0, MIN_RETRY), (86_400_000, seconds(60))] {
            it.ask(Some(Duration::from_millis(asked)));
            assert_eq!(it.after_loss(seconds(9), true, 0.0), wait);
        }
    }

    #[test]
    fn failed_attempts_grow_whatever_retry_says() {
        for asked in [0, 1, 30_000] {
            let mut it = backoff();
            it.ask(Some(Duration::from_millis(asked)));
            let waits: Vec<u64> = (0..5).map(|_| it.after_failure(0.0).as_secs()).collect();
            assert_eq!(waits, [5, 10, 20, 40, 60]);
            assert_eq!(it.after_loss(Duration::ZERO, false, 0.0), seconds(60), "lost at once: a failed attempt");
        }
    }

    #[test]
    fn waits_grow_from_a_retry_wait_of_zero_too() {
        let mut it = Backoff::new(&Options { retry_wait: Duration::ZERO, ..Options::default() });
        let waits: Vec<u128> = (0..20).map(|_| it.after_failure(0.0).as_millis()).collect();
        assert_eq!(waits[..5], [0, 2, 4, 8, 16]);
        assert_eq!(waits[19], 60_000);
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
