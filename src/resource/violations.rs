//! Violations found by an audit: where tables of the same sessions contradict each other.

use tables::{Resource, Table, Ty::*, member, table};

pub(crate) static VIOLATIONS: Resource = Resource::of_rows("violations", &[&TABLE]);

static TABLE: Table = table("violations", "").doc("One row for each violation of an audit rule.").columns(&[
    member("rule", Category).required().doc("Name of the violated rule, one of sideline.audit.rules()"),
    member("team_id", Int64).doc("Team id, if the violation concerns a team"),
    member("game_id", Text).doc("Game id, if the tables have one"),
    member("session_id", Text).doc("Session id"),
    member("player_id", Int64).doc("Player id, if the violation concerns a player; 0 marks a team total"),
    member("expected", Text).doc("Value that the rule expects"),
    member("found", Text).doc("Value in the tables; null if they have none"),
    member("message", Text).required().doc("Description of the violation in a sentence"),
]);
