//! The items of a stream: updates, and notices about the stream.

use super::gap_reason::GapReason;
use super::journal::{ns, optional_ns};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    Update(Update),
    #[serde(untagged)]
    Notice(Notice),
}

/// One message of the service, unparsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// The event's type; `None`: `message`, the default. Always `None` on a websocket.
    pub event: Option<Arc<str>>,
    /// The last event id; empty if there was none, and always on a websocket.
    pub id: Arc<str>,
    /// The message; invalid UTF-8 is replaced.
    pub text: String,
    /// The original bytes of a message that is not UTF-8.
    pub binary: Option<Arc<[u8]>>,
    /// The sequence number (docs/wire.md, "Websocket").
    pub seq: Option<i64>,
    /// The source of the message; `None` on an event stream.
    pub source: Option<Arc<str>>,
    #[serde(rename = "at", with = "ns")]
    pub received_at: SystemTime,
}

/// What happened to the stream itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    Connected {
        #[serde(with = "ns")]
        at: SystemTime,
    },
    /// A connection was lost, or an attempt failed.
    Disconnected {
        #[serde(with = "ns")]
        at: SystemTime,
        reason: String,
        /// The HTTP status of an unexpected response.
        status: Option<u16>,
        /// Consecutive failed attempts; 0: an open connection was lost.
        attempt: u32,
        /// Time of the next attempt; `None`: no attempt follows.
        #[serde(with = "optional_ns")]
        retry_at: Option<SystemTime>,
    },
    /// Messages of this period are or may be missing.
    Gap {
        /// Time of the last byte before the gap.
        #[serde(with = "ns")]
        start: SystemTime,
        /// `None`: the stream ended during the gap.
        #[serde(with = "optional_ns")]
        end: Option<SystemTime>,
        reason: GapReason,
        /// Number of missing messages; `None`: unknown.
        dropped: Option<u64>,
        /// Whether recovery has ended without them; the reason says why.
        is_final: bool,
    },
    /// Only heartbeats have arrived since.
    Quiet {
        #[serde(with = "ns")]
        since: SystemTime,
    },
    /// What the service had of an open gap, which is requested again.
    Recovering {
        /// The `Gap`.
        gap: Box<Notice>,
        updates: Arc<[Update]>,
        /// What is missing: "stats", "plays", "shots", or the path of an unreadable row.
        missing: Vec<String>,
        /// When the request was sent.
        #[serde(with = "ns")]
        requested_at: SystemTime,
    },
    /// A gap that is closed.
    Recovered {
        /// The `Gap`.
        gap: Box<Notice>,
        /// The state of the game after it.
        updates: Arc<[Update]>,
        /// When the request was sent; `None`: the stream itself delivered the state.
        #[serde(with = "optional_ns")]
        requested_at: Option<SystemTime>,
    },
}

/// Estimated size of an item without its texts.
const ITEM_BYTES: usize = 256;

impl Item {
    /// Its approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        ITEM_BYTES
            + match self {
                Item::Update(update) => update.size(),
                Item::Notice(notice) => notice.size(),
            }
    }

    /// When it was received, or happened.
    pub(super) fn at(&self) -> SystemTime {
        match self {
            Item::Update(update) => update.received_at,
            Item::Notice(notice) => notice.at(),
        }
    }
}

impl Update {
    /// Every field is named, so that a new one is weighed too. Items may share an id; each counts it.
    fn size(&self) -> usize {
        let Update { event, id, text, binary, seq: _, source, received_at: _ } = self;
        let shared = [event.as_ref(), Some(id), source.as_ref()].into_iter().flatten().map(|text| text.len());
        text.capacity() + binary.as_ref().map_or(0, |bytes| bytes.len()) + shared.sum::<usize>()
    }

    /// The text of a message, and its bytes if they are not UTF-8.
    pub(super) fn decode(bytes: Vec<u8>) -> (String, Option<Arc<[u8]>>) {
        String::from_utf8(bytes).map(|text| (text, None)).unwrap_or_else(|error| {
            (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(error.into_bytes().into()))
        })
    }

    /// The message's bytes.
    pub fn raw(&self) -> &[u8] {
        self.binary.as_deref().unwrap_or(self.text.as_bytes())
    }
}

impl Notice {
    /// Every field is named, so that a new one is weighed too.
    fn size(&self) -> usize {
        let of_updates = |updates: &[Update]| updates.iter().map(Update::size).sum::<usize>();
        match self {
            Notice::Connected { at: _ } | Notice::Quiet { since: _ } => 0,
            Notice::Disconnected { at: _, reason, status: _, attempt: _, retry_at: _ } => reason.capacity(),
            Notice::Gap { start: _, end: _, reason, dropped: _, is_final: _ } => reason.size(),
            Notice::Recovering { gap, updates, missing, requested_at: _ } => {
                let missing = missing.iter().map(|part| part.capacity() + size_of::<String>());
                gap.size() + of_updates(updates) + missing.sum::<usize>()
            }
            Notice::Recovered { gap, updates, requested_at: _ } => gap.size() + of_updates(updates),
        }
    }

    /// A gap that may be closed, and lacks an unknown number of messages.
    pub(super) fn gap(start: SystemTime, end: Option<SystemTime>, reason: impl Into<GapReason>) -> Self {
        Notice::Gap { start, end, reason: reason.into(), dropped: None, is_final: false }
    }

    /// Extends it to cover an earlier notice of its kind.
    pub(super) fn cover(&mut self, earlier: Notice) {
        match (earlier, self) {
            (Notice::Gap { start: first, dropped: more, .. }, Notice::Gap { start, dropped, .. }) => {
                *start = (*start).min(first);
                *dropped = dropped.zip(more).map(|(a, b)| a.saturating_add(b));
            }
            (Notice::Quiet { since: first }, Notice::Quiet { since }) => *since = (*since).min(first),
            _ => {}
        }
    }

    /// The gap that replaces an oversized event or message.
    pub(super) fn oversize_gap(kind: &str, size: u64, limit: usize, at: SystemTime) -> Self {
        let reason = format!("an oversized {kind} of {size} bytes was skipped: max_event_bytes is {limit}").into();
        Notice::Gap { start: at, end: Some(at), reason, dropped: Some(1), is_final: false }
    }

    /// When it happened.
    pub fn at(&self) -> SystemTime {
        match self {
            Notice::Connected { at } | Notice::Disconnected { at, .. } => *at,
            Notice::Gap { start, end, .. } => end.unwrap_or(*start),
            Notice::Quiet { since } => *since,
            Notice::Recovering { gap, updates, .. } | Notice::Recovered { gap, updates, .. } => {
                updates.last().map_or_else(|| gap.at(), |update| update.received_at)
            }
        }
    }
}
