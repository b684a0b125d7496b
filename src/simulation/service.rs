//! The service, written from the specification: REST, the event stream of 6.1, the websocket of 6.2. It shares no code with the
//! client or its simulator, and remembers what it made, so that nothing can go missing unseen.

use super::network::Conn;
use super::night::{Counter, Event, How, Settings, Throttle};
use super::world::World;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, sleep_until};

/// `max_event_bytes` of the streams.
pub(super) const MAX_EVENT: usize = 4096;
/// So many messages overtake another one at most.
pub(super) const MOST_OVERTAKING: u64 = 4;
/// A request's head beyond this is refused with 431.
const MAX_HEAD: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    Token,
    Events,
    Messages,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Call => "call",
            Kind::Token => "token",
            Kind::Events => "events",
            Kind::Messages => "messages",
        }
    }
}

pub(super) fn kind(path: &str) -> Kind {
    match path {
        "/broadcast/v1/stats/event-stream" => Kind::Events,
        "/live/v2/games" => Kind::Messages,
        path if path.ends_with("/_subscribe") => Kind::Token,
        _ => Kind::Call,
    }
}

/// Something of which there is one: `n` tells it from all others.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub n: u64,
    pub at: Duration,
    pub source: &'static str,
    pub seq: Option<u64>,
    pub epoch: u32,
    /// Of an event.
    id: String,
    pub text: String,
}

#[derive(Debug, Default)]
pub(super) struct Service {
    pub token: u32,
    pub epoch: u32,
    pub events: Vec<Made>,
    pub messages: Vec<Made>,
    counters: BTreeMap<&'static str, u64>,
    /// To be done once, when there is somebody to do it to.
    pub oddities: Vec<Event>,
    /// What each websocket was sent, by `n`.
    pub sent: Vec<Vec<u64>>,
}

/// Sources with numbers, and one without.
pub(super) const SOURCES: [&str; 3] = ["stats", "plays", "clock"];

impl Service {
    fn odd(&mut self, is: impl Fn(&Event) -> bool) -> Option<Event> {
        self.oddities.iter().position(is).map(|at| self.oddities.remove(at))
    }

    pub(super) fn restart(&mut self) {
        self.epoch += 1;
        self.counters.clear();
    }

    pub(super) fn produce(&mut self, at: Duration, settings: &Settings) {
        let is_oversized = self.odd(|event| *event == Event::Oversized).is_some();
        let padding = if is_oversized { "x".repeat(MAX_EVENT) } else { String::new() };
        let n = self.events.len() as u64;
        let id = match self.odd(|event| matches!(event, Event::OddId | Event::LongId)) {
            Some(Event::OddId) => format!("e{n}\u{7f}"),
            Some(_) => format!("e{n}{}", "x".repeat(2000)),
            None => format!("e{n}"),
        };
        let text = format!("{{\"n\":{n}}}{padding}");
        self.events.push(Made { n, at, source: "", seq: None, epoch: 0, id, text });

        let n = self.messages.len() as u64;
        let source = SOURCES[(n % 7 % 3) as usize];
        let seq = (source != "clock").then(|| {
            let of = if settings.counter == Counter::Common { "" } else { source };
            let counter = self.counters.entry(of).or_default();
            *counter += 1;
            *counter
        });
        let text = match seq {
            Some(seq) => format!("{{\"source\":\"{source}\",\"seq\":{seq},\"n\":{n},\"pad\":\"{padding}\"}}"),
            // A number within, which is none of the message's.
            None => {
                format!("{{\"source\":\"{source}\",\"n\":{n},\"data\":{{\"seq\":{}}},\"pad\":\"{padding}\"}}", n % 5)
            }
        };
        self.messages.push(Made { n, at, source, seq, epoch: self.epoch, id: String::new(), text });
    }
}

/// Reads a request and answers it; how the connection ends.
pub(super) async fn handle(world: &Arc<World>, conn: &mut Conn) -> How {
    match answer(world, conn).await {
        Ok(()) => How::HalfClose,
        Err(how) => how,
    }
}

async fn answer(world: &Arc<World>, conn: &mut Conn) -> Result<(), How> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(conn.io.read_u8().await.map_err(|_| How::HalfClose)?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let header = |name: &str| {
        let is = |line: &&str| line.split(':').next().is_some_and(|one| one.eq_ignore_ascii_case(name));
        head.lines().find(is).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let kind = kind(path);
    sleep(world.latency(kind)).await;
    // What the client chose: the time, its randomness, its position.
    let chosen = ["date", "sec-websocket-key", "last-event-id"].map(|name| header(name).unwrap_or_default());
    world.trace(&format!("service: {target} {}", chosen.concat()));
    if kind == Kind::Call {
        *world.state().attempts.entry(path.to_owned()).or_default() += 1;
    }

    if kind == Kind::Events && world.state().faults.denies {
        world.count("denials");
        conn.write(&start(world, 401, "transfer-encoding: chunked\r\n")).await?;
        loop {
            conn.write(b"1\r\n \r\n").await?;
            sleep(Duration::from_secs(1)).await;
        }
    }
    if head.len() > MAX_HEAD {
        world.count("refused heads");
        return respond(world, conn, 431, "", r#"{"message":"the head is too large"}"#).await;
    }
    // The clock may be off by five minutes (specification 8).
    if kind == Kind::Call {
        let date = header("date").and_then(|date| httpdate::parse_http_date(&date).ok()).unwrap_or(UNIX_EPOCH);
        let off = date.duration_since(world.date()).unwrap_or_else(|before| before.duration());
        if off > Duration::from_secs(300) {
            world.count("refused dates");
            return respond(world, conn, 401, "", r#"{"status":401,"message":"the date is off"}"#).await;
        }
    }
    if let Some((status, extra)) = trouble(world, kind) {
        let body = format!(r#"{{"status":{status},"message":"simulated"}}"#);
        return respond(world, conn, status, &extra, &body).await;
    }
    match kind {
        Kind::Call => {
            let size = world.state().random(kind).pick(&[0, 10, 400, 5000]);
            let body = format!(r#"{{"path":"{path}","pad":"{}"}}"#, "y".repeat(size));
            respond(world, conn, 200, "", &body).await
        }
        Kind::Token => {
            let body = format!(r#"{{"token":"t{}"}}"#, world.state().service.token);
            respond(world, conn, 200, "", &body).await
        }
        Kind::Events => events(world, conn, header("last-event-id")).await,
        Kind::Messages => {
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

/// What goes wrong with this request.
fn trouble(world: &World, kind: Kind) -> Option<(u16, String)> {
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
    let (throttle, until) = state.faults.throttle.filter(|_| kind == Kind::Call)?;
    let extra = match throttle {
        _ if now >= until => return None,
        Throttle::Random(share) if state.random(kind).chance() < share => String::new(),
        Throttle::Storm(0) => String::new(),
        Throttle::Storm(after) => format!("retry-after: {after}\r\n"),
        Throttle::Bucket(rate) => {
            let (tokens, since) = state.faults.tokens;
            let tokens = (tokens + (now - since).as_secs_f64() * rate).min(rate);
            let is_accepted = tokens >= 1.0;
            state.faults.tokens = (tokens - f64::from(u8::from(is_accepted)), now);
            if is_accepted {
                return None;
            }
            String::new()
        }
        Throttle::Random(_) => return None,
    };
    *state.counts.entry("refusals (429)").or_default() += 1;
    state.last_refusal = Some(now);
    Some((429, extra))
}

fn start(world: &World, status: u16, extra: &str) -> Vec<u8> {
    let date = httpdate::fmt_http_date(world.date());
    format!("HTTP/1.1 {status} X\r\ndate: {date}\r\n{extra}\r\n").into_bytes()
}

async fn respond(world: &World, conn: &mut Conn, status: u16, extra: &str, body: &str) -> Result<(), How> {
    let extra =
        format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{extra}", body.len());
    let mut bytes = start(world, status, &extra);
    bytes.extend_from_slice(body.as_bytes());
    conn.write(&bytes).await
}

async fn events(world: &Arc<World>, conn: &mut Conn, last: Option<String>) -> Result<(), How> {
    let now = world.now();
    if last.is_some() && world.state().faults.refuse_position > now {
        world.count("refused positions");
        return respond(world, conn, 400, "", r#"{"message":"that id is not known"}"#).await;
    }
    let mut next = {
        let state = world.state();
        let known = last.filter(|_| world.settings.resumes);
        let behind = known.and_then(|id| state.service.events.iter().position(|made| made.id == id));
        behind.map_or(state.service.events.len(), |at| at + 1)
    };
    if next < world.state().service.events.len() {
        world.count("resumptions");
    }
    conn.write(&start(world, 200, "content-type: text/event-stream\r\n")).await?;
    let mut news = world.news.count();
    let mut heartbeat = Instant::now() + Duration::from_secs(10);
    loop {
        let is_silent = world.state().faults.silence > world.now();
        let mut text = String::new();
        if !is_silent {
            let mut state = world.state();
            if let Some(Event::Retry(ms)) = state.service.odd(|event| matches!(event, Event::Retry(_))) {
                let _ = write!(text, "retry: {ms}\n\n");
            }
            for made in &state.service.events[next..] {
                let _ = write!(text, "id: {}\ndata: {}\n\n", made.id, made.text);
                next += 1;
            }
        }
        conn.write(text.as_bytes()).await?;
        tokio::select! {
            biased;
            (count, ()) = world.news.beyond(news) => news = count,
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

async fn messages(world: &Arc<World>, conn: &mut Conn, key: &str, last: Option<u64>) -> Result<(), How> {
    let now = world.now();
    if last.is_some() && world.state().faults.refuse_position > now {
        world.count("refused positions");
        return respond(world, conn, 400, "", r#"{"message":"last_seq is too old"}"#).await;
    }
    let accept = STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
    let upgrade = format!("connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n");
    conn.write(&start(world, 101, &upgrade)).await?;
    let is_asked = |made: &Made| !(world.settings.is_subset && made.source == "plays");
    // Numbered sources again from the position, or from the beginning of what the service still has.
    let (mut next, mut waiting, connection) = {
        let mut state = world.state();
        let epoch = state.service.epoch;
        let is_missed =
            |made: &&Made| made.epoch == epoch && made.seq.is_some_and(|seq| last.is_none_or(|last| seq > last));
        let missed = state.service.messages.iter().filter(is_missed).filter(|made| is_asked(made));
        let waiting: VecDeque<u64> = missed.map(|made| made.n).collect();
        state.service.sent.push(Vec::new());
        (state.service.messages.len(), waiting, state.service.sent.len() - 1)
    };
    world.count(if last.is_some() { "resumptions" } else { "replays from the beginning" });
    // A message that others overtake, and how many still do.
    let mut held: Option<(u64, u64)> = None;
    let mut news = world.news.count();
    let mut heartbeat = Instant::now() + Duration::from_secs(15);
    loop {
        let (mut bytes, mut close) = (Vec::new(), None);
        if world.state().faults.silence <= world.now() {
            let now = world.now();
            let mut state = world.state();
            let state = &mut *state;
            let overtakes = state.faults.overtake > now;
            for made in &state.service.messages[next..] {
                next += 1;
                if is_asked(made) {
                    if overtakes && held.is_none() {
                        held = Some((made.n, state.random[Kind::Messages as usize].between(1, MOST_OVERTAKING)));
                        continue;
                    }
                    waiting.push_back(made.n);
                    *state.counts.entry("overtaken messages").or_default() += u64::from(held.is_some());
                    held = held.map(|(n, left)| (n, left - 1));
                    waiting.extend(held.take_if(|(_, left)| *left == 0).map(|(n, _)| n));
                }
            }
            for n in waiting.drain(..) {
                state.service.sent[connection].push(n);
                frame(1, state.service.messages[n as usize].text.as_bytes(), &mut bytes);
            }
            match state.service.odd(|event| matches!(event, Event::HugeFrame | Event::Close(_))) {
                Some(Event::Close(code)) => {
                    frame(8, &code.to_be_bytes(), &mut bytes);
                    close = Some(How::HalfClose);
                }
                Some(_) => {
                    bytes.extend_from_slice(&[0x81, 127]);
                    bytes.extend_from_slice(&(1_u64 << 62).to_be_bytes());
                    close = Some(How::Stall);
                }
                None => {}
            }
        }
        conn.write(&bytes).await?;
        if let Some(how) = close {
            world.count("closes");
            return Err(how);
        }
        tokio::select! {
            biased;
            (count, ()) = world.news.beyond(news) => news = count,
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

/// As a server writes it: without a mask (RFC 6455, 5.2).
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
