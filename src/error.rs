//! The error type. Each variant is a class that a user can catch, and each message says what to do next. Text from peers and
//! URLs is always [`Scrubbed`]; control characters in our own text are escaped. No message exceeds 2 kB. What a library or
//! the system reported stays what it is, as the source of the error.

use crate::advice::Advice;
use crate::scrub::{Scrubbed, Scrubber, printable};
use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tables::DecodeError;

pub type Result<T> = std::result::Result<T, Error>;

/// What caused an error, as a library or the system reported it.
type Source = Arc<dyn StdError + Send + Sync>;

#[derive(Debug, Clone)]
pub enum Error {
    /// Wrong setup, or a missing credential (`ConfigurationError`).
    Configuration(LocalError),
    /// An invalid argument (`ValueError`).
    Argument(String),
    /// An unknown name in an argument, and the known names (`ValueError`, with the names that resemble it).
    UnknownName { text: String, name: String, candidates: String },
    /// The service returned an error, or would (`ApiError` and its subclasses).
    Api(Box<ApiError>),
    /// No usable response (the class of its kind).
    Request(RequestError),
    /// The body does not match the declaration (`DecodeError`).
    Decode(Undecodable),
    /// A file could not be read or written (`OSError`).
    File(FileError),
    /// One of many requests that was not sent or not completed (the class of `cause`).
    GivenUp { text: Scrubbed, cause: Box<Error> },
    /// A defect of sideline (`InternalError`).
    Internal(LocalError),
    /// The client was closed (`SidelineError`).
    Closed,
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (problem, (kind, hint)) = (self.problem(), self.advice());
        // The message includes it, or that of its cause.
        if kind == Advice::SeeMessage || matches!(self, Error::GivenUp { .. }) || hint.is_empty() {
            return f.write_str(&problem);
        }
        Scrubbed::local(format!("{problem}. {hint}")).fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Configuration(LocalError { source, .. })
            | Error::Internal(LocalError { source, .. })
            | Error::Request(RequestError { source, .. })
            | Error::File(FileError { source, .. }) => source.as_deref().map(|source| source as _),
            Error::GivenUp { cause, .. } => Some(cause),
            Error::Argument(_) | Error::UnknownName { .. } | Error::Api(_) | Error::Decode(_) | Error::Closed => None,
        }
    }
}

/// An error of this program or of its setup.
#[derive(Debug, Clone)]
pub struct LocalError {
    pub text: String,
    source: Option<Source>,
}

/// A file that could not be read or written.
#[derive(Debug, Clone)]
pub struct FileError {
    pub path: String,
    pub message: String,
    /// The system's error number; `None`: another process has locked the file (`BlockingIOError`).
    pub errno: Option<i32>,
    pub(crate) source: Option<Source>,
}

impl FileError {
    pub fn new(path: impl Into<String>, error: io::Error) -> Self {
        /// Input/output error (EIO): some errors of the standard library have no number.
        const INPUT_OUTPUT_ERROR: i32 = 5;
        let errno = Some(error.raw_os_error().unwrap_or(INPUT_OUTPUT_ERROR));
        FileError { path: path.into(), message: error.to_string(), errno, source: Some(Arc::new(error)) }
    }
}

impl Error {
    pub fn configuration(text: impl Into<String>) -> Self {
        Error::Configuration(LocalError { text: text.into(), source: None })
    }

    pub fn internal(text: impl Into<String>) -> Self {
        Error::Internal(LocalError { text: text.into(), source: None })
    }

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

    /// The same error with its cause.
    pub(crate) fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        if let Error::Configuration(error) | Error::Internal(error) = &mut self {
            error.source = Some(Arc::new(source));
        }
        self
    }

    /// Hides the secrets of a client in all texts, which may come from its caller or from a library.
    pub fn scrub(mut self, scrubber: &Scrubber) -> Self {
        self.scrub_texts(scrubber);
        self
    }

    fn scrub_texts(&mut self, scrubber: &Scrubber) {
        let local = |text: &mut String| *text = scrubber.text(&*text).to_string();
        let peers = |text: &mut Scrubbed| *text = scrubber.text(&*text);
        match self {
            Error::Configuration(error) | Error::Internal(error) => local(&mut error.text),
            Error::Argument(text) => local(text),
            Error::UnknownName { text, name, candidates } => [text, name, candidates].into_iter().for_each(local),
            Error::File(error) => [&mut error.path, &mut error.message].into_iter().for_each(local),
            Error::Api(error) => {
                let fields = [&mut error.message, &mut error.url, &mut error.hint].into_iter();
                fields.chain(&mut error.rules).chain(&mut error.request_id).for_each(peers);
            }
            Error::Request(error) => {
                let url = error.request.as_deref_mut().map(|request| &mut request.url);
                url.into_iter().chain([&mut error.message]).for_each(peers);
            }
            Error::Decode(error) => [&mut error.message, &mut error.path].into_iter().for_each(peers),
            Error::GivenUp { text, cause } => {
                peers(text);
                cause.scrub_texts(scrubber);
            }
            Error::Closed => {}
        }
    }

    /// The class in `sideline/errors.py`; `None`: one of Python's own.
    pub fn class_name(&self) -> Option<&'static str> {
        Some(match self {
            Error::Argument(_) | Error::UnknownName { .. } | Error::File(_) => return None,
            Error::Configuration(_) => "ConfigurationError",
            Error::Api(response) => response.kind.class().0,
            Error::Request(error) => return error.kind.class_name(),
            Error::Decode(_) => "DecodeError",
            Error::GivenUp { cause, .. } => return cause.class_name(),
            Error::Internal(_) => "InternalError",
            Error::Closed => "SidelineError",
        })
    }

    pub fn request_kind(&self) -> Option<RequestErrorKind> {
        if let Error::Request(error) = self { Some(error.kind) } else { None }
    }

    /// Removes the request's context, to use the error for another request that was not sent.
    pub(crate) fn without_request(mut self) -> Self {
        if let Error::Request(error) = &mut self {
            error.request = None;
        }
        self
    }

    /// What a user can do: the kind of advice and a sentence.
    pub fn advice(&self) -> (Advice, Scrubbed) {
        let kind = match self {
            Error::Api(error) => return (error.advice, error.hint.clone()),
            Error::Request(error) => error.advice,
            Error::Decode(error) => error.advice,
            Error::GivenUp { cause, .. } => return cause.advice(),
            _ => Advice::SeeMessage,
        };
        (kind, kind.text().into())
    }

    /// The message without the advice.
    pub fn problem(&self) -> String {
        match self {
            Error::Configuration(error) => printable(&error.text),
            Error::Argument(text) | Error::UnknownName { text, .. } => printable(text),
            Error::Api(error) => error.problem(),
            Error::Request(error) => error.problem().into(),
            Error::Decode(error) => format!("{} at {} (byte {})", error.message, error.path, error.offset),
            Error::File(error) => format!("{}: {}", printable(&error.path), printable(&error.message)),
            Error::GivenUp { text, .. } => text.to_string(),
            Error::Internal(error) => format!("internal error, please report it: {}", printable(&error.text)),
            Error::Closed => "the client is closed; create a new one".into(),
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

/// The class of a [`RequestError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestErrorKind {
    /// No connection (`ConnectError`).
    Connect,
    /// The server's certificate is invalid, so retrying does not help (`ConnectError`).
    Certificate,
    /// Connect, read or total timeout (`RequestTimeout`).
    Timeout,
    /// The connection broke, or the response is not valid HTTP (`TransportError`).
    Transport,
    /// The process has no memory for the response (`MemoryError`).
    Memory,
}

impl RequestErrorKind {
    fn class_name(self) -> Option<&'static str> {
        match self {
            RequestErrorKind::Connect | RequestErrorKind::Certificate => Some("ConnectError"),
            RequestErrorKind::Timeout => Some("RequestTimeout"),
            RequestErrorKind::Transport => Some("TransportError"),
            RequestErrorKind::Memory => None,
        }
    }

    /// The error with a message that includes its advice.
    pub fn error(self, message: impl Into<Scrubbed>) -> Error {
        self.with_advice(message, Advice::SeeMessage, None)
    }

    pub(crate) fn with_advice(
        self,
        message: impl Into<Scrubbed>,
        advice: Advice,
        request: Option<RequestContext>,
    ) -> Error {
        let (message, request) = (message.into(), request.map(Box::new));
        Error::Request(RequestError { kind: self, message, advice, request, source: None })
    }
}

/// An error without a usable response.
#[derive(Debug, Clone)]
pub struct RequestError {
    pub kind: RequestErrorKind,
    /// What happened: that of the source, if it has one.
    message: Scrubbed,
    pub advice: Advice,
    pub request: Option<Box<RequestContext>>,
    source: Option<Source>,
}

impl RequestError {
    /// The error of a request that failed for this cause.
    pub(crate) fn failed(
        kind: RequestErrorKind,
        advice: Advice,
        source: impl StdError + Send + Sync + 'static,
        request: RequestContext,
        scrubber: &Scrubber,
    ) -> Self {
        let (message, request) = (scrubber.message(source.to_string()), Some(Box::new(request)));
        RequestError { kind, message, advice, request, source: Some(Arc::new(source)) }
    }

    /// What the network or a library reported.
    pub fn cause(&self) -> Option<Scrubbed> {
        self.source.as_ref().map(|_| self.message.clone())
    }

    /// The message without the advice.
    pub fn problem(&self) -> Scrubbed {
        let (Some(_), Some(RequestContext { url, attempts, .. })) = (&self.source, self.request.as_deref()) else {
            return self.message.clone();
        };
        let after = if *attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        Scrubbed::local(format!("GET {url} failed{after}: {}", self.message))
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
        self.class().1
    }

    /// The exception's name and the advice.
    fn class(self) -> (&'static str, Advice) {
        use ApiErrorKind::*;
        match self {
            Authentication => ("AuthenticationError", Advice::CheckCredentials),
            PermissionDenied => ("PermissionDenied", Advice::AskForPrivilege),
            NotFound => ("NotFound", Advice::CheckId),
            InvalidRequest => ("InvalidRequest", Advice::CorrectRequest),
            RateLimited => ("RateLimited", Advice::SlowDown),
            Server => ("ServerError", Advice::ReportToSupport),
            Other => ("ApiError", Advice::CheckBaseAddress),
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
    fn problem(&self) -> String {
        let verb = if self.attempts == 0 { "would return" } else { "returned" };
        let id = self.request_id.as_ref().map_or_else(String::new, |id| format!(" (request id {id})"));
        let after = if self.attempts > 1 { format!(" after {} attempts", self.attempts) } else { String::new() };
        format!("GET {} {verb} {}: {}{id}{after}", self.url, self.status, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "canary-hunter2";

    fn request() -> RequestContext {
        RequestContext { url: Scrubbed::local(format!("https://host/{SECRET}")), attempts: 1, elapsed: Duration::ZERO }
    }

    fn io_error() -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, format!("no {SECRET}"))
    }

    fn failed() -> Error {
        let advice = Advice::TryAgain;
        Error::Request(RequestError::failed(
            RequestErrorKind::Transport,
            advice,
            io_error(),
            request(),
            &Scrubber::default(),
        ))
    }

    /// An error of each kind that has a text.
    fn errors() -> Vec<Error> {
        let text = || format!("a text with {SECRET}");
        let message = || Scrubbed::local(text());
        let request_error = |kind: RequestErrorKind| kind.with_advice(message(), Advice::TryAgain, Some(request()));
        let (path, offset, advice) = (message(), 0, Advice::LookAtBody);
        vec![
            Error::configuration(text()),
            Error::internal(text()),
            Error::Argument(text()),
            Error::UnknownName { text: text(), name: SECRET.into(), candidates: SECRET.into() },
            request_error(RequestErrorKind::Connect),
            request_error(RequestErrorKind::Certificate),
            request_error(RequestErrorKind::Timeout),
            failed(),
            request_error(RequestErrorKind::Memory),
            Error::Decode(Undecodable { message: message(), path, offset, advice }),
            Error::File(FileError::new(SECRET, io_error())),
            Error::GivenUp { text: message(), cause: Box::new(Error::Argument(text())) },
        ]
    }

    #[test]
    fn each_kind_of_error_hides_the_secrets_of_a_client() {
        let scrubber = Scrubber::new(&[SECRET.to_owned()]);
        for error in errors() {
            assert!(error.to_string().contains(SECRET), "{error}");
            let error = error.scrub(&scrubber);
            let texts = [error.to_string(), error.problem(), error.advice().1.to_string()];
            assert!(!texts.concat().contains(SECRET), "{texts:?}");
        }
    }

    #[test]
    fn the_source_of_an_error_keeps_its_type() {
        let setup = Error::configuration("no such file").caused_by(io_error());
        for error in [failed(), setup, Error::File(FileError::new("path", io_error()))] {
            let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
            assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::NotFound), "{error}");
        }
    }
}
