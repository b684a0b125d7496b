//! Numbers: most are read eight digits at a time, the rest by JSON's grammar and the standard library.

use super::cursor::{Cursor, Span};
use super::error::{ErrorKind, Expected, ReadResult};
use super::simd;

/// Powers of ten that a float holds exactly, as many as a fraction of eight digits needs.
const TENS: [f64; 9] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
const WHOLE_TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// A number of at most 15 digits, so that it and its quotient by a power of ten are exact, without exponent.
pub(super) struct ShortNumber {
    digits: u64,
    /// Number of digits after the point.
    pub fraction: usize,
    /// 1 if negative, else 0.
    sign: u64,
}

impl ShortNumber {
    /// The value, if there is no fraction.
    #[inline(always)]
    pub(crate) fn int(&self) -> i64 {
        let sign = self.sign as i64;
        (self.digits as i64 ^ -sign) + sign
    }

    /// Branch-free: the signs of coordinates are unpredictable.
    #[inline(always)]
    pub(crate) fn float(&self) -> f64 {
        signed(self.digits as i64 as f64 / TENS[self.fraction], self.sign)
    }
}

#[inline(always)]
fn signed(value: f64, sign: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ sign << 63)
}

/// The digits before the point.
struct IntegerPart {
    /// 1 if there is a sign, else 0.
    sign: usize,
    /// The end of the digits; 16 if they reach that far or further.
    end: usize,
    /// Mask of the sixteen bytes that are neither digits nor the sign.
    others: u32,
}

impl IntegerPart {
    /// The end of the digits after the point; more than 15 if they reach that far.
    #[inline(always)]
    fn end_of_fraction(&self) -> usize {
        (self.others & (self.others - 1)).trailing_zeros() as usize
    }
}

/// A number where an integer is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaybeInteger {
    /// Null is `None`.
    Integer(Option<i64>),
    Fraction(f64),
    /// Beyond 64 bits.
    TooLarge,
}

impl MaybeInteger {
    /// As a count: a fraction is null.
    pub fn count(self) -> Option<i64> {
        if let MaybeInteger::Integer(value) = self { value } else { None }
    }
    /// As a time: a fraction is rounded down.
    pub fn floor(self) -> Option<i64> {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        match self {
            MaybeInteger::Integer(value) => value,
            MaybeInteger::Fraction(value) => {
                Some(value.floor()).filter(|value| value.abs() < LIMIT).map(|value| value as i64)
            }
            MaybeInteger::TooLarge => None,
        }
    }
}

impl<'a> Cursor<'a> {
    /// An `Int64`: an integer in any notation, also in quotes; null is `None`.
    #[inline(always)]
    pub fn integer(&mut self) -> ReadResult<Option<i64>> {
        match self.short_integer() {
            Some(value) => Ok(Some(value)),
            None if self.consume_null() => Ok(None),
            None => self.with_copy(|cursor| cursor.numeric(whole_number)),
        }
    }

    /// A number where an integer is expected.
    pub fn whole(&mut self) -> ReadResult<MaybeInteger> {
        match self.integer() {
            Ok(value) => Ok(MaybeInteger::Integer(value)),
            Err(ErrorKind::Range) => self.with_copy(Self::validate).map(|()| MaybeInteger::TooLarge),
            Err(ErrorKind::Fraction) => match self.float() {
                Ok(value) => Ok(value.map_or(MaybeInteger::Integer(None), MaybeInteger::Fraction)),
                // The number exceeds the range of a float.
                Err(_) => self.with_copy(Self::validate).map(|()| MaybeInteger::TooLarge),
            },
            Err(error) => Err(error),
        }
    }

    /// A `Float64`: a number, also in quotes; null is `None`.
    #[inline(always)]
    pub fn float(&mut self) -> ReadResult<Option<f64>> {
        match self.short_float() {
            Some(value) => Ok(Some(value)),
            None if self.consume_null() => Ok(None),
            None => self.with_copy(|cursor| cursor.numeric(finite_number)),
        }
    }

    /// Consumes `true` or `false`; otherwise stays.
    #[inline(always)]
    pub fn bool_literal(&mut self) -> Option<bool> {
        let is_true = self.consume_literal(b"true");
        (is_true || self.consume_literal(b"false")).then_some(is_true)
    }

    /// A `Bool`: `true`, `false`, or 1 or 0 in any notation; null is `None`.
    pub fn boolean(&mut self) -> ReadResult<Option<bool>> {
        let start = *self;
        match self.peek_byte() {
            b't' | b'f' if let Some(value) = self.bool_literal() => Ok(Some(value)),
            b'0'..=b'9' | b'-' => match self.integer() {
                Ok(Some(0)) => Ok(Some(false)),
                Ok(Some(1)) => Ok(Some(true)),
                Err(ErrorKind::Number) => Err(ErrorKind::Number),
                _ => {
                    *self = start;
                    Err(ErrorKind::Expected(Expected::Boolean))
                }
            },
            _ => self.expect_null(Expected::Boolean).map(|()| None),
        }
    }

    /// An integer of up to 15 digits; otherwise stays.
    #[inline(always)]
    pub fn short_integer(&mut self) -> Option<i64> {
        // Most counters have one digit.
        let digit = self.peek_byte().wrapping_sub(b'0');
        if digit < 10 && matches!(self.peek(1), b',' | b'}') {
            self.advance(1);
            return Some(i64::from(digit));
        }
        let integer = self.integer_part()?;
        if matches!(self.peek(integer.end), b'.' | b'e' | b'E') {
            return None;
        }
        let value = ShortNumber { digits: self.digits_of(&integer)?, fraction: 0, sign: integer.sign as u64 }.int();
        self.advance(integer.end);
        Some(value)
    }

    /// The common forms: up to 15 digits, up to 8 of them after a point, no exponent. Otherwise stays.
    #[inline(always)]
    pub(super) fn short_number(&mut self) -> Option<ShortNumber> {
        let integer = self.integer_part()?;
        self.short_number_of(integer)
    }

    /// A number of the common forms as a float.
    #[inline(always)]
    pub fn short_float(&mut self) -> Option<f64> {
        const ZERO: [u64; 2] = [word_of(b".0,"), word_of(b".0}")];
        let integer = self.integer_part()?;
        let count = integer.end - integer.sign;
        // Most coordinates end in `.0`: no division is needed.
        if ZERO.contains(&simd::low_bytes(self.word(integer.end), 3)) && count <= 8 {
            let digits = simd::parse_digits(self.word(integer.sign), count);
            self.advance(integer.end + 2);
            return Some(signed(digits as i64 as f64, integer.sign as u64));
        }
        self.short_number_of(integer).map(|short| short.float())
    }

    #[inline(always)]
    fn short_number_of(&mut self, integer: IntegerPart) -> Option<ShortNumber> {
        let mut short = ShortNumber { digits: 0, fraction: 0, sign: integer.sign as u64 };
        let mut end = integer.end;
        if self.peek(end) == b'.' {
            end = integer.end_of_fraction();
            short.fraction = end - integer.end - 1;
            let count = end - integer.sign - 1;
            if short.fraction == 0 {
                return None;
            }
            short.digits = if count < 8 {
                // All in one word: move the digits after the point over it.
                let word = self.word(integer.sign);
                let behind = u64::MAX << (8 * (count - short.fraction));
                simd::parse_digits(word ^ ((word ^ word >> 8) & behind), count)
            } else if short.fraction <= 8 && end < 16 {
                let fraction = simd::parse_digits(self.word(integer.end + 1), short.fraction);
                self.digits_of(&integer)? * WHOLE_TENS[short.fraction] + fraction
            } else {
                return None;
            };
        } else {
            short.digits = self.digits_of(&integer)?;
        }
        if self.peek(end) | 0x20 == b'e' {
            return None;
        }
        self.advance(end);
        Some(short)
    }

    /// Skips a number of the common forms; otherwise stays.
    #[inline(always)]
    pub(crate) fn skip_short_number(&mut self) -> bool {
        let Some(integer) = self.integer_part() else { return false };
        let mut end = integer.end;
        if self.peek(end) == b'.' {
            end = integer.end_of_fraction();
        }
        let is_short = end < 16 && end != integer.end + 1 && self.peek(end) | 0x20 != b'e';
        if is_short {
            self.advance(end);
        }
        is_short
    }

    /// The digits before a point. Finds both ends of a number in one comparison, without branching on the sign.
    #[inline(always)]
    fn integer_part(&self) -> Option<IntegerPart> {
        let sign = usize::from(self.peek_byte() == b'-');
        let others = simd::non_digit_mask(self.bytes16(0)) & !(sign as u32);
        let end = others.trailing_zeros() as usize;
        let zero = (end - sign > 1) & (self.peek(sign) == b'0');
        if zero | (end == sign) { None } else { Some(IntegerPart { sign, end, others }) }
    }

    #[inline(always)]
    fn digits_of(&self, integer: &IntegerPart) -> Option<u64> {
        let IntegerPart { sign, end, .. } = *integer;
        if end - sign <= 8 {
            return Some(simd::parse_digits(self.word(sign), end - sign));
        }
        if end > 15 {
            return None;
        }
        let rest = end - sign - 8;
        Some(simd::parse_digits(self.word(sign), 8) * WHOLE_TENS[rest] + simd::parse_digits(self.word(sign + 8), rest))
    }

    /// Parses a number token, or a string that contains one, which may have leading zeros as ids do.
    #[cold]
    #[inline(never)]
    fn numeric<T>(&mut self, read: impl Fn(&[u8]) -> ReadResult<T>) -> ReadResult<Option<T>> {
        let start = *self;
        let value = match self.peek_byte() {
            b'"' => {
                let text = self.string()?;
                let digits = text.strip_prefix(b"-").unwrap_or(&text);
                if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) || is_number(&text) {
                    read(&text)
                } else {
                    Err(ErrorKind::NumericText)
                }
            }
            b'0'..=b'9' | b'-' => read(self.number_token()?.bytes()),
            _ => return self.expect_null(Expected::Number).map(|()| None),
        };
        value.map(Some).inspect_err(|_| *self = start)
    }

    /// The text of a number, checked against JSON's grammar.
    pub(crate) fn number_token(&mut self) -> ReadResult<Span<'a>> {
        let start = *self;
        if self.peek_byte() == b'-' {
            self.advance(1);
        }
        match self.peek_byte() {
            b'0' => {
                self.advance(1);
                if self.peek_byte().is_ascii_digit() {
                    return Err(ErrorKind::Number);
                }
            }
            _ => self.digits()?,
        }
        if self.peek_byte() == b'.' {
            self.advance(1);
            self.digits()?;
        }
        if self.peek_byte() | 0x20 == b'e' {
            self.advance(1);
            if matches!(self.peek_byte(), b'+' | b'-') {
                self.advance(1);
            }
            self.digits()?;
        }
        Ok(self.span_from(&start))
    }

    /// Skips one or more digits.
    fn digits(&mut self) -> ReadResult<()> {
        if !self.peek_byte().is_ascii_digit() {
            return Err(ErrorKind::Number);
        }
        while self.peek_byte().is_ascii_digit() {
            self.advance(1);
        }
        Ok(())
    }
}

const fn word_of(text: &[u8; 3]) -> u64 {
    u64::from_le_bytes([text[0], text[1], text[2], 0, 0, 0, 0, 0])
}

/// Whether a text is a JSON number.
fn is_number(text: &[u8]) -> bool {
    let body = super::Body::from(text);
    Cursor::new(&body.with_padding()).is_some_and(|mut c| c.number_token().is_ok() && c.is_at_end())
}

fn finite_number(token: &[u8]) -> ReadResult<f64> {
    let value = std::str::from_utf8(token).ok().and_then(|t| t.parse::<f64>().ok()).ok_or(ErrorKind::Number)?;
    if value.is_finite() { Ok(value) } else { Err(ErrorKind::Range) }
}

/// The exact integer that a number's text denotes; a detour over floats would round ids beyond 2^53.
fn whole_number(token: &[u8]) -> ReadResult<i64> {
    let (negative, token) = token.strip_prefix(b"-").map_or((false, token), |rest| (true, rest));
    let (mantissa, exponent) = match token.iter().position(|b| b | 0x20 == b'e') {
        Some(at) => (&token[..at], Some(&token[at + 1..])),
        None => (token, None),
    };
    let (integer, fraction) = match mantissa.iter().position(|b| *b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    let digits: Vec<u8> = integer.iter().chain(fraction).copied().collect();
    let significant = digits.iter().rposition(|d| *d != b'0').map_or(0, |last| last + 1);
    if significant == 0 {
        return Ok(0);
    }
    let exponent = match exponent.map(|e| std::str::from_utf8(e).unwrap_or_default().parse::<i64>()) {
        None => 0,
        Some(Ok(exponent)) => exponent,
        Some(Err(_)) => return Err(ErrorKind::Range),
    };
    // The value is the significant digits times ten to this power.
    let power = exponent.saturating_add(integer.len() as i64 - significant as i64);
    if power < 0 {
        return Err(ErrorKind::Fraction);
    }
    let mut value: i64 = 0;
    let zeros = std::iter::repeat_n(&b'0', usize::try_from(power.min(64)).unwrap_or(64));
    for digit in digits[..significant].iter().chain(zeros) {
        let digit = i64::from(digit - b'0');
        // Counts downwards, so that `i64::MIN` fits.
        value = value.checked_mul(10).and_then(|v| v.checked_sub(digit)).ok_or(ErrorKind::Range)?;
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or(ErrorKind::Range) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    fn with<T>(text: &str, read: impl FnOnce(&mut Cursor) -> T) -> (T, usize) {
        let body = Body::from(text.as_bytes());
        let padded_body = body.with_padding();
        let mut cursor = Cursor::new(&padded_body).unwrap();
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
    fn a_number_that_is_not_a_64_bit_integer_is_an_error() {
        for (text, fault) in [
            ("1.5", ErrorKind::Fraction),
            ("461e-1", ErrorKind::Fraction),
            ("1e-999999999999999999999", ErrorKind::Range),
            ("9223372036854775808", ErrorKind::Range),
            ("1e19", ErrorKind::Range),
            ("\"1.5\"", ErrorKind::Fraction),
            ("\"\"", ErrorKind::NumericText),
            ("\"-\"", ErrorKind::NumericText),
            ("\" 461\"", ErrorKind::NumericText),
            ("\"+461\"", ErrorKind::NumericText),
            ("\"0x10\"", ErrorKind::NumericText),
            ("true", ErrorKind::Expected(Expected::Number)),
            ("[1]", ErrorKind::Expected(Expected::Number)),
            ("+1", ErrorKind::Expected(Expected::Number)),
            (".5", ErrorKind::Expected(Expected::Number)),
            ("NaN", ErrorKind::Expected(Expected::Number)),
        ] {
            assert_eq!(with(text, |c| c.integer()), (Err(fault), 0), "{text}");
        }
        for text in ["007", "-01", "00", "00.5", "-00.5", "12.e5", "1.", "-1.", "-", "--1", "1e", "1e+", "-.5", "1.5E"]
        {
            assert_eq!(with(text, |c| c.integer()).0, Err(ErrorKind::Number), "{text}");
            assert_eq!(with(text, |c| c.float()).0, Err(ErrorKind::Number), "{text}");
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
        assert_eq!(with("1e999", |c| c.float()), (Err(ErrorKind::Range), 0));
        assert_eq!(with("\"nan\"", |c| c.float()), (Err(ErrorKind::NumericText), 0));
    }

    #[test]
    fn a_fraction_of_zero_is_read_like_any_other() {
        for integer in
            ["0", "7", "12", "754", "12345678", "123456789", "123456789012", "12345678901234", "123456789012345"]
        {
            for (sign, after) in ["", "-"].into_iter().flat_map(|s| ["", "0", "5", "e1", "E-1"].map(move |a| (s, a))) {
                for end in [",", "}", "]", " ", ""] {
                    let number = format!("{sign}{integer}.0{after}");
                    let nearest: f64 = number.parse().unwrap();
                    let (value, at) = with(&format!("{number}{end}"), |c| c.float());
                    assert_eq!((value.unwrap().unwrap().to_bits(), at), (nearest.to_bits(), number.len()), "{number}");
                }
            }
        }
        for text in ["00.0,", "-00.0,", ".0,", "-.0,", "1.,", "01.0}"] {
            assert!(with(text, |c| c.float()).0.is_err(), "{text}");
        }
    }

    #[test]
    fn one_digit_is_a_whole_number_where_it_stands_alone() {
        for (text, value) in [("7,", Some(7)), ("0}", Some(0)), ("7]", Some(7)), ("7 ,", Some(7)), ("70,", Some(70))] {
            assert_eq!(with(text, |c| c.short_integer()).0, value, "{text}");
        }
        for text in ["7.5,", "7e1,", "x,", "/,", ":}", ",,", "\"7\"", "07,"] {
            assert_eq!(with(text, |c| c.short_integer()), (None, 0), "{text}");
        }
    }

    #[test]
    fn a_number_of_any_length_is_read_to_its_end() {
        let step = if cfg!(miri) { 5 } else { 1 };
        for (integer, fraction) in (1..=18).flat_map(|integer| (0..=17).step_by(step).map(move |f| (integer, f))) {
            for (sign, after) in
                ["", "-"].into_iter().flat_map(|sign| ["", ",", "}", "\n", "e1", "E-1,"].map(|a| (sign, a)))
            {
                let digits = |from: usize, count| (from..from + count).map(|i| char::from(b'1' + (i * 7 % 9) as u8));
                let mut text: String = sign.chars().chain(digits(0, integer)).collect();
                if fraction > 0 {
                    text.push('.');
                    text.extend(digits(integer, fraction));
                }
                let number = format!("{text}{}", after.trim_end_matches([',', '}', '\n']));
                let text = format!("{text}{after}");
                let nearest: f64 = number.parse().unwrap();
                assert_eq!(
                    with(&text, |c| c.float().map(|v| v.map(f64::to_bits))),
                    (Ok(Some(nearest.to_bits())), number.len()),
                    "{text}"
                );
                let (is_short, end) = with(&text, |c| c.skip_short_number());
                assert_eq!(end, if is_short { number.len() } else { 0 }, "{text}");
                assert_eq!(is_short, !number.contains(['e', 'E']) && number.len() < 16, "{text}");
                if let Ok(integer) = number.parse::<i64>() {
                    assert_eq!(with(&text, |c| c.integer()), (Ok(Some(integer)), number.len()), "{text}");
                } else if !number.contains(['e', 'E']) {
                    assert!(with(&text, |c| c.integer()).0.is_err(), "{text}");
                }
            }
        }
    }
}
