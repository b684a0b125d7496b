//! Our records, in Python's `logging`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3_log::{Caching, Logger};

/// The logger of each request's record, the only one at the level DEBUG.
const REQUESTS: &str = "sideline.transport.send";
const DEBUG: u8 = 10;

static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Only our own records, at the level that their logger has at that moment.
pub fn install(py: Python<'_>) -> PyResult<()> {
    let bridge = Logger::new(py, Caching::Loggers)?
        .filter(log::LevelFilter::Off)
        .filter_target("sideline".to_owned(), log::LevelFilter::Debug);
    // As every library does: without it, a program that has not set up `logging` finds our warnings on its stderr.
    let logging = py.import("logging")?;
    let ours = logging.call_method1("getLogger", ("sideline",))?;
    ours.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
    let _ = LOGGER.set(py, logging.call_method1("getLogger", (REQUESTS,))?.unbind());
    // An error says that there is a bridge already.
    let _ = bridge.install();
    Ok(())
}

/// Looks whether records at DEBUG are wanted, so that a thread of ours need not ask, and wait for the interpreter, at each
/// request. It is called wherever a call begins or is waited for: `logging.basicConfig(level="DEBUG")` has its effect
/// whenever it is called. An error is a signal's: it is asked in Python, where signals are heard.
pub fn heed(py: Python<'_>) -> PyResult<()> {
    let Some(logger) = LOGGER.get(py) else { return Ok(()) };
    let is_wanted = logger.bind(py).call_method1(intern!(py, "isEnabledFor"), (DEBUG,))?.is_truthy()?;
    log::set_max_level(if is_wanted { log::LevelFilter::Debug } else { log::LevelFilter::Info });
    Ok(())
}
