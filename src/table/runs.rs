//! Members that no column asks for and that stand side by side: passed at once where they are written as before but for digits.

use super::cursor::Cursor;
use super::scan;

/// The longest run that is kept as one.
const LONGEST: usize = 128;
/// As many ways to write a run are kept: with a digit more or less, or without one of its members.
const WAYS: usize = 4;
/// After as many that were written in another way than the one before it is asked whether the run is worth while.
const CHANGES: u32 = 64;

/// The ways in which a run was written that begins with one step.
#[derive(Debug, Clone)]
pub(super) struct Run {
    patterns: Vec<Pattern>,
    /// The one to give way to the next.
    oldest: usize,
    /// The one that was met last.
    last: usize,
    /// How often that was met again, how often another one, and how often none.
    again: u32,
    others: u32,
    misses: u32,
    /// Of the one that was kept last.
    members: u32,
    /// Members it may have: the more, the more ways there are to write them. 0: it is no run any more.
    pub most: usize,
}

/// A run, from its first key to what follows its last value, a comma or a brace. Its keys hold no digits, so the digits are in
/// its values: others in their places leave each value what it was for one who steps over it, and its end where it was.
#[derive(Debug, Clone)]
struct Pattern {
    parts: [[u8; 16]; LONGEST / 16],
    len: usize,
    /// The last step of the run.
    last: usize,
}

impl Pattern {
    /// The end of such a run at the cursor: the place of what follows its last value.
    #[inline(always)]
    fn end_at<'a>(&self, cursor: &Cursor<'a>) -> Option<Cursor<'a>> {
        let (mut ahead, mut rest) = (*cursor, self.len);
        for part in &self.parts {
            let differ = scan::differ(ahead.sixteen(0), part);
            if rest <= 16 {
                let is_same = differ.trailing_zeros() as usize >= rest;
                // None of these bytes is zero: they are those of the pattern, or digits.
                return is_same.then(|| {
                    ahead.advance(rest - 1);
                    ahead
                });
            }
            if differ != 0 {
                return None;
            }
            ahead.advance(16);
            rest -= 16;
        }
        None
    }
}

impl Run {
    /// Over a run that is written in one of the ways that are known, up to what follows its last value; gives its last step.
    #[inline(always)]
    pub fn pass(&mut self, cursor: &mut Cursor) -> Option<usize> {
        let pattern = self.patterns.get(self.last)?;
        if let Some(end) = pattern.end_at(cursor) {
            cursor.go_to(&end);
            self.again = self.again.saturating_add(1);
            return Some(pattern.last);
        }
        for (number, pattern) in self.patterns.iter().enumerate() {
            if let Some(end) = pattern.end_at(cursor) {
                cursor.go_to(&end);
                let last = pattern.last;
                self.last = number;
                self.others += 1;
                self.changed();
                return Some(last);
            }
        }
        None
    }

    /// A change is a branch that was not foreseen. Where that costs more than the run spares, it has half as many members from
    /// now on. In cycles, by rule of thumb: a member that is not looked at spares 10, another pattern costs 25, and none 60.
    #[cold]
    #[inline(never)]
    fn changed(&mut self) {
        if self.others + self.misses < CHANGES {
            return;
        }
        let spared = 10 * self.members;
        if self.again.saturating_mul(spared) < self.others * 25u32.saturating_sub(spared) + self.misses * 60 {
            self.most = if self.most > 2 { self.most / 2 } else { 0 };
            self.patterns.clear();
        }
        (self.again, self.others, self.misses) = (0, 0, 0);
    }

    /// Whether a run from `start` to what stands at `end` can be kept.
    pub fn has_room(start: &Cursor, end: &Cursor) -> bool {
        end.position() - start.position() < LONGEST
    }

    /// Keeps a run that has room.
    pub fn keep(&mut self, start: &Cursor, end: &Cursor, last: usize, members: usize) {
        let len = end.position() - start.position() + 1;
        let mut pattern = Pattern { parts: [[0; 16]; LONGEST / 16], len, last };
        let mut ahead = *start;
        for (number, part) in pattern.parts.iter_mut().take(len.div_ceil(16)).enumerate() {
            if number > 0 {
                ahead.advance(16);
            }
            *part = scan::without_digits(ahead.sixteen(0));
        }
        if self.patterns.len() < WAYS {
            self.last = self.patterns.len();
            self.patterns.push(pattern);
        } else {
            self.last = self.oldest;
            self.oldest = (self.oldest + 1) % WAYS;
            self.patterns[self.last] = pattern;
        }
        self.members = members as u32;
        self.misses += 1;
        self.changed();
    }
}

impl Default for Run {
    fn default() -> Run {
        Run { patterns: Vec::new(), oldest: 0, last: 0, again: 0, others: 0, misses: 0, members: 0, most: 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    /// Where a run ends at the start of `text` that was kept as `kept` is written, its last byte included.
    fn end(kept: &str, text: &str) -> Option<usize> {
        let bodies = [kept, text].map(|text| Body::from(text.as_bytes()));
        let [kept, text] = [0, 1].map(|i| bodies[i].padded());
        let (start, mut stop) = (Cursor::new(&kept).unwrap(), Cursor::new(&kept).unwrap());
        assert!(stop.jump(start.len() - 1));
        let mut run = Run::default();
        assert!(Run::has_room(&start, &stop));
        run.keep(&start, &stop, 7, 1);
        let mut cursor = Cursor::new(&text).unwrap();
        let last = run.pass(&mut cursor);
        assert_eq!(last, (cursor.position() > 0).then_some(7));
        last.map(|_| cursor.position())
    }

    #[test]
    fn a_run_of_any_length_is_known_again_with_other_digits_and_with_nothing_else_changed() {
        for len in (2..=LONGEST).step_by(if cfg!(miri) { 21 } else { 1 }) {
            let kept: String = "\"a\":12,\"b\":\"x9\",".chars().cycle().take(len).collect();
            let bytes = kept.as_bytes();
            assert_eq!(end(&kept, &kept), Some(len - 1));
            assert_eq!(end(&kept, &format!("{kept}\"c\":1")), Some(len - 1));
            for place in (0..len).step_by(if cfg!(miri) { 19 } else { 1 }) {
                let with = |byte: u8| {
                    let mut text = bytes.to_vec();
                    text[place] = byte;
                    end(&kept, std::str::from_utf8(&text).unwrap())
                };
                let is_digit = bytes[place].is_ascii_digit();
                assert_eq!(with(b'5'), is_digit.then_some(len - 1), "{kept} at {place}");
                for other in [b'/', b':', b'?', 0x7F, 0, b'"' ^ b',' ^ bytes[place]] {
                    let is_same = other == bytes[place] || is_digit && other.is_ascii_digit();
                    assert_eq!(with(other), is_same.then_some(len - 1), "{kept} at {place}");
                }
                assert_eq!(end(&kept, &kept[..place]), None, "{kept} cut at {place}");
            }
        }
    }

    #[test]
    fn several_ways_are_kept_and_the_oldest_gives_way() {
        let texts: Vec<String> = (0..=WAYS).map(|i| format!("\"a\":{},", "1".repeat(i + 1))).collect();
        let bodies: Vec<Body> = texts.iter().map(|text| Body::from(text.as_bytes())).collect();
        let mut run = Run::default();
        let passes = |run: &mut Run, body: &Body| run.pass(&mut Cursor::new(&body.padded()).unwrap()).is_some();
        for (number, body) in bodies.iter().enumerate() {
            assert!(!passes(&mut run, body));
            let padded = body.padded();
            let (start, mut stop) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
            assert!(stop.jump(start.len() - 1));
            run.keep(&start, &stop, number, 1);
            assert!(passes(&mut run, body));
            assert!(number.checked_sub(1).is_none_or(|before| passes(&mut run, &bodies[before])));
        }
        assert!(!passes(&mut run, &bodies[0]));
    }

    #[test]
    fn a_run_that_is_seldom_written_as_the_one_before_gets_shorter_and_is_given_up() {
        let bodies = ["\"a\":1,", "\"a\":12,"].map(|text| Body::from(text.as_bytes()));
        // How often each is met in a row, the one and the other by turns.
        for (again, most) in [(1, 0), (2, 0), (3, 16)] {
            let mut run = Run::default();
            for turn in 0..6 * CHANGES as usize {
                let padded = bodies[turn % 2].padded();
                for _ in 0..again {
                    let (start, mut stop, mut cursor) =
                        (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
                    assert!(stop.jump(start.len() - 1));
                    match run.pass(&mut cursor) {
                        Some(_) => assert_eq!(cursor.position(), stop.position()),
                        None if run.most > 0 => run.keep(&start, &stop, 0, 1),
                        None => {}
                    }
                }
            }
            assert_eq!(run.most, most, "{again}");
        }
    }

    #[test]
    fn what_is_too_long_has_no_room() {
        let body = Body::from("x".repeat(LONGEST + 1).as_bytes());
        let padded = body.padded();
        let (start, mut stop) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
        assert!(stop.jump(LONGEST - 1) && Run::has_room(&start, &stop));
        assert!(stop.jump(LONGEST) && !Run::has_room(&start, &stop));
    }
}
