//! What a user can set on a stream, and what it is when it is not set.

use crate::error::{Error, Result};
use std::time::Duration;

/// What happens when the reader of a stream is slower than the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The connection is read no further: nothing is lost while the service waits.
    Block,
    /// The oldest update gives way; it is counted.
    DropOldest,
    /// Only the newest update is kept: for snapshots, each of which replaces the one before.
    Latest,
}

impl Overflow {
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "block" => Ok(Overflow::Block),
            "drop_oldest" => Ok(Overflow::DropOldest),
            "latest" => Ok(Overflow::Latest),
            other => {
                Err(Error::Argument(format!(r#"overflow is {other:?}; it must be "block", "drop_oldest" or "latest""#)))
            }
        }
    }
}

/// What is too long is skipped up to this many times `max_event_bytes`; beyond that its connection is given up.
pub const MAX_SKIPPED: u64 = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// No byte for so long: the connection is lost (specification 6.1: 30 s).
    pub silence_limit: Duration,
    /// The wait after a failed attempt (specification 6.1: 5 s). It grows while attempts fail.
    pub retry_wait: Duration,
    /// What it grows to.
    pub max_wait: Duration,
    /// Whether notices are among the items.
    pub notices: bool,
    /// Whether `Quiet` is an item without notices too, until the first update.
    pub first_quiet: bool,
    pub overflow: Overflow,
    /// Items that wait for their reader.
    pub buffer: usize,
    pub max_event_bytes: usize,
    /// Bytes of the items that wait for their reader.
    pub max_buffer_bytes: usize,
    /// No update for so long while bytes arrive: a notice.
    pub quiet_after: Duration,
    /// Statuses that end the stream with an error.
    pub give_up_on: Vec<u16>,
    /// Sent with the first request.
    pub last_event_id: Option<String>,
    /// Whether the service is asked for what a gap lacks, and the time between two such requests, at least.
    pub recover: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            silence_limit: Duration::from_secs(30),
            retry_wait: Duration::from_secs(5),
            max_wait: Duration::from_secs(60),
            notices: true,
            first_quiet: false,
            overflow: Overflow::Block,
            buffer: 1024,
            max_event_bytes: 16 << 20,
            max_buffer_bytes: 256 << 20,
            quiet_after: Duration::from_secs(60),
            give_up_on: vec![401, 403],
            last_event_id: None,
            recover: None,
        }
    }
}

impl Options {
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Argument(what.into()));
        if self.buffer == 0 {
            return wrong("buffer must be at least 1");
        }
        if self.silence_limit.is_zero() {
            return wrong("silence_limit must be more than 0 seconds");
        }
        if self.max_event_bytes == 0 {
            return wrong("max_event_bytes must be at least 1");
        }
        if self.max_buffer_bytes == 0 {
            return wrong("max_buffer_bytes must be at least 1");
        }
        if self.last_event_id.as_deref().is_some_and(|id| id.chars().any(char::is_control)) {
            return wrong("last_event_id holds a control character");
        }
        Ok(())
    }
}
