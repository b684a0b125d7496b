//! One try to shoot: how it begins, and how it ends.

use super::court::Chart;
use super::game_log::CourtPoint;

/// How the side got the ball.
pub(super) enum Start {
    /// From out of bounds, after a whistle.
    Inbound,
    /// From under the own hoop, after a basket: the clock runs.
    Basket,
    Rebound(usize, CourtPoint),
    Steal(usize, CourtPoint),
}

/// One try to shoot; a possession has several after fouls and offensive rebounds.
pub(super) struct Chance {
    pub(super) time: i64,
    /// To be where something can happen.
    pub(super) least: i64,
    /// The first of the possession.
    pub(super) opening: bool,
    /// The part of the time in which the ball is brought up.
    pub(super) advance: i64,
    /// The player who has just won the ball, and where.
    pub(super) from: Option<(usize, CourtPoint)>,
}

/// The kind of shot.
pub(super) enum Choice {
    Any,
    Layup,
    /// By the player who has just rebounded it.
    Putback(usize, Option<Chart>),
    /// From the own half as the clock runs out, by the player who has just won the ball, if any.
    Heave(Option<(usize, CourtPoint)>),
}

pub(super) enum ChanceOutcome {
    /// The side keeps the ball.
    Again(Chance),
    /// The other side has it, or the period is over.
    Over(Start),
}
