//! Fuzz targets: arbitrary bytes, decoded by the product and by slow reference implementations.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::envelope::read_envelope;
use super::frames;
use super::heartbeat::{self, Heartbeat};
use super::item::{Item, Update};
use super::sequence::{Sequence, Verdict};
use super::sse::{EventTooLarge, SseDecoder, SseEvent, SseItem};
use super::{BoxScore, close_code, table, token};
use crate::config::Sport;
use crate::fuzz::Random;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Follows the standard literally: decodes the whole stream, splits it into lines, then interprets them.
pub(super) fn decode_by_the_standard(bytes: &[u8]) -> (Vec<SseItem>, String, Option<u64>) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop(); // The text after the last line end is not a line yet.
    let (mut items, mut data, mut event) = (Vec::new(), String::new(), String::new());
    let (mut buffer, mut last, mut retry) = (String::new(), String::new(), None);
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = if line.contains(':') { value.strip_prefix(' ').unwrap_or(value) } else { value };
        match field {
            "" if line.is_empty() => {
                last = buffer.clone();
                let name = std::mem::take(&mut event);
                if let Some(data) = std::mem::take(&mut data).strip_suffix('\n') {
                    let event = (!name.is_empty()).then(|| name.as_str().into());
                    items.push(SseItem::Event(SseEvent { event, data: data.into(), id: last.as_str().into() }));
                }
            }
            "" => items.push(SseItem::Comment(line[1..].into())),
            "data" => data = data + value + "\n",
            "event" => event = value.into(),
            "id" if !value.contains('\0') => buffer = value.into(),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                retry = value.parse().ok().or(retry);
            }
            _ => {}
        }
    }
    (items, last, retry)
}

/// Decodes the chunks; returns the items, the result and the decoder.
fn decode(limit: usize, chunks: &[&[u8]]) -> (Vec<SseItem>, Result<(), EventTooLarge>, SseDecoder) {
    let mut decoder = SseDecoder::new(limit, "".into());
    let mut items = Vec::new();
    let end = chunks.iter().try_for_each(|chunk| decoder.feed(chunk, |item| items.push(replace_invalid(item))));
    (items, end, decoder)
}

/// Replaces invalid UTF-8 in the data of an event, as the standard does.
pub(super) fn replace_invalid(item: SseItem) -> SseItem {
    match item {
        SseItem::Event(SseEvent { event, data, id }) => {
            let data = String::from_utf8_lossy(&data).into_owned().into_bytes();
            SseItem::Event(SseEvent { event, data, id })
        }
        other => other,
    }
}

/// Splits the bytes into chunks of 0 to 7.
fn split(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut random = Random(seed.into());
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(random.below(8).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

/// The first byte is the limit, the second the seed of the split, the rest the stream.
pub(crate) fn event_stream(bytes: &[u8]) {
    let [limit, seed, stream @ ..] = bytes else { return };
    let chunks = split(stream, *seed);
    let (expected, id, retry) = decode_by_the_standard(stream);
    for chunks in [&chunks[..], &[stream]] {
        let (items, end, decoder) = decode(usize::MAX, chunks);
        assert_eq!((items.as_slice(), end), (expected.as_slice(), Ok(())));
        assert_eq!(&*decoder.last_event_id, id);
        assert_eq!(decoder.retry, retry.map(Duration::from_millis));
    }
    let limit = usize::from(*limit);
    let (items, end, decoder) = decode(limit, &chunks);
    let (unsplit_items, unsplit_end, unsplit_decoder) = decode(limit, &[stream]);
    assert_eq!((&items, end), (&unsplit_items, unsplit_end), "the result does not depend on how the bytes are split");
    assert_eq!(decoder.last_event_id, unsplit_decoder.last_event_id);
    assert!(end.is_err() || items.len() >= expected.len(), "an oversized item is reported, not lost");
    // An id in a line that is too long is unknown: later events have the one before.
    let is_long_id = |line: &[u8]| line.len() > limit + 9 && line.windows(2).take(4).any(|text| text == b"id");
    let is_id_known = !stream.split(|byte| matches!(byte, b'\n' | b'\r')).any(is_long_id);
    let is_same = |first: &SseItem, second: &SseItem| match (first, second) {
        (SseItem::Event(first), SseItem::Event(second)) if !is_id_known => {
            (&first.event, &first.data) == (&second.event, &second.data)
        }
        _ => first == second,
    };
    let mut expected = expected.iter();
    let is_read = |item: &&SseItem| !matches!(item, SseItem::Skipped(_));
    assert!(items.iter().filter(is_read).all(|item| expected.any(|other| is_same(item, other))));
}

/// Each line of the text is a message.
pub(crate) fn websocket(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut sequence, mut delivered_keys) = (Sequence::new(None), BTreeSet::new());
    let mut decoder = frames::FrameDecoder::new(100);
    for chunk in bytes.chunks(1_000) {
        decoder.space()[..chunk.len()].copy_from_slice(chunk);
        decoder.fill(chunk.len());
        while let Ok(Some(_)) = decoder.read() {}
        if decoder.space().len() < 1_000 {
            break;
        }
    }
    let (mut score, mut items) = (BoxScore::new(Sport::Basketball), Vec::new());
    for message in text.split('\n') {
        match heartbeat::parse(message) {
            Some(Heartbeat::Ping { reply, .. }) => {
                let back = heartbeat::parse(&reply);
                assert!(back == Some(Heartbeat::Pong) || reply.len() > 256, "{reply:?} answers {message:?}");
            }
            Some(Heartbeat::Pong) => {}
            None => {
                let envelope = read_envelope(message);
                if let Some((seq, source)) = reference_envelope(message) {
                    assert_eq!((envelope.seq, envelope.source.as_deref()), (seq, source.as_deref()), "{message}");
                }
                if let Some(seq) = envelope.seq {
                    if seq % 7 == 0 {
                        sequence.reconnect();
                    }
                    let content = envelope.content.as_deref().unwrap_or(message.as_bytes());
                    let key = (envelope.source.clone(), seq, content.to_vec());
                    match sequence.receive(envelope.source.as_deref(), seq, content) {
                        Verdict::Duplicate => assert!(delivered_keys.contains(&key), "{key:?}"),
                        Verdict::Deliver | Verdict::NewEpoch => drop(delivered_keys.insert(key)),
                    }
                }
                let source = envelope.source;
                let received_at = SystemTime::UNIX_EPOCH;
                let update = Update {
                    event: None,
                    id: "".into(),
                    text: message.into(),
                    binary: None,
                    seq: envelope.seq,
                    source,
                    received_at,
                };
                items.push(Item::Update(update));
                items.last().map(|item| score.feed(item));
            }
        }
        let code = message.bytes().next().map(|byte| 1000 + u16::from(byte));
        let reason = close_code::describe(code, message);
        assert!(!reason.contains(char::is_control) && reason.chars().count() < 300, "{reason:?}");
        if let Some(token) = token::parse_token(message.as_bytes()) {
            assert!(token.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
    assert_eq!(table::items(&items).unwrap().num_rows(), items.len());
    assert!(score.table().is_ok(), "{text}");
    // Values that are no numbers are an error, never a panic.
    let _ = table::stat_updates(&items);
}

/// Number and source by definition, from the tree that `serde_json` reads; `None` where it cannot serve as a reference: invalid
/// JSON, an escape that may hide a key, or a negative zero, which it reads as a float.
fn reference_envelope(text: &str) -> Option<(Option<i64>, Option<String>)> {
    let tree: Node = serde_json::from_str(text).ok().filter(|_| !text.contains('\\') && !text.contains("-0"))?;
    let (mut seqs, mut sources) = (Vec::new(), Vec::new());
    walk(&tree, 1, &mut |depth, key, value| match (key, value) {
        ("seq", Node::Int(seq)) => seqs.push((depth, *seq)),
        ("source", Node::Text(source)) => sources.push((depth, source.clone())),
        _ => {}
    });
    // The first of the shallowest: the sort is stable.
    seqs.sort_by_key(|(depth, _)| *depth);
    sources.sort_by_key(|(depth, _)| *depth);
    Some((seqs.first().map(|(_, seq)| *seq), sources.first().map(|(_, source)| source.clone())))
}

fn walk(node: &Node, depth: usize, visit: &mut dyn FnMut(usize, &str, &Node)) {
    let Node::Object(members) = node else { return };
    for (key, value) in members {
        visit(depth, key, value);
        if depth < 3 {
            walk(value, depth + 1, visit);
        }
    }
}

/// A JSON value that keeps duplicate keys.
enum Node {
    Object(Vec<(String, Node)>),
    Int(i64),
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;
    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("JSON")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Object(members))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::Other)
    }
    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Int(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(i64::try_from(number).map_or(Node::Other, Node::Int))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other)
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }
    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.into()))
    }
}
