//! What is wrong with a body: one word while decoding, a sentence with path and offset once it is told to a user.

use super::{DecodeError, extent, json_path};

/// Small enough to come back in a register: the decoder passes one for every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another kind of value.
    Expected(Wanted),
    /// A number that JSON does not know, such as `007` or `1.`.
    Number,
    /// A string that is no number.
    NumericText,
    /// A fraction where whole numbers stand.
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
    /// More after the end of the body.
    Trailing,
    /// A document of the resource that is null or no object.
    Document,
    /// An object says one key twice: not an error, but a reason to start again (see `normal_form`).
    RepeatedKey,
    /// The column of this number in the plan needs a value.
    Required(u16),
    /// More text than an Arrow string array can hold.
    TooLarge,
    /// More columns or cells than the body may bring along.
    TooWide,
    /// A key with a NUL: Arrow's C interface has no column of that name.
    NulKey,
    /// A larger table than the body may make.
    NoRoom,
    /// The engine contradicted itself. Never seen; better than a panic.
    Engine,
}

pub(crate) type Read<T> = Result<T, Fault>;

/// What a place takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Value,
    Object,
    Array,
    Number,
    Boolean,
    Text,
    Links,
}

impl Wanted {
    fn words(self) -> &'static str {
        match self {
            Wanted::Value => "a value",
            Wanted::Object => "an object or null",
            Wanted::Array => "an array or null",
            Wanted::Number => "a number or null",
            Wanted::Boolean => "true, false or null",
            Wanted::Text => "a string or null",
            Wanted::Links => "a link, an array of links or null",
        }
    }
}

impl Fault {
    /// The error at `offset` of `body`. `need` says what a required column is called and where it is read.
    pub fn at(self, body: &[u8], offset: usize, need: impl Fn(u16) -> String) -> DecodeError {
        let offset = offset.min(body.len());
        let message = match self {
            _ if ends_early(self, &body[offset..]) => "the body ends early (truncated?)".into(),
            Fault::Expected(wanted) => format!("expected {}, found {}", wanted.words(), found(&body[offset..])),
            Fault::Number => "not a number that JSON knows".into(),
            Fault::NumericText => "expected a number or null, found a string that is no number".into(),
            Fault::Fraction => "expected a whole number, found a fraction".into(),
            Fault::Range => "the number is out of range".into(),
            Fault::ControlCharacter => "a control character in a string".into(),
            Fault::Escape => "an escape in a string that JSON does not know".into(),
            Fault::Surrogate => "half of a surrogate pair in a string".into(),
            Fault::Key => format!("expected a key in quotes, found {}", found(&body[offset..])),
            Fault::Colon => format!("expected ':' after a key, found {}", found(&body[offset..])),
            Fault::EndOfObject => format!("expected ',' or '}}', found {}", found(&body[offset..])),
            Fault::EndOfArray => format!("expected ',' or ']', found {}", found(&body[offset..])),
            Fault::Trailing => format!("expected the end of the body, found {}", found(&body[offset..])),
            Fault::Document => format!("expected an object, found {}", found(&body[offset..])),
            Fault::RepeatedKey => "an object has the same key twice".into(),
            Fault::Required(column) => need(column),
            Fault::TooWide => extent::TOO_WIDE.into(),
            Fault::NulKey => "a key with a NUL character cannot name a column; player_stats has a row for it".into(),
            Fault::NoRoom => extent::NO_ROOM.into(),
            Fault::TooLarge => "the table does not fit an Arrow array (2 GiB of text in one column)".into(),
            Fault::Engine => "the decoder contradicted itself; please report this body".into(),
        };
        DecodeError::Body { message, path: json_path::at(body, offset), offset }
    }
}

/// Whether the rest of the body is nothing, or the beginning of a word that was cut.
fn ends_early(fault: Fault, rest: &[u8]) -> bool {
    let about_text = !matches!(
        fault,
        Fault::Required(_)
            | Fault::TooLarge
            | Fault::TooWide
            | Fault::NulKey
            | Fault::NoRoom
            | Fault::Engine
            | Fault::Fraction
            | Fault::Range
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
