//! Extra columns: the undeclared keys of a table's open object.

use super::columns::Numbers;
use super::error::{DecodeErrorKind, DecodeResult};
use super::extent::{BASE_EXTRA_CELLS, MAX_EXTRA_COLUMNS};
use super::plan::TablePlan;
use std::collections::HashMap;

/// A column grows when its key appears; rows before that, and rows without the key, are null.
#[derive(Debug)]
pub(super) struct ExtraColumns {
    columns: Vec<(String, Numbers<f64>)>,
    by_name: HashMap<String, u32>,
    /// Cells that may still be filled.
    cells_left: usize,
}

impl ExtraColumns {
    pub(crate) fn new(body: usize) -> Self {
        let cells_left = body.saturating_add(BASE_EXTRA_CELLS);
        ExtraColumns { columns: Vec::new(), by_name: HashMap::new(), cells_left }
    }

    /// The column of a key. `None` if it was not requested, or has the name of a declared column.
    pub(crate) fn column(&mut self, key: &[u8], plan: &TablePlan) -> DecodeResult<Option<u32>> {
        let Ok(name) = std::str::from_utf8(key) else { return Ok(None) };
        if let Some(column) = self.by_name.get(name) {
            return Ok(Some(*column));
        }
        if !plan.wants(name) {
            return Ok(None);
        }
        if name.contains('\0') {
            return Err(DecodeErrorKind::NulKey);
        }
        if self.columns.len() == MAX_EXTRA_COLUMNS {
            return Err(DecodeErrorKind::TooWide);
        }
        let column = self.columns.len() as u32;
        self.columns.push((name.into(), Numbers::default()));
        self.by_name.insert(name.into(), column);
        Ok(Some(column))
    }

    /// Sets the value of a row; `false` if the row already has one.
    pub(crate) fn push(&mut self, column: u32, row: usize, value: Option<f64>) -> DecodeResult<bool> {
        let (_, numbers) = &mut self.columns[column as usize];
        let more = (row + 1).saturating_sub(numbers.values.len());
        self.cells_left = self.cells_left.checked_sub(more).ok_or(DecodeErrorKind::TooWide)?;
        fill(numbers, row);
        let first = numbers.values.len() == row;
        if first {
            numbers.push(value);
        }
        Ok(first)
    }

    /// All columns sorted by name, `rows` long.
    pub(crate) fn finish(mut self, rows: usize) -> DecodeResult<Vec<(String, Numbers<f64>)>> {
        let more: usize = self.columns.iter().map(|(_, numbers)| rows.saturating_sub(numbers.values.len())).sum();
        self.cells_left.checked_sub(more).ok_or(DecodeErrorKind::TooWide)?;
        self.columns.iter_mut().for_each(|(_, numbers)| fill(numbers, rows));
        self.columns.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(self.columns)
    }
}

fn fill(numbers: &mut Numbers<f64>, rows: usize) {
    (numbers.values.len()..rows).for_each(|_| numbers.null());
}
