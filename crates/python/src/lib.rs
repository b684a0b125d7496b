//! What Python sees of sideline. This crate knows Python and decides nothing.
//!
//! | module | content |
//! |---|---|
//! | [`client`] | the core of the sync and the async client |
//! | [`batch`] | many ids in one call |
//! | [`payload`], [`pickle`] | one response: dict, bytes, tables |
//! | [`table`], [`schema`], [`to_dicts`], [`pickle_table`] | one Arrow table; its schema; its rows as dicts, and for `pickle` |
//! | [`capsule`] | tables of other libraries in, ours out |
//! | [`stream`] | live streams and their items |
//! | [`tracking`](mod@tracking) | answers from positions |
//! | [`simulator`], [`fault_options`] | the service on loopback; the arguments of its faults |
//! | [`dicts`] | JSON as Python objects |
//! | [`html`] | pages and notebooks' views from template files |
//! | [`convert`], [`operations`] | arguments in; their declarations out |
//! | [`errors`] | exceptions out |
//! | [`runtime`], [`sideline::fork_safe`], [`interpreter_exit`] | the threads, and how they survive a fork and the interpreter's exit |
//! | [`loop_waker`], [`wait`] | completing what an event loop awaits: calls; stream items |
//! | [`logging`], [`trace`] | log records in Python's `logging`; spans in OpenTelemetry |

#![allow(missing_debug_implementations, reason = "these classes show themselves by `__repr__`")]
// Waits for the interpreter, which has no other clock.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::doc_lazy_continuation, reason = "`>>>` begins one of Python's examples, and what it gives follows")]

mod batch;
mod capsule;
mod cast;
mod client;
mod contents;
mod convert;
mod dicts;
mod errors;
mod fault_options;
mod gather;
mod html;
mod interpreter_exit;
mod logging;
mod loop_waker;
mod memory;
mod operations;
mod payload;
mod pickle;
mod pickle_table;
mod runtime;
mod schema;
mod simulator;
mod stream;
mod table;
mod times;
mod to_dicts;
mod trace;
mod tracking;
mod wait;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Since Python 3.12 Python refuses this module in a subinterpreter. Before, a second subinterpreter would share the
/// objects of the first, and hang when it ends.
fn check_interpreter() -> PyResult<()> {
    // SAFETY: the caller is attached to an interpreter, which is the current one.
    let id = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match id {
        0 => Ok(()),
        _ => Err(PyImportError::new_err("sideline works in the main interpreter only, not in a subinterpreter")),
    }
}

// A free-threaded Python need not take its lock: tests/test_threads.py uses each class from 16 threads.
#[pymodule(gil_used = false)]
pub fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    check_interpreter()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<client::CoreClient>()?;
    module.add_class::<payload::PyPayload>()?;
    module.add_class::<payload::Elements>()?;
    module.add_class::<table::PyTable>()?;
    module.add_class::<schema::Schema>()?;
    module.add_class::<schema::Field>()?;
    module.add_class::<batch::CoreProgress>()?;
    module.add_class::<batch::CoreUnits>()?;
    module.add_class::<batch::CoverageRow>()?;
    module.add_class::<simulator::CoreSimulator>()?;
    module.add_class::<tracking::CoreTracking>()?;
    module.add_class::<html::Templates>()?;
    module.add_class::<stream::CoreStream>()?;
    module.add_class::<stream::PyUpdate>()?;
    module.add_class::<stream::CoreBoxScore>()?;
    module.add_function(wrap_pyfunction!(client::read_certificate, module)?)?;
    module.add_function(wrap_pyfunction!(batch::ids, module)?)?;
    module.add_function(wrap_pyfunction!(batch::arrow_ids, module)?)?;
    module.add_function(wrap_pyfunction!(batch::check_range, module)?)?;
    module.add_function(wrap_pyfunction!(batch::epoch_ms, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_sync, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_async, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_table, module)?)?;
    module.add_function(wrap_pyfunction!(batch::coverage_table, module)?)?;
    module.add_function(wrap_pyfunction!(contents::contents, module)?)?;
    module.add_function(wrap_pyfunction!(stream::event_stream, module)?)?;
    module.add_function(wrap_pyfunction!(stream::websocket, module)?)?;
    module.add_function(wrap_pyfunction!(stream::replay, module)?)?;
    module.add_function(wrap_pyfunction!(table::own_table, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schemas, module)?)?;
    module.add_function(wrap_pyfunction!(operations::operations, module)?)?;
    module.add_function(wrap_pyfunction!(fault_options::describe, module)?)?;
    module.add_function(wrap_pyfunction!(logging::logger, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::shutdown, module)?)?;
    // Also without a client: tables can be made from files.
    module.py().import("atexit")?.call_method1("register", (module.getattr("_shutdown")?,)).map(|_| ())
}
