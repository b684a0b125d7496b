//! Rows of several batches as one. arrow-select, which has code for each type of array, would be a tenth of the wheel.

use arrow_array::{Array, RecordBatch, RecordBatchOptions, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, SchemaRef};
use std::ops::Range;

/// Rows of one of the batches.
struct RowRange {
    batch: usize,
    rows: Range<usize>,
}

/// All rows of the batches.
pub(crate) fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let runs = batches.iter().enumerate().map(|(number, batch)| RowRange { batch: number, rows: 0..batch.num_rows() });
    gather(schema, batches, &runs.collect::<Vec<_>>())
}

/// The rows at these positions, counted over all batches.
pub(crate) fn take(schema: &SchemaRef, batches: &[RecordBatch], places: &[u64]) -> Result<RecordBatch, ArrowError> {
    let starts = batches.iter().scan(0, |next, batch| {
        let start = *next;
        *next += batch.num_rows();
        Some(start)
    });
    let starts: Vec<usize> = starts.collect();
    let run = |place: &u64| {
        let place = usize::try_from(*place).unwrap_or(usize::MAX);
        let number = starts.partition_point(|start| *start <= place).saturating_sub(1);
        let row =
            batches.get(number).and_then(|batch| Some(place - starts[number]).filter(|row| *row < batch.num_rows()));
        let row = row.ok_or_else(|| ArrowError::InvalidArgumentError(format!("there is no row {place}")))?;
        Ok(RowRange { batch: number, rows: row..row + 1 })
    };
    gather(schema, batches, &places.iter().map(run).collect::<Result<Vec<_>, ArrowError>>()?)
}

fn gather(schema: &SchemaRef, batches: &[RecordBatch], runs: &[RowRange]) -> Result<RecordBatch, ArrowError> {
    if batches.is_empty() {
        return Ok(RecordBatch::new_empty(schema.clone()));
    }
    let count = runs.iter().map(|run| run.rows.len()).sum();
    let column = |place| {
        let data: Vec<_> = batches.iter().map(|batch| batch.column(place).to_data()).collect();
        let mut rows = MutableArrayData::new(data.iter().collect(), false, count);
        runs.iter().try_for_each(|run| rows.try_extend(run.batch, run.rows.start, run.rows.end))?;
        Ok(make_array(rows.freeze()))
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_, ArrowError>>()?;
    RecordBatch::try_new_with_options(schema.clone(), columns, &RecordBatchOptions::new().with_row_count(Some(count)))
}
