//! The decoding engine: declarations, their plans and columns. It drives the cursor of [`reader`] over a body and builds
//! Arrow; it knows no resource and does no I/O.
//!
//! | file | content |
//! |---|---|
//! | `declaration`, `path` | the language of declarations |
//! | `plan`, `plan_cache`, `keys` | a compiled declaration, and where it is kept; the keys of its objects and their usual order |
//! | `roots`, `decode`, `lists`, `extra_columns`, `duplicate_keys` | running a plan over a body |
//! | `columns`, `builders`, `scalars`, `record_batch`, `schema` | values to Arrow |
//! | `from_rows` | tables of the package's own, without a body |
//! | `error` | why a body does not give a table |
//! | `extent` | limits on the size of a table |
//! | `schema_check`, `schema_tree` | checking a body against the declarations without building anything |

mod builders;
mod columns;
mod declaration;
mod decode;
mod duplicate_keys;
mod error;
mod extent;
mod extra_columns;
pub mod from_rows;
mod keys;
mod lists;
pub mod path;
mod plan;
mod plan_cache;
mod record_batch;
mod roots;
pub mod scalars;
pub mod schema;
mod schema_check;
mod schema_tree;

pub use declaration::{
    Col, Derivation, Resource, Root, Src, Table, Ty, absent, col, concat, derive, index, key, member, read_elsewhere,
    request, root, same_rows_elsewhere, table,
};
pub use extent::{TOO_WIDE_MESSAGE, is_too_wide};
pub use plan_cache::PlanCache;
pub use schema::schema;
pub use schema_check::{MAX_UNKNOWN_FIELDS, SchemaCheck, UnknownPath};

use arrow_array::RecordBatch;
use decode::DuplicatePolicy;
use error::DecodeErrorKind;
use reader::{Body, JsonError};

/// Values of the request that the body may lack, by name: `team_id`, `game_id`, `session_id`, `sport`.
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
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body does not match the declaration.
    #[error("{message} at {path} (byte {offset})")]
    Body { message: String, path: String, offset: usize },
    #[error("there is no table {name:?} here; it has {candidates}")]
    NoTable { name: String, candidates: String },
    #[error("table {table} has no column {name:?}; it has {candidates}")]
    NoColumn { table: String, name: String, candidates: String },
}

/// Decodes one table of a body; `columns` selects and orders the columns (`None`: all).
///
/// A whole table validates all of the body as JSON. With `columns`, other values are only skipped.
pub fn decode(
    resource: &'static Resource,
    table: &str,
    columns: Option<&[String]>,
    body: &Body,
    context: &Context,
) -> Result<RecordBatch, DecodeError> {
    let Some(table) = resource.tables.iter().copied().find(|t| t.name == table) else {
        let candidates = resource.tables.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        return Err(DecodeError::NoTable { name: table.into(), candidates });
    };
    read_last_values(body, |body, policy| {
        let batches = decode_once(resource, &[table], columns, body, context, policy)?;
        batches.into_iter().next().ok_or_else(|| DecodeStop::Error(DecodeErrorKind::Engine.into()))
    })
}

/// Reads a body, of which the last value of a duplicate key counts: where there may be one, `read` gets the body's normal form.
fn read_last_values<T>(
    body: &Body,
    read: impl Fn(&Body, DuplicatePolicy) -> Result<T, DecodeStop>,
) -> Result<T, DecodeError> {
    let first_error = match read(body, DuplicatePolicy::Stop) {
        Ok(value) => return Ok(value),
        Err(DecodeStop::Error(error @ DecodeError::Body { .. })) => Some(error),
        Err(DecodeStop::Error(error)) => return Err(error),
        Err(DecodeStop::DuplicateKey) => None,
    };
    if let Some(error) = reader::syntax_error(body) {
        return Err(error.into());
    }
    if let Some(error) = &first_error
        && !duplicate_keys::may_repeat(body)
    {
        // A second reading would take as long as the first.
        return Err(error.clone());
    }
    // The first value of a duplicate key may be the cause of the error.
    let second = match duplicate_keys::normal_form(body) {
        Ok(normal) => read(&normal, DuplicatePolicy::KeepFirst),
        // If the body has no normal form, the reader's own error is better: it has path and offset.
        Err(error) => read(body, DuplicatePolicy::KeepFirst).and(Err(DecodeStop::Error(error))),
    };
    match (second, first_error) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(error)) | (Err(DecodeStop::Error(error)), None) => Err(error),
        (Err(DecodeStop::DuplicateKey), None) => Err(DecodeErrorKind::DuplicateKey.at(body, 0, |_| String::new())),
    }
}

/// Decodes every table of a body, in one pass if nothing is wrong with the body.
pub fn decode_all(
    resource: &'static Resource,
    body: &Body,
    context: &Context,
) -> Result<Vec<RecordBatch>, DecodeError> {
    match decode_in_one_pass(resource, resource.tables, body, context) {
        Some(batches) => Ok(batches),
        // What one table lacks, another may not need.
        None => resource.tables.iter().map(|table| decode(resource, table.name, None, body, context)).collect(),
    }
}

/// Decodes these tables of a body, unless the body is wrong or has a duplicate key.
pub fn decode_in_one_pass(
    resource: &'static Resource,
    tables: &[&'static Table],
    body: &Body,
    context: &Context,
) -> Option<Vec<RecordBatch>> {
    decode_once(resource, tables, None, body, context, DuplicatePolicy::Stop).ok()
}

/// Why a pass over a body ended without a result.
enum DecodeStop {
    /// Not an error yet: the body's normal form is decoded next.
    DuplicateKey,
    Error(DecodeError),
}

impl From<JsonError> for DecodeStop {
    fn from(error: JsonError) -> Self {
        DecodeStop::Error(error.into())
    }
}

fn decode_once(
    resource: &'static Resource,
    tables: &[&'static Table],
    columns: Option<&[String]>,
    body: &Body,
    context: &Context,
    policy: DuplicatePolicy,
) -> Result<Vec<RecordBatch>, DecodeStop> {
    let padded_body = body.with_padding();
    let cursor = reader::open(body, &padded_body)?;
    let root = roots::find(resource, cursor)?;
    let plan = resource.plan(root, tables, columns).map_err(DecodeStop::Error)?;
    let validates = plan.validates && !body.is_validated();
    match decode::run(&plan, cursor, policy, validates) {
        Ok(decoder) => {
            if validates {
                body.mark_validated();
            }
            record_batch::finish(&plan, decoder, context, body.len()).map_err(DecodeStop::Error)
        }
        Err((DecodeErrorKind::DuplicateKey, _)) => Err(DecodeStop::DuplicateKey),
        Err((kind, offset)) => Err(DecodeStop::Error(kind.at(body, offset, |column| plan.tables[0].need(column)))),
    }
}

/// Checks by its keys that a body has the resource's root.
pub fn check_root(resource: &'static Resource, body: &Body) -> Result<(), DecodeError> {
    read_last_values(body, |body, _| {
        let padded_body = body.with_padding();
        let cursor = reader::open(body, &padded_body)?;
        Ok(roots::find(resource, cursor).map(drop)?)
    })
}

/// The unknown fields in order of appearance, then missing row paths. A body without its root is an error.
pub fn unknown_fields(resource: &'static Resource, body: &Body) -> Result<Vec<UnknownPath>, DecodeError> {
    Ok(check_schema(resource, body, None)?.unknown_fields)
}

/// Finds unknown fields, and, with a context, whether every table will decode. A body without its root is an error.
pub fn check_schema(
    resource: &'static Resource,
    body: &Body,
    context: Option<&Context>,
) -> Result<SchemaCheck, DecodeError> {
    read_last_values(body, |body, _| {
        let padded_body = body.with_padding();
        let cursor = reader::open(body, &padded_body)?;
        let root = roots::find(resource, cursor)?;
        let tree = resource.schema_tree(root);
        let check = schema_check::check(&tree, context, cursor).map_err(|(kind, offset)| match kind {
            DecodeErrorKind::DuplicateKey => DecodeStop::DuplicateKey,
            kind => DecodeStop::Error(kind.at(body, offset, |_| String::new())),
        })?;
        body.mark_validated();
        Ok(check)
    })
}
