//! A payload as plain values and back, for `pickle`.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use reader::Body;
use sideline::config::Sport;
use sideline::error::Result;
use sideline::fetch::Payload;
use sideline::operation::{Merge, context_name};
use sideline::scrub::Scrubber;
use sideline::transport::Response;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tables::Context;

/// Operation, sport, request ids by name, body if there are no responses, responses, how to merge them.
pub(crate) type PayloadState =
    (String, String, Vec<(String, String)>, Option<PyBackedBytes>, Vec<ResponseState>, String);

/// Status, headers, body, URL, request id, duration, arrival time, attempts.
type ResponseState = (u16, Vec<(String, String)>, PyBackedBytes, String, Option<String>, Duration, Duration, u32);

const MERGES: [(&str, Merge); 3] =
    [("single", Merge::Single), ("events", Merge::Events), ("locations", Merge::Locations)];

pub(crate) fn state(py: Python<'_>, payload: &Payload) -> Result<PayloadState> {
    let bytes = |body: &Body| PyBackedBytes::from(PyBytes::new(py, body.as_slice()));
    let ids = payload.context.iter().map(|(name, id)| (name.to_owned(), id.to_owned()));
    let response = |part: &Response| {
        (
            part.status,
            part.headers.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            bytes(&part.body),
            part.url.to_string(),
            part.request_id.as_deref().map(str::to_owned),
            part.elapsed,
            part.fetched_at.duration_since(UNIX_EPOCH).unwrap_or_default(),
            part.attempts,
        )
    };
    let own_body = if payload.parts.is_empty() { Some(bytes(payload.body()?)) } else { None };
    let join = MERGES.iter().find(|(_, join)| *join == payload.join).map_or("", |(name, _)| name);
    let responses = payload.parts.iter().map(response).collect();
    Ok((
        payload.operation.to_owned(),
        payload.sport.name().to_owned(),
        ids.collect(),
        own_body,
        responses,
        join.to_owned(),
    ))
}

pub(crate) fn restore((operation, sport, ids, own_body, responses, join): PayloadState) -> Result<Payload> {
    let sport = Sport::parse(&sport).unwrap_or(Sport::Basketball);
    let context = ids.into_iter().fold(Context::default(), |context, (name, id)| match context_name(&name) {
        Some(name) => context.with(name, id),
        None => context,
    });
    if let Some(raw) = own_body {
        return Payload::from_bytes(&operation, &raw, sport, context);
    }
    let scrubber = Scrubber::default();
    let response = |(status, headers, body, url, request_id, elapsed, since_epoch, attempts): ResponseState| Response {
        status,
        headers: headers.into_iter().map(|(name, value)| (name, scrubber.header(value))).collect(),
        body: Arc::new(Body::from(&*body)),
        url: scrubber.url(url),
        request_id: request_id.map(|id| scrubber.id(id)),
        scrubber: scrubber.clone(),
        elapsed,
        fetched_at: UNIX_EPOCH + since_epoch,
        attempts,
        refusal: None,
        redirect_refusal: None,
        lease: None,
        max_memory: None,
    };
    let join = MERGES.iter().find(|(name, _)| *name == join).map_or(Merge::Single, |(_, join)| *join);
    Payload::from_answers(&operation, responses.into_iter().map(response).collect(), join, sport, context)
}
