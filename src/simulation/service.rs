//! The service, written from the specification: REST, the event stream of 6.1, the websocket of 6.2. It shares no code with the
//! client or its simulator, and keeps every message, so that no loss goes unnoticed.

use super::game::{Game, TEAM};
use super::network::ServerConnection;
use super::night::{CounterScope, NightEvent, NightSettings, Termination, ThrottlePolicy};
use super::world::World;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha1::{Digest, Sha1};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, sleep_until};

/// `max_event_bytes` of the streams.
pub(super) const MAX_EVENT: usize = 4096;
/// Maximum number of messages that overtake another one.
pub(super) const MAX_OVERTAKING: u64 = 4;
/// Longer request heads are refused with 431.
const MAX_HEAD: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Call,
    Token,
    Events,
    Messages,
}

impl RequestKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            RequestKind::Call => "call",
            RequestKind::Token => "token",
            RequestKind::Events => "events",
            RequestKind::Messages => "messages",
        }
    }
}

pub(super) fn request_kind(path: &str) -> RequestKind {
    match path {
        "/broadcast/v1/stats/event-stream" => RequestKind::Events,
        "/live/v2/games" => RequestKind::Messages,
        path if path.ends_with("/_subscribe") => RequestKind::Token,
        _ => RequestKind::Call,
    }
}

/// An event or message of the service; `n` identifies it.
#[derive(Debug, Clone)]
pub(super) struct ProducedMessage {
    pub n: u64,
    pub at: Duration,
    pub source: &'static str,
    pub seq: Option<u64>,
    pub epoch: u32,
    /// The id of an event.
    id: String,
    pub text: String,
    /// When its last byte was sent on the newest connection that sent it.
    pub sent_at: Option<Duration>,
    /// The version of the change that it brings; that of an event is the last one that it shows.
    pub version: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct SimulatedService {
    pub token: u32,
    pub epoch: u32,
    pub events: Vec<ProducedMessage>,
    pub messages: Vec<ProducedMessage>,
    counters: BTreeMap<&'static str, u64>,
    /// Faults to inject once, at the next opportunity.
    pub(crate) pending_faults: Vec<NightEvent>,
    /// `n` of the messages sent on each websocket.
    pub sent_messages: Vec<Vec<u64>>,
    pub game: Game,
    /// Number of states of the game that were answered, by path.
    responses: BTreeMap<String, u64>,
}

/// Two sequenced sources, and one without numbers.
pub(super) const SOURCES: [&str; 3] = ["stats", "plays", "clock"];

impl SimulatedService {
    fn take_pending(&mut self, matches: impl Fn(&NightEvent) -> bool) -> Option<NightEvent> {
        self.pending_faults.iter().position(matches).map(|at| self.pending_faults.remove(at))
    }

    pub(super) fn restart(&mut self) {
        self.epoch += 1;
        self.counters.clear();
    }

    pub(super) fn produce(&mut self, at: Duration, settings: &NightSettings) {
        let is_oversized = self.take_pending(|event| *event == NightEvent::Oversized).is_some();
        let padding = if is_oversized { "x".repeat(MAX_EVENT) } else { String::new() };
        let n = self.events.len() as u64;
        let id = match self.take_pending(|event| matches!(event, NightEvent::InvalidId | NightEvent::LongId)) {
            Some(NightEvent::InvalidId) => format!("e{n}\u{7f}"),
            Some(_) => format!("e{n}{}", "x".repeat(2000)),
            None => format!("e{n}"),
        };
        let source = SOURCES[self.messages.len() % 7 % 3];
        let change = (source == SOURCES[0]).then(|| self.game.score(at));
        let has_odd_row = self.take_pending(|event| *event == NightEvent::OddRow).is_some();
        let teams = self.game.teams(at, settings.has_versions, has_odd_row);
        let text = format!("{{\"n\":{n},\"teams\":{teams}}}{padding}");
        self.events.push(ProducedMessage {
            n,
            at,
            source: "",
            seq: None,
            epoch: 0,
            id,
            text,
            sent_at: None,
            version: Some(self.game.history.len() as i64),
        });

        let n = self.messages.len() as u64;
        let seq = (source != "clock").then(|| {
            let counted_source = if settings.counter == CounterScope::Common { "" } else { source };
            let counter = self.counters.entry(counted_source).or_default();
            *counter += 1;
            *counter
        });
        let version = change.map(|change| change.version);
        let data = change.map_or(String::new(), |change| {
            let stats = json!({ "PTS": change.points });
            let (player, version) = (change.player, change.version);
            let data = json!({ "team_id": TEAM, "player_id": player, "stats": stats, "version": version });
            format!("\"type\":\"stats\",\"data\":{data},")
        });
        let text = match seq {
            Some(seq) => format!("{{\"source\":\"{source}\",\"seq\":{seq},\"n\":{n},{data}\"pad\":\"{padding}\"}}"),
            // A nested number that is not the message's.
            None => {
                format!("{{\"source\":\"{source}\",\"n\":{n},\"data\":{{\"seq\":{}}},\"pad\":\"{padding}\"}}", n % 5)
            }
        };
        let (epoch, id) = (self.epoch, String::new());
        self.messages.push(ProducedMessage { n, at, source, seq, epoch, id, text, sent_at: None, version });
    }
}

/// Sends what contains these messages, and records when.
async fn send_messages(
    world: &World,
    conn: &mut ServerConnection,
    bytes: &[u8],
    messages: impl Iterator<Item = u64> + Clone,
) -> Result<(), Termination> {
    let kind = conn.kind;
    let record = |at| {
        let service = &mut world.state().service;
        let all = if kind == RequestKind::Events { &mut service.events } else { &mut service.messages };
        messages.clone().for_each(|n| all[n as usize].sent_at = at);
    };
    record(None);
    conn.write(bytes).await?;
    record(Some(world.now()));
    Ok(())
}

/// Reads a request and responds; returns how the connection ends.
pub(super) async fn handle(world: &Arc<World>, conn: &mut ServerConnection) -> Termination {
    match respond_to_request(world, conn).await {
        Ok(()) => Termination::HalfClose,
        Err(termination) => termination,
    }
}

async fn respond_to_request(world: &Arc<World>, conn: &mut ServerConnection) -> Result<(), Termination> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(conn.io.read_u8().await.map_err(|_| Termination::HalfClose)?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let header = |name: &str| {
        let matches = |line: &&str| line.split(':').next().is_some_and(|key| key.eq_ignore_ascii_case(name));
        head.lines().find(matches).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let kind = request_kind(path);
    sleep(world.latency(kind)).await;
    // The client's values: time, randomness, position.
    let values = ["date", "sec-websocket-key", "last-event-id"].map(|name| header(name).unwrap_or_default());
    world.trace(&format!("service: {target} {}", values.concat()));
    if kind == RequestKind::Call {
        *world.state().attempts.entry(path.to_owned()).or_default() += 1;
    }

    if kind == RequestKind::Events && world.state().faults.denies {
        return deny(world, conn).await;
    }
    if head.len() > MAX_HEAD {
        world.count("refused heads");
        return respond(world, conn, 431, "", r#"{"message":"the head is too large"}"#).await;
    }
    if kind == RequestKind::Call && path.starts_with("/v1/data/") && is_date_off(world, header("date")) {
        world.count("refused dates");
        return respond(world, conn, 401, "", r#"{"status":401,"message":"the date is off"}"#).await;
    }
    if let Some((status, extra)) = injected_error(world, kind) {
        let body = format!(r#"{{"status":{status},"message":"simulated"}}"#);
        return respond(world, conn, status, &extra, &body).await;
    }
    match kind {
        RequestKind::Call if is_game_state(path) => game_state(world, conn, path).await,
        RequestKind::Call => {
            let size = world.state().random(kind).pick(&[0, 10, 400, 5000]);
            let body = format!(r#"{{"path":"{path}","pad":"{}"}}"#, "y".repeat(size));
            respond(world, conn, 200, "", &body).await
        }
        RequestKind::Token => {
            let body = format!(r#"{{"token":"t{}"}}"#, world.state().service.token);
            respond(world, conn, 200, "", &body).await
        }
        RequestKind::Events => events(world, conn, header("last-event-id")).await,
        RequestKind::Messages => {
            let key = header("sec-websocket-key").unwrap_or_default();
            let token = format!("t{}", world.state().service.token);
            if parameter("token") != Some(&token) {
                world.count("refused tokens");
                return respond(world, conn, 401, "", r#"{"message":"Unauthorized"}"#).await;
            }
            messages(world, conn, &key, parameter("last_seq").and_then(|last| last.parse().ok())).await
        }
    }
}

/// Refuses for ever: the body of the response never ends.
async fn deny(world: &Arc<World>, conn: &mut ServerConnection) -> Result<(), Termination> {
    world.count("denials");
    conn.write(&response_head(world, 401, "transfer-encoding: chunked\r\n")).await?;
    loop {
        conn.write(b"1\r\n \r\n").await?;
        sleep(Duration::from_secs(1)).await;
    }
}

/// The clock may be off by five minutes (docs/wire.md, "Signature").
fn is_date_off(world: &World, date: Option<String>) -> bool {
    let date = date.and_then(|date| httpdate::parse_http_date(&date).ok()).unwrap_or(UNIX_EPOCH);
    let offset = date.duration_since(world.date()).unwrap_or_else(|before| before.duration());
    offset > Duration::from_secs(300)
}

/// Whether recovery requests this path.
fn is_game_state(path: &str) -> bool {
    path == "/broadcast/v1/stats" || path.contains("/games/g1") || path == "/v1/data/stats/s1/stats"
}

/// The state of the game, which may be that of some seconds ago.
async fn game_state(world: &Arc<World>, conn: &mut ServerConnection, path: &str) -> Result<(), Termination> {
    let hang = world.state().faults.hang_state;
    if hang > world.now() {
        world.count("hanging states");
        world.wait_until(hang).await;
    }
    let now = world.now();
    let (body, is_refused) = {
        let state = world.state();
        let (settings, faults, game) = (&world.settings, &state.faults, &state.service.game);
        let has_versions = settings.has_versions && path == "/broadcast/v1/stats";
        let responses = state.service.responses.get(path).copied().unwrap_or(0);
        let until = now.saturating_sub(settings.lag_of(responses, has_versions));
        let is_odd = faults.odd_state > now;
        let body = match path {
            "/broadcast/v1/stats" => json!({ "teams": game.teams(until, has_versions, is_odd) }).to_string(),
            "/v1/data/stats/s1/stats" => json!({ "teams": game.teams(until, false, is_odd) }).to_string(),
            "/v1/data/games/g1" => json!({ "id": "g1", "results": [{ "id": "s1" }] }).to_string(),
            _ => game.catch_up(until, is_odd),
        };
        (body, settings.refuses_catch_up && path.contains("/stats/games/"))
    };
    world.count("states");
    if is_refused {
        return respond(world, conn, 404, "", r#"{"status":404,"message":"no such resource"}"#).await;
    }
    respond(world, conn, 200, "", &body).await?;
    // An answer that was cut does not count: the next one comes from the same copy.
    *world.state().service.responses.entry(path.to_owned()).or_default() += 1;
    Ok(())
}

/// Returns the status and headers of an error to inject.
fn injected_error(world: &World, kind: RequestKind) -> Option<(u16, String)> {
    let now = world.now();
    let mut state = world.state();
    let state = &mut *state;
    if let Some((status, share, until)) = state.faults.errors
        && now < until
        && state.random(kind).chance() < share
    {
        *state.counts.entry("server errors").or_default() += 1;
        return Some((status, String::new()));
    }
    let (throttle, until) = state.faults.throttle.filter(|_| kind == RequestKind::Call)?;
    let extra = match throttle {
        _ if now >= until => return None,
        ThrottlePolicy::Random(share) if state.random(kind).chance() < share => String::new(),
        ThrottlePolicy::Storm(0) => String::new(),
        ThrottlePolicy::Storm(after) => format!("retry-after: {after}\r\n"),
        ThrottlePolicy::Bucket(rate) => {
            let (tokens, since) = state.faults.tokens;
            let tokens = (tokens + (now - since).as_secs_f64() * rate).min(rate);
            let is_accepted = tokens >= 1.0;
            state.faults.tokens = (tokens - f64::from(u8::from(is_accepted)), now);
            if is_accepted {
                return None;
            }
            String::new()
        }
        ThrottlePolicy::Random(_) => return None,
    };
    *state.counts.entry("refusals (429)").or_default() += 1;
    state.last_refusal = Some(now);
    Some((429, extra))
}

fn response_head(world: &World, status: u16, extra: &str) -> Vec<u8> {
    let date = httpdate::fmt_http_date(world.date());
    format!("HTTP/1.1 {status} X\r\ndate: {date}\r\n{extra}\r\n").into_bytes()
}

async fn respond(
    world: &World,
    conn: &mut ServerConnection,
    status: u16,
    extra: &str,
    body: &str,
) -> Result<(), Termination> {
    let extra =
        format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{extra}", body.len());
    let mut bytes = response_head(world, status, &extra);
    bytes.extend_from_slice(body.as_bytes());
    conn.write(&bytes).await
}

async fn events(world: &Arc<World>, conn: &mut ServerConnection, last: Option<String>) -> Result<(), Termination> {
    let now = world.now();
    if last.is_some() && world.state().faults.refuse_position > now {
        world.count("refused positions");
        return respond(world, conn, 400, "", r#"{"message":"that id is not known"}"#).await;
    }
    let mut next = {
        let state = world.state();
        let id = last.filter(|_| world.settings.resumes);
        let position = id.and_then(|id| state.service.events.iter().position(|message| message.id == id));
        position.map_or(state.service.events.len(), |at| at + 1)
    };
    if next < world.state().service.events.len() {
        world.count("resumptions");
    }
    conn.write(&response_head(world, 200, "content-type: text/event-stream\r\n")).await?;
    let mut news = world.new_messages.count();
    let mut heartbeat = Instant::now() + Duration::from_secs(10);
    loop {
        let is_silent = world.state().faults.silence > world.now();
        let (mut text, first) = (String::new(), next);
        if !is_silent {
            let mut state = world.state();
            if let Some(NightEvent::Retry(ms)) =
                state.service.take_pending(|event| matches!(event, NightEvent::Retry(_)))
            {
                let _ = write!(text, "retry: {ms}\n\n");
            }
            for message in &state.service.events[next..] {
                let _ = write!(text, "id: {}\ndata: {}\n\n", message.id, message.text);
                next += 1;
            }
        }
        send_messages(world, conn, text.as_bytes(), first as u64..next as u64).await?;
        tokio::select! {
            biased;
            (count, ()) = world.new_messages.wait_beyond(news) => news = count,
            read = conn.io.read_u8() => if read.is_err() { return Ok(()) },
            () = sleep_until(heartbeat) => {
                heartbeat += Duration::from_secs(10);
                if world.state().faults.silence <= world.now() {
                    conn.write(b":\n\n").await?;
                }
            }
        }
    }
}

async fn messages(
    world: &Arc<World>,
    conn: &mut ServerConnection,
    key: &str,
    last: Option<u64>,
) -> Result<(), Termination> {
    let now = world.now();
    if last.is_some() && world.state().faults.refuse_position > now {
        world.count("refused positions");
        return respond(world, conn, 400, "", r#"{"message":"last_seq is too old"}"#).await;
    }
    let accept = STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
    let upgrade = format!("connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n");
    conn.write(&response_head(world, 101, &upgrade)).await?;
    let mut connection = MessageQueue::open(world, last);
    world.count(if last.is_some() { "resumptions" } else { "replays from the beginning" });
    let mut news = world.new_messages.count();
    let mut heartbeat = Instant::now() + Duration::from_secs(15);
    loop {
        let batch = connection.take(world);
        send_messages(world, conn, &batch.bytes, batch.messages.iter().copied()).await?;
        if let Some(termination) = batch.close {
            world.count("closes");
            return Err(termination);
        }
        tokio::select! {
            biased;
            (count, ()) = world.new_messages.wait_beyond(news) => news = count,
            read = conn.io.read_u8() => if read.is_err() { return Ok(()) },
            () = sleep_until(heartbeat) => {
                heartbeat += Duration::from_secs(15);
                if world.state().faults.silence <= world.now() {
                    let mut ping = Vec::new();
                    frame(9, b"", &mut ping);
                    conn.write(&ping).await?;
                }
            }
        }
    }
}

/// What a websocket sends next.
struct MessageQueue {
    /// Its number.
    connection: usize,
    /// The message after those that were queued.
    next: usize,
    queue: VecDeque<u64>,
    /// The overtaken message, and how many messages still overtake it.
    overtaken: Option<(u64, u64)>,
}

#[derive(Default)]
struct MessageBatch {
    bytes: Vec<u8>,
    messages: Vec<u64>,
    close: Option<Termination>,
}

impl MessageQueue {
    /// Resends the sequenced sources from the position, or from the beginning of the epoch.
    fn open(world: &World, last: Option<u64>) -> Self {
        let mut state = world.state();
        let epoch = state.service.epoch;
        let is_missed = |message: &&ProducedMessage| {
            let is_later = message.seq.is_some_and(|seq| last.is_none_or(|last| seq > last));
            world.settings.resends && message.epoch == epoch && is_later
        };
        let messages = state.service.messages.iter().filter(is_missed).filter(|message| is_requested(world, message));
        let queue: VecDeque<u64> = messages.map(|message| message.n).collect();
        state.service.sent_messages.push(Vec::new());
        let (connection, next) = (state.service.sent_messages.len() - 1, state.service.messages.len());
        MessageQueue { connection, next, queue, overtaken: None }
    }

    /// What is sent now: nothing while the service is silent.
    fn take(&mut self, world: &World) -> MessageBatch {
        let mut batch = MessageBatch::default();
        let now = world.now();
        if world.state().faults.silence > now {
            return batch;
        }
        let mut state = world.state();
        let state = &mut *state;
        let overtakes = state.faults.overtake > now;
        for message in &state.service.messages[self.next..] {
            self.next += 1;
            if !is_requested(world, message) {
                continue;
            }
            if overtakes && self.overtaken.is_none() {
                let count = state.random[RequestKind::Messages as usize].between(1, MAX_OVERTAKING);
                self.overtaken = Some((message.n, count));
                continue;
            }
            self.queue.push_back(message.n);
            *state.counts.entry("overtaken messages").or_default() += u64::from(self.overtaken.is_some());
            self.overtaken = self.overtaken.map(|(n, left)| (n, left - 1));
            self.queue.extend(self.overtaken.take_if(|(_, left)| *left == 0).map(|(n, _)| n));
        }
        for n in self.queue.drain(..) {
            state.service.sent_messages[self.connection].push(n);
            batch.messages.push(n);
            frame(1, state.service.messages[n as usize].text.as_bytes(), &mut batch.bytes);
        }
        if let Some(fault) = state.service.take_pending(|e| matches!(e, NightEvent::HugeFrame | NightEvent::Close(_))) {
            batch.end_with(fault);
        }
        batch
    }
}

impl MessageBatch {
    fn end_with(&mut self, fault: NightEvent) {
        if let NightEvent::Close(code) = fault {
            frame(8, &code.to_be_bytes(), &mut self.bytes);
            self.close = Some(Termination::HalfClose);
        } else {
            self.bytes.extend_from_slice(&[0x81, 127]);
            self.bytes.extend_from_slice(&(1_u64 << 62).to_be_bytes());
            self.close = Some(Termination::Stall);
        }
    }
}

/// Whether a client requests the source of this message.
pub(super) fn is_requested(world: &World, message: &ProducedMessage) -> bool {
    !(world.settings.is_subset && message.source == "plays")
}

/// Appends a frame without a mask, as servers send it (RFC 6455, 5.2).
fn frame(opcode: u8, payload: &[u8], into: &mut Vec<u8>) {
    into.push(0x80 | opcode);
    match payload.len() {
        length @ ..126 => into.push(length as u8),
        length => {
            into.push(126);
            into.extend_from_slice(&(length as u16).to_be_bytes());
        }
    }
    into.extend_from_slice(payload);
}
