//! The offence: up the court, into a set, shifts, cuts and drives, screens, and where it ends.

use super::figures::{ADVANCE, DEPTH, MOVES, PACE, PAUSE, SETS, SHIFT, TOUCH, WIDTH};
use super::plan::{CENTRE, GUARD, Group, Plan, distance};
use crate::season::ball_screens::Screen;
use crate::season::court::Chart;
use crate::season::game_log::{Act, PlayEvent};
use crate::season::path::Key;

/// Who is farther from his spot than this, in mm, goes there next.
const AWAY: f64 = 2400.0;
/// Permille of changes of spots in which all go into another set.
const NEW_SET: i64 = 120;
/// Milliseconds before the end in which each goes to his last place.
const CLOSING: i64 = 1100;
/// Milliseconds that a screen takes of its two players.
const SCREEN: i64 = 1500;

impl Plan<'_> {
    /// An offence from `from` until its event: up the court, a set, then where it happens.
    pub(super) fn offence(&mut self, group: &Group, from: i64, from_afar: bool) {
        let to = group.at;
        let set = self.draw_set();
        let mut ready = [from; 5];
        if from_afar {
            ready = self.advance(from, to, set);
        }
        let last_pass = to - self.rng.within(700, 3600);
        self.roam(ready, set, self.last_moves(group), last_pass);
        self.end(group, last_pass.max(from + 900));
        self.defend(from, to);
    }

    /// When each of the five goes to his last place: the others play on.
    fn last_moves(&self, group: &Group) -> [i64; 5] {
        let side = self.possession.side;
        let is_busy = |seat| {
            let member = self.member(side, seat);
            group.events.iter().any(|event| event.side == side && event.member == member)
        };
        [0, 1, 2, 3, 4].map(|seat| if is_busy(seat) { group.at - CLOSING } else { group.at + 400 })
    }

    /// A set of spots, by seat: seen in a mirror or not, and guards and forwards change.
    fn draw_set(&mut self) -> [Chart; 5] {
        let mut set = SETS[self.rng.index(SETS.len())];
        let mirror = if self.rng.chance(500) { 1 } else { -1 };
        let depth = self.rng.within(DEPTH.0, DEPTH.1);
        let mut wings = [1, 2, 3];
        self.rng.shuffle(&mut wings);
        let spots = [set[0], set[wings[0]], set[wings[1]], set[wings[2]], set[4]];
        for (seat, spot) in spots.into_iter().enumerate() {
            set[seat] = self.around(
                Chart { x: mirror * spot.x * WIDTH / 1000 * (3000 + depth) / 4000, y: spot.y * depth / 1000 },
                700,
            );
        }
        set
    }

    /// All come up the court, if there is time; returns when each is there.
    fn advance(&mut self, from: i64, to: i64, set: [Chart; 5]) -> [i64; 5] {
        let side = self.possession.side;
        let arrive = (from + self.rng.quantile(&ADVANCE)).min(to - 1500);
        if arrive < from + 2500 {
            self.five = set;
            return [to; 5];
        }
        if self.holder != GUARD && self.rng.chance(750) {
            self.pass(from + 3600.min((arrive - from) / 2), GUARD);
        }
        let pace = 2.3 + self.rng.below(9) as f64 / 10.0;
        let runs = self.rng.chance(480);
        let mut ready = [arrive; 5];
        for seat in 0..5 {
            let own_pace = if runs { 3.2 + self.rng.below(19) as f64 / 10.0 } else { pace };
            let at = if seat == self.holder {
                arrive
            } else if runs {
                from + self.rng.within(200, 1800) + (distance(self.five[seat], set[seat]) / own_pace) as i64
            } else {
                arrive - self.rng.within(-900, 1800)
            };
            ready[seat] = at.clamp(from + 1500, to - 1000);
            self.five[seat] = set[seat];
            self.go(side, seat, ready[seat], set[seat], if seat == self.holder { pace } else { own_pace });
        }
        ready
    }

    /// Each of the five in his own time shifts, goes to a free spot, cuts or drives, and the ball goes round.
    fn roam(&mut self, mut ready: [i64; 5], mut spots: [Chart; 5], ends: [i64; 5], last_pass: i64) {
        let from = ready.into_iter().min().unwrap_or(0);
        let until = ends.into_iter().min().unwrap_or(0);
        let screens = self.possession.screens.iter().copied();
        let mut screens: Vec<Screen> =
            screens.filter(|screen| screen.at > from + SCREEN && screen.at < until - 300).collect();
        screens.reverse();
        let mut pass_at = ready[self.holder] + self.rng.quantile(&TOUCH);
        loop {
            let seat = (0..5).min_by_key(|seat| ready[*seat]).unwrap_or(GUARD);
            let now = ready[seat];
            if let Some(screen) = screens.pop_if(|screen| now > screen.at - SCREEN) {
                self.screen(&screen, &mut ready);
                pass_at = screen.at + self.rng.within(300, 2200);
                continue;
            }
            if now == i64::MAX {
                return;
            }
            if now >= ends[seat] {
                ready[seat] = i64::MAX;
                continue;
            }
            if pass_at <= now {
                if now < last_pass - 900 {
                    let seat = (self.holder + 1 + self.rng.index(4)) % 5;
                    let late = self.rng.within(0, 300);
                    self.pass(now + late, seat);
                }
                pass_at = now + self.rng.quantile(&TOUCH);
            }
            ready[seat] = self.step(seat, now, ends[seat], &mut spots);
        }
    }

    /// The next move of an attacker; returns when he is ready for another.
    fn step(&mut self, seat: usize, now: i64, until: i64, spots: &mut [Chart; 5]) -> i64 {
        let (side, place) = (self.possession.side, self.five[seat]);
        let has_ball = usize::from(seat == self.holder);
        let is_away = distance(place, spots[seat]) > AWAY;
        let kind = if is_away { 1 } else { self.rng.choose_weighted(&MOVES[has_ball]).unwrap_or(0) };
        let goal = match kind {
            0 => self.clear_of(seat, [spots[seat]; 3], SHIFT),
            1 if is_away => self.around(spots[seat], 500),
            1 => self.new_spot(seat, spots),
            _ => {
                let x = place.x / 6;
                self.clear_of(seat, [Chart { x, y: 1100 }, Chart { x, y: 2300 }, Chart { x: -x, y: 1700 }], 900)
            }
        };
        let (low, high) = PACE[kind];
        let pace = self.rng.within(low, high) as f64 / 10.0;
        let at = now + ((distance(place, goal) / pace) as i64).max(250);
        if at > until {
            return until;
        }
        self.five[seat] = goal;
        self.go(side, seat, at, goal, pace);
        at + self.rng.within(0, PAUSE[kind])
    }

    /// A point near one of these: of three the one that is farthest from the other four.
    fn clear_of(&mut self, seat: usize, points: [Chart; 3], reach: i64) -> Chart {
        let points = points.map(|point| self.around(point, reach));
        let space = |point: &Chart| {
            let others = (0..5).filter(|other| *other != seat);
            others.map(|other| distance(self.five[other], *point)).fold(f64::MAX, f64::min)
        };
        points.into_iter().max_by(|item, other| space(item).total_cmp(&space(other))).unwrap_or(points[0])
    }

    /// A spot that another leaves for this one, or a set that all go into.
    fn new_spot(&mut self, seat: usize, spots: &mut [Chart; 5]) -> Chart {
        let other = self.rng.index(5);
        if self.rng.chance(NEW_SET) {
            *spots = self.near_set(spots);
        } else if (seat == CENTRE) == (other == CENTRE) && distance(spots[seat], spots[other]) < 5000.0 {
            spots.swap(seat, other);
        }
        self.around(spots[seat], 500)
    }

    /// The set of some that takes the five the shortest ways.
    fn near_set(&mut self, spots: &[Chart; 5]) -> [Chart; 5] {
        let way = |set: &[Chart; 5]| set.iter().zip(spots).map(|(item, other)| distance(*item, *other)).sum::<f64>();
        let sets = [self.draw_set(), self.draw_set(), self.draw_set(), self.draw_set()];
        sets.into_iter().min_by(|item, other| way(item).total_cmp(&way(other))).unwrap_or(*spots)
    }

    /// The screener is at the place that the service tells, and the handler comes past him.
    fn screen(&mut self, screen: &Screen, ready: &mut [i64; 5]) {
        let side = self.possession.side;
        let seat = |member| self.possession.on_court[side].iter().position(|item| *item == member).unwrap_or(0);
        let (handler, screener) = (seat(screen.handler), seat(screen.screener));
        let place = self.point(screen.place);
        self.pass(screen.at - 700, handler);
        let beside = Chart { x: screen.place.x + 700, y: screen.place.y + 500 };
        let key = Key { at: screen.at as f64 + 200.0, place: Some(place), dwell: 400.0, pace: 3.2 };
        self.key(side, screen.screener, key);
        self.walk(screener, screen.at, screen.place, 3.2);
        self.go(side, handler, screen.at - 100, beside, 2.6);
        for (seat, place) in [(handler, beside), (screener, screen.place)] {
            self.five[seat] = place;
            ready[seat] = screen.at + self.rng.within(500, 900);
        }
    }

    /// The pose at the end of an offence: the shot, turnover or foul, or the end of the period.
    pub(super) fn end(&mut self, group: &Group, last_pass: i64) {
        let side = self.possession.side;
        let seat_of =
            |event: &PlayEvent| self.possession.on_court[event.side].iter().position(|item| *item == event.member);
        let is_last_act =
            |event: &&PlayEvent| event.side == side && matches!(event.act, Act::Shot { .. } | Act::Turnover { .. });
        let actor = group.events.iter().find(is_last_act);
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
        let rebounder = self.rebounder(group.at).or_else(|| self.expected_rebounder(group));
        for seat in 0..5 {
            if let Some((_, _, goal)) = rebounder.filter(|rebound| (rebound.0, rebound.1) == (side, seat)) {
                self.five[seat] = goal;
            }
            let member = self.member(side, seat);
            if group.events.iter().any(|event| event.side == side && event.member == member) {
                self.walk(seat, group.at, self.five[seat], 3.2);
            } else {
                let is_late = self.ways[seat].last().is_none_or(|way| way.0 < group.at - 600);
                if is_late || rebounder.is_some_and(|rebound| (rebound.0, rebound.1) == (side, seat)) {
                    let last_spot = self.around(self.five[seat], 900);
                    self.five[seat] = last_spot;
                    self.go(side, seat, group.at + 300, last_spot, 2.6);
                }
            }
        }
        self.pose(group, place, rebounder);
    }

    /// Who goes to the hoop at a shot that goes in: the same as at one that does not, or positions would tell.
    fn expected_rebounder(&mut self, group: &Group) -> Option<(usize, usize, Chart)> {
        let shot = group.events.iter().find(|event| matches!(event.act, Act::Shot { .. }))?;
        let (side, seat) = (if self.rng.chance(280) { shot.side } else { 1 - shot.side }, self.rng.index(5));
        let is_busy = group.events.iter().any(|event| event.member == self.member(event.side, seat));
        (!is_busy).then(|| (side, seat, self.around(Chart { x: 0, y: 900 }, 2000)))
    }

    /// From the shot to its rebound: some go to the boards, the others turn back when it is decided.
    pub(super) fn rebound(&mut self, group: &Group) {
        let side = self.possession.side;
        for seat in 0..5 {
            let crash = self.rng.chance(if seat >= 3 { 800 } else { 250 });
            let own_spot = self.five[seat];
            self.five[seat] = match crash {
                true => Chart { x: own_spot.x * 4 / 10, y: 500 + own_spot.y * 4 / 10 },
                false => Chart { x: own_spot.x, y: own_spot.y + 1500 },
            };
            let (own_spot, box_out) =
                (self.five[seat], Chart { x: own_spot.x * 35 / 100, y: 300 + own_spot.y * 4 / 10 });
            let (own_spot, box_out) = (self.around(own_spot, 400), self.around(box_out, 500));
            self.go(side, seat, group.at, own_spot, 3.4);
            self.go(1 - side, seat, group.at, box_out, 3.0);
        }
    }
}
