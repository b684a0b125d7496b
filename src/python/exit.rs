//! The interpreter's exit. A daemon thread that comes back to Python when the interpreter is going is ended by `pthread_exit`
//! (until Python 3.14), and unwinding through frames of Rust aborts the process. So the exit waits for threads that are
//! inside: in Rust that calls Python or has let its lock go. Those that come later stand still, as they would in Python.

use crate::per_process::{PerProcess, pid};
use pyo3::prelude::*;
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The process whose interpreter is exiting.
static ENDED_IN: AtomicU32 = AtomicU32::new(0);

/// Threads that are inside.
static INSIDE: PerProcess<AtomicUsize> = PerProcess::new();

thread_local! {
    /// How often this thread is inside: once is counted.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// This thread runs the exit: nothing ends it.
    static EXITS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the interpreter is exiting.
pub fn ended() -> bool {
    ENDED_IN.load(Ordering::SeqCst) == pid()
}

/// From now on nobody comes in but this thread.
pub fn begin() {
    EXITS.set(true);
    ENDED_IN.store(pid(), Ordering::SeqCst);
}

/// Until all are out, or `patience` is over. Without Python's lock, which they need.
pub fn wait(patience: Duration) {
    let until = Instant::now() + patience;
    while inside_now().load(Ordering::SeqCst) > 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs what may call Python, or let its lock go.
pub fn inside<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let _here = Here::new(py);
    work()
}

/// Waits for something that is not Python; the exit does not wait for it.
pub fn outside<T: Send>(py: Python<'_>, wait: impl FnOnce() -> T + Send) -> T {
    let _here = Here::new(py);
    leave();
    py.detach(|| {
        let came = wait();
        if !come_in() {
            stand_still();
        }
        came
    })
}

struct Here;

impl Here {
    fn new(py: Python<'_>) -> Self {
        if DEPTH.get() == 0 && !come_in() {
            py.detach(stand_still);
        }
        DEPTH.set(DEPTH.get() + 1);
        Here
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            leave();
        }
    }
}

/// Counted first and looked for the exit afterwards, which looks at the count after it was announced.
fn come_in() -> bool {
    inside_now().fetch_add(1, Ordering::SeqCst);
    let may = !ended() || EXITS.get();
    if !may {
        leave();
    }
    may
}

fn leave() {
    // A child that was forked inside begins at 0.
    let _ = inside_now().fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
}

fn inside_now() -> &'static AtomicUsize {
    let Ok(count) = INSIDE.get_or_make(|| Ok::<_, Infallible>(AtomicUsize::new(0)));
    count
}

fn stand_still() {
    loop {
        thread::park();
    }
}
