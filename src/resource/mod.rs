//! One file for each resource: its table declarations. A new field of the service is a change to one file.

pub(crate) mod ball_screens;
pub mod broadcast;
pub(crate) mod catch_up;
pub(crate) mod corrections;
pub mod coverage;
pub mod drift;
pub mod event;
pub(crate) mod game_box_score;
pub(crate) mod game_shots;
pub mod live;
pub mod locations;
pub(crate) mod play_by_play;
pub mod possessions;
pub(crate) mod roster;
pub mod schedule;
pub mod shots;
pub mod stats;
pub mod stats_details;
pub mod team;
pub mod tracking;
pub(crate) mod videos;
pub(crate) mod violations;

use crate::config::Sport;
pub(crate) use tables::Resource;
use tables::Table;

/// Every resource, by the name of its operation.
pub(crate) static RESOURCES: &[&Resource] = &[
    &team::TEAMS,
    &roster::ROSTER,
    &schedule::SCHEDULE,
    &event::TEAM_EVENTS,
    &event::GAME,
    &stats::TEAM_GAME_STATS,
    &stats::STATS,
    &stats_details::STATS_DETAILS,
    &stats_details::GAME_STATS_DETAILS,
    &possessions::POSSESSIONS,
    &shots::SHOTS,
    &locations::LOCATIONS,
    &schedule::MATCHUP,
    &game_shots::GAME_SHOTS,
    &play_by_play::PLAY_BY_PLAY,
    &ball_screens::BALL_SCREENS,
    &videos::VIDEOS,
    &catch_up::CATCH_UP,
    &broadcast::BROADCAST_ROSTER,
    &game_box_score::GAME_BOX_SCORE,
    &drift::DRIFT,
    &corrections::CORRECTIONS,
    &coverage::COVERAGE,
    &live::LIVE_ITEMS,
    &live::LIVE_LEADERS,
    &live::STAT_UPDATES,
    &violations::VIOLATIONS,
    &tracking::RESOURCES[0],
    &tracking::RESOURCES[1],
    &tracking::RESOURCES[2],
    &tracking::RESOURCES[3],
    &tracking::RESOURCES[4],
    &tracking::RESOURCES[5],
    &tracking::RESOURCES[6],
    &tracking::RESOURCES[7],
    &tracking::RESOURCES[8],
    &tracking::RESOURCES[9],
];

/// The resource of an operation.
pub fn by_name(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().copied().find(|r| r.name == name)
}

/// The resource as a sport's bodies are read: only columns of stat codes differ.
pub fn of_sport(resource: &'static Resource, sport: Sport) -> &'static Resource {
    match (sport, resource.name) {
        (Sport::Football, "stats") => &stats::FOOTBALL_STATS,
        (Sport::Football, "team_game_stats") => &stats::FOOTBALL_TEAM_GAME_STATS,
        (Sport::Football, "game_box_score") => &game_box_score::FOOTBALL_GAME_BOX_SCORE,
        (Sport::Football, "catch_up") => &catch_up::FOOTBALL_CATCH_UP,
        _ => resource,
    }
}

/// Every table of a sport once, in the order of the documentation. A table that several bodies share has one schema.
pub fn tables(sport: Sport) -> Vec<&'static Table> {
    let mut all: Vec<&'static Table> = Vec::new();
    for table in RESOURCES.iter().flat_map(|r| of_sport(r, sport).tables) {
        if !all.iter().any(|t| t.name == table.name) {
            all.push(table);
        }
    }
    all
}

#[cfg(any(test, fuzzing))]
pub(crate) mod tests;
