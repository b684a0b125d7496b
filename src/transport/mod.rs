//! Sends requests over HTTP: each attempt is signed, and all share the client's limits.
//!
//! | file | content |
//! |---|---|
//! | `send` | sends one request, with retries |
//! | `attempt` | one attempt: redirects, the body |
//! | `open` | opens streams |
//! | `authentication` | URL and credential of a request |
//! | `http` | the HTTP client: connections, certificate authorities, proxies |
//! | `probe`, `certificate` | how far a connection gets, for the doctor |
//! | `retry` | whether and when to retry: pure |
//! | `inflate` | gzip |
//! | `response` | errors from responses: pure |
//! | `redirect` | which redirects are followed: pure |
//! | `attempt_error` | attempts without a response |
//! | `outage` | detects that all requests of a batch fail in the same way |
//! | `clock` | the offset of the service's clock |
//! | `limiter` | concurrency limit and queues |
//! | `rate` | the rate limiter: pure |
//! | `memory` | limits the bytes of responses in memory |
//! | `retry_log` | limits the warnings about retries |
//! | `trace` | reports calls, attempts and connections to a tracing system |

mod attempt;
mod attempt_error;
mod authentication;
pub mod certificate;
mod clock;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod http;
mod inflate;
mod limiter;
mod memory;
mod open;
mod outage;
mod probe;
mod rate;
mod redirect;
mod response;
mod retry;
mod retry_log;
mod send;
#[cfg(test)]
pub(crate) mod simulated;
mod trace;

pub use attempt_error::Stage;
pub use memory::Lease;
pub(crate) use open::StreamOpenError;
pub(crate) use outage::{Attempts, Outage};
pub use probe::{Probe, ProbeFailure};
pub(crate) use send::{Purpose, no_response};
pub(crate) use trace::Trace;
pub use trace::{AttemptStart, Span};

use crate::config::{Config, Timeouts};
use crate::error::{ApiError, Error, Result};
use crate::operation::{Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use authentication::AuthenticatedRequest;
use http::ClientSlot;
use reader::Body;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::SetOnce;
use url::Url;

/// A larger body is refused, compressed or not. The service sends nothing near this size.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// A response of status 200.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, Scrubbed)>,
    pub body: Arc<Body>,
    pub url: Scrubbed,
    pub request_id: Option<Scrubbed>,
    /// For errors about the body.
    pub scrubber: Scrubber,
    /// From the start of the first attempt to the last byte of the body.
    pub elapsed: Duration,
    pub fetched_at: SystemTime,
    pub attempts: u32,
    /// Why the body is not data although the status is 200: it is an error document, or not JSON.
    pub refusal: Option<Box<Error>>,
    /// Why a redirect was not followed.
    pub redirect_refusal: Option<Scrubbed>,
    /// Counts the body towards `max_response_bytes` until it is released.
    pub lease: Option<Arc<Lease>>,
    /// The most bytes that a table or a dict of the body may take: the client's `max_memory`.
    pub max_memory: Option<usize>,
}

impl Response {
    /// Keeps the body of a batch, or of a call of several requests, in the lease until it is released.
    pub(crate) fn keep(&self) {
        self.lease.iter().for_each(|lease| lease.keep());
    }

    /// Ends the lease: the body now belongs to the caller.
    pub(crate) fn release(&self) {
        self.lease.iter().for_each(|lease| lease.release());
    }
}

/// Sends requests. Cheap to clone; clones share connections, limits and the clock offset.
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    call: Option<Arc<CallLimits>>,
    pub(crate) trace: Trace,
}

/// The timeouts of one call, as the user gives them. `None`: as in the client.
#[derive(Debug, Clone, Copy)]
pub struct CallTimeout {
    pub connect: Option<Duration>,
    pub read: Option<Duration>,
    pub total: Duration,
}

/// What a call does differently from the client. With other timeouts for connections it needs HTTP clients of its own.
struct CallLimits {
    total: Duration,
    own_clients: Option<(Config, [ClientSlot; Auth::ALL.len()])>,
}

struct Shared {
    config: Config,
    scrubber: Scrubber,
    calls: [ClientSlot; Auth::ALL.len()],
    event_streams: ClientSlot,
    websockets: ClientSlot,
    limiter: limiter::RequestLimiter,
    memory: Arc<memory::ResponseMemory>,
    retry_log: Mutex<retry_log::RetryLog>,
    /// How many milliseconds the service's clock is ahead of this machine's. 0 until it is learned.
    clock_offset_ms: AtomicI64,
    /// No `watch`: that wakes its receivers in random order, which no simulation can replay.
    closed: SetOnce<()>,
    /// Whether the service has responded to anything.
    is_reached: AtomicBool,
    body_limit: usize,
}

impl Shared {
    /// The HTTP client of an API, for a call with its own timeouts or for all others.
    fn client(&self, auth: Auth, url: &Url, limits: Option<&CallLimits>) -> Result<http::HttpClient> {
        let own_clients = limits.and_then(|limits| limits.own_clients.as_ref());
        let (config, clients) = own_clients.map_or((&self.config, &self.calls), |(config, clients)| (config, clients));
        let client = clients[auth as usize].client(config, url, http::ClientUse::Calls);
        client.map_err(|error| error.scrub(&self.scrubber))
    }
}

impl Transport {
    /// Does not connect and needs no runtime. Fails if a CA bundle cannot be read.
    pub fn new(config: Config) -> Result<Self> {
        http::added_authorities(&config).map_err(|error| error.scrub(&config.scrubber()))?;
        let body_limit = config.max_response_bytes.min(MAX_BODY_BYTES);
        Ok(Self::with_body_limit(config, body_limit))
    }

    /// For tests, which cannot send 256 MiB.
    #[doc(hidden)]
    pub fn with_body_limit(config: Config, body_limit: usize) -> Self {
        let limiter = limiter::RequestLimiter::new(config.max_concurrency, config.requests_per_second);
        let memory = memory::ResponseMemory::new(config.max_response_bytes);
        let shared = Shared {
            scrubber: config.scrubber(),
            config,
            calls: Default::default(),
            event_streams: ClientSlot::default(),
            websockets: ClientSlot::default(),
            limiter,
            memory,
            retry_log: Mutex::default(),
            clock_offset_ms: AtomicI64::new(0),
            closed: SetOnce::new(),
            is_reached: AtomicBool::new(false),
            body_limit,
        };
        Transport { shared: Arc::new(shared), call: None, trace: Trace::default() }
    }

    /// Returns a transport for one call with other timeouts.
    pub fn with_timeout(&self, timeout: Option<CallTimeout>) -> Self {
        let Some(CallTimeout { connect, read, total }) = timeout else { return self.clone() };
        let config = &self.shared.config;
        let limits = Timeouts {
            connect: connect.unwrap_or(config.timeouts.connect),
            read: read.unwrap_or(config.timeouts.read),
            total,
        };
        // A timeout beyond the total never expires.
        let is_same = |first: Duration, second: Duration| first.min(total) == second.min(total);
        let is_shared = is_same(limits.connect, config.timeouts.connect) && is_same(limits.read, config.timeouts.read);
        let own_clients = (!is_shared).then(|| (Config { timeouts: limits, ..config.clone() }, Default::default()));
        Transport { call: Some(Arc::new(CallLimits { total, own_clients })), ..self.clone() }
    }

    /// Returns a transport whose calls and connections are reported within a span.
    pub fn with_span(self, span: Option<Arc<dyn Span>>) -> Self {
        Transport { trace: Trace::new(span), ..self }
    }

    /// Returns a transport whose requests are reported as parts of one operation.
    pub(crate) fn for_operation(&self, name: &'static str) -> Self {
        Transport { trace: self.trace.operation(name), ..self.clone() }
    }

    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// For all text from a peer or a library.
    pub fn scrubber(&self) -> &Scrubber {
        &self.shared.scrubber
    }

    /// Sends a request, with retries. Dropping the future cancels it.
    pub async fn send(&self, request: &Request) -> Result<Response> {
        self.send_for(request, Purpose::Call(&Attempts::default())).await
    }

    pub(crate) async fn send_for(&self, request: &Request, purpose: Purpose<'_>) -> Result<Response> {
        let call = self.call.as_deref();
        tokio::select! {
            biased;
            () = self.closed() => Err(Error::Closed),
            result = send::send(&self.shared, request, purpose, call, &self.trace) => result,
        }
    }

    /// Fails if no request of this kind can be sent: a credential is missing, or the HTTP client cannot be built.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        let authenticated_request =
            AuthenticatedRequest::new(request, &self.shared.config).map_err(|error| error.scrub(self.scrubber()))?;
        self.shared.client(request.auth, &authenticated_request.url, None).map(drop)
    }

    /// Whether the service has responded to any request of this client.
    pub(crate) fn is_reached(&self) -> bool {
        self.shared.is_reached.load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.initialized()
    }

    /// The error of a request that is not sent, because the service has refused the same credentials with `refusal`.
    pub(crate) fn unsent_error(&self, request: &Request, refusal: &ApiError) -> Error {
        let shared = &*self.shared;
        let api_error = |request: AuthenticatedRequest| {
            let (url, refusal) = (shared.scrubber.url(&request.url), refusal.clone());
            Error::Api(Box::new(ApiError { url, request_id: None, attempts: 0, elapsed: Duration::ZERO, ..refusal }))
        };
        AuthenticatedRequest::new(request, &shared.config).map_or_else(|error| error, api_error)
    }

    /// Fails all requests from now on, including those in flight, with [`Error::Closed`]. Idle connections are closed.
    pub fn close(&self) {
        // An error means that it is closed already.
        let _ = self.shared.closed.set(());
        let streams = [&self.shared.event_streams, &self.shared.websockets];
        self.shared.calls.iter().chain(streams).for_each(ClientSlot::close);
    }
}

/// Omits the HTTP client, whose text may contain a proxy's password.
impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport")
            .field("config", &self.shared.config)
            .field("response_bytes", &self.shared.memory.used())
            .finish_non_exhaustive()
    }
}
