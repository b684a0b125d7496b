//! Keys that a map level says twice. Python's `json` lets the last one win; the tables must agree, so the decoder stops at
//! the second and starts again on the body's normal form.

use super::{Body, DecodeError};
use std::collections::HashSet;

/// The keys met in the maps that are open, innermost last.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    maps: Vec<Met>,
    depth: usize,
}

/// Fingerprints: two keys that share one only cost a second pass.
#[derive(Debug, Default)]
struct Met {
    few: Vec<u64>,
    many: HashSet<u64>,
}

/// As many are searched one by one.
const FEW: usize = 64;

impl Repeats {
    pub fn open(&mut self) {
        if self.depth == self.maps.len() {
            self.maps.push(Met::default());
        }
        let met = &mut self.maps[self.depth];
        met.few.clear();
        met.many.clear();
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
    }

    /// Notes a key of the innermost map; whether it was met before.
    pub fn meets(&mut self, key: &[u8]) -> bool {
        let met = &mut self.maps[self.depth - 1];
        let print = fingerprint(key);
        if met.few.contains(&print) {
            return true;
        }
        if met.few.len() < FEW {
            met.few.push(print);
            return false;
        }
        !met.many.insert(print)
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

/// The body as Python reads it: each key once, where it first stood, with its last value.
pub(super) fn normal_form(body: &[u8]) -> Result<Body, DecodeError> {
    let fault = |e: serde_json::Error| DecodeError::Body {
        message: format!("an object has the same key twice, and the body cannot be read again without: {e}"),
        path: "$".into(),
        offset: 0,
    };
    let value: serde_json::Value = serde_json::from_slice(body).map_err(fault)?;
    Ok(Body::from(&*serde_json::to_vec(&value).map_err(fault)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_met_twice_in_its_own_map_only() {
        let mut repeats = Repeats::default();
        repeats.open();
        for i in 0..200 {
            assert!(!repeats.meets(format!("a long key number {i}").as_bytes()));
        }
        repeats.open();
        assert!(!repeats.meets(b"a long key number 3"));
        repeats.close();
        assert!(repeats.meets(b"a long key number 3"));
        assert!(repeats.meets(b"a long key number 150"));
        assert!(!repeats.meets(b"a long key number 200"));
    }

    #[test]
    fn the_last_value_stands_where_the_key_first_stood() {
        let body = normal_form(br#"{"b": 1, "a": {"x": 1, "x": 2}, "b": 3}"#).unwrap();
        assert_eq!(body.as_slice(), br#"{"b":3,"a":{"x":2}}"#);
    }
}
