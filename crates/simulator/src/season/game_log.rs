//! The log of a game or drill: periods of possessions of events. All of the service's resources are derived from it.

use super::ball_screens::Screen;
use super::clocks::ClockFormat;
use super::corrections::Correction;
use super::roster::TeamMember;
use crate::model::possessions::PossessionAttributes;
use std::sync::{Arc, OnceLock};

/// The players that one side can send onto the court, and their team.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    /// Position of the team in the season's list.
    pub team: usize,
    pub members: Vec<Arc<TeamMember>>,
    /// How much better it shoots, and defends, than an average team, in permille.
    pub strength: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct GameLog {
    /// Home first. In a scrimmage both sides are of one team.
    pub sides: [Side; 2],
    /// The clock format of this event.
    pub clocks: ClockFormat,
    pub periods: Vec<GamePeriod>,
    /// In the order they were made; all of them apply.
    pub corrections: Vec<Correction>,
}

impl GameLog {
    pub(crate) fn starts_at(&self) -> i64 {
        self.periods.first().map_or(0, |period| period.started_at)
    }
    pub(crate) fn ends_at(&self) -> i64 {
        self.periods.last().map_or(0, |period| period.ended_at)
    }
    /// The part visible at `now`.
    pub(crate) fn visible_at(&self, now: i64) -> Vec<(&GamePeriod, &[GamePossession])> {
        self.periods.iter().map(|period| (period, period.visible_at(now))).collect()
    }
}

/// A session: `started_at..ended_at` is the play and the break after it, so that sessions touch.
#[derive(Debug, Clone)]
pub(crate) struct GamePeriod {
    pub id: String,
    /// As in the clock strings' `period`: H1, H2, OT1, ..
    pub name: String,
    pub started_at: i64,
    pub ended_at: i64,
    pub possessions: Vec<GamePossession>,
}

impl GamePeriod {
    /// The possessions that are over at `now`: an ongoing session shows only whole possessions, so that its resources
    /// agree and only grow.
    pub(crate) fn visible_at(&self, now: i64) -> &[GamePossession] {
        &self.possessions[..self.possessions.partition_point(|possession| possession.ended_at <= now)]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct GamePossession {
    /// The side that has the ball.
    pub side: usize,
    pub started_at: i64,
    pub ended_at: i64,
    /// Milliseconds left in the period.
    pub start_clock: i64,
    pub end_clock: i64,
    /// Five members of each side, by position. They change only between possessions, at a dead ball.
    pub on_court: [[usize; 5]; 2],
    /// The hoop that the side attacks.
    pub hoop: Hoop,
    pub play_events: Vec<PlayEvent>,
    pub attributes: PossessionAttributes,
    /// The ball screens counted in `attributes`, by time.
    pub screens: Vec<Screen>,
    /// Grows through the season: the `version` of the lines that this possession changed.
    pub version: i64,
}

impl GamePossession {
    /// What a player on court ran meanwhile, in whole cm; `pace` is in cm per second.
    pub(crate) fn distance(&self, pace: i64) -> i64 {
        (self.start_clock - self.end_clock) * pace / 1000
    }
}

/// The rim's centre, millimetres in the court frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hoop {
    pub x: i64,
    pub y: i64,
    pub z: i64,
}

/// A point of the court frame in millimetres, and the hoop it is seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CourtPoint {
    pub x: i64,
    pub y: i64,
    pub z: i64,
    pub hoop: Hoop,
}

#[derive(Debug, Clone)]
pub(crate) struct PlayEvent {
    pub at: i64,
    /// Milliseconds left in the period.
    pub clock: i64,
    /// Milliseconds left on the shot clock; `None` while it is off.
    pub shot_clock: Option<i64>,
    pub side: usize,
    pub member: usize,
    /// Where the game has it; its player aims at this place.
    pub place: CourtPoint,
    /// Where its player is, if that is far from `place`; set before it is served.
    pub player_at: OnceLock<Option<CourtPoint>>,
    pub act: Act,
    /// The score after it, home first.
    pub score: [i64; 2],
}

impl PlayEvent {
    /// Where details and play-by-play have it.
    pub(crate) fn shown_place(&self) -> CourtPoint {
        self.player_at.get().copied().flatten().unwrap_or(self.place)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Shot {
        is_made: bool,
        three: bool,
        attributes: Vec<&'static str>,
        /// The opponent nearest to the shooter at the release, and how near in mm.
        defender: usize,
        gap: i64,
    },
    FreeThrow {
        is_made: bool,
    },
    Assist,
    Turnover {
        live: bool,
    },
    Steal,
    Rebound {
        offensive: bool,
    },
    Block,
    Foul,
}
