//! A payload as plain values and back, for `pickle`.

use crate::error::Result;
use crate::fetch::Payload;
use crate::table::{Body, Context};
use crate::transport::Response;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Operation, body, ids of the request by name, answers.
pub type State = (String, PyBackedBytes, Vec<(String, String)>, Vec<Answer>);

/// Status, headers, body where it is not the payload's own, address, request id, seconds it took, when it came, attempts.
type Answer = (u16, Vec<(String, String)>, Option<PyBackedBytes>, String, Option<String>, Duration, Duration, u32);

/// What a request may know (`Context`).
const IDS: [&str; 4] = ["session_id", "game_id", "team_id", "resources"];

pub fn state(py: Python<'_>, payload: &Payload) -> State {
    let bytes = |body: &Body| PyBackedBytes::from(PyBytes::new(py, body.as_slice()));
    let ids = IDS.iter().filter_map(|name| Some(((*name).to_owned(), payload.context.get(name)?.to_owned())));
    let answer = |part: &Response| {
        let own = !Arc::ptr_eq(&part.body, &payload.body);
        (
            part.status,
            part.headers.clone(),
            own.then(|| bytes(&part.body)),
            part.url.clone(),
            part.request_id.clone(),
            part.elapsed,
            part.fetched_at.duration_since(UNIX_EPOCH).unwrap_or_default(),
            part.attempts,
        )
    };
    (payload.operation.to_owned(), bytes(&payload.body), ids.collect(), payload.parts.iter().map(answer).collect())
}

pub fn restored((operation, raw, ids, answers): State) -> Result<Payload> {
    let known = |name: &str| IDS.iter().copied().find(|id| *id == name);
    let context = ids.into_iter().fold(Context::default(), |context, (name, id)| match known(&name) {
        Some(name) => context.with(name, id),
        None => context,
    });
    let mut payload = Payload::from_bytes(&operation, &raw, context)?;
    payload.parts = answers
        .into_iter()
        .map(|(status, headers, body, url, request_id, elapsed, since_epoch, attempts)| Response {
            status,
            headers,
            body: body.map_or_else(|| payload.body.clone(), |body| Arc::new(Body::from(&*body))),
            url,
            request_id,
            elapsed,
            fetched_at: UNIX_EPOCH + since_epoch,
            attempts,
        })
        .collect();
    Ok(payload)
}
