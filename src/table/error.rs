//! Decode errors: one byte-sized kind while decoding, a sentence with path and offset for the user.

use super::{DecodeError, extent, json_path};

/// Small enough to be returned in a register for every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// A value of another kind.
    Expected(Expected),
    /// A number that JSON does not allow, such as `007` or `1.`.
    Number,
    /// A string that is not a number.
    NumericText,
    /// A fraction where an integer is expected.
    Fraction,
    /// A number beyond 64 bits.
    Range,
    ControlCharacter,
    Escape,
    Surrogate,
    Key,
    Colon,
    EndOfObject,
    EndOfArray,
    /// Bytes after the end of the body.
    Trailing,
    /// A document of the resource that is null or not an object.
    Document,
    /// Not an error: decoding starts again on the normal form (see `normal_form`).
    DuplicateKey,
    /// The plan's column of this index requires a value.
    Required(u16),
    /// More text than an Arrow string array can hold.
    TooLarge,
    /// More undeclared columns or cells than allowed.
    TooWide,
    /// A key with a NUL: Arrow's C interface cannot name such a column.
    NulKey,
    /// A larger table than the body may produce.
    NoRoom,
    /// A broken invariant of the decoder, reported instead of a panic.
    Engine,
}

pub(crate) type ReadResult<T> = Result<T, ErrorKind>;

/// What is expected at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Value,
    Object,
    Array,
    Number,
    Boolean,
    Text,
    Links,
}

impl Expected {
    fn words(self) -> &'static str {
        match self {
            Expected::Value => "a value",
            Expected::Object => "an object or null",
            Expected::Array => "an array or null",
            Expected::Number => "a number or null",
            Expected::Boolean => "true, false or null",
            Expected::Text => "a string or null",
            Expected::Links => "a link, an array of links or null",
        }
    }
}

impl ErrorKind {
    /// The error at `offset` of `body`. `describe` returns the message for a missing required column.
    pub fn at(self, body: &[u8], offset: usize, need: impl Fn(u16) -> String) -> DecodeError {
        let offset = offset.min(body.len());
        let message = match self {
            _ if ends_early(self, &body[offset..]) => "the body ends early (truncated?)".into(),
            ErrorKind::Expected(wanted) => format!("expected {}, found {}", wanted.words(), found(&body[offset..])),
            ErrorKind::Number => "not a number that JSON knows".into(),
            ErrorKind::NumericText => "expected a number or null, found a string that is no number".into(),
            ErrorKind::Fraction => "expected a whole number, found a fraction".into(),
            ErrorKind::Range => "the number is out of range".into(),
            ErrorKind::ControlCharacter => "a control character in a string".into(),
            ErrorKind::Escape => "an escape in a string that JSON does not know".into(),
            ErrorKind::Surrogate => "half of a surrogate pair in a string".into(),
            ErrorKind::Key => format!("expected a key in quotes, found {}", found(&body[offset..])),
            ErrorKind::Colon => format!("expected ':' after a key, found {}", found(&body[offset..])),
            ErrorKind::EndOfObject => format!("expected ',' or '}}', found {}", found(&body[offset..])),
            ErrorKind::EndOfArray => format!("expected ',' or ']', found {}", found(&body[offset..])),
            ErrorKind::Trailing => format!("expected the end of the body, found {}", found(&body[offset..])),
            ErrorKind::Document => format!("expected an object, found {}", found(&body[offset..])),
            ErrorKind::DuplicateKey => "an object has the same key twice".into(),
            ErrorKind::Required(column) => need(column),
            ErrorKind::TooWide => extent::TOO_WIDE_MESSAGE.into(),
            ErrorKind::NulKey => {
                "a key with a NUL character cannot name a column; player_stats has a row for it".into()
            }
            ErrorKind::NoRoom => extent::NO_ROOM_MESSAGE.into(),
            ErrorKind::TooLarge => "the table does not fit an Arrow array (2 GiB of text in one column)".into(),
            ErrorKind::Engine => "the decoder contradicted itself; please report this body".into(),
        };
        DecodeError::Body { message, path: json_path::at(body, offset), offset }
    }
}

/// Whether the rest of the body is empty or the beginning of a literal.
fn ends_early(fault: ErrorKind, rest: &[u8]) -> bool {
    let about_text = !matches!(
        fault,
        ErrorKind::Required(_)
            | ErrorKind::TooLarge
            | ErrorKind::TooWide
            | ErrorKind::NulKey
            | ErrorKind::NoRoom
            | ErrorKind::Engine
            | ErrorKind::Fraction
            | ErrorKind::Range
    );
    about_text && (rest.is_empty() || ["true", "false", "null"].iter().any(|w| w.as_bytes().starts_with(rest)))
}

pub(super) fn found(rest: &[u8]) -> String {
    match rest.first() {
        Some(b'{') => "an object".into(),
        Some(b'[') => "an array".into(),
        Some(b'"') => "a string".into(),
        Some(b'0'..=b'9' | b'-') => "a number".into(),
        _ if rest.starts_with(b"true") || rest.starts_with(b"false") => "a boolean".into(),
        _ if rest.starts_with(b"null") => "null".into(),
        Some(byte) if byte.is_ascii_graphic() => format!("'{}'", *byte as char),
        Some(byte) => format!("byte 0x{byte:02x}"),
        None => "the end".into(),
    }
}
