//! Items as lines of JSON.

use super::frame::MAX_FRAME_LEN;
use crate::live::item::{Item, Notice};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An item as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    /// The number of its recording.
    pub recording: u32,
    /// When it was received, since the recording began.
    pub monotonic: Duration,
    /// Time of receipt.
    pub at: SystemTime,
    pub item: Item,
}

/// Appends the items of these lines. A writer never starts a line beyond `MAX_FRAME_LEN`; lines that do are forged, and rejected
/// because their items would take many times their size.
pub(super) fn read_all(lines: &[u8], recording: u32, into: &mut Vec<JournalEntry>) -> Option<()> {
    let mut start = 0;
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if start > MAX_FRAME_LEN {
            return None;
        }
        into.push(read(line, recording)?);
        start += line.len();
    }
    Some(())
}

/// Time of receipt of the last item of these lines.
pub(super) fn last_time(lines: &[u8]) -> Option<SystemTime> {
    let line = lines.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty())?;
    read(line, 0).map(|entry| entry.at)
}

/// A line: an item, and its times in nanoseconds, since the recording began and since 1970.
#[derive(Serialize, Deserialize)]
struct RecordedLine<T> {
    monotonic: u64,
    #[serde(with = "ns")]
    at: SystemTime,
    item: T,
}

/// Appends an item's line. `now` is the time of notices without an own one, `monotonic` the time since the recording began.
pub(super) fn write(item: &Item, now: SystemTime, monotonic: Duration, lines: &mut Vec<u8>) -> io::Result<()> {
    let monotonic = u64::try_from(monotonic.as_nanos()).unwrap_or(u64::MAX);
    serde_json::to_writer(&mut *lines, &RecordedLine { monotonic, at: received_at(item, now), item })?;
    lines.push(b'\n');
    Ok(())
}

/// When an item was received, which some notices do not say.
pub(super) fn received_at(item: &Item, now: SystemTime) -> SystemTime {
    match item {
        Item::Notice(Notice::Quiet { .. } | Notice::Gap { end: None, .. }) => now,
        item => item.at(),
    }
}

/// Parses a line of this recording.
fn read(line: &[u8], recording: u32) -> Option<JournalEntry> {
    let RecordedLine { monotonic, at, item } = serde_json::from_slice(line).ok()?;
    if let Item::Notice(Notice::Recovering { gap, .. } | Notice::Recovered { gap, .. }) = &item
        && !matches!(**gap, Notice::Gap { .. })
    {
        return None;
    }
    Some(JournalEntry { recording, monotonic: Duration::from_nanos(monotonic), at, item })
}

pub(super) fn nanoseconds(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

pub(super) fn time(ns: i64) -> SystemTime {
    let length = Duration::from_nanos(ns.unsigned_abs());
    let time = if ns < 0 { UNIX_EPOCH.checked_sub(length) } else { UNIX_EPOCH.checked_add(length) };
    time.unwrap_or(UNIX_EPOCH)
}

/// A time as nanoseconds since 1970.
pub(crate) mod ns {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(at: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        nanoseconds(*at).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        i64::deserialize(from).map(time)
    }
}

/// The same of a time that may be missing.
pub(crate) mod optional_ns {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(at: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
        at.map(nanoseconds).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
        Ok(Option::deserialize(from)?.map(time))
    }
}
