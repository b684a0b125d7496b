//! What an answer means. Pure: status, headers and body in, an error or nothing out.

use super::{clock, retry};
use crate::advice::Advice;
use crate::error::{ApiError, ApiErrorKind};
use crate::json::{self, Body};
use crate::operation::{self, Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use crate::table::{self, DecodeError};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// An answer as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, Scrubbed)>,
    pub(super) body: Body,
    pub(super) url: Scrubbed,
    /// Why a redirect was not followed.
    pub(super) refused: Option<Scrubbed>,
    /// For its body.
    pub(super) scrubber: Scrubber,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// The id of the request, where a header gives it (the service's own errors give it in their body).
    pub(super) fn request_id(&self) -> Option<Scrubbed> {
        let named = |name: &str| name.ends_with("request-id") || name.ends_with("requestid");
        self.headers
            .iter()
            .find(|(name, value)| named(name) && !value.is_empty())
            .map(|(_, value)| self.scrubber.id(value))
    }

    /// The wait that `Retry-After` asks for. A date there is compared with the response's own `Date`.
    pub(super) fn retry_after(&self, local: SystemTime) -> Option<Duration> {
        let date = self.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
        retry::retry_after(self.header("retry-after")?, date.unwrap_or(local))
    }
}

/// Bytes that are shown of a body without a message.
const MAX_START: usize = 200;
/// Rules of a message, which `.rules` lists.
const MAX_RULES: usize = 100;

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
pub(super) const NOISE: i64 = 1_500;

impl Clocks {
    /// Whether this refusal is for the request's date, and the answer tells the right one.
    pub(super) fn refused_the_date(self, error: &ApiError) -> bool {
        let off = self.ahead.map_or(0, |ahead| (ahead - self.used).abs());
        error.kind == ApiErrorKind::Authentication && (off >= SKEWED || (off >= NOISE && mentions_date(&error.message)))
    }

    /// A difference that a server may refuse, in words.
    fn skew(self) -> Option<String> {
        self.ahead.filter(|ahead| ahead.abs() >= SKEWED).map(skew)
    }

    /// What a user can do about it.
    fn hint(self, message: &str) -> Option<String> {
        let skew = self.skew();
        let refused = mentions_date(message) || self.ahead.is_some_and(|ahead| (ahead - self.used).abs() >= SKEWED);
        if !refused {
            return None;
        }
        Some(match skew {
            Some(skew) if self.ahead.is_some_and(|ahead| ahead.abs() > clock::MAX_OFFSET) => {
                format!("{skew}, more than the 24 hours that sideline corrects: set this machine's clock")
            }
            Some(skew) => format!("{skew}, and a signature is valid for 5 minutes only: set this machine's clock"),
            None => Advice::SetClock.text().into(),
        })
    }
}

/// How far this machine's clock is off, given how far the service's is ahead.
pub(super) fn skew(ahead: i64) -> String {
    let side = if ahead > 0 { "behind" } else { "ahead of" };
    let minutes = ahead.unsigned_abs() as f64 / 60_000.0;
    let span = match minutes {
        ..180.0 => format!("{minutes:.1} minutes"),
        180.0..2880.0 => format!("{:.1} hours", minutes / 60.0),
        _ => format!("{:.0} days", minutes / 1440.0),
    };
    format!("This machine's clock is {span} {side} the service's")
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
    // The wire name carries the service's own name; a gateway writes `request_id`, so that one does not tell the author.
    let names_request = |key: &str| key.to_ascii_lowercase().ends_with("requestid") || key == "request_id";
    let is_service = object.keys().any(|key| key == "status" || (names_request(key) && key != "request_id"));
    let request_id = object.iter().find(|(key, _)| names_request(key)).and_then(|(_, value)| as_text(value));
    let request_id = request_id.map(|id| id.trim().to_string()).filter(|id| !id.is_empty());
    let message = object.get("message").and_then(as_text);
    let author = match (is_service, &message) {
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
    let scrubber = &answer.scrubber;
    let message = answer.refused.clone().or_else(|| Some(scrubber.message(said.message.as_deref()?)));
    // Blanks tell nobody anything.
    let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| {
        match scrubber.start(answer.body.as_slice(), MAX_START) {
            start if start.is_empty() => "(no body)".into(),
            start => start,
        }
    });
    let whole = said.message.as_deref().unwrap_or(&message);
    let rules = match answer.status {
        400..=499 if said.author == Author::Service => {
            let rules = whole.split(" | ").take(MAX_RULES).map(|rule| scrubber.message(rule));
            rules.filter(|rule| !rule.is_empty()).collect()
        }
        400 | 422 => vec![message.clone()],
        _ => Vec::new(),
    };
    let advice = match kind {
        Authentication if auth == Auth::ApiKey => Advice::CheckKey,
        Authentication if clocks.hint(&message).is_some() => Advice::SetClock,
        Authentication => Advice::CheckCredentials,
        PermissionDenied if said.author == Author::Service => Advice::AskForPrivilege,
        PermissionDenied => Advice::CheckProxyOrFirewall,
        NotFound => Advice::CheckId,
        InvalidRequest => Advice::CorrectRequest,
        RateLimited => Advice::SlowDown,
        Server => Advice::ReportToSupport,
        Other if matches!(answer.status, 408 | 425) => Advice::TryLater,
        Other if answer.status == 407 => Advice::GiveProxyCredentials,
        Other => Advice::CheckBaseAddress,
    };
    let skew = clocks.skew().map(|skew| format!(". {skew}, which the request's date allowed for"));
    let hint: String = match advice {
        Advice::SetClock => clocks.hint(&message).unwrap_or_else(|| advice.text().into()),
        Advice::CheckCredentials => format!("{}{}", advice.text(), skew.unwrap_or_default()),
        _ if answer.refused.is_some() && kind == Other => {
            "Set the base address to the server that answers itself".into()
        }
        _ => advice.text().into(),
    };
    ApiError {
        kind,
        status: answer.status,
        message,
        rules,
        request_id: said.request_id.map(|id| scrubber.id(id)).or_else(|| answer.request_id()),
        method: "GET".into(),
        url: answer.url.clone(),
        attempts,
        elapsed: Duration::ZERO,
        advice,
        hint: Scrubbed::local(hint),
        retry_after: None,
    }
}

/// A longer body is no error document.
const MAX_ERROR_DOCUMENT: usize = 64 * 1024;

/// The status of an error document that was sent with status 200: the service's own, or 200 for a gateway's, which has none.
/// `None`: the body may be data. What `get` returns is never judged, and a token has no known shape.
pub(super) fn stated_error(answer: &Answer, request: &Request) -> Option<u16> {
    let body = answer.body.as_slice();
    let is_judged = !matches!(request.operation, "get" | operation::SUBSCRIPTION_TOKEN);
    let names_message = || body.windows(9).any(|part| part == b"\"message\"");
    if !is_judged || body.len() > MAX_ERROR_DOCUMENT || !names_message() {
        return None;
    }
    let Ok(Value::Object(object)) = serde_json::from_slice(json::without_mark(&answer.body)) else { return None };
    if !object.get("message").is_some_and(Value::is_string) {
        return None;
    }
    let is_of_error =
        |key: &String| matches!(key.as_str(), "status" | "message" | "request_id") || key.ends_with("RequestId");
    let is_error_alone = object.keys().all(is_of_error);
    if !is_error_alone && request.resource.is_none_or(|resource| table::check_root(resource, &answer.body).is_ok()) {
        return None;
    }
    let number = |status: &Value| status.as_u64().or_else(|| status.as_str()?.parse().ok());
    match object.get("status").map(number) {
        None if is_error_alone => Some(200),
        Some(Some(status @ 400..=599)) => u16::try_from(status).ok(),
        _ => None,
    }
}

/// The error that a document of a 200 states.
pub(super) fn document_error(answer: &Answer, status: u16, auth: Auth, attempts: u32, clocks: Clocks) -> ApiError {
    let mut error = error(&Answer { status, ..answer.clone() }, auth, attempts, clocks);
    error.hint = match status {
        // No status says which error it is.
        200 => "The body is an error of a gateway, not data, although the status is 200".into(),
        _ => Scrubbed::local(format!("The body states this error, although the status is 200. {}", error.hint)),
    };
    if status == 200 {
        error.advice = Advice::CheckProxyOrFirewall;
    }
    error
}

/// Refuses a 200 whose content is not JSON: a log-in page or an error page would else be taken for data.
pub(super) fn check_json(answer: &Answer) -> Result<(), DecodeError> {
    let scrubber = &answer.scrubber;
    let content_type = answer.header("content-type").unwrap_or("unknown");
    let body = answer.body.as_slice();
    // Some writers put a byte order mark first; Python's `json` reads past it too.
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let why = match first {
        None => "is empty".to_string(),
        Some(_) if content_type.to_ascii_lowercase().contains("html") => {
            format!("begins {:?}", scrubber.start(body, MAX_START))
        }
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => return Ok(()),
        Some(_) => format!("begins {:?}", scrubber.start(body, MAX_START)),
    };
    Err(DecodeError::Body {
        message: format!(
            "the answer of GET {} is not JSON: its content type is {} and its body {why}; check the base address and the proxy",
            answer.url,
            scrubber.id(content_type)
        ),
        path: "$".into(),
        offset: 0,
    })
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn answer(status: u16, content_type: &str, body: &str) -> Answer {
        Answer {
            status,
            headers: vec![("content-type".into(), Scrubbed::local(content_type))],
            body: Body::from(body.as_bytes()),
            url: "https://host/v1".into(),
            refused: None,
            scrubber: Scrubber::default(),
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
            assert_eq!((&*error.message, error.request_id.as_deref()), ("m", Some("r-1")));
        }
    }

    #[test]
    fn any_key_ending_in_request_id_gives_the_request_id() {
        assert_eq!(error_of(500, r#"{"serviceRequestId":"a"}"#).request_id.as_deref(), Some("a"));
        assert_eq!(error_of(500, r#"{"xRequestId":7}"#).request_id.as_deref(), Some("7"));
        for key in
            ["shottrackerRequestId", "gridtrackerRequestId", "xRequestID", "requestId", "requestid", "request_id"]
        {
            let error = error_of(500, &format!(r#"{{"status":500,"message":"m","{key}":"r-2"}}"#));
            assert_eq!(error.request_id.as_deref(), Some("r-2"), "{key}");
        }
        assert_eq!(error_of(500, r#"{"request":"a","xRequestIdea":"b"}"#).request_id, None);
        let forged = error_of(500, r#"{"xRequestId":"a\nERROR b\u001b[1m"}"#);
        assert_eq!(forged.request_id.as_deref(), Some("a\\nERROR b\\x1b[1m"), "one line: it is logged");
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
        // Newer gateways add an id of their own.
        let gateway = error_of(403, r#"{"message":"HMAC signature does not match","request_id":"k-1"}"#);
        assert_eq!((gateway.kind, gateway.request_id.as_deref()), (ApiErrorKind::Authentication, Some("k-1")));
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
        assert_eq!(error.message, "<html> <b>Bad\\x1b</b>");
        assert_eq!(error_of(502, "").message, "(no body)");
        assert_eq!(error_of(502, "\n \t").message, "(no body)");
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
    fn an_error_document_in_a_200_states_its_status() {
        let request = |name: &str| {
            let config = crate::config::ClientOptions::default().resolve(&|_| None).unwrap();
            let argument = |name: &str| (name.to_owned(), operation::Value::Text("/v1/data/1".into()));
            let arguments = match name {
                "teams" => Vec::new(),
                "get" => vec![argument("path")],
                _ => vec![("game_id".to_owned(), operation::Value::Int(1))],
            };
            operation::call(name, &arguments, &config).unwrap().requests.remove(0)
        };
        for (name, body, expected) in [
            ("teams", r#"{"status":500,"message":"m","xRequestId":"r"}"#, Some(500)),
            ("teams", r#"{"status":"429","message":"m"}"#, Some(429)),
            ("teams", r#"{"status":503,"message":"m","path":"/","teams":null}"#, Some(503)),
            ("teams", r#"{"message":"API rate limit exceeded"}"#, Some(200)),
            ("teams", r#"{"status":500,"message":"m","teams":[]}"#, None),
            ("teams", r#"{"status":200,"message":"OK"}"#, None),
            ("teams", r#"{"message":"m","squads":[]}"#, None),
            ("teams", r#"{"message":["m"]}"#, None),
            ("teams", r#"[{"message":"m"}]"#, None),
            ("game", r#"{"id":"g","status":500,"message":"m"}"#, None),
            ("game_events", r#"{"status":500,"message":"m"}"#, Some(500)),
            ("game_events", r#"{"status":500,"message":"m","events":1}"#, None),
            ("get", r#"{"status":500,"message":"m"}"#, None),
        ] {
            assert_eq!(stated_error(&answer(200, "application/json", body), &request(name)), expected, "{name} {body}");
        }
        let stated = document_error(
            &answer(200, "", r#"{"status":404,"message":"m"}"#),
            404,
            Auth::Signed,
            1,
            Clocks::default(),
        );
        assert_eq!((stated.kind, stated.status), (ApiErrorKind::NotFound, 404));
        assert!(stated.hint.contains("although the status is 200"), "{}", stated.hint);
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_a_day_is_to_be_set() {
        let refused = |ahead| {
            let clocks = Clocks { ahead: Some(ahead), used: 0 };
            error(&answer(401, "application/json", r#"{"message":"no"}"#), Auth::Signed, 1, clocks).hint
        };
        let day = clock::MAX_OFFSET;
        assert!(refused(day).contains("24.0 hours behind") && !refused(day).contains("24 hours that"));
        assert!(refused(-2 * day - 1).contains("2 days ahead of"), "{}", refused(-2 * day));
        assert!(refused(day + 1).ends_with("more than the 24 hours that sideline corrects: set this machine's clock"));
    }

    #[test]
    fn a_wait_until_a_date_is_measured_by_the_services_own_clock() {
        let with = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| (name.to_string(), Scrubbed::local(value))).collect();
            let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_793_534_400);
            Answer { headers, ..answer(429, "", "") }.retry_after(noon)
        };
        let at_9 = ("retry-after", "Sun, 01 Nov 2026 12:00:09 GMT");
        assert_eq!(with(&[at_9]), Some(Duration::from_secs(9)));
        assert_eq!(with(&[at_9, ("date", "Sun, 01 Nov 2026 12:00:07 GMT")]), Some(Duration::from_secs(2)));
        assert_eq!(with(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
        assert_eq!(with(&[("date", "Sun, 01 Nov 2026 12:00:07 GMT")]), None);
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
