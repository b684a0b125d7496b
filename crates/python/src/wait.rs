//! An asyncio-compatible future (`asyncio.isfuture`) for the next item of a stream. Pushing an item wakes the event
//! loop directly, without a Tokio task, and the loop runs the waiting task's step at once, a turn earlier than with a
//! future of its own.

use crate::errors;
use crate::loop_waker::{self, Completion, LoopWaker};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use pyo3::{PyTraverseError, PyVisit, intern};
use sideline::fork_safe::pid;
use sideline::live::Buffer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The callback of a task, and its context.
type Callback = (Py<PyAny>, Py<PyAny>);

enum WaitState {
    Waiting(Option<Callback>),
    Ready,
    /// With the message of the cancellation.
    Cancelled(Option<Py<PyAny>>),
}

#[pyclass(frozen, module = "sideline._core")]
pub struct Wait {
    running: Py<PyAny>,
    state: Mutex<WaitState>,
    /// Set if the task received this from `await`, as asyncio's protocol demands.
    is_blocking: AtomicBool,
    buffer: Arc<Buffer>,
    waker: Arc<WaitWaker>,
    pid: u32,
}

/// Wakes the loop from the buffer. Empty once it has woken the loop, or nobody waits.
#[derive(Default)]
struct WaitWaker(Mutex<Option<(Arc<LoopWaker>, Py<Wait>)>>);

impl WaitWaker {
    fn take(&self) -> Option<(Arc<LoopWaker>, Py<Wait>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Wake for WaitWaker {
    fn wake(self: Arc<Self>) {
        if let Some((loop_waker, wait)) = self.take() {
            loop_waker.push(Completion::Wait(wait));
        }
    }
}

/// Completes in the running event loop when there is an item. It takes nothing, so cancelling it loses nothing.
pub(crate) fn wait<'py>(py: Python<'py>, buffer: &Arc<Buffer>) -> PyResult<Bound<'py, Wait>> {
    let (running, loop_waker) = loop_waker::running(py)?;
    let wait = Wait {
        running: running.unbind(),
        state: Mutex::new(WaitState::Waiting(None)),
        is_blocking: AtomicBool::new(false),
        buffer: buffer.clone(),
        waker: Arc::default(),
        pid: pid(),
    };
    let wait = Bound::new(py, wait)?;
    let waker = &wait.get().waker;
    *waker.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((loop_waker, wait.clone().unbind()));
    if buffer.poll_ready(&Waker::from(waker.clone())).is_ready() {
        waker.take();
        *wait.get().state() = WaitState::Ready;
    }
    Ok(wait)
}

#[pymethods]
impl Wait {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, Self>>> {
        let wait = slf.get();
        if matches!(*wait.state(), WaitState::Waiting(_)) {
            wait.is_blocking.store(true, Ordering::Relaxed);
            return Ok(Some(slf));
        }
        wait.result(slf.py()).map(|()| None)
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
    fn add_done_callback(slf: &Bound<'_, Self>, step: Py<PyAny>, context: Py<PyAny>) -> PyResult<()> {
        match &mut *slf.get().state() {
            WaitState::Waiting(callback @ None) => *callback = Some((step, context)),
            WaitState::Waiting(Some(_)) => return Err(PyRuntimeError::new_err("another task awaits this already")),
            WaitState::Ready | WaitState::Cancelled(_) => return Err(PyRuntimeError::new_err("this is over")),
        }
        Ok(())
    }

    fn done(&self) -> bool {
        !matches!(*self.state(), WaitState::Waiting(_))
    }

    fn result(&self, py: Python<'_>) -> PyResult<()> {
        static CANCELLED_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let message = match &*self.state() {
            WaitState::Waiting(_) => return Err(PyRuntimeError::new_err("await this; nothing has come yet")),
            WaitState::Ready => return Ok(()),
            WaitState::Cancelled(message) => message.as_ref().map(|message| message.clone_ref(py)),
        };
        let class = CANCELLED_ERROR.import(py, "asyncio", "CancelledError")?;
        Err(PyErr::from_value(match message {
            Some(message) => class.call1((message,))?,
            None => class.call0()?,
        }))
    }

    #[pyo3(signature = (msg = None))]
    fn cancel(slf: &Bound<'_, Self>, msg: Option<Py<PyAny>>) -> PyResult<bool> {
        let wait = slf.get();
        let Some(step) = wait.end(WaitState::Cancelled(msg)) else { return Ok(false) };
        if wait.pid == pid() {
            // In a forked child the lock may be held.
            wait.buffer.remove_waker(&Waker::from(wait.waker.clone()));
            wait.waker.take();
        }
        step.map_or(Ok(()), |step| Self::call_soon(slf, step)).map(|()| true)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.running)?;
        match self.state.try_lock().as_deref() {
            Ok(WaitState::Waiting(Some((step, context)))) => visit.call(step).and_then(|()| visit.call(context)),
            Ok(WaitState::Cancelled(Some(message))) => visit.call(message),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.end(WaitState::Ready);
    }
}

impl Wait {
    fn state(&self) -> MutexGuard<'_, WaitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait and returns its callback; `None` if it has already ended.
    fn end(&self, outcome: WaitState) -> Option<Option<Callback>> {
        let mut state = self.state();
        let WaitState::Waiting(step) = &mut *state else { return None };
        let step = step.take();
        *state = outcome;
        Some(step)
    }

    /// Completes the wait. Returns the callback if the loop should run it inline, which asyncio's debug mode forbids,
    /// since it reports slow callbacks by task.
    pub fn complete(slf: &Bound<'_, Self>, at_once: bool) -> Option<Callback> {
        let step = slf.get().end(WaitState::Ready).flatten()?;
        let result = slf.get().is_debugged(slf.py()).and_then(|is_debugged| match at_once && !is_debugged {
            true => Ok(Some(step)),
            false => Self::call_soon(slf, step).map(|()| None),
        });
        result.unwrap_or_else(|error| {
            error.write_unraisable(slf.py(), Some(slf));
            None
        })
    }

    fn is_debugged(&self, py: Python<'_>) -> PyResult<bool> {
        self.running.bind(py).call_method0(intern!(py, "get_debug"))?.is_truthy()
    }

    fn call_soon(slf: &Bound<'_, Self>, (step, context): Callback) -> PyResult<()> {
        let (py, running) = (slf.py(), &slf.get().running);
        let options = PyDict::new(py);
        options.set_item(intern!(py, "context"), context)?;
        errors::guard(py, || running.call_method(py, intern!(py, "call_soon"), (step, slf), Some(&options)).map(|_| ()))
    }
}
