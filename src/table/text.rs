//! Strings: plain ones are borrowed from the body, those with escapes are written anew.

use super::cursor::{Cursor, Span};
use super::fault::{Fault, Read, Wanted};
use super::scan;
use std::borrow::Cow;

impl<'a> Cursor<'a> {
    /// The text of a string without escapes, over which the cursor moves; else it stays.
    #[inline(always)]
    pub fn plain_string(&mut self) -> Option<Span<'a>> {
        if self.byte() != b'"' {
            return None;
        }
        let plain = scan::plain_sixteen(self.sixteen(1));
        if plain == 16 {
            return self.apart(Self::long_plain_string);
        }
        if self.peek(plain + 1) != b'"' {
            return None;
        }
        let here = *self;
        self.advance(plain + 2);
        Some(self.since(&here).inner())
    }

    #[inline(never)]
    fn long_plain_string(&mut self) -> Option<Span<'a>> {
        let here = *self;
        self.advance(17);
        self.plain_text();
        if self.byte() != b'"' {
            *self = here;
            return None;
        }
        self.advance(1);
        Some(self.since(&here).inner())
    }

    /// To the next quote, backslash or control character (the padding is one).
    #[inline(always)]
    fn plain_text(&mut self) {
        loop {
            let plain = scan::plain_block(self.block());
            self.advance(plain);
            if plain < 64 {
                return;
            }
        }
    }

    /// A string's text. The cursor is at its opening quote.
    #[inline(never)]
    pub fn string(&mut self) -> Read<Cow<'a, [u8]>> {
        if let Some(span) = self.plain_string() {
            return Ok(Cow::Borrowed(span.bytes()));
        }
        let mut text = Vec::new();
        self.long_string(|part| text.extend_from_slice(part))?;
        Ok(Cow::Owned(text))
    }

    /// Over a string, its escapes checked.
    pub fn skip_string(&mut self) -> Read<()> {
        if self.plain_string().is_some() { Ok(()) } else { self.long_string(|_| ()) }
    }

    /// A string or number as text: the number as it stands. Null is `None`.
    pub fn text(&mut self, wanted: Wanted) -> Read<Option<Cow<'a, [u8]>>> {
        match self.byte() {
            b'"' => self.string().map(Some),
            b'0'..=b'9' | b'-' => Ok(Some(Cow::Borrowed(self.number_token()?.bytes()))),
            _ => self.null_or(wanted).map(|()| None),
        }
    }

    #[cold]
    #[inline(never)]
    fn long_string(&mut self, mut part: impl FnMut(&[u8])) -> Read<()> {
        if self.byte() != b'"' {
            return Err(Fault::Expected(Wanted::Text));
        }
        self.advance(1);
        loop {
            let here = *self;
            self.plain_text();
            part(self.since(&here).bytes());
            match self.byte() {
                b'"' => {
                    self.advance(1);
                    return Ok(());
                }
                b'\\' => {
                    let mut utf8 = [0; 4];
                    part(self.escape()?.encode_utf8(&mut utf8).as_bytes());
                }
                _ => return Err(Fault::ControlCharacter),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let here = *self;
        self.advance(1);
        let plain = match self.byte() {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.advance(1);
                let first = self.hex()?;
                return match first {
                    0xD800..=0xDBFF => {
                        for byte in *b"\\u" {
                            if self.byte() != byte {
                                return Err(self.fault_from(here, Fault::Surrogate));
                            }
                            self.advance(1);
                        }
                        let second = self.hex()?;
                        if !(0xDC00..=0xDFFF).contains(&second) {
                            return Err(self.fault_from(here, Fault::Surrogate));
                        }
                        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(Fault::Surrogate)
                    }
                    _ => char::from_u32(first).ok_or_else(|| self.fault_from(here, Fault::Surrogate)),
                };
            }
            _ => return Err(self.fault_from(here, Fault::Escape)),
        };
        self.advance(1);
        Ok(plain)
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Read<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = char::from(self.byte()).to_digit(16).ok_or(Fault::Escape)?;
            value = value * 16 + digit;
            self.advance(1);
        }
        Ok(value)
    }

    /// A fault is told where the escape starts, but one that is only cut short where the body ends.
    fn fault_from(&mut self, here: Cursor<'a>, fault: Fault) -> Fault {
        if !self.is_at_end() {
            *self = here;
        }
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    fn read(text: &[u8]) -> (Read<String>, usize) {
        let body = Body::from(text);
        let padded = body.padded();
        let mut cursor = Cursor::new(&padded).unwrap();
        let value = cursor.string().map(|t| String::from_utf8(t.into_owned()).unwrap());
        let mut skipped = Cursor::new(&padded).unwrap();
        assert_eq!(skipped.skip_string().is_ok(), value.is_ok());
        assert_eq!(skipped.position(), cursor.position());
        (value, cursor.position())
    }

    #[test]
    fn escapes_are_resolved() {
        for (text, value) in [
            (r#""""#, ""),
            (r#""plain and longer than eight""#, "plain and longer than eight"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""caf\u00e9 café""#, "café café"),
            (r#""\ud83C\uDfc0!""#, "🏀!"),
        ] {
            assert_eq!(read(text.as_bytes()), (Ok(value.to_string()), text.len()));
        }
    }

    #[test]
    fn a_string_ends_at_its_quote_however_long_it_is() {
        for len in 0..200 {
            let text = format!("\"{}\"", "x".repeat(len));
            assert_eq!(read(text.as_bytes()), (Ok("x".repeat(len)), len + 2));
            let broken = format!("\"{}\u{1}\"", "x".repeat(len));
            assert_eq!(read(broken.as_bytes()), (Err(Fault::ControlCharacter), len + 1));
        }
    }

    #[test]
    fn a_string_with_an_escape_at_any_place_is_read_from_its_start() {
        for before in (0..150).step_by(if cfg!(miri) { 7 } else { 1 }) {
            let (plain, text) = ("x".repeat(before), format!("\"{}\\ny\"", "x".repeat(before)));
            assert_eq!(read(text.as_bytes()), (Ok(format!("{plain}\ny")), text.len()));
            let body = Body::from(text.as_bytes());
            let padded = body.padded();
            let mut cursor = Cursor::new(&padded).unwrap();
            assert!(cursor.plain_string().is_none() && cursor.position() == 0, "{before}");
        }
    }

    #[test]
    fn a_broken_string_is_a_fault_at_its_place() {
        for (text, fault, offset) in [
            (&b"\"ab\ncd\""[..], Fault::ControlCharacter, 3),
            (b"\"ab\0cd\"", Fault::ControlCharacter, 3),
            (b"\"a\\x\"", Fault::Escape, 2),
            (b"\"a\\u12g4\"", Fault::Escape, 6),
            (b"\"\\ud83c\"", Fault::Surrogate, 1),
            (b"\"\\ud83c\\u0041\"", Fault::Surrogate, 1),
            (b"\"\\udfc0\"", Fault::Surrogate, 1),
            (b"\"cut", Fault::ControlCharacter, 4),
            (b"\"cut\\", Fault::Escape, 5),
            (b"\"cut\\ud83c\\", Fault::Surrogate, 11),
        ] {
            assert_eq!(read(text), (Err(fault), offset), "{}", String::from_utf8_lossy(text));
        }
    }
}
