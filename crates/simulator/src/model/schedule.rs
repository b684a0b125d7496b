//! The game schedule.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ScheduledGame {
    pub event_id: String,
    pub facility_name: String,
    pub court_name: String,
    pub location_id: String,
    pub tournament: Option<String>,
    pub tipoff_at: i64,
    pub gender: String,
    pub status: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub home_team_id: i64,
    pub home_team_name: String,
    pub home_team_reference_id: String,
    pub away_team_id: i64,
    pub away_team_name: String,
    pub away_team_reference_id: String,
    pub officials_team_id: i64,
    pub _results: String,
    pub reference_id: String,
    pub fan_engagement_enabled: bool,
    pub source: String,
}
