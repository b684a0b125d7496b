//! The columns that a body brings along: the undeclared keys of a table's open object.

use super::columns::Numbers;
use super::decl::Col;
use super::extent::{MAX_OPEN_COLUMNS, OPEN_CELLS};
use super::fault::{Fault, Read};
use super::plan::OpenKeys;
use std::collections::HashMap;

/// Each column grows when its key is met: until then, and where it is missing, its rows are null.
#[derive(Debug)]
pub(super) struct OpenColumns {
    wanted: OpenKeys,
    columns: Vec<(String, Numbers<f64>)>,
    by_name: HashMap<String, u32>,
    /// Cells that may still be filled.
    cells: usize,
}

impl OpenColumns {
    pub fn new(wanted: &OpenKeys, body: usize) -> Self {
        let cells = body.saturating_add(OPEN_CELLS);
        OpenColumns { wanted: wanted.clone(), columns: Vec::new(), by_name: HashMap::new(), cells }
    }

    /// The column of a key. None for one that was not asked, or that has the name of a declared column: two columns of
    /// one name would be no table.
    pub fn column(&mut self, key: &[u8], declared: &[Col]) -> Read<Option<u32>> {
        let Ok(name) = std::str::from_utf8(key) else { return Ok(None) };
        if let Some(column) = self.by_name.get(name) {
            return Ok(Some(*column));
        }
        let wanted = match &self.wanted {
            OpenKeys::None => false,
            OpenKeys::All => !declared.iter().any(|col| col.name == name),
            OpenKeys::Named(names) => names.iter().any(|n| n == name),
        };
        if !wanted {
            return Ok(None);
        }
        if name.contains('\0') {
            return Err(Fault::NulKey);
        }
        if self.columns.len() == MAX_OPEN_COLUMNS {
            return Err(Fault::TooWide);
        }
        let column = self.columns.len() as u32;
        self.columns.push((name.into(), Numbers::default()));
        self.by_name.insert(name.into(), column);
        Ok(Some(column))
    }

    /// The value of a row; `false` when the row has one already.
    pub fn push(&mut self, column: u32, row: usize, value: Option<f64>) -> Read<bool> {
        let (_, numbers) = &mut self.columns[column as usize];
        let more = (row + 1).saturating_sub(numbers.values.len());
        self.cells = self.cells.checked_sub(more).ok_or(Fault::TooWide)?;
        fill(numbers, row);
        let first = numbers.values.len() == row;
        if first {
            numbers.push(value);
        }
        Ok(first)
    }

    /// All columns by name, `rows` long.
    pub fn finish(mut self, rows: usize) -> Read<Vec<(String, Numbers<f64>)>> {
        let more: usize = self.columns.iter().map(|(_, numbers)| rows.saturating_sub(numbers.values.len())).sum();
        self.cells.checked_sub(more).ok_or(Fault::TooWide)?;
        self.columns.iter_mut().for_each(|(_, numbers)| fill(numbers, rows));
        self.columns.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(self.columns)
    }
}

fn fill(numbers: &mut Numbers<f64>, rows: usize) {
    (numbers.values.len()..rows).for_each(|_| numbers.null());
}
