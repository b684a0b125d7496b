//! The conformance cases of `tests/conformance/` and, where they are beside the project, of outsiders.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Two crates include this file, and neither uses all of it.
#![allow(dead_code)]

use serde_json::Value;
use std::fs;
use std::path::Path;

/// The cases of one of the project's own files.
pub(crate) fn own(text: &str) -> Vec<Value> {
    let mut file: Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(file["cases"].take()).unwrap()
}

/// A file of outsiders' cases; prints the reason if it is not there.
#[allow(clippy::print_stderr)] // A skipped test prints it.
pub(crate) fn of_outsiders(file: &str) -> Option<Value> {
    // The folder is beside the project, whose root is above this crate or is this crate.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let Some(text) =
        above.map(|at| at.join("shared/conformance").join(file)).find_map(|path| fs::read_to_string(path).ok())
    else {
        eprintln!("skipped: there is no shared/conformance/{file} beside the project");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

pub(crate) fn name(case: &Value) -> &str {
    case["name"].as_str().unwrap()
}

/// The bytes of a text, or of a list of parts: texts, `{hex}` and `{repeat, times}`.
pub(crate) fn bytes(parts: &Value) -> Vec<u8> {
    match parts {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Array(parts) => parts.iter().flat_map(bytes).collect(),
        part => match part["hex"].as_str() {
            Some(hex) => hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect(),
            None => part["repeat"].as_str().unwrap().repeat(part["times"].as_u64().unwrap() as usize).into_bytes(),
        },
    }
}

pub(crate) fn text(parts: &Value) -> String {
    String::from_utf8(bytes(parts)).unwrap()
}

#[test]
fn parts_are_joined_and_anything_else_is_refused() {
    let parts = serde_json::json!(["a", {"hex": "ff 00"}, {"repeat": "é", "times": 2}]);
    assert_eq!(bytes(&parts), b"a\xff\x00\xc3\xa9\xc3\xa9");
    for invalid in [serde_json::json!([{"hexx": "ff"}]), serde_json::json!(5), Value::Null] {
        assert!(std::panic::catch_unwind(|| bytes(&invalid)).is_err(), "{invalid}");
    }
}
