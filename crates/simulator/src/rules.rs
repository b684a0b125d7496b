//! The service's rules for ranges of time, in its own words.

use chrono::{DateTime, Months};

/// A schedule without an end covers one day.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

const POSITIVE: &str = "from and to must both be greater than 0";
const FROM_BEFORE_TO: &str = "from must be less than to";
const AT_MOST_8_MONTHS: &str = "the range may not exceed 8 months";
const VALID: &str = "Valid from and to timestamps are required";
const AT_MOST_30_MINUTES: &str = "Locations must be requested in 30 min timeframes";

/// The rules of team events and team game stats that a range breaks, joined (422). A bound that is missing or not a
/// number counts as 0.
pub(super) fn range(from: Option<i64>, to: Option<i64>) -> Result<(i64, i64), String> {
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
    let rules = [
        (from <= 0 || to <= 0, POSITIVE),
        (from >= to, FROM_BEFORE_TO),
        (exceeds_8_months(from, to), AT_MOST_8_MONTHS),
    ];
    verdict((from, to), &rules)
}

/// The rules of locations that a window breaks, joined (400).
pub(super) fn window(from: Option<i64>, to: Option<i64>) -> Result<(i64, i64), String> {
    let is_valid = matches!((from, to), (Some(from), Some(to)) if from > 0 && to > 0 && from <= to);
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
    verdict((from, to), &[(!is_valid, VALID), (is_valid && to - from > 30 * 60_000, AT_MOST_30_MINUTES)])
}

fn verdict(range: (i64, i64), rules: &[(bool, &str)]) -> Result<(i64, i64), String> {
    let messages: Vec<&str> = rules.iter().filter(|(is_broken, _)| *is_broken).map(|(_, rule)| *rule).collect();
    if messages.is_empty() { Ok(range) } else { Err(messages.join(" | ")) }
}

/// Calendar months, in UTC. A bound beyond the calendar makes any range too long.
fn exceeds_8_months(from: i64, to: i64) -> bool {
    let latest = DateTime::from_timestamp_millis(from)
        .and_then(|from| from.checked_add_months(Months::new(8)))
        .map(|latest| latest.timestamp_millis());
    latest.is_none_or(|latest| to > latest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<i64> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
    }

    #[test]
    fn a_422_lists_the_violated_rules_and_only_those() {
        let first = "from and to must both be greater than 0";
        let second = "from must be less than to";
        let third = "the range may not exceed 8 months";
        assert_eq!(range(Some(1), Some(2)), Ok((1, 2)));
        assert_eq!(range(Some(2), Some(1)), Err(second.into()));
        assert_eq!(range(Some(2), Some(2)), Err(second.into()));
        assert_eq!(range(Some(0), Some(2)), Err(first.into()));
        assert_eq!(range(Some(-5), Some(-9)), Err(format!("{first} | {second}")));
        assert_eq!(range(None, None), Err(format!("{first} | {second}")));
        assert_eq!(range(Some(1), None), Err(format!("{first} | {second}")));
        assert_eq!(range(None, Some(1_700_000_000_000)), Err(format!("{first} | {third}")));
        assert_eq!(range(Some(1), Some(i64::MAX)), Err(third.into()));
        assert_eq!(range(Some(i64::MAX), Some(1)), Err(format!("{second} | {third}")));
    }

    #[test]
    fn eight_months_are_calendar_months() {
        for (from, last) in [
            ("2025-07-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ("2025-10-31T12:00:00Z", "2026-06-30T12:00:00Z"),
            ("2025-06-30T00:00:00Z", "2026-02-28T00:00:00Z"),
            ("2027-06-29T00:00:00Z", "2028-02-29T00:00:00Z"),
        ] {
            let (from, last) = (ms(from), ms(last));
            assert!(range(from, last).is_ok());
            assert_eq!(range(from, last.map(|last| last + 1)), Err("the range may not exceed 8 months".into()));
        }
    }

    #[test]
    fn locations_come_in_windows_of_30_minutes() {
        let start = 1_700_000_000_000;
        assert_eq!(window(Some(start), Some(start + 1_800_000)), Ok((start, start + 1_800_000)));
        assert_eq!(
            window(Some(start), Some(start + 1_800_001)),
            Err("Locations must be requested in 30 min timeframes".into())
        );
        for (from, to) in
            [(None, None), (Some(start), None), (None, Some(start)), (Some(0), Some(1)), (Some(2), Some(1))]
        {
            assert_eq!(window(from, to), Err("Valid from and to timestamps are required".into()));
        }
        assert_eq!(window(Some(1), Some(i64::MAX)), Err("Locations must be requested in 30 min timeframes".into()));
    }
}
