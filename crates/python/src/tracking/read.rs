//! Columns of any Arrow table as Rust values. A column that is not there is null in every row.

use crate::capsule;
use crate::cast::cast;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The batches of a caller's tables.
pub(super) fn batches(tables: &[Bound<'_, PyAny>]) -> PyResult<Vec<RecordBatch>> {
    let mut all = Vec::new();
    for table in tables {
        all.extend(capsule::read(table)?.1);
    }
    Ok(all)
}

/// One batch of an argument, whose name is in its errors.
pub(super) struct Columns<'a> {
    pub(super) argument: &'static str,
    pub(super) batch: &'a RecordBatch,
}

impl Columns<'_> {
    fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name).filter(|column| *column.data_type() != DataType::Null)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.batch.schema_ref().column_with_name(name).is_some()
    }

    pub(super) fn require(&self, names: &[&str]) -> PyResult<()> {
        let missing: Vec<&str> = names.iter().filter(|name| !self.has(name)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let columns: Vec<String> = self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        let message =
            format!("{} has no column {}; it has {}", self.argument, missing.join(" and "), columns.join(", "));
        Err(PyValueError::new_err(sideline::scrub::visible(&message)))
    }

    fn error(&self, name: &str, column: &ArrayRef, expected: &str) -> PyErr {
        let kind = column.data_type();
        PyValueError::new_err(format!(
            "{}: the column {name} is of type {kind}; it must have {expected}",
            self.argument
        ))
    }

    pub(super) fn integers(&self, name: &str) -> PyResult<Integers> {
        let Some(column) = self.column(name) else { return Ok(Integers(None)) };
        let column = floats(column).map_or_else(|| cast(column, &DataType::Int64), |floats| integral(&floats));
        let column = column.ok_or_else(|| self.error(name, &self.batch[name], "whole numbers"))?;
        Ok(Integers(Some(column.as_primitive::<Int64Type>().clone())))
    }

    pub(super) fn numbers(&self, name: &str) -> PyResult<Numbers> {
        let Some(column) = self.column(name) else { return Ok(Numbers(None)) };
        let column = floats(column).or_else(|| Some(cast(column, &DataType::Float64)?.as_primitive().clone()));
        Ok(Numbers(Some(column.ok_or_else(|| self.error(name, &self.batch[name], "numbers"))?)))
    }

    pub(super) fn texts(&self, name: &str) -> PyResult<Texts> {
        let Some(column) = self.column(name) else { return Ok(Texts(None)) };
        let texts = cast(column, &DataType::Utf8).ok_or_else(|| self.error(name, column, "texts"))?;
        Ok(Texts(Some(texts.as_string::<i32>().clone())))
    }

    pub(super) fn flags(&self, name: &str) -> PyResult<Flags> {
        let Some(column) = self.column(name) else { return Ok(Flags(None)) };
        let flags = column.as_boolean_opt().ok_or_else(|| self.error(name, column, "true and false"))?;
        Ok(Flags(Some(flags.clone())))
    }

    /// Epoch milliseconds; fractions are rounded down.
    pub(super) fn times(&self, name: &str) -> PyResult<Integers> {
        let Some(column) = self.column(name) else { return Ok(Integers(None)) };
        let times: Int64Array = match column.data_type() {
            DataType::Timestamp(_, None) => {
                return Err(self.error(name, column, "times with a time zone, such as UTC"));
            }
            DataType::Timestamp(TimeUnit::Second, _) => {
                column.as_primitive::<TimestampSecondType>().unary(|time| time.saturating_mul(1000))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                column.as_primitive::<TimestampMillisecondType>().unary(|time| time)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                column.as_primitive::<TimestampMicrosecondType>().unary(|time| time.div_euclid(1000))
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                column.as_primitive::<TimestampNanosecondType>().unary(|time| time.div_euclid(1_000_000))
            }
            DataType::Int64 => {
                let times = column.as_primitive::<Int64Type>();
                if times.null_count() < times.len() && times.iter().flatten().all(is_seconds) {
                    let (argument, expected) = (self.argument, "times, or epoch milliseconds");
                    let message = format!("{argument}: the column {name} has seconds; it must have {expected}");
                    return Err(PyValueError::new_err(message));
                }
                times.clone()
            }
            _ => return Err(self.error(name, column, "times, or epoch milliseconds as integers")),
        };
        Ok(Integers(Some(times)))
    }

    pub(super) fn id_lists(&self, name: &str) -> PyResult<IdLists> {
        let Some(column) = self.column(name) else { return Ok(IdLists(None)) };
        match column.data_type() {
            DataType::List(_) | DataType::LargeList(_) => Ok(IdLists(Some(column.clone()))),
            _ => Err(self.error(name, column, "lists of ids")),
        }
    }
}

/// Whether a time would be of this century in seconds; in milliseconds it is in the first months of 1970.
pub(super) fn is_seconds(time: i64) -> bool {
    (1_000_000_000..10_000_000_000).contains(&time)
}

fn floats(column: &ArrayRef) -> Option<Float64Array> {
    match column.data_type() {
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().clone()),
        DataType::Float32 => Some(column.as_primitive::<Float32Type>().unary(f64::from)),
        _ => None,
    }
}

/// Whole numbers that are stored as floats, as pandas does beside nulls.
fn integral(floats: &Float64Array) -> Option<ArrayRef> {
    let integer = |value: Option<f64>| match value.filter(|value| !value.is_nan()) {
        None => Some(None),
        Some(value) => (value.fract() == 0.0 && value.abs() < 9e15).then_some(Some(value as i64)),
    };
    let values: Option<Vec<Option<i64>>> = floats.iter().map(integer).collect();
    Some(std::sync::Arc::new(Int64Array::from(values?)))
}

macro_rules! column {
    ($name:ident, $array:ty, $value:ty) => {
        pub(super) struct $name(Option<$array>);

        impl $name {
            pub(super) fn get(&self, row: usize) -> Option<$value> {
                self.0.as_ref().filter(|column| column.is_valid(row)).map(|column| column.value(row))
            }
        }
    };
}

column!(Integers, Int64Array, i64);
column!(Numbers, Float64Array, f64);
column!(Flags, BooleanArray, bool);

pub(super) struct Texts(Option<StringArray>);

impl Texts {
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        self.0.as_ref().filter(|column| column.is_valid(row)).map(|column| column.value(row))
    }
}

pub(super) struct IdLists(Option<ArrayRef>);

impl IdLists {
    pub(super) fn get(&self, row: usize) -> Option<Vec<i64>> {
        let column = self.0.as_ref().filter(|column| column.is_valid(row))?;
        let values = match column.data_type() {
            DataType::List(_) => column.as_list::<i32>().value(row),
            _ => column.as_list::<i64>().value(row),
        };
        let ids = cast(&values, &DataType::Int64)?;
        Some(ids.as_primitive::<Int64Type>().iter().flatten().collect())
    }
}
