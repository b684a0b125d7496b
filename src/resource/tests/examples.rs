//! Expected tables of bodies written by hand, without the oracle.

use super::compare::complete;
use super::generator::{self, Manner};
use crate::fuzz::Random;
use crate::resource::{
    RESOURCES, event, game_shots, locations, play_by_play, possessions, roster, schedule, shots, stats, stats_details,
    team,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use reader::Body;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tables::{
    self, Col, Context, DecodeError, PlanCache, Resource, Table, Ty, absent, col, decode, decode_all,
    decode_in_one_pass, read_elsewhere, root, same_rows_elsewhere, unknown_fields,
};

fn read(resource: &'static Resource, table: &str, body: &str) -> Result<RecordBatch, DecodeError> {
    let context = Context::default().with("session_id", "s-1");
    decode(resource, table, None, &Body::from(body.as_bytes()), &context)
}

fn fault(resource: &'static Resource, table: &str, body: &str) -> (String, String, usize) {
    match read(resource, table, body) {
        Err(DecodeError::Body { message, path, offset }) => (message, path, offset),
        other => panic!("{body}: {other:?}"),
    }
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch[column].as_primitive::<Int64Type>().iter().collect()
}

fn floats(batch: &RecordBatch, column: &str) -> Vec<Option<f64>> {
    batch[column].as_primitive::<Float64Type>().iter().collect()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = &batch[column];
    if let Some(texts) = array.as_string_opt::<i32>() {
        return texts.iter().map(|t| t.map(String::from)).collect();
    }
    let texts = array.as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
    texts.into_iter().map(|t| t.map(String::from)).collect()
}

#[test]
fn an_id_is_a_number_or_digits() {
    for id in ["461", "461.0", "4.61e2", "46100e-2", "\"461\"", "\"461.0\""] {
        let batch = read(&team::TEAMS, "teams", &format!(r#"{{"teams":[{{"id":{id}}}]}}"#)).unwrap();
        assert_eq!(integers(&batch, "team_id"), [Some(461)], "{id}");
    }
    for id in ["461.5", "\"x\"", "\"\"", "true", "[461]", "{}", "9223372036854775808", "1e300"] {
        let (_, path, offset) = fault(&team::TEAMS, "teams", &format!(r#"{{"teams":[{{"id":{id}}}]}}"#));
        assert_eq!((path.as_str(), offset), ("$.teams[0].id", 16), "{id}");
    }
}

#[test]
fn a_number_that_is_not_whole_is_null_where_it_counts_and_cut_where_it_is_a_time() {
    let possession = |count: &str, time: &str| {
        let body = format!(
            r#"{{"teams":[{{"id":1,"team_player_details":[],"possessions":[{{"start_timestamp":{time},"possession_attributes":{{"passes":{count},"turnover":1}}}}]}}]}}"#
        );
        let batch = read(&possessions::POSSESSIONS, "possessions", &body).unwrap();
        let start =
            batch["start_timestamp"].as_primitive::<arrow_array::types::TimestampMillisecondType>().iter().next();
        let context = Context::default().with("session_id", "s-1");
        let body = Body::from(body.as_bytes());
        let check = tables::check_schema(&possessions::POSSESSIONS, &body, Some(&context)).unwrap();
        assert_eq!(check.rows, Some(1));
        assert_eq!(check.unknown_fields, unknown_fields(&possessions::POSSESSIONS, &body).unwrap());
        let paths: Vec<String> = check.unknown_fields.into_iter().map(|field| field.path).collect();
        assert_eq!(integers(&batch, "turnover"), [Some(1)]);
        (integers(&batch, "passes")[0], start.unwrap(), paths)
    };
    let passes = "teams[].possessions[].possession_attributes.passes (not a whole number)";
    let start = "teams[].possessions[].start_timestamp (not a whole number)";
    assert_eq!(possession("2", "7"), (Some(2), Some(7), vec![]));
    assert_eq!(possession("2.0", "\"7\""), (Some(2), Some(7), vec![]));
    for count in ["2.5", "\"2.5\"", "1e30", "-1e-1", "92233720368547758080"] {
        assert_eq!(possession(count, "7"), (None, Some(7), vec![passes.to_string()]), "{count}");
    }
    for (time, cut) in [("1700000000000.75", Some(1_700_000_000_000)), ("-0.5", Some(-1)), ("1e30", None)] {
        assert_eq!(possession("1", time), (Some(1), cut, vec![start.to_string()]), "{time}");
    }
    // Ids and non-numbers are errors; a row needs its time.
    for (id, passes) in [("1.5", "1"), ("1", "true"), ("1", "\"two\"")] {
        let body =
            format!(r#"{{"teams":[{{"id":{id},"possessions":[{{"possession_attributes":{{"passes":{passes}}}}}]}}]}}"#);
        fault(&possessions::POSSESSIONS, "possessions", &body);
    }
    fault(&locations::LOCATIONS, "locations", r#"[{"locations":[{"t":1e30}]}]"#);
    assert_eq!(read(&locations::LOCATIONS, "locations", r#"[{"locations":[{"t":1.5}]}]"#).unwrap().num_rows(), 1);
}

#[test]
fn an_invalid_json_number_is_refused_even_if_not_requested() {
    for number in ["007", "12.e5", "1.", "+1", ".5", "-", "1e", "0x10", "NaN", "Infinity", "--1", "1.5.2"] {
        for key in ["id", "unknown"] {
            let body = format!(r#"{{"teams":[{{"id":1,"{key}":{number}}}]}}"#);
            assert!(read(&team::TEAMS, "teams", &body).is_err(), "{body}");
            assert!(unknown_fields(&team::TEAMS, &Body::from(body.as_bytes())).is_err(), "{body}");
        }
    }
}

#[test]
fn a_truncated_body_says_so() {
    let (message, path, offset) = fault(&team::TEAMS, "teams", r#"{"teams":[{"id":1},{"id":2,"name":"Kan"#);
    assert!(message.contains("ends early"), "{message}");
    assert_eq!((path.as_str(), offset), ("$.teams[1].name", 38));
}

#[test]
fn a_missing_id_names_its_element_and_its_key() {
    for (body, at) in
        [(r#"{"teams":[{"id":1},{"name":"x"}]}"#, "$.teams[1]"), (r#"{"teams":[{"id":1},{"id":null}]}"#, "$.teams[1]")]
    {
        let (message, path, _) = fault(&team::TEAMS, "teams", body);
        assert!(path.starts_with(at), "{path}");
        assert!(message.contains("id"), "{message}");
    }
    // A team without an id is accepted if it has no rows.
    assert_eq!(read(&stats::STATS, "player_stats", r#"{"teams":[{"player_stats":[]}]}"#).unwrap().num_rows(), 0);
    let (_, path, _) =
        fault(&stats::STATS, "player_stats", r#"{"teams":[{"player_stats":[{"id":1,"stats":{"FG":1}}]}]}"#);
    assert!(path.starts_with("$.teams[0]"), "{path}");
}

#[test]
fn fields_above_the_rows_may_follow_them() {
    let body = r#"{"teams":[{"player_stats":[{"stats":{"FG":1,"PTS":2},"id":7},{"stats":{"FG":3},"id":0}],"name":"A","id":46},
        {"player_stats":[{"id":8,"stats":{"FG":4}}],"id":47}]}"#;
    let batch = read(&stats::STATS, "player_stats", body).unwrap();
    assert_eq!(integers(&batch, "team_id"), [46, 46, 46, 47].map(Some));
    assert_eq!(integers(&batch, "player_id"), [7, 7, 0, 8].map(Some));
    assert_eq!(texts(&batch, "team_name"), [Some("A"), Some("A"), Some("A"), None].map(|t| t.map(String::from)));
    assert_eq!(floats(&batch, "value"), [1.0, 2.0, 3.0, 4.0].map(Some));
    let total: Vec<bool> = batch["is_team_total"].as_boolean().iter().flatten().collect();
    assert_eq!(total, [false, false, true, false]);
}

#[test]
fn clocks_are_read_in_every_shape_and_never_fail() {
    let shapes = [
        ("\"12:30.0\"", Some(750.0)),
        ("\"1:2.3\"", Some(62.3)),
        ("\"02.00\"", Some(2.0)),
        ("\"4.5\"", Some(4.5)),
        ("\"00:15:00\"", Some(900.0)),
        ("\"12:30.1\"", Some(750.1)),
        ("7", Some(7.0)),
        ("null", None),
        ("\"\"", None),
        ("\"soon\"", None),
        ("\"1:2:3:4\"", None),
        ("\"-1:00\"", None),
        ("\"12:\"", None),
    ];
    for (clock, seconds) in shapes {
        let body = format!(r#"[{{"locations":[{{"t":1,"gc":{clock}}}]}}]"#);
        let batch = read(&locations::LOCATIONS, "locations", &body).unwrap();
        assert_eq!(floats(&batch, "game_clock_s"), [seconds], "{clock}");
    }
}

#[test]
fn a_lineup_is_sorted_as_numbers() {
    let body = r#"{"teams":[{"id":1,"possessions":[{"player_ids":[100,"9",20.0]},{"player_ids":[]},{"player_ids":null},{}]}]}"#;
    let batch = read(&possessions::POSSESSIONS, "possessions", body).unwrap();
    let expected = [Some("9-20-100"), Some(""), None, None].map(|t| t.map(String::from));
    assert_eq!(texts(&batch, "lineup_id"), expected);
    assert_eq!(batch["player_ids"].null_count(), 2);
    for (ids, lineup) in [
        ("[9,20,100]", "9-20-100"),
        ("[20,9]", "9-20"),
        ("[ 9, 20 ]", "9-20"),
        ("[-9,20]", "-9-20"),
        ("[9,null,20]", "9-20"),
        ("[9,\"020\",2.1e1]", "9-20-21"),
        ("[7,7]", "7-7"),
        ("[0]", "0"),
        ("[null]", ""),
    ] {
        let body = format!(r#"{{"teams":[{{"id":1,"possessions":[{{"player_ids":{ids}}}]}}]}}"#);
        let batch = read(&possessions::POSSESSIONS, "possessions", &body).unwrap();
        assert_eq!(texts(&batch, "lineup_id"), [Some(lineup.to_string())], "{ids}");
    }
}

#[test]
fn one_link_and_many_are_windows() {
    let link = |n: i32| format!(r#""https://h/v1/data/sensors/locations?id=s&from={n}&to=2{n}""#);
    for (links, rows) in [(link(1), 1), (format!("[{},{}]", link(1), link(2)), 2), ("[]".into(), 0), ("null".into(), 0)]
    {
        let body = format!(r#"{{"id":"e","results":[{{"id":"s","_locations":{links}}}]}}"#);
        let batch = read(&event::GAME, "location_windows", &body).unwrap();
        assert_eq!(batch.num_rows(), rows, "{links}");
    }
    let body = r#"{"id":"e","results":[{"id":"s","_locations":"https://h/x?id=s"}]}"#;
    assert_eq!(fault(&event::GAME, "location_windows", body).1, "$.results[0]._locations");
}

#[test]
fn a_body_may_have_any_of_its_roots_and_no_other() {
    for body in [
        r#"{"events":[{"id":"e"}]}"#,
        r#"[{"id":"e"}]"#,
        r#"{"id":"e"}"#,
        r#"{"events":{"id":"e"}}"#,
        "\u{feff}[{\"id\":\"e\"}]",
    ] {
        let batch = read(&event::TEAM_EVENTS, "events", body).unwrap();
        assert_eq!(texts(&batch, "event_id"), [Some("e".to_string())], "{body}");
    }
    for body in ["[]", r#"{"events":[]}"#] {
        assert_eq!(read(&event::TEAM_EVENTS, "events", body).unwrap().num_rows(), 0, "{body}");
    }
    for (resource, body, path) in [
        (&event::TEAM_EVENTS, "null", "$.events"),
        (&event::TEAM_EVENTS, r#"{"events":null}"#, "$.events"),
        (&event::TEAM_EVENTS, r#"{"events":[{"id":"e"},null]}"#, "$.events[1]"),
        (&event::TEAM_EVENTS, r#"{"name":"x"}"#, "$.events"),
        (&event::GAME, "[]", "$.id"),
        (&roster::ROSTER, "[]", "$.id"),
        (&roster::ROSTER, r#"{"id":1,"players":[null]}"#, "$.players[0]"),
        (&team::TEAMS, "12", "$.teams"),
        (&team::TEAMS, r#"{"teams":[1]}"#, "$.teams[0]"),
        (&team::TEAMS, r#"{"teams":null}"#, "$.teams"),
        (&stats::TEAM_GAME_STATS, r#"{"id":1,"player_stats":[null]}"#, "$.player_stats[0]"),
        (&locations::LOCATIONS, "[null]", "$[0]"),
        (&play_by_play::PLAY_BY_PLAY, r#"{"gameTotals":{}}"#, "$.details"),
    ] {
        assert_eq!(fault(resource, resource.tables[0].name, body).1, path, "{body}");
        let context = Context::default().with("session_id", "s-1");
        let missing = tables::check_schema(resource, &Body::from(body.as_bytes()), Some(&context)).unwrap_err();
        assert!(matches!(missing, DecodeError::Body { path: found, .. } if found == path), "{body}");
    }
    // The last value of a duplicate key counts.
    for (body, is_there) in
        [(r#"{"teams":null,"teams":[{"id":1}]}"#, true), (r#"{"teams":[{"id":1}],"teams":null}"#, false)]
    {
        assert_eq!(read(&team::TEAMS, "teams", body).is_ok(), is_there, "{body}");
        assert_eq!(unknown_fields(&team::TEAMS, &Body::from(body.as_bytes())).is_ok(), is_there, "{body}");
    }
    assert!(read(&team::TEAMS, "teams", r#"{"teams":[]} {}"#).is_err());
}

#[test]
fn the_last_of_a_repeated_key_counts() {
    let batch = read(&team::TEAMS, "teams", r#"{"teams":[{"id":1,"name":"a","id":2,"name":"b"}]}"#).unwrap();
    assert_eq!((integers(&batch, "team_id"), texts(&batch, "name")), (vec![Some(2)], vec![Some("b".into())]));
    let body = r#"{"teams":[{"id":1,"player_stats":[{"id":7,"stats":{"FG":1,"PTS":5,"FG":"x","FG":2}}]}]}"#;
    let batch = read(&stats::STATS, "player_stats", body).unwrap();
    assert_eq!(floats(&batch, "value"), [Some(2.0), Some(5.0)]);
}

#[test]
fn codes_that_nobody_declared_become_columns_by_name() {
    let body = r#"{"teams":[{"id":1,"player_stats":[{"id":7,"stats":{"ZZZ":1,"FG":2}},{"id":8,"stats":{"AAA":"3"}},{"id":9}]}]}"#;
    let batch = read(&stats::STATS, "box_score", body).unwrap();
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let box_score = stats::STATS.tables.iter().find(|table| table.name == "box_score").unwrap();
    let declared_names = box_score.cols.iter().map(|col| col.name);
    assert_eq!(names, declared_names.chain(["AAA", "ZZZ"]).collect::<Vec<_>>());
    assert_eq!(floats(&batch, "AAA"), [None, Some(3.0), None]);
    assert_eq!(floats(&batch, "ZZZ"), [Some(1.0), None, None]);
    let decode_columns = |columns: &[&str]| {
        let columns: Vec<String> = columns.iter().map(|c| c.to_string()).collect();
        decode(&stats::STATS, "box_score", Some(&columns), &Body::from(body.as_bytes()), &Context::default())
    };
    assert_eq!(decode_columns(&["ZZZ", "player_id"]).unwrap().num_columns(), 2);
    assert!(matches!(decode_columns(&["BBB"]), Err(DecodeError::NoColumn { .. })));
}

#[test]
fn a_derived_column_is_made_without_showing_what_it_reads() {
    let body = Body::from(&br#"{"id":"e","is_game_event":true,"results":[{"id":"s"}]}"#[..]);
    let columns = ["game_id".to_string()];
    let batch = decode(&event::GAME, "sessions", Some(&columns), &body, &Context::default()).unwrap();
    assert_eq!((batch.num_columns(), texts(&batch, "game_id")), (1, vec![Some("e".to_string())]));
}

#[test]
fn undeclared_fields_and_renamed_containers_are_reported_once() {
    let report = |resource, body: &str| -> Vec<String> {
        let fields = unknown_fields(resource, &Body::from(body.as_bytes())).unwrap();
        fields.into_iter().map(|field| field.path).collect()
    };
    let body = r#"{"teams":[{"id":1,"new":{"deep":1},"player_stats":[{"id":2,"stats":{"FG":[{"x":1,"w":2}]}}]},{"new":3}],"meta":null}"#;
    assert_eq!(
        report(&stats_details::STATS_DETAILS, body),
        ["teams[].new", "teams[].player_stats[].stats{}[].w", "meta"]
    );
    let body = r#"{"teams":[{"id":1,"player_stats":[{"id":2,"statz":{"FG":[]}}]}]}"#;
    assert_eq!(
        report(&stats_details::STATS_DETAILS, body),
        ["teams[].player_stats[].statz", "teams[].player_stats[].stats{} (missing)"]
    );
    // A root is not a field: without it there is no data.
    assert!(unknown_fields(&schedule::SCHEDULE, &Body::from(&b"{\"gamez\":[]}"[..])).is_err());
    // Optional fields are not missing.
    assert!(report(&roster::ROSTER, r#"{"id":1,"players":[{"id":2}]}"#).is_empty());
}

#[test]
fn an_unknown_field_comes_with_an_example_s_type_and_place() {
    let report = |body: &str| -> Vec<(String, Option<&str>, usize)> {
        let fields = unknown_fields(&team::TEAMS, &Body::from(body.as_bytes())).unwrap();
        fields.into_iter().map(|field| (field.path, field.kind, field.offset)).collect()
    };
    for (value, kind) in [
        ("\"x\"", "string"),
        ("-1", "number"),
        ("true", "boolean"),
        ("[1]", "array"),
        ("{}", "object"),
        ("null", "null"),
    ] {
        let body = format!(r#"{{"teams":[{{"id":1,"new":{value}}}]}}"#);
        assert_eq!(report(&body), [("teams[].new".into(), Some(kind), 24)]);
    }
    // The first value that is not null.
    let body = r#"{"teams":[{"id":1,"new":null},{"new":false,"id":2},{"new":"x"}]}"#;
    assert_eq!(report(body), [("teams[].new".into(), Some("boolean"), 24)]);
}

#[test]
fn deep_nesting_is_no_stack() {
    let depth = if cfg!(miri) { 200 } else { 200_000 };
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let body = format!(r#"{{"teams":[{{"id":1,"unknown":{deep}}}]}}"#);
        assert_eq!(read(&team::TEAMS, "teams", &body).unwrap().num_rows(), 1);
        assert!(read(&team::TEAMS, "teams", &open.repeat(depth)).is_err());
    }
}

/// The maps of a column, an entry as `(key, value)`.
type Entries = Vec<(String, Option<f64>)>;

fn maps(batch: &RecordBatch, column: &str) -> Vec<Option<Entries>> {
    let entries = |entries: StructArray| -> Vec<(String, Option<f64>)> {
        let (keys, values) = (entries.column(0).as_string::<i32>(), entries.column(1).as_primitive::<Float64Type>());
        keys.iter().zip(values).map(|(key, value)| (key.unwrap().into(), value)).collect()
    };
    batch[column].as_map().iter().map(|map| map.map(entries)).collect()
}

#[test]
fn an_object_whose_keys_are_data_is_one_value() {
    let body = r#"{"details":[{"eventId":"e","stats":{"TO":1,"\u00e9":"2.5","FL":null,"":-0.5}},{"eventId":"f","stats":{}},
        {"eventId":"g","stats":null},{"eventId":"h"},{"stats":{"TO":3,"FL":4,"TO":5},"eventId":"i"}]}"#;
    let entry = |key: &str, value: f64| (key.to_string(), Some(value));
    let batch = read(&play_by_play::PLAY_BY_PLAY, "play_by_play", body).unwrap();
    assert_eq!(
        maps(&batch, "stats"),
        [
            Some(vec![entry("TO", 1.0), entry("é", 2.5), ("FL".into(), None), entry("", -0.5)]),
            Some(vec![]),
            None,
            None,
            Some(vec![entry("TO", 5.0), entry("FL", 4.0)]),
        ]
    );
    for (stats, at) in [
        ("5", ".stats"),
        ("[]", ".stats"),
        ("\"x\"", ".stats"),
        (r#"{"TO":true}"#, ".stats.TO"),
        (r#"{"TO":1,"FL":"x"}"#, ".stats.FL"),
        (r#"{"TO":{}}"#, ".stats.TO"),
        (r#"{"TO":[1]}"#, ".stats.TO"),
    ] {
        let body = format!(r#"{{"details":[{{"eventId":"e","stats":{stats}}}]}}"#);
        let (_, path, _) = fault(&play_by_play::PLAY_BY_PLAY, "play_by_play", &body);
        assert_eq!(path, format!("$.details[0]{at}"), "{body}");
    }
}

#[test]
fn a_map_has_the_parts_that_arrow_names() {
    let schema = tables::schema(play_by_play::PLAY_BY_PLAY.tables[0]);
    let DataType::Map(entries, is_sorted) = schema.field_with_name("stats").unwrap().data_type() else { panic!() };
    let parts = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Float64, true)];
    assert_eq!((entries.as_ref(), *is_sorted), (&Field::new("entries", DataType::Struct(parts.into()), false), false));
}

static ABOVE: Resource =
    Resource { name: "above", roots: &[root("teams[]")], tables: &[&PLAYERS], paths: &[], cache: PlanCache::new() };
static PLAYERS: Table = Table {
    name: "players",
    doc: "",
    rows: "players[]",
    open: None,
    cols: &[
        col("id", Ty::Int64, ".id"),
        col("stats", Ty::MapFloat64, "stats"),
        Col { or_request: Some("session_id"), ..col("session", Ty::LinkId, "link") },
        absent("name", Ty::Text),
    ],
};

#[test]
fn a_map_above_the_rows_is_in_every_row() {
    let body = r#"{"teams":[{"players":[{"id":1},{"id":2}],"stats":{"A":1},"link":["h?x=1&id=s-7","h?id=s-8"]},{"stats":{"B":2}},
        {"players":[{"id":3}],"stats":null,"link":"h?id="},{"players":[{"id":4}],"stats":{"C":3,"D":4}}]}"#;
    let batch = read(&ABOVE, "players", body).unwrap();
    let entry = |key: &str, value: f64| (key.to_string(), Some(value));
    let first = Some(vec![entry("A", 1.0)]);
    assert_eq!(maps(&batch, "stats"), [first.clone(), first, None, Some(vec![entry("C", 3.0), entry("D", 4.0)])]);
    // The session of the first link, else that of the request.
    assert_eq!(texts(&batch, "session"), ["s-7", "s-7", "s-1", "s-1"].map(|text| Some(text.to_string())));
    assert_eq!(batch["name"].null_count(), 4);
}

#[test]
fn a_column_read_elsewhere_is_the_same_column() {
    const FIRST: [tables::Col; 2] = [
        tables::request("game_id", Ty::Text).doc("game"),
        col("x", Ty::Float64, ".player_x").unit("mm").doc("across").required(),
    ];
    const SECOND: [tables::Col; 2] =
        read_elsewhere(FIRST, &[col("x", Ty::Float64, ".px"), col("game_id", Ty::Text, ".gid")]);
    for (first, second) in FIRST.iter().zip(&SECOND) {
        assert_eq!(
            (first.name, first.unit, first.doc, first.required),
            (second.name, second.unit, second.doc, second.required)
        );
    }
    assert!(matches!(SECOND[1].src, tables::Src::Path(".px")));
    assert_eq!(SECOND[0].or_request, Some("game_id"));
}

/// In a declaration, which is a constant, these do not compile.
#[test]
fn a_column_without_a_place_in_the_other_body_is_refused() {
    let cols =
        [col("a", Ty::Int64, "id"), col("b", Ty::Int64, ".b"), absent("c", Ty::Text), tables::request("d", Ty::Text)];
    let (a, b) = (col("a", Ty::Int64, "tid"), col("b", Ty::Int64, ".x"));
    let is_refused = |make: &dyn Fn() -> [tables::Col; 4]| catch_unwind(AssertUnwindSafe(make)).is_err();
    assert!(!is_refused(&|| read_elsewhere(cols, &[a, b])));
    assert!(is_refused(&|| read_elsewhere(cols, &[a])));
    assert!(is_refused(&|| read_elsewhere(cols, &[a, b, col("no", Ty::Text, "x")])));
    assert!(!is_refused(&|| same_rows_elsewhere(cols, &[a])));
    assert!(is_refused(&|| same_rows_elsewhere(cols, &[b])));
}

#[test]
fn a_shot_scores_what_is_given_and_a_miss_nothing() {
    let shot = |fields: &str| {
        let body = format!(r#"{{"shots":[{{{fields}}}]}}"#);
        let batch = read(&game_shots::GAME_SHOTS, "shots", &body).unwrap();
        let make = batch["is_make"].as_boolean().iter().next().flatten();
        (make, integers(&batch, "points")[0])
    };
    for (fields, make, points) in [
        (r#""st":"MISS","pts":-1,"is3":false"#, Some(false), Some(0)),
        (r#""st":"MISS","pts":3"#, Some(false), Some(0)),
        (r#""st":"MAKE","pts":2,"is3":false"#, Some(true), Some(2)),
        (r#""st":"MAKE","pts":"3","is3":true"#, Some(true), Some(3)),
        // As given, regardless of the arc.
        (r#""st":"MAKE","pts":2,"is3":true"#, Some(true), Some(2)),
        (r#""st":"MAKE","is3":true"#, Some(true), Some(3)),
        (r#""st":"MAKE","is3":false"#, Some(true), Some(2)),
        (r#""st":"MAKE","pts":-1,"is3":false"#, Some(true), Some(2)),
        (r#""st":"MAKE""#, Some(true), None),
        (r#""st":"BLOCKED","pts":-1"#, None, Some(0)),
        (r#""st":null,"pts":2"#, None, Some(2)),
        (r#""st":null,"is3":true"#, None, None),
        (r#""st":true,"pts":2"#, Some(true), Some(2)),
    ] {
        assert_eq!(shot(fields), (make, points), "{fields}");
    }
    assert!(read(&game_shots::GAME_SHOTS, "shots", r#"{"shots":[{"st":7}]}"#).is_err());
}

#[test]
fn a_shot_s_distance_is_given_or_computed_and_its_chart_never_invented() {
    let shot = |fields: &str| {
        let body = format!(r#"{{"shots":[{{{fields}}}]}}"#);
        let batch = read(&game_shots::GAME_SHOTS, "shots", &body).unwrap();
        (floats(&batch, "distance_cm")[0], floats(&batch, "hoop_player_x")[0])
    };
    let court = r#""px":30,"py":12765,"hx":0,"hy":12725"#;
    assert_eq!(shot(&format!(r#"{court},"hsx":-300,"hsy":400,"d":581.7677973"#)), (Some(581.7677973), Some(-300.0)));
    assert_eq!(shot(&format!(r#"{court},"hsx":-300,"hsy":400"#)), (Some(50.0), Some(-300.0)));
    assert_eq!(shot(&format!(r#"{court},"hsx":-300,"hsy":null"#)), (Some(5.0), Some(-300.0)));
    assert_eq!(shot(court), (Some(5.0), None));
    assert_eq!(shot(r#""px":30,"py":12765,"hx":0"#), (None, None));
}

#[test]
fn a_session_s_shots_have_no_points_given() {
    let body = r#"{"teams":[{"id":1,"player_shots":[{"id":2,"shots":[{"is_make":true,"is_3point":true,"pts":2},{"is_make":false}]}]}]}"#;
    let batch = read(&shots::SHOTS, "shots", body).unwrap();
    assert_eq!(integers(&batch, "points"), [Some(3), Some(0)]);
    assert_eq!(texts(&batch, "session_id"), [Some("s-1".to_string()), Some("s-1".into())]);
}

#[test]
fn a_body_is_validated_again_until_all_of_it_was_valid() {
    let context = Context::default();
    let columns = ["team_id".to_string()];
    let invalid = Body::from(&br#"{"teams":[{"id":1,"x":[[01]]}]}"#[..]);
    for _ in 0..2 {
        // Skipped values are not validated.
        assert!(decode(&team::TEAMS, "teams", Some(&columns), &invalid, &context).is_ok());
        assert!(decode(&team::TEAMS, "teams", None, &invalid, &context).is_err());
        assert!(unknown_fields(&team::TEAMS, &invalid).is_err());
    }
    for decodes in [true, false] {
        let mut body = Body::from(&br#"{"teams":[{"id":1,"x":[[1]]}]}"#[..]);
        if decodes {
            decode(&team::TEAMS, "teams", None, &body, &context).unwrap();
        } else {
            unknown_fields(&team::TEAMS, &body).unwrap();
        }
        assert_eq!(integers(&decode(&team::TEAMS, "teams", None, &body, &context).unwrap(), "team_id"), [Some(1)]);
        // More bytes make another body.
        body.extend_from_slice(b"1");
        assert!(decode(&team::TEAMS, "teams", None, &body.finish(), &context).is_err());
    }
}

/// Possessions with unknown fields of any length, among other values that some tables read and others skip.
fn possessions_with_notes() -> String {
    let count = if cfg!(miri) { 3 } else { 9 };
    let possessions: Vec<String> = (0..count)
        .map(|i| {
            let note = "]}\\\"".repeat(40 * (i % 3));
            let stats: Vec<String> =
                (0..i).map(|s| format!(r#"{{"timestamp":{s},"player_id":{i},"new":"{note}"}}"#)).collect();
            let attributes = format!(r#"{{"passes":{i},"half_court":true,"new":"{note}"}}"#);
            format!(r#"{{"player_ids":[1],"stats":[{}],"possession_attributes":{attributes}}}"#, stats.join(","))
        })
        .collect();
    let team = format!(
        r#"{{"possessions":[{}],"team_player_details":[{{"id":5,"x":"{}"}}],"id":1}}"#,
        possessions.join(","),
        "y".repeat(300)
    );
    format!(r#"{{"teams":[{team},{team}]}}"#)
}

#[test]
fn a_table_is_the_same_whichever_pass_over_its_body_was_first() {
    let text = possessions_with_notes();
    let context = Context::default().with("session_id", "s-1");
    let resource = &possessions::POSSESSIONS;
    // Not `decode`, which would hide a wrong end of a skipped value by reading the body again.
    let read = |body: &Body, tables: &[&'static Table]| {
        decode_in_one_pass(resource, tables, body, &context).unwrap_or_else(|| panic!("{text}"))
    };
    let expected: Vec<RecordBatch> =
        resource.tables.iter().flat_map(|table| read(&Body::from(text.as_bytes()), &[table])).collect();
    for first in 0..5 {
        let body = Body::from(text.as_bytes());
        match first {
            0..3 => drop(read(&body, &resource.tables[first..=first])),
            3 => assert_eq!(read(&body, resource.tables), expected),
            _ => drop(unknown_fields(resource, &body).unwrap()),
        }
        assert!(body.is_validated(), "{first}");
        for (table, batch) in resource.tables.iter().zip(&expected).rev() {
            assert_eq!(read(&body, &[table]), std::slice::from_ref(batch), "{} after {first}", table.name);
        }
        assert_eq!(read(&body, resource.tables), expected, "all after {first}");
    }
}

/// Not `decode_all`, which would hide a failed pass by reading the body again.
#[test]
fn one_pass_is_enough_where_every_table_is_read_at_once() {
    let context = complete();
    for resource in RESOURCES {
        for root in resource.roots {
            for seed in 0..if cfg!(miri) { 1 } else { 40 } {
                let mut random = Random(seed);
                let manner = Manner::any(&mut random);
                let text = generator::body(resource, root, manner, &mut random);
                let read = |tables: &[&'static Table]| {
                    let body = Body::from(text.as_bytes());
                    decode_in_one_pass(resource, tables, &body, &context)
                };
                let separate = resource.tables.iter().map(|table| read(&[table])).collect::<Option<Vec<_>>>();
                assert_eq!(read(resource.tables), separate.map(|tables| tables.concat()), "{} {text}", resource.name);
            }
        }
    }
}

#[test]
fn a_fault_in_one_table_is_that_table_s_alone() {
    let text = possessions_with_notes().replacen(r#""player_id":1"#, r#""player_id":"none""#, 1);
    let context = Context::default().with("session_id", "s-1");
    let resource = &possessions::POSSESSIONS;
    let body = Body::from(text.as_bytes());
    let expected = decode(resource, "possession_events", None, &body, &context).unwrap_err();
    assert_eq!(decode_all(resource, &body, &context).unwrap_err(), expected);
    for name in ["possessions", "possession_players"] {
        assert!(decode(resource, name, None, &body, &context).is_ok(), "{name}");
    }
}

#[test]
fn a_row_of_one_table_may_lack_what_another_one_needs() {
    // A team without an id may have no possessions, but no players.
    let text = r#"{"teams":[{"id":1,"possessions":[{"stats":[]}]},{"possessions":[],"team_player_details":[]}]}"#;
    let context = Context::default().with("session_id", "s-1");
    let resource = &possessions::POSSESSIONS;
    let rows = |text: &str| -> Result<Vec<usize>, DecodeError> {
        let tables = decode_all(resource, &Body::from(text.as_bytes()), &context)?;
        Ok(tables.iter().map(RecordBatch::num_rows).collect())
    };
    assert_eq!(rows(text), Ok(vec![1, 0, 0]));
    let lacking = text.replace(r#""team_player_details":[]"#, r#""team_player_details":[{"id":2}]"#);
    let Err(DecodeError::Body { message, path, .. }) = rows(&lacking) else { panic!("{lacking}") };
    assert_eq!(
        (&*message, &*path),
        (r#""id" is missing or null, and column team_id of possession_players needs it"#, "$.teams[1]")
    );
}
