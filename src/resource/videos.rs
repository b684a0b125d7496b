//! The videos of a game.

use crate::table::{Resource, Table, Ty::*, col, root};
use serde::{Deserialize, Serialize};

/// A part of a recording, without the fields that the vendor calls contextual, except those that name the part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Video {
    pub hls_file: String,
    pub hls_video_start_timestamp: i64,
    pub hls_start_offset: f64,
    pub hls_video_delay_ms: i64,
    pub hls_duration: f64,
    pub game_id: String,
    pub session_id: String,
    pub period: String,
    pub event_start_timestamp: i64,
    pub event_end_timestamp: i64,
}

pub static VIDEOS: Resource = Resource {
    name: "videos",
    roots: &[root("").needs(&["videos[]"])],
    tables: &[&TABLE],
    known: &[
        "gameTotals",
        "videos[].videoStartTimestamp",
        "videos[].videoEndTimestamp",
        "videos[].externalStartTimestamp",
        "videos[].externalEndTimestamp",
        "videos[].location",
        "videos[].posterLocation",
    ],
};

static TABLE: Table = Table {
    name: "videos",
    doc: "One row for each part of a recording of a game.",
    rows: "videos[]",
    open: None,
    cols: &[
        col("game_id", Text, ".gameId").by_request("game_id").doc("game of the request; else as the body says"),
        col("session_id", Text, ".sessionId").doc("session"),
        col("hls_file", Text, ".hlsFile").doc("address of the recording, an HLS playlist"),
        col("hls_video_start_timestamp", TimestampMs, ".hlsVideoStartTimestamp").doc("when the recording begins"),
        col("hls_start_offset", Float64, ".hlsStartOffset")
            .doc("where the part begins in the recording; the unit is undocumented, taken as seconds"),
        col("hls_video_delay_ms", Float64, ".hlsVideoDelayMs").unit("ms").doc("how much later the picture is"),
        col("hls_duration", Float64, ".hlsDuration")
            .doc("how long the part is; the unit is undocumented, taken as seconds"),
        col("period", Category, ".period").doc("such as Q1 or H1"),
        col("event_start_timestamp", TimestampMs, ".eventStartTimestamp").doc("start of what it shows"),
        col("event_end_timestamp", TimestampMs, ".eventEndTimestamp").doc("end of what it shows"),
        col("start_game_clock_ms", Float64, ".startGameClockMs").unit("ms").doc("game clock at the start: time left"),
        col("end_game_clock_ms", Float64, ".endGameClockMs").unit("ms").doc("game clock at the end: time left"),
        col("source", Category, ".sourceKey.source").doc("what it shows, such as POSSESSION"),
        col("team_id", Int64, ".sourceKey.teamId").doc("team that it shows"),
        col("player_id", Int64, ".sourceKey.playerId").doc("player whom it shows"),
        col("facility_id", Text, ".facilityId").doc("facility"),
    ],
};
