//! What holds for all declarations together.

use crate::config::Sport;
use crate::resource::*;
use std::collections::{BTreeMap, BTreeSet};
use tables::path::{self, Segment};
use tables::{Col, Root, Src, Table, Ty, schema};

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
        assert_eq!(catch_up::of(part, Sport::Basketball).unwrap().paths, resource.paths);
    }
}

/// What the compiler of plans takes for granted.
fn check_column(table: &Table, col: &Col, root: &[Segment], row: &[Segment], keys: &mut Keys) {
    let name = format!("{}.{}", table.name, col.name);
    let is_id_or_text = matches!(col.ty, Ty::Int64 | Ty::Text);
    assert!(col.or_request.is_none() || is_id_or_text || matches!(col.ty, Ty::LinkId), "{name}: request values");
    let text = match col.src {
        Src::Request(_) => return assert!(is_id_or_text, "{name}: request values"),
        Src::Derived(derivation) => {
            let input = |name: &&str| table.cols.iter().find(|col| col.name == *name);
            let is_read = |col: Option<&Col>| col.is_some_and(|col| !matches!(col.src, Src::Derived(_)));
            return assert!(derivation.inputs.iter().all(|name| is_read(input(name))), "{name}: inputs");
        }
        Src::Absent => return,
        Src::Path(text) | Src::Key(text) | Src::Index(text) => text,
    };
    let place = path::absolute(root, row, text);
    assert!(row.starts_with(&place[..path::scope(&place)]), "{name}: it is not above its rows");
    match col.src {
        Src::Key(_) => assert!(place.last() == Some(&Segment::Map) && matches!(col.ty, Ty::Text | Ty::Category)),
        Src::Index(_) => assert!(place.last().unwrap().is_level() && col.ty == Ty::Int32, "{name}"),
        _ => note(&place, keys),
    }
}

/// The keys of each object that tables read, by its path.
type Keys = BTreeMap<String, BTreeSet<&'static str>>;

fn note(place: &[Segment], keys: &mut Keys) {
    for (end, segment) in place.iter().enumerate() {
        if let Segment::Key(key) = segment {
            keys.entry(format!("{:?}", &place[..end])).or_default().insert(*key);
        }
    }
}

#[test]
fn every_declaration_can_be_compiled_from_each_of_its_roots() {
    let of_parts =
        ["stats,details", "possessions,shots,details,stats"].map(|parts| catch_up::of(parts, Sport::Football));
    let all = RESOURCES.iter().flat_map(|resource| [*resource, of_sport(resource, Sport::Football)]);
    for resource in all.chain(of_parts.into_iter().flatten()) {
        assert!(resource.tables.iter().filter(|table| table.open.is_some()).count() <= 1, "{}", resource.name);
        for Root { path: root, .. } in resource.roots {
            let root = path::parse(root);
            let mut keys = Keys::new();
            for table in resource.tables {
                let row = [root.clone(), path::parse(table.rows)].concat();
                assert_eq!(path::scope(&row), row.len(), "{}: its rows are no elements", table.name);
                note(&row, &mut keys);
                table.cols.iter().for_each(|col| check_column(table, col, &root, &row, &mut keys));
            }
            assert!(keys.values().all(|keys| keys.len() <= 64), "{}: a bit for each key of an object", resource.name);
        }
    }
}
