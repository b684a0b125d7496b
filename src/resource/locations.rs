//! Sensor locations.

use crate::table::{Resource, Table, Ty::*, col, request, root};
use serde::{Deserialize, Serialize};

/// One time step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocationBatch {
    pub locations: Vec<Location>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Location {
    pub x: f64,
    pub t: i64,
    pub z: f64,
    #[serde(rename = "type")]
    pub kind: String,
    pub sid: String,
    pub y: f64,
    pub tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<i64>,
    pub speed: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    pub gc: Option<String>,
    pub sc: Option<String>,
}

pub static LOCATIONS: Resource = Resource {
    name: "locations",
    roots: &[root("[]"), root("").needs(&["locations[]"])],
    tables: &[&TABLE],
    known: &[],
};

static TABLE: Table = Table {
    name: "locations",
    doc: "One row for each position of a player or the ball.",
    rows: "locations[]",
    open: None,
    cols: &[
        col("session_id", Text, ".sid").by_request("session_id").doc("session of the request; else as the body says"),
        request("game_id", Text).doc("game of the request"),
        col("t", TimestampMs, ".t").required().doc("when"),
        col("type", Category, ".type").doc("PLAYER is the only value documented"),
        col("team_id", Int64, ".tid").doc("team"),
        col("player_id", Int64, ".pid").doc("player"),
        col("tag", Text, ".tag").doc("number of the sensor"),
        col("x", Float64, ".x").unit("mm").frame("court").doc("across the court, from its centre"),
        col("y", Float64, ".y").unit("mm").frame("court").doc("along the court, from its centre"),
        col("z", Float64, ".z").unit("mm").frame("court").doc("above the floor"),
        col("speed", Float64, ".speed").doc("speed; the service does not state the unit"),
        col("game_clock", Text, ".gc").doc("game clock as sent"),
        col("game_clock_s", ClockSeconds, ".gc").unit("s").doc("game clock: time left in the period"),
        col("shot_clock", Text, ".sc").doc("shot clock as sent"),
        col("shot_clock_s", ClockSeconds, ".sc").unit("s").doc("shot clock: time left"),
    ],
};
