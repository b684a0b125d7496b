//! Shots of a whole game, in abbreviations.

use super::shots;
use tables::{Resource, Table, Ty::*, col, read_elsewhere, root};

pub(crate) static GAME_SHOTS: Resource =
    Resource::new("game_shots", &[root("").needs(&["shots[]"])], &[&TABLE]).paths(&KNOWN_PATHS);

/// These have no documented meaning, or are the same for the whole game.
pub(super) const KNOWN_PATHS: [&str; 8] = [
    "gameTotals",
    "shots[].label",
    "shots[].sst",
    "shots[].drb",
    "shots[].dd",
    "shots[].fid",
    "shots[].hid",
    "shots[].players",
];

pub(super) static TABLE: Table = Table {
    rows: "shots[]",
    cols: &read_elsewhere(
        shots::COLUMNS,
        &[
            col("session_id", Text, ".sid"),
            col("game_id", Text, ".gid"),
            col("team_id", Int64, ".tid"),
            col("player_id", Int64, ".pid"),
            col("occurred_at", TimestampMs, ".t"),
            col("is_make", IsMake, ".st"),
            col("is_3point", Bool, ".is3"),
            col("given_points", Count, ".pts"),
            col("zone", Count, ".z"),
            col("advanced_zone", Count, ".az"),
            col("player_x", Float64, ".px"),
            col("player_y", Float64, ".py"),
            col("player_z", Float64, ".pz"),
            col("hoop_x", Float64, ".hx"),
            col("hoop_y", Float64, ".hy"),
            col("hoop_z", Float64, ".hz"),
            col("hoop_player_x", Float64, ".hsx"),
            col("hoop_player_y", Float64, ".hsy"),
            col("given_distance", Float64, ".d"),
            col("status", Category, ".s"),
            col("game_clock", Text, ".gc"),
            col("game_clock_s", ClockSeconds, ".gc"),
            col("shot_clock", Text, ".sc"),
            col("shot_clock_s", ClockSeconds, ".sc"),
            col("period", Category, ".prd"),
            col("attributes", ListText, ".attributes"),
            col("defender_ids", ListInt64, ".shotDefenders"),
        ],
    ),
    ..shots::TABLE
};
