//! Strings: plain ones are borrowed from the body, those with escapes are rebuilt.

use super::cursor::{Cursor, Span};
use super::error::{ErrorKind, Expected, ReadResult};
use super::simd;
use std::borrow::Cow;

impl<'a> Cursor<'a> {
    /// Consumes a string without escapes; otherwise stays.
    #[inline(always)]
    pub fn plain_string(&mut self) -> Option<Span<'a>> {
        if self.peek_byte() != b'"' {
            return None;
        }
        let start = *self;
        let plain = simd::plain_prefix16(self.bytes16(1));
        if plain == 16 {
            self.advance(17 + start.plain_bytes_after(17));
            if self.peek_byte() != b'"' {
                *self = start;
                return None;
            }
            self.advance(1);
        } else {
            if self.peek(plain + 1) != b'"' {
                return None;
            }
            self.advance(plain + 2);
        }
        Some(self.span_from(&start).inner())
    }

    /// Number of bytes, beyond the next `n`, before a quote, backslash or control character.
    #[inline(never)]
    fn plain_bytes_after(mut self, n: usize) -> usize {
        self.advance(n);
        let start = self;
        self.plain_text();
        self.span_from(&start).len()
    }

    /// Advances to the next quote, backslash or control character; the padding is one.
    #[inline(always)]
    fn plain_text(&mut self) {
        loop {
            let plain = simd::plain_prefix64(self.bytes64());
            self.advance(plain);
            if plain < 64 {
                return;
            }
        }
    }

    /// Reads a string; the cursor is at its opening quote.
    #[inline(never)]
    pub fn string(&mut self) -> ReadResult<Cow<'a, [u8]>> {
        if let Some(span) = self.plain_string() {
            return Ok(Cow::Borrowed(span.bytes()));
        }
        let mut text = Vec::new();
        self.long_string(|part| text.extend_from_slice(part))?;
        Ok(Cow::Owned(text))
    }

    /// Skips a string and validates its escapes.
    pub fn skip_string(&mut self) -> ReadResult<()> {
        if self.plain_string().is_some() { Ok(()) } else { self.long_string(|_| ()) }
    }

    /// A string, or a number as written. Null is `None`.
    pub fn text(&mut self, expected: Expected) -> ReadResult<Option<Cow<'a, [u8]>>> {
        match self.peek_byte() {
            b'"' => self.string().map(Some),
            b'0'..=b'9' | b'-' => Ok(Some(Cow::Borrowed(self.number_token()?.bytes()))),
            _ => self.expect_null(expected).map(|()| None),
        }
    }

    #[cold]
    #[inline(never)]
    fn long_string(&mut self, mut part: impl FnMut(&[u8])) -> ReadResult<()> {
        if self.peek_byte() != b'"' {
            return Err(ErrorKind::Expected(Expected::Text));
        }
        self.advance(1);
        loop {
            let start = *self;
            self.plain_text();
            part(self.span_from(&start).bytes());
            match self.peek_byte() {
                b'"' => {
                    self.advance(1);
                    return Ok(());
                }
                b'\\' => {
                    let mut utf8 = [0; 4];
                    part(self.escape()?.encode_utf8(&mut utf8).as_bytes());
                }
                _ => return Err(ErrorKind::ControlCharacter),
            }
        }
    }

    fn escape(&mut self) -> ReadResult<char> {
        let start = *self;
        self.advance(1);
        let plain = match self.peek_byte() {
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
                            if self.peek_byte() != byte {
                                return Err(self.error_from(start, ErrorKind::Surrogate));
                            }
                            self.advance(1);
                        }
                        let second = self.hex()?;
                        if !(0xDC00..=0xDFFF).contains(&second) {
                            return Err(self.error_from(start, ErrorKind::Surrogate));
                        }
                        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                            .ok_or(ErrorKind::Surrogate)
                    }
                    _ => char::from_u32(first).ok_or_else(|| self.error_from(start, ErrorKind::Surrogate)),
                };
            }
            _ => return Err(self.error_from(start, ErrorKind::Escape)),
        };
        self.advance(1);
        Ok(plain)
    }

    /// Reads four hexadecimal digits.
    fn hex(&mut self) -> ReadResult<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = char::from(self.peek_byte()).to_digit(16).ok_or(ErrorKind::Escape)?;
            value = value * 16 + digit;
            self.advance(1);
        }
        Ok(value)
    }

    /// Reports an error at the start of the escape, but a truncated one at the end of the body.
    fn error_from(&mut self, start: Cursor<'a>, error: ErrorKind) -> ErrorKind {
        if !self.is_at_end() {
            *self = start;
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    fn read(text: &[u8]) -> (ReadResult<String>, usize) {
        let body = Body::from(text);
        let padded_body = body.with_padding();
        let mut cursor = Cursor::new(&padded_body).unwrap();
        let value = cursor.string().map(|t| String::from_utf8(t.into_owned()).unwrap());
        let mut skip_cursor = Cursor::new(&padded_body).unwrap();
        assert_eq!(skip_cursor.skip_string().is_ok(), value.is_ok());
        assert_eq!(skip_cursor.position(), cursor.position());
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
            let invalid = format!("\"{}\u{1}\"", "x".repeat(len));
            assert_eq!(read(invalid.as_bytes()), (Err(ErrorKind::ControlCharacter), len + 1));
        }
    }

    #[test]
    fn a_string_with_an_escape_at_any_place_is_read_from_its_start() {
        for before in (0..150).step_by(if cfg!(miri) { 7 } else { 1 }) {
            let (plain, text) = ("x".repeat(before), format!("\"{}\\ny\"", "x".repeat(before)));
            assert_eq!(read(text.as_bytes()), (Ok(format!("{plain}\ny")), text.len()));
            let body = Body::from(text.as_bytes());
            let padded_body = body.with_padding();
            let mut cursor = Cursor::new(&padded_body).unwrap();
            assert!(cursor.plain_string().is_none() && cursor.position() == 0, "{before}");
        }
    }

    #[test]
    fn a_broken_string_is_a_fault_at_its_place() {
        for (text, fault, offset) in [
            (&b"\"ab\ncd\""[..], ErrorKind::ControlCharacter, 3),
            (b"\"ab\0cd\"", ErrorKind::ControlCharacter, 3),
            (b"\"a\\x\"", ErrorKind::Escape, 2),
            (b"\"a\\u12g4\"", ErrorKind::Escape, 6),
            (b"\"\\ud83c\"", ErrorKind::Surrogate, 1),
            (b"\"\\ud83c\\u0041\"", ErrorKind::Surrogate, 1),
            (b"\"\\udfc0\"", ErrorKind::Surrogate, 1),
            (b"\"cut", ErrorKind::ControlCharacter, 4),
            (b"\"cut\\", ErrorKind::Escape, 5),
            (b"\"cut\\ud83c\\", ErrorKind::Surrogate, 11),
        ] {
            assert_eq!(read(text), (Err(fault), offset), "{}", String::from_utf8_lossy(text));
        }
    }
}
