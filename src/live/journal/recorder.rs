//! A writer that writes each item within a second, by a task of its own, and syncs the file to its disk.

use super::writer::Writer;
use super::{file_error, format};
use crate::error::{Error, Result};
use crate::live::item::Item;
use crate::machine;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// Maximum age of unwritten items, which a killed recorder loses.
pub(crate) const MAX_FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// A journal being recorded. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<RecorderShared>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct RecorderShared {
    inner: Mutex<RecorderState>,
    change: Notify,
    /// A second handle, so that a sync does not block items. Locked during a sync.
    file: Mutex<File>,
    sync_every: Option<Duration>,
    flush_interval: Duration,
}

#[derive(Debug)]
struct RecorderState {
    writer: Writer,
    start: Instant,
    /// The monotonic time of the last item.
    latest: Duration,
    /// When the pending items are written.
    due: Option<Instant>,
    /// The end of the file at the last sync, and its time.
    last_sync: (u64, Option<Instant>),
    sync_error: Option<Error>,
    is_closed: bool,
}

impl Recorder {
    /// `sync_every`: the time between two syncs, at most; `None`: never. `runtime` writes in the background.
    pub(crate) fn open(path: &Path, sync_every: Option<Duration>, runtime: &Handle) -> Result<Self> {
        let mut writer = Writer::open(path, machine::now())?;
        let flush_interval = sync_every.map_or(MAX_FLUSH_INTERVAL, |every| every.min(MAX_FLUSH_INTERVAL));
        if flush_interval.is_zero() {
            writer.frame_len = 0;
        }
        let file = writer.file.try_clone().map_err(|error| file_error(path, error))?.into();
        let last_sync = (writer.end, None);
        let state = RecorderState {
            writer,
            start: Instant::now(),
            latest: Duration::ZERO,
            due: None,
            last_sync,
            sync_error: None,
            is_closed: false,
        };
        let (inner, change) = (Mutex::new(state), Notify::new());
        let shared = Arc::new(RecorderShared { inner, change, file, sync_every, flush_interval });
        let task = Some(runtime.spawn(shared.clone().run()));
        Ok(Recorder { shared, task })
    }

    /// Time of receipt of the last item of the previous recording in this file.
    pub(crate) fn previous_end(&self) -> Option<SystemTime> {
        self.shared.inner().writer.previous_end
    }

    /// Appends an item. After an error it is not in the journal, and the call may be repeated.
    pub(crate) fn append(&self, item: &Item) -> Result<()> {
        let mut inner = self.shared.inner();
        if let Some(error) = inner.sync_error.take() {
            return Err(error);
        }
        let now = machine::now();
        let monotonic = inner.monotonic(item, now);
        inner.writer.append(item, now, monotonic)?;
        inner.latest = monotonic;
        let is_pending = !inner.writer.lines.is_empty();
        if !is_pending || inner.due.is_none() {
            inner.due = is_pending.then(|| Instant::now() + self.shared.flush_interval);
            drop(inner);
            self.shared.change.notify_one();
        }
        Ok(())
    }

    /// Writes the pending items.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut inner = self.shared.inner();
        let result = if inner.is_closed { Ok(()) } else { inner.writer.flush(machine::now()) };
        inner.due = inner.due.filter(|_| result.is_err());
        result
    }

    /// Writes the pending items and closes the journal, even after an error.
    pub(crate) fn close(&mut self) -> Result<()> {
        let Some(task) = self.task.take() else { return self.flush() };
        let mut inner = self.shared.inner();
        let result = inner.writer.close(machine::now());
        inner.is_closed = true;
        drop(inner);
        task.abort();
        if self.shared.sync_every.is_some() {
            self.shared.sync();
        }
        let mut inner = self.shared.inner();
        // For another recorder: the aborted task may live on for a while.
        let _ = inner.writer.file.unlock();
        result.and(inner.sync_error.take().map_or(Ok(()), Err))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl RecorderShared {
    fn inner(&self) -> MutexGuard<'_, RecorderState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes and syncs what is due, and at the end of the runtime, when the process exits, writes the rest.
    async fn run(self: Arc<Self>) {
        let _until_exit = Recorder { shared: self.clone(), task: None };
        loop {
            let next = self.inner().next(self.sync_every);
            let Some(next) = next else {
                self.change.notified().await;
                continue;
            };
            if timeout_at(next, self.change.notified()).await.is_ok() {
                continue;
            }
            // A slow disk must not block the runtime's threads.
            let (shared, now, at) = (self.clone(), Instant::now(), machine::now());
            if tokio::task::spawn_blocking(move || shared.work(now, at)).await.is_err() {
                return;
            }
        }
    }

    /// `at` is the time of day.
    fn work(&self, now: Instant, at: SystemTime) {
        let mut inner = self.inner();
        if inner.is_closed {
            return;
        }
        if inner.due.is_some_and(|due| due <= now) {
            // A failure is reported with the next item; until then it is retried.
            let result = inner.writer.flush(at);
            inner.due = result.is_err().then(|| now + self.flush_interval);
        }
        let is_sync_due = inner.sync_due(self.sync_every).is_some_and(|due| due <= now);
        drop(inner);
        if is_sync_due {
            self.sync();
        }
    }

    /// Syncs the file, unless it is synced. A later success does not undo an earlier failure, so its error is kept.
    fn sync(&self) {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = self.inner();
        let end = inner.writer.end;
        let is_synced = inner.last_sync.0 == end;
        drop(inner);
        let result = if is_synced { Ok(()) } else { file.sync_data() };
        let mut inner = self.inner();
        inner.last_sync = (end, Some(Instant::now()));
        inner.sync_error = inner.sync_error.take().or(result.err().map(|error| file_error(&inner.writer.path, error)));
    }
}

impl RecorderState {
    /// When the item was received, since the recording began: now, less the time that it waited to be taken. A step of the
    /// clock changes that time, so the result lies between that of the item before and now.
    fn monotonic(&self, item: &Item, now: SystemTime) -> Duration {
        let elapsed = self.start.elapsed();
        let age = now.duration_since(format::received_at(item, now)).unwrap_or_default();
        elapsed.saturating_sub(age).max(self.latest)
    }

    /// When the task has work.
    fn next(&self, sync_every: Option<Duration>) -> Option<Instant> {
        self.due.into_iter().chain(self.sync_due(sync_every)).min()
    }

    fn sync_due(&self, every: Option<Duration>) -> Option<Instant> {
        let (end, at) = self.last_sync;
        let every = every.filter(|_| end != self.writer.end)?;
        Some(at.and_then(|at| at.checked_add(every)).unwrap_or(self.start))
    }
}
