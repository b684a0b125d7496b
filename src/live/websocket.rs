//! The live websocket (facts 3.3, 4) as a stream's wire: what to receive stands in the address, and what was received is
//! counted by `seq`, so that the next connection goes on behind it.

use super::item::Update;
use super::options::Options;
use super::peer::{self, Heartbeat};
use super::seq::{Seen, marks};
use super::session::{Connection, Lost, Read, Refusal, Wire};
use super::token::{Token, Tokens};
use crate::config::Secret;
use crate::error::{ApiError, ApiErrorKind, Error, Result};
use crate::operation::encode;
use crate::transport::{Transport, Unopened, redacted};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{Sink, Stream};
use reqwest::Upgraded;
use reqwest::header::{self, HeaderMap, HeaderValue};
use sha1::{Digest, Sha1};
use std::future::poll_fn;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::Error as Broken;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};
use url::Url;

const PATH: &str = "/live/v2/games";
/// A ping is due after 30 s (facts 4): earlier, for the way takes time too.
const PING_AFTER: Duration = Duration::from_secs(20);
/// A connection that is closed sooner was refused.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Messages in one go: other tasks want their turn.
const MOST_AT_ONCE: usize = 64;
/// What waits to be written: pings and answers to pings. A peer that reads nothing gets no more.
const MOST_UNWRITTEN: usize = 64 * 1024;
/// A full snapshot by its documentation (facts 4): it bears no number of the sequence, whatever stands in it.
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
    /// The last number received; without it the sequenced sources begin with the event.
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
    seen: Seen,
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
        Ok(Websocket { transport, tokens, address, query, seen: Seen::up_to(last_seq), options: options.clone() })
    }

    fn url(&self, token: &Token) -> Result<Url> {
        let mut query = format!("token={}", token.encoded());
        let last_seq = self.seen.last().map(|last| ("last_seq", last.to_string()));
        let others: Vec<_> = self.query.iter().cloned().chain(last_seq).collect();
        if !others.is_empty() {
            query = format!("{query}&{}", encode(&others));
        }
        Url::parse(&format!("{}?{query}", self.address))
            .map_err(|_| Error::Configuration(format!("websocket_url makes no address: {}", self.address)))
    }

    async fn open(&self, token: &Token) -> std::result::Result<Socket, Unopened> {
        let url = self.url(token).map_err(failed)?;
        let key = STANDARD.encode(nonce());
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(header::SEC_WEBSOCKET_KEY, HeaderValue::try_from(&key).map_err(|e| broke(&url, e))?);
        let response = self.transport.open_websocket(&url, headers).await?;
        check(response.headers(), &key).map_err(|why| broke(&url, why))?;
        let upgraded = response.upgrade().await.map_err(|error| broke(&url, error.without_url()))?;
        let limit = Some(self.options.max_event_bytes);
        let config = WebSocketConfig::default()
            .max_message_size(limit)
            .max_frame_size(limit)
            .write_buffer_size(0)
            .max_write_buffer_size(MOST_UNWRITTEN);
        let counted = Counted { inner: upgraded, bytes: 0 };
        Ok(WebSocketStream::from_raw_socket(counted, Role::Client, Some(config)).await)
    }
}

fn failed(error: Error) -> Unopened {
    Unopened { error, status: None, wait: None }
}

fn broke(url: &Url, why: impl std::fmt::Display) -> Unopened {
    failed(Error::Transport(format!("no websocket at {}: {why}", redacted(url.as_str()))))
}

impl Wire for Websocket {
    type Connection = Messages;

    async fn connect(&mut self) -> std::result::Result<Messages, Refusal> {
        let limit = self.options.silence_limit;
        loop {
            let token = match self.tokens.take(&self.transport, limit).await {
                Ok(token) => token,
                Err(error) => {
                    let status = if let Error::Api(answer) = &error { Some(answer.status) } else { None };
                    return Err(Unopened { error, status, wait: None }.into());
                }
            };
            match timeout(limit, self.open(&token)).await.map_err(|_| Refusal::silent(limit))? {
                Ok(socket) => {
                    let seen = std::mem::take(&mut self.seen);
                    return Ok(Messages::new(socket, token, seen, &self.options, &self.address));
                }
                Err(Unopened { error, status, wait }) => {
                    let is_refused = matches!(status, Some(401 | 403));
                    if is_refused {
                        self.tokens.refused();
                    }
                    if is_refused && !token.is_last_word {
                        log::info!("live stream: the token was refused; asking for a fresh one");
                        continue;
                    }
                    let error = if is_refused { about_tokens(error) } else { error };
                    return Err(Unopened { error: token.hide_in(error), status, wait }.into());
                }
            }
        }
    }

    fn lost(&mut self, mut connection: Messages) {
        self.seen = std::mem::take(&mut connection.seen);
        if connection.is_refused {
            self.tokens.refused();
        }
    }
}

/// What is said of credentials in general is wrong here.
fn about_tokens(error: Error) -> Error {
    match error {
        Error::Api(mut answer) => {
            answer.hint = TOKEN_HINT.into();
            Error::Api(answer)
        }
        other => other,
    }
}

const TOKEN_HINT: &str = "A token is for one game and may have expired: give game_id=, and a fresh one is asked for";

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

/// Different each time, which is all that it is for. The standard library seeds its hashers at random.
fn nonce() -> [u8; 16] {
    let mut bytes = [0; 16];
    for half in bytes.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_ne_bytes());
    }
    bytes
}

type Socket = WebSocketStream<Counted<Upgraded>>;

/// A websocket that stands.
#[derive(Debug)]
pub(super) struct Messages {
    socket: Socket,
    token: Token,
    seen: Seen,
    give_up_on: Vec<u16>,
    limit: usize,
    idle_after: Duration,
    /// For an error that a user sees.
    address: String,
    since: Instant,
    /// A message came.
    is_used: bool,
    /// The service closed it for the token.
    is_refused: bool,
    /// Something was written that may not be on its way yet.
    unflushed: bool,
    /// Bytes that were told of.
    told: usize,
    /// How it ended, while what came before is being given.
    end: Option<Lost>,
    no_id: Arc<str>,
    sources: Vec<Arc<str>>,
}

impl Messages {
    fn new(socket: Socket, token: Token, seen: Seen, options: &Options, address: &str) -> Self {
        Messages {
            socket,
            token,
            seen,
            give_up_on: options.give_up_on.clone(),
            limit: options.max_event_bytes,
            idle_after: PING_AFTER.min(options.silence_limit / 2),
            address: address.into(),
            since: Instant::now(),
            is_used: false,
            is_refused: false,
            unflushed: false,
            told: 0,
            end: None,
            no_id: Arc::from(""),
            sources: Vec::new(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, into: &mut Vec<Update>) -> Poll<std::result::Result<Read, Lost>> {
        if let Some(end) = self.end.take() {
            return Poll::Ready(Err(end));
        }
        let mut is_pending = false;
        for _ in 0..MOST_AT_ONCE {
            let lost = match Pin::new(&mut self.socket).poll_next(cx) {
                Poll::Ready(Some(Ok(message))) => self.take(message, into).err(),
                Poll::Ready(Some(Err(error))) => Some(self.broken(error)),
                Poll::Ready(None) => Some(Lost::Ended(peer::no_close())),
                Poll::Pending => {
                    is_pending = true;
                    break;
                }
            };
            if lost.is_some() {
                // The answer to a close goes out.
                let _ = Pin::new(&mut self.socket).poll_next(cx);
                self.end = lost;
                break;
            }
        }
        if self.unflushed && Pin::new(&mut self.socket).poll_flush(cx).is_ready() {
            self.unflushed = false;
        }
        let bytes = self.socket.get_ref().bytes;
        let read = Read { bytes: bytes - self.told };
        self.told = bytes;
        match self.end.take_if(|_| read.bytes == 0) {
            Some(end) => Poll::Ready(Err(end)),
            // A message that comes slowly is no silence.
            None if is_pending && read.bytes == 0 && into.is_empty() => Poll::Pending,
            None => Poll::Ready(Ok(read)),
        }
    }

    fn take(&mut self, message: Message, into: &mut Vec<Update>) -> std::result::Result<(), Lost> {
        let text = match message {
            Message::Text(text) => text.as_str().to_string(),
            Message::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Message::Close(frame) => {
                let (code, text) = frame.map_or((None, String::new()), |f| (Some(f.code.into()), f.reason.to_string()));
                return Err(self.closed(code, text));
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(()),
        };
        match peer::heartbeat(&text) {
            Some(Heartbeat::Ping { answer }) => {
                self.write(Message::text(answer));
                return Ok(());
            }
            Some(Heartbeat::Pong) => return Ok(()),
            None => {}
        }
        self.is_used = true;
        let marks = marks(&text);
        let source = marks.source.map(|source| known(&mut self.sources, source));
        let seq = marks.seq.filter(|_| source.as_deref() != Some(UNSEQUENCED));
        if seq.is_some_and(|seq| !self.seen.add(seq)) {
            return Ok(());
        }
        into.push(Update { event: None, id: self.no_id.clone(), text, seq, source, received_at: SystemTime::now() });
        Ok(())
    }

    /// Never waits: what cannot be written now goes out with a later read.
    fn write(&mut self, message: Message) {
        // A failure is one of the connection, which the next read tells; a full buffer empties or the silence tells.
        let _ = Pin::new(&mut self.socket).start_send(message);
        self.unflushed = true;
    }

    fn closed(&mut self, code: Option<u16>, text: String) -> Lost {
        let reason = self.token.hide(peer::close(code, &text));
        let Some(status) = code.and_then(peer::refusal) else { return Lost::Ended(reason) };
        self.is_refused = true;
        let at_once = !self.is_used && self.since.elapsed() < AT_ONCE;
        if !(at_once && self.token.is_last_word && self.give_up_on.contains(&status)) {
            return Lost::Ended(reason);
        }
        let kind = if status == 401 { ApiErrorKind::Authentication } else { ApiErrorKind::PermissionDenied };
        Lost::Fatal(Error::Api(Box::new(ApiError {
            kind,
            status,
            message: reason,
            rules: Vec::new(),
            request_id: None,
            method: "GET".into(),
            url: self.address.clone(),
            attempts: 1,
            hint: TOKEN_HINT.into(),
        })))
    }

    fn broken(&self, error: Broken) -> Lost {
        match error {
            Broken::Capacity(_) => Lost::Fatal(Error::Transport(format!(
                "the websocket holds a message of more than {} bytes; raise max_event_bytes to take it",
                self.limit
            ))),
            error if peer::is_no_close(&error) => Lost::Ended(peer::no_close()),
            error => Lost::Ended(self.token.hide(format!("the connection broke: {error}"))),
        }
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
    async fn read(&mut self, into: &mut Vec<Update>) -> std::result::Result<Read, Lost> {
        poll_fn(|cx| self.poll(cx, into)).await
    }

    fn idle_after(&self) -> Option<Duration> {
        Some(self.idle_after)
    }

    async fn idle(&mut self) -> std::result::Result<(), Lost> {
        self.write(Message::Ping(Default::default()));
        Ok(())
    }
}

/// The service need not find out by itself that nobody listens.
impl Drop for Messages {
    fn drop(&mut self) {
        self.write(Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: Default::default() })));
    }
}

/// Counts what is read: bytes of a message that is not complete are a sign of life too.
#[derive(Debug)]
struct Counted<S> {
    inner: S,
    bytes: usize,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(cx, into);
        this.bytes += into.filled().len() - before;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
