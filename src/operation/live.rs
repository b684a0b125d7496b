//! The event streams, each declared once. Their requests are not calls: a response does not end.

use super::argument::{Argument, Kind, arg};
use super::arguments::CheckedArguments;
use super::declared::MOCK;
use super::{Arguments, Auth, Request, encode};
use crate::config::Sport;
use crate::error::{Error, Result};
use tables::Context;

/// An event stream (docs/wire.md, "Event stream").
pub(super) struct EventStream {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [Argument],
    path: &'static str,
    /// Operation and path of the request of one document like those of the stream, with the stream's arguments.
    document: (&'static str, &'static str),
}

const GAME: Argument = arg("schedule_id", Kind::Id, "the game, by its schedule id.").parameter("schedule_id");

static EVENT_STREAMS: &[EventStream] = &[
    EventStream {
        name: "live_stats",
        arguments: &[GAME, MOCK],
        path: "/broadcast/v1/stats/event-stream",
        document: ("broadcast_stats", "/broadcast/v1/stats"),
    },
    // A second one takes no more than this: a test opens it.
    #[cfg(test)]
    EventStream {
        name: "live_plays",
        arguments: &[GAME],
        path: "/broadcast/v1/plays/event-stream",
        document: ("broadcast_plays", "/broadcast/v1/plays"),
    },
];

pub(super) fn find(name: &str) -> Option<&'static EventStream> {
    EVENT_STREAMS.iter().find(|stream| stream.name == name)
}

/// The request of an event stream.
pub fn event_stream(name: &str, arguments: &Arguments) -> Result<Request> {
    let stream = find(name).ok_or_else(|| Error::internal(format!("no event stream {name}")))?;
    let query = CheckedArguments::new(stream.name, stream.arguments, arguments)?.parameters()?;
    Ok(Request {
        operation: stream.name,
        auth: Auth::ApiKey,
        path: stream.path.into(),
        query: encode(&query),
        resource: None,
        sport: Sport::Basketball,
        context: Context::default(),
    })
}

/// The request of one document like those of an event stream; itself for another request.
pub(crate) fn snapshot_of(request: &Request) -> Request {
    let document = find(request.operation).map(|stream| stream.document);
    let (operation, path) = document.unwrap_or((request.operation, &request.path));
    Request { operation, path: path.into(), ..request.clone() }
}
