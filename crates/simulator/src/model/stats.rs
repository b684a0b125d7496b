//! Box-score stats of a session, and of a team over a game or range.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TeamStats {
    pub id: i64,
    pub name: String,
    pub logo_image_link: String,
    pub player_stats: Vec<PlayerStats>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlayerStats {
    /// 0 for the team's own totals.
    pub id: i64,
    pub player_details: Option<PlayerDetails>,
    pub version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub games_played: Option<i64>,
    /// Stat code to number, in the service's order.
    pub stats: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlayerDetails {
    pub id: i64,
    pub firstname: String,
    pub lastname: String,
    pub profile_image_link: String,
}
