//! The videos of a game.

use serde::Serialize;

/// A part of a recording, without the fields that the vendor calls contextual, except those that name the part.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Video {
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
