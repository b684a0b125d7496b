//! Known answers: what the engine makes of bodies written by hand, without the oracle.

use crate::resource::{event, locations, possessions, roster, schedule, stats, stats_details, team};
use crate::table::{Body, Context, DecodeError, Resource, decode, unknown_fields};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StringArray};

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
fn what_is_no_number_of_json_is_refused_asked_or_not() {
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
    // A team without an id is no fault where it has no rows to name.
    assert_eq!(read(&stats::STATS, "player_stats", r#"{"teams":[{"player_stats":[]}]}"#).unwrap().num_rows(), 0);
    let (_, path, _) =
        fault(&stats::STATS, "player_stats", r#"{"teams":[{"player_stats":[{"id":1,"stats":{"FG":1}}]}]}"#);
    assert!(path.starts_with("$.teams[0]"), "{path}");
}

#[test]
fn what_stands_above_the_rows_may_stand_behind_them() {
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
    for body in ["null", "[]", r#"{"events":[]}"#, r#"{"events":null}"#] {
        assert_eq!(read(&event::TEAM_EVENTS, "events", body).unwrap().num_rows(), 0, "{body}");
    }
    assert!(fault(&roster::ROSTER, "players", "[]").0.contains("expected an object"));
    assert!(read(&team::TEAMS, "teams", "12").is_err());
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
    assert_eq!(&names[names.len() - 3..], ["DIST", "AAA", "ZZZ"]);
    assert_eq!(floats(&batch, "AAA"), [None, Some(3.0), None]);
    assert_eq!(floats(&batch, "ZZZ"), [Some(1.0), None, None]);
    let asked = |columns: &[&str]| {
        let columns: Vec<String> = columns.iter().map(|c| c.to_string()).collect();
        decode(&stats::STATS, "box_score", Some(&columns), &Body::from(body.as_bytes()), &Context::default())
    };
    assert_eq!(asked(&["ZZZ", "player_id"]).unwrap().num_columns(), 2);
    assert!(matches!(asked(&["BBB"]), Err(DecodeError::NoColumn { .. })));
}

#[test]
fn a_derived_column_is_made_without_showing_what_it_reads() {
    let body = Body::from(&br#"{"id":"e","is_game_event":true,"results":[{"id":"s"}]}"#[..]);
    let columns = ["game_id".to_string()];
    let batch = decode(&event::GAME, "sessions", Some(&columns), &body, &Context::default()).unwrap();
    assert_eq!((batch.num_columns(), texts(&batch, "game_id")), (1, vec![Some("e".to_string())]));
}

#[test]
fn what_nobody_declared_is_reported_once_and_a_renamed_container_too() {
    let report = |resource, body: &str| unknown_fields(resource, &Body::from(body.as_bytes())).unwrap();
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
    assert_eq!(report(&schedule::SCHEDULE, "{}"), ["games[] (missing)"]);
    // What may be absent is not missing.
    assert!(report(&roster::ROSTER, r#"{"id":1,"players":[{"id":2}]}"#).is_empty());
}

#[test]
fn deep_nesting_is_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        let body = format!(r#"{{"teams":[{{"id":1,"unknown":{deep}}}]}}"#);
        assert_eq!(read(&team::TEAMS, "teams", &body).unwrap().num_rows(), 1);
        assert!(read(&team::TEAMS, "teams", &open.repeat(200_000)).is_err());
    }
}
