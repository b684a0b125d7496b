//! The way of a player: keys in time, and the smooth path through them. A position is a function of time alone, so that any
//! window can be computed; only sums, products and square roots, which every platform rounds alike.

use super::limits::{Stride, follow, reachable, stride_at};
use super::rng::Rng;
use std::cell::OnceCell;
use std::ops::{Add, Mul, Sub};

/// Metres a second on the way from key to key.
const TOP: f64 = 6.9;
/// What players are planned to run at, at most: the rest is for turns.
const RUN: f64 = 5.4;
/// Milliseconds before a place that must be reached in which no other is aimed at.
const CLEAR: f64 = 500.0;
/// Milliseconds in which a player is anywhere on the court.
const FAR: f64 = 8000.0;
/// A path is the mean of the way over this time on both sides, so that speeds change over twice as much.
pub(super) const MEAN: f64 = 760.0;
/// The dwell of who is seen at a place also a little before and after.
pub(super) const POSE: f64 = MEAN + 110.0;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// Inside of all lines.
const COURT: Point = Point { x: 7500.0, y: 14_200.0 };

impl Point {
    pub(super) fn towards(self, other: Point, part: f64) -> Point {
        self + (other - self) * part
    }

    pub(super) fn distance(self, other: Point) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        (x * x + y * y).sqrt()
    }

    /// So far from here in the direction of another point, on the court.
    pub(super) fn beyond(self, other: Point, reach: f64) -> Point {
        let distance = self.distance(other);
        if distance < 1.0 {
            // Towards the middle of the court.
            return Point { x: self.x, y: self.y - reach * self.y.signum() };
        }
        let goal = self.towards(other, reach / distance);
        let is_out = goal.x.abs() > COURT.x || goal.y.abs() > COURT.y;
        if is_out { self.towards(Point::default(), reach / self.distance(Point::default()).max(1.0)) } else { goal }
    }

    pub(super) fn length(self) -> f64 {
        self.distance(Point::default())
    }

    /// No longer than this.
    pub(super) fn at_most(self, length: f64) -> Point {
        self.within(Point::default(), length)
    }

    /// No farther than this from `other`.
    fn within(self, other: Point, reach: f64) -> Point {
        let (distance, reach) = (self.distance(other), reach.max(0.0));
        if distance <= reach { self } else { other.towards(self, reach / distance) }
    }
}

impl Add for Point {
    type Output = Point;
    fn add(self, other: Point) -> Point {
        Point { x: self.x + other.x, y: self.y + other.y }
    }
}

impl Sub for Point {
    type Output = Point;
    fn sub(self, other: Point) -> Point {
        Point { x: self.x - other.x, y: self.y - other.y }
    }
}

impl Mul<f64> for Point {
    type Output = Point;
    fn mul(self, factor: f64) -> Point {
        Point { x: self.x * factor, y: self.y * factor }
    }
}

/// Where a player is at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub at: f64,
    /// `None`: where the key before is.
    pub place: Option<Point>,
    /// Milliseconds before and after it, for which the player stays; at least `MEAN` puts the path through the place.
    pub dwell: f64,
    /// Metres a second at which the player comes, if there is time: he leaves late.
    pub pace: f64,
}

#[derive(Debug, Clone, Copy)]
struct Knot {
    at: f64,
    place: Point,
    /// The integral of the way up to here.
    sum: Point,
}

/// A short way aside and back, so that a player is at a place at a time.
#[derive(Debug, Clone, Copy)]
struct Bend {
    at: f64,
    aside: Point,
    /// Milliseconds that it takes, before and after.
    width: f64,
}

/// The shortest and the longest `width`, and what a bend adds to a speed if there is time, in metres a second.
const BENDS: [f64; 2] = [500.0, 3600.0];
const BEND_SPEED: f64 = 1.2;
/// The largest slope of the curve of a bend.
const SLOPE: f64 = 1.54;

#[derive(Debug, Default)]
pub(super) struct Path {
    knots: Vec<Knot>,
    bends: Vec<Bend>,
    /// Where the player must be at a time.
    poses: Vec<(f64, Point)>,
    /// The stride at each pose, and those from there to the next, each computed when it is first needed.
    run: OnceCell<Vec<(Stride, OnceCell<Vec<Stride>>)>>,
}

impl Path {
    pub(super) fn through(mut keys: Vec<Key>) -> Self {
        keys.sort_by(|item, other| item.at.total_cmp(&other.at));
        let fixed: Vec<Key> = keys.iter().copied().filter(|key| key.dwell > 1.0).collect();
        keys.retain(|key| {
            let next = fixed.partition_point(|fixed| fixed.at < key.at);
            let is_on_the_way = fixed.get(next).is_some_and(|next| key.at > next.at - next.dwell - CLEAR);
            let is_there_yet = next.checked_sub(1).is_some_and(|last| key.at < fixed[last].at + fixed[last].dwell);
            key.dwell > 0.0 || !(is_on_the_way || is_there_yet)
        });
        let mut path = Path { knots: Vec::with_capacity(keys.len() * 3), ..Path::default() };
        for (index, key) in keys.iter().enumerate() {
            let Some(last) = path.knots.last().copied() else {
                path.push(key.at, key.place.unwrap_or_default());
                continue;
            };
            let later = &keys[index + 1..];
            let next = later.iter().take(6).find(|next| next.dwell > 0.0 && next.place.is_some());
            let mut arrives = (key.at - key.dwell).max(last.at);
            let mut place = key.place.unwrap_or(last.place);
            if let (0.0, Some(next)) = (key.dwell, next)
                && let Some(goal) = next.place
            {
                place = place.within(goal, RUN * (next.at - next.dwell - key.at));
            }
            // A throw is where its event says: what is before it gives way.
            let throw = later.iter().take_while(|next| next.at < key.at + FAR).find(|next| next.dwell >= MEAN);
            let throw = throw.and_then(|throw| Some((throw.at - throw.dwell, throw.place?)));
            if let Some((at, goal)) = throw
                && key.dwell < MEAN
            {
                place = place.within(goal, RUN * (at - key.at));
            }
            if key.dwell >= MEAN {
                arrives = arrives.max(last.at + last.place.distance(place) / TOP).min(key.at);
            }
            let top = if key.dwell > 0.0 { TOP } else { RUN };
            place = place.within(last.place, top * (arrives - last.at));
            let leaves = arrives - last.place.distance(place) / key.pace;
            if leaves > last.at {
                path.wander(last, leaves);
                path.push(leaves, last.place);
            }
            path.push(arrives, place);
            // A key that comes sooner than the player would leave cuts the stay short.
            let mut stays = later.first().map_or(f64::MAX, |next| (key.at + next.at) / 2.0);
            if let Some((at, goal)) = throw {
                stays = stays.min(at - place.distance(goal) / RUN);
            }
            if key.dwell >= MEAN {
                stays = throw.map_or(f64::MAX, |(at, goal)| {
                    at.max((key.at + at + MEAN - place.distance(goal) / TOP) / 2.0).max(key.at)
                });
            }
            if key.dwell > 0.0 {
                path.push((key.at + key.dwell).min(stays).max(arrives), place);
            }
        }
        path
    }

    /// Who waits does not stand still while play continues: he shifts to and fro.
    fn wander(&mut self, last: Knot, until: f64) {
        let waits = until - last.at;
        if !(700.0..9000.0).contains(&waits) {
            return;
        }
        let mut rng = Rng::with_key(last.at as u64, &[last.place.x as u64, last.place.y as u64]);
        let steps = (waits / 1200.0) as i64;
        let mut part = || rng.within(-1400, 1400) as f64;
        for step in 1..=steps {
            let at = last.at + waits * step as f64 / (steps + 1) as f64;
            let (x, y) = (last.place.x + part(), last.place.y + part());
            self.push(at, Point { x: x.clamp(-COURT.x, COURT.x), y: y.clamp(-COURT.y, COURT.y) });
        }
    }

    fn push(&mut self, at: f64, place: Point) {
        let sum = self.knots.last().map_or_else(Point::default, |last| {
            let half = (at - last.at) / 2.0;
            last.sum + (last.place + place) * half
        });
        self.knots.push(Knot { at, place, sum });
    }

    /// The integral of the way up to a time.
    fn sum(&self, t: f64) -> Point {
        let after = self.knots.partition_point(|knot| knot.at <= t);
        let (Some(first), Some(last)) = (self.knots.first(), self.knots.last()) else { return Point::default() };
        let (from, place) = match (after.checked_sub(1).map(|before| &self.knots[before]), self.knots.get(after)) {
            (Some(from), Some(to)) => (from, from.place.towards(to.place, (t - from.at) / (to.at - from.at))),
            (Some(_), None) => (last, last.place),
            (None, _) => (first, first.place),
        };
        let half = (t - from.at) / 2.0;
        from.sum + (from.place + place) * half
    }

    /// Where the player is: as near to the way as he can be.
    pub(super) fn at(&self, t: f64) -> Point {
        let run = self.run.get_or_init(|| self.run());
        let next = run.partition_point(|leg| leg.0.at <= t);
        let (Some((from, leg)), Some((to, _))) = (next.checked_sub(1).map(|leg| &run[leg]), run.get(next)) else {
            return self.way(t);
        };
        let leg = leg.get_or_init(|| follow(*from, *to, |t| self.way(t)));
        stride_at(leg, t).place
    }

    fn run(&self) -> Vec<(Stride, OnceCell<Vec<Stride>>)> {
        let (Some(first), Some(last)) = (self.knots.first(), self.knots.last()) else { return Vec::new() };
        let start = Stride { at: first.at - MEAN, place: first.place, ..Stride::default() };
        let end = (last.at + 5000.0, last.place);
        let mut run = vec![(start, OnceCell::new())];
        let mut before = start;
        for (at, place) in self.poses.iter().copied().chain([end]) {
            let velocity = (self.way(at + 40.0) - self.way(at - 40.0)) * (1.0 / 80.0);
            before = reachable(before, Stride { at, place, velocity, ..Stride::default() });
            run.push((before, OnceCell::new()));
        }
        run
    }

    /// Where the player would be without limits.
    pub(super) fn way(&self, t: f64) -> Point {
        let (before, after) = (self.sum(t - MEAN), self.sum(t + MEAN));
        let place = Point { x: (after.x - before.x) / (2.0 * MEAN), y: (after.y - before.y) / (2.0 * MEAN) };
        let first = self.bends.partition_point(|bend| bend.at <= t - BENDS[1]);
        self.bends[first..].iter().take_while(|bend| bend.at < t + BENDS[1]).fold(place, |place, bend| {
            let part = (t - bend.at) / bend.width;
            let share = (1.0 - part * part).max(0.0);
            place + bend.aside * share * share
        })
    }

    /// Leads the path through a place, where two keys are too near to each other for it; later times come later.
    pub(super) fn bend(&mut self, at: f64, place: Point) {
        self.poses.push((at, place));
        let before = self.way(at);
        let way = before.distance(place);
        if way < 1.0 {
            return;
        }
        // The bend before is over at its own time: what is true then stays true.
        let longest = self.bends.last().map_or(BENDS[1], |last| (at - last.at).clamp(BENDS[0], BENDS[1]));
        let width = (way * SLOPE / BEND_SPEED).clamp(BENDS[0], longest);
        self.bends.push(Bend { at, aside: place - before, width });
    }
}
