//! Settings: base URLs of each environment, credentials, limits and timeouts.

mod headers;
mod lookup;
mod proxy;
mod settings;

pub use headers::FurtherHeader;
pub(crate) use headers::is_reserved_header;
pub(crate) use proxy::{Proxies, Route};
pub use settings::SettingSource;

use crate::error::{Error, Result};
use crate::scrub::Scrubber;
use idna::punycode::encode_str;
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
    /// The environment of a name, in any case.
    fn parse(text: &str) -> Option<Self> {
        [Environment::Production, Environment::Development]
            .into_iter()
            .find(|environment| text.eq_ignore_ascii_case(environment.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Environment::Production => "production",
            Environment::Development => "development",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sport {
    #[default]
    Basketball,
    Football,
}

impl Sport {
    /// The sport of a name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        [Sport::Basketball, Sport::Football].into_iter().find(|sport| text.eq_ignore_ascii_case(sport.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Sport::Basketball => "basketball",
            Sport::Football => "football",
        }
    }
}

/// Where a Broadcast request carries its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Query,
    Header,
}

const USER_AGENT: &str = concat!("sideline/", env!("CARGO_PKG_VERSION"));

/// Default path of websocket token requests, and default name of the token parameter.
const TOKEN_PATH: &str = "/v1/data/schedule/games/{game_id}/_subscribe";
const TOKEN_PARAMETER: &str = "token";

/// The host of the REST API, which football's websocket and basketball's Broadcast API in production share.
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
        let credentials = [&self.secret, &self.api_key].into_iter().flatten().map(|secret| secret.0.clone());
        let further = headers::secrets(&self.headers);
        Scrubber::new(&credentials.chain(self.proxies.secrets()).chain(further).collect::<Vec<_>>())
    }
}

impl ClientOptions {
    /// Checks the explicit settings and looks up the others with `variable` (the environment, or a map in a test).
    pub fn resolve(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config> {
        let scrubber = self.scrubber(variable);
        self.build(variable).map_err(|error| error.scrub(&scrubber))
    }

    /// Hides the secrets in the error of any other setting.
    fn scrubber(&self, variable: &dyn Fn(&str) -> Option<String>) -> Scrubber {
        let explicit = [&self.secret, &self.api_key].into_iter().flatten().map(|secret| secret.0.clone());
        let secrets = explicit.chain(["SIDELINE_SECRET", "SIDELINE_API_KEY"].into_iter().filter_map(variable));
        Scrubber::new(&secrets.chain(headers::secrets(&self.headers)).collect::<Vec<_>>())
    }

    fn build(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config> {
        const HTTP: [&str; 2] = ["https", "http"];
        const WEBSOCKET: [&str; 2] = ["wss", "ws"];
        let mut lookup = Lookup { variable, sources: Vec::new() };
        let username = lookup.text(self.username, "username", "SIDELINE_USERNAME")?;
        let environment = lookup.text(self.environment, "environment", "SIDELINE_ENVIRONMENT")?;
        let environment = environment.map_or(Ok(Environment::Production), |text| {
            Environment::parse(&text)
                .ok_or_else(|| not_among(lookup.giver(), &text, r#""production" or "development""#))
        })?;
        let sport = lookup.text(self.sport, "sport", "SIDELINE_SPORT")?;
        let sport = sport.map_or(Ok(Sport::default()), |text| {
            Sport::parse(&text).ok_or_else(|| not_among(lookup.giver(), &text, r#""basketball" or "football""#))
        })?;
        let host = documented_host(sport, environment);
        let mut address = |value, parameter, name, schemes: [&str; 2]| -> Result<String> {
            match lookup.text(value, parameter, name)? {
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
            secret: lookup.text(self.secret.map(|secret| secret.0), "secret", "SIDELINE_SECRET")?.map(Secret),
            api_key: lookup.text(self.api_key.map(|key| key.0), "api_key", "SIDELINE_API_KEY")?.map(Secret),
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
            user_agent: no_control_characters(self.user_agent.unwrap_or_else(|| USER_AGENT.into()), "user_agent")?,
            headers: headers::check(self.headers)?,
            key_place: checked_key_place(self.api_key_in.as_deref())?,
            token_path: self.token_path.map_or_else(|| Ok(TOKEN_PATH.into()), checked_token_path)?,
            token_parameter: self.token_parameter.map_or_else(|| Ok(TOKEN_PARAMETER.into()), checked_parameter)?,
            sources: lookup.sources,
        })
    }
}

fn checked_key_place(value: Option<&str>) -> Result<KeyPlace> {
    match value {
        None | Some("query") => Ok(KeyPlace::Query),
        Some("header") => Ok(KeyPlace::Header),
        Some(other) => Err(not_among("api_key_in", other, r#""query" or "header""#)),
    }
}

fn refuse<T>(text: String) -> Result<T> {
    Err(Error::configuration(text))
}

fn at_least_one(number: usize, parameter: &str) -> Result<usize> {
    if number > 0 { Ok(number) } else { refuse(format!("{parameter} must be at least 1")) }
}

fn not_among(parameter: &str, value: &str, choices: &str) -> Error {
    Error::configuration(format!("{parameter} is {value:?}; it must be {choices}"))
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
    refuse(format!("token_path is {path:?}; write a path such as {TOKEN_PATH:?}, with {{game_id}} once"))
}

fn checked_parameter(name: String) -> Result<String> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)) {
        return Ok(name);
    }
    refuse(format!("token_parameter is {name:?}; write the name of a query parameter, such as \"token\""))
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
    let limit = MAX_TIMEOUT.as_secs();
    for (name, value) in [("connect", timeouts.connect), ("read", timeouts.read), ("total", timeouts.total)] {
        if value.is_zero() || value > MAX_TIMEOUT {
            return refuse(format!("the {name} timeout must be more than 0 and at most {limit} seconds"));
        }
    }
    Ok(timeouts)
}

fn checked_rate(rate: f64) -> Result<f64> {
    // Below one request in a day nothing would ever be sent; the bound also keeps the interval finite.
    if rate.is_finite() && rate >= 1.0 / 86_400.0 {
        return Ok(rate);
    }
    refuse(format!("requests_per_second is {rate}; it must be a number greater than 0, such as 5 or 0.5"))
}

/// Checks a base URL, and removes what the operations' paths add.
fn origin(text: &str, parameter: &str, [secure, plain]: [&str; 2], allow_http: bool) -> Result<String> {
    let refuse = |reason: String| refuse(format!("{parameter} {reason}"));
    // Shown only after checking that it holds no password.
    let Ok(url) = Url::parse(&with_ascii_host(text)) else {
        return refuse(format!("is not an address; write it as {secure}://host"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds a username or password; give username= and secret= instead".into());
    }
    let Some(host) = url.host().filter(|_| url.scheme() == secure || url.scheme() == plain) else {
        return refuse(format!("must begin with {secure}://"));
    };
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("has a query or a fragment; give the address alone".into());
    }
    if url.scheme() == plain && !allow_http && !is_loopback(&host) {
        return refuse(format!(
            "is {plain}://{host}: requests would travel unencrypted; use {secure}://, or allow_http=True if you must"
        ));
    }
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    Ok(format!("{}://{host}{port}{}", url.scheme(), prefix(url.path())))
}

/// Writes the letters of a host in ASCII, by which names are looked up. `idna` would need tables of all letters for more.
fn with_ascii_host(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("//") else { return address.to_owned() };
    let (host, rest) = rest.split_at(rest.find([':', '/', '?', '#']).unwrap_or(rest.len()));
    let in_ascii = |label: &str| match encode_str(&label.to_lowercase()) {
        Some(code) if !label.is_ascii() => format!("xn--{code}"),
        _ => label.to_owned(),
    };
    let labels: Vec<_> = host.split('.').map(in_ascii).collect();
    format!("{scheme}//{}{rest}", labels.join("."))
}

/// Removes the beginning of an operation's path (`/v1/data/..`); the remaining prefix belongs to a reverse proxy.
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
mod tests;
