//! A fault: its options, declared once, and what it does to a request and its response.

use super::connection::{Cut, CutSwitch};
use super::raw_response::{ConnectionEnd, RawResponse, compress, field, length, says_close, status_line, write_chunks};
use super::response::ErrorResponse;
use super::throttle::Throttle;
use crate::error::{Error, Result};
use axum::body::Bytes;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::borrow::Cow;
use std::time::{Duration, SystemTime};

/// The options of a fault. The fields of [`Fault`], the arguments of Python's `Faults.add` with their docstrings, and
/// the table of docs/testing.md follow from it.
///
/// Each has its meaning for users, its type and default, and the values that an error names.
#[macro_export]
macro_rules! fault_options {
    ($callback:ident) => {
        $callback! {
            /// The path of the requests; `*` matches any characters.
            path: String = "*".into(), r#"a str such as "/v1/data/teams""#;
            /// Replaces the status. The request is then not authenticated, as with `body`.
            status: Option<u16> = None, "a whole number";
            /// Replaces the body: bytes, text, or a value for JSON.
            body: Option<Vec<u8>> = None, "bytes, text, or a value for JSON";
            /// Replace headers of the same name; pairs may repeat a name.
            headers: Vec<(String, String)> = Vec::new(), r#"a mapping of str to str, or pairs such as [("X-Odd", "1")]"#;
            /// Seconds before the response.
            delay: f64 = 0.0, "a number of seconds";
            /// The connection ends after so many bytes of the body.
            cut_at: Option<usize> = None, "a whole number";
            /// The connection ends with a reset, at `cut_at` or `stale`, or else before the response.
            reset: bool = false, "True or False";
            /// Is added to the true Content-Length (+5, -5). After a shorter body the connection ends; a longer body is
            /// sent completely.
            content_length: i64 = 0, "a whole number";
            /// Compresses the body, requested or not: "whole", "damaged" (one wrong digit, which only the checksum
            /// reveals) or "cut" (without its end).
            gzip: Option<Gzip> = None, r#""whole", "damaged" or "cut""#;
            /// Bytes after the response, on the same connection.
            trailing: Bytes = Bytes::new(), "bytes";
            /// Statuses of responses before the response, such as 103.
            informational: Vec<u16> = Vec::new(), "a list of statuses such as [103]";
            /// The connection stays open after the response, and closes on the next request.
            stale: bool = false, "True or False";
            /// The speed of the response.
            bytes_per_second: Option<u32> = None, "a whole number";
            /// Applies the fault only to requests beyond this rate, with status 429 by default.
            requests_per_second: Option<f64> = None, "a number";
            /// How many requests may come at once within `requests_per_second`; default: 1.
            burst: Option<u32> = None, "a whole number";
            /// Adds the header Retry-After to the responses beyond `requests_per_second`.
            retry_after: bool = false, "True or False";
            /// Seconds added to the server's clock.
            clock_offset: f64 = 0.0, "a number of seconds";
            /// How often it applies; default: always.
            times: Option<u32> = None, "a whole number";
            /// How likely it applies.
            probability: f64 = 1.0, "a number";
        }
    };
}

macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $expected:literal;)+) => {
        /// One fault. It is applied to matching requests.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Fault {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl Default for Fault {
            /// Matches every request and changes nothing.
            fn default() -> Self {
                Fault { $($name: $default,)+ }
            }
        }
    };
}
fault_options!(declare);

/// An option that is one of some words.
pub trait Words: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// How to compress a body, whether or not the request accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gzip {
    Complete,
    /// One digit is changed, which only the checksum detects.
    Damaged,
    /// Without checksum and length.
    Cut,
}

impl Words for Gzip {
    const WORDS: &'static [(&'static str, Self)] =
        &[("whole", Gzip::Complete), ("damaged", Gzip::Damaged), ("cut", Gzip::Cut)];
}

/// `Date` can be written from 1970 to 9999; a generation either way suffices for tests.
const MAX_CLOCK_OFFSET: f64 = 1e9;

impl Fault {
    pub(super) fn check(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::Argument(message));
        if let Some(status) = self.status
            // hyper sends no 1xx as a response, and HTTP has none above 599.
            && !(200..=599).contains(&status)
        {
            return invalid(format!("status must be from 200 to 599, not {status}"));
        }
        if Duration::try_from_secs_f64(self.delay).is_err() {
            return invalid(format!("delay must be a number of seconds from 0 up, not {}", self.delay));
        }
        // NaN is in no range.
        if !(-MAX_CLOCK_OFFSET..=MAX_CLOCK_OFFSET).contains(&self.clock_offset) {
            return invalid(format!(
                "clock_offset must be within {MAX_CLOCK_OFFSET} seconds, not {}",
                self.clock_offset
            ));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return invalid(format!("probability must be from 0 to 1, not {}", self.probability));
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return invalid(format!("{name:?}: {value:?} cannot be sent as a header"));
            }
        }
        let states_length = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if self.content_length != 0 && states_length {
            return invalid(
                "content_length is added to the true length: give it or a Content-Length header".to_owned(),
            );
        }
        // A client that is asked to switch protocols does not wait for a response.
        if let Some(status) = self.informational.iter().find(|status| !(100..=199).contains(*status) || **status == 101)
        {
            return invalid(format!("informational is statuses from 100 to 199 but 101, not {status}"));
        }
        if self.bytes_per_second == Some(0) {
            return invalid("bytes_per_second must be at least 1".to_owned());
        }
        match self.throttle() {
            Some(throttle) => throttle.check(),
            None if self.burst.is_some() || self.retry_after => {
                invalid("burst and retry_after go with requests_per_second".to_owned())
            }
            None => Ok(()),
        }
    }

    /// The rate beyond which it applies; `None`: it applies to every request.
    pub(super) fn throttle(&self) -> Option<Throttle> {
        let requests_per_second = self.requests_per_second?;
        Some(Throttle { requests_per_second, burst: self.burst.unwrap_or(1) })
    }

    // Its effects, in the order of a request and its response.

    /// Before the response is made. Returns whether the connection ends instead.
    pub(super) async fn before_response(&self, connection: &CutSwitch) -> bool {
        connection.slow_down(self.bytes_per_second.unwrap_or(0));
        // A sleep of zero would still last to the timer's next tick, a millisecond.
        if self.delay > 0.0 {
            tokio::time::sleep(Duration::try_from_secs_f64(self.delay).unwrap_or_default()).await;
        }
        let ends = self.reset && self.cut_at.is_none() && !self.stale;
        if ends {
            connection.play(RawResponse::reset());
        }
        ends
    }

    /// The server's clock.
    pub(super) fn clock(&self) -> SystemTime {
        let clock = SystemTime::now();
        let by = Duration::try_from_secs_f64(self.clock_offset.abs()).unwrap_or_default();
        let shifted_clock = if self.clock_offset < 0.0 { clock.checked_sub(by) } else { clock.checked_add(by) };
        shifted_clock.unwrap_or(clock)
    }

    /// The status and body that replace the service's response, which is then never made.
    pub(super) fn replacement(&self, request_id: &str) -> Option<(u16, Bytes)> {
        let status = match (self.status, &self.body) {
            (None, None) => return None,
            (status, Some(body)) => return Some((status.unwrap_or(200), Bytes::copy_from_slice(body))),
            (Some(status), None) => status,
        };
        let error = match status {
            500 => ErrorResponse::general(),
            _ => {
                let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
                ErrorResponse::new(status, reason.unwrap_or("Unknown"))
            }
        };
        Some((status, error.body(request_id)))
    }

    /// Replaces headers of the same name; one listed twice is sent twice.
    pub(super) fn change_headers(&self, headers: &mut HeaderMap) {
        let names: Vec<HeaderName> =
            self.headers.iter().filter_map(|(name, _)| HeaderName::try_from(name).ok()).collect();
        for name in &names {
            headers.remove(name);
        }
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.append(name, value);
            }
        }
    }

    /// When a stream opens, whose bytes follow as they come.
    pub(super) fn open_stream(&self, connection: &CutSwitch) {
        if let Some(at) = self.cut_at {
            connection.arm(Cut::after(at, self.reset));
        }
    }

    /// The bytes of a response, and how its connection ends.
    pub(super) fn write(&self, status: StatusCode, headers: &HeaderMap, body: &[u8], to_head: bool) -> RawResponse {
        let body = match self.gzip {
            Some(mode) => Cow::Owned(compress(body, mode)),
            None => Cow::Borrowed(body),
        };
        let in_chunks = headers.contains_key(TRANSFER_ENCODING);
        let never_has_body = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);

        let mut bytes = Vec::with_capacity(body.len() + 512);
        for informational in &self.informational {
            status_line(&mut bytes, StatusCode::from_u16(*informational).unwrap_or(StatusCode::CONTINUE));
            bytes.extend_from_slice(b"\r\n");
        }
        status_line(&mut bytes, status);
        for (name, value) in headers {
            field(&mut bytes, name.as_str(), value.as_bytes());
        }
        if self.gzip.is_some() && !headers.contains_key(CONTENT_ENCODING) {
            field(&mut bytes, CONTENT_ENCODING.as_str(), b"gzip");
        }
        let content_length = (body.len() as i64).saturating_add(self.content_length).max(0);
        let states_length = !headers.contains_key(CONTENT_LENGTH) && !in_chunks && !never_has_body;
        if states_length {
            field(&mut bytes, CONTENT_LENGTH.as_str(), content_length.to_string().as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");

        let content = match (to_head || never_has_body, in_chunks) {
            (true, _) => Cow::Borrowed(&[][..]),
            (false, true) => Cow::Owned(write_chunks(&body)),
            (false, false) => body,
        };
        if let Some(at) = self.cut_at {
            bytes.extend_from_slice(&content[..at.min(content.len())]);
            return RawResponse { bytes, end: ConnectionEnd::Closed { reset: self.reset } };
        }
        bytes.extend_from_slice(&content);
        bytes.extend_from_slice(&self.trailing);

        let length_sent = (content.len() + self.trailing.len()) as u64;
        let lengths = headers.get_all(CONTENT_LENGTH).iter().filter_map(length);
        let longest = lengths.chain(states_length.then_some(content_length.unsigned_abs())).max();
        // If Content-Length exceeds the body, close the connection, as a crashed server would.
        let too_short = !to_head && !in_chunks && longest.is_some_and(|longest| longest > length_sent);
        let end = match too_short || says_close(headers) {
            true => ConnectionEnd::Closed { reset: self.reset },
            false if self.stale => ConnectionEnd::Stale { reset: self.reset },
            false => ConnectionEnd::Open,
        };
        RawResponse { bytes, end }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use super::*;

    #[test]
    fn an_impossible_fault_is_refused() {
        let default = Fault::default;
        for fault in [
            Fault { status: Some(199), ..default() },
            Fault { status: Some(600), ..default() },
            Fault { delay: -0.1, ..default() },
            Fault { delay: f64::NAN, ..default() },
            Fault { delay: f64::INFINITY, ..default() },
            Fault { clock_offset: f64::NAN, ..default() },
            Fault { clock_offset: 1e12, ..default() },
            Fault { content_length: 1, headers: vec![("Content-Length".into(), "2".into())], ..default() },
            Fault { informational: vec![103, 200], ..default() },
            Fault { informational: vec![101], ..default() },
            Fault { informational: vec![99], ..default() },
            Fault { bytes_per_second: Some(0), ..default() },
            Fault { requests_per_second: Some(0.0), ..default() },
            Fault { requests_per_second: Some(f64::NAN), ..default() },
            Fault { requests_per_second: Some(f64::INFINITY), ..default() },
            Fault { requests_per_second: Some(1.0), burst: Some(0), ..default() },
            Fault { burst: Some(3), ..default() },
            Fault { retry_after: true, ..default() },
            Fault { probability: 1.1, ..default() },
            Fault { probability: f64::NAN, ..default() },
            Fault { headers: vec![("a b".into(), "c".into())], ..default() },
            Fault { headers: vec![("a".into(), "b\nc".into())], ..default() },
        ] {
            assert!(matches!(fault.check(), Err(Error::Argument(_))), "{fault:?}");
        }
    }

    fn script(fault: &Fault, headers: &[(&'static str, &str)], body: &[u8]) -> (String, Vec<u8>, ConnectionEnd) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let RawResponse { bytes, end } = fault.write(StatusCode::OK, &map, body, false);
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        (String::from_utf8(bytes[..head].to_vec()).unwrap(), bytes[head..].to_vec(), end)
    }

    #[test]
    fn a_fault_without_effect_writes_the_true_response() {
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
    fn trailing_bytes_may_fill_a_length_that_is_too_long() {
        let fault = Fault { content_length: 2, trailing: Bytes::from_static(b"xy"), ..Fault::default() };
        let (_, body, end) = script(&fault, &[], b"ab");
        assert_eq!((&body[..], end), (&b"abxy"[..], ConnectionEnd::Open));
    }

    #[test]
    fn a_response_with_connection_close_closes() {
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
    fn responses_to_head_and_without_body_end_with_their_head() {
        let ends = |status, to_head| {
            let script = Fault::default().write(status, &HeaderMap::new(), b"body", to_head);
            (script.bytes.ends_with(b"\r\n\r\n"), script.end)
        };
        assert_eq!(ends(StatusCode::OK, true), (true, ConnectionEnd::Open));
        assert_eq!(ends(StatusCode::NO_CONTENT, false), (true, ConnectionEnd::Open));
        assert_eq!(ends(StatusCode::NOT_MODIFIED, false), (true, ConnectionEnd::Open));
    }
}
