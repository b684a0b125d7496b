//! Where everybody is at a time, as the sensors tell it.

use super::clocks;
use super::game_log::{Act, GamePeriod, GamePossession, Side};
use super::motion::Motion;
use super::path::Point;
use super::rng::{Rng, mix};
use crate::model::locations::{Location, LocationBatch};
use crate::model::team::Team;

/// Milliseconds between time steps, as in the vendor's sample.
pub(super) const SAMPLE_MS: i64 = 500;
const FIRST_BALL: usize = 900_001;
/// Milliseconds that a substitute takes from the court to the seat, or back.
const CHANGE_MS: f64 = 2000.0;
/// The height at which tags are worn, in mm.
const TAG_HEIGHT: f64 = 1060.0;

/// How the sensors tell positions: by default exactly, and of the ten players on court.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sensors {
    /// Milliseconds between time steps.
    pub step: i64,
    /// Standard deviation of each coordinate, in mm.
    pub noise: i64,
    /// Permille of locations that are not received.
    pub dropout: i64,
    /// Milliseconds by which positions lag behind the events.
    pub lag: i64,
    /// Permille of shots whose named defender is not the nearest opponent.
    pub wrong_defenders: i64,
    /// Whether the substitutes have locations too.
    pub bench: bool,
}

impl Default for Sensors {
    fn default() -> Self {
        Sensors { step: SAMPLE_MS, noise: 0, dropout: 0, lag: 0, wrong_defenders: 0, bench: false }
    }
}

impl Sensors {
    /// What is received of a batch, and how exactly.
    pub(super) fn receive(&self, seed: u64, batch: &mut LocationBatch) {
        if self.dropout == 0 && self.noise == 0 {
            return;
        }
        batch.locations.retain_mut(|location| {
            let tag = location.tag.parse().unwrap_or(0);
            let mut rng = Rng::with_key(seed, &[0x5E45, location.t as u64, tag]);
            if self.noise > 0 {
                location.x += rng.bell(self.noise) as f64;
                location.y += rng.bell(self.noise) as f64;
            }
            !rng.chance(self.dropout)
        });
    }
}

/// From 0 to 1, slow at both ends.
pub(super) fn ease(part: f64) -> f64 {
    part * part * (3.0 - 2.0 * part)
}

/// The time steps in `from..=to` of a period.
pub(super) fn steps(period: &GamePeriod, from: i64, to: i64, step: i64) -> impl Iterator<Item = i64> + use<> {
    let (start, end) = (period.started_at, period.ended_at);
    let first = (from.clamp(start, end + 1) - start + step - 1).div_euclid(step);
    let last = (to.clamp(start - 1, end) - start).div_euclid(step);
    (first..=last).map(move |number| start + number * step)
}

/// The sensor of the ball at a venue: the position of the home team in the season's list.
pub(super) fn ball_tag(venue: usize) -> String {
    (FIRST_BALL + venue).to_string()
}

/// The positions of a period.
pub(super) struct Tracker<'a> {
    sides: &'a [Side; 2],
    teams: [&'a Team; 2],
    ball: String,
    period: &'a GamePeriod,
    motion: Motion,
    sensors: Sensors,
}

impl<'a> Tracker<'a> {
    /// `seed`: one for each session. `venue`: the position of the home team in the season's list. `periods`: this one and
    /// the one after it.
    pub(super) fn new(
        seed: u64,
        sides: &'a [Side; 2],
        teams: [&'a Team; 2],
        venue: usize,
        periods: (&'a GamePeriod, Option<&'a GamePeriod>),
        sensors: Sensors,
    ) -> Self {
        let (period, next) = periods;
        let motion = Motion::new(seed, sides, period, next);
        Tracker { sides, teams, ball: ball_tag(venue), period, motion, sensors }
    }

    /// One batch for each time step in `from..=to` of the period.
    pub(super) fn batches(&self, from: i64, to: i64) -> impl Iterator<Item = LocationBatch> {
        steps(self.period, from, to, self.sensors.step).filter_map(|t| self.batch(t))
    }

    /// The players beside the court, if their sensors are on.
    fn substitutes(&self, side: usize, on_court: [usize; 5]) -> impl Iterator<Item = usize> {
        let has_bench = self.sensors.bench;
        (0..self.sides[side].members.len()).filter(move |member| has_bench && !on_court.contains(member))
    }

    /// Whether a member may be beside the court, from 0 (the player plays) to 1.
    fn share_beside(&self, side: usize, member: usize, t: i64) -> f64 {
        if !self.sensors.bench {
            return 0.0;
        }
        let all = &self.period.possessions;
        let (past, coming) = all.split_at(all.partition_point(|possession| possession.started_at <= t));
        let plays = |possession: &&GamePossession| possession.on_court[side].contains(&member);
        let since = past.last().filter(plays).map(|last| t - last.ended_at);
        let until = coming.first().filter(plays).map(|next| next.started_at - t);
        let wait = since.into_iter().chain(until).min();
        wait.map_or(1.0, |wait| (wait as f64 / CHANGE_MS).clamp(0.0, 1.0))
    }

    fn batch(&self, t: i64) -> Option<LocationBatch> {
        let (possession, live) = self.possession(t)?;
        let (clock, shot_clock) = clock(possession, live, t);
        let now = t - self.sensors.lag;
        let before = (t - self.sensors.step).max(self.period.started_at) - self.sensors.lag;
        let location = |kind: &str, tag: String, at: Point, height: f64, previous: Point| Location {
            x: at.x.round(),
            t,
            z: height.round(),
            kind: kind.to_owned(),
            sid: self.period.id.clone(),
            y: at.y.round(),
            tag,
            tid: None,
            // Metres per second are millimetres per millisecond; six decimals, as in the vendor's sample.
            speed: (at.distance(previous) / self.sensors.step as f64 * 1e6).round() / 1e6,
            pid: None,
            gc: Some(clocks::of_location(clock)),
            sc: shot_clock.map(clocks::shot_of_location),
        };
        let mut locations = Vec::with_capacity(11);
        for side in 0..2 {
            let on_court = possession.on_court[side];
            for member in on_court.into_iter().chain(self.substitutes(side, on_court)) {
                let player = &self.sides[side].members[member].player;
                let place = |t: i64| self.motion.beside(side, member, t, self.share_beside(side, member, t));
                let height = TAG_HEIGHT + (mix(player.id as u64) % 140) as f64;
                locations.push(Location {
                    tid: Some(self.teams[side].id),
                    pid: Some(player.id),
                    ..location("PLAYER", player.sensor.to_string(), place(now), height, place(before))
                });
            }
        }
        let ((at, height), (previous, _)) = (self.motion.ball(now), self.motion.ball(before));
        locations.push(location("BALL", self.ball.clone(), at, height, previous));
        Some(LocationBatch { locations })
    }

    /// The current possession; while play has stopped the next one, and after the end the last.
    fn possession(&self, t: i64) -> Option<(&'a GamePossession, bool)> {
        let all = &self.period.possessions;
        let index = all.partition_point(|possession| possession.started_at <= t);
        match all[..index].last() {
            Some(current) if t <= current.ended_at => Some((current, true)),
            last => all.get(index).or(last).map(|possession| (possession, false)),
        }
    }
}

/// Both clocks at a time. Between two events play is first stopped, then runs up to the second.
fn clock(possession: &GamePossession, live: bool, t: i64) -> (i64, Option<i64>) {
    if !live {
        let is_over = t > possession.ended_at;
        return (if is_over { possession.end_clock } else { possession.start_clock }, None);
    }
    let after = possession.play_events.partition_point(|play_event| play_event.at <= t);
    let (past, coming) = possession.play_events.split_at(after);
    let (next_at, left) =
        coming.first().map_or((possession.ended_at, possession.end_clock), |next| (next.at, next.clock));
    let before = past.last().map_or(possession.start_clock, |last| last.clock);
    let clock = (left + next_at - t).min(before);
    // The shot clock of the next event, or of the last one if it is reset by then.
    let next = coming.first().filter(|next| !matches!(next.act, Act::Rebound { .. } | Act::FreeThrow { .. }));
    let shot_clock = match (next, past.last()) {
        (Some(next), _) => next.shot_clock.map(|shot_clock| shot_clock + clock - next.clock),
        (None, Some(last)) => last.shot_clock.map(|shot_clock| shot_clock - (last.clock - clock)),
        (None, None) => None,
    };
    (clock, shot_clock.filter(|left| (0..=30_000).contains(left)))
}
