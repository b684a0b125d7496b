//! Requests the state of a game for its live stream.

use super::SHOTS;
use super::item::Update;
use super::rows::{self, Rows, RowsKind};
use super::session_sum::SessionSum;
use crate::error::Error;
use crate::machine;
use crate::operation::{self, Request, Value};
use crate::transport::{Purpose, Response, Transport};
use arrow_array::cast::AsArray;
use reader::Body;
use std::collections::BTreeSet;
use std::time::SystemTime;

/// Statuses that the same request would get again: access is denied, or the operation is unknown.
const REFUSALS: [u16; 3] = [403, 404, 422];
/// The source of a state that `catch_up` returned.
const CATCH_UP: &str = "catch_up";
/// The source of a state that is the sum of the box scores of sessions.
const SESSION_STATS: &str = "session_stats";

/// Where the state of a game is requested.
pub(super) enum GameState {
    /// The response is an event that the stream itself would have sent.
    Snapshot { transport: Transport, request: Request },
    /// The response is that of `catch_up` with these parts. Where it is refused, the sessions of the game are requested.
    CatchUp { transport: Transport, request: Request, game: Request, has_shots: bool },
}

/// The state of a game.
#[derive(Debug)]
pub(super) struct State {
    pub(crate) update: Update,
    pub(crate) rows: Rows,
    /// The parts that the response lacks.
    pub(crate) missing: Vec<&'static str>,
    pub(crate) requested_at: SystemTime,
}

/// Why there is no state.
#[derive(Debug)]
pub(super) struct Failure {
    /// A sentence for people.
    pub(crate) reason: String,
    /// Every route was refused, so that the same requests would be refused again.
    pub(crate) is_refusal: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_refusal = matches!(&error, Error::Api(error) if REFUSALS.contains(&error.status));
        Failure { reason: error.problem(), is_refusal }
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Failure { reason: reason.to_owned(), is_refusal: false }
    }
}

impl GameState {
    /// The state of the game, with one attempt for each request.
    pub(super) async fn request(&self) -> Result<State, Failure> {
        let requested_at = machine::now();
        match self {
            GameState::Snapshot { transport, request } => {
                let response = send(transport, request).await?;
                let update = update(&response, None, response.body.as_slice().to_vec());
                state(transport, update, Vec::new(), requested_at)
            }
            GameState::CatchUp { transport, request, game, has_shots } => {
                let refusal = match send(transport, request).await {
                    Ok(response) => {
                        let missing = missing_parts(&response.body, *has_shots);
                        let update = update(&response, Some(CATCH_UP), response.body.as_slice().to_vec());
                        return state(transport, update, missing, requested_at);
                    }
                    Err(failure) if failure.is_refusal => failure.reason,
                    Err(failure) => return Err(failure),
                };
                log::info!("live stream: a gap is closed by the stats of the sessions: {refusal}");
                sum_of_sessions(transport, game, requested_at).await.map_err(|failure| Failure {
                    reason: format!("{refusal}; {}", failure.reason),
                    is_refusal: failure.is_refusal,
                })
            }
        }
    }
}

/// The parts of `catch_up` that a response lacks, beside the stats.
fn missing_parts(body: &Body, has_shots: bool) -> Vec<&'static str> {
    let bytes = body.with_padding();
    let Ok(response) = reader::Value::of(body, &bytes) else { return Vec::new() };
    let lacks = |part: &str| !response.get(part).is_some_and(|part| part.is_array());
    let plays = lacks("details").then_some("plays");
    plays.into_iter().chain((has_shots && lacks(SHOTS)).then_some(SHOTS)).collect()
}

fn state(transport: &Transport, update: Update, missing: Vec<&'static str>, at: SystemTime) -> Result<State, Failure> {
    let rows = rows::read(update.raw(), transport.config().sport).filter(|read| read.kind != RowsKind::Change);
    match rows {
        Some(rows) if !(rows.rows.is_empty() && rows.problems.is_empty()) => {
            Ok(State { update, rows, missing, requested_at: at })
        }
        _ => Err("the response holds no row of a box score".into()),
    }
}

/// The sum of the box scores of a game's sessions. The game is requested each time: a period that has begun is a new session.
async fn sum_of_sessions(transport: &Transport, game: &Request, requested_at: SystemTime) -> Result<State, Failure> {
    let response = send(transport, game).await?;
    let (mut sum, mut problems, mut last, mut refusal) = (SessionSum::default(), Vec::new(), None, None);
    for id in session_ids(transport, game, &response)? {
        let arguments = vec![("session_id".into(), Value::Text(id.clone()))];
        for request in operation::call("stats", &arguments, transport.config())?.requests {
            let response = match send(transport, &request).await {
                Err(failure) if failure.is_refusal => {
                    refusal = Some(failure);
                    continue;
                }
                response => response?,
            };
            let read = rows::read(response.body.as_slice(), transport.config().sport);
            let mut read = read.filter(|read| read.kind == RowsKind::Snapshot).ok_or_else(|| {
                Failure::from(&*format!("the stats of session {} hold no box score", transport.scrubber().id(&id)))
            })?;
            problems.append(&mut read.problems);
            sum.add(read);
            last = Some(response);
        }
    }
    if let Some(refusal) = refusal {
        // A period that has just begun may be unknown for a while.
        return Err(Failure { is_refusal: last.is_none(), ..refusal });
    }
    let last = last.ok_or_else(|| Failure::from("the game has no sessions"))?;
    let update = update(&last, Some(SESSION_STATS), sum.into_body().into_bytes());
    let mut state = state(transport, update, Vec::new(), requested_at)?;
    state.rows.problems = problems;
    Ok(state)
}

/// The sessions of a game; one that the response repeats is one.
fn session_ids(transport: &Transport, game: &Request, response: &Response) -> Result<Vec<String>, Failure> {
    const COLUMN: &str = "session_id";
    let Some(resource) = game.resource else { return Ok(Vec::new()) };
    let table = tables::decode(resource, "sessions", Some(&[COLUMN.to_owned()]), &response.body, &game.context)
        .map_err(|error| Error::decode(error, transport.scrubber()))?;
    let (ids, mut seen) = (table.column_by_name(COLUMN).and_then(|ids| ids.as_string_opt::<i32>()), BTreeSet::new());
    Ok(ids.into_iter().flatten().flatten().filter(|id| seen.insert(*id)).map(str::to_owned).collect())
}

async fn send(transport: &Transport, request: &Request) -> Result<Response, Failure> {
    let transport = transport.for_operation(request.operation);
    let response = transport.send_for(request, Purpose::GameState).await.and_then(|response| match response.refusal {
        Some(refusal) => Err(*refusal),
        None => Ok(response),
    });
    response.map_err(|error| {
        transport.trace.record_error(&error);
        error.into()
    })
}

fn update(response: &Response, source: Option<&str>, message: Vec<u8>) -> Update {
    let ((text, binary), source, received_at) = (Update::decode(message), source.map(Into::into), response.fetched_at);
    Update { event: None, id: "".into(), text, binary, seq: None, source, received_at }
}
