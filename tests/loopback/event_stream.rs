//! The event stream against a server that shares no code with it: real sockets, connections by a script. The 64 connection
//! cases beside the project are these, by their names.

use sideline::config::{ClientOptions as Settings, Secret};
use sideline::error::Error;
use sideline::live::{self, ConnectionState, Item, Notice, Stream, StreamOptions, Taken, Update};
use sideline::operation::{Value, event_stream};
use sideline::transport::Transport;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

const KEY: &str = "canary-key";

/// What a server does on one connection, one after the other; then it closes.
#[derive(Debug, Clone)]
enum Do {
    Send(Vec<u8>),
    Pause(u64),
    Reset,
    Hold,
}
use Do::{Hold, Pause, Reset};

fn send(text: &str) -> Do {
    Do::Send(text.as_bytes().to_vec())
}

fn head(status: u16, headers: &str) -> Do {
    send(&format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n"))
}

/// An answer of status 200 that ends with its connection.
fn stream_head() -> Do {
    head(200, "content-type: text/event-stream\r\n")
}

fn events(text: &str) -> Vec<Do> {
    vec![stream_head(), send(text)]
}

fn response(status: u16, content_type: &str, body: &str) -> Vec<Do> {
    vec![head(status, &format!("content-type: {content_type}\r\n")), send(body)]
}

fn redirect(status: u16, location: &str) -> Vec<Do> {
    vec![head(status, &format!("location: {location}\r\n"))]
}

#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    head: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        pairs.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// When each connection was closed by its client.
    closings: Arc<Mutex<Vec<Instant>>>,
}

impl Server {
    /// The last script serves all connections that come after.
    async fn start(scripts: Vec<Vec<Do>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, closings) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (all_seen, all_closings) = (seen.clone(), closings.clone());
        tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            let mut script = Vec::new();
            while let Ok((socket, _)) = listener.accept().await {
                script = scripts.next().unwrap_or(script);
                tokio::spawn(serve(socket, script.clone(), all_seen.clone(), all_closings.clone()));
            }
        });
        Server { port, seen, closings }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn stream(&self, options: StreamOptions) -> Stream {
        stream(&self.url(), options)
    }
}

async fn serve(
    mut socket: TcpStream,
    script: Vec<Do>,
    seen: Arc<Mutex<Vec<Seen>>>,
    closings: Arc<Mutex<Vec<Instant>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = socket.read_u8().await else { return };
        head.push(byte);
    }
    seen.lock().unwrap().push(Seen { at: Instant::now(), head: String::from_utf8(head).unwrap() });
    for step in script {
        match step {
            Do::Send(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    closings.lock().unwrap().push(Instant::now());
                    return;
                }
            }
            Pause(ms) => sleep(Duration::from_millis(ms)).await,
            Reset => {
                sleep(Duration::from_millis(20)).await;
                socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
                return;
            }
            Hold => {
                // Until the client goes.
                let _ = socket.read_u8().await;
                closings.lock().unwrap().push(Instant::now());
                return;
            }
        }
    }
}

fn stream(base: &str, options: StreamOptions) -> Stream {
    let settings =
        Settings { api_key: Some(Secret::new(KEY)), broadcast_base_url: Some(base.into()), ..Settings::default() };
    let transport = Transport::new(settings.resolve(&|_| None).unwrap()).unwrap();
    let request = event_stream("live_stats", &vec![("schedule_id".into(), Value::Text("g1".into()))]).unwrap();
    let stream = live::event_stream(transport, request, options).unwrap();
    stream.open(&tokio::runtime::Handle::current());
    stream
}

/// The specification's times, a hundred times as fast.
fn quick() -> StreamOptions {
    StreamOptions {
        silence_limit: Duration::from_millis(300),
        retry_wait: Duration::from_millis(50),
        max_wait: Duration::from_millis(600),
        quiet_after: Duration::from_secs(60),
        give_up_on: vec![],
        ..StreamOptions::default()
    }
}

async fn next(stream: &Stream) -> Result<Option<Item>, Error> {
    loop {
        match stream.take().unwrap() {
            Taken::Item(item) => return Ok(Some(item)),
            Taken::Ended(None) => return Ok(None),
            Taken::Ended(Some(error)) => return Err(error),
            Taken::Nothing => {
                timeout(Duration::from_secs(20), stream.buffer.ready()).await.expect("an item in time");
            }
        }
    }
}

async fn item(stream: &Stream) -> Item {
    next(stream).await.expect("no error").expect("no end")
}

/// Items up to and with the first for which `last` holds.
async fn until(stream: &Stream, last: impl Fn(&Item) -> bool) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        items.push(item(stream).await);
        if items.last().is_some_and(&last) {
            return items;
        }
    }
}

async fn update(stream: &Stream) -> Update {
    let items = until(stream, |item| matches!(item, Item::Update(_))).await;
    let Some(Item::Update(update)) = items.into_iter().last() else { panic!() };
    update
}

fn is_disconnected(item: &Item) -> bool {
    matches!(item, Item::Notice(Notice::Disconnected { .. }))
}

/// The first failure: its reason and status.
async fn failure(stream: &Stream) -> (String, Option<u16>) {
    let items = until(stream, is_disconnected).await;
    assert!(!items.iter().any(|item| matches!(item, Item::Update(_))), "{items:?}");
    let Some(Item::Notice(Notice::Disconnected { reason, status, .. })) = items.into_iter().last() else { panic!() };
    assert!(!reason.contains(KEY), "{reason}");
    (reason, status)
}

fn kinds(items: &[Item]) -> Vec<&'static str> {
    let kind = |item: &Item| match item {
        Item::Update(_) => "update",
        Item::Notice(Notice::Connected { .. }) => "connected",
        Item::Notice(Notice::Disconnected { .. }) => "disconnected",
        Item::Notice(Notice::Gap { .. }) => "gap",
        Item::Notice(Notice::Quiet { .. }) => "quiet",
        Item::Notice(Notice::Recovering { .. }) => "recovering",
        Item::Notice(Notice::Recovered { .. }) => "recovered",
    };
    items.iter().map(kind).collect()
}

/// `wpt-status-*`, `own-status-*`.
#[tokio::test]
async fn any_status_but_200_is_a_failed_attempt_and_its_body_no_event() {
    for status in [204, 205, 210, 299, 404, 410, 503] {
        let server = Server::start(vec![response(status, "text/event-stream", "data: data\n\n")]).await;
        let (_, actual) = failure(&server.stream(quick())).await;
        assert_eq!(actual, Some(status));
    }
    for status in [400, 401, 403, 500, 502] {
        let body = format!(r#"{{"status":{status},"message":"the reason why","shottrackerRequestId":"r1"}}"#);
        let server = Server::start(vec![response(status, "application/json", &body)]).await;
        let stream = server.stream(quick());
        let (reason, actual) = failure(&stream).await;
        assert_eq!(actual, Some(status));
        assert!(reason.contains("the reason why"), "{reason}");
        until(&stream, is_disconnected).await;
        let seen = server.seen();
        let wait = seen[1].at - seen[0].at;
        assert!(wait >= Duration::from_millis(50), "{wait:?}");
    }
}

#[tokio::test]
async fn a_status_to_give_up_on_ends_the_stream_with_its_error() {
    let body = r#"{"message":"Invalid authentication credentials"}"#;
    let server = Server::start(vec![events("data: 1\n\n"), response(401, "application/json", body)]).await;
    let stream = server.stream(StreamOptions { give_up_on: vec![401, 403], ..quick() });
    let mut items = Vec::new();
    let error = loop {
        match next(&stream).await {
            Ok(Some(item)) => items.push(item),
            Ok(None) => panic!("no error"),
            Err(error) => break error,
        }
    };
    assert_eq!(kinds(&items), ["connected", "update", "disconnected", "disconnected", "gap"]);
    assert!(matches!(items.last(), Some(Item::Notice(Notice::Gap { end: None, .. }))));
    assert!(matches!(&error, Error::Api(api) if api.status == 401), "{error}");
    assert!(next(&stream).await.unwrap().is_none(), "the error is raised once");
    assert_eq!(stream.buffer.state(), ConnectionState::Closed);
}

/// `own-401-mid-life`: with an empty `give_up_on`, it retries.
#[tokio::test]
async fn with_an_empty_give_up_on_every_refusal_is_reported_and_retried() {
    let refusal = response(401, "application/json", r#"{"message":"no"}"#);
    let server = Server::start(vec![events("data: 1\n\n"), refusal.clone(), refusal, events("data: 2\n\n")]).await;
    let stream = server.stream(quick());
    update(&stream).await;
    let items = until(&stream, |item| matches!(item, Item::Update(_))).await;
    assert_eq!(kinds(&items), ["disconnected", "disconnected", "disconnected", "gap", "connected", "update"]);
    let (Item::Notice(Notice::Disconnected { at: lost_at, .. }), Item::Notice(Notice::Gap { start, .. })) =
        (&items[0], &items[3])
    else {
        panic!()
    };
    assert!(start <= lost_at, "the hole begins with the last byte, not with the last attempt");
}

/// `wpt-mime-*`, `own-mime-*`. An answer that names no type is taken: the specification requires 200 only.
#[tokio::test]
async fn the_content_type_is_compared_without_case_and_parameters() {
    for kind in ["x bogus", "text/x-bogus", "text/html"] {
        let server = Server::start(vec![response(200, kind, "data: data\n\n\n")]).await;
        let (reason, _) = failure(&server.stream(quick())).await;
        assert!(reason.contains(kind), "{reason}");
    }
    for kind in ["text/event-stream;", "text/event-stream;charset=windows-1252", "Text/Event-Stream; Charset=UTF-8"] {
        let server = Server::start(vec![response(200, kind, "data:ok…\n\n\n")]).await;
        assert_eq!(update(&server.stream(quick())).await.text, "ok…");
    }
    let server = Server::start(vec![vec![head(200, ""), send("data: x\n\n")]]).await;
    assert_eq!(update(&server.stream(quick())).await.text, "x");
}

/// `wpt-redirect-*`, `own-redirect-*`, `ld-redirect-*`.
#[tokio::test]
async fn a_redirect_of_the_same_server_is_followed_and_no_other() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start(vec![redirect(status, "/resources/message"), events("data: data\n\n")]).await;
        assert_eq!(update(&server.stream(quick())).await.text, "data");
        let seen = server.seen();
        assert!(seen[1].head.starts_with(&format!("GET /resources/message?apikey={KEY_ENCODED} ")), "{}", seen[1].head);
    }
    let other = Server::start(vec![events("data: stolen\n\n")]).await;
    for location in [&format!("{}/x", other.url()), "https://127.0.0.1:1/x"] {
        let server = Server::start(vec![redirect(302, location)]).await;
        let (reason, _) = failure(&server.stream(quick())).await;
        assert!(reason.contains("refused redirect"), "{reason}");
    }
    assert!(other.seen().is_empty());
    for script in
        [redirect(301, ""), redirect(307, ""), vec![head(301, "")], vec![head(307, "")], redirect(302, "/again")]
    {
        let server = Server::start(vec![script]).await;
        let (_, status) = failure(&server.stream(quick())).await;
        assert!(status.is_some());
        assert!(server.seen().len() <= 10);
    }
}
const KEY_ENCODED: &str = "canary%2Dkey";

/// `wpt-request-*`, `ld-default-method-headers`, `own-gzip`.
#[tokio::test]
async fn every_request_accepts_events_uncompressed_and_uncached() {
    let server = Server::start(vec![events("data: 1\n\n")]).await;
    let stream = server.stream(quick());
    update(&stream).await;
    update(&stream).await;
    for seen in &server.seen()[..2] {
        assert!(seen.head.starts_with("GET /broadcast/v1/stats/event-stream?schedule_id=g1&apikey="));
        assert_eq!(seen.header("accept"), Some("text/event-stream"));
        assert_eq!(seen.header("cache-control"), Some("no-cache"));
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
        assert_eq!((seen.header("last-event-id"), seen.header("authorization")), (None, None));
    }
    let script = vec![head(200, "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"), send("data: x\n\n")];
    let server = Server::start(vec![script]).await;
    assert!(failure(&server.stream(quick())).await.0.contains("gzip"));
}

/// `wpt-last-event-id-utf8`, `ld-last-id-*`, `ld-partial-dropped`, `ld-new-connection-works`.
#[tokio::test]
async fn the_last_event_id_is_sent_back_unchanged() {
    for (first, expected) in [
        ("id: …\nretry: 200\ndata: hello\n\n", Some("…")),
        ("id: abc\ndata: Hello\n\n", Some("abc")),
        ("id: abc\ndata: Hello\n\ndata: World\n\n", Some("abc")),
        ("id: abc\ndata: Hello\n\nid: \ndata: World\n\n", None),
        ("id: abc\ndata: Hello\n\nid: def\ndata: Goodbye", Some("abc")),
    ] {
        let server = Server::start(vec![events(first), events("data: again\n\n")]).await;
        let stream = server.stream(quick());
        while update(&stream).await.text != "again" {}
        update(&stream).await;
        for seen in &server.seen()[1..3] {
            assert_eq!(seen.header("last-event-id"), expected, "{first:?}");
        }
    }
    let server = Server::start(vec![events("data: 1\n\n")]).await;
    let stream = server.stream(StreamOptions { last_event_id: Some("abc".into()), ..quick() });
    assert_eq!(&*update(&stream).await.id, "abc");
    assert_eq!(server.seen()[0].header("last-event-id"), Some("abc"));
}

/// `wpt-reconnect-*`, `ld-read-timeout`, `own-content-length`, `own-close-delimited`.
#[tokio::test]
async fn a_lost_connection_is_reported_and_reopened_with_one_gap() {
    let before = SystemTime::now();
    let server = Server::start(vec![events("retry: 2\ndata: ok\n\n"), events("data: data\n\n")]).await;
    let stream = server.stream(quick());
    let mut items = until(&stream, |item| matches!(item, Item::Update(update) if update.text == "data")).await;
    assert_eq!(kinds(&items), ["connected", "update", "disconnected", "gap", "connected", "update"]);
    let Some(Item::Notice(Notice::Gap { start, end: Some(end), reason, .. })) = items.drain(..).nth(3) else {
        panic!()
    };
    assert!(before <= start && start <= end && end <= SystemTime::now() && !reason.as_str().is_empty());
    assert_eq!(
        (stream.buffer.counts().updates, stream.buffer.counts().gaps, stream.buffer.counts().reconnects),
        (2, 1, 1)
    );

    let exact = vec![head(200, "content-type: text/event-stream\r\ncontent-length: 9\r\n"), send("data: 1\n\n")];
    let old = vec![send("HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 2\n\n")];
    let server = Server::start(vec![exact, old]).await;
    let stream = server.stream(quick());
    assert_eq!(update(&stream).await.text, "1");
    assert_eq!(update(&stream).await.text, "2");
}

/// `wpt-reconnect-200`, `wpt-reconnect-fail`.
#[tokio::test]
async fn a_connection_that_ends_at_once_counts_as_a_failed_attempt() {
    let server =
        Server::start(vec![vec![stream_head()], vec![stream_head()], vec![stream_head()], events("data: x\n\n")]).await;
    let stream = server.stream(quick());
    let items = until(&stream, |item| matches!(item, Item::Update(_))).await;
    let attempts: Vec<u32> = items
        .iter()
        .filter_map(|item| match item {
            Item::Notice(Notice::Disconnected { attempt, .. }) => Some(*attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
    let seen = server.seen();
    for (pair, least) in seen.windows(2).zip([50, 100, 200]) {
        let wait = (pair[1].at - pair[0].at).as_millis();
        assert!((least..least * 2 + 150).contains(&wait), "{wait} ms after {least}");
    }
}

/// `own-connect-refused`.
#[tokio::test]
async fn a_closed_port_is_retried_after_the_wait_until_the_stream_is_closed() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let stream = stream(&format!("http://127.0.0.1:{port}"), quick());
    let mut at = Vec::new();
    for _ in 0..3 {
        let Item::Notice(Notice::Disconnected { attempt, retry_at: Some(retry_at), at: disconnected_at, .. }) =
            item(&stream).await
        else {
            panic!()
        };
        at.push((Instant::now(), attempt, retry_at.duration_since(disconnected_at).unwrap()));
    }
    assert_eq!(at.iter().map(|(_, attempt, _)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    let wait = at[0].2;
    assert!((50..=60).contains(&wait.as_millis()), "{wait:?}");
    assert!(at[1].0 - at[0].0 >= Duration::from_millis(50));
    let closing = Instant::now();
    stream.close().unwrap();
    assert!(next(&stream).await.unwrap().is_none());
    assert!(closing.elapsed() < Duration::from_millis(100));
}

/// `own-silence-30s`, `es-stalled`, `own-half-open`: 30 s are 300 ms here.
#[tokio::test]
async fn a_silent_connection_is_lost_at_the_limit_and_not_before() {
    for first in [vec![stream_head(), send("data: 1\n\n"), Hold], vec![stream_head(), Hold]] {
        let server = Server::start(vec![first, events("data: 2\n\n")]).await;
        let stream = server.stream(quick());
        while update(&stream).await.text != "2" {}
        let seen = server.seen();
        let wait = (seen[1].at - seen[0].at).as_millis();
        // A connection without an event waits 50 to 60 ms more.
        assert!((300..700).contains(&wait), "{wait} ms");
    }
}

/// `own-heartbeat-29s`, `own-heartbeat-partial-byte`: any byte is life.
#[tokio::test]
async fn heartbeats_keep_a_connection_and_cause_one_quiet_notice() {
    let mut script = vec![stream_head(), send("data: 1\n\n")];
    (0..6).for_each(|_| script.extend([Pause(500), send(":\n\n")]));
    script.extend([send("data: 2\n\n"), Pause(600), send(":"), Hold]);
    let server = Server::start(vec![script, events("data: 3\n\n")]).await;
    // Twice the pauses: a busy machine is late.
    let options = StreamOptions {
        quiet_after: Duration::from_millis(2000),
        silence_limit: Duration::from_millis(1000),
        ..quick()
    };
    let stream = server.stream(options);
    let items = until(&stream, |item| matches!(item, Item::Update(update) if update.text == "3")).await;
    assert_eq!(kinds(&items), ["connected", "update", "quiet", "update", "disconnected", "gap", "connected", "update"]);
    let seen = server.seen();
    let lifetime = (seen[1].at - seen[0].at).as_millis();
    let expected = 6 * 500 + 600 + 1000;
    assert!((expected..expected + 900).contains(&lifetime), "{lifetime} ms");
}

/// `own-chunked-*`, `own-chunk-ext-trailers`, `own-100-continue-103`, `es-trickle`.
#[tokio::test]
async fn http_framing_does_not_change_events() {
    let headers = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
    let cut = vec![head(200, headers), send("9\r\ndata: 1\n\n\r\n20\r\ndata: 2"), Reset];
    let extension = vec![head(200, headers), send("9;a=\"b\"\r\ndata: 3\n\n\r\n0\r\nx: y\r\n\r\n")];
    let mut bytewise = vec![head(200, headers)];
    bytewise.extend("data: 4\n\n".chars().map(|c| send(&format!("1\r\n{c}\r\n"))));
    let interim = vec![
        send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"),
        stream_head(),
        send("data: 5\n\n"),
    ];
    let mut trickle = vec![stream_head()];
    trickle.extend((6..9).flat_map(|n| [send(&format!("data: {n}\n\n")), Pause(100)]));
    let server = Server::start(vec![cut, extension, bytewise, interim, trickle, vec![stream_head(), Hold]]).await;
    let stream = server.stream(quick());
    let mut at = Vec::new();
    for n in [1, 3, 4, 5, 6, 7, 8] {
        assert_eq!(update(&stream).await.text, n.to_string());
        at.push(Instant::now());
    }
    let distance = at[6] - at[4];
    assert!(distance >= Duration::from_millis(150), "delivered as they come, not at the end: {distance:?}");
}

/// `own-huge-headers`.
#[tokio::test]
async fn an_endless_head_is_a_failed_attempt() {
    let server = Server::start(vec![vec![head(200, &format!("x: {}\r\n", "y".repeat(1 << 20)))]]).await;
    failure(&server.stream(quick())).await;
}

/// `wpt-close-stops`, `wpt-cancel-while-connecting`, `es-close-in-error`.
#[tokio::test]
async fn close_ends_a_stream_at_once_in_every_state() {
    let slow = vec![Pause(5000), stream_head(), send("data: 1\n\n")];
    for (script, state) in [
        (slow, ConnectionState::Connecting),
        (vec![stream_head(), send("data: 1\n\n"), Hold], ConnectionState::Connected),
        (response(503, "text/plain", ""), ConnectionState::Waiting),
    ] {
        let server = Server::start(vec![script]).await;
        let stream = server.stream(StreamOptions {
            retry_wait: Duration::from_secs(5),
            silence_limit: Duration::from_secs(9),
            ..quick()
        });
        while stream.buffer.state() != state {
            sleep(Duration::from_millis(5)).await;
        }
        sleep(Duration::from_millis(50)).await;
        let closing = Instant::now();
        stream.close().unwrap();
        assert!(next(&stream).await.unwrap().is_none(), "{state:?}");
        while state == ConnectionState::Connected && server.closings.lock().unwrap().is_empty() {
            assert!(closing.elapsed() < Duration::from_millis(100), "the socket stayed open");
            sleep(Duration::from_millis(5)).await;
        }
        assert!(closing.elapsed() < Duration::from_millis(100), "{state:?}");
        sleep(Duration::from_millis(200)).await;
        assert_eq!(server.seen().len(), 1, "{state:?}: no other connection");
    }
}

#[tokio::test]
async fn an_oversized_event_or_comment_is_skipped_and_reported_with_its_size() {
    let long = "y".repeat(2000);
    let text = format!("data: 1\n\ndata: {long}\n\ndata: 2\n\n:{long}\n\ndata: 3\n\n");
    let server = Server::start(vec![vec![stream_head(), send(&text), Hold]]).await;
    let stream = server.stream(StreamOptions { max_event_bytes: 1000, ..quick() });
    let items = until(&stream, |item| matches!(item, Item::Update(update) if update.text == "3")).await;
    assert_eq!(kinds(&items), ["connected", "update", "gap", "update", "gap", "update"]);
    for at in [2, 4] {
        let Item::Notice(Notice::Gap { reason, dropped: Some(1), .. }) = &items[at] else { panic!() };
        assert!(reason.as_str().contains("max_event_bytes is 1000") && reason.as_str().contains(" 200"), "{reason}");
    }
    assert_eq!(stream.buffer.counts().reconnects, 0);
}

#[tokio::test]
async fn an_endless_event_ends_the_connection_and_not_the_stream() {
    let endless = vec![stream_head(), send(&format!("data: {}", "y".repeat(20_000))), Hold];
    let server = Server::start(vec![endless, events("data: 2\n\n")]).await;
    let stream = server.stream(StreamOptions { max_event_bytes: 1000, ..quick() });
    let (reason, _) = failure(&stream).await;
    assert!(reason.contains("16000 bytes") && reason.contains("max_event_bytes is 1000"), "{reason}");
    assert_eq!(update(&stream).await.text, "2");
}

#[tokio::test]
async fn an_invalid_or_long_id_is_not_sent_and_the_gap_says_so() {
    for id in ["a\u{7f}b".to_string(), "a\u{1}b".to_string(), "x".repeat(1025)] {
        let server = Server::start(vec![events(&format!("id: {id}\ndata: 1\n\n")), events("data: 2\n\n")]).await;
        let stream = server.stream(quick());
        let items = until(&stream, |item| matches!(item, Item::Update(update) if update.text == "2")).await;
        assert_eq!(server.seen()[1].header("last-event-id"), None);
        let has_reason = |item: &Item| matches!(item, Item::Notice(Notice::Gap { reason, .. }) if reason.as_str().contains("not sent"));
        assert!(items.iter().any(has_reason), "{items:?}");
    }
}

#[tokio::test]
async fn a_last_event_id_that_is_refused_twice_is_omitted_and_the_gap_says_so() {
    let no = || response(412, "application/json", r#"{"message":"unknown id"}"#);
    let server = Server::start(vec![events("id: a\ndata: 1\n\n"), no(), no(), events("data: 2\n\n")]).await;
    let stream = server.stream(quick());
    let items = until(&stream, |item| matches!(item, Item::Update(update) if update.text == "2")).await;
    let expected = ["connected", "update", "disconnected", "disconnected", "gap", "connected", "update"];
    assert_eq!(kinds(&items), expected);
    let seen = server.seen();
    let ids = [1, 2, 3].map(|request| seen[request].header("last-event-id"));
    assert_eq!(ids, [Some("a"), Some("a"), None], "one refusal says nothing about the id");
    assert!(
        matches!(&items[4], Item::Notice(Notice::Gap { reason, .. }) if reason.as_str().contains("412")),
        "{items:?}"
    );
}

#[tokio::test]
async fn a_retry_of_zero_does_not_switch_the_backoff_off() {
    let server = Server::start(vec![events("retry: 0\ndata: 1\n\n"), response(503, "text/plain", "")]).await;
    let stream = server.stream(quick());
    update(&stream).await;
    sleep(Duration::from_millis(1200)).await;
    // 100 ms after the loss, then 50, 100, 200, 400, 600.
    assert!((3..=7).contains(&server.seen().len()), "{}", server.seen().len());
    assert!(stream.buffer.counts().gaps == 0);
}

#[tokio::test]
async fn a_slow_reader_does_not_count_as_silence() {
    let mut script = vec![stream_head()];
    script.extend((0..400).map(|n| send(&format!("data: {n}\n\n"))));
    script.push(Hold);
    let server = Server::start(vec![script]).await;
    let stream = server.stream(StreamOptions { buffer: 8, ..quick() });
    for n in 0..400 {
        if n % 100 == 50 {
            sleep(Duration::from_millis(700)).await;
        }
        assert_eq!(update(&stream).await.text, n.to_string());
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn closing_the_client_ends_its_streams() {
    let server = Server::start(vec![vec![stream_head(), send("data: 1\n\n"), Hold]]).await;
    let settings =
        Settings { api_key: Some(Secret::new(KEY)), broadcast_base_url: Some(server.url()), ..Settings::default() };
    let transport = Transport::new(settings.resolve(&|_| None).unwrap()).unwrap();
    let request = event_stream("live_stats", &vec![("schedule_id".into(), Value::Text("g1".into()))]).unwrap();
    let stream = live::event_stream(transport.clone(), request, quick()).unwrap();
    stream.open(&tokio::runtime::Handle::current());
    update(&stream).await;
    transport.close();
    assert!(matches!(next(&stream).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_missing_key_is_an_error_and_not_a_failed_attempt() {
    let settings = Settings { broadcast_base_url: Some("http://127.0.0.1:1".into()), ..Settings::default() };
    let transport = Transport::new(settings.resolve(&|_| None).unwrap()).unwrap();
    let request = event_stream("live_stats", &vec![("schedule_id".into(), Value::Text("g1".into()))]).unwrap();
    let stream = live::event_stream(transport, request, quick()).unwrap();
    stream.open(&tokio::runtime::Handle::current());
    let error = loop {
        if let Err(error) = next(&stream).await {
            break error;
        }
    };
    assert!(error.to_string().contains("SIDELINE_API_KEY"), "{error}");
}

/// Numbered events, cut at random bytes: each comes once, in order, and every connection but the first is behind one gap.
#[tokio::test]
async fn events_cut_at_random_bytes_are_delivered_whole_or_not_at_all() {
    let text: String = (0..40).map(|n| format!("id: {n}\ndata: {{\"n\":{n},\"pad\":\"é…\"}}\n\n")).collect();
    let mut seed = 7_u64;
    let mut scripts = Vec::new();
    for _ in 0..200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (seed >> 33) as usize % text.len();
        scripts.push(vec![stream_head(), Do::Send(text.as_bytes()[..at].to_vec())]);
    }
    scripts.push(vec![stream_head(), send(&text), Hold]);
    let server = Server::start(scripts).await;
    let fast = StreamOptions { retry_wait: Duration::from_millis(1), max_wait: Duration::from_millis(2), ..quick() };
    let stream = server.stream(StreamOptions { silence_limit: Duration::from_secs(5), ..fast });
    let (mut connection, mut last, mut gaps) = (Vec::new(), 0, 0);
    while last < 39 || server.seen().len() < 201 {
        match item(&stream).await {
            Item::Notice(Notice::Connected { .. }) => connection.clear(),
            Item::Notice(Notice::Gap { end, .. }) => {
                assert!(end.is_some());
                gaps += 1;
            }
            Item::Notice(_) => {}
            Item::Update(update) => {
                let n: usize = update.id.parse().unwrap();
                assert_eq!(update.text, format!("{{\"n\":{n},\"pad\":\"é…\"}}"));
                connection.push(n);
                last = n;
                assert_eq!(connection, (0..=n).collect::<Vec<_>>());
            }
        }
    }
    assert_eq!(gaps, server.seen().len() - 1);
}
