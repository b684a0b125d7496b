//! What players do while play has stopped or is about to begin: tip-off, throw-in, time-out, free throws, substitutions.

use super::figures::SETS;
use super::plan::{GUARD, Plan};
use super::{Anchor, BallKey, bench};
use crate::season::court::{self, Chart};
use crate::season::game_log::{GamePossession, PlayEvent};
use crate::season::path::{Key, MEAN, Point};

/// Where the lanes of a free throw are taken, defenders first, and where the others wait.
const LANES: [Chart; 4] = [spot(-2300, 700), spot(2300, 700), spot(-2300, 1900), spot(2300, 1900)];

const fn spot(x: i64, y: i64) -> Chart {
    Chart { x, y }
}

impl Plan<'_> {
    /// Those who come on were on the bench, and those who go off go there.
    pub(super) fn substitutes(&mut self, before: Option<&GamePossession>) {
        let Some(before) = before else { return };
        let (end, start) = (before.ended_at as f64, self.possession.started_at as f64);
        for side in 0..2 {
            for seat in 0..5 {
                let (old, new) = (before.on_court[side][seat], self.possession.on_court[side][seat]);
                if old == new {
                    continue;
                }
                let place = self.keys[side][old].iter().rev().find_map(|key| key.place);
                // Without a break after the last free throw he has walked on before it.
                let is_at_once = start - end < 3000.0;
                let from = if is_at_once { end - 9000.0 } else { end + 500.0 };
                self.key(side, new, Key { at: from, place: Some(bench(side, new)), dwell: 1.0, pace: 2.0 });
                if is_at_once {
                    self.key(side, new, Key { at: start, place, dwell: 0.0, pace: 4.0 });
                }
                self.key(side, old, Key { at: end + 1.0, place: None, dwell: 0.0, pace: 3.0 });
                // Off before play resumes, if there is time.
                let is_off_at = start.clamp(end + 4000.0, end + 11_000.0);
                self.key(side, old, Key { at: is_off_at, place: Some(bench(side, old)), dwell: 1.0, pace: 2.0 });
            }
        }
    }

    pub(super) fn tip_off(&mut self, at: i64) {
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
    pub(super) fn after_basket(&mut self, at: i64) {
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
    pub(super) fn wait(&mut self, from: i64, to: i64, inbound: bool) {
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
                (true, _) => SETS[self.rng.index(SETS.len())][seat],
                (false, GUARD) => Chart { x: 1500, y: 20_500 },
                (false, 4) => Chart { x: 7400, y: 22_000 },
                (false, _) => Chart { x: SETS[0][seat].x * 8 / 10, y: 12_000 + 1500 * seat as i64 },
            };
            self.five[seat] = self.around(spot, 600);
            let own_spot = self.five[seat];
            let guard = self.guard(own_spot, Chart { x: 0, y: 9000 }, seat == self.holder, 0);
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

    /// The shooter at the line, four in the lanes, the others behind the arc.
    pub(super) fn free_throw(&mut self, throw_event: &PlayEvent, since: i64) {
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
}
