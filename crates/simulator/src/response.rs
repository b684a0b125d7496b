//! The response of an endpoint, and a cache of large bodies.

use axum::body::Bytes;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::VecDeque;

/// A body with status 200.
#[derive(Debug, Clone)]
pub(super) struct EndpointResponse {
    pub(super) body: Bytes,
    /// Final: it describes something that is over.
    pub(super) is_final: bool,
}

/// An error of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorResponse {
    pub(super) status: u16,
    pub(super) message: Cow<'static, str>,
}

impl ErrorResponse {
    pub(super) fn new(status: u16, message: impl Into<Cow<'static, str>>) -> Self {
        ErrorResponse { status, message: message.into() }
    }
    pub(super) fn general() -> Self {
        ErrorResponse::new(500, "General system error")
    }
    /// Its body, as the service writes it.
    pub(super) fn body(&self, request_id: &str) -> Bytes {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ErrorBody<'a> {
            status: u16,
            message: &'a str,
            shottracker_request_id: &'a str,
        }
        written(&ErrorBody { status: self.status, message: &self.message, shottracker_request_id: request_id })
            .unwrap_or_default()
    }
}

/// An error of the gateway, which has only a message.
pub(super) fn gateway_body(message: &str) -> Bytes {
    #[derive(Serialize)]
    struct GatewayBody<'a> {
        message: &'a str,
    }
    written(&GatewayBody { message }).unwrap_or_default()
}

fn written(body: &impl Serialize) -> Result<Bytes, ErrorResponse> {
    // The wire models have only text keys, so serialization cannot fail.
    serde_json::to_vec(body).map(Bytes::from).map_err(|_| ErrorResponse::general())
}

/// A response that may change.
pub(super) fn json(body: &impl Serialize) -> Result<EndpointResponse, ErrorResponse> {
    Ok(EndpointResponse { body: written(body)?, is_final: false })
}

/// A response about something that ended at this time.
pub(super) fn json_of(body: &impl Serialize, ended_at: i64, now: i64) -> Result<EndpointResponse, ErrorResponse> {
    Ok(EndpointResponse { body: written(body)?, is_final: ended_at < now })
}

/// The most recently used bodies, so that a benchmark of a client does not measure this service.
#[derive(Debug, Default)]
pub(super) struct BodyCache {
    /// The most recently used is last.
    bodies: VecDeque<(String, Bytes)>,
    bytes: usize,
}

const MAX_BYTES: usize = 64 << 20;
/// Lookups are linear, so there are few.
const MAX_BODIES: usize = 256;

impl BodyCache {
    pub(super) fn get(&mut self, key: &str) -> Option<Bytes> {
        let at = self.bodies.iter().rposition(|(k, _)| k == key)?;
        let entry = self.bodies.remove(at)?;
        let body = entry.1.clone();
        self.bodies.push_back(entry);
        Some(body)
    }
    pub(super) fn keep(&mut self, key: String, body: Bytes) {
        if body.len() > MAX_BYTES || self.get(&key).is_some() {
            return;
        }
        self.bytes += body.len();
        self.bodies.push_back((key, body));
        while self.bytes > MAX_BYTES || self.bodies.len() > MAX_BODIES {
            let Some((_, oldest)) = self.bodies.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_services_three_fields() {
        let body = ErrorResponse::new(404, "Invalid id").body("r1");
        assert_eq!(&body[..], br#"{"status":404,"message":"Invalid id","shottrackerRequestId":"r1"}"#);
        assert_eq!(&gateway_body("Unauthorized")[..], br#"{"message":"Unauthorized"}"#);
    }

    #[test]
    fn the_body_used_longest_ago_is_dropped_first() {
        let mut cache = BodyCache::default();
        for n in 0..MAX_BODIES {
            cache.keep(n.to_string(), Bytes::from_static(b"x"));
        }
        assert!(cache.get("0").is_some());
        cache.keep("new".into(), Bytes::from_static(b"x"));
        assert!(cache.get("0").is_some() && cache.get("new").is_some());
        assert!(cache.get("1").is_none());
        assert_eq!(cache.bytes, MAX_BODIES);
    }

    #[test]
    fn no_more_bytes_are_kept_than_allowed() {
        let mut cache = BodyCache::default();
        let half = Bytes::from(vec![b'x'; MAX_BYTES / 2 + 1]);
        cache.keep("a".into(), half.clone());
        cache.keep("b".into(), half.clone());
        assert!(cache.get("a").is_none() && cache.get("b").is_some());
        assert_eq!(cache.bytes, half.len());
    }
}
