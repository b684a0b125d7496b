//! Values of any kind, for a reader without a declaration.

use super::cursor::{Cursor, Span};
use super::fault::{Fault, Read};
use super::scan;

/// Digits before the point, at most. Making a whole number of its digits costs their square.
const LONGEST: usize = 4300;

/// A number as JSON writes it: whole where it has neither point nor exponent, and of any length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    Int(i64),
    Float(f64),
    /// A whole number beyond 64 bits, as it is written.
    Long(&'a [u8]),
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub fn number(&mut self) -> Read<Number<'a>> {
        match self.short_number() {
            Some(short) if short.fraction == 0 => Ok(Number::Int(short.int())),
            Some(short) => Ok(Number::Float(short.float())),
            None => self.number_slow(),
        }
    }

    #[inline(never)]
    fn number_slow(&mut self) -> Read<Number<'a>> {
        let token = self.number_token()?.bytes();
        let text = std::str::from_utf8(token).map_err(|_| Fault::Number)?;
        let whole = text.find(['.', 'e', 'E']);
        if whole.unwrap_or(text.len()) > LONGEST + usize::from(token[0] == b'-') {
            return Err(Fault::Range);
        }
        if whole.is_some() {
            return text.parse().map(Number::Float).map_err(|_| Fault::Number);
        }
        Ok(text.parse().map_or(Number::Long(token), Number::Int))
    }

    /// The text of a string without escapes and of at most 16 bytes, over which the cursor moves; else it stays. Such a text
    /// holds no zeros, so with zeros after it its two words are the same only where the text is.
    #[inline(always)]
    pub fn short_string(&mut self) -> Option<(Span<'a>, [u64; 2])> {
        let len = scan::plain_sixteen(self.sixteen(1));
        let words = [scan::head(self.word(1), len), scan::head(self.word(9), len.saturating_sub(8))];
        if self.byte() != b'"' || self.peek(1 + len) != b'"' {
            return None;
        }
        let here = *self;
        self.advance(len + 2);
        Some((self.since(&here).inner(), words))
    }
}

impl Span<'_> {
    /// Its last eight bytes, where it has as many.
    pub fn last_word(&self) -> u64 {
        self.bytes().last_chunk().map_or(0, |last| u64::from_le_bytes(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    /// What a number is read as, and where the cursor is then.
    fn number(text: &str) -> (String, usize) {
        let body = Body::from(text.as_bytes());
        let padded = body.padded();
        let mut cursor = Cursor::new(&padded).unwrap();
        let shown = match cursor.number() {
            Ok(Number::Int(value)) => format!("{value}"),
            Ok(Number::Float(value)) => format!("{value:?}"),
            Ok(Number::Long(token)) => format!("long {}", std::str::from_utf8(token).unwrap()),
            Err(fault) => format!("{fault:?}"),
        };
        (shown, cursor.position())
    }

    #[test]
    fn a_number_is_whole_without_point_and_exponent_and_of_any_length() {
        for (text, shown) in [
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
            assert_eq!(number(text), (shown.to_owned(), text.len()));
        }
        for text in ["", "-", "+1", ".5", "5.", "01", "-01", "1e", "1e+", "1.e5", "NaN", "Infinity", "x"] {
            assert_eq!(number(text).0, "Number", "{text}");
        }
    }

    #[test]
    fn a_number_of_more_digits_than_are_converted_is_refused() {
        for (sign, end) in [("", ""), ("-", ""), ("", ".5"), ("-", ".5"), ("", "e1"), ("-", "e1")] {
            let of = |digits: usize| number(&format!("{sign}{}{end}", "1".repeat(digits))).0;
            assert_ne!(of(LONGEST), "Range");
            assert_eq!(of(LONGEST + 1), "Range");
        }
        assert_eq!(number(&format!("0.{}", "1".repeat(2 * LONGEST))).0, "0.1111111111111111");
    }

    #[test]
    fn a_short_string_is_read_in_words_and_a_longer_one_is_left() {
        let letters = b"abcdefghijklmnopqrstuvwxyz";
        for len in 0..20 {
            let body = Body::from([b"\"", &letters[..len], b"\",\"z\""].concat());
            let padded = body.padded();
            let mut cursor = Cursor::new(&padded).unwrap();
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
            let padded = body.padded();
            let mut cursor = Cursor::new(&padded).unwrap();
            assert!(cursor.short_string().is_none(), "{text}");
            assert_eq!(cursor.position(), 0);
        }
    }
}
