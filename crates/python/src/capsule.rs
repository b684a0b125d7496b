//! Arrow data in and out: the Arrow PyCapsule interface, by pyo3-arrow.

use crate::cast::cast;
use crate::convert;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::to_schema_pycapsule;
use pyo3_arrow::{PyArray, PyChunkedArray, PySchema, PyTable};
use std::sync::Arc;

pub(crate) fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    Ok(to_schema_pycapsule(py, schema)?)
}

/// A stream of the batches. A requested schema is a hint: it is ignored if a value would not be the same in it.
///
/// It is not a stream of pyo3-arrow, because that one brings the casts of arrow-cast.
pub(crate) fn of_batches<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    requested_schema: Option<&Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (mut schema, mut batches) = (schema.clone(), batches.to_vec());
    if let Some(requested_schema) = requested_schema {
        let target = PySchema::from_arrow_pycapsule(requested_schema)?.into_inner();
        if let Some(same) = batches.iter().map(|batch| in_schema(batch, &target)).collect() {
            (schema, batches) = (target, same);
        }
    }
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

/// The same rows in another schema with the same names; `None` if a value would change.
fn in_schema(batch: &RecordBatch, target: &SchemaRef) -> Option<RecordBatch> {
    let rows: ArrayRef = Arc::new(StructArray::from(batch.clone()));
    let rows = cast(&rows, &DataType::Struct(target.fields().clone()))?;
    RecordBatch::from(rows.as_struct()).with_schema(target.clone()).ok()
}

/// The schema and batches of any Arrow table.
pub(crate) fn read(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    // Polars sends them as the addresses of its objects.
    if let Ok(types) = data.getattr("dtypes")
        && types.try_iter()?.any(|kind| kind.and_then(|kind| kind.str()).is_ok_and(|name| name == "Object"))
    {
        return Err(PyTypeError::new_err(
            "a column holds Python objects, which Arrow does not know: give it a type first, in polars \
             data.with_columns(pl.col(pl.Object).map_elements(str, return_dtype=pl.String))",
        ));
    }
    let read = data.extract::<PyTable>().map_err(|error| {
        // A column of pandas may have values of several types. Polars has types of its own, and sends nulls without a type
        // in a form of its own.
        let text = error.to_string();
        if let Some((name, _)) = text.split_once("failed for column ").and_then(|(_, text)| text.split_once(" with type")) {
            return PyTypeError::new_err(format!(
                "the column {name} has values of no common type; give it one first, in pandas frame['{name}'].astype('string') \
                 or pandas.to_numeric(frame['{name}'])"
            ));
        }
        let Some((_, text)) = text.split_once("C Data interface error: ") else { return error };
        PyTypeError::new_err(format!(
            "{text} Give each column a type of Arrow first, in polars data.cast({{pl.Null: pl.String, pl.Int128: pl.Int64}})"
        ))
    });
    let (batches, schema) = read?.into_inner();
    Ok((schema, batches))
}

/// Whether an object has Arrow data, such as an array or a table.
pub(crate) fn is_arrow(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.hasattr(intern!(data.py(), "__arrow_c_array__"))?
        || data.hasattr(intern!(data.py(), "__arrow_c_stream__"))?)
}

/// The chunks of any Arrow array, as integers where they are, else as texts.
pub(crate) fn read_ids(name: &str, data: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let chunks = match data.hasattr(intern!(data.py(), "__arrow_c_stream__"))? {
        true => data.extract::<PyChunkedArray>()?.into_inner().0,
        false => vec![data.extract::<PyArray>()?.into_inner().0],
    };
    let plain = |chunk: ArrayRef| {
        let values = match chunk.data_type() {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        let to = if values.is_integer() { DataType::Int64 } else { DataType::Utf8 };
        if !values.is_integer() && !values.is_string() {
            let kind = convert::kind(data);
            return Err(PyTypeError::new_err(format!(
                "{name} is a column of ids (integers or texts), not {kind} of {values}"
            )));
        }
        cast(&chunk, &to).ok_or_else(|| PyValueError::new_err(format!("{name} has an id beyond the range of {to}")))
    };
    chunks.into_iter().map(plain).collect()
}
