//! Answers and addresses of any bytes: what is said of them is one line without a secret, and a request goes nowhere else.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::inflate::{Refused, inflate, inflate_start};
use super::redirect::{self, Redirect};
use super::respond::{self, Answer, Clocks};
use super::target::Target;
use super::{clock, retry};
use crate::config::{ClientOptions, Config, Secret};
use crate::error::Error;
use crate::json::Body;
use crate::operation::{self, Auth, Request, Value};
use crate::scrub::{MAX_URL, Scrubber};
use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use std::io::{Read, Write};
use std::time::{Duration, SystemTime};
use url::{Url, form_urlencoded};

const SECRET: &str = "canary-secret";
const KEY: &str = "canary key/&";

/// A byte for the limit, then the body as it came, which flate2 reads too; and then what is to be compressed. Of a distance
/// that points before the beginning flate2's Rust backend says nothing; libdeflate refuses it, as zlib does.
pub(crate) fn gzip(bytes: &[u8]) {
    let [limit, compressed @ ..] = bytes else { return };
    let limit = usize::from(*limit) * 64;
    let mut expected = Vec::new();
    let is_whole = MultiGzDecoder::new(compressed).take(1 << 20).read_to_end(&mut expected).is_ok();
    match inflate(compressed, limit) {
        Ok(body) => {
            assert!(body.as_slice().len() <= limit);
            assert!(!is_whole || compressed.is_empty() || body.as_slice() == expected, "another body");
        }
        Err(Refused::TooLarge) => assert!(!is_whole || expected.len() > limit, "it is {} bytes", expected.len()),
        Err(Refused::Damaged) => {}
    }
    assert!(expected.starts_with(inflate_start(compressed, limit).as_slice()));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(u32::from(bytes[0]) % 10));
    encoder.write_all(compressed).unwrap();
    let whole = inflate(&encoder.finish().unwrap(), compressed.len());
    assert!(whole.is_ok_and(|body| body.as_slice() == compressed), "it went in whole");
}

/// Two bytes for the status, the first line as the value of every header, then the body.
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
    let redirect = redirect::read(&from, status, Some(&value), u32::from(*high) % 7, &scrubber);
    let refused = match redirect {
        Redirect::No => None,
        Redirect::Follow(to) => {
            assert!(to.origin() == from.origin() && to.username().is_empty() && to.password().is_none());
            None
        }
        Redirect::Refused(why) => Some(why),
    };
    let answer = Answer {
        status,
        headers: names.map(|name| (name.to_string(), scrubber.header(&value))).into(),
        body: Body::from(body),
        url: "https://host/v1".into(),
        refused,
        scrubber,
    };
    let clocks = Clocks { ahead: clock::measure(&value, now, now), used: i64::from(*low) * 1_000 };
    for auth in [Auth::Signed, Auth::ApiKey] {
        let error = respond::error(&answer, auth, u32::from(*low), clocks);
        let text = error.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.len() < 2_000 && !error.message.is_empty(), "{text:?}");
        assert!(error.rules.iter().all(|rule| !rule.is_empty()), "{:?}", error.rules);
        clocks.refused_the_date(&error);
    }
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    match respond::check_json(&answer) {
        Ok(()) => assert!(!body.is_empty()),
        Err(error) => {
            assert!(!is_json || value.to_ascii_lowercase().contains("html"), "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
    let asked = retry::retry_after(&value, now);
    let wait = retry::wait(
        retry::Outcome::Status(status, asked),
        retry::Past { retries: (*high).into(), after_500: false },
        300,
        Duration::from_secs(120),
        0.5,
    );
    assert!(wait.is_none_or(|wait| wait < Duration::from_secs(120)));
}

/// The first byte chooses what the text is.
pub(crate) fn address(bytes: &[u8]) {
    let [how, rest @ ..] = bytes else { return };
    let text = String::from_utf8_lossy(rest);
    match how % 6 {
        0 => sent("follow", vec![("link".into(), Value::Text(text.into()))]),
        1 => lines("get", &text),
        2 => {
            if let Some((name, rest)) = text.split_once('\n') {
                lines(name, rest);
            }
        }
        3 => base(&text),
        4 => proxy(&text),
        _ => shown(&text),
    }
}

/// An argument a line, `name=value`; a whole number is given as one.
fn lines(name: &str, text: &str) {
    let argument = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.parse().map_or_else(|_| Value::Text(value.into()), Value::Int);
        Some((name.to_string(), value))
    };
    sent(name, text.split('\n').filter_map(argument).collect());
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

/// Whatever is asked for, each request goes to the configured host, below its prefix, and says nothing of the secret.
fn sent(name: &str, arguments: operation::Arguments) {
    let config = config();
    let call = match operation::call(name, &arguments, &config) {
        Ok(call) => call,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!call.requests.is_empty());
    for request in &call.requests {
        let Ok(target) = Target::new(request, &config) else { continue };
        let url = target.url();
        assert_eq!((url.host_str(), url.port()), (Some("host"), Some(8443)));
        assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
        let path = url.path().strip_prefix("/prefix").unwrap_or_else(|| panic!("{url}"));
        if name != "get" {
            let head = if request.auth == Auth::Signed { "/v1/data/" } else { "/broadcast/v1/" };
            assert!(path.starts_with(head), "{url}");
        }
        same_path(request, path);
        if let Ok(wire) = target.request(url, SystemTime::UNIX_EPOCH, 0) {
            let (asked, told) = (format!("{request:?}"), format!("{} {wire:?}", target.shown(&Scrubber::default())));
            assert!(asked.contains(SECRET) || !told.contains(SECRET), "{told}");
            assert!(
                asked.contains("canary%20key") || !target.shown(&Scrubber::default()).contains("canary%20key"),
                "{told}"
            );
        }
    }
}

/// The path that is sent is the one that was asked for: nothing in it was taken for a way up or for a query.
fn same_path(request: &Request, path: &str) {
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    assert_eq!(decoded(path), decoded(&request.path));
    assert!(!path.split('/').any(|segment| matches!(&*decoded(segment), b"." | b"..")), "{path}");
}

/// A base address that is taken means the same when it is given again, and one that is refused is not shown with a password.
fn base(text: &str) {
    let with = |base: &str| {
        let options = ClientOptions { base_url: Some(base.into()), ..ClientOptions::default() };
        options.resolve(&|_| None)
    };
    match with(text) {
        Ok(config) => {
            let url = Url::parse(&config.base_url).unwrap();
            assert!(url.username().is_empty() && url.password().is_none(), "{url}");
            assert!(url.scheme() == "https" || crate::config::is_loopback(&url.host().unwrap()), "{url}");
            // Of a prefix that itself ends like an operation's path, the second time takes that too.
            if !config.base_url.ends_with("/v1") {
                assert_eq!(with(&config.base_url).unwrap().base_url, config.base_url);
            }
        }
        Err(error) => hides_the_password(text, &error),
    }
}

fn proxy(text: &str) {
    let base = Url::parse("https://host/").unwrap();
    let given = ClientOptions { proxy: Some(Secret::new(text)), ..ClientOptions::default() };
    let named = |name: &str| (name == "https_proxy").then(|| text.to_string());
    for resolved in [given.resolve(&|_| None), ClientOptions::default().resolve(&named)] {
        let told = resolved.and_then(|config| {
            assert!(!format!("{config:?}").contains("canary"), "{config:?}");
            config.proxies.describe(&base)
        });
        match told {
            Ok(Some((told, _))) => assert!(!told.contains('@'), "{told}"),
            Ok(None) => {}
            Err(error) => hides_the_password(text, &error),
        }
    }
}

fn hides_the_password(text: &str, error: &Error) {
    if let Some(password) = Url::parse(text).ok().and_then(|url| url.password().map(str::to_string))
        && password.len() > 8
    {
        assert!(!error.to_string().contains(&password), "{error}");
    }
}

/// An address as it is shown has no password, and no value of a secret parameter.
fn shown(text: &str) {
    let scrubber = Scrubber::default();
    assert!(scrubber.url(text).len() <= MAX_URL);
    // No request has a fragment; an @ in one may hide more than it should, for a text that is no address may be a password.
    let Some(url) = Url::parse(text).ok().filter(|url| url.fragment().is_none()) else { return };
    let shown = scrubber.url(url.as_str());
    if shown.ends_with('…') {
        return;
    }
    let Ok(read) = Url::parse(&shown) else { panic!("{shown} was {url}") };
    assert!(read.password().is_none() && read.username().is_empty(), "{shown}");
    for (name, value) in form_urlencoded::parse(read.query().unwrap_or_default().as_bytes()) {
        let is_secret = ["apikey", "token"].contains(&name.to_ascii_lowercase().as_str());
        assert!(!is_secret || value.is_empty() || value == "***", "{shown}");
    }
}
