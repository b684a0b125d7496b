//! The keys of one kind of object, and which usually follows which. The service writes keys in a fixed order, so after
//! a few objects nearly every key is found by one comparison with the predicted one.

use super::plan::{ColumnRef, Op};
use reader::Cursor;
use reader::simd::Prefix16;

/// Unknown keys beyond this number are not learned but skipped by name, so that a body cannot fill memory.
const MAX_LEARNED_KEYS: usize = 256;
/// Longest key that is compared as written, with quotes and colon.
const MAX_KEY_LEN: usize = 48;

/// How to read the value of one key.
#[derive(Debug, Clone)]
pub(super) struct KeyStep {
    /// `"key":`, its first sixteen bytes and its last sixteen.
    head: Prefix16,
    last: [u64; 2],
    len: u16,
    /// The step that followed last time.
    pub next: u16,
    pub(crate) op: Op,
    /// Its bit in the mask of keys seen; 0 if the value is skipped, so that duplicates do no harm.
    pub bit: u64,
    /// The columns that get a null if the key is missing, or is null in place of an object.
    pub fill: Vec<ColumnRef>,
    text: Box<[u8]>,
}

impl KeyStep {
    pub(crate) fn new(key: &str, op: Op, bit: u64, fill: Vec<ColumnRef>) -> KeyStep {
        let text = format!("\"{key}\":").into_bytes().into_boxed_slice();
        let tail = text.len().saturating_sub(16);
        let word = |from: usize| {
            let mut word = [0; 8];
            let part = text.get(from..text.len().min(from + 8)).unwrap_or_default();
            word[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(word)
        };
        KeyStep {
            head: Prefix16::of(&text),
            last: [word(tail), word(tail + 8)],
            // Longer keys are never compared as written.
            len: u16::try_from(text.len()).unwrap_or(u16::MAX),
            next: 0,
            op,
            bit,
            fill,
            text,
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.text[1..self.text.len() - 2]
    }

    /// Length of `"key":`.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether the cursor is at this key, written without escapes and directly followed by the colon.
    #[inline(always)]
    pub(crate) fn is_at(&self, cursor: &Cursor) -> bool {
        self.head.is_at(cursor.bytes16(0)) && (self.len() <= 16 || self.rest_is_at(cursor))
    }

    #[inline(always)]
    fn rest_is_at(&self, cursor: &Cursor) -> bool {
        let len = self.len();
        if len > MAX_KEY_LEN {
            return false;
        }
        let same = cursor.word(len - 16) == self.last[0] && cursor.word(len - 8) == self.last[1];
        same && (len <= 32 || (16..len - 16).all(|i| cursor.peek(i) == self.text[i]))
    }
}

/// The keys of one object of the plan: those it reads, then the unknown ones it has learned to skip.
#[derive(Debug, Clone)]
pub(super) struct ObjectKeys {
    pub steps: Vec<KeyStep>,
    /// Number of the plan's own steps.
    pub plan_steps: usize,
    /// Bits of the plan's own steps that have columns to fill.
    pub(crate) fillable: u64,
    /// Whether unknown keys become columns.
    pub open: bool,
    /// The step that was first last time.
    first: u16,
}

impl ObjectKeys {
    pub(crate) fn new(mut steps: Vec<KeyStep>, open: bool) -> ObjectKeys {
        let plan_steps = steps.len();
        let fillable = steps.iter().filter(|s| !s.fill.is_empty()).fold(0, |mask, s| mask | s.bit);
        for (step, next) in steps.iter_mut().zip(1..) {
            step.next = if usize::from(next) < plan_steps { next } else { 0 };
        }
        ObjectKeys { plan_steps, fillable, open, first: 0, steps }
    }

    /// The step predicted after `previous` (the index of a step plus one, 0 at the start).
    #[inline(always)]
    pub(crate) fn expected(&self, previous: usize) -> usize {
        usize::from(if previous == 0 { self.first } else { self.steps[previous - 1].next })
    }

    /// The step whose key, written without escapes and directly followed by the colon, is at the cursor.
    pub(crate) fn find_at(&self, cursor: &Cursor) -> Option<usize> {
        self.steps.iter().position(|step| step.is_at(cursor))
    }

    /// The step of a key that has been read.
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        self.steps.iter().position(|step| step.key() == key)
    }

    /// Records which step followed.
    pub(crate) fn observe_successor(&mut self, previous: usize, successor: usize) {
        match previous.checked_sub(1) {
            None => self.first = successor as u16,
            Some(step) => self.steps[step].next = successor as u16,
        }
    }

    /// Adds a step for an unknown key; `None` if the key is too long or there are too many.
    pub(crate) fn learn(&mut self, key: &[u8], op: Op) -> Option<usize> {
        if self.steps.len() >= self.plan_steps + MAX_LEARNED_KEYS || key.len() + 3 > MAX_KEY_LEN {
            return None;
        }
        let key = std::str::from_utf8(key).ok()?;
        self.steps.push(KeyStep::new(key, op, 0, Vec::new()));
        Some(self.steps.len() - 1)
    }

    /// Forgets the unknown keys: in an open object they are columns of one body only.
    pub(crate) fn forget(&mut self) {
        self.steps.truncate(self.plan_steps);
        let nexts = self.steps.iter_mut().map(|step| &mut step.next);
        for next in nexts.chain([&mut self.first]) {
            if usize::from(*next) >= self.plan_steps {
                *next = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::Body;

    fn at(key: &str, text: &str) -> bool {
        let body = Body::from(text.as_bytes());
        let padded_body = body.with_padding();
        KeyStep::new(key, Op::Skip, 0, Vec::new()).is_at(&Cursor::new(&padded_body).unwrap())
    }

    #[test]
    fn a_key_is_compared_to_its_last_byte() {
        for len in (0..=MAX_KEY_LEN - 3).step_by(if cfg!(miri) { 15 } else { 1 }) {
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
        let key = "k".repeat(MAX_KEY_LEN - 2);
        assert!(!at(&key, &format!("\"{key}\":1")));
        let mut keys = ObjectKeys::new(vec![KeyStep::new(&key, Op::Skip, 1, Vec::new())], false);
        assert_eq!(keys.find(key.as_bytes()), Some(0));
        assert_eq!(keys.learn(format!("{key}2").as_bytes(), Op::Skip), None);
    }

    #[test]
    fn a_new_order_is_learned() {
        let steps =
            ["a", "b", "c"].iter().enumerate().map(|(i, k)| KeyStep::new(k, Op::Skip, 1 << i, Vec::new())).collect();
        let mut keys = ObjectKeys::new(steps, false);
        assert_eq!(keys.expected(0), 0);
        keys.observe_successor(0, 2);
        assert_eq!(keys.expected(0), 2);
        let step = keys.learn(b"new", Op::Skip).unwrap();
        keys.observe_successor(3, step);
        assert_eq!(keys.expected(3), step);
        keys.observe_successor(0, step);
        assert_eq!(keys.expected(0), step);
        keys.forget();
        assert_eq!((keys.expected(0), keys.expected(3), keys.steps.len()), (0, 0, 3));
    }
}
