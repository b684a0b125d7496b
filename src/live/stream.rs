//! A live stream as its reader holds it: opened once, read item by item, closed from anywhere.

use super::buffer::{Buffer, Counts, State, Taken};
use super::item::{Item, Notice};
use super::journal::Recorder;
use super::options::Options;
use super::recovery::Recovery;
use super::spent::Spent;
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

/// What fills a buffer until the stream is over; gives why it ended.
pub type Filling = Pin<Box<dyn Future<Output = Option<Error>> + Send>>;

/// Makes the filling, when the first item is asked for.
pub type Source = Box<dyn FnOnce(Arc<Buffer>) -> Filling + Send>;

/// Nothing is connected before [`Stream::open`]. Dropping it closes it.
pub struct Stream {
    buffer: Arc<Buffer>,
    task: Mutex<Task>,
    recording: Mutex<Recording>,
    /// Whether taking may have to wait for a disk.
    is_recorded: AtomicBool,
    recovery: Option<Arc<Recovery>>,
    spent: Option<Arc<Spent>>,
    scrubber: Scrubber,
}

enum Recording {
    Off,
    /// When the recording before it in its journal ended, until that is told.
    On(Recorder, Option<SystemTime>),
    Closed,
}

enum Task {
    New(Source),
    Running(JoinHandle<()>),
    Over,
}

impl Stream {
    pub fn new(options: &Options, source: Source) -> Result<Self> {
        options.check()?;
        let buffer = Arc::new(Buffer::new(options));
        Ok(Stream {
            buffer,
            task: Mutex::new(Task::New(source)),
            recording: Mutex::new(Recording::Off),
            is_recorded: AtomicBool::new(false),
            recovery: None,
            spent: None,
            scrubber: Scrubber::default(),
        })
    }

    /// Its gaps are closed by this one.
    pub(super) fn recovered_by(mut self, recovery: Option<Arc<Recovery>>) -> Self {
        self.recovery = recovery;
        self
    }

    /// What is said of its items hides the secrets that this one knows.
    pub(super) fn scrubbed_by(mut self, scrubber: Scrubber) -> Self {
        self.scrubber = scrubber;
        self
    }

    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    pub(super) fn reusing(mut self, spent: Arc<Spent>) -> Self {
        self.spent = Some(spent);
        self
    }

    /// Where a text that its reader has done with is of use.
    pub fn spent(&self) -> Option<&Arc<Spent>> {
        self.spent.as_ref()
    }

    /// Starts to fill the buffer, the first time it is called.
    pub fn open(&self, runtime: &Handle) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*task, Task::New(_)) {
            return;
        }
        if let Task::New(source) = std::mem::replace(&mut *task, Task::Over) {
            let buffer = self.buffer.clone();
            let filling = source(buffer.clone());
            *task = Task::Running(runtime.spawn(async move {
                // Also where the filling panics, a reader is not left waiting.
                let ending = EndOnDrop(buffer);
                let error = filling.await;
                ending.0.end(error);
            }));
        }
    }

    /// The next item, if it is there; where the stream is recorded it is in the journal first. An error is the journal's:
    /// nothing was taken then.
    pub fn take(&self) -> Result<Taken> {
        // Held from the buffer to the journal: two readers' items stand in the order in which they were taken.
        let mut recording = self.recording();
        let taken = self.buffer.take();
        let is_gap = matches!(taken, Taken::Item(Item::Notice(Notice::Gap { .. })));
        let taken = recorded(taken, &mut recording, &self.buffer)?;
        if is_gap && let (Some(recovery), Taken::Item(Item::Notice(gap))) = (&self.recovery, &taken) {
            recovery.take(gap, &self.buffer);
        }
        Ok(taken)
    }

    /// From now on what is taken is appended to a journal, which is synced so often; `None`: never.
    pub fn record(&self, path: &Path, sync_every: Option<Duration>) -> Result<()> {
        let refused = |recording: &Recording| match recording {
            Recording::Off => Ok(()),
            Recording::On(..) => Err(Error::Argument("this stream is recorded already".into())),
            Recording::Closed => {
                Err(Error::Argument("this stream is closed: nothing more comes to be recorded".into()))
            }
        };
        refused(&self.recording())?;
        let recorder = Recorder::open(path, sync_every)?;
        let mut recording = self.recording();
        refused(&recording)?;
        // Who wants no notices has none of this kind either.
        let before = recorder.last().filter(|_| self.buffer.gives_notices());
        *recording = Recording::On(recorder, before);
        self.is_recorded.store(true, Ordering::Release);
        Ok(())
    }

    pub fn is_recorded(&self) -> bool {
        self.is_recorded.load(Ordering::Acquire)
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// Ends it, in any state: the connection is dropped, what was not taken is thrown away. An error is the
    /// journal's, whose last items could not be written.
    pub fn close(&self) -> Result<()> {
        let mut recording = self.recording();
        self.buffer.close();
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Task::Running(running) = std::mem::replace(&mut *task, Task::Over) {
            running.abort();
        }
        drop(task);
        match std::mem::replace(&mut *recording, Recording::Closed) {
            Recording::On(recorder, _) => recorder.close(),
            Recording::Off | Recording::Closed => Ok(()),
        }
    }

    pub fn state(&self) -> State {
        self.buffer.state()
    }

    pub fn counts(&self) -> Counts {
        self.buffer.counts()
    }

    pub fn lag(&self) -> Duration {
        self.buffer.lag(machine::now())
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
        f.debug_struct("Stream").field("state", &self.state()).field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// What was taken, once it is in the journal; what could not be written is given back.
fn recorded(taken: Taken, recording: &mut Recording, buffer: &Buffer) -> Result<Taken> {
    let Recording::On(recorder, before) = recording else { return Ok(taken) };
    match taken {
        Taken::Item(item) => match tell_unrecorded(recorder, before, &item).and_then(|()| recorder.append(&item)) {
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

/// What came between two recordings in one journal is not in it, which its reader must see. Items older than the journal's end
/// (a replay of what is in it) leave no time between.
fn tell_unrecorded(recorder: &Recorder, before: &mut Option<SystemTime>, first: &Item) -> Result<()> {
    let Some(start) = *before else { return Ok(()) };
    let end = match first {
        Item::Update(update) => update.received_at,
        Item::Notice(Notice::Gap { start, .. }) => *start,
        Item::Notice(notice) => notice.at(),
    };
    if end > start {
        let reason = "it was not recorded: another recording goes on in this journal".into();
        recorder.append(&Item::Notice(Notice::Gap { start, end: Some(end), reason, dropped: None }))?;
    }
    *before = None;
    Ok(())
}

struct EndOnDrop(Arc<Buffer>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some(Error::Internal("the stream's task ended early".to_owned())));
    }
}
