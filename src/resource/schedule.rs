//! The game schedule.

use tables::{PlanCache, Resource, Table, Ty::*, col, root, table};

pub(crate) static SCHEDULE: Resource = Resource::new("schedule", &[root("games[]"), root("[]").not_empty()], &[&GAMES]);

/// Games of one or two teams, by any system's ids: the same without `type` and `source`.
pub(crate) static MATCHUP: Resource = Resource { name: "matchup", cache: PlanCache::new(), ..SCHEDULE };

static GAMES: Table = table("games", "").doc("One row for each scheduled game.").columns(&[
    col("game_id", Text, "event_id").required().doc("Game id"),
    col("tipoff_at", TimestampMs, "tipoff_at").doc("Scheduled start of the game"),
    col("status", Category, "status").doc("Game status; ACTIVE is the only documented value"),
    col("type", Category, "type").doc("Sport, BASKETBALL or FOOTBALL"),
    col("gender", Category, "gender").doc("Gender of the players, such as MEN or WOMEN"),
    col("home_team_id", Int64, "home_team_id").doc("Home team id"),
    col("home_team_name", Text, "home_team_name").doc("Home team name"),
    col("away_team_id", Int64, "away_team_id").doc("Away team id"),
    col("away_team_name", Text, "away_team_name").doc("Away team name"),
    col("home_team_reference_id", Text, "home_team_reference_id").doc("Id of the home team in an external system"),
    col("away_team_reference_id", Text, "away_team_reference_id").doc("Id of the away team in an external system"),
    col("officials_team_id", Int64, "officials_team_id").doc("Id of the team of officials"),
    col("facility_name", Text, "facility_name").doc("Facility name"),
    col("court_name", Text, "court_name").doc("Court name"),
    col("location_id", Text, "location_id").doc("Court id and facility id joined by @; other forms are opaque"),
    col("court_id", BeforeAt, "location_id").doc("Court id: the part of location_id before its first @"),
    col("facility_id", AfterAt, "location_id").doc("Facility id: the part of location_id after its first @"),
    col("tournament", Text, "tournament").doc("Tournament of the game"),
    col("reference_id", Text, "reference_id").doc("Id of the game in an external system"),
    col("fan_engagement_enabled", Bool, "fan_engagement_enabled").doc("Whether fan engagement is enabled"),
    col("source", Category, "source").doc("Origin of the data"),
    col("results_link", Links, "_results").doc("Link to the game"),
]);
