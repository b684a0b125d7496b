//! A request as the endpoints see it.

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

/// An authenticated request.
#[derive(Debug, Clone)]
pub(super) struct EndpointCall {
    /// Decoded, without slashes.
    pub(super) segments: Vec<String>,
    /// Decoded, in order.
    pub(super) query: Vec<(String, String)>,
    /// The season's clock.
    pub(super) now: i64,
}

impl EndpointCall {
    pub(super) fn new(path: &str, query: Vec<(String, String)>, now: i64) -> Self {
        let segments =
            path.split('/').skip(1).map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned());
        EndpointCall { segments: segments.collect(), query, now }
    }
    /// The first parameter of this name; an empty one counts as missing.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        value.filter(|value| !value.is_empty())
    }
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }
    /// Whether it is present and true.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }
}

/// The decoded pairs of a query.
pub(super) fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}
