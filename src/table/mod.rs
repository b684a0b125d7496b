//! The decoding engine: JSON bytes to Arrow, driven by declarations. It knows no resource and does no I/O.
//!
//! | file | content |
//! |---|---|
//! | `body`, `span_index` | a body's bytes and padding; where its long values end |
//! | `declaration`, `path` | the language of declarations |
//! | `plan`, `plan_cache`, `keys` | a compiled declaration; the keys of its objects and their usual order |
//! | `cursor`, `number`, `text`, `skip`, `simd` | reading JSON |
//! | `roots`, `decode`, `lists`, `extra_columns`, `duplicate_keys` | running a plan over a body |
//! | `columns`, `builders`, `scalars`, `record_batch`, `schema` | values to Arrow |
//! | `error`, `json_path` | what is wrong with a body, and where |
//! | `extent` | limits on the size of a table |
//! | `schema_check`, `schema_tree` | checking a body against the declarations without building anything |
//! | `any_value` | values of any kind, for a reader without a declaration |

#[cfg(any(feature = "python", test))]
mod any_value;
mod body;
mod builders;
mod columns;
mod cursor;
mod declaration;
mod decode;
mod duplicate_keys;
mod error;
mod extent;
mod extra_columns;
mod json_path;
mod keys;
mod lists;
mod number;
mod path;
mod plan;
mod plan_cache;
mod record_batch;
mod roots;
mod scalars;
mod schema;
mod schema_check;
mod schema_tree;
mod simd;
mod skip;
mod span_index;
mod text;

#[cfg(any(test, fuzzing))]
pub(crate) mod tests;

pub use body::Body;
pub use declaration::{
    Col, Derivation, Resource, Root, Src, Table, Ty, absent, col, derived, index, key, read_elsewhere, request, root,
};
pub(crate) use extent::{TOO_WIDE_MESSAGE, is_too_wide};
pub use schema::schema;
pub use schema_check::{MAX_UNKNOWN_FIELDS, SchemaCheck, UnknownPath};

#[cfg(feature = "python")]
pub(crate) use {
    any_value::Number,
    simd::{low_bytes, non_digit_mask, parse_digits},
};
pub(crate) use {cursor::Cursor, error::ErrorKind};

use arrow_array::RecordBatch;
use decode::{DuplicatePolicy, SkipMode};
use span_index::SpanIndex;

/// Values of the request that the body may lack: `team_id`, `game_id`, `session_id`.
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
    #[error("there is no table {asked:?} here; it has {has}")]
    NoTable { asked: String, has: String },
    #[error("table {table} has no column {asked:?}; it has {has}")]
    NoColumn { table: String, asked: String, has: String },
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
        let has = resource.tables.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        return Err(DecodeError::NoTable { asked: table.into(), has });
    };
    let found = match decode_once(resource, table, columns, body, context, DuplicatePolicy::Stop) {
        Ok(batch) => return Ok(batch),
        Err(DecodeStop::Error(error @ DecodeError::Body { .. })) => Some(error),
        Err(DecodeStop::Error(error)) => return Err(error),
        Err(DecodeStop::DuplicateKey) => None,
    };
    if let Some(error) = syntax_error(body) {
        return Err(error);
    }
    // The last value of a duplicate key counts, and the first one may be the cause of the error.
    let again = match duplicate_keys::normal_form(json(body)) {
        Ok(normal) => decode_once(resource, table, columns, &normal, context, DuplicatePolicy::KeepFirst),
        // If the body has no normal form, the decoder's own error is better: it has path and offset.
        Err(error) => match decode_once(resource, table, columns, body, context, DuplicatePolicy::KeepFirst) {
            Ok(_) => Err(DecodeStop::Error(error)),
            stopped => stopped,
        },
    };
    match (again, found) {
        (Ok(batch), _) => Ok(batch),
        (Err(_), Some(error)) | (Err(DecodeStop::Error(error)), None) => Err(error),
        (Err(DecodeStop::DuplicateKey), None) => Err(ErrorKind::Engine.at(b"{}", 0, |_| String::new())),
    }
}

enum DecodeStop {
    DuplicateKey,
    Error(DecodeError),
}

fn decode_once(
    resource: &'static Resource,
    table: &'static Table,
    columns: Option<&[String]>,
    body: &Body,
    context: &Context,
    policy: DuplicatePolicy,
) -> Result<RecordBatch, DecodeStop> {
    let padded = body.padded();
    let cursor = open(body, &padded).map_err(DecodeStop::Error)?;
    let root = roots::find(resource, cursor).map_err(|missing| DecodeStop::Error(missing.into()))?;
    let plan = plan_cache::plan(resource, root, table, columns).map_err(DecodeStop::Error)?;
    let skip_mode = match body.spans() {
        None if plan.checked => SkipMode::Validate(SpanIndex::of(resource, body.len())),
        known => SkipMode::FindEnd(known.map_or(&[], SpanIndex::as_slice)),
    };
    let checked = matches!(skip_mode, SkipMode::Validate(_));
    match decode::run(&plan, cursor, policy, skip_mode) {
        Ok(mut decoded) => {
            if checked {
                body.mark_validated(decoded.spans.take());
            }
            record_batch::finish(&plan, decoded, context, body.len()).map_err(DecodeStop::Error)
        }
        Err((ErrorKind::DuplicateKey, _)) => Err(DecodeStop::DuplicateKey),
        Err((fault, offset)) => Err(DecodeStop::Error(fault.at(body.as_slice(), offset, |column| plan.need(column)))),
    }
}

/// UnknownPath fields in order of appearance, then missing row paths. A body without its root is an error.
pub fn unknown_fields(resource: &'static Resource, body: &Body) -> Result<Vec<UnknownPath>, DecodeError> {
    let survey = check_body(resource, body, None)?;
    survey.root.map_or(Ok(survey.unknown), Err)
}

/// Finds unknown fields, and whether the root is there.
pub fn check_fields(resource: &'static Resource, body: &Body, _: &Context) -> Result<SchemaCheck, DecodeError> {
    check_body(resource, body, None)
}

/// Checks by its keys that a body has the resource's root. For a body that is not JSON, decoding reports the error.
pub fn check_root(resource: &'static Resource, body: &Body) -> Result<(), DecodeError> {
    let padded = body.padded();
    let Err(missing) = roots::find(resource, open(body, &padded)?) else { return Ok(()) };
    if syntax_error(body).is_some() {
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
    let cursor = open(body, &padded)?;
    let stopped = match check_once(resource, body, context, cursor) {
        Ok(found) => return Ok(found),
        Err(stopped) => stopped,
    };
    if let Some(error) = syntax_error(body) {
        return Err(error);
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
            return Err(ErrorKind::DuplicateKey.at(json(body), 0, |_| String::new()));
        }
    };
    Ok(SchemaCheck { root: Some(root), ..SchemaCheck::default() })
}

enum CheckStop {
    Body(DecodeError),
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
    let (found, spans) = schema_check::check(resource, root, context, cursor).map_err(|(fault, offset)| {
        let error = fault.at(body.as_slice(), offset, |_| String::new());
        match fault {
            ErrorKind::DuplicateKey => CheckStop::DuplicateKey,
            ErrorKind::Document => CheckStop::Root(error),
            _ => CheckStop::Body(error),
        }
    })?;
    body.mark_validated(spans);
    Ok(found)
}

/// Reads the normal form of a body. `None` if it is too large or not JSON.
fn in_normal_form<T>(body: &Body, read: impl FnOnce(&Body, Cursor) -> T) -> Option<T> {
    const MAX_BYTES: usize = 16 * 1024 * 1024;
    if body.len() > MAX_BYTES {
        return None;
    }
    let normal = duplicate_keys::normal_form(json(body)).ok()?;
    let padded = normal.padded();
    start(&padded).map(|cursor| read(&normal, cursor))
}

/// What makes a body no JSON: the same text and byte for tables, dicts and the schema check. `None` if it is JSON.
#[cold]
pub(crate) fn syntax_error(body: &Body) -> Option<DecodeError> {
    let padded = body.padded();
    let mut cursor = match open(body, &padded) {
        Ok(cursor) => cursor,
        Err(error) => return Some(error),
    };
    let fault = cursor.validate_document().err()?;
    Some(fault.at(body.as_slice(), cursor.position(), |_| String::new()))
}

/// The JSON path of a byte of the body, such as `$.teams[0].id`.
pub fn json_path(body: &Body, offset: usize) -> String {
    json_path::at(body.as_slice(), offset)
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A body's JSON, without a byte order mark.
pub(crate) fn json(body: &Body) -> &[u8] {
    let bytes = body.as_slice();
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// A cursor at the start of a body that is valid UTF-8, and so is every string read from it.
fn open<'a>(whole: &Body, padded: &'a [u8]) -> Result<Cursor<'a>, DecodeError> {
    let body = whole.as_slice();
    let error = |message: &str, offset| DecodeError::Body {
        message: message.into(),
        path: json_path::at(body, offset),
        offset,
    };
    // Positions in Arrow arrays and lists of nulls have 32 bits.
    if i32::try_from(body.len()).is_err() {
        return Err(error("the body is larger than 2 GiB", 0));
    }
    if !whole.is_validated()
        && !is_utf8(body)
        && let Err(e) = std::str::from_utf8(body)
    {
        let message = match e.error_len() {
            None => "the body ends early (truncated?)",
            Some(_) => "the body is not UTF-8",
        };
        return Err(error(message, e.valid_up_to()));
    }
    start(padded).ok_or_else(|| ErrorKind::Engine.at(body, 0, |_| String::new()))
}

/// Checks part by part: most parts are ASCII, which is several times faster to check.
fn is_utf8(mut text: &[u8]) -> bool {
    const PART: usize = 1024;
    while !text.is_empty() {
        // Do not split a character. Invalid text is reported from the whole body.
        let is_begun = |len: &usize| text.get(*len).is_some_and(|byte| *byte & 0xC0 == 0x80);
        let len = (PART..PART + 4).find(|len| !is_begun(len)).unwrap_or(PART).min(text.len());
        let (part, rest) = text.split_at(len);
        if !part.is_ascii() && std::str::from_utf8(part).is_err() {
            return false;
        }
        text = rest;
    }
    true
}

/// A cursor at the start of the JSON of a padded body, whose text is not checked.
pub(crate) fn start(padded: &[u8]) -> Option<Cursor<'_>> {
    let mut cursor = Cursor::new(padded)?;
    if padded.starts_with(BYTE_ORDER_MARK) {
        cursor.advance(BYTE_ORDER_MARK.len());
    }
    Some(cursor)
}
