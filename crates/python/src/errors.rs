//! Rust errors to Python exceptions, whose classes are in `sideline/errors.py`: under the stable ABI a Rust exception
//! class cannot have fields.

use crate::interpreter_exit;
use futures_util::FutureExt;
use pyo3::exceptions::{PyBlockingIOError, PyConnectionError, PyMemoryError, PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sideline::advice::Advice;
use sideline::error::{ApiError, ApiErrorKind, Error, FileError, RequestError, RequestErrorKind};
use sideline::scrub::{Scrubbed, printable};
use std::any::Any;
use std::error::Error as StdError;
use std::io;
use std::iter::successors;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exception of an error.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    let (advice, problem) = (error.advice(), error.problem());
    let fields = PyDict::new(py);
    let error = if let Error::GivenUp { cause, .. } = error { *cause } else { error };
    let Some(class) = error.class_name() else { return builtin(py, &error, text) };
    if let Err(error) = describe(&error, &fields) {
        return error;
    }
    let exception = exception(py, class, &text, &fields);
    match attach(py, &exception, &error, advice, &problem) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// The exception of an error that has a class of Python's own.
fn builtin(py: Python<'_>, error: &Error, text: String) -> PyErr {
    match error {
        // From the number Python picks a subclass: `FileNotFoundError`, `PermissionError` and so on.
        Error::File(FileError { path, errno: Some(errno), message, .. }) => {
            let message = printable(&without_number(message));
            PyOSError::new_err((*errno, message, printable(path)))
        }
        Error::File(_) => PyBlockingIOError::new_err(text),
        Error::Request(_) => PyMemoryError::new_err(text),
        Error::UnknownName { name, candidates, .. } => unknown_name(py, &text, name, candidates.split(", ").collect()),
        _ => PyValueError::new_err(text),
    }
}

/// `ValueError` for an unknown name, with the known names that resemble it.
pub(crate) fn unknown_name(py: Python<'_>, text: &str, name: &str, candidates: Vec<&str>) -> PyErr {
    let resembling =
        || py.import("sideline._rows")?.call_method1("did_you_mean", (name, candidates))?.extract::<String>();
    match resembling() {
        Ok(suggestion) => PyValueError::new_err(format!("{text}{suggestion}")),
        Err(error) => error,
    }
}

/// Adds the attributes that every request error has.
fn attach(
    py: Python<'_>,
    exception: &PyErr,
    error: &Error,
    (kind, advice): (Advice, Scrubbed),
    problem: &str,
) -> PyResult<()> {
    let value = exception.value(py);
    value.setattr("advice", &*advice)?;
    value.setattr("_advice_kind", kind.name())?;
    value.setattr("_found", problem)?;
    let request_error = if let Error::Request(request_error) = error { Some(request_error) } else { None };
    if let Some(request) = request_error.and_then(|request_error| request_error.request.as_ref()) {
        value.setattr("method", "GET")?;
        value.setattr("url", &*request.url)?;
        value.setattr("attempts", request.attempts)?;
        value.setattr("elapsed", request.elapsed.as_secs_f64())?;
    }
    if let Some(cause) = request_error.and_then(|request_error| cause(py, request_error, error.source())) {
        exception.set_cause(py, Some(cause));
    }
    if let Error::Api(response) = error {
        value.setattr("elapsed", response.elapsed.as_secs_f64())?;
    }
    Ok(())
}

/// What the system or TLS reported: an `OSError` with its number where it has one, or an `ssl.SSLError`.
fn cause(py: Python<'_>, error: &RequestError, source: Option<&(dyn StdError + 'static)>) -> Option<PyErr> {
    let text = error.cause()?.to_string();
    let sources = successors(source, |&source| source.source());
    let system: Vec<&io::Error> = sources.filter_map(|source| source.downcast_ref()).collect();
    if let Some(number) = system.iter().find_map(|system_error| system_error.raw_os_error()) {
        return Some(PyOSError::new_err((number, without_number(&text))));
    }
    let is_tls = || system.iter().any(|system_error| innermost(system_error).kind() == io::ErrorKind::InvalidData);
    match error.kind {
        RequestErrorKind::Timeout => Some(PyTimeoutError::new_err(text)),
        RequestErrorKind::Certificate => Some(tls_error(py, text)),
        RequestErrorKind::Connect if is_tls() => Some(tls_error(py, text)),
        _ => (!system.is_empty()).then(|| PyConnectionError::new_err(text)),
    }
}

/// The error that a connector has wrapped into one of its own.
fn innermost(error: &io::Error) -> &io::Error {
    error.get_ref().and_then(|inner| inner.downcast_ref()).map_or(error, innermost)
}

fn tls_error(py: Python<'_>, text: String) -> PyErr {
    let error = || py.import("ssl")?.getattr("SSLError")?.call1((text,));
    error().map_or_else(|error| error, PyErr::from_value)
}

/// Removes the error number at the end of Rust's text, since Python adds it too.
fn without_number(message: &str) -> String {
    message.split_once(" (os error").map_or(message, |(text, _)| text).to_owned()
}

/// The exception of a stream that did not end by its reader's choice.
pub(crate) fn stream_closed(py: Python<'_>, text: &str) -> PyErr {
    exception(py, "StreamClosed", text, &PyDict::new(py))
}

/// An internal defect. Never pyo3's PanicException, which `except Exception` does not catch.
pub(crate) fn internal(py: Python<'_>, message: &str) -> PyErr {
    raise(py, Error::internal(message.to_owned()))
}

/// Runs `work`, and the interpreter's exit waits for it; a panic becomes an exception.
pub(crate) fn guard<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let work = || interpreter_exit::run_attached(py, work);
    Reply(catch_unwind(AssertUnwindSafe(work))).into_result(py)?
}

/// Runs a future to its end, on a thread without the interpreter.
pub(crate) async fn reply<T>(work: impl Future<Output = T>) -> Reply<T> {
    Reply(AssertUnwindSafe(work).catch_unwind().await)
}

/// A value, or the panic that prevented it.
pub(crate) struct Reply<T>(std::thread::Result<T>);

impl<T> Reply<T> {
    pub(crate) fn into_result(self, py: Python<'_>) -> PyResult<T> {
        self.0.map_err(|panic| internal(py, &panic_text(&*panic)))
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a text".to_owned())
}

/// The arguments of the exception's class.
fn describe(error: &Error, fields: &Bound<'_, PyDict>) -> PyResult<()> {
    match error {
        Error::Api(response) => describe_response(response, fields),
        Error::Decode(error) => {
            fields.set_item("path", &*error.path)?;
            fields.set_item("offset", error.offset)
        }
        _ => Ok(()),
    }
}

fn describe_response(response: &ApiError, fields: &Bound<'_, PyDict>) -> PyResult<()> {
    fields.set_item("status", response.status)?;
    fields.set_item("message", &*response.message)?;
    fields.set_item("request_id", response.request_id.as_deref())?;
    fields.set_item("method", "GET")?;
    fields.set_item("url", &*response.url)?;
    fields.set_item("attempts", response.attempts)?;
    match response.kind {
        ApiErrorKind::InvalidRequest => {
            fields.set_item("rules", response.rules.iter().map(|rule| &**rule).collect::<Vec<_>>())
        }
        ApiErrorKind::RateLimited => {
            fields.set_item("retry_after", response.retry_after.map(|wait| wait.as_secs_f64()))
        }
        _ => Ok(()),
    }
}

fn exception(py: Python<'_>, class: &str, text: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let make = || py.import("sideline.errors")?.getattr(class)?.call((text,), Some(fields));
    interpreter_exit::run_attached(py, make).map_or_else(|error| error, PyErr::from_value)
}
