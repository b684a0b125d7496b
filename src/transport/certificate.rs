//! Reads the issuer and the expiry of a server's certificate for display. The TLS library decides whether it is valid.

use chrono::NaiveDateTime;

const SEQUENCE: u8 = 0x30;
const EXPLICIT_VERSION: u8 = 0xA0;
const BMP_STRING: u8 = 0x1E;
const UTC_TIME: u8 = 0x17;
/// Object ids of the CN, O and OU of a name (2.5.4.3, .10, .11), in order of preference.
const NAME_ATTRIBUTES: [&[u8]; 3] = [&[0x55, 4, 3], &[0x55, 4, 10], &[0x55, 4, 11]];

/// The issuer's common name, or its organization, and the expiry in epoch seconds; `None` if `der` is no certificate.
pub fn parse(der: &[u8]) -> Option<(String, i64)> {
    let signed = read_tagged(&mut { der }, SEQUENCE)?;
    let fields = &mut read_tagged(&mut { signed }, SEQUENCE)?;
    if fields.first() == Some(&EXPLICIT_VERSION) {
        read_element(fields)?;
    }
    read_element(fields)?; // serial number
    read_element(fields)?; // algorithm
    let issuer = read_name(read_tagged(fields, SEQUENCE)?)?;
    let validity = &mut read_tagged(fields, SEQUENCE)?;
    read_element(validity)?; // not before
    let (tag, text) = read_element(validity)?;
    Some((issuer, parse_time(tag, text)?))
}

/// Reads the next element: its tag and content.
fn read_element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let (bytes, tail) = rest.split_at_checked(usize::from(first & 0x7F)).filter(|(bytes, _)| bytes.len() <= 4)?;
        rest = tail;
        bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some((tag, content))
}

fn read_tagged<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    read_element(input).filter(|(actual, _)| *actual == tag).map(|(_, content)| content)
}

fn read_name(mut sets: &[u8]) -> Option<String> {
    let mut attributes = Vec::new();
    while let Some((_, set)) = read_element(&mut sets) {
        let attribute = &mut read_tagged(&mut { set }, SEQUENCE)?;
        let (_, oid) = read_element(attribute)?;
        attributes.push((oid, read_element(attribute)?));
    }
    let value = |oid: &&[u8]| attributes.iter().find(|(other, _)| other == oid).map(|(_, value)| *value);
    let name = match NAME_ATTRIBUTES.iter().find_map(value)? {
        (BMP_STRING, wide) => {
            let units: Vec<u16> = wide.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        (_, bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    // Untrusted text: keep it on one short line.
    Some(name.chars().filter(|c| !c.is_control()).take(120).collect())
}

/// `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` after that (RFC 5280, 4.1.2.5).
fn parse_time(tag: u8, text: &[u8]) -> Option<i64> {
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
    fn the_issuer_and_expiry_of_a_certificate_are_parsed() {
        // openssl x509 -in tests/tls/server.pem -noout -issuer -enddate
        assert_eq!(parse(&fixture()), Some(("sideline test authority".into(), 4_948_826_119)));
    }

    #[test]
    fn both_formats_of_time_are_parsed() {
        // date -u -d '2049-12-31 23:59:59' +%s
        assert_eq!(parse_time(UTC_TIME, b"491231235959Z"), Some(2_524_607_999));
        assert_eq!(parse_time(UTC_TIME, b"500101000000Z"), Some(-631_152_000));
        assert_eq!(parse_time(0x18, b"20500101000000Z"), Some(2_524_608_000));
        assert_eq!(parse_time(UTC_TIME, "4912312359é".as_bytes()), None);
    }

    #[test]
    fn truncated_or_damaged_certificates_do_not_panic() {
        let der = fixture();
        for end in 0..der.len() {
            assert_eq!(parse(&der[..end]), None);
        }
        for at in 0..der.len() {
            for bit in 0..8 {
                let mut corrupt_der = der.clone();
                corrupt_der[at] ^= 1 << bit;
                let _ = parse(&corrupt_der);
            }
        }
    }
}
