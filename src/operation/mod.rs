//! The operations of the service: path, query, authentication, resource.
//!
//! | file | content |
//! |---|---|
//! | `declared` | the operations, as data |
//! | `query` | queries that do not follow from the data alone |
//! | `argument` | what an argument of an operation is, as data |
//! | `arguments` | ids, times and texts as users write them |
//! | `auth` | the schemes of authentication, as data |
//! | `live` | the requests of event streams |
//! | `ranges` | the rules of a time range, and splitting long ranges |
//! | `link` | links found in bodies, and the escape hatch `get` |

pub mod argument;
mod arguments;
mod auth;
mod declared;
mod link;
mod live;
mod query;
pub mod ranges;

pub use arguments::time;
pub use auth::Auth;
pub use declared::{OPERATIONS, Operation, Reach};
pub use live::event_stream;
pub(crate) use live::snapshot_of;

use crate::config::{Config, Sport};
use crate::error::{Error, Result};
use crate::resource::Resource;
use argument::Argument;
use arguments::CheckedArguments;
use declared::{FOLLOW, GET};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tables::Context;

/// An unsigned GET request without credentials.
#[derive(Debug, Clone)]
pub struct Request {
    pub operation: &'static str,
    pub auth: Auth,
    /// As sent, from the first slash, without the query.
    pub path: String,
    /// As sent, without the question mark: a link's query is not changed.
    pub query: String,
    /// If the operation has tables.
    pub resource: Option<&'static Resource>,
    pub context: Context,
    /// Which a body of stats does not show.
    pub sport: Sport,
}

/// An argument of an operation. Times may come as epoch milliseconds (`Int`) or ISO 8601 (`Text`).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Bool(flag) => write!(f, "{flag}"),
        }
    }
}

/// Arguments by name; a list is repeated for each element. `get` takes `path` and the query's parameters by name.
pub type Arguments = Vec<(String, Value)>;

/// How to merge the responses of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// There is only one response.
    Single,
    /// Events by id.
    Events,
    /// Locations by (t, tag, player).
    Locations,
}

/// The requests of one call.
#[derive(Debug, Clone)]
pub struct Call {
    pub requests: Vec<Request>,
    /// How their responses become one.
    pub join: Merge,
}

impl Call {
    /// The first request: every call has one.
    pub fn first(&self) -> Result<&Request> {
        self.requests.first().ok_or_else(|| Error::internal("a call without a request"))
    }
}

/// The requests of the operation `name` (`stats`, `follow`, `get`, ..), whose ids, times and ranges are checked.
pub fn call(name: &str, arguments: &Arguments, config: &Config) -> Result<Call> {
    let callable = |operation: &&Operation| operation.name == name && operation.reach != Reach::Link;
    let Some(operation) = OPERATIONS.iter().find(callable) else {
        return Err(Error::Argument(format!("there is no operation {name:?}")));
    };
    if name == GET {
        return Ok(single(link::get(arguments.clone())?));
    }
    let arguments = CheckedArguments::new(name, operation.arguments, arguments)?;
    if name == FOLLOW {
        return Ok(single(link::follow(arguments.required("link")?, config.sport)?));
    }
    let call = operation.call(&arguments, config)?;
    // After the operation's own rules, whose errors are the service's.
    ranges::check(arguments.time("start"), arguments.time("end"))?;
    Ok(call)
}

/// The arguments of an operation or an event stream. Empty for an unknown name, which [`call`] refuses.
pub fn arguments_of(name: &str) -> &'static [Argument] {
    if let Some(stream) = live::find(name) {
        return stream.arguments;
    }
    OPERATIONS.iter().find(|operation| operation.name == name).map_or(&[], |operation| operation.arguments)
}

/// The static copy of a name, if values in a [`Context`] may have it.
pub fn context_name(name: &str) -> Option<&'static str> {
    let names = |operation: &'static Operation| {
        let of_request = operation.context_params.iter().map(|(_, known_as)| *known_as);
        let of_argument = operation.arguments.iter().filter(|argument| argument.is_context_only);
        of_request.chain(of_argument.map(|argument| argument.name))
    };
    OPERATIONS.iter().flat_map(names).find(|other| *other == name)
}

/// The names that `find` accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|operation| operation.name)
}

/// Finds an operation by name, including those that only links reach; returns its static name and its resource.
pub fn find(name: &str, sport: Sport, context: &Context) -> Option<(&'static str, Option<&'static Resource>)> {
    let operation = OPERATIONS.iter().find(|operation| operation.name == name)?;
    Some((operation.name, operation.resource_for(sport, context)))
}

/// Whether the specification shows the body of an operation's response.
pub fn is_body_shown(name: &str) -> bool {
    OPERATIONS.iter().find(|operation| operation.name == name).is_none_or(|operation| operation.is_body_shown)
}

fn single(request: Request) -> Call {
    Call { requests: vec![request], join: Merge::Single }
}

/// The token of a game's websocket. The response is the token, in an undocumented shape.
pub(crate) const SUBSCRIPTION_TOKEN: &str = "subscription_token";
/// The websocket, which is no request.
pub(crate) const LIVE: &str = "live";

/// What a query holds unencoded: the unreserved characters, and those that ids and composite ids are written with.
const IN_QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@').remove(b':');

/// A query as sent.
pub(crate) fn encode<N: AsRef<str>>(pairs: &[(N, String)]) -> String {
    let pair = |(name, value): &(N, String)| {
        format!("{}={}", utf8_percent_encode(name.as_ref(), IN_QUERY), utf8_percent_encode(value, IN_QUERY))
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests;
