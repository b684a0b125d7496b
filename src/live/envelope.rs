//! Finds a message's sequence number, source and content. Pure.

use memchr::memmem;
use reader::{Body, Value};
use std::sync::Arc;

/// Depth to which `seq` and `source` belong to the message itself. Deeper ones, and those in lists, number something else;
/// mistaking them for the sequence number would drop messages as repeats.
const MAX_DEPTH: usize = 3;

/// The sequence number and source of a message, and what it says. Their place is not documented (docs/wire.md, "Websocket").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvelopeFields {
    pub seq: Option<i64>,
    pub source: Option<Arc<str>>,
    /// The value of `data` beside the number, without what changes with each delivery; `None`: the whole message counts.
    pub content: Option<Vec<u8>>,
}

/// Reads the integer at the shallowest key `seq` and the string at the shallowest key `source`; the first one wins at equal depth.
pub fn read_envelope(text: &str) -> EnvelopeFields {
    let is_mentioned = |key: &str| memmem::find(text.as_bytes(), key.as_bytes()).is_some();
    if !is_mentioned("\"seq\"") && !is_mentioned("\"source\"") {
        return EnvelopeFields::default();
    }
    let body = Body::from(text.as_bytes());
    let padded_body = body.with_padding();
    Value::of(&body, &padded_body).map(|message| of_message(&message)).unwrap_or_default()
}

fn of_message(message: &Value<'_>) -> EnvelopeFields {
    let mut fields = EnvelopeFields::default();
    let mut objects = vec![*message];
    for _ in 0..MAX_DEPTH {
        let mut nested = Vec::new();
        let (has_seq, has_source) = (fields.seq.is_some(), fields.source.is_some());
        for (key, value) in objects.iter().flat_map(Value::members) {
            match &*key {
                b"seq" if !has_seq => fields.seq = fields.seq.or(value.integer()),
                b"source" if !has_source && fields.source.is_none() => fields.source = value.text().map(Into::into),
                _ => {}
            }
            if value.is_object() {
                nested.push(value);
            }
        }
        objects = nested;
    }
    // A number inside of `data` is not that of an envelope around it.
    let is_around = message.members().any(|(key, value)| &*key == b"seq" && value.integer().is_some());
    fields.content = message.get("data").filter(|_| is_around).map(|data| data.raw().to_vec());
    fields
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
        let source = |text: &str| read_envelope(text).source;
        assert_eq!(source(r#"{"source":"marker","seq":1}"#).as_deref(), Some("marker"));
        assert_eq!(source(r#"{"data":{"source":"x"},"source":"clock"}"#).as_deref(), Some("clock"));
        assert_eq!(source(r#"{"source":{"source":"x"}}"#).as_deref(), Some("x"));
        assert_eq!(source(r#"{"source":"a\"b\u00e9"}"#).as_deref(), Some("a\"bé"));
        assert_eq!(source(r#"{"source":5}"#), None);
    }

    #[test]
    fn the_content_is_the_data_alone() {
        let content = |text: &str| read_envelope(text).content.map(|content| String::from_utf8(content).unwrap());
        assert_eq!(content(r#"{"seq":1,"sent_at":5,"data":{"n": 1}}"#).as_deref(), Some(r#"{"n": 1}"#));
        assert_eq!(content(r#"{"seq":1,"data":"x"}"#).as_deref(), Some("\"x\""));
        assert_eq!(content(r#"{"n":1,"data":{"seq":1}}"#), None);
        assert_eq!((content(r#"{"seq":1,"n":1}"#), content(r#"{"source":"a","data":1}"#)), (None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in r#"[\[\]{}":, \\seqource0-9é-]{0,60}"#) {
            read_envelope(&text);
        }
    }
}
