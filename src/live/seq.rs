//! Where a message says its number and its source. Pure.

use memchr::memmem;

/// A message's own number and source stand on its envelope, or in what that holds. What lies deeper, or in a list, numbers
/// something else, and to take it for the message's number would make duplicates of messages that are none.
const DEEPEST: usize = 3;

/// What a message says of itself (facts 4: where is not documented).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks<'a> {
    pub seq: Option<i64>,
    /// As it stands between its quotes.
    pub source: Option<&'a str>,
}

/// The integer at the shallowest key `seq` and the text at the shallowest key `source`; the first of those that lie equally
/// deep. Reads no further than the last of these keys.
pub fn marks(text: &str) -> Marks<'_> {
    let bytes = text.as_bytes();
    let last = |key: &[u8]| memmem::rfind(bytes, key);
    let Some(end) = last(br#""seq""#).max(last(br#""source""#)) else { return Marks::default() };
    let mut found = Marks::default();
    let (mut seq_depth, mut source_depth) = (usize::MAX, usize::MAX);
    // Lists around the place, and objects.
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
                if lists == 0 && (1..=DEEPEST).contains(&depth) && (key == "seq" || key == "source") {
                    let Some(value) = value(bytes, after) else { continue };
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

/// Where the string ends whose first byte is at `at`: at its closing quote.
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

/// Where the value of a key begins that ends before `at`; `None`: it was a text and no key.
fn value(bytes: &[u8], at: usize) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn seq(text: &str) -> Option<i64> {
        marks(text).seq
    }

    #[test]
    fn the_number_is_found_wherever_it_stands_on_the_envelope() {
        assert_eq!(seq(r#"{"seq":5}"#), Some(5));
        assert_eq!(seq("{ \"a\" : [1,{\"b\":2}], \"seq\"\t:\n -7 }"), Some(-7));
        assert_eq!(seq(r#"{"type":"stats","data":{"x":{},"seq":9}}"#), Some(9));
        assert_eq!(seq(r#"{"data":{"seq":1},"seq":2}"#), Some(2), "the shallowest");
        assert_eq!(seq(r#"{"seq":2,"data":{"seq":1}}"#), Some(2), "the shallowest");
        assert_eq!(seq(r#"{"a":{"seq":1},"b":{"seq":2}}"#), Some(1), "the first");
        assert_eq!(seq(r#"{"seq":9223372036854775807}"#), Some(i64::MAX));
    }

    #[test]
    fn what_is_no_integer_or_no_key_is_not_the_number() {
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
        assert_eq!(seq(r#"{"seq":"x","data":{"seq":4}}"#), Some(4), "a text there hides no number below");
    }

    #[test]
    fn what_numbers_the_plays_of_a_message_does_not_number_the_message() {
        assert_eq!(seq(r#"{"plays":[{"seq":1},{"seq":2}]}"#), None);
        assert_eq!(seq(r#"[{"seq":1}]"#), None);
        assert_eq!(seq(r#"{"a":{"b":{"seq":3}}}"#), Some(3));
        assert_eq!(seq(r#"{"a":{"b":{"c":{"seq":4}}}}"#), None);
    }

    #[test]
    fn the_source_is_found_likewise() {
        assert_eq!(marks(r#"{"source":"marker","seq":1}"#), Marks { seq: Some(1), source: Some("marker") });
        assert_eq!(marks(r#"{"data":{"source":"x"},"source":"clock"}"#).source, Some("clock"));
        assert_eq!(marks(r#"{"source":{"source":"x"}}"#).source, Some("x"));
        assert_eq!(marks(r#"{"source":"a\"b"}"#).source, Some(r#"a\"b"#));
        assert_eq!(marks(r#"{"source":5}"#).source, None);
    }

    proptest! {
        #[test]
        fn any_text_has_marks_or_none_and_no_panic(text in r#"[\[\]{}":, \\seqource0-9é-]{0,60}"#) {
            marks(&text);
        }
    }
}
