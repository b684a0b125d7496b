//! Duplicate keys. Python's `json` lets the last one win and the tables must agree, so the decoder stops at the second
//! and starts again on the body's normal form.

use super::DecodeError;
use reader::Body;
use std::collections::HashSet;

/// The keys seen in the open maps, innermost last.
#[derive(Debug, Default)]
pub(super) struct DuplicateKeys {
    maps: Vec<SeenKeys>,
    depth: usize,
}

/// Fingerprints of keys; a collision only costs a second pass.
#[derive(Debug, Default)]
struct SeenKeys {
    few: Vec<u64>,
    many: HashSet<u64>,
}

/// Keys up to this number are searched linearly.
const MAX_LINEAR_SEARCH: usize = 64;

impl DuplicateKeys {
    pub(crate) fn open(&mut self) {
        if self.depth == self.maps.len() {
            self.maps.push(SeenKeys::default());
        }
        let seen = &mut self.maps[self.depth];
        seen.few.clear();
        seen.many.clear();
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        self.depth -= 1;
    }

    /// Adds a key of the innermost map; returns whether it was new.
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        let seen = &mut self.maps[self.depth - 1];
        let print = fingerprint(key);
        if seen.few.contains(&print) {
            return false;
        }
        if seen.few.len() < MAX_LINEAR_SEARCH {
            seen.few.push(print);
            return true;
        }
        seen.many.insert(print)
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
    let bytes = body.padded();
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

/// The body as Python reads it: each key once, at its first position, with its last value.
pub(super) fn normal_form(body: &[u8]) -> Result<Body, DecodeError> {
    let error = |e: serde_json::Error| DecodeError::Body {
        message: format!("an object has the same key twice, and the body cannot be read again without: {e}"),
        path: "$".into(),
        offset: 0,
    };
    let value: serde_json::Value = serde_json::from_slice(body).map_err(error)?;
    Ok(Body::from(&*serde_json::to_vec(&value).map_err(error)?))
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
        let body = normal_form(br#"{"b": 1, "a": {"x": 1, "x": 2}, "b": 3}"#).unwrap();
        assert_eq!(body.as_slice(), br#"{"b":3,"a":{"x":2}}"#);
    }
}
