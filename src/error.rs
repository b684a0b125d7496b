//! The error type. Each variant is a class that a user can catch, and each message says what to do next. Text from peers and
//! URLs is always [`Scrubbed`]; control characters in our own text are escaped. No message exceeds 2 kB.

use crate::advice::Advice;
use crate::scrub::{Scrubbed, Scrubber, shown};
use std::time::Duration;
use tables::DecodeError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Wrong setup, or a missing credential (`ConfigurationError`).
    #[error("{}", shown(.0))]
    Configuration(String),
    /// An invalid argument (`ValueError`).
    #[error("{}", shown(.0))]
    Argument(String),
    /// An unknown name in an argument, and the known names (`ValueError`, with the names that resemble it).
    #[error("{}", shown(text))]
    UnknownName { text: String, name: String, candidates: String },
    /// The service returned an error, or would (`ApiError` and its subclasses).
    #[error("{0}")]
    Api(Box<ApiError>),
    /// No connection (`ConnectError`).
    #[error("{0}")]
    Connect(RequestError),
    /// The server's certificate is invalid, so retrying does not help (`ConnectError`).
    #[error("{0}")]
    Certificate(RequestError),
    /// Connect, read or total timeout (`RequestTimeout`).
    #[error("{0}")]
    Timeout(RequestError),
    /// The connection broke, or the response is not valid HTTP (`TransportError`).
    #[error("{0}")]
    Transport(RequestError),
    /// The body does not match the declaration (`DecodeError`).
    #[error("{0}")]
    Decode(Undecodable),
    /// A file could not be read or written (`OSError`).
    #[error("{}: {}", shown(path), shown(message))]
    File {
        path: String,
        /// The system's error number; `None`: another process has locked the file (`BlockingIOError`).
        errno: Option<i32>,
        message: String,
    },
    /// One of many requests that was not sent or not completed (the class of `cause`).
    #[error("{text}")]
    GivenUp { text: Scrubbed, cause: Box<Error> },
    /// A defect of sideline (`InternalError`).
    #[error("internal error, please report it: {}", shown(.0))]
    Internal(String),
    /// The client was closed (`SidelineError`).
    #[error("the client is closed; create a new one")]
    Closed,
}

impl Error {
    /// Scrubs text of a caller or a library, which may contain a secret of the client.
    pub fn scrubbed(self, scrubber: &Scrubber) -> Self {
        match self {
            Error::Argument(text) => Error::Argument(scrubber.composed(text).into()),
            Error::UnknownName { text, name, candidates } => {
                Error::UnknownName { text: scrubber.composed(text).into(), name, candidates }
            }
            Error::Configuration(text) => Error::Configuration(scrubber.composed(text).into()),
            other => other,
        }
    }

    /// The class in `sideline/errors.py`; `None`: one of Python's own.
    pub fn class_name(&self) -> Option<&'static str> {
        Some(match self {
            Error::Argument(_) | Error::UnknownName { .. } | Error::File { .. } => return None,
            Error::Configuration(_) => "ConfigurationError",
            Error::Api(response) => response.kind.class_name(),
            Error::Connect(_) | Error::Certificate(_) => "ConnectError",
            Error::Timeout(_) => "RequestTimeout",
            Error::Transport(_) => "TransportError",
            Error::Decode(_) => "DecodeError",
            Error::GivenUp { cause, .. } => return cause.class_name(),
            Error::Internal(_) => "InternalError",
            Error::Closed => "SidelineError",
        })
    }

    /// Removes the request's context, to use the error for another request that was not sent.
    pub(crate) fn without_request(self) -> Self {
        let without = |error| RequestError { request: None, ..error };
        match self {
            Error::Connect(error) => Error::Connect(without(error)),
            Error::Certificate(error) => Error::Certificate(without(error)),
            Error::Timeout(error) => Error::Timeout(without(error)),
            Error::Transport(error) => Error::Transport(without(error)),
            other => other,
        }
    }

    /// What a user can do: the kind of advice and a sentence.
    pub fn advice(&self) -> (Advice, Scrubbed) {
        let kind = match self {
            Error::Api(error) => return (error.advice, error.hint.clone()),
            Error::Connect(error) | Error::Certificate(error) | Error::Timeout(error) | Error::Transport(error) => {
                error.advice
            }
            Error::Decode(error) => error.advice,
            Error::GivenUp { cause, .. } => return cause.advice(),
            Error::Configuration(_)
            | Error::Argument(_)
            | Error::UnknownName { .. }
            | Error::File { .. }
            | Error::Internal(_)
            | Error::Closed => Advice::SeeMessage,
        };
        (kind, kind.text().into())
    }

    /// The message without the advice.
    pub fn found(&self) -> String {
        match self {
            Error::Api(error) => error.found(),
            Error::Connect(error) | Error::Certificate(error) | Error::Timeout(error) | Error::Transport(error) => {
                error.found.to_string()
            }
            Error::Decode(error) => error.found(),
            other => other.to_string(),
        }
    }
}

/// The request of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    pub url: Scrubbed,
    pub attempts: u32,
    pub elapsed: Duration,
}

/// An error without a usable response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    /// The full message, including the advice.
    pub(crate) text: Scrubbed,
    /// The message without the advice.
    pub found: Scrubbed,
    pub advice: Advice,
    pub request: Option<RequestContext>,
    /// What the network or a library reported.
    pub cause: Option<Box<Scrubbed>>,
}

impl RequestError {
    pub fn new(found: Scrubbed, advice: Advice, request: Option<RequestContext>) -> Self {
        let text = Scrubber::default().composed(format!("{found}. {}", advice.text()));
        RequestError { text, found, advice, request, cause: None }
    }

    pub(crate) fn with_cause(self, cause: Scrubbed) -> Self {
        RequestError { cause: Some(Box::new(cause)), ..self }
    }
}

/// From a message that includes its advice.
impl From<Scrubbed> for RequestError {
    fn from(text: Scrubbed) -> Self {
        RequestError { found: text.clone(), text, advice: Advice::SeeMessage, request: None, cause: None }
    }
}

impl From<&'static str> for RequestError {
    fn from(text: &'static str) -> Self {
        Scrubbed::from(text).into()
    }
}

impl std::ops::Deref for RequestError {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A body that does not decode, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// With the advice if that is `SeeMessage`.
    pub message: Scrubbed,
    pub path: Scrubbed,
    pub offset: usize,
    pub advice: Advice,
}

impl Undecodable {
    /// The message without the advice.
    fn found(&self) -> String {
        format!("{} at {} (byte {})", self.message, self.path, self.offset)
    }
}

impl std::fmt::Display for Undecodable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.found())?;
        if self.advice != Advice::SeeMessage {
            write!(f, ". {}", self.advice.text())?;
        }
        Ok(())
    }
}

impl Error {
    /// Why a body gives no table. Scrubs the path, which may contain keys of the body.
    pub fn decode(error: DecodeError, scrubber: &Scrubber) -> Self {
        let text = error.to_string();
        match error {
            DecodeError::Body { message, path, offset } => {
                let (message, path) = (scrubber.message(message), scrubber.id(path));
                Self::Decode(Undecodable { message, path, offset, advice: Advice::LookAtBody })
            }
            // The caller passed an unknown name.
            DecodeError::NoTable { name, candidates } | DecodeError::NoColumn { name, candidates, .. } => {
                Self::UnknownName { text, name, candidates }
            }
        }
    }
}

/// The class of an `ApiError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// 401, or a gateway's 403 (only `{"message": ..}`).
    Authentication,
    /// Any other 403.
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

impl ApiErrorKind {
    /// The kind of a response; `is_gateway`: a gateway in front of the service wrote its body.
    pub(crate) fn of(status: u16, is_gateway: bool) -> Self {
        use ApiErrorKind::*;
        match status {
            400 | 422 => InvalidRequest,
            401 => Authentication,
            403 if is_gateway => Authentication,
            403 => PermissionDenied,
            404 => NotFound,
            429 => RateLimited,
            500..=599 => Server,
            _ => Other,
        }
    }

    /// The advice, unless details of the response call for another one.
    pub(crate) fn advice(self) -> Advice {
        use ApiErrorKind::*;
        match self {
            Authentication => Advice::CheckCredentials,
            PermissionDenied => Advice::AskForPrivilege,
            NotFound => Advice::CheckId,
            InvalidRequest => Advice::CorrectRequest,
            RateLimited => Advice::SlowDown,
            Server => Advice::ReportToSupport,
            Other => Advice::CheckBaseAddress,
        }
    }

    fn class_name(self) -> &'static str {
        use ApiErrorKind::*;
        match self {
            Authentication => "AuthenticationError",
            PermissionDenied => "PermissionDenied",
            NotFound => "NotFound",
            InvalidRequest => "InvalidRequest",
            RateLimited => "RateLimited",
            Server => "ServerError",
            Other => "ApiError",
        }
    }
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub kind: ApiErrorKind,
    pub status: u16,
    /// The service's own message, or the start of a body without one.
    pub message: Scrubbed,
    /// A 4xx message of the service, split at ` | `.
    pub rules: Vec<Scrubbed>,
    pub request_id: Option<Scrubbed>,
    pub method: String,
    pub url: Scrubbed,
    /// 0 if found before sending.
    pub attempts: u32,
    /// Time of all attempts and the waits between them.
    pub elapsed: Duration,
    pub advice: Advice,
    /// The advice as a sentence with details of this case; may be empty.
    pub hint: Scrubbed,
    /// The delay requested by `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// The message without the advice.
    fn found(&self) -> String {
        let returned = if self.attempts == 0 { "would return" } else { "returned" };
        let id = self.request_id.as_ref().map_or_else(String::new, |id| format!(" (request id {id})"));
        let after = if self.attempts > 1 { format!(" after {} attempts", self.attempts) } else { String::new() };
        format!("{} {} {returned} {}: {}{id}{after}", self.method, self.url, self.status, self.message)
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.found())?;
        if !self.hint.is_empty() {
            write!(f, ". {}", self.hint)?;
        }
        Ok(())
    }
}
