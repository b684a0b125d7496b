//! What a body holds of each table, without an object for any row.

use crate::payload::PyPayload;
use crate::{errors, memory};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use sideline::error::Result;
use sideline::fetch::Payload;
use std::ops::RangeInclusive;

/// The years 1 to 9999, in milliseconds of the epoch.
const TIMES: RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// A table's name, its number of rows, its extra columns, and whether Python's `datetime` has each of its times.
type TableContents = (&'static str, usize, Vec<String>, bool);

/// Return for each table of a body its name, its number of rows, its extra columns, and whether `datetime` has each of its times.
///
/// Raises the errors of `all_tables`.
#[pyfunction]
#[pyo3(name = "_contents")]
pub(crate) fn contents(py: Python<'_>, payload: &PyPayload) -> PyResult<Vec<TableContents>> {
    errors::guard(py, || {
        payload.ensure(py, &memory::TABLES)?;
        py.detach(|| of(payload.inner())).map_err(|error| payload.raise(py, error))
    })
}

fn of(payload: &Payload) -> Result<Vec<TableContents>> {
    let tables = payload.resource.map_or(&[][..], |resource| resource.tables);
    let contents = payload.all_tables()?.into_iter().zip(tables).map(|((name, batches), table)| {
        let count = table.cols.iter().filter(|column| !column.is_hidden).count();
        let schema = batches.first().map(RecordBatch::schema);
        let extra = schema.iter().flat_map(|schema| schema.fields().iter().skip(count));
        (
            name,
            batches.iter().map(RecordBatch::num_rows).sum(),
            extra.map(|field| field.name().clone()).collect(),
            batches.iter().flat_map(RecordBatch::columns).all(|column| has_python_times(column)),
        )
    });
    Ok(contents.collect())
}

fn has_python_times(column: &dyn Array) -> bool {
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            column.as_primitive::<TimestampMillisecondType>().iter().flatten().all(|time| TIMES.contains(&time))
        }
        DataType::Timestamp(..) => false,
        _ => true,
    }
}
