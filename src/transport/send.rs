//! One request until it is answered or given up: an attempt, a verdict, a wait.

use super::budget::Kind;
use super::failure::Failure;
use super::http::Client;
use super::inflate::{self, Inflation, Refused, Step};
use super::memory::Lease;
use super::outage::Attempts;
use super::redirect::{self, Redirect};
use super::respond::{self, Answer, Clocks};
use super::retry::{self, Outcome, Past};
use super::target::Target;
use super::{CallLimits, Response, Shared, clock};
use crate::advice::Advice;
use crate::error::{Error, Requested, Result, Unanswered, Undecodable};
use crate::json::Body;
use crate::machine;
use crate::operation::{self, Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

/// An error's body beyond this is of no use to anyone.
const ERROR_BODY: usize = 64 * 1024;
/// The time that the body of an error may take to arrive.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);
/// A body's length is announced by its peer: more than this is reserved only as it arrives.
const RESERVE: usize = 16 * 1024 * 1024;

/// What an attempt gave.
enum Attempt {
    Answer(Answer, Clocks),
    Failure(Failure),
}

/// `counted` counts the attempts, also where the request is given up. `silence_limit`: the request is a live stream's, goes
/// ahead of calls, and is given up when an attempt is not answered for so long.
pub(super) async fn send(
    shared: &Shared,
    request: &Request,
    counted: &Attempts<'_>,
    silence_limit: Option<Duration>,
    limits: Option<&CallLimits>,
) -> Result<Response> {
    let scrubber = &shared.scrubber;
    let target = Target::new(request, &shared.config).map_err(|error| error.scrubbed(scrubber))?;
    let client = match limits {
        Some(limits) => limits.client(shared, request.auth, target.url())?,
        None => shared.client(request.auth, target.url())?,
    };
    let shown = target.shown(scrubber);
    let total = limits.map_or(shared.config.timeouts.total, |limits| limits.total);
    let max_retries = limits.map_or(shared.config.max_retries, |limits| limits.max_retries);
    let kind = if silence_limit.is_some() { Kind::Live } else { Kind::Call };

    let mut past = Past::default();
    let mut clock_corrected = false;
    let mut attempts = 0;
    let mut last = None;
    let mut started: Option<Instant> = None;
    let mut deadline = Instant::now() + total;
    loop {
        // A turn in the client's own queue is not the service's time: the deadline moves on with it.
        let queued = Instant::now();
        if kind == Kind::Call {
            shared.memory.room().await;
        }
        let permit = shared.budget.admit(kind).await;
        deadline += queued.elapsed();
        let begun = Instant::now();
        let started = *started.get_or_insert(begun);
        attempts += 1;
        counted.begin();
        let silent = silence_limit.filter(|limit| *limit < deadline.saturating_duration_since(begun));
        let until = silent.map_or(deadline, |limit| begun + limit);
        let lease = Arc::new(shared.memory.lease());
        let attempt = within(until, &lease, attempt(shared, &client, &target, &lease)).await;
        deadline += lease.waited();
        let mut stated = None;
        if let Ok(Ok(Attempt::Answer(answer, _))) = &attempt {
            shared.reached.store(true, Ordering::Relaxed);
            let remaining = deadline.saturating_duration_since(Instant::now());
            stated = if answer.status == 200 { respond::stated_error(answer, request) } else { None };
            match stated.unwrap_or(answer.status) {
                // What asks for longer than a call may take fails this call, and holds no other.
                429 => permit.refused(answer.retry_after(machine::now()).filter(|wait| *wait < remaining)),
                _ => permit.accepted(),
            }
        }
        drop(permit);
        let took = begun.elapsed();
        let requested = || Requested { url: shown.clone(), attempts, elapsed: started.elapsed() };
        if matches!(&attempt, Ok(Ok(Attempt::Failure(failure))) if failure.outcome == Outcome::NoRoom) {
            continue;
        }

        let mut document = None;
        let (outcome, error) = match attempt {
            Err(_) => {
                let error = match silent {
                    Some(limit) => {
                        Error::Timeout(Unanswered::new(no_answer(limit), Advice::TryAgain, Some(requested())))
                    }
                    None => Failure::out_of_time(total.as_secs_f64(), last).error(scrubber, requested()),
                };
                counted.failed(&error, true);
                return Err(error);
            }
            Ok(attempt) => match attempt? {
                Attempt::Failure(failure) => {
                    log::debug!("GET {shown}: {} (attempt {attempts}, {took:.1?})", failure.story(scrubber));
                    (failure.outcome, failure.error(scrubber, requested()))
                }
                Attempt::Answer(answer, clocks) => {
                    log::debug!("GET {}: {} (attempt {attempts}, {took:.1?})", answer.url, answer.status);
                    if answer.status == 200 && stated.is_none() {
                        counted.responded();
                        // A token may come as plain text, and no error may quote it.
                        let is_json = match request.operation {
                            operation::SUBSCRIPTION_TOKEN => Ok(()),
                            _ => respond::check_json(&answer),
                        };
                        let refusal = is_json.err().map(|error| match error.scrubbed(scrubber) {
                            Error::Decode(wrong) => {
                                Box::new(Error::Decode(Undecodable { advice: Advice::CheckBaseAddress, ..wrong }))
                            }
                            other => Box::new(other),
                        });
                        return Ok(Response {
                            refusal,
                            lease: Some(lease),
                            ..response(answer, scrubber, started.elapsed(), attempts)
                        });
                    }
                    let status = stated.unwrap_or(answer.status);
                    let mut error = match stated {
                        Some(status) => respond::document_error(&answer, status, request.auth, attempts, clocks),
                        None => respond::error(&answer, request.auth, attempts, clocks),
                    };
                    error.retry_after = answer.retry_after(machine::now());
                    error.elapsed = started.elapsed();
                    // Not a retry: signed once more with the right date, whatever `max_retries` says.
                    if request.auth == Auth::Signed
                        && !clock_corrected
                        && clocks.refused_the_date(&error)
                        && learn(shared, clocks)
                    {
                        clock_corrected = true;
                        continue;
                    }
                    let outcome = Outcome::Status(status, error.retry_after);
                    document = stated.map(|_| response(answer, scrubber, started.elapsed(), attempts));
                    (outcome, Error::Api(Box::new(error)))
                }
            },
        };

        counted.failed(&error, outcome == Outcome::Final);
        let remaining = deadline.saturating_duration_since(Instant::now());
        let Some(wait) = retry::wait(outcome, past, max_retries, remaining, machine::chance()) else {
            let Some(response) = document else { return Err(error) };
            return Ok(Response { refusal: Some(Box::new(error)), ..response });
        };
        past.retries += 1;
        past.after_500 |= matches!(outcome, Outcome::Status(500, _));
        let reason = scrubber.composed(error.to_string());
        let again = format!("{reason}; sent again in {:.1} s ({} of {max_retries})", wait.as_secs_f64(), past.retries);
        match shared.retry_log.count(Instant::now()) {
            Some(0) => log::warn!("{again}"),
            Some(more) => log::warn!("{again}; {more} other requests were sent again since the last such warning"),
            None => log::debug!("{again}"),
        }
        last = Some(reason);
        // Nothing of the body is kept: others may have its room.
        drop(lease);
        sleep(wait).await;
    }
}

/// What is said where nothing came within a live stream's limit.
pub(crate) fn no_answer(limit: Duration) -> Scrubbed {
    Scrubbed::local(format!("no answer within {} s", limit.as_secs_f64()))
}

fn response(answer: Answer, scrubber: &Scrubber, elapsed: Duration, attempts: u32) -> Response {
    Response {
        request_id: answer.request_id(),
        scrubber: scrubber.clone(),
        status: answer.status,
        headers: answer.headers,
        body: std::sync::Arc::new(answer.body),
        url: answer.url,
        elapsed,
        fetched_at: machine::now(),
        attempts,
        refusal: None,
        lease: None,
    }
}

/// The attempt, if it ends until then. A wait for room in memory is no silence of the service: the time moves on with it.
async fn within<T>(until: Instant, lease: &Lease, attempt: impl Future<Output = T>) -> std::result::Result<T, Elapsed> {
    let mut attempt = std::pin::pin!(attempt);
    let mut waited = Duration::ZERO;
    loop {
        match timeout_at(until + waited, &mut attempt).await {
            Err(elapsed) if lease.waited() <= waited => return Err(elapsed),
            Err(_) => waited = lease.waited(),
            Ok(attempt) => return Ok(attempt),
        }
    }
}

/// Takes over the service's time from a refusal; says whether that changes the next request's date.
fn learn(shared: &Shared, clocks: Clocks) -> bool {
    let Some(ahead) = clocks.ahead else { return false };
    let Some(before) = shared.clock.learn(ahead) else { return false };
    // Requests at once are refused at once: one warning for all.
    if (ahead - before).abs() >= respond::NOISE {
        let skew = respond::skew(ahead);
        log::warn!(
            "{skew}, so requests were refused: they are dated by the service's clock now. Set this machine's clock"
        );
    }
    true
}

/// One attempt, with the redirects of the same server.
async fn attempt(shared: &Shared, client: &Client, target: &Target, lease: &Lease) -> Result<Attempt> {
    let mut url = target.url().clone();
    let mut followed = 0;
    loop {
        let used = shared.clock.ahead();
        let sent = machine::now();
        let response = match client.execute(target.request(&url, sent, used)?).await {
            Ok(response) => response,
            Err(failure) => return Ok(Attempt::Failure(failure)),
        };
        let clocks = Clocks { ahead: measure(&response, sent), used };
        let refused = match redirected(shared, &response, &url, followed) {
            Redirect::Follow(to) => {
                (url, followed) = (to, followed + 1);
                continue;
            }
            Redirect::Refused(why) => Some(why),
            Redirect::No => None,
        };
        return Ok(match receive(response, lease, shared.body_limit, &shared.scrubber, &url, refused).await {
            Ok(answer) => Attempt::Answer(answer, clocks),
            Err(failure) => Attempt::Failure(failure),
        });
    }
}

/// Where an answer sends its request, which was the redirect of so many.
pub(super) fn redirected(shared: &Shared, response: &reqwest::Response, url: &Url, followed: u32) -> Redirect {
    let location = response.headers().get("location").map(|value| String::from_utf8_lossy(value.as_bytes()));
    redirect::read(url, response.status().as_u16(), location.as_deref(), followed, &shared.scrubber)
}

/// How far the service's clock is ahead; unknown for a response out of a cache (`Age`), which is dated by when it was made.
pub(super) fn measure(response: &reqwest::Response, sent: SystemTime) -> Option<i64> {
    if response.headers().contains_key("age") {
        return None;
    }
    let date = response.headers().get("date")?.to_str().ok()?;
    clock::measure(date, sent, machine::now())
}

/// Reads an answer to its end.
pub(super) async fn receive(
    mut response: reqwest::Response,
    lease: &Lease,
    limit: usize,
    scrubber: &Scrubber,
    url: &Url,
    refused: Option<Scrubbed>,
) -> std::result::Result<Answer, Failure> {
    let status = response.status().as_u16();
    let announced = response.content_length().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    if status == 200 && announced > limit {
        return Err(Failure::too_large(limit));
    }
    // All of it before a byte is read: who waits here holds nothing that others need.
    if status == 200 {
        lease.grow_to(announced).await.map_err(Failure::no_room)?;
    }
    let mut body = Body::with_capacity(announced.min(RESERVE));
    let until = Instant::now() + ERROR_BODY_WAIT;
    loop {
        let chunk = match status {
            200 => response.chunk().await,
            // An error whose body never ends is one all the same.
            _ => match timeout_at(until, response.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) => break,
            },
        };
        match chunk {
            Ok(None) => break,
            Ok(Some(chunk)) if status != 200 && body.len() + chunk.len() > ERROR_BODY => break,
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(Failure::too_large(limit)),
            Ok(Some(chunk)) => {
                // Of an error no more than `ERROR_BODY` is kept.
                if status == 200 && body.len() + chunk.len() > announced {
                    lease.grow_to(body.len() + chunk.len()).await.map_err(Failure::no_room)?;
                }
                body.extend_from_slice(&chunk);
            }
            // The status is known: it says more than how its body ended.
            Err(_) if status != 200 => break,
            Err(error) => return Err(Failure::of(error)),
        }
    }
    let is_compressed =
        response.headers().get(CONTENT_ENCODING).is_some_and(|how| how.as_bytes().eq_ignore_ascii_case(b"gzip"));
    let body = match is_compressed {
        false => body.finish(),
        true if status != 200 => inflate::inflate_start(body.as_slice(), ERROR_BODY),
        true => inflated(body, lease, limit).await?,
    };
    if status == 200 {
        lease.shrink_to(body.len());
    }
    // Of a body that was inflated neither is true any more.
    let is_true = |name: &HeaderName| !is_compressed || (name != CONTENT_ENCODING && name != CONTENT_LENGTH);
    let text = |value: &HeaderValue| scrubber.header(String::from_utf8_lossy(value.as_bytes()));
    let headers = response.headers().iter().filter(|(name, _)| is_true(name));
    let headers = headers.map(|(name, value)| (name.as_str().to_string(), text(value))).collect();
    Ok(Answer { status, headers, body, url: scrubber.url(url.as_str()), refused, scrubber: scrubber.clone() })
}

async fn inflated(compressed: Body, lease: &Lease, limit: usize) -> std::result::Result<Body, Failure> {
    let mut inflation = Inflation::new(compressed, limit);
    loop {
        lease.grow_to(inflation.needs()).await.map_err(Failure::no_room)?;
        let step = if inflation.is_short() {
            inflation.run()
        } else {
            match spawn_blocking(move || inflation.run()).await {
                Ok(step) => step,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The runtime has ended, and nobody waits for this answer.
                    Err(_) => Err(Refused::Damaged),
                },
            }
        };
        match step {
            Ok(Step::Done(body)) => return Ok(body),
            Ok(Step::More(more)) => inflation = more,
            Err(Refused::TooLarge) => return Err(Failure::too_large(limit)),
            Err(Refused::Damaged) => return Err(Failure::damaged()),
        }
    }
}
