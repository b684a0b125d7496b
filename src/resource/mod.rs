//! One file for each resource: its wire model (serde: for the simulator and the tests) and the declarations of its tables,
//! side by side. A new field of the service is a change to one file.

pub mod ball_screens;
pub mod broadcast;
pub mod catch_up;
pub mod event;
pub mod game_shots;
pub mod game_totals;
pub mod live;
pub mod locations;
pub mod play_by_play;
pub mod possessions;
pub mod roster;
pub mod schedule;
pub mod shots;
pub mod stats;
pub mod stats_details;
pub mod team;

pub use crate::table::Resource;
use crate::table::Table;

/// Every resource, by the name of the operation that answers with it.
pub static RESOURCES: &[&Resource] = &[
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
    &live::LIVE_ITEMS,
    &live::STAT_UPDATES,
];

/// The resource an operation answers with.
pub fn by_name(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().copied().find(|r| r.name == name)
}

/// Every table once, in the order of the documentation.
pub fn tables() -> Vec<&'static Table> {
    let mut all: Vec<&'static Table> = Vec::new();
    for table in RESOURCES.iter().flat_map(|r| r.tables) {
        if !all.iter().any(|t| t.name == table.name) {
            all.push(table);
        }
    }
    all
}
