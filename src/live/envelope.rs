//! Finds a message's sequence number and source, without parsing all of it. Pure.

use memchr::memmem;
use std::borrow::Cow;

/// Depth to which `seq` and `source` belong to the message itself. Deeper ones, and those in lists, number something else;
/// mistaking them for the sequence number would drop messages as repeats.
const MAX_DEPTH: usize = 3;

/// The sequence number and source of a message. Their place is not documented (docs/wire.md, "Websocket").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvelopeFields<'a> {
    pub seq: Option<i64>,
    /// The raw text between the quotes; see `unescape`.
    pub source: Option<&'a str>,
}

/// Reads the integer at the shallowest key `seq` and the string at the shallowest key `source`; the first one wins at equal depth.
/// Stops after the last of these keys.
pub fn read_envelope(text: &str) -> EnvelopeFields<'_> {
    let bytes = text.as_bytes();
    let last = |key: &[u8]| memmem::rfind(bytes, key);
    let Some(end) = last(br#""seq""#).max(last(br#""source""#)) else { return EnvelopeFields::default() };
    let mut found = EnvelopeFields::default();
    let (mut seq_depth, mut source_depth) = (usize::MAX, usize::MAX);
    // Enclosing lists and objects.
    let (mut lists, mut depth) = (0_usize, 0_usize);
    let mut at = 0;
    while at <= end && (seq_depth > 1 || source_depth > 1) {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'[' => lists += 1,
            b']' => lists = lists.saturating_sub(1),
            b'"' => {
                let Some(close) = string_end(bytes, at + 1) else { break };
                let (key, after) = (&text[at + 1..close], close + 1);
                at = after;
                if lists == 0 && (1..=MAX_DEPTH).contains(&depth) && (key == "seq" || key == "source") {
                    let Some(value) = value_start(bytes, after) else { continue };
                    if key == "seq" && depth < seq_depth {
                        if let Some(seq) = integer(&text[value..]) {
                            (found.seq, seq_depth) = (Some(seq), depth);
                        }
                    } else if key == "source"
                        && depth < source_depth
                        && bytes.get(value) == Some(&b'"')
                        && let Some(close) = string_end(bytes, value + 1)
                    {
                        (found.source, source_depth) = (Some(&text[value + 1..close]), depth);
                    }
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The index of the quote that closes the string whose content starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}

/// The index of the value of the key that ends before `at`; `None` if that string is not a key.
fn value_start(bytes: &[u8], at: usize) -> Option<usize> {
    let skip = |at: usize| at + bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let colon = skip(at);
    (bytes.get(colon) == Some(&b':')).then(|| skip(colon + 1))
}

fn integer(text: &str) -> Option<i64> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'-').unwrap_or(text.len());
    match text.as_bytes().get(end) {
        Some(b'.' | b'e' | b'E') => None,
        _ => text[..end].parse().ok(),
    }
}

/// Decodes the text between the quotes of a JSON string.
pub(super) fn unescape(inside: &str) -> Cow<'_, str> {
    match inside.contains('\\') {
        false => Cow::Borrowed(inside),
        true => serde_json::from_str(&format!("\"{inside}\"")).map_or(Cow::Borrowed(inside), Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn seq(text: &str) -> Option<i64> {
        read_envelope(text).seq
    }

    #[test]
    fn the_number_is_found_anywhere_in_the_envelope() {
        assert_eq!(seq(r#"{"seq":5}"#), Some(5));
        assert_eq!(seq("{ \"a\" : [1,{\"b\":2}], \"seq\"\t:\n -7 }"), Some(-7));
        assert_eq!(seq(r#"{"type":"stats","data":{"x":{},"seq":9}}"#), Some(9));
        assert_eq!(seq(r#"{"data":{"seq":1},"seq":2}"#), Some(2), "the shallowest");
        assert_eq!(seq(r#"{"seq":2,"data":{"seq":1}}"#), Some(2), "the shallowest");
        assert_eq!(seq(r#"{"a":{"seq":1},"b":{"seq":2}}"#), Some(1), "the first");
        assert_eq!(seq(r#"{"seq":9223372036854775807}"#), Some(i64::MAX));
    }

    #[test]
    fn only_an_integer_at_a_key_is_the_number() {
        for text in [
            "",
            "seq",
            r#""seq""#,
            r#"{"seq":"5"}"#,
            r#"{"seq":5.5}"#,
            r#"{"seq":5e3}"#,
            r#"{"seq":null}"#,
            r#"{"seq":99999999999999999999}"#,
            r#"{"a":"seq","b":5}"#,
            r#"{"a":"\"seq\":5"}"#,
            r#"{"a\\\"seq":5}"#,
            r#"{"SEQ":5,"seqs":6}"#,
            r#"{"seq""#,
            r#"{"seq":"#,
            r#"{"seq"#,
            "{\"a\\",
        ] {
            assert_eq!(seq(text), None, "{text}");
        }
        assert_eq!(
            seq(r#"{"seq":"x","data":{"seq":4}}"#),
            Some(4),
            "a string at the shallower key does not hide the deeper number"
        );
    }

    #[test]
    fn numbers_in_lists_or_deep_objects_are_ignored() {
        assert_eq!(seq(r#"{"plays":[{"seq":1},{"seq":2}]}"#), None);
        assert_eq!(seq(r#"[{"seq":1}]"#), None);
        assert_eq!(seq(r#"{"a":{"b":{"seq":3}}}"#), Some(3));
        assert_eq!(seq(r#"{"a":{"b":{"c":{"seq":4}}}}"#), None);
    }

    #[test]
    fn the_source_is_found_in_the_same_places() {
        assert_eq!(
            read_envelope(r#"{"source":"marker","seq":1}"#),
            EnvelopeFields { seq: Some(1), source: Some("marker") }
        );
        assert_eq!(read_envelope(r#"{"data":{"source":"x"},"source":"clock"}"#).source, Some("clock"));
        assert_eq!(read_envelope(r#"{"source":{"source":"x"}}"#).source, Some("x"));
        assert_eq!(read_envelope(r#"{"source":"a\"b"}"#).source, Some(r#"a\"b"#));
        assert_eq!(read_envelope(r#"{"source":5}"#).source, None);
    }

    #[test]
    fn a_source_is_unescaped_like_json() {
        assert_eq!(unescape("marker"), "marker");
        assert_eq!(unescape(r#"a\"b\u00e9"#), "a\"bé");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in r#"[\[\]{}":, \\seqource0-9é-]{0,60}"#) {
            read_envelope(&text);
        }
    }
}
