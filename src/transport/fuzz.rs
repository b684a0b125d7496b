//! Harnesses for arbitrary responses and addresses: errors are one line without a secret, and no request goes to another host.

// A failing harness is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::authentication::AuthenticatedRequest;
use super::inflate::{InflateError, InflateStep, Inflation, inflate_prefix};
use super::redirect::{self, Redirect};
use super::response::{self, ClockOffsets};
use super::{Response, clock, retry};
use crate::config::{ClientOptions, Config, Secret};
use crate::error::Error;
use crate::operation::{self, Auth, Request, Value};
use crate::scrub::{MAX_URL, Scrubbed, Scrubber};
use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use reader::Body;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use url::{Url, form_urlencoded};

const SECRET: &str = "canary-secret";
const KEY: &str = "canary key/&";

pub(super) fn response(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Response {
    Response {
        status,
        headers: vec![("content-type".into(), Scrubbed::local(content_type))],
        body: Arc::new(Body::from(body.as_ref())),
        url: "https://host/v1".into(),
        request_id: None,
        scrubber: Scrubber::default(),
        elapsed: Duration::ZERO,
        fetched_at: SystemTime::UNIX_EPOCH,
        attempts: 1,
        refusal: None,
        redirect_refusal: None,
        lease: None,
        max_memory: None,
    }
}

/// Runs all steps.
pub(super) fn inflate(input: &[u8], limit: usize) -> Result<Body, InflateError> {
    let mut inflation = Inflation::new(Body::from(input), limit);
    loop {
        let required = inflation.required_memory();
        match inflation.run()? {
            InflateStep::Done(body) => {
                assert!(input.len() + body.len() <= required, "used more memory than required_memory()");
                return Ok(body);
            }
            InflateStep::More(more) => inflation = more,
        }
    }
}

/// One byte for the limit, then a compressed body, which flate2 reads too, and which is compressed again. Only libdeflate
/// refuses a distance that points before the start, so an error is allowed where flate2 succeeds.
pub(crate) fn gzip(bytes: &[u8]) {
    let [limit, input @ ..] = bytes else { return };
    let limit = usize::from(*limit) * 64;
    let mut expected = Vec::new();
    let is_complete = MultiGzDecoder::new(input).take(1 << 20).read_to_end(&mut expected).is_ok();
    match inflate(input, limit) {
        Ok(body) => {
            assert!(body.as_slice().len() <= limit);
            assert!(!is_complete || input.is_empty() || body.as_slice() == expected, "the bodies differ");
        }
        Err(InflateError::TooLarge) => {
            assert!(!is_complete || expected.len() > limit, "{} bytes are within the limit", expected.len())
        }
        // Few bytes are never out of memory.
        Err(InflateError::OutOfMemory) => panic!("no memory"),
        Err(InflateError::Damaged) => {}
    }
    assert!(expected.starts_with(inflate_prefix(input, limit).as_slice()));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(u32::from(bytes[0]) % 10));
    encoder.write_all(input).unwrap();
    let body = inflate(&encoder.finish().unwrap(), input.len());
    assert!(body.is_ok_and(|body| body.as_slice() == input), "a complete body is inflated");
}

/// Two bytes for the status, one line for the value of all headers, then the body.
pub(crate) fn error_body(bytes: &[u8]) {
    let [low, high, rest @ ..] = bytes else { return };
    let at = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let value = String::from_utf8_lossy(&rest[..at]).replace(char::is_control, "");
    let body = rest.get(at + 1..).unwrap_or_default();
    let status = 100 + u16::from_le_bytes([*low, *high]) % 500;
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let names = ["content-type", "x-request-id", "date", "retry-after"];
    let from = Url::parse("https://host/v1?x=1").unwrap();
    let scrubber = Scrubber::default();
    let redirect = redirect::evaluate(&from, status, Some(&value), u32::from(*high) % 7, &scrubber);
    let redirect_refusal = match redirect {
        Redirect::No => None,
        Redirect::Follow(to) => {
            assert!(to.origin() == from.origin() && to.username().is_empty() && to.password().is_none());
            None
        }
        Redirect::Refused(reason) => Some(reason),
    };
    let headers = names.map(|name| (name.to_owned(), scrubber.header(&value))).to_vec();
    let request_id = Some(scrubber.id(&value));
    let attempts = u32::from(*low);
    let response =
        Response { headers, request_id, attempts, redirect_refusal, scrubber, ..self::response(status, "", body) };
    let offsets =
        ClockOffsets { measured_ms: clock::measure_offset(&value, now, now), applied_ms: i64::from(*low) * 1_000 };
    for auth in [Auth::Signed, Auth::ApiKey] {
        let error = response::error(&response, auth, offsets);
        let text = Error::Api(Box::new(error.clone())).to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.len() < 2_000 && !error.message.is_empty(), "{text:?}");
        assert!(error.rules.iter().all(|rule| !rule.is_empty()), "{:?}", error.rules);
        offsets.explains(&error);
    }
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    match response::check_json(&response) {
        Ok(()) => assert!(!body.is_empty()),
        Err(error) => {
            assert!(!is_json || value.to_ascii_lowercase().contains("html"), "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
    let retry_after = retry::parse_retry_after(&value, now);
    let delay = retry::delay(
        retry::FailureKind::Status(status, retry_after),
        retry::RetryState { retries: (*high).into(), has_retried_500: false },
        300,
        Duration::from_secs(120),
        0.5,
    );
    assert!(delay.is_none_or(|delay| delay < Duration::from_secs(120)));
}

/// The first byte chooses what the rest is used for.
pub(crate) fn address(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let text = String::from_utf8_lossy(rest);
    match choice % 6 {
        0 => check_requests("follow", vec![("link".into(), Value::Text(text.into()))]),
        1 => check_arguments("get", &text),
        2 => {
            if let Some((name, rest)) = text.split_once('\n') {
                check_arguments(name, rest);
            }
        }
        3 => check_base_url(&text),
        4 => check_proxy(&text),
        _ => check_display_url(&text),
    }
}

/// One argument per line, `name=value`.
fn check_arguments(name: &str, text: &str) {
    let argument = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.parse().map_or_else(|_| Value::Text(value.into()), Value::Int);
        Some((name.to_string(), value))
    };
    check_requests(name, text.split('\n').filter_map(argument).collect());
}

fn config() -> Config {
    let options = ClientOptions {
        username: Some("ann".into()),
        secret: Some(Secret::new(SECRET)),
        api_key: Some(Secret::new(KEY)),
        base_url: Some("https://host:8443/prefix".into()),
        broadcast_base_url: Some("https://host:8443/prefix".into()),
        ..ClientOptions::default()
    };
    options.resolve(&|_| None).unwrap()
}

/// Each request goes to the configured host, below its prefix, and does not show the secret.
fn check_requests(name: &str, arguments: operation::Arguments) {
    let config = config();
    let call = match operation::call(name, &arguments, &config) {
        Ok(call) => call,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!call.requests.is_empty());
    for request in &call.requests {
        let Ok(authenticated_request) = AuthenticatedRequest::new(request, &config) else { continue };
        let url = &authenticated_request.url;
        assert_eq!((url.host_str(), url.port()), (Some("host"), Some(8443)));
        assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
        let path = url.path().strip_prefix("/prefix").unwrap_or_else(|| panic!("{url}"));
        if name != "get" {
            let head = if request.auth == Auth::Signed { "/v1/data/" } else { "/broadcast/v1/" };
            assert!(path.starts_with(head), "{url}");
        }
        check_path(request, path);
        if let Ok(signed) = authenticated_request.sign(url, SystemTime::UNIX_EPOCH, 0) {
            let display_url = Scrubber::default().url(&authenticated_request.url);
            let (input, output) = (format!("{request:?}"), format!("{display_url} {signed:?}"));
            assert!(input.contains(SECRET) || !output.contains(SECRET), "{output}");
            assert!(input.contains("canary%20key") || !display_url.contains("canary%20key"), "{output}");
        }
    }
}

/// The path is sent as requested: no part of it was interpreted as `..` or as a query.
fn check_path(request: &Request, path: &str) {
    let decode = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    assert_eq!(decode(path), decode(&request.path));
    assert!(!path.split('/').any(|segment| matches!(&*decode(segment), b"." | b"..")), "{path}");
}

/// Resolving an accepted base URL again does not change it, and the error for a refused one does not show its password.
fn check_base_url(text: &str) {
    let resolve = |base: &str| {
        let options = ClientOptions { base_url: Some(base.into()), ..ClientOptions::default() };
        options.resolve(&|_| None)
    };
    match resolve(text) {
        Ok(config) => {
            let url = Url::parse(&config.base_url).unwrap();
            assert!(url.username().is_empty() && url.password().is_none(), "{url}");
            assert!(url.scheme() == "https" || crate::config::is_loopback(&url.host().unwrap()), "{url}");
            // A trailing `/v1` is removed as part of an operation's path, each time.
            if !config.base_url.ends_with("/v1") {
                assert_eq!(resolve(&config.base_url).unwrap().base_url, config.base_url);
            }
        }
        Err(error) => check_password(text, &error),
    }
}

fn check_proxy(text: &str) {
    let base = Url::parse("https://host/").unwrap();
    let options = ClientOptions { proxy: Some(Secret::new(text)), ..ClientOptions::default() };
    let environment = |name: &str| (name == "https_proxy").then(|| text.to_string());
    for config in [options.resolve(&|_| None), ClientOptions::default().resolve(&environment)] {
        let description = config.and_then(|config| {
            assert!(!format!("{config:?}").contains("canary"), "{config:?}");
            config.proxies.describe(&base)
        });
        match description {
            Ok(Some((address, _))) => assert!(!address.contains('@'), "{address}"),
            Ok(None) => {}
            Err(error) => check_password(text, &error),
        }
    }
}

/// The error does not show the password of the URL.
fn check_password(text: &str, error: &Error) {
    if let Some(password) = Url::parse(text).ok().and_then(|url| url.password().map(str::to_string))
        && password.len() > 8
    {
        assert!(!error.to_string().contains(&password), "{error}");
    }
}

/// A displayed URL shows no password and no secret parameter.
fn check_display_url(text: &str) {
    let scrubber = Scrubber::default();
    assert!(scrubber.url(text).len() <= MAX_URL);
    // No request has a fragment, and an @ in one may hide more than necessary.
    let Some(url) = Url::parse(text).ok().filter(|url| url.fragment().is_none()) else { return };
    let display_url = scrubber.url(url.as_str());
    if display_url.ends_with('…') {
        return;
    }
    let Ok(parsed_url) = Url::parse(&display_url) else {
        // A host that looks like a parameter is hidden with what follows it.
        return assert!(url.host_str().is_some_and(|host| host.contains('=')), "{display_url} was {url}");
    };
    assert!(parsed_url.password().is_none() && parsed_url.username().is_empty(), "{display_url}");
    for (name, value) in form_urlencoded::parse(parsed_url.query().unwrap_or_default().as_bytes()) {
        let is_secret = ["apikey", "token"].contains(&name.to_ascii_lowercase().as_str());
        assert!(!is_secret || value.is_empty() || value == "***", "{display_url}");
    }
}
