//! The decoding engine: JSON bytes to Arrow, driven by declarations. It knows no resource and does no I/O.
//!
//! | file | what lives there |
//! |---|---|
//! | `body`, `brackets` | a body's bytes and their padding; where its long parts end |
//! | `decl`, `path` | the language of declarations |
//! | `plan`, `keys`, `runs` | a declaration compiled; the keys of its objects and their usual order |
//! | `cursor`, `number`, `text`, `skip`, `scan` | reading JSON |
//! | `roots`, `decode`, `lists`, `open`, `repeats` | a plan run over a body |
//! | `columns`, `cells`, `scalars`, `finish`, `schema` | values to Arrow |
//! | `fault`, `json_path` | what is wrong, and where |
//! | `extent` | how large a table may become |
//! | `survey`, `known` | what a body holds, told without building anything |
//! | `values` | values of any kind, for a reader that has no declaration |

mod body;
mod brackets;
mod cells;
mod columns;
mod cursor;
mod decl;
mod decode;
mod extent;
mod fault;
mod finish;
mod json_path;
mod keys;
mod known;
mod lists;
mod number;
mod open;
mod path;
mod plan;
mod plans;
mod repeats;
mod roots;
mod runs;
mod scalars;
mod scan;
mod schema;
mod skip;
mod survey;
mod text;
#[cfg(any(feature = "python", test))]
mod values;

#[cfg(any(test, fuzzing))]
pub(crate) mod tests;

pub use body::Body;
pub use decl::{
    Col, Derivation, Resource, Root, Src, Table, Ty, absent, col, derived, index, key, read_elsewhere, request, root,
};
pub(crate) use extent::{TOO_WIDE, is_too_wide};
pub use schema::schema;
pub use survey::{MAX_UNKNOWN, Survey, Unknown};

pub(crate) use {cursor::Cursor, fault::Fault};
#[cfg(feature = "python")]
pub(crate) use {
    scan::{head, number, others},
    values::Number,
};

use arrow_array::RecordBatch;
use brackets::Brackets;
use decode::{Repeated, Unasked};

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
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
    fn longest(&self) -> usize {
        self.0.iter().map(|(_, v)| v.len()).max().unwrap_or_default()
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
///
/// A whole table checks all of the body as JSON. With `columns`, values that are not asked are only stepped over.
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
    let found = match decode_once(resource, table, columns, body, context, Repeated::Stop) {
        Ok(batch) => return Ok(batch),
        Err(Stopped::Error(error @ DecodeError::Body { .. })) => Some(error),
        Err(Stopped::Error(error)) => return Err(error),
        Err(Stopped::RepeatedKey) => None,
    };
    // Of a key that stands twice the last value counts, and what does not fit may be the first one.
    let again = match repeats::normal_form(json(body)) {
        Ok(normal) => decode_once(resource, table, columns, &normal, context, Repeated::KeepFirst),
        // What is wrong with a body that has no normal form, the engine tells better, with path and offset.
        Err(error) => match decode_once(resource, table, columns, body, context, Repeated::KeepFirst) {
            Ok(_) => Err(Stopped::Error(error)),
            stopped => stopped,
        },
    };
    match (again, found) {
        (Ok(batch), _) => Ok(batch),
        (Err(_), Some(error)) | (Err(Stopped::Error(error)), None) => Err(error),
        (Err(Stopped::RepeatedKey), None) => Err(Fault::Engine.at(b"{}", 0, |_| String::new())),
    }
}

enum Stopped {
    RepeatedKey,
    Error(DecodeError),
}

fn decode_once(
    resource: &'static Resource,
    table: &'static Table,
    columns: Option<&[String]>,
    body: &Body,
    context: &Context,
    repeated: Repeated,
) -> Result<RecordBatch, Stopped> {
    let padded = body.padded();
    let cursor = open(body, &padded).map_err(Stopped::Error)?;
    let root = roots::find(resource, cursor).map_err(|missing| Stopped::Error(missing.into()))?;
    let plan = plans::plan(resource, root, table, columns).map_err(Stopped::Error)?;
    let unasked = match body.brackets() {
        None if plan.checked => Unasked::Checked(Brackets::of(resource, body.len())),
        known => Unasked::Passed(known.map_or(&[], Brackets::as_slice)),
    };
    let checked = matches!(unasked, Unasked::Checked(_));
    match decode::run(&plan, cursor, repeated, unasked) {
        Ok(mut decoded) => {
            if checked {
                body.found_sound(decoded.brackets.take());
            }
            finish::finish(&plan, decoded, context, body.len()).map_err(Stopped::Error)
        }
        Err((Fault::RepeatedKey, _)) => Err(Stopped::RepeatedKey),
        Err((fault, offset)) => Err(Stopped::Error(fault.at(body.as_slice(), offset, |column| plan.need(column)))),
    }
}

/// Paths in the body that no declaration knows, in the order met, then row paths that should have been there and never were.
/// A body without its root is an error.
pub fn unknown_fields(resource: &'static Resource, body: &Body) -> Result<Vec<Unknown>, DecodeError> {
    let survey = look(resource, body, None)?;
    survey.root.map_or(Ok(survey.unknown), Err)
}

/// What no declaration knows, and whether the root is there.
pub fn survey_fields(resource: &'static Resource, body: &Body, _: &Context) -> Result<Survey, DecodeError> {
    look(resource, body, None)
}

/// Whether the keys of a body show its resource's root.
pub fn check_root(resource: &'static Resource, body: &Body) -> Result<(), DecodeError> {
    let padded = body.padded();
    let Err(missing) = roots::find(resource, open(body, &padded)?) else { return Ok(()) };
    match in_normal_form(body, |_, cursor| roots::find(resource, cursor).is_ok()) {
        Some(true) => Ok(()),
        _ => Err(missing.into()),
    }
}

/// What no declaration knows, whether the root is there, and whether every table is sure to decode with this context.
pub fn survey(resource: &'static Resource, body: &Body, context: &Context) -> Result<Survey, DecodeError> {
    look(resource, body, Some(context))
}

fn look(resource: &'static Resource, body: &Body, context: Option<&Context>) -> Result<Survey, DecodeError> {
    let padded = body.padded();
    let cursor = open(body, &padded)?;
    let error = match look_once(resource, body, context, cursor) {
        Ok(found) => return Ok(found),
        Err(Unsurveyed::Body(error)) => return Err(error),
        Err(Unsurveyed::Root(error)) => Some(error),
        Err(Unsurveyed::RepeatedKey) => None,
    };
    let again = in_normal_form(body, |normal, cursor| look_once(resource, normal, context, cursor));
    let root = match (again, error) {
        (Some(Ok(found)), _) => return Ok(found),
        (_, Some(error)) | (Some(Err(Unsurveyed::Root(error))), None) => error,
        (Some(Err(Unsurveyed::Body(error))), None) => return Err(error),
        (None | Some(Err(Unsurveyed::RepeatedKey)), None) => {
            return Err(Fault::RepeatedKey.at(json(body), 0, |_| String::new()));
        }
    };
    Ok(Survey { root: Some(root), ..Survey::default() })
}

/// Why a pass over a body ended early.
enum Unsurveyed {
    Body(DecodeError),
    Root(DecodeError),
    RepeatedKey,
}

fn look_once(
    resource: &'static Resource,
    body: &Body,
    context: Option<&Context>,
    cursor: Cursor,
) -> Result<Survey, Unsurveyed> {
    let root = roots::find(resource, cursor).map_err(|missing| Unsurveyed::Root(missing.into()))?;
    let (found, brackets) = survey::survey(resource, root, context, cursor).map_err(|(fault, offset)| {
        let error = fault.at(body.as_slice(), offset, |_| String::new());
        match fault {
            Fault::RepeatedKey => Unsurveyed::RepeatedKey,
            Fault::Document => Unsurveyed::Root(error),
            _ => Unsurveyed::Body(error),
        }
    })?;
    body.found_sound(brackets);
    Ok(found)
}

/// Reads a body of which each key counts with its last value. `None` where the body is too large, or not JSON.
fn in_normal_form<T>(body: &Body, read: impl FnOnce(&Body, Cursor) -> T) -> Option<T> {
    const MAX_BYTES: usize = 16 * 1024 * 1024;
    if body.len() > MAX_BYTES {
        return None;
    }
    let normal = repeats::normal_form(json(body)).ok()?;
    let padded = normal.padded();
    start(&padded).map(|cursor| read(&normal, cursor))
}

/// Where in the JSON a byte of the body lies, such as `$.teams[0].id`.
pub fn json_path(body: &Body, offset: usize) -> String {
    json_path::at(body.as_slice(), offset)
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A body's JSON, without the byte order mark some writers put before it.
pub(crate) fn json(body: &Body) -> &[u8] {
    let bytes = body.as_slice();
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// At the start of a body that is sound text. Every string the cursor gives is valid UTF-8 from here on.
fn open<'a>(whole: &Body, padded: &'a [u8]) -> Result<Cursor<'a>, DecodeError> {
    let body = whole.as_slice();
    let error = |message: &str, offset| DecodeError::Body {
        message: message.into(),
        path: json_path::at(body, offset),
        offset,
    };
    // Positions in Arrow arrays, and in lists of nulls, have 32 bits.
    if i32::try_from(body.len()).is_err() {
        return Err(error("the body is larger than 2 GiB", 0));
    }
    if !whole.is_sound()
        && !is_utf8(body)
        && let Err(e) = std::str::from_utf8(body)
    {
        let message = match e.error_len() {
            None => "the body ends early (truncated?)",
            Some(_) => "the body is not UTF-8",
        };
        return Err(error(message, e.valid_up_to()));
    }
    start(padded).ok_or_else(|| Fault::Engine.at(body, 0, |_| String::new()))
}

/// Whether each part is: most are ASCII, which is told several times as fast.
fn is_utf8(mut text: &[u8]) -> bool {
    const PART: usize = 1024;
    while !text.is_empty() {
        // Not through a letter; what is none is told from all of the text.
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

/// At the start of the JSON of a body with its padding; its text was not looked at.
pub(crate) fn start(padded: &[u8]) -> Option<Cursor<'_>> {
    let mut cursor = Cursor::new(padded)?;
    if padded.starts_with(BYTE_ORDER_MARK) {
        cursor.advance(BYTE_ORDER_MARK.len());
    }
    Some(cursor)
}
