//! How long to wait before reconnecting. Pure: durations and jitter are arguments.

use super::options::StreamOptions;
use std::time::Duration;

/// A connection with this uptime counts as successful, even if it delivered nothing.
const MIN_STABLE_UPTIME: Duration = Duration::from_secs(5);
/// The wait after the second short connection in a row that delivered something. It doubles with each further one.
const SHORT_CONNECTION_WAIT: Duration = Duration::from_millis(50);
/// Minimum wait that `retry:` can set; the maximum is `max_wait`.
pub(super) const MIN_RETRY: Duration = Duration::from_millis(100);
/// Maximum wait that `Retry-After` can request, unless `max_wait` is longer.
const MAX_REQUESTED_WAIT: Duration = Duration::from_secs(60);
/// Where waits start to grow if `retry_wait` is 0.
const MIN_STEP: Duration = Duration::from_millis(1);

#[derive(Debug, Clone)]
pub(super) struct Backoff {
    retry_wait: Duration,
    max_wait: Duration,
    /// The last `retry:` of the service.
    server_retry: Option<Duration>,
    /// Consecutive failed attempts.
    pub(super) failed_attempts: u32,
    /// Consecutive connections that delivered something and were soon lost.
    short_connections: u32,
}

impl Backoff {
    pub(super) fn new(options: &StreamOptions) -> Self {
        let (retry_wait, max_wait) = (options.retry_wait, options.max_wait.max(options.retry_wait));
        Backoff { retry_wait, max_wait, server_retry: None, failed_attempts: 0, short_connections: 0 }
    }

    /// The longest wait that `Retry-After` can request.
    pub(super) fn longest_requested(&self) -> Duration {
        self.max_wait.max(MAX_REQUESTED_WAIT)
    }

    /// Records the service's `retry:`, which applies after connections that delivered something.
    pub(super) fn set_server_retry(&mut self, retry: Option<Duration>) {
        self.server_retry = retry.map(|retry| retry.min(self.max_wait).max(MIN_RETRY)).or(self.server_retry);
    }

    /// The wait after a failed attempt, or a connection that was lost at once. `jitter` is in 0..1.
    pub(super) fn after_failure(&mut self, jitter: f64) -> Duration {
        let factor = 2_u32.saturating_pow(self.failed_attempts);
        let wait = match self.failed_attempts {
            0 => self.retry_wait,
            _ => self.retry_wait.max(MIN_STEP).saturating_mul(factor).min(self.max_wait),
        };
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        // Up to a fifth later, never earlier: clients that were cut off together do not all reconnect at once.
        wait.saturating_add(wait.mul_f64(jitter.clamp(0.0, 1.0) / 5.0))
    }

    /// The wait after losing a connection that was up for `uptime`.
    pub(super) fn after_loss(&mut self, uptime: Duration, has_delivered: bool, jitter: f64) -> Duration {
        if !has_delivered && uptime < MIN_STABLE_UPTIME {
            return self.after_failure(jitter);
        }
        self.failed_attempts = 0;
        self.short_connections = if uptime < MIN_STABLE_UPTIME { self.short_connections.saturating_add(1) } else { 0 };
        match (self.server_retry, self.short_connections) {
            (Some(wait), _) => wait,
            // At once, because messages sent meanwhile are missed.
            (None, 0 | 1) => Duration::ZERO,
            // Otherwise a service that cuts every connection after an event would be contacted without pause.
            (None, more) => SHORT_CONNECTION_WAIT.saturating_mul(2_u32.saturating_pow(more - 2)).min(self.retry_wait),
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
        Backoff::new(&StreamOptions::default())
    }

    #[test]
    fn the_wait_after_a_failure_grows_from_five_to_ten_seconds() {
        let mut backoff = backoff();
        let waits: Vec<u64> = (0..7).map(|_| backoff.after_failure(0.0).as_secs()).collect();
        assert_eq!(waits, [5, 10, 10, 10, 10, 10, 10]);
        assert_eq!(backoff.failed_attempts, 7);
    }

    #[test]
    fn jitter_adds_up_to_a_fifth_and_never_takes_away() {
        assert_eq!(backoff().after_failure(1.0), seconds(6));
        assert_eq!(backoff().after_failure(0.5), Duration::from_millis(5500));
    }

    #[test]
    fn only_an_update_or_a_stable_connection_resets_the_backoff() {
        let mut backoff = backoff();
        backoff.after_failure(0.0);
        assert_eq!(backoff.after_loss(seconds(1), false, 0.0), seconds(10), "lost at once: a failed attempt");
        assert_eq!(backoff.after_loss(seconds(1), true, 0.0), Duration::ZERO);
        assert_eq!(backoff.after_failure(0.0), seconds(5));
        backoff.after_failure(0.0);
        assert_eq!(backoff.after_loss(seconds(5), false, 0.0), Duration::ZERO);
        assert_eq!(backoff.after_failure(0.0), seconds(5));
    }

    #[test]
    fn retry_sets_the_wait_after_a_connection_that_delivered_something_within_bounds() {
        let mut backoff = backoff();
        backoff.set_server_retry(Some(Duration::from_millis(2_500)));
        assert_eq!(backoff.after_loss(seconds(1), true, 0.0), Duration::from_millis(2_500));
        backoff.set_server_retry(None);
        assert_eq!(backoff.after_loss(seconds(9), true, 0.0), Duration::from_millis(2_500));
        for (retry, wait) in [(0, MIN_RETRY), (10_001, seconds(10)), (86_400_000, seconds(10))] {
            backoff.set_server_retry(Some(Duration::from_millis(retry)));
            assert_eq!(backoff.after_loss(seconds(9), true, 0.0), wait);
        }
    }

    #[test]
    fn failed_attempts_grow_whatever_retry_says() {
        for retry in [0, 1, 30_000] {
            let mut backoff = backoff();
            backoff.set_server_retry(Some(Duration::from_millis(retry)));
            let waits: Vec<u64> = (0..5).map(|_| backoff.after_failure(0.0).as_secs()).collect();
            assert_eq!(waits, [5, 10, 10, 10, 10]);
            assert_eq!(backoff.after_loss(Duration::ZERO, false, 0.0), seconds(10), "lost at once: a failed attempt");
        }
    }

    #[test]
    fn waits_grow_from_a_retry_wait_of_zero_too() {
        let mut backoff = Backoff::new(&StreamOptions { retry_wait: Duration::ZERO, ..StreamOptions::default() });
        let waits: Vec<u128> = (0..20).map(|_| backoff.after_failure(0.0).as_millis()).collect();
        assert_eq!(waits[..5], [0, 2, 4, 8, 16]);
        assert_eq!(waits[19], 10_000);
    }

    #[test]
    fn reconnects_to_a_service_that_cuts_after_each_event_slow_down() {
        let mut backoff = backoff();
        let waits: Vec<u128> = (0..9).map(|_| backoff.after_loss(Duration::ZERO, true, 0.0).as_millis()).collect();
        assert_eq!(waits, [0, 50, 100, 200, 400, 800, 1600, 3200, 5000]);
        backoff.after_loss(seconds(5), true, 0.0);
        assert_eq!(backoff.after_loss(Duration::ZERO, true, 0.0), Duration::ZERO);
    }

    #[test]
    fn the_service_can_request_a_minute_or_the_longest_own_wait() {
        assert_eq!(backoff().longest_requested(), seconds(60));
        let options = StreamOptions { max_wait: seconds(90), ..StreamOptions::default() };
        assert_eq!(Backoff::new(&options).longest_requested(), seconds(90));
    }

    #[test]
    fn a_retry_wait_above_the_maximum_raises_the_maximum() {
        let options = StreamOptions { retry_wait: seconds(90), ..StreamOptions::default() };
        assert_eq!(Backoff::new(&options).after_failure(0.0), seconds(90));
    }
}
