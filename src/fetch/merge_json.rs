//! Merges several responses into one: pure, bytes in and bytes out. Elements are copied as raw text, and what surrounds
//! them is the first response's.

use crate::operation::Merge;
use crate::table::DecodeError;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// The bodies in the order of their requests, in the root shape of the first that has one.
pub(super) fn merge(how: Merge, bodies: &[&[u8]]) -> Result<Vec<u8>, DecodeError> {
    match (how, bodies) {
        (Merge::Events, [_, _, ..]) => parts(bodies, "events").map(|parts| write(bodies, &parts, &events(&parts))),
        (Merge::Locations, [_, _, ..]) => locations(bodies),
        // A single response, or one that cannot be merged, is unchanged.
        (_, first) => Ok(first.first().map_or_else(Vec::new, |body| body.to_vec())),
    }
}

/// The list in a body. Responses of the service differ in where it is.
#[derive(Debug)]
struct JsonPart<'a> {
    shape: RootShape<'a>,
    elements: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy)]
enum RootShape<'a> {
    /// `{"events": [..]}`, with the text of the list or of its only element.
    Wrapped(&'a str),
    /// `[..]`.
    List,
    /// The element itself.
    Single,
    /// `null`, `{}` and the like: no list, no element.
    Nothing,
}

fn parts<'a>(bodies: &[&'a [u8]], key: &'static str) -> Result<Vec<JsonPart<'a>>, DecodeError> {
    bodies.iter().map(|body| part(body, key)).collect()
}

fn part<'a>(body: &'a [u8], key: &'static str) -> Result<JsonPart<'a>, DecodeError> {
    let root: &RawValue = read(body)?;
    let nothing = JsonPart { shape: RootShape::Nothing, elements: Vec::new() };
    Ok(match first_byte(root.get()) {
        b'[' => JsonPart { shape: RootShape::List, elements: list(body, root)? },
        b'{' => {
            let members: BTreeMap<String, &RawValue> = read(body)?;
            match members.get(key) {
                Some(value) => match first_byte(value.get()) {
                    b'[' => JsonPart { shape: RootShape::Wrapped(value.get()), elements: list(body, value)? },
                    b'{' => JsonPart { shape: RootShape::Wrapped(value.get()), elements: vec![value.get()] },
                    _ => nothing,
                },
                None if members.is_empty() => nothing,
                None => JsonPart { shape: RootShape::Single, elements: vec![root.get()] },
            }
        }
        _ => nothing,
    })
}

/// Events by id; each keeps its first place. An event that spans the border of two ranges is in both responses.
fn events<'a>(parts: &[JsonPart<'a>]) -> Vec<&'a str> {
    #[derive(Deserialize)]
    struct EventId<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let mut seen = HashSet::new();
    let is_new = |element: &&str| match serde_json::from_str::<EventId>(element) {
        Ok(EventId { id: Some(id) }) => seen.insert(id.get().trim_matches('"').to_string()),
        // Events without an id are all kept.
        _ => true,
    };
    parts.iter().flat_map(|part| part.elements.iter().copied()).filter(is_new).collect()
}

/// Locations by (t, tag, player). Adjacent windows share the instant between them: the later one leaves out what the
/// earlier one has.
fn locations(bodies: &[&[u8]]) -> Result<Vec<u8>, DecodeError> {
    // The root is the list itself; a single batch counts as a list of one.
    let parts = parts(bodies, "")?;
    let mut before: HashSet<LocationKey> = HashSet::new();
    let mut joined: Vec<Cow<str>> = Vec::new();
    for (part, body) in parts.iter().zip(bodies) {
        let mut here = HashSet::new();
        for batch in &part.elements {
            let list_in_batch =
                self::part(batch.as_bytes(), "locations").map_err(|error| within(error, body, batch))?;
            let RootShape::Wrapped(_) = list_in_batch.shape else {
                joined.push(Cow::Borrowed(batch));
                continue;
            };
            let kept: Vec<&str> = list_in_batch
                .elements
                .iter()
                .copied()
                .filter(|location| match key(location) {
                    Some(key) => {
                        let is_new = !before.contains(&key);
                        here.insert(key);
                        is_new
                    }
                    None => true,
                })
                .collect();
            if kept.len() == list_in_batch.elements.len() {
                joined.push(Cow::Borrowed(batch));
            } else if !kept.is_empty() {
                let written = write(&[batch.as_bytes()], &[list_in_batch], &kept);
                joined.push(Cow::Owned(String::from_utf8_lossy(&written).into_owned()));
            }
        }
        before = here;
    }
    drop(before);
    Ok(write(bodies, &parts, &joined))
}

type LocationKey<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn key(location: &str) -> Option<LocationKey<'_>> {
    #[derive(Deserialize)]
    struct LocationId<'a> {
        #[serde(borrow)]
        t: &'a RawValue,
        #[serde(borrow)]
        tag: Option<&'a RawValue>,
        #[serde(borrow)]
        pid: Option<&'a RawValue>,
    }
    // An id may be a number here and a string there.
    fn plain(value: &RawValue) -> &str {
        value.get().trim_matches('"')
    }
    let location: LocationId = serde_json::from_str(location).ok()?;
    Some((plain(location.t), location.tag.map(plain), location.pid.map(plain)))
}

/// The elements in the root shape of the first part that has one; several elements do not fit a single-element shape.
fn write<T: AsRef<str>>(bodies: &[&[u8]], parts: &[JsonPart], elements: &[T]) -> Vec<u8> {
    let first = parts.iter().zip(bodies).find(|(part, _)| !matches!(part.shape, RootShape::Nothing));
    let (before, after): (&[u8], &[u8]) = match first {
        None => return bodies.first().map_or_else(Vec::new, |body| body.to_vec()),
        Some((JsonPart { shape: RootShape::Single, .. }, _)) if elements.len() == 1 => {
            return elements[0].as_ref().as_bytes().to_vec();
        }
        Some((JsonPart { shape: RootShape::Wrapped(old), .. }, body)) => {
            let at = offset(body, old);
            (&body[..at], &body[at + old.len()..])
        }
        Some(_) => (&[], &[]),
    };
    let size = elements.iter().map(|element| element.as_ref().len() + 1).sum::<usize>();
    let mut written = Vec::with_capacity(before.len() + size + 2 + after.len());
    written.extend_from_slice(before);
    written.push(b'[');
    for (place, element) in elements.iter().enumerate() {
        if place > 0 {
            written.push(b',');
        }
        written.extend_from_slice(element.as_ref().as_bytes());
    }
    written.push(b']');
    written.extend_from_slice(after);
    written
}

/// The offset of a text in the body it was read from.
fn offset(body: &[u8], text: &str) -> usize {
    (text.as_ptr() as usize).saturating_sub(body.as_ptr() as usize)
}

fn first_byte(text: &str) -> u8 {
    text.as_bytes().first().copied().unwrap_or(b' ')
}

fn list<'a>(body: &'a [u8], value: &'a RawValue) -> Result<Vec<&'a str>, DecodeError> {
    let elements: Vec<&RawValue> = read(value.get().as_bytes()).map_err(|error| within(error, body, value.get()))?;
    Ok(elements.into_iter().map(RawValue::get).collect())
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(text).map_err(|error| DecodeError::Body {
        message: error.to_string(),
        path: "$".into(),
        offset: offset_of_line(text, error.line(), error.column()),
    })
}

/// serde_json counts lines and columns, both from 1.
fn offset_of_line(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize = text.split(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(|line| line.len() + 1).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// An error within a part of a body, with offsets from the body's start.
fn within(error: DecodeError, body: &[u8], part: &str) -> DecodeError {
    match error {
        DecodeError::Body { message, path, offset: at } => {
            DecodeError::Body { message, path, offset: at + offset(body, part) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::{Value, json};

    fn joined(how: Merge, bodies: &[&str]) -> String {
        let bodies: Vec<&[u8]> = bodies.iter().map(|body| body.as_bytes()).collect();
        String::from_utf8(merge(how, &bodies).unwrap()).unwrap()
    }

    #[test]
    fn events_are_joined_by_id_in_their_first_place() {
        let first = r#" {"page": 1.0,"events":[ {"id":"a","x":1e2}, {"id":"b"} ],"more":null} "#;
        let second = r#"{"events":[{"id":"b","late":true},{"id":"c"}]}"#;
        // What surrounds and is in the events is unchanged.
        let expected = r#" {"page": 1.0,"events":[{"id":"a","x":1e2},{"id":"b"},{"id":"c"}],"more":null} "#;
        assert_eq!(joined(Merge::Events, &[first, second]), expected);
    }

    #[test]
    fn every_shape_of_a_body_is_joined_in_the_shape_of_the_first() {
        for (bodies, expected) in [
            ([r#"[{"id":1}]"#, r#"{"events":[{"id":2}]}"#], r#"[{"id":1},{"id":2}]"#),
            ([r#"{"events":[]}"#, r#"[{"id":2}]"#], r#"{"events":[{"id":2}]}"#),
            ([r#"{"id":1}"#, r#"{"id":1}"#], r#"{"id":1}"#),
            ([r#"{"id":1}"#, r#"{"id":2}"#], r#"[{"id":1},{"id":2}]"#),
            ([r#"{"events":{"id":1}}"#, r#"{"events":{"id":"2"}}"#], r#"{"events":[{"id":1},{"id":"2"}]}"#),
            (["null", r#"{"events":[{"id":2}]}"#], r#"{"events":[{"id":2}]}"#),
            ([r#"{"events":null}"#, "{}"], r#"{"events":null}"#),
            ([r#"{"events":[{"id":"7"}]}"#, r#"{"events":[{"id":7}]}"#], r#"{"events":[{"id":"7"}]}"#),
            ([r#"{"events":[{"x":1}]}"#, r#"{"events":[{"x":1}]}"#], r#"{"events":[{"x":1},{"x":1}]}"#),
        ] {
            assert_eq!(joined(Merge::Events, &bodies), expected, "{bodies:?}");
        }
    }

    #[test]
    fn a_single_answer_is_left_as_it_is() {
        assert_eq!(joined(Merge::Events, &[" not even JSON"]), " not even JSON");
    }

    fn window(from: i64, to: i64) -> Vec<Value> {
        let location =
            |t: i64, pid: i64| json!({"t": t, "tag": format!("{}", pid + 100), "pid": pid, "x": t as f64 / 7.0});
        (from..=to).map(|t| json!({"locations": [location(t, 1), location(t, 2)]})).collect()
    }

    #[test]
    fn windows_that_touch_give_what_one_window_would_give() {
        let parts: Vec<String> =
            [(0, 5), (5, 9), (9, 9), (9, 12)].map(|(from, to)| Value::from(window(from, to)).to_string()).to_vec();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(joined(Merge::Locations, &parts), Value::from(window(0, 12)).to_string());
    }

    #[test]
    fn only_what_the_window_before_had_is_left_out() {
        let first = r#"[{"locations":[{"t":5,"tag":"1","pid":1},{"t":5,"tag":"1","pid":1}]}]"#;
        // Another player, another tag, a number for a string, no player: the ball.
        let second = r#"[{"n":1, "locations":[{"t":5,"tag":1,"pid":"1"},{"t":5,"tag":"1","pid":2},{"t":5,"tag":"2","pid":1},{"t":5,"tag":"1"}],"m":2}]"#;
        let kept =
            r#"{"n":1, "locations":[{"t":5,"tag":"1","pid":2},{"t":5,"tag":"2","pid":1},{"t":5,"tag":"1"}],"m":2}"#;
        let expected = format!("{},{kept}]", first.strip_suffix(']').unwrap());
        assert_eq!(joined(Merge::Locations, &[first, second]), expected);
        assert_eq!(joined(Merge::Locations, &[first, "[]", "null"]), first);
        assert_eq!(joined(Merge::Locations, &["[]", r#"[{"locations":null}]"#]), r#"[{"locations":null}]"#);
    }

    #[test]
    fn a_body_that_cannot_be_joined_says_where() {
        let bodies: [&[u8]; 2] = [b"{\"events\":[]}", b"{\"events\":\n [{]}"];
        let DecodeError::Body { offset, path, .. } = merge(Merge::Events, &bodies).unwrap_err() else { panic!() };
        assert_eq!((path.as_str(), offset), ("$", 14));
    }
}
