//! One error type. Each variant is one class a user can catch, and each message says what to do next. What a peer sent or an
//! address holds enters as [`Scrubbed`] alone; a text of our own is shown without control characters. No text is longer than
//! 2 kB.

use crate::scrub::{Scrubbed, Scrubber, shown};
use crate::table::DecodeError;
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The client is set up wrong, or a credential is missing (`ConfigurationError`).
    #[error("{}", shown(.0))]
    Configuration(String),
    /// An argument that can never be right (`ValueError`).
    #[error("{}", shown(.0))]
    Argument(String),
    /// The service answered with an error, or would (`ApiError` and its subclasses).
    #[error("{0}")]
    Api(Box<ApiError>),
    /// No connection (`ConnectError`).
    #[error("{0}")]
    Connect(Scrubbed),
    /// The same, for a certificate that cannot be trusted: another attempt cannot cure it.
    #[error("{0}")]
    Certificate(Scrubbed),
    /// Connect, read or total timeout (`RequestTimeout`).
    #[error("{0}")]
    Timeout(Scrubbed),
    /// The connection broke, or the answer could not be read as HTTP (`TransportError`).
    #[error("{0}")]
    Transport(Scrubbed),
    /// The body does not fit (`DecodeError`).
    #[error("{0}")]
    Decode(Undecodable),
    /// A file could not be read or written (`OSError`).
    #[error("{}: {}", shown(path), shown(message))]
    File {
        path: String,
        /// The system's number; `None`: a file that another process has locked (`BlockingIOError`).
        errno: Option<i32>,
        message: String,
    },
    /// One of many requests that were not sent, or not until they were answered (the class of `cause`).
    #[error("{text}")]
    GivenUp { text: Scrubbed, cause: Box<Error> },
    /// The client was closed (`SidelineError`).
    #[error("the client is closed; make a new one")]
    Closed,
}

impl Error {
    /// Of what a caller gave, which may hold a secret of its client.
    pub fn of_arguments(self, scrubber: &Scrubber) -> Self {
        match self {
            Error::Argument(text) => Error::Argument(scrubber.composed(text).into()),
            other => other,
        }
    }
}

/// Where and why a body does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at {path} (byte {offset})")]
pub struct Undecodable {
    pub message: Scrubbed,
    pub path: Scrubbed,
    pub offset: usize,
}

impl DecodeError {
    /// The same as a user sees it: its path holds keys of the body.
    pub fn scrubbed(self, scrubber: &Scrubber) -> Error {
        match self {
            DecodeError::Body { message, path, offset } => {
                let (message, path) = (scrubber.message(message), scrubber.id(path));
                Error::Decode(Undecodable { message, path, offset })
            }
            // A name that is not there is its caller's mistake.
            other @ (DecodeError::NoTable { .. } | DecodeError::NoColumn { .. }) => Error::Argument(other.to_string()),
        }
    }
}

/// Which class of `ApiError` an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// 401, or a gateway's 403 (`{"message": ..}` alone).
    Authentication,
    /// 403 with a body of the service.
    PermissionDenied,
    /// 404.
    NotFound,
    /// 400 or 422, from the service or found before sending.
    InvalidRequest,
    /// 429.
    RateLimited,
    /// 5xx.
    Server,
    /// Any other status.
    Other,
}

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub kind: ApiErrorKind,
    pub status: u16,
    /// The service's own message, or the start of a body that has none.
    pub message: Scrubbed,
    /// A 4xx message of the service, split at ` | `.
    pub rules: Vec<Scrubbed>,
    pub request_id: Option<Scrubbed>,
    pub method: String,
    pub url: Scrubbed,
    /// 0 where it was found before sending.
    pub attempts: u32,
    /// What to do next, in a sentence; may be empty.
    pub hint: Scrubbed,
    /// The wait that the response asks for (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let answered = if self.attempts == 0 { "would be answered" } else { "answered" };
        write!(f, "{} {} {answered} {}: {}", self.method, self.url, self.status, self.message)?;
        if let Some(id) = &self.request_id {
            write!(f, " (request id {id})")?;
        }
        if self.attempts > 1 {
            write!(f, " after {} attempts", self.attempts)?;
        }
        if !self.hint.is_empty() {
            write!(f, ". {}", self.hint)?;
        }
        Ok(())
    }
}
