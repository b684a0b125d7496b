//! Merges several responses into one: pure. Elements are copied as raw text; what surrounds them is the first response's.

use crate::operation::Merge;
use reader::{Body, JsonError, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use tables::DecodeError;

/// The bodies in the order of their requests, in the root shape of the first that has one.
pub(super) fn merge(kind: Merge, bodies: &[&Body]) -> Result<Vec<u8>, DecodeError> {
    let Some(first) = bodies.first().map(|body| body.as_slice()) else { return Ok(Vec::new()) };
    let key = match kind {
        _ if bodies.len() == 1 => return Ok(first.to_vec()),
        Merge::Events => "events",
        // The root is the list itself; a single batch counts as a list of one.
        Merge::Locations => "",
        Merge::Single => return Ok(first.to_vec()),
    };
    let padded_bodies: Vec<Cow<[u8]>> = bodies.iter().map(|body| body.with_padding()).collect();
    let parts = bodies.iter().zip(&padded_bodies);
    let parts = parts.map(|(body, padded_body)| Ok(part(body.as_slice(), 0, Value::of(body, padded_body)?, key)));
    let parts = parts.collect::<Result<Vec<JsonPart>, JsonError>>()?;
    let elements = if kind == Merge::Events { events(&parts) } else { locations(&parts) };
    Ok(write(first, &parts, &elements))
}

/// The values of an object's keys; none of a value that is no object.
fn members<'a, const N: usize>(object: &Value<'a>, keys: [&str; N]) -> [Option<Value<'a>>; N] {
    let mut values = [None; N];
    for (key, value) in object.members() {
        if let Some(at) = keys.iter().position(|name| name.as_bytes() == &*key) {
            values[at] = Some(value);
        }
    }
    values
}

/// An id, which may be a number in one body and a string in another. Null counts as missing.
fn id<'a>(value: Value<'a>) -> Option<&'a [u8]> {
    let inner = value.raw().strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    (!value.is_null()).then_some(inner.unwrap_or(value.raw()))
}

/// The list in a body. Responses of the service differ in where it is.
#[derive(Debug)]
struct JsonPart<'a> {
    shape: RootShape<'a>,
    elements: Vec<Value<'a>>,
}

#[derive(Debug, Clone, Copy)]
enum RootShape<'a> {
    /// `{"events": [..]}`, with the text before and after the list or its only element.
    Wrapped(&'a [u8], &'a [u8]),
    /// `[..]`.
    List,
    /// The element itself.
    Single,
    /// `null`, `{}` and the like: no list, no element.
    Nothing,
}

/// `whole`: the text of the value and of what surrounds it, from byte `base` of the body.
fn part<'a>(document: &'a [u8], base: usize, root: Value<'a>, key: &str) -> JsonPart<'a> {
    let [list] = members(&root, [key]);
    let (shape, elements) = match list {
        _ if root.is_array() => (RootShape::List, root.elements().collect()),
        Some(list) => {
            let at = list.offset() - base;
            let shape = RootShape::Wrapped(&document[..at], &document[at + list.raw().len()..]);
            match list.raw().first() {
                Some(b'[') => (shape, list.elements().collect()),
                Some(b'{') => (shape, vec![list]),
                _ => (RootShape::Nothing, Vec::new()),
            }
        }
        None if root.members().next().is_some() => (RootShape::Single, vec![root]),
        None => (RootShape::Nothing, Vec::new()),
    };
    JsonPart { shape, elements }
}

/// Events by id; each keeps its first place. An event that spans the border of two ranges is in both responses.
fn events<'a>(parts: &[JsonPart<'a>]) -> Vec<Cow<'a, [u8]>> {
    let mut seen = HashSet::new();
    let events = parts.iter().flat_map(|part| &part.elements);
    // Events without an id are all kept.
    let new = events.filter(|event| members(event, ["id"])[0].and_then(id).is_none_or(|id| seen.insert(id)));
    new.map(|event| Cow::Borrowed(event.raw())).collect()
}

/// Locations by (t, tag, player). Of the instant between adjacent windows the later one leaves out what the earlier has.
fn locations<'a>(parts: &[JsonPart<'a>]) -> Vec<Cow<'a, [u8]>> {
    let mut before = HashSet::new();
    let mut elements = Vec::new();
    for window in parts {
        let mut keys = HashSet::new();
        for batch in &window.elements {
            let list = part(batch.raw(), batch.offset(), *batch, "locations");
            let RootShape::Wrapped(..) = list.shape else {
                elements.push(Cow::Borrowed(batch.raw()));
                continue;
            };
            let mut rest = Vec::new();
            for location in &list.elements {
                let [t, tag, player] = members(location, ["t", "tag", "pid"]);
                let key = t.map(|t| (id(t), tag.and_then(id), player.and_then(id)));
                if key.is_none_or(|key| !before.contains(&key)) {
                    rest.push(Cow::Borrowed(location.raw()));
                }
                keys.extend(key);
            }
            if rest.len() == list.elements.len() {
                elements.push(Cow::Borrowed(batch.raw()));
            } else if !rest.is_empty() {
                elements.push(Cow::Owned(write(batch.raw(), &[list], &rest)));
            }
        }
        before = keys;
    }
    elements
}

/// The elements in the root shape of the first part that has one; several elements do not fit a single-element shape.
/// Without a shape, the `first` body.
fn write(first: &[u8], parts: &[JsonPart], elements: &[Cow<[u8]>]) -> Vec<u8> {
    let shape = parts.iter().map(|part| part.shape).find(|shape| !matches!(shape, RootShape::Nothing));
    let (before, after): (&[u8], &[u8]) = match (shape, elements) {
        (None, _) => return first.to_vec(),
        (Some(RootShape::Single), [element]) => return element.to_vec(),
        (Some(RootShape::Wrapped(before, after)), _) => (before, after),
        (Some(_), _) => (&[], &[]),
    };
    let size = elements.iter().map(|element| element.len() + 1).sum::<usize>();
    let mut written = Vec::with_capacity(before.len() + size + 2 + after.len());
    written.extend_from_slice(before);
    written.push(b'[');
    for (place, element) in elements.iter().enumerate() {
        if place > 0 {
            written.push(b',');
        }
        written.extend_from_slice(element);
    }
    written.push(b']');
    written.extend_from_slice(after);
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::{Value, json};

    fn join(kind: Merge, bodies: &[&str]) -> String {
        let bodies: Vec<Body> = bodies.iter().map(|body| Body::from(body.as_bytes())).collect();
        String::from_utf8(merge(kind, &bodies.iter().collect::<Vec<_>>()).unwrap()).unwrap()
    }

    #[test]
    fn events_are_joined_by_id_in_their_first_place() {
        let first = r#" {"page": 1.0,"events":[ {"id":"a","x":1e2}, {"id":"b"} ],"more":null} "#;
        let second = r#"{"events":[{"id":"b","late":true},{"id":"c"}]}"#;
        // What surrounds and is in the events is unchanged.
        let expected = r#" {"page": 1.0,"events":[{"id":"a","x":1e2},{"id":"b"},{"id":"c"}],"more":null} "#;
        assert_eq!(join(Merge::Events, &[first, second]), expected);
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
            assert_eq!(join(Merge::Events, &bodies), expected, "{bodies:?}");
        }
    }

    #[test]
    fn a_single_answer_is_left_as_it_is() {
        assert_eq!(join(Merge::Events, &[" not even JSON"]), " not even JSON");
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
        assert_eq!(join(Merge::Locations, &parts), Value::from(window(0, 12)).to_string());
    }

    #[test]
    fn only_what_the_window_before_had_is_left_out() {
        let first = r#"[{"locations":[{"t":5,"tag":"1","pid":1},{"t":5,"tag":"1","pid":1}]}]"#;
        // Another player, another tag, a number for a string, no player: the ball.
        let second = r#"[{"n":1, "locations":[{"t":5,"tag":1,"pid":"1"},{"t":5,"tag":"1","pid":2},{"t":5,"tag":"2","pid":1},{"t":5,"tag":"1"}],"m":2}]"#;
        let rest =
            r#"{"n":1, "locations":[{"t":5,"tag":"1","pid":2},{"t":5,"tag":"2","pid":1},{"t":5,"tag":"1"}],"m":2}"#;
        let expected = format!("{},{rest}]", first.strip_suffix(']').unwrap());
        assert_eq!(join(Merge::Locations, &[first, second]), expected);
        assert_eq!(join(Merge::Locations, &[first, "[]", "null"]), first);
        assert_eq!(join(Merge::Locations, &["[]", r#"[{"locations":null}]"#]), r#"[{"locations":null}]"#);
    }

    #[test]
    fn a_body_that_cannot_be_joined_says_where() {
        let bodies = [&b"{\"events\":[]}"[..], b"{\"events\":\n [{]}"].map(Body::from);
        let DecodeError::Body { message, offset, path } = merge(Merge::Events, &bodies.each_ref()).unwrap_err() else {
            panic!()
        };
        assert_eq!((path.as_str(), offset), ("$.events[0]", 14));
        assert_eq!(message, "expected a key in quotes, found ']'");
    }
}
