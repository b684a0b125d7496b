//! Streams of any bytes, against slow readings of the same.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::frames;
use super::item::{Item, Update};
use super::peer::{self, Heartbeat};
use super::seq::marks;
use super::sequence::{Sequence, Verdict};
use super::sse::{Decoder, Event, Frame, TooLarge};
use super::{BoxScore, table, token};
use crate::config::Sport;
use crate::fuzz::Random;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// The standard's text as it is written: the whole stream decoded, split into lines, then interpreted.
pub(super) fn by_the_text(bytes: &[u8]) -> (Vec<Frame>, String, Option<u64>) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop(); // What follows the last line end is not a line yet.
    let (mut frames, mut data, mut event) = (Vec::new(), String::new(), String::new());
    let (mut buffer, mut last, mut retry) = (String::new(), String::new(), None);
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = if line.contains(':') { value.strip_prefix(' ').unwrap_or(value) } else { value };
        match field {
            "" if line.is_empty() => {
                last = buffer.clone();
                let named = std::mem::take(&mut event);
                if let Some(data) = std::mem::take(&mut data).strip_suffix('\n') {
                    let event = (!named.is_empty()).then(|| named.as_str().into());
                    frames.push(Frame::Event(Event { event, data: data.into(), id: last.as_str().into() }));
                }
            }
            "" => frames.push(Frame::Comment(line[1..].into())),
            "data" => data = data + value + "\n",
            "event" => event = value.into(),
            "id" if !value.contains('\0') => buffer = value.into(),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                retry = value.parse().ok().or(retry);
            }
            _ => {}
        }
    }
    (frames, last, retry)
}

/// What a decoder gives, and how it ends.
fn decoded(limit: usize, chunks: &[&[u8]]) -> (Vec<Frame>, Result<(), TooLarge>, Decoder) {
    let mut decoder = Decoder::new(limit, "".into());
    let mut frames = Vec::new();
    let end = chunks.iter().try_for_each(|chunk| decoder.feed(chunk, |frame| frames.push(frame)));
    (frames, end, decoder)
}

/// The bytes in pieces of 0 to 7.
fn cut(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut random = Random(seed.into());
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(random.below(8).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

/// The first byte is a limit, the second says where the stream is cut, the others are the stream.
pub(crate) fn event_stream(bytes: &[u8]) {
    let [limit, cuts, stream @ ..] = bytes else { return };
    let chunks = cut(stream, *cuts);
    let (expected, id, retry) = by_the_text(stream);
    for chunks in [&chunks[..], &[stream]] {
        let (frames, end, decoder) = decoded(usize::MAX, chunks);
        assert_eq!((frames.as_slice(), end), (expected.as_slice(), Ok(())));
        assert_eq!(&**decoder.last_event_id(), id);
        assert_eq!(decoder.retry(), retry.map(Duration::from_millis));
    }
    let limit = usize::from(*limit);
    let (frames, end, decoder) = decoded(limit, &chunks);
    let (whole, whole_end, whole_decoder) = decoded(limit, &[stream]);
    assert_eq!((&frames, end), (&whole, whole_end), "where the bytes are cut makes no difference");
    assert_eq!(decoder.last_event_id(), whole_decoder.last_event_id());
    assert!(end.is_err() || frames.len() >= expected.len(), "what is too long is named, not lost");
    let mut expected = expected.iter();
    let is_read = |frame: &&Frame| !matches!(frame, Frame::Skipped(_));
    assert!(frames.iter().filter(is_read).all(|frame| expected.any(|other| other == frame)));
}

/// Lines of text, each a message.
pub(crate) fn websocket(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut sequence, mut delivered) = (Sequence::new(None), BTreeSet::new());
    let mut decoder = frames::Decoder::new(100);
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
        match peer::heartbeat(message) {
            Some(Heartbeat::Ping { answer, .. }) => {
                let back = peer::heartbeat(&answer);
                assert!(back == Some(Heartbeat::Pong) || answer.len() > 256, "{answer:?} answers {message:?}");
            }
            Some(Heartbeat::Pong) => {}
            None => {
                let marks = marks(message);
                if let Some((seq, source)) = by_serde(message) {
                    assert_eq!((marks.seq, marks.source), (seq, source.as_deref()), "{message}");
                }
                if let Some(seq) = marks.seq {
                    if seq % 7 == 0 {
                        sequence.reconnect();
                    }
                    let one = (marks.source.map(str::to_owned), seq, message.to_owned());
                    match sequence.receive(marks.source, seq, message.as_bytes()) {
                        Verdict::Repeat => assert!(delivered.contains(&one), "{one:?}"),
                        Verdict::Deliver | Verdict::Restarted => drop(delivered.insert(one)),
                    }
                }
                let source = marks.source.map(|source| peer::unescaped(source).into());
                let received_at = SystemTime::UNIX_EPOCH;
                let update = Update {
                    event: None,
                    id: "".into(),
                    text: message.into(),
                    binary: None,
                    seq: marks.seq,
                    source,
                    received_at,
                };
                score.feed(&update);
                items.push(Item::Update(update));
            }
        }
        let code = message.bytes().next().map(|byte| 1000 + u16::from(byte));
        let reason = peer::close(code, message);
        assert!(!reason.contains(char::is_control) && reason.chars().count() < 300, "{reason:?}");
        if let Some(token) = token::read(message.as_bytes()) {
            assert!(token.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
    assert_eq!(table::items(&items).unwrap().num_rows(), items.len());
    assert!(score.table().is_ok(), "{text}");
    // It may hold what is no number: an error then, and no panic.
    let _ = table::stat_updates(&items);
}

/// Number and source by their definition, over all that `serde_json` reads; `None`: it reads nothing, an escape may hide a
/// key, or a number is a negative zero, to it a float.
fn by_serde(text: &str) -> Option<(Option<i64>, Option<String>)> {
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

fn walk(node: &Node, depth: usize, each: &mut dyn FnMut(usize, &str, &Node)) {
    let Node::Object(members) = node else { return };
    for (key, value) in members {
        each(depth, key, value);
        if depth < 3 {
            walk(value, depth + 1, each);
        }
    }
}

/// JSON as it stands, keys said twice among it.
enum Node {
    Object(Vec<(String, Node)>),
    Int(i64),
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
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
