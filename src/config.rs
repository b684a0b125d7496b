//! Settings: base URLs of each environment, credentials, limits and timeouts.

mod headers;
mod lookup;
mod proxy;
mod settings;

pub use headers::FurtherHeader;
pub(crate) use headers::is_reserved_header;
pub(crate) use proxy::Proxies;
pub(crate) use proxy::Route;
pub use settings::Setting;
pub use settings::SettingSource;

use crate::error::{Error, Result};
use crate::scrub::Scrubber;
use lookup::Lookup;
use std::time::Duration;
use url::{Host, Url};

/// A text that is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }
    /// The text itself, only for signing and sending.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    Production,
    Development,
}

impl Environment {
    /// `production` or `development`, in any case.
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "production" => Some(Environment::Production),
            "development" => Some(Environment::Development),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sport {
    Basketball,
    Football,
}

impl Sport {
    /// `basketball` or `football`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "basketball" => Some(Sport::Basketball),
            "football" => Some(Sport::Football),
            _ => None,
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Sport::Basketball => "basketball",
            Sport::Football => "football",
        }
    }
    /// The name in the protocol.
    pub(crate) fn wire_name(self) -> &'static str {
        match self {
            Sport::Basketball => "BASKETBALL",
            Sport::Football => "FOOTBALL",
        }
    }
}

/// Where a Broadcast request carries its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Query,
    Header,
}

/// Default path of websocket token requests, and default name of the token parameter.
const TOKEN_PATH: &str = "/v1/data/schedule/games/{game_id}/_subscribe";
const TOKEN_PARAMETER: &str = "token";

/// The host of the REST API. The websocket shares it for football, the Broadcast API for basketball in production; no
/// other host is published for either.
fn documented_host(sport: Sport, environment: Environment) -> &'static str {
    match (sport, environment) {
        (Sport::Basketball, Environment::Production) => "api.shottracker.com",
        (Sport::Basketball, Environment::Development) => "devapi-shottracker.ddsports.com",
        (Sport::Football, Environment::Production) => "api-gridtracker.ddsports.com",
        (Sport::Football, Environment::Development) => "devapi-gridtracker.ddsports.com",
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    pub connect: Duration,
    /// Maximum silence between two reads.
    pub read: Duration,
    /// Covers all attempts of a request and the waits between them.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Timeouts { connect: seconds(10), read: seconds(30), total: seconds(120) }
    }
}

/// Default limit on all responses of a client that are received at once.
const MAX_RESPONSE_BYTES: usize = 512 * 1024 * 1024;

/// Longer timeouts are a wrong unit; the bound also keeps sums with the clock from overflowing.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Explicit settings; the others are looked up by `resolve`.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    pub username: Option<String>,
    pub secret: Option<Secret>,
    pub api_key: Option<Secret>,
    pub environment: Option<String>,
    pub sport: Option<String>,
    pub base_url: Option<String>,
    pub websocket_url: Option<String>,
    pub broadcast_base_url: Option<String>,
    pub timeouts: Option<Timeouts>,
    pub max_retries: Option<u32>,
    pub max_concurrency: Option<usize>,
    pub max_response_bytes: Option<usize>,
    pub max_memory: Option<usize>,
    pub requests_per_second: Option<f64>,
    pub proxy: Option<Secret>,
    pub ca_bundle: Option<String>,
    pub user_agent: Option<String>,
    pub headers: Vec<FurtherHeader>,
    pub allow_http: bool,
    pub api_key_in: Option<String>,
    pub token_path: Option<String>,
    pub token_parameter: Option<String>,
}

/// The checked settings of a client.
#[derive(Debug, Clone)]
pub struct Config {
    pub username: Option<String>,
    pub secret: Option<Secret>,
    pub api_key: Option<Secret>,
    pub environment: Environment,
    pub sport: Sport,
    /// Origins, with a proxy's prefix if any, without a trailing slash.
    pub base_url: String,
    pub websocket_url: String,
    pub broadcast_base_url: String,
    pub timeouts: Timeouts,
    pub max_retries: u32,
    pub max_concurrency: usize,
    /// Limit on all responses being received and decompressed.
    pub max_response_bytes: usize,
    /// Limit on one table, or one dict, of a response.
    pub max_memory: Option<usize>,
    pub requests_per_second: Option<f64>,
    pub(crate) proxies: Proxies,
    pub ca_bundle: Option<String>,
    pub user_agent: String,
    pub headers: Vec<FurtherHeader>,
    pub allow_http: bool,
    pub(crate) key_place: KeyPlace,
    /// With `{game_id}` as one of its segments.
    pub token_path: String,
    pub token_parameter: String,
    /// The source of each setting that a variable can set.
    pub(crate) sources: Vec<(&'static str, SettingSource)>,
}

impl Config {
    /// Hides the secrets that no output may show.
    pub fn scrubber(&self) -> Scrubber {
        let own = [&self.secret, &self.api_key].into_iter().flatten().map(|secret| secret.0.clone());
        let further = headers::secrets(&self.headers);
        Scrubber::new(&own.chain(self.proxies.secrets()).chain(further).collect::<Vec<_>>())
    }
}

impl ClientOptions {
    /// Checks the explicit settings and looks up the others with `variable` (the environment, or a map in a test).
    pub fn resolve(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config> {
        let scrubber = self.scrubber(variable);
        self.checked(variable).map_err(|error| error.scrubbed(&scrubber))
    }

    /// Hides the secrets in the error of any other setting.
    fn scrubber(&self, variable: &dyn Fn(&str) -> Option<String>) -> Scrubber {
        let explicit = [&self.secret, &self.api_key].into_iter().flatten().map(|secret| secret.0.clone());
        let secrets = explicit.chain(["SIDELINE_SECRET", "SIDELINE_API_KEY"].into_iter().filter_map(variable));
        Scrubber::new(&secrets.chain(headers::secrets(&self.headers)).collect::<Vec<_>>())
    }

    fn checked(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config> {
        const HTTP: [&str; 2] = ["https", "http"];
        const WEBSOCKET: [&str; 2] = ["wss", "ws"];
        let mut lookup = Lookup::new(variable);
        let username = lookup.text(self.username, "username", "SIDELINE_USERNAME")?;
        let environment = lookup.text(self.environment, "environment", "SIDELINE_ENVIRONMENT")?;
        let environment = environment.map_or(Ok(Environment::Production), |text| {
            Environment::parse(&text)
                .ok_or_else(|| not_among(lookup.giver(), &text, r#""production" or "development""#))
        })?;
        let sport = lookup.text(self.sport, "sport", "SIDELINE_SPORT")?;
        let sport = sport.map_or(Ok(Sport::Basketball), |text| {
            Sport::parse(&text).ok_or_else(|| not_among(lookup.giver(), &text, r#""basketball" or "football""#))
        })?;
        let host = documented_host(sport, environment);
        let mut address = |given, parameter, name, schemes: [&str; 2]| -> Result<String> {
            match lookup.text(given, parameter, name)? {
                Some(text) => origin(&text, lookup.giver(), schemes, self.allow_http),
                None => Ok(format!("{}://{host}", schemes[0])),
            }
        };
        let base_url = address(self.base_url, "base_url", "SIDELINE_BASE_URL", HTTP)?;
        let websocket_url = address(self.websocket_url, "websocket_url", "SIDELINE_WEBSOCKET_URL", WEBSOCKET)?;
        let broadcast_base_url =
            address(self.broadcast_base_url, "broadcast_base_url", "SIDELINE_BROADCAST_BASE_URL", HTTP)?;
        Ok(Config {
            username,
            secret: lookup.secret(self.secret, "secret", "SIDELINE_SECRET")?,
            api_key: lookup.secret(self.api_key, "api_key", "SIDELINE_API_KEY")?,
            environment,
            sport,
            base_url,
            websocket_url,
            broadcast_base_url,
            timeouts: checked_timeouts(self.timeouts.unwrap_or_default())?,
            max_retries: self.max_retries.unwrap_or(3),
            max_concurrency: at_least_one(self.max_concurrency.unwrap_or(16), "max_concurrency")?,
            max_response_bytes: at_least_one(
                self.max_response_bytes.unwrap_or(MAX_RESPONSE_BYTES),
                "max_response_bytes",
            )?,
            max_memory: self.max_memory,
            requests_per_second: self.requests_per_second.map(checked_rate).transpose()?,
            proxies: Proxies::read(self.proxy, variable)?,
            // The variable of the library requests, set on most machines behind an inspecting proxy.
            ca_bundle: lookup.text(self.ca_bundle, "ca_bundle", "REQUESTS_CA_BUNDLE")?,
            user_agent: checked_user_agent(self.user_agent)?,
            headers: headers::check(self.headers)?,
            allow_http: self.allow_http,
            key_place: checked_key_place(self.api_key_in.as_deref())?,
            token_path: self.token_path.map_or_else(|| Ok(TOKEN_PATH.into()), checked_token_path)?,
            token_parameter: self.token_parameter.map_or_else(|| Ok(TOKEN_PARAMETER.into()), checked_parameter)?,
            sources: lookup.into_sources(),
        })
    }
}

fn checked_user_agent(given: Option<String>) -> Result<String> {
    given.map_or_else(
        || Ok(concat!("sideline/", env!("CARGO_PKG_VERSION")).into()),
        |text| no_control_characters(text, "user_agent"),
    )
}

fn checked_key_place(given: Option<&str>) -> Result<KeyPlace> {
    match given {
        None | Some("query") => Ok(KeyPlace::Query),
        Some("header") => Ok(KeyPlace::Header),
        Some(other) => Err(not_among("api_key_in", other, r#""query" or "header""#)),
    }
}

fn at_least_one(number: usize, parameter: &str) -> Result<usize> {
    if number > 0 { Ok(number) } else { Err(Error::configuration(format!("{parameter} must be at least 1"))) }
}

fn not_among(parameter: &str, given: &str, allowed: &str) -> Error {
    Error::configuration(format!("{parameter} is {given:?}; it must be {allowed}"))
}

fn checked_token_path(path: String) -> Result<String> {
    let is_plain =
        |segment: &str| segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~@:,".contains(&byte));
    let segments: Vec<&str> = path.split('/').collect();
    let is_good = segments.first() == Some(&"")
        && segments.iter().filter(|segment| **segment == "{game_id}").count() == 1
        && segments.iter().all(|segment| *segment == "{game_id}" || is_plain(segment))
        && !segments.iter().any(|segment| matches!(*segment, "." | ".."));
    if is_good {
        return Ok(path);
    }
    Err(Error::configuration(format!(
        "token_path is {path:?}; write a path such as {TOKEN_PATH:?}, with {{game_id}} once"
    )))
}

fn checked_parameter(name: String) -> Result<String> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)) {
        return Ok(name);
    }
    Err(Error::configuration(format!(
        "token_parameter is {name:?}; write the name of a query parameter, such as \"token\""
    )))
}

/// The value is not shown: it may be a credential.
fn no_control_characters(value: String, source: &str) -> Result<String> {
    match value.chars().position(char::is_control) {
        None => Ok(value),
        Some(at) => Err(Error::Argument(format!(
            "{source} holds a control character (at position {at}); a line break at its end is the usual one: strip it"
        ))),
    }
}

fn checked_timeouts(timeouts: Timeouts) -> Result<Timeouts> {
    for (name, value) in [("connect", timeouts.connect), ("read", timeouts.read), ("total", timeouts.total)] {
        if value.is_zero() || value > MAX_TIMEOUT {
            return Err(Error::configuration(format!(
                "the {name} timeout must be more than 0 and at most {} seconds",
                MAX_TIMEOUT.as_secs()
            )));
        }
    }
    Ok(timeouts)
}

fn checked_rate(rate: f64) -> Result<f64> {
    // Below one request in a day nothing would ever be sent; the bound also keeps the interval finite.
    if rate.is_finite() && rate >= 1.0 / 86_400.0 {
        Ok(rate)
    } else {
        Err(Error::configuration(format!(
            "requests_per_second is {rate}; it must be a number greater than 0, such as 5 or 0.5"
        )))
    }
}

/// Checks a base URL, and removes what the operations' paths add.
fn origin(text: &str, parameter: &str, [secure, plain]: [&str; 2], allow_http: bool) -> Result<String> {
    let wrong = |why: String| Err(Error::configuration(format!("{parameter} {why}")));
    // Shown only after checking that it holds no password.
    let Ok(url) = Url::parse(text) else {
        return wrong(format!("is not an address; write it as {secure}://host"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("holds a username or password; give username= and secret= instead".into());
    }
    let Some(host) = url.host().filter(|_| url.scheme() == secure || url.scheme() == plain) else {
        return wrong(format!("must begin with {secure}://"));
    };
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("has a query or a fragment; give the address alone".into());
    }
    if url.scheme() == plain && !allow_http && !is_loopback(&host) {
        return wrong(format!(
            "is {plain}://{host}: requests would travel unencrypted; use {secure}://, or allow_http=True if you must"
        ));
    }
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    Ok(format!("{}://{host}{port}{}", url.scheme(), prefix(url.path())))
}

/// Removes the beginning of an operation's path (`/v1/data/..`, `/broadcast/v1/..`, `/live/v2/..`); the remaining
/// prefix belongs to a reverse proxy.
fn prefix(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let begins_operation =
        |rest: &[&str]| matches!(rest, ["v1"] | ["v1", "data", ..] | ["broadcast", "v1", ..] | ["live", "v2", ..]);
    let end = (0..segments.len()).find(|&at| begins_operation(&segments[at..])).unwrap_or(segments.len());
    segments[..end].iter().map(|segment| format!("/{segment}")).collect()
}

pub(crate) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::error::LocalError;

    const NOTHING: &dyn Fn(&str) -> Option<String> = &|_| None;

    fn with_base(text: &str) -> Result<Config> {
        ClientOptions { base_url: Some(text.into()), ..ClientOptions::default() }.resolve(NOTHING)
    }

    fn refusal(options: ClientOptions) -> String {
        match options.resolve(NOTHING) {
            Err(Error::Configuration(LocalError { text, .. })) => text,
            other => panic!("not refused as a configuration: {other:?}"),
        }
    }

    #[test]
    fn each_sport_and_environment_has_its_documented_addresses() {
        for (sport, environment, host) in [
            ("basketball", "production", "api.shottracker.com"),
            ("basketball", "development", "devapi-shottracker.ddsports.com"),
            ("football", "production", "api-gridtracker.ddsports.com"),
            ("FOOTBALL", "Development", "devapi-gridtracker.ddsports.com"),
        ] {
            let options = ClientOptions {
                sport: Some(sport.into()),
                environment: Some(environment.into()),
                ..ClientOptions::default()
            };
            let config = options.resolve(NOTHING).unwrap();
            assert_eq!(config.base_url, format!("https://{host}"));
            assert_eq!(config.websocket_url, format!("wss://{host}"));
            assert_eq!(config.broadcast_base_url, format!("https://{host}"));
        }
    }

    #[test]
    fn where_key_and_token_stand_can_be_set_and_is_checked() {
        let defaults = ClientOptions::default().resolve(NOTHING).unwrap();
        assert_eq!((defaults.key_place, defaults.token_parameter.as_str()), (KeyPlace::Query, "token"));
        assert_eq!(defaults.token_path, "/v1/data/schedule/games/{game_id}/_subscribe");
        let options = ClientOptions {
            api_key_in: Some("header".into()),
            token_path: Some("/v2/tokens/{game_id}".into()),
            token_parameter: Some("start_token".into()),
            ..ClientOptions::default()
        };
        let config = options.resolve(NOTHING).unwrap();
        assert_eq!((config.key_place, config.token_parameter.as_str()), (KeyPlace::Header, "start_token"));
        assert_eq!(config.token_path, "/v2/tokens/{game_id}");
        let some = |text: &str| Some(text.to_string());
        assert!(refusal(ClientOptions { api_key_in: some("body"), ..ClientOptions::default() }).contains("api_key_in"));
        for wrong in
            ["", "/v1/tokens", "v1/{game_id}", "/{game_id}/{game_id}", "/{game_id}?x", "/x{game_id}", "/../{game_id}"]
        {
            assert!(
                refusal(ClientOptions { token_path: some(wrong), ..ClientOptions::default() }).contains("token_path"),
                "{wrong}"
            );
        }
        for wrong in ["", "a b", "a=b", "a&b"] {
            let refused = refusal(ClientOptions { token_parameter: some(wrong), ..ClientOptions::default() });
            assert!(refused.contains("token_parameter"), "{wrong}");
        }
    }

    #[test]
    fn options_win_over_the_environment() {
        let variable = |name: &str| -> Option<String> {
            let value = match name {
                "SIDELINE_USERNAME" => "ann",
                "SIDELINE_SECRET" => "s3cret",
                "SIDELINE_API_KEY" => "k3y",
                "SIDELINE_ENVIRONMENT" => "development",
                "SIDELINE_SPORT" => "",
                "SIDELINE_BASE_URL" => "http://127.0.0.1:4000/",
                "SIDELINE_WEBSOCKET_URL" => "ws://127.0.0.1:4000",
                "SIDELINE_BROADCAST_BASE_URL" => "http://localhost:4000/broadcast/v1",
                "REQUESTS_CA_BUNDLE" => "bundle.pem",
                _ => return None,
            };
            Some(value.into())
        };
        let config =
            ClientOptions { username: Some("bob".into()), ..ClientOptions::default() }.resolve(&variable).unwrap();
        assert_eq!(config.username.as_deref(), Some("bob"));
        assert_eq!(config.secret, Some(Secret::new("s3cret")));
        assert_eq!(config.api_key, Some(Secret::new("k3y")));
        assert_eq!((config.environment, config.sport), (Environment::Development, Sport::Basketball));
        assert_eq!(config.base_url, "http://127.0.0.1:4000");
        assert_eq!(config.websocket_url, "ws://127.0.0.1:4000");
        assert_eq!(config.broadcast_base_url, "http://localhost:4000");
        assert_eq!(config.ca_bundle.as_deref(), Some("bundle.pem"));
    }

    #[test]
    fn an_address_that_ends_in_an_operations_path_is_trimmed_and_a_proxys_prefix_stays() {
        for (given, kept) in [
            ("https://host", "https://host"),
            ("https://HOST:443/", "https://host"),
            ("https://host:8443/v1/data/", "https://host:8443"),
            ("https://host/v1", "https://host"),
            ("https://host/v1/data/teams", "https://host"),
            ("https://host/broadcast/v1", "https://host"),
            ("https://host/live/v2/games", "https://host"),
            ("https://host/prefix", "https://host/prefix"),
            ("https://host/a/v1/b/v1/data", "https://host/a/v1/b"),
            ("http://[::1]:9/", "http://[::1]:9"),
        ] {
            assert_eq!(with_base(given).unwrap().base_url, kept, "{given}");
        }
        let websocket =
            ClientOptions { websocket_url: Some("wss://host/live/v2/games".into()), ..ClientOptions::default() };
        assert_eq!(websocket.resolve(NOTHING).unwrap().websocket_url, "wss://host");
    }

    #[test]
    fn plain_http_is_for_loopback_or_on_demand() {
        let refused = with_base("http://service.example").unwrap_err().to_string();
        assert!(refused.contains("allow_http=True"), "{refused}");
        let allowed = ClientOptions {
            base_url: Some("http://service.example".into()),
            allow_http: true,
            ..ClientOptions::default()
        };
        assert_eq!(allowed.resolve(NOTHING).unwrap().base_url, "http://service.example");
        for loopback in
            ["http://127.0.0.2:1", "http://LOCALHOST:1", "http://localhost.:1", "http://a.localhost", "http://[::1]:1"]
        {
            assert!(with_base(loopback).is_ok(), "{loopback}");
        }
        assert!(with_base("http://localhost.example").is_err());
    }

    #[test]
    fn an_address_that_cannot_serve_as_a_base_is_refused_without_its_password() {
        for bad in
            ["host", "ftp://host", "https://host?x=1", "https://host#x", "https://u:canary@host", "wss://host", ""]
        {
            let text = refusal(ClientOptions { base_url: Some(bad.into()), ..ClientOptions::default() });
            assert!(text.starts_with("base_url") && !text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn a_misspelt_environment_or_sport_says_what_is_allowed() {
        let text = refusal(ClientOptions { environment: Some("prod".into()), ..ClientOptions::default() });
        assert!(text.contains(r#""production" or "development""#), "{text}");
        let text = refusal(ClientOptions { sport: Some("soccer".into()), ..ClientOptions::default() });
        assert!(text.contains(r#""basketball" or "football""#), "{text}");
    }

    #[test]
    fn a_control_character_in_a_credential_is_an_argument_error_that_does_not_show_it() {
        let broken = || Some("canary\n".to_string());
        for options in [
            ClientOptions { username: broken(), ..ClientOptions::default() },
            ClientOptions { secret: broken().map(Secret), ..ClientOptions::default() },
            ClientOptions { api_key: broken().map(Secret), ..ClientOptions::default() },
            ClientOptions { user_agent: broken(), ..ClientOptions::default() },
            ClientOptions { proxy: Some(Secret::new("http://canary\n:3128")), ..ClientOptions::default() },
        ] {
            match options.resolve(NOTHING) {
                Err(Error::Argument(text)) => assert!(!text.contains("canary"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_username_may_hold_any_character_that_a_header_may() {
        let odd = ClientOptions { username: Some("a \"b\",c=\\é".into()), ..ClientOptions::default() };
        assert_eq!(odd.resolve(NOTHING).unwrap().username.as_deref(), Some("a \"b\",c=\\é"));
        refusal(ClientOptions { username: Some(String::new()), ..ClientOptions::default() });
    }

    #[test]
    fn limits_and_timeouts_are_positive_and_finite() {
        let second = Duration::from_secs(1);
        let zero = Timeouts { connect: second, read: Duration::ZERO, total: second };
        assert!(refusal(ClientOptions { timeouts: Some(zero), ..ClientOptions::default() }).contains("read"));
        let endless = Timeouts { connect: second, read: second, total: Duration::MAX };
        refusal(ClientOptions { timeouts: Some(endless), ..ClientOptions::default() });
        refusal(ClientOptions { max_concurrency: Some(0), ..ClientOptions::default() });
        assert!(
            refusal(ClientOptions { max_response_bytes: Some(0), ..ClientOptions::default() })
                .contains("max_response_bytes")
        );
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refusal(ClientOptions { requests_per_second: Some(rate), ..ClientOptions::default() });
        }
        refusal(ClientOptions { proxy: Some(Secret::new("socks5://host:1")), ..ClientOptions::default() });
    }

    #[test]
    fn no_debug_text_holds_a_secret() {
        let options = ClientOptions {
            secret: Some(Secret::new("canary-1")),
            api_key: Some(Secret::new("canary-2")),
            proxy: Some(Secret::new("http://u:canary-3@host:1")),
            ..ClientOptions::default()
        };
        let text = format!("{options:?} {:?}", options.clone().resolve(NOTHING).unwrap());
        assert!(!text.contains("canary"), "{text}");
    }
}
