//! The interpreter's exit. Until Python 3.14 a daemon thread that re-attaches during the exit is ended by
//! `pthread_exit`, and unwinding through Rust frames aborts the process. So the exit waits for threads that run Rust
//! code which may attach; threads that come later are parked, as Python would.

use pyo3::prelude::*;
use sideline::fork_safe::{ForkSafe, pid};
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The process whose interpreter is exiting.
static EXITING_PID: AtomicU32 = AtomicU32::new(0);

/// Number of threads that are attached, or may attach again.
static ENTRY_COUNT: ForkSafe<AtomicUsize> = ForkSafe::new();

thread_local! {
    /// Nesting depth of this thread, which is counted once.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Set for the thread that runs the exit, which is never parked.
    static RUNS_EXIT: Cell<bool> = const { Cell::new(false) };
}

/// Whether the interpreter is exiting.
pub(crate) fn is_exiting() -> bool {
    EXITING_PID.load(Ordering::SeqCst) == pid()
}

/// From now on only this thread may enter.
pub(crate) fn start() {
    RUNS_EXIT.set(true);
    EXITING_PID.store(pid(), Ordering::SeqCst);
}

/// Waits until all threads have left or `patience` is over. Call it detached, since those threads need to attach.
pub(crate) fn wait(patience: Duration) {
    let until = Instant::now() + patience;
    while entry_count().load(Ordering::SeqCst) > 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs work that may call Python or detach.
pub(crate) fn run_attached<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let _guard = EntryGuard::new(py);
    work()
}

/// Runs a wait that does not involve Python and that the exit does not wait for.
pub(crate) fn run_detached<T: Send>(py: Python<'_>, wait: impl FnOnce() -> T + Send) -> T {
    let _guard = EntryGuard::new(py);
    exit();
    py.detach(|| {
        let result = wait();
        if !enter() {
            park_forever();
        }
        result
    })
}

struct EntryGuard;

impl EntryGuard {
    fn new(py: Python<'_>) -> Self {
        if DEPTH.get() == 0 && !enter() {
            py.detach(park_forever);
        }
        DEPTH.set(DEPTH.get() + 1);
        EntryGuard
    }
}

impl Drop for EntryGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            exit();
        }
    }
}

/// Counts first and checks for the exit afterwards; the exit announces itself first and reads the count afterwards.
fn enter() -> bool {
    entry_count().fetch_add(1, Ordering::SeqCst);
    let may_enter = !is_exiting() || RUNS_EXIT.get();
    if !may_enter {
        exit();
    }
    may_enter
}

fn exit() {
    // In a child forked here the count begins at 0.
    let _ = entry_count().fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
}

fn entry_count() -> &'static AtomicUsize {
    let Ok(count) = ENTRY_COUNT.get_or_try_init(|| Ok::<_, Infallible>(AtomicUsize::new(0)));
    count
}

fn park_forever() {
    loop {
        thread::park();
    }
}
