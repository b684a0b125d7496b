//! Schema drift: the unknown fields in a client's responses.

use crate::table::{Resource, Table, Ty::*, col, root};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drifted {
    pub operation: String,
    pub path: String,
    pub first_seen: i64,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

pub static DRIFT: Resource = Resource { name: "drift", roots: &[root("[]")], tables: &[&TABLE], known: &[] };

static TABLE: Table = Table {
    name: "drift",
    doc: "One row for each unknown field of an operation's responses: a path that no schema has.",
    rows: "",
    open: None,
    cols: &[
        col("operation", Category, "operation").required().doc("what was asked"),
        col("path", Text, "path").required().doc("where it stands, as unknown_fields() writes it"),
        col("first_seen", TimestampMs, "first_seen").required().doc("when the first answer with it came"),
        col("count", Int64, "count").required().doc("how many answers had it"),
        col("type", Category, "type").doc(
            "JSON type of an example: string, number, boolean, array, object or null; null where rows are missing",
        ),
    ],
};
