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
    /// What was sent in this time was not received. Each hole is one gap.
    Gap {
        /// The last byte before it.
        start: SystemTime,
        /// `None`: the stream ended in it.
        end: Option<SystemTime>,
        reason: String,
    },
    /// Nothing but heartbeats since then.
    Quiet {
        since: SystemTime,
    },
}

impl Notice {
    /// When it happened.
    pub fn at(&self) -> SystemTime {
        match self {
            Notice::Connected { at } | Notice::Disconnected { at, .. } => *at,
            Notice::Gap { start, end, .. } => end.unwrap_or(*start),
            Notice::Quiet { since } => *since,
        }
    }
}
