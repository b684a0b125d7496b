//! How far a connection to the REST API gets: asked without a credential, once, over a connection of its own, by the HTTP
//! client that all calls use, so that both meet the same trouble.

use super::failure::Failure;
use super::http::{self, Use};
use super::{Transport, clock, send, target};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::machine;
use crate::operation::Auth;
use crate::signer;
use reqwest::tls::TlsInfo;
use reqwest::{Method, Request};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::{Host, Url};

pub use super::failure::Stage;

/// What is asked for: the cheapest signed path.
const PATH: &str = "/v1/data/teams";

/// A port that answers at all does so at once: the connect timeout has passed already.
const OPENS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// What the host's name stands for, where it is asked directly.
    pub addresses: Vec<String>,
    /// Who answered: the server, or the proxy.
    pub peer: Option<SocketAddr>,
    pub status: Option<u16>,
    /// How far the server's clock is ahead of this machine's, in milliseconds.
    pub ahead: Option<i64>,
    /// The server's, which was verified; DER.
    pub certificate: Option<Vec<u8>>,
    pub stopped: Option<Stopped>,
}

/// Where it stopped, why, and what a user can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub stage: Stage,
    pub text: String,
    pub advice: Advice,
}

impl Transport {
    /// An error is one of the settings; what the network does is in the probe.
    pub async fn probe(&self) -> Result<Probe> {
        tokio::select! {
            biased;
            () = self.closed() => Err(Error::Closed),
            probe = self.look() => probe,
        }
    }

    async fn look(&self) -> Result<Probe> {
        let config = &self.shared.config;
        let url = address(&config.base_url)?;
        let direct = config.proxies.describe(&url)?.is_none();
        let client = http::client(config, &url, Use::Probe)?;
        let mut probe = Probe::default();
        let resolved = if direct { resolve(&url).await } else { Vec::new() };
        probe.addresses = resolved.iter().map(|address| address.ip().to_string()).collect();
        probe.addresses.dedup();

        let sent = machine::now();
        let asked = timeout(config.timeouts.total, client.execute(Request::new(Method::GET, url.clone()))).await;
        let failure = match asked {
            Ok(Ok(response)) => {
                probe.status = Some(response.status().as_u16());
                probe.peer = response.remote_addr();
                let certificate = response.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
                probe.certificate = certificate.map(<[u8]>::to_vec);
                probe.ahead = send::measure(&response, sent);
                if probe.status == Some(407) {
                    let text = "the proxy refused (status 407)".into();
                    probe.stopped = Some(Stopped { stage: Stage::Proxy, text, advice: Advice::GiveProxyCredentials });
                }
                return Ok(probe);
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::out_of_time(config.timeouts.total.as_secs_f64(), None),
        };
        let mut stage = failure.stage;
        // One timeout covers both: whether the port answers tells which of the two it was.
        if stage == Stage::Connection && direct && url.scheme() == "https" && failure.is_timeout() {
            let opened = async { TcpStream::connect(resolved.as_slice()).await.is_ok() };
            if timeout(config.timeouts.connect.min(OPENS_WITHIN), opened).await.unwrap_or(false) {
                stage = Stage::Tls;
            }
        }
        let text = failure.story(&self.shared.scrubber).into();
        probe.stopped = Some(Stopped { stage, text, advice: failure.advice });
        Ok(probe)
    }

    /// The proxy of the requests to the REST API, and what names it.
    pub fn proxy(&self) -> Result<Option<(String, &'static str)>> {
        let config = &self.shared.config;
        let url = address(&config.base_url)?;
        http::check_proxy(config, &url)?;
        config.proxies.describe(&url)
    }

    /// Refuses as every such request would, where a credential is missing.
    pub fn check_credentials(&self, auth: Auth) -> Result<()> {
        match auth {
            Auth::Signed => target::pair(&self.shared.config).map(drop),
            Auth::ApiKey => target::key(&self.shared.config).map(drop),
        }
    }

    /// What a request for the teams would be signed over now.
    pub fn string_to_sign(&self) -> Result<String> {
        let url = address(&self.shared.config.base_url)?;
        let date = clock::date_header(machine::now(), self.shared.clock.ahead());
        Ok(signer::string_to_sign(&date, &target::host(&url), "GET", url.path()))
    }
}

fn address(base: &str) -> Result<Url> {
    Url::parse(&format!("{base}{PATH}")).map_err(|error| Error::Configuration(format!("base_url: {error}")))
}

/// As the HTTP client asks: by the system. Nothing where the name is not known: the client's own error tells it.
async fn resolve(url: &Url) -> Vec<SocketAddr> {
    let port = url.port_or_known_default().unwrap_or(443);
    match url.host() {
        Some(Host::Domain(name)) => lookup_host((name, port)).await.map_or_else(|_| Vec::new(), Iterator::collect),
        Some(Host::Ipv4(ip)) => vec![(ip, port).into()],
        Some(Host::Ipv6(ip)) => vec![(ip, port).into()],
        None => Vec::new(),
    }
}
