//! Numbers: most are read eight digits at a time, the odd ones by the grammar and the standard library.

use super::cursor::{Cursor, Span};
use super::fault::{Fault, Read, Wanted};
use super::scan;

/// Powers of ten that a float holds exactly and that a fraction of eight digits needs.
const TENS: [f64; 9] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
const WHOLE_TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Digits before the point: more would be an attack, for a whole number costs the square of its digits.
const LONGEST: usize = 4300;

/// A number as JSON writes it: without a point and an exponent it is whole, and of any length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    Int(i64),
    Float(f64),
    /// Beyond 64 bits: its digits, after a sign.
    Long(&'a [u8]),
}

/// A number of at most 15 digits, so that it and its quotient by a power of ten are exact.
struct Short {
    digits: u64,
    /// How many of the digits stand after the point.
    fraction: usize,
    negative: bool,
}

impl<'a> Cursor<'a> {
    /// An `Int64`: a whole number in any writing, also in quotes; null as `None`.
    #[inline(always)]
    pub fn integer(&mut self) -> Read<Option<i64>> {
        let here = *self;
        match self.short_number() {
            Some(Short { digits, fraction: 0, negative }) => {
                Ok(Some(if negative { -(digits as i64) } else { digits as i64 }))
            }
            _ => {
                *self = here;
                self.integer_slow()
            }
        }
    }

    /// A `Float64`: a number, also in quotes; null as `None`.
    #[inline(always)]
    pub fn float(&mut self) -> Read<Option<f64>> {
        match self.short_number() {
            Some(Short { digits, fraction, negative }) => {
                let value = digits as f64 / TENS[fraction];
                Ok(Some(if negative { -value } else { value }))
            }
            None => self.float_slow(),
        }
    }

    /// A number of whichever kind it is written as.
    #[inline(always)]
    pub fn number(&mut self) -> Read<Number<'a>> {
        match self.short_number() {
            Some(Short { digits, fraction: 0, negative }) => {
                Ok(Number::Int(if negative { -(digits as i64) } else { digits as i64 }))
            }
            Some(Short { digits, fraction, negative }) => {
                let value = digits as f64 / TENS[fraction];
                Ok(Number::Float(if negative { -value } else { value }))
            }
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

    /// The common shapes: up to 15 digits, of which up to 8 after a point, no exponent. Else the cursor stays.
    #[inline(always)]
    fn short_number(&mut self) -> Option<Short> {
        let negative = self.byte() == b'-';
        let sign = usize::from(negative);
        let word = self.word(sign);
        let mut whole = scan::digits(word);
        if whole == 0 || (whole > 1 && word as u8 == b'0') {
            return None;
        }
        let mut digits = scan::number(word, whole);
        if whole == 8 {
            let word = self.word(sign + 8);
            let more = scan::digits(word);
            if more > 7 {
                return None;
            }
            if more > 0 {
                digits = digits * WHOLE_TENS[more] + scan::number(word, more);
                whole += more;
            }
        }
        let mut len = sign + whole;
        let mut fraction = 0;
        let mut next = self.peek(len);
        if next == b'.' {
            let word = self.word(len + 1);
            fraction = scan::digits(word);
            if fraction == 0 || whole + fraction > 15 {
                return None;
            }
            digits = digits * WHOLE_TENS[fraction] + scan::number(word, fraction);
            len += 1 + fraction;
            next = self.peek(len);
            if next.is_ascii_digit() {
                return None;
            }
        }
        if next | 0x20 == b'e' {
            return None;
        }
        self.advance(len);
        Some(Short { digits, fraction, negative })
    }

    #[cold]
    #[inline(never)]
    fn integer_slow(&mut self) -> Read<Option<i64>> {
        self.numeric(whole_number)
    }

    #[cold]
    #[inline(never)]
    fn float_slow(&mut self) -> Read<Option<f64>> {
        self.numeric(finite_number)
    }

    /// A number token, or a string that is one, given to `read`. A string may also have leading zeros: ids and jersey
    /// numbers do.
    fn numeric<T>(&mut self, read: fn(&[u8]) -> Read<T>) -> Read<Option<T>> {
        let here = *self;
        let value = match self.byte() {
            b'"' => {
                let text = self.string()?;
                let digits = text.strip_prefix(b"-").unwrap_or(&text);
                if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) || is_number(&text) {
                    read(&text)
                } else {
                    Err(Fault::NumericText)
                }
            }
            b'0'..=b'9' | b'-' => read(self.number_token()?.bytes()),
            _ => return self.null_or(Wanted::Number).map(|()| None),
        };
        value.map(Some).inspect_err(|_| *self = here)
    }

    /// The text of a number, checked against the grammar of JSON.
    pub fn number_token(&mut self) -> Read<Span<'a>> {
        let here = *self;
        if self.byte() == b'-' {
            self.advance(1);
        }
        match self.byte() {
            b'0' => {
                self.advance(1);
                if self.byte().is_ascii_digit() {
                    return Err(Fault::Number);
                }
            }
            _ => self.digits()?,
        }
        if self.byte() == b'.' {
            self.advance(1);
            self.digits()?;
        }
        if self.byte() | 0x20 == b'e' {
            self.advance(1);
            if matches!(self.byte(), b'+' | b'-') {
                self.advance(1);
            }
            self.digits()?;
        }
        Ok(self.since(&here))
    }

    /// Over one digit or more.
    fn digits(&mut self) -> Read<()> {
        if !self.byte().is_ascii_digit() {
            return Err(Fault::Number);
        }
        while self.byte().is_ascii_digit() {
            self.advance(1);
        }
        Ok(())
    }
}

/// Whether a text is a number as JSON writes it.
fn is_number(text: &[u8]) -> bool {
    let body = super::Body::from(text);
    Cursor::new(&body.padded()).is_some_and(|mut c| c.number_token().is_ok() && c.is_at_end())
}

fn finite_number(token: &[u8]) -> Read<f64> {
    let value = std::str::from_utf8(token).ok().and_then(|t| t.parse::<f64>().ok()).ok_or(Fault::Number)?;
    if value.is_finite() { Ok(value) } else { Err(Fault::Range) }
}

/// The exact whole number that a number's text writes: a detour over floats would round ids beyond 2^53.
fn whole_number(token: &[u8]) -> Read<i64> {
    let (negative, token) = token.strip_prefix(b"-").map_or((false, token), |rest| (true, rest));
    let (mantissa, exponent) = match token.iter().position(|b| b | 0x20 == b'e') {
        Some(at) => (&token[..at], Some(&token[at + 1..])),
        None => (token, None),
    };
    let (whole, fraction) = match mantissa.iter().position(|b| *b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    let significant = digits.iter().rposition(|d| *d != b'0').map_or(0, |last| last + 1);
    if significant == 0 {
        return Ok(0);
    }
    let exponent = match exponent.map(|e| std::str::from_utf8(e).unwrap_or_default().parse::<i64>()) {
        None => 0,
        Some(Ok(exponent)) => exponent,
        Some(Err(_)) => return Err(Fault::Range),
    };
    // The value is the significant digits times ten to this power.
    let power = exponent.saturating_add(whole.len() as i64 - significant as i64);
    if power < 0 {
        return Err(Fault::Fraction);
    }
    let mut value: i64 = 0;
    let zeros = std::iter::repeat_n(&b'0', usize::try_from(power.min(64)).unwrap_or(64));
    for digit in digits[..significant].iter().chain(zeros) {
        let digit = i64::from(digit - b'0');
        // Counted downwards, so that the smallest number fits too.
        value = value.checked_mul(10).and_then(|v| v.checked_sub(digit)).ok_or(Fault::Range)?;
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or(Fault::Range) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    fn with<T>(text: &str, read: impl FnOnce(&mut Cursor) -> T) -> (T, usize) {
        let body = Body::from(text.as_bytes());
        let padded = body.padded();
        let mut cursor = Cursor::new(&padded).unwrap();
        let value = read(&mut cursor);
        (value, cursor.position())
    }

    #[test]
    fn an_integer_is_read_in_every_writing() {
        for (text, value) in [
            ("461", 461),
            ("461.0", 461),
            ("4.61e2", 461),
            ("46100E-2", 461),
            ("\"461\"", 461),
            ("\"461.0\"", 461),
            ("\"0046\"", 46),
            ("-7", -7),
            ("-0", 0),
            ("0", 0),
            ("0e99999999999999999999", 0),
            ("1700000000123", 1_700_000_000_123),
            ("123456789012345", 123_456_789_012_345),
            ("1234567890123456789", 1_234_567_890_123_456_789),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("9.223372036854775807e18", i64::MAX),
        ] {
            assert_eq!(with(text, |c| c.integer()), (Ok(Some(value)), text.len()), "{text}");
        }
        assert_eq!(with("null", |c| c.integer()), (Ok(None), 4));
    }

    #[test]
    fn what_is_no_whole_number_of_64_bits_is_a_fault() {
        for (text, fault) in [
            ("1.5", Fault::Fraction),
            ("461e-1", Fault::Fraction),
            ("1e-999999999999999999999", Fault::Range),
            ("9223372036854775808", Fault::Range),
            ("1e19", Fault::Range),
            ("\"1.5\"", Fault::Fraction),
            ("\"\"", Fault::NumericText),
            ("\"-\"", Fault::NumericText),
            ("\" 461\"", Fault::NumericText),
            ("\"+461\"", Fault::NumericText),
            ("\"0x10\"", Fault::NumericText),
            ("true", Fault::Expected(Wanted::Number)),
            ("[1]", Fault::Expected(Wanted::Number)),
            ("+1", Fault::Expected(Wanted::Number)),
            (".5", Fault::Expected(Wanted::Number)),
            ("NaN", Fault::Expected(Wanted::Number)),
        ] {
            assert_eq!(with(text, |c| c.integer()), (Err(fault), 0), "{text}");
        }
        for text in ["007", "12.e5", "1.", "-", "1e", "1e+", "-.5"] {
            assert_eq!(with(text, |c| c.integer()).0, Err(Fault::Number), "{text}");
            assert_eq!(with(text, |c| c.float()).0, Err(Fault::Number), "{text}");
        }
    }

    #[test]
    fn a_float_is_the_nearest_to_its_text() {
        for text in [
            "0",
            "-0",
            "0.5",
            "-12.75",
            "754.1",
            "3048",
            "123456789.5",
            "1.7976931348623157e308",
            "5e-324",
            "0.1234567890123456789",
            "123456789012345678901234567890",
            "99999999.9999999",
            "1234567.12345678",
            "8.41e21",
        ] {
            let (value, end) = with(text, |c| c.float());
            assert_eq!(value.unwrap().unwrap().to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            assert_eq!(end, text.len(), "{text}");
        }
        assert_eq!(with("\"-1.5e1\"", |c| c.float()).0, Ok(Some(-15.0)));
        assert_eq!(with("1e999", |c| c.float()), (Err(Fault::Range), 0));
        assert_eq!(with("\"nan\"", |c| c.float()), (Err(Fault::NumericText), 0));
    }
}
