//! Requests the state of a game for its live stream.

use super::item::Update;
use super::session_sum::SessionSum;
use crate::error::Error;
use crate::operation::{self, Request, Value};
use crate::transport::{Purpose, Response, Transport};
use arrow_array::cast::AsArray;
use std::sync::OnceLock;
use std::time::Duration;

/// Statuses that the same request would get again: access is denied, or the operation is unknown.
const REFUSALS: [u16; 3] = [403, 404, 422];
/// The source of a state that `catch_up` returned.
const CATCH_UP: &str = "catch_up";
/// The source of a state that is the sum of the box scores of sessions.
const SESSION_STATS: &str = "session_stats";

pub(super) struct GameState {
    transport: Transport,
    request: Request,
    kind: StateSource,
}

enum StateSource {
    /// The response is an event that the stream itself would have sent.
    Snapshot,
    /// The response is that of `catch_up`. If it is refused, the sessions of this game are requested from then on.
    CatchUp { game: Request, refusal: OnceLock<String> },
}

/// Why there is no state.
struct Failure {
    why: String,
    is_refusal: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_refusal = matches!(&error, Error::Api(error) if REFUSALS.contains(&error.status));
        Failure { why: error.found(), is_refusal }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Failure { why, is_refusal: false }
    }
}

impl GameState {
    pub(super) fn snapshot(transport: Transport, request: Request) -> Self {
        GameState { transport, request, kind: StateSource::Snapshot }
    }

    pub(super) fn catch_up(transport: Transport, request: Request, game: Request) -> Self {
        GameState { transport, request, kind: StateSource::CatchUp { game, refusal: OnceLock::new() } }
    }

    /// The state of the game as an update, with one attempt for each request. An error is a sentence for people.
    pub(super) async fn ask(&self, limit: Duration) -> Result<Update, String> {
        let StateSource::CatchUp { game, refusal } = &self.kind else {
            return self.ask_snapshot(limit).await.map_err(|failure| failure.why);
        };
        if refusal.get().is_none() {
            match self.send(&self.request, limit).await {
                Ok(response) => return Ok(update(text(&response), Some(CATCH_UP), &response)),
                Err(failure) if !failure.is_refusal => return Err(failure.why),
                Err(Failure { why, .. }) => {
                    log::warn!("live stream: gaps are closed by the stats of the sessions from now on: {why}");
                    refusal.get_or_init(|| why);
                }
            }
        }
        let refused = refusal.get().map_or("", String::as_str);
        self.ask_sessions(game, limit).await.map_err(|failure| format!("{refused}; {}", failure.why))
    }

    async fn ask_snapshot(&self, limit: Duration) -> Result<Update, Failure> {
        let response = self.send(&self.request, limit).await?;
        if !response.body.as_slice().trim_ascii_start().starts_with(b"{") {
            return Err("the response holds no snapshot".to_owned().into());
        }
        Ok(update(text(&response), None, &response))
    }

    /// The sum of the box scores of a game's sessions. The game is requested each time: a period that has begun is a new session.
    async fn ask_sessions(&self, game: &Request, limit: Duration) -> Result<Update, Failure> {
        let response = self.send(game, limit).await?;
        let ids = self.session_ids(game, &response)?;
        let mut sum = SessionSum::default();
        let mut last = None;
        for id in ids {
            let wrong = || format!("the stats of session {} hold no box score", self.transport.scrubber().id(&id));
            let arguments = vec![("session_id".into(), Value::Text(id.clone()))];
            for request in operation::call("stats", &arguments, self.transport.config())?.requests {
                let response = self.send(&request, limit).await?;
                sum.add(response.body.as_slice()).ok_or_else(wrong)?;
                last = Some(response);
            }
        }
        let last = last.ok_or_else(|| "the game has no sessions".to_owned())?;
        Ok(update(sum.into_body(), Some(SESSION_STATS), &last))
    }

    fn session_ids(&self, game: &Request, response: &Response) -> Result<Vec<String>, Failure> {
        const COLUMN: &str = "session_id";
        let Some(resource) = game.resource else { return Ok(Vec::new()) };
        let table = tables::decode(resource, "sessions", Some(&[COLUMN.to_owned()]), &response.body, &game.context)
            .map_err(|wrong| Error::decode(wrong, self.transport.scrubber()))?;
        let ids = table.column_by_name(COLUMN).and_then(|ids| ids.as_string_opt::<i32>());
        Ok(ids.into_iter().flatten().flatten().map(str::to_owned).collect())
    }

    async fn send(&self, request: &Request, limit: Duration) -> Result<Response, Failure> {
        let response = self.transport.send_for(request, Purpose::StreamOnce(limit)).await?;
        if let Some(refusal) = response.refusal {
            return Err((*refusal).into());
        }
        if let Some(resource) = request.resource {
            tables::check_root(resource, &response.body)
                .map_err(|wrong| Error::decode(wrong, self.transport.scrubber()))?;
        }
        Ok(response)
    }
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(response.body.as_slice()).into_owned()
}

fn update(text: String, source: Option<&str>, response: &Response) -> Update {
    let (source, received_at) = (source.map(Into::into), response.fetched_at);
    Update { event: None, id: "".into(), text, binary: None, seq: None, source, received_at }
}
