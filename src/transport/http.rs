//! The HTTP client: connections, certificate authorities, proxies.

use super::attempt_error::{AttemptError, error_chain};
#[cfg(test)]
use super::simulated::{Limits, SimulatedClient};
use crate::config::{Config, Route};
use crate::error::{Error, Result};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, NoProxy, Proxy, Request, Response, redirect};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// Common gateways close idle connections after 60 s.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// What a client is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientUse {
    /// Connections are kept and reused.
    Calls,
    /// Without a read timeout and without idle connections.
    Streams,
    /// A separate connection that records the server's certificate.
    Probe,
}

/// All network access of the core: tests replace it with a simulation.
#[derive(Clone)]
pub(super) enum HttpClient {
    Network(reqwest::Client),
    #[cfg(test)]
    Simulated(SimulatedClient),
}

impl HttpClient {
    pub(super) async fn execute(&self, request: Request) -> std::result::Result<Response, AttemptError> {
        match self {
            HttpClient::Network(client) => client.execute(request).await.map_err(AttemptError::from_reqwest),
            #[cfg(test)]
            HttpClient::Simulated(client) => client.execute(request).await,
        }
    }
}

/// A client that is built for the first request, so that a fork before it inherits nothing.
#[derive(Default)]
pub(super) struct ClientSlot(Mutex<Option<HttpClient>>);

impl ClientSlot {
    pub(super) fn client(&self, config: &Config, base: &Url, usage: ClientUse) -> Result<HttpClient> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(client) => Ok(client.clone()),
            None => Ok(slot.insert(build_client(config, base, usage)?).clone()),
        }
    }

    /// Closes its idle connections.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Builds a client for the requests to one base URL.
pub(super) fn build_client(config: &Config, base: &Url, usage: ClientUse) -> Result<HttpClient> {
    #[cfg(test)]
    {
        let limits = Limits { connect: config.timeouts.connect, read: read_timeout(config, usage) };
        if let Some(client) = SimulatedClient::new(limits) {
            return Ok(HttpClient::Simulated(client));
        }
    }
    // Fails if the application has already installed a provider, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();

    // The signature covers the text `HTTP/1.1`, so HTTP/2 would invalidate it. Redirects and retries need new signatures.
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(config.timeouts.connect)
        .user_agent(header_value(&config.user_agent, "user_agent")?);

    builder = match usage {
        ClientUse::Calls => builder.pool_idle_timeout(POOL_IDLE_TIMEOUT),
        ClientUse::Streams => builder.pool_max_idle_per_host(0),
        ClientUse::Probe => builder.tls_info(true).pool_max_idle_per_host(0),
    };
    if let Some(limit) = read_timeout(config, usage) {
        builder = builder.read_timeout(limit);
    }
    let route = config.proxies.route(base)?;
    // Plain HTTP, such as to a simulator, must work on a machine without any certificate authority.
    let is_plaintext = route == Route::Direct && base.scheme() == "http";
    builder = match route {
        Route::Direct => builder.no_proxy(),
        Route::System => builder,
        Route::Through(address, no_proxy) => {
            builder.proxy(build_proxy(address.expose())?.no_proxy(NoProxy::from_string(&no_proxy)))
        }
    };
    builder = match is_plaintext {
        true => builder.tls_certs_only([]),
        false => builder.tls_certs_merge(added_authorities(config)?),
    };
    builder.build().map(HttpClient::Network).map_err(|error| {
        let error = error.without_url();
        Error::configuration(format!(
            "the HTTP client could not be created: {}. If the system has no certificate authorities, install them \
             (ca-certificates), pass ca_bundle=, or set SSL_CERT_FILE or SSL_CERT_DIR",
            error_chain(&error)
        ))
        .caused_by(error)
    })
}

/// A read timeout of the length of the total one would expire at the same time, and the error would name the wrong one.
/// Streams have their own.
fn read_timeout(config: &Config, usage: ClientUse) -> Option<Duration> {
    Some(config.timeouts.read).filter(|read| *read < config.timeouts.total && usage != ClientUse::Streams)
}

pub(super) fn build_proxy(address: &str) -> Result<Proxy> {
    Proxy::all(address).map_err(|error| {
        let error = error.without_url();
        Error::configuration(format!("proxy cannot be used: {}", error_chain(&error))).caused_by(error)
    })
}

/// Encodes a header value as UTF-8. Fails if it contains control characters; the error calls it `name`.
pub(super) fn header_value(text: &str, name: &str) -> Result<HeaderValue> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| Error::Argument(format!("{name} contains a control character, which a header cannot carry")))
}

/// The headers of `headers=`, which every request carries.
pub(super) fn further_headers(config: &Config) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for header in &config.headers {
        let Some(value) = &header.value else {
            return Err(Error::configuration(format!(
                "the header {:?} has no value: build the client where it is used",
                header.name
            )));
        };
        let mut value = header_value(value.expose(), "headers")?;
        value.set_sensitive(header.is_credential());
        headers.insert(HeaderName::try_from(&header.name).map_err(|error| Error::internal(error.to_string()))?, value);
    }
    Ok(headers)
}

/// The authorities in addition to the platform's. On Linux the verifier itself reads `SSL_CERT_FILE` and `SSL_CERT_DIR`
/// instead of the platform's store; on Windows and macOS they are added here.
pub(super) fn added_authorities(config: &Config) -> Result<Vec<Certificate>> {
    let mut authorities = Vec::new();
    if let Some(path) = &config.ca_bundle {
        read_authorities(Path::new(path), "ca_bundle (or REQUESTS_CA_BUNDLE)", &mut authorities)?;
    }
    if cfg!(any(windows, target_vendor = "apple")) {
        for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            let paths = std::env::var_os(variable).unwrap_or_default();
            for path in std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()) {
                read_authorities(&path, variable, &mut authorities)?;
            }
        }
    }
    Ok(authorities)
}

/// Reads the certificates of a PEM file, or of the files of a folder.
fn read_authorities(path: &Path, source: &str, into: &mut Vec<Certificate>) -> Result<()> {
    let invalid = |reason: String| Error::configuration(format!("{source} is {}: {reason}", path.display()));
    let unreadable = |error: io::Error| invalid(error.to_string()).caused_by(error);
    let read = |file: &Path| std::fs::read(file).map_err(unreadable);
    let before = into.len();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            if file.is_file() {
                // Such folders contain other files too.
                into.extend(Certificate::from_pem_bundle(&read(&file)?).unwrap_or_default());
            }
        }
    } else {
        let certificates = Certificate::from_pem_bundle(&read(path)?);
        into.extend(certificates.map_err(|error| {
            invalid(format!("the file is not valid PEM: {}", error_chain(&error))).caused_by(error)
        })?);
    }
    match into.len() > before {
        true => Ok(()),
        false => Err(invalid("it contains no certificate in PEM format".into())),
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::ClientOptions;
    use crate::error::LocalError;

    fn build(options: ClientOptions, base: &str) -> Result<HttpClient> {
        build_client(&options.resolve(&|_| None).unwrap(), &Url::parse(base).unwrap(), ClientUse::Calls)
    }

    #[test]
    fn an_invalid_ca_bundle_error_names_the_file() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for path in ["no-such-file.pem", manifest] {
            let options = ClientOptions { ca_bundle: Some(path.into()), ..ClientOptions::default() };
            let Err(Error::Configuration(LocalError { text, .. })) = build(options, "https://host") else {
                panic!("{path} was accepted")
            };
            assert!(text.contains(path) && text.contains("ca_bundle"), "{text}");
        }
    }

    #[test]
    fn plain_http_needs_no_certificate_authority() {
        let options = ClientOptions { ca_bundle: Some("no-such-file.pem".into()), ..ClientOptions::default() };
        assert!(build(options, "http://127.0.0.1:1").is_ok());
    }
}
