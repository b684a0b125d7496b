//! Duplicate keys. Python's `json` lets the last one win and the tables must agree, so the decoder stops at the second
//! and starts again on the body's normal form.

use super::DecodeError;
use reader::{Body, Cursor};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The keys seen in the open maps, innermost last.
#[derive(Debug, Default)]
pub(super) struct DuplicateKeys {
    maps: Vec<SeenKeys>,
    depth: usize,
}

/// Fingerprints of keys; a collision only costs a second pass.
#[derive(Debug, Default)]
struct SeenKeys {
    list: Vec<u64>,
    set: HashSet<u64>,
}

/// Keys up to this number are searched linearly.
const MAX_LINEAR_SEARCH: usize = 64;

impl DuplicateKeys {
    pub(crate) fn open(&mut self) {
        if self.depth == self.maps.len() {
            self.maps.push(SeenKeys::default());
        }
        let seen = &mut self.maps[self.depth];
        seen.list.clear();
        seen.set.clear();
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        self.depth -= 1;
    }

    /// Adds a key of the innermost map; returns whether it was new.
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        let seen = &mut self.maps[self.depth - 1];
        let print = fingerprint(key);
        if seen.list.contains(&print) {
            return false;
        }
        if seen.list.len() < MAX_LINEAR_SEARCH {
            seen.list.push(print);
            return true;
        }
        seen.set.insert(print)
    }
}

fn fingerprint(key: &[u8]) -> u64 {
    let mut print = key.len() as u64;
    for part in key.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        print = (print.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    print
}

/// Whether an object of a body, which is JSON, may have the same key twice.
pub(super) fn may_repeat(body: &Body) -> bool {
    let bytes = body.with_padding();
    let Some(mut cursor) = reader::start(&bytes) else { return true };
    let mut keys = DuplicateKeys::default();
    // Whether each open container is an object, and whether a key follows.
    let mut is_object = Vec::new();
    let mut is_key = false;
    while !cursor.is_at_end() {
        match cursor.peek_byte() {
            bracket @ (b'{' | b'[') => {
                is_key = bracket == b'{';
                is_object.push(is_key);
                if is_key {
                    keys.open();
                }
            }
            b'}' | b']' => {
                if is_object.pop() == Some(true) {
                    keys.close();
                }
                is_key = false;
            }
            b',' => is_key = is_object.last() == Some(&true),
            _ => {
                let start = cursor;
                if cursor.skip_string().is_ok() {
                    let text = cursor.span_from(&start).inner().bytes();
                    // The same key may be spelled with an escape and without.
                    if std::mem::take(&mut is_key) && (text.contains(&b'\\') || !keys.insert(text)) {
                        return true;
                    }
                    continue;
                }
            }
        }
        cursor.advance(1);
    }
    false
}

/// The deepest nesting of a body that has a normal form.
const MAX_DEPTH: usize = 200;

/// The body as Python reads it: each key once, at its first position, with its last value.
pub(super) fn normal_form(body: &Body) -> Result<Body, DecodeError> {
    let bytes = body.with_padding();
    let mut cursor = reader::open(body, &bytes)?;
    let error = || DecodeError::Body {
        message: "an object has the same key twice, and the body is nested too deep to be read again without".into(),
        path: "$".into(),
        offset: 0,
    };
    cursor.whitespace();
    let mut text = Vec::with_capacity(body.len());
    write_value(&mut cursor, &mut text, MAX_DEPTH).ok_or_else(error)?;
    Ok(Body::from(&*text))
}

/// Writes the value at the cursor. `None` if it is nested deeper than `depth`: the body is known to be JSON.
fn write_value(cursor: &mut Cursor<'_>, text: &mut Vec<u8>, depth: usize) -> Option<()> {
    let start = *cursor;
    match cursor.peek_byte() {
        b'{' => write_object(cursor, text, depth.checked_sub(1)?)?,
        b'[' => write_array(cursor, text, depth.checked_sub(1)?)?,
        _ => {
            cursor.skip_value().ok()?;
            text.extend_from_slice(cursor.span_from(&start).bytes());
        }
    }
    Some(())
}

fn write_array(cursor: &mut Cursor<'_>, text: &mut Vec<u8>, depth: usize) -> Option<()> {
    text.push(b'[');
    cursor.advance(1);
    let mut is_next = cursor.has_first_item(b']');
    while is_next {
        write_value(cursor, text, depth)?;
        is_next = cursor.has_next_item(b']').ok()?;
        if is_next {
            text.push(b',');
        }
    }
    text.push(b']');
    Some(())
}

fn write_object(cursor: &mut Cursor<'_>, text: &mut Vec<u8>, depth: usize) -> Option<()> {
    let mut members: Vec<(&[u8], Vec<u8>)> = Vec::new();
    let mut position_of: HashMap<Cow<'_, [u8]>, usize> = HashMap::new();
    cursor.advance(1);
    let mut is_next = cursor.has_first_item(b'}');
    while is_next {
        let start = *cursor;
        let key = cursor.string().ok()?;
        let spelling = cursor.span_from(&start).bytes();
        cursor.colon().ok()?;
        let mut value = Vec::new();
        write_value(cursor, &mut value, depth)?;
        match position_of.entry(key) {
            Entry::Occupied(first) => members.get_mut(*first.get())?.1 = value,
            Entry::Vacant(place) => {
                place.insert(members.len());
                members.push((spelling, value));
            }
        }
        is_next = cursor.has_next_item(b'}').ok()?;
    }
    text.push(b'{');
    for (at, (key, value)) in members.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"" } else { b"," });
        text.extend_from_slice(key);
        text.push(b':');
        text.extend_from_slice(value);
    }
    text.push(b'}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_may_repeat_a_key_only_within_itself() {
        for body in [r#"{"a": 1, "b": {"a": ["a", "a", {"a": 1}, {"a": "}"}]}}"#, r#"[{"a": 1}, {"a": 1}]"#, "7"] {
            assert!(!may_repeat(&Body::from(body.as_bytes())), "{body}");
        }
        for body in [r#"{"a": 1, "a": 2}"#, r#"[{"b": {"a": 1, "c": {"a": 2}, "a": 3}}]"#, r#"{"\u0061": 1}"#] {
            assert!(may_repeat(&Body::from(body.as_bytes())), "{body}");
        }
    }

    #[test]
    fn a_key_is_met_twice_in_its_own_map_only() {
        let mut duplicates = DuplicateKeys::default();
        duplicates.open();
        for i in 0..200 {
            assert!(duplicates.insert(format!("a long key number {i}").as_bytes()));
        }
        duplicates.open();
        assert!(duplicates.insert(b"a long key number 3"));
        duplicates.close();
        assert!(!duplicates.insert(b"a long key number 3"));
        assert!(!duplicates.insert(b"a long key number 150"));
        assert!(duplicates.insert(b"a long key number 200"));
    }

    #[test]
    fn the_last_value_stands_where_the_key_first_stood() {
        for (body, expected) in [
            (r#"{"b": 1, "a": {"x": 1, "x": 2}, "b": 3}"#, r#"{"b":3,"a":{"x":2}}"#),
            (r#" [ {"\u0061" : 1, "a":[ ] , "c": {} } , 1 ] "#, r#"[{"\u0061":[],"c":{}},1]"#),
            // Nothing is lost of a value that no number of Rust's holds.
            (
                r#"{"a": 1, "a": 123456789012345678901234567890, "b": 1e400}"#,
                r#"{"a":123456789012345678901234567890,"b":1e400}"#,
            ),
        ] {
            let normal = normal_form(&Body::from(body.as_bytes())).unwrap();
            assert_eq!(std::str::from_utf8(normal.as_slice()).unwrap(), expected);
        }
    }

    #[test]
    fn a_body_that_is_nested_too_deep_has_no_normal_form() {
        let nested = |depth: usize| Body::from([b"[".repeat(depth), b"]".repeat(depth)].concat().as_slice());
        assert!(normal_form(&nested(MAX_DEPTH)).is_ok());
        assert!(normal_form(&nested(MAX_DEPTH + 1)).is_err());
        assert!(normal_form(&nested(1_000_000)).is_err());
    }
}
