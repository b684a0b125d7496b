//! What an answer means. Pure: status, headers and body in, an error or nothing out.

use crate::error::{ApiError, ApiErrorKind};
use crate::operation::Auth;
use crate::table::{Body, DecodeError};
use serde_json::Value;

/// An answer as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    /// Redacted.
    pub(super) url: String,
    /// Why a redirect was not followed.
    pub(super) refused: Option<String>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The id of the request, where a header gives it (the service's own errors give it in their body).
    pub(super) fn request_id(&self) -> Option<String> {
        let named = |name: &str| name.ends_with("request-id") || name.ends_with("requestid");
        self.headers.iter().find(|(name, value)| named(name) && !value.is_empty()).map(|(_, value)| value.clone())
    }
}

/// What is known of the two clocks when an answer came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clocks {
    /// How far the server's clock is ahead of this machine's, in milliseconds; `None` where the answer does not say.
    pub(super) ahead: Option<i64>,
    /// How far ahead the request's date was set.
    pub(super) used: i64,
}

/// Under a minute no server refuses (specification 8 allows 5).
const SKEWED: i64 = 60_000;
/// `Date` is cut to the second: less is noise.
const NOISE: i64 = 1_500;

impl Clocks {
    /// Whether this refusal is for the request's date, and the answer tells the right one.
    pub(super) fn refused_the_date(self, error: &ApiError) -> bool {
        let off = self.ahead.map_or(0, |ahead| (ahead - self.used).abs());
        error.kind == ApiErrorKind::Authentication && (off >= SKEWED || (off >= NOISE && mentions_date(&error.message)))
    }

    /// A difference that a server may refuse, in words.
    fn skew(self) -> Option<String> {
        let ahead = self.ahead.filter(|ahead| ahead.abs() >= SKEWED)?;
        let side = if ahead > 0 { "behind" } else { "ahead of" };
        Some(format!("This machine's clock is {:.1} minutes {side} the service's", ahead.abs() as f64 / 60_000.0))
    }

    /// What a user can do about it.
    fn hint(self, message: &str) -> Option<String> {
        let skew = self.skew();
        let refused = mentions_date(message) || self.ahead.is_some_and(|ahead| (ahead - self.used).abs() >= SKEWED);
        if !refused {
            return None;
        }
        Some(match skew {
            Some(skew) => format!("{skew}, and a signature is valid for 5 minutes only: set the clock"),
            None => "The service refused the request's date: check this machine's clock".into(),
        })
    }
}

fn mentions_date(message: &str) -> bool {
    message.to_ascii_lowercase().contains("date")
}

/// What an error's body says.
#[derive(Debug, Default)]
struct Said {
    message: Option<String>,
    request_id: Option<String>,
    author: Author,
}

/// Who wrote an error's body.
#[derive(Debug, Default, PartialEq, Eq)]
enum Author {
    /// `status`, `message` and a request id (specification 7).
    Service,
    /// `message` alone (facts 3.2).
    Gateway,
    #[default]
    Unknown,
}

fn read(body: &[u8]) -> Said {
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else { return Said::default() };
    let as_text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    // The wire name carries the service's own name before it (facts 9.8).
    let request_id = object.iter().find(|(key, _)| key.ends_with("RequestId")).and_then(|(_, value)| as_text(value));
    let request_id = request_id.map(|id| printable(&id, 200)).filter(|id| !id.is_empty());
    let message = object.get("message").and_then(as_text);
    let author = match (request_id.is_some() || object.contains_key("status"), &message) {
        (true, _) => Author::Service,
        (false, Some(_)) => Author::Gateway,
        (false, None) => Author::Unknown,
    };
    Said { message, request_id, author }
}

/// The error behind an answer that is not a 200.
pub(super) fn error(answer: &Answer, auth: Auth, attempts: u32, clocks: Clocks) -> ApiError {
    use ApiErrorKind::*;
    let said = read(answer.body.as_slice());
    let kind = match answer.status {
        400 | 422 => InvalidRequest,
        401 => Authentication,
        403 if said.author == Author::Gateway => Authentication,
        403 => PermissionDenied,
        404 => NotFound,
        429 => RateLimited,
        500..=599 => Server,
        _ => Other,
    };
    let message = answer.refused.clone().or_else(|| Some(printable(&said.message?, 2_000)));
    // Blanks tell nobody anything.
    let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| match start(answer.body.as_slice()) {
        start if start.is_empty() => "(no body)".into(),
        start => start,
    });
    let rules = match answer.status {
        400..=499 if said.author == Author::Service => message.split(" | ").map(str::to_string).collect(),
        400 | 422 => vec![message.clone()],
        _ => Vec::new(),
    };
    let hint = match kind {
        Authentication => match (clocks.hint(&message), auth) {
            (Some(hint), Auth::Signed) => hint,
            (None, Auth::Signed) => {
                let allowed_for = clocks.skew().map(|skew| format!(". {skew}, which the request's date allowed for"));
                let check = "Check the username and the secret (SIDELINE_USERNAME, SIDELINE_SECRET)";
                format!("{check}{}", allowed_for.unwrap_or_default())
            }
            (_, Auth::ApiKey) => "Check the key (SIDELINE_API_KEY)".into(),
        },
        PermissionDenied if said.author == Author::Service => {
            "These credentials lack the privilege; the service grants it".into()
        }
        PermissionDenied => "The body is not the service's: a proxy or a firewall may have answered".into(),
        NotFound => "Check the id, and that it belongs to this environment and sport".into(),
        InvalidRequest => "Correct the request: .rules lists what it breaks".into(),
        RateLimited => "Lower requests_per_second or max_concurrency, or try again later".into(),
        Server => "The service failed; try again later, and name the request id to its support".into(),
        Other if answer.status == 407 => super::failure::PROXY_CREDENTIALS.into(),
        Other if answer.refused.is_some() => "Set the base address to the server that answers itself".into(),
        Other => "Check the base address".into(),
    };
    ApiError {
        kind,
        status: answer.status,
        message,
        rules,
        request_id: said.request_id.or_else(|| answer.request_id()),
        method: "GET".into(),
        url: answer.url.clone(),
        attempts,
        hint,
    }
}

/// Refuses a 200 whose content is not JSON: a log-in page or an error page would else be taken for data.
pub(super) fn check_json(answer: &Answer) -> Result<(), DecodeError> {
    let content_type = answer.header("content-type").unwrap_or("unknown");
    let body = answer.body.as_slice();
    // Some writers put a byte order mark first; Python's `json` reads past it too.
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let why = match first {
        None => "is empty".to_string(),
        Some(_) if content_type.to_ascii_lowercase().contains("html") => format!("begins {:?}", start(body)),
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => return Ok(()),
        Some(_) => format!("begins {:?}", start(body)),
    };
    Err(DecodeError::Body {
        message: format!(
            "the answer of GET {} is not JSON: its content type is {} and its body {why}; check the base address and the proxy",
            answer.url,
            printable(content_type, 80)
        ),
        path: "$".into(),
        offset: 0,
    })
}

/// The start of a body that has no message, in one line.
fn start(body: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&body[..body.len().min(1_000)]), 200)
}

fn printable(text: &str, most: usize) -> String {
    let cleaned: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = cleaned.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((at, _)) => format!("{}…", &line[..at]),
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn answer(status: u16, content_type: &str, body: &str) -> Answer {
        Answer {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            body: Body::from(body.as_bytes()),
            url: "https://host/v1".into(),
            refused: None,
        }
    }

    fn error_of(status: u16, body: &str) -> ApiError {
        error(&answer(status, "application/json", body), Auth::Signed, 1, Clocks::default())
    }

    #[test]
    fn each_status_has_its_class() {
        use ApiErrorKind::*;
        let body = r#"{"status":0,"message":"m","shottrackerRequestId":"r-1"}"#;
        for (status, kind) in [
            (204, Other),
            (302, Other),
            (400, InvalidRequest),
            (401, Authentication),
            (403, PermissionDenied),
            (404, NotFound),
            (409, Other),
            (422, InvalidRequest),
            (429, RateLimited),
            (500, Server),
            (503, Server),
        ] {
            let error = error_of(status, body);
            assert_eq!((error.kind, error.status), (kind, status));
            assert_eq!((error.message.as_str(), error.request_id.as_deref()), ("m", Some("r-1")));
        }
    }

    #[test]
    fn any_key_ending_in_request_id_gives_the_request_id() {
        assert_eq!(error_of(500, r#"{"serviceRequestId":"a"}"#).request_id.as_deref(), Some("a"));
        assert_eq!(error_of(500, r#"{"xRequestId":7}"#).request_id.as_deref(), Some("7"));
        let forged = error_of(500, r#"{"xRequestId":"a\nERROR b\u001b[1m"}"#);
        assert_eq!(forged.request_id.as_deref(), Some("a ERROR b [1m"), "one line: it is logged");
        let mut bare = answer(502, "text/html", "<h1>Bad gateway</h1>");
        bare.headers.push(("x-request-id".into(), "h-1".into()));
        assert_eq!(error(&bare, Auth::Signed, 1, Clocks::default()).request_id.as_deref(), Some("h-1"));
    }

    #[test]
    fn a_403_is_the_gateways_when_its_body_is_a_message_alone() {
        assert_eq!(error_of(403, r#"{"message":"HMAC signature does not match"}"#).kind, ApiErrorKind::Authentication);
        assert_eq!(
            error_of(403, r#"{"status":403,"message":"Restricted resource"}"#).kind,
            ApiErrorKind::PermissionDenied
        );
        assert_eq!(error_of(403, "<html>").kind, ApiErrorKind::PermissionDenied);
    }

    #[test]
    fn a_422_lists_the_violated_rules() {
        let error = error_of(
            422,
            r#"{"status":422,"message":"from must be less than to | the range may not exceed 8 months"}"#,
        );
        assert_eq!(error.rules, ["from must be less than to", "the range may not exceed 8 months"]);
        assert_eq!(error_of(422, "nonsense").rules, ["nonsense"]);
        assert!(error_of(500, r#"{"status":500,"message":"a | b"}"#).rules.is_empty());
    }

    #[test]
    fn a_body_without_a_message_gives_its_start_in_one_line() {
        let error = error_of(502, "<html>\n\t<b>Bad\u{1b}</b>");
        assert_eq!(error.message, "<html> <b>Bad </b>");
        assert_eq!(error_of(502, "").message, "(no body)");
        assert_eq!(error_of(502, "\n \u{1}").message, "(no body)");
        assert_eq!(error_of(404, r#"{"message":" \n"}"#).message, r#"{"message":" \n"}"#);
        assert!(error_of(502, &"é".repeat(5_000)).message.chars().count() <= 201);
    }

    #[test]
    fn a_refusal_for_the_clock_names_the_skew() {
        let dated = r#"{"message":"HMAC signature cannot be verified, a valid date or x-date header is required"}"#;
        let refusal = |body: &str, clocks| error(&answer(401, "application/json", body), Auth::Signed, 1, clocks);
        let skewed = Clocks { ahead: Some(600_000), used: 0 };
        let error = refusal(dated, skewed);
        assert!(skewed.refused_the_date(&error));
        assert!(error.hint.contains("10.0 minutes behind"), "{}", error.hint);
        // A signature that does not match says nothing of dates: the measured skew does.
        assert!(skewed.refused_the_date(&refusal(r#"{"message":"no"}"#, skewed)));
        // The date was right: sending it again would change nothing.
        let corrected = Clocks { ahead: Some(600_000), used: 600_000 };
        assert!(!corrected.refused_the_date(&refusal(dated, corrected)));
        // Then it is the secret, most likely; the clock is named all the same.
        let hint = refusal(r#"{"message":"HMAC signature does not match"}"#, corrected).hint;
        assert!(hint.contains("SIDELINE_SECRET") && hint.contains("10.0 minutes behind"), "{hint}");
        let unknown = Clocks::default();
        assert!(!unknown.refused_the_date(&refusal(dated, unknown)));
        assert!(refusal(dated, unknown).hint.contains("clock"));
        let denied = error_of(403, r#"{"status":403,"message":"Restricted resource"}"#);
        assert!(!skewed.refused_the_date(&denied));
    }

    #[test]
    fn content_that_is_not_json_says_what_it_is() {
        for good in ["{}", "\u{feff}{}", " [1]", "null", "true", "-1", "\"x\""] {
            assert_eq!(check_json(&answer(200, "application/json", good)), Ok(()), "{good}");
        }
        for (content_type, body) in
            [("text/html; charset=utf-8", "<html>Log in"), ("text/plain", "Log in"), ("text/html", "{}")]
        {
            let DecodeError::Body { message, path, offset } = check_json(&answer(200, content_type, body)).unwrap_err()
            else {
                panic!()
            };
            assert_eq!((path.as_str(), offset), ("$", 0));
            assert!(message.contains(content_type) && message.contains(body), "{message}");
        }
        assert!(check_json(&answer(200, "application/json", " ")).unwrap_err().to_string().contains("is empty"));
    }
}
