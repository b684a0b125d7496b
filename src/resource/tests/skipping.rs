//! Members that no column reads are skipped: values between them are still read, and errors still found.

use crate::resource::{locations, possessions};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use reader::Body;
use tables::{Context, DecodeError, Resource, decode};

fn read(resource: &'static Resource, table: &str, columns: &[&str], body: &str) -> Result<RecordBatch, DecodeError> {
    let columns: Vec<String> = columns.iter().map(|name| name.to_string()).collect();
    let context = Context::default().with("session_id", "s-1");
    decode(resource, table, Some(&columns), &Body::from(body.as_bytes()), &context)
}

const TYPICAL_LOCATION: &str =
    r#"{"x":1.5,"z":2.0,"type":"PLAYER","sid":"14875c2b-8f32","tag":"100641","pid":7,"gc":"19:36.40","sc":"9.00"}"#;

/// `x` and `pid` of an object among others of its kind, from which its keys are predicted.
fn among_usual(object: &str) -> Result<(Option<f64>, Option<i64>), DecodeError> {
    let neighbours = [TYPICAL_LOCATION; 8].join(",");
    let body = format!(r#"[{{"locations":[{neighbours},{object},{neighbours}]}}]"#);
    let batch = read(&locations::LOCATIONS, "locations", &["x", "player_id"], &body)?;
    let x: Vec<Option<f64>> = batch["x"].as_primitive::<Float64Type>().iter().collect();
    let players: Vec<Option<i64>> = batch["player_id"].as_primitive::<Int64Type>().iter().collect();
    assert_eq!(x.len(), 17, "{object}");
    let others = (0..17).filter(|row| *row != 8);
    assert!(others.into_iter().all(|row| (x[row], players[row]) == (Some(1.5), Some(7))), "{object}");
    Ok((x[8], players[8]))
}

#[test]
fn requested_fields_are_read_whatever_stands_between() {
    let long = "y".repeat(150);
    for object in [
        r#"{"x":3.5,"z":7.5,"type":"PLAYER","sid":"99999c9b-9f99","tag":"000000","pid":4,"gc":"00:00.00","sc":"0.00"}"#,
        r#"{"x":3.5,"z":-17.25,"type":"PLAYER","sid":"14875c2b-8f32","tag":"1","pid":4,"gc":"","sc":"30.00"}"#,
        r#"{"x":3.5,"z":null,"type":true,"sid":null,"tag":12e3,"pid":4,"gc":null,"sc":false}"#,
        r#"{"x":3.5,"z":{"pid":1,"x":[2,{}]},"type":["]","}"],"sid":"14875c2b-8f32","pid":4,"gc":[],"sc":{}}"#,
        r#"{"x":3.5,"z":2.0,"type":"a\",\"pid\":1,\"","sid":"14875c2b-8f32","tag":"\\","pid":4,"gc":"\"}"}"#,
        r#"{"x":3.5,"z":2.0,"type":"PLAYER","pid":4,"sid":"14875c2b-8f32","tag":"100641","gc":"19:36.40","sc":"9.00"}"#,
        r#"{"x":3.5,"z":2.0,"type":"PLAYER","sid":"14875c2b-8f32","tag":"100641","gc":"19:36.40","sc":"9.00","pid":4}"#,
        r#"{"pid":4,"z":2.0,"type":"PLAYER","sid":"14875c2b-8f32","tag":"100641","x":3.5,"gc":"19:36.40","sc":"9.00"}"#,
        r#"{"z":2.0,"type":"PLAYER","p\u0069d":4,"sid":"14875c2b-8f32","tag":"100641","x":3.5}"#,
        r#"{"x":3.5,"pid":4}"#,
        r#"{"x":3.5,"z":2.0,"pid":4}"#,
        r#"{"x":3.5,"z":2.0,"type":"PLAYER","new":1,"newer":"2","sid":"14875c2b-8f32","pid":4,"newest":[]}"#,
        r#"{"x":3.5,"z":2.0,"pid_":1,"xx":1,"":1,"pid":4,"pi":1}"#,
        r#"{ "x" : 3.5 , "z" : 2.0 , "type" : "PLAYER" , "sid" : "14875c2b-8f32" , "pid" : 4 , "gc" : "19:36.40" }"#,
        r#"{"x": 3.5, "z": 2.0, "type": "PLAYER", "sid": "14875c2b-8f32", "tag": "100641", "pid": 4, "gc": "19:36.40"}"#,
        &format!(r#"{{"x":3.5,"z":2.0,"type":"{long}","sid":"14875c2b-8f32","tag":"{long}","pid":4,"gc":"{long}"}}"#),
        // The last value of a duplicate key counts, of a skipped member too.
        r#"{"x":1,"z":2.0,"type":"PLAYER","x":3.5,"sid":"14875c2b-8f32","tag":"100641","pid":7,"gc":"19:36.40","pid":4}"#,
        r#"{"x":3.5,"z":2.0,"z":2.0,"type":"PLAYER","z":2.0,"pid":1,"gc":"19:36.40","gc":"19:36.40","pid":4}"#,
    ] {
        assert_eq!(among_usual(object), Ok((Some(3.5), Some(4))), "{object}");
    }
}

#[test]
fn a_skipped_value_of_any_length_ends_at_its_own_end() {
    for len in (0..140).step_by(if cfg!(miri) { 23 } else { 1 }) {
        let (text, digits) = ("y".repeat(len), "8".repeat(len + 1));
        for (z, tag) in [(&digits, &text), (&"1".to_string(), &digits)] {
            let location =
                |x, pid| format!(r#"{{"x":{x},"z":{z},"tag":"{tag}","type":"PLAYER","pid":{pid},"sc":"{text}"}}"#);
            let body = format!(
                r#"[{{"locations":[{}]}}]"#,
                [location(1.5, 7), location(1.5, 7), location(1.5, 7), location(3.5, 4)].join(",")
            );
            let batch = read(&locations::LOCATIONS, "locations", &["x", "player_id"], &body).unwrap();
            assert_eq!(batch["x"].as_primitive::<Float64Type>().value(3), 3.5, "{len}");
            assert_eq!(batch["player_id"].as_primitive::<Int64Type>().value(3), 4, "{len}");
        }
    }
}

#[test]
fn errors_among_skipped_members_are_found() {
    for object in [
        r#"{"x":1.5,"z":2.0 "type":"PLAYER"}"#,
        r#"{"x":1.5,"z":2.0,"type":"PLAYER","sid":"14875c2b-8f32",}"#,
        r#"{"x":1.5,"z":2.0,,"type":"PLAYER"}"#,
        r#"{"x":1.5,"z":,"type":"PLAYER"}"#,
        r#"{"x":1.5,"z":2.0,"type":"PLAYER","sid","pid":7}"#,
        r#"{"x":1.5,"z":2.0,type:"PLAYER"}"#,
        r#"{"x":1.5,"z":2.0,"type":"PLA\xYER"}"#,
        "{\"x\":1.5,\"z\":2.0,\"type\":\"PLA\nYER\"}",
        r#"{"x":1.5,"z":2.0,"type":"PLAYER","sid":"14875c2b-8f32"]"#,
        r#"{"x":1.5,"z":2.0;"type":"PLAYER"}"#,
    ] {
        assert!(among_usual(object).is_err(), "{object}");
    }
}

#[test]
fn keys_that_differ_by_a_digit_are_two_keys() {
    let event = |attributes: &str| format!(r#"{{"timestamp":1,"shot_attributes":{attributes}}}"#);
    let others = vec![event(r#"{"is_2point":1,"zone":4}"#); 8].join(",");
    let last = event(r#"{"is_3point":1,"zone":4}"#);
    let body = format!(r#"{{"teams":[{{"id":1,"possessions":[{{"stats":[{others},{last}]}}]}}]}}"#);
    let batch = read(&possessions::POSSESSIONS, "possession_events", &["is_3point"], &body).unwrap();
    let points: Vec<Option<bool>> = batch["is_3point"].as_boolean().iter().collect();
    assert_eq!((&points[..8], points[8]), (&[None; 8][..], Some(true)));
}

#[test]
fn utf8_is_validated_at_every_position() {
    let body = |text: &[u8]| [br#"[{"locations":[{"t":1,"sid":""#, text, br#""}]}]"#].concat();
    let read = |body: Vec<u8>| decode(&locations::LOCATIONS, "locations", None, &Body::from(body), &Context::default());
    for letter in ["é", "€", "🏀"] {
        for before in (0..6).chain(985..1000).chain(2010..2022).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let text = |letter: &[u8]| body(&[&b"x".repeat(before), letter, b"yyyy"].concat());
            let batch = read(text(letter.as_bytes())).unwrap();
            let expected = format!("{}{letter}yyyy", "x".repeat(before));
            assert_eq!(batch["session_id"].as_string::<i32>().value(0), expected);
            let prefix = &letter.as_bytes()[..letter.len() - 1];
            let Err(DecodeError::Body { message, offset, .. }) = read(text(prefix)) else {
                panic!("{letter} at {before}")
            };
            assert_eq!((message.as_str(), offset), ("the body is not UTF-8", 29 + before), "{letter} at {before}");
        }
    }
}
