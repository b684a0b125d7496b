//! Violations found by an audit: where tables of the same sessions contradict each other.

use crate::table::{Resource, Table, Ty::*, col, root};

pub static VIOLATIONS: Resource = Resource { name: "violations", roots: &[root("[]")], tables: &[&TABLE], known: &[] };

static TABLE: Table = Table {
    name: "violations",
    doc: "One row for each place where an audit's rule does not hold.",
    rows: "",
    open: None,
    cols: &[
        col("rule", Category, "rule").required().doc("the rule that does not hold: one of sideline.audit.rules()"),
        col("team_id", Int64, "team_id").doc("team, where it is one's"),
        col("game_id", Text, "game_id").doc("game, where the tables are a game's"),
        col("session_id", Text, "session_id").doc("session"),
        col("player_id", Int64, "player_id").doc("player, where it is one's; 0 is the team's own total"),
        col("expected", Text, "expected").doc("what the rule asks for"),
        col("found", Text, "found").doc("what is there; null where there is nothing"),
        col("message", Text, "message").required().doc("the same as a sentence"),
    ],
};
