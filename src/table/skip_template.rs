//! Adjacent members that no column reads, skipped at once if they match a stored template up to their digits.

use super::cursor::Cursor;
use super::simd;

/// Maximum length of a template.
const MAX_TEMPLATE_LEN: usize = 128;
/// Templates kept for one starting step: numbers gain and lose digits, members come and go.
const MAX_TEMPLATES: usize = 4;
/// After this many mismatches, reconsider whether the template pays.
const MISMATCHES_BEFORE_REVIEW: u32 = 64;

/// The templates of members that begin with one step.
#[derive(Debug, Clone)]
pub(super) struct SkipTemplates {
    templates: Vec<SkipTemplate>,
    /// The one to replace next.
    oldest: usize,
    /// The one that matched last.
    last: usize,
    /// How often the last one matched, another one matched, and none did.
    hits: u32,
    switches: u32,
    misses: u32,
    /// Number of members of the template stored last.
    members: u32,
    /// Maximum number of members: longer templates match less often. 0 disables the template.
    pub max_members: usize,
}

/// From the first key to the comma or brace after the last value. Keys contain no digits, so digits occur only in
/// values; other digits in the same positions do not change where the values end.
#[derive(Debug, Clone)]
struct SkipTemplate {
    parts: [[u8; 16]; MAX_TEMPLATE_LEN / 16],
    len: usize,
    /// The last step of the template.
    last: usize,
}

impl SkipTemplate {
    /// The position after the last value, if the bytes at the cursor match.
    #[inline(always)]
    fn end_at<'a>(&self, cursor: &Cursor<'a>) -> Option<Cursor<'a>> {
        let (mut ahead, mut rest) = (*cursor, self.len);
        for part in &self.parts {
            let differ = simd::diff_mask(ahead.bytes16(0), part);
            if rest <= 16 {
                let is_same = differ.trailing_zeros() as usize >= rest;
                // None of these bytes is zero: they match the template or are digits.
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

impl SkipTemplates {
    /// Skips the members that match a template; returns the last step.
    #[inline(always)]
    pub fn skip(&mut self, cursor: &mut Cursor) -> Option<usize> {
        let template = self.templates.get(self.last)?;
        if let Some(end) = template.end_at(cursor) {
            cursor.go_to(&end);
            self.hits = self.hits.saturating_add(1);
            return Some(template.last);
        }
        for (number, template) in self.templates.iter().enumerate() {
            if let Some(end) = template.end_at(cursor) {
                cursor.go_to(&end);
                let last = template.last;
                self.last = number;
                self.switches += 1;
                self.review();
                return Some(last);
            }
        }
        None
    }

    /// A mismatch costs a branch misprediction. If mispredictions outweigh the savings, halve the number of members.
    /// Cycles, by rule of thumb: a skipped member saves 10, another template costs 25, none costs 60.
    #[cold]
    #[inline(never)]
    fn review(&mut self) {
        if self.switches + self.misses < MISMATCHES_BEFORE_REVIEW {
            return;
        }
        let saved = 10 * self.members;
        if self.hits.saturating_mul(saved) < self.switches * 25u32.saturating_sub(saved) + self.misses * 60 {
            self.max_members = if self.max_members > 2 { self.max_members / 2 } else { 0 };
            self.templates.clear();
        }
        (self.hits, self.switches, self.misses) = (0, 0, 0);
    }

    /// Whether the bytes from `start` to `end` fit a template.
    pub fn has_room(start: &Cursor, end: &Cursor) -> bool {
        end.position() - start.position() < MAX_TEMPLATE_LEN
    }

    /// Stores a template; the caller has checked `has_room`.
    pub fn store(&mut self, start: &Cursor, end: &Cursor, last: usize, members: usize) {
        let len = end.position() - start.position() + 1;
        let mut template = SkipTemplate { parts: [[0; 16]; MAX_TEMPLATE_LEN / 16], len, last };
        let mut ahead = *start;
        for (number, part) in template.parts.iter_mut().take(len.div_ceil(16)).enumerate() {
            if number > 0 {
                ahead.advance(16);
            }
            *part = simd::without_digits(ahead.bytes16(0));
        }
        if self.templates.len() < MAX_TEMPLATES {
            self.last = self.templates.len();
            self.templates.push(template);
        } else {
            self.last = self.oldest;
            self.oldest = (self.oldest + 1) % MAX_TEMPLATES;
            self.templates[self.last] = template;
        }
        self.members = members as u32;
        self.misses += 1;
        self.review();
    }
}

impl Default for SkipTemplates {
    fn default() -> SkipTemplates {
        SkipTemplates {
            templates: Vec::new(),
            oldest: 0,
            last: 0,
            hits: 0,
            switches: 0,
            misses: 0,
            members: 0,
            max_members: 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    /// Where `text` stops matching a template of `kept`, if it matches.
    fn end(kept: &str, text: &str) -> Option<usize> {
        let bodies = [kept, text].map(|text| Body::from(text.as_bytes()));
        let [kept, text] = [0, 1].map(|i| bodies[i].padded());
        let (start, mut stop) = (Cursor::new(&kept).unwrap(), Cursor::new(&kept).unwrap());
        assert!(stop.jump(start.len() - 1));
        let mut templates = SkipTemplates::default();
        assert!(SkipTemplates::has_room(&start, &stop));
        templates.store(&start, &stop, 7, 1);
        let mut cursor = Cursor::new(&text).unwrap();
        let last = templates.skip(&mut cursor);
        assert_eq!(last, (cursor.position() > 0).then_some(7));
        last.map(|_| cursor.position())
    }

    #[test]
    fn a_run_of_any_length_is_known_again_with_other_digits_and_with_nothing_else_changed() {
        for len in (2..=MAX_TEMPLATE_LEN).step_by(if cfg!(miri) { 21 } else { 1 }) {
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
        let texts: Vec<String> = (0..=MAX_TEMPLATES).map(|i| format!("\"a\":{},", "1".repeat(i + 1))).collect();
        let bodies: Vec<Body> = texts.iter().map(|text| Body::from(text.as_bytes())).collect();
        let mut templates = SkipTemplates::default();
        let passes = |templates: &mut SkipTemplates, body: &Body| {
            templates.skip(&mut Cursor::new(&body.padded()).unwrap()).is_some()
        };
        for (number, body) in bodies.iter().enumerate() {
            assert!(!passes(&mut templates, body));
            let padded = body.padded();
            let (start, mut stop) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
            assert!(stop.jump(start.len() - 1));
            templates.store(&start, &stop, number, 1);
            assert!(passes(&mut templates, body));
            assert!(number.checked_sub(1).is_none_or(|before| passes(&mut templates, &bodies[before])));
        }
        assert!(!passes(&mut templates, &bodies[0]));
    }

    #[test]
    fn a_run_that_is_seldom_written_as_the_one_before_gets_shorter_and_is_given_up() {
        let bodies = ["\"a\":1,", "\"a\":12,"].map(|text| Body::from(text.as_bytes()));
        // How often each text appears in a row, in turns.
        for (hits, max_members) in [(1, 0), (2, 0), (3, 16)] {
            let mut templates = SkipTemplates::default();
            for turn in 0..6 * MISMATCHES_BEFORE_REVIEW as usize {
                let padded = bodies[turn % 2].padded();
                for _ in 0..hits {
                    let (start, mut stop, mut cursor) =
                        (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
                    assert!(stop.jump(start.len() - 1));
                    match templates.skip(&mut cursor) {
                        Some(_) => assert_eq!(cursor.position(), stop.position()),
                        None if templates.max_members > 0 => templates.store(&start, &stop, 0, 1),
                        None => {}
                    }
                }
            }
            assert_eq!(templates.max_members, max_members, "{hits}");
        }
    }

    #[test]
    fn a_long_template_has_no_room() {
        let body = Body::from("x".repeat(MAX_TEMPLATE_LEN + 1).as_bytes());
        let padded = body.padded();
        let (start, mut stop) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
        assert!(stop.jump(MAX_TEMPLATE_LEN - 1) && SkipTemplates::has_room(&start, &stop));
        assert!(stop.jump(MAX_TEMPLATE_LEN) && !SkipTemplates::has_room(&start, &stop));
    }
}
