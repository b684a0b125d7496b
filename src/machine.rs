//! What the core takes from the machine it runs on: the time of day, chance, and waiting threads. Everything else that takes
//! time uses tokio's clock. Nothing else in the crate asks the machine (clippy.toml), so that a test can replace it with
//! a simulated one for its thread, and one seed decides everything.
#![allow(clippy::disallowed_methods)]

#[cfg(test)]
pub(crate) mod simulated;

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};
use tokio::task::{JoinError, spawn_blocking};

/// The time of day. It may jump: durations are measured with tokio's clock.
pub fn now() -> SystemTime {
    #[cfg(test)]
    if let Some(now) = simulated::with(|machine| machine.now()) {
        return now;
    }
    SystemTime::now()
}

/// The standard library seeds its hashers at random; jitter and nonces need no more than that.
pub fn random() -> u64 {
    #[cfg(test)]
    if let Some(random) = simulated::with(|machine| machine.random()) {
        return random;
    }
    HashKey::default().hash_one(())
}

/// A number in 0..1, for jitter.
pub(crate) fn chance() -> f64 {
    random() as f64 / u64::MAX as f64
}

/// Hashes as no peer can foresee. Nothing may depend on which hash a content has.
pub(crate) type HashKey = RandomState;

/// Waits on this thread until `poll` is ready, for so long at most; whether it was.
pub fn wait(limit: Duration, waker: &Waker, mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) -> bool {
    let start = Instant::now();
    loop {
        if poll(&mut Context::from_waker(waker)).is_ready() {
            return true;
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            return false;
        }
        thread::park_timeout(left);
    }
}

/// With less memory left no thread is started: tokio panics, or the C library ends the process, where it has none for a thread.
/// Other tasks take memory meanwhile, so this is what sixteen bodies begin with.
const MIN_FREE_BYTES: usize = 256 << 20;

/// Why work on another thread has no result.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The process has no memory for a thread.
    OutOfMemory,
    /// A panic, or the end of the runtime.
    Stopped(JoinError),
}

/// Runs work on a thread that may block, or on this one while memory is short.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let mut probe: Vec<u8> = Vec::new();
    // Without the black box the compiler would drop an allocation that nobody uses.
    if black_box(probe.try_reserve_exact(MIN_FREE_BYTES)).is_err() {
        return Ok(work());
    }
    drop(black_box(probe));
    let task = catch_unwind(AssertUnwindSafe(|| spawn_blocking(work))).map_err(|_| Unfinished::OutOfMemory)?;
    task.await.map_err(Unfinished::Stopped)
}

/// Wakes this thread from [`wait`].
pub fn waker() -> Waker {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    Waker::from(Arc::new(Unpark(thread::current())))
}
