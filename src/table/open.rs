//! The columns that a body brings along: the undeclared keys of a table's open object.

use super::columns::Numbers;
use super::decl::Col;
use super::plan::OpenKeys;
use std::collections::HashMap;

/// Each column grows when its key is met: until then, and where it is missing, its rows are null.
#[derive(Debug)]
pub(super) struct OpenColumns {
    wanted: OpenKeys,
    columns: Vec<(String, Numbers<f64>)>,
    by_name: HashMap<String, u32>,
}

impl OpenColumns {
    pub fn new(wanted: &OpenKeys) -> Self {
        OpenColumns { wanted: wanted.clone(), columns: Vec::new(), by_name: HashMap::new() }
    }

    /// The column of a key. None for one that was not asked, or that has the name of a declared column: two columns of
    /// one name would be no table.
    pub fn column(&mut self, key: &[u8], declared: &[Col]) -> Option<u32> {
        let name = std::str::from_utf8(key).ok()?;
        if let Some(column) = self.by_name.get(name) {
            return Some(*column);
        }
        let wanted = match &self.wanted {
            OpenKeys::None => false,
            OpenKeys::All => !declared.iter().any(|col| col.name == name),
            OpenKeys::Named(names) => names.iter().any(|n| n == name),
        };
        wanted.then(|| {
            let column = self.columns.len() as u32;
            self.columns.push((name.into(), Numbers::default()));
            self.by_name.insert(name.into(), column);
            column
        })
    }

    /// The value of a row; `false` when the row has one already.
    pub fn push(&mut self, column: u32, row: usize, value: Option<f64>) -> bool {
        let (_, numbers) = &mut self.columns[column as usize];
        fill(numbers, row);
        let first = numbers.values.len() == row;
        if first {
            numbers.push(value);
        }
        first
    }

    /// All columns by name, `rows` long.
    pub fn finish(mut self, rows: usize) -> Vec<(String, Numbers<f64>)> {
        self.columns.iter_mut().for_each(|(_, numbers)| fill(numbers, rows));
        self.columns.sort_by(|a, b| a.0.cmp(&b.0));
        self.columns
    }
}

fn fill(numbers: &mut Numbers<f64>, rows: usize) {
    (numbers.values.len()..rows).for_each(|_| numbers.null());
}
