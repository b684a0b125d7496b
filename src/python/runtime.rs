//! The threads behind every client: one tokio runtime for each process, made at the first call, stopped while Python lives.

use crate::error::{Error, Result};
use crate::per_process::PerProcess;
use crate::python::{errors, inbox, logging};
use pyo3::prelude::*;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// The process whose interpreter is exiting.
static ENDED_IN: AtomicU32 = AtomicU32::new(0);

fn ended() -> bool {
    ENDED_IN.load(Ordering::Acquire) == std::process::id()
}

/// The runtime of this process.
pub fn handle() -> Result<Handle> {
    if ended() {
        return Err(Error::Transport("the interpreter is exiting; no request is sent any more".into()));
    }
    let workers = WORKERS.get_or_make(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("sideline")
            .enable_all()
            .build()
            .map_err(|e| Error::Transport(format!("no thread could be started: {e}")))?;
        Ok::<_, Error>(Workers { handle: runtime.handle().clone(), owned: Mutex::new(Some(runtime)) })
    })?;
    Ok(workers.handle.clone())
}

/// Stops the threads; registered with `atexit` by the first client. Without it one process of fifty crashed at exit in the
/// prototype, a thread being about to attach to an interpreter that was gone.
#[pyfunction]
#[pyo3(name = "_shutdown")]
pub fn shutdown(py: Python<'_>) {
    ENDED_IN.store(std::process::id(), Ordering::Release);
    if let Some(workers) = WORKERS.get() {
        py.detach(|| {
            let owned = workers.owned.lock().unwrap_or_else(|e| e.into_inner()).take();
            if let Some(runtime) = owned {
                runtime.shutdown_timeout(PATIENCE);
            }
        });
    }
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
pub fn wait_with<F, T>(py: Python<'_>, future: F, tick: impl Fn(Python<'_>) -> PyResult<()> + Send) -> PyResult<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let handle = handle().map_err(|e| errors::raise(py, e))?;
    logging::heed(py)?;
    py.detach(move || {
        let (sender, receiver) = sync_channel(1);
        let task = handle.spawn(async move {
            // Nobody listens where a signal has ended the wait.
            let _ = sender.send(future.await);
        });
        loop {
            match receiver.recv_timeout(STEP) {
                Ok(answer) => return Ok(answer),
                // This is a daemon thread and the process is about to go: a thread that comes back to Python now prints a
                // traceback on the way, or aborts the process.
                Err(_) if ended() => loop {
                    std::thread::park();
                },
                Err(RecvTimeoutError::Timeout) => {
                    let step = |py: Python<'_>| {
                        logging::heed(py)?;
                        py.check_signals().and_then(|()| tick(py))
                    };
                    if let Err(raised) = Python::attach(step) {
                        task.abort();
                        return Err(raised);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Python::attach(|py| errors::internal(py, "a call ended without an answer")));
                }
            }
        }
    })
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
