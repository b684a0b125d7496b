//! The request of an event stream. It is not a call: its response does not end.

use super::argument::{Argument, Kind, arg};
use super::arguments::CheckedArguments;
use super::declared::MOCK;
use super::{Arguments, Auth, Request, encode};
use crate::config::Sport;
use crate::error::Result;
use tables::Context;

pub(super) const NAME: &str = "live_stats";

pub(super) static ARGUMENTS: &[Argument] =
    &[arg("schedule_id", Kind::Id, "the game, by its schedule id.").parameter("schedule_id"), MOCK];

/// The event stream of a game (docs/wire.md, "Event stream").
pub fn live_stats(arguments: &Arguments) -> Result<Request> {
    let query = CheckedArguments::new(NAME, ARGUMENTS, arguments)?.parameters()?;
    Ok(Request {
        operation: NAME,
        auth: Auth::ApiKey,
        path: "/broadcast/v1/stats/event-stream".into(),
        query: encode(&query),
        resource: None,
        sport: Sport::Basketball,
        context: Context::default(),
    })
}

/// The request of one document like those of an event stream: `broadcast_stats` with the stream's arguments.
pub(crate) fn snapshot_of(stream: &Request) -> Request {
    Request { operation: "broadcast_stats", path: "/broadcast/v1/stats".into(), ..stream.clone() }
}
