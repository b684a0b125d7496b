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
    Col, Derivation, Resource, Root, Src, Table, Ty, absent, col, concat, derived, index, key, read_elsewhere, request,
    root, same_rows_elsewhere,
};
pub use extent::{TOO_WIDE_MESSAGE, is_too_wide};
pub use plan_cache::PlanCache;
pub use schema::schema;
pub use schema_check::{MAX_UNKNOWN_FIELDS, SchemaCheck, UnknownPath};

use arrow_array::RecordBatch;
use decode::DuplicatePolicy;
use error::DecodeErrorKind;
use reader::{Body, Cursor};

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
    fn longest(&self) -> usize {
        self.0.iter().map(|(_, v)| v.len()).max().unwrap_or_default()
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
    let one = |body: &Body, policy| {
        let batches = decode_once(resource, &[table], columns, body, context, policy)?;
        let engine = || DecodeErrorKind::Engine.at(&Body::default(), 0, |_| String::new());
        batches.into_iter().next().ok_or_else(|| DecodeStop::Error(engine()))
    };
    let found = match one(body, DuplicatePolicy::Stop) {
        Ok(batch) => return Ok(batch),
        Err(DecodeStop::Error(error @ DecodeError::Body { .. })) => Some(error),
        Err(DecodeStop::Error(error)) => return Err(error),
        Err(DecodeStop::DuplicateKey) => None,
    };
    if let Some(error) = reader::syntax_error(body) {
        return Err(error.into());
    }
    if let Some(error) = &found
        && !duplicate_keys::may_repeat(body)
    {
        return Err(error.clone());
    }
    // The last value of a duplicate key counts, and the first one may be the cause of the error.
    let again = match duplicate_keys::normal_form(reader::without_mark(body)) {
        Ok(normal) => one(&normal, DuplicatePolicy::KeepFirst),
        // If the body has no normal form, the decoder's own error is better: it has path and offset.
        Err(error) => match one(body, DuplicatePolicy::KeepFirst) {
            Ok(_) => Err(DecodeStop::Error(error)),
            stopped => stopped,
        },
    };
    match (again, found) {
        (Ok(batch), _) => Ok(batch),
        (Err(_), Some(error)) | (Err(DecodeStop::Error(error)), None) => Err(error),
        (Err(DecodeStop::DuplicateKey), None) => {
            Err(DecodeErrorKind::Engine.at(&Body::default(), 0, |_| String::new()))
        }
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

/// Why a pass over a body ended without its tables.
enum DecodeStop {
    /// Not an error yet: the body's normal form is decoded next.
    DuplicateKey,
    Error(DecodeError),
}

fn decode_once(
    resource: &'static Resource,
    tables: &[&'static Table],
    columns: Option<&[String]>,
    body: &Body,
    context: &Context,
    policy: DuplicatePolicy,
) -> Result<Vec<RecordBatch>, DecodeStop> {
    let padded = body.padded();
    let cursor = reader::open(body, &padded).map_err(|error| DecodeStop::Error(error.into()))?;
    let root = roots::find(resource, cursor).map_err(|missing| DecodeStop::Error(missing.into()))?;
    let plan = resource.plan(root, tables, columns).map_err(DecodeStop::Error)?;
    let validates = plan.checked && !body.is_validated();
    match decode::run(&plan, cursor, policy, validates) {
        Ok(decoded) => {
            if validates {
                body.mark_validated();
            }
            record_batch::finish(&plan, decoded, context, body.len()).map_err(DecodeStop::Error)
        }
        Err((DecodeErrorKind::DuplicateKey, _)) => Err(DecodeStop::DuplicateKey),
        Err((kind, offset)) => Err(DecodeStop::Error(kind.at(body, offset, |column| plan.tables[0].need(column)))),
    }
}

/// The unknown fields in order of appearance, then missing row paths. A body without its root is an error.
pub fn unknown_fields(resource: &'static Resource, body: &Body) -> Result<Vec<UnknownPath>, DecodeError> {
    let check = check_body(resource, body, None)?;
    check.root.map_or(Ok(check.unknown), Err)
}

/// Finds unknown fields, and whether the root is there.
pub fn check_fields(resource: &'static Resource, body: &Body, _: &Context) -> Result<SchemaCheck, DecodeError> {
    check_body(resource, body, None)
}

/// Checks by its keys that a body has the resource's root. For a body that is not JSON, decoding reports the error.
pub fn check_root(resource: &'static Resource, body: &Body) -> Result<(), DecodeError> {
    let padded = body.padded();
    let Err(missing) = roots::find(resource, reader::open(body, &padded)?) else { return Ok(()) };
    if reader::syntax_error(body).is_some() {
        return Ok(());
    }
    match in_normal_form(body, |_, cursor| roots::find(resource, cursor).is_ok()) {
        Some(true) => Ok(()),
        _ => Err(missing.into()),
    }
}

/// Finds unknown fields, whether the root is there, and whether every table will decode with this context.
pub fn check_schema(resource: &'static Resource, body: &Body, context: &Context) -> Result<SchemaCheck, DecodeError> {
    check_body(resource, body, Some(context))
}

fn check_body(resource: &'static Resource, body: &Body, context: Option<&Context>) -> Result<SchemaCheck, DecodeError> {
    let padded = body.padded();
    let cursor = reader::open(body, &padded)?;
    let stopped = match check_once(resource, body, context, cursor) {
        Ok(found) => return Ok(found),
        Err(stopped) => stopped,
    };
    if let Some(error) = reader::syntax_error(body) {
        return Err(error.into());
    }
    let error = match stopped {
        CheckStop::Body(error) => return Err(error),
        CheckStop::Root(error) => Some(error),
        CheckStop::DuplicateKey => None,
    };
    let again = in_normal_form(body, |normal, cursor| check_once(resource, normal, context, cursor));
    let root = match (again, error) {
        (Some(Ok(found)), _) => return Ok(found),
        (_, Some(error)) | (Some(Err(CheckStop::Root(error))), None) => error,
        (Some(Err(CheckStop::Body(error))), None) => return Err(error),
        (None | Some(Err(CheckStop::DuplicateKey)), None) => {
            return Err(DecodeErrorKind::DuplicateKey.at(body, 0, |_| String::new()));
        }
    };
    Ok(SchemaCheck { root: Some(root), ..SchemaCheck::default() })
}

/// Why a schema check ended without a result.
enum CheckStop {
    /// The body is not JSON.
    Body(DecodeError),
    /// The body has no root, so it is not data.
    Root(DecodeError),
    DuplicateKey,
}

fn check_once(
    resource: &'static Resource,
    body: &Body,
    context: Option<&Context>,
    cursor: Cursor,
) -> Result<SchemaCheck, CheckStop> {
    let root = roots::find(resource, cursor).map_err(|missing| CheckStop::Root(missing.into()))?;
    let found = schema_check::check(resource, root, context, cursor).map_err(|(kind, offset)| {
        let error = kind.at(body, offset, |_| String::new());
        match kind {
            DecodeErrorKind::DuplicateKey => CheckStop::DuplicateKey,
            DecodeErrorKind::Document => CheckStop::Root(error),
            _ => CheckStop::Body(error),
        }
    })?;
    body.mark_validated();
    Ok(found)
}

/// Reads the normal form of a body. `None` if it is too large or not JSON.
fn in_normal_form<T>(body: &Body, read: impl FnOnce(&Body, Cursor) -> T) -> Option<T> {
    const MAX_BYTES: usize = 16 * 1024 * 1024;
    if body.len() > MAX_BYTES {
        return None;
    }
    let normal = duplicate_keys::normal_form(reader::without_mark(body)).ok()?;
    let padded = normal.padded();
    reader::start(&padded).map(|cursor| read(&normal, cursor))
}
