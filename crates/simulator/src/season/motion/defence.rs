//! The defence: man to man, drawn to the hoop and to the ball, or zone; and where it stands when an offence ends.

use super::figures::{HELP, LATE, LOOSE, ON_BALL, SAG, STRAY, ZONE, ZONE_REACH, ZONE_SHIFT};
use super::plan::{Group, Plan, distance};
use crate::season::court::Chart;
use crate::season::game_log::Act;
use crate::season::path::{Key, POSE};

impl Plan<'_> {
    /// Each follows his attacker, or in a zone the ball, a little late, until the pose at the end.
    pub(super) fn defend(&mut self, from: i64, to: i64) {
        let side = self.possession.side;
        for seat in 0..5 {
            let other = self.member(1 - side, seat);
            let mut loose = self.rng.within(-LOOSE, LOOSE);
            let mut stray = Chart { x: 0, y: 0 };
            let mut at = from + self.rng.within(100, 700);
            while at < to - 800 {
                loose = (loose * 7 + self.rng.within(-LOOSE, LOOSE) * 4) / 10;
                stray = self.around(Chart { x: stray.x * 6 / 10, y: stray.y * 6 / 10 }, STRAY);
                let holder = self.holder_at(at);
                let (attacker, ball) = (self.planned_place(seat, at - LATE), self.planned_place(holder, at - LATE));
                let guard = self.stand(seat, attacker, ball, seat == holder, loose);
                let place = self.point(Chart { x: guard.x + stray.x, y: guard.y + stray.y });
                self.key(1 - side, other, Key { at: at as f64, place: Some(place), dwell: 0.0, pace: 4.2 });
                at += self.rng.within(450, 850);
            }
        }
    }

    /// Where the defender of a seat stands.
    fn stand(&self, seat: usize, attacker: Chart, ball: Chart, has_ball: bool, loose: i64) -> Chart {
        if !self.is_zone {
            return self.guard(attacker, ball, has_ball, loose);
        }
        let areas = ZONE.map(|area| Chart {
            x: area.x + (ball.x - area.x) * ZONE_SHIFT.x / 1000,
            y: area.y + (ball.y.min(ZONE_REACH) - area.y) * ZONE_SHIFT.y / 1000,
        });
        let nearest =
            (0..5).min_by(|item, other| distance(areas[*item], ball).total_cmp(&distance(areas[*other], ball)));
        if nearest == Some(seat) && ball.y < ZONE_REACH { self.guard(ball, ball, true, loose) } else { areas[seat] }
    }

    /// Where the opponent of an attacker stands: between him and the hoop, drawn to the ball. `loose`: permille that he
    /// keeps farther away.
    pub(super) fn guard(&self, attacker: Chart, ball: Chart, has_ball: bool, loose: i64) -> Chart {
        let reach = (attacker.distance_cm() * 10.0) as i64;
        let (hoop, help) = if has_ball {
            let gap = (ON_BALL[0] + ON_BALL[1] * reach / 1000) * (1000 + loose) / 1000;
            (1000 * gap / reach.max(1000), 0)
        } else {
            let away = (distance(attacker, ball) as i64).min(12_000);
            let sag = SAG[0] + SAG[1] * reach.min(10_000) / 1000 + SAG[2] * away / 1000;
            let help = HELP[0] + HELP[1] * away / 1000;
            (sag * (1000 + loose) / 1000, help * (1000 + loose) / 1000)
        };
        let (hoop, help) = (hoop.clamp(0, 800), help.clamp(0, 400));
        let mixed = |attacker: i64, ball: i64| (attacker * (1000 - hoop - help) + ball * help) / 1000;
        Chart { x: mixed(attacker.x, ball.x), y: mixed(attacker.y, ball.y).max(-900) }
    }

    /// A point at a distance from another, most often between it and the hoop.
    pub(super) fn beside(&mut self, place: Chart, gap: i64) -> Chart {
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

    /// The pose of the defence at the end of an offence: the nearest to a shot is as near as it says.
    pub(super) fn pose(&mut self, group: &Group, place: Option<Chart>, rebounder: Option<(usize, usize, Chart)>) {
        let side = self.possession.side;
        let shot = group.events.iter().find_map(|event| match event.act {
            Act::Shot { defender, gap, .. } => Some((defender, gap)),
            _ => None,
        });
        let nearest = match (shot, place) {
            (Some((defender, gap)), Some(place)) => Some((defender, gap, self.beside(place, gap), place)),
            _ => None,
        };
        for seat in 0..5 {
            let other = self.member(1 - side, seat);
            let loose = self.rng.within(-LOOSE, LOOSE);
            let own_spot = self.five[seat];
            let mut guard = self.stand(seat, own_spot, place.unwrap_or(self.five[0]), seat == self.holder, loose);
            if let Some((_, _, goal)) = rebounder.filter(|rebound| (rebound.0, rebound.1) == (1 - side, seat)) {
                guard = self.around(goal, 500);
            }
            let mut dwell = 0.0;
            if let Some((defender, gap, spot, place)) = nearest {
                guard = if other == defender { spot } else { away(guard, place, gap + 900) };
                let is_near = distance(guard, place) < (gap + 3000) as f64;
                dwell = if other == defender || is_near { POSE } else { dwell };
            } else if group.events.iter().any(|event| event.side != side && event.member == other) {
                continue;
            }
            let key = Key { at: group.at as f64, place: Some(self.point(guard)), dwell, pace: 2.8 };
            self.key(1 - side, other, key);
        }
    }
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
