//! A live stream as its reader holds it: opened once, read item by item, closed from anywhere.

use super::buffer::{Buffer, Counts, State, Taken};
use super::options::Options;
use crate::error::{Error, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
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
}

enum Task {
    New(Source),
    Running(JoinHandle<()>),
    Over,
}

impl Stream {
    pub fn new(options: &Options, source: Source) -> Result<Self> {
        options.check()?;
        let buffer = Arc::new(Buffer::new(options.buffer, options.overflow, options.notices));
        Ok(Stream { buffer, task: Mutex::new(Task::New(source)) })
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

    pub fn take(&self) -> Taken {
        self.buffer.take()
    }

    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// Ends it, in any state: the connection is dropped, what was not taken is thrown away.
    pub fn close(&self) {
        self.buffer.close();
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Task::Running(running) = std::mem::replace(&mut *task, Task::Over) {
            running.abort();
        }
    }

    pub fn state(&self) -> State {
        self.buffer.state()
    }

    pub fn counts(&self) -> Counts {
        self.buffer.counts()
    }

    pub fn lag(&self) -> Duration {
        self.buffer.lag(SystemTime::now())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("state", &self.state()).field("counts", &self.counts()).finish_non_exhaustive()
    }
}

struct EndOnDrop(Arc<Buffer>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some(Error::Transport("internal error, please report it: the stream's task ended early".into())));
    }
}
