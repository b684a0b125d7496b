// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::frame::{self, FrameHeader, MAX_LINE_LEN};
use super::*;
use crate::error::Undecodable;
use crate::live::item::{Item, Notice, Update};
use crate::machine;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

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

/// The frames of a closed journal with these frames of items: the opening one, those of the items, the closing one.
fn frames_of(frames: &[Vec<Item>]) -> Vec<Vec<u8>> {
    let scratch = Scratch::new();
    let mut writer = Writer::open(&scratch.0, now()).unwrap();
    let mut ends = vec![0, writer.end as usize];
    for items in frames {
        for item in items {
            writer.append(item, now(), Duration::ZERO).unwrap();
        }
        writer.flush(now()).unwrap();
        ends.push(writer.end as usize);
    }
    writer.close(now()).unwrap();
    ends.push(writer.end as usize);
    let bytes = fs::read(&scratch.0).unwrap();
    ends.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

fn journal(frames: &[Vec<Item>]) -> Vec<u8> {
    frames_of(frames).concat()
}

/// Reads a journal; returns its items.
fn read(bytes: &[u8]) -> Result<Vec<Item>> {
    let mut entries = Vec::new();
    let mut reader = Reader::new(Cursor::new(bytes), Path::new("a.journal"))?;
    while reader.next(&mut entries)? {}
    Ok(entries.into_iter().map(|entry| entry.item).collect())
}

/// The reasons of gaps, and the updates as their text.
fn outline(bytes: &[u8]) -> Vec<String> {
    let describe = |item| match item {
        Item::Update(update) => update.text,
        Item::Notice(Notice::Gap { reason, .. }) => reason.to_string(),
        Item::Notice(notice) => format!("{notice:?}"),
    };
    read(bytes).unwrap().into_iter().map(describe).collect()
}

/// The number of frames of items of [`numbered_frames`].
const COUNT: usize = 5;

/// Frames of a closed journal: the opening one, five of two updates each ("1a", "1b" to "5a", "5b"), the closing one.
fn numbered_frames() -> Vec<Vec<u8>> {
    let frame = |n| vec![update(2 * n, &format!("{n}a")), update(2 * n + 1, &format!("{n}b"))];
    frames_of(&(1..=COUNT as u64).map(frame).collect::<Vec<_>>())
}

/// The outline of these frames of [`numbered_frames`]; a 0 is damage.
fn updates_of(frames: impl IntoIterator<Item = usize>) -> Vec<String> {
    let lines_of = |n| if n == 0 { vec!["damaged".to_owned()] } else { vec![format!("{n}a"), format!("{n}b")] };
    frames.into_iter().flat_map(lines_of).collect()
}

/// Frames of items with damage before the one of this number.
fn with_damage_before(number: usize, frames: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut outline = updates_of(frames);
    let place = outline.iter().position(|text| text.starts_with(|c: char| c >= char::from(b'0' + number as u8)));
    let place = place.filter(|place| outline[*place] != "damaged").unwrap_or(outline.len());
    outline.insert(place, "damaged".to_owned());
    outline
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
    let distance = i64::MAX as u64;
    (0..distance, any::<bool>()).prop_map(|(ns, before)| {
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
    (times(), option::of(times()), any::<String>(), any::<Option<u64>>(), any::<bool>()).prop_map(
        |(start, end, reason, dropped, is_final)| Notice::Gap { start, end, reason: reason.into(), dropped, is_final },
    )
}

fn items() -> impl Strategy<Value = Item> {
    let disconnections = (times(), any::<String>(), any::<Option<u16>>(), any::<u32>(), option::of(times())).prop_map(
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
        1 => disconnections.prop_map(Item::Notice),
        1 => gaps().prop_map(Item::Notice),
        1 => times().prop_map(|since| Item::Notice(Notice::Quiet { since })),
        1 => recovered.prop_map(Item::Notice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_items_are_read_back(frames in vec(vec(items(), 1..8), 0..5)) {
        prop_assert_eq!(read(&journal(&frames)).unwrap(), frames.concat());
    }

    #[test]
    fn noise_yields_no_items(noise in vec(any::<u8>(), 0..200), has_opening in any::<bool>()) {
        let opening = &frames_of(&[])[0];
        let bytes = if has_opening { [opening, &noise[..]].concat() } else { noise };
        match read(&bytes) {
            Ok(items) => {
                let is_gap = |item: &Item| matches!(item, Item::Notice(Notice::Gap { .. }));
                prop_assert!(has_opening && items.len() == 1 && items.iter().all(is_gap));
            }
            Err(error) => prop_assert!(!has_opening && error.to_string().contains("no journal")),
        }
    }
}

#[test]
fn a_whole_journal_has_no_gap() {
    assert_eq!(outline(&numbered_frames().concat()), updates_of(1..=COUNT));
    assert_eq!(read(&journal(&[])).unwrap(), []);
}

#[test]
fn a_lost_frame_is_one_gap_in_its_place() {
    for number in 0..COUNT + 1 {
        let mut frames = numbered_frames();
        frames.remove(number);
        let retained_frames = (1..=COUNT).filter(|n| *n != number);
        assert_eq!(outline(&frames.concat()), with_damage_before(number, retained_frames), "{number}");
    }
    let mut frames = numbered_frames();
    frames.pop();
    let torn_outline = [updates_of(1..=COUNT), vec!["torn".into()]].concat();
    assert_eq!(outline(&frames.concat()), torn_outline, "the closing frame");
    let bytes = [&numbered_frames().concat()[..], b"more"].concat();
    assert_eq!(outline(&bytes), torn_outline, "another recording that was killed at its first byte");
}

#[test]
fn a_copied_frame_is_one_gap_where_the_copy_is() {
    for original in 0..COUNT + 2 {
        for place in 0..COUNT + 3 {
            let mut frames = numbered_frames();
            frames.insert(place, frames[original].clone());
            // Of two equal frames in a row the second is the copy.
            let gap = if place == original { place + 1 } else { place };
            assert_eq!(outline(&frames.concat()), with_damage_before(gap, 1..=COUNT), "{original} at {place}");
        }
    }
}

#[test]
fn swapped_neighbours_are_one_gap_before_them_and_no_update_is_lost() {
    for first in 0..COUNT + 1 {
        let mut frames = numbered_frames();
        frames.swap(first, first + 1);
        let expected = with_damage_before(first, 1..=COUNT);
        assert_eq!(outline(&frames.concat()), expected, "{first} and the next");
    }
}

/// Some bits change nothing of the content, and nothing is lost then.
#[test]
fn a_flipped_bit_costs_at_most_its_frame_and_is_one_gap() {
    let frames = numbered_frames();
    let mut harmless = 0;
    for (number, frame) in frames.iter().enumerate() {
        let expected = match number {
            n if n == COUNT + 1 => [updates_of(1..=COUNT), vec!["torn".into()]].concat(),
            n => with_damage_before(n, (1..=COUNT).filter(|other| *other != n)),
        };
        for place in 0..frame.len() * 8 {
            let mut other = frames.clone();
            other[number][place / 8] ^= 1 << (place % 8);
            let items = outline(&other.concat());
            if items == updates_of(1..=COUNT) {
                harmless += 1;
            } else {
                assert_eq!(items, expected, "bit {place} of frame {number}");
            }
        }
    }
    assert!(harmless * 100 < frames.concat().len() * 8, "{harmless} bits");
}

#[test]
fn a_journal_cut_in_the_middle_is_one_gap_there() {
    let (frames, bytes) = (numbered_frames(), numbered_frames().concat());
    let opening = frames[0].len();
    let starts: Vec<usize> = (0..=frames.len()).map(|n| frames[..n].iter().map(Vec::len).sum()).collect();
    for start in (opening..bytes.len() - frames[COUNT + 1].len()).step_by(7) {
        let number = starts.iter().rposition(|at| *at <= start).unwrap();
        // Within the frame, up to its last byte, and into the next one.
        for end in [start + 1, starts[number + 1], starts[number + 1] + 1] {
            let cut = [&bytes[..start], &bytes[end..]].concat();
            // The beginning of this frame may be that of the next one.
            let is_next_whole = end > starts[number + 1] && start == starts[number] + 1;
            let last = if end > starts[number + 1] && !is_next_whole { number + 1 } else { number };
            if last == COUNT + 1 {
                continue;
            }
            let retained_frames = (1..=COUNT).filter(|n| !(number..=last).contains(n));
            assert_eq!(outline(&cut), with_damage_before(number, retained_frames), "{start} to {end}");
        }
    }
}

#[test]
fn a_journal_cut_off_anywhere_is_torn_and_can_be_appended_to() {
    let frames = numbered_frames();
    let bytes = frames.concat();
    for cut in 0..bytes.len() {
        let ends = (1..=frames.len()).map(|n| frames[..n].iter().map(Vec::len).sum::<usize>());
        let count = ends.filter(|end| *end <= cut).count();
        if count == 0 {
            assert!(read(&bytes[..cut]).unwrap_err().to_string().contains("no journal"), "cut at {cut}");
            continue;
        }
        let torn_outline = [updates_of(1..count), vec!["torn".into()]].concat();
        assert_eq!(outline(&bytes[..cut]), torn_outline, "cut at {cut}");
        let longer = outline(&continue_journal(&bytes[..cut]));
        assert_eq!(longer, [torn_outline, vec!["after".into()]].concat(), "appended at {cut}");
    }
}

/// A journal with another recording of one update, "after".
fn continue_journal(bytes: &[u8]) -> Vec<u8> {
    let scratch = Scratch::with(bytes);
    let mut writer = Writer::open(&scratch.0, now()).unwrap();
    writer.append(&update(99, "after"), now(), Duration::ZERO).unwrap();
    writer.close(now()).unwrap();
    fs::read(&scratch.0).unwrap()
}

#[test]
fn another_recording_continues_a_whole_and_a_damaged_journal() {
    let mut frames = numbered_frames();
    let after = vec!["after".to_owned()];
    assert_eq!(outline(&continue_journal(&frames.concat())), [updates_of(1..=COUNT), after.clone()].concat());
    assert_eq!(outline(&continue_journal(&continue_journal(&frames.concat())))[2 * COUNT..], ["after", "after"]);
    frames.remove(2);
    let expected = [updates_of([1, 0, 3, 4, 5]), after].concat();
    assert_eq!(outline(&continue_journal(&frames.concat())), expected);
}

#[test]
fn a_gap_has_the_times_of_the_items_around_it() {
    let at = |n: u64| SystemTime::UNIX_EPOCH + Duration::from_nanos(1_800_000_000_000_000_000 + n);
    let mut frames = numbered_frames();
    frames.remove(3);
    let gaps = |bytes: &[u8]| -> Vec<_> {
        let times = |item| match item {
            Item::Notice(Notice::Gap { start, end, .. }) => Some((start, end)),
            _ => None,
        };
        read(bytes).unwrap().into_iter().filter_map(times).collect()
    };
    assert_eq!(gaps(&frames.concat()), [(at(5), Some(at(8)))]);
    assert_eq!(gaps(&frames[1..].concat()), [(at(2), Some(at(2))), (at(5), Some(at(8)))]);
    assert_eq!(gaps(&frames[..2].concat()), [(at(3), None)]);
    assert_eq!(gaps(&frames[..1].concat()), [(now(), None)]);
    assert_eq!(gaps(&continue_journal(&frames[..2].concat())), [(at(3), Some(at(99)))]);
    let bytes = continue_journal(&[&frames[1][..], &frames[3]].concat());
    assert_eq!(gaps(&bytes)[1..], [(at(3), Some(at(8))), (at(9), Some(at(99)))]);
}

#[test]
fn a_writer_knows_the_time_of_the_last_whole_item() {
    let end = |bytes: &[u8]| Writer::open(&Scratch::with(bytes).0, now()).unwrap().previous_end;
    let Item::Update(second) = update(2, "") else { panic!() };
    let Item::Update(third) = update(3, "") else { panic!() };
    let ends = [None, Some(second.received_at), Some(third.received_at), Some(now())];
    for (count, expected) in ends.iter().enumerate() {
        assert_eq!(end(&journal(&small()[..count])), *expected, "{count} frames");
    }
    let bytes = frames_of(&small())[..=3].concat();
    assert_eq!(end(&bytes[..bytes.len() - 1]), Some(third.received_at));
    // The clock was set back since: the gap begins now.
    let writer = Writer::open(&Scratch::with(&journal(&small())).0, second.received_at).unwrap();
    assert_eq!(writer.previous_end, Some(second.received_at));
}

#[test]
fn other_files_are_refused_and_left_unchanged() {
    let foreign = zstd::encode_all(&b"{}\n"[..], 3).unwrap();
    let text = "{\"a\": 1}\n".repeat(100);
    for content in [&b"hello"[..], b"sideline journal", text.as_bytes(), &foreign] {
        let scratch = Scratch::with(content);
        let refusal = Writer::open(&scratch.0, now()).unwrap_err().to_string();
        assert!(refusal.contains("no journal") && refusal.contains("(byte 0)"), "{refusal}");
        assert_eq!(fs::read(&scratch.0).unwrap(), content);
        assert!(Reader::open(&scratch.0).is_err());
    }
    let empty = Scratch::with(b"");
    assert!(Reader::open(&empty.0).unwrap_err().to_string().contains("it is empty"));
}

#[test]
fn a_journal_of_another_version_is_refused_with_its_version() {
    let first = [b"\x50\x2A\x4D\x18\x14\0\0\0sideline journal\x01\0\0\0", &[7; 100][..]].concat();
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    compressor.include_checksum(true).unwrap();
    let second = compressor.compress(b"{\"journal\": 2}\n").unwrap();
    for (version, bytes) in [(1, first), (2, second)] {
        let refusal = read(&bytes).unwrap_err();
        assert!(matches!(&refusal, Error::Decode(Undecodable { offset: 0, .. })), "{refusal:?}");
        let refusal = refusal.to_string();
        assert!(
            refusal.contains(&format!("has version {version}")) && refusal.contains("reads version 3"),
            "{refusal}"
        );
        let scratch = Scratch::with(&bytes);
        assert!(Writer::open(&scratch.0, now()).is_err());
        assert_eq!(fs::read(&scratch.0).unwrap(), bytes);
    }
}

/// A frame of these lines that continues the first frames of [`numbered_frames`].
fn forge_frame(number: u64, before: &[u8], lines: &[u8]) -> Vec<u8> {
    let previous = u32::from_le_bytes(*before.last_chunk().unwrap());
    let link = super::chain::Link { number: number - 1, previous: 0, checksum: previous };
    frame::pack(&FrameHeader::after(Some(link), 1, 0, false), lines).unwrap().0
}

#[test]
fn a_frame_larger_than_any_writer_writes_is_damage() {
    let frames = numbered_frames();
    let line = vec![b' '; 2 * MAX_LINE_LEN];
    let bytes = [&frames[0][..], &frames[1], &forge_frame(2, &frames[1], &line), &frames[3]].concat();
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    assert_eq!(outline(&bytes), [updates_of([1, 0, 3]), vec!["torn".into()]].concat());
}

#[test]
fn a_frame_with_more_lines_than_a_recorder_writes_is_damage() {
    let (frames, mut lines) = (numbered_frames(), Vec::new());
    let item = Item::Notice(Notice::Connected { at: now() });
    while lines.len() < 64 << 20 {
        super::format::write(&item, now(), Duration::ZERO, &mut lines).unwrap();
    }
    let bytes = [&frames[0][..], &frames[1], &forge_frame(2, &frames[1], &lines), &frames[3]].concat();
    assert!(bytes.len() < 64 << 10, "{} bytes", bytes.len());
    assert_eq!(outline(&bytes), [updates_of([1, 0, 3]), vec!["torn".into()]].concat());
}

#[test]
fn any_zstd_decoder_reads_a_journal_as_json_lines() {
    let text = zstd::decode_all(&journal(&small())[..]).unwrap();
    let lines: Vec<serde_json::Value> =
        text.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
    let (headers, items): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["journal"] == 3);
    assert_eq!((headers.len(), items.len()), (5, small().concat().len()));
    let checksums = frames_of(&small()).into_iter().map(|frame| u32::from_le_bytes(*frame.last_chunk().unwrap()));
    for ((number, header), checksum) in headers[1..].iter().enumerate().zip(checksums) {
        assert_eq!((&header["frame"], &header["previous"]), (&(number + 1).into(), &checksum.into()));
    }
    assert_eq!(items[1]["item"]["update"]["text"], "{}");
    assert_eq!(items[1]["item"]["update"]["at"], 1_800_000_000_000_000_001_i64);
}

fn texts(path: &Path) -> Vec<String> {
    outline(&fs::read(path).unwrap())
}

#[tokio::test]
async fn a_journal_has_one_recorder_at_a_time() {
    let (scratch, runtime) = (Scratch::new(), Handle::current());
    let mut first = Recorder::open(&scratch.0, None, &runtime).unwrap();
    let refusal = Recorder::open(&scratch.0, None, &runtime).unwrap_err();
    assert!(matches!(&refusal, Error::File(FileError { errno: None, .. })), "{refusal}");
    first.append(&update(1, "one")).unwrap();
    first.close().unwrap();
    let second = Recorder::open(&scratch.0, None, &runtime).unwrap();
    second.append(&update(2, "two")).unwrap();
    drop(second);
    assert_eq!(texts(&scratch.0), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn items_are_written_within_a_second_and_share_frames() {
    let scratch = Scratch::new();
    let mut recorder = Recorder::open(&scratch.0, Some(Duration::from_secs(5)), &Handle::current()).unwrap();
    let start = Instant::now();
    recorder.append(&update(1, "one")).unwrap();
    sleep(Duration::from_millis(500)).await;
    recorder.append(&update(2, "two")).unwrap();
    let size = fs::metadata(&scratch.0).unwrap().len();
    sleep(Duration::from_millis(490)).await;
    assert_eq!(fs::metadata(&scratch.0).unwrap().len(), size);
    while texts(&scratch.0).len() < 3 {
        assert!(start.elapsed() < Duration::from_millis(1100), "pending items were not written without a further one");
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(texts(&scratch.0), ["one", "two", "torn"]);
    // Large items are written at once.
    let long = "x".repeat(100_000);
    for n in 3..6 {
        recorder.append(&update(n, &long)).unwrap();
    }
    assert_eq!(texts(&scratch.0).len(), 6);
    recorder.close().unwrap();
    assert_eq!(texts(&scratch.0).len(), 5, "it is closed");
}

#[tokio::test]
async fn with_a_sync_after_each_write_each_item_is_written_at_once() {
    let scratch = Scratch::new();
    let recorder = Recorder::open(&scratch.0, Some(Duration::ZERO), &Handle::current()).unwrap();
    for n in 1..4 {
        recorder.append(&update(n, "x")).unwrap();
        assert_eq!(texts(&scratch.0).len(), n as usize + 1);
    }
}

/// The monotonic times of a journal in milliseconds.
fn monotonic(path: &Path) -> Vec<u128> {
    let (mut reader, mut entries) = (Reader::open(path).unwrap(), Vec::new());
    while reader.next(&mut entries).unwrap() {}
    entries.iter().map(|entry| entry.monotonic.as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_line_has_the_monotonic_time_of_receipt() {
    let (scratch, wall) = (Scratch::new(), machine::now());
    let mut recorder = Recorder::open(&scratch.0, None, &Handle::current()).unwrap();
    let received_update = |ago: i64| {
        let Item::Update(update) = update(1, "x") else { panic!() };
        let received_at = match ago {
            0.. => wall - Duration::from_secs(ago as u64),
            ahead => wall + Duration::from_secs(ahead.unsigned_abs()),
        };
        Item::Update(Update { received_at, ..update })
    };
    sleep(Duration::from_secs(10)).await;
    // Two waited to be taken; the clock was set back by an hour before the third, and forward by one before the fifth.
    for ago in [6, 4, -3600, 4, 3600, 0] {
        recorder.append(&received_update(ago)).unwrap();
    }
    recorder.close().unwrap();
    let seconds: Vec<_> = monotonic(&scratch.0).into_iter().map(|ms| (ms + 500) / 1000).collect();
    assert_eq!(seconds, [4, 6, 10, 10, 10, 10]);
}
