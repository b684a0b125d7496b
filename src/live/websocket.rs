//! Connects to the live websocket. The query selects what to receive; the sequence numbers tell where the next connection
//! resumes, and which of its messages are repeats.

use super::close_code;
use super::envelope::read_envelope;
use super::frames::{self, FrameDecoder, Incoming, Opcode, Violation};
use super::gap_reason::GapReason;
use super::heartbeat::{self, Heartbeat};
use super::item::{Item, Notice, Update};
use super::options::StreamOptions;
use super::sequence::{Sequence, Verdict};
use super::session::{Connector, MAX_REFUSALS, ReadCounts, StreamConnection, refuses_position};
use super::token::{Token, TokenSource};
use crate::advice::Advice;
use crate::config::Secret;
use crate::error::{Error, RequestErrorKind, Result};
use crate::machine;
use crate::operation::{self, encode};
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{StreamOpenError, Transport, no_response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Upgraded;
use reqwest::header::{self, HeaderMap, HeaderValue};
use sha1::{Digest, Sha1};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use url::Url;

const PATH: &str = "/live/v2/games";
/// Idle time before a ping. The service expects one within 30 s, travel time included.
const PING_AFTER: Duration = Duration::from_secs(20);
/// Number of messages after which one read stops, so that other tasks can run.
const MAX_READ_MESSAGES: usize = 64;
/// Maximum of outgoing bytes, which are pings and pongs. If the service reads nothing, further frames are discarded.
const MAX_OUTGOING_BYTES: usize = 64 * 1024;
/// A source of full snapshots, documented as unsequenced: a `seq` inside them is not theirs.
const UNSEQUENCED_SOURCE: &str = "broadcastsummary";

/// What to receive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveSubscription {
    /// The game whose token is requested, and requested again when it is refused.
    pub game_id: Option<String>,
    /// The first token; without a game it cannot be renewed.
    pub token: Option<Secret>,
    /// Empty: all sources that the client may access.
    pub sources: Vec<String>,
    /// The sequence number to resume after; without it, sequenced sources start from the beginning of the game.
    pub last_seq: Option<i64>,
    pub broadcast_summary_level: Option<String>,
}

#[derive(Debug)]
pub(super) struct WebsocketConnector {
    transport: Transport,
    token_source: TokenSource,
    /// Scheme, host and path, for the HTTP client.
    address: String,
    /// Query parameters after the token.
    query: Vec<(&'static str, String)>,
    /// Moved into the connection while there is one.
    sequence: Sequence,
    /// Consecutive refusals of a position, by status or by a close before any message.
    refusals: u32,
    options: StreamOptions,
}

impl WebsocketConnector {
    pub(super) fn new(transport: Transport, subscription: LiveSubscription, options: &StreamOptions) -> Result<Self> {
        let LiveSubscription { game_id, token, sources, last_seq, broadcast_summary_level } = subscription;
        let token_source = TokenSource::new(&transport, game_id, token)?;
        let sources = sources.into_iter().map(|source| ("source", source));
        let level = broadcast_summary_level.map(|level| ("broadcast_summary_level", level));
        let query: Vec<_> = sources.chain(level).collect();
        for (name, value) in &query {
            if value.is_empty() || value.chars().any(char::is_control) {
                return Err(Error::Argument(format!("{name} {value:?} is empty or holds a control character")));
            }
        }
        // `ws` and `wss`: the upgrade is an ordinary HTTP request.
        let http = transport.config().websocket_url.replacen("ws", "http", 1);
        let address = format!("{http}{PATH}");
        let (sequence, options) = (Sequence::new(last_seq), options.clone());
        Ok(WebsocketConnector { transport, token_source, address, query, sequence, refusals: 0, options })
    }

    fn url(&self, token: &Token, position: Option<i64>) -> Result<Url> {
        let token = utf8_percent_encode(token.secret.expose(), NON_ALPHANUMERIC);
        let mut query = format!("{}={token}", self.transport.config().token_parameter);
        let last_seq = position.map(|last| ("last_seq", last.to_string()));
        let others: Vec<_> = self.query.iter().cloned().chain(last_seq).collect();
        if !others.is_empty() {
            query = format!("{query}&{}", encode(&others));
        }
        Url::parse(&format!("{}?{query}", self.address))
            .map_err(|_| Error::configuration(format!("websocket_url makes no address: {}", self.address)))
    }

    async fn open(
        &self,
        transport: &Transport,
        token: &Token,
        position: Option<i64>,
        scrubber: &Scrubber,
    ) -> std::result::Result<Upgraded, StreamOpenError> {
        let url = self.url(token, position)?;
        let fail = |reason: &str| -> StreamOpenError {
            let text = format!("no websocket at {}: {}", scrubber.url(url.as_str()), scrubber.message(reason));
            RequestErrorKind::Transport.error(scrubber.text(text)).into()
        };
        let key = STANDARD.encode([machine::random(), machine::random()].map(u64::to_ne_bytes).as_flattened());
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(header::SEC_WEBSOCKET_KEY, HeaderValue::try_from(&key).map_err(|e| fail(&e.to_string()))?);
        let limit = self.options.silence_limit;
        let response = transport.open_websocket(&url, headers, scrubber, limit).await?;
        check_handshake(response.headers(), &key).map_err(fail)?;
        match timeout(limit, response.upgrade()).await {
            Ok(result) => result.map_err(|error| fail(&error.without_url().to_string())),
            Err(_) => Err(RequestErrorKind::Transport.error(no_response(limit)).into()),
        }
    }
}

impl Connector for WebsocketConnector {
    type Connection = WebsocketConnection;

    fn transport(&self) -> Transport {
        self.transport.for_operation(operation::LIVE)
    }

    async fn connect(
        &mut self,
        transport: &Transport,
    ) -> std::result::Result<(WebsocketConnection, Option<Scrubbed>), StreamOpenError> {
        let limit = self.options.silence_limit;
        let resume_position = self.sequence.resume();
        let mut position = resume_position.filter(|_| self.refusals < MAX_REFUSALS);
        let mut resume_failure = resume_position.filter(|_| position.is_none()).map(|last_seq| {
            Scrubbed::local(format!(
                "the service closed twice when asked to resume behind {last_seq}: it was asked from the beginning"
            ))
        });
        let mut is_second_token = false;
        loop {
            let token = self.token_source.token(transport, limit).await?;
            let scrubber = token.scrubber(&self.transport);
            match self.open(transport, &token, position, &scrubber).await {
                Ok(socket) => {
                    let sequence = std::mem::take(&mut self.sequence);
                    let (is_resumed, options) = (position.is_some(), &self.options);
                    let connection = WebsocketConnection::new(socket, scrubber, sequence, is_resumed, options);
                    return Ok((connection, resume_failure));
                }
                Err(StreamOpenError { error, status, wait }) => {
                    let is_refused = matches!(status, Some(401 | 403));
                    let is_renewable = is_refused && self.token_source.discard_refused();
                    // A fresh token may have been revoked meanwhile, so one refusal (401) does not end the stream.
                    if is_renewable && (!token.is_fresh || (status == Some(401) && !is_second_token)) {
                        log::info!("live stream: the token was refused; requesting a new one");
                        is_second_token |= token.is_fresh;
                        continue;
                    }
                    // One odd status says nothing about the position.
                    let refused_position = position.filter(|_| refuses_position(status));
                    self.refusals = refused_position.map_or(0, |_| self.refusals + 1);
                    if let Some(last_seq) = refused_position.filter(|_| self.refusals == MAX_REFUSALS) {
                        let status = status.unwrap_or_default();
                        resume_failure = Some(Scrubbed::local(format!(
                            "the service refused twice to resume behind {last_seq} (status {status}): it was asked from the beginning"
                        )));
                        position = None;
                        continue;
                    }
                    let error = if is_refused { with_token_advice(error, token.is_fresh) } else { error };
                    return Err(StreamOpenError { error, status, wait });
                }
            }
        }
    }

    fn disconnected(&mut self, mut connection: WebsocketConnection) -> Option<Duration> {
        connection.sequence.reconnect();
        let is_refused = connection.is_resumed && connection.is_closed_by_service;
        self.refusals = if connection.has_received { 0 } else { self.refusals + u32::from(is_refused) };
        if connection.is_token_rejected {
            self.token_source.discard_refused();
        }
        self.sequence = std::mem::take(&mut connection.sequence);
        None
    }
}

/// Replaces advice about credentials by advice about the token; `is_fresh`: it has just been requested for this game.
fn with_token_advice(error: Error, is_fresh: bool) -> Error {
    let Error::Api(mut error) = error else { return error };
    error.advice = Advice::CheckToken;
    let hint = if is_fresh {
        "The token was requested just now, so these credentials may lack access to this game's live data: ask the service's \
         operator; check token_parameter= and websocket_url= too"
    } else {
        "A token is for one game and may have expired: give game_id=, and a fresh one is requested"
    };
    error.hint = hint.into();
    Error::Api(error)
}

/// Checks the response of the opening handshake (RFC 6455, 4.1).
fn check_handshake(headers: &HeaderMap, key: &str) -> std::result::Result<(), &'static str> {
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

/// An open websocket.
#[derive(Debug)]
pub(super) struct WebsocketConnection {
    socket: Upgraded,
    decoder: FrameDecoder,
    scrubber: Scrubber,
    sequence: Sequence,
    keepalive_after: Duration,
    /// Whether the request named a position.
    is_resumed: bool,
    /// Whether a message was received.
    has_received: bool,
    is_closed_by_service: bool,
    /// Whether the service closed it because of the token.
    is_token_rejected: bool,
    /// The text ping to send, in the format of the service's own, if it has sent one.
    ping: Option<String>,
    /// Frames to be written.
    outgoing: Vec<u8>,
    /// Nothing follows a close (RFC 6455, 5.5.1).
    has_closed: bool,
    /// Why the connection ended, reported after the items that preceded it.
    end: Option<Scrubbed>,
}

impl WebsocketConnection {
    fn new(
        socket: Upgraded,
        scrubber: Scrubber,
        sequence: Sequence,
        is_resumed: bool,
        options: &StreamOptions,
    ) -> Self {
        WebsocketConnection {
            socket,
            decoder: FrameDecoder::new(options.max_event_bytes),
            scrubber,
            sequence,
            keepalive_after: PING_AFTER.min(options.silence_limit / 2),
            is_resumed,
            has_received: false,
            is_closed_by_service: false,
            is_token_rejected: false,
            ping: None,
            outgoing: Vec::new(),
            has_closed: false,
            end: None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, into: &mut Vec<Item>) -> Poll<std::result::Result<ReadCounts, Scrubbed>> {
        let (mut read, mut is_pending, mut messages) = (ReadCounts::default(), false, 0);
        while self.end.is_none() && messages < MAX_READ_MESSAGES {
            match self.decoder.read() {
                Ok(Some(incoming)) => {
                    messages += 1;
                    self.end = self.take_message(incoming, into, &mut read).err();
                }
                Ok(None) => match self.poll_bytes(cx) {
                    Poll::Pending => {
                        is_pending = true;
                        break;
                    }
                    Poll::Ready(Ok(count @ 1..)) => read.bytes += count,
                    Poll::Ready(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => {
                        self.end = Some(self.describe_break(&error));
                    }
                    // Most libraries report it as a code too.
                    Poll::Ready(_) => self.end = Some("the connection ended without a close (1006)".into()),
                },
                Err(Violation { code, message }) => {
                    self.write(Opcode::Close, &frames::close(code, &message));
                    self.end = Some(self.describe_break(&message));
                }
            }
        }
        self.flush(cx);
        if read != ReadCounts::default() || !into.is_empty() {
            return Poll::Ready(Ok(read));
        }
        match self.end.take() {
            Some(end) => Poll::Ready(Err(end)),
            None if is_pending => Poll::Pending,
            None => Poll::Ready(Ok(read)),
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(self.decoder.space());
        let poll = Pin::new(&mut self.socket).poll_read(cx, &mut space);
        let count = space.filled().len();
        self.decoder.fill(count);
        poll.map_ok(|()| count)
    }

    fn take_message(
        &mut self,
        incoming: Incoming,
        into: &mut Vec<Item>,
        read: &mut ReadCounts,
    ) -> std::result::Result<(), Scrubbed> {
        let (text, binary) = match incoming {
            Incoming::Text(text) => (text, None),
            Incoming::Binary(bytes) => Update::decode(bytes),
            Incoming::Ping(payload) => {
                self.write(Opcode::Pong, &payload);
                return Ok(());
            }
            Incoming::Pong => return Ok(()),
            Incoming::Skipped(size) => {
                self.has_received = true;
                into.push(Item::Notice(Notice::oversize_gap("message", size, self.decoder.limit, machine::now())));
                return Ok(());
            }
            Incoming::Close { code, reason } => return Err(self.handle_close(code, &reason)),
        };
        match heartbeat::parse(&text) {
            Some(Heartbeat::Ping { reply, client_ping }) => {
                self.write(Opcode::Text, reply.as_bytes());
                self.ping = Some(client_ping);
                return Ok(());
            }
            Some(Heartbeat::Pong) => return Ok(()),
            None => {}
        }
        self.has_received = true;
        let envelope = read_envelope(&text);
        let source = envelope.source;
        let seq = envelope.seq.filter(|_| source.as_deref() != Some(UNSEQUENCED_SOURCE));
        let content = envelope.content.as_deref().or(binary.as_deref()).unwrap_or(text.as_bytes());
        let verdict = seq.map_or(Verdict::Deliver, |seq| self.sequence.receive(source.as_deref(), seq, content));
        let received_at = machine::now();
        match verdict {
            Verdict::Deliver => {}
            Verdict::Duplicate => {
                read.repeats += 1;
                return Ok(());
            }
            Verdict::NewEpoch => {
                into.push(Item::Notice(Notice::gap(received_at, Some(received_at), GapReason::Restarted)));
            }
        }
        into.push(Item::Update(Update { event: None, id: Arc::default(), text, binary, seq, source, received_at }));
        Ok(())
    }

    /// Never waits: bytes that cannot be written now are written during a later read.
    fn write(&mut self, opcode: Opcode, payload: &[u8]) {
        if !self.has_closed && self.outgoing.len() + payload.len() <= MAX_OUTGOING_BYTES {
            self.has_closed = opcode == Opcode::Close;
            frames::write(opcode, payload, (machine::random() as u32).to_ne_bytes(), &mut self.outgoing);
        }
    }

    /// Writes what can be written now. The next read reports a failure.
    fn flush(&mut self, cx: &mut Context<'_>) {
        if self.outgoing.is_empty() {
            return;
        }
        while !self.outgoing.is_empty()
            && let Poll::Ready(Ok(count @ 1..)) = Pin::new(&mut self.socket).poll_write(cx, &self.outgoing)
        {
            self.outgoing.drain(..count);
        }
        let _ = Pin::new(&mut self.socket).poll_flush(cx);
    }

    fn handle_close(&mut self, code: Option<u16>, text: &str) -> Scrubbed {
        self.write(Opcode::Close, &code.map_or(Vec::new(), |code| frames::close(code, "")));
        self.is_closed_by_service = true;
        self.is_token_rejected = matches!(code, Some(1008 | 4401 | 4403));
        self.scrubber.message(close_code::describe(code, text))
    }

    fn describe_break(&self, cause: &dyn std::fmt::Display) -> Scrubbed {
        self.scrubber.message(format!("the connection broke: {cause}"))
    }
}

impl StreamConnection for WebsocketConnection {
    async fn read(&mut self, into: &mut Vec<Item>) -> std::result::Result<ReadCounts, Scrubbed> {
        poll_fn(|cx| self.poll(cx, into)).await
    }

    fn keepalive_after(&self) -> Option<Duration> {
        Some(self.keepalive_after)
    }

    fn send_keepalive(&mut self) {
        self.write(Opcode::Ping, &[]);
        if let Some(ping) = self.ping.take() {
            self.write(Opcode::Text, ping.as_bytes());
            self.ping = Some(ping);
        }
        self.flush(&mut Context::from_waker(Waker::noop()));
    }
}

/// Tells the service that nobody listens any more.
impl Drop for WebsocketConnection {
    fn drop(&mut self) {
        self.write(Opcode::Close, &frames::close(1000, ""));
        self.flush(&mut Context::from_waker(Waker::noop()));
    }
}
