//! One attempt: redirects are followed and the body is read to its end.

use super::attempt_error::AttemptError;
use super::authentication::AuthenticatedRequest;
use super::http::HttpClient;
use super::inflate::{self, InflateError, InflateStep, Inflation};
use super::memory::Lease;
use super::redirect::{self, Redirect};
use super::response::{ClockOffsets, ReceivedResponse};
use super::trace::Trace;
use super::{Shared, clock};
use crate::error::Result;
use crate::machine::{self, Unfinished};
use crate::scrub::{Scrubbed, Scrubber};
use reader::Body;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue};
use std::panic::resume_unwind;
use std::time::{Duration, SystemTime};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use url::Url;

/// The bodies of errors are cut to this.
const MAX_ERROR_BODY: usize = 64 * 1024;
pub(super) const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The peer chooses the `Content-Length`, so no more than this is allocated in advance.
const MAX_INITIAL_CAPACITY: usize = 16 * 1024 * 1024;

/// The result of an attempt.
pub(super) enum Attempt {
    Response(ReceivedResponse, ClockOffsets),
    Error(AttemptError),
}

/// Runs an attempt until the deadline, which is extended by the time that its lease waits for memory.
pub(super) async fn run_until<T>(
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

/// One attempt, including redirects.
pub(super) async fn attempt(
    shared: &Shared,
    client: &HttpClient,
    authenticated: &AuthenticatedRequest,
    display_url: &Scrubbed,
    lease: &Lease,
    span: &Trace,
) -> Result<Attempt> {
    let mut url = authenticated.url().clone();
    let mut redirects = 0;
    loop {
        let applied = shared.clock.offset_ms();
        let sent = machine::now();
        let mut request = authenticated.sign(&url, sent, applied)?;
        span.propagate(request.headers_mut());
        let response = match client.execute(request).await {
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
        let scrubber = &shared.scrubber;
        let received =
            receive(response, lease, shared.body_limit, scrubber, url, redirect_refusal, ERROR_BODY_TIMEOUT).await;
        return Ok(match received {
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

/// Reads a response to its end; that of an error for at most `error_timeout`.
pub(super) async fn receive(
    mut response: reqwest::Response,
    lease: &Lease,
    limit: usize,
    scrubber: &Scrubber,
    url: Scrubbed,
    redirect_refusal: Option<Scrubbed>,
    error_timeout: Duration,
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
    let mut body = Body::default();
    body.try_reserve(announced.min(MAX_INITIAL_CAPACITY)).map_err(|_| AttemptError::out_of_memory())?;
    let error_deadline = Instant::now() + error_timeout;
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
                body.try_reserve(chunk.len()).map_err(|_| AttemptError::out_of_memory())?;
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
            match machine::run_blocking(move || inflation.run()).await {
                Ok(step) => step,
                Err(Unfinished::OutOfMemory) => Err(InflateError::OutOfMemory),
                Err(Unfinished::Stopped(error)) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The runtime is shutting down, so the result does not matter.
                    Err(_) => Err(InflateError::Damaged),
                },
            }
        };
        match step {
            Ok(InflateStep::Done(body)) => return Ok(body),
            Ok(InflateStep::More(more)) => inflation = more,
            Err(InflateError::OutOfMemory) => return Err(AttemptError::out_of_memory()),
            Err(InflateError::TooLarge) => return Err(AttemptError::body_too_large(limit)),
            Err(InflateError::Damaged) => return Err(AttemptError::damaged_gzip()),
        }
    }
}
