//! Answers as Arrow tables, by their declarations.

use crate::errors;
use crate::table::PyTable;
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use pyo3::prelude::*;
use std::sync::Arc;
use tables::{Table, from_rows};

/// The columns of a table, in the order of its declaration.
#[derive(Default)]
pub(super) struct Writer(Vec<ArrayRef>);

impl Writer {
    pub(super) fn texts<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> &mut Self {
        self.push(from_rows::texts(values))
    }

    pub(super) fn categories<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> &mut Self {
        self.push(from_rows::categories(values))
    }

    pub(super) fn integers(&mut self, values: impl Iterator<Item = Option<i64>>) -> &mut Self {
        self.push(from_rows::integers(values))
    }

    pub(super) fn positions(&mut self, values: impl Iterator<Item = Option<i32>>) -> &mut Self {
        self.push(from_rows::small_integers(values))
    }

    pub(super) fn times(&mut self, values: impl Iterator<Item = Option<i64>>) -> &mut Self {
        self.push(from_rows::times(values))
    }

    pub(super) fn numbers(&mut self, values: impl Iterator<Item = Option<f64>>) -> &mut Self {
        self.push(from_rows::floats(values))
    }

    pub(super) fn flags(&mut self, values: impl Iterator<Item = Option<bool>>) -> &mut Self {
        self.push(Arc::new(values.collect::<BooleanArray>()))
    }

    pub(super) fn id_lists<'a>(&mut self, values: impl Iterator<Item = Option<&'a [i64]>>) -> &mut Self {
        let mut lists = ListBuilder::new(Int64Builder::new());
        for ids in values {
            lists.append_option(ids.map(|ids| ids.iter().copied().map(Some)));
        }
        self.push(Arc::new(lists.finish()))
    }

    pub(super) fn push(&mut self, column: ArrayRef) -> &mut Self {
        self.0.push(column);
        self
    }

    pub(super) fn finish(&mut self, table: &'static Table) -> Result<RecordBatch, String> {
        from_rows::from_columns(table, std::mem::take(&mut self.0)).map_err(|error| error.to_string())
    }
}

pub(super) fn table(
    py: Python<'_>,
    declaration: &'static Table,
    batch: Result<RecordBatch, String>,
) -> PyResult<PyTable> {
    let batch = batch.map_err(|error| errors::internal(py, &error))?;
    PyTable::new(py, declaration.name.to_owned(), vec![batch])
}
