//! The live stream that a reader holds: opened once, read item by item, closed from any thread.

use super::buffer::{Buffer, Taken};
use super::gap_reason::GapReason;
use super::item::{Item, Notice};
use super::journal::Recorder;
use super::options::StreamOptions;
use super::recovery::Recovery;
use crate::error::{Error, Result};
use crate::machine;
use crate::scrub::Scrubber;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Fills a buffer until the stream ends, and returns the error that ended it.
type Producer = Pin<Box<dyn Future<Output = Option<Error>> + Send>>;

/// A stream that connects on [`Stream::open`]. Dropping it closes it.
pub struct Stream {
    /// The items to take, its state and its counters.
    pub buffer: Arc<Buffer>,
    task: Mutex<Task>,
    recording: Mutex<Recording>,
    /// Whether `take` may have to wait for a disk.
    is_recorded: AtomicBool,
    recovery: Option<Arc<Recovery>>,
    /// For errors about its items.
    pub scrubber: Scrubber,
}

enum Recording {
    Off,
    /// With the end of the previous recording in the journal, until the gap after it is recorded.
    On(Recorder, Option<SystemTime>),
    Closed,
}

enum Task {
    New(Producer),
    Running(JoinHandle<()>),
    Stopped,
}

impl Stream {
    /// `produce` starts when the stream is opened, and `recovery` closes its gaps.
    pub(super) fn new<F: Future<Output = Option<Error>> + Send + 'static>(
        options: &StreamOptions,
        produce: impl FnOnce(Arc<Buffer>) -> F,
        recovery: Option<Arc<Recovery>>,
        scrubber: Scrubber,
    ) -> Result<Self> {
        options.check()?;
        let buffer = Arc::new(Buffer::new(options));
        Ok(Stream {
            task: Mutex::new(Task::New(Box::pin(produce(buffer.clone())))),
            buffer,
            recording: Mutex::new(Recording::Off),
            is_recorded: AtomicBool::new(false),
            recovery,
            scrubber,
        })
    }

    /// Starts to fill the buffer; later calls do nothing.
    pub fn open(&self, runtime: &Handle) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *task = match std::mem::replace(&mut *task, Task::Stopped) {
            Task::New(producer) => {
                // If the producer panics, the reader must not wait forever.
                let guard = EndOnDrop(self.buffer.clone());
                Task::Running(runtime.spawn(async move { guard.0.end(producer.await) }))
            }
            other => other,
        };
    }

    /// Takes the next item, if there is one, and records it. After an error, which is the journal's, nothing was taken.
    pub fn take(&self) -> Result<Taken> {
        // Locked until the item is written, so that the journal has the order in which two readers took items.
        let mut recording = self.recording();
        let outcome = write_to_journal(self.buffer.take(), &mut recording, &self.buffer)?;
        if let (Some(recovery), Taken::Item(item)) = (&self.recovery, &outcome) {
            recovery.take(item, &self.buffer);
        }
        Ok(outcome)
    }

    /// Pushes a gap that ends now, so that what happened before is requested; `false`: nothing requests it.
    pub fn push_start_gap(&self) -> bool {
        let is_requested = self.recovery.as_ref().is_some_and(|recovery| recovery.is_of_changes());
        if is_requested {
            let now = machine::now();
            let gap = Item::Notice(Notice::gap(now, Some(now), GapReason::Started));
            self.buffer.try_push(&mut [gap].into());
        }
        is_requested
    }

    /// Appends all items taken from now on to a journal, which `runtime` syncs to disk at this interval; `None`: never.
    pub fn record(&self, path: &Path, sync_every: Option<Duration>, runtime: &Handle) -> Result<()> {
        let check_can_record = |recording: &Recording| match recording {
            Recording::Off => Ok(()),
            Recording::On(..) => Err(Error::Argument("this stream is recorded already".into())),
            Recording::Closed => {
                Err(Error::Argument("this stream is closed: nothing more comes to be recorded".into()))
            }
        };
        check_can_record(&self.recording())?;
        let recorder = Recorder::open(path, sync_every, runtime)?;
        let mut recording = self.recording();
        check_can_record(&recording)?;
        // The gap between the recordings is a notice too.
        let previous_end = recorder.previous_end().filter(|_| self.buffer.options.notices);
        *recording = Recording::On(recorder, previous_end);
        self.is_recorded.store(true, Ordering::Release);
        Ok(())
    }

    pub fn is_recorded(&self) -> bool {
        self.is_recorded.load(Ordering::Acquire)
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the stream in any state, and discards the items that were not taken. An error is that of the journal's last items.
    pub fn close(&self) -> Result<()> {
        let mut recording = self.recording();
        self.buffer.close();
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Task::Running(running) = std::mem::replace(&mut *task, Task::Stopped) {
            running.abort();
        }
        drop(task);
        match std::mem::replace(&mut *recording, Recording::Closed) {
            Recording::On(mut recorder, _) => recorder.close(),
            Recording::Off | Recording::Closed => Ok(()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            log::warn!("a recorded stream was dropped, and its last items could not be written: {error}");
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("state", &self.buffer.state())
            .field("counts", &self.buffer.counts())
            .finish_non_exhaustive()
    }
}

/// Writes a taken item to the journal, or puts it back if that fails.
fn write_to_journal(outcome: Taken, recording: &mut Recording, buffer: &Buffer) -> Result<Taken> {
    let Recording::On(recorder, previous_end) = recording else { return Ok(outcome) };
    match outcome {
        Taken::Item(item) => match record_gap(recorder, previous_end, &item).and_then(|()| recorder.append(&item)) {
            Ok(()) => Ok(Taken::Item(item)),
            Err(error) => {
                buffer.put_back(item);
                Err(error)
            }
        },
        Taken::Ended(None) => recorder.flush().map(|()| Taken::Ended(None)),
        other => Ok(other),
    }
}

/// Records the gap between two recordings in one journal; nothing if the first item is older than the journal's end.
fn record_gap(recorder: &Recorder, previous_end: &mut Option<SystemTime>, first: &Item) -> Result<()> {
    let Some(start) = *previous_end else { return Ok(()) };
    let end = match first {
        Item::Notice(Notice::Gap { start, .. }) => *start,
        item => item.at(),
    };
    if end > start {
        let reason = "it was not recorded: another recording goes on in this journal";
        recorder.append(&Item::Notice(Notice::gap(start, Some(end), reason)))?;
    }
    *previous_end = None;
    Ok(())
}

struct EndOnDrop(Arc<Buffer>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some(Error::internal("the stream's task ended early".to_owned())));
    }
}
