//! The game schedule.

use crate::table::{Resource, Table, Ty::*, col, root};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduledGame {
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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleBody {
    pub games: Vec<ScheduledGame>,
}

pub static SCHEDULE: Resource =
    Resource { name: "schedule", roots: &[root("games[]"), root("[]").not_empty()], tables: &[&GAMES], known: &[] };

/// Games of one or two teams, by any system's ids: the same without `type` and `source`.
pub static MATCHUP: Resource = Resource { name: "matchup", ..SCHEDULE };

static GAMES: Table = Table {
    name: "games",
    doc: "One row for each scheduled game.",
    rows: "",
    open: None,
    cols: &[
        col("game_id", Text, "event_id").required().doc("game"),
        col("tipoff_at", TimestampMs, "tipoff_at").doc("scheduled start"),
        col("status", Category, "status").doc("ACTIVE is the only value documented"),
        col("type", Category, "type").doc("BASKETBALL or FOOTBALL"),
        col("gender", Category, "gender").doc("such as MEN or WOMEN"),
        col("home_team_id", Int64, "home_team_id").doc("home team"),
        col("home_team_name", Text, "home_team_name").doc("home team name"),
        col("away_team_id", Int64, "away_team_id").doc("away team"),
        col("away_team_name", Text, "away_team_name").doc("away team name"),
        col("home_team_reference_id", Text, "home_team_reference_id").doc("the home team's id in an external system"),
        col("away_team_reference_id", Text, "away_team_reference_id").doc("the away team's id in an external system"),
        col("officials_team_id", Int64, "officials_team_id").doc("team of officials"),
        col("facility_name", Text, "facility_name").doc("facility"),
        col("court_name", Text, "court_name").doc("court"),
        col("location_id", Text, "location_id").doc("court and facility id joined by @; opaque where it has none"),
        col("court_id", BeforeAt, "location_id").doc("the part of location_id before its @"),
        col("facility_id", AfterAt, "location_id").doc("the part of location_id after its @"),
        col("tournament", Text, "tournament").doc("tournament"),
        col("reference_id", Text, "reference_id").doc("the game's id in an external system"),
        col("fan_engagement_enabled", Bool, "fan_engagement_enabled").doc("whether fan engagement is on"),
        col("source", Category, "source").doc("origin of the data"),
        col("results_link", Links, "_results").doc("link to the game"),
    ],
};
