//! Skips values that no column reads. A whole table validates them as JSON; a projection only finds their ends. Neither
//! recurses, so that deep nesting cannot overflow the stack.

use super::cursor::Cursor;
use super::error::{ErrorKind, Expected, ReadResult};
use super::simd;

/// The kinds of the open brackets, one bit each; the first 64 need no allocation.
#[derive(Default)]
struct Nesting {
    /// 1 for an object; the innermost is the lowest bit.
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

    /// Whether the innermost bracket is an object; `None` outside of all.
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
    /// Skips and validates a number or string of the common forms; otherwise returns `false` and stays.
    #[inline(always)]
    pub fn validate_flat(&mut self) -> bool {
        if self.peek_byte() == b'"' { self.plain_string().is_some() } else { self.skip_short_number() }
    }

    /// Validates the rest of the body: one value, and whitespace around it.
    pub(crate) fn validate_document(&mut self) -> ReadResult<()> {
        self.whitespace();
        self.validate()?;
        self.whitespace();
        if self.is_at_end() { Ok(()) } else { Err(ErrorKind::Trailing) }
    }

    /// Skips a value and validates all of it.
    #[inline(never)]
    pub fn validate(&mut self) -> ReadResult<()> {
        self.with_copy(Self::check)
    }

    /// Inlined, so that the cursor stays in a register.
    #[inline(always)]
    fn check(&mut self) -> ReadResult<()> {
        let mut nesting = Nesting::default();
        loop {
            match self.peek_byte() {
                b'"' => {
                    if self.plain_string().is_none() {
                        self.with_copy(Self::skip_string)?;
                    }
                }
                b'{' => {
                    self.advance(1);
                    if self.has_first_item(b'}') {
                        nesting.push(true);
                        self.validate_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.advance(1);
                    if self.has_first_item(b']') {
                        nesting.push(false);
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    if !self.skip_short_number() {
                        self.with_copy(Self::number_token)?;
                    }
                }
                _ if self.consume_null() || self.consume_literal(b"true") || self.consume_literal(b"false") => {}
                _ => return Err(ErrorKind::Expected(Expected::Value)),
            }
            loop {
                let Some(object) = nesting.innermost() else { return Ok(()) };
                if self.has_next_item(if object { b'}' } else { b']' })? {
                    if object {
                        self.validate_key()?;
                    }
                    break;
                }
                nesting.pop();
            }
        }
    }

    /// Consumes a key and its colon.
    #[inline(always)]
    fn validate_key(&mut self) -> ReadResult<()> {
        let plain = simd::plain_prefix16(self.bytes16(1));
        if self.peek_byte() == b'"' && self.peek(plain + 1) == b'"' && self.peek(plain + 2) == b':' {
            self.advance(plain + 3);
            self.whitespace();
            return Ok(());
        }
        self.with_copy(Self::skip_key)
    }

    #[inline(never)]
    fn skip_key(&mut self) -> ReadResult<()> {
        if self.peek_byte() != b'"' {
            return Err(ErrorKind::Key);
        }
        self.skip_string()?;
        self.colon()
    }

    /// Skips a value and only finds its end.
    #[inline(never)]
    pub fn skip_value(&mut self) -> ReadResult<()> {
        match self.peek_byte() {
            b'"' => return self.skip_string(),
            b'{' | b'[' => {}
            _ => return self.skip_scalar(),
        }
        let mut depth = 0usize;
        loop {
            if depth > 0 && self.skip_blocks(&mut depth) {
                return Ok(());
            }
            match self.peek_byte() {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                0 => return Err(ErrorKind::Expected(Expected::Value)),
                _ => {}
            }
            self.advance(1);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips inside `depth` open brackets, 64 bytes at a time; returns whether the outermost is closed. Stops before an
    /// escaped or broken string, and before anything unusual outside of strings.
    #[inline(always)]
    fn skip_blocks(&mut self, depth: &mut usize) -> bool {
        // Whether the block begins inside a string, as a mask, and the last quote.
        let (mut inside, mut quote) = (0, *self);
        loop {
            let masks = simd::structural_masks(self.bytes64());
            let len = masks.special.trailing_zeros();
            let strings = simd::prefix_xor(masks.quotes) ^ inside;
            let structure = !strings & below(len);
            let mut brackets = (masks.opening | masks.closing) & structure;
            while brackets != 0 {
                let place = brackets.trailing_zeros();
                if masks.opening >> place & 1 == 1 {
                    *depth += 1;
                } else {
                    *depth -= 1;
                }
                if *depth == 0 {
                    self.advance(place as usize + 1);
                    return true;
                }
                brackets &= brackets - 1;
            }
            let quotes = masks.quotes & below(len);
            if quotes != 0 {
                quote = *self;
                quote.advance(63 - quotes.leading_zeros() as usize);
            }
            if len < 64 {
                if strings >> len & 1 == 1 {
                    self.go_to(&quote);
                } else {
                    self.advance(len as usize);
                }
                return false;
            }
            inside = (strings as i64 >> 63) as u64;
            self.advance(64);
        }
    }

    fn skip_scalar(&mut self) -> ReadResult<()> {
        let start = *self;
        while !matches!(self.peek_byte(), b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[' | 0..=b' ') {
            self.advance(1);
        }
        if self.span_from(&start).len() == 0 { Err(ErrorKind::Expected(Expected::Value)) } else { Ok(()) }
    }
}

/// The bits below a place.
#[inline(always)]
fn below(place: u32) -> u64 {
    if place < 64 { (1 << place) - 1 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    fn both(text: &str) -> (ReadResult<()>, ReadResult<()>, usize) {
        let body = Body::from(text.as_bytes());
        let padded_body = body.with_padding();
        let (mut strict, mut lenient) = (Cursor::new(&padded_body).unwrap(), Cursor::new(&padded_body).unwrap());
        let results = (strict.validate(), lenient.skip_value());
        if results == (Ok(()), Ok(())) {
            assert_eq!(strict.position(), lenient.position());
        }
        (results.0, results.1, strict.position())
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
            let (strict, lenient, _) = both(text);
            assert!(strict.is_err() && lenient.is_ok(), "{text}");
        }
        for text in ["", "[", "[\"a", "{\"a\":[1,2}", ",", "]"] {
            let (strict, lenient, _) = both(text);
            assert!(strict.is_err() && lenient.is_err(), "{text}");
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
        for position in [63, 64, 65, 127, 128, 129] {
            let mut close = "]".repeat(200);
            close.replace_range(position..=position, "}");
            assert!(both(&format!("{}1{close}", "[".repeat(200))).0.is_err(), "{position}");
        }
    }
}
