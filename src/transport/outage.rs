//! Detects an outage: all requests of a batch have failed in the same way for a while, so the rest is given up.

use crate::advice::Advice;
use crate::error::RequestErrorKind::{Certificate, Connect, Memory, Transport};
use crate::error::{ApiErrorKind, Error};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::SetOnce;
use tokio::time::Instant;

/// An outage needs at least this many consecutive failures of the same kind.
const MIN_FAILURES: u32 = 4;
/// How long a service that has responded before may fail: long enough for a restart.
const MAX_DOWNTIME: Duration = Duration::from_secs(10);
/// How long a service that has never responded may refuse connections.
const MAX_FIRST_DOWNTIME: Duration = Duration::from_secs(2);

/// Counts the attempts of one request and, if it is a unit of a batch, reports them to the batch's outage detection.
#[derive(Debug, Default)]
pub(crate) struct Attempts<'a> {
    count: AtomicU32,
    outage: Option<&'a Outage>,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(outage: &'a Outage) -> Self {
        Attempts { count: AtomicU32::new(0), outage: Some(outage) }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn record_attempt(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the service works, whatever it says about this request: earlier failures no longer count.
    pub(super) fn record_response(&self) {
        if let Some(outage) = self.outage {
            outage.state(|state| *state = OutageState { is_reached: true, ..OutageState::default() });
        }
    }

    /// Records a failed attempt. `is_final`: a retry of the same request cannot succeed.
    pub(super) fn record_failure(&self, error: &Error, is_final: bool) {
        if !may_affect_all(error) {
            return self.record_response();
        }
        let Some(outage) = self.outage else { return };
        let is_outage = outage.state(|state| state.record_failure(error, is_final, Instant::now()));
        if is_outage {
            // The first error stays.
            let _ = outage.given_up.set(error.clone());
        }
    }
}

/// The state that the attempts of a batch share.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    state: Mutex<OutageState>,
    given_up: SetOnce<Error>,
}

impl Outage {
    /// `is_reached`: whether the service has responded to this client before.
    pub(crate) fn new(is_reached: bool) -> Self {
        Outage { state: Mutex::new(OutageState { is_reached, ..OutageState::default() }), ..Outage::default() }
    }

    /// The error for which the batch was given up.
    pub(crate) fn error(&self) -> Option<Error> {
        self.given_up.get().cloned()
    }

    pub(crate) async fn given_up(&self) {
        self.given_up.wait().await;
    }

    /// Whether the service may be restarting, so that a unit without a connection is worth another series of attempts.
    pub(crate) fn is_restarting(&self) -> bool {
        self.state(|state| state.is_reached && state.failures >= MIN_FAILURES) && self.error().is_none()
    }

    fn state<T>(&self, access: impl FnOnce(&mut OutageState) -> T) -> T {
        access(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, Default)]
struct OutageState {
    is_reached: bool,
    /// Consecutive failures of the same kind.
    failures: u32,
    first: Option<(Instant, Error)>,
}

impl OutageState {
    /// Records a failure and returns whether it completes an outage.
    fn record_failure(&mut self, error: &Error, is_final: bool, now: Instant) -> bool {
        let since = match &self.first {
            Some((since, first)) if is_same_kind(first, error) => *since,
            _ => {
                self.first = Some((now, error.clone()));
                self.failures = 0;
                now
            }
        };
        self.failures += 1;
        let is_connect = matches!(error.request_kind(), Some(Connect | Certificate));
        let max_downtime = match is_connect {
            true if is_final => Duration::ZERO,
            true if !self.is_reached => MAX_FIRST_DOWNTIME,
            _ => MAX_DOWNTIME,
        };
        self.failures >= MIN_FAILURES && now.saturating_duration_since(since) >= max_downtime
    }
}

/// Whether an error may affect all requests. Any other concerns a single request: the service was reached and works.
fn may_affect_all(error: &Error) -> bool {
    match error {
        Error::Api(response) => matches!(response.kind, ApiErrorKind::RateLimited | ApiErrorKind::Server),
        // Too large a body concerns a single request.
        Error::Request(failed) if failed.kind == Transport => {
            !matches!(failed.advice, Advice::AskForLess | Advice::RaiseMaxResponseBytes)
        }
        Error::Request(failed) => failed.kind != Memory,
        _ => false,
    }
}

fn is_same_kind(first: &Error, second: &Error) -> bool {
    match (first, second) {
        (Error::Api(first), Error::Api(second)) => first.kind == second.kind,
        _ => first.request_kind() == second.request_kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ApiError, RequestErrorKind::Timeout};

    fn connect() -> Error {
        Connect.error("refused")
    }

    fn api_error(kind: ApiErrorKind) -> Error {
        Error::Api(Box::new(ApiError {
            kind,
            status: 0,
            message: "no".into(),
            rules: Vec::new(),
            request_id: None,
            url: "http://host/".into(),
            attempts: 1,
            elapsed: Duration::ZERO,
            advice: Advice::SeeMessage,
            hint: "".into(),
            retry_after: None,
        }))
    }

    /// The second in which an outage is detected, with one failure per second.
    fn detected_after(mut state: OutageState, error: &Error, is_final: bool) -> Option<u64> {
        let start = Instant::now();
        (0..60).find(|second| state.record_failure(error, is_final, start + Duration::from_secs(*second)))
    }

    #[test]
    fn the_tolerated_downtime_depends_on_the_failure() {
        let state = |is_reached| OutageState { is_reached, ..OutageState::default() };
        assert_eq!(detected_after(state(false), &connect(), false), Some(3), "four failures, two seconds");
        assert_eq!(detected_after(state(true), &connect(), false), Some(10));
        assert_eq!(detected_after(state(false), &Transport.error("broke"), false), Some(10));
        let mut outage_state = state(true);
        let now = Instant::now();
        let outages: Vec<bool> =
            (0..5).map(|_| outage_state.record_failure(&Certificate.error("untrusted"), true, now)).collect();
        assert_eq!(outages, [false, false, false, true, true]);
    }

    #[test]
    fn a_response_or_another_kind_of_failure_restarts_the_count() {
        let outage = Outage::new(true);
        let attempts = Attempts::new(&outage);
        for between in [
            Error::Decode(crate::error::Undecodable {
                message: "x".into(),
                path: "$".into(),
                offset: 0,
                advice: Advice::SeeMessage,
            }),
            Timeout.error("late"),
        ] {
            for _ in 0..MIN_FAILURES {
                attempts.record_failure(&connect(), true);
                attempts.record_failure(&connect(), true);
                attempts.record_failure(&connect(), true);
                attempts.record_failure(&between, false);
            }
        }
        assert!(outage.error().is_none());
        for _ in 0..MIN_FAILURES {
            attempts.record_failure(&connect(), true);
        }
        assert!(outage.error().is_some_and(|error| error.request_kind() == Some(Connect)));
    }

    #[test]
    fn bodies_that_are_too_large_are_not_an_outage() {
        let outage = Outage::new(true);
        let attempts = Attempts::new(&outage);
        for advice in [Advice::AskForLess, Advice::RaiseMaxResponseBytes] {
            let error = Transport.with_advice("too large", advice, None);
            for _ in 0..2 * MIN_FAILURES {
                attempts.record_failure(&error, true);
            }
            assert!(!may_affect_all(&error) && outage.error().is_none());
        }
    }

    #[test]
    fn answers_of_other_kinds_restart_the_count() {
        let (mut state, start) = (OutageState::default(), Instant::now());
        for second in 0..60 {
            let kind = if second % 2 == 0 { ApiErrorKind::RateLimited } else { ApiErrorKind::Server };
            assert!(!state.record_failure(&api_error(kind), false, start + Duration::from_secs(second)), "{second}");
        }
        assert_eq!(detected_after(OutageState::default(), &api_error(ApiErrorKind::Server), false), Some(10));
    }

    #[test]
    fn broken_connections_are_an_outage() {
        for error in [connect(), Transport.error("broke"), Timeout.error("late")] {
            assert!(may_affect_all(&error), "{error}");
        }
    }

    #[test]
    fn only_a_service_that_has_responded_may_be_restarting() {
        for is_reached in [false, true] {
            let outage = Outage::new(is_reached);
            let attempts = Attempts::new(&outage);
            for failures in 1..=MIN_FAILURES {
                attempts.record_failure(&connect(), false);
                assert_eq!(outage.is_restarting(), is_reached && failures == MIN_FAILURES);
            }
            attempts.record_response();
            assert!(!outage.is_restarting());
        }
    }
}
