//! How ten players move through a period, so that they are where its events say: keys for each of them and for the ball.
//! It is made from the period alone, at once; positions are then functions of time.

#![allow(clippy::needless_range_loop, reason = "a seat is the index of several arrays")]

mod dead_ball;
mod defence;
mod figures;
mod offence;
mod plan;

use super::court;
use super::game_log::{Act, CourtPoint, GamePeriod, GamePossession, PlayEvent, Side};
use super::path::{Key, Path, Point};
use super::rng::mix;
use plan::Plan;
#[cfg(test)]
pub(super) use plan::is_zone;

/// What the ball is at a time: in a hand, or at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Anchor {
    Hand(usize, usize),
    Spot(Point, f64),
}

#[derive(Debug, Clone, Copy)]
struct BallKey {
    at: f64,
    anchor: Anchor,
    /// Height in mm that its flight to the next key gains on the straight line.
    lift: f64,
}

/// Millimetres by which others are farther from a shot than its defender.
const CLEARANCE: f64 = 480.0;

/// Millimetres from an event to its player, at most.
const ASIDE: f64 = 900.0;

/// The paths of a period.
pub(super) struct Motion {
    /// By side and member.
    paths: [Vec<Path>; 2],
    ball: Vec<BallKey>,
}

/// Millimetres from where a member comes onto the court, within which the player walks aside to the seat.
const TO_SEAT: f64 = 2500.0;
/// Millimetres from there to the seat, which is beside the side line.
const BESIDE: f64 = 860.0;

/// Where members come onto the court, and leave it: beside their seat, at their half.
fn bench(side: usize, member: usize) -> Point {
    let half = if side == 0 { 1.0 } else { -1.0 };
    Point { x: court::HALF_WIDTH as f64 - 60.0, y: half * (2600.0 + 620.0 * member as f64) }
}

impl Motion {
    /// `seed`: one for each session. `next`: the period for which the players line up at the end of this one.
    pub(super) fn new(seed: u64, sides: &[Side; 2], period: &GamePeriod, next: Option<&GamePeriod>) -> Self {
        let Some(plan) = Plan::of_period(seed, sides, period, next) else {
            return Motion { paths: [Vec::new(), Vec::new()], ball: Vec::new() };
        };
        let path = |keys: Vec<Vec<Key>>| keys.into_iter().map(Path::through).collect();
        let mut ball = plan.ball;
        ball.sort_by(|item, other| item.at.total_cmp(&other.at));
        let mut motion = Motion { paths: plan.keys.map(path), ball };
        for possession in &period.possessions {
            for event in &possession.play_events {
                motion.release(possession, event);
            }
        }
        motion
    }

    /// At a shot the shooter is where it is taken, and the named defender is the nearest, as near as the shot says.
    fn release(&mut self, possession: &GamePossession, event: &PlayEvent) {
        let Act::Shot { defender, gap, .. } = event.act else { return };
        let (at, gap, place) =
            (event.at as f64, gap as f64, Point { x: event.place.x as f64, y: event.place.y as f64 });
        self.paths[event.side][event.member].bend(at, place);
        for member in possession.on_court[1 - event.side] {
            let path = &mut self.paths[1 - event.side][member];
            let way = path.way(at);
            let is_clear = member != defender && way.distance(place) >= gap + CLEARANCE;
            let reach = if member == defender { gap } else { gap + CLEARANCE };
            path.bend(at, if is_clear { way } else { place.beyond(way, reach) });
        }
    }

    /// Where the player of an event is, if that is far from it. The limits of a body move him by less than a step.
    pub(super) fn aside(&self, event: &PlayEvent) -> Option<CourtPoint> {
        let way = self.paths[event.side][event.member].way(event.at as f64);
        let is_far = way.distance(Point { x: event.place.x as f64, y: event.place.y as f64 }) > ASIDE;
        is_far.then(|| CourtPoint { x: way.x.round() as i64, y: way.y.round() as i64, ..event.place })
    }

    pub(super) fn player(&self, side: usize, member: usize, t: i64) -> Point {
        self.paths[side][member].at(t as f64)
    }

    /// Where a member is who may be beside the court: `share` is 1 for who may sit, and 0 for who plays.
    pub(super) fn beside(&self, side: usize, member: usize, t: i64, share: f64) -> Point {
        let way = self.player(side, member, t);
        let near = (1.0 - way.distance(bench(side, member)) / TO_SEAT).max(0.0);
        Point { x: way.x + BESIDE * near * share, ..way }
    }

    /// Where the ball is, and how high.
    pub(super) fn ball(&self, t: i64) -> (Point, f64) {
        let (at, height) = self.ball_at(t as f64);
        let (width, length) = (court::HALF_WIDTH as f64, court::HALF_LENGTH as f64);
        (Point { x: at.x.clamp(-width, width), y: at.y.clamp(-length, length) }, height)
    }

    fn ball_at(&self, t: f64) -> (Point, f64) {
        let after = self.ball.partition_point(|key| key.at <= t);
        let place = |key: &BallKey, t: f64| match key.anchor {
            Anchor::Spot(point, height) => (point, height),
            Anchor::Hand(side, member) => {
                // While play has stopped it is held.
                let (at, hand) = (self.paths[side][member].at(t), hand(side, member, t.min(key.at + LIVE)));
                (Point { x: at.x + hand.x, y: at.y + hand.y }, 1000.0)
            }
        };
        match (after.checked_sub(1).and_then(|before| self.ball.get(before)), self.ball.get(after)) {
            (Some(from), Some(to)) if from.anchor != to.anchor => {
                // While play has stopped it lies or is held, and is handed over quickly.
                let (leaves, arrives) = match from.anchor {
                    _ if to.at - from.at < 2500.0 => (from.at, to.at),
                    Anchor::Hand(..) => (to.at - 900.0, to.at),
                    Anchor::Spot(..) => (from.at, from.at + 1500.0),
                };
                if t <= leaves {
                    return place(from, t);
                }
                if t >= arrives {
                    return place(to, t);
                }
                let part = (t - leaves) / (arrives - leaves);
                let ((start, low), (end, high)) = (place(from, leaves), place(to, arrives));
                let height = low + (high - low) * part + from.lift * 4.0 * part * (1.0 - part);
                (start.towards(end, part), height)
            }
            (Some(key), _) | (None, Some(key)) => place(key, t),
            (None, None) => (Point::default(), 1000.0),
        }
    }
}

/// Milliseconds for which a player dribbles at most.
const LIVE: f64 = 9000.0;
/// Milliseconds between two places of the ball in a hand.
const DRIBBLE: f64 = 350.0;

/// The ball in a hand, seen from the player: it wanders about him.
fn hand(side: usize, member: usize, t: f64) -> Point {
    let number = (t / DRIBBLE).floor();
    let place = |number: f64| {
        let bits = mix(mix(number as u64) ^ (2 * member + side) as u64);
        let part = |shift: u32| ((bits >> shift) & 0xFFFF) as f64 / 32_767.5 - 1.0;
        let (x, y) = (part(0), part(16));
        let (low, high) = (figures::REACH.0 as f64, figures::REACH.1 as f64);
        let reach = low + (high - low) * (part(32) + 1.0) / 2.0;
        let length = (x * x + y * y).sqrt().max(0.001);
        Point { x: x / length * reach, y: y / length * reach }
    };
    place(number).towards(place(number + 1.0), t / DRIBBLE - number)
}
