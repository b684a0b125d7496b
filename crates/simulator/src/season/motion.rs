//! How ten players move through a period, so that they are where its events say: keys for each of them and for the ball.
//! It is made from the period alone, at once; positions are then functions of time.

#![allow(clippy::needless_range_loop, reason = "a seat is the index of several arrays")]

use super::ball_screens::Screen;
use super::court::{self, Chart};
use super::game_log::{Act, CourtPoint, GamePeriod, GamePossession, Hoop, PlayEvent, Side};
use super::path::{Key, MEAN, Path, Point};
use super::rng::Rng;

/// Spots of an offence, seen from the hoop: a guard on top, two on the wings, two in the corners or near the hoop.
const SPOTS: [[Chart; 5]; 3] = [
    [spot(200, 8300), spot(-6000, 5300), spot(6200, 4900), spot(-6800, 300), spot(2400, 2300)],
    [spot(-1700, 8400), spot(-6600, 2900), spot(4700, 7000), spot(6800, 400), spot(-2400, 1600)],
    [spot(1900, 8100), spot(-4900, 6900), spot(6600, 3200), spot(-6700, 500), spot(2800, 900)],
];
/// Where the lanes of a free throw are taken, defenders first, and where the others wait.
const LANES: [Chart; 4] = [spot(-2300, 700), spot(2300, 700), spot(-2300, 1900), spot(2300, 1900)];
/// Seats that come up with the ball and go back early.
const GUARD: usize = 0;

const fn spot(x: i64, y: i64) -> Chart {
    Chart { x, y }
}

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

/// The paths of a period.
pub(super) struct Motion {
    /// By side and member.
    paths: [Vec<Path>; 2],
    ball: Vec<BallKey>,
}

/// The planned ways.
struct Plan<'a> {
    rng: Rng,
    keys: [Vec<Vec<Key>>; 2],
    ball: Vec<BallKey>,
    possession: &'a GamePossession,
    /// The possession after it.
    next: Option<&'a GamePossession>,
    /// Where the five of the offence are at the last pose, by seat.
    five: [Chart; 5],
    holder: usize,
}

/// What happens at one time.
struct Group<'a> {
    at: i64,
    clock: i64,
    events: &'a [PlayEvent],
}

fn groups(possession: &GamePossession) -> impl Iterator<Item = Group<'_>> {
    let groups = possession.play_events.chunk_by(|item, other| item.at == other.at);
    let groups = groups.map(|events| Group { at: events[0].at, clock: events[0].clock, events });
    let end = Group { at: possession.ended_at, clock: possession.end_clock, events: &[] };
    groups.chain(std::iter::once(end))
}

fn is_missed(events: &[PlayEvent]) -> bool {
    let throw_event = events.iter().rfind(|event| matches!(event.act, Act::Shot { .. } | Act::FreeThrow { .. }));
    matches!(
        throw_event.map(|event| &event.act),
        Some(Act::Shot { is_made: false, .. } | Act::FreeThrow { is_made: false })
    ) && !events.iter().any(|event| event.act == Act::Foul)
}

/// Where the members who are not on court sit: beside the side line, at their half.
pub(super) fn seat(side: usize, member: usize) -> Point {
    Point { x: court::HALF_WIDTH as f64 + 800.0, ..bench(side, member) }
}

/// Where they come onto the court, and leave it.
fn bench(side: usize, member: usize) -> Point {
    let half = if side == 0 { 1.0 } else { -1.0 };
    Point { x: court::HALF_WIDTH as f64 - 60.0, y: half * (2600.0 + 620.0 * member as f64) }
}

impl Motion {
    /// `seed`: one for each session. `next`: the period for which the players line up at the end of this one.
    pub(super) fn new(seed: u64, sides: &[Side; 2], period: &GamePeriod, next: Option<&GamePeriod>) -> Self {
        let members = |side: usize| vec![Vec::new(); sides[side].members.len()];
        let mut plan = Plan {
            rng: Rng::with_key(seed, &[]),
            keys: [members(0), members(1)],
            ball: Vec::new(),
            possession: match period.possessions.first() {
                Some(first) => first,
                None => return Motion { paths: [Vec::new(), Vec::new()], ball: Vec::new() },
            },
            next: None,
            five: SPOTS[0],
            holder: GUARD,
        };
        for (side, keys) in plan.keys.iter_mut().enumerate() {
            for (member, keys) in keys.iter_mut().enumerate() {
                let at = period.started_at as f64 - 20_000.0;
                keys.push(Key { at, place: Some(bench(side, member)), dwell: 1.0, pace: 1.5 });
            }
        }
        let mut before: Option<&GamePossession> = None;
        for (index, possession) in period.possessions.iter().enumerate() {
            plan.rng = Rng::with_key(seed, &[0x5B07, index as u64]);
            plan.possession = possession;
            plan.next = period.possessions.get(index + 1);
            plan.substitutes(before);
            plan.possession_of(before);
            before = Some(possession);
        }
        if let Some(first) = next.and_then(|next| next.possessions.first()) {
            plan.stay(period.possessions.last().map_or(period.started_at, |last| last.ended_at + 2500));
            plan.possession = first;
            plan.tip_off(period.ended_at);
        }
        let path = |keys: Vec<Vec<Key>>| keys.into_iter().map(Path::through).collect();
        plan.ball.sort_by(|item, other| item.at.total_cmp(&other.at));
        Motion { paths: plan.keys.map(path), ball: plan.ball }
    }

    pub(super) fn player(&self, side: usize, member: usize, t: i64) -> Point {
        self.paths[side][member].at(t as f64)
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
                let at = self.paths[side][member].at(t);
                (Point { x: at.x + 90.0, y: at.y + 110.0 }, 1000.0)
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

impl Plan<'_> {
    fn hoop(&self) -> Hoop {
        self.possession.hoop
    }

    fn point(&self, chart: Chart) -> Point {
        let place = self.hoop().at(chart, 0);
        let (width, length) = (court::HALF_WIDTH - 120, court::HALF_LENGTH - 120);
        Point { x: place.x.clamp(-width, width) as f64, y: place.y.clamp(-length, length) as f64 }
    }

    fn member(&self, side: usize, seat: usize) -> usize {
        self.possession.on_court[side][seat]
    }

    fn key(&mut self, side: usize, member: usize, key: Key) {
        self.keys[side][member].push(key);
    }

    fn go(&mut self, side: usize, seat: usize, at: i64, chart: Chart, pace: f64) {
        let key = Key { at: at as f64, place: Some(self.point(chart)), dwell: 0.0, pace };
        self.key(side, self.member(side, seat), key);
    }

    fn around(&mut self, chart: Chart, reach: i64) -> Chart {
        Chart { x: chart.x + self.rng.within(-reach, reach), y: chart.y + self.rng.within(-reach, reach) }
    }

    /// Everybody stays until then.
    fn stay(&mut self, at: i64) {
        for side in 0..2 {
            for seat in 0..5 {
                let key = Key { at: at as f64, place: None, dwell: 0.0, pace: 3.0 };
                self.key(side, self.member(side, seat), key);
            }
        }
    }

    /// Those who come on were on the bench, and those who go off go there.
    fn substitutes(&mut self, before: Option<&GamePossession>) {
        let Some(before) = before else { return };
        for side in 0..2 {
            for member in before.on_court[side] {
                if !self.possession.on_court[side].contains(&member) {
                    let place = Some(bench(side, member));
                    let at = before.ended_at as f64;
                    self.key(side, member, Key { at: at + 1.0, place: None, dwell: 0.0, pace: 3.0 });
                    self.key(side, member, Key { at: at + 11_000.0, place, dwell: 1.0, pace: 2.0 });
                }
            }
            for member in self.possession.on_court[side] {
                if !before.on_court[side].contains(&member) {
                    let at = before.ended_at as f64 + 500.0;
                    self.key(side, member, Key { at, place: Some(bench(side, member)), dwell: 1.0, pace: 2.0 });
                }
            }
        }
    }

    fn ball_in_hand(&mut self, at: i64, side: usize, member: usize) {
        self.ball.push(BallKey { at: at as f64, anchor: Anchor::Hand(side, member), lift: 300.0 });
    }

    /// The ball goes to another seat of the offence, and takes its time.
    fn pass(&mut self, at: i64, seat: usize) {
        if seat == self.holder {
            return;
        }
        let side = self.possession.side;
        let (from, to) = (self.member(side, self.holder), self.member(side, seat));
        let (way, goal) = (self.five[self.holder], self.five[seat]);
        let time = (200 + ((way.x - goal.x).abs() + (way.y - goal.y).abs()) / 22).min(650);
        let last = self.ball.last().map_or(i64::MIN, |key| key.at as i64);
        let leaves_at = (at - time).max(last + 150);
        self.ball_in_hand(leaves_at, side, from);
        self.ball_in_hand(leaves_at + time, side, to);
        self.holder = seat;
    }

    fn possession_of(&mut self, before: Option<&GamePossession>) {
        let possession = self.possession;
        let side = possession.side;
        let (mut at, mut clock) = (possession.started_at, possession.start_clock);
        // From the other half, unless the period begins here.
        let mut from_afar = true;
        let mut is_loose = false;
        if let Some(before) = before {
            let dead = at - before.ended_at;
            if dead > 3000 {
                self.wait(before.ended_at, at, true);
            } else if before.play_events.last().is_some_and(|event| at == before.ended_at && is_basket(event)) {
                self.after_basket(at);
            }
        } else {
            self.tip_off(at);
            from_afar = false;
        }
        let mut quiet = at;
        for group in groups(possession) {
            let live = group.at - (clock - group.clock);
            if live > at + 1500 && !group.events.iter().any(|event| matches!(event.act, Act::FreeThrow { .. })) {
                self.wait(at, live, false);
                quiet = live;
            }
            let throw_event = group.events.iter().find(|event| matches!(event.act, Act::FreeThrow { .. }));
            if let Some(throw_event) = throw_event {
                self.free_throw(throw_event, at);
            } else if is_loose && group.at > live {
                self.rebound(&group);
            } else if group.at > live {
                self.offence(&group, live.max(quiet), from_afar);
            }
            self.act(&group);
            if group.at > live || throw_event.is_some() {
                from_afar = false;
            }
            is_loose = is_missed(group.events);
            (at, clock) = (group.at, group.clock);
        }
        self.holder = self.holder.min(4);
        let last = self.member(side, self.holder);
        if !matches!(
            possession.play_events.last().map(|event| &event.act),
            Some(Act::Shot { .. } | Act::FreeThrow { .. })
        ) {
            self.ball_in_hand(possession.ended_at, side, last);
        }
    }

    fn tip_off(&mut self, at: i64) {
        let side = self.possession.side;
        let middle = 12_725;
        for seat in 0..5 {
            let (x, y) = [(0, 3000), (-3500, 700), (3500, 800), (-1900, -2200), (0, 450)][seat];
            for (side, x, y) in [(side, x, y), (1 - side, 700 - x, -y)] {
                let place = Some(self.point(Chart { x, y: middle + y }));
                self.key(side, self.member(side, seat), Key { at: at as f64, place, dwell: MEAN, pace: 2.0 });
            }
        }
        self.holder = GUARD;
        let guard = self.member(side, GUARD);
        self.ball.push(BallKey { at: at as f64, anchor: Anchor::Spot(Point::default(), 2600.0), lift: 900.0 });
        self.ball_in_hand(at + 900, side, guard);
    }

    /// The ball falls through the net, is taken out and passed in; nobody runs before it is through.
    fn after_basket(&mut self, at: i64) {
        let side = self.possession.side;
        self.stay(at + 900);
        let inbounder = self.member(side, 4);
        let hoop = self.hoop();
        // The other hoop: its own five points are mirrored.
        let under = Point { x: -hoop.x as f64, y: -hoop.y as f64 };
        self.ball.push(BallKey { at: at as f64 + 1300.0, anchor: Anchor::Spot(under, 300.0), lift: 0.0 });
        self.go(side, 4, at + 2400, Chart { x: 1300, y: 26_500 }, 3.5);
        self.ball_in_hand(at + 2100, side, inbounder);
        self.go(side, GUARD, at + 3200, Chart { x: -700, y: 22_500 }, 2.5);
        self.five[4] = Chart { x: 1300, y: 26_500 };
        self.five[GUARD] = Chart { x: -700, y: 22_500 };
        self.holder = 4;
        self.pass(at + 3300, GUARD);
    }

    /// Play has stopped until `to`: players stand, walk to where it resumes, and to the bench in a time-out.
    fn wait(&mut self, from: i64, to: i64, inbound: bool) {
        let side = self.possession.side;
        let stop = from + self.rng.within(1200, 2500);
        self.stay(stop);
        if to - from > 50_000 {
            for item in 0..2 {
                for seat in 0..5 {
                    let half = if item == 0 { 1.0 } else { -1.0 };
                    let place =
                        Point { x: 6300.0 - 500.0 * (seat % 2) as f64, y: half * (3300.0 + 700.0 * seat as f64) };
                    let at = (from + 13_000 + self.rng.within(0, 3000)) as f64;
                    let member = self.member(item, seat);
                    self.key(item, member, Key { at, place: Some(place), dwell: 1.0, pace: 2.0 });
                    self.key(item, member, Key { at: (to - 15_000) as f64, place: None, dwell: 0.0, pace: 2.0 });
                }
            }
        }
        let near = !inbound;
        for seat in 0..5 {
            let spot = match (near, seat) {
                (true, _) => SPOTS[self.rng.index(3)][seat],
                (false, GUARD) => Chart { x: 1500, y: 20_500 },
                (false, 4) => Chart { x: 7400, y: 22_000 },
                (false, _) => Chart { x: SPOTS[0][seat].x * 8 / 10, y: 12_000 + 1500 * seat as i64 },
            };
            self.five[seat] = self.around(spot, 600);
            let (own_spot, guard) = (self.five[seat], self.guard(seat, Chart { x: 0, y: 9000 }));
            let at = to - self.rng.within(200, 3500);
            self.go(side, seat, at, own_spot, 1.7);
            let follows = at + self.rng.within(-700, 700);
            self.go(1 - side, seat, follows, guard, 1.7);
        }
        self.holder = if near { 1 } else { 4 };
        let member = self.member(side, self.holder);
        self.ball_in_hand(to - 3000, side, member);
        self.pass(to + 500, GUARD);
    }

    /// The place of a seat's opponent, between him and the hoop, drawn to the ball.
    fn guard(&mut self, seat: usize, ball: Chart) -> Chart {
        let own_spot = self.five[seat];
        let (hoop, help) = if seat == self.holder { (17, 0) } else { (25, 11) };
        let mixed = |own_spot: i64, ball: i64| own_spot * (100 - hoop - help) / 100 + ball * help / 100;
        let spot = Chart { x: mixed(own_spot.x, ball.x), y: mixed(own_spot.y, ball.y).max(150) };
        self.around(spot, 380)
    }

    /// An offence from `from` until its event: up the court, spots, cuts and screens, then where it happens.
    fn offence(&mut self, group: &Group, from: i64, from_afar: bool) {
        let to = group.at;
        let mut at = from;
        if from_afar {
            let arrive = (from + self.rng.within(5200, 7400)).min(to - 1500);
            if arrive > from + 2500 {
                let pace = 2.3 + self.rng.below(7) as f64 / 10.0;
                self.beat(arrive, pace, 2200);
                if self.holder != GUARD && self.rng.chance(750) {
                    self.pass(from + 3600.min((arrive - from) / 2), GUARD);
                }
            }
            at = arrive.max(from);
        }
        let screens = self.possession.screens.iter().copied().filter(|screen| (from..to - 1000).contains(&screen.at));
        let mut moments: Vec<(i64, Option<Screen>)> = screens.map(|screen| (screen.at, Some(screen))).collect();
        let set = moments.len();
        let last_pass = to - self.rng.within(700, 3600);
        loop {
            at += self.rng.within(1500, 2600);
            if at > to - 1700 {
                break;
            }
            if moments[..set].iter().all(|(screen, _)| (screen - at).abs() > 1500) {
                moments.push((at, None));
            }
        }
        moments.sort_by_key(|(at, _)| *at);
        for (at, screen) in moments {
            match screen {
                Some(screen) => self.screen(&screen),
                None => {
                    let pace = 1.6 + self.rng.below(11) as f64 / 10.0;
                    self.beat(at, pace, 500);
                    if at < last_pass - 900 && self.rng.chance(380) {
                        let (seat, after) = (self.rng.index(5), self.rng.within(-300, 500));
                        self.pass(at + after, seat);
                    }
                }
            }
        }
        self.end(group, last_pass.max(from + 900));
    }

    /// The screener is at the place that the service tells, and the handler comes past him.
    fn screen(&mut self, screen: &Screen) {
        let side = self.possession.side;
        let seat = |member| self.possession.on_court[side].iter().position(|item| *item == member).unwrap_or(0);
        let (handler, screener) = (seat(screen.handler), seat(screen.screener));
        let place = self.point(screen.place);
        self.pass(screen.at - 700, handler);
        let beside = Chart { x: screen.place.x + 700, y: screen.place.y + 500 };
        self.key(
            side,
            screen.screener,
            Key { at: screen.at as f64 + 200.0, place: Some(place), dwell: 400.0, pace: 3.2 },
        );
        self.go(side, handler, screen.at - 100, beside, 2.6);
        (self.five[handler], self.five[screener]) = (beside, screen.place);
        for seat in [handler, screener] {
            let guard = self.guard(seat, beside);
            self.go(1 - side, seat, screen.at + 150, guard, 2.8);
        }
    }

    /// Some of the five change their spots until then, and their opponents follow.
    fn beat(&mut self, at: i64, pace: f64, spread: i64) {
        let side = self.possession.side;
        let set = self.rng.index(3);
        let all = spread > 1000;
        for seat in 0..5 {
            let moves = all || self.rng.chance(930);
            if moves {
                self.five[seat] = self.around(SPOTS[set][seat], 1900);
            }
            let (own_spot, mut guard) = (self.five[seat], self.guard(seat, self.five[self.holder]));
            if !moves {
                guard = self.around(guard, 200);
            }
            let time = at - self.rng.within(0, spread);
            self.go(side, seat, time, own_spot, pace);
            let follows = time + self.rng.within(-100, 350);
            self.go(1 - side, seat, follows, guard, pace * 0.9);
        }
    }

    /// The pose at the end of an offence: the shot, turnover or foul, or the end of the period.
    fn end(&mut self, group: &Group, last_pass: i64) {
        let side = self.possession.side;
        let seat_of =
            |event: &PlayEvent| self.possession.on_court[event.side].iter().position(|item| *item == event.member);
        let actor = group
            .events
            .iter()
            .find(|event| event.side == side && matches!(event.act, Act::Shot { .. } | Act::Turnover { .. }));
        let passer = group.events.iter().find(|event| event.act == Act::Assist).and_then(seat_of);
        let place = actor.or(group.events.first()).map(|event| event.place.chart());
        for event in group.events.iter().filter(|event| event.side == side) {
            if let Some(seat) = seat_of(event) {
                self.five[seat] = event.place.chart();
            }
        }
        if let Some(seat) = actor.and_then(seat_of) {
            if let Some(passer) = passer {
                self.pass(last_pass - 1200, passer);
            }
            self.pass(last_pass, seat);
        }
        let shot = actor.and_then(|event| match event.act {
            Act::Shot { defender, gap, .. } => Some((defender, gap)),
            _ => None,
        });
        let nearest = match (shot, place) {
            (Some((defender, gap)), Some(place)) => Some((defender, gap, self.beside(place, gap))),
            _ => None,
        };
        let rebounder = self.rebounder(group.at);
        for seat in 0..5 {
            if let Some((_, _, goal)) = rebounder.filter(|rebound| (rebound.0, rebound.1) == (side, seat)) {
                self.five[seat] = goal;
            }
            let own_spot = self.member(side, seat);
            if !group.events.iter().any(|event| event.side == side && event.member == own_spot) {
                let new_spot = self.around(self.five[seat], 1500);
                self.five[seat] = new_spot;
                self.go(side, seat, group.at, new_spot, 2.5);
            }
            let other = self.member(1 - side, seat);
            let mut guard = self.guard(seat, place.unwrap_or(self.five[0]));
            if let Some((_, _, goal)) = rebounder.filter(|rebound| (rebound.0, rebound.1) == (1 - side, seat)) {
                guard = self.around(goal, 500);
            }
            let mut dwell = 420.0;
            if let (Some((defender, gap, spot)), Some(place)) = (nearest, place) {
                guard = if other == defender { spot } else { away(guard, place, gap + 650) };
                dwell = if other == defender { MEAN } else { dwell };
            } else if group.events.iter().any(|event| event.side != side && event.member == other) {
                continue;
            }
            let key = Key { at: group.at as f64, place: Some(self.point(guard)), dwell, pace: 2.8 };
            self.key(1 - side, other, key);
        }
    }

    /// The next rebound after a miss at that time: its side, seat and place.
    fn rebounder(&self, at: i64) -> Option<(usize, usize, Chart)> {
        let own_spot = self.possession.play_events.iter().find(|event| event.at > at);
        let next = || self.next.and_then(|next| next.play_events.first());
        let event =
            own_spot.or_else(next).filter(|event| matches!(event.act, Act::Rebound { .. }) && event.at < at + 3500)?;
        let seat = self.possession.on_court[event.side].iter().position(|item| *item == event.member)?;
        let place = CourtPoint { hoop: self.hoop(), ..event.place }.chart();
        Some((event.side, seat, place))
    }

    /// A point at a distance from another, most often between it and the hoop.
    fn beside(&mut self, place: Chart, gap: i64) -> Chart {
        let reach = place.x.abs() + place.y.abs() + 300;
        let mut way = self.around(Chart { x: -place.x, y: -place.y }, reach / 2);
        // Not behind the baseline.
        if place.y < 900 && way.y < 0 {
            way.y = -way.y;
        }
        if way.x == 0 && way.y == 0 {
            way.y = 1;
        }
        let length = ((way.x * way.x + way.y * way.y) as f64).sqrt();
        let part = |way: i64| (gap as f64 * way as f64 / length).round() as i64;
        Chart { x: place.x + part(way.x), y: place.y + part(way.y) }
    }

    /// From the shot to its rebound: some go to the boards, the others turn back when it is decided.
    fn rebound(&mut self, group: &Group) {
        let side = self.possession.side;
        for seat in 0..5 {
            let crash = self.rng.chance(if seat >= 3 { 800 } else { 250 });
            let own_spot = self.five[seat];
            self.five[seat] = match crash {
                true => Chart { x: own_spot.x * 4 / 10, y: 500 + own_spot.y * 4 / 10 },
                false => Chart { x: own_spot.x, y: own_spot.y + 900 },
            };
            let (own_spot, box_out) =
                (self.five[seat], Chart { x: own_spot.x * 35 / 100, y: 300 + own_spot.y * 4 / 10 });
            let (own_spot, box_out) = (self.around(own_spot, 400), self.around(box_out, 500));
            self.go(side, seat, group.at, own_spot, 2.3);
            self.go(1 - side, seat, group.at, box_out, 2.3);
        }
    }

    /// The shooter at the line, four in the lanes, the others behind the arc.
    fn free_throw(&mut self, throw_event: &PlayEvent, since: i64) {
        let side = throw_event.side;
        let shooter = self.possession.on_court[side].iter().position(|item| *item == throw_event.member).unwrap_or(0);
        let mut lane = 0;
        let rebounder = self.rebounder(throw_event.at);
        let is_rebounder =
            |side: usize, seat: usize| rebounder.is_some_and(|rebound| (rebound.0, rebound.1) == (side, seat));
        for seat in 0..5 {
            let at = throw_event.at - 3500 + self.rng.within(0, 1500);
            if since < at - 3000 && throw_event.at - since > 6000 {
                let member = [self.member(side, seat), self.member(1 - side, seat)];
                self.key(side, member[0], Key { at: (since + 1500) as f64, place: None, dwell: 0.0, pace: 2.0 });
                self.key(1 - side, member[1], Key { at: (since + 1500) as f64, place: None, dwell: 0.0, pace: 2.0 });
            }
            let other = if seat < 2 {
                LANES[seat]
            } else if is_rebounder(1 - side, seat) {
                Chart { x: 2300, y: 2800 }
            } else {
                Chart { x: 1900 * (seat as i64 - 3), y: 7300 }
            };
            self.go(1 - side, seat, at, other, 1.6);
            if seat == shooter {
                continue;
            }
            let own_spot = if is_rebounder(side, seat) {
                Chart { x: -2300, y: 2800 }
            } else if lane < 2 && seat >= 2 {
                LANES[2 + lane]
            } else {
                Chart { x: 2600 * (seat as i64 - 2), y: 8200 }
            };
            lane += usize::from(lane < 2 && seat >= 2);
            self.five[seat] = own_spot;
            self.go(side, seat, at, own_spot, 1.6);
        }
        self.five[shooter] = spot(0, court::LINE);
        self.holder = shooter;
        self.ball_in_hand(throw_event.at - 2500, side, throw_event.member);
    }

    /// The players of a group's events are where these happen, and the ball goes as they say.
    fn act(&mut self, group: &Group) {
        let side = self.possession.side;
        let shot = group.events.iter().find(|event| matches!(event.act, Act::Shot { .. }));
        for event in group.events {
            let place = event.place;
            let seat = self.possession.on_court[event.side].iter().position(|item| *item == event.member);
            let dwell = match event.act {
                Act::Shot { .. } | Act::FreeThrow { .. } => MEAN,
                // The nearest defender has his place already.
                Act::Block | Act::Foul if shot.is_some() => continue,
                Act::Assist => 520.0,
                _ => 480.0,
            };
            let point = Point { x: place.x as f64, y: place.y as f64 };
            self.key(event.side, event.member, Key { at: event.at as f64, place: Some(point), dwell, pace: 3.2 });
            match event.act {
                Act::Shot { is_made, .. } | Act::FreeThrow { is_made } => self.throw(event, is_made),
                Act::Rebound { .. } | Act::Steal => {
                    self.ball_in_hand(event.at, event.side, event.member);
                    if event.side == side {
                        self.holder = seat.unwrap_or(0);
                        self.five[self.holder] = place.chart();
                    }
                }
                _ => {}
            }
        }
    }

    /// From the hand to the rim, and through the net or off it.
    fn throw(&mut self, event: &PlayEvent, is_made: bool) {
        let CourtPoint { hoop, .. } = event.place;
        let rim = Point { x: hoop.x as f64, y: hoop.y as f64 };
        let way = event.place.chart().distance_cm();
        let at = event.at as f64;
        self.ball.push(BallKey { at, anchor: Anchor::Hand(event.side, event.member), lift: 500.0 + way });
        let flight = (350.0 + way / 2.0).min(780.0);
        self.ball.push(BallKey { at: at + flight, anchor: Anchor::Spot(rim, hoop.z as f64), lift: 500.0 });
        if is_made {
            self.ball.push(BallKey { at: at + flight + 350.0, anchor: Anchor::Spot(rim, 300.0), lift: 0.0 });
        }
    }
}

fn is_basket(event: &PlayEvent) -> bool {
    matches!(event.act, Act::Shot { is_made: true, .. } | Act::Assist)
}

/// A point, shifted away from another if it is nearer than that.
fn away(point: Chart, from: Chart, reach: i64) -> Chart {
    let (x, y) = (point.x - from.x, point.y - from.y);
    let length = ((x * x + y * y) as f64).sqrt();
    if length >= reach as f64 {
        return point;
    }
    let (x, y, length) = if length < 1.0 { (0, 1, 1.0) } else { (x, y, length) };
    let part = |way: i64| (reach as f64 * way as f64 / length).round() as i64;
    let new_spot = Chart { x: from.x + part(x), y: from.y + part(y) };
    // Behind the baseline there is no place.
    if new_spot.y < -1300 { Chart { x: new_spot.x, y: from.y + (from.y - new_spot.y) } } else { new_spot }
}
