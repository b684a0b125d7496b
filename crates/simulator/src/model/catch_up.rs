//! Several resources of a game in one response: `stats`, `details`, `shots`, `possessions`, each under its own key.

use serde::Serialize;
use serde_json::{Map, Value};

/// A player's line of a whole game. Codes may be absent when zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GameLine {
    pub pid: String,
    pub tid: String,
    pub total_stats: Map<String, Value>,
}
