//! A writer that flushes within a second of each item, on a thread of its own, and syncs the file to its disk.

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

/// Maximum age of unwritten items, which a killed recorder loses.
pub(crate) const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// A journal being recorded. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<RecorderShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct RecorderShared {
    inner: Mutex<RecorderState>,
    changed: Condvar,
    /// A second handle, so that a sync does not block items.
    file: File,
    path: PathBuf,
    sync_every: Option<Duration>,
}

#[derive(Debug)]
struct RecorderState {
    writer: Writer,
    /// When the pending items are written.
    due: Option<Instant>,
    /// The end of the file at the last sync, and its time.
    synced: (u64, Option<Instant>),
    sync_error: Option<Error>,
    closed: bool,
}

impl Recorder {
    /// `sync_every`: the time between two syncs, at most; `None`: never.
    pub(crate) fn open(path: &Path, sync_every: Option<Duration>) -> Result<Self> {
        let writer = Writer::open(path)?;
        let (file, synced) = (writer.file()?, (writer.end(), None));
        let inner = RecorderState { writer, due: None, synced, sync_error: None, closed: false };
        let (inner, changed, path) = (Mutex::new(inner), Condvar::new(), path.to_owned());
        let shared = Arc::new(RecorderShared { inner, changed, file, path, sync_every });
        let background = shared.clone();
        let thread =
            std::thread::Builder::new().name("sideline-journal".into()).spawn(move || background.run()).map_err(
                |error| Error::Transport(Scrubbed::local(format!("no thread could be started: {error}")).into()),
            )?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// Time of receipt of the last item of the previous recording in this file.
    pub(crate) fn last(&self) -> Option<SystemTime> {
        self.shared.inner().writer.last()
    }

    /// Appends an item. After an error it is not in the journal, and the call may be repeated.
    pub(crate) fn append(&self, item: &Item) -> Result<()> {
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
            inner.due = Some(Instant::now() + FLUSH_INTERVAL);
            drop(inner);
            self.shared.changed.notify_one();
        }
        Ok(())
    }

    /// Writes the pending items.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut inner = self.shared.inner();
        inner.writer.flush()?;
        inner.due = None;
        Ok(())
    }

    /// Writes the pending items and closes the journal, even after an error.
    pub(crate) fn close(mut self) -> Result<()> {
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

impl RecorderShared {
    fn inner(&self) -> MutexGuard<'_, RecorderState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| file_error(&self.path, &error))
    }

    /// Runs the thread that flushes and syncs.
    fn run(&self) {
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
                    // A later success does not undo an earlier failure, so keep its error.
                    inner.sync_error = inner.sync_error.take().or(error);
                }
                Some(_) => {
                    // A failure is reported with the next item; until then it is retried.
                    inner.due = inner.writer.flush().is_err().then(|| Instant::now() + FLUSH_INTERVAL);
                }
            }
        }
    }
}

impl RecorderState {
    fn sync_due(&self, every: Option<Duration>) -> Option<Instant> {
        let (end, at) = self.synced;
        let every = every.filter(|_| end != self.writer.end())?;
        Some(at.and_then(|at| at.checked_add(every)).unwrap_or_else(Instant::now))
    }
}
