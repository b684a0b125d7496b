//! What an attempt does: redirects are followed and the body is read to its end.

use super::attempt_error::AttemptError;
use super::authentication::AuthenticatedRequest;
use super::inflate::{self, InflateError, InflateStep, Inflation};
use super::memory::Lease;
use super::redirect::{self, Redirect};
use super::response::ClockOffsets;
use super::{Response, Shared, clock};
use crate::error::Result;
use crate::machine::{self, Unfinished};
use crate::scrub::{Scrubbed, Scrubber};
use reader::Body;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout_at};
use url::Url;

/// The bodies of errors are cut to this.
const MAX_ERROR_BODY: usize = 64 * 1024;
pub(super) const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The peer chooses the `Content-Length`, so no more than this is allocated in advance.
const MAX_INITIAL_CAPACITY: usize = 16 * 1024 * 1024;

/// The last response to a request: those before it are redirects.
pub(super) struct Exchange {
    pub response: reqwest::Response,
    /// Where it was sent.
    pub url: Url,
    pub redirect_refusal: Option<Scrubbed>,
    pub offsets: ClockOffsets,
}

/// A request on its way: signed for its own address, then for each to which it is redirected.
pub(super) struct Hops<'a> {
    shared: &'a Shared,
    request: &'a AuthenticatedRequest,
    url: Url,
    redirects: u32,
    sent_at: SystemTime,
    offset_ms: i64,
}

impl<'a> Hops<'a> {
    pub(super) fn new(shared: &'a Shared, request: &'a AuthenticatedRequest) -> Self {
        let url = request.url.clone();
        Hops { shared, request, url, redirects: 0, sent_at: UNIX_EPOCH, offset_ms: 0 }
    }

    /// Signs the next request, dated by a clock that is so far ahead of this machine's.
    pub(super) fn sign(&mut self, offset_ms: i64) -> Result<reqwest::Request> {
        (self.sent_at, self.offset_ms) = (machine::now(), offset_ms);
        self.request.sign(&self.url, self.sent_at, offset_ms)
    }

    /// Takes a response; `None` if another request follows.
    pub(super) fn take(&mut self, response: reqwest::Response) -> Option<Exchange> {
        let offsets = ClockOffsets { measured_ms: measure_offset(&response, self.sent_at), applied_ms: self.offset_ms };
        let location = response.headers().get("location").map(|value| String::from_utf8_lossy(value.as_bytes()));
        let (status, scrubber) = (response.status().as_u16(), &self.shared.scrubber);
        let redirect_refusal =
            match redirect::evaluate(&self.url, status, location.as_deref(), self.redirects, scrubber) {
                Redirect::Follow(to) => {
                    (self.url, self.redirects) = (to, self.redirects + 1);
                    return None;
                }
                Redirect::Refused(reason) => Some(reason),
                Redirect::No => None,
            };
        Some(Exchange { response, url: self.url.clone(), redirect_refusal, offsets })
    }
}

/// The offset of the service's clock. `None` for a cached response (`Age`), whose date is in the past.
pub(super) fn measure_offset(response: &reqwest::Response, sent_at: SystemTime) -> Option<i64> {
    if response.headers().contains_key("age") {
        return None;
    }
    let date = response.headers().get("date")?.to_str().ok()?;
    clock::measure_offset(date, sent_at, machine::now())
}

/// Reads a response to its end; that of an error for at most `error_timeout`.
pub(super) async fn receive(
    shared: &Shared,
    mut response: reqwest::Response,
    lease: &Lease,
    scrubber: &Scrubber,
    url: Scrubbed,
    error_timeout: Duration,
) -> std::result::Result<Response, AttemptError> {
    let limit = shared.body_limit;
    let status = response.status().as_u16();
    let body = match status {
        200 => read_body(&mut response, lease, limit).await?,
        _ => read_error_body(&mut response, limit, error_timeout).await?,
    };
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
    let headers: Vec<_> = headers.map(|(name, value)| (name.as_str().to_string(), text(value))).collect();
    Ok(Response {
        status,
        request_id: request_id(&headers).map(|id| scrubber.id(id)),
        headers,
        body: Arc::new(body),
        url,
        scrubber: scrubber.clone(),
        elapsed: Duration::ZERO,
        fetched_at: machine::now(),
        attempts: 1,
        refusal: None,
        redirect_refusal: None,
        lease: None,
        max_memory: shared.config.max_memory,
    })
}

/// The request id from a header. The service's errors have it in their body instead.
fn request_id(headers: &[(String, Scrubbed)]) -> Option<&Scrubbed> {
    let is_request_id = |name: &str| name.ends_with("request-id") || name.ends_with("requestid");
    headers.iter().find(|(name, value)| is_request_id(name) && !value.is_empty()).map(|(_, value)| value)
}

/// Leases all that is announced before reading: a body that waits here holds no memory that others need.
async fn read_body(
    response: &mut reqwest::Response,
    lease: &Lease,
    limit: usize,
) -> std::result::Result<Body, AttemptError> {
    let content_length = content_length(response);
    if content_length > limit {
        return Err(AttemptError::body_too_large(limit));
    }
    lease.grow_to(content_length).await.map_err(AttemptError::from_lease)?;
    let mut body = with_capacity(content_length)?;
    while let Some(chunk) = response.chunk().await.map_err(AttemptError::from_reqwest)? {
        let bytes = body.len() + chunk.len();
        if bytes > limit {
            return Err(AttemptError::body_too_large(limit));
        }
        if bytes > content_length {
            lease.grow_to(bytes).await.map_err(AttemptError::from_lease)?;
        }
        append(&mut body, &chunk)?;
    }
    Ok(body)
}

/// The body of an error, as far as it comes in time: its status matters more. It is small and needs no lease.
async fn read_error_body(
    response: &mut reqwest::Response,
    limit: usize,
    timeout: Duration,
) -> std::result::Result<Body, AttemptError> {
    let deadline = Instant::now() + timeout;
    let mut body = with_capacity(content_length(response))?;
    while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
        match body.len() + chunk.len() {
            bytes if bytes > MAX_ERROR_BODY => break,
            bytes if bytes > limit => return Err(AttemptError::body_too_large(limit)),
            _ => append(&mut body, &chunk)?,
        }
    }
    Ok(body)
}

fn with_capacity(bytes: usize) -> std::result::Result<Body, AttemptError> {
    let mut body = Body::default();
    body.try_reserve(bytes.min(MAX_INITIAL_CAPACITY)).map_err(|_| AttemptError::out_of_memory())?;
    Ok(body)
}

fn append(body: &mut Body, chunk: &[u8]) -> std::result::Result<(), AttemptError> {
    body.try_reserve(chunk.len()).map_err(|_| AttemptError::out_of_memory())?;
    body.extend_from_slice(chunk);
    Ok(())
}

fn content_length(response: &reqwest::Response) -> usize {
    response.content_length().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
}

async fn inflate_body(body: Body, lease: &Lease, limit: usize) -> std::result::Result<Body, AttemptError> {
    let mut inflation = Inflation::new(body, limit);
    loop {
        lease.grow_to(inflation.required_memory()).await.map_err(AttemptError::from_lease)?;
        let step = if inflation.is_inline() {
            inflation.run()
        } else {
            match machine::run_blocking(move || inflation.run()).await {
                Ok(step) => step,
                Err(Unfinished::Stopped(error)) if error.is_panic() => resume_unwind(error.into_panic()),
                // Or the runtime is shutting down, so the result does not matter.
                Err(_) => Err(InflateError::OutOfMemory),
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
