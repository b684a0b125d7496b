//! The live websocket as a stream's wire: what to receive stands in the address, and the numbers of the messages tell where
//! the next connection resumes and what it repeats.

use super::frames::{self, Decoder, Incoming, Opcode, Violation};
use super::item::{Item, Notice, RESTARTED, Update};
use super::options::Options;
use super::peer::{self, Heartbeat};
use super::seq::marks;
use super::sequence::{Sequence, Verdict};
use super::session::{Connection, Lost, Read, Refusal, Wire, refuses_position};
use super::token::{Token, Tokens};
use crate::advice::Advice;
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::machine;
use crate::operation::encode;
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{StreamOpenError, Transport};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Upgraded;
use reqwest::header::{self, HeaderMap, HeaderValue};
use sha1::{Digest, Sha1};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use url::Url;

const PATH: &str = "/live/v2/games";
/// A ping is due after 30 s: earlier, for the way takes time too.
const PING_AFTER: Duration = Duration::from_secs(20);
/// After so many refusals in a row that may be due to the position it is left out.
const MAX_REFUSALS: u32 = 2;
/// Messages in one go: other tasks want their turn.
const MOST_AT_ONCE: usize = 64;
/// What waits to be written: pings and answers to pings. A peer that reads nothing gets no more.
const MOST_UNWRITTEN: usize = 64 * 1024;
/// A full snapshot by its documentation: it bears no number of the sequence, whatever stands in it.
const UNSEQUENCED: &str = "broadcastsummary";

/// What to receive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Its token is asked for, and asked for again when it is refused.
    pub game_id: Option<String>,
    /// The token to begin with; without a game it cannot be renewed.
    pub token: Option<Secret>,
    /// None: all that the client may see.
    pub sources: Vec<String>,
    /// The number to resume behind; without it the sequenced sources begin with the event.
    pub last_seq: Option<i64>,
    pub broadcast_summary_level: Option<String>,
}

#[derive(Debug)]
pub(super) struct Websocket {
    transport: Transport,
    tokens: Tokens,
    /// Scheme, host and path, for the HTTP client.
    address: String,
    /// What follows the token.
    query: Vec<(&'static str, String)>,
    /// Away while a connection has it.
    sequence: Sequence,
    /// Connections in a row that were refused in a way that may be due to the position.
    refusals: u32,
    remark: Option<Scrubbed>,
    options: Options,
}

impl Websocket {
    pub(super) fn new(transport: Transport, live: Live, options: &Options) -> Result<Self> {
        let Live { game_id, token, sources, last_seq, broadcast_summary_level } = live;
        let tokens = Tokens::new(&transport, game_id, token)?;
        let sources = sources.into_iter().map(|source| ("source", source));
        let level = broadcast_summary_level.map(|level| ("broadcast_summary_level", level));
        let query: Vec<_> = sources.chain(level).collect();
        for (name, value) in &query {
            if value.is_empty() || value.chars().any(char::is_control) {
                return Err(Error::Argument(format!("{name} {value:?} is empty or holds a control character")));
            }
        }
        // `ws` and `wss`: the upgrade is a request like any other.
        let http = transport.config().websocket_url.replacen("ws", "http", 1);
        let address = format!("{http}{PATH}");
        let sequence = Sequence::new(last_seq);
        Ok(Websocket {
            transport,
            tokens,
            address,
            query,
            sequence,
            refusals: 0,
            remark: None,
            options: options.clone(),
        })
    }

    fn url(&self, token: &Token, position: Option<i64>) -> Result<Url> {
        let mut query = format!("{}={}", self.transport.config().token_parameter, token.encoded());
        let last_seq = position.map(|last| ("last_seq", last.to_string()));
        let others: Vec<_> = self.query.iter().cloned().chain(last_seq).collect();
        if !others.is_empty() {
            query = format!("{query}&{}", encode(&others));
        }
        Url::parse(&format!("{}?{query}", self.address))
            .map_err(|_| Error::Configuration(format!("websocket_url makes no address: {}", self.address)))
    }

    async fn open(
        &self,
        token: &Token,
        position: Option<i64>,
        scrubber: &Scrubber,
    ) -> std::result::Result<Upgraded, StreamOpenError> {
        let url = self.url(token, position).map_err(failed)?;
        let broke = |why: String| broke(scrubber, &url, &why);
        let key = STANDARD.encode(nonce());
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(header::SEC_WEBSOCKET_KEY, HeaderValue::try_from(&key).map_err(|e| broke(e.to_string()))?);
        let response = self.transport.open_websocket(&url, headers, scrubber).await?;
        check(response.headers(), &key).map_err(|why| broke(why.to_string()))?;
        response.upgrade().await.map_err(|error| broke(error.without_url().to_string()))
    }
}

fn failed(error: Error) -> StreamOpenError {
    StreamOpenError { error, status: None, wait: None }
}

fn broke(scrubber: &Scrubber, url: &Url, why: &str) -> StreamOpenError {
    let text = format!("no websocket at {}: {}", scrubber.url(url.as_str()), scrubber.message(why));
    failed(Error::Transport(scrubber.composed(text).into()))
}

impl Wire for Websocket {
    type Connection = Messages;

    async fn connect(&mut self) -> std::result::Result<Messages, Refusal> {
        let limit = self.options.silence_limit;
        let known = self.sequence.resume();
        let mut position = known.filter(|_| self.refusals < MAX_REFUSALS);
        let left_out = known.filter(|_| position.is_none());
        let mut remark = left_out.map(|known| {
            Scrubbed::local(format!(
                "the service failed when asked to resume behind {known}: it was asked from the beginning"
            ))
        });
        let mut is_second_token = false;
        loop {
            let token = match self.tokens.take(&self.transport, limit).await {
                Ok(token) => token,
                Err(error) => {
                    let status = if let Error::Api(answer) = &error { Some(answer.status) } else { None };
                    return Err(StreamOpenError { error, status, wait: None }.into());
                }
            };
            let scrubber = token.scrubber(&self.transport);
            match timeout(limit, self.open(&token, position, &scrubber)).await.map_err(|_| Refusal::silent(limit))? {
                Ok(socket) => {
                    self.remark = remark;
                    let sequence = std::mem::replace(&mut self.sequence, Sequence::new(None));
                    return Ok(Messages::new(socket, scrubber, sequence, position.is_some(), &self.options));
                }
                Err(StreamOpenError { error, status, wait }) => {
                    let is_refused = matches!(status, Some(401 | 403));
                    if is_refused {
                        self.tokens.refused();
                    }
                    // A fresh token may have been revoked on the way: one refusal (401) does not end the stream.
                    let may_be_revoked = token.is_fresh && status == Some(401) && !is_second_token;
                    if is_refused && (!token.is_last_word || may_be_revoked) {
                        log::info!("live stream: the token was refused; requesting a new one");
                        is_second_token |= token.is_fresh;
                        continue;
                    }
                    if let Some(refused) = position.filter(|_| refuses_position(status)) {
                        let status = status.unwrap_or_default();
                        remark = Some(Scrubbed::local(format!(
                            "the service refused to resume behind {refused} (status {status}): it was asked from the beginning"
                        )));
                        position = None;
                        continue;
                    }
                    self.refusals += u32::from(position.is_some() && status == Some(500));
                    let error = if is_refused { about_tokens(error, token.is_fresh) } else { error };
                    return Err(StreamOpenError { error, status, wait }.into());
                }
            }
        }
    }

    fn lost(&mut self, mut connection: Messages) {
        connection.sequence.reconnect();
        self.refusals = match (connection.is_used, connection.is_resumed && connection.is_closed) {
            (true, _) => 0,
            (false, is_refusal) => self.refusals + u32::from(is_refusal),
        };
        if connection.is_refused {
            self.tokens.refused();
        }
        self.sequence = std::mem::replace(&mut connection.sequence, Sequence::new(None));
    }

    fn take_remark(&mut self) -> Option<Scrubbed> {
        self.remark.take()
    }
}

/// What is said of credentials in general is wrong here.
fn about_tokens(error: Error, is_fresh: bool) -> Error {
    match error {
        Error::Api(mut answer) => {
            answer.advice = Advice::CheckToken;
            answer.hint = token_hint(is_fresh).into();
            Error::Api(answer)
        }
        other => other,
    }
}

/// What to do about a token that is refused; `is_fresh`: it was requested for this game just now.
fn token_hint(is_fresh: bool) -> &'static str {
    if is_fresh {
        "The token was requested just now, so these credentials may lack access to this game's live data: ask the service's \
         operator; check token_parameter= and websocket_url= too"
    } else {
        "A token is for one game and may have expired: give game_id=, and a fresh one is requested"
    }
}

/// Whether this is the answer to our key, and to what we asked for (RFC 6455, 4.1).
fn check(headers: &HeaderMap, key: &str) -> std::result::Result<(), &'static str> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_string());
    let lower = |name| text(name).unwrap_or_default().to_ascii_lowercase();
    let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let accept = STANDARD.encode(Sha1::digest(format!("{key}{guid}")));
    if lower(header::UPGRADE) != "websocket" || !lower(header::CONNECTION).split(',').any(|o| o.trim() == "upgrade") {
        Err("the answer does not upgrade to a websocket")
    } else if text(header::SEC_WEBSOCKET_ACCEPT) != Some(accept) {
        Err("the answer's Sec-WebSocket-Accept does not fit: something between answered in the service's place")
    } else if headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
        Err("the answer uses an extension that was not asked for")
    } else if headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        Err("the answer names a protocol that was not asked for")
    } else {
        Ok(())
    }
}

/// Different each time, which is all that it is for.
fn nonce() -> [u8; 16] {
    let mut bytes = [0; 16];
    for half in bytes.chunks_exact_mut(8) {
        half.copy_from_slice(&machine::random().to_ne_bytes());
    }
    bytes
}

/// A websocket that stands.
#[derive(Debug)]
pub(super) struct Messages {
    socket: Upgraded,
    decoder: Decoder,
    scrubber: Scrubber,
    sequence: Sequence,
    limit: usize,
    idle_after: Duration,
    /// It was asked for from a position.
    is_resumed: bool,
    /// A message came.
    is_used: bool,
    /// The service closed it, for the token: `is_refused`.
    is_closed: bool,
    is_refused: bool,
    /// The service's own ping as a message, if it sent one: then ours has this form too.
    ping: Option<String>,
    /// Frames that are still to be written.
    unwritten: Vec<u8>,
    /// How it ended, while what came before is being given.
    end: Option<Lost>,
    no_id: Arc<str>,
    sources: Vec<Arc<str>>,
}

impl Messages {
    fn new(socket: Upgraded, scrubber: Scrubber, sequence: Sequence, is_resumed: bool, options: &Options) -> Self {
        Messages {
            socket,
            decoder: Decoder::new(options.max_event_bytes),
            scrubber,
            sequence,
            limit: options.max_event_bytes,
            idle_after: PING_AFTER.min(options.silence_limit / 2),
            is_resumed,
            is_used: false,
            is_closed: false,
            is_refused: false,
            ping: None,
            unwritten: Vec::new(),
            end: None,
            no_id: Arc::from(""),
            sources: Vec::new(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, into: &mut Vec<Item>) -> Poll<std::result::Result<Read, Lost>> {
        if let Some(end) = self.end.take() {
            return Poll::Ready(Err(end));
        }
        let (mut read, mut is_pending, mut messages) = (Read::default(), false, 0);
        while self.end.is_none() && messages < MOST_AT_ONCE {
            match self.decoder.read() {
                Ok(Some(incoming)) => {
                    messages += 1;
                    self.end = self.take(incoming, into, &mut read).err();
                }
                Ok(None) => match self.poll_bytes(cx) {
                    Poll::Ready(Ok(0)) => self.end = Some(Lost(peer::no_close())),
                    Poll::Ready(Ok(count)) => read.bytes += count,
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        self.end = Some(Lost(peer::no_close()));
                    }
                    Poll::Ready(Err(error)) => self.end = Some(self.broken(&error)),
                    Poll::Pending => {
                        is_pending = true;
                        break;
                    }
                },
                Err(Violation { code, what }) => {
                    self.write(Opcode::Close, &frames::close(code, &what));
                    self.end = Some(self.broken(&what));
                }
            }
        }
        self.flush(cx);
        let is_idle = is_pending && read == Read::default() && into.is_empty();
        match self.end.take_if(|_| read == Read::default() && into.is_empty()) {
            Some(end) => Poll::Ready(Err(end)),
            None if is_idle => Poll::Pending,
            None => Poll::Ready(Ok(read)),
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(self.decoder.space());
        let polled = Pin::new(&mut self.socket).poll_read(cx, &mut space);
        let count = space.filled().len();
        self.decoder.fill(count);
        polled.map_ok(|()| count)
    }

    fn take(&mut self, incoming: Incoming, into: &mut Vec<Item>, read: &mut Read) -> std::result::Result<(), Lost> {
        let (text, binary) = match incoming {
            Incoming::Text(text) => (text, None),
            Incoming::Binary(bytes) => match String::from_utf8(bytes) {
                Ok(text) => (text, None),
                Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(error.into_bytes().into())),
            },
            Incoming::Ping(payload) => {
                self.write(Opcode::Pong, &payload);
                return Ok(());
            }
            Incoming::Pong => return Ok(()),
            Incoming::Skipped(size) => {
                self.is_used = true;
                into.push(Item::Notice(Notice::skipped("message", size, self.limit, machine::now())));
                return Ok(());
            }
            Incoming::Close { code, reason } => return Err(self.closed(code, &reason)),
        };
        match peer::heartbeat(&text) {
            Some(Heartbeat::Ping { answer, own }) => {
                self.write(Opcode::Text, answer.as_bytes());
                self.ping = Some(own);
                return Ok(());
            }
            Some(Heartbeat::Pong) => return Ok(()),
            None => {}
        }
        self.is_used = true;
        let marks = marks(&text);
        let source = marks.source.map(|source| known(&mut self.sources, source));
        let seq = marks.seq.filter(|_| source.as_deref() != Some(UNSEQUENCED));
        let content = binary.as_deref().unwrap_or(text.as_bytes());
        let verdict = seq.map_or(Verdict::Deliver, |seq| self.sequence.receive(source.as_deref(), seq, content));
        let received_at = machine::now();
        match verdict {
            Verdict::Deliver => {}
            Verdict::Repeat => {
                read.repeats += 1;
                return Ok(());
            }
            Verdict::Restarted => {
                let (start, end, reason) = (received_at, Some(received_at), RESTARTED.into());
                into.push(Item::Notice(Notice::Gap { start, end, reason, dropped: None }));
            }
        }
        into.push(Item::Update(Update { event: None, id: self.no_id.clone(), text, binary, seq, source, received_at }));
        Ok(())
    }

    /// Never waits: what cannot be written now goes out with a later read.
    fn write(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.unwritten.len() + payload.len() <= MOST_UNWRITTEN {
            let [a, b, c, d, ..] = nonce();
            frames::write(opcode, payload, [a, b, c, d], &mut self.unwritten);
        }
    }

    /// Writes what can be written now. A failure is one of the connection, which the next read shows.
    fn flush(&mut self, cx: &mut Context<'_>) {
        if self.unwritten.is_empty() {
            return;
        }
        while let Poll::Ready(Ok(count @ 1..)) = Pin::new(&mut self.socket).poll_write(cx, &self.unwritten) {
            self.unwritten.drain(..count);
            if self.unwritten.is_empty() {
                break;
            }
        }
        let _ = Pin::new(&mut self.socket).poll_flush(cx);
    }

    fn closed(&mut self, code: Option<u16>, text: &str) -> Lost {
        self.write(Opcode::Close, &code.map_or(Vec::new(), |code| frames::close(code, "")));
        self.is_closed = true;
        self.is_refused = code.is_some_and(peer::is_refusal);
        Lost(self.scrubber.message(peer::close(code, text)))
    }

    fn broken(&self, what: &dyn std::fmt::Display) -> Lost {
        Lost(self.scrubber.message(format!("the connection broke: {what}")))
    }
}

/// One text for each source, however many messages it sends.
fn known(sources: &mut Vec<Arc<str>>, source: &str) -> Arc<str> {
    let plain = peer::unescaped(source);
    if let Some(known) = sources.iter().find(|known| ***known == *plain) {
        return known.clone();
    }
    let new: Arc<str> = plain.as_ref().into();
    if sources.len() < 64 {
        sources.push(new.clone());
    }
    new
}

impl Connection for Messages {
    async fn read(&mut self, into: &mut Vec<Item>) -> std::result::Result<Read, Lost> {
        poll_fn(|cx| self.poll(cx, into)).await
    }

    fn idle_after(&self) -> Option<Duration> {
        Some(self.idle_after)
    }

    async fn idle(&mut self) {
        self.write(Opcode::Ping, &[]);
        if let Some(ping) = self.ping.take() {
            self.write(Opcode::Text, ping.as_bytes());
            self.ping = Some(ping);
        }
        poll_fn(|cx| {
            self.flush(cx);
            Poll::Ready(())
        })
        .await;
    }
}

/// The service need not find out by itself that nobody listens.
impl Drop for Messages {
    fn drop(&mut self) {
        self.write(Opcode::Close, &frames::close(1000, ""));
        self.flush(&mut Context::from_waker(std::task::Waker::noop()));
    }
}
