//! Violations found by an audit: where tables of the same sessions contradict each other.

use tables::{Resource, Table, Ty::*, col, table};

pub(crate) static VIOLATIONS: Resource = Resource::of_rows("violations", &[&TABLE]);

static TABLE: Table = table("violations", "").doc("One row for each violation of an audit rule.").columns(&[
    col("rule", Category, "rule").required().doc("Name of the violated rule, one of sideline.audit.rules()"),
    col("team_id", Int64, "team_id").doc("Team id, if the violation concerns a team"),
    col("game_id", Text, "game_id").doc("Game id, if the tables have one"),
    col("session_id", Text, "session_id").doc("Session id"),
    col("player_id", Int64, "player_id").doc("Player id, if the violation concerns a player; 0 marks a team total"),
    col("expected", Text, "expected").doc("Value that the rule expects"),
    col("found", Text, "found").doc("Value in the tables; null if they have none"),
    col("message", Text, "message").required().doc("Description of the violation in a sentence"),
]);
