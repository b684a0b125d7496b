//! Several resources of a game in one response: `stats`, `details`, `shots`, `possessions`, each under its own key.

use super::game_shots;
use super::play_by_play;
use super::possessions;
use super::stats::{self, STAT_CODES, stat_codes};
use crate::config::Sport;
use std::collections::HashMap;
use std::sync::LazyLock;
use tables::{
    Col, PlanCache, Resource, Root, Table, Ty::*, absent, col, concat, index, key, read_elsewhere, root,
    same_rows_elsewhere,
};

/// The available parts, in the usual order.
pub(crate) const PARTS: [&str; 4] = ["stats", "details", "shots", "possessions"];

/// The array of each part.
const NEEDS: &[&str] = &["stats[]", "details[]", "shots[]", "possessions[]"];

pub(crate) static CATCH_UP: Resource =
    Resource::new("catch_up", &[root("").needs_any(NEEDS)], &tables(&BOX_SCORE)).paths(&KNOWN_PATHS);

const KNOWN_PATHS: [&str; 11] =
    concat(game_shots::KNOWN_PATHS, ["details[].videoAttributes", "details[].key", "possessions[].logo_image_link"]);

/// The same body of football.
pub(crate) static FOOTBALL_CATCH_UP: Resource =
    Resource { tables: &tables(&FOOTBALL_BOX_SCORE), cache: PlanCache::new(), ..CATCH_UP };

/// Only the box score is another for each sport.
const fn tables(box_score: &'static Table) -> [&'static Table; 7] {
    let (plays, shots) = (&play_by_play::TABLE, &game_shots::TABLE);
    [&PLAYER_STATS, box_score, plays, shots, &POSSESSIONS, &POSSESSION_EVENTS, &POSSESSION_PLAYERS]
}

/// The resource of a response with these parts (joined by commas), in order. `None` for an unknown or repeated part.
pub(crate) fn of(parts: &str, sport: Sport) -> Option<&'static Resource> {
    RESOURCES.get(parts).map(|[basketball, football]| match sport {
        Sport::Basketball => basketball,
        Sport::Football => football,
    })
}

/// Whether these are parts, each once.
pub(crate) fn are_parts(names: &str) -> bool {
    RESOURCES.contains_key(names)
}

/// One choice of parts, in one order.
struct Choice {
    names: Vec<&'static str>,
    /// Of both sports.
    tables: [Vec<&'static Table>; 2],
    paths: Vec<&'static str>,
    needs: Vec<&'static str>,
}

/// Every choice of parts, in every order: sixty-four. Made at once: a lock could be left locked by a fork.
static CHOICES: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let mut choices = vec![Choice::of(&[])];
    let mut next = 0;
    while let Some(shorter) = choices.get(next).map(|choice| choice.names.clone()) {
        let others = PARTS.iter().filter(|part| !shorter.contains(part));
        choices.extend(others.map(|part| Choice::of(&[shorter.as_slice(), &[*part]].concat())));
        next += 1;
    }
    choices.split_off(1)
});

static ROOTS: LazyLock<Vec<[Root; 1]>> =
    LazyLock::new(|| CHOICES.iter().map(|choice| [root("").needs(&choice.needs)]).collect());

static RESOURCES: LazyLock<HashMap<String, [Resource; 2]>> = LazyLock::new(|| {
    let resources = |(choice, roots): (&'static Choice, &'static [Root; 1])| {
        let sports = choice.tables.each_ref().map(|tables| Resource {
            name: CATCH_UP.name,
            roots,
            tables,
            paths: &choice.paths,
            cache: PlanCache::new(),
        });
        (choice.names.join(","), sports)
    };
    CHOICES.iter().zip(ROOTS.iter()).map(resources).collect()
});

impl Choice {
    fn of(names: &[&'static str]) -> Self {
        let of_part = |path: &str, name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
        let is_requested = |path: &&str| !path.contains('[') || names.iter().any(|name| of_part(path, name));
        let tables = |resource: &'static Resource| {
            names
                .iter()
                .flat_map(|name| resource.tables.iter().copied().filter(|table| of_part(table.rows, name)))
                .collect()
        };
        Choice {
            names: names.to_vec(),
            tables: [tables(&CATCH_UP), tables(&FOOTBALL_CATCH_UP)],
            paths: CATCH_UP.paths.iter().copied().filter(is_requested).collect(),
            needs: names.iter().flat_map(|name| NEEDS.iter().copied().filter(|path| of_part(path, name))).collect(),
        }
    }
}

/// The player or team of a line.
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

const STAT: [Col; 10] = concat(PLAYER, [key("stat", "stats[].totalStats{}"), col("value", Float64, "@")]);

static PLAYER_STATS: Table =
    Table { rows: "stats[].totalStats{}", cols: &read_elsewhere(stats::LINES, &STAT), ..stats::PLAYER_STATS };

const BOXES: [Col; PLAYER.len() + STAT_CODES] = concat(PLAYER, stat_codes!(".totalStats"));

static BOX_SCORE: Table = Table {
    rows: "stats[]",
    open: Some(".totalStats"),
    cols: &read_elsewhere(stats::BOXES, &BOXES),
    ..stats::BOX_SCORE
};

static FOOTBALL_BOX_SCORE: Table = Table {
    rows: BOX_SCORE.rows,
    open: BOX_SCORE.open,
    cols: &read_elsewhere(stats::PLAYER, &PLAYER),
    ..stats::FOOTBALL_BOX_SCORE
};

// A game has several sessions: a possession's is in the link to its locations.
static POSSESSIONS: Table = Table {
    rows: "possessions[].possessions[]",
    cols: &same_rows_elsewhere(
        possessions::COLUMNS,
        &[
            col("session_id", LinkId, "._locations"),
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
            col("session_id", LinkId, "possessions[].possessions[]._locations"),
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
