//! Times, days and durations as values of `datetime`. What none of them can hold is a text, so that one odd value does not
//! hide the others.

use crate::cast;
use crate::payload::epoch;
use arrow_array::ArrayRef;
use arrow_schema::TimeUnit;
use chrono::{DateTime, SecondsFormat, Utc};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use std::ops::RangeInclusive;

pub(crate) type Values<'py> = PyResult<Vec<Option<Bound<'py, PyAny>>>>;

const DAY_S: i64 = 86_400;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The first and the last second of `datetime`: the years 1 to 9999.
const DATETIME_RANGE_S: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// The days of `timedelta`.
const TIMEDELTA_RANGE_DAYS: RangeInclusive<i64> = -999_999_999..=999_999_999;

/// The day that `date` counts as 719,163.
const EPOCH_ORDINAL: i64 = 719_163;

const OUT_OF_RANGE: &str = "<out of range>";

/// Timestamps; without a zone they are naive.
pub(crate) fn timestamps<'py>(py: Python<'py>, column: &ArrayRef, unit: TimeUnit, zone: Option<&str>) -> Values<'py> {
    let datetime = py.import("datetime")?;
    let delta = datetime.getattr("timedelta")?;
    let epoch = match zone {
        None => datetime.getattr("datetime")?.call1((1970, 1, 1))?,
        Some(_) => epoch(py)?,
    };
    let zone_of_times = zone.filter(|zone| *zone != "UTC").map(|zone| self::zone(py, zone, "tz")).transpose()?;
    for_each(column, |value| {
        let (seconds, nanos) = split(value, unit);
        let text = || {
            let text = DateTime::from_timestamp(seconds, nanos).map(|time| rfc3339(time, zone.is_some()));
            text.as_deref().unwrap_or(OUT_OF_RANGE).into_bound_py_any(py)
        };
        let Some(micros) = micros(nanos).filter(|_| DATETIME_RANGE_S.contains(&seconds)) else { return text() };
        // As whole days and seconds: a single number of microseconds would pass through a float.
        let delta = delta.call1((seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S), micros))?;
        let time = epoch.call_method1("__add__", (delta,))?;
        let Some(zone) = &zone_of_times else { return Ok(time) };
        time.call_method1("astimezone", (zone,)).or_else(|error| match error.is_instance_of::<PyOverflowError>(py) {
            true => text(),
            false => Err(error),
        })
    })
}

fn rfc3339(time: DateTime<Utc>, is_aware: bool) -> String {
    let text = time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    if is_aware { text } else { text.trim_end_matches('Z').to_owned() }
}

/// A zone of Arrow: a name or an offset such as +05:30. `source` is what an error names.
pub(crate) fn zone<'py>(py: Python<'py>, name: &str, source: &str) -> PyResult<Bound<'py, PyAny>> {
    let Some(seconds) = offset(name) else {
        return py.import("sideline._rows")?.call_method1("zone", (name, source));
    };
    let datetime = py.import("datetime")?;
    datetime.getattr("timezone")?.call1((datetime.getattr("timedelta")?.call1((0, seconds))?,))
}

fn offset(name: &str) -> Option<i64> {
    let (sign, digits) = name.split_at_checked(1)?;
    let (hours, minutes) = digits.split_once(':').filter(|(hours, minutes)| hours.len() == 2 && minutes.len() == 2)?;
    let seconds = hours.parse::<u8>().ok().filter(|hours| *hours < 24)? as i64 * 3600
        + minutes.parse::<u8>().ok().filter(|minutes| *minutes < 60)? as i64 * 60;
    match sign {
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

/// Durations; of one that no `timedelta` holds, ISO 8601.
pub(crate) fn durations<'py>(py: Python<'py>, column: &ArrayRef, unit: TimeUnit) -> Values<'py> {
    let delta = py.import("datetime")?.getattr("timedelta")?;
    for_each(column, |value| {
        let (seconds, nanos) = split(value, unit);
        let days = seconds.div_euclid(DAY_S);
        match micros(nanos).filter(|_| TIMEDELTA_RANGE_DAYS.contains(&days)) {
            Some(micros) => delta.call1((days, seconds.rem_euclid(DAY_S), micros)),
            None => {
                let nanos = i128::from(seconds) * NANOS_PER_SECOND + i128::from(nanos);
                let sign = if nanos < 0 { "-" } else { "" };
                format!("{sign}PT{}S", seconds_text(nanos.abs())).into_bound_py_any(py)
            }
        }
    })
}

/// An interval in ISO 8601: a month has no fixed length, so no `timedelta` holds it.
pub(crate) fn interval(months: i32, days: i32, nanos: i64) -> String {
    format!("P{months}M{days}DT{}S", seconds_text(nanos.into()))
}

/// Seconds with as many digits as they have.
fn seconds_text(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, rest) = (nanos.abs() / NANOS_PER_SECOND, nanos.abs() % NANOS_PER_SECOND);
    let text = format!("{sign}{seconds}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Times of day.
pub(crate) fn clocks<'py>(py: Python<'py>, column: &ArrayRef, unit: TimeUnit) -> Values<'py> {
    let time = py.import("datetime")?.getattr("time")?;
    for_each(column, |value| {
        let (seconds, nanos) = split(value, unit);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match micros(nanos) {
            _ if !(0..DAY_S).contains(&seconds) => OUT_OF_RANGE.into_bound_py_any(py),
            Some(micros) => time.call1((hour, minute, second, micros)),
            None => format!("{hour:02}:{minute:02}:{second:02}.{nanos:09}").into_bound_py_any(py),
        }
    })
}

/// Days; `per_day` is how many of the column's numbers one is.
pub(crate) fn days<'py>(py: Python<'py>, column: &ArrayRef, per_day: i64) -> Values<'py> {
    let from_ordinal = py.import("datetime")?.getattr("date")?.getattr("fromordinal")?;
    for_each(column, |value| {
        let days = value.div_euclid(per_day);
        if DATETIME_RANGE_S.contains(&days.saturating_mul(DAY_S)) {
            return from_ordinal.call1((days + EPOCH_ORDINAL,));
        }
        let day = DateTime::from_timestamp(days.saturating_mul(DAY_S), 0).map(|time| time.date_naive().to_string());
        day.as_deref().unwrap_or(OUT_OF_RANGE).into_bound_py_any(py)
    })
}

fn for_each<'py>(column: &ArrayRef, form: impl Fn(i64) -> PyResult<Bound<'py, PyAny>>) -> Values<'py> {
    let numbers = cast::stored_numbers(column);
    numbers.iter().flatten().map(|value| value.map(&form).transpose()).collect()
}

/// Whole seconds, and the nanoseconds after them.
fn split(value: i64, unit: TimeUnit) -> (i64, u32) {
    let parts = cast::parts_of_second(unit);
    (value.div_euclid(parts), (value.rem_euclid(parts) * (1_000_000_000 / parts)) as u32)
}

fn micros(nanos: u32) -> Option<u32> {
    nanos.is_multiple_of(1_000).then_some(nanos / 1_000)
}
