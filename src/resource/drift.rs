//! Schema drift: the unknown fields in a client's responses.

use serde::{Deserialize, Serialize};
use tables::{Resource, Table, Ty::*, col, table};

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
        col("operation", Category, "operation").required().doc("Name of the requested operation"),
        col("path", Text, "path").required().doc("Path of the unknown field, as in unknown_fields()"),
        col("first_seen", TimestampMs, "first_seen").required().doc("Time of the first response with the field"),
        col("count", Int64, "count").required().doc("Number of responses with the field"),
        col("type", Category, "type")
            .doc("JSON type of an example: string, number, boolean, array, object or null; null for missing rows"),
    ]);
