//! Forwards log records to Python's `logging`.
//!
//! To import `logging` takes longer than a first table. A program that has not imported it cannot have set it up, so
//! until then its records would be shown nowhere.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use pyo3_log::{Caching, Logger};

/// The logger of request records, the only one that logs at DEBUG.
const REQUEST_LOGGER: &str = "sideline.transport.send";
const DEBUG: u8 = 10;

static LOGGING: PyOnceLock<PythonLogging> = PyOnceLock::new();

/// Set up once the program has imported `logging`.
struct PythonLogging {
    bridge: Logger,
    request_logger: Py<PyAny>,
}

impl PythonLogging {
    /// Forwards only records of this crate, at the level that their logger has at that moment.
    fn new(py: Python<'_>) -> PyResult<Self> {
        let bridge = Logger::new(py, Caching::Loggers)?
            .filter(log::LevelFilter::Off)
            .filter_target("sideline".to_owned(), log::LevelFilter::Debug);
        // As every library should: otherwise warnings of a program without `logging` setup go to stderr.
        let logging = py.import("logging")?;
        let logger = logging.call_method1("getLogger", ("sideline",))?;
        logger.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
        Ok(PythonLogging { bridge, request_logger: logging.call_method1("getLogger", (REQUEST_LOGGER,))?.unbind() })
    }

    /// `None` while the program has not imported `logging`.
    fn if_imported(py: Python<'_>) -> PyResult<Option<&'static Self>> {
        if let Some(set_up) = LOGGING.get(py) {
            return Ok(Some(set_up));
        }
        let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
        match modules.cast::<PyDict>()?.contains(intern!(py, "logging"))? {
            true => LOGGING.get_or_try_init(py, || Self::new(py)).map(Some),
            false => Ok(None),
        }
    }
}

struct Bridge;

impl log::Log for Bridge {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().split("::").next() == Some("sideline")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        Python::attach(|py| {
            // A record of a destructor may come while an exception is on its way.
            let exception = PyErr::take(py);
            if let Ok(Some(python)) = PythonLogging::if_imported(py) {
                python.bridge.log(record);
            }
            if let Some(exception) = exception {
                exception.restore(py);
            }
        });
    }

    fn flush(&self) {}
}

/// Return the logger of the Python side. It is set up like that of records once there is a client.
#[pyfunction]
#[pyo3(name = "_logger")]
pub(crate) fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let logging = py.import("logging")?;
    if log::max_level() > log::LevelFilter::Off {
        PythonLogging::if_imported(py)?;
    }
    logging.call_method1("getLogger", ("sideline",))
}

/// Forwards records from now on.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    // It fails if a bridge is installed already.
    let _ = log::set_logger(&Bridge);
    update_debug_level(py)
}

/// Checks whether DEBUG records are wanted, so that our threads need not attach for each request. Called whenever a
/// call begins or waits, so that `logging.basicConfig(level="DEBUG")` takes effect at any time. May fail: calling into
/// Python runs pending signal handlers.
pub(crate) fn update_debug_level(py: Python<'_>) -> PyResult<()> {
    let is_wanted = match PythonLogging::if_imported(py)? {
        Some(python) => {
            python.request_logger.bind(py).call_method1(intern!(py, "isEnabledFor"), (DEBUG,))?.is_truthy()?
        }
        None => false,
    };
    log::set_max_level(if is_wanted { log::LevelFilter::Debug } else { log::LevelFilter::Info });
    Ok(())
}
