//! Several resources of a game in one response: `stats`, `details`, `shots`, `possessions`, each under its own key.

use super::game_shots;
use super::play_by_play;
use super::possessions;
use super::stats::{self, STAT_CODES, stat_codes};
use crate::config::Sport;
use std::collections::HashMap;
use std::sync::LazyLock;
use tables::{Col, Resource, Table, Ty::*, absent, col, concat, index, key, read_elsewhere, root, same_rows_elsewhere};

/// The available parts, in the usual order.
pub(crate) const PARTS: [&str; 4] = ["stats", "details", "shots", "possessions"];

/// The array of each part.
const NEEDS: &[&str] = &["stats[]", "details[]", "shots[]", "possessions[]"];

pub(crate) static CATCH_UP: Resource = Resource {
    name: "catch_up",
    roots: &[root("").needs_any(NEEDS)],
    tables: &[
        &PLAYER_STATS,
        &BOX_SCORE,
        &play_by_play::TABLE,
        &game_shots::TABLE,
        &POSSESSIONS,
        &POSSESSION_EVENTS,
        &POSSESSION_PLAYERS,
    ],
    known: &[
        "gameTotals",
        "details[].videoAttributes",
        "details[].key",
        "shots[].label",
        "shots[].sst",
        "shots[].drb",
        "shots[].dd",
        "shots[].fid",
        "shots[].hid",
        "shots[].players",
        "possessions[].logo_image_link",
    ],
};

/// The same body of football.
pub(crate) static FOOTBALL_CATCH_UP: Resource = Resource {
    tables: &[
        &PLAYER_STATS,
        &FOOTBALL_BOX_SCORE,
        &play_by_play::TABLE,
        &game_shots::TABLE,
        &POSSESSIONS,
        &POSSESSION_EVENTS,
        &POSSESSION_PLAYERS,
    ],
    ..CATCH_UP
};

/// The resource of a response with these parts (names joined by commas): their tables, in that order. `None` for an
/// unknown or repeated part.
pub(crate) fn of(parts: &str, sport: Sport) -> Option<&'static Resource> {
    MADE.get(parts).map(|[basketball, football]| match sport {
        Sport::Basketball => *basketball,
        Sport::Football => *football,
    })
}

/// Whether these are parts, each once.
pub(crate) fn are_parts(names: &str) -> bool {
    MADE.contains_key(names)
}

/// Every choice of parts, in every order: sixty-four, of both sports. Made at once, so that no lock is needed later
/// that a fork might leave locked.
static MADE: LazyLock<HashMap<String, [&'static Resource; 2]>> = LazyLock::new(|| {
    let mut orders: Vec<Vec<&str>> = vec![Vec::new()];
    let mut made = HashMap::new();
    while let Some(order) = orders.pop() {
        for part in PARTS.iter().filter(|part| !order.contains(part)) {
            let longer = [order.as_slice(), &[*part]].concat();
            let both = [&CATCH_UP, &FOOTBALL_CATCH_UP].map(|whole| &*Box::leak(Box::new(with(whole, &longer))));
            made.insert(longer.join(","), both);
            orders.push(longer);
        }
    }
    made
});

fn with(whole: &'static Resource, names: &[&str]) -> Resource {
    let of_part = |path: &str, name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    let tables = names.iter().flat_map(|name| whole.tables.iter().copied().filter(|t| of_part(t.rows, name)));
    let asked = |path: &&str| !path.contains('[') || names.iter().any(|name| of_part(path, name));
    let known = whole.known.iter().copied().filter(asked);
    let needs: Vec<&'static str> =
        names.iter().flat_map(|name| NEEDS.iter().copied().filter(|path| of_part(path, name))).collect();
    Resource {
        roots: vec![root("").needs(needs.leak())].leak(),
        tables: tables.collect::<Vec<_>>().leak(),
        known: known.collect::<Vec<_>>().leak(),
        ..*whole
    }
}

/// Whose line it is.
const PLAYER: [Col; 8] = [
    col("team_id", Int64, "stats[].tid"),
    absent("team_name", Text),
    col("player_id", Int64, "stats[].pid"),
    absent("first_name", Text),
    absent("last_name", Text),
    col("is_team_total", IsTeamTotal, "stats[].pid"),
    absent("version", Count),
    absent("games_played", Count),
];

const STAT: [Col; 9] = concat(PLAYER, [key("stat", "stats[].totalStats{}")]);

static PLAYER_STATS: Table = Table {
    rows: "stats[].totalStats{}",
    cols: &read_elsewhere(stats::LINES, &STAT, &["value"]),
    ..stats::PLAYER_STATS
};

const BOXES: [Col; PLAYER.len() + STAT_CODES] = concat(PLAYER, stat_codes!(".totalStats"));

static BOX_SCORE: Table = Table {
    rows: "stats[]",
    open: Some(".totalStats"),
    cols: &read_elsewhere(stats::BOXES, &BOXES, &[]),
    ..stats::BOX_SCORE
};

static FOOTBALL_BOX_SCORE: Table = Table {
    rows: BOX_SCORE.rows,
    open: BOX_SCORE.open,
    cols: &read_elsewhere(stats::PLAYER, &PLAYER, &[]),
    ..stats::FOOTBALL_BOX_SCORE
};

// A game has several sessions: a possession's is in the link to its locations.
static POSSESSIONS: Table = Table {
    rows: "possessions[].possessions[]",
    cols: &same_rows_elsewhere(
        possessions::COLUMNS,
        &[
            col("session_id", LinkText("id"), "._locations"),
            col("team_id", Int64, "possessions[].id"),
            col("team_name", Text, "possessions[].name"),
            index("possession", "possessions[].possessions[]"),
        ],
    ),
    ..possessions::TABLE
};

static POSSESSION_EVENTS: Table = Table {
    rows: "possessions[].possessions[].stats[]",
    cols: &same_rows_elsewhere(
        possessions::EVENT_COLUMNS,
        &[
            col("session_id", LinkText("id"), "possessions[].possessions[]._locations"),
            col("team_id", Int64, "possessions[].id"),
            index("possession", "possessions[].possessions[]"),
            index("position", "possessions[].possessions[].stats[]"),
        ],
    ),
    ..possessions::EVENTS
};

static POSSESSION_PLAYERS: Table = Table {
    rows: "possessions[].team_player_details[]",
    cols: &same_rows_elsewhere(possessions::PLAYER_COLUMNS, &[col("team_id", Int64, "possessions[].id")]),
    ..possessions::PLAYERS
};
