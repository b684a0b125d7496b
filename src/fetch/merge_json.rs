//! Merges several responses into one: pure, bodies in and bytes out. Elements are copied as raw text, and what surrounds
//! them is the first response's.

use crate::operation::Merge;
use reader::{Body, Cursor, ErrorKind, ReadResult};
use std::borrow::Cow;
use std::collections::HashSet;
use tables::DecodeError;

/// The bodies in the order of their requests, in the root shape of the first that has one.
pub(super) fn merge(how: Merge, bodies: &[&Body]) -> Result<Vec<u8>, DecodeError> {
    let [first, _, ..] = bodies else {
        return Ok(bodies.first().map_or_else(Vec::new, |body| body.as_slice().to_vec()));
    };
    if how == Merge::Single {
        return Ok(first.as_slice().to_vec());
    }
    if let Some(error) = bodies.iter().find_map(|body| reader::syntax_error(body)) {
        return Err(error.into());
    }
    let padded: Vec<Cow<[u8]>> = bodies.iter().map(|body| body.padded()).collect();
    let parts = |key: &str| -> ReadResult<Vec<JsonPart>> {
        bodies.iter().zip(&padded).map(|(body, padded)| part_of_body(body.as_slice(), padded, key)).collect()
    };
    let merged = match how {
        Merge::Events => parts("events").and_then(|parts| Ok(write(first.as_slice(), &parts, &events(&parts)?))),
        // The root is the list itself; a single batch counts as a list of one.
        _ => parts("").and_then(|parts| Ok(write(first.as_slice(), &parts, &locations(&parts)?))),
    };
    merged.map_err(|kind| kind.at(first, 0).into())
}

/// A value of a body, and its text.
#[derive(Debug, Clone, Copy)]
struct JsonValue<'a> {
    start: Cursor<'a>,
    text: &'a [u8],
}

impl<'a> JsonValue<'a> {
    fn next(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let start = *cursor;
        cursor.skip_value()?;
        Ok(JsonValue { start, text: cursor.span_from(&start).bytes() })
    }

    /// The elements of an array.
    fn elements(self) -> ReadResult<Vec<JsonValue<'a>>> {
        let (mut cursor, mut elements) = (self.start, Vec::new());
        cursor.advance(1);
        let mut more = cursor.has_first_item(b']');
        while more {
            elements.push(JsonValue::next(&mut cursor)?);
            more = cursor.has_next_item(b']')?;
        }
        Ok(elements)
    }

    /// The values of an object's keys; none of a value that is no object.
    fn members<const N: usize>(self, keys: [&str; N]) -> ReadResult<[Option<JsonValue<'a>>; N]> {
        let (mut cursor, mut found) = (self.start, [None; N]);
        let is_object = cursor.peek_byte() == b'{';
        cursor.advance(1);
        let mut more = is_object && cursor.has_first_item(b'}');
        while more {
            let key = cursor.string()?;
            cursor.colon()?;
            let value = JsonValue::next(&mut cursor)?;
            if let Some(at) = keys.iter().position(|known| known.as_bytes() == &*key) {
                found[at] = Some(value);
            }
            more = cursor.has_next_item(b'}')?;
        }
        Ok(found)
    }

    fn is_empty_object(self) -> bool {
        let mut cursor = self.start;
        cursor.advance(1);
        !cursor.has_first_item(b'}')
    }

    /// An id, which may be a number in one body and a string in another. Null counts as missing.
    fn id(self) -> Option<&'a [u8]> {
        let quoted = self.text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        (self.text != b"null").then_some(quoted.unwrap_or(self.text))
    }
}

/// The list in a body. Responses of the service differ in where it is.
#[derive(Debug)]
struct JsonPart<'a> {
    shape: RootShape<'a>,
    elements: Vec<JsonValue<'a>>,
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

fn part_of_body<'a>(body: &'a [u8], padded: &'a [u8], key: &str) -> ReadResult<JsonPart<'a>> {
    let mut cursor = reader::start(padded).ok_or(ErrorKind::Unpadded)?;
    cursor.whitespace();
    part(body, 0, JsonValue::next(&mut cursor)?, key)
}

/// `whole`: the text of the value and of what surrounds it, from byte `base` of the body.
fn part<'a>(whole: &'a [u8], base: usize, root: JsonValue<'a>, key: &str) -> ReadResult<JsonPart<'a>> {
    let (shape, elements) = match root.start.peek_byte() {
        b'[' => (RootShape::List, root.elements()?),
        b'{' => match root.members([key])? {
            [Some(list)] => {
                let at = list.start.position() - base;
                let shape = RootShape::Wrapped(&whole[..at], &whole[at + list.text.len()..]);
                match list.start.peek_byte() {
                    b'[' => (shape, list.elements()?),
                    b'{' => (shape, vec![list]),
                    _ => (RootShape::Nothing, Vec::new()),
                }
            }
            [None] if root.is_empty_object() => (RootShape::Nothing, Vec::new()),
            [None] => (RootShape::Single, vec![root]),
        },
        _ => (RootShape::Nothing, Vec::new()),
    };
    Ok(JsonPart { shape, elements })
}

/// Events by id; each keeps its first place. An event that spans the border of two ranges is in both responses.
fn events<'a>(parts: &[JsonPart<'a>]) -> ReadResult<Vec<Cow<'a, [u8]>>> {
    let (mut seen, mut events) = (HashSet::new(), Vec::new());
    for event in parts.iter().flat_map(|part| &part.elements) {
        let [id] = event.members(["id"])?;
        // Events without an id are all kept.
        if id.and_then(JsonValue::id).is_none_or(|id| seen.insert(id)) {
            events.push(Cow::Borrowed(event.text));
        }
    }
    Ok(events)
}

/// Locations by (t, tag, player). Adjacent windows share the instant between them: the later one leaves out what the
/// earlier one has.
fn locations<'a>(parts: &[JsonPart<'a>]) -> ReadResult<Vec<Cow<'a, [u8]>>> {
    let mut before = HashSet::new();
    let mut joined = Vec::new();
    for window in parts {
        let mut here = HashSet::new();
        for batch in &window.elements {
            let list = part(batch.text, batch.start.position(), *batch, "locations")?;
            let RootShape::Wrapped(..) = list.shape else {
                joined.push(Cow::Borrowed(batch.text));
                continue;
            };
            let mut kept = Vec::new();
            for location in &list.elements {
                let [t, tag, player] = location.members(["t", "tag", "pid"])?;
                let key = t.map(|t| (t.id(), tag.and_then(JsonValue::id), player.and_then(JsonValue::id)));
                if key.is_none_or(|key| !before.contains(&key)) {
                    kept.push(Cow::Borrowed(location.text));
                }
                here.extend(key);
            }
            if kept.len() == list.elements.len() {
                joined.push(Cow::Borrowed(batch.text));
            } else if !kept.is_empty() {
                joined.push(Cow::Owned(write(batch.text, &[list], &kept)));
            }
        }
        before = here;
    }
    Ok(joined)
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

    fn joined(how: Merge, bodies: &[&str]) -> String {
        let bodies: Vec<Body> = bodies.iter().map(|body| Body::from(body.as_bytes())).collect();
        String::from_utf8(merge(how, &bodies.iter().collect::<Vec<_>>()).unwrap()).unwrap()
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
        let bodies = [&b"{\"events\":[]}"[..], b"{\"events\":\n [{]}"].map(Body::from);
        let DecodeError::Body { message, offset, path } = merge(Merge::Events, &bodies.each_ref()).unwrap_err() else {
            panic!()
        };
        assert_eq!((path.as_str(), offset), ("$.events[0]", 14));
        assert_eq!(message, "expected a key in quotes, found ']'");
    }
}
