//! Play-by-play of a game.

use crate::table::{Resource, Table, Ty::*, col, root};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Play {
    #[serde(rename = "type")]
    pub kind: String,
    pub event_id: String,
    pub timestamp: i64,
    pub team_id: String,
    pub session_type: String,
    pub session_id: String,
    pub practice_id: Option<String>,
    pub practice_definition_id: Option<String>,
    pub drill_definition_id: Option<String>,
    pub game_id: String,
    /// The stats that this event adds, by code.
    pub stats: Map<String, Value>,
    pub corrected: bool,
    pub facility_id: String,
    pub court_id: String,
    pub game_clock: Option<String>,
    pub shot_clock: Option<String>,
    pub period: String,
    pub player_x: Option<f64>,
    pub player_y: Option<f64>,
    pub player_z: Option<f64>,
    pub hoop_to_event_x: Option<f64>,
    pub hoop_to_event_y: Option<f64>,
    pub clip_id: Option<String>,
    pub classification: String,
    pub description: String,
    pub video_attributes: VideoAttributes,
    pub base_stats: String,
    pub actual_stats: String,
    pub key: PlayKey,
    pub act: String,
    pub pid: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VideoAttributes {
    pub facility_id: String,
    pub court_id: String,
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayKey {
    pub actor_id: String,
    pub timestamp: i64,
}

pub static PLAY_BY_PLAY: Resource = Resource {
    name: "play_by_play",
    roots: &[root("").needs(&["details[]"])],
    tables: &[&TABLE],
    known: &["gameTotals", "details[].videoAttributes", "details[].key"],
};

pub(super) static TABLE: Table = Table {
    name: "play_by_play",
    doc: "One row for each event of a game.",
    rows: "details[]",
    open: None,
    cols: &[
        col("game_id", Text, ".gameId").by_request("game_id").doc("game of the request; else as the body says"),
        col("session_id", Text, ".sessionId").doc("session"),
        col("event_id", Text, ".eventId").required().doc("event: the same when it is corrected"),
        col("type", Category, ".type").doc("ACTUAL is the only value documented"),
        col("timestamp", TimestampMs, ".timestamp").doc("when it happened"),
        col("team_id", Int64, ".teamId").doc("team"),
        col("session_type", Category, ".sessionType").doc("such as GAME_ROUND"),
        col("practice_id", Text, ".practiceId").doc("practice; null in a game"),
        col("practice_definition_id", Text, ".practiceDefinitionId").doc("plan of the practice; null in a game"),
        col("drill_definition_id", Text, ".drillDefinitionId").doc("plan of the drill; null in a game"),
        col("stats", MapFloat64, ".stats").doc("what this event adds, by stat code; DIST in cm, the others counts"),
        col("corrected", Bool, ".corrected").doc("whether it was corrected afterwards"),
        col("facility_id", Text, ".facilityId").doc("facility"),
        col("court_id", Text, ".courtId").doc("court"),
        col("game_clock", Text, ".gameClock").doc("game clock as sent"),
        col("game_clock_s", ClockSeconds, ".gameClock").unit("s").doc("game clock: time left in the period"),
        col("shot_clock", Text, ".shotClock").doc("shot clock as sent"),
        col("shot_clock_s", ClockSeconds, ".shotClock").unit("s").doc("shot clock: time left"),
        col("period", Category, ".period").doc("such as Q1 or H1"),
        col("player_x", Float64, ".playerX").unit("mm").frame("court").doc("player, across the court from its centre"),
        col("player_y", Float64, ".playerY").unit("mm").frame("court").doc("player, along the court from its centre"),
        col("player_z", Float64, ".playerZ").unit("mm").frame("court").doc("player, above the floor"),
        col("hoop_to_event_x", Float64, ".hoopToEventX")
            .unit("mm")
            .frame("hoop")
            .doc("from the hoop, to the right seen from it"),
        col("hoop_to_event_y", Float64, ".hoopToEventY")
            .unit("mm")
            .frame("hoop")
            .doc("from the hoop towards mid-court"),
        col("clip_id", Text, ".clipId").doc("video clip"),
        col("classification", Category, ".classification").doc("such as LIVE_BALL_TURNOVER"),
        col("description", Text, ".description").doc("a sentence"),
        col("base_stats", Category, ".baseStats").doc("general stat code, such as TO"),
        col("actual_stats", Category, ".actualStats").doc("particular stat code, such as LBTO"),
        col("act", Category, ".act").doc("who acted: PLAYER is the only value documented"),
        col("player_id", Int64, ".pid").doc("player"),
    ],
};
