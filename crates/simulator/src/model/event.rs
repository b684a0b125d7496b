//! Team events, games and practices, and their sessions.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Event {
    pub id: String,
    pub name: String,
    pub results: Vec<EventResult>,
    pub source: String,
    pub is_practice_event: bool,
    pub is_game_event: bool,
    pub started_at: i64,
    pub ended_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_type: Option<String>,
    pub _self: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_attributes: Option<GameAttributes>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Totals {
    pub _stats_details: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct GameAttributes {
    pub home_team_id: i64,
    pub home_team_name: String,
    pub away_team_id: i64,
    pub away_team_name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EventResult {
    pub id: String,
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub started_at: i64,
    pub ended_at: i64,
    pub _stats: String,
    pub _stats_details: String,
    pub _shots: String,
    pub _locations: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub _possessions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub _possessions_summary: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct EventsBody {
    pub events: Vec<Event>,
}
