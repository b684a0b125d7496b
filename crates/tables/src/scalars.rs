//! Columns computed from the text of one value, by pure functions.

use super::declaration::Ty;
use memchr::memchr;
use reader::Span;

/// Seconds of a clock: `[h:]m:s[.f]` or `s[.f]`, digits only. The float nearest to the text: `12:30.1` is `750.1`.
#[inline(always)]
pub(crate) fn clock_seconds(text: Span) -> Option<f64> {
    match usual_tenths(text) {
        Some(tenths) => Some(f64::from(tenths) / 10.0),
        None => any_clock(text.bytes()),
    }
}

/// Tenths of a second of a clock in the service's usual form: `[[[m]m]m:s]s.f`.
#[inline(always)]
fn usual_tenths(text: Span) -> Option<u32> {
    const TEMPLATE: u64 = u64::from_le_bytes(*b"000:00.0");
    // The distance of the largest digit, and of a separator, to 0x80.
    const LACKS: u64 = u64::from_le_bytes([0x76, 0x76, 0x76, 0x7F, 0x76, 0x76, 0x7F, 0x76]);
    // A text of five would begin with the colon.
    if !matches!(text.len(), 3 | 4 | 6..=8) {
        return None;
    }
    // The last byte becomes the highest; missing leading bytes count as zeros.
    let shift = 8 * (8 - text.len() as u32);
    let values = (text.word(0) << shift ^ TEMPLATE) >> shift << shift;
    if (values.wrapping_add(LACKS) | values) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let digit = |place: u32| (values >> (8 * place)) as u32 & 0xFF;
    let minutes = digit(0) * 100 + digit(1) * 10 + digit(2);
    Some((minutes * 60 + digit(4) * 10 + digit(5)) * 10 + digit(7))
}

/// A clock of any form, part by part.
#[inline(never)]
pub fn any_clock(text: &[u8]) -> Option<f64> {
    let (mut total, mut part, mut colons, mut fraction, mut digits) = (0u64, 0u64, 0, None, 0);
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                part = part.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                digits += 1;
            }
            b':' if digits > 0 && colons < 2 && fraction.is_none() => {
                total = total.checked_add(part)?.checked_mul(60)?;
                (part, digits, colons) = (0, 0, colons + 1);
            }
            b'.' if digits > 0 && fraction.is_none() => {
                total = total.checked_add(part)?;
                (part, digits, fraction) = (0, 0, Some(()));
            }
            _ => return None,
        }
    }
    if digits == 0 {
        return None;
    }
    if fraction.is_none() {
        return Some((total.checked_add(part)?) as f64);
    }
    const TENS: [f64; 7] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
    match TENS.get(digits) {
        // Both are integers below 2^53, so the quotient is rounded once.
        Some(tens) if total < 1 << 32 => Some((total as f64 * tens + part as f64) / tens),
        _ => format!("{total}.{part:0digits$}").parse().ok(),
    }
}

/// The value of a query parameter of a link.
fn parameter_of<'a>(link: &'a str, parameter: &str) -> Option<&'a str> {
    // By memchr, which searches texts as short as these in a fraction of the time of `str::split`.
    let before = |byte, text: &'a str| memchr(byte, text.as_bytes()).map(|at| (&text[..at], &text[at + 1..]));
    let (_, query) = before(b'?', link)?;
    let mut query = before(b'#', query).map_or(query, |(query, _)| query);
    loop {
        let (pair, rest) = before(b'&', query).map_or((query, None), |(pair, rest)| (pair, Some(rest)));
        if let Some(value) = pair.strip_prefix(parameter).and_then(|pair| pair.strip_prefix('=')) {
            return Some(value);
        }
        query = rest?;
    }
}

/// The query parameter of a column's type, as milliseconds.
pub fn link_ms(link: &[u8], ty: Ty) -> Option<i64> {
    let value = parameter_of(std::str::from_utf8(link).ok()?, if ty == Ty::LinkTo { "to" } else { "from" })?;
    value.bytes().all(|b| b.is_ascii_digit()).then(|| value.parse().ok())?
}

/// A query parameter of the first of several links joined by spaces; an empty value is `None`.
pub fn link_text<'a>(links: &'a [u8], parameter: &str) -> Option<&'a [u8]> {
    let first = std::str::from_utf8(links).ok()?.split(' ').next()?;
    parameter_of(first, parameter).filter(|value| !value.is_empty()).map(str::as_bytes)
}

/// Whether a shot went in, in the words of the resource of game shots.
pub fn is_make(word: &[u8]) -> Option<bool> {
    match word {
        b"MAKE" => Some(true),
        b"MISS" => Some(false),
        _ => None,
    }
}

/// The parts before and after the first `@`.
pub(crate) fn split_at_sign(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|b| *b == b'@')?;
    Some((&text[..at], &text[at + 1..]))
}

/// Ids sorted as numbers, joined by `-`.
pub fn lineup_id(ids: &mut [i64], text: &mut Vec<u8>) {
    ids.sort_unstable();
    // Formatting by the standard library took half of the time of a body full of lineups.
    let mut digits = itoa::Buffer::new();
    for (place, id) in ids.iter().enumerate() {
        if place > 0 {
            text.push(b'-');
        }
        text.extend_from_slice(digits.format(*id).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{Body, Cursor};

    #[test]
    fn a_parameter_of_a_link_is_found_by_its_whole_name_before_the_fragment() {
        for (link, from) in [
            ("/v1/x?from=12&to=3", Some(12)),
            ("/v1/x?to=3&from=12", Some(12)),
            ("/v1/x?from=12#from=4", Some(12)),
            ("/v1/x?é=1&xfrom=2&from=12", Some(12)),
            ("/v1/x?from&from=12", Some(12)),
            ("/v1/x?from=&from=12", None),
            ("/v1/x?to=3#from=12", None),
            ("/v1/x?from=1x", None),
            ("/v1/x?fromage=1", None),
            ("/v1/x?", None),
            ("from=12", None),
        ] {
            assert_eq!(link_ms(link.as_bytes(), Ty::LinkFrom), from, "{link}");
        }
        assert_eq!(link_text(b"/a?from=1%202 /b?from=3", "from"), Some(&b"1%202"[..]));
        assert_eq!(link_text(b"/a?from= /b?from=3", "from"), None);
    }

    /// The seconds of a text; checks that the fast and the slow way agree.
    fn clock(text: &str) -> Option<f64> {
        let body = Body::from(format!("\"{text}\"").as_bytes());
        let padded_body = body.with_padding();
        let seconds = clock_seconds(Cursor::new(&padded_body).unwrap().plain_string().unwrap());
        assert_eq!(seconds, any_clock(text.as_bytes()), "{text}");
        seconds
    }

    #[test]
    fn a_clock_is_seconds_to_the_nearest_float() {
        for (text, seconds) in [
            ("12:30.0", 750.0),
            ("12:30.1", 750.1),
            ("1:2.3", 62.3),
            ("02.00", 2.0),
            ("4.5", 4.5),
            ("24.5", 24.5),
            ("1234.5", 1234.5),
            ("123:04.5", 7384.5),
            ("00:15:00", 900.0),
            ("1:00:00.25", 3600.25),
            ("0", 0.0),
            ("9", 9.0),
            ("0:00.1000000000000000055", 0.1),
            ("4294967296.1", 4294967296.1),
            ("0.0000001", 1e-7),
        ] {
            assert_eq!(clock(text), Some(seconds), "{text}");
        }
        for tenth in (0..36_000u32).step_by(if cfg!(miri) { 997 } else { 1 }) {
            let text = format!("{}:{:02}.{}", tenth / 600, tenth / 10 % 60, tenth % 10);
            let nearest: f64 = format!("{}.{}", tenth / 10, tenth % 10).parse().unwrap();
            assert_eq!(clock(&text), Some(nearest), "{text}");
        }
    }

    #[test]
    fn a_clock_that_cannot_be_read_is_none() {
        for text in [
            "",
            ":",
            "12:",
            ":30",
            ":30.5",
            "1:3:.5",
            "12:3.:5",
            "1:2:3:4",
            "1.2.3",
            "1.",
            ".5",
            "-1:00",
            "12:3O",
            " 1:00",
            "1.5:00",
            "END",
            "99999999999999999999:00",
        ] {
            assert_eq!(clock(text), None, "{text}");
        }
    }

    #[test]
    fn a_link_gives_its_parameter_and_no_other() {
        let link = b"https://api.example/v1/data/sensors/locations?id=a&to=2&from=1700000000123#x";
        assert_eq!(link_ms(link, Ty::LinkFrom), Some(1_700_000_000_123));
        assert_eq!(link_ms(link, Ty::LinkTo), Some(2));
        assert_eq!(link_ms(b"https://api.example/from=1", Ty::LinkFrom), None);
        assert_eq!(link_ms(b"https://api.example/?from=", Ty::LinkFrom), None);
        assert_eq!(link_ms(b"https://api.example/?from=1x", Ty::LinkFrom), None);
    }

    #[test]
    fn of_several_links_the_first_gives_its_text() {
        let links = b"https://api.example/l?from=1&id=s-1 https://api.example/l?id=s-2";
        assert_eq!(link_text(links, "id"), Some(&b"s-1"[..]));
        assert_eq!(link_text(b"https://api.example/l?from=1 https://api.example/l?id=s-2", "id"), None);
        assert_eq!(link_text(b"https://api.example/l?id=&from=1", "id"), None);
        assert_eq!(link_text(b"", "id"), None);
        assert_eq!(link_text(links, "i"), None);
    }

    #[test]
    fn a_location_id_splits_at_its_first_at_sign() {
        assert_eq!(split_at_sign(b"a@b@c"), Some((&b"a"[..], &b"b@c"[..])));
        assert_eq!(split_at_sign(b"@b"), Some((&b""[..], &b"b"[..])));
        assert_eq!(split_at_sign(b"/a/b"), None);
    }

    #[test]
    fn a_lineup_is_sorted_as_numbers() {
        let lineup = |ids: &mut [i64]| {
            let mut text = b"at ".to_vec();
            lineup_id(ids, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(lineup(&mut [10, 9, -1, 100]), "at -1-9-10-100");
        assert_eq!(lineup(&mut []), "at ");
        assert_eq!(lineup(&mut [i64::MAX, 0, i64::MIN]), format!("at {}-0-{}", i64::MIN, i64::MAX));
        for power in (0..19).map(|power| 10i64.pow(power)) {
            for id in [power - 1, power, power + 1, 7 * power + power / 3] {
                assert_eq!(lineup(&mut [id]), format!("at {id}"));
            }
        }
    }
}
