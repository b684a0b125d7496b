//! The Broadcast API's event stream as a stream's wire.

use super::item::{Item, Notice, Update};
use super::options::Options;
use super::session::{Connection, Lost, Read, Refusal, Wire, refuses_position};
use super::spent::Spent;
use super::sse::{Decoder, Frame};
use crate::advice::Advice;
use crate::error::Error;
use crate::machine;
use crate::operation::Request;
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{StreamOpenError, Transport};
use bytes::Bytes;
use futures_util::FutureExt;
use reqwest::header::HeaderValue;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;

/// A longer last event id is not sent back: servers refuse long headers.
pub const MAX_ID_BYTES: usize = 1024;
/// After so many refusals in a row that may be due to the id it is left out.
const MAX_REFUSALS: u32 = 2;

#[derive(Debug)]
pub(super) struct EventStream {
    transport: Transport,
    request: Request,
    limit: usize,
    silence_limit: Duration,
    last_event_id: Arc<str>,
    /// Server errors in a row with the id.
    refusals: u32,
    remark: Option<Scrubbed>,
    spent: Arc<Spent>,
}

impl EventStream {
    pub(super) fn new(transport: Transport, request: Request, options: &Options, spent: Arc<Spent>) -> Self {
        let last_event_id = options.last_event_id.as_deref().unwrap_or_default().into();
        let (limit, silence_limit) = (options.max_event_bytes, options.silence_limit);
        EventStream { transport, request, limit, silence_limit, last_event_id, refusals: 0, remark: None, spent }
    }

    async fn open(&self, id: &str) -> Result<reqwest::Response, Refusal> {
        let opened = timeout(self.silence_limit, self.transport.open_event_stream(&self.request, id)).await;
        Ok(opened.map_err(|_| Refusal::silent(self.silence_limit))??)
    }

    /// The id to send; an error says why it is not sent.
    fn id(&self) -> Result<&str, Scrubbed> {
        let id = &*self.last_event_id;
        if id.len() > MAX_ID_BYTES {
            Err(Scrubbed::local(format!(
                "the last event id has {} bytes, more than {MAX_ID_BYTES}, and was not sent",
                id.len()
            )))
        } else if HeaderValue::from_bytes(id.as_bytes()).is_err() {
            Err("the last event id holds a control character and was not sent".into())
        } else if self.refusals >= MAX_REFUSALS {
            Err("the service failed when it was sent the last event id: it was asked without it".into())
        } else {
            Ok(id)
        }
    }
}

impl Wire for EventStream {
    type Connection = Events;

    async fn connect(&mut self) -> Result<Events, Refusal> {
        let (id, mut remark) = match self.id() {
            Ok(id) => (id.to_owned(), None),
            Err(why) => (String::new(), Some(why)),
        };
        let mut opened = self.open(&id).await;
        if let Err(refusal) = &opened
            && !id.is_empty()
        {
            if refuses_position(refusal.status) {
                let status = refusal.status.unwrap_or_default();
                remark = Some(Scrubbed::local(format!(
                    "the service refused the last event id (status {status}): it was asked without it"
                )));
                opened = self.open("").await;
            } else if refusal.status == Some(500) {
                self.refusals += 1;
            }
        }
        let response = opened?;
        self.refusals = 0;
        self.remark = remark;
        // What an id was not sent for is over: the next one is the service's own.
        let last_event_id = if self.remark.is_some() { "".into() } else { self.last_event_id.clone() };
        let decoder = Decoder::new(self.limit, last_event_id).reusing(self.spent.clone());
        let scrubber = self.transport.scrubber().clone();
        Ok(Events { response, decoder, scrubber, limit: self.limit, bytes: 0, end: None })
    }

    fn lost(&mut self, connection: Events) {
        self.last_event_id = connection.decoder.last_event_id().clone();
    }

    fn take_remark(&mut self) -> Option<Scrubbed> {
        self.remark.take()
    }
}

/// Updates, and bytes, in one go.
const ENOUGH: (usize, usize) = (64, 64 * 1024);

#[derive(Debug)]
pub(super) struct Events {
    response: reqwest::Response,
    decoder: Decoder,
    scrubber: Scrubber,
    limit: usize,
    /// Read, and not told of yet.
    bytes: usize,
    /// How it ended, while what came before is being given.
    end: Option<Lost>,
}

impl Events {
    fn take(&mut self, chunk: reqwest::Result<Option<Bytes>>, into: &mut Vec<Item>) -> Result<(), Lost> {
        let chunk = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err(Lost("the service ended the stream".into())),
            Err(error) => return Err(Lost(self.scrubber.message(broken(&error.without_url())))),
        };
        self.bytes += chunk.len();
        let received_at = machine::now();
        let limit = self.limit;
        let fed = self.decoder.feed(&chunk, |frame| match frame {
            Frame::Event(event) => {
                let (event, id, text) = (event.event, event.id, event.data);
                into.push(Item::Update(Update { event, id, text, binary: None, seq: None, source: None, received_at }));
            }
            Frame::Skipped(size) => into.push(Item::Notice(Notice::skipped("event", size, limit, received_at))),
            Frame::Comment(_) => {}
        });
        fed.map_err(|error| Lost(self.scrubber.message(format!("the event stream holds {error}"))))
    }
}

impl Connection for Events {
    /// A service that flushes each event sends each as a chunk: what is there already comes along, and costs no wait of its own.
    async fn read(&mut self, into: &mut Vec<Item>) -> Result<Read, Lost> {
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
        Ok(Read { bytes: std::mem::take(&mut self.bytes), repeats: 0 })
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

impl From<StreamOpenError> for Refusal {
    fn from(unopened: StreamOpenError) -> Self {
        let StreamOpenError { error, status, wait } = unopened;
        // A wrong setting stays wrong, and what answers with a wrong certificate is not the service.
        let is_final = matches!(error, Error::Configuration(_) | Error::Argument(_) | Error::Certificate(_));
        // That a stream tries again is its own doing.
        let is_obvious = matches!(error.advice().0, Advice::TryAgain);
        let reason = if is_obvious { error.found() } else { error.to_string() };
        Refusal { reason: Scrubbed::local(reason), status, error: Some(error), wait, is_final }
    }
}
