//! A simulated network that replaces the HTTP client of one thread, for tests.

use super::attempt_error::{AttemptError, Stage};
use super::retry::FailureKind;
use crate::advice::Advice;
use crate::error::RequestErrorKind;
use crate::machine::simulated::Installed;
use futures_util::future::BoxFuture;
use reqwest::{Request, Response};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Sends a request and returns the head of its response; the body follows as the response is read.
pub(crate) trait Network: Send + Sync {
    fn execute(&self, request: Request, limits: Limits) -> Exchange;
}

pub(crate) type Exchange = BoxFuture<'static, Result<Response, NetworkFault>>;

/// The timeouts of the replaced HTTP client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connect: Duration,
    /// `None` for streams.
    pub(crate) read: Option<Duration>,
}

/// A network fault that prevents a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkFault {
    Refused,
    ConnectTimeout,
    ReadTimeout,
    ConnectionLost,
}

#[derive(Clone)]
pub(super) struct SimulatedClient {
    network: Arc<dyn Network>,
    limits: Limits,
}

impl SimulatedClient {
    /// Returns a client of this thread's network, if one is installed.
    pub(super) fn new(limits: Limits) -> Option<Self> {
        NETWORK.with_borrow(|network| network.clone()).map(|network| SimulatedClient { network, limits })
    }

    pub(super) async fn execute(&self, request: Request) -> Result<Response, AttemptError> {
        self.network.execute(request, self.limits).await.map_err(failed)
    }
}

fn failed(fault: NetworkFault) -> AttemptError {
    let (kind, class, stage) = match fault {
        NetworkFault::Refused => (FailureKind::NotConnected, RequestErrorKind::Connect, Stage::Connect),
        NetworkFault::ConnectTimeout => (FailureKind::NotConnected, RequestErrorKind::Timeout, Stage::Connect),
        NetworkFault::ReadTimeout => (FailureKind::Permanent, RequestErrorKind::Timeout, Stage::Response),
        NetworkFault::ConnectionLost => (FailureKind::ConnectionLost, RequestErrorKind::Transport, Stage::Response),
    };
    let mut error = AttemptError::local(kind, class, format!("simulated: {fault:?}"), Advice::TryAgain);
    error.stage = stage;
    error
}

thread_local! {
    static NETWORK: RefCell<Option<Arc<dyn Network>>> = const { RefCell::new(None) };
}

pub(crate) fn install(network: Arc<dyn Network>) -> Installed<Arc<dyn Network>> {
    Installed::new(&NETWORK, network)
}
