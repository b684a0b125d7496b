//! The service's clock, learned from the `Date` of a response that rejects a request's date. A signature is valid within
//! 5 minutes of the service's time (docs/wire.md, "Signature").

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A larger offset is not learned: a machine may be off by a time zone or a day, but a response may claim any date.
pub(super) const MAX_OFFSET_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) fn can_be_learned(offset_ms: i64) -> bool {
    offset_ms.unsigned_abs() <= MAX_OFFSET_MS.unsigned_abs()
}

/// Measures the offset from a `Date` header, which is truncated to the second and assumed to be written midway between
/// sending and receiving. `None` if the header is not a date.
pub(super) fn measure_offset(date: &str, sent_at: SystemTime, received_at: SystemTime) -> Option<i64> {
    let server = epoch_ms(httpdate::parse_http_date(date).ok()?) + 500;
    let (sent_ms, received_ms) = (epoch_ms(sent_at), epoch_ms(received_at));
    Some(server - (sent_ms + (received_ms - sent_ms) / 2))
}

/// The `date` header of a request: this machine's time, corrected.
pub(super) fn date_header(local: SystemTime, offset_ms: i64) -> String {
    // The formatter panics beyond the year 9999, and a clock can be set to anything.
    let corrected = epoch_ms(local).saturating_add(offset_ms).clamp(0, 253_402_300_799_000);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(corrected.unsigned_abs()))
}

/// Negative before 1970. Cut to a quarter of the range, so that sums of these do not overflow.
fn epoch_ms(time: SystemTime) -> i64 {
    let as_ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => as_ms(after),
        Err(before) => -as_ms(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_793_534_400_000; // 2026-11-01T12:00:00Z

    fn at(ms: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(ms)
    }

    #[test]
    fn the_offset_is_measured_at_the_midpoint_of_sending_and_receiving() {
        let date = "Sun, 01 Nov 2026 12:00:00 GMT";
        assert_eq!(measure_offset(date, at(NOON), at(NOON + 1000)), Some(0));
        assert_eq!(measure_offset(date, at(NOON - 600_000), at(NOON - 600_000)), Some(600_500));
        assert_eq!(measure_offset("yesterday", at(NOON), at(NOON)), None);
    }

    #[test]
    fn a_request_is_dated_by_the_servers_clock() {
        assert_eq!(date_header(at(NOON - 600_000), 600_000), "Sun, 01 Nov 2026 12:00:00 GMT");
    }

    #[test]
    fn an_offset_of_more_than_a_day_is_not_learned() {
        assert!([0, 600_000, -MAX_OFFSET_MS, MAX_OFFSET_MS].into_iter().all(can_be_learned));
        assert!(![MAX_OFFSET_MS + 1, -MAX_OFFSET_MS - 1, i64::MAX, i64::MIN].into_iter().any(can_be_learned));
    }

    #[test]
    fn an_absurd_clock_does_not_panic() {
        assert_eq!(epoch_ms(UNIX_EPOCH - Duration::from_secs(5)), -5000);
        assert_eq!(date_header(at(0), -5), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert!(date_header(UNIX_EPOCH - Duration::from_secs(5), 0).contains("1970"));
        assert!(date_header(at(NOON), i64::MAX).contains("9999"));
    }
}
