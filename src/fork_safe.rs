//! A value that each process makes for itself.
//!
//! After `fork` the child has the parent's memory and none of its threads: an inherited runtime or connection pool can
//! be neither used nor dropped, since both would wait for threads that do not exist. So the child leaks it and makes
//! its own. No lock is taken: one held by another parent thread at the fork would never be released.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// This process id, once queried; 0 after a fork.
static PID: AtomicU32 = AtomicU32::new(0);

/// The process id. Queried once, because streams ask for each item and a system call costs much of a small one.
pub fn pid() -> u32 {
    match PID.load(Ordering::Relaxed) {
        0 => query_pid(),
        pid => pid,
    }
}

#[cfg(all(unix, not(miri)))]
#[cold]
fn query_pid() -> u32 {
    use std::ffi::c_int;
    use std::sync::atomic::AtomicBool;

    type Handler = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }
    extern "C" fn forget() {
        PID.store(0, Ordering::Relaxed);
    }
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

    if !IS_REGISTERED.load(Ordering::Acquire) {
        // SAFETY: the declaration is POSIX's; the handler stores a number and calls nothing. Two threads may register
        // it twice, which does no harm.
        if unsafe { pthread_atfork(None, None, Some(forget)) } != 0 {
            return process::id();
        }
        IS_REGISTERED.store(true, Ordering::Release);
    }
    let pid = process::id();
    PID.store(pid, Ordering::Relaxed);
    pid
}

/// Without fork; Miri does not support `pthread_atfork`.
#[cfg(not(all(unix, not(miri))))]
fn query_pid() -> u32 {
    process::id()
}

struct ProcessValue<T> {
    pid: u32,
    value: T,
}

/// At most one value for each process, made on first use.
#[derive(Debug)]
pub struct ForkSafe<T: Send + Sync> {
    current: AtomicPtr<ProcessValue<T>>,
}

impl<T: Send + Sync> ForkSafe<T> {
    #[allow(clippy::new_without_default, reason = "only statics hold one")]
    pub const fn new() -> Self {
        ForkSafe { current: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value of this process, if any.
    pub fn get(&self) -> Option<&T> {
        Self::of(self.current.load(Ordering::Acquire), pid())
    }

    /// The value of this process; calls `make` if it has none yet.
    pub fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let pid = pid();
        let seen = self.current.load(Ordering::Acquire);
        if let Some(value) = Self::of(seen, pid) {
            return Ok(value);
        }
        let new = Box::into_raw(Box::new(ProcessValue { pid, value: make()? }));
        // `seen` is null or the parent's, which is leaked on purpose.
        match self.current.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `new` came from a box just now, and a value that was once published is freed by `drop` alone.
            Ok(_) => Ok(unsafe { &(*new).value }),
            Err(winner) => {
                // SAFETY: `new` came from a box just now and was never published; the winner, a thread of this process,
                // published its own, which `drop` alone frees.
                unsafe {
                    drop(Box::from_raw(new));
                    Ok(&(*winner).value)
                }
            }
        }
    }

    fn of<'a>(pointer: *mut ProcessValue<T>, pid: u32) -> Option<&'a T> {
        // SAFETY: it is null or came from a box that `drop` alone frees; the callers bind the lifetime to `self`.
        let pointer = unsafe { pointer.as_ref() }?;
        (pointer.pid == pid).then_some(&pointer.value)
    }
}

impl<T: Send + Sync> Drop for ForkSafe<T> {
    fn drop(&mut self) {
        let pointer = *self.current.get_mut();
        if Self::of(pointer, pid()).is_some() {
            // SAFETY: it came from a box, `&mut self` says that nobody reads it, and it is dropped once.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn concurrent_threads_get_one_value_and_it_is_dropped_once() {
        let (value, calls) = (Arc::new(()), AtomicUsize::new(0));
        let cell = ForkSafe::new();
        assert!(cell.get().is_none());
        let make = || {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(value.clone())
        };
        let places: Vec<usize> = std::thread::scope(|scope| {
            let query_pid = || ptr::from_ref(cell.get_or_try_init(make).unwrap()).addr();
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(query_pid)).collect();
            asking.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(places.iter().all(|place| *place == places[0]));
        assert!(calls.into_inner() >= 1 && cell.get().is_some());
        assert_eq!(Arc::strong_count(&value), 2, "those that came too late are gone");
        drop(cell);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn the_value_of_another_process_is_not_used_and_not_dropped() {
        let (value, cell) = (Arc::new(()), ForkSafe::new());
        let foreign = Box::into_raw(Box::new(ProcessValue { pid: process::id() + 1, value: value.clone() }));
        cell.current.store(foreign, Ordering::Release);
        assert!(cell.get().is_none());
        assert!(!Arc::ptr_eq(cell.get_or_try_init(|| Ok::<_, ()>(Arc::new(()))).unwrap(), &value));
        drop(cell);
        assert_eq!(Arc::strong_count(&value), 2);
        // SAFETY: it came from a box above, and the assertions show that nobody dropped it.
        drop(unsafe { Box::from_raw(foreign) });
    }

    #[test]
    fn a_value_that_failed_is_made_at_the_next_request() {
        let cell = ForkSafe::new();
        assert_eq!(cell.get_or_try_init(|| Err("not yet")), Err("not yet"));
        assert_eq!(cell.get_or_try_init(|| Ok::<_, ()>(1)), Ok(&1));
    }
}
