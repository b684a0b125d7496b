//! A writer whose file is never more than a second behind, also while no item comes, and that is synced to its disk.

use super::file_error;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::live::item::Item;
use crate::machine;
use crate::scrub::Scrubbed;
use std::fs::File;
use std::path::{Path, PathBuf};
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
    /// The same file: a sync keeps no item waiting.
    file: File,
    path: PathBuf,
    sync_every: Option<Duration>,
}

#[derive(Debug)]
struct Inner {
    writer: Writer,
    /// When what is pending is written.
    due: Option<Instant>,
    /// The end of the file when it was synced, and when that was.
    synced: (u64, Option<Instant>),
    sync_error: Option<Error>,
    closed: bool,
}

impl Recorder {
    /// `sync_every`: the time between two syncs, at most; `None`: never.
    pub fn open(path: &Path, sync_every: Option<Duration>) -> Result<Self> {
        let writer = Writer::open(path)?;
        let (file, synced) = (writer.file()?, (writer.end(), None));
        let inner = Inner { writer, due: None, synced, sync_error: None, closed: false };
        let (inner, changed, path) = (Mutex::new(inner), Condvar::new(), path.to_owned());
        let shared = Arc::new(Shared { inner, changed, file, path, sync_every });
        let behind = shared.clone();
        let thread =
            std::thread::Builder::new().name("sideline-journal".into()).spawn(move || behind.keep_up()).map_err(
                |error| Error::Transport(Scrubbed::local(format!("no thread could be started: {error}")).into()),
            )?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// When the last item came of the recording that this one goes on with.
    pub fn last(&self) -> Option<SystemTime> {
        self.shared.inner().writer.last()
    }

    /// After an error the item is not in the journal, and may be given again.
    pub fn append(&self, item: &Item) -> Result<()> {
        let mut inner = self.shared.inner();
        if let Some(error) = inner.sync_error.take() {
            return Err(error);
        }
        inner.writer.append(item, machine::now())?;
        if inner.writer.pending() == 0 {
            inner.due = None;
            drop(inner);
            self.shared.changed.notify_one();
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
        let mut inner = self.shared.inner();
        let is_synced = self.shared.sync_every.is_none() || inner.synced.0 == inner.writer.end();
        let synced = if is_synced { Ok(()) } else { self.shared.sync() };
        flushed.and(synced).and(inner.sync_error.take().map_or(Ok(()), Err))
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

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| file_error(&self.path, &error))
    }

    /// The thread.
    fn keep_up(&self) {
        let mut inner = self.inner();
        while !inner.closed {
            let sync_due = inner.sync_due(self.sync_every);
            let next = inner.due.into_iter().chain(sync_due).min();
            let left = next.map(|due| due.saturating_duration_since(Instant::now()));
            match left {
                None => inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(left) if !left.is_zero() => {
                    inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) if next == sync_due => {
                    let end = inner.writer.end();
                    drop(inner);
                    let error = self.sync().err();
                    inner = self.inner();
                    inner.synced = (end, Some(Instant::now()));
                    // A later success does not write what an earlier failure lost.
                    inner.sync_error = inner.sync_error.take().or(error);
                }
                Some(_) => {
                    // Where it fails, the next item tells its reader; until then it is tried again and again.
                    inner.due = inner.writer.flush().is_err().then(|| Instant::now() + BEHIND);
                }
            }
        }
    }
}

impl Inner {
    fn sync_due(&self, every: Option<Duration>) -> Option<Instant> {
        let (end, at) = self.synced;
        let every = every.filter(|_| end != self.writer.end())?;
        Some(at.and_then(|at| at.checked_add(every)).unwrap_or_else(Instant::now))
    }
}
