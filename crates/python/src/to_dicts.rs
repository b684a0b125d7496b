//! A table's rows as dicts, without any library.

use crate::times::{self, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StructArray, downcast_integer};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::collections::HashSet;

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

/// One column's values; `None` for null.
fn values<'py>(py: Python<'py>, column: &ArrayRef) -> Values<'py> {
    match column.data_type() {
        DataType::Null => Ok(vec![None; column.len()]),
        DataType::Boolean => objects(py, column.as_boolean().iter()),
        DataType::Utf8 => objects(py, column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => objects(py, column.as_string::<i64>().iter()),
        DataType::Utf8View => objects(py, column.as_string_view().iter()),
        // Such as bodies, in the table of an archive that keeps them beside their coverage.
        DataType::Binary => bytes(py, column.as_binary::<i32>().iter()),
        DataType::LargeBinary => bytes(py, column.as_binary::<i64>().iter()),
        DataType::BinaryView => bytes(py, column.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => bytes(py, column.as_fixed_size_binary().iter()),
        DataType::Timestamp(unit, zone) => times::timestamps(py, column, *unit, zone.as_deref()),
        DataType::Date32 => times::days(py, column, 1),
        DataType::Date64 => times::days(py, column, 86_400_000),
        DataType::Time32(unit) | DataType::Time64(unit) => times::clocks(py, column, *unit),
        DataType::Duration(unit) => times::durations(py, column, *unit),
        DataType::Interval(unit) => intervals(py, column, *unit),
        data_type if data_type.is_numeric() => numbers(py, column),
        _ => nested_values(py, column),
    }
}

fn numbers<'py>(py: Python<'py>, column: &ArrayRef) -> Values<'py> {
    macro_rules! plain {
        ($of:ty) => {
            objects(py, column.as_primitive::<$of>().iter())
        };
    }
    match column.data_type() {
        DataType::Int8 => plain!(Int8Type),
        DataType::Int16 => plain!(Int16Type),
        DataType::Int32 => plain!(Int32Type),
        DataType::Int64 => plain!(Int64Type),
        DataType::UInt8 => plain!(UInt8Type),
        DataType::UInt16 => plain!(UInt16Type),
        DataType::UInt32 => plain!(UInt32Type),
        DataType::UInt64 => plain!(UInt64Type),
        DataType::Float16 => objects(py, column.as_primitive::<Float16Type>().iter().map(|value| value.map(f64::from))),
        DataType::Float32 => plain!(Float32Type),
        DataType::Float64 => plain!(Float64Type),
        DataType::Decimal32(..) => decimals(py, column.as_primitive::<Decimal32Type>()),
        DataType::Decimal64(..) => decimals(py, column.as_primitive::<Decimal64Type>()),
        DataType::Decimal128(..) => decimals(py, column.as_primitive::<Decimal128Type>()),
        DataType::Decimal256(..) => decimals(py, column.as_primitive::<Decimal256Type>()),
        _ => Err(no_form(column)),
    }
}

/// The values of a column whose type has others.
fn nested_values<'py>(py: Python<'py>, column: &ArrayRef) -> Values<'py> {
    macro_rules! words {
        ($key:ty) => {{
            let dictionary = column.as_dictionary::<$key>();
            let words = values(py, dictionary.values())?;
            let word = |key: Option<_>| key.and_then(|key| words.get(usize::try_from(key).ok()?).cloned().flatten());
            Ok(dictionary.keys().iter().map(word).collect())
        }};
    }
    match column.data_type() {
        DataType::Dictionary(key, _) => downcast_integer! { **key => (words), _ => Err(no_form(column)) },
        DataType::List(_) => lists(py, column.as_list::<i32>().iter()),
        DataType::LargeList(_) => lists(py, column.as_list::<i64>().iter()),
        DataType::ListView(_) => lists(py, column.as_list_view::<i32>().iter()),
        DataType::LargeListView(_) => lists(py, column.as_list_view::<i64>().iter()),
        DataType::FixedSizeList(..) => lists(py, column.as_fixed_size_list().iter()),
        DataType::Map(..) => {
            let maps = column.as_map();
            maps.iter().map(|map| map.map(|entries| python_dict(py, &entries)).transpose()).collect()
        }
        DataType::Struct(_) => structs(py, column.as_struct()),
        _ => Err(no_form(column)),
    }
}

/// A table that came in has no such column: `check_columns` refuses it.
fn no_form(column: &ArrayRef) -> PyErr {
    PyTypeError::new_err(format!("a column of type {} has no Python form", column.data_type()))
}

/// Raises where `values` would have no value for a column, or where two columns or parts would share a place.
pub(crate) fn check_columns(py: Python<'_>, schema: &Schema) -> PyResult<()> {
    if let Some(name) = repeated_name(schema.fields()) {
        return Err(PyValueError::new_err(format!("two columns are named {name:?}: rename one")));
    }
    schema.fields().iter().try_for_each(|field| check_field(py, field.name(), field))
}

fn check_field(py: Python<'_>, column: &str, field: &Field) -> PyResult<()> {
    // DuckDB sends bits and large numbers as the bytes of its own format.
    if field.extension_type_name() == Some("arrow.opaque") {
        return Err(PyTypeError::new_err(format!(
            "the column {column:?} has values that only the library of its table can read: cast it to another type first, \
             such as x::varchar in DuckDB"
        )));
    }
    check_type(py, column, field.data_type())
}

fn check_type(py: Python<'_>, column: &str, data_type: &DataType) -> PyResult<()> {
    let refuse = |hint: &str| {
        Err(PyTypeError::new_err(format!(
            "the column {column:?} is of type {data_type}, which has no Python form: {hint}"
        )))
    };
    match data_type {
        DataType::Union(..) => refuse("cast it to another type first, such as x::varchar in DuckDB"),
        DataType::RunEndEncoded(..) => refuse("pass it through pyarrow.compute.run_end_decode first"),
        DataType::Timestamp(_, Some(zone)) if &**zone != "UTC" => {
            times::zone(py, zone, &format!("the time zone of the column {column:?}")).map(|_| ())
        }
        DataType::Struct(parts) => {
            if let Some(name) = repeated_name(parts) {
                let text = format!("two parts of the column {column:?} are named {name:?}: rename one");
                return Err(PyValueError::new_err(text));
            }
            parts.iter().try_for_each(|part| check_field(py, column, part))
        }
        DataType::Dictionary(_, values) => check_type(py, column, values),
        DataType::Map(entries, _) if matches!(entries.data_type(), DataType::Struct(parts) if parts.first().is_some_and(|key| key.data_type().is_nested())) => {
            refuse("its keys are nested; cast the keys to text first")
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => check_field(py, column, item),
        _ => Ok(()),
    }
}

fn repeated_name(fields: &Fields) -> Option<&str> {
    let mut seen = HashSet::new();
    fields.iter().map(|field| field.name().as_str()).find(|name| !seen.insert(*name))
}

fn decimals<'py, T: DecimalType>(py: Python<'py>, column: &PrimitiveArray<T>) -> Values<'py> {
    let decimal = py.import("decimal")?.getattr("Decimal")?;
    let value = |row| column.is_valid(row).then(|| decimal.call1((column.value_as_string(row),))).transpose();
    (0..column.len()).map(value).collect()
}

fn bytes<'py, 'a>(py: Python<'py>, column: impl Iterator<Item = Option<&'a [u8]>>) -> Values<'py> {
    objects(py, column.map(|value| value.map(|raw| PyBytes::new(py, raw))))
}

fn intervals<'py>(py: Python<'py>, column: &ArrayRef, unit: IntervalUnit) -> Values<'py> {
    match unit {
        IntervalUnit::YearMonth => {
            let months = column.as_primitive::<IntervalYearMonthType>().iter();
            objects(py, months.map(|value| value.map(|months| times::interval(months, 0, 0))))
        }
        IntervalUnit::DayTime => {
            let values = column.as_primitive::<IntervalDayTimeType>().iter();
            let text =
                |value: IntervalDayTime| times::interval(0, value.days, i64::from(value.milliseconds) * 1_000_000);
            objects(py, values.map(|value| value.map(text)))
        }
        IntervalUnit::MonthDayNano => {
            let values = column.as_primitive::<IntervalMonthDayNanoType>().iter();
            let text = |value: IntervalMonthDayNano| times::interval(value.months, value.days, value.nanoseconds);
            objects(py, values.map(|value| value.map(text)))
        }
    }
}

fn lists<'py>(py: Python<'py>, lists: impl Iterator<Item = Option<ArrayRef>>) -> Values<'py> {
    lists.map(|list| list.map(|list| python_list(py, &list)).transpose()).collect()
}

fn structs<'py>(py: Python<'py>, column: &StructArray) -> Values<'py> {
    let rows: Vec<_> = (0..column.len()).map(|row| column.is_valid(row).then(|| PyDict::new(py))).collect();
    for (field, part) in column.fields().iter().zip(column.columns()) {
        let name = PyString::intern(py, field.name());
        for (row, value) in rows.iter().zip(values(py, part)?) {
            if let Some(row) = row {
                row.set_item(&name, value)?;
            }
        }
    }
    Ok(rows.into_iter().map(|row| row.map(Bound::into_any)).collect())
}

fn python_list<'py>(py: Python<'py>, list: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    PyList::new(py, values(py, list)?).map(Bound::into_any)
}

fn python_dict<'py>(py: Python<'py>, entries: &StructArray) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (key, value) in values(py, entries.column(0))?.into_iter().zip(values(py, entries.column(1))?) {
        if dict.contains(&key)? {
            let key = key.map_or_else(|| Ok("None".into()), |key| key.repr().map(|text| text.to_string()))?;
            return Err(PyValueError::new_err(format!(
                "a map has the key {key} twice, which a dict cannot have: use .to_arrow()"
            )));
        }
        dict.set_item(key, value)?;
    }
    Ok(dict.into_any())
}

fn objects<'py, T: IntoPyObject<'py>>(py: Python<'py>, column: impl Iterator<Item = Option<T>>) -> Values<'py> {
    column.map(|value| value.map(|value| value.into_bound_py_any(py)).transpose()).collect()
}
