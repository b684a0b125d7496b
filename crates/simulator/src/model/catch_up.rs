//! Several resources of a game in one response: `stats`, `details`, `shots`, `possessions`, each under its own key.

use super::game_shots::GameShot;
use super::game_totals::GameTotals;
use super::play_by_play::Play;
use super::possessions::TeamPossessions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A player's line of a whole game. Codes may be absent when zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameLine {
    pub pid: String,
    pub tid: String,
    pub total_stats: Map<String, Value>,
}

/// Parts that were not requested are absent. The body of `possessions` is not documented; it is assumed to be that of a
/// session's possessions, without its outer object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatchUpBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Vec<GameLine>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Vec<Play>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shots: Option<Vec<GameShot>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub possessions: Option<Vec<TeamPossessions>>,
    pub game_totals: GameTotals,
}
