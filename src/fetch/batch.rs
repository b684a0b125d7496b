//! Fetches many units concurrently, within the client's limits. The results are in the order of the units.

use super::coverage::fill_row;
use super::plan::Unit;
use super::{Drift, DriftField, FetchError, Fetched, Payload, refusal, run_counted};
use crate::error::{ApiError, ApiErrorKind, Error, RequestErrorKind, Result};
use crate::machine::{self, Unfinished};
use crate::operation::{self, Auth, Call};
use crate::resource::coverage::Covered;
use crate::scrub::Scrubbed;
use crate::transport::{Attempts, Outage, Transport};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::vec::IntoIter;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// After this many consecutive authentication failures the credentials are checked by another request. A gateway may
/// refuse single ids or paths, which must not stop the rest.
const MAX_CONSECUTIVE_AUTH_FAILURES: u32 = 4;

/// A body of this size is read faster than handed to another thread and back.
const INLINE_DECODE_BYTES: usize = 16 * 1024;

/// Progress of a batch.
#[derive(Debug, Default)]
pub struct Counters {
    pub done: AtomicU64,
    pub rows: AtomicU64,
}

/// The outcome of a unit.
#[derive(Debug, Clone)]
pub struct UnitOutcome {
    /// The response; with an error beside it if it does not fit, or is refused.
    pub response: Option<(Payload, Vec<DriftField>)>,
    pub error: Option<Error>,
    pub coverage: Covered,
}

/// What a unit's requests returned, and the rows of the first table.
type FetchResult = (Option<(Payload, Vec<DriftField>)>, Result<Option<usize>>);

impl FetchError {
    fn into_result(self) -> FetchResult {
        (self.payload.map(|payload| (payload, Vec::new())), Err(self.error))
    }
}

impl UnitOutcome {
    /// `at`: when a unit without a response ended.
    fn new(row: Covered, (response, rows): FetchResult, attempts: u32, at: SystemTime) -> Self {
        let first = response.as_ref().and_then(|(payload, _)| payload.parts.first());
        let coverage = fill_row(row, &rows, first, attempts, at);
        UnitOutcome { response, error: rows.err(), coverage }
    }
}

/// The units of a batch, and what is known of its credentials.
#[derive(Default)]
struct BatchState {
    /// With their positions.
    waiting: IntoIter<(usize, Covered, Call)>,
    /// In the order of the units.
    outcomes: Vec<Option<UnitOutcome>>,
    /// The position after that of the last unit started.
    started_units: usize,
    consecutive_auth_failures: u32,
    /// `started_units` when the first of the consecutive failures was recorded.
    started_before_failure: usize,
    /// The failure count at which the credentials are to be checked.
    suspicion: Option<ApiError>,
    /// Set when no further unit is sent.
    stop: Option<StopReason>,
}

/// Why a batch stops sending.
#[derive(Debug, Clone)]
enum StopReason {
    /// The service refuses the credentials.
    Refused(ApiError),
    /// Every request fails in the same way.
    Outage(Error),
    Closed,
}

impl BatchState {
    /// Units that cannot be sent have ended.
    fn new(units: Vec<Unit>) -> Self {
        let mut waiting = Vec::with_capacity(units.len());
        let outcomes = units.into_iter().enumerate().map(|(place, Unit { call, row })| match call {
            Ok(call) => {
                waiting.push((place, row, call));
                None
            }
            Err(error) => Some(UnitOutcome::new(row, (None, Err(error)), 0, machine::now())),
        });
        BatchState { outcomes: outcomes.collect(), waiting: waiting.into_iter(), ..BatchState::default() }
    }

    /// A response clears the suspicion only if its request began after the first failure; other errors tell nothing.
    fn record_outcome(&mut self, place: usize, outcome: &UnitOutcome) {
        match &outcome.error {
            _ if outcome.response.is_some() && place >= self.started_before_failure => self.clear_suspicion(),
            Some(Error::Api(error)) if error.kind == ApiErrorKind::Authentication => {
                if self.consecutive_auth_failures == 0 {
                    self.started_before_failure = self.started_units;
                }
                self.consecutive_auth_failures += 1;
                if self.consecutive_auth_failures >= MAX_CONSECUTIVE_AUTH_FAILURES {
                    self.suspicion = Some((**error).clone());
                }
            }
            _ => {}
        }
    }

    /// Whether the credentials are suspected. A unit with a response continues: its next request may clear that.
    fn store(&mut self, place: usize, outcome: UnitOutcome, counters: &Counters) -> bool {
        self.record_outcome(place, &outcome);
        counters.rows.fetch_add(outcome.coverage.rows, Ordering::Relaxed);
        counters.done.fetch_add(1, Ordering::Relaxed);
        let is_suspected = outcome.response.is_none() && self.is_suspected();
        if let Some(slot) = self.outcomes.get_mut(place) {
            *slot = Some(outcome);
        }
        is_suspected
    }

    fn is_suspected(&self) -> bool {
        self.suspicion.is_some() && self.stop.is_none()
    }

    fn clear_suspicion(&mut self) {
        (self.consecutive_auth_failures, self.suspicion) = (0, None);
    }
}

/// What the tasks of a batch share.
struct Batch {
    transport: Transport,
    drift: Arc<Drift>,
    strict: bool,
    counters: Arc<Counters>,
    state: Mutex<BatchState>,
    refusal: Notify,
    outage: Outage,
    /// Held by the task that checks the credentials.
    probe_lock: tokio::sync::Mutex<()>,
}

/// Fetches all units; returns one result for each, in order. A missing credential or a closed client is an error. If
/// the service refuses the credentials, fails every request in the same way, or the client is closed, the rest is not
/// sent. Dropping the future cancels every request.
pub async fn run(
    transport: &Transport,
    drift: &Arc<Drift>,
    units: Vec<Unit>,
    strict: bool,
    counters: &Arc<Counters>,
) -> Result<Vec<UnitOutcome>> {
    if transport.is_closed() {
        return Err(Error::Closed);
    }
    let state = BatchState::new(units);
    let (count, waiting) = (state.outcomes.len(), state.waiting.as_slice());
    if let Some((_, _, call)) = waiting.first() {
        transport.check(call.first()?)?;
    }
    counters.done.fetch_add((count - waiting.len()) as u64, Ordering::Relaxed);
    let at_once = transport.config().max_concurrency.min(waiting.len());
    let batch = Arc::new(Batch {
        transport: transport.clone(),
        drift: drift.clone(),
        strict,
        counters: counters.clone(),
        state: Mutex::new(state),
        refusal: Notify::new(),
        outage: Outage::new(transport.is_reached()),
        probe_lock: tokio::sync::Mutex::default(),
    });
    // Aborts the running tasks when dropped.
    let mut running = JoinSet::new();
    for _ in 0..at_once {
        let batch = batch.clone();
        running.spawn(async move { batch.fetch_all().await });
    }
    while let Some(result) = running.join_next().await {
        result.map_err(|error| stop_error(Unfinished::Stopped(error)))??;
    }
    let mut state = batch.state();
    if let Some(stop) = state.stop.clone() {
        for (place, row, call) in std::mem::take(&mut state.waiting) {
            let error = batch.given_up(&call, &stop, 0);
            state.store(place, UnitOutcome::new(row, (None, Err(error)), 0, machine::now()), counters);
        }
    }
    let all: Option<Vec<UnitOutcome>> = std::mem::take(&mut state.outcomes).into_iter().collect();
    let all = all.ok_or_else(|| Error::internal("a unit without an end"))?;
    all.iter().filter_map(|unit| unit.response.as_ref()).for_each(|(payload, _)| payload.release());
    Ok(all)
}

impl Batch {
    fn state(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches units until none is left.
    async fn fetch_all(&self) -> Result<()> {
        // Later checks know that this failure is recorded.
        let mut is_refused = pin!(self.refusal.notified());
        while let Some((place, row, call)) = self.next_unit() {
            let attempts = Attempts::new(&self.outage);
            let fetched = tokio::select! {
                biased;
                fetched = self.fetch(&call, &attempts) => fetched,
                () = self.outage.given_up() => Err(Error::Closed.into()),
                () = &mut is_refused => Err(Error::Closed.into()),
            };
            let (attempts, at) = (attempts.count(), machine::now());
            let fetched = match (fetched, self.stop_reason()) {
                (Err(FetchError { error: Error::Closed, .. }), Some(stop)) => {
                    Err(self.given_up(&call, &stop, attempts).into())
                }
                (fetched, _) => fetched,
            };
            let outcome = UnitOutcome::new(row, self.end(fetched, at).await?, attempts, at);
            if let Some((payload, _)) = &outcome.response {
                payload.keep();
            }
            let is_suspected = self.state().store(place, outcome, &self.counters);
            if is_suspected {
                self.check_suspicion(call.first()?.auth).await;
            }
        }
        Ok(())
    }

    /// The next unit to fetch, unless the batch stops.
    fn next_unit(&self) -> Option<(usize, Covered, Call)> {
        let mut state = self.state();
        if state.stop.is_some() {
            return None;
        }
        let next = state.waiting.next()?;
        state.started_units = next.0 + 1;
        Some(next)
    }

    /// Why the batch stops, if it does by now.
    fn stop_reason(&self) -> Option<StopReason> {
        let mut state = self.state();
        if state.stop.is_none() {
            let outage = || self.outage.error().map(StopReason::Outage);
            state.stop = self.transport.is_closed().then_some(StopReason::Closed).or_else(outage);
        }
        state.stop.clone()
    }

    /// Stops the batch if the service refuses the credentials. One task asks; meanwhile the others start no unit.
    async fn check_suspicion(&self, auth: Auth) {
        let _guard = self.probe_lock.lock().await;
        let is_suspected = self.state().is_suspected();
        if !is_suspected {
            return;
        }
        let is_refused = self.is_refused(auth).await;
        let mut state = self.state();
        // A response arrived during the check: the suspicion is cleared.
        let suspicion = state.suspicion.take();
        state.clear_suspicion();
        if let Some(refusal) = suspicion.filter(|_| is_refused) {
            state.stop.get_or_insert(StopReason::Refused(refusal));
            self.refusal.notify_waiters();
        }
    }

    /// Fetches one unit. Without a connection it retries, if allowed, for as long as the service may be restarting.
    async fn fetch(&self, call: &Call, attempts: &Attempts<'_>) -> Fetched {
        loop {
            let fetched = run_counted(&self.transport, call, attempts).await;
            let is_retried = self.transport.config().max_retries > 0 && self.outage.is_restarting();
            let kind = fetched.as_ref().err().and_then(|failed| failed.error.request_kind());
            if !is_retried || kind != Some(RequestErrorKind::Connect) {
                return fetched;
            }
        }
    }

    /// Whether the service refuses a request that any credentials may make: the list of teams.
    async fn is_refused(&self, auth: Auth) -> bool {
        let teams = auth.scheme().open_operation;
        let Ok(call) = operation::call(teams, &Vec::new(), self.transport.config()) else { return false };
        let result = run_counted(&self.transport, &call, &Attempts::default()).await;
        matches!(result, Err(FetchError { error: Error::Api(error), .. }) if error.kind == ApiErrorKind::Authentication)
    }

    /// The error of a unit that was not sent, or not completed.
    fn given_up(&self, call: &Call, stop: &StopReason, attempts: u32) -> Error {
        let unsent_error = |refusal: &ApiError| match call.first() {
            Ok(request) => self.transport.unsent_error(request, refusal),
            Err(error) => error,
        };
        let start = if attempts > 0 { "given up" } else { "not attempted" };
        let cause = match stop {
            StopReason::Closed => Error::Closed,
            StopReason::Refused(refusal) => unsent_error(refusal),
            StopReason::Outage(Error::Api(response)) => unsent_error(response),
            StopReason::Outage(error) => error.clone().without_request(),
        };
        let text = match stop {
            StopReason::Closed => format!("{start}: the client was closed"),
            StopReason::Refused(_) if attempts > 0 => return cause,
            StopReason::Refused(_) => format!("{start}: {cause}"),
            StopReason::Outage(error) => format!("{start}: every request fails in the same way: {error}"),
        };
        Error::GivenUp { text: Scrubbed::local(text), cause: Box::new(cause) }
    }

    /// A response is read even if the credentials are refused meanwhile.
    async fn end(&self, fetched: Fetched, at: SystemTime) -> Result<FetchResult> {
        let (payload, trace) = match fetched {
            // If no unit can be sent, the batch is refused before the first.
            Err(FetchError { error: Error::Closed, .. }) => return Err(Error::Closed),
            Err(failed) => return Ok(failed.into_result()),
            Ok(fetched) => fetched,
        };
        // Bodies of locations take a while to read, and streams share these threads.
        let is_short = payload.size() <= INLINE_DECODE_BYTES;
        let (drift, strict) = (self.drift.clone(), self.strict);
        let read = move || read(&drift, payload, strict, at);
        match if is_short { Ok(read()) } else { machine::run_blocking(read).await } {
            Err(reason @ Unfinished::OutOfMemory) => Ok((None, Err(stop_error(reason)))),
            read => read.map_err(stop_error).inspect(|(_, rows)| trace.record_result(rows)),
        }
    }
}

/// Reads a response to its end, so that every table of a fetched unit decodes later. If the schema check is conclusive,
/// nothing is built and only the body is kept.
fn read(drift: &Drift, payload: Payload, strict: bool, at: SystemTime) -> FetchResult {
    // A body that is not JSON has no unknown fields: decoding it reports the error.
    let schema_check = match payload.check_schema(Some(&payload.context)) {
        Ok(schema_check) => schema_check,
        Err(failed) => return failed.into_result(),
    };
    let drift_fields = drift.record(&payload, schema_check.unknown_fields, at);
    let rows = || {
        if strict && let Some(error) = refusal(&drift_fields) {
            return Err(error);
        }
        if schema_check.rows.is_some() || payload.resource.is_none() {
            return Ok(schema_check.rows);
        }
        // On a copy: merged responses would be kept twice.
        let tables = payload.clone().all_tables()?;
        Ok(tables.first().map(|(_, batches)| batches.iter().map(|batch| batch.num_rows()).sum()))
    };
    let rows = rows();
    (Some((payload, drift_fields)), rows)
}

/// The error of a task that did not finish: a panic is propagated, the runtime's end is the interpreter's.
pub(super) fn stop_error(reason: Unfinished) -> Error {
    match reason {
        Unfinished::OutOfMemory => {
            RequestErrorKind::Memory.error("the process has no memory for a thread that reads the response")
        }
        Unfinished::Stopped(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => RequestErrorKind::Transport.error("the interpreter is exiting; no request is sent any more"),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Sport;

    fn outcome(result: FetchResult) -> UnitOutcome {
        UnitOutcome::new(Covered::default(), result, 1, SystemTime::UNIX_EPOCH)
    }

    fn api_failure(kind: ApiErrorKind) -> UnitOutcome {
        let rows = Err(Error::Api(Box::new(ApiError {
            kind,
            status: 0,
            message: Scrubbed::default(),
            rules: Vec::new(),
            request_id: None,
            url: Scrubbed::default(),
            attempts: 1,
            elapsed: Default::default(),
            advice: crate::advice::Advice::SeeMessage,
            hint: Scrubbed::default(),
            retry_after: None,
        })));
        outcome((None, rows))
    }

    fn response(rows: Result<Option<usize>>) -> UnitOutcome {
        let payload = Payload::from_bytes("teams", b"[]", Sport::Basketball, Default::default()).unwrap();
        outcome((Some((payload, Vec::new())), rows))
    }

    /// With so many begun.
    fn work(started_units: usize) -> BatchState {
        BatchState { started_units, ..BatchState::default() }
    }

    #[test]
    fn refusals_in_a_row_put_the_credentials_in_doubt_and_other_errors_do_not() {
        use ApiErrorKind::{Authentication, NotFound, PermissionDenied, Server};
        let mut work = work(1);
        let are_doubted = |work: &mut BatchState, refusals: u32| {
            for _ in 0..refusals {
                for kind in [Server, NotFound, PermissionDenied, Authentication] {
                    work.record_outcome(0, &api_failure(kind));
                }
            }
            work.suspicion.is_some()
        };
        let unfit = || Err(RequestErrorKind::Transport.error("it does not fit"));
        for rows in [Ok(Some(0)), Ok(None), unfit()] {
            assert!(!are_doubted(&mut work, MAX_CONSECUTIVE_AUTH_FAILURES - 1));
            work.record_outcome(1, &response(rows));
            assert!(!are_doubted(&mut work, MAX_CONSECUTIVE_AUTH_FAILURES - 1) && are_doubted(&mut work, 1));
            work.record_outcome(1, &response(unfit()));
        }
    }

    #[test]
    fn a_request_begun_before_the_first_refusal_clears_nothing() {
        let mut work = work(5);
        for place in 0..MAX_CONSECUTIVE_AUTH_FAILURES {
            work.record_outcome(4, &response(Ok(None)));
            assert!(work.suspicion.is_none());
            work.record_outcome(place as usize, &api_failure(ApiErrorKind::Authentication));
            work.started_units += 1;
        }
        work.record_outcome(4, &response(Ok(None)));
        assert!(work.suspicion.is_some());
        work.record_outcome(5, &response(Ok(None)));
        assert!(work.suspicion.is_none() && work.consecutive_auth_failures == 0);
    }
}
