//! The Broadcast API's event stream (specification 6.1) as a stream's wire.

use super::item::Update;
use super::options::Options;
use super::session::{Connection, Lost, Read, Refusal, Wire};
use super::sse::{Decoder, Frame};
use crate::error::Error;
use crate::operation::Request;
use crate::transport::{Transport, Unopened};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[derive(Debug)]
pub(super) struct EventStream {
    transport: Transport,
    request: Request,
    limit: usize,
    last_event_id: Arc<str>,
}

impl EventStream {
    pub(super) fn new(transport: Transport, request: Request, options: &Options) -> Self {
        let last_event_id = options.last_event_id.as_deref().unwrap_or_default().into();
        EventStream { transport, request, limit: options.max_event_bytes, last_event_id }
    }
}

impl Wire for EventStream {
    type Connection = Events;

    async fn connect(&mut self) -> Result<Events, Refusal> {
        let response = self.transport.open_event_stream(&self.request, &self.last_event_id).await?;
        Ok(Events { response, decoder: Decoder::new(self.limit, self.last_event_id.clone()) })
    }

    fn lost(&mut self, connection: Events) {
        self.last_event_id = connection.decoder.last_event_id().clone();
    }
}

#[derive(Debug)]
pub(super) struct Events {
    response: reqwest::Response,
    decoder: Decoder,
}

impl Connection for Events {
    async fn read(&mut self, into: &mut Vec<Update>) -> Result<Read, Lost> {
        let chunk = match self.response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err(Lost::Ended("the service ended the stream".into())),
            Err(error) => return Err(Lost::Ended(broken(&error.without_url()))),
        };
        let received_at = SystemTime::now();
        let fed = self.decoder.feed(&chunk, |frame| {
            if let Frame::Event(event) = frame {
                let (event, id, text) = (event.event, event.id, event.data);
                into.push(Update { event, id, text, seq: None, source: None, received_at });
            }
        });
        fed.map_err(|error| Lost::Fatal(Error::Transport(format!("the event stream holds {error}"))))?;
        Ok(Read { bytes: chunk.len() })
    }

    fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }
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
