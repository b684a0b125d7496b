//! Teams.

use tables::{Col, Resource, Table, Ty::*, col, root, table};

pub(crate) static TEAMS: Resource = Resource::new("teams", &[root("teams[]"), root("[]").not_empty()], &[&TABLE]);

static TABLE: Table = table("teams", "")
    .doc("One row for each team.")
    .columns(&[TEAM_ID, NAME, GENDER, CONFERENCE, LEAGUE, SPORT, REFERENCE]);

// A roster is a team with players: its `team` table begins with these columns too.
pub(super) const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("Team id");
pub(super) const NAME: Col = col("name", Text, "name").doc("Team name");
pub(super) const GENDER: Col = col("gender", Category, "gender").doc("Gender of the players, such as MEN or WOMEN");
pub(super) const CONFERENCE: Col = col("conference_name", Text, "conference_name").doc("Conference name");
pub(super) const LEAGUE: Col = col("league_name", Text, "league_name").doc("League name");
pub(super) const SPORT: Col = col("sport", Category, "sport").doc("Sport, such as BASKETBALL or FOOTBALL");
pub(super) const REFERENCE: Col = col("reference_id", Text, "reference_id").doc("Id of the team in an external system");
