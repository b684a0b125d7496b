//! The coverage of a batch, sync or plan: the outcome of each unit.

use serde::{Deserialize, Serialize};
use tables::{Resource, Table, Ty::*, col, table};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

pub(crate) static COVERAGE: Resource = Resource::of_rows("coverage", &[&TABLE]);

pub(crate) static TABLE: Table =
    table("coverage", "").doc("One row for each planned unit: one operation for one id.").columns(&[
        col("operation", Category, "operation").required().doc("Name of the requested operation"),
        col("team_id", Int64, "team_id").doc("Id of the requested team"),
        col("game_id", Text, "game_id").doc("Id of the requested game"),
        col("session_id", Text, "session_id").doc("Id of the requested session"),
        col("start", TimestampMs, "start").doc("Start of the requested range"),
        col("end", TimestampMs, "end").doc("End of the requested range"),
        col("status", Category, "status")
            .required()
            .doc("Outcome: fetched, empty, forbidden, missing or failed; in archives also unavailable or withdrawn"),
        col("rows", Int64, "rows").required().doc("Number of rows in the operation's first table"),
        col("request_id", Text, "request_id").doc("Request id from the service, for the first of several requests"),
        col("error", Text, "error").doc("Error message of the unit; null without an error"),
        col("attempts", Int32, "attempts").required().doc("Number of requests sent for the unit, retries included"),
        col("fetched_at", TimestampMs, "fetched_at").doc("Time of the complete response, or of the failure"),
        col("unit", Text, "unit").required().doc("Name of the unit, such as stats/<session id>"),
        col("served_at", TimestampMs, "served_at")
            .doc("Date header of the response, or of the first of several responses"),
        col("listed_at", TimestampMs, "listed_at")
            .doc("Time of the last schedule or event list that had the event; null in a batch"),
    ]);
