//! What holds for all declarations together.

use crate::config::Sport;
use crate::resource::*;
use tables::Table;
use tables::schema;

#[test]
fn a_table_has_one_schema_whatever_body_it_comes_from() {
    for sport in [Sport::Basketball, Sport::Football] {
        let mut repeated_tables = 0;
        for resource in RESOURCES.iter().map(|resource| of_sport(resource, sport)) {
            for table in resource.tables {
                let first = tables(sport).into_iter().find(|t| t.name == table.name).unwrap();
                assert_eq!(schema(first), schema(table), "{} of {}", table.name, resource.name);
                repeated_tables += usize::from(!std::ptr::eq(first, *table));
            }
        }
        assert_eq!(repeated_tables, 8, "tables that are read from another body too");
    }
}

#[test]
fn football_differs_in_the_codes_of_its_box_scores_alone() {
    let table_pairs = tables(Sport::Basketball).into_iter().zip(tables(Sport::Football));
    let differ: Vec<_> = table_pairs.filter(|(table, other)| schema(table) != schema(other)).collect();
    assert_eq!(differ.iter().map(|(table, _)| table.name).collect::<Vec<_>>(), ["box_score", "game_box_score"]);
    let names = |table: &Table| table.cols.iter().map(|col| col.name).collect::<Vec<_>>();
    for ((basketball, football), keys) in differ.iter().zip([10, 8]) {
        assert_eq!(basketball.name, football.name);
        assert_eq!(names(football), names(basketball)[..keys]);
        assert!(football.open.is_some());
    }
}

#[test]
fn a_catch_up_has_the_tables_of_its_parts_in_the_requested_order() {
    let names = |parts: &str| -> Vec<&str> {
        catch_up::of(parts, Sport::Basketball).unwrap().tables.iter().map(|t| t.name).collect()
    };
    assert_eq!(names("shots"), ["shots"]);
    assert_eq!(names("details,stats"), ["play_by_play", "player_stats", "box_score"]);
    assert_eq!(names(&catch_up::PARTS.join(",")), catch_up::CATCH_UP.tables.iter().map(|t| t.name).collect::<Vec<_>>());
    assert_eq!(names("possessions"), ["possessions", "possession_events", "possession_players"]);
    let parts = || catch_up::of("stats,shots", Sport::Football).unwrap();
    assert!(std::ptr::eq(parts(), parts()));
    for invalid_parts in ["", "stat", "stats,", "stats,stats", "Stats", "stats, shots", "videos"] {
        assert!(catch_up::of(invalid_parts, Sport::Basketball).is_none(), "{invalid_parts:?}");
    }
}

#[test]
fn a_part_of_a_catch_up_knows_what_the_resource_itself_knows() {
    for (part, resource) in [("shots", &game_shots::GAME_SHOTS), ("details", &play_by_play::PLAY_BY_PLAY)] {
        assert_eq!(catch_up::of(part, Sport::Basketball).unwrap().known, resource.known);
    }
}
