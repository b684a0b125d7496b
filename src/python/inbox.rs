//! What an event loop awaits: calls, and the next items of streams. What ends on our threads lies here until the loop's own
//! thread takes it: no thread of ours waits for the interpreter, and many that end together wake the loop once.

use crate::per_process::pid;
use crate::python::errors;
use crate::python::wait::Wait;
use futures_util::FutureExt;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{IntoPyObjectExt, intern};
use std::future::Future;
#[cfg(unix)]
use std::io::{Read, Write};
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::net::UnixStream};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Makes a Python object where the interpreter is attached.
type Maker = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A task's step, its context, and what the step is given.
type Step<'py> = (Py<PyAny>, Py<PyAny>, Bound<'py, Wait>);

/// What the loop is to be told.
pub enum Ended {
    /// An asyncio future and its result.
    Call(Py<PyAny>, Maker),
    /// Of a stream that has something to take.
    Wait(Py<Wait>),
}

pub struct Shared {
    pid: u32,
    ended: Mutex<Vec<Ended>>,
    bell: Bell,
}

/// What wakes the loop.
enum Bell {
    /// The loop reads the first; a byte in it says that something ended. Both ends live here, so that none writes to a closed one.
    #[cfg(unix)]
    Wire(UnixStream, UnixStream),
    /// The loop, where it reads no sockets of others (Windows).
    Loop(Py<PyAny>),
}

/// One for each event loop, which holds it.
#[pyclass(frozen, weakref, module = "sideline._core")]
pub struct Inbox(Arc<Shared>);

#[pymethods]
impl Inbox {
    /// Called for the loop. What it gives the caller has to call: no thread of Python's may end below a frame of Rust.
    fn hand_over<'py>(&self, py: Python<'py>) -> PyResult<Option<Step<'py>>> {
        errors::guard(py, || Ok(self.0.hand_over(py)))
    }
}

/// Ends the call when its future is cancelled.
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

/// A future of the running event loop that ends as `work` does. Cancelling it drops `work`.
pub fn awaitable<'py, F, T>(py: Python<'py>, handle: &Handle, work: F) -> PyResult<Bound<'py, PyAny>>
where
    F: Future<Output = T> + Send + 'static,
    T: for<'a> IntoPyObject<'a> + Send + 'static,
{
    let (running, inbox) = running(py)?;
    let future = running.call_method0(intern!(py, "create_future"))?;
    let waiting = future.clone().unbind();
    let task = handle.spawn(async move {
        let answer = AssertUnwindSafe(work).catch_unwind().await;
        let result = Box::new(move |py: Python<'_>| match answer {
            Ok(answer) => answer.into_py_any(py),
            Err(panic) => Err(errors::internal(py, &errors::panic_text(&*panic))),
        });
        inbox.put(Ended::Call(waiting, result));
    });
    future.call_method1(intern!(py, "add_done_callback"), (Cancel(task.abort_handle()),))?;
    Ok(future)
}

/// The running event loop and its inbox.
pub fn running(py: Python<'_>) -> PyResult<(Bound<'_, PyAny>, Arc<Shared>)> {
    static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let running = RUNNING.import(py, "asyncio", "get_running_loop")?.call0()?;
    let inbox = inbox_of(py, &running)?;
    Ok((running, inbox))
}

/// What an event loop calls.
fn hear(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static HEAR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    HEAR.import(py, "sideline._inbox", "hear")
}

/// The loop's inbox. The loop holds it until it is closed; we know both by weak references.
fn inbox_of(py: Python<'_>, running: &Bound<'_, PyAny>) -> PyResult<Arc<Shared>> {
    static KNOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static WEAK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let new = || py.import("weakref")?.call_method0("WeakKeyDictionary").map(Bound::unbind);
    let known = KNOWN.get_or_try_init(py, new)?.bind(py);
    let seen = known.call_method1(intern!(py, "get"), (running,))?;
    if !seen.is_none()
        && let Ok(inbox) = seen.call0()?.cast::<Inbox>()
        && inbox.get().0.pid == pid()
    {
        return Ok(inbox.get().0.clone());
    }
    let shared = |bell| Arc::new(Shared { pid: pid(), ended: Mutex::default(), bell });
    #[cfg(unix)]
    {
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        let number = near.as_raw_fd();
        let inbox = Bound::new(py, Inbox(shared(Bell::Wire(near, far))))?;
        match running.call_method1(intern!(py, "add_reader"), (number, hear(py)?, &inbox)) {
            Ok(_) => {
                known.set_item(running, WEAK.import(py, "weakref", "ref")?.call1((&inbox,))?)?;
                return Ok(inbox.get().0.clone());
            }
            Err(error) if error.is_instance_of::<PyNotImplementedError>(py) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(shared(Bell::Loop(running.clone().unbind())))
}

impl Shared {
    pub fn put(self: Arc<Self>, ended: Ended) {
        let is_first = {
            let mut all = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(ended);
            all.len() == 1
        };
        if is_first {
            self.ring();
        }
    }

    fn ring(self: Arc<Self>) {
        match &self.bell {
            // A wire that is full has rung.
            #[cfg(unix)]
            Bell::Wire(_, far) => drop((&*far).write(&[0])),
            Bell::Loop(running) => {
                let running = &running;
                // An error says that the loop is closed: nobody waits any more.
                let _ = Python::try_attach(|py| {
                    let inbox = Bound::new(py, Inbox(self.clone()))?;
                    running.call_method1(py, intern!(py, "call_soon_threadsafe"), (hear(py)?, inbox))
                });
            }
        }
    }

    fn hand_over<'py>(&self, py: Python<'py>) -> Option<Step<'py>> {
        if self.pid != pid() {
            // A child made by `fork` runs its parent's loop: the lock may have been held, and the threads are the parent's.
            return None;
        }
        #[cfg(unix)]
        if let Bell::Wire(near, _) = &self.bell {
            let _ = (&*near).read(&mut [0; 16]);
        }
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        // A step is made at once where nobody else is to be told: it may run the loop inside of itself, and each has its turn.
        let is_alone = ended.len() == 1;
        for one in ended {
            match one {
                Ended::Call(future, result) => tell(future.bind(py), result),
                Ended::Wait(wait) => {
                    let wait = wait.into_bound(py);
                    if let Some((step, context)) = Wait::over(&wait, is_alone) {
                        return Some((step, context, wait));
                    }
                }
            }
        }
        None
    }
}

fn tell(future: &Bound<'_, PyAny>, result: Maker) {
    let py = future.py();
    let is_done = future.call_method0(intern!(py, "done")).and_then(|done| done.is_truthy());
    if is_done.unwrap_or(true) {
        return;
    }
    let told = match errors::guard(py, || result(py)) {
        Ok(object) => future.call_method1(intern!(py, "set_result"), (object,)),
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),)),
    };
    if let Err(error) = told {
        error.write_unraisable(py, Some(future));
    }
}
