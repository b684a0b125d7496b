//! The live side: the Broadcast event stream, the websocket, and games being played.
//!
//! | module | content |
//! |---|---|
//! | `game` | a game as its streams see it: its messages and readers |
//! | `play` | plays a game at a chosen speed |
//! | `snapshot` | the whole of a game as one document |
//! | `event_stream`, `websocket` | the two streams |
//! | `tokens` | websocket tokens, each for one game |
//! | `stream_faults` | heartbeats and faults of streams |

pub(super) mod event_stream;
mod game;
mod play;
pub(super) mod snapshot;
mod stream_faults;
mod tokens;
pub(super) mod websocket;

pub(super) use play::play;
pub use stream_faults::{StreamFault, StreamFaultKind, Streams};
pub use tokens::TokenStore;

use super::auth;
use super::call::{EndpointCall, pairs};
use super::connection::CutSwitch;
use super::recording::{self, RecordedResponse};
use super::response::ErrorResponse;
use super::service::{Service, lock};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use game::LiveGame;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

const EVENT_STREAM: &str = "/broadcast/v1/stats/event-stream";
pub(super) const WEBSOCKET: &str = "/live/v2/games";

/// The state of the live side.
#[derive(Debug, Default)]
pub(super) struct LiveService {
    /// By position in the season. A game is dropped when nobody reads it, unless it is retained.
    games: Mutex<HashMap<usize, Weak<LiveGame>>>,
    /// Games that were played or corrected: their messages and order cannot be recreated.
    retained_games: Mutex<Vec<Arc<LiveGame>>>,
    pub(super) tokens: TokenStore,
    pub(super) streams: Streams,
    changes: AtomicU64,
}

impl LiveService {
    /// Counts changes to final or frozen responses. Read it before making such a response.
    pub(super) fn generation(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
    pub(super) fn notify_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

/// Why a stream is not opened.
pub(super) enum StreamRefusal {
    /// By the gateway, with 401.
    Gateway(&'static str),
    Service(ErrorResponse),
    Recorded(RecordedResponse),
}

impl From<ErrorResponse> for StreamRefusal {
    fn from(refusal: ErrorResponse) -> Self {
        StreamRefusal::Service(refusal)
    }
}

pub(super) fn is_stream(path: &str) -> bool {
    [EVENT_STREAM, WEBSOCKET].contains(&path)
}

/// Opens the requested stream; its content follows the response.
pub(super) async fn open(
    service: &Arc<Service>,
    request: &mut Parts,
    connection: &CutSwitch,
) -> Result<Response, StreamRefusal> {
    let path = request.uri.path().to_owned();
    let call = EndpointCall::new(&path, pairs(request.uri.query()), service.now());
    if path == EVENT_STREAM {
        auth::check_key(&request.headers, &call.query, &service.api_key).map_err(StreamRefusal::Gateway)?;
    }
    let access = match path == WEBSOCKET {
        true => {
            Some(service.live.tokens.admit(call.text("token")).ok_or(StreamRefusal::Gateway(auth::NO_AUTHORIZATION))?)
        }
        false => None,
    };
    if request.method != Method::GET {
        return Err(ErrorResponse::new(405, "Method not allowed").into());
    }
    if let Some(recording) = &service.recording {
        let stream = match &access {
            Some(access) => recording.streams.get(access.game),
            None => {
                let game_id = call.text("schedule_id").unwrap_or_default();
                recording.stream(EVENT_STREAM, game_id).and_then(|place| recording.streams.get(place))
            }
        };
        let stream = stream.ok_or_else(|| recording.refusal(&path, &call))?;
        return recording::open(service, stream, request, connection, access.is_some());
    }
    if access.is_none() && call.flag("mock") {
        return Ok(event_stream::mock(service.clone()));
    }
    let index = match &access {
        Some(access) => Some(access.game),
        None => call.text("schedule_id").and_then(|id| service.season.game_index(id)),
    };
    let index = index.ok_or_else(|| ErrorResponse::new(404, "Invalid id"))?;
    let owner = service.clone();
    // A game may have to be played for it.
    let game = tokio::task::spawn_blocking(move || owner.game(index)).await.map_err(|_| ErrorResponse::general())?;
    let reader = game.reader(service.clone());
    let fault = service.live.streams.take_fault(&path);
    if let Some(StreamFault { kind: StreamFaultKind::Slow { bytes_per_second }, .. }) = fault {
        connection.slow_down(bytes_per_second);
    }
    match access {
        None => Ok(event_stream::open(reader, fault, connection.clone(), header(&request.headers, "last-event-id"))),
        Some(access) => websocket::open(reader, fault, connection.clone(), request, &call, access),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Service {
    /// A game as the streams see it, up to now.
    fn game(&self, index: usize) -> Arc<LiveGame> {
        let existing_game = |games: &HashMap<usize, Weak<LiveGame>>| games.get(&index).and_then(Weak::upgrade);
        if let Some(game) = existing_game(&lock(&self.live.games)) {
            return game;
        }
        let new = Arc::new(LiveGame::new(&self.season, index));
        new.catch_up(self);
        let mut games = lock(&self.live.games);
        games.retain(|_, game| game.strong_count() > 0);
        // Another thread may have been faster; the first one counts.
        existing_game(&games).unwrap_or_else(|| {
            games.insert(index, Arc::downgrade(&new));
            new
        })
    }

    fn retain(&self, game: &Arc<LiveGame>) {
        let mut games = lock(&self.live.retained_games);
        if !games.iter().any(|other| Arc::ptr_eq(other, game)) {
            games.push(game.clone());
        }
    }

    /// Changes a line after the fact; the error says why it cannot be changed.
    pub(super) fn correct(&self, index: usize, player_id: i64, stat: &str, delta: i64) -> Result<(), String> {
        let game = self.game(index);
        self.retain(&game);
        game.correct(self, player_id, stat, delta)
    }
}
