//! Whether and when a request is sent again. Pure: time and chance are given.

use std::time::{Duration, SystemTime};

/// First bound of the wait; it doubles with each retry.
const BASE: Duration = Duration::from_millis(500);
/// Last bound of the wait.
const CAP: Duration = Duration::from_secs(20);
/// First bound of the wait after a 429. The rate limiter slows down all requests, so that the refused one need not wait long.
const BASE_REFUSED: Duration = Duration::from_millis(75);
/// A longer `Retry-After` says no more than this: today it makes no sense to try again.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The factor of that bound for each further retry.
const FACTOR_REFUSED: u32 = 6;

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No connection: nothing was sent.
    Unconnected,
    /// The connection broke, before the answer or within it. Every request is a GET, so it can be sent again.
    Broken,
    /// The answer is an error, and may say how long to wait.
    Status(u16, Option<Duration>),
    /// What another attempt cannot cure: a certificate, a silent peer, a configuration.
    Final,
    /// Other bodies needed the room of this one: it is requested again when there is some, whatever `max_retries` says.
    NoRoom,
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Past {
    pub(super) retries: u32,
    /// Whether one of them was for a 500.
    pub(super) after_500: bool,
}

/// The wait before the request is sent again, or `None`: give up. `remaining` is the time to the deadline, `chance` lies in
/// 0..1.
pub(super) fn wait(
    outcome: Outcome,
    past: Past,
    max_retries: u32,
    remaining: Duration,
    chance: f64,
) -> Option<Duration> {
    let (worth_it, asked) = match outcome {
        Outcome::Unconnected | Outcome::Broken => (true, None),
        // A general system error (specification 7) may be the request's own fault: once is enough.
        Outcome::Status(500, asked) => (!past.after_500, asked),
        // 408 and 425: the request was not processed (RFC 9110, 15.5.9; RFC 8470, 5.2).
        Outcome::Status(408 | 425 | 429 | 502 | 503 | 504, asked) => (true, asked),
        Outcome::Status(..) | Outcome::Final | Outcome::NoRoom => (false, None),
    };
    if !worth_it || past.retries >= max_retries {
        return None;
    }
    // Full jitter: anywhere up to the bound, so that clients that failed together do not come back together.
    let chance = chance.clamp(0.0, 1.0);
    let wait = asked.unwrap_or_else(|| match outcome {
        Outcome::Status(429, _) => bound_refused(past.retries).mul_f64(0.5 + chance / 2.0),
        _ => bound(past.retries).mul_f64(chance),
    });
    (wait < remaining).then_some(wait)
}

fn bound(retries: u32) -> Duration {
    BASE.saturating_mul(1_u32.checked_shl(retries).unwrap_or(u32::MAX)).min(CAP)
}

fn bound_refused(retries: u32) -> Duration {
    BASE_REFUSED.saturating_mul(FACTOR_REFUSED.saturating_pow(retries)).min(CAP)
}

/// `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3). A date is compared with the server's own clock.
pub(super) fn retry_after(value: &str, server_now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let asked = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        // More digits than a number of seconds has.
        Err(_) if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => MAX_RETRY_AFTER,
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(server_now).unwrap_or_default(),
    };
    Some(asked.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    const LONG: Duration = Duration::from_secs(120);
    const FRESH: Past = Past { retries: 0, after_500: false };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_may_pass_is_sent_again() {
        for outcome in [Outcome::Unconnected, Outcome::Broken] {
            assert!(wait(outcome, FRESH, 3, LONG, 0.5).is_some());
        }
        for status in [408, 425, 429, 500, 502, 503, 504] {
            assert!(wait(Outcome::Status(status, None), FRESH, 3, LONG, 0.5).is_some(), "{status}");
        }
    }

    #[test]
    fn what_stays_wrong_is_not() {
        for status in [204, 301, 400, 401, 403, 404, 422, 501, 505] {
            assert_eq!(wait(Outcome::Status(status, Some(seconds(1))), FRESH, 3, LONG, 0.5), None, "{status}");
        }
        assert_eq!(wait(Outcome::Final, FRESH, 3, LONG, 0.5), None);
    }

    #[test]
    fn a_500_is_sent_again_once() {
        let after = Past { retries: 1, after_500: true };
        assert_eq!(wait(Outcome::Status(500, None), after, 3, LONG, 0.5), None);
        assert!(wait(Outcome::Status(503, None), after, 3, LONG, 0.5).is_some());
    }

    #[test]
    fn retries_are_counted() {
        let past = |retries| Past { retries, ..FRESH };
        assert!(wait(Outcome::Broken, past(2), 3, LONG, 0.5).is_some());
        assert_eq!(wait(Outcome::Broken, past(3), 3, LONG, 0.5), None);
        assert_eq!(wait(Outcome::Broken, past(0), 0, LONG, 0.5), None);
    }

    #[test]
    fn the_wait_is_anywhere_up_to_a_bound_that_doubles_to_twenty_seconds() {
        let wait = |retries, chance| wait(Outcome::Broken, Past { retries, ..FRESH }, 99, LONG, chance);
        assert_eq!(wait(0, 0.0), Some(Duration::ZERO));
        assert_eq!(wait(0, 1.0), Some(Duration::from_millis(500)));
        assert_eq!(wait(1, 1.0), Some(seconds(1)));
        assert_eq!(wait(2, 0.5), Some(seconds(1)));
        assert_eq!(wait(6, 1.0), Some(seconds(20)));
        assert_eq!(wait(80, 1.0), Some(seconds(20)));
    }

    #[test]
    fn a_refused_request_waits_for_half_of_its_bound_at_least() {
        let wait = |retries, chance| wait(Outcome::Status(429, None), Past { retries, ..FRESH }, 99, LONG, chance);
        assert_eq!((wait(0, 0.0), wait(0, 1.0)), (Some(Duration::from_micros(37_500)), Some(BASE_REFUSED)));
        assert_eq!((wait(2, 1.0), wait(80, 1.0)), (Some(Duration::from_millis(2700)), Some(CAP)));
    }

    #[test]
    fn retry_after_is_kept_to_unless_it_passes_the_deadline() {
        let asked = |after| Outcome::Status(503, Some(seconds(after)));
        assert_eq!(wait(asked(30), FRESH, 3, LONG, 0.0), Some(seconds(30)));
        assert_eq!(wait(asked(0), FRESH, 3, LONG, 1.0), Some(Duration::ZERO));
        assert_eq!(wait(asked(120), FRESH, 3, LONG, 0.0), None);
        assert_eq!(wait(Outcome::Broken, FRESH, 3, Duration::ZERO, 0.0), None);
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let noon = UNIX_EPOCH + seconds(1_793_534_400);
        assert_eq!(retry_after(" 7 ", noon), Some(seconds(7)));
        assert_eq!(retry_after("Sun, 01 Nov 2026 12:00:09 GMT", noon), Some(seconds(9)));
        assert_eq!(retry_after("Sun, 01 Nov 2026 11:00:00 GMT", noon), Some(Duration::ZERO));
        for far in ["86401", "18446744073709551615", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            assert_eq!(retry_after(far, noon), Some(MAX_RETRY_AFTER), "{far}");
        }
        assert_eq!(retry_after("", noon), None);
        assert_eq!(retry_after("soon", noon), None);
        assert_eq!(retry_after("-1", noon), None);
    }
}
