//! Why a body is not JSON, or a value not of the expected kind: one byte while reading, a sentence for the user.

use super::{Body, json_path};

/// Small enough to be returned in a register for every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
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
    /// A character is cut off by the end of the body.
    Truncated,
    NotUtf8,
    /// Positions in Arrow arrays and lists of nulls have 32 bits.
    TooLong,
    /// A broken invariant of the reader, reported instead of a panic.
    Unpadded,
}

pub type ReadResult<T> = Result<T, ErrorKind>;

/// What is expected at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
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

/// What is wrong with a body, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    pub message: String,
    /// Such as `$.teams[0].id`.
    pub path: String,
    /// Byte of the body.
    pub offset: usize,
}

impl ErrorKind {
    /// The error at `offset` of `body`.
    pub fn at(self, body: &Body, offset: usize) -> JsonError {
        let offset = offset.min(body.len());
        let rest = &body.as_slice()[offset..];
        let message = match self {
            _ if self.ends_early(rest) => "the body ends early (truncated?)".into(),
            ErrorKind::Truncated => "the body ends early (truncated?)".into(),
            ErrorKind::Expected(expected) => format!("expected {}, found {}", expected.words(), describe_token(rest)),
            ErrorKind::Number => "not a number that JSON knows".into(),
            ErrorKind::NumericText => "expected a number or null, found a string that is no number".into(),
            ErrorKind::Fraction => "expected a whole number, found a fraction".into(),
            ErrorKind::Range => "the number is out of range".into(),
            ErrorKind::ControlCharacter => "a control character in a string".into(),
            ErrorKind::Escape => "an escape in a string that JSON does not know".into(),
            ErrorKind::Surrogate => "half of a surrogate pair in a string".into(),
            ErrorKind::Key => format!("expected a key in quotes, found {}", describe_token(rest)),
            ErrorKind::Colon => format!("expected ':' after a key, found {}", describe_token(rest)),
            ErrorKind::EndOfObject => format!("expected ',' or '}}', found {}", describe_token(rest)),
            ErrorKind::EndOfArray => format!("expected ',' or ']', found {}", describe_token(rest)),
            ErrorKind::Trailing => format!("expected the end of the body, found {}", describe_token(rest)),
            ErrorKind::NotUtf8 => "the body is not UTF-8".into(),
            ErrorKind::TooLong => "the body is larger than 2 GiB".into(),
            ErrorKind::Unpadded => "the reader contradicted itself; please report this body".into(),
        };
        JsonError { message, path: json_path::at(body, offset), offset }
    }

    /// Whether the rest of the body is empty or the beginning of a literal, and the error due to that.
    fn ends_early(self, rest: &[u8]) -> bool {
        use ErrorKind::{Fraction, NotUtf8, Range, TooLong, Unpadded};
        let is_cut = rest.is_empty() || ["true", "false", "null"].iter().any(|w| w.as_bytes().starts_with(rest));
        is_cut && !matches!(self, Fraction | Range | NotUtf8 | TooLong | Unpadded)
    }
}

pub fn describe_token(rest: &[u8]) -> String {
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
