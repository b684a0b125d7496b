//! What the service sent and no declaration knows, kept for a client: each answer is looked at as it comes.

use super::Payload;
use super::batch::stopped;
use crate::error::{Error, Result};
use crate::resource::drift::{DRIFT, Drifted};
use crate::table::{self, Body, Context, DecodeError, Unknown};
use arrow_array::RecordBatch;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::spawn_blocking;

/// Beyond so many paths nothing is added: where data stands as keys, each would be a path.
const KEPT: usize = 1000;

/// Paths that a refusal names.
const NAMED: usize = 20;

/// A body of so many bytes is looked at in a fraction of a millisecond.
const SHORT: usize = 256 * 1024;

#[derive(Debug, Default)]
pub struct Drift {
    rows: Mutex<Vec<Drifted>>,
}

/// An unknown path of an answer, and whether this client meets it for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    pub unknown: Unknown,
    pub is_new: bool,
}

impl Drift {
    /// What an answer has that no declaration knows. A body that is no JSON has nothing: reading it tells what is wrong.
    pub fn look(&self, payload: &Payload, now: SystemTime) -> Vec<Met> {
        if payload.resource.is_none() {
            return Vec::new();
        }
        self.meet(payload.operation, payload.unknown_fields().unwrap_or_default(), now)
    }

    /// The same of what was found already.
    pub(super) fn meet(&self, operation: &str, found: Vec<Unknown>, now: SystemTime) -> Vec<Met> {
        if found.is_empty() {
            return Vec::new();
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let met = found.into_iter().map(|unknown| Met { is_new: count(&mut rows, operation, &unknown, now), unknown });
        met.collect()
    }

    /// As [`Drift::look`], away from the threads that read sockets where it takes a while.
    pub async fn look_apart(self: Arc<Self>, payload: Payload, now: SystemTime) -> Result<(Payload, Vec<Met>)> {
        let is_short = payload.size() <= SHORT;
        let look = move || {
            let met = self.look(&payload, now);
            (payload, met)
        };
        if is_short { Ok(look()) } else { spawn_blocking(look).await.map_err(stopped) }
    }

    /// The table `drift`, in the order met.
    pub fn table(&self) -> Result<RecordBatch> {
        let json = {
            let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            serde_json::to_vec(&*rows).map_err(|error| Error::Argument(error.to_string()))?
        };
        table::decode(&DRIFT, "drift", None, &Body::from(json.as_slice()), &Context::default()).map_err(Error::Decode)
    }
}

/// What `strict` refuses an answer with; `None`: nothing in it is unknown.
pub fn refusal(met: &[Met]) -> Option<Error> {
    let first = met.first()?;
    let named: Vec<&str> = met.iter().take(NAMED).map(|met| met.unknown.path.as_str()).collect();
    let more = match met.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "the answer holds what no table knows: {}{more}; strict=True refuses it (without it, it is a warning); what came is in the exception's .payload",
        named.join(", ")
    );
    Some(Error::Decode(DecodeError::Body { message, path: "$".into(), offset: first.unknown.offset }))
}

/// Counts one more answer with a path; whether it is the first.
fn count(rows: &mut Vec<Drifted>, operation: &str, unknown: &Unknown, now: SystemTime) -> bool {
    let kind = unknown.kind.map(str::to_owned);
    if let Some(row) = rows.iter_mut().find(|row| row.operation == operation && row.path == unknown.path) {
        row.count += 1;
        if row.kind.as_deref() == Some("null") {
            row.kind = kind;
        }
        return false;
    }
    if rows.len() >= KEPT {
        return false;
    }
    let first_seen = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    rows.push(Drifted { operation: operation.to_owned(), path: unknown.path.clone(), first_seen, count: 1, kind });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::time::Duration;

    fn look(drift: &Drift, operation: &str, body: &str) -> Vec<(String, bool)> {
        let payload = Payload::from_bytes(operation, body.as_bytes(), Context::default()).unwrap();
        let met = drift.look(&payload, UNIX_EPOCH + Duration::from_secs(7));
        met.into_iter().map(|met| (met.unknown.path, met.is_new)).collect()
    }

    #[test]
    fn a_path_is_new_once_for_each_operation_and_counted_for_each_answer() {
        let drift = Drift::default();
        let body = r#"{"teams":[{"id":1,"x":null},{"id":2,"x":null}]}"#;
        assert_eq!(look(&drift, "teams", body), [("teams[].x".into(), true)]);
        assert_eq!(look(&drift, "teams", body), [("teams[].x".into(), false)]);
        assert!(look(&drift, "stats", body).contains(&("teams[].x".into(), true)));
        assert!(look(&drift, "teams", r#"{"teams":[{"id":1}]}"#).is_empty());
        assert!(look(&drift, "teams", "no JSON").is_empty());
        assert!(look(&drift, "game_events", r#"{"x":1}"#).is_empty(), "nothing is known of it");
        look(&drift, "teams", r#"{"teams":[{"id":1,"x":[]}]}"#);
        let table = drift.table().unwrap();
        assert_eq!(table["count"].as_primitive::<Int64Type>().values(), &[3, 1, 1]);
        assert_eq!(serde_json::to_value(&*drift.rows.lock().unwrap()).unwrap()[0]["type"], "array");
        assert_eq!(serde_json::to_value(&*drift.rows.lock().unwrap()).unwrap()[0]["first_seen"], 7000);
    }

    #[test]
    fn data_as_keys_does_not_fill_the_memory() {
        let drift = Drift::default();
        let keys: Vec<String> = (0..2 * KEPT).map(|n| format!(r#""k{n}":1"#)).collect();
        let met = look(&drift, "teams", &format!(r#"{{"teams":[{{"id":1,{}}}]}}"#, keys.join(",")));
        assert_eq!((met.len(), met.iter().filter(|(_, is_new)| *is_new).count()), (2 * KEPT, KEPT));
        assert_eq!(drift.table().unwrap().num_rows(), KEPT);
    }
}
