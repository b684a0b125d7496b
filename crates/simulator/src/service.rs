//! Handles a request: logs it, applies a fault, authenticates it, responds.

use super::auth::{self, StoredCredentials};
use super::call::{EndpointCall, pairs};
use super::connection::CutSwitch;
use super::fault::Fault;
use super::faults::Faults;
use super::live::{self, LiveService, StreamRefusal};
use super::random::SimRandom;
use super::recording::Recording;
use super::request_log::RequestLog;
use super::response::{BodyCache, EndpointResponse, ErrorResponse, gateway_body, json};
use super::season::Season;
use super::{Privileges, Seen, broadcast, recording, rest};
use crate::secret::Secret;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONTENT_TYPE, DATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The header with the season's time, on every response of a simulator with a frozen clock.
const SEASON_TIME: &str = "x-simulated-date";

/// The state of a running simulator.
pub(super) struct Service {
    pub(super) season: Season,
    /// Where the season's clock is frozen.
    pub(super) frozen_at: Option<i64>,
    pub(super) faults: Faults,
    pub(super) credentials: Mutex<StoredCredentials>,
    pub(super) api_key: Secret,
    pub(super) seen: Mutex<RequestLog>,
    pub(super) ids: Mutex<SimRandom>,
    pub(super) bodies: Mutex<BodyCache>,
    pub(super) live: LiveService,
    /// Served instead of the season.
    pub(super) recording: Option<Recording>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

/// A lock whose holder panicked is still usable: the values are consistent after every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The real clock, in epoch milliseconds.
pub(super) fn real_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// A response before a fault changes it.
struct Reply {
    status: u16,
    body: Bytes,
    request_id: String,
}

impl Reply {
    fn error(refusal: &ErrorResponse, request_id: String) -> Self {
        Reply { status: refusal.status, body: refusal.body(&request_id), request_id }
    }
}

/// The handler of every request.
pub(super) async fn serve(
    State(service): State<Arc<Service>>,
    ConnectInfo(connection): ConnectInfo<CutSwitch>,
    request: Request,
) -> Response {
    let (mut request, _) = request.into_parts();
    let place = service.note(&request);
    let fault_of_request = service.faults.inject(request.uri.path(), Instant::now());
    let is_struck = fault_of_request.is_some();
    let fault = fault_of_request.unwrap_or_default();
    if fault.before_response(&connection).await {
        return Response::default();
    }
    let clock = fault.clock();
    let request_id = lock(&service.ids).uuid();
    let to_head = request.method == Method::HEAD;
    let reply = match fault.replacement(&request_id) {
        Some((status, body)) => Reply { status, body, request_id },
        None if live::is_stream(request.uri.path()) => match live::open(&service, &mut request, &connection).await {
            Ok(stream) => {
                lock(&service.seen).set_status(place, stream.status().as_u16());
                fault.open_stream(&connection);
                return add_headers(stream, clock, service.frozen_at, &request_id, &fault);
            }
            Err(StreamRefusal::Gateway(message)) => Reply { status: 401, body: gateway_body(message), request_id },
            Err(StreamRefusal::Service(refusal)) => Reply::error(&refusal, request_id),
            Err(StreamRefusal::Recorded(entry)) => Reply { status: entry.status, body: entry.body, request_id },
        },
        None => service.clone().reply(request, clock, request_id).await,
    };
    lock(&service.seen).set_status(place, reply.status);
    let mut response = head(&reply, clock, service.frozen_at, &fault);
    if is_struck {
        connection.play(fault.write(response.status(), response.headers(), &reply.body, to_head));
        return Response::default();
    }
    *response.body_mut() = Body::from(reply.body);
    response
}

/// The response without its body.
fn head(reply: &Reply, clock: SystemTime, frozen_at: Option<i64>, fault: &Fault) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    add_headers(response, clock, frozen_at, &reply.request_id, fault)
}

/// With the headers of every response, and those of a fault.
fn add_headers(
    mut response: Response,
    clock: SystemTime,
    frozen_at: Option<i64>,
    request_id: &str,
    fault: &Fault,
) -> Response {
    let headers = response.headers_mut();
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(clock)) {
        headers.insert(DATE, date);
    }
    // `Date` is the real clock's, as signatures need it; an archive plans by the season's.
    let season = frozen_at.map(|now| UNIX_EPOCH + Duration::from_millis(now.unsigned_abs()));
    if let Some(Ok(now)) = season.map(|now| HeaderValue::try_from(httpdate::fmt_http_date(now))) {
        headers.insert(SEASON_TIME, now);
    }
    if let Ok(id) = HeaderValue::try_from(request_id) {
        headers.insert("x-request-id", id);
    }
    fault.change_headers(headers);
    response
}

impl Service {
    /// Logs a request; returns its number.
    fn note(&self, request: &Parts) -> usize {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let seen = Seen {
            method: request.method.to_string(),
            path: request.uri.path().to_owned(),
            query: pairs(request.uri.query()),
            headers: request.headers.iter().map(header).collect(),
            status: 0,
        };
        lock(&self.seen).add(seen)
    }

    /// The season's clock.
    pub(super) fn now(&self) -> i64 {
        self.frozen_at.unwrap_or_else(real_now)
    }

    /// The true response. `clock` is the gateway's, `now` the season's.
    fn recorded_reply(&self, recording: &Recording, path: &str, call: &EndpointCall, request_id: String) -> Reply {
        match recording.response(path, call) {
            Some(entry) => Reply { status: entry.status, body: self.recorded_body(recording, entry), request_id },
            None => Reply::error(&recording::not_captured(), request_id),
        }
    }

    async fn reply(self: Arc<Self>, request: Parts, clock: SystemTime, request_id: String) -> Reply {
        let path = request.uri.path();
        let call = EndpointCall::new(path, pairs(request.uri.query()), self.now());
        let verdict = if path.starts_with("/broadcast/v1/") {
            auth::check_key(&request.headers, &call.query, &self.api_key).map(|()| None)
        } else if path.starts_with("/v1/") {
            auth::check_signature(&request, &lock(&self.credentials), clock).map(Some)
        } else {
            return Reply::error(&ErrorResponse::new(404, "Not found"), request_id);
        };
        let privileges = match verdict {
            Ok(privileges) => privileges,
            Err(message) => return Reply { status: 401, body: gateway_body(message), request_id },
        };
        if let Err(refusal) = check_method(&request.method, path) {
            return Reply::error(&refusal, request_id);
        }
        if let Some(recording) = &self.recording {
            return self.recorded_reply(recording, path, &call, request_id);
        }
        if let Some(privileges) = &privileges
            && let Err(refusal) = rest::check_access(&data_path(&call), privileges)
        {
            return Reply::error(&refusal, request_id);
        }
        if let (["schedule", "games", game, "_subscribe"], Some(privileges)) = (&data_path(&call)[..], privileges) {
            return match self.subscription(game, privileges) {
                Ok(body) => Reply { status: 200, body, request_id },
                Err(refusal) => Reply::error(&refusal, request_id),
            };
        }
        let target = request.uri.path_and_query().map_or(path, |target| target.as_str());
        // Read first: games played or corrected from here on need another body.
        let target = format!("{} {target}", self.live.generation());
        match self.body(target, call).await {
            Ok(body) => Reply { status: 200, body, request_id },
            Err(refusal) => Reply::error(&refusal, request_id),
        }
    }

    /// The body from the cache, or made away from the serving threads, since a game may have to be played for it. A
    /// panic in it is the service's error.
    async fn body(self: Arc<Self>, target: String, call: EndpointCall) -> Result<Bytes, ErrorResponse> {
        if let Some(body) = lock(&self.bodies).get(&target) {
            return Ok(body);
        }
        let response = tokio::task::spawn_blocking(move || {
            let EndpointResponse { body, is_final } = self.respond(&call)?;
            if is_final || self.frozen_at.is_some() {
                lock(&self.bodies).keep(target, body.clone());
            }
            Ok(body)
        });
        response.await.unwrap_or_else(|_| Err(ErrorResponse::general()))
    }

    /// A token for the websocket of one game. The body is not documented; this one is made up.
    fn subscription(&self, game: &str, privileges: Privileges) -> Result<Bytes, ErrorResponse> {
        let game = self.season.game_index(game).ok_or_else(|| ErrorResponse::new(404, "Invalid id"))?;
        let token = self.live.tokens.issue(game, privileges).ok_or_else(ErrorResponse::general)?;
        Ok(json(&serde_json::json!({ "token": token }))?.body)
    }

    fn respond(&self, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
        match call.segments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["broadcast", "v1", ref path @ ..] => broadcast::respond(&self.season, path, call),
            _ => rest::respond(&self.season, &data_path(call), call),
        }
    }
}

/// The path after `/v1/data/`; empty, and so unknown, for any other path.
fn data_path(call: &EndpointCall) -> Vec<&str> {
    match &call.segments[..] {
        [v1, data, path @ ..] if v1 == "v1" && data == "data" => path.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Everything is read with GET; the one operation that writes is not open to clients.
fn check_method(method: &Method, path: &str) -> Result<(), ErrorResponse> {
    match *method {
        Method::GET => Ok(()),
        Method::PUT if path == "/v1/data/schedule/games" => Err(ErrorResponse::new(403, "Access denied to resource")),
        _ => Err(ErrorResponse::new(405, "Method not allowed")),
    }
}
