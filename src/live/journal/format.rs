//! Items and frames as bytes. A journal is a zstd file of JSON lines, one per item: `zstd -dc` shows it.
//!
//! It starts with a skippable frame that identifies it. Pairs follow: a skippable frame with lengths and checksums, and the zstd
//! frame that it describes. They distinguish a torn tail from damage, and bound allocations.

use crate::live::item::{Item, Notice, Update};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of the file header, and of the header before each frame.
pub(super) const HEADER_LEN: usize = 28;

/// Bytes of lines after which a frame is written.
pub(super) const MAX_FRAME_LEN: usize = 256 * 1024;

/// Maximum bytes of a line, far beyond any message of the service.
pub(super) const MAX_LINE_LEN: usize = 128 * 1024 * 1024;

const VERSION: u32 = 1;
const NAME: &[u8; 16] = b"sideline journal";
/// zstd's magic numbers of skippable frames.
const FILE_MAGIC: u32 = 0x184D_2A50;
const FRAME_MAGIC: u32 = 0x184D_2A51;
const SKIPPED: u32 = HEADER_LEN as u32 - 8;

pub(super) fn file_header() -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..4].copy_from_slice(&FILE_MAGIC.to_le_bytes());
    bytes[4..8].copy_from_slice(&SKIPPED.to_le_bytes());
    bytes[8..24].copy_from_slice(NAME);
    bytes[24..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// The first bytes of every frame header.
pub(super) fn frame_start() -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&FRAME_MAGIC.to_le_bytes());
    bytes[4..].copy_from_slice(&SKIPPED.to_le_bytes());
    bytes
}

/// Checks the file header, which may be torn.
pub(super) fn check_file_header(bytes: &[u8]) -> Result<(), String> {
    let expected = file_header();
    if expected.starts_with(bytes) {
        return Ok(());
    }
    match (bytes.first_chunk::<HEADER_LEN>(), bytes.last_chunk::<4>()) {
        (Some(whole), Some(version)) if whole[..24] == expected[..24] => {
            let version = u32::from_le_bytes(*version);
            Err(format!("a journal of version {version}; this sideline reads version {VERSION}: it begins"))
        }
        _ => Err("this is no journal of sideline: it begins with something else".into()),
    }
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Bytes of the zstd frame.
    pub(crate) packed: u32,
    /// Bytes of its uncompressed lines.
    pub raw: u32,
    pub items: u32,
    /// Checksum of the zstd frame.
    pub(crate) crc: u32,
}

impl FrameHeader {
    pub(super) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let numbers = [FRAME_MAGIC, SKIPPED, self.packed, self.raw, self.items, self.crc];
        for (field, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let own = crc32fast::hash(&bytes[..HEADER_LEN - 4]);
        bytes[HEADER_LEN - 4..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// `None`: the bytes are damaged, or describe a frame larger than any writer writes.
    pub(super) fn parse(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(4).map(|four| four.try_into().map(u32::from_le_bytes).unwrap_or(0));
        let [magic, skipped, packed, raw, items, crc, own] = std::array::from_fn(|_| numbers.next().unwrap_or(0));
        let sound = (magic, skipped, own) == (FRAME_MAGIC, SKIPPED, crc32fast::hash(&bytes[..HEADER_LEN - 4]));
        let possible = raw as usize <= MAX_LINE_LEN + MAX_FRAME_LEN
            && packed as usize <= zstd::zstd_safe::compress_bound(raw as usize)
            && items <= raw;
        (sound && possible).then_some(FrameHeader { packed, raw, items, crc })
    }
}

/// Returns a frame with its header, as in the file.
pub(super) fn pack(lines: &[u8], items: u32) -> io::Result<Vec<u8>> {
    let packed = zstd::bulk::compress(lines, zstd::DEFAULT_COMPRESSION_LEVEL)?;
    let length = |n: usize| u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
    let header =
        FrameHeader { packed: length(packed.len())?, raw: length(lines.len())?, items, crc: crc32fast::hash(&packed) };
    Ok([header.to_bytes().as_slice(), &packed].concat())
}

/// Appends the items of a frame. A writer never starts a line beyond `MAX_FRAME_LEN`; a frame with such a line is forged, and
/// rejected because its items would take many times its size.
pub(super) fn read_all(header: &FrameHeader, packed: &[u8], into: &mut Vec<(SystemTime, Item)>) -> Result<(), String> {
    let lines = unpack(header, packed)?;
    let (mut start, mut count) = (0, 0);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if start > MAX_FRAME_LEN {
            return Err(format!("more than {MAX_FRAME_LEN} bytes of lines in a frame"));
        }
        into.push(read(line)?);
        (start, count) = (start + line.len(), count + 1);
    }
    if count != header.items {
        return Err(format!("{count} items where {} were written", header.items));
    }
    Ok(())
}

/// Decompresses the lines of a frame.
pub(super) fn unpack(header: &FrameHeader, packed: &[u8]) -> Result<Vec<u8>, String> {
    if crc32fast::hash(packed) != header.crc {
        return Err("its checksum differs".into());
    }
    let lines = zstd::bulk::decompress(packed, header.raw as usize).map_err(|error| error.to_string())?;
    if lines.len() != header.raw as usize {
        return Err("its length differs".into());
    }
    Ok(lines)
}

/// An item as a line. Times are nanoseconds since 1970; `at` is the time of receipt.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Update {
        at: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        event: Option<Cow<'a, str>>,
        id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<Cow<'a, str>>,
        text: Cow<'a, str>,
        /// The bytes of a binary message that is not UTF-8, in base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binary: Option<String>,
    },
    Connected {
        at: i64,
    },
    Disconnected {
        at: i64,
        reason: Cow<'a, str>,
        status: Option<u16>,
        attempt: u32,
        retry_at: Option<i64>,
    },
    Gap {
        at: i64,
        start: i64,
        end: Option<i64>,
        reason: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped: Option<u64>,
        is_final: bool,
    },
    Quiet {
        at: i64,
        since: i64,
    },
    Recovering {
        gap: Box<Line<'a>>,
        updates: Vec<Line<'a>>,
        missing: Vec<Cow<'a, str>>,
        requested_at: i64,
    },
    Recovered {
        gap: Box<Line<'a>>,
        updates: Vec<Line<'a>>,
        requested_at: Option<i64>,
    },
}

/// Appends an item's line. `now` is the time of notices without an own one.
pub(super) fn write(item: &Item, now: SystemTime, lines: &mut Vec<u8>) -> io::Result<()> {
    let line = match item {
        Item::Update(update) => update_line(update),
        Item::Notice(notice) => notice_line(notice, now),
    };
    serde_json::to_writer(&mut *lines, &line)?;
    lines.push(b'\n');
    Ok(())
}

fn text(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn update_line(update: &Update) -> Line<'_> {
    let Update { event, id, text: body, binary, seq, source, received_at } = update;
    Line::Update {
        at: ns(*received_at),
        event: event.as_deref().map(text),
        id: text(id),
        seq: *seq,
        source: source.as_deref().map(text),
        text: text(body),
        binary: binary.as_ref().map(|bytes| STANDARD.encode(bytes)),
    }
}

fn notice_line(notice: &Notice, now: SystemTime) -> Line<'_> {
    match notice {
        Notice::Connected { at } => Line::Connected { at: ns(*at) },
        Notice::Disconnected { at, reason, status, attempt, retry_at } => Line::Disconnected {
            at: ns(*at),
            reason: text(reason),
            status: *status,
            attempt: *attempt,
            retry_at: retry_at.map(ns),
        },
        Notice::Gap { start, end, reason, dropped, is_final } => Line::Gap {
            at: ns(end.unwrap_or(now)),
            start: ns(*start),
            end: end.map(ns),
            reason: text(reason),
            dropped: *dropped,
            is_final: *is_final,
        },
        Notice::Quiet { since } => Line::Quiet { at: ns(now), since: ns(*since) },
        Notice::Recovering { gap, updates, missing, requested_at } => Line::Recovering {
            gap: Box::new(notice_line(gap, now)),
            updates: updates.iter().map(update_line).collect(),
            missing: missing.iter().map(|what| text(what)).collect(),
            requested_at: ns(*requested_at),
        },
        Notice::Recovered { gap, updates, requested_at } => Line::Recovered {
            gap: Box::new(notice_line(gap, now)),
            updates: updates.iter().map(update_line).collect(),
            requested_at: requested_at.map(ns),
        },
    }
}

/// Parses a line; returns the item and its time of receipt.
pub(super) fn read(line: &[u8]) -> Result<(SystemTime, Item), String> {
    item_of(serde_json::from_slice(line).map_err(|error| error.to_string())?)
}

fn item_of(line: Line) -> Result<(SystemTime, Item), String> {
    Ok(match line {
        Line::Update { at, event, id, seq, source, text, binary } => {
            let received_at = time(at);
            let (event, source) = (event.map(Into::into), source.map(Into::into));
            let binary = binary.map(|text| STANDARD.decode(text)).transpose().map_err(|error| error.to_string())?;
            let binary = binary.map(Into::into);
            let update = Update { event, id: id.into(), text: text.into_owned(), binary, seq, source, received_at };
            (received_at, Item::Update(update))
        }
        Line::Connected { at } => (time(at), Item::Notice(Notice::Connected { at: time(at) })),
        Line::Disconnected { at, reason, status, attempt, retry_at } => {
            let (reason, retry_at) = (reason.into_owned(), retry_at.map(time));
            (time(at), Item::Notice(Notice::Disconnected { at: time(at), reason, status, attempt, retry_at }))
        }
        Line::Gap { at, start, end, reason, dropped, is_final } => {
            let (start, end, reason) = (time(start), end.map(time), reason.into_owned());
            (time(at), Item::Notice(Notice::Gap { start, end, reason, dropped, is_final }))
        }
        Line::Quiet { at, since } => (time(at), Item::Notice(Notice::Quiet { since: time(since) })),
        Line::Recovering { gap, updates, missing, requested_at } => {
            let missing = missing.into_iter().map(Cow::into_owned).collect();
            let (gap, updates, requested_at) = (gap_of(*gap)?, updates_of(updates)?, time(requested_at));
            let notice = Notice::Recovering { gap, updates, missing, requested_at };
            (notice.at(), Item::Notice(notice))
        }
        Line::Recovered { gap, updates, requested_at } => {
            let (gap, updates, requested_at) = (gap_of(*gap)?, updates_of(updates)?, requested_at.map(time));
            let notice = Notice::Recovered { gap, updates, requested_at };
            (notice.at(), Item::Notice(notice))
        }
    })
}

/// The gap that was recovered.
fn gap_of(line: Line) -> Result<Box<Notice>, String> {
    match (matches!(line, Line::Gap { .. }), item_of(line)?) {
        (true, (_, Item::Notice(gap))) => Ok(Box::new(gap)),
        _ => Err("what was recovered is no gap".into()),
    }
}

fn updates_of(lines: Vec<Line>) -> Result<Arc<[Update]>, String> {
    let update = |line| match item_of(line)? {
        (_, Item::Update(update)) => Ok(update),
        (_, Item::Notice(_)) => Err("what was recovered is no update".to_owned()),
    };
    lines.into_iter().map(update).collect()
}

fn ns(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

fn time(ns: i64) -> SystemTime {
    let length = Duration::from_nanos(ns.unsigned_abs());
    let time = if ns < 0 { UNIX_EPOCH.checked_sub(length) } else { UNIX_EPOCH.checked_add(length) };
    time.unwrap_or(UNIX_EPOCH)
}
