//! Arrow data in and out: the Arrow PyCapsule interface, by pyo3-arrow.

use crate::python::convert;
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::{PyArray, PyChunkedArray, PySchema, PyTable};
use std::sync::Arc;

/// A value that does not fit is an error.
const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

pub fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    Ok(to_schema_pycapsule(py, schema)?)
}

/// A stream of the batches. A requested schema is a hint: it is ignored if a value would not be the same in it.
pub fn of_batches<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    requested: Option<&Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let mut rows: Vec<ArrayRef> = batches.iter().map(|batch| Arc::new(StructArray::from(batch.clone())) as _).collect();
    let mut field = struct_field(schema);
    if let Some(requested) = requested {
        let wanted = struct_field(PySchema::from_arrow_pycapsule(requested)?.as_ref());
        if has_names_of(schema, &wanted)
            && let Some(cast) = rows.iter().map(|rows| lossless_cast(rows, &wanted)).collect()
        {
            (rows, field) = (cast, wanted);
        }
    }
    let reader = ArrayIterator::new(rows.into_iter().map(Ok), Arc::new(field));
    Ok(to_stream_pycapsule(py, Box::new(reader), None)?)
}

/// A batch's rows as structs.
fn struct_field(schema: &Schema) -> Field {
    Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone())
}

/// The rows in another type, or `None` if casting them back does not give the same. (By itself pyo3-arrow would make null
/// of a value that is too large, and cut off decimals.)
fn lossless_cast(rows: &ArrayRef, wanted: &Field) -> Option<ArrayRef> {
    let cast = cast_with_options(rows, wanted.data_type(), &STRICT).ok()?;
    let back = cast_with_options(&cast, rows.data_type(), &STRICT).ok()?;
    (back.as_ref() == rows.as_ref()).then_some(cast)
}

fn has_names_of(schema: &Schema, wanted: &Field) -> bool {
    let DataType::Struct(fields) = wanted.data_type() else { return false };
    fields.iter().map(|field| field.name()).eq(schema.fields().iter().map(|field| field.name()))
}

/// The schema and batches of any Arrow table.
pub fn read(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let (batches, schema) = data.extract::<PyTable>()?.into_inner();
    Ok((schema, batches))
}

/// Whether an object has Arrow data, such as an array or a table.
pub fn is_arrow(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.hasattr(intern!(data.py(), "__arrow_c_array__"))?
        || data.hasattr(intern!(data.py(), "__arrow_c_stream__"))?)
}

/// The chunks of any Arrow array, as integers where they are, else as texts.
pub fn read_ids(name: &str, data: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let chunks = match data.hasattr(intern!(data.py(), "__arrow_c_stream__"))? {
        true => data.extract::<PyChunkedArray>()?.into_inner().0,
        false => vec![data.extract::<PyArray>()?.into_inner().0],
    };
    let plain = |chunk: ArrayRef| {
        let values = match chunk.data_type() {
            DataType::Dictionary(_, values) => values,
            of => of,
        };
        let to = if values.is_integer() { DataType::Int64 } else { DataType::Utf8 };
        if !values.is_integer() && !values.is_string() {
            let kind = convert::kind(data);
            return Err(PyTypeError::new_err(format!(
                "{name} is a column of ids (integers or texts), not {kind} of {values}"
            )));
        }
        cast_with_options(&chunk, &to, &STRICT).map_err(refused)
    };
    chunks.into_iter().map(plain).collect()
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
