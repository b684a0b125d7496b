//! Schema drift: the unknown fields in a client's responses.

use serde::{Deserialize, Serialize};
use tables::{Resource, Table, Ty::*, member, table};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Drifted {
    pub operation: String,
    pub path: String,
    pub(crate) first_seen: i64,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

pub(crate) static DRIFT: Resource = Resource::of_rows("drift", &[&TABLE]);

static TABLE: Table = table("drift", "")
    .doc("One row for each unknown field in the responses of an operation: a path outside the schema.")
    .columns(&[
        member("operation", Category).required().doc("Name of the requested operation"),
        member("path", Text).required().doc("Path of the unknown field, as in unknown_fields()"),
        member("first_seen", TimestampMs).required().doc("Time of the first response with the field"),
        member("count", Int64).required().doc("Number of responses with the field"),
        member("type", Category)
            .doc("JSON type of an example: string, number, boolean, array, object or null; null for missing rows"),
    ]);
