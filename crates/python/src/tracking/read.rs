//! Columns of any Arrow table as Rust values. A column that is not there is null in every row.

use crate::capsule;
use crate::cast::cast;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, GenericListArray, Int64Array, OffsetSizeTrait, RecordBatch,
    StringArray,
};
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
        let numbers = whole_numbers(column).ok_or_else(|| self.error(name, column, "whole numbers"))?;
        Ok(Integers(Some(numbers)))
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
        let lists = || {
            Some(match column.data_type() {
                DataType::List(_) => {
                    id_lists(column.as_list::<i32>(), whole_numbers(column.as_list::<i32>().values())?)
                }
                DataType::LargeList(_) => {
                    id_lists(column.as_list::<i64>(), whole_numbers(column.as_list::<i64>().values())?)
                }
                _ => return None,
            })
        };
        Ok(IdLists(Some(lists().ok_or_else(|| self.error(name, column, "lists of whole numbers"))?)))
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

/// Whole numbers, also those that are stored as floats, as pandas does beside nulls.
fn whole_numbers(column: &ArrayRef) -> Option<Int64Array> {
    match floats(column) {
        Some(floats) => integral(&floats),
        None if *column.data_type() == DataType::Null => Some(Int64Array::new_null(column.len())),
        None => Some(cast(column, &DataType::Int64)?.as_primitive().clone()),
    }
}

fn integral(floats: &Float64Array) -> Option<Int64Array> {
    let integer = |value: Option<f64>| match value.filter(|value| !value.is_nan()) {
        None => Some(None),
        Some(value) => (value.fract() == 0.0 && value.abs() < 9e15).then_some(Some(value as i64)),
    };
    let values: Option<Vec<Option<i64>>> = floats.iter().map(integer).collect();
    Some(Int64Array::from(values?))
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
column!(Flags, BooleanArray, bool);

pub(super) struct Numbers(Option<Float64Array>);

impl Numbers {
    /// NaN is a null, as pandas has it.
    pub(super) fn get(&self, row: usize) -> Option<f64> {
        let column = self.0.as_ref().filter(|column| column.is_valid(row))?;
        Some(column.value(row)).filter(|value| !value.is_nan())
    }
}

pub(super) struct Texts(Option<StringArray>);

impl Texts {
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        self.0.as_ref().filter(|column| column.is_valid(row)).map(|column| column.value(row))
    }
}

/// The ids of each row; `None` for a null.
pub(super) struct IdLists(Option<Vec<Option<Vec<i64>>>>);

impl IdLists {
    pub(super) fn get(&self, row: usize) -> Option<Vec<i64>> {
        self.0.as_ref()?[row].clone()
    }
}

fn id_lists<O: OffsetSizeTrait>(lists: &GenericListArray<O>, ids: Int64Array) -> Vec<Option<Vec<i64>>> {
    let list = |row: usize| {
        let offsets = &lists.value_offsets()[row..row + 2];
        let range = offsets[0].as_usize()..offsets[1].as_usize();
        lists.is_valid(row).then(|| range.filter(|i| ids.is_valid(*i)).map(|i| ids.value(i)).collect())
    };
    (0..lists.len()).map(list).collect()
}
