//! Several requests as one result.

mod join;

use crate::error::{Error, Result};
use crate::operation::{self, Call};
use crate::resource::Resource;
use crate::table::{self, Body, Context, DecodeError};
use crate::transport::{Response, Transport};
use arrow_array::RecordBatch;
use futures_util::future::try_join_all;
use std::sync::Arc;

/// What a call gave: one answer, or several joined.
#[derive(Debug, Clone)]
pub struct Payload {
    pub operation: &'static str,
    pub resource: Option<&'static Resource>,
    pub context: Context,
    /// The body, or the joined bodies in the root shape of a single one.
    pub body: Arc<Body>,
    /// The answers, in the order of their requests; empty for a body that lay in a file.
    pub parts: Vec<Response>,
}

impl Payload {
    /// A payload for a body that lies in a file.
    pub fn from_bytes(operation: &str, raw: &[u8], context: Context) -> Result<Self> {
        let Some((operation, resource)) = operation::find(operation, &context) else {
            let names: Vec<&str> = operation::names().collect();
            return Err(Error::Argument(format!(
                "there is no operation {operation:?}; it is one of {}",
                names.join(", ")
            )));
        };
        let body = Arc::new(Body::from(raw));
        Ok(Payload { operation, resource, context, body, parts: Vec::new() })
    }

    pub fn tables(&self) -> Vec<&'static str> {
        self.resource.map_or(Vec::new(), |r| r.tables.iter().map(|t| t.name).collect())
    }

    /// Decodes one table (`None`: the first); `columns` limits what is built.
    pub fn table(&self, name: Option<&str>, columns: Option<&[String]>) -> Result<RecordBatch> {
        let resource = self.with_tables()?;
        let name = name.or_else(|| resource.tables.first().map(|table| table.name)).unwrap_or_default();
        table::decode(resource, name, columns, &self.body, &self.context).map_err(as_error)
    }

    pub fn unknown_fields(&self) -> Result<Vec<String>> {
        table::unknown_fields(self.with_tables()?, &self.body).map_err(as_error)
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

/// A name that is not there is its caller's mistake, a body that does not fit is the service's.
fn as_error(error: DecodeError) -> Error {
    match error {
        DecodeError::Body { .. } => Error::Decode(error),
        DecodeError::NoTable { .. } | DecodeError::NoColumn { .. } => Error::Argument(error.to_string()),
    }
}

/// Sends a call's requests, concurrently within the client's budget, and joins the answers in order. The first request that
/// fails ends the call, and with it the others.
pub async fn run(transport: &Transport, call: Call) -> Result<Payload> {
    let Some(first) = call.requests.first() else {
        return Err(Error::Argument("a call without a request".into()));
    };
    let parts = try_join_all(call.requests.iter().map(|request| transport.send(request))).await?;
    let body = match parts.as_slice() {
        [only] => only.body.clone(),
        several => {
            let bodies: Vec<&[u8]> = several.iter().map(|part| part.body.as_slice()).collect();
            let joined = join::join(call.join, &bodies).map_err(Error::Decode)?;
            Arc::new(Body::from(joined.as_slice()))
        }
    };
    let (operation, resource, context) = (first.operation, first.resource, first.context.clone());
    Ok(Payload { operation, resource, context, body, parts })
}
