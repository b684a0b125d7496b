//! Requests with their URL and credential. Each attempt is signed again, because the signature covers the date.

use super::clock;
use super::http::{further_headers, header_value};
use crate::config::{Config, KeyPlace, Secret};
use crate::error::{Error, Result};
use crate::operation::{Auth, Request};
use crate::signer;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderMap;
use reqwest::{Method, header};
use std::time::SystemTime;
use url::Url;

#[derive(Debug)]
pub(super) enum Credential {
    Hmac { username: String, secret: Secret },
    Key(KeyPlace, Secret),
}

impl Credential {
    /// Fails if it is missing.
    pub(super) fn of(auth: Auth, config: &Config) -> Result<Self> {
        match auth {
            Auth::Signed => {
                let username = config.username.clone().ok_or_else(|| missing("username", "SIDELINE_USERNAME"))?;
                let secret = config.secret.clone().ok_or_else(|| missing("secret", "SIDELINE_SECRET"))?;
                Ok(Credential::Hmac { username, secret })
            }
            Auth::ApiKey => {
                let key = config.api_key.as_ref().ok_or_else(|| missing("api_key", "SIDELINE_API_KEY"))?;
                Ok(Credential::Key(config.key_place, key.clone()))
            }
        }
    }
}

/// The name of the key, both as a query parameter and as a header.
const API_KEY: &str = "apikey";

#[derive(Debug)]
pub(super) struct AuthenticatedRequest {
    /// Without the key.
    pub(super) url: Url,
    credential: Credential,
    /// Of `headers=`.
    further_headers: HeaderMap,
}

impl AuthenticatedRequest {
    pub(super) fn new(request: &Request, config: &Config) -> Result<Self> {
        let credential = Credential::of(request.auth, config)?;
        let base = (request.auth.scheme().base_url)(config);
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        // `Url` would strip trailing spaces.
        let address = format!("{base}{}{query}", request.path).replace(' ', "%20");
        let url = Url::parse(&address)
            .map_err(|error| Error::Argument(format!("the path {:?} cannot be sent: {error}", request.path)))?;
        Ok(AuthenticatedRequest { url, credential, further_headers: further_headers(config)? })
    }

    /// Builds a dated and signed request to `url`: its own URL, or one to which the same server redirected it.
    pub(super) fn sign(&self, url: &Url, local: SystemTime, offset_ms: i64) -> Result<reqwest::Request> {
        let date = clock::date_header(local, offset_ms);
        let host = host_header(url);
        let credential = match &self.credential {
            // The path on the wire, including the prefix of a reverse proxy.
            Credential::Hmac { username, secret } => {
                let secret = secret.expose().as_bytes();
                let value = signer::authorization(username, secret, &date, &host, "GET", url.path());
                Some((header::AUTHORIZATION, header_value(&value, "the username")?))
            }
            Credential::Key(KeyPlace::Query, _) => None,
            Credential::Key(KeyPlace::Header, key) => {
                Some((header::HeaderName::from_static(API_KEY), header_value(key.expose(), "api_key")?))
            }
        };
        let mut request = reqwest::Request::new(Method::GET, self.add_key(url));
        let headers = request.headers_mut();
        headers.extend(self.further_headers.clone());
        headers.insert(header::DATE, header_value(&date, "the date")?);
        headers.insert(header::HOST, header_value(&host, "the host")?);
        headers.insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("gzip"));
        if let Some((name, mut value)) = credential {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }

    /// Adds the key to the query and removes any other, because a gateway refuses duplicates.
    fn add_key(&self, url: &Url) -> Url {
        let key = match &self.credential {
            Credential::Hmac { .. } => return url.clone(),
            Credential::Key(KeyPlace::Query, key) => {
                Some(format!("{API_KEY}={}", utf8_percent_encode(key.expose(), NON_ALPHANUMERIC)))
            }
            Credential::Key(KeyPlace::Header, _) => None,
        };
        let is_key = |pair: &&str| pair.split('=').next().is_some_and(|name| name.eq_ignore_ascii_case(API_KEY));
        let others = url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty() && !is_key(pair));
        let query: Vec<&str> = others.chain(key.as_deref()).collect();
        let mut with_key = url.clone();
        with_key.set_query(if query.is_empty() { None } else { Some(query.join("&")) }.as_deref());
        with_key
    }
}

fn missing(parameter: &str, variable: &str) -> Error {
    Error::configuration(format!("{parameter} is missing: pass {parameter}= or set {variable}"))
}

/// The Host header. It is set explicitly because it must be sent exactly as it was signed.
pub(super) fn host_header(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_string(), |port| format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::ClientOptions;
    use crate::config::Sport;
    use crate::error::LocalError;
    use crate::scrub::Scrubber;
    use std::time::{Duration, UNIX_EPOCH};
    use tables::Context;

    fn request(auth: Auth, path: &str, query: &str) -> Request {
        Request {
            operation: "test",
            auth,
            path: path.into(),
            query: query.into(),
            resource: None,
            sport: Sport::Basketball,
            context: Context::default(),
        }
    }

    fn target(base: &str, auth: Auth, path: &str, query: &str) -> AuthenticatedRequest {
        let options = ClientOptions {
            username: Some("ann".into()),
            secret: Some(Secret::new("a secret & more")),
            api_key: Some(Secret::new("canary key&")),
            base_url: Some(base.into()),
            broadcast_base_url: Some(base.into()),
            ..ClientOptions::default()
        };
        AuthenticatedRequest::new(&request(auth, path, query), &options.resolve(&|_| None).unwrap()).unwrap()
    }

    fn sign(target: &AuthenticatedRequest) -> reqwest::Request {
        let noon = UNIX_EPOCH + Duration::from_secs(1_793_534_400);
        target.sign(&target.url, noon, 0).unwrap()
    }

    #[test]
    fn trailing_spaces_are_percent_encoded() {
        let url = |path: &str, query: &str| target("https://host", Auth::Signed, path, query).url;
        assert_eq!(url("/v1/a b ", "").path(), "/v1/a%20b%20");
        assert_eq!(url("/v1/a", "x=b c ").query(), Some("x=b%20c%20"));
    }

    #[test]
    fn the_signature_covers_date_host_and_path() {
        let target = target("https://api.shottracker.com", Auth::Signed, "/v1/data/teams/46/events", "from=1&to=2");
        let request = sign(&target);
        assert_eq!(request.url().as_str(), "https://api.shottracker.com/v1/data/teams/46/events?from=1&to=2");
        assert_eq!(request.headers()["date"], "Sun, 01 Nov 2026 12:00:00 GMT");
        assert_eq!(request.headers()["host"], "api.shottracker.com");
        // printf 'date: Sun, ..\nhost: ..\nGET /v1/data/teams/46/events HTTP/1.1' | openssl dgst -sha1 -hmac .. -binary | base64
        let expected = r#"hmac username="ann",algorithm="hmac-sha1",headers="date host request-line",signature="m2iH9s96Kme8k0srUy5uLoP66IA=""#;
        assert_eq!(request.headers()["authorization"], expected);
    }

    #[test]
    fn the_host_is_signed_with_its_port_and_the_path_with_its_prefix() {
        let target = target("http://127.0.0.1:8080/pre", Auth::Signed, "/v1/data/a b", "");
        let request = sign(&target);
        assert_eq!(request.headers()["host"], "127.0.0.1:8080");
        let (date, host, path) = ("Sun, 01 Nov 2026 12:00:00 GMT", "127.0.0.1:8080", "/pre/v1/data/a%20b");
        let expected = signer::authorization("ann", b"a secret & more", date, host, "GET", path);
        assert_eq!(request.headers()["authorization"], expected.as_str());
        assert_eq!(host_header(&Url::parse("https://host:443/").unwrap()), "host");
        assert_eq!(host_header(&Url::parse("http://[::1]:81/").unwrap()), "[::1]:81");
    }

    #[test]
    fn the_key_is_sent_once_in_the_query_and_never_shown() {
        let target = target("https://host", Auth::ApiKey, "/broadcast/v1/games/teams", "x=1&APIKEY=old");
        let request = sign(&target);
        assert_eq!(request.url().query(), Some("x=1&apikey=canary%20key%26"));
        assert!(request.headers().get("authorization").is_none());
        assert!(!format!("{target:?} {}", Scrubber::default().url(&target.url)).contains("canary"));
    }

    #[test]
    fn the_key_can_be_sent_in_a_header_only() {
        let options = ClientOptions {
            api_key: Some(Secret::new("canary key&")),
            api_key_in: Some("header".into()),
            broadcast_base_url: Some("https://host".into()),
            ..ClientOptions::default()
        };
        let config = options.resolve(&|_| None).unwrap();
        let target =
            AuthenticatedRequest::new(&request(Auth::ApiKey, "/broadcast/v1/games/teams", "apikey=old"), &config)
                .unwrap();
        let request = sign(&target);
        assert_eq!(request.url().as_str(), "https://host/broadcast/v1/games/teams");
        assert_eq!(request.headers()["apikey"], "canary key&");
        assert!(!format!("{target:?} {request:?} {}", Scrubber::default().url(&target.url)).contains("canary"));
    }

    #[test]
    fn a_missing_credential_error_names_the_variable() {
        let config = ClientOptions::default().resolve(&|_| None).unwrap();
        for (auth, variable) in [(Auth::Signed, "SIDELINE_USERNAME"), (Auth::ApiKey, "SIDELINE_API_KEY")] {
            let Err(Error::Configuration(LocalError { text, .. })) =
                AuthenticatedRequest::new(&request(auth, "/", ""), &config)
            else {
                panic!()
            };
            assert!(text.contains(variable), "{text}");
        }
    }
}
