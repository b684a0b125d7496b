//! Values that no column asks for. They are checked as JSON when a whole table is decoded; with a projection only their
//! ends are found. Neither recurses: a body of brackets must not overflow the stack.

use super::cursor::Cursor;
use super::fault::{Fault, Read, Wanted};

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
    /// Over a value, all of it checked.
    #[inline(never)]
    pub fn skip_checked(&mut self) -> Read<()> {
        let mut nesting = Nesting::default();
        loop {
            match self.byte() {
                b'"' => self.skip_string()?,
                b'{' => {
                    self.advance(1);
                    if self.opened(b'}') {
                        nesting.push(true);
                        self.skip_key()?;
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
                    self.number_token()?;
                }
                _ if self.null() || self.take_word(b"true") || self.take_word(b"false") => {}
                _ => return Err(Fault::Expected(Wanted::Value)),
            }
            loop {
                let Some(object) = nesting.innermost() else { return Ok(()) };
                if self.another(if object { b'}' } else { b']' })? {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                nesting.pop();
            }
        }
    }

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
