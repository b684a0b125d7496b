//! Finds out how far a connection to the REST API gets: one request without a credential, over a connection of its own.

use super::attempt_error::{AttemptError, Stage};
use super::authentication::Credential;
use super::http::{self, ClientUse};
use super::{Transport, attempt, authentication, clock};
use crate::advice::Advice;
use crate::config::Route;
use crate::error::{Error, RequestErrorKind, Result};
use crate::machine;
use crate::operation::Auth;
use crate::signer;
use reqwest::tls::TlsInfo;
use reqwest::{Method, Request};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

const PROBE_PATH: &str = "/v1/data/teams";

/// The time to check whether a port is open, after the connect timeout has already expired.
const PORT_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// The addresses of the host, unless a proxy resolves it.
    pub addresses: Vec<String>,
    /// The server, or the proxy.
    pub peer: Option<SocketAddr>,
    pub status: Option<u16>,
    /// How far the server's clock is ahead of this machine's.
    pub clock_offset_ms: Option<i64>,
    /// The server's verified certificate, as DER.
    pub certificate: Option<Vec<u8>>,
    pub failure: Option<ProbeFailure>,
}

/// The stage that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFailure {
    pub stage: Stage,
    pub text: String,
    pub advice: Advice,
}

impl Transport {
    /// Fails if the settings are wrong. Network failures are part of the result.
    pub async fn probe(&self, total: Option<Duration>) -> Result<Probe> {
        tokio::select! {
            biased;
            () = self.closed() => Err(Error::Closed),
            probe = self.run_probe(total) => probe,
        }
    }

    async fn run_probe(&self, total: Option<Duration>) -> Result<Probe> {
        let config = &self.shared.config;
        let url = probe_url(&config.base_url)?;
        let is_direct = config.proxies.describe(&url)?.is_none();
        let client = http::build_client(config, &url, ClientUse::Probe)?;
        let mut probe = Probe::default();
        let addresses = if is_direct { resolve(&url).await } else { Vec::new() };
        probe.addresses = addresses.iter().map(|address| address.ip().to_string()).collect();
        probe.addresses.dedup();

        let sent_at = machine::now();
        let total = total.unwrap_or(config.timeouts.total);
        let result = timeout(total, client.execute(Request::new(Method::GET, url.clone()))).await;
        let error = match result {
            Ok(Ok(response)) => {
                probe.status = Some(response.status().as_u16());
                probe.peer = response.remote_addr();
                let certificate = response.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
                probe.certificate = certificate.map(<[u8]>::to_vec);
                probe.clock_offset_ms = attempt::measure_offset(&response, sent_at);
                probe.failure = (probe.status == Some(407)).then(|| ProbeFailure {
                    stage: Stage::Proxy,
                    text: "the proxy requires authentication (status 407)".into(),
                    advice: Advice::GiveProxyCredentials,
                });
                return Ok(probe);
            }
            Ok(Err(error)) => error,
            Err(_) => AttemptError::total_timeout(config.timeouts.total.as_secs_f64(), None),
        };
        let mut stage = error.stage;
        // The connect timeout covers TCP and TLS. If the port is open, TLS failed.
        if stage == Stage::Connect && is_direct && url.scheme() == "https" && error.class == RequestErrorKind::Timeout {
            let is_open = async { TcpStream::connect(addresses.as_slice()).await.is_ok() };
            if timeout(config.timeouts.connect.min(PORT_CHECK_TIMEOUT), is_open).await.unwrap_or(false) {
                stage = Stage::Tls;
            }
        }
        let text = error.message(&self.shared.scrubber).into();
        probe.failure = Some(ProbeFailure { stage, text, advice: error.advice });
        Ok(probe)
    }

    /// The proxy of the requests to the REST API, and the setting that it comes from.
    pub fn proxy(&self) -> Result<Option<(String, &'static str)>> {
        let config = &self.shared.config;
        let url = probe_url(&config.base_url)?;
        if let Route::Through(address, _) = config.proxies.route(&url)? {
            http::build_proxy(address.expose())?;
        }
        config.proxies.describe(&url)
    }

    /// Fails if a credential for this kind of requests is missing.
    pub fn check_credentials(&self, auth: Auth) -> Result<()> {
        Credential::of(auth, &self.shared.config).map(drop)
    }

    /// The string to sign of a request for the teams at this moment.
    pub fn string_to_sign(&self) -> Result<String> {
        let url = probe_url(&self.shared.config.base_url)?;
        let date = clock::date_header(machine::now(), self.shared.clock_offset_ms.load(Ordering::Relaxed));
        Ok(signer::string_to_sign(&date, &authentication::host_header(&url), "GET", url.path()))
    }
}

fn probe_url(base: &str) -> Result<Url> {
    Url::parse(&format!("{base}{PROBE_PATH}"))
        .map_err(|error| Error::configuration(format!("base_url: {error}")).caused_by(error))
}

/// Resolves the host with the system's resolver, as the HTTP client does. Empty on failure, which the client reports.
async fn resolve(url: &Url) -> Vec<SocketAddr> {
    let address = url.host_str().zip(url.port_or_known_default()).map(|(host, port)| format!("{host}:{port}"));
    lookup_host(address.unwrap_or_default()).await.map_or_else(|_| Vec::new(), Iterator::collect)
}
