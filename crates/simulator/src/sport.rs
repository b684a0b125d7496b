//! The sport of a season.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sport {
    Basketball,
    Football,
}

impl Sport {
    /// The name in the protocol.
    pub fn wire_name(self) -> &'static str {
        match self {
            Sport::Basketball => "BASKETBALL",
            Sport::Football => "FOOTBALL",
        }
    }
}
