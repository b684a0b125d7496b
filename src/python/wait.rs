//! What a task awaits until a stream has something to take: a future of asyncio's kind (`asyncio.isfuture`). What puts an item
//! in rings for it, so that no thread of ours is told that somebody waits; and the loop makes the task's step where it hears
//! of the item, a turn earlier than where a future of its own is told.

use crate::live::Buffer;
use crate::per_process::pid;
use crate::python::errors;
use crate::python::inbox::{self, Ended, Shared};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use pyo3::{PyTraverseError, PyVisit, intern};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// What a task wants called, and the context for it.
type Step = (Py<PyAny>, Py<PyAny>);

enum State {
    Waiting(Option<Step>),
    Over,
    /// With its message.
    Cancelled(Option<Py<PyAny>>),
}

#[pyclass(frozen, module = "sideline._core")]
pub struct Wait {
    running: Py<PyAny>,
    state: Mutex<State>,
    /// What asyncio asks of its futures: that it was `await` that gave this one to the task.
    is_blocking: AtomicBool,
    buffer: Arc<Buffer>,
    rope: Arc<Rope>,
    pid: u32,
}

/// From the buffer to the loop. Empty once it was pulled, or nobody waits any more.
#[derive(Default)]
struct Rope(Mutex<Option<(Arc<Shared>, Py<Wait>)>>);

impl Rope {
    fn take(&self) -> Option<(Arc<Shared>, Py<Wait>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        if let Some((inbox, wait)) = self.take() {
            inbox.put(Ended::Wait(wait));
        }
    }
}

/// Ends when there is something to take, in the running event loop. It takes nothing: to give it up loses nothing.
pub fn wait<'py>(py: Python<'py>, buffer: &Arc<Buffer>) -> PyResult<Bound<'py, Wait>> {
    let (running, inbox) = inbox::running(py)?;
    let wait = Wait {
        running: running.unbind(),
        state: Mutex::new(State::Waiting(None)),
        is_blocking: AtomicBool::new(false),
        buffer: buffer.clone(),
        rope: Arc::default(),
        pid: pid(),
    };
    let wait = Bound::new(py, wait)?;
    let rope = &wait.get().rope;
    *rope.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((inbox, wait.clone().unbind()));
    if buffer.poll_ready(&Waker::from(rope.clone())).is_ready() {
        rope.take();
        *wait.get().state() = State::Over;
    }
    Ok(wait)
}

#[pymethods]
impl Wait {
    fn __await__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(this: Bound<'py, Self>) -> PyResult<Option<Bound<'py, Self>>> {
        let wait = this.get();
        if matches!(*wait.state(), State::Waiting(_)) {
            wait.is_blocking.store(true, Ordering::Relaxed);
            return Ok(Some(this));
        }
        wait.result(this.py()).map(|()| None)
    }

    #[getter]
    fn _asyncio_future_blocking(&self) -> bool {
        self.is_blocking.load(Ordering::Relaxed)
    }

    #[setter(_asyncio_future_blocking)]
    fn set_asyncio_future_blocking(&self, is_blocking: bool) {
        self.is_blocking.store(is_blocking, Ordering::Relaxed);
    }

    fn get_loop(&self, py: Python<'_>) -> Py<PyAny> {
        self.running.clone_ref(py)
    }

    #[pyo3(signature = (step, *, context))]
    fn add_done_callback(this: &Bound<'_, Self>, step: Py<PyAny>, context: Py<PyAny>) -> PyResult<()> {
        match &mut *this.get().state() {
            State::Waiting(there @ None) => *there = Some((step, context)),
            State::Waiting(Some(_)) => return Err(PyRuntimeError::new_err("another task awaits this already")),
            State::Over | State::Cancelled(_) => return Err(PyRuntimeError::new_err("this is over")),
        }
        Ok(())
    }

    fn done(&self) -> bool {
        !matches!(*self.state(), State::Waiting(_))
    }

    fn result(&self, py: Python<'_>) -> PyResult<()> {
        static CANCELLED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let message = match &*self.state() {
            State::Waiting(_) => return Err(PyRuntimeError::new_err("await this; nothing has come yet")),
            State::Over => return Ok(()),
            State::Cancelled(message) => message.as_ref().map(|message| message.clone_ref(py)),
        };
        let class = CANCELLED.import(py, "asyncio", "CancelledError")?;
        Err(PyErr::from_value(match message {
            Some(message) => class.call1((message,))?,
            None => class.call0()?,
        }))
    }

    #[pyo3(signature = (msg = None))]
    fn cancel(this: &Bound<'_, Self>, msg: Option<Py<PyAny>>) -> PyResult<bool> {
        let wait = this.get();
        let Some(step) = wait.end(State::Cancelled(msg)) else { return Ok(false) };
        if wait.pid == pid() {
            // In a child made by `fork` the lock may have been held.
            wait.buffer.forget(&Waker::from(wait.rope.clone()));
            wait.rope.take();
        }
        step.map_or(Ok(()), |step| Self::call_soon(this, step)).map(|()| true)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.running)?;
        match self.state.try_lock().as_deref() {
            Ok(State::Waiting(Some((step, context)))) => visit.call(step).and_then(|()| visit.call(context)),
            Ok(State::Cancelled(Some(message))) => visit.call(message),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.end(State::Over);
    }
}

impl Wait {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be called for it, if it is not over yet.
    fn end(&self, how: State) -> Option<Option<Step>> {
        let mut state = self.state();
        let State::Waiting(step) = &mut *state else { return None };
        let step = step.take();
        *state = how;
        Some(step)
    }

    /// There is something to take. The step is given back where the loop makes it at once; in asyncio's debug mode it does not,
    /// for that names the tasks whose steps take long.
    pub fn over(this: &Bound<'_, Self>, at_once: bool) -> Option<Step> {
        let step = this.get().end(State::Over).flatten()?;
        let told = this.get().is_debugged(this.py()).and_then(|is_debugged| match at_once && !is_debugged {
            true => Ok(Some(step)),
            false => Self::call_soon(this, step).map(|()| None),
        });
        told.unwrap_or_else(|error| {
            error.write_unraisable(this.py(), Some(this));
            None
        })
    }

    fn is_debugged(&self, py: Python<'_>) -> PyResult<bool> {
        self.running.bind(py).call_method0(intern!(py, "get_debug"))?.is_truthy()
    }

    fn call_soon(this: &Bound<'_, Self>, (step, context): Step) -> PyResult<()> {
        let (py, running) = (this.py(), &this.get().running);
        let options = PyDict::new(py);
        options.set_item(intern!(py, "context"), context)?;
        errors::guard(py, || {
            running.call_method(py, intern!(py, "call_soon"), (step, this), Some(&options)).map(|_| ())
        })
    }
}
