//! Turns responses into errors, and recognizes responses of status 200 that are not data. Pure.

use super::{Response, clock, retry};
use crate::advice::Advice;
use crate::error::{ApiError, ApiErrorKind, Error, Undecodable};
use crate::operation::{Auth, Request};
use crate::scrub::Scrubbed;
use memchr::memmem;
use reader::{Body, Value};
use std::time::Duration;

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// The delay that `Retry-After` requests. If it is a date, it is compared with the response's own `Date`.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let date = self.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
        retry::parse_retry_after(self.header("retry-after")?, date.unwrap_or(self.fetched_at))
    }
}

/// Bytes shown of a body without a message.
const MAX_BODY_START: usize = 200;
const MAX_RULES: usize = 100;

/// The offset of the server's clock (how far it is ahead of this machine's, in milliseconds) when a response arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClockOffsets {
    /// As measured from this response; `None` without a usable `Date`.
    pub(super) measured_ms: Option<i64>,
    /// As applied to the date of the request.
    pub(super) applied_ms: i64,
}

/// No server rejects a smaller offset (docs/wire.md, "Signature", allows 5 minutes).
const MIN_SKEW_MS: i64 = 60_000;
/// `Date` is truncated to the second, so smaller offsets are noise.
pub(super) const MIN_MEASURABLE_MS: i64 = 1_500;

impl ClockOffsets {
    /// Whether the date of the request caused this error, and the measured offset can correct it.
    pub(super) fn explains(self, error: &ApiError) -> bool {
        let off_by = self.measured_ms.map_or(0, |offset_ms| (offset_ms - self.applied_ms).abs());
        error.kind == ApiErrorKind::Authentication
            && (off_by >= MIN_SKEW_MS || (off_by >= MIN_MEASURABLE_MS && mentions_date(&error.message)))
    }

    /// Describes the measured offset if a server may reject it.
    fn skew(self) -> Option<String> {
        self.measured_ms.filter(|offset_ms| offset_ms.abs() >= MIN_SKEW_MS).map(describe_skew)
    }

    /// A hint to set the clock, if the date may have caused the error with this message.
    fn hint(self, message: &str) -> Option<String> {
        let is_skewed = self.measured_ms.is_some_and(|offset_ms| (offset_ms - self.applied_ms).abs() >= MIN_SKEW_MS);
        if !is_skewed && !mentions_date(message) {
            return None;
        }
        Some(match self.skew() {
            Some(skew) if self.measured_ms.is_some_and(|offset_ms| offset_ms.abs() > clock::MAX_OFFSET_MS) => {
                format!("{skew}, more than the 24 hours that sideline corrects: set this machine's clock")
            }
            Some(skew) => format!("{skew}, and a signature is only valid for 5 minutes: set this machine's clock"),
            None => Advice::SetClock.text().into(),
        })
    }
}

/// Describes the offset from the side of this machine's clock.
pub(super) fn describe_skew(offset_ms: i64) -> String {
    let side = if offset_ms > 0 { "behind" } else { "ahead of" };
    let minutes = offset_ms.unsigned_abs() as f64 / 60_000.0;
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

/// The parsed body of an error response.
#[derive(Debug, Default)]
struct ErrorDetails {
    message: Option<String>,
    request_id: Option<String>,
    /// Whether the service wrote it: `status`, `message` and a request id (docs/wire.md, "Errors"). A gateway's has only
    /// `message` (tests/specification.md, facts 3).
    is_service: bool,
}

fn parse_error(body: &Body) -> ErrorDetails {
    let bytes = body.with_padding();
    let Some(document) = Value::of(body, &bytes).ok().filter(Value::is_object) else { return ErrorDetails::default() };
    // The service's key ends in `RequestId`. Gateways may add `request_id`, which therefore does not imply the service.
    let is_request_id = |key: &[u8]| key.to_ascii_lowercase().ends_with(b"requestid") || key == b"request_id";
    let is_service =
        document.members().any(|(key, _)| &*key == b"status" || (is_request_id(&key) && &*key != b"request_id"));
    let request_id = document.members().find(|(key, _)| is_request_id(key)).and_then(|(_, value)| as_text(&value));
    let request_id = request_id.map(|id| id.trim().to_string()).filter(|id| !id.is_empty());
    let message = document.get("message").and_then(|value| as_text(&value));
    ErrorDetails { message, request_id, is_service }
}

/// The text of a string, or the JSON of another value; `None` for null.
fn as_text(value: &Value<'_>) -> Option<String> {
    match value.text() {
        Some(text) => Some(text.into_owned()),
        None if value.is_null() => None,
        None => Some(String::from_utf8_lossy(value.raw()).into_owned()),
    }
}

/// The error of a response with a status other than 200.
pub(super) fn error(response: &Response, auth: Auth, offsets: ClockOffsets) -> ApiError {
    use ApiErrorKind::*;
    let details = parse_error(&response.body);
    let kind = ApiErrorKind::of(response.status, !details.is_service && details.message.is_some());
    let scrubber = &response.scrubber;
    let message = response.redirect_refusal.clone().or_else(|| Some(scrubber.message(details.message.as_deref()?)));
    // Scrubbing strips whitespace, so a blank message is empty here.
    let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| {
        match scrubber.start(response.body.as_slice(), MAX_BODY_START) {
            start if start.is_empty() => "(no body)".into(),
            start => start,
        }
    });
    let full_message = details.message.as_deref().unwrap_or(&message);
    let rules = match response.status {
        400..=499 if details.is_service => {
            let rules = full_message.split(" | ").take(MAX_RULES).map(|rule| scrubber.message(rule));
            rules.filter(|rule| !rule.is_empty()).collect()
        }
        400 | 422 => vec![message.clone()],
        _ => Vec::new(),
    };
    let advice = match (kind, auth.scheme().advice) {
        (Authentication, Some(advice)) => advice,
        (Authentication, None) if offsets.hint(&message).is_some() => Advice::SetClock,
        (PermissionDenied, _) if !details.is_service => Advice::CheckProxyOrFirewall,
        (Other, _) if matches!(response.status, 408 | 425) => Advice::TryLater,
        (Other, _) if response.status == 407 => Advice::GiveProxyCredentials,
        _ => kind.advice(),
    };
    let skew = offsets.skew().map(|skew| format!(". {skew}, but the request's date was corrected for that"));
    let hint: String = match advice {
        Advice::SetClock => offsets.hint(&message).unwrap_or_else(|| advice.text().into()),
        Advice::CheckCredentials => format!("{}{}", advice.text(), skew.unwrap_or_default()),
        _ if response.redirect_refusal.is_some() && kind == Other => {
            "Set the base address to that of the service itself, which does not redirect".into()
        }
        _ => advice.text().into(),
    };
    ApiError {
        kind,
        status: response.status,
        message,
        rules,
        request_id: details.request_id.map(|id| scrubber.id(id)).or_else(|| response.request_id.clone()),
        url: response.url.clone(),
        attempts: response.attempts,
        elapsed: response.elapsed,
        advice,
        hint: Scrubbed::local(hint),
        retry_after: response.retry_after(),
    }
}

/// Longer bodies are not checked.
const MAX_ERROR_DOCUMENT: usize = 64 * 1024;

/// The status of an error document that was sent with status 200; 200 for a gateway's, which has none. `None`: the body may
/// be data. `get` is not checked, because its shape is unknown; of a token, whose shape is not documented, only a body that is
/// nothing but an error.
pub(super) fn error_document_status(response: &Response, request: &Request) -> Option<u16> {
    let body = response.body.as_slice();
    let is_checked = request.operation != "get";
    let has_message = || memmem::find(body, b"\"message\"").is_some();
    if !is_checked || body.len() > MAX_ERROR_DOCUMENT || !has_message() {
        return None;
    }
    let bytes = response.body.with_padding();
    let document = Value::of(&response.body, &bytes).ok()?;
    document.get("message")?.text()?;
    let is_error_key =
        |key: &[u8]| matches!(key, b"status" | b"message" | b"request_id") || key.ends_with(b"RequestId");
    let is_error_only = document.members().all(|(key, _)| is_error_key(&key));
    if !is_error_only && request.resource.is_none_or(|resource| tables::check_root(resource, &response.body).is_ok()) {
        return None;
    }
    let number = |status: Value<'_>| status.integer().or_else(|| status.text()?.parse().ok());
    match document.get("status").map(number) {
        None if is_error_only => Some(200),
        Some(Some(status @ 400..=599)) => u16::try_from(status).ok(),
        _ => None,
    }
}

/// The error of an error document that was sent with status 200.
pub(super) fn document_error(response: &Response, status: u16, auth: Auth, offsets: ClockOffsets) -> ApiError {
    let mut error = error(&Response { status, ..response.clone() }, auth, offsets);
    error.hint = match status {
        200 => "The body is an error message of a gateway, not data, although the status is 200".into(),
        _ => Scrubbed::local(format!("The body reports this error, although the status is 200. {}", error.hint)),
    };
    if status == 200 {
        error.advice = Advice::CheckProxyOrFirewall;
    }
    error
}

/// Fails if a response of status 200 is not JSON, such as the log-in page of a proxy.
pub(super) fn check_json(response: &Response) -> Result<(), Error> {
    let scrubber = &response.scrubber;
    let content_type = response.header("content-type").unwrap_or("unknown");
    let body = response.body.as_slice();
    // Accept a byte order mark, as Python's `json` does.
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let is_html = content_type.to_ascii_lowercase().contains("html");
    let reason = match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => "is empty".to_string(),
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') if !is_html => return Ok(()),
        Some(_) => format!("starts with {:?}", scrubber.start(body, MAX_BODY_START)),
    };
    let message = scrubber.message(format!(
        "the response to GET {} is not JSON: its content type is {} and its body {reason}",
        response.url,
        scrubber.id(content_type)
    ));
    Err(Error::Decode(Undecodable { message, path: "$".into(), offset: 0, advice: Advice::CheckBaseAddress }))
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::fuzz::response;
    use super::*;
    use crate::operation;
    use std::time::SystemTime;

    fn error_of(status: u16, body: &str) -> ApiError {
        error(&response(status, "application/json", body), Auth::Signed, ClockOffsets::default())
    }

    #[test]
    fn each_status_has_its_error_kind() {
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
        let injection = error_of(500, r#"{"xRequestId":"a\nERROR b\u001b[1m"}"#);
        assert_eq!(injection.request_id.as_deref(), Some("a\\nERROR b\\x1b[1m"), "one line: it is logged");
        let mut page = response(502, "text/html", "<h1>Bad gateway</h1>");
        page.request_id = Some("h-1".into());
        assert_eq!(error(&page, Auth::Signed, ClockOffsets::default()).request_id.as_deref(), Some("h-1"));
    }

    #[test]
    fn a_403_is_the_gateways_when_its_body_is_a_message_alone() {
        assert_eq!(error_of(403, r#"{"message":"HMAC signature does not match"}"#).kind, ApiErrorKind::Authentication);
        assert_eq!(
            error_of(403, r#"{"status":403,"message":"Restricted resource"}"#).kind,
            ApiErrorKind::PermissionDenied
        );
        assert_eq!(error_of(403, "<html>").kind, ApiErrorKind::PermissionDenied);
        // Newer gateways add their own id.
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
    fn without_a_message_the_start_of_the_body_is_shown_on_one_line() {
        let error = error_of(502, "<html>\n\t<b>Bad\u{1b}</b>");
        assert_eq!(error.message, "<html> <b>Bad\\x1b</b>");
        assert_eq!(error_of(502, "").message, "(no body)");
        assert_eq!(error_of(502, "\n \t").message, "(no body)");
        assert_eq!(error_of(404, r#"{"message":" \n"}"#).message, r#"{"message":" \n"}"#);
        assert!(error_of(502, &"é".repeat(5_000)).message.chars().count() <= 201);
    }

    #[test]
    fn an_error_for_the_date_names_the_clock_skew() {
        let body = r#"{"message":"HMAC signature cannot be verified, a valid date or x-date header is required"}"#;
        let refusal = |body: &str, offsets| error(&response(401, "application/json", body), Auth::Signed, offsets);
        let skew = ClockOffsets { measured_ms: Some(600_000), applied_ms: 0 };
        let error = refusal(body, skew);
        assert!(skew.explains(&error));
        assert!(error.hint.contains("10.0 minutes behind"), "{}", error.hint);
        // Without a date in the message, the measured offset explains the error.
        assert!(skew.explains(&refusal(r#"{"message":"no"}"#, skew)));
        // The date was right, so another request would not help.
        let corrected = ClockOffsets { measured_ms: Some(600_000), applied_ms: 600_000 };
        assert!(!corrected.explains(&refusal(body, corrected)));
        // Then the secret is probably wrong, but the hint still names the clock.
        let hint = refusal(r#"{"message":"HMAC signature does not match"}"#, corrected).hint;
        assert!(hint.contains("SIDELINE_SECRET") && hint.contains("10.0 minutes behind"), "{hint}");
        let no_offsets = ClockOffsets::default();
        assert!(!no_offsets.explains(&refusal(body, no_offsets)));
        assert!(refusal(body, no_offsets).hint.contains("clock"));
        let denial = error_of(403, r#"{"status":403,"message":"Restricted resource"}"#);
        assert!(!skew.explains(&denial));
    }

    #[test]
    fn error_documents_with_status_200_are_recognized() {
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
            ("subscription_token", r#"{"status":403,"message":"m"}"#, Some(403)),
            ("subscription_token", r#"{"token":"t","message":"m"}"#, None),
        ] {
            assert_eq!(
                error_document_status(&response(200, "application/json", body), &request(name)),
                expected,
                "{name} {body}"
            );
        }
        let error = document_error(
            &response(200, "", r#"{"status":404,"message":"m"}"#),
            404,
            Auth::Signed,
            ClockOffsets::default(),
        );
        assert_eq!((error.kind, error.status), (ApiErrorKind::NotFound, 404));
        assert!(error.hint.contains("although the status is 200"), "{}", error.hint);
    }

    #[test]
    fn a_clock_off_by_more_than_a_day_must_be_set() {
        let hint = |offset_ms| {
            let offsets = ClockOffsets { measured_ms: Some(offset_ms), applied_ms: 0 };
            error(&response(401, "application/json", r#"{"message":"no"}"#), Auth::Signed, offsets).hint
        };
        let day = clock::MAX_OFFSET_MS;
        assert!(hint(day).contains("24.0 hours behind") && !hint(day).contains("24 hours that"));
        assert!(hint(-2 * day - 1).contains("2 days ahead of"), "{}", hint(-2 * day));
        assert!(hint(day + 1).ends_with("more than the 24 hours that sideline corrects: set this machine's clock"));
    }

    #[test]
    fn a_retry_after_date_is_compared_with_the_services_clock() {
        let delay = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| (name.to_string(), Scrubbed::local(value))).collect();
            let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_793_534_400);
            Response { headers, fetched_at: noon, ..response(429, "", "") }.retry_after()
        };
        let at_9 = ("retry-after", "Sun, 01 Nov 2026 12:00:09 GMT");
        assert_eq!(delay(&[at_9]), Some(Duration::from_secs(9)));
        assert_eq!(delay(&[at_9, ("date", "Sun, 01 Nov 2026 12:00:07 GMT")]), Some(Duration::from_secs(2)));
        assert_eq!(delay(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
        assert_eq!(delay(&[("date", "Sun, 01 Nov 2026 12:00:07 GMT")]), None);
    }

    #[test]
    fn the_error_for_a_body_that_is_not_json_shows_its_start() {
        for json in ["{}", "\u{feff}{}", " [1]", "null", "true", "-1", "\"x\""] {
            assert!(check_json(&response(200, "application/json", json)).is_ok(), "{json}");
        }
        for (content_type, body) in
            [("text/html; charset=utf-8", "<html>Log in"), ("text/plain", "Log in"), ("text/html", "{}")]
        {
            let Error::Decode(Undecodable { message, path, offset, .. }) =
                check_json(&response(200, content_type, body)).unwrap_err()
            else {
                panic!()
            };
            assert_eq!((&*path, offset), ("$", 0));
            assert!(message.contains(content_type) && message.contains(body), "{message}");
        }
        assert!(check_json(&response(200, "application/json", " ")).unwrap_err().to_string().contains("is empty"));
    }
}
