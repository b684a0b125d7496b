//! How a player keeps to a way within what a body can do: speed and acceleration have limits at every moment, and the
//! poses, where he must be in time, come first.

use super::court;
use super::path::Point;

/// Metres per second, which are millimetres per millisecond.
const SPEED: f64 = 8.4;
/// Millimetres per millisecond squared: 4.9 m/s².
const ACCELERATION: f64 = 0.0049;
/// Milliseconds between decisions.
const STEP: f64 = 100.0;
/// How fast a distance from the way shrinks, per millisecond.
const PULL: f64 = 0.0035;
/// In what time a player changes his speed: in so many times the least, or in shares of the time to a pose.
const QUICK: [f64; 3] = [1.05, 1.3, 2.0];
const SHARES: [f64; 3] = [0.22, 0.36, 0.5];

/// How a player moves at a time; the acceleration stays until the next stride.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stride {
    pub at: f64,
    pub place: Point,
    pub velocity: Point,
    pub acceleration: Point,
}

impl Stride {
    pub(super) fn after(self, at: f64) -> Stride {
        let time = at - self.at;
        let place = self.place + self.velocity * time + self.acceleration * (time * time / 2.0);
        Stride { at, place, velocity: self.velocity + self.acceleration * time, ..self }
    }

    /// The farthest that he comes in this time in each direction before he turns.
    fn turn(self, time: f64) -> Point {
        let until = |velocity: f64, acceleration: f64| match velocity * acceleration < 0.0 {
            true => (-velocity / acceleration).min(time),
            false => 0.0,
        };
        let [x, y] = [until(self.velocity.x, self.acceleration.x), until(self.velocity.y, self.acceleration.y)]
            .map(|time| self.after(self.at + time).place);
        Point { x: x.x, y: y.y }
    }

    /// Where he would come to a stop.
    fn stop(self) -> Point {
        self.place + self.velocity * (self.velocity.length() / (2.0 * ACCELERATION))
    }

    /// Whether he can be so fast, and stop on the court, and have come from a stop on it.
    fn has_room(&self) -> bool {
        let stop = self.stop();
        self.velocity.length() <= SPEED && is_inside(stop) && is_inside(self.place * 2.0 - stop)
    }

    /// With the acceleration that leads back to a way, whose next points these are.
    fn drawn_to(self, [start, middle, end]: [Point; 3], time: f64) -> Stride {
        let turn = (start + end - middle * 2.0) * (4.0 / (time * time));
        let velocity = (end - start) * (1.0 / time) - turn * (time / 2.0);
        let wish = turn + (velocity - self.velocity) * (2.0 * PULL) + (start - self.place) * (PULL * PULL);
        let next = (self.velocity + wish.at_most(ACCELERATION) * time).at_most(SPEED);
        Stride { acceleration: (next - self.velocity) * (1.0 / time), ..self }
    }
}

/// From one stride to another, where this is possible within the limits and on the court: with a new speed first, then
/// at that speed, then with the last one.
fn approach(from: Stride, to: Stride) -> Option<[Stride; 3]> {
    let time = to.at - from.at;
    let mean = (to.place - from.place) * (1.0 / time);
    let least = 1.0 + (mean - from.velocity).length().max((mean - to.velocity).length()) / ACCELERATION;
    let quick = QUICK.map(|times| times * least).into_iter().filter(|change| *change < time / 2.0);
    quick.chain(SHARES.map(|share| share * time)).find_map(|change| {
        let way = to.place - from.place - (from.velocity + to.velocity) * (change / 2.0);
        let speed = way * (1.0 / (time - change));
        let [first, last] = [speed - from.velocity, to.velocity - speed].map(|turn| turn * (1.0 / change));
        let is_possible = speed.length() <= SPEED && first.length().max(last.length()) <= ACCELERATION;
        let start = Stride { acceleration: first, ..from };
        let even = Stride { acceleration: Point::default(), ..start.after(from.at + change) };
        let end = Stride { acceleration: last, ..even.after(to.at - change) };
        let turns = [start.turn(change), even.place, end.place, end.turn(change)];
        (is_possible && turns.into_iter().all(is_inside)).then_some([start, even, end])
    })
}

/// To a stop, and then no farther.
fn brake(from: Stride) -> [Stride; 3] {
    let time = 1.0 + from.velocity.length() / ACCELERATION;
    let start = Stride { acceleration: from.velocity * (-1.0 / time), ..from };
    let rest = Stride { velocity: Point::default(), acceleration: Point::default(), ..start.after(from.at + time) };
    [start, rest, rest]
}

/// The stride at a time after the first of these.
pub(super) fn stride_at(strides: &[Stride], at: f64) -> Stride {
    let after = strides.partition_point(|stride| stride.at <= at);
    strides[after.max(1) - 1].after(at)
}

fn is_inside(place: Point) -> bool {
    place.x.abs() < court::HALF_WIDTH as f64 - 30.0 && place.y.abs() < court::HALF_LENGTH as f64 - 30.0
}

/// The stride that is wanted, or the one nearest to it that can be reached: first its velocity gives way, then its place.
pub(super) fn reachable(from: Stride, to: Stride) -> Stride {
    let is_reached = |goal: &Stride| goal.has_room() && approach(from, *goal).is_some();
    let slower = |goal: Stride| {
        (0..=8).rev().map(move |part| Stride { velocity: goal.velocity * (f64::from(part) / 8.0), ..goal })
    };
    let rush = Stride { velocity: (to.place - from.place) * (2.0 / (to.at - from.at)) - from.velocity, ..to };
    let sure = slower(rush).find(is_reached).unwrap_or_else(|| stride_at(&brake(from), to.at));
    let goal = slower(to).find(Stride::has_room).unwrap_or(sure);
    let between = |part: i32| {
        let part = f64::from(part) / 50.0;
        let (place, velocity) = (sure.place.towards(goal.place, part), sure.velocity.towards(goal.velocity, part));
        Stride { place, velocity, ..to }
    };
    (0..=50).rev().map(between).find(is_reached).unwrap_or(sure)
}

/// The strides from one to another along a way, as near to it as the limits let.
pub(super) fn follow(from: Stride, to: Stride, way: impl Fn(f64) -> Point) -> Vec<Stride> {
    let (mut now, mut goal, mut strides) = (from, way(from.at), Vec::new());
    let mut plan = approach(from, to).unwrap_or_else(|| brake(from));
    while now.at < to.at {
        let until = now.at + STEP;
        let points = [goal, way(now.at + STEP / 2.0), way(until)];
        let wish = now.drawn_to(points, STEP);
        let next = wish.after(until);
        if let Some(new_plan) = Some(next).filter(|next| next.at < to.at).and_then(|next| approach(next, to)) {
            strides.push(wish);
            (now, goal, plan) = (next, points[2], new_plan);
            continue;
        }
        // From there the pose would be out of reach: this much longer the last plan is followed.
        let next_phase = plan.iter().map(|phase| phase.at).find(|at| *at > now.at);
        let end = next_phase.unwrap_or(to.at).min(until).min(to.at);
        now = stride_at(&plan, now.at);
        strides.push(now);
        now = now.after(end);
        goal = way(end);
    }
    strides
}
