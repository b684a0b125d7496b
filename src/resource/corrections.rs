//! The changes that an archive saw after a game was over.

use tables::{Resource, Table, Ty::*, col, table};

pub(crate) static CORRECTIONS: Resource = Resource::of_rows("corrections", &[&TABLE]);

static TABLE: Table = table("corrections", "")
    .doc("One row for each value that changed in an archive after the end of its game.")
    .columns(&[
        col("table", Category, "table").required().doc("Table of the changed value"),
        col("team_id", Int64, "team_id").doc("Team id, if the row has one"),
        col("game_id", Text, "game_id").doc("Game id, if the row has one"),
        col("session_id", Text, "session_id").doc("Session id, if the row has one"),
        col("player_id", Int64, "player_id").doc("Player id, if the row has one; 0 marks a team total"),
        col("key", Text, "key").doc("Remaining key of the row, as JSON"),
        col("field", Text, "field").required().doc("Column of the changed value; row for an added or removed row"),
        col("old", Text, "old").doc("Previous value as JSON; null for an added value"),
        col("new", Text, "new").doc("New value as JSON; null for a removed value"),
        col("old_version", Int64, "old_version").doc("Version of the previous row"),
        col("new_version", Int64, "new_version").doc("Version of the new row"),
        col("seen_at", TimestampMs, "seen_at").required().doc("Time at which the archive stored the change"),
    ]);
