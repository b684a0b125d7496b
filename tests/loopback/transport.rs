//! The transport against a server that shares no code with it: real sockets, answers by a script.

use crate::scripted::{Reply, Server, Then, content, json, raw};
use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use sideline::config::{ClientOptions, Secret, Timeouts};
use sideline::error::{ApiError, ApiErrorKind, Error, RequestErrorKind};
use sideline::fetch::run;
use sideline::operation::{Request, Value, call};
use sideline::transport::{Response, Transport};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const USERNAME: &str = "ann";
const SECRET: &str = "canary-secret";
const KEY: &str = "canary-key";
const SERVICE_404: &str = r#"{"status":404,"message":"Invalid id","shottrackerRequestId":"r-404"}"#;
const GATEWAY_DATE: &str = r#"{"message":"HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"}"#;

fn options(base: &str) -> ClientOptions {
    ClientOptions {
        username: Some(USERNAME.into()),
        secret: Some(Secret::new(SECRET)),
        api_key: Some(Secret::new(KEY)),
        base_url: Some(base.into()),
        broadcast_base_url: Some(base.into()),
        ..ClientOptions::default()
    }
}

fn transport(options: ClientOptions) -> Transport {
    Transport::new(options.resolve(&|_| None).unwrap()).unwrap()
}

fn request(name: &str, arguments: &[(&str, &str)]) -> Request {
    let config = options("https://unused.example").resolve(&|_| None).unwrap();
    let arguments = arguments.iter().map(|(name, value)| (name.to_string(), Value::Text(value.to_string()))).collect();
    call(name, &arguments, &config).unwrap().requests.remove(0)
}

fn teams() -> Request {
    request("teams", &[])
}

fn ok() -> Reply {
    json(200, "", r#"{"teams":[]}"#)
}

fn api(result: Result<Response, Error>) -> ApiError {
    match result {
        Err(Error::Api(error)) => *error,
        other => panic!("not an ApiError: {other:?}"),
    }
}

/// The server's answers to one client's first request.
async fn exchange(script: Vec<Reply>) -> (Server, Result<Response, Error>) {
    let server = Server::start(script).await;
    let result = transport(options(&server.url())).send(&teams()).await;
    (server, result)
}

fn is_signed(seen: &crate::scripted::Seen) -> bool {
    let (Some(date), Some(host)) = (seen.header("date"), seen.header("host")) else { return false };
    let path = seen.line().split(' ').nth(1).unwrap().split('?').next().unwrap();
    let mut mac = Hmac::<sha1::Sha1>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("date: {date}\nhost: {host}\nGET {path} HTTP/1.1").as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    let expected = format!(
        "hmac username=\"{USERNAME}\",algorithm=\"hmac-sha1\",headers=\"date host request-line\",signature=\"{signature}\""
    );
    seen.header("authorization") == Some(expected.as_str())
}

#[tokio::test]
async fn a_request_is_signed_over_the_date_host_and_path_that_are_sent() {
    let server = Server::start(vec![ok()]).await;
    let client = transport(options(&server.url()));
    let link = [("link", "https://api.shottracker.com/v1/data/sensors/locations?id=a%2Fb&from=1&to=2")];
    let response = client.send(&request("follow", &link)).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!(seen.line(), "GET /v1/data/sensors/locations?id=a%2Fb&from=1&to=2 HTTP/1.1");
    assert_eq!(seen.header("host"), Some(format!("127.0.0.1:{}", server.port).as_str()));
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("user-agent"), Some(concat!("sideline/", env!("CARGO_PKG_VERSION"))));
    assert!(is_signed(&seen), "{}", seen.head);
    assert_eq!((response.status, response.attempts), (200, 1));
    assert_eq!(response.body.as_slice(), br#"{"teams":[]}"#);
}

#[tokio::test]
async fn a_proxys_prefix_is_sent_and_signed() {
    let server = Server::start(vec![ok()]).await;
    transport(options(&format!("{}/prefix", server.url()))).send(&teams()).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!(seen.line(), "GET /prefix/v1/data/teams HTTP/1.1");
    assert!(is_signed(&seen), "{}", seen.head);
}

#[tokio::test]
async fn connections_are_reused() {
    let server = Server::start(vec![ok()]).await;
    let client = transport(options(&server.url()));
    for _ in 0..3 {
        client.send(&teams()).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn a_connection_that_ends_before_the_answer_is_tried_again_and_signed_anew() {
    for end in [Then::Close, Then::Reset] {
        let (server, result) = exchange(vec![raw("", end), ok()]).await;
        assert_eq!(result.unwrap().attempts, 2, "{end:?}");
        assert!(server.seen().iter().all(is_signed));
    }
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_tried_again() {
    let server = Server::start(vec![ok(), raw("", Then::Close), ok()]).await;
    let client = transport(options(&server.url()));
    client.send(&teams()).await.unwrap();
    client.send(&teams()).await.unwrap();
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_body_that_is_cut_is_tried_again_and_then_an_error() {
    let cut = || {
        raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"teams\":[", Then::Close)
    };
    let (_, result) = exchange(vec![cut(), ok()]).await;
    assert_eq!(result.unwrap().attempts, 2);

    let server = Server::start(vec![cut()]).await;
    let result = transport(ClientOptions { max_retries: Some(1), ..options(&server.url()) }).send(&teams()).await;
    let Err(Error::Request(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, RequestErrorKind::Transport);
    let text = Error::Request(error).to_string();
    assert!(text.contains("after 2 attempts") && text.contains("/v1/data/teams"), "{text}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_503_is_retried_after_its_retry_after() {
    let start = Instant::now();
    let (server, result) = exchange(vec![json(503, "retry-after: 1\r\n", "{}"), ok()]).await;
    assert_eq!(result.unwrap().attempts, 2);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(server.seen().iter().all(is_signed));
}

#[tokio::test]
async fn a_retry_after_beyond_the_deadline_is_not_waited_for() {
    let server = Server::start(vec![json(429, "retry-after: 60\r\n", r#"{"message":"slow down"}"#)]).await;
    let second = Duration::from_secs(1);
    let timeouts = Timeouts { connect: second, read: second, total: 5 * second };
    let start = Instant::now();
    let error =
        api(transport(ClientOptions { timeouts: Some(timeouts), ..options(&server.url()) }).send(&teams()).await);
    assert_eq!((error.kind, error.attempts), (ApiErrorKind::RateLimited, 1));
    assert!(start.elapsed() < 2 * second);
}

#[tokio::test]
async fn a_500_is_retried_once() {
    let (server, result) = exchange(vec![json(500, "", "{}")]).await;
    let error = api(result);
    assert_eq!((error.kind, error.attempts, server.seen().len()), (ApiErrorKind::Server, 2, 2));
}

#[tokio::test]
async fn a_permanent_error_is_not_retried() {
    for status in [400, 401, 403, 404, 409, 422, 501] {
        let (server, result) = exchange(vec![json(status, "", SERVICE_404)]).await;
        let error = api(result);
        assert_eq!((error.status, error.attempts, server.seen().len()), (status, 1, 1));
        assert_eq!((&*error.message, error.request_id.as_deref()), ("Invalid id", Some("r-404")));
        assert_eq!(*error.url, format!("{}/v1/data/teams", server.url()));
    }
}

#[tokio::test]
async fn retries_end() {
    let server = Server::start(vec![json(502, "retry-after: 0\r\n", "<h1>Bad gateway</h1>")]).await;
    let error = api(transport(ClientOptions { max_retries: Some(2), ..options(&server.url()) }).send(&teams()).await);
    assert_eq!((error.attempts, server.seen().len()), (3, 3));
    assert_eq!(&*error.message, "<h1>Bad gateway</h1>");
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_max_concurrency() {
    let server = Server::start(vec![ok().after(Duration::from_millis(50))]).await;
    let client = transport(ClientOptions { max_concurrency: Some(3), ..options(&server.url()) });
    let request = teams();
    let all = (0..12).map(|_| client.send(&request));
    for result in futures_util::future::join_all(all).await {
        result.unwrap();
    }
    assert_eq!(server.peak(), 3);
}

#[tokio::test]
async fn a_request_that_waits_for_its_retry_leaves_its_place_to_others() {
    let server = Server::start(vec![json(503, "retry-after: 2\r\n", "{}"), ok()]).await;
    let client = transport(ClientOptions { max_concurrency: Some(1), ..options(&server.url()) });
    let (waiting, request) = (client.clone(), teams());
    let slow = tokio::spawn(async move { waiting.send(&request).await });
    while server.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = Instant::now();
    client.send(&teams()).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
    slow.await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_for_max_concurrency_does_not_count_toward_the_timeout() {
    let server = Server::start(vec![ok().after(Duration::from_millis(400))]).await;
    let second = Duration::from_secs(1);
    let timeouts = Timeouts { connect: second, read: second, total: second };
    let client =
        transport(ClientOptions { max_concurrency: Some(1), timeouts: Some(timeouts), ..options(&server.url()) });
    let request = teams();
    for result in futures_util::future::join_all((0..4).map(|_| client.send(&request))).await {
        result.unwrap();
    }
}

#[tokio::test]
async fn requests_keep_to_the_rate() {
    let server = Server::start(vec![ok()]).await;
    let client = transport(ClientOptions { requests_per_second: Some(20.0), ..options(&server.url()) });
    let (start, request) = (Instant::now(), teams());
    futures_util::future::join_all((0..5).map(|_| client.send(&request))).await;
    assert!(start.elapsed() >= Duration::from_millis(200));
}

fn http_date(ahead: i64) -> String {
    let shift = Duration::from_secs(ahead.unsigned_abs());
    let now = SystemTime::now();
    httpdate::fmt_http_date(if ahead < 0 { now - shift } else { now + shift })
}

fn seconds_ahead(seen: &crate::scripted::Seen) -> f64 {
    let date = httpdate::parse_http_date(seen.header("date").unwrap()).unwrap();
    match date.duration_since(SystemTime::now()) {
        Ok(ahead) => ahead.as_secs_f64(),
        Err(behind) => -behind.duration().as_secs_f64(),
    }
}

#[tokio::test]
async fn a_refusal_for_the_clock_is_corrected_and_sent_once_more() {
    for ahead in [600, -600] {
        let date = format!("date: {}\r\n", http_date(ahead));
        let server = Server::start(vec![json(401, &date, GATEWAY_DATE), ok()]).await;
        // It is no retry: none is allowed here.
        let client = transport(ClientOptions { max_retries: Some(0), ..options(&server.url()) });
        assert_eq!(client.send(&teams()).await.unwrap().attempts, 2);
        client.send(&teams()).await.unwrap();
        let seen = server.seen();
        assert!(seconds_ahead(&seen[0]).abs() < 5.0);
        for corrected in &seen[1..] {
            assert!((seconds_ahead(corrected) - ahead as f64).abs() < 5.0, "{}", corrected.head);
            assert!(is_signed(corrected));
        }
    }
}

#[tokio::test]
async fn a_refusal_that_remains_is_an_error_that_names_the_skew() {
    let date = format!("date: {}\r\n", http_date(600));
    let (server, result) = exchange(vec![json(403, &date, GATEWAY_DATE)]).await;
    let error = api(result);
    assert_eq!((error.kind, error.attempts, server.seen().len()), (ApiErrorKind::Authentication, 2, 2));
    assert!(error.hint.contains("minutes behind"), "{}", error.hint);
}

#[tokio::test]
async fn a_server_whose_clock_jumps_is_not_followed_for_ever() {
    let refusal = |ahead: i64| json(401, &format!("date: {}\r\n", http_date(ahead)), GATEWAY_DATE);
    let (server, result) = exchange(vec![refusal(600), refusal(-600), refusal(600), ok()]).await;
    assert_eq!((api(result).attempts, server.seen().len()), (2, 2));
}

#[tokio::test]
async fn only_a_refusal_for_the_date_sets_the_clock() {
    for (status, headers) in [(200, ""), (200, "age: 600\r\n"), (404, "")] {
        let stale = format!("{headers}date: {}\r\n", http_date(-600));
        let server = Server::start(vec![json(status, &stale, "{}")]).await;
        let client = transport(options(&server.url()));
        for _ in 0..2 {
            assert_eq!(client.send(&teams()).await.is_ok(), status == 200);
        }
        assert!(seconds_ahead(&server.seen()[1]).abs() < 5.0, "{status} {headers}");
    }
}

#[tokio::test]
async fn a_clock_that_is_off_by_more_than_a_day_is_not_followed() {
    const DAY: i64 = 24 * 3600;
    for ahead in [DAY + 120, -DAY - 120, 3650 * DAY, -9000 * DAY, 2_000_000 * DAY] {
        let server = Server::start(vec![json(401, &format!("date: {}\r\n", http_date(ahead)), GATEWAY_DATE)]).await;
        let client = transport(options(&server.url()));
        for _ in 0..2 {
            let error = api(client.send(&teams()).await);
            assert_eq!((error.kind, error.attempts), (ApiErrorKind::Authentication, 1), "{ahead}");
            assert!(error.hint.ends_with("set this machine's clock"), "{}", error.hint);
        }
        assert!(server.seen().iter().all(|seen| seconds_ahead(seen).abs() < 5.0), "{ahead}");
    }
    let date = format!("date: {}\r\n", http_date(DAY - 120));
    let (server, result) = exchange(vec![json(401, &date, GATEWAY_DATE), ok()]).await;
    assert_eq!(result.unwrap().attempts, 2);
    assert!((seconds_ahead(&server.seen()[1]) - (DAY - 120) as f64).abs() < 5.0);
}

#[tokio::test]
async fn a_clock_that_was_set_right_is_followed_back() {
    let refusal = |ahead: i64| json(401, &format!("date: {}\r\n", http_date(ahead)), GATEWAY_DATE);
    let server = Server::start(vec![refusal(600), ok(), refusal(0), ok()]).await;
    let client = transport(options(&server.url()));
    for _ in 0..2 {
        assert_eq!(client.send(&teams()).await.unwrap().attempts, 2);
    }
    let ahead: Vec<f64> = server.seen().iter().map(seconds_ahead).collect();
    assert!((ahead[1] - 600.0).abs() < 5.0 && (ahead[2] - 600.0).abs() < 5.0 && ahead[3].abs() < 5.0, "{ahead:?}");
}

#[tokio::test]
async fn a_refusal_without_another_clock_is_sent_once() {
    for max_retries in [0, 3] {
        let date = format!("date: {}\r\n", http_date(0));
        for headers in ["", &date] {
            let server = Server::start(vec![json(401, headers, GATEWAY_DATE)]).await;
            let options = ClientOptions { max_retries: Some(max_retries), ..options(&server.url()) };
            assert_eq!(api(transport(options).send(&teams()).await).attempts, 1);
            assert_eq!(server.seen().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_429_says_how_long_to_wait() {
    let waits = [("retry-after: 7\r\n", Some(7)), ("", None), ("retry-after: soon\r\n", None)];
    for (headers, seconds) in waits {
        let server = Server::start(vec![json(429, headers, r#"{"message":"slow down"}"#)]).await;
        let client = transport(ClientOptions { max_retries: Some(0), ..options(&server.url()) });
        let error = api(client.send(&teams()).await);
        assert_eq!(error.retry_after, seconds.map(Duration::from_secs));
    }
}

#[tokio::test]
async fn a_redirect_of_the_same_server_is_followed_and_signed_for_its_path() {
    let (server, result) = exchange(vec![json(302, "location: /v1/data/elsewhere?x=1\r\n", ""), ok()]).await;
    let response = result.unwrap();
    assert_eq!((response.attempts, &*response.url), (1, &*format!("{}/v1/data/elsewhere?x=1", server.url())));
    let second = server.seen().remove(1);
    assert_eq!(second.line(), "GET /v1/data/elsewhere?x=1 HTTP/1.1");
    assert!(is_signed(&second) && second.header("referer").is_none(), "{}", second.head);
}

#[tokio::test]
async fn a_redirect_to_another_server_is_refused_and_nothing_goes_there() {
    let other = Server::start(vec![ok()]).await;
    let location = format!("location: {}/v1/data/teams?token=canary-token\r\n", other.url());
    let (server, result) = exchange(vec![json(307, &location, "")]).await;
    let error = api(result);
    assert_eq!((error.kind, error.status), (ApiErrorKind::Other, 307));
    assert!(error.message.contains("refused redirect"), "{}", error.message);
    let text = Error::Api(Box::new(error)).to_string();
    assert!(!text.contains("canary"), "{text}");
    assert_eq!((other.connections(), server.seen().len()), (0, 1));
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let (server, result) = exchange(vec![json(302, "location: /v1/data/teams\r\n", "")]).await;
    assert_eq!(api(result).status, 302);
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn a_200_that_is_not_json_is_a_decode_error_that_says_so() {
    for (headers, body) in [("content-type: text/html\r\n", "<html>Log in</html>"), ("", "Log in"), ("", "")] {
        let (server, result) = exchange(vec![content(200, headers, body.as_bytes())]).await;
        // The body is kept beside the error, for archives and batches.
        let response = result.unwrap();
        let Some(error @ Error::Decode(_)) = response.refusal.as_deref() else { panic!("{response:?}") };
        assert_eq!(response.body.as_slice(), body.as_bytes());
        let text = error.to_string();
        assert!(text.contains("not JSON") && text.contains(body) && text.contains("at $ (byte 0)"), "{text}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn any_other_2xx_is_an_error() {
    let (_, result) = exchange(vec![raw("HTTP/1.1 204 No Content\r\n\r\n", Then::Keep)]).await;
    assert_eq!(api(result).kind, ApiErrorKind::Other);
}

/// gzip of `[1,1,..,1]`, 4,003 bytes.
const GZIP: [u8; 45] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc2, 0x31, 0x0d, 0x00, 0x00, 0x08, 0x03, 0x30,
    0x43, 0x3c, 0xd3, 0x43, 0xf0, 0x6f, 0x03, 0x19, 0x7b, 0x9a, 0x76, 0x33, 0x00, 0x00, 0x00, 0x40, 0xdd, 0x3d, 0x75,
    0x7c, 0xb7, 0x5f, 0xa3, 0x0f, 0x00, 0x00,
];

#[tokio::test]
async fn a_body_over_the_limit_is_an_error_whatever_its_length_on_the_wire() {
    let server = Server::start(vec![content(200, "content-encoding: gzip\r\n", &GZIP)]).await;
    let config = || options(&server.url()).resolve(&|_| None).unwrap();
    let response = Transport::with_body_limit(config(), 4_003).send(&teams()).await.unwrap();
    assert_eq!(response.body.len(), 4_003);
    assert!(server.seen()[0].header("accept-encoding").unwrap().contains("gzip"));
    let result = Transport::with_body_limit(config(), 4_002).send(&teams()).await;
    let Err(Error::Request(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, RequestErrorKind::Transport);
    let text = Error::Request(error).to_string();
    assert!(text.contains("limit"), "{text}");
    assert_eq!(server.seen().len(), 2);

    // A declared length over the limit suffices: nothing is read.
    let server = Server::start(vec![raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n[", Then::Hold)]).await;
    let config = options(&server.url()).resolve(&|_| None).unwrap();
    let error = Transport::with_body_limit(config, 98).send(&teams()).await.unwrap_err();
    assert_eq!(error.request_kind(), Some(RequestErrorKind::Transport));
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, body).unwrap();
    encoder.finish().unwrap()
}

/// JSON of about so many bytes.
fn long_body(bytes: usize) -> Vec<u8> {
    format!(r#"{{"teams":[],"pad":"{}"}}"#, "0".repeat(bytes)).into_bytes()
}

/// The same body to so many calls at once, and the most bytes of bodies that the client held.
async fn all_at_once(reply: Reply, calls: usize, max_response_bytes: usize) -> (Vec<Result<Response, Error>>, usize) {
    let server = Server::start(vec![reply]).await;
    let client = transport(ClientOptions { max_response_bytes: Some(max_response_bytes), ..options(&server.url()) });
    let call = || call("teams", &Vec::new(), client.config()).unwrap();
    let payloads = futures_util::future::join_all((0..calls).map(|_| async {
        let (payload, _) = run(&client, call(), Arc::default(), false).await.map_err(|failed| failed.error)?;
        payload.release();
        Ok(payload.parts[0].clone())
    }));
    let (mut payloads, mut peak) = (std::pin::pin!(payloads), 0);
    let results = std::future::poll_fn(|context| {
        peak = peak.max(response_bytes(&client));
        payloads.as_mut().poll(context)
    });
    (results.await, peak)
}

/// The bytes of bodies that a client holds now.
fn response_bytes(client: &Transport) -> usize {
    let text = format!("{client:?}");
    text.split("response_bytes: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

const MIB: usize = 1 << 20;

#[tokio::test]
async fn compressed_bodies_are_inflated_within_the_memory_of_the_client() {
    let body = long_body(3 * MIB);
    let reply = content(200, "content-type: application/json\r\ncontent-encoding: gzip\r\n", &gzip(&body));
    let (results, peak) = all_at_once(reply, 24, 10 * MIB).await;
    assert!(results.iter().all(|result| result.as_ref().is_ok_and(|response| response.body.as_slice() == body)));
    assert!((3 * MIB..=10 * MIB).contains(&peak), "{peak}");
}

#[tokio::test]
async fn announced_bodies_wait_for_room_before_they_are_read() {
    let body = long_body(MIB);
    let (results, peak) = all_at_once(content(200, "content-type: application/json\r\n", &body), 24, 3 * MIB).await;
    for result in results {
        let response = result.unwrap();
        assert_eq!((response.body.as_slice().len(), response.attempts), (body.len(), 1));
    }
    assert!((MIB..=3 * MIB).contains(&peak), "{peak}");
}

#[tokio::test]
async fn bodies_of_unknown_length_share_the_memory_and_all_complete() {
    let body = long_body(MIB);
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n".to_vec();
    let reply = Reply { bytes: [head, body.clone()].concat(), action: Then::Close, delay: Duration::ZERO };
    let (results, peak) = all_at_once(reply, 16, 3 * MIB).await;
    for result in results {
        assert_eq!(result.unwrap().body.as_slice().len(), body.len());
    }
    assert!((MIB..=3 * MIB).contains(&peak), "{peak}");
}

#[tokio::test]
async fn a_body_that_alone_exceeds_the_memory_of_the_client_names_the_option() {
    let body = long_body(2 * MIB);
    let head = "content-type: application/json\r\n";
    let gzip_reply = content(200, &format!("{head}content-encoding: gzip\r\n"), &gzip(&body));
    for reply in [content(200, head, &body), gzip_reply] {
        let (results, peak) = all_at_once(reply, 4, MIB).await;
        for result in results {
            let Err(Error::Request(error)) = result else { panic!("{result:?}") };
            assert_eq!(error.kind, RequestErrorKind::Transport);
            assert!(error.problem().contains("limit of 1 MiB (max_response_bytes)"), "{}", error.problem());
            assert_eq!(error.request.as_ref().map(|request| request.attempts), Some(1));
        }
        assert!(peak <= MIB);
    }
}

#[tokio::test]
async fn a_refusal_in_a_document_of_status_200_holds_other_requests_too() {
    let refusal = json(200, "retry-after: 1\r\n", r#"{"status":429,"message":"slow down"}"#);
    let server = Server::start(vec![refusal, ok()]).await;
    let client = transport(ClientOptions { max_retries: Some(0), ..options(&server.url()) });
    let first = client.send(&teams()).await.unwrap();
    assert!(matches!(first.refusal.as_deref(), Some(Error::Api(error)) if error.status == 429), "{first:?}");
    let start = Instant::now();
    client.send(&teams()).await.unwrap();
    assert!(start.elapsed() > Duration::from_millis(900));
}

#[tokio::test]
async fn silence_ends_in_a_timeout() {
    let half = Duration::from_millis(500);
    let long = Duration::from_secs(60);
    let partly = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    for (read, total) in [(half, long), (long, half)] {
        for text in ["", partly] {
            let server = Server::start(vec![raw(text, Then::Hold)]).await;
            let timeouts = Timeouts { connect: long, read, total };
            let start = Instant::now();
            let result =
                transport(ClientOptions { timeouts: Some(timeouts), ..options(&server.url()) }).send(&teams()).await;
            assert_eq!(result.unwrap_err().request_kind(), Some(RequestErrorKind::Timeout));
            assert!(start.elapsed() < Duration::from_secs(5));
            assert_eq!(server.seen().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_a_connect_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let client = transport(ClientOptions { max_retries: Some(1), ..options(&format!("http://127.0.0.1:{port}")) });
    let result = client.send(&teams()).await;
    let Err(Error::Request(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, RequestErrorKind::Connect);
    let text = Error::Request(error).to_string();
    assert!(text.contains("after 2 attempts") && text.to_lowercase().contains("refused"), "{text}");
}

#[tokio::test]
async fn closing_fails_requests_in_flight_and_later_ones() {
    let server = Server::start(vec![raw("", Then::Hold)]).await;
    let client = transport(options(&server.url()));
    let (flying, request) = (client.clone(), teams());
    let in_flight = tokio::spawn(async move { flying.send(&request).await });
    while server.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.close();
    assert!(matches!(in_flight.await.unwrap(), Err(Error::Closed)));
    assert!(matches!(client.clone().send(&teams()).await, Err(Error::Closed)));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_service_and_the_host_is_the_services() {
    let proxy = Server::start(vec![ok()]).await;
    let client_options = ClientOptions {
        proxy: Some(Secret::new(proxy.url())),
        allow_http: true,
        ..options("http://service.example:81")
    };
    transport(client_options).send(&teams()).await.unwrap();
    let seen = proxy.seen().remove(0);
    assert_eq!(seen.line(), "GET http://service.example:81/v1/data/teams HTTP/1.1");
    assert_eq!(seen.header("host"), Some("service.example:81"));
}

/// Runs itself again where the environment names a proxy: only a process of its own can have one.
#[tokio::test]
async fn a_proxy_of_the_environment_is_not_asked_for_loopback() {
    if std::env::var_os("http_proxy").is_none_or(|proxy| proxy != "http://127.0.0.1:9") {
        let name = "a_proxy_of_the_environment_is_not_asked_for_loopback";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name]).env("http_proxy", "http://127.0.0.1:9").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let server = Server::start(vec![ok()]).await;
    transport(ClientOptions { max_retries: Some(0), ..options(&server.url()) }).send(&teams()).await.unwrap();
}

#[tokio::test]
async fn the_broadcast_key_goes_in_the_query_and_nowhere_else() {
    let server = Server::start(vec![json(401, "", r#"{"message":"Invalid key canary-key"}"#), ok()]).await;
    let client = transport(options(&server.url()));
    let broadcast = request("broadcast_teams", &[]);
    let error = api(client.send(&broadcast).await);
    assert_eq!(error.kind, ApiErrorKind::Authentication);
    let response = client.send(&broadcast).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!(seen.line(), "GET /broadcast/v1/games/teams?apikey=canary%2Dkey HTTP/1.1");
    assert!(seen.header("authorization").is_none());
    let error = Error::Api(Box::new(error));
    let text = format!("{error} {error:?} {response:?} {client:?} {broadcast:?}");
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn no_error_and_no_log_line_holds_a_secret() {
    logged::install();
    let down = "http://127.0.0.1:9";
    let proxy = Some(Secret::new("http://u:canary-proxy@127.0.0.1:9"));
    let cut = Server::start(vec![raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", Then::Close)]).await;
    let echo =
        Server::start(vec![json(503, "retry-after: 0\r\n", r#"{"message":"secret canary-secret, key canary-key"}"#)])
            .await;
    for (name, client_options) in [
        ("broadcast_teams", options(down)),
        ("broadcast_teams", ClientOptions { proxy, ..options(down) }),
        ("broadcast_teams", options(&cut.url())),
        ("broadcast_teams", options(&echo.url())),
        ("teams", options(&echo.url())),
    ] {
        let client = transport(ClientOptions { max_retries: Some(1), ..client_options });
        let error = client.send(&request(name, &[])).await.unwrap_err();
        let text = format!("{error} {error:?} {client:?}");
        assert!(!text.contains("canary"), "{text}");
    }
    let lines = logged::lines();
    assert!(lines.iter().any(|line| line.starts_with("WARN") && line.contains("retrying in")), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains("canary")), "{lines:#?}");
}

/// What this crate logs, kept.
mod logged {
    use std::sync::Mutex;

    struct LogLines(Mutex<Vec<String>>);
    static LOG_LINES: LogLines = LogLines(Mutex::new(Vec::new()));

    impl log::Log for LogLines {
        fn enabled(&self, metadata: &log::Metadata) -> bool {
            metadata.target().starts_with("sideline")
        }
        fn log(&self, record: &log::Record) {
            if self.enabled(record.metadata()) {
                self.0.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
            }
        }
        fn flush(&self) {}
    }

    pub(crate) fn install() {
        log::set_logger(&LOG_LINES).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    }

    pub(crate) fn lines() -> Vec<String> {
        LOG_LINES.0.lock().unwrap().clone()
    }
}
