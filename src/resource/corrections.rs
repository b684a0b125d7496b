//! The changes that an archive saw after a game was over.

use crate::table::{Resource, Table, Ty::*, col, root};

pub static CORRECTIONS: Resource =
    Resource { name: "corrections", roots: &[root("[]")], tables: &[&TABLE], known: &[] };

static TABLE: Table = Table {
    name: "corrections",
    doc: "One row for each value that an archive saw change after its game was over.",
    rows: "",
    open: None,
    cols: &[
        col("table", Category, "table").required().doc("the table that the value is in"),
        col("team_id", Int64, "team_id").doc("team, where the row names one"),
        col("game_id", Text, "game_id").doc("game, where it is one's"),
        col("session_id", Text, "session_id").doc("session, where it is one's"),
        col("player_id", Int64, "player_id").doc("player, where the row names one; 0 is the team's own total"),
        col("key", Text, "key").doc("what else names the row, as JSON"),
        col("field", Text, "field").required().doc("the column; row where a whole row came or went"),
        col("old", Text, "old").doc("what was stored, as JSON; null where there was nothing"),
        col("new", Text, "new").doc("what took its place, as JSON; null where there is nothing"),
        col("old_version", Int64, "old_version").doc("version of the row that was stored"),
        col("new_version", Int64, "new_version").doc("version of the row that took its place"),
        col("seen_at", TimestampMs, "seen_at").required().doc("when it was stored"),
    ],
};
