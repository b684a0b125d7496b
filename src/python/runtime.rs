//! The threads behind every client: a tokio runtime for calls and one for streams in each process, made when they are first
//! needed, stopped while Python lives.

use crate::error::{Error, Result};
use crate::per_process::PerProcess;
use crate::python::{errors, exit, inbox, logging};
use crate::scrub::Scrubbed;
use pyo3::prelude::*;
use std::future::Future;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How long a waiting call goes without looking for a signal: a fifth of the 250 ms that Ctrl-C may take.
pub const STEP: Duration = Duration::from_millis(50);

/// How long the interpreter's exit waits for the runtime's threads.
const PATIENCE: Duration = Duration::from_secs(2);

struct Workers {
    handle: Handle,
    /// Taken once, when the interpreter exits. No call locks it.
    owned: Mutex<Option<Runtime>>,
}

static WORKERS: PerProcess<Workers> = PerProcess::new();

/// Streams have one thread for all of them. A stream's tasks hand over to each other at each event, and where there is a second
/// thread it is woken for many of these: that cost more than half of an event's time.
static STREAMS: PerProcess<Workers> = PerProcess::new();

/// The runtime of this process.
pub fn handle() -> Result<Handle> {
    made(&WORKERS, 2, "sideline")
}

/// The streams' runtime of this process.
pub fn streams() -> Result<Handle> {
    made(&STREAMS, 1, "sideline-live")
}

fn made(slot: &PerProcess<Workers>, threads: usize, name: &str) -> Result<Handle> {
    if exit::ended() {
        return Err(Error::Transport("the interpreter is exiting; no request is sent any more".into()));
    }
    let workers =
        slot.get_or_make(|| {
            let runtime =
                Builder::new_multi_thread().worker_threads(threads).thread_name(name).enable_all().build().map_err(
                    |e| Error::Transport(Scrubbed::local(format!("no thread could be started: {e}")).into()),
                )?;
            Ok::<_, Error>(Workers { handle: runtime.handle().clone(), owned: Mutex::new(Some(runtime)) })
        })?;
    Ok(workers.handle.clone())
}

/// Stops the threads; registered with `atexit` by the first client. Without it one process of fifty crashed at exit in the
/// prototype, a thread being about to attach to an interpreter that was gone.
#[pyfunction]
#[pyo3(name = "_shutdown")]
pub fn shutdown(py: Python<'_>) {
    exit::begin();
    py.detach(|| {
        for workers in [STREAMS.get(), WORKERS.get()].into_iter().flatten() {
            let owned = workers.owned.lock().unwrap_or_else(|e| e.into_inner()).take();
            if let Some(runtime) = owned {
                runtime.shutdown_timeout(PATIENCE);
            }
        }
        exit::wait(PATIENCE);
    });
}

/// Runs `future` to its end, or until a signal handler raises (Ctrl-C): then it is dropped, and with it its request.
pub fn wait<F, T>(py: Python<'_>, future: F) -> PyResult<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    wait_with(py, future, |_| Ok(()))
}

/// As [`wait`]; `tick` runs at each step, and an error of it ends the wait too.
pub fn wait_with<F, T>(py: Python<'_>, future: F, tick: impl Fn(Python<'_>) -> PyResult<()>) -> PyResult<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let handle = handle().map_err(|e| errors::raise(py, e))?;
    logging::heed(py)?;
    let (sender, mut receiver) = sync_channel(1);
    let task = handle.spawn(async move {
        // Nobody listens where a signal has ended the wait.
        let _ = sender.send(future.await);
    });
    loop {
        let listening = &mut receiver;
        match exit::outside(py, move || listening.recv_timeout(STEP)) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                let step = || {
                    logging::heed(py)?;
                    py.check_signals().and_then(|()| tick(py))
                };
                if let Err(raised) = exit::inside(py, step) {
                    task.abort();
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(errors::internal(py, "a call ended without an answer")),
        }
    }
}

/// Gives `future` to the running event loop. Cancelling the asyncio task drops it, and with it its request.
pub fn awaitable<'py, F, T>(py: Python<'py>, future: F) -> PyResult<Bound<'py, PyAny>>
where
    F: Future<Output = T> + Send + 'static,
    T: for<'a> IntoPyObject<'a> + Send + 'static,
{
    let handle = handle().map_err(|e| errors::raise(py, e))?;
    logging::heed(py)?;
    inbox::awaitable(py, &handle, future)
}
