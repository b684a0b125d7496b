//! The conformance cases of event streams at every split: the project's own, and those of outsiders.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::fuzz::decode_by_the_standard;
use super::sse::{SseDecoder, SseItem};
use crate::cases::{self, bytes, name, text};
use serde_json::Value;

/// What a stream holds.
#[derive(Debug, Clone, Default, PartialEq)]
struct CaseOutcome {
    /// Type, data, id.
    events: Vec<[String; 3]>,
    /// `None`: not compared.
    comments: Option<Vec<String>>,
    skipped_sizes: Vec<u64>,
    retry: Option<u64>,
    last_event_id: String,
}

#[derive(Debug, Clone)]
struct Case {
    name: String,
    input: Vec<u8>,
    limit: usize,
    /// The last event id of the connection before.
    id_before: String,
    expected: CaseOutcome,
}

fn own_cases() -> Vec<Case> {
    let cases = cases::own(include_str!("../../tests/conformance/event_stream.json"));
    cases.iter().map(own_case).collect()
}

fn own_case(case: &Value) -> Case {
    let list = |key: &str| case[key].as_array().cloned().unwrap_or_default();
    let plain = |key: &str| case[key].as_str().unwrap_or_default().to_string();
    let expected = CaseOutcome {
        events: list("events").iter().map(|event| [0, 1, 2].map(|at| text(&event[at]))).collect(),
        comments: Some(list("comments").iter().map(text).collect()),
        skipped_sizes: list("skipped").iter().map(|size| size.as_u64().unwrap()).collect(),
        retry: case["retry"].as_u64(),
        last_event_id: plain("last_event_id"),
    };
    let limit = case["limit"].as_u64().unwrap_or(16 << 20) as usize;
    let (input, id_before) = (bytes(&case["input"]), plain("last_event_id_before"));
    Case { name: name(case).into(), input, limit, id_before, expected }
}

fn read(case: &Case, chunks: &[&[u8]]) -> CaseOutcome {
    let mut decoder = SseDecoder::new(case.limit, case.id_before.as_str().into());
    let (mut outcome, mut comments) = (CaseOutcome::default(), Vec::new());
    for chunk in chunks {
        let result = decoder.feed(chunk, |item| match item {
            SseItem::Event(event) => {
                let kind = event.event.as_deref().unwrap_or("message").to_string();
                outcome.events.push([kind, String::from_utf8_lossy(&event.data).into(), event.id.to_string()]);
            }
            SseItem::Comment(text) => comments.push(text),
            SseItem::Skipped(size) => outcome.skipped_sizes.push(size),
        });
        result.unwrap();
    }
    outcome.comments = case.expected.comments.as_ref().map(|_| comments);
    outcome.retry = decoder.retry.map(|retry| retry.as_millis() as u64);
    outcome.last_event_id = decoder.last_event_id.to_string();
    outcome
}

fn mismatch(case: &Case, chunks: &[&[u8]], split: &str) -> Option<String> {
    let outcome = read(case, chunks);
    let start = |outcome: &CaseOutcome| format!("{outcome:?}").chars().take(2_000).collect::<String>();
    (outcome != case.expected)
        .then(|| format!("{}, {split}: {}, expected {}", case.name, start(&outcome), start(&case.expected)))
}

/// The first split at which a case does not come out as expected.
fn mismatch_at_a_split(case: &Case) -> Option<String> {
    let input = case.input.as_slice();
    let sizes = if input.len() > 1 << 20 { 7..=7 } else { 1..=7 };
    let is_near_end = |at: &usize| input.len() <= 600 || *at < 20 || *at + 20 > input.len();
    mismatch(case, &[input], "whole")
        .or_else(|| {
            let by = |size: usize| mismatch(case, &input.chunks(size).collect::<Vec<_>>(), &format!("by {size}"));
            sizes.into_iter().find_map(by)
        })
        .or_else(|| {
            let cut = |at: usize| {
                let (head, tail) = input.split_at(at);
                mismatch(case, &[head, tail], &format!("cut at {at}"))
            };
            (0..=input.len()).filter(is_near_end).find_map(cut)
        })
}

#[test]
fn own_cases_at_all_splits() {
    let cases = own_cases();
    assert!(cases.len() >= 137, "{}", cases.len());
    assert_eq!(cases.iter().filter_map(mismatch_at_a_split).collect::<Vec<_>>(), [""; 0]);
}

/// The standard's algorithm step by step, which decodes the whole stream first, has the same opinion of the cases.
#[test]
fn own_cases_are_as_the_standard_says() {
    let all = cases::own(include_str!("../../tests/conformance/event_stream.json"));
    let cases: Vec<Case> = all.iter().filter(|case| case["departure"].is_null()).map(own_case).collect();
    assert!(cases.len() >= 130, "{}", cases.len());
    for case in cases {
        let (items, last_event_id, retry) = decode_by_the_standard(&case.input);
        let (mut events, mut comments) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                SseItem::Event(event) => {
                    let data = String::from_utf8_lossy(&event.data).into();
                    events.push([event.event.as_deref().unwrap_or("message").into(), data, event.id.to_string()]);
                }
                SseItem::Comment(text) => comments.push(text),
                SseItem::Skipped(size) => panic!("skipped {size}"),
            }
        }
        let outcome = CaseOutcome { events, comments: Some(comments), skipped_sizes: Vec::new(), retry, last_event_id };
        assert!(outcome == case.expected, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn a_wrong_expectation_is_noticed_in_every_case() {
    let changes: [fn(&mut CaseOutcome); 6] = [
        |expected| expected.events.push(["message".into(), "planted".into(), String::new()]),
        |expected| match expected.events.pop() {
            Some([kind, data, id]) => expected.events.push([kind, data + "x", id]),
            None => expected.retry = Some(77),
        },
        |expected| expected.comments.get_or_insert_default().push("planted".into()),
        |expected| expected.skipped_sizes.push(5),
        |expected| expected.retry = expected.retry.map_or(Some(3), |retry| Some(retry + 1)),
        |expected| expected.last_event_id.push('x'),
    ];
    for case in own_cases() {
        for (at, change) in changes.iter().enumerate() {
            let mut variant = case.clone();
            change(&mut variant.expected);
            assert!(mismatch(&variant, &[&variant.input], "whole").is_some(), "change {at} of {}", case.name);
        }
    }
}

mod outsiders {
    use super::*;

    /// Texts with `\n`, `\r`, `\t`, `\\` and `\xNN` for bytes.
    fn unescape(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            out.push(match (c, if c == '\\' { chars.next() } else { None }) {
                ('\\', Some('n')) => b'\n',
                ('\\', Some('r')) => b'\r',
                ('\\', Some('t')) => b'\t',
                ('\\', Some('\\')) => b'\\',
                ('\\', Some('x')) => {
                    let hex: String = chars.by_ref().take(2).collect();
                    u8::from_str_radix(&hex, 16).unwrap()
                }
                (c, None) => u8::try_from(c).unwrap(),
                other => panic!("{other:?}"),
            });
        }
        out
    }

    fn segments(value: &Value) -> Vec<u8> {
        let repeat = |s: &Value| unescape(s[0].as_str().unwrap()).repeat(s[1].as_u64().unwrap() as usize);
        value.as_array().unwrap().iter().flat_map(repeat).collect()
    }

    fn plain(value: &Value) -> String {
        value.as_str().unwrap().to_string()
    }

    fn event(event: &Value) -> [String; 3] {
        let data = match &event["data"] {
            Value::String(data) => data.clone(),
            _ => String::from_utf8(segments(&event["data_segments"])).unwrap(),
        };
        [plain(&event["event"]), data, plain(&event["id"])]
    }

    fn case(case: &Value) -> Case {
        let list = if case["expected"].is_array() { &case["expected"] } else { &case["expected_segments"] };
        let events: Vec<_> = list.as_array().unwrap().iter().map(event).collect();
        let count = case["expected_count"].as_u64().map_or(events.len(), |count| count as usize);
        let input = match &case["input"] {
            Value::String(text) => unescape(text),
            _ => segments(&case["input_segments"]),
        };
        let expected = CaseOutcome {
            events: events.iter().cycle().take(count).cloned().collect(),
            comments: case["comments"].as_array().map(|comments| comments.iter().map(plain).collect()),
            skipped_sizes: Vec::new(),
            retry: case["retry_ms"].as_u64(),
            last_event_id: plain(&case["last_event_id"]),
        };
        Case { name: plain(&case["name"]), input, limit: 16 << 20, id_before: String::new(), expected }
    }

    #[test]
    fn cases_of_outsiders_at_all_splits_where_they_are_there() {
        let Some(all) = cases::of_outsiders("sse_cases.json") else { return };
        let all = all["cases"].as_array().unwrap();
        assert_eq!(all.len(), 234);
        for value in all {
            let case = case(value);
            assert_eq!(mismatch_at_a_split(&case), None);
            if let Some(chunks) = value["chunks"].as_array() {
                let chunks: Vec<Vec<u8>> = chunks.iter().map(|chunk| unescape(chunk.as_str().unwrap())).collect();
                assert_eq!(chunks.concat(), case.input, "{}", case.name);
                let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
                assert_eq!(mismatch(&case, &chunks, "listed"), None);
            }
            for pair in value["events_after_bytes"].as_array().into_iter().flatten() {
                let (n, events) = (pair[0].as_u64().unwrap() as usize, pair[1].as_u64().unwrap() as usize);
                assert_eq!(read(&case, &[&case.input[..n]]).events.len(), events, "{} after {n} bytes", case.name);
            }
        }
    }
}
