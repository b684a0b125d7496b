//! The coverage of a batch, sync or plan: the outcome of each unit.

use crate::table::{Resource, Table, Ty::*, col, root};

#[derive(Debug, Clone, PartialEq)]
pub struct Covered {
    pub operation: String,
    pub team_id: Option<i64>,
    pub game_id: Option<String>,
    pub session_id: Option<String>,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub status: String,
    pub rows: u64,
    pub request_id: Option<String>,
    pub error: Option<String>,
    pub attempts: u32,
    pub fetched_at: Option<i64>,
    pub unit: String,
    pub served_at: Option<i64>,
    pub listed_at: Option<i64>,
}

pub static COVERAGE: Resource = Resource { name: "coverage", roots: &[root("[]")], tables: &[&TABLE], known: &[] };

pub(crate) static TABLE: Table = Table {
    name: "coverage",
    doc: "One row for each unit of work that was planned: one operation for one id.",
    rows: "",
    open: None,
    cols: &[
        col("operation", Category, "operation").required().doc("what was asked"),
        col("team_id", Int64, "team_id").doc("of which team, where that was asked"),
        col("game_id", Text, "game_id").doc("of which game, where that was asked"),
        col("session_id", Text, "session_id").doc("of which session, where that was asked"),
        col("start", TimestampMs, "start").doc("from when, where a range was asked"),
        col("end", TimestampMs, "end").doc("until when, where a range was asked"),
        col("status", Category, "status").required().doc(
            "fetched; empty: a response without a row; forbidden: 403 of the service; missing: 404; failed: all else; \
             in archives also unavailable: 404 for what no link names; withdrawn: no longer listed",
        ),
        col("rows", Int64, "rows").required().doc("rows of the operation's first table"),
        col("request_id", Text, "request_id").doc("the service's id of the request, of several the first"),
        col("error", Text, "error").doc("why nothing came"),
        col("attempts", Int32, "attempts").required().doc("how often requests were sent for it"),
        col("fetched_at", TimestampMs, "fetched_at").doc("when the response was complete, or the unit was given up"),
        col("unit", Text, "unit").required().doc("name of the unit, such as stats/<session id>"),
        col("served_at", TimestampMs, "served_at").doc("the service's Date of the response, of several the first"),
        col("listed_at", TimestampMs, "listed_at")
            .doc("when its schedule or event list last named it; null in a batch"),
    ],
};
