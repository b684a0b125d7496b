//! Forwards log records to Python's `logging`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3_log::{Caching, Logger};

/// The logger of request records, the only one that logs at DEBUG.
const REQUEST_LOGGER: &str = "sideline.transport.send";
const DEBUG: u8 = 10;

static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Forwards only records of this crate, at the level that their logger has at that moment.
pub fn install(py: Python<'_>) -> PyResult<()> {
    let bridge = Logger::new(py, Caching::Loggers)?
        .filter(log::LevelFilter::Off)
        .filter_target("sideline".to_owned(), log::LevelFilter::Debug);
    // As every library should: otherwise warnings of a program without `logging` setup go to stderr.
    let logging = py.import("logging")?;
    let ours = logging.call_method1("getLogger", ("sideline",))?;
    ours.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
    let _ = LOGGER.set(py, logging.call_method1("getLogger", (REQUEST_LOGGER,))?.unbind());
    // It fails if a bridge is installed already.
    let _ = bridge.install();
    Ok(())
}

/// Checks whether DEBUG records are wanted, so that our threads need not attach for each request. Called whenever a
/// call begins or waits, so that `logging.basicConfig(level="DEBUG")` takes effect at any time. May fail: calling into
/// Python runs pending signal handlers.
pub fn update_debug_level(py: Python<'_>) -> PyResult<()> {
    let Some(logger) = LOGGER.get(py) else { return Ok(()) };
    let is_wanted = logger.bind(py).call_method1(intern!(py, "isEnabledFor"), (DEBUG,))?.is_truthy()?;
    log::set_max_level(if is_wanted { log::LevelFilter::Debug } else { log::LevelFilter::Info });
    Ok(())
}
