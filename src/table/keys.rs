//! The keys of one kind of object, and which of them usually follows which. The service writes its keys in a fixed order, so
//! after a few objects nearly every key is found by one comparison with the one that was guessed.

use super::cursor::Cursor;
use super::plan::{Cell, Op};
use super::runs::Run;
use super::scan::Head;

/// More unknown keys than these are not learned: they are skipped by name, so that a body cannot fill the memory.
const LEARNED: usize = 256;
/// Keys are compared as written only up to this length (quotes and colon included).
const LONGEST: usize = 48;
/// As many runs of one object are kept.
const RUNS: usize = 16;
const NONE: u16 = u16::MAX;
const NEVER: u16 = NONE - 1;

/// What happens with the value of one key.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// `"key":`, the first sixteen bytes and the last.
    head: Head,
    last: [u64; 2],
    len: u16,
    /// The step expected after this one.
    pub next: u16,
    /// What came there last time instead: only a second time in a row makes it the expected one.
    instead: u16,
    pub op: Op,
    /// Its bit in the mask of keys met; 0 where nothing is read, so that it may well come twice.
    pub bit: u64,
    /// The run that begins with it, if it has one. `NEVER`: it is in no run, for its value is read or checked, its key holds digits,
    /// or no two objects write it alike.
    run: u16,
    /// What gets a null when the key is missing, or is null where an object stands.
    pub fill: Vec<Cell>,
    text: Box<[u8]>,
}

impl Step {
    pub fn new(key: &str, op: Op, bit: u64, fill: Vec<Cell>) -> Step {
        let text = format!("\"{key}\":").into_bytes().into_boxed_slice();
        let tail = text.len().saturating_sub(16);
        let word = |from: usize| {
            let mut word = [0; 8];
            let part = text.get(from..text.len().min(from + 8)).unwrap_or_default();
            word[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(word)
        };
        Step {
            head: Head::of(&text),
            last: [word(tail), word(tail + 8)],
            // None of a length beyond this is compared as written.
            len: u16::try_from(text.len()).unwrap_or(u16::MAX),
            next: 0,
            instead: NONE,
            op,
            bit,
            run: if bit == 0 && op == Op::Pass && !key.bytes().any(|b| b.is_ascii_digit()) { NONE } else { NEVER },
            fill,
            text,
        }
    }

    pub fn key(&self) -> &[u8] {
        &self.text[1..self.text.len() - 2]
    }

    /// Of `"key":`.
    #[inline(always)]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether the key stands at the cursor as it is usually written, the colon right behind it.
    #[inline(always)]
    pub fn is_at(&self, cursor: &Cursor) -> bool {
        self.head.is_at(cursor.sixteen(0)) && (self.len() <= 16 || self.rest_is_at(cursor))
    }

    #[inline(always)]
    fn rest_is_at(&self, cursor: &Cursor) -> bool {
        let len = self.len();
        if len > LONGEST {
            return false;
        }
        let same = cursor.word(len - 16) == self.last[0] && cursor.word(len - 8) == self.last[1];
        same && (len <= 32 || (16..len - 16).all(|i| cursor.peek(i) == self.text[i]))
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
    /// The step an object starts with, and what it started with last time instead.
    first: [u16; 2],
    runs: Vec<Run>,
}

impl Keys {
    pub fn new(mut steps: Vec<Step>, open: bool) -> Keys {
        let known = steps.len();
        let fillable = steps.iter().filter(|s| !s.fill.is_empty()).fold(0, |mask, s| mask | s.bit);
        for (step, next) in steps.iter_mut().zip(1..) {
            step.next = if usize::from(next) < known { next } else { 0 };
        }
        Keys { known, fillable, open, first: [0, NONE], runs: Vec::new(), steps }
    }

    /// The step that is expected after `previous` (a step's number plus one, 0 at the start).
    #[inline(always)]
    pub fn expected(&self, previous: usize) -> usize {
        usize::from(if previous == 0 { self.first[0] } else { self.steps[previous - 1].next })
    }

    /// Over the member of a step that is passed, and over those behind it that are passed too, if they are written as usual: up to
    /// what follows the last value. Gives the last step; `None`: the cursor stays.
    #[inline(always)]
    pub fn pass(&mut self, first: usize, cursor: &mut Cursor) -> Option<usize> {
        let run = self.runs.get_mut(usize::from(self.steps.get(first)?.run));
        if let Some(last) = run.and_then(|run| run.pass(cursor)) {
            return Some(last);
        }
        if self.steps[first].is_at(cursor) { cursor.apart(|cursor| self.pass_each(first, cursor)) } else { None }
    }

    /// The same, one by one, at the key of the first. The run is kept.
    #[inline(never)]
    fn pass_each(&mut self, first: usize, cursor: &mut Cursor) -> Option<usize> {
        let most = self.runs.get(usize::from(self.steps[first].run)).map_or(usize::MAX, |run| run.most);
        if most == 0 {
            self.steps[first].run = NEVER;
            return None;
        }
        let (mut ahead, mut number, mut passed, mut members) = (*cursor, first, None, 0);
        let is_whole = loop {
            let step = &self.steps[number];
            ahead.advance(step.len());
            ahead.whitespace();
            if !(ahead.pass_flat() && matches!(ahead.byte(), b',' | b'}')) {
                break true;
            }
            let has_room = Run::has_room(cursor, &ahead);
            if has_room || passed.is_none() {
                passed = Some((number, ahead, has_room));
            }
            members += 1;
            if !has_room || members == most || ahead.byte() == b'}' {
                break true;
            }
            ahead.advance(1);
            ahead.whitespace();
            let next = [step.next, step.instead].map(usize::from);
            match next.into_iter().find(|next| self.steps.get(*next).is_some_and(|step| step.is_at(&ahead))) {
                Some(next) if self.is_passed(next) => number = next,
                // What comes is yet to be learned, or is asked for.
                next => break next.is_some(),
            }
        };
        let (last, end, has_room) = passed?;
        if has_room && is_whole {
            let step = &mut self.steps[first];
            if step.run == NONE && self.runs.len() < RUNS {
                step.run = self.runs.len() as u16;
                self.runs.push(Run::default());
            }
            if let Some(run) = self.runs.get_mut(usize::from(step.run)) {
                run.keep(cursor, &end, last, members);
            }
        }
        cursor.go_to(&end);
        Some(last)
    }

    #[inline(always)]
    pub fn is_passed(&self, number: usize) -> bool {
        self.steps.get(number).is_some_and(|step| step.run != NEVER)
    }

    /// The step whose key stands at the cursor as it is usually written.
    pub fn find_at(&self, previous: usize, cursor: &Cursor) -> Option<usize> {
        let instead = if previous == 0 { self.first[1] } else { self.steps[previous - 1].instead };
        if self.steps.get(usize::from(instead)).is_some_and(|step| step.is_at(cursor)) {
            return Some(usize::from(instead));
        }
        self.steps.iter().position(|step| step.is_at(cursor))
    }

    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.steps.iter().position(|step| step.key() == key)
    }

    /// Remembers what followed.
    pub fn followed(&mut self, previous: usize, found: usize) {
        let found = found as u16;
        let (next, instead) = match previous.checked_sub(1) {
            None => {
                let [next, instead] = &mut self.first;
                (next, instead)
            }
            Some(step) => {
                let step = &mut self.steps[step];
                (&mut step.next, &mut step.instead)
            }
        };
        if *instead == found {
            *next = found;
        } else {
            *instead = found;
        }
    }

    /// A step for a key that was unknown; `None` when it is too long or there are too many.
    pub fn learn(&mut self, key: &[u8], op: Op) -> Option<usize> {
        if self.steps.len() >= self.known + LEARNED || key.len() + 3 > LONGEST {
            return None;
        }
        let key = std::str::from_utf8(key).ok()?;
        self.steps.push(Step::new(key, op, 0, Vec::new()));
        Some(self.steps.len() - 1)
    }

    /// Forgets the unknown keys: at an open object they are columns of one body only.
    pub fn forget(&mut self) {
        self.steps.truncate(self.known);
        self.runs.clear();
        let nexts = self.steps.iter_mut().map(|step| &mut step.next);
        for next in nexts.chain([&mut self.first[0]]) {
            if usize::from(*next) >= self.known {
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
        keys.followed(0, learned);
        keys.followed(0, learned);
        assert_eq!(keys.expected(0), learned);
        keys.forget();
        assert_eq!((keys.expected(0), keys.expected(3), keys.steps.len()), (0, 0, 3));
    }
}
