//! Why a table cannot be decoded: one small value while decoding, a sentence with path and offset for the user.

use super::{DecodeError, extent};
use reader::{Body, ErrorKind, JsonError, json_path};

/// Small enough to be returned in a register for every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecodeErrorKind {
    /// The body is not JSON, or a value not of its column's type.
    Json(ErrorKind),
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

pub(super) type DecodeResult<T> = Result<T, DecodeErrorKind>;

impl From<ErrorKind> for DecodeErrorKind {
    #[inline(always)]
    fn from(kind: ErrorKind) -> Self {
        DecodeErrorKind::Json(kind)
    }
}

impl From<JsonError> for DecodeError {
    fn from(JsonError { message, path, offset }: JsonError) -> Self {
        DecodeError::Body { message, path, offset }
    }
}

/// An error that is at no place of the body.
impl From<DecodeErrorKind> for DecodeError {
    fn from(kind: DecodeErrorKind) -> Self {
        kind.at(&Body::default(), 0, |_| String::new())
    }
}

impl DecodeErrorKind {
    /// The error at `offset` of `body`. `need` returns the message for a missing required column.
    pub(crate) fn at(self, body: &Body, offset: usize, need: impl Fn(u16) -> String) -> DecodeError {
        let offset = offset.min(body.len());
        let message = match self {
            DecodeErrorKind::Json(kind) => return kind.at(body, offset).into(),
            DecodeErrorKind::Document => {
                format!("expected an object, found {}", reader::describe_token(&body.as_slice()[offset..]))
            }
            DecodeErrorKind::DuplicateKey => "an object has the same key twice".into(),
            DecodeErrorKind::Required(column) => need(column),
            DecodeErrorKind::TooWide => extent::TOO_WIDE_MESSAGE.into(),
            DecodeErrorKind::NulKey => {
                "a key with a NUL character cannot name a column; player_stats has a row for it".into()
            }
            DecodeErrorKind::NoRoom => extent::NO_ROOM_MESSAGE.into(),
            DecodeErrorKind::TooLarge => "the table does not fit an Arrow array (2 GiB of text in one column)".into(),
            DecodeErrorKind::Engine => "the decoder contradicted itself; please report this body".into(),
        };
        DecodeError::Body { message, path: json_path::at(body, offset), offset }
    }
}
