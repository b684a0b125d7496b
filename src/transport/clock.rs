//! The service's clock, learned from the `Date` of a response that refuses a request for its date. A signature is valid for
//! 5 minutes around the service's time (docs/wire.md, "Signature").

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest offset that is learned, in milliseconds: a machine is off by a time zone or a day, a response by anything.
pub(super) const MAX_OFFSET: i64 = 24 * 60 * 60 * 1000;

/// How far the service's clock is ahead of this machine's, as a refusal taught it; 0 until then.
#[derive(Debug, Default)]
pub(super) struct ServerClock {
    ahead: AtomicI64,
}

impl ServerClock {
    pub(super) fn ahead(&self) -> i64 {
        self.ahead.load(Relaxed)
    }

    /// Replaces the offset and returns the one before; `None` if the new one is too large to be believed.
    pub(super) fn learn(&self, ahead: i64) -> Option<i64> {
        (ahead.unsigned_abs() <= MAX_OFFSET.unsigned_abs()).then(|| self.ahead.swap(ahead, Relaxed))
    }
}

/// How far a server is ahead whose response bears this `Date`, written about midway between sending and receiving and cut to
/// the second. `None` if the header is not a date.
pub(super) fn measure(date: &str, sent: SystemTime, received: SystemTime) -> Option<i64> {
    let server = milliseconds(httpdate::parse_http_date(date).ok()?) + 500;
    let (sent, received) = (milliseconds(sent), milliseconds(received));
    Some(server - (sent + (received - sent) / 2))
}

/// The `date` header of a request: this machine's time, corrected.
pub(super) fn date_header(local: SystemTime, ahead: i64) -> String {
    // The header's form ends with the year 9999 (the formatter panics beyond); a clock can be set to anything.
    let shown = milliseconds(local).saturating_add(ahead).clamp(0, 253_402_300_799_000);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(shown.unsigned_abs()))
}

/// Epoch milliseconds; negative before 1970.
fn milliseconds(time: SystemTime) -> i64 {
    let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after),
        Err(before) => -whole(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_793_534_400_000; // 2026-11-01T12:00:00Z

    fn at(milliseconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_offset_is_measured_at_the_midpoint_of_sending_and_receiving() {
        let date = "Sun, 01 Nov 2026 12:00:00 GMT";
        assert_eq!(measure(date, at(NOON), at(NOON + 1000)), Some(0));
        assert_eq!(measure(date, at(NOON - 600_000), at(NOON - 600_000)), Some(600_500));
        assert_eq!(measure("yesterday", at(NOON), at(NOON)), None);
    }

    #[test]
    fn a_request_is_dated_by_the_servers_clock() {
        assert_eq!(date_header(at(NOON - 600_000), 600_000), "Sun, 01 Nov 2026 12:00:00 GMT");
    }

    #[test]
    fn an_offset_of_more_than_a_day_is_not_learned() {
        let clock = ServerClock::default();
        for ahead in [0, 600_000, -MAX_OFFSET, MAX_OFFSET] {
            assert!(clock.learn(ahead).is_some() && clock.ahead() == ahead, "{ahead}");
        }
        for ahead in [MAX_OFFSET + 1, -MAX_OFFSET - 1, i64::MAX, i64::MIN] {
            assert!(clock.learn(ahead).is_none() && clock.ahead() == MAX_OFFSET, "{ahead}");
        }
    }

    #[test]
    fn an_absurd_clock_gives_a_date_and_no_panic() {
        assert_eq!(date_header(at(0), -5), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert!(date_header(UNIX_EPOCH - Duration::from_secs(5), 0).contains("1970"));
        assert!(date_header(at(NOON), i64::MAX).contains("9999"));
    }
}
