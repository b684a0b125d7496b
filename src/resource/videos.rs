//! The videos of a game.

use super::play_by_play::GAME_ID;
use tables::{Resource, Table, Ty::*, col, root, table};

pub(crate) static VIDEOS: Resource = Resource::new("videos", &[root("").needs(&["videos[]"])], &[&TABLE]).paths(&[
    "gameTotals",
    "videos[].videoStartTimestamp",
    "videos[].videoEndTimestamp",
    "videos[].externalStartTimestamp",
    "videos[].externalEndTimestamp",
    "videos[].location",
    "videos[].posterLocation",
]);

static TABLE: Table = table("videos", "videos[]").doc("One row for each part of a recording of a game.").columns(&[
    GAME_ID,
    col("session_id", Text, ".sessionId").doc("Session id"),
    col("hls_file", Text, ".hlsFile").doc("Link to the recording, an HLS playlist"),
    col("hls_video_start_timestamp", TimestampMs, ".hlsVideoStartTimestamp").doc("Start of the recording"),
    col("hls_start_offset", Float64, ".hlsStartOffset")
        .doc("Start of the part within the recording; undocumented unit, assumed to be seconds"),
    col("hls_video_delay_ms", Float64, ".hlsVideoDelayMs").unit("ms").doc("Delay of the picture"),
    col("hls_duration", Float64, ".hlsDuration").doc("Duration of the part; undocumented unit, assumed to be seconds"),
    col("period", Category, ".period").doc("Period, such as Q1 or H1"),
    col("event_start_timestamp", TimestampMs, ".eventStartTimestamp").doc("Start of the recorded event"),
    col("event_end_timestamp", TimestampMs, ".eventEndTimestamp").doc("End of the recorded event"),
    col("start_game_clock_ms", Float64, ".startGameClockMs").unit("ms").doc("Time left in the period at the start"),
    col("end_game_clock_ms", Float64, ".endGameClockMs").unit("ms").doc("Time left in the period at the end"),
    col("source", Category, ".sourceKey.source").doc("Kind of the recorded event, such as POSSESSION"),
    col("team_id", Int64, ".sourceKey.teamId").doc("Id of the recorded team"),
    col("player_id", Int64, ".sourceKey.playerId").doc("Id of the recorded player"),
    col("facility_id", Text, ".facilityId").doc("Facility id"),
]);
