//! Spans of OpenTelemetry. Without a program that imported it, nothing is imported and nothing is reported.

use crate::interpreter_exit;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sideline::scrub::Scrubbed;
use sideline::transport::{AttemptStart, Span};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A span of `sideline._companions`.
#[derive(Debug)]
struct PySpan {
    span: Py<PyAny>,
    /// It is the caller's, who ends it.
    is_callers: bool,
}

/// Return what reports calls within the caller's current span; `None` while the program has set no provider,
/// for which it must have imported OpenTelemetry.
pub(crate) fn current(py: Python<'_>) -> PyResult<Option<Arc<dyn Span>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    if !modules.cast::<PyDict>()?.contains(intern!(py, "opentelemetry.trace"))? {
        return Ok(None);
    }
    let current = py.import(intern!(py, "sideline._companions"))?.call_method0(intern!(py, "current_trace"))?;
    Ok((!current.is_none()).then(|| Arc::new(PySpan { span: current.unbind(), is_callers: true }) as Arc<dyn Span>))
}

impl PySpan {
    /// Runs work that reports something. What a tracing system raises must not fail a request.
    fn report<T>(&self, work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if interpreter_exit::is_exiting() {
            return None;
        }
        Python::try_attach(|py| {
            // A span may end while an exception is on its way.
            let pending_error = PyErr::take(py);
            let result = interpreter_exit::run_attached(py, || work(py, self.span.bind(py)));
            let value = result.map_err(|error| error.write_unraisable(py, Some(self.span.bind(py)))).ok();
            if let Some(error) = pending_error {
                error.restore(py);
            }
            value
        })
        .flatten()
    }

    fn child(child: Bound<'_, PyAny>) -> Option<Arc<dyn Span>> {
        (!child.is_none()).then(|| Arc::new(PySpan { span: child.unbind(), is_callers: false }) as Arc<dyn Span>)
    }
}

impl Span for PySpan {
    fn operation(&self, name: &'static str, at: SystemTime) -> Option<Arc<dyn Span>> {
        self.report(|py, span| Ok(Self::child(span.call_method1(intern!(py, "operation"), (name, nanoseconds(at)))?)))
            .flatten()
    }

    fn attempt(&self, attempt: &AttemptStart<'_>) -> Option<Arc<dyn Span>> {
        let AttemptStart { url, host, port, resends, at } = attempt;
        let url: &str = url;
        let arguments = (url, host, port, resends, nanoseconds(*at));
        self.report(|py, span| Ok(Self::child(span.call_method1(intern!(py, "attempt"), arguments)?))).flatten()
    }

    fn headers(&self) -> Vec<(String, String)> {
        self.report(|py, span| span.call_method0(intern!(py, "headers"))?.extract()).unwrap_or_default()
    }

    fn end(&self, status: Option<u16>, error: Option<(String, Scrubbed)>, at: SystemTime, elapsed: Duration) {
        if self.is_callers {
            return;
        }
        let error = error.as_ref().map(|(kind, text)| (kind.as_str(), &**text));
        let arguments = (status, error, nanoseconds(at), elapsed.as_secs_f64());
        self.report(|py, span| span.call_method1(intern!(py, "end"), arguments).map(drop));
    }
}

fn nanoseconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
