//! What Python sees. This module knows Python and decides nothing.
//!
//! | file | what Python sees there |
//! |---|---|
//! | [`client`] | one core call for both faces of a client: waited for, or awaited |
//! | [`batch`] | many ids at once |
//! | [`payload`], [`pickle`] | one answer: dict, bytes, tables |
//! | [`table`], [`rows`], [`pickle_table`] | one Arrow table; its schema; its rows as dicts, and for `pickle` |
//! | [`capsule`] | tables of other libraries in, ours out |
//! | [`stream`] | live streams and their items |
//! | [`snapshots`] | messages that are much like the one before |
//! | [`simulator`] | the service on loopback |
//! | [`dicts`] | JSON as Python objects |
//! | [`convert`], [`operations`] | arguments in; their declarations out |
//! | [`errors`] | exceptions out |
//! | [`runtime`], [`crate::per_process`] | the threads behind it all, and what they need to survive a fork |
//! | [`inbox`], [`wait`] | what an event loop awaits of them: answers; items of streams |
//! | [`logging`] | our records in Python's `logging` |

#![allow(missing_debug_implementations, reason = "these classes show themselves by `__repr__`")]
#![allow(clippy::doc_lazy_continuation, reason = "`>>>` begins one of Python's examples, and what it gives follows")]

mod batch;
mod capsule;
mod client;
mod convert;
mod dicts;
mod errors;
mod exit;
mod inbox;
mod logging;
mod operations;
mod payload;
mod pickle;
mod pickle_table;
mod rows;
mod runtime;
mod simulator;
mod snapshots;
mod stream;
mod table;
mod wait;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// From Python 3.12 on Python itself refuses this module elsewhere. Before, a subinterpreter that is not the first to load it
/// would share what belongs to the first, and hang when it ends.
fn check_interpreter() -> PyResult<()> {
    // SAFETY: the caller is attached to an interpreter, which is the current one.
    let id = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match id {
        0 => Ok(()),
        _ => Err(PyImportError::new_err("sideline works in the main interpreter only, not in a subinterpreter")),
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    check_interpreter()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<client::CoreClient>()?;
    module.add_class::<payload::Payload>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::Schema>()?;
    module.add_class::<table::Field>()?;
    module.add_class::<batch::CoreProgress>()?;
    module.add_class::<batch::CoreUnits>()?;
    module.add_class::<simulator::CoreSimulator>()?;
    module.add_class::<stream::CoreStream>()?;
    module.add_class::<stream::Update>()?;
    module.add_class::<stream::CoreBoxScore>()?;
    module.add_function(wrap_pyfunction!(client::read_certificate, module)?)?;
    module.add_function(wrap_pyfunction!(batch::ids, module)?)?;
    module.add_function(wrap_pyfunction!(batch::epoch_ms, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_sync, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_async, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_table, module)?)?;
    module.add_function(wrap_pyfunction!(batch::coverage_table, module)?)?;
    module.add_function(wrap_pyfunction!(stream::live_stats, module)?)?;
    module.add_function(wrap_pyfunction!(stream::websocket, module)?)?;
    module.add_function(wrap_pyfunction!(stream::items_table, module)?)?;
    module.add_function(wrap_pyfunction!(stream::replay, module)?)?;
    module.add_function(wrap_pyfunction!(stream::repair_journal, module)?)?;
    module.add_function(wrap_pyfunction!(table::own_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::schemas, module)?)?;
    module.add_function(wrap_pyfunction!(operations::operations, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::shutdown, module)?)?;
    // Without a client too: tables are made of bodies that lie in files.
    module.py().import("atexit")?.call_method1("register", (module.getattr("_shutdown")?,)).map(|_| ())
}
