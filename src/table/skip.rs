//! Values that no column asks for. They are checked as JSON when a whole table is decoded; with a projection only their
//! ends are found. Neither recurses: a body of brackets must not overflow the stack.

use super::cursor::Cursor;
use super::fault::{Fault, Read, Wanted};
use super::scan;

/// How the open brackets nest: one bit each, the first 64 without allocating.
#[derive(Default)]
struct Nesting {
    /// Set for an object; the innermost lowest.
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Whether the innermost is an object; `None` outside of all.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

impl Cursor<'_> {
    /// Over a number or string that is written in a usual way, all of it checked. `false`: the cursor stays.
    #[inline(always)]
    pub fn skip_flat(&mut self) -> bool {
        if self.byte() == b'"' { self.plain_string().is_some() } else { self.skip_short_number() }
    }

    /// Over a number, a word or a short string with a comma or a brace right behind it, of which nothing else is checked.
    /// `false`: the cursor stays.
    #[inline(always)]
    pub fn pass_flat(&mut self) -> bool {
        if self.byte() == b'"' {
            return self.plain_string().is_some();
        }
        let len = scan::flat_sixteen(self.sixteen(0));
        let is_flat = len.wrapping_sub(1) < 15 && matches!(self.peek(len), b',' | b'}');
        if is_flat {
            self.advance(len);
        }
        is_flat
    }

    /// Over a value, all of it checked.
    #[inline(never)]
    pub fn skip_checked(&mut self) -> Read<()> {
        let mut cursor = *self;
        let is_sound = cursor.check();
        self.go_to(&cursor);
        is_sound
    }

    /// The same, of a cursor that stays in a register.
    #[inline(always)]
    fn check(&mut self) -> Read<()> {
        let mut nesting = Nesting::default();
        loop {
            match self.byte() {
                b'"' => {
                    if self.plain_string().is_none() {
                        self.apart(Self::skip_string)?;
                    }
                }
                b'{' => {
                    self.advance(1);
                    if self.opened(b'}') {
                        nesting.push(true);
                        self.check_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.advance(1);
                    if self.opened(b']') {
                        nesting.push(false);
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    if !self.skip_short_number() {
                        self.apart(Self::number_token)?;
                    }
                }
                _ if self.null() || self.take_word(b"true") || self.take_word(b"false") => {}
                _ => return Err(Fault::Expected(Wanted::Value)),
            }
            loop {
                let Some(object) = nesting.innermost() else { return Ok(()) };
                if self.another(if object { b'}' } else { b']' })? {
                    if object {
                        self.check_key()?;
                    }
                    break;
                }
                nesting.pop();
            }
        }
    }

    /// Over a key and its colon.
    #[inline(always)]
    fn check_key(&mut self) -> Read<()> {
        let plain = scan::plain_sixteen(self.sixteen(1));
        if self.byte() == b'"' && self.peek(plain + 1) == b'"' && self.peek(plain + 2) == b':' {
            self.advance(plain + 3);
            self.whitespace();
            return Ok(());
        }
        self.apart(Self::skip_key)
    }

    #[inline(never)]
    fn skip_key(&mut self) -> Read<()> {
        if self.byte() != b'"' {
            return Err(Fault::Key);
        }
        self.skip_string()?;
        self.colon()
    }

    /// Over a value whose ends alone are found.
    #[inline(never)]
    pub fn skip_unchecked(&mut self) -> Read<()> {
        match self.byte() {
            b'"' => return self.skip_string(),
            b'{' | b'[' => {}
            _ => return self.skip_scalar(),
        }
        let mut depth = 0usize;
        loop {
            if depth > 0 && self.skip_blocks(&mut depth) {
                return Ok(());
            }
            match self.byte() {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                0 => return Err(Fault::Expected(Wanted::Value)),
                _ => {}
            }
            self.advance(1);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Over what 64 bytes at a time can tell of the inside of brackets, `depth` of them open; whether over the last of them.
    /// It stops before a string that is long, escaped or damaged, and before anything odd outside of strings.
    #[inline(always)]
    fn skip_blocks(&mut self, depth: &mut usize) -> bool {
        fn below(place: u32) -> u64 {
            if place < 64 { (1 << place) - 1 } else { u64::MAX }
        }
        loop {
            let marks = scan::marks(self.block());
            let plain = marks.odd.trailing_zeros();
            let quotes = marks.quotes & below(plain);
            // A string that is not closed here is left for the next block.
            let len = if quotes.count_ones() % 2 == 1 { 63 - quotes.leading_zeros() } else { plain };
            if len == 0 {
                return false;
            }
            let structure = !scan::parity(quotes) & below(len);
            let (opening, mut closing) = (marks.opening & structure, marks.closing & structure);
            if closing.count_ones() as usize >= *depth {
                let mut closed = 0;
                while closing != 0 {
                    let place = closing.trailing_zeros();
                    closed += 1;
                    if *depth + (opening & below(place)).count_ones() as usize == closed {
                        self.advance(place as usize + 1);
                        return true;
                    }
                    closing &= closing - 1;
                }
                *depth = *depth + opening.count_ones() as usize - closed;
            } else {
                *depth = *depth + opening.count_ones() as usize - closing.count_ones() as usize;
            }
            self.advance(len as usize);
        }
    }

    fn skip_scalar(&mut self) -> Read<()> {
        let here = *self;
        while !matches!(self.byte(), b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[' | 0..=b' ') {
            self.advance(1);
        }
        if self.since(&here).len() == 0 { Err(Fault::Expected(Wanted::Value)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    fn both(text: &str) -> (Read<()>, Read<()>, usize) {
        let body = Body::from(text.as_bytes());
        let padded = body.padded();
        let (mut checked, mut unchecked) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
        let results = (checked.skip_checked(), unchecked.skip_unchecked());
        if results == (Ok(()), Ok(())) {
            assert_eq!(checked.position(), unchecked.position());
        }
        (results.0, results.1, checked.position())
    }

    #[test]
    fn what_is_passed_at_once_ends_where_it_is_passed_byte_by_byte() {
        for (text, is_passed) in [
            ("12,", true),
            ("-1.5e7}", true),
            ("null,", true),
            ("\"ab\" ,", true),
            ("123456789012345,", true),
            ("1234567890123456,", false),
            ("12 ,", false),
            ("12", false),
            ("12],", false),
            ("1_0,", false),
            ("1!,", false),
            ("1\"b\":2,", false),
            ("1:2,", false),
            ("[1],", false),
            ("{},", false),
            (",", false),
            ("", false),
        ] {
            let body = Body::from(text.as_bytes());
            let padded = body.padded();
            let (mut passed, mut skipped) = (Cursor::new(&padded).unwrap(), Cursor::new(&padded).unwrap());
            assert_eq!(passed.pass_flat(), is_passed, "{text}");
            if is_passed {
                assert_eq!((skipped.skip_unchecked(), passed.position()), (Ok(()), skipped.position()), "{text}");
            } else {
                assert_eq!(passed.position(), 0, "{text}");
            }
        }
    }

    #[test]
    fn a_value_is_skipped_to_its_end() {
        for text in [
            "1",
            "\"a]\"",
            "null",
            "true",
            "[]",
            "{}",
            "[1,[2,{\"a\":\"}\"}],-0.5e3]",
            "{ \"a\" : [ ] , \"b\\\"\" : {} }",
        ] {
            assert_eq!(both(&format!("{text},")), (Ok(()), Ok(()), text.len()), "{text}");
        }
    }

    #[test]
    fn only_the_checked_way_sees_what_is_no_json() {
        for text in ["[1}", "{\"a\" 1}", "[01]", "[nul]", "{1:2}", "[1,]", "{\"a\":1,}", "[1 2]"] {
            let (checked, unchecked, _) = both(text);
            assert!(checked.is_err() && unchecked.is_ok(), "{text}");
        }
        for text in ["", "[", "[\"a", "{\"a\":[1,2}", ",", "]"] {
            let (checked, unchecked, _) = both(text);
            assert!(checked.is_err() && unchecked.is_err(), "{text}");
        }
    }

    #[test]
    fn the_end_is_found_wherever_blocks_begin_and_strings_stand() {
        let long = "x".repeat(130);
        let parts = [
            "[1,{\"a\":2}]",
            "\"]}\"",
            "\"\\\"]\"",
            "{\n \"b\" : [ ]\t}",
            "\"\"",
            "-1.5",
            &long_text(&long),
            "[[[[]]]]",
        ];
        for shift in (0..130).step_by(if cfg!(miri) { 31 } else { 1 }) {
            let mut text = format!("[\"{}\"", "y".repeat(shift));
            for part in (0..40).map(|i| parts[(i * i + shift) % parts.len()]) {
                text.push(',');
                text.push_str(part);
            }
            text.push(']');
            assert_eq!(both(&format!("{text},[]]")), (Ok(()), Ok(()), text.len()), "{shift}");
            for cut in [text.len() - 1, text.len() / 2, text.len() / 3] {
                assert!(both(&text[..cut]).1.is_err(), "{shift}, cut at {cut}");
            }
        }
        fn long_text(text: &str) -> String {
            format!("\"{text}\"")
        }
    }

    #[test]
    fn a_control_character_in_a_skipped_string_is_seen_at_any_place() {
        for before in (0..140).step_by(if cfg!(miri) { 31 } else { 1 }) {
            let text = format!("[\"{}\u{1}\",1]", "x".repeat(before));
            assert!(both(&text).1.is_err(), "{before}");
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let depth = if cfg!(miri) { 200 } else { 200_000 };
        let (open, close) = ("[{\"a\":".repeat(depth), "}]".repeat(depth));
        assert_eq!(both(&format!("{open}1{close}")), (Ok(()), Ok(()), open.len() + close.len() + 1));
        assert!(both(&open).0.is_err() && both(&open).1.is_err());
        for broken in [63, 64, 65, 127, 128, 129] {
            let mut close = "]".repeat(200);
            close.replace_range(broken..=broken, "}");
            assert!(both(&format!("{}1{close}", "[".repeat(200))).0.is_err(), "{broken}");
        }
    }
}
