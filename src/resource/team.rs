//! Teams.

use tables::{Col, Resource, Table, Ty::*, col, member, root, table};

pub(crate) static TEAMS: Resource = Resource::new("teams", &[root("teams[]"), root("[]").not_empty()], &[&TABLE]);

static TABLE: Table = table("teams", "")
    .doc("One row for each team.")
    .columns(&[TEAM_ID, NAME, GENDER, CONFERENCE, LEAGUE, SPORT, REFERENCE]);

// A roster is a team with players: its `team` table begins with these columns too.
pub(super) const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("Team id");
pub(super) const NAME: Col = member("name", Text).doc("Team name");
pub(super) const GENDER: Col = member("gender", Category).doc("Gender of the players, such as MEN or WOMEN");
pub(super) const CONFERENCE: Col = member("conference_name", Text).doc("Conference name");
pub(super) const LEAGUE: Col = member("league_name", Text).doc("League name");
pub(super) const SPORT: Col = member("sport", Category).doc("Sport, such as BASKETBALL or FOOTBALL");
pub(super) const REFERENCE: Col = member("reference_id", Text).doc("Id of the team in an external system");
