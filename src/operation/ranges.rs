//! The rules of a time range, in the service's words, and splitting long ranges.

use crate::error::{ApiError, ApiErrorKind, Error, Result};
use crate::scrub::Scrubbed;
use chrono::{DateTime, Months};

/// The messages of a 422.
pub(crate) const POSITIVE: &str = "from and to must both be greater than 0";
pub(crate) const IN_ORDER: &str = "from must be less than to";
pub(crate) const AT_MOST_8_MONTHS: &str = "the range may not exceed 8 months";

/// Maximum range of team events and team game stats.
const MONTHS: Months = Months::new(8);
/// Maximum window of sensor locations.
const WINDOW_MS: i64 = 30 * 60 * 1000;
/// A range of more windows (seven months) has a time in the wrong unit, such as microseconds: a session lasts minutes.
const MAX_WINDOWS: i64 = 10_000;

/// The rules that a range of events or stats violates. One that is split may be longer than the service allows.
fn violated_rules(from: i64, to: i64, is_split: bool) -> Vec<&'static str> {
    let rules = [
        (from <= 0 || to <= 0, POSITIVE),
        (from >= to, IN_ORDER),
        (!is_split && to > eight_months_after(from), AT_MOST_8_MONTHS),
    ];
    rules.into_iter().filter(|(is_violated, _)| *is_violated).map(|(_, rule)| rule).collect()
}

/// 1990 and 2101 in epoch milliseconds: a time outside is in the wrong unit, or misspelt.
const YEARS: std::ops::Range<i64> = 631_152_000_000..4_133_980_800_000;

/// Refuses a range that is swapped or empty, or lies outside the years of which the service can have data.
pub fn check(start: Option<i64>, end: Option<i64>) -> Result<()> {
    for (name, time) in [("start", start), ("end", end)] {
        if let Some(time) = time.filter(|time| !YEARS.contains(time)) {
            return Err(Error::Argument(format!(
                "{name} is {}; write a time from 1990 to 2100, in epoch milliseconds if as a number",
                utc(time)
            )));
        }
    }
    let (Some(start), Some(end)) = (start, end) else { return Ok(()) };
    if start > end {
        return Err(Error::Argument(format!("start {} is after end {}: swap them", utc(start), utc(end))));
    }
    if start == end {
        let next_day = utc(end + 24 * 60 * 60 * 1000);
        return Err(Error::Argument(format!(
            "start equals end, {}: the range is empty; for a whole day, end it with {}",
            utc(start),
            &next_day[..10.min(next_day.len())]
        )));
    }
    Ok(())
}

/// A time as a message shows it.
fn utc(time: i64) -> String {
    DateTime::from_timestamp_millis(time)
        .map_or_else(|| time.to_string(), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Adds calendar months in UTC; the day is clamped to the end of the month.
fn eight_months_after(from: i64) -> i64 {
    DateTime::from_timestamp_millis(from)
        .and_then(|time| time.checked_add_months(MONTHS))
        .map_or(i64::MAX, |time| time.timestamp_millis())
}

/// Touching pieces of at most 8 months, each counted from its own start, so that clamping makes none longer.
pub(super) fn months(from: i64, to: i64) -> Vec<(i64, i64)> {
    pieces(from, to, eight_months_after)
}

/// Touching windows of at most 30 minutes.
pub(super) fn windows(from: i64, to: i64) -> Result<Vec<(i64, i64)>> {
    if (to - from) / WINDOW_MS >= MAX_WINDOWS {
        return Err(Error::Argument(format!(
            "start and end lie {} hours apart, too many for windows of 30 minutes; give the start and end of a session, \
             in epoch milliseconds if as numbers",
            (to - from) / 3_600_000
        )));
    }
    Ok(pieces(from, to, |start| start + WINDOW_MS))
}

fn pieces(from: i64, to: i64, furthest: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
    let mut pieces = Vec::new();
    let mut start = from;
    loop {
        let end = furthest(start).min(to);
        pieces.push((start, end));
        if end >= to {
            return pieces;
        }
        start = end;
    }
}

/// Refuses a range with the error that the service would return.
pub(super) fn check_rules(from: i64, to: i64, is_split: bool, url: &str) -> Result<()> {
    let rules = violated_rules(from, to, is_split);
    if rules.is_empty() {
        return Ok(());
    }
    Err(Error::Api(Box::new(ApiError {
        kind: ApiErrorKind::InvalidRequest,
        status: 422,
        message: Scrubbed::local(rules.join(" | ")),
        rules: rules.iter().map(Scrubbed::local).collect(),
        request_id: None,
        url: Scrubbed::local(format!("{url}?from={from}&to={to}")),
        attempts: 0,
        elapsed: std::time::Duration::ZERO,
        advice: crate::advice::Advice::CorrectRequest,
        hint: "It was not sent; from is start and to is end, in epoch milliseconds".into(),
        retry_after: None,
    })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn utc_ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    fn touch_and_cover(pieces: &[(i64, i64)], from: i64, to: i64) {
        assert_eq!(pieces.first().unwrap().0, from);
        assert_eq!(pieces.last().unwrap().1, to);
        assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0), "{pieces:?}");
        assert!(pieces.iter().all(|(start, end)| start < end), "{pieces:?}");
    }

    #[test]
    fn eight_months_end_on_the_same_day_or_the_months_last() {
        assert_eq!(eight_months_after(utc_ms("2026-03-15T10:00:00Z")), utc_ms("2026-11-15T10:00:00Z"));
        assert_eq!(eight_months_after(utc_ms("2026-06-30T00:00:00Z")), utc_ms("2027-02-28T00:00:00Z"));
        assert_eq!(eight_months_after(utc_ms("2027-06-30T00:00:00Z")), utc_ms("2028-02-29T00:00:00Z"));
    }

    #[test]
    fn a_range_of_exactly_eight_months_is_one_piece_and_a_millisecond_more_is_two() {
        let (from, to) = (utc_ms("2026-01-01T00:00:00Z"), utc_ms("2026-09-01T00:00:00Z"));
        assert_eq!(months(from, to), [(from, to)]);
        assert_eq!(months(from, to + 1), [(from, to), (to, to + 1)]);
        assert!(violated_rules(from, to, false).is_empty());
        assert_eq!(violated_rules(from, to + 1, false), [AT_MOST_8_MONTHS]);
    }

    #[test]
    fn every_rule_that_is_violated_is_named() {
        assert_eq!(violated_rules(0, 5, true), [POSITIVE]);
        assert_eq!(violated_rules(5, 5, true), [IN_ORDER]);
        assert_eq!(violated_rules(5, -1, true), [POSITIVE, IN_ORDER]);
        assert_eq!(violated_rules(-1, utc_ms("2026-01-01T00:00:00Z"), false), [POSITIVE, AT_MOST_8_MONTHS]);
        assert!(violated_rules(1, 2, true).is_empty());
    }

    #[test]
    fn a_range_that_holds_nothing_is_refused() {
        let refusal = |start: &str, end: &str| match check(Some(utc_ms(start)), Some(utc_ms(end))) {
            Err(Error::Argument(text)) => text,
            other => panic!("{other:?}"),
        };
        let (first, second) = ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
        assert_eq!(
            refusal(second, first),
            "start 2026-12-01 00:00:00 UTC is after end 2026-11-01 00:00:00 UTC: swap them"
        );
        assert_eq!(
            refusal(first, first),
            "start equals end, 2026-11-01 00:00:00 UTC: the range is empty; for a whole day, end it with 2026-11-02"
        );
        assert!(refusal("1989-12-31T23:59:59Z", second).contains("start is 1989-12-31 23:59:59 UTC"));
        assert!(refusal(first, "2101-01-01T00:00:00Z").contains("from 1990 to 2100"));
        assert!(check(Some(utc_ms("1990-01-01T00:00:00Z")), Some(utc_ms("2100-12-31T23:59:59Z"))).is_ok());
        assert!(check(Some(utc_ms(first)), None).is_ok());
        assert!(check(None, None).is_ok());
        assert!(check(None, Some(0)).is_err());
    }

    #[test]
    fn windows_of_an_impossible_span_are_refused() {
        assert!(matches!(windows(1, 1_793_534_400_000), Err(Error::Argument(_))));
    }

    proptest! {
        #[test]
        fn months_touch_cover_and_none_is_longer_than_eight(from in 1i64..2_000_000_000_000, span in 1i64..300_000_000_000) {
            let pieces = months(from, from + span);
            touch_and_cover(&pieces, from, from + span);
            prop_assert!(pieces.iter().all(|(start, end)| *end <= eight_months_after(*start)));
        }

        #[test]
        fn windows_touch_cover_and_none_is_longer_than_thirty_minutes(from in 1i64..2_000_000_000_000, span in 1i64..90_000_000) {
            let pieces = windows(from, from + span).unwrap();
            touch_and_cover(&pieces, from, from + span);
            prop_assert!(pieces.iter().all(|(start, end)| end - start <= WINDOW_MS));
            prop_assert_eq!(pieces.len() as i64, (span + WINDOW_MS - 1) / WINDOW_MS);
        }
    }
}
