//! The score in every response about a whole game. It is only in the dict.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GameTotals {
    pub away_team_score: TeamScore,
    pub home_team_score: TeamScore,
    pub period: String,
    pub game_clock: String,
    pub status: String,
    /// The newest first.
    pub period_totals: Vec<PeriodTotals>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamScore {
    pub team_id: String,
    pub value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PeriodTotals {
    pub away_team_score: TeamScore,
    pub home_team_score: TeamScore,
    pub period: String,
    pub session_id: String,
}
