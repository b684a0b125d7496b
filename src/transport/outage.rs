//! Whether several requests for one purpose have any prospect left: all of them have failed in the same way for a while.

use crate::advice::Advice;
use crate::error::{ApiErrorKind, Error};
use std::mem::discriminant;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::SetOnce;
use tokio::time::Instant;

/// So many attempts fail in the same way before anything is given up.
const HANDFUL: u32 = 4;
/// How long a service that was reached before may fail: long enough for a restart.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a service that was never reached may refuse connections.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);

/// The attempts of one unit, and the outage that they share with others.
#[derive(Debug, Default)]
pub struct Attempts<'a> {
    count: AtomicU32,
    outage: Option<&'a Outage>,
}

impl<'a> Attempts<'a> {
    pub fn of(outage: &'a Outage) -> Self {
        Attempts { count: AtomicU32::new(0), outage: Some(outage) }
    }

    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The service responded to an attempt in a way that concerns this request alone.
    pub(super) fn responded(&self) {
        if let Some(outage) = self.outage {
            outage.state(|state| *state = State { reached: true, ..State::default() });
        }
    }

    /// An attempt failed. `is_final`: another attempt of the same request cannot succeed.
    pub(super) fn failed(&self, error: &Error, is_final: bool) {
        if !may_concern_all(error) {
            return self.responded();
        }
        let Some(outage) = self.outage else { return };
        let is_over = outage.state(|state| state.fail(error, is_final, Instant::now()));
        if is_over {
            // The first error stays.
            let _ = outage.given_up.set(error.clone());
        }
    }
}

/// What the attempts of a batch have in common.
#[derive(Debug, Default)]
pub struct Outage {
    state: Mutex<State>,
    given_up: SetOnce<Error>,
}

impl Outage {
    /// `reached`: whether the client has had a response before.
    pub fn new(reached: bool) -> Self {
        Outage { state: Mutex::new(State { reached, ..State::default() }), ..Outage::default() }
    }

    /// The error that everything was given up for.
    pub fn error(&self) -> Option<Error> {
        self.given_up.get().cloned()
    }

    /// Waits until everything is given up.
    pub async fn given_up(&self) {
        self.given_up.wait().await;
    }

    /// Whether a unit without a connection is worth another series of attempts: nothing is given up, and the service was
    /// reached before.
    pub fn is_restart(&self) -> bool {
        self.state(|state| state.reached && state.failures >= HANDFUL) && self.error().is_none()
    }

    fn state<T>(&self, of: impl FnOnce(&mut State) -> T) -> T {
        of(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, Default)]
struct State {
    reached: bool,
    /// One after another, in the same way.
    failures: u32,
    first: Option<(Instant, Error)>,
}

impl State {
    /// Whether this failure is the last straw.
    fn fail(&mut self, error: &Error, is_final: bool, now: Instant) -> bool {
        let since = match &self.first {
            Some((since, first)) if is_same(first, error) => *since,
            _ => {
                self.first = Some((now, error.clone()));
                self.failures = 0;
                now
            }
        };
        self.failures += 1;
        let is_connect = matches!(error, Error::Connect(_) | Error::Certificate(_));
        let patience = match is_connect {
            true if is_final => Duration::ZERO,
            true if !self.reached => FIRST_PATIENCE,
            _ => PATIENCE,
        };
        self.failures >= HANDFUL && now.saturating_duration_since(since) >= patience
    }
}

/// Other errors are about one request: the service was reached and works.
fn may_concern_all(error: &Error) -> bool {
    match error {
        Error::Api(response) => matches!(response.kind, ApiErrorKind::RateLimited | ApiErrorKind::Server),
        // A body that is too large is one request's own.
        Error::Transport(unanswered) => {
            !matches!(unanswered.advice, Advice::AskForLess | Advice::RaiseMaxResponseBytes)
        }
        Error::Connect(_) | Error::Certificate(_) | Error::Timeout(_) => true,
        _ => false,
    }
}

fn is_same(first: &Error, second: &Error) -> bool {
    match (first, second) {
        (Error::Api(first), Error::Api(second)) => first.kind == second.kind,
        _ => discriminant(first) == discriminant(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Unanswered;

    fn connect() -> Error {
        Error::Connect("refused".into())
    }

    /// When the failures, one each second, are given up.
    fn given_up_after(mut state: State, error: &Error, is_final: bool) -> Option<u64> {
        let start = Instant::now();
        (0..60).find(|second| state.fail(error, is_final, start + Duration::from_secs(*second)))
    }

    #[test]
    fn the_patience_depends_on_the_failure() {
        let state = |reached| State { reached, ..State::default() };
        assert_eq!(given_up_after(state(false), &connect(), false), Some(3), "a handful, two seconds");
        assert_eq!(given_up_after(state(true), &connect(), false), Some(10));
        assert_eq!(given_up_after(state(false), &Error::Transport("broke".into()), false), Some(10));
        let mut untrusted = state(true);
        let now = Instant::now();
        let given_up: Vec<bool> =
            (0..5).map(|_| untrusted.fail(&Error::Certificate("untrusted".into()), true, now)).collect();
        assert_eq!(given_up, [false, false, false, true, true]);
    }

    #[test]
    fn a_response_or_another_failure_begins_anew() {
        let outage = Outage::new(true);
        let attempts = Attempts::of(&outage);
        for between in [
            Error::Decode(crate::error::Undecodable {
                message: "x".into(),
                path: "$".into(),
                offset: 0,
                advice: Default::default(),
            }),
            Error::Timeout("late".into()),
        ] {
            for _ in 0..HANDFUL {
                attempts.failed(&connect(), true);
                attempts.failed(&connect(), true);
                attempts.failed(&connect(), true);
                attempts.failed(&between, false);
            }
        }
        assert!(outage.error().is_none());
        for _ in 0..HANDFUL {
            attempts.failed(&connect(), true);
        }
        assert!(matches!(outage.error(), Some(Error::Connect(_))));
    }

    #[test]
    fn bodies_that_are_too_large_are_no_outage() {
        let outage = Outage::new(true);
        let attempts = Attempts::of(&outage);
        for advice in [Advice::AskForLess, Advice::RaiseMaxResponseBytes] {
            let error = Error::Transport(Unanswered::new("too large".into(), advice, None));
            for _ in 0..2 * HANDFUL {
                attempts.failed(&error, true);
            }
            assert!(!may_concern_all(&error) && outage.error().is_none());
        }
    }

    #[test]
    fn only_a_service_that_was_reached_may_restart() {
        for reached in [false, true] {
            let outage = Outage::new(reached);
            let attempts = Attempts::of(&outage);
            for failures in 1..=HANDFUL {
                attempts.failed(&connect(), false);
                assert_eq!(outage.is_restart(), reached && failures == HANDFUL);
            }
            attempts.responded();
            assert!(!outage.is_restart());
        }
    }
}
