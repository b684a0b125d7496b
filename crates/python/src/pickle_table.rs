//! A table as plain values and back, for `pickle`. Needs no library, and a slice pickles only its own rows.

use arrow_array::{Array, RecordBatch, StructArray};
use arrow_buffer::Buffer;
use arrow_data::transform::MutableArrayData;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::ffi::{FFI_ArrowSchema, Flags};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::Arc;

/// The schema, and the columns of each batch.
pub(crate) fn state<'py>(py: Python<'py>, schema: &Schema, batches: &[RecordBatch]) -> PyResult<Bound<'py, PyTuple>> {
    let exported_schema = FFI_ArrowSchema::try_from(schema).map_err(value_error)?;
    let batches = batches.iter().map(|batch| array_state(py, &compact(&StructArray::from(batch.clone()).into_data())?));
    let batches = batches.collect::<PyResult<Vec<_>>>()?;
    (schema_state(py, &exported_schema)?, PyList::new(py, batches)?).into_pyobject(py)
}

pub(crate) fn restore(state: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let (schema, batches): (Bound<'_, PyAny>, Vec<Bound<'_, PyAny>>) = state.extract()?;
    let schema = Arc::new(Schema::try_from(&restore_schema(&schema)?).map_err(value_error)?);
    let rows = DataType::Struct(schema.fields().clone());
    let batch = |state: &Bound<'_, PyAny>| {
        let columns = StructArray::from(restore_array(state, &rows)?);
        let (_, columns, _) = columns.into_parts();
        let count: usize = state.get_item(0)?.extract()?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(value_error)
    };
    let batches = batches.iter().map(batch).collect::<PyResult<_>>()?;
    Ok((schema, batches))
}

/// Copies a slice, which shares the buffers of the whole array.
fn compact(data: &ArrayData) -> PyResult<ArrayData> {
    if data.offset() == 0 && !matches!(data.data_type(), DataType::Struct(_)) {
        return Ok(data.clone());
    }
    let mut copy = MutableArrayData::new(vec![data], false, data.len());
    copy.try_extend(0, 0, data.len()).map_err(value_error)?;
    Ok(copy.freeze())
}

/// Format, name, flags, metadata, children, dictionary: the fields of Arrow's C interface.
fn schema_state<'py>(py: Python<'py>, schema: &FFI_ArrowSchema) -> PyResult<Bound<'py, PyTuple>> {
    let mut metadata: Vec<(String, String)> = schema.metadata().map_err(value_error)?.into_iter().collect();
    metadata.sort();
    let children = schema.children().map(|child| schema_state(py, child)).collect::<PyResult<Vec<_>>>()?;
    let dictionary = schema.dictionary().map(|values| schema_state(py, values)).transpose()?;
    let flags = schema.flags().unwrap_or(Flags::empty()).bits();
    (schema.format(), schema.name(), flags, metadata, PyList::new(py, children)?, dictionary).into_pyobject(py)
}

type SchemaState<'py> =
    (String, Option<String>, i64, Vec<(String, String)>, Vec<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

fn restore_schema(state: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowSchema> {
    let (format, name, flags, metadata, children, dictionary): SchemaState<'_> = state.extract()?;
    let children = children.iter().map(restore_schema).collect::<PyResult<Vec<_>>>()?;
    let dictionary = dictionary.as_ref().map(restore_schema).transpose()?;
    let schema = FFI_ArrowSchema::try_new(&format, children, dictionary)
        .and_then(|schema| schema.with_name(name.as_deref().unwrap_or_default()))
        .and_then(|schema| schema.with_flags(Flags::from_bits_truncate(flags)))
        .and_then(|schema| schema.with_metadata(metadata));
    schema.map_err(value_error)
}

/// Length, validity, buffers, children.
fn array_state<'py>(py: Python<'py>, data: &ArrayData) -> PyResult<Bound<'py, PyTuple>> {
    // After `compact` the offset is 0.
    let nulls = data.nulls().map(|nulls| PyBytes::new(py, nulls.buffer().as_slice()));
    let buffers: Vec<_> = data.buffers().iter().map(|buffer| PyBytes::new(py, buffer.as_slice())).collect();
    let children = data.child_data().iter().map(|child| array_state(py, &compact(child)?));
    let children = children.collect::<PyResult<Vec<_>>>()?;
    (data.len(), nulls, PyList::new(py, buffers)?, PyList::new(py, children)?).into_pyobject(py)
}

type ArrayState<'py> = (usize, Option<PyBackedBytes>, Vec<PyBackedBytes>, Vec<Bound<'py, PyAny>>);

fn restore_array(state: &Bound<'_, PyAny>, data_type: &DataType) -> PyResult<ArrayData> {
    let (len, nulls, buffers, children): ArrayState<'_> = state.extract()?;
    let types: Vec<&DataType> = match data_type {
        DataType::Dictionary(_, values) => vec![values],
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => Vec::new(),
    };
    if types.len() != children.len() {
        return Err(PyValueError::new_err("a pickled table whose columns do not fit their types"));
    }
    let children = children.iter().zip(types).map(|(child, ty)| restore_array(child, ty));
    let builder = ArrayDataBuilder::new(data_type.clone())
        .len(len)
        .null_bit_buffer(nulls.map(|bytes| Buffer::from(&*bytes)))
        .buffers(buffers.iter().map(|bytes| Buffer::from(&**bytes)).collect())
        .child_data(children.collect::<PyResult<_>>()?)
        .align_buffers(true);
    // Checked, because the pickled data may be damaged.
    builder.build().map_err(value_error)
}

fn value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
