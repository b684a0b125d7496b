//! One file for each resource: its table declarations. A new field of the service is a change to one file.

pub(crate) mod ball_screens;
pub mod broadcast;
pub(crate) mod catch_up;
pub(crate) mod corrections;
pub mod coverage;
pub mod drift;
pub mod event;
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
    &drift::DRIFT,
    &corrections::CORRECTIONS,
    &coverage::COVERAGE,
    &live::LIVE_ITEMS,
    &live::STAT_UPDATES,
    &violations::VIOLATIONS,
];

/// The resource of an operation.
pub fn by_name(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().copied().find(|r| r.name == name)
}

/// The resource as a sport's bodies are read: only the columns of `box_score` differ.
pub(crate) fn of_sport(resource: &'static Resource, sport: Sport) -> &'static Resource {
    match (sport, resource.name) {
        (Sport::Football, "stats") => &stats::FOOTBALL_STATS,
        (Sport::Football, "team_game_stats") => &stats::FOOTBALL_TEAM_GAME_STATS,
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

#[cfg(test)]
mod catalogue_tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use tables::schema;

    #[test]
    fn a_table_has_one_schema_whatever_body_it_comes_from() {
        for sport in [Sport::Basketball, Sport::Football] {
            let mut declared = 0;
            for resource in RESOURCES.iter().map(|resource| of_sport(resource, sport)) {
                for table in resource.tables {
                    let first = tables(sport).into_iter().find(|t| t.name == table.name).unwrap();
                    assert_eq!(schema(first), schema(table), "{} of {}", table.name, resource.name);
                    declared += usize::from(!std::ptr::eq(first, *table));
                }
            }
            assert_eq!(declared, 8, "tables that are read from another body too");
        }
    }

    #[test]
    fn football_differs_in_the_codes_of_its_box_score_alone() {
        let both = tables(Sport::Basketball).into_iter().zip(tables(Sport::Football));
        let differ: Vec<_> = both.filter(|(one, other)| schema(one) != schema(other)).collect();
        let [(basketball, football)] = differ.as_slice() else { panic!("{differ:?}") };
        assert_eq!((basketball.name, football.name), ("box_score", "box_score"));
        let names = |table: &Table| table.cols.iter().map(|col| col.name).collect::<Vec<_>>();
        assert_eq!(names(football), names(basketball)[..10]);
        assert!(football.open.is_some());
    }

    #[test]
    fn a_catch_up_has_the_tables_of_its_parts_in_the_requested_order() {
        let names = |parts: &str| -> Vec<&str> {
            catch_up::of(parts, Sport::Basketball).unwrap().tables.iter().map(|t| t.name).collect()
        };
        assert_eq!(names("shots"), ["shots"]);
        assert_eq!(names("details,stats"), ["play_by_play", "player_stats", "box_score"]);
        assert_eq!(
            names(&catch_up::PARTS.join(",")),
            catch_up::CATCH_UP.tables.iter().map(|t| t.name).collect::<Vec<_>>()
        );
        assert_eq!(names("possessions"), ["possessions", "possession_events", "possession_players"]);
        let made = || catch_up::of("stats,shots", Sport::Football).unwrap();
        assert!(std::ptr::eq(made(), made()));
        for wrong in ["", "stat", "stats,", "stats,stats", "Stats", "stats, shots", "videos"] {
            assert!(catch_up::of(wrong, Sport::Basketball).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_part_of_a_catch_up_knows_what_the_resource_itself_knows() {
        for (part, alone) in [("shots", &game_shots::GAME_SHOTS), ("details", &play_by_play::PLAY_BY_PLAY)] {
            assert_eq!(catch_up::of(part, Sport::Basketball).unwrap().known, alone.known);
        }
    }
}
