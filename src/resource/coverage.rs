//! The coverage of a batch, sync or plan: the outcome of each unit.

use serde::{Deserialize, Serialize};
use tables::{Resource, Table, Ty::*, member, table};

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
        member("operation", Category).required().doc("Name of the requested operation"),
        member("team_id", Int64).doc("Id of the requested team"),
        member("game_id", Text).doc("Id of the requested game"),
        member("session_id", Text).doc("Id of the requested session"),
        member("start", TimestampMs).doc("Start of the requested range"),
        member("end", TimestampMs).doc("End of the requested range"),
        member("status", Category)
            .required()
            .doc("Outcome: fetched, empty, forbidden, missing or failed; in archives also unavailable or withdrawn"),
        member("rows", Int64).required().doc("Number of rows in the operation's first table"),
        member("request_id", Text).doc("Request id from the service, for the first of several requests"),
        member("error", Text).doc("Error message of the unit; null without an error"),
        member("attempts", Int32).required().doc("Number of requests sent for the unit, retries included"),
        member("fetched_at", TimestampMs).doc("Time of the complete response, or of the failure"),
        member("unit", Text).required().doc("Name of the unit, such as stats/<session id>"),
        member("served_at", TimestampMs).doc("Date header of the response, or of the first of several responses"),
        member("listed_at", TimestampMs)
            .doc("Time of the last schedule or event list that had the event; null in a batch"),
    ]);
