//! A capture: recorded responses and streams, served behind the checks of signatures, keys and tokens.

use super::call::EndpointCall;
use super::connection::{Cut, CutSwitch};
use super::live::{StreamRefusal, event_stream, websocket};
use super::response::ErrorResponse;
use super::rules::DAY_MS;
use super::service::Service;
use axum::body::Bytes;
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::{SinkExt, StreamExt, stream};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_tungstenite::tungstenite::Message;

/// A recorded service.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub responses: Vec<RecordedResponse>,
    pub streams: Vec<RecordedStream>,
}

/// A response, with the request that it belongs to.
#[derive(Debug, Clone)]
pub struct RecordedResponse {
    pub path: String,
    /// Decoded, without credentials.
    pub query: Vec<(String, String)>,
    pub status: u16,
    pub body: Bytes,
}

/// A stream that was open.
#[derive(Debug, Clone)]
pub struct RecordedStream {
    pub path: String,
    /// The id in its query, or the game of its token.
    pub game_id: String,
    /// Each with its time since the connection: texts of a websocket, or chunks of an event stream.
    pub messages: Vec<(Duration, Bytes)>,
}

/// Takes the place of a token in the recorded response.
const MASK: &str = "***";

/// Parameters that do not select a response: credentials, and the range, which is compared by its overlap.
const FREE_PARAMETERS: [&str; 4] = ["apikey", "token", "from", "to"];

impl Recording {
    /// The response of the same path and parameters whose range is the requested one, or has most in common with it.
    pub(super) fn response(&self, path: &str, call: &EndpointCall) -> Option<&RecordedResponse> {
        let requested_range = range(&call.query);
        let parameters = selectors(&call.query);
        let candidates =
            self.responses.iter().filter(|entry| entry.path == path && selectors(&entry.query) == parameters);
        let common = |entry: &RecordedResponse| {
            let (start, end) = range(&entry.query);
            let is_equal = (start, end) == requested_range;
            // Both ends belong to a range.
            (is_equal, end.min(requested_range.1).saturating_sub(start.max(requested_range.0)).saturating_add(1))
        };
        let mut best = None;
        for entry in candidates {
            let common = common(entry);
            if common.1 > 0 && best.is_none_or(|(_, max_common)| common > max_common) {
                best = Some((entry, common));
            }
        }
        best.map(|(entry, _)| entry)
    }

    /// Why a stream is not opened: as it was refused, or because it was not captured.
    pub(super) fn refusal(&self, path: &str, call: &EndpointCall) -> StreamRefusal {
        match self.response(path, call) {
            Some(entry) => StreamRefusal::Recorded(entry.clone()),
            None => not_captured().into(),
        }
    }

    /// The position of a stream.
    pub(super) fn stream(&self, path: &str, game_id: &str) -> Option<usize> {
        self.streams.iter().position(|stream| stream.path == path && stream.game_id == game_id)
    }

    /// The objects of an array in all recorded bodies of a path, each once by its id.
    pub(super) fn objects(&self, path: &str, array: &str, id: &str) -> Vec<Value> {
        let mut objects = BTreeMap::new();
        for entry in self.responses.iter().filter(|entry| entry.path == path) {
            let body: Value = serde_json::from_slice(&entry.body).unwrap_or_default();
            for object in body[array].as_array().into_iter().flatten() {
                objects.insert(object[id].to_string(), object.clone());
            }
        }
        objects.into_values().collect()
    }
}

impl RecordedResponse {
    /// Its body, with a token in the place of the mask.
    pub(super) fn body_with(&self, token: &str) -> Bytes {
        let body = String::from_utf8_lossy(&self.body);
        if body.contains(MASK) { body.replace(MASK, token).into() } else { self.body.clone() }
    }
}

pub(super) fn not_captured() -> ErrorResponse {
    ErrorResponse::new(404, "Not captured")
}

/// The parameters that select a response, in one order.
fn selectors(query: &[(String, String)]) -> Vec<&(String, String)> {
    let mut parameters: Vec<_> = query.iter().filter(|(name, _)| !FREE_PARAMETERS.contains(&name.as_str())).collect();
    parameters.sort();
    parameters
}

/// From start to end, in epoch milliseconds; everything without a range.
fn range(query: &[(String, String)]) -> (i64, i64) {
    let edge = |name: &str| query.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.parse::<i64>().ok());
    match (edge("from"), edge("to")) {
        (None, None) => (0, i64::MAX - 1),
        (start, end) => {
            let start = start.unwrap_or(0);
            (start, end.unwrap_or(start.saturating_add(DAY_MS)))
        }
    }
}

/// Opens a recorded stream; `messages` arrive at their recorded pace, from the first for each connection.
pub(super) fn open(
    service: &Arc<Service>,
    entry: &RecordedStream,
    request: &mut Parts,
    connection: &CutSwitch,
    is_websocket: bool,
) -> Result<Response, StreamRefusal> {
    let messages = entry.messages.clone();
    let cuts = service.live.streams.cuts();
    let start = Instant::now();
    if !is_websocket {
        let silence = service.live.streams.silence();
        let state = (messages.into_iter(), cuts, connection.clone());
        return Ok(event_stream::response(stream::unfold(
            state,
            move |(mut messages, mut cuts, connection)| async move {
                let next = messages.next();
                let (at, bytes) = match next {
                    Some((after, bytes)) => (start + after, bytes),
                    None => (Instant::now() + silence, event_stream::HEARTBEAT),
                };
                let is_cut = timeout_at(at, cuts.changed()).await.is_ok();
                if is_cut {
                    // The next chunk is not sent: the attempt ends the connection.
                    connection.arm(Cut::now(*cuts.borrow()));
                }
                Some((Ok(bytes), (messages, cuts, connection)))
            },
        )));
    }
    websocket::upgrade(request, move |mut socket| async move {
        let mut messages = messages.into_iter();
        let mut next = messages.next();
        loop {
            let due = async {
                match &next {
                    Some((after, _)) => sleep_until(start + *after).await,
                    None => std::future::pending().await,
                }
            };
            let result = tokio::select! {
                message = socket.next() => websocket::respond(&mut socket, message).await,
                () = due => match next.take() {
                    Some((_, text)) => {
                        next = messages.next();
                        let message = String::from_utf8(text.to_vec()).map(Message::text);
                        socket.send(message.unwrap_or_else(|_| Message::binary(text))).await
                    }
                    None => Ok(()),
                },
            };
            if result.is_err() {
                return;
            }
        }
    })
}

impl Service {
    /// The body of a recorded response; a masked token becomes one that opens the recorded websocket.
    pub(super) fn recorded_body(&self, recording: &Recording, entry: &RecordedResponse) -> Bytes {
        let game_id = entry.path.strip_suffix("/_subscribe").and_then(|path| path.rsplit('/').next());
        let Some(game_id) = game_id.filter(|_| entry.status == 200) else { return entry.body.clone() };
        let place = recording.stream(super::live::WEBSOCKET, game_id).unwrap_or(usize::MAX);
        match self.live.tokens.issue(place, super::Privileges::default()) {
            Some(token) => entry.body_with(&token),
            None => entry.body.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response_of(query: &[(&str, &str)], body: &'static str) -> RecordedResponse {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        RecordedResponse { path: "/v1/data/a".to_owned(), query, status: 200, body: body.into() }
    }

    fn response(recording: &Recording, query: &[(&str, &str)]) -> Option<Bytes> {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let call = EndpointCall::new("/v1/data/a", query, 0);
        recording.response("/v1/data/a", &call).map(|entry| entry.body.clone())
    }

    #[test]
    fn a_request_gets_the_response_of_its_parameters_with_the_nearest_range() {
        let responses = vec![
            response_of(&[("from", "10"), ("to", "20")], "early"),
            response_of(&[("from", "20"), ("to", "90")], "late"),
            response_of(&[("id", "x")], "other"),
        ];
        let recording = Recording { responses, streams: Vec::new() };
        for (query, body) in [
            (&[("from", "10"), ("to", "20")][..], Some("early")),
            (&[("to", "90"), ("from", "20"), ("apikey", "k")], Some("late")),
            (&[("from", "15"), ("to", "50")], Some("late")),
            (&[("from", "1"), ("to", "21")], Some("early")),
            (&[("from", "91"), ("to", "99")], None),
            (&[("id", "x")], Some("other")),
            (&[("id", "y")], None),
            (&[], Some("late")),
        ] {
            assert_eq!(response(&recording, query).as_deref(), body.map(str::as_bytes), "{query:?}");
        }
    }

    #[test]
    fn a_masked_token_is_replaced() {
        assert_eq!(&response_of(&[], r#"{"token":"***"}"#).body_with("t")[..], br#"{"token":"t"}"#);
        assert_eq!(&response_of(&[], r#"{"message":"no"}"#).body_with("t")[..], br#"{"message":"no"}"#);
    }

    #[test]
    fn objects_of_several_bodies_are_listed_once() {
        let responses = vec![
            response_of(&[], r#"{"games":[{"id":1},{"id":2}]}"#),
            response_of(&[], r#"{"games":[{"id":2}]}"#),
            response_of(&[], "<"),
        ];
        let recording = Recording { responses, streams: Vec::new() };
        assert_eq!(recording.objects("/v1/data/a", "games", "id").len(), 2);
    }
}
