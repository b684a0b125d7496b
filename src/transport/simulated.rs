//! The other side of the seam, for tests: a simulated network in the place of sockets, for one thread.

use super::failure::Failure;
use reqwest::{Request, Response};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Sends a request and gives the head of its response; the body follows as the response is read.
pub(crate) trait Network: Send + Sync {
    fn execute(&self, request: Request, limits: Limits) -> Exchange;
}

pub(crate) type Exchange = Pin<Box<dyn Future<Output = Result<Response, Trouble>> + Send>>;

/// The timeouts of the HTTP client in whose place the network stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connect: Duration,
    /// Streams have none.
    pub(crate) read: Option<Duration>,
}

/// Why there is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Refused,
    ConnectTimeout,
    ReadTimeout,
    Broken,
}

#[derive(Clone)]
pub(super) struct Simulated {
    network: Arc<dyn Network>,
    limits: Limits,
}

impl std::fmt::Debug for Simulated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulated").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Simulated {
    /// A client of this thread's network, if it has one.
    pub(super) fn new(limits: Limits) -> Option<Self> {
        NETWORK.with_borrow(|network| network.clone()).map(|network| Simulated { network, limits })
    }

    pub(super) async fn execute(&self, request: Request) -> Result<Response, Failure> {
        self.network.execute(request, self.limits).await.map_err(Failure::simulated)
    }
}

thread_local! {
    static NETWORK: RefCell<Option<Arc<dyn Network>>> = const { RefCell::new(None) };
}

/// This thread's network until it is dropped.
#[derive(Debug)]
pub(crate) struct Installed(());

pub(crate) fn install(network: Arc<dyn Network>) -> Installed {
    NETWORK.set(Some(network));
    Installed(())
}

impl Drop for Installed {
    fn drop(&mut self) {
        NETWORK.set(None);
    }
}
