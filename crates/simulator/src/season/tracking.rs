//! Where everybody is at a time. A position is a function of time alone, so that any window can be computed; only sums,
//! products and square roots, which every platform rounds alike.
//!
//! Players walk between spots drawn for every few seconds, in the attacked half, and are where they shoot, rebound or
//! foul when they do. While play has stopped they go to where it resumes.

use super::clocks;
use super::court::Chart;
use super::game_log::{Act, CourtPoint, GamePeriod, GamePossession, PlayEvent, Side};
use super::rng::Rng;
use crate::model::locations::{Location, LocationBatch};
use crate::model::team::Team;

/// Milliseconds between time steps, as in the vendor's sample.
pub(super) const SAMPLE_MS: i64 = 500;
/// Milliseconds between the spots that a player goes to.
const LEG: i64 = 5000;
/// For this long before and after an event, players are on their way to and from it.
const APPROACH: i64 = 3500;
const FLIGHT: i64 = 900;
const FIRST_BALL: usize = 900_001;

/// Where the five of an offence stand, as seen from the hoop.
const SPOTS: [Chart; 5] = [
    Chart { x: 300, y: 7700 },
    Chart { x: -5200, y: 5400 },
    Chart { x: 5300, y: 5200 },
    Chart { x: -2700, y: 1600 },
    Chart { x: 2300, y: 2300 },
];

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
    z: f64,
}

impl Point {
    fn of(place: CourtPoint) -> Self {
        Point { x: place.x as f64, y: place.y as f64, z: place.z as f64 }
    }

    fn towards(self, other: Point, part: f64) -> Point {
        let between = |from: f64, to: f64| from + (to - from) * part;
        Point { x: between(self.x, other.x), y: between(self.y, other.y), z: between(self.z, other.z) }
    }

    fn distance(self, other: Point) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        (x * x + y * y).sqrt()
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
    seed: u64,
    sides: &'a [Side; 2],
    teams: [&'a Team; 2],
    ball: String,
    period: &'a GamePeriod,
    play_events: Vec<&'a PlayEvent>,
    /// Milliseconds between time steps. A finer grid includes the points of a coarser one.
    step: i64,
}

impl<'a> Tracker<'a> {
    /// `seed`: one for each session. `venue`: the position of the home team in the season's list.
    pub(super) fn new(
        seed: u64,
        sides: &'a [Side; 2],
        teams: [&'a Team; 2],
        venue: usize,
        period: &'a GamePeriod,
        step: i64,
    ) -> Self {
        let play_events = period.possessions.iter().flat_map(|possession| &possession.play_events).collect();
        Tracker { seed, sides, teams, ball: ball_tag(venue), period, play_events, step }
    }

    /// One batch for each time step in `from..=to` of the period.
    pub(super) fn batches(&self, from: i64, to: i64) -> impl Iterator<Item = LocationBatch> {
        steps(self.period, from, to, self.step).filter_map(|t| self.batch(t))
    }

    fn batch(&self, t: i64) -> Option<LocationBatch> {
        let (possession, live) = self.possession(t)?;
        let (clock, shot_clock) = clock(possession, live, t);
        let before = (t - self.step).max(self.period.started_at);
        let location = |kind: &str, tag: String, at: Point, previous: Point| Location {
            x: at.x.round(),
            t,
            z: at.z.round(),
            kind: kind.to_owned(),
            sid: self.period.id.clone(),
            y: at.y.round(),
            tag,
            tid: None,
            // Metres per second are millimetres per millisecond; six decimals, as in the vendor's sample.
            speed: (at.distance(previous) / self.step as f64 * 1e6).round() / 1e6,
            pid: None,
            gc: Some(clocks::of_location(clock)),
            sc: shot_clock.map(clocks::shot_of_location),
        };
        let mut locations = Vec::with_capacity(11);
        for side in 0..2 {
            for seat in 0..5 {
                let member = possession.on_court[side][seat];
                let player = &self.sides[side].members[member].player;
                let (at, previous) = (self.player(side, seat, member, t), self.player(side, seat, member, before));
                locations.push(Location {
                    tid: Some(self.teams[side].id),
                    pid: Some(player.id),
                    ..location("PLAYER", player.sensor.to_string(), at, previous)
                });
            }
        }
        locations.push(location("BALL", self.ball.clone(), self.ball(t), self.ball(before)));
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

    fn player(&self, side: usize, seat: usize, member: usize, t: i64) -> Point {
        let walk = self.walk(t, |leg| self.spot(leg, side, seat));
        self.pulled_point(walk, t, APPROACH, |play_event| play_event.side == side && play_event.member == member)
    }

    /// The ball goes from hand to hand, and through the air after a shot.
    fn ball(&self, t: i64) -> Point {
        let after = self.play_events.partition_point(|play_event| play_event.at <= t);
        let (past, coming) = self.play_events.split_at(after);
        let shot = past
            .iter()
            .rev()
            .take_while(|play_event| t - play_event.at < FLIGHT)
            .find(|play_event| matches!(play_event.act, Act::Shot { .. } | Act::FreeThrow { .. }));
        if let Some(shot) = shot {
            let hoop = shot.place.hoop;
            let rim = Point { x: hoop.x as f64, y: hoop.y as f64, z: hoop.z as f64 };
            let flight = coming.first().map_or(FLIGHT, |next| FLIGHT.min(next.at - shot.at));
            let part = (t - shot.at) as f64 / flight as f64;
            let mut ball = Point::of(shot.place).towards(rim, part);
            ball.z += 4.0 * 1500.0 * part * (1.0 - part);
            return ball;
        }
        let hand = self.walk(t, |leg| {
            let at = self.period.started_at + leg * LEG;
            let Some((possession, _)) = self.possession(at) else { return self.spot(leg, 0, 0) };
            let seat = Rng::with_key(self.seed, &[0xBA11, leg as u64]).index(5);
            self.spot(leg, possession.side, seat)
        });
        self.pulled_point(hand, t, FLIGHT, |play_event| !matches!(play_event.act, Act::Assist | Act::Foul | Act::Block))
    }

    /// Between the spots of the previous and the next leg.
    fn walk(&self, t: i64, spot: impl Fn(i64) -> Point) -> Point {
        let since = t - self.period.started_at;
        let leg = since.div_euclid(LEG);
        spot(leg).towards(spot(leg + 1), ease(since.rem_euclid(LEG) as f64 / LEG as f64))
    }

    /// Where a member of the lineup is heading at the start of a leg.
    fn spot(&self, leg: i64, side: usize, seat: usize) -> Point {
        let Some((possession, live)) = self.possession(self.period.started_at + leg * LEG) else {
            return Point { x: 0.0, y: 0.0, z: 1000.0 };
        };
        // One spot for as long as play has stopped.
        let moment = if live { leg } else { possession.started_at };
        let mut rng = Rng::with_key(self.seed, &[0x5B07, moment as u64, seat as u64]);
        let around = |rng: &mut Rng, reach: i64| rng.within(-reach, reach);
        let mut chart = Chart { x: SPOTS[seat].x + around(&mut rng, 1700), y: SPOTS[seat].y + around(&mut rng, 1700) };
        if side != possession.side {
            // A defender stands between the attacker and the hoop.
            chart = Chart { x: chart.x * 7 / 10 + around(&mut rng, 300), y: chart.y * 7 / 10 + around(&mut rng, 300) };
        }
        Point::of(possession.hoop.at(chart, 1000 + rng.below(120)))
    }

    /// Walks, but moves to and from an event's place within `reach` of it, straight from one event to the next if there
    /// is no time between.
    fn pulled_point(&self, walk: Point, t: i64, reach: i64, concerns: impl Fn(&PlayEvent) -> bool) -> Point {
        let after = self.play_events.partition_point(|play_event| play_event.at <= t);
        let (past, coming) = self.play_events.split_at(after);
        let last = past.iter().rev().take_while(|last| t - last.at < 2 * reach).find(|last| concerns(last));
        let next = coming.iter().take_while(|next| next.at - t < 2 * reach).find(|next| concerns(next));
        if let (Some(last), Some(next)) = (last, next)
            && next.at - last.at <= 2 * reach
        {
            let part = (t - last.at) as f64 / (next.at - last.at) as f64;
            return Point::of(last.place).towards(Point::of(next.place), ease(part));
        }
        let pull = |play_event: &PlayEvent| ease((1.0 - (play_event.at - t).abs() as f64 / reach as f64).max(0.0));
        // More than twice the reach apart: at most one of them pulls.
        let near = [last, next].into_iter().flatten();
        near.fold(walk, |at, play_event| at.towards(Point::of(play_event.place), pull(play_event)))
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
