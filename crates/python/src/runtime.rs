//! The threads behind every client: per process one tokio runtime for calls and one for streams, started on first use
//! and stopped before the interpreter exits.

use crate::{errors, interpreter_exit, logging, loop_waker};
use pyo3::prelude::*;
use sideline::error::{Error, FileError, RequestErrorKind, Result};
use sideline::fork_safe::ForkSafe;
use std::future::Future;
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How long a waiting call goes without checking for signals: a fifth of the 250 ms that Ctrl-C may take.
pub(crate) const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How long the interpreter's exit waits for the runtime's threads.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

struct Workers {
    handle: Handle,
    /// Taken once, when the interpreter exits. Calls do not lock it.
    runtime: Mutex<Option<Runtime>>,
}

static WORKERS: ForkSafe<Workers> = ForkSafe::new();

/// One thread for all streams: the tasks of a stream pass each event on, and waking a second thread for it took more
/// than half of an event's time.
static STREAMS: ForkSafe<Workers> = ForkSafe::new();

/// The runtime for calls in this process.
pub(crate) fn handle() -> Result<Handle> {
    runtime_of(&WORKERS, 2, "sideline")
}

/// The runtime for streams in this process.
pub(crate) fn streams() -> Result<Handle> {
    runtime_of(&STREAMS, 1, "sideline-live")
}

fn runtime_of(slot: &ForkSafe<Workers>, threads: usize, name: &str) -> Result<Handle> {
    if interpreter_exit::is_exiting() {
        return Err(RequestErrorKind::Transport.error("the interpreter is exiting; no request is sent any more"));
    }
    let workers = slot.get_or_try_init(|| {
        // Where no thread can start, the runtime panics, and this returns the error.
        thread::Builder::new().spawn(|| ()).map_err(cannot_start)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name(name)
            .enable_all()
            .build()
            .map_err(cannot_start)?;
        Ok::<_, Error>(Workers { handle: runtime.handle().clone(), runtime: Mutex::new(Some(runtime)) })
    })?;
    Ok(workers.handle.clone())
}

fn cannot_start(error: io::Error) -> Error {
    const OUT_OF_MEMORY: i32 = 12;
    let message = format!("no thread could be started: {error}");
    let mut file = FileError::new("threads of sideline", error);
    (file.errno, file.message) = (Some(OUT_OF_MEMORY), message);
    Error::File(file)
}

/// Stop the threads; registered with `atexit`. Otherwise a thread that attaches during the exit can crash the process.
#[pyfunction]
#[pyo3(name = "_shutdown")]
pub(crate) fn shutdown(py: Python<'_>) {
    interpreter_exit::start();
    py.detach(|| {
        for workers in [STREAMS.get(), WORKERS.get()].into_iter().flatten() {
            let runtime = workers.runtime.lock().unwrap_or_else(|e| e.into_inner()).take();
            if let Some(runtime) = runtime {
                runtime.shutdown_timeout(EXIT_TIMEOUT);
            }
        }
        interpreter_exit::wait(EXIT_TIMEOUT);
    });
}

/// Runs `future` to its end, or until a signal handler raises (Ctrl-C): then the future and its request are dropped.
pub(crate) fn wait<F, T>(py: Python<'_>, future: F) -> PyResult<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    wait_with(py, future, |_| Ok(()))
}

/// Like [`wait`]; `tick` runs at each step, and an error in it ends the wait too.
pub(crate) fn wait_with<F, T>(py: Python<'_>, future: F, tick: impl Fn(Python<'_>) -> PyResult<()>) -> PyResult<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let handle = handle().map_err(|e| errors::raise(py, e))?;
    logging::update_debug_level(py)?;
    let (sender, mut receiver) = sync_channel(1);
    let task = handle.spawn(async move {
        // Nobody receives it if a signal ended the wait.
        let _ = sender.send(errors::reply(future).await);
    });
    loop {
        let listening = &mut receiver;
        match interpreter_exit::run_detached(py, move || listening.recv_timeout(SIGNAL_CHECK_INTERVAL)) {
            Ok(reply) => return reply.into_result(py),
            Err(RecvTimeoutError::Timeout) => {
                let step = || {
                    logging::update_debug_level(py)?;
                    py.check_signals().and_then(|()| tick(py))
                };
                if let Err(error) = interpreter_exit::run_attached(py, step) {
                    task.abort();
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(errors::internal(py, "a call ended without an answer")),
        }
    }
}

/// Hands `future` to the running event loop. Cancelling the asyncio task drops the future and its request. `convert`
/// makes the Python object of what it gives, on the loop's thread.
pub(crate) fn awaitable<'py, T: Send + 'static>(
    py: Python<'py>,
    future: impl Future<Output = T> + Send + 'static,
    convert: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let handle = handle().map_err(|e| errors::raise(py, e))?;
    logging::update_debug_level(py)?;
    loop_waker::awaitable(py, &handle, future, convert)
}
