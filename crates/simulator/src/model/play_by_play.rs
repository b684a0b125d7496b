//! Play-by-play of a game.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Play {
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

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VideoAttributes {
    pub facility_id: String,
    pub court_id: String,
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlayKey {
    pub actor_id: String,
    pub timestamp: i64,
}
