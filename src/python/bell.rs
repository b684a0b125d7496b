//! Waking an event loop: a byte on a socket that the loop watches. To ring it takes no lock of Python's, so no thread of the
//! runtime waits for a loop that is busy, and the loop is woken by the thread that read the socket.

use crate::live::Buffer;
use pyo3::prelude::*;
use std::future::Future;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// Rings once for each time it is set, when a stream has something to take.
#[pyclass(frozen, module = "sideline._core")]
pub struct Bell {
    ends: Arc<Ends>,
    waker: Waker,
    /// What it rings for.
    ready: Mutex<Option<Ready>>,
    pid: u32,
}

type Ready = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Both in one place: who still rings when the bell is gone finds its socket open.
struct Ends {
    rope: UnixStream,
    sound: UnixStream,
}

impl Wake for Ends {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Where there is no room for a byte, there is one to be heard.
        let _ = (&self.rope).write(&[1]);
    }
}

impl Bell {
    pub fn new() -> io::Result<Self> {
        let (rope, sound) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        sound.set_nonblocking(true)?;
        let ends = Arc::new(Ends { rope, sound });
        Ok(Bell { waker: ends.clone().into(), ends, ready: Mutex::new(None), pid: std::process::id() })
    }

    /// Sets it; `false`: there is something to take now.
    pub fn set(&self, buffer: &Arc<Buffer>) -> bool {
        let buffer = buffer.clone();
        let mut ready: Ready = Box::pin(async move { buffer.ready().await });
        let is_set = ready.as_mut().poll(&mut Context::from_waker(&self.waker)).is_pending();
        *self.ready() = is_set.then_some(ready);
        is_set
    }

    fn ready(&self) -> MutexGuard<'_, Option<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ours(&self) -> bool {
        self.pid == std::process::id()
    }
}

#[pymethods]
impl Bell {
    /// The descriptor that can be read when it rings.
    fn fileno(&self) -> i32 {
        self.ends.sound.as_raw_fd()
    }

    /// Takes back what `set` did, and what was heard. `false` in a child made by `fork`, whose selector is its parent's too.
    fn rest(&self) -> bool {
        if !self.is_ours() {
            return false;
        }
        *self.ready() = None;
        // One that rang while it was taken back is heard too early the next time, which does no harm.
        let _ = (&self.ends.sound).read(&mut [0; 8]);
        true
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if !self.is_ours() {
            // A lock of the buffer may have been held at the fork.
            std::mem::forget(self.ready().take());
        }
    }
}
