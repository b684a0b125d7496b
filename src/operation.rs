//! Each operation of the service, once: path, query, who signs, which resource answers.

use crate::config::Config;
use crate::error::Result;
use crate::resource::Resource;
use crate::table::Context;

/// Who vouches for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Signature over date, host and request line; goes to the REST base.
    Signed,
    /// The key in the query; goes to the Broadcast base.
    ApiKey,
}

/// One GET, before it is signed. It holds no credential.
#[derive(Debug, Clone)]
pub struct Request {
    pub operation: &'static str,
    pub auth: Auth,
    /// As it goes on the wire, from the first slash, without a query.
    pub path: String,
    /// Not yet percent-encoded.
    pub query: Vec<(String, String)>,
    /// Where the operation has tables.
    pub resource: Option<&'static Resource>,
    pub context: Context,
}

/// An argument of an operation. Times may come as epoch milliseconds (`Int`) or ISO 8601 (`Text`).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Int(i64),
    Bool(bool),
}

/// Arguments by name; one that is absent was not given.
pub type Arguments = Vec<(String, Value)>;

/// How several answers become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// There is one answer.
    Single,
    /// Events by id.
    Events,
    /// Locations by (t, tag, player).
    Locations,
}

/// What one call of a client sends.
#[derive(Debug, Clone)]
pub struct Call {
    pub requests: Vec<Request>,
    pub join: Join,
}

/// The requests of the operation `name` (`stats`, `team_events`, `follow`, `get`, ..): ids, times and ranges are checked
/// here, before a byte is sent.
pub fn call(_name: &str, _arguments: &Arguments, _config: &Config) -> Result<Call> {
    unimplemented!()
}
