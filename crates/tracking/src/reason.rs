//! Why an answer is null: a closed set.

/// The reason of a null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    ShooterNotTracked,
    TooFewOpponents,
    LineupUnknown,
    PlaceDisagrees,
    ClockUnknown,
    RateTooLow,
    NoBall,
    Gap,
}

impl Reason {
    pub const ALL: [Reason; 8] = [
        Reason::ShooterNotTracked,
        Reason::TooFewOpponents,
        Reason::LineupUnknown,
        Reason::PlaceDisagrees,
        Reason::ClockUnknown,
        Reason::RateTooLow,
        Reason::NoBall,
        Reason::Gap,
    ];

    /// The value of the column `reason`.
    pub fn name(self) -> &'static str {
        match self {
            Reason::ShooterNotTracked => "shooter_not_tracked",
            Reason::TooFewOpponents => "too_few_opponents",
            Reason::LineupUnknown => "lineup_unknown",
            Reason::PlaceDisagrees => "place_disagrees",
            Reason::ClockUnknown => "clock_unknown",
            Reason::RateTooLow => "rate_too_low",
            Reason::NoBall => "no_ball",
            Reason::Gap => "gap",
        }
    }
}
