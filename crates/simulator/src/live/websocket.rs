//! The live websocket: there is no subscribe message, the query selects everything.

use super::game::{GameReader, envelope};
use super::stream_faults::{ActiveFault, StreamAction, StreamFault, sleep_until};
use super::tokens::TokenAccess;
use super::{StreamRefusal, header, snapshot};
use crate::call::EndpointCall;
use crate::connection::{Cut, CutSwitch};
use crate::response::ErrorResponse;
use axum::http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::{self, Message};

/// Appended to the client's key (RFC 6455, 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The selection in the query.
struct Subscription {
    /// `None`: every source that the token allows.
    sources: Option<Vec<String>>,
    /// For `broadcastsummary`.
    teams_only: bool,
    stats: bool,
    shots: bool,
}

impl Subscription {
    fn has(&self, source: &str) -> bool {
        let is_allowed = match source {
            "shots" => self.shots,
            "stats" | "broadcastsummary" => self.stats,
            _ => true,
        };
        is_allowed && self.sources.as_ref().is_none_or(|sources| sources.iter().any(|name| name == source))
    }
}

struct WebsocketSession {
    reader: GameReader,
    subscription: Subscription,
    fault: ActiveFault,
    /// Messages of sequenced sources that were sent or not selected.
    position: usize,
    /// The changes covered by the last of the other messages.
    sent_changes: usize,
    messages_sent: usize,
}

pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

pub(super) fn open(
    reader: GameReader,
    fault: Option<StreamFault>,
    connection: CutSwitch,
    request: &mut Parts,
    call: &EndpointCall,
    access: TokenAccess,
) -> Result<Response, StreamRefusal> {
    let sources: Vec<String> = call
        .query
        .iter()
        .filter(|(name, value)| name == "source" && !value.is_empty())
        .map(|(_, v)| v.clone())
        .collect();
    let subscription = Subscription {
        sources: (!sources.is_empty()).then_some(sources),
        teams_only: call.text("broadcast_summary_level") == Some("game_stats"),
        stats: access.privileges.stats,
        shots: access.privileges.shots,
    };
    // Whether `last_seq` itself is sent again is not documented; here it is, so that clients learn to skip it.
    let last_seq = call.int("last_seq").and_then(|seq| usize::try_from(seq).ok()).unwrap_or(0);
    let session = WebsocketSession {
        reader,
        subscription,
        fault: ActiveFault::new(fault),
        position: last_seq.saturating_sub(1),
        sent_changes: 0,
        messages_sent: 0,
    };
    upgrade(request, |socket| serve(session, socket, connection, access))
}

/// Accepts the request for a websocket, which `serve` then has.
pub(crate) fn upgrade<F: Future<Output = ()> + Send + 'static>(
    request: &mut Parts,
    serve: impl FnOnce(Socket) -> F + Send + 'static,
) -> Result<Response, StreamRefusal> {
    let is = |name: &str, token: &str| {
        let tokens = header(&request.headers, name).unwrap_or_default();
        tokens.split(',').any(|item| item.trim().eq_ignore_ascii_case(token))
    };
    let is_upgrade = is("upgrade", "websocket") && is("connection", "upgrade") && is("sec-websocket-version", "13");
    let key = header(&request.headers, "sec-websocket-key").filter(|_| is_upgrade).map(str::to_owned);
    let upgrade = request.extensions.remove::<OnUpgrade>();
    let (Some(key), Some(upgrade)) = (key, upgrade) else {
        return Err(ErrorResponse::new(426, "Upgrade Required").into());
    };
    tokio::spawn(async move {
        // The client may be gone already.
        if let Ok(stream) = upgrade.await {
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, None).await;
            serve(socket).await;
        }
    });
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let accept = STANDARD.encode(Sha1::digest(format!("{key}{GUID}")));
    headers.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::try_from(accept).map_err(|_| ErrorResponse::general())?);
    Ok(response)
}

/// Runs until either side closes.
async fn serve(mut session: WebsocketSession, mut socket: Socket, connection: CutSwitch, mut access: TokenAccess) {
    let mut cuts = session.reader.service.live.streams.cuts();
    tokio::select! {
        // The client has left, properly or not.
        _ = session.run(&mut socket) => {}
        Ok(()) = cuts.changed() => {
            connection.arm(Cut::now(*cuts.borrow()));
            let _ = socket.send(Message::Ping(Default::default())).await;
        }
        () = access.wait_until_revoked() => {
            let frame = CloseFrame { code: CloseCode::Policy, reason: "token revoked".into() };
            let _ = socket.close(Some(frame)).await;
        }
    }
}

impl WebsocketSession {
    async fn run(&mut self, socket: &mut Socket) -> Result<(), tungstenite::Error> {
        loop {
            match self.fault.next(self.messages_sent) {
                StreamAction::Bytes(bytes) => {
                    socket.flush().await?;
                    socket.get_mut().write_all(&bytes).await?;
                    socket.get_mut().flush().await?;
                }
                StreamAction::Stall { heartbeats: false, until } => sleep_until(until).await,
                StreamAction::Stall { heartbeats: true, until } => tokio::select! {
                    message = socket.next() => respond(socket, message).await?,
                    () = sleep_until(until) => {}
                },
                StreamAction::Events => {
                    let changes = self.send_new_messages(socket).await?;
                    if self.fault.may_send(self.messages_sent) == 0 {
                        continue;
                    }
                    self.reader.record_sent(changes);
                    tokio::select! {
                        message = socket.next() => respond(socket, message).await?,
                        _ = self.reader.next_change(changes) => {}
                    }
                }
            }
        }
    }

    /// Sends as many new messages as allowed; returns the changes they cover.
    async fn send_new_messages(&mut self, socket: &mut Socket) -> Result<usize, tungstenite::Error> {
        let game = self.reader.game.clone();
        let changes = game.catch_up(&self.reader.service);
        loop {
            let messages = game.messages(self.position);
            if messages.is_empty() {
                break;
            }
            for message in messages {
                if !self.subscription.has(message.source) {
                    self.position += 1;
                    continue;
                }
                if self.fault.may_send(self.messages_sent) == 0 {
                    socket.flush().await?;
                    return Ok(changes);
                }
                socket.feed(Message::text(message.text.as_str())).await?;
                self.position += 1;
                self.messages_sent += 1;
            }
        }
        if changes > self.sent_changes {
            self.sent_changes = changes;
            for (source, data) in self.current() {
                if self.fault.may_send(self.messages_sent) > 0 {
                    socket.feed(Message::text(envelope(source, None, &data))).await?;
                    self.messages_sent += 1;
                }
            }
        }
        socket.flush().await?;
        Ok(changes)
    }

    /// Messages of the unsequenced sources about the current game.
    fn current(&self) -> Vec<(&'static str, Value)> {
        let (service, game) = (&self.reader.service, self.reader.game.index);
        let mut current = Vec::new();
        if self.subscription.has("clock") {
            let now = service.now();
            let standing = service.season.standing(game, now);
            let data = json!({
                "game_id": standing.game.event_id, "occurred_at": service.season.time_of(game, now),
                "period": standing.period, "game_clock": standing.game_clock, "shot_clock": standing.shot_clock,
            });
            current.push(("clock", data));
        }
        if self.subscription.has("broadcastsummary") {
            let snapshot = snapshot::of(&service.season, game, service.now());
            let snapshot = if self.subscription.teams_only { snapshot.of_teams() } else { snapshot };
            // All keys are texts, so serialization cannot fail.
            current.push(("broadcastsummary", serde_json::to_value(snapshot).unwrap_or_default()));
        }
        current
    }
}

pub(crate) type SocketReceiver = Option<Result<Message, tungstenite::Error>>;

/// Answers an application ping with a pong of its form. The library answers control frames when flushed.
pub(crate) async fn respond(socket: &mut Socket, message: SocketReceiver) -> Result<(), tungstenite::Error> {
    let message = message.ok_or(tungstenite::Error::ConnectionClosed)??;
    let pong = message.to_text().ok().filter(|_| message.is_text()).and_then(pong);
    match pong {
        Some(pong) => socket.send(Message::text(pong)).await,
        None => socket.flush().await,
    }
}

/// The pong for a text, if it is a ping. Other members of an object are returned unchanged.
fn pong(text: &str) -> Option<String> {
    if text.trim() == "ping" {
        return Some("pong".to_owned());
    }
    let mut object: serde_json::Map<String, Value> = serde_json::from_str(text).ok()?;
    let kind = object.get_mut("type").filter(|kind| *kind == "ping")?;
    *kind = Value::from("pong");
    serde_json::to_string(&object).ok()
}
