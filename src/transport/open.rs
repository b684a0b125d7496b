//! Answers that do not end: one attempt to open a stream. When to try again is the stream's own matter.

use super::failure::Failure;
use super::http::Client;
use super::redirect::Redirect;
use super::respond::{self, Clocks};
use super::target::Target;
use super::{Shared, Transport, http, send};
use crate::error::{Error, Requested, Result};
use crate::machine;
use crate::operation::{Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use hyper::ext::ReasonPhrase;
use reqwest::Response;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::sync::PoisonError;
use std::time::Duration;
use url::Url;

/// Why a stream was not opened.
#[derive(Debug)]
pub(crate) struct Unopened {
    pub error: Error,
    /// Of an answer that is not the one asked for.
    pub status: Option<u16>,
    /// What the answer's `Retry-After` asks for.
    pub wait: Option<Duration>,
}

impl Unopened {
    fn of(error: Error) -> Self {
        Unopened { error, status: None, wait: None }
    }
}

/// Which of the two kinds of streams.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Broadcast = 0,
    Websocket = 1,
}

impl Shared {
    fn stream_client(&self, kind: Kind, url: &Url) -> Result<Client> {
        let mut slot = self.streams[kind as usize].lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(client) => Ok(client.clone()),
            None => Ok(slot.insert(http::client(&self.config, url, http::Use::Streams)?).clone()),
        }
    }
}

impl Transport {
    /// Ends when the transport is closed.
    pub(crate) async fn closed(&self) {
        self.shared.closed.wait().await;
    }

    /// Opens an event stream of the Broadcast API: an answer of status 200.
    pub(crate) async fn open_event_stream(
        &self,
        request: &Request,
        last_event_id: &str,
    ) -> std::result::Result<Response, Unopened> {
        let shared = &*self.shared;
        let scrubber = &shared.scrubber;
        let target = Target::new(request, &shared.config).map_err(|error| Unopened::of(error.scrubbed(scrubber)))?;
        let client = shared.stream_client(Kind::Broadcast, target.url()).map_err(Unopened::of)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if !last_event_id.is_empty() {
            // As UTF-8, as it came.
            let id = http::header(last_event_id, "the last event id").map_err(Unopened::of)?;
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        let mut url = target.url().clone();
        let mut followed = 0;
        loop {
            let mut asked = target.request(&url, machine::now(), 0).map_err(Unopened::of)?;
            asked.headers_mut().extend(headers.clone());
            let response = execute(&client, asked, scrubber, &target.shown(scrubber)).await?;
            let refused = match send::redirected(shared, &response, &url, followed) {
                Redirect::Follow(to) => {
                    (url, followed) = (to, followed + 1);
                    continue;
                }
                Redirect::Refused(why) => Some(why),
                Redirect::No => None,
            };
            return match response.status().as_u16() {
                200 => check(shared, response, &url),
                _ => Err(unopened(shared, response, scrubber, &url, refused, request.auth).await),
            };
        }
    }

    /// Opens a websocket: an answer of status 101. The token stands in the address, which is shown without it.
    pub(crate) async fn open_websocket(
        &self,
        url: &Url,
        headers: HeaderMap,
        scrubber: &Scrubber,
    ) -> std::result::Result<Response, Unopened> {
        let shared = &*self.shared;
        let client = shared.stream_client(Kind::Websocket, url).map_err(Unopened::of)?;
        let mut request = reqwest::Request::new(reqwest::Method::GET, url.clone());
        *request.headers_mut() = headers;
        let response = execute(&client, request, scrubber, &scrubber.url(url.as_str())).await?;
        match response.status().as_u16() {
            101 => Ok(response),
            _ => Err(unopened(shared, response, scrubber, url, None, Auth::ApiKey).await),
        }
    }
}

async fn execute(
    client: &Client,
    request: reqwest::Request,
    scrubber: &Scrubber,
    shown: &Scrubbed,
) -> std::result::Result<Response, Unopened> {
    let failed = |failure: Failure| Unopened::of(failure.error(scrubber, requested(shown.clone())));
    client.execute(request).await.map_err(failed)
}

/// A stream is opened by one attempt, and how long that took nobody is told.
fn requested(url: Scrubbed) -> Requested {
    Requested { url, attempts: 1, elapsed: Duration::ZERO }
}

/// What came instead of a stream.
async fn unopened(
    shared: &Shared,
    response: Response,
    scrubber: &Scrubber,
    url: &Url,
    refused: Option<Scrubbed>,
    auth: Auth,
) -> Unopened {
    let status = Some(response.status().as_u16());
    let phrase =
        response.extensions().get::<ReasonPhrase>().map(|p| String::from_utf8_lossy(p.as_bytes()).into_owned());
    match send::receive(response, &shared.memory.lease(), shared.body_limit, scrubber, url, refused).await {
        Ok(answer) => {
            let wait = answer.retry_after(machine::now());
            let mut error = respond::error(&answer, auth, 1, Clocks::default());
            error.retry_after = wait;
            // A reason that is not the status's usual one says what was wrong.
            if let Some(phrase) = phrase {
                error.message = scrubber.message(format!("{}: {}", phrase.trim(), error.message));
            }
            let error = Error::Api(Box::new(error));
            Unopened { error, status, wait }
        }
        Err(failure) => {
            let error = failure.error(scrubber, requested(scrubber.url(url.as_str())));
            Unopened { error, status, wait: None }
        }
    }
}

/// A log-in page is no event stream. The specification asks for 200 only, so an answer that names no type is taken.
fn check(shared: &Shared, response: Response, url: &Url) -> std::result::Result<Response, Unopened> {
    let text = |name: &HeaderName| {
        response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase())
    };
    let kind = text(&header::CONTENT_TYPE);
    let essence = kind.as_deref().map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let encoding = text(&header::CONTENT_ENCODING).filter(|encoding| !encoding.is_empty() && encoding != "identity");
    let why = match (essence, encoding) {
        (_, Some(encoding)) => format!("it is compressed ({encoding}), which was not asked for"),
        (None | Some("text/event-stream"), None) => return Ok(response),
        (Some(other), None) => format!("its content type is {other:?}"),
    };
    let (shown, why) = (shared.scrubber.url(url.as_str()), shared.scrubber.id(why));
    let text = format!("the answer of GET {shown} is no event stream: {why}");
    Err(Unopened { error: Error::Transport(shared.scrubber.composed(text).into()), status: Some(200), wait: None })
}
