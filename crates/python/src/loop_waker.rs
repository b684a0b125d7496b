//! Delivers results to an event loop: of calls, and of waits for stream items. Our threads only push completions here,
//! and the loop's own thread takes them: no thread of ours waits for the interpreter, and many completions wake the
//! loop once.

use crate::errors;
use crate::wait::Wait;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use sideline::fork_safe::pid;
use std::future::Future;
#[cfg(unix)]
use std::io::{Read, Write};
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::net::UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Makes a Python object while attached to the interpreter.
type ResultMaker = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A task's step, its context, and its argument.
type TaskStep<'py> = (Py<PyAny>, Py<PyAny>, Bound<'py, Wait>);

/// Something that ended and that the loop has to learn.
pub(crate) enum Completion {
    /// An asyncio future and its result.
    Call(Py<PyAny>, ResultMaker),
    /// A wait for a stream that now has an item.
    Wait(Py<Wait>),
}

pub(crate) struct LoopWaker {
    pid: u32,
    completions: Mutex<Vec<Completion>>,
    wake_fd: WakeFd,
}

/// How to wake the loop.
enum WakeFd {
    /// The loop reads from the first when the second is written to. Both ends are kept, so that none is written to
    /// after the other is closed.
    #[cfg(unix)]
    Socket(UnixStream, UnixStream),
    /// The loop itself, if it cannot watch sockets (Windows).
    Loop(Py<PyAny>),
}

/// One for each event loop, which owns it.
#[pyclass(frozen, weakref, module = "sideline._core")]
pub struct Inbox(Arc<LoopWaker>);

#[pymethods]
impl Inbox {
    /// Completes everything that ended. The caller has to call the returned step: a Python thread must not end below a
    /// Rust frame.
    fn hand_over<'py>(&self, py: Python<'py>) -> PyResult<Option<TaskStep<'py>>> {
        errors::guard(py, || Ok(self.0.drain(py)))
    }
}

/// Aborts the call when its future is cancelled.
#[pyclass(frozen, module = "sideline._core")]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, py: Python<'_>, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0(intern!(py, "cancelled"))?.is_truthy()? {
            self.0.abort();
        }
        Ok(())
    }
}

/// A future of the running event loop that completes with `work`, converted. Cancelling it drops `work`.
pub(crate) fn awaitable<'py, T: Send + 'static>(
    py: Python<'py>,
    handle: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    convert: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (running, loop_waker) = running(py)?;
    let future = running.call_method0(intern!(py, "create_future"))?;
    let waiting = future.clone().unbind();
    let task = handle.spawn(async move {
        let reply = errors::reply(work).await;
        let result = Box::new(move |py: Python<'_>| convert(py, reply.into_result(py)?));
        loop_waker.push(Completion::Call(waiting, result));
    });
    future.call_method1(intern!(py, "add_done_callback"), (Cancel(task.abort_handle()),))?;
    Ok(future)
}

/// The running event loop and its inbox.
pub(crate) fn running(py: Python<'_>) -> PyResult<(Bound<'_, PyAny>, Arc<LoopWaker>)> {
    static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let running = RUNNING.import(py, "asyncio", "get_running_loop")?.call0().map_err(|_| no_loop())?;
    let loop_waker = inbox_of(py, &running)?;
    Ok((running, loop_waker))
}

fn no_loop() -> PyErr {
    PyRuntimeError::new_err(
        "an AsyncClient and its streams are awaited in asyncio or uvloop; under trio, use a Client in a thread \
         (trio.to_thread.run_sync)",
    )
}

/// The Python function that the loop calls.
fn drain_function(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DRAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    DRAIN.import(py, "sideline._client", "run_next_step")
}

/// The inbox of a loop. The loop owns it until it is closed; here are only weak references.
fn inbox_of(py: Python<'_>, running: &Bound<'_, PyAny>) -> PyResult<Arc<LoopWaker>> {
    static INBOXES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static WEAK_REF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let new = || py.import("weakref")?.call_method0("WeakKeyDictionary").map(Bound::unbind);
    let inboxes = INBOXES.get_or_try_init(py, new)?.bind(py);
    let seen = inboxes.call_method1(intern!(py, "get"), (running,))?;
    if !seen.is_none()
        && let Ok(loop_waker) = seen.call0()?.cast::<Inbox>()
        && loop_waker.get().0.pid == pid()
    {
        return Ok(loop_waker.get().0.clone());
    }
    let shared = |wake_fd| Arc::new(LoopWaker { pid: pid(), completions: Mutex::default(), wake_fd });
    #[cfg(unix)]
    {
        let (read_end, write_end) = UnixStream::pair()?;
        read_end.set_nonblocking(true)?;
        write_end.set_nonblocking(true)?;
        let number = read_end.as_raw_fd();
        let loop_waker = Bound::new(py, Inbox(shared(WakeFd::Socket(read_end, write_end))))?;
        match running.call_method1(intern!(py, "add_reader"), (number, drain_function(py)?, &loop_waker)) {
            Ok(_) => {
                inboxes.set_item(running, WEAK_REF.import(py, "weakref", "ref")?.call1((&loop_waker,))?)?;
                return Ok(loop_waker.get().0.clone());
            }
            Err(error) if error.is_instance_of::<PyNotImplementedError>(py) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(shared(WakeFd::Loop(running.clone().unbind())))
}

impl LoopWaker {
    pub(crate) fn push(self: Arc<Self>, completions: Completion) {
        let is_first = {
            let mut all = self.completions.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(completions);
            all.len() == 1
        };
        if is_first {
            self.wake();
        }
    }

    fn wake(self: Arc<Self>) {
        match &self.wake_fd {
            // If the socket is full, the loop is already being woken.
            #[cfg(unix)]
            WakeFd::Socket(_, write_end) => drop((&*write_end).write(&[0])),
            WakeFd::Loop(running) => {
                let running = &running;
                // An error means that the loop is closed and nobody waits.
                let _ = Python::try_attach(|py| {
                    let loop_waker = Bound::new(py, Inbox(self.clone()))?;
                    running.call_method1(py, intern!(py, "call_soon_threadsafe"), (drain_function(py)?, loop_waker))
                });
            }
        }
    }

    fn drain<'py>(&self, py: Python<'py>) -> Option<TaskStep<'py>> {
        if self.pid != pid() {
            // A forked child runs its parent's loop: the lock may be held, and the threads are the parent's.
            return None;
        }
        #[cfg(unix)]
        if let WakeFd::Socket(read_end, _) = &self.wake_fd {
            let _ = (&*read_end).read(&mut [0; 16]);
        }
        let completions = std::mem::take(&mut *self.completions.lock().unwrap_or_else(PoisonError::into_inner));
        // Run the step inline only if it is the only completion: it may re-enter the loop, and the others must not
        // wait.
        let is_alone = completions.len() == 1;
        for completion in completions {
            match completion {
                Completion::Call(future, result) => complete(future.bind(py), result),
                Completion::Wait(wait) => {
                    let wait = wait.into_bound(py);
                    if let Some((step, context)) = Wait::complete(&wait, is_alone) {
                        return Some((step, context, wait));
                    }
                }
            }
        }
        None
    }
}

fn complete(future: &Bound<'_, PyAny>, result: ResultMaker) {
    let py = future.py();
    let is_done = future.call_method0(intern!(py, "done")).and_then(|done| done.is_truthy());
    if is_done.unwrap_or(true) {
        return;
    }
    let outcome = match errors::guard(py, || result(py)) {
        Ok(object) => future.call_method1(intern!(py, "set_result"), (object,)),
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),)),
    };
    if let Err(error) = outcome {
        error.write_unraisable(py, Some(future));
    }
}
