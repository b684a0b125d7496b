//! The Broadcast event stream: the whole game as one document for each change, and heartbeats.

use super::game::GameReader;
use super::snapshot;
use super::stream_faults::{ActiveFault, StreamAction, StreamFault, sleep_until};
use crate::connection::{Cut, CutSwitch};
use crate::service::Service;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream::{self, Stream};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

pub(crate) const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

struct EventStreamSender {
    reader: GameReader,
    connection: CutSwitch,
    cuts: watch::Receiver<bool>,
    fault: ActiveFault,
    /// The changes covered by the last event.
    sent_changes: usize,
    events: usize,
}

pub(super) fn open(
    reader: GameReader,
    fault: Option<StreamFault>,
    connection: CutSwitch,
    last_event_id: Option<&str>,
) -> Response {
    let streams = &reader.service.live.streams;
    let cuts = streams.cuts();
    // A client that has seen the current game waits for the next change. Foreign and future ids count as none.
    let changes = reader.game.catch_up(&reader.service);
    let seen = last_event_id.filter(|_| streams.with_ids()).and_then(|id| id.parse().ok());
    let sent_changes = seen.filter(|seen| *seen <= changes).unwrap_or(0);
    let stream =
        EventStreamSender { reader, connection, cuts, fault: ActiveFault::new(fault), sent_changes, events: 0 };
    response(stream::unfold(stream, |mut stream| async move {
        let chunk = stream.chunk().await;
        Some((Ok(chunk), stream))
    }))
}

/// The sample game (`mock=true`), in an endless loop.
pub(super) fn mock(service: Arc<Service>) -> Response {
    const STEP: Duration = Duration::from_millis(50);
    response(stream::unfold(0, move |step| {
        let service = service.clone();
        async move {
            sleep(STEP).await;
            let document = tokio::task::spawn_blocking(move || {
                snapshot::mock(&service.season, step).and_then(|snapshot| serde_json::to_string(&snapshot).ok())
            });
            let document = document.await.ok()??;
            Some((Ok(format!("data: {document}\n\n").into()), step + 1))
        }
    }))
}

pub(crate) fn response(chunks: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(chunks));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

impl EventStreamSender {
    async fn chunk(&mut self) -> Bytes {
        // A request for more means that the last event was sent.
        self.reader.record_sent(self.sent_changes);
        let mut cuts = self.cuts.clone();
        tokio::select! {
            biased;
            Ok(()) = cuts.changed() => {
                // The next frame is not sent: the attempt ends the connection.
                self.connection.arm(Cut::now(*cuts.borrow()));
                HEARTBEAT
            }
            chunk = self.next() => chunk,
        }
    }

    async fn next(&mut self) -> Bytes {
        let silence = self.reader.service.live.streams.silence();
        loop {
            match self.fault.next(self.events) {
                StreamAction::Bytes(bytes) => return bytes.into(),
                StreamAction::Stall { heartbeats: false, until } => sleep_until(until).await,
                StreamAction::Stall { heartbeats: true, until } => {
                    let next = Instant::now() + silence;
                    sleep_until(Some(until.map_or(next, |until| until.min(next)))).await;
                    if until.is_none_or(|until| next <= until) {
                        return HEARTBEAT;
                    }
                }
                StreamAction::Events => {
                    return tokio::select! {
                        changes = self.reader.next_change(self.sent_changes) => self.event(changes),
                        () = sleep(silence) => HEARTBEAT,
                    };
                }
            }
        }
    }

    fn event(&mut self, changes: usize) -> Bytes {
        let service = &self.reader.service;
        let snapshot = snapshot::of(&service.season, self.reader.game.index, service.now());
        // All keys are texts, so serialization cannot fail.
        let document = serde_json::to_string(&snapshot).unwrap_or_default();
        (self.sent_changes, self.events) = (changes, self.events + 1);
        let id = if service.live.streams.with_ids() { format!("id: {changes}\n") } else { String::new() };
        format!("{id}data: {document}\n\n").into()
    }
}
