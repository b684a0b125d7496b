//! The HTTP client underneath: connections, certificate authorities, proxies.

use super::failure::{Failure, chain};
#[cfg(test)]
use super::simulated::{Limits, Simulated};
use crate::config::{Config, Route};
use crate::error::{Error, Result};
use reqwest::{Certificate, NoProxy, Proxy, Request, Response, header::HeaderValue, redirect};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use url::Url;

/// Below the 60 s after which common gateways close a silent connection.
const POOL_IDLE: Duration = Duration::from_secs(50);

/// What a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Answers that end, on connections that are kept.
    Calls,
    /// Answers that do not end: how long they may be silent is the stream's own matter, and nothing stays open behind them.
    Streams,
    /// One answer on a connection of its own, with the server's certificate.
    Probe,
}

/// The seam between the core and the network: every request goes through it, and every byte of a response comes out of the
/// [`Response`] that it gives.
#[derive(Debug, Clone)]
pub(super) enum Client {
    Network(reqwest::Client),
    #[cfg(test)]
    Simulated(Simulated),
}

impl Client {
    pub(super) async fn execute(&self, request: Request) -> std::result::Result<Response, Failure> {
        match self {
            Client::Network(client) => client.execute(request).await.map_err(Failure::of),
            #[cfg(test)]
            Client::Simulated(client) => client.execute(request).await,
        }
    }
}

/// A client for the requests to one base address.
pub(super) fn client(config: &Config, base: &Url, what: Use) -> Result<Client> {
    #[cfg(test)]
    {
        let read = (what != Use::Streams).then_some(config.timeouts.read);
        if let Some(client) = Simulated::new(Limits { connect: config.timeouts.connect, read }) {
            return Ok(Client::Simulated(client));
        }
    }
    // One crypto provider in the tree; an application that links this crate may have chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();

    // The signature covers `HTTP/1.1` as a word: over HTTP/2 a gateway computes another request line. Redirects and retries
    // are ours: each sends a new signature.
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(config.timeouts.connect)
        .user_agent(header(&config.user_agent, "user_agent")?);

    builder = match what {
        Use::Calls => builder.pool_idle_timeout(POOL_IDLE).read_timeout(config.timeouts.read),
        Use::Streams => builder.pool_max_idle_per_host(0),
        Use::Probe => builder.tls_info(true).pool_max_idle_per_host(0).read_timeout(config.timeouts.read),
    };
    let route = config.proxies.route(base)?;
    // Nothing to verify: a bare machine, without a single authority, can talk to a simulator.
    let unverified = route == Route::Direct && base.scheme() == "http";
    builder = match route {
        Route::Direct => builder.no_proxy(),
        Route::System => builder,
        Route::Through(address, except) => {
            builder.proxy(proxy(address.expose())?.no_proxy(NoProxy::from_string(&except)))
        }
    };
    builder = match unverified {
        true => builder.tls_certs_only([]),
        false => builder.tls_certs_merge(added_authorities(config)?),
    };
    builder.build().map(Client::Network).map_err(|error| {
        Error::Configuration(format!(
            "no HTTP client could be made: {}. Where the system has no certificate authorities, install them \
             (ca-certificates) or give ca_bundle=; SSL_CERT_FILE and SSL_CERT_DIR take their place",
            chain(&error.without_url())
        ))
    })
}

fn proxy(address: &str) -> Result<Proxy> {
    Proxy::all(address)
        .map_err(|error| Error::Configuration(format!("proxy cannot be used: {}", chain(&error.without_url()))))
}

/// Whether the proxy of a base address can be used.
pub(super) fn check_proxy(config: &Config, base: &Url) -> Result<()> {
    match config.proxies.route(base)? {
        Route::Through(address, _) => proxy(address.expose()).map(drop),
        Route::Direct | Route::System => Ok(()),
    }
}

/// A header's value: any text without control characters, as UTF-8.
pub(super) fn header(text: &str, what: &str) -> Result<HeaderValue> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| Error::Argument(format!("{what} holds a character that no header can")))
}

/// Whether the added authorities can be read. Who makes many clients has them read once, as long as their file stays as it is.
pub(super) fn check_authorities(config: &Config) -> Result<()> {
    static SOUND: Mutex<Option<(PathBuf, SystemTime, u64)>> = Mutex::new(None);
    // Elsewhere files that the environment names are read too.
    let alone = config.ca_bundle.as_ref().filter(|_| cfg!(not(any(windows, target_vendor = "apple"))));
    let file = alone.map(PathBuf::from).and_then(|path| {
        // Opened: it may be there and not for us to read.
        let about = File::open(&path).and_then(|file| file.metadata()).ok().filter(Metadata::is_file)?;
        Some((path, about.modified().ok()?, about.len()))
    });
    // A lock that was held at a fork never opens.
    if file.is_some() && SOUND.try_lock().is_ok_and(|sound| *sound == file) {
        return Ok(());
    }
    added_authorities(config)?;
    if let Ok(mut sound) = SOUND.try_lock() {
        *sound = file;
    }
    Ok(())
}

/// Authorities beside the platform's. Where the platform's store is a file, its verifier reads `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` itself, in that file's place as OpenSSL does; elsewhere they are added here.
pub(super) fn added_authorities(config: &Config) -> Result<Vec<Certificate>> {
    let mut added = Vec::new();
    if let Some(path) = &config.ca_bundle {
        read_authorities(Path::new(path), "ca_bundle (or REQUESTS_CA_BUNDLE)", &mut added)?;
    }
    if cfg!(any(windows, target_vendor = "apple")) {
        for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            let paths = std::env::var_os(variable).unwrap_or_default();
            for path in std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()) {
                read_authorities(&path, variable, &mut added)?;
            }
        }
    }
    Ok(added)
}

/// The certificates of a PEM file, or of the files of a folder.
fn read_authorities(path: &Path, source: &str, into: &mut Vec<Certificate>) -> Result<()> {
    let wrong = |why: String| Error::Configuration(format!("{source} is {}: {why}", path.display()));
    let read = |file: &Path| std::fs::read(file).map_err(|error| wrong(error.to_string()));
    let before = into.len();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|error| wrong(error.to_string()))? {
            let file = entry.map_err(|error| wrong(error.to_string()))?.path();
            if file.is_file() {
                // Such folders hold revocation lists and notes too.
                into.extend(Certificate::from_pem_bundle(&read(&file)?).unwrap_or_default());
            }
        }
    } else {
        let certificates = Certificate::from_pem_bundle(&read(path)?);
        into.extend(certificates.map_err(|error| wrong(format!("not PEM: {}", chain(&error))))?);
    }
    match into.len() > before {
        true => Ok(()),
        false => Err(wrong("it holds no certificate in PEM form".into())),
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::ClientOptions;

    fn build(options: ClientOptions, base: &str) -> Result<Client> {
        client(&options.resolve(&|_| None).unwrap(), &Url::parse(base).unwrap(), Use::Calls)
    }

    #[test]
    fn a_bundle_that_is_missing_or_holds_no_certificate_is_named() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for path in ["no-such-file.pem", manifest] {
            let options = ClientOptions { ca_bundle: Some(path.into()), ..ClientOptions::default() };
            let Err(Error::Configuration(text)) = build(options, "https://host") else { panic!("{path} was taken") };
            assert!(text.contains(path) && text.contains("ca_bundle"), "{text}");
        }
    }

    #[test]
    fn a_simulator_on_loopback_needs_no_certificate_authority() {
        let options = ClientOptions { ca_bundle: Some("no-such-file.pem".into()), ..ClientOptions::default() };
        assert!(build(options, "http://127.0.0.1:1").is_ok());
    }
}
