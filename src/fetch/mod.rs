//! Several requests as one result.

use crate::error::Result;
use crate::operation::Call;
use crate::resource::Resource;
use crate::table::{Body, Context};
use crate::transport::{Response, Transport};
use arrow_array::RecordBatch;
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
    pub fn from_bytes(_operation: &str, _raw: &[u8], _context: Context) -> Result<Self> {
        unimplemented!()
    }
    pub fn tables(&self) -> Vec<&'static str> {
        self.resource.map_or(Vec::new(), |r| r.tables.iter().map(|t| t.name).collect())
    }
    /// Decodes one table (`None`: the first); `columns` limits what is built.
    pub fn table(&self, _name: Option<&str>, _columns: Option<&[String]>) -> Result<RecordBatch> {
        unimplemented!()
    }
    pub fn unknown_fields(&self) -> Result<Vec<String>> {
        unimplemented!()
    }
}

/// Sends a call's requests, concurrently within the client's budget, and joins the answers in order.
pub async fn run(_transport: &Transport, _call: Call) -> Result<Payload> {
    unimplemented!()
}
