//! Several requests as one result.
//!
//! | file | content |
//! |---|---|
//! | `plan` | a request for many ids, as units |
//! | `batch` | units fetched concurrently |
//! | `coverage` | the status of each unit |
//! | `concat_tables` | the tables of many payloads as one |
//! | `merge_json` | several responses as one JSON document |
//! | `drift` | unknown fields, recorded for a client |
//! | `location_windows` | several windows of locations as one table, each decoded separately |

mod batch;
mod concat_tables;
mod coverage;
mod drift;
mod location_windows;
mod merge_json;
mod plan;

pub use batch::{Counters, UnitOutcome, run as run_all};
pub use concat_tables::table as table_of;
pub use coverage::table as coverage;
use drift::distinct_fields;
pub use drift::{Drift, DriftField, refusal};
pub use plan::{PlannedId, Unit, plan};

use crate::config::Sport;
use crate::error::{Error, Result};
use crate::operation::{self, Call, Merge, Request};
use crate::resource::Resource;
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{Attempts, Purpose, Response, Trace, Transport};
use arrow_array::RecordBatch;
use futures_util::future::try_join_all;
use reader::Body;
use std::sync::{Arc, OnceLock};
use tables::{Context, DecodeError, SchemaCheck};

/// The result of a call: one response, or several as one.
#[derive(Debug, Clone)]
pub struct Payload {
    pub operation: &'static str,
    pub resource: Option<&'static Resource>,
    pub sport: Sport,
    pub context: Context,
    /// The responses, in the order of their requests; empty for a body from a file.
    pub parts: Vec<Response>,
    /// How to merge several responses.
    pub join: Merge,
    /// The body, if it is not that of a single response: given, or merged on first access.
    body: OnceLock<std::result::Result<Arc<Body>, DecodeError>>,
}

/// The error of a call, and the response if there is one.
#[derive(Debug)]
pub struct FetchError {
    pub error: Error,
    pub payload: Option<Payload>,
}

type Fetched = std::result::Result<(Payload, Trace), FetchError>;

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        FetchError { error, payload: None }
    }
}

impl Payload {
    /// A payload for a body from a file.
    pub fn from_bytes(operation: &str, raw: &[u8], sport: Sport, context: Context) -> Result<Self> {
        let payload = Self::from_answers(operation, Vec::new(), Merge::Single, sport, context)?;
        Ok(Payload { body: OnceLock::from(Ok(Arc::new(Body::from(raw)))), ..payload })
    }

    /// A payload for existing responses.
    pub fn from_answers(
        operation: &str,
        parts: Vec<Response>,
        join: Merge,
        sport: Sport,
        context: Context,
    ) -> Result<Self> {
        let Some((operation, resource)) = operation::find(operation, sport, &context) else {
            let candidates = operation::names().collect::<Vec<_>>().join(", ");
            let text = format!("there is no operation {operation:?}; it is one of {candidates}");
            return Err(Error::UnknownName { text, name: operation.into(), candidates });
        };
        Ok(Payload { operation, resource, sport, context, parts, join, body: OnceLock::new() })
    }

    /// The body; several responses are merged into the root shape of a single one.
    pub fn body(&self) -> Result<&Arc<Body>> {
        if let [only] = self.parts.as_slice() {
            return Ok(&only.body);
        }
        let join = || {
            let bodies: Vec<&Body> = self.parts.iter().map(|part| &*part.body).collect();
            merge_json::merge(self.join, &bodies).map(|bytes| Arc::new(Body::from(bytes)))
        };
        self.body.get_or_init(join).as_ref().map_err(|error| self.error(error.clone()))
    }

    /// The bodies as they were received.
    pub fn bodies(&self) -> impl Iterator<Item = &[u8]> {
        let from_file = self.parts.is_empty().then(|| self.body().ok()).flatten();
        self.parts.iter().map(|part| &part.body).chain(from_file).map(|body| body.as_slice())
    }

    /// Number of bytes received.
    pub fn size(&self) -> usize {
        self.bodies().map(<[u8]>::len).sum()
    }

    /// Counts the bodies towards `max_response_bytes` until they are released.
    pub(crate) fn keep(&self) {
        self.parts.iter().for_each(Response::keep);
    }

    /// The most bytes that a table or a dict of it may take.
    pub fn max_memory(&self) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.max_memory).min()
    }

    /// Hands the bodies to the caller: they no longer count towards `max_response_bytes`.
    pub fn release(&self) {
        self.parts.iter().for_each(Response::release);
    }

    /// The single responses if several were merged; `None` if this is one alone.
    pub fn singles(&self) -> Option<impl Iterator<Item = Payload>> {
        (self.parts.len() > 1).then(|| self.parts.iter().map(|part| self.single(part)))
    }

    fn single(&self, part: &Response) -> Payload {
        Payload {
            parts: vec![part.clone()],
            join: Merge::Single,
            body: OnceLock::new(),
            context: self.context.clone(),
            ..*self
        }
    }

    pub fn tables(&self) -> Vec<&'static str> {
        self.resource.map_or(Vec::new(), |r| r.tables.iter().map(|t| t.name).collect())
    }

    /// Decodes one table (`None`: the first); `columns` selects what is built. At least one batch; all have one schema.
    pub fn table(&self, name: Option<&str>, columns: Option<&[String]>) -> Result<Vec<RecordBatch>> {
        let resource = self.with_tables()?;
        let name = name.or_else(|| resource.tables.first().map(|table| table.name)).unwrap_or_default();
        if let (Merge::Locations, [_, _, ..]) = (self.join, self.parts.as_slice()) {
            let bodies: Vec<&Body> = self.parts.iter().map(|part| &*part.body).collect();
            return location_windows::table(resource, name, columns, &bodies, &self.context)
                .map_err(|error| self.error(error));
        }
        if let [_, _, ..] = self.parts.as_slice() {
            // After merging, a part without its root would leave no trace.
            let check = |part: &Response| tables::check_root(resource, &part.body).map_err(|error| self.error(error));
            self.parts.iter().try_for_each(check)?;
        }
        let batch =
            tables::decode(resource, name, columns, self.body()?, &self.context).map_err(|error| self.error(error))?;
        Ok(vec![batch])
    }

    /// Every table by name, as [`Self::table`] decodes it, in one pass over the body.
    pub fn all_tables(&self) -> Result<Vec<(&'static str, Vec<RecordBatch>)>> {
        let resource = self.with_tables()?;
        let names = resource.tables.iter().map(|table| table.name);
        if self.parts.len() > 1 {
            return names.map(|name| Ok((name, self.table(Some(name), None)?))).collect();
        }
        let batches = tables::decode_all(resource, self.body()?, &self.context).map_err(|error| self.error(error))?;
        Ok(names.zip(batches.into_iter().map(|batch| vec![batch])).collect())
    }

    /// The paths of the unknown fields of all responses, at most [`MAX_UNKNOWN_FIELDS`](tables::MAX_UNKNOWN_FIELDS).
    pub fn unknown_fields(&self) -> Result<Vec<Scrubbed>> {
        let resource = self.with_tables()?;
        let bodies = match self.parts.as_slice() {
            [_, _, ..] => self.parts.iter().map(|part| &part.body).collect(),
            _ => vec![self.body()?],
        };
        let fields = bodies.into_iter().map(|body| tables::unknown_fields(resource, body));
        let fields = fields.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| self.error(error))?;
        Ok(distinct_fields(fields.concat()).iter().map(|field| self.scrubber().id(&field.path)).collect())
    }

    /// Unknown fields and, with a context, the rows of the first table if the check is conclusive, which it never is for
    /// several responses. Fails if a root is missing; a body that is not JSON is left to decoding.
    fn check_schema(&self, context: Option<&Context>) -> std::result::Result<SchemaCheck, Box<FetchError>> {
        if let Some(singles) = self.singles() {
            let fields = singles.map(|single| Ok(single.check_schema(None)?.unknown_fields));
            let fields: Vec<_> = fields.collect::<std::result::Result<_, Box<FetchError>>>()?;
            return Ok(SchemaCheck { unknown_fields: distinct_fields(fields.concat()), rows: None });
        }
        let (Some(resource), Ok(body)) = (self.resource, self.body()) else { return Ok(SchemaCheck::default()) };
        match tables::check_schema(resource, body, context) {
            Err(error) if reader::syntax_error(body).is_none() => {
                Err(Box::new(FetchError { error: self.error(error), payload: Some(self.clone()) }))
            }
            schema_check => Ok(schema_check.unwrap_or_default()),
        }
    }

    /// For messages about its body.
    pub fn scrubber(&self) -> Scrubber {
        self.parts.first().map(|first| first.scrubber.clone()).unwrap_or_default()
    }

    fn error(&self, error: DecodeError) -> Error {
        Error::decode(error, &self.scrubber())
    }

    fn with_tables(&self) -> Result<&'static Resource> {
        self.resource.ok_or_else(|| {
            Error::Argument(format!(
                "{} has no table: its shape is not known; to_dict() gives all of it",
                self.operation
            ))
        })
    }
}

/// Sends a call's requests concurrently, within the client's limits, and keeps the responses in order. The first
/// failure ends the call and cancels the other requests. Returns the payload with its unknown fields.
pub async fn run(
    transport: &Transport,
    call: Call,
    drift: Arc<Drift>,
    is_body_shown: bool,
) -> std::result::Result<(Payload, Vec<DriftField>), FetchError> {
    let (payload, trace) = run_counted(transport, &call, &Attempts::default()).await?;
    trace.of_call(drift.inspect_blocking(payload, is_body_shown), |failed| &failed.error).await
}

/// Only sends the requests; `attempts` counts those of all. The span of the call is open until its trace is dropped.
async fn run_counted(transport: &Transport, call: &Call, attempts: &Attempts<'_>) -> Fetched {
    let Request { operation, resource, sport, ref context, .. } = *call.first()?;
    let transport = &transport.for_operation(operation);
    let send = async |request| {
        let response = transport.send_for(request, Purpose::Call(attempts)).await?;
        // Bodies of one call that are kept until all are there must not wait for each other's memory.
        if call.requests.len() > 1 {
            response.keep();
        }
        Ok::<_, Error>(response)
    };
    let payload = async {
        let parts = try_join_all(call.requests.iter().map(send)).await?;
        let (context, join) = (context.clone(), call.join);
        let payload = Payload { operation, resource, sport, context, parts, join, body: OnceLock::new() };
        match payload.parts.iter().find_map(|part| Some((part, part.refusal.as_deref()?.clone()))) {
            Some((part, error)) => Err(FetchError { error, payload: Some(payload.single(part)) }),
            None => Ok(payload),
        }
    };
    Ok((transport.trace.of_call(payload, |failed| &failed.error).await?, transport.trace.clone()))
}
