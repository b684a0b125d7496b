// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::error::Undecodable;
use crate::live::item::{Item, Notice, Update};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A temporary path, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sideline-journal-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Scratch(std::env::temp_dir().join(name))
    }

    fn with(bytes: &[u8]) -> Self {
        let scratch = Scratch::new();
        fs::write(&scratch.0, bytes).unwrap();
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn update(n: u64, text: &str) -> Item {
    let received_at = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_800_000_000_000_000_000 + n);
    Item::Update(Update {
        event: None,
        id: n.to_string().into(),
        text: text.into(),
        binary: None,
        seq: Some(n as i64),
        source: None,
        received_at,
    })
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_100)
}

/// The bytes of a journal with these frames.
fn journal(frames: &[Vec<Item>]) -> Vec<u8> {
    let scratch = Scratch::new();
    let mut writer = Writer::open(&scratch.0).unwrap();
    for items in frames {
        for item in items {
            writer.append(item, now()).unwrap();
        }
        writer.flush().unwrap();
    }
    fs::read(&scratch.0).unwrap()
}

/// Reads a journal; returns its items and the result.
fn read(bytes: &[u8]) -> (Vec<Item>, Result<()>) {
    let mut entries = Vec::new();
    let mut all = || {
        let mut reader = Reader::new(bytes, Path::new("a.journal"))?;
        while reader.next(&mut entries)? {}
        Ok(())
    };
    let end = all();
    (entries.into_iter().map(|(_, item)| item).collect(), end)
}

fn small() -> Vec<Vec<Item>> {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let gap = Notice::Gap { start: at, end: None, reason: "it ended".into(), dropped: None, is_final: false };
    vec![
        vec![Item::Notice(Notice::Connected { at }), update(1, "{}"), update(2, "two\n\u{0}\u{1F600}")],
        vec![update(3, "three")],
        vec![Item::Notice(gap), update(4, &"long ".repeat(20)), Item::Notice(Notice::Quiet { since: at })],
    ]
}

fn times() -> impl Strategy<Value = SystemTime> {
    let far = i64::MAX as u64;
    (0..far, any::<bool>()).prop_map(|(ns, before)| {
        let length = Duration::from_nanos(ns);
        if before { SystemTime::UNIX_EPOCH - length } else { SystemTime::UNIX_EPOCH + length }
    })
}

fn updates() -> impl Strategy<Value = Update> {
    let text = || any::<String>();
    let binary = option::of(vec(any::<u8>(), 0..20));
    (option::of(text()), text(), text(), binary, any::<Option<i64>>(), option::of(text()), times()).prop_map(
        |(event, id, text, binary, seq, source, received_at)| {
            let binary = binary.map(Into::into);
            let (event, source) = (event.map(Into::into), source.map(Into::into));
            Update { event, id: id.into(), text, binary, seq, source, received_at }
        },
    )
}

fn gaps() -> impl Strategy<Value = Notice> {
    (times(), option::of(times()), any::<String>(), any::<Option<u64>>(), any::<bool>())
        .prop_map(|(start, end, reason, dropped, is_final)| Notice::Gap { start, end, reason, dropped, is_final })
}

fn items() -> impl Strategy<Value = Item> {
    let lost = (times(), any::<String>(), any::<Option<u16>>(), any::<u32>(), option::of(times())).prop_map(
        |(at, reason, status, attempt, retry_at)| Notice::Disconnected { at, reason, status, attempt, retry_at },
    );
    let recovered = (gaps(), vec(updates(), 0..3)).prop_map(|(gap, updates)| Notice::Recovered {
        gap: Box::new(gap),
        updates: updates.into(),
        requested_at: None,
    });
    prop_oneof![
        4 => updates().prop_map(Item::Update),
        1 => times().prop_map(|at| Item::Notice(Notice::Connected { at })),
        1 => lost.prop_map(Item::Notice),
        1 => gaps().prop_map(Item::Notice),
        1 => times().prop_map(|since| Item::Notice(Notice::Quiet { since })),
        1 => recovered.prop_map(Item::Notice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_items_are_read_back(frames in vec(vec(items(), 1..8), 0..5)) {
        let (read, end) = read(&journal(&frames));
        prop_assert!(end.is_ok(), "{end:?}");
        prop_assert_eq!(read, frames.concat());
    }

    #[test]
    fn noise_yields_no_items(noise in vec(any::<u8>(), 0..200), has_header in any::<bool>()) {
        let bytes = if has_header { [&super::format::file_header()[..], &noise].concat() } else { noise };
        prop_assert_eq!(read(&bytes).0, []);
    }
}

#[test]
fn a_journal_cut_anywhere_yields_a_prefix_and_can_be_appended_to() {
    let frames = small();
    let (bytes, all) = (journal(&frames), frames.concat());
    let ends: Vec<usize> = (1..=frames.len()).map(|n| journal(&frames[..n]).len()).collect();
    for cut in 0..=bytes.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let expected = &all[..frames[..whole].iter().map(Vec::len).sum()];
        let (items, end) = read(&bytes[..cut]);
        assert!(end.is_ok(), "cut at {cut}: {end:?}");
        assert_eq!(items, expected, "cut at {cut}");

        let scratch = Scratch::with(&bytes[..cut]);
        let mut writer = Writer::open(&scratch.0).unwrap();
        writer.append(&update(9, "after"), now()).unwrap();
        writer.flush().unwrap();
        let (items, end) = read(&fs::read(&scratch.0).unwrap());
        assert!(end.is_ok(), "appended at {cut}: {end:?}");
        assert_eq!(items, [expected, &[update(9, "after")]].concat(), "appended at {cut}");
    }
}

#[test]
fn a_writer_knows_the_time_of_the_last_whole_item() {
    let frames = small();
    let last = |bytes: &[u8]| Writer::open(&Scratch::with(bytes).0).unwrap().last();
    let Item::Update(second) = update(2, "") else { panic!() };
    let Item::Update(third) = update(3, "") else { panic!() };
    let ends = [None, Some(second.received_at), Some(third.received_at), Some(now())];
    for (count, end) in ends.iter().enumerate() {
        assert_eq!(last(&journal(&frames[..count])), *end, "{count} frames");
    }
    let torn = journal(&frames);
    assert_eq!(last(&torn[..torn.len() - 1]), Some(third.received_at));
}

#[test]
fn a_flipped_bit_yields_only_written_items_and_an_error_with_its_offset() {
    let frames = small();
    let (bytes, all) = (journal(&frames), frames.concat());
    let starts: Vec<usize> = (0..=frames.len()).map(|n| journal(&frames[..n]).len()).collect();
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[position] ^= 1 << bit;
            let whole = starts[1..].iter().filter(|end| **end <= position).count();
            let expected = if position < starts[0] { 0 } else { frames[..whole].iter().map(Vec::len).sum() };
            let (items, end) = read(&bytes);
            assert_eq!(items, all[..expected], "bit {bit} of byte {position}");
            let Err(Error::Decode(Undecodable { offset, .. })) = end else {
                panic!("bit {bit} of byte {position}: {end:?}");
            };
            assert_eq!(offset, if position < starts[0] { 0 } else { starts[whole] });
            let scratch = Scratch::with(&bytes);
            assert!(Writer::open(&scratch.0).is_err());
            assert!(fs::read(&scratch.0).unwrap() == bytes, "a damaged journal is left unchanged");
        }
    }
}

#[test]
fn other_files_are_refused_and_left_unchanged() {
    for content in ["hello", "sideline journal", "{\"a\": 1}\n".repeat(100).as_str()] {
        let scratch = Scratch::with(content.as_bytes());
        let refused = Writer::open(&scratch.0).unwrap_err().to_string();
        assert!(refused.contains("no journal") && refused.contains("(byte 0)"), "{refused}");
        assert_eq!(fs::read_to_string(&scratch.0).unwrap(), content);
        assert!(Reader::open(&scratch.0).is_err());
    }
    let mut later = super::format::file_header();
    later[24] = 2;
    let refused = Reader::new(&later[..], Path::new("a")).unwrap_err().to_string();
    assert!(refused.contains("version 2") && refused.contains("reads version 1"), "{refused}");
}

#[test]
fn a_frame_larger_than_any_writer_writes_is_damage() {
    use super::format::{FrameHeader, HEADER_LEN, MAX_LINE_LEN, file_header};
    let head = FrameHeader { packed: 10, raw: 2 * MAX_LINE_LEN as u32, items: 1, crc: 0 };
    let bytes = [file_header(), head.to_bytes()].concat();
    let (items, end) = read(&bytes);
    assert_eq!(items, []);
    assert!(matches!(end, Err(Error::Decode(Undecodable { offset: HEADER_LEN, .. }))), "{end:?}");
}

#[test]
fn a_frame_with_more_lines_than_a_recorder_writes_is_damage() {
    let mut lines = Vec::new();
    let item = Item::Notice(Notice::Connected { at: now() });
    while lines.len() < 64 << 20 {
        super::format::write(&item, now(), &mut lines).unwrap();
    }
    let count = lines.iter().filter(|byte| **byte == b'\n').count() as u32;
    let bytes = [&super::format::file_header()[..], &super::format::pack(&lines, count).unwrap()].concat();
    assert!(bytes.len() < 64 << 10, "{} bytes", bytes.len());
    let (items, end) = read(&bytes);
    assert!(items.len() < 20_000, "{} items", items.len());
    assert!(end.unwrap_err().to_string().contains("sideline journal repair"));
}

#[test]
fn repair_saves_every_whole_frame_and_reports_lost_ranges() {
    let frames = small();
    let bytes = journal(&frames);
    let starts: Vec<usize> = (0..=frames.len()).map(|n| journal(&frames[..n]).len()).collect();
    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x10;
        let (scratch, out) = (Scratch::with(&damaged), Scratch::new());
        let repaired = repair(&scratch.0, Some(&out.0)).unwrap();
        let lost = starts[1..].iter().position(|end| position < *end).filter(|_| position >= starts[0]);
        let (items, end) = read(&fs::read(&out.0).unwrap());
        assert!(end.is_ok(), "{position}");
        let kept: Vec<Item> =
            frames.iter().enumerate().filter(|(n, _)| Some(*n) != lost).flat_map(|(_, f)| f.clone()).collect();
        let is_gap =
            |item: &Item| matches!(item, Item::Notice(Notice::Gap { reason, .. }) if reason.contains("repaired"));
        assert_eq!(items.iter().filter(|item| !is_gap(item)).cloned().collect::<Vec<_>>(), kept, "{position}");
        assert_eq!((repaired.frames, repaired.lost.len()), (3 - lost.iter().len() as u64, 1), "{position}");
        let span = &repaired.lost[0];
        match lost {
            Some(n) => {
                assert_eq!((span.start, span.bytes), (starts[n] as u64, (starts[n + 1] - starts[n]) as u64));
                assert_eq!((span.after.is_some(), span.before.is_some()), (n > 0, n < 2), "{position}");
                assert_eq!(items.iter().filter(|item| is_gap(item)).count(), usize::from(n == 1));
            }
            None => assert_eq!((span.start, span.bytes), (0, starts[0] as u64)),
        }
    }
}

#[test]
fn repair_in_place_keeps_the_damaged_journal_and_leaves_a_whole_one_unchanged() {
    let bytes = journal(&small());
    let whole = Scratch::with(&bytes);
    assert!(repair(&whole.0, None).unwrap().lost.is_empty());
    assert!(fs::read(&whole.0).unwrap() == bytes);
    let zeroed = [&bytes[..bytes.len() - 30], &[0; 30_000]].concat();
    let scratch = Scratch::with(&zeroed);
    let kept = Scratch(PathBuf::from(format!("{}.damaged", scratch.0.display())));
    assert_eq!(repair(&scratch.0, None).unwrap().frames, 2);
    assert!(fs::read(&kept.0).unwrap() == zeroed);
    let recorder = Recorder::open(&scratch.0, None).unwrap();
    assert!(matches!(repair(&scratch.0, None), Err(Error::File { errno: None, .. })), "a recorder writes to it");
    recorder.close().unwrap();
    fs::write(&scratch.0, &zeroed).unwrap();
    assert!(repair(&scratch.0, None).is_err(), "the kept journal is not overwritten");
}

#[test]
fn any_zstd_decoder_reads_a_journal_as_json_lines() {
    let text = zstd::decode_all(&journal(&small())[..]).unwrap();
    let lines: Vec<serde_json::Value> =
        text.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
    assert_eq!(lines.len(), small().concat().len());
    assert_eq!(lines[1]["update"]["text"], "{}");
    assert_eq!(lines[1]["update"]["at"], 1_800_000_000_000_000_001_i64);
}

#[test]
fn a_journal_has_one_recorder_at_a_time() {
    let scratch = Scratch::new();
    let first = Recorder::open(&scratch.0, Some(Duration::ZERO)).unwrap();
    let refused = Recorder::open(&scratch.0, Some(Duration::ZERO)).unwrap_err();
    assert!(matches!(&refused, Error::File { errno: None, .. }), "{refused}");
    first.append(&update(1, "one")).unwrap();
    first.close().unwrap();
    let second = Recorder::open(&scratch.0, Some(Duration::ZERO)).unwrap();
    second.append(&update(2, "two")).unwrap();
    drop(second);
    assert_eq!(read(&fs::read(&scratch.0).unwrap()).0, [update(1, "one"), update(2, "two")]);
}

#[test]
fn items_are_written_within_a_second_and_share_frames() {
    let scratch = Scratch::new();
    let recorder = Recorder::open(&scratch.0, Some(Duration::ZERO)).unwrap();
    let start = Instant::now();
    recorder.append(&update(1, "one")).unwrap();
    recorder.append(&update(2, "two")).unwrap();
    assert_eq!(read(&fs::read(&scratch.0).unwrap()).0, []);
    while read(&fs::read(&scratch.0).unwrap()).0.len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(5), "pending items were not written without a further one");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(start.elapsed() > Duration::from_millis(900));
    // Large items are written at once.
    let long = "x".repeat(100_000);
    for n in 3..6 {
        recorder.append(&update(n, &long)).unwrap();
    }
    assert_eq!(read(&fs::read(&scratch.0).unwrap()).0.len(), 5);
    let start = Instant::now();
    recorder.close().unwrap();
    assert!(start.elapsed() < Duration::from_millis(500), "close does not wait for the interval");
}
