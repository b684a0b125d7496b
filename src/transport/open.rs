//! Opens streams, with one attempt each. The streams themselves decide when to retry.

use super::attempt::{Exchange, Hops};
use super::authentication::AuthenticatedRequest;
use super::http::{ClientUse, HttpClient};
use super::response::{self, ClockOffsets};
use super::send::no_response;
use super::trace::Trace;
use super::{Shared, Transport, attempt, http};
use crate::advice::Advice;
use crate::error::{Error, RequestContext, RequestErrorKind, Result};
use crate::operation::{Auth, Request};
use crate::scrub::{Scrubbed, Scrubber};
use hyper::ext::ReasonPhrase;
use reqwest::Response;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// Why a stream could not be opened.
#[derive(Debug)]
pub(crate) struct StreamOpenError {
    pub error: Error,
    /// Of the response, if there was one.
    pub status: Option<u16>,
    /// The delay that `Retry-After` requests.
    pub wait: Option<Duration>,
}

type OpenResult = std::result::Result<Response, StreamOpenError>;

impl StreamOpenError {
    /// What happened. A stream retries by itself, so that advice to do so is left out.
    pub(crate) fn reason(&self) -> Scrubbed {
        let advises_retry = matches!(self.error.advice().0, Advice::TryAgain);
        Scrubbed::local(if advises_retry { self.error.problem() } else { self.error.to_string() })
    }

    /// Whether the next attempt would fail too: a wrong setting stays wrong, and a peer with a wrong certificate is not the
    /// service.
    pub(crate) fn is_final(&self) -> bool {
        let is_certificate = self.error.request_kind() == Some(RequestErrorKind::Certificate);
        is_certificate || matches!(self.error, Error::Configuration(_) | Error::Argument(_))
    }
}

impl From<Error> for StreamOpenError {
    fn from(error: Error) -> Self {
        let status = if let Error::Api(response) = &error { Some(response.status) } else { None };
        StreamOpenError { error, status, wait: None }
    }
}

impl Transport {
    pub(crate) async fn closed(&self) {
        self.shared.closed.wait().await;
    }

    /// Opens an event stream of the Broadcast API: expects a response of status 200 within the limit.
    pub(crate) async fn open_event_stream(
        &self,
        request: &Request,
        last_event_id: &str,
        limit: Duration,
    ) -> OpenResult {
        let shared = &*self.shared;
        let scrubber = &shared.scrubber;
        let authenticated_request =
            AuthenticatedRequest::new(request, &shared.config).map_err(|error| error.scrub(scrubber))?;
        let client = shared.event_streams.client(&shared.config, &authenticated_request.url, ClientUse::Streams)?;
        let headers = event_stream_headers(last_event_id)?;
        let display_url = scrubber.url(&authenticated_request.url);
        let span = self.trace.attempt(&authenticated_request.url, &display_url, 0);
        let mut hops = Hops::new(shared, &authenticated_request);
        let Exchange { response, url, redirect_refusal, .. } = loop {
            let mut signed = hops.sign(0)?;
            signed.headers_mut().extend(headers.clone());
            let response = execute(&client, signed, scrubber, &display_url, limit, &span).await?;
            if let Some(exchange) = hops.take(response) {
                break exchange;
            }
        };
        let stream = match response.status().as_u16() {
            200 => check_event_stream(shared, response, &url),
            _ => Err(read_error(shared, response, scrubber, &url, redirect_refusal, request.auth, limit).await),
        };
        stream.inspect_err(|failure| span.record_error(&failure.error))
    }

    /// Opens a websocket: expects a response of status 101 within the limit. `scrubber` hides the token in the URL.
    pub(crate) async fn open_websocket(
        &self,
        url: &Url,
        headers: HeaderMap,
        scrubber: &Scrubber,
        limit: Duration,
    ) -> OpenResult {
        let shared = &*self.shared;
        let client = shared.websockets.client(&shared.config, url, ClientUse::Streams)?;
        let mut request = reqwest::Request::new(reqwest::Method::GET, url.clone());
        *request.headers_mut() = http::further_headers(&shared.config)?;
        request.headers_mut().extend(headers);
        let display_url = scrubber.url(url.as_str());
        let span = self.trace.attempt(url, &display_url, 0);
        let response = execute(&client, request, scrubber, &display_url, limit, &span).await?;
        let stream = match response.status().as_u16() {
            101 => Ok(response),
            _ => Err(read_error(shared, response, scrubber, url, None, Auth::WEBSOCKET, limit).await),
        };
        stream.inspect_err(|failure| span.record_error(&failure.error))
    }
}

fn event_stream_headers(last_event_id: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if !last_event_id.is_empty() {
        let id = http::header_value(last_event_id, "the last event id")?;
        headers.insert(HeaderName::from_static("last-event-id"), id);
    }
    Ok(headers)
}

async fn execute(
    client: &HttpClient,
    mut request: reqwest::Request,
    scrubber: &Scrubber,
    display_url: &Scrubbed,
    limit: Duration,
    span: &Trace,
) -> OpenResult {
    span.propagate(request.headers_mut());
    let result = match timeout(limit, client.execute(request)).await {
        Ok(result) => result.map_err(|error| error.into_error(scrubber, request_context(display_url.clone()))),
        Err(_) => Err(RequestErrorKind::Transport.error(no_response(limit))),
    };
    let result = result.inspect(|response| span.record_status(response.status().as_u16()));
    Ok(result.inspect_err(|error| span.record_error(error))?)
}

/// The elapsed time is not measured for streams.
fn request_context(url: Scrubbed) -> RequestContext {
    RequestContext { url, attempts: 1, elapsed: Duration::ZERO }
}

/// Reads the response that was received instead of a stream. Its body has its own limit, so that its status is known.
async fn read_error(
    shared: &Shared,
    response: Response,
    scrubber: &Scrubber,
    url: &Url,
    redirect_refusal: Option<Scrubbed>,
    auth: Auth,
    limit: Duration,
) -> StreamOpenError {
    let status = Some(response.status().as_u16());
    let phrase =
        response.extensions().get::<ReasonPhrase>().map(|p| String::from_utf8_lossy(p.as_bytes()).into_owned());
    let lease = shared.memory.lease();
    let url = scrubber.url(url);
    let error_timeout = attempt::ERROR_BODY_TIMEOUT.min(limit);
    match attempt::receive(shared, response, &lease, scrubber, url.clone(), error_timeout).await {
        Ok(response) => {
            let mut error =
                response::error(&super::Response { redirect_refusal, ..response }, auth, ClockOffsets::default());
            let wait = error.retry_after;
            // hyper keeps only non-standard reason phrases, which may explain the error.
            if let Some(phrase) = phrase {
                error.message = scrubber.message(format!("{}: {}", phrase.trim(), error.message));
            }
            StreamOpenError { error: Error::Api(Box::new(error)), status, wait }
        }
        Err(error) => {
            let error = error.into_error(scrubber, request_context(url));
            StreamOpenError { error, status, wait: None }
        }
    }
}

/// Refuses other content, such as a log-in page. A missing content type is accepted: the specification requires only 200.
fn check_event_stream(shared: &Shared, response: Response, url: &Url) -> OpenResult {
    let text = |name: &HeaderName| {
        response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase())
    };
    let content_type = text(&header::CONTENT_TYPE);
    let media_type = content_type.as_deref().map(|value| value.split(';').next().unwrap_or_default().trim());
    let encoding = text(&header::CONTENT_ENCODING).filter(|encoding| !encoding.is_empty() && encoding != "identity");
    let reason = match (media_type, encoding) {
        (_, Some(encoding)) => format!("it is compressed ({encoding}), which was not requested"),
        (None | Some("text/event-stream"), None) => return Ok(response),
        (Some(other), None) => format!("its content type is {other:?}"),
    };
    let (url, reason) = (shared.scrubber.url(url.as_str()), shared.scrubber.id(reason));
    let text = format!("the response to GET {url} is not an event stream: {reason}");
    Err(StreamOpenError {
        error: RequestErrorKind::Transport.error(shared.scrubber.text(text)),
        status: Some(200),
        wait: None,
    })
}
