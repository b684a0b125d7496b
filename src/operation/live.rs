//! Subscriptions of streams. They are not calls: their responses do not end.

use super::arguments::ArgumentReader;
use super::{Arguments, Auth, MOCK, Request, encode};
use crate::error::Result;
use crate::table::Context;

/// The event stream of a game, from its `schedule_id`.
pub fn live_stats(arguments: &Arguments) -> Result<Request> {
    let mut given = ArgumentReader::new(arguments);
    let schedule_id = given.required_id("schedule_id")?;
    let mut query = vec![("schedule_id", schedule_id)];
    query.extend(given.mock()?.map(|mock| (MOCK, mock)));
    given.deny_unknown("live_stats")?;
    Ok(Request {
        operation: "live_stats",
        auth: Auth::ApiKey,
        path: "/broadcast/v1/stats/event-stream".into(),
        query: encode(&query),
        resource: None,
        context: Context::default(),
    })
}
