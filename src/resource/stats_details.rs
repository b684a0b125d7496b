//! Stat occurrences of a session or a whole game.

use super::stats::{
    FIRST_NAME, GAME_ID, IS_TEAM_TOTAL, KNOWN_PATHS, LAST_NAME, PLAYER_ID, SESSION_ID, TEAM_ID, TEAM_NAME, VERSION,
};
use tables::{Resource, Table, Ty::*, col, key, root, table};

pub(crate) static STATS_DETAILS: Resource =
    Resource::new("stats_details", &[root("teams[]"), root("[]").not_empty()], &[&STAT_EVENTS]).paths(KNOWN_PATHS);

/// Undocumented; read like a session's details if it has their shape.
pub(crate) static GAME_STATS_DETAILS: Resource =
    Resource::new("game_stats_details", &[root("teams[]"), root("[]").not_empty()], &[&STAT_EVENTS]).paths(KNOWN_PATHS);

static STAT_EVENTS: Table =
    table("stat_events", "player_stats[].stats{}[]").doc("One row for each occurrence of a stat.").columns(&[
        SESSION_ID,
        GAME_ID,
        TEAM_ID,
        TEAM_NAME,
        PLAYER_ID,
        FIRST_NAME,
        LAST_NAME,
        IS_TEAM_TOTAL,
        VERSION,
        key("stat", "player_stats[].stats{}").required().doc("Stat code, such as FGA or PTS"),
        col("occurred_at", TimestampMs, ".occurred_at").doc("Time of the event"),
        col("value", Float64, ".value").doc("Value of the stat; DIST in cm, other codes are counts"),
        col("game_clock", Text, ".game_clock").doc("Game clock as sent, minutes:seconds.tenths"),
        col("game_clock_s", ClockSeconds, ".game_clock").doc("Time left in the period"),
        col("shot_clock", Text, ".shot_clock").doc("Shot clock as sent, seconds.tenths"),
        col("shot_clock_s", ClockSeconds, ".shot_clock").doc("Time left on the shot clock"),
        col("period", Category, ".period").doc("Period, such as Q1 or H1"),
        col("x", Float64, ".x").court().doc("Position across the court, from its centre"),
        col("y", Float64, ".y").court().doc("Position along the court, from its centre"),
        col("z", Float64, ".z").court().doc("Height above the floor"),
        col("hoop_to_event_x", Float64, ".hoop_to_event_x")
            .hoop()
            .doc("Offset from the hoop to the right, for a view from the hoop to mid-court"),
        col("hoop_to_event_y", Float64, ".hoop_to_event_y").hoop().doc("Offset from the hoop towards mid-court"),
    ]);
