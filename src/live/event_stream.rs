//! Connects to the Broadcast API's event stream.

use super::item::{Item, Notice, Update};
use super::options::StreamOptions;
use super::session::{Connector, MAX_REFUSALS, ReadCounts, StreamConnection, refuses_position};
use super::sse::{SseDecoder, SseItem};
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

/// Longer last event ids are not sent, because servers refuse long headers.
pub(super) const MAX_ID_BYTES: usize = 1024;

#[derive(Debug)]
pub(super) struct EventStreamConnector {
    transport: Transport,
    request: Request,
    limit: usize,
    silence_limit: Duration,
    last_event_id: Arc<str>,
    /// Consecutive refusals of requests with the id.
    refusals: u32,
}

impl EventStreamConnector {
    pub(super) fn new(transport: Transport, request: Request, options: &StreamOptions) -> Self {
        let last_event_id = options.last_event_id.as_deref().unwrap_or_default().into();
        let (limit, silence_limit) = (options.max_event_bytes, options.silence_limit);
        EventStreamConnector { transport, request, limit, silence_limit, last_event_id, refusals: 0 }
    }

    /// Returns the id to send, or why it is not sent.
    fn sendable_id(&self) -> Result<&str, Scrubbed> {
        let id = &*self.last_event_id;
        if id.len() > MAX_ID_BYTES {
            Err(Scrubbed::local(format!(
                "the last event id has {} bytes, more than {MAX_ID_BYTES}, and was not sent",
                id.len()
            )))
        } else if HeaderValue::from_bytes(id.as_bytes()).is_err() {
            Err("the last event id holds a control character and was not sent".into())
        } else {
            Ok(id)
        }
    }
}

impl Connector for EventStreamConnector {
    type Connection = EventStreamConnection;

    fn transport(&self) -> Transport {
        self.transport.for_operation(self.request.operation)
    }

    async fn connect(
        &mut self,
        transport: &Transport,
    ) -> Result<(EventStreamConnection, Option<Scrubbed>), StreamOpenError> {
        let (id, mut resume_failure) = match self.sendable_id() {
            Ok(id) => (id.to_owned(), None),
            Err(reason) => (String::new(), Some(reason)),
        };
        let mut result = transport.open_event_stream(&self.request, &id, self.silence_limit).await;
        let refusal = result.as_ref().err().filter(|failure| !id.is_empty() && refuses_position(failure.status));
        self.refusals = refusal.map_or(0, |_| self.refusals + 1);
        // One odd status says nothing about the id.
        if self.refusals == MAX_REFUSALS {
            let status = refusal.and_then(|failure| failure.status).unwrap_or_default();
            resume_failure = Some(Scrubbed::local(format!(
                "the service refused the last event id twice (status {status}): it was asked without it"
            )));
            result = transport.open_event_stream(&self.request, "", self.silence_limit).await;
        }
        let response = result?;
        self.refusals = 0;
        // An id that was not sent is dropped; the next one comes from the service.
        let last_event_id = if resume_failure.is_some() { "".into() } else { self.last_event_id.clone() };
        let decoder = SseDecoder::new(self.limit, last_event_id);
        let scrubber = self.transport.scrubber().clone();
        Ok((EventStreamConnection { response, decoder, scrubber, unreported_bytes: 0, end: None }, resume_failure))
    }

    fn disconnected(&mut self, connection: EventStreamConnection) -> Option<Duration> {
        self.last_event_id = connection.decoder.last_event_id;
        connection.decoder.retry
    }
}

/// Number of items after which one read stops.
const MAX_READ_ITEMS: usize = 64;
/// Number of bytes after which one read stops.
const MAX_READ_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct EventStreamConnection {
    response: reqwest::Response,
    decoder: SseDecoder,
    scrubber: Scrubber,
    /// Bytes received and not yet reported by `read`.
    unreported_bytes: usize,
    /// Why the connection ended, reported after the items that preceded it.
    end: Option<Scrubbed>,
}

impl EventStreamConnection {
    fn take_chunk(&mut self, chunk: reqwest::Result<Option<Bytes>>, into: &mut Vec<Item>) -> Result<(), Scrubbed> {
        let chunk = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err("the service ended the stream".into()),
            Err(error) => return Err(self.scrubber.message(describe_break(&error.without_url()))),
        };
        self.unreported_bytes += chunk.len();
        let received_at = machine::now();
        let limit = self.decoder.limit;
        let result = self.decoder.feed(&chunk, |frame| match frame {
            SseItem::Event(event) => {
                let (event, id, (text, binary)) = (event.event, event.id, Update::decode(event.data));
                into.push(Item::Update(Update { event, id, text, binary, seq: None, source: None, received_at }));
            }
            SseItem::Skipped(size) => into.push(Item::Notice(Notice::oversize_gap("event", size, limit, received_at))),
            SseItem::Comment(_) => {}
        });
        result.map_err(|error| self.scrubber.message(format!("the event stream holds {error}")))
    }
}

impl StreamConnection for EventStreamConnection {
    /// Gathers all chunks that have arrived, since a service that flushes each event sends each in a chunk of its own.
    async fn read(&mut self, into: &mut Vec<Item>) -> Result<ReadCounts, Scrubbed> {
        if let Some(end) = self.end.take() {
            return Err(end);
        }
        // Nonzero if the last call was cancelled while it gathered.
        if self.unreported_bytes == 0 {
            let chunk = self.response.chunk().await;
            self.take_chunk(chunk, into)?;
        }
        while into.len() < MAX_READ_ITEMS && self.unreported_bytes < MAX_READ_BYTES {
            yield_once().await;
            let Some(chunk) = self.response.chunk().now_or_never() else { break };
            if let Err(end) = self.take_chunk(chunk, into) {
                self.end = Some(end);
                break;
            }
        }
        Ok(ReadCounts { bytes: std::mem::take(&mut self.unreported_bytes), repeats: 0 })
    }
}

/// Lets other ready tasks run, among them the one that reads the socket and passes on one chunk at a time.
/// Unlike tokio's `yield_now`, this does not poll the I/O driver first.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Describes a read error by its innermost source: reqwest's own message does not name the cause.
fn describe_break(error: &(dyn std::error::Error + 'static)) -> String {
    let innermost = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
    format!("the connection broke: {innermost}")
}
