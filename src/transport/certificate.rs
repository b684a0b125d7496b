//! The two things of a server's certificate that its reader wants to know: who issued it, and until when. It decides
//! nothing: whether a certificate is valid is for the TLS library.

use chrono::NaiveDateTime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its issuer's name: what is common to people, else the organization.
    pub issuer: String,
    /// Epoch seconds.
    pub not_after: i64,
}

const SEQUENCE: u8 = 0x30;
const EXPLICIT_VERSION: u8 = 0xA0;
const BMP_STRING: u8 = 0x1E;
const UTC_TIME: u8 = 0x17;
/// CN, O, OU (2.5.4.3, .10, .11).
const NAMES: [&[u8]; 3] = [&[0x55, 4, 3], &[0x55, 4, 10], &[0x55, 4, 11]];

/// Reads a certificate in DER; `None` where it is none.
pub fn read(der: &[u8]) -> Option<Certificate> {
    let whole = expect(&mut { der }, SEQUENCE)?;
    let fields = &mut expect(&mut { whole }, SEQUENCE)?;
    if fields.first() == Some(&EXPLICIT_VERSION) {
        element(fields)?;
    }
    element(fields)?; // serial number
    element(fields)?; // algorithm
    let issuer = name(expect(fields, SEQUENCE)?)?;
    let validity = &mut expect(fields, SEQUENCE)?;
    element(validity)?; // not before
    let (tag, text) = element(validity)?;
    Some(Certificate { issuer, not_after: time(tag, text)? })
}

/// Takes one element: its tag and content.
fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7F)).filter(|(bytes, _)| bytes.len() <= 4)?;
        rest = after;
        bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some((tag, content))
}

fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    element(input).filter(|(found, _)| *found == tag).map(|(_, content)| content)
}

fn name(mut sets: &[u8]) -> Option<String> {
    let mut found = Vec::new();
    while let Some((_, set)) = element(&mut sets) {
        let pair = &mut expect(&mut { set }, SEQUENCE)?;
        let (_, kind) = element(pair)?;
        found.push((kind, element(pair)?));
    }
    let text = NAMES.iter().find_map(|wanted| found.iter().find(|(kind, _)| kind == wanted)).map(|(_, text)| text)?;
    let decoded = match *text {
        (BMP_STRING, wide) => {
            let units: Vec<u16> = wide.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        (_, bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    // It is the peer's text: one line, and not a long one.
    Some(decoded.chars().filter(|c| !c.is_control()).take(120).collect())
}

/// `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from then on (RFC 5280, 4.1.2.5).
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let century = match tag {
        UTC_TIME if text.get(..2)?.parse::<u8>().ok()? >= 50 => "19",
        UTC_TIME => "20",
        _ => "",
    };
    let time = NaiveDateTime::parse_from_str(&format!("{century}{text}"), "%Y%m%d%H%M%SZ").ok()?;
    Some(time.and_utc().timestamp())
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};

    fn fixture() -> Vec<u8> {
        let pem = include_str!("../../tests/tls/server.pem");
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        STANDARD.decode(body).unwrap()
    }

    #[test]
    fn the_issuer_and_the_end_of_a_certificate_are_read() {
        // openssl x509 -in tests/tls/server.pem -noout -issuer -enddate
        assert_eq!(
            read(&fixture()).unwrap(),
            Certificate { issuer: "sideline test authority".into(), not_after: 4_948_826_119 }
        );
    }

    #[test]
    fn both_forms_of_time_are_read() {
        // date -u -d '2049-12-31 23:59:59' +%s
        assert_eq!(time(UTC_TIME, b"491231235959Z"), Some(2_524_607_999));
        assert_eq!(time(UTC_TIME, b"500101000000Z"), Some(-631_152_000));
        assert_eq!(time(0x18, b"20500101000000Z"), Some(2_524_608_000));
        assert_eq!(time(UTC_TIME, "4912312359é".as_bytes()), None);
    }

    #[test]
    fn what_is_cut_or_damaged_is_none_or_something_but_no_panic() {
        let whole = fixture();
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), None);
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let _ = read(&damaged);
            }
        }
    }
}
