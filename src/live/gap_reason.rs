//! Why messages are missing.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// The reason of a gap. Programs compare the words of the closed set, so no text follows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GapReason {
    /// The buffer was full.
    Overflow,
    /// The sequence counter restarted.
    Restarted,
    /// A stream has begun: what happened before is unknown.
    Started,
    /// A journal is damaged.
    Damaged,
    /// A recorder was killed.
    #[serde(rename = "torn")]
    TornEnd,
    /// A connection was lost, or any other reason, in words.
    #[serde(untagged)]
    Other(String),
}

impl GapReason {
    const CLOSED_SET: [Self; 5] = [Self::Overflow, Self::Restarted, Self::Started, Self::Damaged, Self::TornEnd];

    pub fn as_str(&self) -> &str {
        match self {
            GapReason::Overflow => "overflow",
            GapReason::Restarted => "restarted",
            GapReason::Started => "started",
            GapReason::Damaged => "damaged",
            GapReason::TornEnd => "torn",
            GapReason::Other(text) => text,
        }
    }

    /// Bytes of its own text.
    pub(super) fn size(&self) -> usize {
        if let GapReason::Other(text) = self { text.capacity() } else { 0 }
    }
}

/// From Python's notice.
impl<T: Into<String>> From<T> for GapReason {
    fn from(text: T) -> Self {
        let text = text.into();
        let reason = Self::CLOSED_SET.into_iter().find(|reason| reason.as_str() == text);
        reason.unwrap_or(GapReason::Other(text))
    }
}

impl Display for GapReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
