//! The decoding engine: JSON bytes to Arrow, driven by declarations. It knows no resource and does no I/O.

mod body;
mod decl;

pub use body::Body;
pub use decl::{Col, Derivation, Resource, Src, Table, Ty, col, derived, index, key, request};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// What the request knew and the body may not say: `team_id`, `game_id`, `session_id`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context(Vec<(&'static str, String)>);

impl Context {
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.retain(|(n, _)| *n != name);
        self.0.push((name, value.into()));
        self
    }
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }
}

/// Why a body could not be read as a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body does not fit.
    #[error("{message} at {path} (byte {offset})")]
    Body { message: String, path: String, offset: usize },
    /// The resource has no such table.
    #[error("there is no table {asked:?} here; it has {has}")]
    NoTable { asked: String, has: String },
    /// The table has no such column.
    #[error("table {table} has no column {asked:?}; it has {has}")]
    NoColumn { table: String, asked: String, has: String },
}

/// Decodes one table of a body; `columns` limits and orders what is built (`None`: all).
pub fn decode(
    _resource: &'static Resource,
    _table: &str,
    _columns: Option<&[String]>,
    _body: &Body,
    _context: &Context,
) -> Result<RecordBatch, DecodeError> {
    unimplemented!()
}

/// Paths in the body that no declaration knows, in the order met, then row paths that should have been there and never were.
pub fn unknown_fields(_resource: &'static Resource, _body: &Body) -> Result<Vec<String>, DecodeError> {
    unimplemented!()
}

/// The fixed schema of a table, with `unit` and `description` in each field's metadata.
pub fn schema(_table: &'static Table) -> SchemaRef {
    unimplemented!()
}
