//! What a stream gives: updates, and notices about itself.

use std::sync::Arc;
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Update(Update),
    Notice(Notice),
}

/// One message of the service, as it came. JSON is read when it is asked for, not while the stream is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The event's type; `None`: `message`, the default. A websocket has no other.
    pub event: Option<Arc<str>>,
    /// The last event id in force; empty where none was seen.
    pub id: Arc<str>,
    /// The data: valid UTF-8, what was not is replaced.
    pub text: String,
    /// The bytes of a binary message that is not UTF-8; else they are those of `text`.
    pub binary: Option<Arc<[u8]>>,
    /// The number of a sequenced message (facts 4).
    pub seq: Option<i64>,
    /// The message's source (facts 4).
    pub source: Option<Arc<str>>,
    pub received_at: SystemTime,
}

/// What happened to the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Connected {
        at: SystemTime,
    },
    /// A connection was lost, or an attempt failed.
    Disconnected {
        at: SystemTime,
        reason: String,
        /// Of an answer that was not 200.
        status: Option<u16>,
        /// Attempts that failed in a row; 0: a standing connection was lost.
        attempt: u32,
        /// When the next attempt is made; `None`: never.
        retry_at: Option<SystemTime>,
    },
    /// Messages of this time are missing, or may be.
    Gap {
        /// The last byte before it.
        start: SystemTime,
        /// `None`: the stream ended in it.
        end: Option<SystemTime>,
        reason: String,
        /// Messages that are missing; `None`: unknown.
        dropped: Option<u64>,
    },
    /// Nothing but heartbeats since then.
    Quiet {
        since: SystemTime,
    },
    /// What the service still had of a gap.
    Recovered {
        /// A `Gap`.
        gap: Box<Notice>,
        /// The state of the game after it.
        updates: Vec<Update>,
    },
}

/// The reason of a gap that a full buffer made.
pub const OVERFLOW: &str = "overflow";
/// The reason of a gap where a counter began anew.
pub const RESTARTED: &str = "restarted";

/// How the reason begins of a gap that stays one.
pub const NOT_RECOVERED: &str = "not recovered: ";

/// What an item takes beside its texts.
const ITEM_BYTES: usize = 256;

impl Item {
    /// The bytes that it takes, about.
    pub fn size(&self) -> usize {
        let texts = match self {
            Item::Update(update) => update.size(),
            Item::Notice(Notice::Recovered { updates, .. }) => updates.iter().map(Update::size).sum(),
            Item::Notice(Notice::Disconnected { reason, .. } | Notice::Gap { reason, .. }) => reason.capacity(),
            Item::Notice(_) => 0,
        };
        ITEM_BYTES + texts
    }
}

impl Update {
    fn size(&self) -> usize {
        self.text.capacity() + self.binary.as_ref().map_or(0, |bytes| bytes.len())
    }

    /// The message's bytes.
    pub fn raw(&self) -> &[u8] {
        self.binary.as_deref().unwrap_or(self.text.as_bytes())
    }
}

impl Notice {
    /// The gap in the place of something that is too long.
    pub(super) fn skipped(what: &str, size: u64, limit: usize, at: SystemTime) -> Self {
        let reason = format!("an oversized {what} of {size} bytes was skipped: max_event_bytes is {limit}");
        Notice::Gap { start: at, end: Some(at), reason, dropped: Some(1) }
    }

    /// When it happened.
    pub fn at(&self) -> SystemTime {
        match self {
            Notice::Connected { at } | Notice::Disconnected { at, .. } => *at,
            Notice::Gap { start, end, .. } => end.unwrap_or(*start),
            Notice::Quiet { since } => *since,
            Notice::Recovered { gap, updates } => updates.last().map_or_else(|| gap.at(), |update| update.received_at),
        }
    }
}
