//! The known part of the Broadcast API's bodies: a team with its players.

use super::roster::SpecialService;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BroadcastTeam {
    pub id: i64,
    pub name: String,
    pub abbr: String,
    pub city: String,
    pub state: String,
    /// `RRGGBB`, without a `#`.
    pub color_rgb: String,
    pub players: Vec<BroadcastPlayer>,
    /// With a game only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensor_assignments_history: Option<Vec<SensorAssignment>>,
}

/// The assignment of a sensor to a player, and its time. The documentation does not name its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SensorAssignment {
    pub player_id: i64,
    pub sensor: i64,
    pub timestamp: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BroadcastPlayer {
    pub id: i64,
    pub first_name: String,
    pub last_name: String,
    pub jersey_number: i64,
    pub jersey_number_str: String,
    pub position_abbr: String,
    pub sensor: i64,
    pub special_services: Vec<SpecialService>,
    /// With a game only: false for players who left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
}
