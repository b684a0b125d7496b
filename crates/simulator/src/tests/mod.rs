//! The simulator over raw TCP, by a client that shares no code with it or with ours.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod access;
mod broadcast;
mod endpoints;
mod faults;
mod game_resources;
mod life;

use super::{Privileges, Seen, Simulator, SimulatorOptions};
use crate::model::{schedule::ScheduledGame, team::Team};
use serde_json::Value;
use sha1::{Digest, Sha1};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

/// 20 February 2026, noon UTC.
const NOW: i64 = 1_771_588_800_000;
const DAY: i64 = 86_400_000;

impl Simulator {
    pub(crate) fn teams(&self) -> Vec<Team> {
        self.service.season.teams().to_vec()
    }
    pub(crate) fn games(&self) -> Vec<ScheduledGame> {
        self.service.season.games().to_vec()
    }
}

fn start(options: SimulatorOptions) -> Simulator {
    Simulator::start(options).unwrap()
}

/// A small season at a frozen clock.
fn small() -> Simulator {
    start(SimulatorOptions { seed: 7, teams: 6, games: 40, now: Some(NOW), ..SimulatorOptions::default() })
}

/// HMAC by its definition (RFC 2104), in base64 by its definition (RFC 4648).
fn hmac_sha1(key: &str, text: &str) -> String {
    let mut block = [0u8; 64];
    block[..key.len()].copy_from_slice(key.as_bytes());
    let digest_with_pad = |with: u8, text: &[u8]| {
        let pad: Vec<u8> = block.iter().map(|byte| byte ^ with).collect();
        Sha1::digest([&pad[..], text].concat())
    };
    let digest = digest_with_pad(0x5c, &digest_with_pad(0x36, text.as_bytes()));
    let set = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in digest.chunks(3) {
        let bits = three.iter().enumerate().fold(0u32, |bits, (n, byte)| bits | u32::from(*byte) << (16 - 8 * n));
        for n in 0..4 {
            let is_pad = n > three.len();
            out.push(if is_pad { '=' } else { char::from(set[(bits >> (18 - 6 * n)) as usize & 63]) });
        }
    }
    out
}

#[test]
fn the_test_signer_gives_what_openssl_gives() {
    let text = "date: Sat, 21 Nov 2026 01:00:00 GMT\nhost: api.shottracker.com\nGET /v1/data/teams HTTP/1.1";
    assert_eq!(hmac_sha1("s3cret", text), "4CpLOVcUegcsHCOOxpT01DnKJ3Q=");
}

/// A response; incomplete if the connection was cut.
#[derive(Debug)]
struct SocketResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// How reading ended: at the connection's end, or by an error.
    end: io::Result<()>,
}

impl SocketResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
    fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }
}

fn date_of(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

/// Who sends.
struct Sender<'a> {
    simulator: &'a Simulator,
    username: String,
    secret: String,
}

impl<'a> Sender<'a> {
    fn new(simulator: &'a Simulator) -> Self {
        Sender { simulator, username: simulator.username(), secret: simulator.secret() }
    }
    fn with(simulator: &'a Simulator, username: &str, privileges: Privileges) -> Self {
        simulator.add_credentials(username, "another secret", privileges).unwrap();
        Sender { simulator, username: username.into(), secret: "another secret".into() }
    }
    fn host(&self) -> String {
        self.simulator.base_url().strip_prefix("http://").unwrap().to_owned()
    }
    fn headers(&self, method: &str, path: &str, at: SystemTime) -> Vec<(&'static str, String)> {
        let (date, host) = (date_of(at), self.host());
        let signature = hmac_sha1(&self.secret, &format!("date: {date}\nhost: {host}\n{method} {path} HTTP/1.1"));
        let authorization = format!(
            "hmac username=\"{}\",algorithm=\"hmac-sha1\",headers=\"date host request-line\",signature=\"{signature}\"",
            self.username
        );
        vec![("Host", host), ("Date", date), ("Authorization", authorization)]
    }
    /// Signs and sends; only the path is signed.
    fn request(&self, method: &str, target: &str, at: SystemTime) -> SocketResponse {
        let path = target.split('?').next().unwrap();
        raw(self.simulator, method, target, &self.headers(method, path, at))
    }
    fn get(&self, target: &str) -> SocketResponse {
        self.request("GET", target, SystemTime::now())
    }
    /// The JSON of an answer that must be good.
    fn json(&self, target: &str) -> Value {
        self.get_ok(target).json()
    }
    fn get_ok(&self, target: &str) -> SocketResponse {
        let response = self.get(target);
        assert_eq!(response.status, 200, "{target}: {}", String::from_utf8_lossy(&response.body));
        assert_eq!(response.header("content-type"), Some("application/json"));
        response
    }
    /// Status and message of an answer that must be an error of the service.
    fn refusal(&self, target: &str) -> (u16, String) {
        let response = self.get(target);
        let body = response.json();
        assert_eq!(body["status"], response.status, "{target}");
        assert_eq!(body["shottrackerRequestId"].as_str().unwrap().len(), 36, "{target}");
        (response.status, response.message())
    }
}

/// Sends a request and reads all that comes.
fn raw(simulator: &Simulator, method: &str, target: &str, headers: &[(&str, String)]) -> SocketResponse {
    let address = simulator.base_url();
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    stream.write_all((text + "Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).map(drop);
    read_response(&bytes, end)
}

fn read_response(bytes: &[u8], end: io::Result<()>) -> SocketResponse {
    let Some(head_end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        assert_eq!(bytes, b"", "half a head");
        return SocketResponse { status: 0, headers: Vec::new(), body: Vec::new(), end };
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap()).map(|(n, v)| (n.to_owned(), v.to_owned()));
    SocketResponse { status, headers: headers.collect(), body: bytes[head_end + 4..].to_vec(), end }
}

fn last_seen(simulator: &Simulator) -> Seen {
    simulator.requests().pop().unwrap()
}
