//! Values of any kind, for a reader without a declaration.

use super::cursor::{Cursor, Span};
use super::error::{ErrorKind, ReadResult};
use super::simd;

/// Maximum digits before the point: converting them to an integer takes quadratic time.
const MAX_INTEGER_DIGITS: usize = 4300;

/// A JSON number: an integer of any size if it has neither point nor exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number<'a> {
    Int(i64),
    Float(f64),
    /// An integer beyond 64 bits, as written.
    Long(&'a [u8]),
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub fn number(&mut self) -> ReadResult<Number<'a>> {
        match self.short_number() {
            Some(short) if short.fraction == 0 => Ok(Number::Int(short.int())),
            Some(short) => Ok(Number::Float(short.float())),
            None => self.number_slow(),
        }
    }

    #[inline(never)]
    fn number_slow(&mut self) -> ReadResult<Number<'a>> {
        let start = *self;
        let token = self.number_token()?.bytes();
        let text = std::str::from_utf8(token).map_err(|_| ErrorKind::Number)?;
        let integer_end = text.find(['.', 'e', 'E']);
        if integer_end.unwrap_or(text.len()) > MAX_INTEGER_DIGITS + usize::from(token[0] == b'-') {
            *self = start;
            return Err(ErrorKind::Range);
        }
        if integer_end.is_some() {
            return text.parse().map(Number::Float).map_err(|_| ErrorKind::Number);
        }
        Ok(text.parse().map_or(Number::Long(token), Number::Int))
    }

    /// Consumes a string without escapes of at most 16 bytes; otherwise stays. Such a text contains no zero bytes, so
    /// two texts are equal exactly if their zero-padded words are.
    #[inline(always)]
    pub fn short_string(&mut self) -> Option<(Span<'a>, [u64; 2])> {
        let len = simd::plain_prefix16(self.bytes16(1));
        let words = [simd::low_bytes(self.word(1), len), simd::low_bytes(self.word(9), len.saturating_sub(8))];
        if self.peek_byte() != b'"' || self.peek(1 + len) != b'"' {
            return None;
        }
        let start = *self;
        self.advance(len + 2);
        Some((self.span_from(&start).inner(), words))
    }
}

impl Span<'_> {
    /// Its last eight bytes, or 0 if it is shorter.
    pub fn last_word(&self) -> u64 {
        self.bytes().last_chunk().map_or(0, |last| u64::from_le_bytes(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    /// The number read, and the position of the cursor after it.
    fn number(text: &str) -> (String, usize) {
        let body = Body::from(text.as_bytes());
        let padded_body = body.with_padding();
        let mut cursor = Cursor::new(&padded_body).unwrap();
        let text = match cursor.number() {
            Ok(Number::Int(value)) => format!("{value}"),
            Ok(Number::Float(value)) => format!("{value:?}"),
            Ok(Number::Long(token)) => format!("long {}", std::str::from_utf8(token).unwrap()),
            Err(fault) => format!("{fault:?}"),
        };
        (text, cursor.position())
    }

    #[test]
    fn a_number_is_whole_without_point_and_exponent_and_of_any_length() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("461", "461"),
            ("123456789012345", "123456789012345"),
            ("-1234567890123456", "-1234567890123456"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "long 9223372036854775808"),
            ("-99999999999999999999", "long -99999999999999999999"),
            ("1.0", "1.0"),
            ("-12.75", "-12.75"),
            ("1e2", "100.0"),
            ("123456789012345.5", "123456789012345.5"),
            ("0.1234567890123456789", "0.12345678901234568"),
            ("1e400", "inf"),
        ] {
            assert_eq!(number(text), (expected.to_owned(), text.len()));
        }
        for text in ["", "-", "+1", ".5", "5.", "01", "-01", "1e", "1e+", "1.e5", "NaN", "Infinity", "x"] {
            assert_eq!(number(text).0, "Number", "{text}");
        }
    }

    #[test]
    fn a_number_of_more_digits_than_are_converted_is_refused() {
        for (sign, end) in [("", ""), ("-", ""), ("", ".5"), ("-", ".5"), ("", "e1"), ("-", "e1")] {
            let parse = |digits: usize| number(&format!("{sign}{}{end}", "1".repeat(digits))).0;
            assert_ne!(parse(MAX_INTEGER_DIGITS), "Range");
            assert_eq!(parse(MAX_INTEGER_DIGITS + 1), "Range");
        }
        assert_eq!(number(&format!("0.{}", "1".repeat(2 * MAX_INTEGER_DIGITS))).0, "0.1111111111111111");
    }

    #[test]
    fn a_short_string_is_read_in_words_and_a_longer_one_is_left() {
        let letters = b"abcdefghijklmnopqrstuvwxyz";
        for len in 0..20 {
            let body = Body::from([b"\"", &letters[..len], b"\",\"z\""].concat());
            let padded_body = body.with_padding();
            let mut cursor = Cursor::new(&padded_body).unwrap();
            let Some((span, words)) = cursor.short_string() else {
                assert!(len > 16);
                assert_eq!(cursor.position(), 0);
                continue;
            };
            assert_eq!(span.bytes(), &letters[..len]);
            let last: Vec<u8> = span.bytes().iter().rev().take(8).rev().copied().collect();
            assert_eq!(span.last_word().to_le_bytes().to_vec(), if len < 8 { vec![0; 8] } else { last });
            assert_eq!(cursor.position(), len + 2);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bytes[..len], letters[..len]);
            assert!(bytes[len..].iter().all(|b| *b == 0));
        }
        for text in ["", "x", "\"", "\"cut", "\"a\\n\"", "\"a\nb\"", "\"0123456789abcdef"] {
            let body = Body::from(text.as_bytes());
            let padded_body = body.with_padding();
            let mut cursor = Cursor::new(&padded_body).unwrap();
            assert!(cursor.short_string().is_none(), "{text}");
            assert_eq!(cursor.position(), 0);
        }
    }
}
