//! Responses as bytes, valid or not. hyper refuses to write contradictory responses, so those of faults are written
//! here.

use super::fault::Gzip;
use axum::http::header::CONNECTION;
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
}

pub(super) fn status_line(bytes: &mut Vec<u8>, status: StatusCode) {
    let reason = status.canonical_reason().unwrap_or("Unknown");
    bytes.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).as_bytes());
}

pub(super) fn field(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        bytes.extend_from_slice(part);
    }
}

pub(super) fn length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok()?.parse().ok()
}

pub(super) fn says_close(headers: &HeaderMap) -> bool {
    headers.get_all(CONNECTION).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}

/// As one chunk and the final chunk.
pub(super) fn write_chunks(body: &[u8]) -> Vec<u8> {
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

pub(super) fn compress(body: &[u8], mode: Gzip) -> Vec<u8> {
    let content = match mode {
        Gzip::Damaged => Cow::Owned(with_another_digit(body)),
        Gzip::Complete | Gzip::Cut => Cow::Borrowed(body),
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(&content);
    let mut bytes = encoder.finish().unwrap_or_default();
    let checksum = bytes.len().saturating_sub(TRAILER);
    match mode {
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

    #[test]
    fn gzip_is_whole_or_cut_or_has_damage_that_only_its_checksum_reveals() {
        let decompress = |mode, body: &[u8]| {
            let mut out = Vec::new();
            let end = GzDecoder::new(&compress(body, mode)[..]).read_to_end(&mut out);
            (out, end.map_err(|error| error.kind()).err())
        };
        let body = br#"{"id": 46, "name": "x"}"#.repeat(100);
        assert_eq!(decompress(Gzip::Complete, &body), (body.clone(), None));
        assert_eq!(decompress(Gzip::Cut, &body), (body.clone(), Some(std::io::ErrorKind::UnexpectedEof)));
        let (content, error) = decompress(Gzip::Damaged, &body);
        assert_eq!(error, Some(std::io::ErrorKind::InvalidInput));
        assert_eq!(content.iter().zip(&body).filter(|(byte, other)| byte != other).count(), 1);
        assert!(decompress(Gzip::Damaged, b"").1.is_some());
    }
}
