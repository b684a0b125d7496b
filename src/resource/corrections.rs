//! The changes that an archive saw after a game was over.

use tables::{Resource, Table, Ty::*, member, table};

pub(crate) static CORRECTIONS: Resource = Resource::of_rows("corrections", &[&TABLE]);

static TABLE: Table = table("corrections", "")
    .doc("One row for each value that changed in an archive after the end of its game.")
    .columns(&[
        member("table", Category).required().doc("Table of the changed value"),
        member("team_id", Int64).doc("Team id, if the row has one"),
        member("game_id", Text).doc("Game id, if the row has one"),
        member("session_id", Text).doc("Session id, if the row has one"),
        member("player_id", Int64).doc("Player id, if the row has one; 0 marks a team total"),
        member("key", Text).doc("Remaining key of the row, as JSON"),
        member("field", Text).required().doc("Column of the changed value; row for an added or removed row"),
        member("old", Text).doc("Previous value as JSON; null for an added value"),
        member("new", Text).doc("New value as JSON; null for a removed value"),
        member("old_version", Int64).doc("Version of the previous row"),
        member("new_version", Int64).doc("Version of the new row"),
        member("seen_at", TimestampMs).required().doc("Time at which the archive stored the change"),
    ]);
