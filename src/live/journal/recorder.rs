//! A writer whose file is never more than a second behind, also while no item comes.

use super::writer::Writer;
use crate::error::{Error, Result};
use crate::live::item::Item;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// What a killed recorder loses at most.
pub const BEHIND: Duration = Duration::from_secs(1);

/// A journal that is written to. Dropping it closes it.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    writer: Writer,
    /// When what is pending is written.
    due: Option<Instant>,
    closed: bool,
}

impl Recorder {
    pub fn open(path: &Path) -> Result<Self> {
        let inner = Inner { writer: Writer::open(path)?, due: None, closed: false };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), changed: Condvar::new() });
        let behind = shared.clone();
        let thread = std::thread::Builder::new()
            .name("sideline-journal".into())
            .spawn(move || behind.keep_up())
            .map_err(|error| Error::Transport(format!("no thread could be started: {error}")))?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// When the last item came of the recording that this one goes on with.
    pub fn last(&self) -> Option<SystemTime> {
        self.shared.inner().writer.last()
    }

    /// After an error the item is not in the journal, and may be given again.
    pub fn append(&self, item: &Item) -> Result<()> {
        let mut inner = self.shared.inner();
        inner.writer.append(item, SystemTime::now())?;
        if inner.writer.pending() == 0 {
            inner.due = None;
        } else if inner.due.is_none() {
            inner.due = Some(Instant::now() + BEHIND);
            drop(inner);
            self.shared.changed.notify_one();
        }
        Ok(())
    }

    /// Writes what is pending.
    pub fn flush(&self) -> Result<()> {
        let mut inner = self.shared.inner();
        inner.writer.flush()?;
        inner.due = None;
        Ok(())
    }

    /// Writes what is pending, and ends it either way.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let flushed = self.flush();
        self.shared.inner().closed = true;
        self.shared.changed.notify_one();
        let _ = thread.join();
        flushed
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn keep_up(&self) {
        let mut inner = self.inner();
        while !inner.closed {
            let left = inner.due.map(|due| due.saturating_duration_since(Instant::now()));
            inner = match left {
                None => self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(left) if !left.is_zero() => {
                    self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    // Where it fails, the next item tells its reader; until then it is tried again and again.
                    inner.due = inner.writer.flush().is_err().then(|| Instant::now() + BEHIND);
                    inner
                }
            };
        }
    }
}
