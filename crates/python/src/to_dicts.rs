//! A table's rows as dicts, without any library.

use crate::payload::epoch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, SecondsFormat};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::ops::RangeInclusive;

/// A list with a dict for each row.
pub(crate) fn dicts<'py>(py: Python<'py>, batches: &[RecordBatch]) -> PyResult<Bound<'py, PyList>> {
    let mut all: Vec<Bound<'py, PyDict>> = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for batch in batches {
        let first = all.len();
        all.extend((0..batch.num_rows()).map(|_| PyDict::new(py)));
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let name = PyString::intern(py, field.name());
            let column = values(py, column)?;
            for (row, value) in all[first..].iter().zip(column) {
                row.set_item(&name, value)?;
            }
        }
    }
    PyList::new(py, all)
}

/// The values of one column, over all batches.
pub(crate) fn column<'py, 'a>(
    py: Python<'py>,
    parts: impl Iterator<Item = &'a ArrayRef>,
) -> PyResult<Bound<'py, PyList>> {
    let mut all = Vec::new();
    for part in parts {
        all.extend(values(py, part)?);
    }
    PyList::new(py, all)
}

/// The first and the last millisecond of `datetime`: the years 1 to 9999.
const DATETIME_RANGE_MS: RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// A time outside the range of `datetime`, as text, so that one odd value does not hide the others.
fn odd_time(ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(ms);
    time.map_or_else(|| "<out of range>".to_owned(), |time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// One column's values; `None` for null.
fn values<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    match column.data_type() {
        DataType::Int64 => objects(py, column.as_primitive::<Int64Type>().iter()),
        DataType::Int32 => objects(py, column.as_primitive::<Int32Type>().iter()),
        DataType::Float64 => objects(py, column.as_primitive::<Float64Type>().iter()),
        DataType::Boolean => objects(py, column.as_boolean().iter()),
        DataType::Utf8 => objects(py, column.as_string::<i32>().iter()),
        // Bodies, in the table of an archive that keeps them beside their coverage.
        DataType::Binary => {
            objects(py, column.as_binary::<i32>().iter().map(|value| value.map(|raw| PyBytes::new(py, raw))))
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            let (epoch, delta) = (epoch(py)?, py.import("datetime")?.getattr("timedelta")?);
            let zone = zone.as_deref().filter(|zone| *zone != "UTC");
            let zone = zone.map(|zone| py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,))).transpose()?;
            let times = column.as_primitive::<TimestampMillisecondType>().iter();
            // As whole days and milliseconds: a single number of milliseconds would pass through a float.
            let time = |ms: i64| {
                if !DATETIME_RANGE_MS.contains(&ms) {
                    return odd_time(ms).into_bound_py_any(py);
                }
                let delta = delta.call1((ms.div_euclid(86_400_000), 0, 0, ms.rem_euclid(86_400_000)))?;
                let time = epoch.call_method1("__add__", (delta,))?;
                match &zone {
                    None => Ok(time),
                    Some(zone) => time.call_method1("astimezone", (zone,)),
                }
            };
            times.map(|ms| ms.map(time).transpose()).collect()
        }
        DataType::Dictionary(key, _) if **key == DataType::Int32 => {
            let dictionary = column.as_dictionary::<Int32Type>();
            let words = values(py, dictionary.values())?;
            let word = |key: Option<i32>| key.and_then(|key| words.get(usize::try_from(key).ok()?).cloned().flatten());
            Ok(dictionary.keys().iter().map(word).collect())
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            lists.iter().map(|list| list.map(|list| python_list(py, &list)).transpose()).collect()
        }
        DataType::Map(..) => {
            let maps = column.as_map();
            maps.iter().map(|map| map.map(|entries| python_dict(py, &entries)).transpose()).collect()
        }
        other => Err(PyTypeError::new_err(format!("a column of type {other} has no Python form"))),
    }
}

fn python_list<'py>(py: Python<'py>, list: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    PyList::new(py, values(py, list)?).map(Bound::into_any)
}

fn python_dict<'py>(py: Python<'py>, entries: &StructArray) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (key, value) in values(py, entries.column(0))?.into_iter().zip(values(py, entries.column(1))?) {
        dict.set_item(key, value)?;
    }
    Ok(dict.into_any())
}

fn objects<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    column: impl Iterator<Item = Option<T>>,
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    column.map(|value| value.map(|value| value.into_bound_py_any(py)).transpose()).collect()
}
