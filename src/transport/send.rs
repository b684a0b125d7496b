//! Sends one request, with retries.

use super::attempt_error::AttemptError;
use super::authentication::AuthenticatedRequest;
use super::http::HttpClient;
use super::inflate::{self, InflateError, InflateStep, Inflation};
use super::limiter::Priority;
use super::memory::Lease;
use super::outage::Attempts;
use super::redirect::{self, Redirect};
use super::response::{self, ClockOffsets, ReceivedResponse};
use super::retry::{self, FailureKind, RetryState};
use super::{CallLimits, Response, Shared, clock};
use crate::advice::Advice;
use crate::error::{Error, RequestContext, RequestError, Result, Undecodable};
use crate::machine;
use crate::operation::{self, Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use reader::Body;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

/// The bodies of errors are cut to this.
const MAX_ERROR_BODY: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The peer chooses the `Content-Length`, so no more than this is allocated in advance.
const MAX_INITIAL_CAPACITY: usize = 16 * 1024 * 1024;

/// The result of an attempt.
enum Attempt {
    Response(ReceivedResponse, ClockOffsets),
    Error(AttemptError),
}

/// Counts its attempts in `counter`, even if it fails. With a `silence_limit` the request belongs to a live stream: it goes
/// ahead of calls, and fails if an attempt has no response for this long.
pub(super) async fn send(
    shared: &Shared,
    request: &Request,
    counter: &Attempts<'_>,
    silence_limit: Option<Duration>,
    limits: Option<&CallLimits>,
) -> Result<Response> {
    let scrubber = &shared.scrubber;
    let authenticated = AuthenticatedRequest::new(request, &shared.config).map_err(|error| error.scrubbed(scrubber))?;
    let client = match limits {
        Some(limits) => limits.client(shared, request.auth, authenticated.url())?,
        None => shared.client(request.auth, authenticated.url())?,
    };
    let display_url = authenticated.display_url(scrubber);
    let total = limits.map_or(shared.config.timeouts.total, |limits| limits.total);
    let max_retries = limits.map_or(shared.config.max_retries, |limits| limits.max_retries);
    let priority = if silence_limit.is_some() { Priority::Live } else { Priority::Call };

    let mut retry_state = RetryState::default();
    let mut is_clock_corrected = false;
    let mut attempts = 0;
    let mut last_error = None;
    let mut started: Option<Instant> = None;
    let mut deadline = Instant::now() + total;
    loop {
        // Time in the client's own queue does not count towards the timeout.
        let queued_at = Instant::now();
        if priority == Priority::Call {
            shared.memory.wait_for_space().await;
        }
        let permit = shared.limiter.acquire(priority).await;
        deadline += queued_at.elapsed();
        let attempt_start = Instant::now();
        let started = *started.get_or_insert(attempt_start);
        attempts += 1;
        counter.record_attempt();
        let silence_limit = silence_limit.filter(|limit| *limit < deadline.saturating_duration_since(attempt_start));
        let attempt_deadline = silence_limit.map_or(deadline, |limit| attempt_start + limit);
        let lease = Arc::new(shared.memory.lease());
        let attempt =
            run_until(attempt_deadline, &lease, attempt(shared, &client, &authenticated, &display_url, &lease)).await;
        deadline += lease.wait_time();
        let mut document_status = None;
        if let Ok(Ok(Attempt::Response(received, _))) = &attempt {
            shared.reached.store(true, Ordering::Relaxed);
            let remaining = deadline.saturating_duration_since(Instant::now());
            document_status =
                if received.status == 200 { response::error_document_status(received, request) } else { None };
            match document_status.unwrap_or(received.status) {
                // A delay beyond the deadline fails this request, but must not delay others.
                429 => permit.record_refused(received.retry_after(machine::now()).filter(|delay| *delay < remaining)),
                _ => permit.record_accepted(),
            }
        }
        drop(permit);
        let attempt_time = attempt_start.elapsed();
        let context = || RequestContext { url: display_url.clone(), attempts, elapsed: started.elapsed() };
        if matches!(&attempt, Ok(Ok(Attempt::Error(error))) if error.kind == FailureKind::Preempted) {
            continue;
        }

        // A response of status 200 whose body reports an error. It is returned, with its refusal, if no retry follows.
        let mut document = None;
        let (failure, error) = match attempt {
            Err(_) => {
                let error = match silence_limit {
                    Some(limit) => {
                        Error::Timeout(RequestError::new(no_response(limit), Advice::TryAgain, Some(context())))
                    }
                    None => {
                        AttemptError::total_timeout(total.as_secs_f64(), last_error).into_error(scrubber, context())
                    }
                };
                counter.record_failure(&error, true);
                return Err(error);
            }
            Ok(attempt) => match attempt? {
                Attempt::Error(error) => {
                    let message = error.message(scrubber);
                    log::debug!("GET {display_url}: {message} (attempt {attempts}, {attempt_time:.1?})");
                    (error.kind, error.into_error(scrubber, context()))
                }
                Attempt::Response(received, offsets) => {
                    let (url, status) = (&received.url, received.status);
                    log::debug!("GET {url}: {status} (attempt {attempts}, {attempt_time:.1?})");
                    if status == 200 && document_status.is_none() {
                        counter.record_response();
                        // A token may be plain text, which no error may quote.
                        let json_check = match request.operation {
                            operation::SUBSCRIPTION_TOKEN => Ok(()),
                            _ => response::check_json(&received),
                        };
                        let refusal = json_check.err().map(|error| match Error::decode(error, scrubber) {
                            Error::Decode(wrong) => {
                                Box::new(Error::Decode(Undecodable { advice: Advice::CheckBaseAddress, ..wrong }))
                            }
                            other => Box::new(other),
                        });
                        return Ok(Response {
                            refusal,
                            lease: Some(lease),
                            ..into_response(received, scrubber, started.elapsed(), attempts)
                        });
                    }
                    let mut error = match document_status {
                        Some(status) => response::document_error(&received, status, request.auth, attempts, offsets),
                        None => response::error(&received, request.auth, attempts, offsets),
                    };
                    error.retry_after = received.retry_after(machine::now());
                    error.elapsed = started.elapsed();
                    // The request is sent again with the right date. This does not count as a retry.
                    if request.auth == Auth::Signed
                        && !is_clock_corrected
                        && offsets.explains(&error)
                        && learn_offset(shared, offsets)
                    {
                        is_clock_corrected = true;
                        continue;
                    }
                    let failure = FailureKind::Status(document_status.unwrap_or(status), error.retry_after);
                    document = document_status.map(|_| into_response(received, scrubber, started.elapsed(), attempts));
                    (failure, Error::Api(Box::new(error)))
                }
            },
        };

        counter.record_failure(&error, failure == FailureKind::Permanent);
        let remaining = deadline.saturating_duration_since(Instant::now());
        let Some(delay) = retry::delay(failure, retry_state, max_retries, remaining, machine::chance()) else {
            let Some(response) = document else { return Err(error) };
            return Ok(Response { refusal: Some(Box::new(error)), ..response });
        };
        retry_state.retries += 1;
        retry_state.has_retried_500 |= matches!(failure, FailureKind::Status(500, _));
        let reason = scrubber.composed(error.to_string());
        let (seconds, retries) = (delay.as_secs_f64(), retry_state.retries);
        let message = format!("{reason}; retrying in {seconds:.1} s (retry {retries} of {max_retries})");
        match shared.retry_log.record(Instant::now()) {
            Some(0) => log::warn!("{message}"),
            Some(others) => log::warn!("{message}; {others} other retries since the last such warning"),
            None => log::debug!("{message}"),
        }
        last_error = Some(reason);
        // The body is not needed any more: free its memory before the delay.
        drop(lease);
        sleep(delay).await;
    }
}

/// The error message for a live stream without a response within its limit.
pub(crate) fn no_response(limit: Duration) -> Scrubbed {
    Scrubbed::local(format!("no response within {} s", limit.as_secs_f64()))
}

fn into_response(received: ReceivedResponse, scrubber: &Scrubber, elapsed: Duration, attempts: u32) -> Response {
    Response {
        request_id: received.request_id(),
        scrubber: scrubber.clone(),
        status: received.status,
        headers: received.headers,
        body: Arc::new(received.body),
        url: received.url,
        elapsed,
        fetched_at: machine::now(),
        attempts,
        refusal: None,
        lease: None,
    }
}

/// Runs an attempt until the deadline, which is extended by the time that its lease waits for memory.
async fn run_until<T>(
    deadline: Instant,
    lease: &Lease,
    attempt: impl Future<Output = T>,
) -> std::result::Result<T, Elapsed> {
    let mut attempt = std::pin::pin!(attempt);
    let mut extension = Duration::ZERO;
    loop {
        match timeout_at(deadline + extension, &mut attempt).await {
            Err(elapsed) if lease.wait_time() <= extension => return Err(elapsed),
            Err(_) => extension = lease.wait_time(),
            Ok(attempt) => return Ok(attempt),
        }
    }
}

/// Learns the measured clock offset. Returns whether there is one to learn.
fn learn_offset(shared: &Shared, offsets: ClockOffsets) -> bool {
    let Some(offset_ms) = offsets.measured else { return false };
    let Some(previous_ms) = shared.clock.learn(offset_ms) else { return false };
    // Warn once, even if many concurrent requests are refused.
    if (offset_ms - previous_ms).abs() >= response::MIN_MEASURABLE_MS {
        let skew = response::describe_skew(offset_ms);
        log::warn!(
            "{skew}, so the service refused requests. They are now dated by the service's clock; set this machine's clock"
        );
    }
    true
}

/// One attempt, including redirects.
async fn attempt(
    shared: &Shared,
    client: &HttpClient,
    authenticated: &AuthenticatedRequest,
    display_url: &Scrubbed,
    lease: &Lease,
) -> Result<Attempt> {
    let mut url = authenticated.url().clone();
    let mut redirects = 0;
    loop {
        let applied = shared.clock.offset_ms();
        let sent = machine::now();
        let response = match client.execute(authenticated.sign(&url, sent, applied)?).await {
            Ok(response) => response,
            Err(error) => return Ok(Attempt::Error(error)),
        };
        let offsets = ClockOffsets { measured: measure_offset(&response, sent), applied };
        let redirect_refusal = match evaluate_redirect(shared, &response, &url, redirects) {
            Redirect::Follow(to) => {
                (url, redirects) = (to, redirects + 1);
                continue;
            }
            Redirect::Refused(why) => Some(why),
            Redirect::No => None,
        };
        let url = if redirects == 0 { display_url.clone() } else { shared.scrubber.url(url.as_str()) };
        return Ok(match receive(response, lease, shared.body_limit, &shared.scrubber, url, redirect_refusal).await {
            Ok(received) => Attempt::Response(received, offsets),
            Err(error) => Attempt::Error(error),
        });
    }
}

/// `redirects`: the number of redirects that have been followed already.
pub(super) fn evaluate_redirect(shared: &Shared, response: &reqwest::Response, url: &Url, redirects: u32) -> Redirect {
    let location = response.headers().get("location").map(|value| String::from_utf8_lossy(value.as_bytes()));
    redirect::evaluate(url, response.status().as_u16(), location.as_deref(), redirects, &shared.scrubber)
}

/// The offset of the service's clock. `None` for a cached response (`Age`), whose date is in the past.
pub(super) fn measure_offset(response: &reqwest::Response, sent: SystemTime) -> Option<i64> {
    if response.headers().contains_key("age") {
        return None;
    }
    let date = response.headers().get("date")?.to_str().ok()?;
    clock::measure_offset(date, sent, machine::now())
}

/// Reads a response to its end.
pub(super) async fn receive(
    mut response: reqwest::Response,
    lease: &Lease,
    limit: usize,
    scrubber: &Scrubber,
    url: Scrubbed,
    redirect_refusal: Option<Scrubbed>,
) -> std::result::Result<ReceivedResponse, AttemptError> {
    let status = response.status().as_u16();
    let announced = response.content_length().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    if status == 200 && announced > limit {
        return Err(AttemptError::body_too_large(limit));
    }
    // Lease all of it before reading: a body that waits here holds no memory that others need.
    if status == 200 {
        lease.grow_to(announced).await.map_err(AttemptError::from_lease)?;
    }
    let mut body = Body::with_capacity(announced.min(MAX_INITIAL_CAPACITY));
    let error_deadline = Instant::now() + ERROR_BODY_TIMEOUT;
    loop {
        let chunk = match status {
            200 => response.chunk().await,
            // The status alone is an error, so do not wait long for the body.
            _ => match timeout_at(error_deadline, response.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) => break,
            },
        };
        match chunk {
            Ok(None) => break,
            Ok(Some(chunk)) if status != 200 && body.len() + chunk.len() > MAX_ERROR_BODY => break,
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(AttemptError::body_too_large(limit)),
            Ok(Some(chunk)) => {
                // Error bodies are small and need no lease.
                if status == 200 && body.len() + chunk.len() > announced {
                    lease.grow_to(body.len() + chunk.len()).await.map_err(AttemptError::from_lease)?;
                }
                body.extend_from_slice(&chunk);
            }
            // The status matters more than the end of the body.
            Err(_) if status != 200 => break,
            Err(error) => return Err(AttemptError::from_reqwest(error)),
        }
    }
    let is_compressed = response.headers().get(CONTENT_ENCODING).is_some_and(|value| {
        // RFC 9110, 8.4.1.3: `x-gzip` is the same.
        [&b"gzip"[..], b"x-gzip"].iter().any(|name| value.as_bytes().eq_ignore_ascii_case(name))
    });
    let body = match is_compressed {
        false => body.finish(),
        true if status != 200 => inflate::inflate_prefix(body.as_slice(), MAX_ERROR_BODY),
        true => inflate_body(body, lease, limit).await?,
    };
    if status == 200 {
        lease.shrink_to(body.len());
    }
    // These two headers do not describe an inflated body.
    let is_kept = |name: &HeaderName| !is_compressed || (name != CONTENT_ENCODING && name != CONTENT_LENGTH);
    let text = |value: &HeaderValue| scrubber.header(String::from_utf8_lossy(value.as_bytes()));
    let headers = response.headers().iter().filter(|(name, _)| is_kept(name));
    let headers = headers.map(|(name, value)| (name.as_str().to_string(), text(value))).collect();
    Ok(ReceivedResponse { status, headers, body, url, redirect_refusal, scrubber: scrubber.clone() })
}

async fn inflate_body(compressed: Body, lease: &Lease, limit: usize) -> std::result::Result<Body, AttemptError> {
    let mut inflation = Inflation::new(compressed, limit);
    loop {
        lease.grow_to(inflation.required_memory()).await.map_err(AttemptError::from_lease)?;
        let step = if inflation.is_inline() {
            inflation.run()
        } else {
            match spawn_blocking(move || inflation.run()).await {
                Ok(step) => step,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The runtime is shutting down, so the result does not matter.
                    Err(_) => Err(InflateError::Damaged),
                },
            }
        };
        match step {
            Ok(InflateStep::Done(body)) => return Ok(body),
            Ok(InflateStep::More(more)) => inflation = more,
            Err(InflateError::TooLarge) => return Err(AttemptError::body_too_large(limit)),
            Err(InflateError::Damaged) => return Err(AttemptError::damaged_gzip()),
        }
    }
}
