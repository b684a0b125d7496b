//! Items as lines of JSON.

use super::frame::MAX_FRAME_LEN;
use crate::live::item::{Item, Notice, Update};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
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
pub(super) fn read_all(lines: &[u8], recording: u32, into: &mut Vec<JournalEntry>) -> Result<(), String> {
    let mut start = 0;
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if start > MAX_FRAME_LEN {
            return Err(format!("more than {MAX_FRAME_LEN} bytes of lines in a frame"));
        }
        let (at, monotonic, item) = read(line)?;
        into.push(JournalEntry { recording, monotonic, at, item });
        start += line.len();
    }
    Ok(())
}

/// Time of receipt of the last item of these lines.
pub(super) fn last_time(lines: &[u8]) -> Option<SystemTime> {
    let line = lines.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty())?;
    read(line).ok().map(|(at, ..)| at)
}

/// A line: an item, and the nanoseconds since the recording began.
#[derive(Serialize, Deserialize)]
struct RecordedLine<'a> {
    monotonic: u64,
    #[serde(borrow)]
    item: Line<'a>,
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

/// Appends an item's line. `now` is the time of notices without an own one, `monotonic` the time since the recording began.
pub(super) fn write(item: &Item, now: SystemTime, monotonic: Duration, lines: &mut Vec<u8>) -> io::Result<()> {
    let item = match item {
        Item::Update(update) => update_line(update),
        Item::Notice(notice) => notice_line(notice, now),
    };
    let line = RecordedLine { monotonic: u64::try_from(monotonic.as_nanos()).unwrap_or(u64::MAX), item };
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
            reason: text(reason.as_str()),
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

/// Parses a line; returns the item's time of receipt, the time since the recording began, and the item.
fn read(line: &[u8]) -> Result<(SystemTime, Duration, Item), String> {
    let line: RecordedLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let (at, item) = item_of(line.item)?;
    Ok((at, Duration::from_nanos(line.monotonic), item))
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
            let (start, end, reason) = (time(start), end.map(time), reason.into_owned().into());
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

pub(super) fn ns(at: SystemTime) -> i64 {
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
