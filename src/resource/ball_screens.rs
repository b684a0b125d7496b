//! Predicted ball screens of a game.

use crate::table::{Resource, Table, Ty::*, col, root};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BallScreen {
    pub session_id: String,
    pub timestamp: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub event_id: String,
    pub game_id: String,
    pub team_possession_id: Option<String>,
    pub session_type: String,
    pub period: String,
    pub source: String,
    pub corrected: bool,
    pub ball_handler_player_id: String,
    pub ball_handler_defender_player_id: String,
    pub screener_player_ids: Vec<String>,
    pub screener_defender_player_ids: Vec<String>,
    /// Action to probability.
    pub offensive_actions: Map<String, Value>,
    pub defensive_actions: Map<String, Value>,
    pub end_timestamp: i64,
    pub team_id: String,
    pub defender_team_id: String,
    pub screener_x: f64,
    pub screener_y: f64,
    pub wing: i64,
    pub video_time_mark_start: String,
    pub start_game_clock: String,
    pub end_game_clock: String,
    pub start_shot_clock: Option<String>,
    pub end_shot_clock: Option<String>,
}

pub static BALL_SCREENS: Resource = Resource {
    name: "ball_screens",
    roots: &[root("").needs(&["ballscreens[]"])],
    tables: &[&TABLE],
    known: &["gameTotals"],
};

static TABLE: Table = Table {
    name: "ball_screens",
    doc: "One row for each predicted ball screen.",
    rows: "ballscreens[]",
    open: None,
    cols: &[
        col("game_id", Text, ".gameId").by_request("game_id").doc("game of the request; else as the body says"),
        col("session_id", Text, ".sessionId").doc("session"),
        col("event_id", Text, ".eventId").required().doc("event: the same when it is corrected"),
        col("timestamp", TimestampMs, ".timestamp").doc("start"),
        col("end_timestamp", TimestampMs, ".endTimestamp").doc("end"),
        col("type", Category, ".type").doc("BALL_SCREEN is the only value documented"),
        col("team_possession_id", Text, ".teamPossessionId").doc("possession it belongs to"),
        col("session_type", Category, ".sessionType").doc("such as GAME_ROUND"),
        col("period", Category, ".period").doc("such as Q1 or H1"),
        col("source", Category, ".source").doc("who predicted it, such as VERIZON"),
        col("corrected", Bool, ".corrected").doc("whether it was corrected afterwards"),
        col("ball_handler_player_id", Int64, ".ballHandlerPlayerId").doc("player with the ball"),
        col("ball_handler_defender_player_id", Int64, ".ballHandlerDefenderPlayerId").doc("who defends that player"),
        col("screener_player_ids", ListInt64, ".screenerPlayerIds").doc("players who set the screen"),
        col("screener_defender_player_ids", ListInt64, ".screenerDefenderPlayerIds").doc("who defends those players"),
        col("offensive_actions", MapFloat64, ".offensiveActions").doc("probability of each action, such as POP"),
        col("defensive_actions", MapFloat64, ".defensiveActions").doc("probability of each action, such as SWITCH"),
        col("team_id", Int64, ".teamId").doc("team with the ball"),
        col("defender_team_id", Int64, ".defenderTeamId").doc("team that defends"),
        col("screener_x", Float64, ".screenerX").unit("mm").doc("screener, across the court from its centre"),
        col("screener_y", Float64, ".screenerY").unit("mm").doc("screener, along the court from its centre"),
        col("wing", Count, ".wing").doc("wing, by the service's number"),
        col("video_time_mark_start", Text, ".videoTimeMarkStart").doc("start in the video as sent, minutes:seconds"),
        col("start_game_clock", Text, ".startGameClock").doc("game clock at the start, as sent"),
        col("start_game_clock_s", ClockSeconds, ".startGameClock").unit("s").doc("game clock at the start: time left"),
        col("end_game_clock", Text, ".endGameClock").doc("game clock at the end, as sent"),
        col("end_game_clock_s", ClockSeconds, ".endGameClock").unit("s").doc("game clock at the end: time left"),
        col("start_shot_clock", Text, ".startShotClock").doc("shot clock at the start, as sent"),
        col("start_shot_clock_s", ClockSeconds, ".startShotClock").unit("s").doc("shot clock at the start: time left"),
        col("end_shot_clock", Text, ".endShotClock").doc("shot clock at the end, as sent"),
        col("end_shot_clock_s", ClockSeconds, ".endShotClock").unit("s").doc("shot clock at the end: time left"),
    ],
};
