//! Items and frames as bytes. A journal as a whole is a zstd file of JSON lines, one line an item: `zstd -dc` shows it.
//!
//! It begins with a skippable frame that says what it is. Then come pairs: a skippable frame with lengths and checksums, and
//! the zstd frame that it is about. By these a reader tells a torn tail from damage, and knows what it may allocate.

use crate::live::item::{Item, Notice, Update};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of the file's beginning, and of what stands before each frame.
pub const HEAD: usize = 28;

/// Lines beyond this are no longer gathered into one frame.
pub const FRAME: usize = 256 * 1024;

/// The longest line. No message of the service comes near it.
pub const LINE_LIMIT: usize = 128 * 1024 * 1024;

const VERSION: u32 = 1;
const NAME: &[u8; 16] = b"sideline journal";
/// zstd's magic numbers for frames that a decoder steps over.
const FILE_MAGIC: u32 = 0x184D_2A50;
const FRAME_MAGIC: u32 = 0x184D_2A51;
const SKIPPED: u32 = HEAD as u32 - 8;

pub fn beginning() -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..4].copy_from_slice(&FILE_MAGIC.to_le_bytes());
    bytes[4..8].copy_from_slice(&SKIPPED.to_le_bytes());
    bytes[8..24].copy_from_slice(NAME);
    bytes[24..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// The first bytes of what stands before each frame.
pub fn frame_start() -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&FRAME_MAGIC.to_le_bytes());
    bytes[4..].copy_from_slice(&SKIPPED.to_le_bytes());
    bytes
}

/// Whether this is how a journal begins; fewer bytes than a beginning are one that was torn.
pub fn check_beginning(bytes: &[u8]) -> Result<(), String> {
    let ours = beginning();
    if ours.starts_with(bytes) {
        return Ok(());
    }
    match (bytes.first_chunk::<HEAD>(), bytes.last_chunk::<4>()) {
        (Some(whole), Some(version)) if whole[..24] == ours[..24] => {
            let version = u32::from_le_bytes(*version);
            Err(format!("a journal of version {version}; this sideline reads version {VERSION}: it begins"))
        }
        _ => Err("this is no journal of sideline: it begins with something else".into()),
    }
}

/// What stands before a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the zstd frame.
    pub packed: u32,
    /// Bytes of its lines.
    pub raw: u32,
    pub items: u32,
    /// Of the zstd frame.
    pub crc: u32,
}

impl Head {
    pub fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let numbers = [FRAME_MAGIC, SKIPPED, self.packed, self.raw, self.items, self.crc];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let own = crc32fast::hash(&bytes[..HEAD - 4]);
        bytes[HEAD - 4..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// `None`: these are not the bytes that were written, or ask for more than was ever written.
    pub fn parse(bytes: &[u8; HEAD]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(4).map(|four| four.try_into().map(u32::from_le_bytes).unwrap_or(0));
        let [magic, skipped, packed, raw, items, crc, own] = std::array::from_fn(|_| numbers.next().unwrap_or(0));
        let sound = (magic, skipped, own) == (FRAME_MAGIC, SKIPPED, crc32fast::hash(&bytes[..HEAD - 4]));
        let possible = raw as usize <= LINE_LIMIT + FRAME
            && packed as usize <= zstd::zstd_safe::compress_bound(raw as usize)
            && items <= raw;
        (sound && possible).then_some(Head { packed, raw, items, crc })
    }
}

/// A frame with its head, as it stands in the file.
pub fn pack(lines: &[u8], items: u32) -> io::Result<Vec<u8>> {
    let packed = zstd::bulk::compress(lines, zstd::DEFAULT_COMPRESSION_LEVEL)?;
    let length = |n: usize| u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
    let head = Head { packed: length(packed.len())?, raw: length(lines.len())?, items, crc: crc32fast::hash(&packed) };
    Ok([head.to_bytes().as_slice(), &packed].concat())
}

/// The items of a frame, added to those that are there. What was written never begins a line beyond `FRAME`, so a frame that
/// does was made by somebody else, and is not read: its lines would take many times its size.
pub fn read_all(head: &Head, packed: &[u8], into: &mut Vec<(SystemTime, Item)>) -> Result<(), String> {
    let lines = unpack(head, packed)?;
    let (mut start, mut count) = (0, 0);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if start > FRAME {
            return Err(format!("more than {FRAME} bytes of lines in a frame"));
        }
        into.push(read(line)?);
        (start, count) = (start + line.len(), count + 1);
    }
    if count != head.items {
        return Err(format!("{count} items where {} were written", head.items));
    }
    Ok(())
}

/// The lines of a frame.
pub fn unpack(head: &Head, packed: &[u8]) -> Result<Vec<u8>, String> {
    if crc32fast::hash(packed) != head.crc {
        return Err("its checksum differs".into());
    }
    let lines = zstd::bulk::decompress(packed, head.raw as usize).map_err(|error| error.to_string())?;
    if lines.len() != head.raw as usize {
        return Err("its length differs".into());
    }
    Ok(lines)
}

/// A line. Times are nanoseconds since 1970; `at` is when the item came.
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
    },
    Quiet {
        at: i64,
        since: i64,
    },
    Recovered {
        gap: Box<Line<'a>>,
        updates: Vec<Line<'a>>,
    },
}

/// Adds an item's line. `now`: for notices that tell of something earlier than themselves.
pub fn write(item: &Item, now: SystemTime, lines: &mut Vec<u8>) -> io::Result<()> {
    let line = match item {
        Item::Update(update) => of_update(update),
        Item::Notice(notice) => of_notice(notice, now),
    };
    serde_json::to_writer(&mut *lines, &line)?;
    lines.push(b'\n');
    Ok(())
}

fn text(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn of_update(update: &Update) -> Line<'_> {
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

fn of_notice(notice: &Notice, now: SystemTime) -> Line<'_> {
    match notice {
        Notice::Connected { at } => Line::Connected { at: ns(*at) },
        Notice::Disconnected { at, reason, status, attempt, retry_at } => Line::Disconnected {
            at: ns(*at),
            reason: text(reason),
            status: *status,
            attempt: *attempt,
            retry_at: retry_at.map(ns),
        },
        Notice::Gap { start, end, reason, dropped } => Line::Gap {
            at: ns(end.unwrap_or(now)),
            start: ns(*start),
            end: end.map(ns),
            reason: text(reason),
            dropped: *dropped,
        },
        Notice::Quiet { since } => Line::Quiet { at: ns(now), since: ns(*since) },
        Notice::Recovered { gap, updates } => {
            Line::Recovered { gap: Box::new(of_notice(gap, now)), updates: updates.iter().map(of_update).collect() }
        }
    }
}

/// The item of a line, and when it came.
pub fn read(line: &[u8]) -> Result<(SystemTime, Item), String> {
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
        Line::Gap { at, start, end, reason, dropped } => {
            let notice = Notice::Gap { start: time(start), end: end.map(time), reason: reason.into_owned(), dropped };
            (time(at), Item::Notice(notice))
        }
        Line::Quiet { at, since } => (time(at), Item::Notice(Notice::Quiet { since: time(since) })),
        Line::Recovered { gap, updates } => {
            let Line::Gap { .. } = *gap else { return Err("what was recovered is no gap".into()) };
            let (_, Item::Notice(gap)) = item_of(*gap)? else { return Err("what was recovered is no gap".into()) };
            let update = |line| match item_of(line)? {
                (_, Item::Update(update)) => Ok(update),
                (_, Item::Notice(_)) => Err("what was recovered is no update".to_owned()),
            };
            let updates = updates.into_iter().map(update).collect::<Result<_, _>>()?;
            let notice = Notice::Recovered { gap: Box::new(gap), updates };
            (notice.at(), Item::Notice(notice))
        }
    })
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
