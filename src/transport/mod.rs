//! Requests over HTTP: signed inside the retry loop, within a budget.
//!
//! | file | what lives there |
//! |---|---|
//! | `send` | one request until it is answered or given up: the only loop |
//! | `open` | answers that do not end: streams |
//! | `target` | where a request goes, its signature or key |
//! | `http` | the HTTP client underneath, which is the seam to the network: connections, authorities, proxies |
//! | `probe`, `certificate` | how far a connection gets, for the doctor |
//! | `retry` | whether and when to send again: pure |
//! | `inflate` | gzip |
//! | `respond` | what an answer means: pure |
//! | `redirect` | which redirects are followed: pure |
//! | `failure` | attempts without an answer, told in one line |
//! | `outage` | when all that is asked fails in the same way |
//! | `clock` | the server's clock, learned from `Date` |
//! | `budget` | concurrency limit, and who waits |
//! | `rate` | the rate limiter: pure |
//! | `memory` | bytes of bodies at once, and who waits for room |
//! | `retry_log` | warnings of retries, merged |

mod budget;
pub mod certificate;
mod clock;
mod failure;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod http;
mod inflate;
mod memory;
mod open;
mod outage;
mod probe;
mod rate;
mod redirect;
mod respond;
mod retry;
mod retry_log;
mod send;
#[cfg(test)]
pub(crate) mod simulated;
mod target;

pub(crate) use open::Unopened;
pub use outage::{Attempts, Outage};
pub use probe::{Probe, Stage, Stopped};
pub(crate) use send::no_answer;

use crate::config::{Config, Timeouts};
use crate::error::{ApiError, Error, Result};
use crate::json::Body;
use crate::operation::{Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use target::Target;
use tokio::sync::SetOnce;
use url::Url;

/// A body beyond this is refused, compressed or not: nothing the service sends comes near it.
const BODY_LIMIT: usize = 256 * 1024 * 1024;

/// A response of status 200.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, Scrubbed)>,
    pub body: Arc<Body>,
    pub url: Scrubbed,
    pub request_id: Option<Scrubbed>,
    /// For what is said of the body later.
    pub scrubber: Scrubber,
    /// From the first attempt's start to the body's last byte.
    pub elapsed: Duration,
    pub fetched_at: SystemTime,
    pub attempts: u32,
    /// Why the body is no data although the status is 200: it is an error document, or not JSON.
    pub refusal: Option<Box<Error>>,
    /// The body's bytes among those of the client, until they are their caller's.
    pub(crate) lease: Option<Arc<memory::Lease>>,
}

impl Response {
    /// The body is its caller's from here on.
    pub(crate) fn release(&self) {
        if let Some(lease) = &self.lease {
            lease.release();
        }
    }
}

/// Sends requests. Cheap to clone; clones share connections, budget and server clock.
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    call: Option<Arc<CallLimits>>,
}

/// How long one call may take; what is not named is the client's.
#[derive(Debug, Clone, Copy)]
pub struct CallTimeout {
    pub connect: Option<Duration>,
    pub read: Option<Duration>,
    pub total: Duration,
}

/// The limits of one call, with connections of its own where the client's have others.
struct CallLimits {
    total: Duration,
    max_retries: u32,
    own: Option<(Config, [Mutex<Option<http::Client>>; 2])>,
}

impl CallLimits {
    fn client(&self, shared: &Shared, auth: Auth, url: &Url) -> Result<http::Client> {
        let Some((config, [rest, broadcast])) = &self.own else { return shared.client(auth, url) };
        let slot = if auth == Auth::Signed { rest } else { broadcast };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*slot {
            return Ok(client.clone());
        }
        let client = http::client(config, url, http::Use::Calls)?;
        Ok(slot.insert(client).clone())
    }
}

struct Shared {
    config: Config,
    scrubber: Scrubber,
    /// Made at the first request: until then a transport costs nothing, and a fork inherits nothing.
    rest: Mutex<Option<http::Client>>,
    broadcast: Mutex<Option<http::Client>>,
    /// For streams: of the Broadcast API, and the websocket.
    streams: [Mutex<Option<http::Client>>; 2],
    budget: budget::Budget,
    memory: Arc<memory::Memory>,
    retry_log: retry_log::RetryLog,
    clock: clock::ServerClock,
    /// No `watch`: that wakes its receivers in random order, which no simulation can replay.
    closed: SetOnce<()>,
    /// Whether the service has responded to anything.
    reached: AtomicBool,
    body_limit: usize,
}

impl Shared {
    /// The HTTP client of a base address: whether authorities and proxies matter depends on it.
    fn client(&self, auth: Auth, url: &Url) -> Result<http::Client> {
        let mut slot = self.slot(auth).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*slot {
            return Ok(client.clone());
        }
        let client = http::client(&self.config, url, http::Use::Calls).map_err(|e| e.scrubbed(&self.scrubber))?;
        Ok(slot.insert(client).clone())
    }

    fn slot(&self, auth: Auth) -> &Mutex<Option<http::Client>> {
        match auth {
            Auth::Signed => &self.rest,
            Auth::ApiKey => &self.broadcast,
        }
    }
}

impl Transport {
    /// Connects to nothing, starts nothing, needs no runtime. A bundle of authorities that cannot be read is an error now.
    pub fn new(config: Config) -> Result<Self> {
        http::check_authorities(&config)?;
        let body_limit = config.max_response_bytes.min(BODY_LIMIT);
        Ok(Self::with_body_limit(config, body_limit))
    }

    /// For tests, which cannot send 256 MiB.
    #[doc(hidden)]
    pub fn with_body_limit(config: Config, body_limit: usize) -> Self {
        let budget = budget::Budget::new(config.max_concurrency, config.requests_per_second);
        let memory = memory::Memory::new(config.max_response_bytes);
        let shared = Shared {
            scrubber: Scrubber::new(&config.secrets()),
            config,
            rest: Mutex::default(),
            broadcast: Mutex::default(),
            streams: Default::default(),
            budget,
            memory,
            retry_log: retry_log::RetryLog::default(),
            clock: clock::ServerClock::default(),
            closed: SetOnce::new(),
            reached: AtomicBool::new(false),
            body_limit,
        };
        Transport { shared: Arc::new(shared), call: None }
    }

    /// The same for a call that may take another time.
    pub fn with_timeout(&self, timeout: Option<CallTimeout>) -> Self {
        let Some(CallTimeout { connect, read, total }) = timeout else { return self.clone() };
        let config = &self.shared.config;
        let limits = Timeouts {
            connect: connect.unwrap_or(config.timeouts.connect),
            read: read.unwrap_or(config.timeouts.read),
            total,
        };
        // A limit beyond the total never ends anything.
        let same = |one: Duration, other: Duration| one.min(total) == other.min(total);
        let is_shared = same(limits.connect, config.timeouts.connect) && same(limits.read, config.timeouts.read);
        let own = (!is_shared).then(|| (Config { timeouts: limits, ..config.clone() }, Default::default()));
        let max_retries = config.max_retries;
        Transport { shared: self.shared.clone(), call: Some(Arc::new(CallLimits { total, max_retries, own })) }
    }

    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// For all text that a peer or a library writes.
    pub fn scrubber(&self) -> &Scrubber {
        &self.shared.scrubber
    }

    /// Sends a request until it is answered or given up. Dropping the future cancels the request.
    pub async fn send(&self, request: &Request) -> Result<Response> {
        self.send_counted(request, &Attempts::default()).await
    }

    /// As [`Transport::send`], for a live stream: ahead of all calls that wait for their turn. An attempt that is not answered
    /// within the limit ends it; the wait for a turn is no silence of the service.
    pub(crate) async fn send_live(&self, request: &Request, silence_limit: Duration) -> Result<Response> {
        self.until_closed(send::send(&self.shared, request, &Attempts::default(), Some(silence_limit), None)).await
    }

    /// As [`Transport::send_live`], with one attempt for the whole time.
    pub(crate) async fn send_once(&self, request: &Request, limit: Duration) -> Result<Response> {
        let call = CallLimits { total: limit, max_retries: 0, own: None };
        let attempts = Attempts::default();
        self.until_closed(send::send(&self.shared, request, &attempts, Some(limit), Some(&call))).await
    }

    /// As [`Transport::send`]; `attempts` counts them, also where the request is given up.
    pub async fn send_counted(&self, request: &Request, attempts: &Attempts<'_>) -> Result<Response> {
        self.until_closed(send::send(&self.shared, request, attempts, None, self.call.as_deref())).await
    }

    /// The most bytes of responses that were in memory at once, as `max_response_bytes` counts them.
    pub fn peak_response_bytes(&self) -> usize {
        self.shared.memory.peak()
    }

    /// Fails where no request of this kind could be sent, whatever it is: a credential is missing, or no HTTP client can be
    /// made.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        let target = Target::new(request, &self.shared.config).map_err(|error| error.scrubbed(self.scrubber()))?;
        self.shared.client(request.auth, target.url()).map(drop)
    }

    /// Whether the service has responded to any request of this client.
    pub fn is_reached(&self) -> bool {
        self.shared.reached.load(Ordering::Relaxed)
    }

    pub fn is_closed(&self) -> bool {
        self.shared.closed.initialized()
    }

    /// What a request would meet that is not sent, because another was refused for the credentials that both have.
    pub(crate) fn as_refused(&self, request: &Request, refusal: &ApiError) -> Error {
        let shared = &*self.shared;
        let refused = |target: Target| {
            let (url, refusal) = (target.shown(&shared.scrubber), refusal.clone());
            Error::Api(Box::new(ApiError { url, request_id: None, attempts: 0, elapsed: Duration::ZERO, ..refusal }))
        };
        Target::new(request, &shared.config).map_or_else(|error| error, refused)
    }

    async fn until_closed(&self, sent: impl Future<Output = Result<Response>>) -> Result<Response> {
        tokio::select! {
            biased;
            () = self.closed() => Err(Error::Closed),
            result = sent => result,
        }
    }

    /// No request is sent any more; those in flight end with [`crate::error::Error::Closed`], and idle connections close.
    pub fn close(&self) {
        // An error means that it is closed already.
        let _ = self.shared.closed.set(());
        for auth in [Auth::Signed, Auth::ApiKey] {
            self.shared.slot(auth).lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        for slot in &self.shared.streams {
            slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

/// The HTTP client's own text is left out: it may hold a proxy's password.
impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("config", &self.shared.config).finish_non_exhaustive()
    }
}
