//! The conformance cases of JSON (`tests/conformance/json.json`), for the validator, the numbers and the strings.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::any_value::Number;
use super::{Body, start, syntax_error};
use crate::cases::{self, bytes, name};
use serde_json::Value;

fn own_cases() -> Vec<Value> {
    cases::own(include_str!("../../../tests/conformance/json.json"))
}

/// The text of a number or of a string that is the whole body; `None` if it is another value.
fn scalar(body: &Body) -> Option<Value> {
    let padded_body = body.with_padding();
    let mut cursor = start(&padded_body)?;
    cursor.whitespace();
    match cursor.peek_byte() {
        b'"' => Some(String::from_utf8(cursor.string().ok()?.into_owned()).ok()?.into()),
        b'-' | b'0'..=b'9' => Some(match cursor.number().ok()? {
            Number::Int(value) => value.into(),
            Number::Float(value) if value.is_finite() => value.into(),
            Number::Float(value) => value.to_string().into(),
            Number::Long(token) => std::str::from_utf8(token).unwrap().into(),
        }),
        _ => None,
    }
}

/// The expected scalar; `None` if the case states none.
fn expected_scalar(case: &Value) -> Option<Value> {
    let number = |text: &Value| -> Option<Value> {
        let text = text.as_str()?;
        text.parse::<i64>().map_or_else(|_| Some(text.into()), |value| Some(value.into()))
    };
    let float = |text: &Value| -> Option<Value> {
        let value: f64 = text.as_str()?.parse().unwrap();
        Some(if value.is_finite() { value.into() } else { value.to_string().into() })
    };
    let is_scalar = |value: &&Value| value.is_number() || value.is_string();
    case.get("value").filter(is_scalar).cloned().or_else(|| number(&case["integer"])).or_else(|| float(&case["float"]))
}

fn mismatch(case: &Value) -> Option<String> {
    let body = Body::from(bytes(&case["input"]));
    let error = syntax_error(&body);
    let is_refused = case["refused"] == true;
    if error.is_some() != is_refused {
        return Some(format!("{}: {}", name(case), error.map_or("accepted".into(), |error| error.message)));
    }
    let expected = expected_scalar(case)?;
    let actual = scalar(&body);
    (actual.as_ref().map(Value::to_string) != Some(expected.to_string()))
        .then(|| format!("{}: {actual:?}, expected {expected}", name(case)))
}

#[test]
fn own_cases_are_accepted_or_refused_and_their_scalars_read() {
    let cases = own_cases();
    assert!(cases.len() >= 224, "{}", cases.len());
    assert!(cases.iter().filter_map(expected_scalar).count() >= 50);
    assert_eq!(cases.iter().filter_map(mismatch).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_wrong_expectation_is_noticed_in_every_case() {
    for mut case in own_cases() {
        if expected_scalar(&case).is_some() {
            let mut mutant = case.clone();
            mutant["value"] = "planted".into();
            assert!(mismatch(&mutant).is_some(), "{}", name(&case));
        }
        case["refused"] = (case["refused"] != true).into();
        assert!(mismatch(&case).is_some(), "{}", name(&case));
    }
}

/// `serde_json` shares no code with this reader. It stops at 128 levels.
#[test]
fn another_reader_has_the_same_opinion_of_the_cases() {
    for case in own_cases().iter().filter(|case| case["kind"] != "free" && case["depth"].is_null()) {
        let read = serde_json::from_slice::<Value>(&bytes(&case["input"]));
        assert_eq!(read.is_ok(), case["kind"] == "valid", "{}", name(case));
    }
}
