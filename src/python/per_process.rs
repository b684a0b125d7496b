//! A value that each process makes for itself.
//!
//! After `fork` the child has the parent's memory and none of its threads: a runtime or a connection pool that it inherited
//! can be neither used nor dropped, for both would wait for threads that do not exist. So the child forgets it and makes its
//! own. No lock is taken on the way: one that another thread of the parent held at the fork would never open again.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

struct Made<T> {
    pid: u32,
    value: T,
}

/// At most one value for each process, made when it is first asked for.
pub struct PerProcess<T: Send + Sync> {
    current: AtomicPtr<Made<T>>,
}

impl<T: Send + Sync> PerProcess<T> {
    pub const fn new() -> Self {
        PerProcess { current: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value of this process, if it has been made.
    pub fn get(&self) -> Option<&T> {
        Self::of(self.current.load(Ordering::Acquire), process::id())
    }

    /// The value of this process; `make` is called when there is none yet.
    pub fn get_or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let pid = process::id();
        let seen = self.current.load(Ordering::Acquire);
        if let Some(value) = Self::of(seen, pid) {
            return Ok(value);
        }
        let made = Box::into_raw(Box::new(Made { pid, value: make()? }));
        // `seen` is null or the parent's: that one is leaked on purpose.
        match self.current.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `made` came from a box just now, and a value that was once published is freed by `drop` alone.
            Ok(_) => Ok(unsafe { &(*made).value }),
            Err(winner) => {
                // SAFETY: `made` came from a box just now and was never published; the winner, a thread of this process,
                // published its own, which `drop` alone frees.
                unsafe {
                    drop(Box::from_raw(made));
                    Ok(&(*winner).value)
                }
            }
        }
    }

    fn of<'a>(made: *mut Made<T>, pid: u32) -> Option<&'a T> {
        // SAFETY: it is null or came from a box that `drop` alone frees; the callers bind the lifetime to `self`.
        let made = unsafe { made.as_ref() }?;
        (made.pid == pid).then_some(&made.value)
    }
}

impl<T: Send + Sync> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let made = *self.current.get_mut();
        if Self::of(made, process::id()).is_some() {
            // SAFETY: it came from a box, `&mut self` says that nobody reads it, and it is dropped once.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
