//! The game schedule.

use tables::{PlanCache, Resource, Table, Ty::*, col, member, root, table};

pub(crate) static SCHEDULE: Resource = Resource::new("schedule", &[root("games[]"), root("[]").not_empty()], &[&GAMES]);

/// Games of one or two teams, by any system's ids: the same without `type` and `source`.
pub(crate) static MATCHUP: Resource = Resource { name: "matchup", cache: PlanCache::new(), ..SCHEDULE };

static GAMES: Table = table("games", "").doc("One row for each scheduled game.").columns(&[
    col("game_id", Text, "event_id").required().doc("Game id"),
    member("tipoff_at", TimestampMs).doc("Scheduled start of the game"),
    member("status", Category).doc("Game status; ACTIVE is the only documented value"),
    member("type", Category).doc("Sport, BASKETBALL or FOOTBALL"),
    member("gender", Category).doc("Gender of the players, such as MEN or WOMEN"),
    member("home_team_id", Int64).doc("Home team id"),
    member("home_team_name", Text).doc("Home team name"),
    member("away_team_id", Int64).doc("Away team id"),
    member("away_team_name", Text).doc("Away team name"),
    member("home_team_reference_id", Text).doc("Id of the home team in an external system"),
    member("away_team_reference_id", Text).doc("Id of the away team in an external system"),
    member("officials_team_id", Int64).doc("Id of the team of officials"),
    member("facility_name", Text).doc("Facility name"),
    member("court_name", Text).doc("Court name"),
    member("location_id", Text).doc("Court id and facility id joined by @; other forms are opaque"),
    col("court_id", BeforeAt, "location_id").doc("Court id: the part of location_id before its first @"),
    col("facility_id", AfterAt, "location_id").doc("Facility id: the part of location_id after its first @"),
    member("tournament", Text).doc("Tournament of the game"),
    member("reference_id", Text).doc("Id of the game in an external system"),
    member("fan_engagement_enabled", Bool).doc("Whether fan engagement is enabled"),
    member("source", Category).doc("Origin of the data"),
    col("results_link", Links, "_results").doc("Link to the game"),
]);
