//! Responses as bytes, valid or not. hyper refuses to write contradictory responses, so those of faults are written
//! here.

use super::faults::{Fault, Gzip};
use axum::http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use flate2::{Compression, write::GzEncoder};
use std::borrow::Cow;
use std::io::Write;

/// The bytes that a connection sends in place of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawResponse {
    pub(super) bytes: Vec<u8>,
    pub(super) end: ConnectionEnd,
}

/// How the connection ends after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    Open,
    /// It closes when the next request arrives.
    Stale {
        reset: bool,
    },
    /// By FIN, or by RST.
    Closed {
        reset: bool,
    },
}

impl RawResponse {
    /// No bytes, and a reset.
    pub(super) fn reset() -> Self {
        RawResponse { bytes: Vec::new(), end: ConnectionEnd::Closed { reset: true } }
    }

    pub(super) fn new(status: StatusCode, headers: &HeaderMap, body: &[u8], fault: &Fault, to_head: bool) -> Self {
        let body = match fault.gzip {
            Some(how) => Cow::Owned(gzipped(body, how)),
            None => Cow::Borrowed(body),
        };
        let in_chunks = headers.contains_key(TRANSFER_ENCODING);
        let never_has_body = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);

        let mut bytes = Vec::with_capacity(body.len() + 512);
        for informational in &fault.informational {
            status_line(&mut bytes, StatusCode::from_u16(*informational).unwrap_or(StatusCode::CONTINUE));
            bytes.extend_from_slice(b"\r\n");
        }
        status_line(&mut bytes, status);
        for (name, value) in headers {
            field(&mut bytes, name.as_str(), value.as_bytes());
        }
        if fault.gzip.is_some() && !headers.contains_key(CONTENT_ENCODING) {
            field(&mut bytes, CONTENT_ENCODING.as_str(), b"gzip");
        }
        let stated = (body.len() as i64).saturating_add(fault.content_length).max(0);
        let states_length = !headers.contains_key(CONTENT_LENGTH) && !in_chunks && !never_has_body;
        if states_length {
            field(&mut bytes, CONTENT_LENGTH.as_str(), stated.to_string().as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");

        let content = match (to_head || never_has_body, in_chunks) {
            (true, _) => Cow::Borrowed(&[][..]),
            (false, true) => Cow::Owned(chunked(&body)),
            (false, false) => body,
        };
        if let Some(at) = fault.cut_at {
            bytes.extend_from_slice(&content[..at.min(content.len())]);
            return RawResponse { bytes, end: ConnectionEnd::Closed { reset: fault.reset } };
        }
        bytes.extend_from_slice(&content);
        bytes.extend_from_slice(&fault.trailing);

        let sent = (content.len() + fault.trailing.len()) as u64;
        let lengths = headers.get_all(CONTENT_LENGTH).iter().filter_map(length);
        let most = lengths.chain(states_length.then_some(stated.unsigned_abs())).max();
        // If Content-Length exceeds the body, close the connection, as a crashed server would.
        let too_short = !to_head && !in_chunks && most.is_some_and(|most| most > sent);
        let end = match too_short || says_close(headers) {
            true => ConnectionEnd::Closed { reset: fault.reset },
            false if fault.stale => ConnectionEnd::Stale { reset: fault.reset },
            false => ConnectionEnd::Open,
        };
        RawResponse { bytes, end }
    }
}

fn status_line(bytes: &mut Vec<u8>, status: StatusCode) {
    let reason = status.canonical_reason().unwrap_or("Unknown");
    bytes.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).as_bytes());
}

fn field(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        bytes.extend_from_slice(part);
    }
}

fn length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok()?.parse().ok()
}

fn says_close(headers: &HeaderMap) -> bool {
    headers.get_all(CONNECTION).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}

/// As one chunk and the final chunk.
fn chunked(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + 32);
    if !body.is_empty() {
        bytes.extend_from_slice(format!("{:X}\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The checksum and length at the end of a gzip stream (RFC 1952, 2.3.1).
const TRAILER: usize = 8;

fn gzipped(body: &[u8], how: Gzip) -> Vec<u8> {
    let content = match how {
        Gzip::Damaged => Cow::Owned(with_another_digit(body)),
        Gzip::Complete | Gzip::Cut => Cow::Borrowed(body),
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(&content);
    let mut bytes = encoder.finish().unwrap_or_default();
    let checksum = bytes.len().saturating_sub(TRAILER);
    match how {
        Gzip::Complete => {}
        Gzip::Cut => bytes.truncate(checksum),
        Gzip::Damaged => bytes.iter_mut().skip(checksum).take(4).for_each(|byte| *byte = !*byte),
    }
    bytes
}

/// Damage that only a checksum detects: it decompresses, and JSON stays JSON.
fn with_another_digit(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    if let Some(digit) = body.iter_mut().rfind(|byte| byte.is_ascii_digit()) {
        *digit ^= 1;
    }
    body
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn script(fault: &Fault, headers: &[(&'static str, &str)], body: &[u8]) -> (String, Vec<u8>, ConnectionEnd) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let RawResponse { bytes, end } = RawResponse::new(StatusCode::OK, &map, body, fault, false);
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        (String::from_utf8(bytes[..head].to_vec()).unwrap(), bytes[head..].to_vec(), end)
    }

    #[test]
    fn a_fault_that_does_nothing_writes_the_true_answer() {
        let (head, body, end) = script(&Fault::default(), &[("x-a", "1"), ("x-a", "2")], b"true");
        assert_eq!(head, "HTTP/1.1 200 OK\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 4\r\n\r\n");
        assert_eq!((&body[..], end), (&b"true"[..], ConnectionEnd::Open));
    }

    #[test]
    fn a_wrong_length_is_in_the_header_alone() {
        let lie = |by| script(&Fault { content_length: by, ..Fault::default() }, &[], b"0123456789");
        let (head, body, end) = lie(5);
        assert!(head.contains("content-length: 15\r\n"), "{head}");
        assert_eq!((&body[..], end), (&b"0123456789"[..], ConnectionEnd::Closed { reset: false }));
        let (head, body, end) = lie(-4);
        assert!(head.contains("content-length: 6\r\n"), "{head}");
        assert_eq!(
            (&body[..], end),
            (&b"0123456789"[..], ConnectionEnd::Open),
            "what is beyond the length follows all the same"
        );
        assert!(lie(-99).0.contains("content-length: 0\r\n"));
    }

    #[test]
    fn what_trails_may_fill_a_length_that_is_too_long() {
        let fault = Fault { content_length: 2, trailing: b"xy".to_vec(), ..Fault::default() };
        let (_, body, end) = script(&fault, &[], b"ab");
        assert_eq!((&body[..], end), (&b"abxy"[..], ConnectionEnd::Open));
    }

    #[test]
    fn an_answer_that_says_that_it_closes_does() {
        assert_eq!(
            script(&Fault::default(), &[("connection", "Close")], b"").2,
            ConnectionEnd::Closed { reset: false }
        );
    }

    #[test]
    fn of_two_lengths_the_longer_decides_whether_the_connection_ends() {
        let headers = [("content-length", "2"), ("content-length", "3")];
        let (head, _, end) = script(&Fault::default(), &headers, b"{}");
        assert!(head.contains("content-length: 2\r\ncontent-length: 3\r\n"), "{head}");
        assert_eq!(end, ConnectionEnd::Closed { reset: false });
    }

    #[test]
    fn an_answer_to_head_and_one_that_never_has_a_body_end_with_their_head() {
        let ends = |status, to_head| {
            let script = RawResponse::new(status, &HeaderMap::new(), b"body", &Fault::default(), to_head);
            (script.bytes.ends_with(b"\r\n\r\n"), script.end)
        };
        assert_eq!(ends(StatusCode::OK, true), (true, ConnectionEnd::Open));
        assert_eq!(ends(StatusCode::NO_CONTENT, false), (true, ConnectionEnd::Open));
        assert_eq!(ends(StatusCode::NOT_MODIFIED, false), (true, ConnectionEnd::Open));
    }

    #[test]
    fn gzip_is_whole_or_cut_or_has_damage_that_only_its_checksum_tells() {
        let unzipped = |how, body: &[u8]| {
            let mut out = Vec::new();
            let end = GzDecoder::new(&gzipped(body, how)[..]).read_to_end(&mut out);
            (out, end.map_err(|error| error.kind()).err())
        };
        let body = br#"{"id": 46, "name": "x"}"#.repeat(100);
        assert_eq!(unzipped(Gzip::Complete, &body), (body.clone(), None));
        assert_eq!(unzipped(Gzip::Cut, &body), (body.clone(), Some(std::io::ErrorKind::UnexpectedEof)));
        let (damaged, error) = unzipped(Gzip::Damaged, &body);
        assert_eq!(error, Some(std::io::ErrorKind::InvalidInput));
        assert_eq!(damaged.iter().zip(&body).filter(|(one, other)| one != other).count(), 1);
        assert!(unzipped(Gzip::Damaged, b"").1.is_some());
    }
}
