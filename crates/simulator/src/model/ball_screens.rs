//! Predicted ball screens of a game.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BallScreen {
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
