//! The known part of the Broadcast API's bodies: a team with its players.

use super::roster;
use tables::{Resource, Table, Ty::*, col, root, same_rows_elsewhere};

/// A roster in the Broadcast API's words; missing fields are null.
pub(crate) static BROADCAST_ROSTER: Resource = Resource::new(
    "broadcast_roster",
    &[root("").needs(&["id", "players[]"])],
    &[&PLAYERS, &roster::SPECIAL_SERVICES, &roster::TEAM],
)
// The documentation does not say where the history is.
.paths(&["abbr", "city", "state", "color_rgb", "sensor_assignments_history", "players[].sensor_assignments_history"]);

static PLAYERS: Table = Table {
    cols: &same_rows_elsewhere(
        roster::PLAYER_COLUMNS,
        &[col("team_id", Int64, "id"), col("position", Category, ".position_abbr")],
    ),
    ..roster::PLAYERS
};
