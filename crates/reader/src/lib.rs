//! The reader of JSON: one cursor over a padded body, for tables, Python dicts, the schema check and the live streams.
//!
//! | file | content |
//! |---|---|
//! | `body` | a body's bytes and padding, and whether they were validated |
//! | `cursor` | the position in a body, and the only code that reads it through pointers |
//! | `number`, `text`, `any_value`, `simd` | reading numbers and strings |
//! | `skip` | passing over values, with or without validating them |
//! | `value` | a value of any kind, for what no declaration describes |
//! | `error`, `json_path` | what is wrong with a body, and where |

#![allow(clippy::len_without_is_empty, reason = "a cursor and a span are measured, never asked whether they are empty")]

mod any_value;
mod body;
#[cfg(test)]
#[path = "../../../tests/conformance/cases.rs"]
mod cases;
#[cfg(test)]
mod conformance_tests;
mod cursor;
mod error;
pub mod json_path;
mod number;
pub mod simd;
mod skip;
mod text;
mod value;

pub use any_value::Number;
pub use body::Body;
pub use {
    cursor::{Cursor, Span},
    error::{ErrorKind, Expected, JsonError, ReadResult, describe_token},
    number::MaybeInteger,
    value::Value,
};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A cursor at the start of the JSON of a padded body. Does not check that the body is UTF-8.
pub fn start(padded_body: &[u8]) -> Option<Cursor<'_>> {
    let mut cursor = Cursor::new(padded_body)?;
    if padded_body.starts_with(BYTE_ORDER_MARK) {
        cursor.advance(BYTE_ORDER_MARK.len());
    }
    Some(cursor)
}

/// A cursor at the start of a body that is valid UTF-8, and so is every string read from it.
pub fn open<'a>(body: &Body, padded_body: &'a [u8]) -> Result<Cursor<'a>, JsonError> {
    if i32::try_from(body.len()).is_err() {
        return Err(ErrorKind::TooLong.at(body, 0));
    }
    if !body.is_validated()
        && !is_utf8(body.as_slice())
        && let Err(error) = std::str::from_utf8(body.as_slice())
    {
        let kind = if error.error_len().is_none() { ErrorKind::Truncated } else { ErrorKind::NotUtf8 };
        return Err(kind.at(body, error.valid_up_to()));
    }
    start(padded_body).ok_or_else(|| ErrorKind::Unpadded.at(body, 0))
}

/// Why a body is not JSON: the same text and offset for tables, dicts and the schema check. `None` if it is JSON.
#[cold]
pub fn syntax_error(body: &Body) -> Option<JsonError> {
    let padded_body = body.with_padding();
    let mut cursor = match open(body, &padded_body) {
        Ok(cursor) => cursor,
        Err(error) => return Some(error),
    };
    let kind = cursor.validate_document().err()?;
    Some(kind.at(body, cursor.position()))
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
