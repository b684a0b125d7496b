//! The Broadcast API's event stream (specification 6.1) as a stream's wire.

use super::item::Update;
use super::options::Options;
use super::session::{Connection, Lost, Read, Refusal, Wire};
use super::spent::Spent;
use super::sse::{Decoder, Frame};
use crate::error::Error;
use crate::operation::Request;
use crate::transport::{Transport, Unopened};
use bytes::Bytes;
use futures_util::FutureExt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

#[derive(Debug)]
pub(super) struct EventStream {
    transport: Transport,
    request: Request,
    limit: usize,
    silence_limit: Duration,
    last_event_id: Arc<str>,
    spent: Arc<Spent>,
}

impl EventStream {
    pub(super) fn new(transport: Transport, request: Request, options: &Options, spent: Arc<Spent>) -> Self {
        let last_event_id = options.last_event_id.as_deref().unwrap_or_default().into();
        let (limit, silence_limit) = (options.max_event_bytes, options.silence_limit);
        EventStream { transport, request, limit, silence_limit, last_event_id, spent }
    }
}

impl Wire for EventStream {
    type Connection = Events;

    async fn connect(&mut self) -> Result<Events, Refusal> {
        let opened = timeout(self.silence_limit, self.transport.open_event_stream(&self.request, &self.last_event_id));
        let response = opened.await.map_err(|_| Refusal::silent(self.silence_limit))??;
        let decoder = Decoder::new(self.limit, self.last_event_id.clone()).reusing(self.spent.clone());
        Ok(Events { response, decoder, bytes: 0, end: None })
    }

    fn lost(&mut self, connection: Events) {
        self.last_event_id = connection.decoder.last_event_id().clone();
    }
}

/// Updates, and bytes, in one go.
const ENOUGH: (usize, usize) = (64, 64 * 1024);

#[derive(Debug)]
pub(super) struct Events {
    response: reqwest::Response,
    decoder: Decoder,
    /// Read, and not told of yet.
    bytes: usize,
    /// How it ended, while what came before is being given.
    end: Option<Lost>,
}

impl Events {
    fn take(&mut self, chunk: reqwest::Result<Option<Bytes>>, into: &mut Vec<Update>) -> Result<(), Lost> {
        let chunk = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err(Lost::Ended("the service ended the stream".into())),
            Err(error) => return Err(Lost::Ended(broken(&error.without_url()))),
        };
        self.bytes += chunk.len();
        let received_at = SystemTime::now();
        let fed = self.decoder.feed(&chunk, |frame| {
            if let Frame::Event(event) = frame {
                let (event, id, text) = (event.event, event.id, event.data);
                into.push(Update { event, id, text, seq: None, source: None, received_at });
            }
        });
        fed.map_err(|error| Lost::Fatal(Error::Transport(format!("the event stream holds {error}"))))
    }
}

impl Connection for Events {
    /// A service that flushes each event sends each as a chunk: what is there already comes along, and costs no wait of its own.
    async fn read(&mut self, into: &mut Vec<Update>) -> Result<Read, Lost> {
        if let Some(end) = self.end.take() {
            return Err(end);
        }
        // Bytes are here where the last wait was given up while it gathered.
        if self.bytes == 0 {
            let chunk = self.response.chunk().await;
            self.take(chunk, into)?;
        }
        while into.len() < ENOUGH.0 && self.bytes < ENOUGH.1 {
            turn().await;
            let Some(chunk) = self.response.chunk().now_or_never() else { break };
            if let Err(end) = self.take(chunk, into) {
                self.end = Some(end);
                break;
            }
        }
        Ok(Read { bytes: std::mem::take(&mut self.bytes) })
    }

    fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }
}

/// Lets the tasks that wait for their turn have it: the one among them that reads the socket hands over one chunk at a time.
/// tokio's own `yield_now` would ask the system for news first.
async fn turn() {
    let mut had = false;
    poll_fn(|cx| {
        if had {
            return Poll::Ready(());
        }
        had = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What the library says of it names no cause; its innermost error does.
fn broken(error: &(dyn std::error::Error + 'static)) -> String {
    let innermost = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
    format!("the connection broke: {innermost}")
}

impl From<Unopened> for Refusal {
    fn from(unopened: Unopened) -> Self {
        let Unopened { error, status, wait } = unopened;
        // A wrong setting stays wrong, and what answers with a wrong certificate is not the service.
        let is_final = matches!(error, Error::Configuration(_) | Error::Argument(_) | Error::Certificate(_));
        Refusal { reason: error.to_string(), status, error: Some(error), wait, is_final }
    }
}
