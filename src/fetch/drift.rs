//! Schema drift: the unknown fields in a client's responses. Each response is checked on arrival.

use super::batch::stop_error;
use super::{FetchError, Payload};
use crate::advice::Advice;
use crate::error::{Error, Result, Undecodable};
use crate::machine;
use crate::resource::drift::{DRIFT, Drifted};
use crate::scrub::{Scrubbed, Scrubber};
use arrow_array::RecordBatch;
use reader::Body;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tables::{Context, MAX_UNKNOWN_FIELDS, UnknownPath};

/// Further unknown paths are dropped: where keys are data, each would be a path.
const MAX_ROWS: usize = 1000;

/// Paths that an error message lists.
const MAX_NAMED_FIELDS: usize = 20;

/// A body of this size is checked in a fraction of a millisecond.
const INLINE_CHECK_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub struct Drift {
    rows: Mutex<DriftRows>,
}

/// The rows in order of appearance, and the index of each path of an operation.
#[derive(Debug, Default)]
struct DriftRows {
    rows: Vec<Drifted>,
    places: HashMap<&'static str, HashMap<Scrubbed, usize>>,
}

/// An unknown field of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftField {
    pub path: Scrubbed,
    pub kind: Option<&'static str>,
    pub offset: usize,
    /// To this client.
    pub is_new: bool,
}

/// The unknown fields of several bodies, each path once and at most [`MAX_UNKNOWN_FIELDS`].
pub(super) fn distinct_fields(mut fields: Vec<UnknownPath>) -> Vec<UnknownPath> {
    let mut paths = HashSet::new();
    fields.retain(|field| paths.len() < MAX_UNKNOWN_FIELDS && paths.insert(field.path.clone()));
    fields
}

impl Drift {
    /// Records the unknown fields of the response to a call. Fails if its root is missing, unless the specification does
    /// not show the body: then only a table needs it. Invalid JSON has no unknown fields: reading it reports the error.
    pub(crate) fn inspect(
        &self,
        payload: &Payload,
        is_body_shown: bool,
        now: SystemTime,
    ) -> std::result::Result<Vec<DriftField>, Box<FetchError>> {
        match payload.check_schema(None) {
            Ok(schema_check) => Ok(self.record(payload, schema_check.unknown_fields, now)),
            // Merged with others, a part without its root would leave no trace.
            Err(_) if !is_body_shown && payload.parts.len() == 1 => Ok(Vec::new()),
            Err(failed) => Err(failed),
        }
    }

    /// Records unknown fields found by an earlier check.
    pub(super) fn record(&self, payload: &Payload, fields: Vec<UnknownPath>, now: SystemTime) -> Vec<DriftField> {
        if fields.is_empty() {
            return Vec::new();
        }
        let scrubber = payload.scrubber();
        let field =
            |UnknownPath { path, kind, offset }| DriftField { path: scrubber.id(&path), kind, offset, is_new: false };
        let mut fields: Vec<DriftField> = fields.into_iter().map(field).collect();
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        fields.iter_mut().for_each(|field| field.is_new = rows.count(payload.operation, field, now));
        fields
    }

    /// Like [`Drift::inspect`], but on a blocking thread if it takes a while.
    pub(super) async fn inspect_blocking(
        self: Arc<Self>,
        payload: Payload,
        is_body_shown: bool,
    ) -> std::result::Result<(Payload, Vec<DriftField>), FetchError> {
        let is_short = payload.size() <= INLINE_CHECK_BYTES;
        let inspect = move || self.inspect(&payload, is_body_shown, machine::now()).map(|fields| (payload, fields));
        let result = if is_short { inspect() } else { machine::run_blocking(inspect).await.map_err(stop_error)? };
        result.map_err(|failed| *failed)
    }

    /// The table `drift`, in order of appearance.
    pub fn table(&self) -> Result<RecordBatch> {
        let json = {
            let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            serde_json::to_vec(&rows.rows).map_err(|error| Error::internal(error.to_string()).caused_by(error))?
        };
        tables::decode(&DRIFT, "drift", None, &Body::from(json.as_slice()), &Context::default())
            .map_err(|error| Error::decode(error, &Scrubber::default()))
    }
}

/// The error of `strict=True`; `None` without unknown fields.
pub fn refusal(drift_fields: &[DriftField]) -> Option<Error> {
    let first = drift_fields.first()?;
    let names: Vec<&str> = drift_fields.iter().take(MAX_NAMED_FIELDS).map(|field| &*field.path).collect();
    let more = match drift_fields.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = Scrubbed::local(format!(
        "the response has unknown fields, which are only a warning without strict=True: {}{more}",
        names.join(", ")
    ));
    Some(Error::Decode(Undecodable { message, path: "$".into(), offset: first.offset, advice: Advice::LookAtBody }))
}

impl DriftRows {
    /// Counts a response with a path; returns whether it is the first.
    fn count(&mut self, operation: &'static str, field: &DriftField, now: SystemTime) -> bool {
        let kind = field.kind.map(str::to_owned);
        let places = self.places.entry(operation).or_default();
        if let Some(row) = places.get(&field.path).and_then(|place| self.rows.get_mut(*place)) {
            row.count += 1;
            if row.kind.as_deref() == Some("null") {
                row.kind = kind;
            }
            return false;
        }
        if self.rows.len() >= MAX_ROWS {
            return false;
        }
        places.insert(field.path.clone(), self.rows.len());
        let first_seen = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        let (operation, path) = (operation.to_owned(), field.path.to_string());
        self.rows.push(Drifted { operation, path, first_seen, count: 1, kind });
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Sport;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::time::Duration;

    fn inspect(drift: &Drift, operation: &str, body: &str) -> Vec<(String, bool)> {
        let payload = Payload::from_bytes(operation, body.as_bytes(), Sport::Basketball, Context::default()).unwrap();
        let drift_fields = drift.inspect(&payload, true, UNIX_EPOCH + Duration::from_secs(7)).unwrap();
        drift_fields.into_iter().map(|field| (field.path.into(), field.is_new)).collect()
    }

    #[test]
    fn a_path_is_new_once_for_each_operation_and_counted_for_each_answer() {
        let drift = Drift::default();
        let body = r#"{"teams":[{"id":1,"x":null},{"id":2,"x":null}]}"#;
        assert_eq!(inspect(&drift, "teams", body), [("teams[].x".into(), true)]);
        assert_eq!(inspect(&drift, "teams", body), [("teams[].x".into(), false)]);
        assert!(inspect(&drift, "stats", body).contains(&("teams[].x".into(), true)));
        let empty = Payload::from_bytes("teams", b"{}", Sport::Basketball, Context::default()).unwrap();
        let failed = drift.inspect(&empty, true, UNIX_EPOCH).unwrap_err();
        assert!(matches!(&failed.error, Error::Decode(Undecodable { path, .. }) if path == "$.teams"));
        assert_eq!(failed.payload.unwrap().body().unwrap().as_slice(), b"{}");
        assert!(inspect(&drift, "teams", r#"{"teams":[{"id":1}]}"#).is_empty());
        assert!(inspect(&drift, "teams", "no JSON").is_empty());
        assert!(inspect(&drift, "game_events", r#"{"x":1}"#).is_empty(), "nothing is known of it");
        inspect(&drift, "teams", r#"{"teams":[{"id":1,"x":[]}]}"#);
        let table = drift.table().unwrap();
        assert_eq!(table["count"].as_primitive::<Int64Type>().values(), &[3, 1, 1]);
        assert_eq!(serde_json::to_value(&drift.rows.lock().unwrap().rows).unwrap()[0]["type"], "array");
        assert_eq!(serde_json::to_value(&drift.rows.lock().unwrap().rows).unwrap()[0]["first_seen"], 7000);
    }

    #[test]
    fn data_as_keys_does_not_fill_the_memory() {
        let drift = Drift::default();
        let keys: Vec<String> = (0..2 * MAX_ROWS).map(|n| format!(r#""k{n}":1"#)).collect();
        let drift_fields = inspect(&drift, "teams", &format!(r#"{{"teams":[{{"id":1,{}}}]}}"#, keys.join(",")));
        assert_eq!(
            (drift_fields.len(), drift_fields.iter().filter(|(_, is_new)| *is_new).count()),
            (MAX_ROWS, MAX_ROWS)
        );
        assert_eq!(drift.table().unwrap().num_rows(), MAX_ROWS);
    }
}
