//! The plan of a period: keys for each player and for the ball, from possession to possession.

use super::figures::ZONES;
use super::{Anchor, BallKey, bench};
use crate::season::court::{self, Chart};
use crate::season::game_log::{Act, CourtPoint, GamePeriod, GamePossession, Hoop, PlayEvent, Side};
use crate::season::path::{Key, POSE, Point};
use crate::season::rng::Rng;

/// The seat that comes up with the ball.
pub(super) const GUARD: usize = 0;
/// The seat that plays near the hoop.
pub(super) const CENTRE: usize = 4;

/// The planned ways.
pub(super) struct Plan<'a> {
    pub(super) rng: Rng,
    pub(super) keys: [Vec<Vec<Key>>; 2],
    pub(super) ball: Vec<BallKey>,
    pub(super) possession: &'a GamePossession,
    /// Whether it is defended in a zone.
    pub(super) is_zone: bool,
    /// The possession after it.
    pub(super) next: Option<&'a GamePossession>,
    /// Where the five of the offence are at the last pose, by seat.
    pub(super) five: [Chart; 5],
    pub(super) holder: usize,
    /// The ways of the offence so far in this possession, by seat: who is where from when on, straight between.
    pub(super) ways: [Vec<(i64, Chart)>; 5],
    /// Who has the ball from when on.
    pub(super) holders: Vec<(i64, usize)>,
}

/// What happens at one time.
pub(super) struct Group<'a> {
    pub(super) at: i64,
    pub(super) clock: i64,
    pub(super) events: &'a [PlayEvent],
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

impl<'a> Plan<'a> {
    fn empty(seed: u64, sides: &[Side; 2], possession: &'a GamePossession) -> Self {
        let members = |side: usize| vec![Vec::new(); sides[side].members.len()];
        Plan {
            rng: Rng::with_key(seed, &[]),
            keys: [members(0), members(1)],
            ball: Vec::new(),
            possession,
            is_zone: false,
            next: None,
            five: super::figures::SETS[0],
            holder: GUARD,
            ways: Default::default(),
            holders: Vec::new(),
        }
    }

    pub(super) fn of_period(
        seed: u64,
        sides: &[Side; 2],
        period: &'a GamePeriod,
        next: Option<&'a GamePeriod>,
    ) -> Option<Self> {
        let mut plan = Plan::empty(seed, sides, period.possessions.first()?);
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
            plan.is_zone = is_zone(seed, index);
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
        Some(plan)
    }

    /// Where the five are, and who has the ball, when a possession begins.
    fn start(&mut self, at: i64) {
        let side = self.possession.side;
        for seat in 0..5 {
            let keys = &self.keys[side][self.member(side, seat)];
            if let Some(place) = keys.iter().rev().find_map(|key| key.place) {
                let place = CourtPoint { x: place.x as i64, y: place.y as i64, z: 0, hoop: self.hoop() };
                self.five[seat] = place.chart();
            }
            self.ways[seat] = vec![(at, self.five[seat])];
        }
        self.holders = vec![(at, self.holder)];
    }

    pub(super) fn hoop(&self) -> Hoop {
        self.possession.hoop
    }

    pub(super) fn point(&self, chart: Chart) -> Point {
        let place = self.hoop().at(chart, 0);
        let (width, length) = (court::HALF_WIDTH - 120, court::HALF_LENGTH - 120);
        Point { x: place.x.clamp(-width, width) as f64, y: place.y.clamp(-length, length) as f64 }
    }

    pub(super) fn member(&self, side: usize, seat: usize) -> usize {
        self.possession.on_court[side][seat]
    }

    pub(super) fn key(&mut self, side: usize, member: usize, key: Key) {
        self.keys[side][member].push(key);
    }

    pub(super) fn go(&mut self, side: usize, seat: usize, at: i64, chart: Chart, pace: f64) {
        let key = Key { at: at as f64, place: Some(self.point(chart)), dwell: 0.0, pace };
        self.key(side, self.member(side, seat), key);
        if side == self.possession.side {
            self.walk(seat, at, chart, pace);
        }
    }

    /// Notes the way of an attacker, who leaves late.
    pub(super) fn walk(&mut self, seat: usize, at: i64, chart: Chart, pace: f64) {
        if let Some((last, place)) = self.ways[seat].last().copied() {
            let leaves = (at - (distance(place, chart) / pace) as i64).max(last);
            self.ways[seat].push((leaves, place));
            self.ways[seat].push((at.max(leaves), chart));
        }
    }

    /// Where an attacker is at a time, as planned.
    pub(super) fn planned_place(&self, seat: usize, at: i64) -> Chart {
        let ways = &self.ways[seat];
        let after = ways.partition_point(|way| way.0 <= at);
        match (after.checked_sub(1).and_then(|before| ways.get(before)), ways.get(after)) {
            (Some((from, start)), Some((to, end))) => {
                let mixed = |start: i64, end: i64| start + (end - start) * (at - from) / (to - from).max(1);
                Chart { x: mixed(start.x, end.x), y: mixed(start.y, end.y) }
            }
            (Some(way), None) | (None, Some(way)) => way.1,
            (None, None) => self.five[seat],
        }
    }

    pub(super) fn holder_at(&self, at: i64) -> usize {
        let after = self.holders.partition_point(|holder| holder.0 <= at);
        after.checked_sub(1).and_then(|before| self.holders.get(before)).map_or(self.holder, |holder| holder.1)
    }

    pub(super) fn around(&mut self, chart: Chart, reach: i64) -> Chart {
        Chart { x: chart.x + self.rng.within(-reach, reach), y: chart.y + self.rng.within(-reach, reach) }
    }

    /// Everybody stays until then.
    pub(super) fn stay(&mut self, at: i64) {
        for side in 0..2 {
            for seat in 0..5 {
                let key = Key { at: at as f64, place: None, dwell: 0.0, pace: 3.0 };
                self.key(side, self.member(side, seat), key);
            }
        }
    }

    pub(super) fn ball_in_hand(&mut self, at: i64, side: usize, member: usize) {
        self.ball.push(BallKey { at: at as f64, anchor: Anchor::Hand(side, member), lift: 300.0 });
    }

    /// The ball goes to another seat of the offence, and takes its time.
    pub(super) fn pass(&mut self, at: i64, seat: usize) {
        if seat == self.holder {
            return;
        }
        let side = self.possession.side;
        let (from, to) = (self.member(side, self.holder), self.member(side, seat));
        let (way, goal) = (self.five[self.holder], self.five[seat]);
        let time = (250 + ((way.x - goal.x).abs() + (way.y - goal.y).abs()) / 18).min(850);
        let last = self.ball.last().map_or(i64::MIN, |key| key.at as i64);
        let leaves_at = (at - time).max(last + 150);
        self.ball_in_hand(leaves_at, side, from);
        self.ball_in_hand(leaves_at + time, side, to);
        self.holder = seat;
        self.holders.push((leaves_at + time / 2, seat));
    }

    fn possession_of(&mut self, before: Option<&GamePossession>) {
        let possession = self.possession;
        let side = possession.side;
        let (mut at, mut clock) = (possession.started_at, possession.start_clock);
        // From the other half, unless the period begins here.
        let mut from_afar = true;
        let mut is_loose = false;
        self.start(at);
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
                (quiet, is_loose) = (live, false);
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

    /// The players of a group's events are where these happen, and the ball goes as they say.
    fn act(&mut self, group: &Group) {
        let side = self.possession.side;
        let shot = group.events.iter().find(|event| matches!(event.act, Act::Shot { .. }));
        for event in group.events {
            let place = event.place;
            let seat = self.possession.on_court[event.side].iter().position(|item| *item == event.member);
            let dwell = match event.act {
                Act::Shot { .. } | Act::FreeThrow { .. } => POSE,
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

    /// The next rebound after a miss at that time: its side, seat and place.
    pub(super) fn rebounder(&self, at: i64) -> Option<(usize, usize, Chart)> {
        let own_spot = self.possession.play_events.iter().find(|event| event.at > at);
        let next = || self.next.and_then(|next| next.play_events.first());
        let event =
            own_spot.or_else(next).filter(|event| matches!(event.act, Act::Rebound { .. }) && event.at < at + 3500)?;
        let seat = self.possession.on_court[event.side].iter().position(|item| *item == event.member)?;
        let place = CourtPoint { hoop: self.hoop(), ..event.place }.chart();
        Some((event.side, seat, place))
    }
}

/// Whether a possession of a period is defended in a zone.
pub(in super::super) fn is_zone(seed: u64, index: usize) -> bool {
    Rng::with_key(seed, &[0x20E5, index as u64]).chance(ZONES)
}

/// The way between two points, in mm. Square roots are rounded alike on every platform.
pub(super) fn distance(from: Chart, to: Chart) -> f64 {
    from.minus(to).distance_cm() * 10.0
}

fn is_basket(event: &PlayEvent) -> bool {
    matches!(event.act, Act::Shot { is_made: true, .. } | Act::Assist)
}
