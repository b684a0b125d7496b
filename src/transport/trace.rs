//! Reports calls, attempts and connections to a tracing system. The border to Python provides one; without it nothing is
//! reported.

use crate::config::is_reserved_header;
use crate::error::Error;
use crate::machine;
use crate::scrub::Scrubbed;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use url::Url;

/// A span of a tracing system.
pub trait Span: Send + Sync + Debug {
    /// Begins a call of an operation, or a connection of a stream, within this span.
    fn operation(&self, name: &'static str, at: SystemTime) -> Option<Arc<dyn Span>>;
    /// Begins an attempt within this span.
    fn attempt(&self, attempt: &AttemptStart<'_>) -> Option<Arc<dyn Span>>;
    /// Returns the headers that name this span to the service.
    fn headers(&self) -> Vec<(String, String)>;
    /// Ends the span with the status of the response, and the error's class or status with its text.
    fn end(&self, status: Option<u16>, error: Option<(String, Scrubbed)>, at: SystemTime, elapsed: Duration);
}

/// An attempt that begins.
#[derive(Debug)]
pub struct AttemptStart<'a> {
    pub url: &'a Scrubbed,
    pub host: &'a str,
    pub port: u16,
    /// How many attempts of the same request precede it.
    pub resends: u32,
    pub at: SystemTime,
}

/// A span, or none. It ends with its last clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Option<Arc<OpenSpan>>);

#[derive(Debug)]
struct OpenSpan {
    span: Arc<dyn Span>,
    start: Instant,
    status: Mutex<Option<u16>>,
    error: Mutex<Option<(String, Scrubbed)>>,
}

impl Trace {
    pub(super) fn new(span: Option<Arc<dyn Span>>) -> Self {
        let open = |span| {
            Arc::new(OpenSpan { span, start: Instant::now(), status: Mutex::default(), error: Mutex::default() })
        };
        Trace(span.map(open))
    }

    pub(super) fn operation(&self, name: &'static str) -> Trace {
        Trace::new(self.0.as_ref().and_then(|open| open.span.operation(name, machine::now())))
    }

    pub(super) fn attempt(&self, url: &Url, display_url: &Scrubbed, resends: u32) -> Trace {
        let Some(open) = &self.0 else { return Trace::default() };
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        Trace::new(open.span.attempt(&AttemptStart { url: display_url, host, port, resends, at: machine::now() }))
    }

    /// Adds the headers that name this span to the service.
    pub(super) fn propagate(&self, headers: &mut HeaderMap) {
        let Some(open) = &self.0 else { return };
        for (name, value) in open.span.headers() {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                && !is_reserved_header(name.as_str())
            {
                headers.insert(name, value);
            }
        }
    }

    pub(super) fn record_status(&self, status: u16) {
        if let Some(open) = &self.0 {
            *open.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        }
    }

    pub(crate) fn record_error(&self, error: &Error) {
        if self.0.is_some() {
            let kind = match error {
                Error::Api(response) => response.status.to_string(),
                other => other.class_name().unwrap_or("ValueError").to_owned(),
            };
            self.record_failure(&kind, Scrubbed::local(error.problem()));
        }
    }

    pub(crate) fn record_result<T>(&self, result: &std::result::Result<T, Error>) {
        if let Err(error) = result {
            self.record_error(error);
        }
    }

    /// Records how a call ends: as cancelled, if it is dropped before.
    pub(crate) async fn of_call<T, E>(
        &self,
        call: impl Future<Output = std::result::Result<T, E>>,
        error_of: impl Fn(&E) -> &Error,
    ) -> std::result::Result<T, E> {
        self.record_failure("cancelled", Scrubbed::local("the call was cancelled"));
        let result = call.await;
        match (&result, &self.0) {
            (Err(failed), _) => self.record_error(error_of(failed)),
            (Ok(_), Some(open)) => *open.error.lock().unwrap_or_else(PoisonError::into_inner) = None,
            (Ok(_), None) => {}
        }
        result
    }

    /// Records a failure of a kind that is not an error.
    pub(crate) fn record_failure(&self, kind: &str, reason: Scrubbed) {
        if let Some(open) = &self.0 {
            *open.error.lock().unwrap_or_else(PoisonError::into_inner) = Some((kind.to_owned(), reason));
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let status = self.status.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let error = self.error.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.span.end(status, error, machine::now(), self.start.elapsed());
    }
}
