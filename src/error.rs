//! One error type. Each variant is one class a user can catch, and each message says what to do next. No message ever holds
//! a secret: addresses come redacted, bodies come shortened.

use crate::table::DecodeError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The client is set up wrong, or a credential is missing (`ConfigurationError`).
    #[error("{0}")]
    Configuration(String),
    /// An argument that can never be right (`ValueError`).
    #[error("{0}")]
    Argument(String),
    /// The service answered with an error, or would (`ApiError` and its subclasses).
    #[error("{0}")]
    Api(Box<ApiError>),
    /// No connection (`ConnectError`).
    #[error("{0}")]
    Connect(String),
    /// The same, for a certificate that cannot be trusted: another attempt cannot cure it.
    #[error("{0}")]
    Certificate(String),
    /// Connect, read or total timeout (`RequestTimeout`).
    #[error("{0}")]
    Timeout(String),
    /// The connection broke, or the answer could not be read as HTTP (`TransportError`).
    #[error("{0}")]
    Transport(String),
    /// The body does not fit (`DecodeError`).
    #[error("{0}")]
    Decode(DecodeError),
    /// A file could not be read or written (`OSError`).
    #[error("{path}: {message}")]
    File {
        path: String,
        /// The system's number; `None`: a file that another process has locked (`BlockingIOError`).
        errno: Option<i32>,
        message: String,
    },
    /// The client was closed (`SidelineError`).
    #[error("the client is closed; make a new one")]
    Closed,
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
    pub message: String,
    /// A 4xx message of the service, split at ` | `.
    pub rules: Vec<String>,
    pub request_id: Option<String>,
    pub method: String,
    /// Redacted.
    pub url: String,
    /// 0 where it was found before sending.
    pub attempts: u32,
    /// What to do next, in a sentence; may be empty.
    pub hint: String,
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
