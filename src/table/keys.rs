//! The keys of one kind of object, and which of them usually follows which. The service writes its keys in a fixed order, so
//! after a few objects nearly every key is found by one comparison with the one that was guessed.

use super::cursor::Cursor;
use super::plan::{Cell, Op};

/// More unknown keys than these are not learned: they are skipped by name, so that a body cannot fill the memory.
const LEARNED: usize = 256;
/// Keys are compared as written only up to this length (quotes and colon included).
const LONGEST: usize = 48;
const NONE: u16 = u16::MAX;

/// What happens with the value of one key.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// `"key":`, the first sixteen bytes and the last.
    first: [u64; 2],
    mask: [u64; 2],
    last: [u64; 2],
    pub len: usize,
    text: Box<[u8]>,
    pub op: Op,
    /// Its bit in the mask of keys met; 0 where nothing is read, so that it may well come twice.
    pub bit: u64,
    /// What gets a null when the key is missing, or is null where an object stands.
    pub fill: Vec<Cell>,
}

impl Step {
    pub fn new(key: &str, op: Op, bit: u64, fill: Vec<Cell>) -> Step {
        let text = format!("\"{key}\":").into_bytes().into_boxed_slice();
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let len = text.len();
        let ones = |n: usize| if n >= 8 { u64::MAX } else { (1 << (8 * n)) - 1 };
        let part = |from: usize| word(&text[from.min(len)..(from + 8).min(len)]);
        let tail = len.saturating_sub(16);
        Step {
            first: [part(0), part(8)],
            mask: [ones(len), ones(len.saturating_sub(8))],
            last: [part(tail), part(tail + 8)],
            len,
            op,
            bit,
            fill,
            text,
        }
    }

    pub fn key(&self) -> &[u8] {
        &self.text[1..self.len - 2]
    }

    /// Whether the key stands at the cursor as it is usually written, the colon right behind it.
    #[inline(always)]
    pub fn is_at(&self, cursor: &Cursor) -> bool {
        let first = (cursor.word(0) ^ self.first[0]) & self.mask[0];
        let second = (cursor.word(8) ^ self.first[1]) & self.mask[1];
        (first | second) == 0 && (self.len <= 16 || self.rest_is_at(cursor))
    }

    #[inline(always)]
    fn rest_is_at(&self, cursor: &Cursor) -> bool {
        if self.len > LONGEST {
            return false;
        }
        let same = cursor.word(self.len - 16) == self.last[0] && cursor.word(self.len - 8) == self.last[1];
        same && (self.len <= 32 || (16..self.len - 16).all(|i| cursor.peek(i) == self.text[i]))
    }
}

/// The keys of one object of the plan: those it reads, then the unknown ones it has learned to skip.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub steps: Vec<Step>,
    /// How many are the plan's own.
    pub known: usize,
    /// Of the plan's own, those whose absence leaves something to fill.
    pub fillable: u64,
    /// Unknown keys become columns here.
    pub open: bool,
    /// The step expected after each step, by its number plus one; the first is the one an object starts with.
    next: Vec<u16>,
    /// What came there last time instead: only a second time in a row makes it the expected one.
    instead: Vec<u16>,
}

impl Keys {
    pub fn new(steps: Vec<Step>, open: bool) -> Keys {
        let known = steps.len();
        let fillable = steps.iter().filter(|s| !s.fill.is_empty()).fold(0, |mask, s| mask | s.bit);
        let next = (0..=known).map(|i| if i < known { i as u16 } else { 0 }).collect();
        Keys { known, fillable, open, next, instead: vec![NONE; known + 1], steps }
    }

    /// The step that is expected after `previous` (a step's number plus one, 0 at the start).
    #[inline(always)]
    pub fn expected(&self, previous: usize) -> usize {
        self.next[previous] as usize
    }

    /// The step whose key stands at the cursor as it is usually written.
    pub fn find_at(&self, cursor: &Cursor) -> Option<usize> {
        self.steps.iter().position(|step| step.is_at(cursor))
    }

    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.steps.iter().position(|step| step.key() == key)
    }

    /// Remembers what followed.
    pub fn followed(&mut self, previous: usize, found: usize) {
        let found = found as u16;
        if self.instead[previous] == found {
            self.next[previous] = found;
        } else {
            self.instead[previous] = found;
        }
    }

    /// A step for a key that was unknown; `None` when it is too long or there are too many.
    pub fn learn(&mut self, key: &[u8], op: Op) -> Option<usize> {
        if self.steps.len() >= self.known + LEARNED || key.len() + 3 > LONGEST {
            return None;
        }
        let key = std::str::from_utf8(key).ok()?;
        self.steps.push(Step::new(key, op, 0, Vec::new()));
        self.next.push(0);
        self.instead.push(NONE);
        Some(self.steps.len() - 1)
    }

    /// Forgets the unknown keys: at an open object they are columns of one body only.
    pub fn forget(&mut self) {
        self.steps.truncate(self.known);
        self.next.truncate(self.known + 1);
        self.instead.truncate(self.known + 1);
        for next in &mut self.next {
            if *next as usize >= self.known {
                *next = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    fn at(key: &str, text: &str) -> bool {
        let body = Body::from(text.as_bytes());
        let padded = body.padded();
        Step::new(key, Op::Skip, 0, Vec::new()).is_at(&Cursor::new(&padded).unwrap())
    }

    #[test]
    fn a_key_is_compared_to_its_last_byte() {
        for len in (0..=LONGEST - 3).step_by(if cfg!(miri) { 15 } else { 1 }) {
            let key: String = (0..len).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
            let text = format!("\"{key}\":1");
            assert!(at(&key, &text), "{len}");
            for place in 0..text.len() - 1 {
                let mut other = text.clone().into_bytes();
                other[place] ^= 1;
                assert!(!at(&key, std::str::from_utf8(&other).unwrap()), "{len} at {place}");
                assert!(!at(&key, &text[..place]), "{len} cut at {place}");
            }
        }
    }

    #[test]
    fn a_key_that_reaches_past_the_padding_is_found_by_name_only() {
        let key = "k".repeat(LONGEST - 2);
        assert!(!at(&key, &format!("\"{key}\":1")));
        let mut keys = Keys::new(vec![Step::new(&key, Op::Skip, 1, Vec::new())], false);
        assert_eq!(keys.find(key.as_bytes()), Some(0));
        assert_eq!(keys.learn(format!("{key}2").as_bytes(), Op::Skip), None);
    }

    #[test]
    fn a_new_order_is_learned_the_second_time() {
        let steps =
            ["a", "b", "c"].iter().enumerate().map(|(i, k)| Step::new(k, Op::Skip, 1 << i, Vec::new())).collect();
        let mut keys = Keys::new(steps, false);
        assert_eq!(keys.expected(0), 0);
        keys.followed(0, 2);
        assert_eq!(keys.expected(0), 0);
        keys.followed(0, 2);
        assert_eq!(keys.expected(0), 2);
        let learned = keys.learn(b"new", Op::Skip).unwrap();
        keys.followed(3, learned);
        keys.followed(3, learned);
        assert_eq!(keys.expected(3), learned);
        keys.forget();
        assert_eq!((keys.expected(3), keys.steps.len()), (0, 3));
    }
}
