//! Sends one request, with retries.

use super::attempt::{self, Exchange, Hops};
use super::attempt_error::AttemptError;
use super::authentication::AuthenticatedRequest;
use super::http::HttpClient;
use super::limiter::{Permit, Priority};
use super::memory::Lease;
use super::outage::Attempts;
use super::response::{self, ClockOffsets};
use super::retry::{self, FailureKind, RetryState};
use super::trace::Trace;
use super::{CallLimits, Response, Shared, clock};
use crate::advice::Advice;
use crate::error::{Error, RequestContext, RequestErrorKind, Result};
use crate::machine;
use crate::operation::{self, Request};
use crate::scrub::Scrubbed;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What a request is sent for, which decides its turn, its time and its retries.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// A call, whose attempts are counted even if it fails.
    Call(&'a Attempts<'a>),
    /// A live stream. It goes ahead of calls, and fails if an attempt has no response for this long after the queue.
    Stream(Duration),
    /// One attempt for the state of a live game, with the timeouts of the client. It goes ahead of calls.
    GameState,
}

pub(super) async fn send(
    shared: &Shared,
    request: &Request,
    purpose: Purpose<'_>,
    limits: Option<&CallLimits>,
    trace: &Trace,
) -> Result<Response> {
    let mut retries = RetryContext::new(shared, request, purpose, limits, trace)?;
    loop {
        let failure = match retries.attempt().await? {
            AttemptOutcome::Response(response) => return Ok(response),
            AttemptOutcome::SendAgain => continue,
            AttemptOutcome::Failed(failure) => failure,
        };
        if let Some(counter) = retries.counter() {
            counter.record_failure(&failure.error, failure.kind == FailureKind::Permanent);
        }
        let (state, remaining) = (retries.state, retries.remaining());
        let delay = retry::delay(failure.kind, state, retries.max_retries, remaining, machine::chance());
        let Some(delay) = delay else {
            let Some(response) = failure.document else { return Err(failure.error) };
            return Ok(Response { refusal: Some(Box::new(failure.error)), ..response });
        };
        retries.record_retry(&failure.error, failure.kind, delay);
        // The body is not needed any more: free its memory before the delay.
        drop(failure);
        sleep(delay).await;
    }
}

/// What an attempt led to.
enum AttemptOutcome {
    Response(Response),
    /// At once, which is no retry: the client's own memory was short, or the service's clock was learned.
    SendAgain,
    Failed(FailedAttempt),
}

/// The response of an attempt, or its error.
type AttemptResult = std::result::Result<(Response, ClockOffsets), AttemptError>;

struct FailedAttempt {
    kind: FailureKind,
    error: Error,
    /// A response of status 200 whose body reports the error. It is returned, with its refusal, if no retry follows.
    document: Option<Response>,
}

/// A request and its attempts so far.
struct RetryContext<'a> {
    shared: &'a Shared,
    request: &'a Request,
    authenticated_request: AuthenticatedRequest,
    client: HttpClient,
    display_url: Scrubbed,
    purpose: Purpose<'a>,
    trace: &'a Trace,
    total: Duration,
    max_retries: u32,
    attempts: u32,
    state: RetryState,
    is_clock_corrected: bool,
    last_error: Option<Scrubbed>,
    start: Option<Instant>,
    deadline: Instant,
}

impl<'a> RetryContext<'a> {
    fn new(
        shared: &'a Shared,
        request: &'a Request,
        purpose: Purpose<'a>,
        limits: Option<&CallLimits>,
        trace: &'a Trace,
    ) -> Result<Self> {
        let scrubber = &shared.scrubber;
        let authenticated_request =
            AuthenticatedRequest::new(request, &shared.config).map_err(|error| error.scrub(scrubber))?;
        // The timeouts of a call are not those of a stream.
        let limits = limits.filter(|_| matches!(purpose, Purpose::Call(_)));
        let client = shared.client(request.auth, &authenticated_request.url, limits)?;
        let total = limits.map_or(shared.config.timeouts.total, |limits| limits.total);
        let max_retries = if matches!(purpose, Purpose::GameState) { 0 } else { shared.config.max_retries };
        Ok(Self {
            shared,
            request,
            display_url: scrubber.url(&authenticated_request.url),
            authenticated_request,
            client,
            purpose,
            trace,
            total,
            max_retries,
            attempts: 0,
            state: RetryState::default(),
            is_clock_corrected: false,
            last_error: None,
            start: None,
            deadline: Instant::now() + total,
        })
    }

    /// Sends the request once.
    async fn attempt(&mut self) -> Result<AttemptOutcome> {
        let permit = self.queue().await;
        let start = Instant::now();
        self.start.get_or_insert(start);
        self.attempts += 1;
        if let Some(counter) = self.counter() {
            counter.record_attempt();
        }
        let span = self.trace.attempt(&self.authenticated_request.url, &self.display_url, self.attempts - 1);
        let outcome = self.attempt_from(start, permit, &span).await;
        match &outcome {
            Ok(AttemptOutcome::Failed(FailedAttempt { error, .. })) | Err(error) => span.record_error(error),
            Ok(_) => {}
        }
        outcome
    }

    async fn attempt_from(&mut self, start: Instant, permit: Permit<'a>, span: &Trace) -> Result<AttemptOutcome> {
        let silence_limit =
            self.silence_limit().filter(|limit| *limit < self.deadline.saturating_duration_since(start));
        let deadline = silence_limit.map_or(self.deadline, |limit| start + limit);
        let lease = Arc::new(self.shared.memory.lease());
        let attempt = lease.timeout_at(deadline, self.exchange(&lease, span)).await;
        self.deadline += lease.wait_time();
        let document_status = match &attempt {
            Ok(Ok(Ok((response, _)))) => self.record_response(response, &permit),
            _ => None,
        };
        drop(permit);
        let (duration, attempts, display_url) = (start.elapsed(), self.attempts, &self.display_url);
        let Ok(attempt) = attempt else { return Ok(AttemptOutcome::Failed(self.timeout(silence_limit))) };
        match attempt? {
            Err(error) if error.kind == FailureKind::Preempted => Ok(AttemptOutcome::SendAgain),
            Err(error) => {
                let message = error.message(&self.shared.scrubber);
                log::debug!("GET {display_url}: {message} (attempt {attempts}, {duration:.1?})");
                let (kind, error) = (error.kind, error.into_error(&self.shared.scrubber, self.context()));
                Ok(AttemptOutcome::Failed(FailedAttempt { kind, error, document: None }))
            }
            Ok((response, offsets)) => {
                span.record_status(response.status);
                log::debug!("GET {}: {} (attempt {attempts}, {duration:.1?})", response.url, response.status);
                if response.status == 200 && document_status.is_none() {
                    return Ok(AttemptOutcome::Response(self.accept(response, lease)));
                }
                Ok(self.refuse(response, document_status, offsets))
            }
        }
    }

    /// Sends the request, with its redirects, and reads the response.
    async fn exchange(&self, lease: &Lease, span: &Trace) -> Result<AttemptResult> {
        let shared = self.shared;
        let mut hops = Hops::new(shared, &self.authenticated_request);
        let Exchange { response, url, redirect_refusal, offsets } = loop {
            let mut request = hops.sign(shared.clock_offset_ms.load(Ordering::Relaxed))?;
            span.propagate(request.headers_mut());
            let response = match self.client.execute(request).await {
                Ok(response) => response,
                Err(error) => return Ok(Err(error)),
            };
            if let Some(exchange) = hops.take(response) {
                break exchange;
            }
        };
        let is_redirected = url != self.authenticated_request.url;
        let url = if is_redirected { shared.scrubber.url(url) } else { self.display_url.clone() };
        let (scrubber, error_timeout) = (&shared.scrubber, attempt::ERROR_BODY_TIMEOUT);
        let result = attempt::receive(shared, response, lease, scrubber, url, error_timeout).await;
        Ok(result.map(|response| {
            let (attempts, elapsed) = (self.attempts, self.elapsed());
            (Response { redirect_refusal, attempts, elapsed, ..response }, offsets)
        }))
    }

    /// Waits for a turn. Time in the client's own queue does not count towards the timeout.
    async fn queue(&mut self) -> Permit<'a> {
        let priority = if matches!(self.purpose, Purpose::Call(_)) { Priority::Call } else { Priority::Live };
        let start = Instant::now();
        if priority == Priority::Call {
            self.shared.memory.wait_for_space().await;
        }
        let permit = self.shared.limiter.acquire(priority).await;
        self.deadline += start.elapsed();
        permit
    }

    /// Tells the limiter how the service responded. Returns the status that the body of a 200 reports, if it is an error.
    fn record_response(&self, response: &Response, permit: &Permit<'_>) -> Option<u16> {
        self.shared.is_reached.store(true, Ordering::Relaxed);
        let document_status = match response.status {
            200 => response::error_document_status(response, self.request),
            _ => None,
        };
        match document_status.unwrap_or(response.status) {
            // A delay beyond the deadline fails this request, but must not delay others.
            429 => {
                let retry_after = response.retry_after();
                permit.record_refused(retry_after.filter(|delay| *delay < self.remaining()));
            }
            _ => permit.record_accepted(),
        }
        document_status
    }

    /// No response came in time. No retry follows: the deadline is over, or the stream reports the silence.
    fn timeout(&mut self, silence_limit: Option<Duration>) -> FailedAttempt {
        let error = match silence_limit {
            Some(limit) => {
                RequestErrorKind::Timeout.with_advice(no_response(limit), Advice::TryAgain, Some(self.context()))
            }
            None => AttemptError::total_timeout(self.total.as_secs_f64(), self.last_error.take())
                .into_error(&self.shared.scrubber, self.context()),
        };
        FailedAttempt { kind: FailureKind::Permanent, error, document: None }
    }

    /// Completes a response of status 200: its `refusal` is set if its body is not JSON.
    fn accept(&self, response: Response, lease: Arc<Lease>) -> Response {
        if let Some(counter) = self.counter() {
            counter.record_response();
        }
        // A token may be plain text, which no error may quote.
        let refusal = match self.request.operation {
            operation::SUBSCRIPTION_TOKEN => None,
            _ => response::check_json(&response).err().map(Box::new),
        };
        Response { refusal, lease: Some(lease), ..response }
    }

    /// An error of the service, by its status or by the body of a 200.
    fn refuse(&mut self, response: Response, document_status: Option<u16>, offsets: ClockOffsets) -> AttemptOutcome {
        let auth = self.request.auth;
        let error = match document_status {
            Some(status) => response::document_error(&response, status, auth, offsets),
            None => response::error(&response, auth, offsets),
        };
        // The request is sent again with the right date. This does not count as a retry.
        if auth.scheme().is_dated
            && !self.is_clock_corrected
            && offsets.explains(&error)
            && learn_offset(self.shared, offsets)
        {
            self.is_clock_corrected = true;
            return AttemptOutcome::SendAgain;
        }
        let kind = FailureKind::Status(document_status.unwrap_or(response.status), error.retry_after);
        let document = document_status.map(|_| response);
        AttemptOutcome::Failed(FailedAttempt { kind, error: Error::Api(Box::new(error)), document })
    }

    /// Counts a retry and logs why it is necessary.
    fn record_retry(&mut self, error: &Error, kind: FailureKind, delay: Duration) {
        self.state.retries += 1;
        self.state.has_retried_500 |= matches!(kind, FailureKind::Status(500, _));
        let reason = self.shared.scrubber.text(error.to_string());
        let (seconds, retries, max_retries) = (delay.as_secs_f64(), self.state.retries, self.max_retries);
        let message = format!("{reason}; retrying in {seconds:.1} s (retry {retries} of {max_retries})");
        let warning = self.shared.retry_log.lock().unwrap_or_else(PoisonError::into_inner).record(Instant::now());
        match warning {
            Some(0) => log::warn!("{message}"),
            Some(others) => log::warn!("{message}; {others} other retries since the last such warning"),
            None => log::debug!("{message}"),
        }
        self.last_error = Some(reason);
    }

    fn counter(&self) -> Option<&'a Attempts<'a>> {
        if let Purpose::Call(counter) = self.purpose { Some(counter) } else { None }
    }

    fn silence_limit(&self) -> Option<Duration> {
        if let Purpose::Stream(limit) = self.purpose { Some(limit) } else { None }
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn elapsed(&self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| start.elapsed())
    }

    fn context(&self) -> RequestContext {
        RequestContext { url: self.display_url.clone(), attempts: self.attempts, elapsed: self.elapsed() }
    }
}

/// The error message for a live stream without a response within its limit.
pub(crate) fn no_response(limit: Duration) -> Scrubbed {
    Scrubbed::local(format!("no response within {} s", limit.as_secs_f64()))
}

/// Learns the measured clock offset. Returns whether there is one to learn.
fn learn_offset(shared: &Shared, offsets: ClockOffsets) -> bool {
    let Some(offset_ms) = offsets.measured_ms.filter(|ms| clock::can_be_learned(*ms)) else { return false };
    let previous_ms = shared.clock_offset_ms.swap(offset_ms, Ordering::Relaxed);
    // Warn once, even if many concurrent requests are refused.
    if (offset_ms - previous_ms).abs() >= response::MIN_MEASURABLE_MS {
        let skew = response::describe_skew(offset_ms);
        log::warn!(
            "{skew}, so the service refused requests. They are now dated by the service's clock; set this machine's clock"
        );
    }
    true
}
