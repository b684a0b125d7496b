//! The live websocket against a server that each test plays by hand: real sockets, frames by a library or byte by byte.

use base64::Engine;
use futures_util::{SinkExt, StreamExt};
use sha1::{Digest, Sha1};
use sideline::config::{self, Secret};
use sideline::error::Error;
use sideline::live::{Item, LiveSubscription, Notice, Stream, StreamOptions, Taken, Update, websocket};
use sideline::transport::Transport;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

const TOKEN: &str = "canary+token/1";
const MAX_DELAY: Duration = Duration::from_secs(10);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

// ---- the server ----

struct Server {
    listener: TcpListener,
    port: u16,
}

/// A connection, after its request.
struct Peer {
    head: String,
    socket: TcpStream,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Server { listener, port }
    }

    /// The next connection with its request.
    async fn next(&self) -> Peer {
        let next = async {
            let (mut socket, _) = self.listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            Peer { head: String::from_utf8(head).unwrap(), socket }
        };
        timeout(MAX_DELAY, next).await.expect("nobody connects")
    }

    async fn live(&self) -> WebSocketStream<TcpStream> {
        self.next().await.upgrade().await
    }

    /// Nobody connects for so long.
    async fn is_left_alone(&self, wait: Duration) {
        assert!(timeout(wait, self.listener.accept()).await.is_err(), "somebody connects");
    }

    fn transport(&self) -> Transport {
        self.transport_with(config::ClientOptions::default())
    }

    fn transport_with(&self, options: config::ClientOptions) -> Transport {
        let options = config::ClientOptions {
            username: Some("ann".into()),
            secret: Some(Secret::new("canary-secret")),
            base_url: Some(format!("http://127.0.0.1:{}", self.port)),
            websocket_url: Some(format!("ws://127.0.0.1:{}", self.port)),
            max_retries: Some(0),
            ..options
        };
        Transport::new(options.resolve(&|_| None).unwrap()).unwrap()
    }

    fn stream(&self, live: LiveSubscription, options: StreamOptions) -> Reader {
        let stream = websocket(self.transport(), live, options).unwrap();
        stream.open(&Handle::current());
        Reader(stream)
    }
}

impl Peer {
    /// The requested path with its query.
    fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    fn accept_key(&self) -> String {
        let key = self.header("sec-websocket-key").expect("no key");
        let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
        base64::engine::general_purpose::STANDARD.encode(digest)
    }

    async fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).await.unwrap();
    }

    async fn send_upgrade(&mut self) {
        let accept = self.accept_key();
        self.send(&format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
        ))
        .await;
    }

    async fn upgrade(mut self) -> WebSocketStream<TcpStream> {
        self.send_upgrade().await;
        WebSocketStream::from_raw_socket(self.socket, Role::Server, None).await
    }

    async fn respond(mut self, status: u16, body: &str) {
        let length = body.len();
        self.send(&format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")).await;
    }

    /// Plays the token endpoint.
    async fn give_token(self, token: &str) {
        assert_eq!(self.target(), "/v1/data/schedule/games/g-1/_subscribe");
        assert!(self.header("authorization").unwrap().starts_with("hmac username=\"ann\""));
        self.respond(200, &format!(r#"{{"token":"{token}"}}"#)).await;
    }
}

async fn say(socket: &mut WebSocketStream<TcpStream>, text: &str) {
    socket.send(Message::text(text)).await.unwrap();
}

async fn close(socket: &mut WebSocketStream<TcpStream>, code: u16, reason: &str) {
    let frame = CloseFrame { code: CloseCode::from(code), reason: reason.to_string().into() };
    socket.send(Message::Close(Some(frame))).await.unwrap();
}

async fn receive(socket: &mut WebSocketStream<TcpStream>) -> Message {
    timeout(MAX_DELAY, socket.next()).await.expect("nothing is heard").unwrap().unwrap()
}

// ---- the reader ----

struct Reader(Stream);

impl Reader {
    /// `None`: the end; `Err`: an error.
    async fn next(&self) -> Option<Result<Item, Error>> {
        loop {
            match self.0.take().unwrap() {
                Taken::Item(item) => return Some(Ok(item)),
                Taken::Ended(error) => return error.map(Err),
                Taken::Nothing => timeout(MAX_DELAY, self.0.buffer.ready()).await.expect("nothing comes"),
            }
        }
    }

    async fn update(&self) -> Update {
        loop {
            match self.next().await {
                Some(Ok(Item::Update(update))) => return update,
                Some(Ok(Item::Notice(_))) => {}
                other => panic!("no update: {other:?}"),
            }
        }
    }

    async fn text(&self) -> String {
        self.update().await.text
    }

    /// The reason and the status of the next loss or failed attempt.
    async fn disconnection(&self) -> (String, Option<u16>) {
        loop {
            match self.next().await {
                Some(Ok(Item::Notice(Notice::Disconnected { reason, status, .. }))) => return (reason, status),
                Some(Ok(_)) => {}
                other => panic!("not lost: {other:?}"),
            }
        }
    }

    async fn error(&self) -> Error {
        loop {
            match self.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error,
                None => panic!("it ended without an error"),
            }
        }
    }
}

fn by_token() -> LiveSubscription {
    LiveSubscription { token: Some(Secret::new(TOKEN)), ..LiveSubscription::default() }
}

fn game() -> LiveSubscription {
    LiveSubscription { game_id: Some("g-1".into()), ..LiveSubscription::default() }
}

/// Attempts without waits between them.
fn fast() -> StreamOptions {
    StreamOptions {
        retry_wait: ms(5),
        max_wait: ms(10),
        silence_limit: Duration::from_secs(5),
        ..StreamOptions::default()
    }
}

// ---- the address and the upgrade ----

#[tokio::test]
async fn the_query_selects_everything_and_the_request_upgrades_to_a_websocket() {
    let server = Server::start().await;
    let live = LiveSubscription {
        sources: vec!["marker".into(), "a&b".into()],
        broadcast_summary_level: Some("game_stats".into()),
        last_seq: Some(41),
        ..by_token()
    };
    let _stream = server.stream(live, fast());
    let peer = server.next().await;
    assert_eq!(
        peer.target(),
        "/live/v2/games?token=canary%2Btoken%2F1&source=marker&source=a%26b&broadcast_summary_level=game_stats&last_seq=41"
    );
    assert_eq!(peer.header("host"), Some(format!("127.0.0.1:{}", server.port).as_str()));
    assert_eq!(peer.header("upgrade"), Some("websocket"));
    assert_eq!(peer.header("connection"), Some("Upgrade"));
    assert_eq!(peer.header("sec-websocket-version"), Some("13"));
    assert_eq!(peer.header("authorization"), None);
    let key = base64::engine::general_purpose::STANDARD.decode(peer.header("sec-websocket-key").unwrap()).unwrap();
    assert_eq!(key.len(), 16);
}

#[tokio::test]
async fn each_attempt_has_its_own_key() {
    let server = Server::start().await;
    let _stream = server.stream(by_token(), fast());
    let mut keys = Vec::new();
    for _ in 0..3 {
        let peer = server.next().await;
        keys.push(peer.header("sec-websocket-key").unwrap().to_string());
        peer.respond(500, "").await;
    }
    keys.dedup();
    assert_eq!(keys.len(), 3);
}

#[tokio::test]
async fn the_upgrade_goes_through_the_proxy() {
    let proxy = Server::start().await;
    let transport = proxy.transport_with(config::ClientOptions {
        proxy: Some(Secret::new(format!("http://127.0.0.1:{}", proxy.port))),
        ..config::ClientOptions::default()
    });
    let stream = websocket(transport, by_token(), fast()).unwrap();
    stream.open(&Handle::current());
    let peer = proxy.next().await;
    assert!(peer.target().starts_with(&format!("http://127.0.0.1:{}/live/v2/games?", proxy.port)), "{}", peer.head);
    let mut socket = peer.upgrade().await;
    say(&mut socket, "through").await;
    assert_eq!(Reader(stream).text().await, "through");
}

#[tokio::test]
async fn a_response_without_an_upgrade_is_a_failed_attempt_with_its_status() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { give_up_on: vec![], ..fast() });
    for status in [200, 204, 301, 401, 403, 404, 426, 429, 500, 503] {
        server.next().await.respond(status, r#"{"message":"told"}"#).await;
        let (reason, actual) = stream.disconnection().await;
        assert_eq!(actual, Some(status), "{reason}");
        assert!(reason.contains(&format!(" {status}: ")), "{reason}");
    }
    let mut socket = server.live().await;
    say(&mut socket, "at last").await;
    assert_eq!(stream.text().await, "at last");
}

#[tokio::test]
async fn an_upgrade_for_another_key_is_a_failed_attempt() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let good = "upgrade: websocket\r\nconnection: upgrade\r\n";
    for (headers, accepts, expected) in [
        (format!("{good}sec-websocket-accept: bm90IHRoaXMgb25l\r\n"), false, "Sec-WebSocket-Accept"),
        (good.to_string(), false, "Sec-WebSocket-Accept"),
        ("upgrade: h2c\r\nconnection: upgrade\r\n".to_string(), true, "does not upgrade"),
        (format!("{good}sec-websocket-extensions: permessage-deflate\r\n"), true, "extension"),
        (format!("{good}sec-websocket-protocol: chat\r\n"), true, "protocol"),
    ] {
        let mut peer = server.next().await;
        let accept = if accepts { format!("sec-websocket-accept: {}\r\n", peer.accept_key()) } else { String::new() };
        peer.send(&format!("HTTP/1.1 101 X\r\n{headers}{accept}\r\n")).await;
        let (reason, status) = stream.disconnection().await;
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(status, None);
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_response_is_a_failed_attempt() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    drop(server.next().await);
    assert_eq!(stream.disconnection().await.1, None);
    let mut peer = server.next().await;
    peer.send("HTTP/1.1 101 Switch").await;
    drop(peer);
    assert_eq!(stream.disconnection().await.1, None);
    server.live().await;
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_sent() {
    let server = Server::start().await;
    for live in [
        LiveSubscription::default(),
        LiveSubscription { token: Some(Secret::new("")), ..LiveSubscription::default() },
        LiveSubscription { token: Some(Secret::new("a\nb")), ..LiveSubscription::default() },
        LiveSubscription { sources: vec![String::new()], ..by_token() },
        LiveSubscription { sources: vec!["a\nb".into()], ..by_token() },
        LiveSubscription { broadcast_summary_level: Some(String::new()), ..by_token() },
        LiveSubscription { game_id: Some("a/b".into()), ..LiveSubscription::default() },
    ] {
        let result = websocket(server.transport(), live.clone(), StreamOptions::default());
        assert!(matches!(result, Err(Error::Argument(_))), "{live:?}");
    }
}

// ---- messages ----

#[tokio::test]
async fn messages_are_delivered_unchanged_with_their_number_and_source() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    let texts = [r#"{"source":"marker","data":{"seq":7}}"#, r#"{ "x": 1.0 }"#, "not JSON", ""];
    for text in texts {
        say(&mut socket, text).await;
    }
    let first = stream.update().await;
    assert_eq!((first.seq, first.source.as_deref(), first.event, &*first.id), (Some(7), Some("marker"), None, ""));
    assert_eq!(first.text, texts[0]);
    for text in &texts[1..] {
        let update = stream.update().await;
        assert_eq!((update.text.as_str(), update.seq, update.source), (*text, None, None));
    }
}

/// More of them than are taken at once: what is left over must not wait for the next byte.
#[tokio::test]
async fn messages_received_in_one_piece_are_available_at_once() {
    let server = Server::start().await;
    let reader = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    for n in 1..=110 {
        socket.feed(Message::text(format!(r#"{{"seq":{n}}}"#))).await.unwrap();
    }
    socket.flush().await.unwrap();
    for n in 1..=110 {
        assert_eq!(reader.update().await.seq, Some(n));
    }
}

#[tokio::test]
async fn a_binary_message_is_kept_as_bytes_unless_it_is_text() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    socket.send(Message::binary(r#"{"seq":1}"#.as_bytes().to_vec())).await.unwrap();
    socket.send(Message::binary(b"a\xffb".to_vec())).await.unwrap();
    assert_eq!(stream.update().await.seq, Some(1));
    let update = stream.update().await;
    assert_eq!((update.text.as_str(), update.raw()), ("a\u{fffd}b", &b"a\xffb"[..]));
    assert_eq!(stream.0.buffer.counts().updates, 2);
}

#[tokio::test]
async fn on_one_connection_every_message_is_delivered_whatever_its_number() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    let messages = [
        r#"{"seq":1}"#,
        r#"{"seq":3}"#,
        r#"{"seq":2}"#,
        r#"{"seq":3}"#,
        r#"{"n":1}"#,
        r#"{"n":1}"#,
        r#"{"source":"broadcastsummary","data":{"seq":1}}"#,
        r#"{"source":"clock","data":{"period":{"seq":1}}}"#,
        r#"{"source":"clock","data":{"time":5,"period":{"seq":1}}}"#,
        r#"{"source":"clock","data":{"time":4,"period":{"seq":1}}}"#,
        r#"{"seq":1}"#,
    ];
    for text in messages {
        say(&mut socket, text).await;
    }
    for text in messages {
        assert_eq!(stream.text().await, text);
    }
    assert_eq!(stream.0.buffer.counts().repeats, 0);
}

#[tokio::test]
async fn a_counter_restart_is_announced_and_loses_no_message() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    for version in ["a", "b"] {
        let mut socket = server.live().await;
        for seq in 1..=50 {
            say(&mut socket, &format!(r#"{{"seq":{seq},"version":"{version}"}}"#)).await;
        }
        let mut restarts = 0;
        for seq in 1..=50 {
            let update = loop {
                match stream.next().await {
                    Some(Ok(Item::Update(update))) => break update,
                    Some(Ok(Item::Notice(Notice::Gap { reason, .. }))) if reason.as_str() == "restarted" => {
                        restarts += 1
                    }
                    Some(Ok(_)) => {}
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(update.text, format!(r#"{{"seq":{seq},"version":"{version}"}}"#));
        }
        assert_eq!(restarts, usize::from(version == "b"));
    }
}

#[tokio::test]
async fn fragments_with_control_frames_between_them_are_one_message() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    let part = |text: &str, opcode, last| Message::Frame(Frame::message(text.to_string(), OpCode::Data(opcode), last));
    socket.send(part("{\"seq\"", Data::Text, false)).await.unwrap();
    socket.send(Message::Ping("p1".into())).await.unwrap();
    socket.send(part(":12", Data::Continue, false)).await.unwrap();
    socket.send(Message::Pong("unasked".into())).await.unwrap();
    socket.send(part("", Data::Continue, false)).await.unwrap();
    socket.send(part("}", Data::Continue, true)).await.unwrap();
    let update = stream.update().await;
    assert_eq!((update.text.as_str(), update.seq), (r#"{"seq":12}"#, Some(12)));
    assert_eq!(receive(&mut socket).await, Message::Pong("p1".into()));
}

#[tokio::test]
async fn an_oversized_message_is_skipped_and_reported_with_its_size() {
    let options = StreamOptions { max_event_bytes: 1_000, ..fast() };
    for fragments in [1, 3] {
        let server = Server::start().await;
        let stream = server.stream(by_token(), options.clone());
        let mut socket = server.live().await;
        say(&mut socket, &"x".repeat(1_000)).await;
        assert_eq!(stream.text().await.len(), 1_000);
        for n in 0..fragments {
            let opcode = OpCode::Data(if n == 0 { Data::Text } else { Data::Continue });
            let text = "x".repeat(1_002 / fragments);
            socket.send(Message::Frame(Frame::message(text, opcode, n + 1 == fragments))).await.ok();
        }
        say(&mut socket, "next").await;
        let Some(Ok(Item::Notice(Notice::Gap { reason, dropped, .. }))) = stream.next().await else { panic!() };
        assert_eq!(dropped, Some(1));
        assert!(
            reason.as_str().contains("1002 bytes") && reason.as_str().contains("max_event_bytes is 1000"),
            "{reason}"
        );
        assert_eq!(stream.text().await, "next");
        assert_eq!(stream.0.buffer.counts().reconnects, 0);
    }
}

#[tokio::test]
async fn a_frame_too_large_to_skip_ends_the_connection_and_not_the_stream() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut peer = server.next().await;
    peer.send_upgrade().await;
    peer.socket.write_all(b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff").await.unwrap();
    let (reason, status) = stream.disconnection().await;
    assert!(reason.contains("9223372036854775807 bytes"), "{reason}");
    assert_eq!(status, None);
    let mut socket = WebSocketStream::from_raw_socket(peer.socket, Role::Server, None).await;
    assert!(matches!(receive(&mut socket).await, Message::Close(Some(frame)) if u16::from(frame.code) == 1009));
    say(&mut server.live().await, "on").await;
    assert_eq!(stream.text().await, "on");
}

#[tokio::test]
async fn a_protocol_violation_ends_the_connection_and_not_the_stream() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    // Reserved bits, a masked frame, a text that is not UTF-8, a control frame that is too long.
    for (bytes, code) in [
        (&b"\xf1\x00"[..], 1002),
        (b"\x81\x81aaaab", 1002),
        (b"\x81\x01\xff", 1007),
        (b"\x89\x7e\x01\x00", 1002),
        (b"HTTP/1.1 400 X\r\n\r\n", 1002),
    ] {
        let mut peer = server.next().await;
        peer.send_upgrade().await;
        peer.socket.write_all(bytes).await.unwrap();
        let (reason, _) = stream.disconnection().await;
        assert!(reason.contains("the connection broke"), "{reason}");
        let mut socket = WebSocketStream::from_raw_socket(peer.socket, Role::Server, None).await;
        assert!(
            matches!(receive(&mut socket).await, Message::Close(Some(frame)) if u16::from(frame.code) == code),
            "{code}"
        );
    }
    server.live().await;
}

// ---- heartbeats ----

#[tokio::test]
async fn a_ping_is_sent_after_half_the_silence_limit_and_its_pong_keeps_the_connection() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { silence_limit: ms(400), ..fast() });
    let mut socket = server.live().await;
    let start = Instant::now();
    // Reading answers them.
    for n in 1..=6 {
        assert!(matches!(receive(&mut socket).await, Message::Ping(_)));
        let after = start.elapsed();
        assert!(after >= ms(180 * n) && after < ms(200 * n + 300), "ping {n} after {after:?}");
    }
    say(&mut socket, "still there").await;
    assert_eq!(stream.text().await, "still there");
    assert_eq!(stream.0.buffer.counts().reconnects, 0);
}

#[tokio::test]
async fn a_half_open_connection_is_lost_after_the_silence_limit_and_not_before() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { silence_limit: ms(400), ..fast() });
    let socket = server.live().await;
    let start = Instant::now();
    let (reason, status) = stream.disconnection().await;
    assert!(start.elapsed() >= ms(390) && start.elapsed() < ms(800), "{:?}", start.elapsed());
    assert_eq!((reason.as_str(), status), ("no byte for 0.4 s", None));
    server.live().await;
    drop(socket);
}

#[tokio::test]
async fn the_bytes_of_a_slow_message_keep_the_connection() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { silence_limit: ms(400), ..fast() });
    let mut peer = server.next().await;
    peer.send_upgrade().await;
    for byte in b"\x81\x08{\"a\":12}" {
        sleep(ms(120)).await;
        peer.socket.write_all(&[*byte]).await.unwrap();
    }
    assert_eq!(stream.text().await, r#"{"a":12}"#);
    assert_eq!(stream.0.buffer.counts().reconnects, 0);
}

#[tokio::test]
async fn pings_are_answered_in_their_format_and_are_no_updates() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    socket.send(Message::Ping("control".into())).await.unwrap();
    assert_eq!(receive(&mut socket).await, Message::Pong("control".into()));
    for (ping, pong) in
        [("ping", "pong"), ("\"ping\"", "\"pong\""), (r#"{"type":"ping","t":1}"#, r#"{"type":"pong","t":1}"#)]
    {
        say(&mut socket, ping).await;
        assert_eq!(receive(&mut socket).await, Message::text(pong));
    }
    say(&mut socket, r#"{"type":"pong"}"#).await;
    say(&mut socket, r#"{"type":"pinged"}"#).await;
    assert_eq!(stream.text().await, r#"{"type":"pinged"}"#);
}

#[tokio::test]
async fn a_service_that_pings_in_messages_is_pinged_in_messages_too() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { silence_limit: ms(400), ..fast() });
    let mut socket = server.live().await;
    assert!(matches!(receive(&mut socket).await, Message::Ping(_)));
    assert!(matches!(receive(&mut socket).await, Message::Ping(_)), "no message before the service sends one");
    say(&mut socket, r#"{"type":"ping","n":1}"#).await;
    assert_eq!(receive(&mut socket).await, Message::text(r#"{"type":"pong","n":1}"#));
    assert!(matches!(receive(&mut socket).await, Message::Ping(_)));
    assert_eq!(receive(&mut socket).await, Message::text(r#"{"type":"ping"}"#));
    assert!(stream.next().await.is_some());
}

#[tokio::test]
async fn pings_are_answered_and_sent_while_the_buffer_is_full() {
    let server = Server::start().await;
    let options = StreamOptions { silence_limit: ms(400), buffer: 4, ..fast() };
    let stream = server.stream(by_token(), options);
    let mut socket = server.live().await;
    for n in 0..1_000 {
        socket.feed(Message::text(format!(r#"{{"n":{n}}}"#))).await.unwrap();
    }
    socket.send(Message::Ping("now".into())).await.unwrap();
    let (mut has_pong, mut has_ping) = (false, false);
    while !(has_pong && has_ping) {
        match receive(&mut socket).await {
            Message::Pong(payload) => has_pong |= payload == "now",
            Message::Ping(_) => has_ping = true,
            other => panic!("{other:?}"),
        }
    }
    // More than is read ahead: still pinged.
    let flood = async {
        loop {
            say(&mut socket, &"x".repeat(100_000)).await;
        }
    };
    assert!(timeout(ms(700), flood).await.is_err(), "the service is held back");
    for _ in 0..3 {
        assert!(matches!(receive(&mut socket).await, Message::Ping(_)));
    }
    for n in 0..1_000 {
        assert_eq!(stream.text().await, format!(r#"{{"n":{n}}}"#));
    }
}

#[tokio::test]
async fn a_peer_that_pings_without_reading_costs_neither_memory_nor_time() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    let ping = format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(200));
    for _ in 0..50_000 {
        socket.feed(Message::text(ping.clone())).await.unwrap();
    }
    say(&mut socket, "after").await;
    assert_eq!(stream.text().await, "after");
}

// ---- the token ----

#[tokio::test]
async fn a_games_token_is_requested_once_and_reused_by_the_next_connection() {
    let server = Server::start().await;
    let stream = server.stream(game(), fast());
    server.next().await.give_token("t-1").await;
    for _ in 0..3 {
        let peer = server.next().await;
        assert_eq!(peer.target(), "/live/v2/games?token=t%2D1");
        let mut socket = peer.upgrade().await;
        say(&mut socket, "x").await;
        stream.update().await;
    }
}

#[tokio::test]
async fn a_refused_old_token_is_renewed_once_and_the_next_refusal_counts() {
    for status in [401, 403] {
        let server = Server::start().await;
        let stream = server.stream(game(), fast());
        server.next().await.give_token("old").await;
        let mut socket = server.live().await;
        say(&mut socket, "x").await;
        stream.update().await;
        drop(socket);
        server.next().await.respond(status, "").await;
        server.next().await.give_token("new").await;
        let peer = server.next().await;
        assert_eq!(peer.target(), "/live/v2/games?token=new");
        let mut socket = peer.upgrade().await;
        say(&mut socket, "y").await;
        assert_eq!(stream.text().await, "y", "the refusal in between is no failed attempt");
        assert_eq!(stream.0.buffer.counts().reconnects, 1);
        drop(socket);
        server.next().await.respond(status, "").await;
        server.next().await.give_token("newer").await;
        server.next().await.respond(status, "").await;
        if status == 401 {
            // The token may have been revoked on its way.
            server.next().await.give_token("newest").await;
            server.next().await.respond(status, "").await;
        }
        let Error::Api(error) = stream.error().await else { panic!() };
        assert_eq!(error.status, status);
        server.is_left_alone(ms(50)).await;
    }
}

#[tokio::test]
async fn with_an_empty_give_up_on_each_attempt_requests_a_fresh_token() {
    let server = Server::start().await;
    let stream = server.stream(game(), StreamOptions { give_up_on: vec![], ..fast() });
    for token in ["a", "b", "c"] {
        server.next().await.give_token(token).await;
        let peer = server.next().await;
        assert_eq!(peer.target(), format!("/live/v2/games?token={token}"));
        peer.respond(403, "").await;
        assert_eq!(stream.disconnection().await.1, Some(403));
    }
}

#[tokio::test]
async fn a_users_token_cannot_be_renewed_and_its_refusal_is_final() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    server.next().await.respond(401, r#"{"message":"no"}"#).await;
    let Error::Api(error) = stream.error().await else { panic!() };
    assert_eq!(error.status, 401);
    assert!(error.hint.contains("game_id="), "{}", error.hint);
    server.is_left_alone(ms(50)).await;

    let stream = server.stream(by_token(), StreamOptions { give_up_on: vec![], ..fast() });
    for _ in 0..3 {
        server.next().await.respond(401, "").await;
        assert_eq!(stream.disconnection().await.1, Some(401));
    }
}

#[tokio::test]
async fn a_users_token_of_a_named_game_is_used_first_and_can_be_renewed() {
    let server = Server::start().await;
    let stream = server.stream(LiveSubscription { token: Some(Secret::new("mine")), ..game() }, fast());
    let peer = server.next().await;
    assert_eq!(peer.target(), "/live/v2/games?token=mine");
    peer.respond(403, "").await;
    server.next().await.give_token("fresh").await;
    let mut socket = server.live().await;
    say(&mut socket, "x").await;
    stream.update().await;
}

#[tokio::test]
async fn no_close_code_ends_a_stream() {
    for code in [1000, 1002, 1008, 1009, 1011, 4401, 4403, 4999] {
        let server = Server::start().await;
        let stream = server.stream(by_token(), fast());
        for _ in 0..4 {
            close(&mut server.live().await, code, "no").await;
            let (reason, status) = stream.disconnection().await;
            assert!(reason.contains(&code.to_string()), "{reason}");
            assert_eq!(status, None, "no request was answered with a status");
        }
        say(&mut server.live().await, "at last").await;
        assert_eq!(stream.text().await, "at last");
    }
}

#[tokio::test]
async fn a_close_that_rejects_the_token_requests_a_fresh_one() {
    let server = Server::start().await;
    let stream = server.stream(game(), fast());
    for token in ["a", "b", "c"] {
        server.next().await.give_token(token).await;
        let peer = server.next().await;
        assert_eq!(peer.target(), format!("/live/v2/games?token={token}"));
        close(&mut peer.upgrade().await, 1008, "no").await;
        stream.disconnection().await;
    }
}

#[tokio::test]
async fn a_close_that_rejects_the_token_after_messages_requests_a_fresh_one() {
    let server = Server::start().await;
    let stream = server.stream(game(), fast());
    for token in ["a", "b", "c"] {
        server.next().await.give_token(token).await;
        let mut socket = server.live().await;
        say(&mut socket, token).await;
        assert_eq!(stream.text().await, token);
        close(&mut socket, 4401, "expired").await;
        assert_eq!(stream.disconnection().await.0, "the service did not accept the token (close code 4401): expired");
    }
}

#[tokio::test]
async fn a_failed_request_for_a_token_is_a_failed_attempt_and_its_status_can_end_the_stream() {
    let server = Server::start().await;
    let stream = server.stream(game(), fast());
    server.next().await.respond(500, "").await;
    assert_eq!(stream.disconnection().await.1, Some(500));
    server.next().await.respond(200, r#"{"what":"is this canary-body"}"#).await;
    let (reason, _) = stream.disconnection().await;
    assert!(reason.contains("no token") && !reason.contains("canary"), "{reason}");
    server.next().await.respond(200, "eyJ0-plain.text_token").await;
    let peer = server.next().await;
    assert_eq!(peer.target(), "/live/v2/games?token=eyJ0%2Dplain%2Etext%5Ftoken");
    peer.respond(500, "").await;
    drop(stream);

    let stream = server.stream(game(), fast());
    server.next().await.respond(403, "").await;
    assert!(matches!(stream.error().await, Error::Api(error) if error.status == 403));
}

#[tokio::test]
async fn the_token_is_in_no_text() {
    let encoded_token = "canary%2Btoken%2F1";
    let echo = format!(r#"{{"message":"bad {TOKEN} and {encoded_token}"}}"#);
    let server = Server::start().await;
    let live = by_token();
    let mut texts = format!("{live:?}");
    let stream = server.stream(live, StreamOptions { give_up_on: vec![401], ..fast() });
    server.next().await.respond(403, &echo).await;
    server.next().await.respond(500, &format!("{TOKEN} {encoded_token}")).await;
    let mut peer = server.next().await;
    peer.send("HTTP/1.1 101 X\r\n\r\n").await;
    close(&mut server.live().await, 1011, &format!("bad {TOKEN} {encoded_token}")).await;
    close(&mut server.live().await, 4403, &format!("bad {TOKEN}")).await;
    server.next().await.respond(401, &echo).await;
    while let Some(item) = stream.next().await {
        texts += &format!("{item:?}");
        if let Err(error) = item {
            texts += &error.to_string();
        }
    }
    texts += &format!("{:?}", stream.0);
    assert!(texts.contains("bad ***") && texts.contains("token=***"), "{texts}");
    assert!(!texts.contains("canary"), "{texts}");
}

// ---- loss and return ----

#[tokio::test]
async fn each_close_is_reported_with_its_reason() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    for (code, expected) in [
        (1000, "the service ended the stream (close code 1000): so"),
        (1001, "the service is going away (close code 1001): so"),
        (1008, "the service refused by its policy (close code 1008): so"),
        (1011, "the service failed (close code 1011): so"),
        (1012, "the service restarts (close code 1012): so"),
        (1013, "the service is overloaded (close code 1013): so"),
        (4321, "the service closed the connection (close code 4321): so"),
    ] {
        let mut socket = server.live().await;
        say(&mut socket, "x").await;
        close(&mut socket, code, "so").await;
        assert_eq!(stream.disconnection().await.0, expected);
        // It is answered, as it must be.
        assert!(matches!(receive(&mut socket).await, Message::Close(Some(frame)) if u16::from(frame.code) == code));
    }
    let mut socket = server.live().await;
    say(&mut socket, "x").await;
    drop(socket);
    assert_eq!(stream.disconnection().await.0, "the connection ended without a close (1006)");
    let mut socket = server.live().await;
    socket.send(Message::Close(None)).await.unwrap();
    assert_eq!(stream.disconnection().await.0, "the service closed the connection without a reason");
}

#[tokio::test]
async fn the_next_connection_resumes_after_the_last_number_without_a_missing_one() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let peer = server.next().await;
    assert!(!peer.target().contains("last_seq"));
    let mut socket = peer.upgrade().await;
    for seq in [10, 12, 11, 14] {
        say(&mut socket, &format!(r#"{{"data":{{"seq":{seq}}}}}"#)).await;
    }
    say(&mut socket, r#"{"source":"broadcastsummary","seq":99}"#).await;
    for _ in 0..5 {
        stream.update().await;
    }
    drop(socket);
    let peer = server.next().await;
    assert!(peer.target().ends_with("&last_seq=12"), "{}", peer.target());
    peer.respond(500, "").await;
    let peer = server.next().await;
    assert!(peer.target().ends_with("&last_seq=12"), "also after a failed attempt: {}", peer.target());
    let mut socket = peer.upgrade().await;
    for seq in [11, 12, 14, 13, 15] {
        say(&mut socket, &format!(r#"{{"data":{{"seq":{seq}}}}}"#)).await;
    }
    let mut items = Vec::new();
    while let Some(Ok(item)) = stream.next().await {
        let is_update = matches!(item, Item::Update(_));
        items.push(item);
        if is_update {
            break;
        }
    }
    assert!(matches!(&items[0], Item::Notice(Notice::Disconnected { attempt: 0, .. })), "{items:?}");
    assert!(matches!(&items[1], Item::Notice(Notice::Disconnected { status: Some(500), .. })), "{items:?}");
    assert!(matches!(&items[2], Item::Notice(Notice::Gap { end: Some(_), .. })), "{items:?}");
    assert!(matches!(&items[3], Item::Notice(Notice::Connected { .. })), "{items:?}");
    assert!(matches!(&items[4], Item::Update(Update { seq: Some(13), .. })), "{items:?}");
    assert_eq!(stream.update().await.seq, Some(15));
    assert_eq!(stream.0.buffer.counts().repeats, 3);
}

#[tokio::test]
async fn a_position_that_is_refused_twice_is_omitted_and_the_gap_says_so() {
    for refuse_by_close in [false, true] {
        let server = Server::start().await;
        let stream = server.stream(by_token(), fast());
        let mut socket = server.live().await;
        for seq in 1..=3 {
            say(&mut socket, &format!(r#"{{"seq":{seq}}}"#)).await;
            stream.update().await;
        }
        drop(socket);
        for _ in 0..2 {
            let peer = server.next().await;
            assert!(peer.target().ends_with("&last_seq=3"), "{}", peer.target());
            match refuse_by_close {
                false => peer.respond(422, r#"{"message":"last_seq is too old"}"#).await,
                true => close(&mut peer.upgrade().await, 4000, "last_seq is too old").await,
            }
        }
        let peer = server.next().await;
        assert!(!peer.target().contains("last_seq"), "{}", peer.target());
        let mut socket = peer.upgrade().await;
        for seq in 1..=4 {
            say(&mut socket, &format!(r#"{{"seq":{seq}}}"#)).await;
        }
        let mut reasons = Vec::new();
        let update = loop {
            match stream.next().await {
                Some(Ok(Item::Notice(Notice::Gap { reason, .. }))) => reasons.push(reason),
                Some(Ok(Item::Update(update))) => break update,
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(update.seq, Some(4));
        assert!(reasons.last().unwrap().as_str().contains("asked from the beginning"), "{reasons:?}");
        assert_eq!(stream.0.buffer.counts().repeats, 3);
    }
}

#[tokio::test]
async fn a_refusal_whose_body_never_ends_is_recognised_by_its_head() {
    for status in [401, 403] {
        let server = Server::start().await;
        let stream = server.stream(by_token(), fast());
        let mut peer = server.next().await;
        peer.send(&format!("HTTP/1.1 {status} No\r\ncontent-length: 100\r\n\r\n{{")).await;
        let Error::Api(error) = stream.error().await else { panic!() };
        assert_eq!(error.status, status);
    }
}

#[tokio::test]
async fn the_reason_of_a_refused_handshake_is_reported() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    server
        .next()
        .await
        .send("HTTP/1.1 400 source xyz is unknown\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await;
    let (reason, status) = stream.disconnection().await;
    assert!(reason.contains("source xyz is unknown"), "{reason}");
    assert_eq!(status, Some(400));
}

/// A game of numbered messages of uneven size, played to each connection from behind its `last_seq` with an overlap, and cut
/// at a random byte.
#[tokio::test]
async fn every_numbered_message_is_delivered_once_and_in_order_across_200_cuts() {
    const LAST: u64 = 4_000;
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { buffer: 64, ..fast() });
    let play = async {
        let mut dice = 0x2545_F491_4F6C_DD1D_u64;
        let mut roll = move |below: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % below
        };
        let mut cuts = 0;
        loop {
            let mut peer = server.next().await;
            let last_seq = peer.target().split("last_seq=").nth(1).map_or(0, |n| n.parse::<u64>().unwrap());
            peer.send_upgrade().await;
            let mut bytes = Vec::new();
            let cut = if cuts < 200 { roll(4_000) as usize } else { usize::MAX };
            for seq in last_seq.saturating_sub(roll(6)).max(1)..=LAST {
                let text =
                    format!(r#"{{"data":{{"pad":"{}","seq":{seq}}}}}"#, "x".repeat((seq * 7_919 % 200) as usize));
                let data = OpCode::Data(if roll(9) == 0 { Data::Binary } else { Data::Text });
                Frame::message(text, data, true).format(&mut bytes).unwrap();
                if roll(7) == 0 {
                    let ping = OpCode::Control(Control::Ping);
                    Frame::from_payload(frame_header(ping), "hi".into()).format(&mut bytes).unwrap();
                }
                if bytes.len() > cut {
                    break;
                }
            }
            bytes.truncate(cut);
            peer.socket.write_all(&bytes).await.ok();
            if cuts == 200 {
                return peer;
            }
            cuts += 1;
            if roll(3) == 0 {
                socket2::SockRef::from(&peer.socket).set_linger(Some(Duration::ZERO)).unwrap();
            }
        }
    };
    let read = async {
        for seq in 1..=LAST {
            assert_eq!(stream.update().await.seq, Some(seq as i64));
        }
    };
    let (_peer, ()) = timeout(Duration::from_secs(60), async { tokio::join!(play, read) }).await.expect("it stands");
    assert_eq!(stream.0.buffer.counts().updates, LAST);
    assert_eq!(stream.0.buffer.counts().gaps, 200);
}

fn frame_header(opcode: OpCode) -> tokio_tungstenite::tungstenite::protocol::frame::FrameHeader {
    tokio_tungstenite::tungstenite::protocol::frame::FrameHeader { opcode, ..Default::default() }
}

// ---- closing ----

/// The server's side of a connection ends so soon after `close`.
async fn ends_at_once(stream: Reader, mut socket: TcpStream) {
    let start = Instant::now();
    stream.0.close().unwrap();
    let mut rest = Vec::new();
    timeout(ms(100), socket.read_to_end(&mut rest)).await.expect("the socket stays open").ok();
    assert!(start.elapsed() < ms(100), "{:?}", start.elapsed());
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn close_ends_the_socket_at_once_in_every_state() {
    let server = Server::start().await;
    let slow = StreamOptions { silence_limit: Duration::from_secs(30), ..StreamOptions::default() };

    let by_game = server.stream(game(), slow.clone());
    let peer = server.next().await;
    ends_at_once(by_game, peer.socket).await;

    let connecting = server.stream(by_token(), slow.clone());
    let peer = server.next().await;
    ends_at_once(connecting, peer.socket).await;

    let half = server.stream(by_token(), slow.clone());
    let mut peer = server.next().await;
    peer.send("HTTP/1.1 101 Swi").await;
    ends_at_once(half, peer.socket).await;

    let connected = server.stream(by_token(), slow.clone());
    let mut peer = server.next().await;
    peer.send_upgrade().await;
    peer.socket.write_all(b"\x81\x05half").await.unwrap();
    sleep(ms(50)).await;
    ends_at_once(connected, peer.socket).await;

    let full = server.stream(by_token(), StreamOptions { buffer: 1, ..slow });
    let mut socket = server.live().await;
    for _ in 0..100 {
        say(&mut socket, "x").await;
    }
    ends_at_once(full, socket.into_inner()).await;
}

#[tokio::test]
async fn the_service_receives_a_close_frame() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), fast());
    let mut socket = server.live().await;
    say(&mut socket, "x").await;
    stream.update().await;
    drop(stream);
    assert!(matches!(receive(&mut socket).await, Message::Close(Some(frame)) if frame.code == CloseCode::Normal));
}

#[tokio::test]
async fn a_slow_reader_slows_the_service_down_and_loses_nothing() {
    let server = Server::start().await;
    let stream = server.stream(by_token(), StreamOptions { buffer: 4, ..fast() });
    let mut socket = server.live().await;
    let (writer, reader) = (
        async {
            for seq in 0..3_000 {
                say(&mut socket, &format!(r#"{{"seq":{seq},"pad":"{}"}}"#, "x".repeat(2_000))).await;
            }
        },
        async {
            for seq in 0..3_000 {
                assert_eq!(stream.update().await.seq, Some(seq));
            }
        },
    );
    tokio::join!(writer, reader);
}
