//! The options of a stream and their defaults.

use crate::error::{Error, Result};
use std::time::Duration;

/// What happens when the reader of a stream is slower than the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overflow {
    #[default]
    /// Stops reading the connection, so that nothing is lost while the service waits.
    Block,
    /// Drops and counts the oldest update.
    DropOldest,
    /// Keeps only the newest update: for snapshots, each of which replaces the previous one.
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

/// An oversized message is skipped if it has at most this many times `max_event_bytes`; a larger one ends the connection.
pub(super) const MAX_SKIPPED_FACTOR: u64 = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct StreamOptions {
    /// Time without a byte after which a connection counts as lost (docs/wire.md, "Event stream": 30 s).
    pub silence_limit: Duration,
    /// The wait after the first failed attempt (docs/wire.md, "Event stream": 5 s). It doubles with each further one.
    pub retry_wait: Duration,
    /// Maximum of that wait.
    pub max_wait: Duration,
    /// Whether the items include notices.
    pub notices: bool,
    /// Whether to yield `Quiet` even without notices, until the first update.
    pub first_quiet: bool,
    pub overflow: Overflow,
    /// Maximum number of buffered items.
    pub buffer: usize,
    pub max_event_bytes: usize,
    /// Maximum of bytes of the buffered items.
    pub max_buffer_bytes: usize,
    /// Time without an update, while bytes arrive, after which there is a notice.
    pub quiet_after: Duration,
    /// Statuses that end the stream with an error.
    pub give_up_on: Vec<u16>,
    /// The id to send with the first request.
    pub last_event_id: Option<String>,
    /// Whether to request the state of the game after a gap, and the minimum time between two such requests.
    pub recover: Option<Duration>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions {
            silence_limit: Duration::from_secs(30),
            retry_wait: Duration::from_secs(5),
            max_wait: Duration::from_secs(10),
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

impl StreamOptions {
    pub fn check(&self) -> Result<()> {
        let has_control_character = |id: &str| id.chars().any(char::is_control);
        let problems = [
            (self.buffer == 0, "buffer must be at least 1"),
            (self.silence_limit.is_zero(), "silence_limit must be more than 0 seconds"),
            (self.max_event_bytes == 0, "max_event_bytes must be at least 1"),
            (self.max_buffer_bytes == 0, "max_buffer_bytes must be at least 1"),
            (
                self.last_event_id.as_deref().is_some_and(has_control_character),
                "last_event_id holds a control character",
            ),
        ];
        let first = problems.into_iter().find(|(is_wrong, _)| *is_wrong);
        first.map_or(Ok(()), |(_, message)| Err(Error::Argument(message.into())))
    }
}
