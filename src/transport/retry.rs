//! Decides whether and when a request is retried. Pure: time and randomness are arguments.

use std::time::{Duration, SystemTime};

/// The largest delay before the first retry; it doubles with each retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(20);
/// After a 429 the delay starts short, because the rate limiter slows down all requests, and grows by this factor.
const INITIAL_RATE_LIMIT_BACKOFF: Duration = Duration::from_millis(75);
const RATE_LIMIT_BACKOFF_FACTOR: u32 = 6;
/// Longer `Retry-After` values are cut to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// Nothing was sent.
    NotConnected,
    /// The connection broke before or within the response. Every request is a GET, so it can be retried.
    ConnectionLost,
    /// The response is an error, with its `Retry-After`.
    Status(u16, Option<Duration>),
    /// A retry cannot help: a certificate, a timeout, a configuration error.
    Permanent,
    /// Other bodies needed the memory of this one. The request is repeated regardless of `max_retries`.
    Preempted,
}

/// The retries of a request so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RetryState {
    pub(super) retries: u32,
    /// Whether one of them followed a 500.
    pub(super) has_retried_500: bool,
}

/// The delay before the next retry; `None`: give up. `remaining` is the time until the deadline, `jitter` lies in 0..1.
pub(super) fn delay(
    failure: FailureKind,
    state: RetryState,
    max_retries: u32,
    remaining: Duration,
    jitter: f64,
) -> Option<Duration> {
    let (is_retryable, retry_after) = match failure {
        FailureKind::NotConnected | FailureKind::ConnectionLost => (true, None),
        // A general system error (docs/wire.md, "Retries") may be caused by the request itself: one retry is enough.
        FailureKind::Status(500, retry_after) => (!state.has_retried_500, retry_after),
        // 408 and 425: the request was not processed (RFC 9110, 15.5.9; RFC 8470, 5.2).
        FailureKind::Status(408 | 425 | 429 | 502 | 503 | 504, retry_after) => (true, retry_after),
        FailureKind::Status(..) | FailureKind::Permanent | FailureKind::Preempted => (false, None),
    };
    if !is_retryable || state.retries >= max_retries {
        return None;
    }
    // Full jitter, so that clients that failed together do not retry together.
    let jitter = jitter.clamp(0.0, 1.0);
    let delay = retry_after.unwrap_or_else(|| match failure {
        FailureKind::Status(429, _) => {
            backoff(INITIAL_RATE_LIMIT_BACKOFF, RATE_LIMIT_BACKOFF_FACTOR, state.retries).mul_f64(0.5 + jitter / 2.0)
        }
        _ => backoff(INITIAL_BACKOFF, 2, state.retries).mul_f64(jitter),
    });
    (delay < remaining).then_some(delay)
}

fn backoff(initial: Duration, factor: u32, retries: u32) -> Duration {
    initial.saturating_mul(factor.saturating_pow(retries)).min(MAX_BACKOFF)
}

/// Parses `Retry-After`: seconds, or a date (RFC 9110, 10.2.3), which is compared with the server's clock.
pub(super) fn parse_retry_after(value: &str, server_now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let delay = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A number beyond 64 bits.
        Err(_) if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => MAX_RETRY_AFTER,
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(server_now).unwrap_or_default(),
    };
    Some(delay.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    const REMAINING: Duration = Duration::from_secs(120);
    const NO_RETRIES: RetryState = RetryState { retries: 0, has_retried_500: false };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn temporary_failures_are_retried() {
        for failure in [FailureKind::NotConnected, FailureKind::ConnectionLost] {
            assert!(delay(failure, NO_RETRIES, 3, REMAINING, 0.5).is_some());
        }
        for status in [408, 425, 429, 500, 502, 503, 504] {
            assert!(delay(FailureKind::Status(status, None), NO_RETRIES, 3, REMAINING, 0.5).is_some(), "{status}");
        }
    }

    #[test]
    fn permanent_failures_are_not_retried() {
        for status in [204, 301, 400, 401, 403, 404, 422, 501, 505] {
            assert_eq!(
                delay(FailureKind::Status(status, Some(seconds(1))), NO_RETRIES, 3, REMAINING, 0.5),
                None,
                "{status}"
            );
        }
        assert_eq!(delay(FailureKind::Permanent, NO_RETRIES, 3, REMAINING, 0.5), None);
    }

    #[test]
    fn a_500_is_retried_once() {
        let after = RetryState { retries: 1, has_retried_500: true };
        assert_eq!(delay(FailureKind::Status(500, None), after, 3, REMAINING, 0.5), None);
        assert!(delay(FailureKind::Status(503, None), after, 3, REMAINING, 0.5).is_some());
    }

    #[test]
    fn max_retries_limits_the_retries() {
        let after = |retries| RetryState { retries, ..NO_RETRIES };
        assert!(delay(FailureKind::ConnectionLost, after(2), 3, REMAINING, 0.5).is_some());
        assert_eq!(delay(FailureKind::ConnectionLost, after(3), 3, REMAINING, 0.5), None);
        assert_eq!(delay(FailureKind::ConnectionLost, after(0), 0, REMAINING, 0.5), None);
    }

    #[test]
    fn the_delay_has_full_jitter_and_its_bound_doubles_up_to_twenty_seconds() {
        let delay = |retries, jitter| {
            delay(FailureKind::ConnectionLost, RetryState { retries, ..NO_RETRIES }, 99, REMAINING, jitter)
        };
        assert_eq!(delay(0, 0.0), Some(Duration::ZERO));
        assert_eq!(delay(0, 1.0), Some(Duration::from_millis(500)));
        assert_eq!(delay(1, 1.0), Some(seconds(1)));
        assert_eq!(delay(2, 0.5), Some(seconds(1)));
        assert_eq!(delay(6, 1.0), Some(seconds(20)));
        assert_eq!(delay(80, 1.0), Some(seconds(20)));
    }

    #[test]
    fn a_429_waits_for_at_least_half_of_its_backoff() {
        let delay = |retries, jitter| {
            delay(FailureKind::Status(429, None), RetryState { retries, ..NO_RETRIES }, 99, REMAINING, jitter)
        };
        assert_eq!(
            (delay(0, 0.0), delay(0, 1.0)),
            (Some(Duration::from_micros(37_500)), Some(INITIAL_RATE_LIMIT_BACKOFF))
        );
        assert_eq!((delay(2, 1.0), delay(80, 1.0)), (Some(Duration::from_millis(2700)), Some(MAX_BACKOFF)));
    }

    #[test]
    fn retry_after_is_followed_unless_it_exceeds_the_deadline() {
        let unavailable = |retry_after| FailureKind::Status(503, Some(seconds(retry_after)));
        assert_eq!(delay(unavailable(30), NO_RETRIES, 3, REMAINING, 0.0), Some(seconds(30)));
        assert_eq!(delay(unavailable(0), NO_RETRIES, 3, REMAINING, 1.0), Some(Duration::ZERO));
        assert_eq!(delay(unavailable(120), NO_RETRIES, 3, REMAINING, 0.0), None);
        assert_eq!(delay(FailureKind::ConnectionLost, NO_RETRIES, 3, Duration::ZERO, 0.0), None);
    }

    #[test]
    fn retry_after_may_be_seconds_or_a_date() {
        let noon = UNIX_EPOCH + seconds(1_793_534_400);
        assert_eq!(parse_retry_after(" 7 ", noon), Some(seconds(7)));
        assert_eq!(parse_retry_after("Sun, 01 Nov 2026 12:00:09 GMT", noon), Some(seconds(9)));
        assert_eq!(parse_retry_after("Sun, 01 Nov 2026 11:00:00 GMT", noon), Some(Duration::ZERO));
        for value in ["86401", "18446744073709551615", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            assert_eq!(parse_retry_after(value, noon), Some(MAX_RETRY_AFTER), "{value}");
        }
        assert_eq!(parse_retry_after("86399", noon), Some(seconds(86_399)));
        assert_eq!(parse_retry_after("86401", noon), Some(seconds(86_400)), "a day at most");
        assert_eq!(parse_retry_after("", noon), None);
        assert_eq!(parse_retry_after("soon", noon), None);
        assert_eq!(parse_retry_after("-1", noon), None);
    }
}
