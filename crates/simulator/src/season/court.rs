//! The geometry of a college court, in whole millimetres: frames, arc and zones.
//!
//! The vendor's zone borders are unknown, so the zones here are our own.
//! Zones, 1 to 14: 1 at the rim · 2 rest of the paint · 3 to 7 other twos · 8 to 12 threes, each time left baseline,
//! left wing, top, right wing, right baseline, seen from the hoop · 13 from 9 m on · 14 from beyond mid-court.
//! Advanced zones, 1 to 23: 1 at the rim · 2, 3 rest of the paint, left and right · 4 to 8 twos within 4.5 m · 9 to 13
//! longer twos · 14 to 18 threes within 8 m · 19 to 21 threes within 11 m, left, top and right · 22 farther · 23 from
//! beyond mid-court.

use super::figures::{ANGLE, BEHIND_ARC, MIDDLE_METRES, RIM_METRES, ShotShares};
use super::game_log::{CourtPoint, Hoop};
use super::rng::Rng;

pub(super) const HALF_WIDTH: i64 = 7620;
pub(super) const HALF_LENGTH: i64 = 14326;
const HOOP_Y: i64 = 12725;
/// From the hoop's centre to the baseline behind it.
const BASELINE_TO_HOOP: i64 = HALF_LENGTH - HOOP_Y;
const ARC: i64 = 6750;
const CORNER: i64 = 6600;
/// The free-throw line, from the hoop.
pub(super) const LINE: i64 = 4191;
const HALF_PAINT: i64 = 1830;
const RIM: i64 = 1250;
const DEEP: i64 = 9000;
/// Keeps shots inside, whatever the hoop's calibration.
const MARGIN: i64 = 150;

/// A point of the shot-chart frame: the hoop is the origin, y points to mid-court, x to the right seen that way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chart {
    pub x: i64,
    pub y: i64,
}

/// The hoops of a venue, as calibrated: slightly off. First the one at positive y.
pub(super) fn hoops(seed: u64, venue: usize) -> [Hoop; 2] {
    let mut rng = Rng::with_key(seed, &[0x4009, venue as u64]);
    [1, -1].map(|side| Hoop {
        x: rng.within(-45, 45),
        y: side * (HOOP_Y + rng.within(-100, 100)),
        z: rng.within(3010, 3050),
    })
}

impl Hoop {
    pub(crate) fn at(self, point: Chart, z: i64) -> CourtPoint {
        let s = self.y.signum();
        CourtPoint { x: self.x - s * point.x, y: self.y - s * point.y, z, hoop: self }
    }
}

impl CourtPoint {
    /// The point as seen from its hoop, derived from the vendor's samples.
    pub(crate) fn chart(self) -> Chart {
        let s = self.hoop.y.signum();
        Chart { x: -s * (self.x - self.hoop.x), y: -s * (self.y - self.hoop.y) }
    }
}

impl Chart {
    /// The way from another point to this one.
    pub(super) fn minus(self, other: Chart) -> Chart {
        Chart { x: self.x - other.x, y: self.y - other.y }
    }

    fn squared_length(self) -> i64 {
        self.x * self.x + self.y * self.y
    }

    fn within(self, radius: i64) -> bool {
        self.squared_length() <= radius * radius
    }

    /// Distance along the floor, in cm. Square roots are rounded alike on every platform; `hypot` is not.
    pub(crate) fn distance_cm(self) -> f64 {
        (self.squared_length() as f64).sqrt() / 10.0
    }

    pub(crate) fn is_three(self) -> bool {
        self.x.abs() >= CORNER || self.squared_length() >= ARC * ARC
    }

    /// A three from where the arc is straight.
    pub(super) fn is_corner_three(self) -> bool {
        self.is_three() && self.y * self.y <= ARC * ARC - CORNER * CORNER
    }

    pub(crate) fn in_paint(self) -> bool {
        self.x.abs() <= HALF_PAINT && self.y <= LINE
    }

    fn beyond_mid_court(self) -> bool {
        self.y >= HOOP_Y
    }

    /// 0 left baseline, 1 left wing, 2 top, 3 right wing, 4 right baseline.
    fn sector(self) -> i64 {
        match (self.x.abs(), self.y) {
            (x, y) if 2 * x <= y => 2,
            (x, y) if x <= 3 * y => {
                if self.x < 0 {
                    1
                } else {
                    3
                }
            }
            _ => {
                if self.x < 0 {
                    0
                } else {
                    4
                }
            }
        }
    }

    pub(crate) fn zone(self) -> i64 {
        match self {
            _ if self.within(RIM) => 1,
            _ if self.beyond_mid_court() => 14,
            _ if self.squared_length() >= DEEP * DEEP => 13,
            _ if self.is_three() => 8 + self.sector(),
            _ if self.in_paint() => 2,
            _ => 3 + self.sector(),
        }
    }

    pub(crate) fn advanced_zone(self) -> i64 {
        const THIRD: [i64; 5] = [0, 0, 1, 2, 2];
        match self {
            _ if self.within(RIM) => 1,
            _ if self.beyond_mid_court() => 23,
            _ if !self.within(11_000) => 22,
            _ if self.is_three() && self.within(8000) => 14 + self.sector(),
            _ if self.is_three() => 19 + THIRD[self.sector() as usize],
            _ if self.in_paint() => {
                if self.x < 0 {
                    2
                } else {
                    3
                }
            }
            _ if self.within(4500) => 4 + self.sector(),
            _ => 9 + self.sector(),
        }
    }
}

/// The place from which a shot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Rim,
    Middle,
    Three,
    /// From the own half, before the clock runs out.
    Heave,
}

/// Sine and cosine of every tenth degree from straight on, in ten thousandths: the functions differ by platform.
const DIRECTIONS: [(i64, i64); 11] = [
    (0, 10_000),
    (1736, 9848),
    (3420, 9397),
    (5000, 8660),
    (6428, 7660),
    (7660, 6428),
    (8660, 5000),
    (9397, 3420),
    (9848, 1736),
    (10_000, 0),
    (9848, -1736),
];

/// A point at a distance from the hoop, at an angle drawn as shots have it.
fn at_distance(rng: &mut Rng, distance: i64) -> Chart {
    let tenths = 10 * rng.quantile(&ANGLE) + rng.below(10);
    let step = (tenths / 100).clamp(0, 9) as usize;
    let ((sin, cos), (next_sin, next_cos), part) = (DIRECTIONS[step], DIRECTIONS[step + 1], tenths % 100);
    let between = |from: i64, to: i64| distance * (from * (100 - part) + to * part) / 1_000_000;
    let side = if rng.chance(500) { 1 } else { -1 };
    Chart { x: side * between(sin, next_sin), y: between(cos, next_cos) }
}

/// A spot of a range.
pub(super) fn spot(rng: &mut Rng, range: Range, shares: ShotShares) -> Chart {
    let behind = BASELINE_TO_HOOP - MARGIN - 100;
    loop {
        let (point, fits) = match range {
            Range::Rim => {
                let metre = rng.choose_weighted(&RIM_METRES).unwrap_or(0) as i64;
                let distance = 1000 * metre + rng.within(150, 990);
                (at_distance(rng, distance), true)
            }
            Range::Middle => {
                let pair = usize::from(rng.chance(shares.beyond_5_m));
                let metre = (3 + 2 * pair + rng.choose_weighted(&MIDDLE_METRES[pair]).unwrap_or(0)) as i64;
                let distance = 1000 * metre + rng.below(1000);
                let point = at_distance(rng, distance);
                (point, !point.is_three() && !point.within(2900))
            }
            Range::Three if rng.chance(shares.corners) => {
                let side = if rng.chance(500) { 1 } else { -1 };
                (Chart { x: side * rng.within(CORNER + 30, 7250), y: rng.within(-behind, 1400) }, true)
            }
            Range::Three => {
                let distance = ARC + rng.quantile(&BEHIND_ARC);
                let point = at_distance(rng, distance);
                (point, point.is_three() && point.y > 1415 && point.x.abs() < HALF_WIDTH - MARGIN)
            }
            Range::Heave => (Chart { x: rng.within(-5000, 5000), y: rng.within(12_000, 18_000) }, true),
        };
        if fits && point.y >= -behind {
            return point;
        }
    }
}

/// Where a player who won the ball can be after `time` milliseconds, on the way to the hoop now attacked.
pub(super) fn on_the_way(start: CourtPoint, hoop: Hoop, time: i64) -> Chart {
    let seen = CourtPoint { hoop, ..start }.chart();
    Chart { x: seen.x, y: (seen.y - 4 * time).max(9000) }
}

/// Anywhere in the half of the court of this hoop.
pub(super) fn anywhere(rng: &mut Rng) -> Chart {
    Chart { x: rng.within(-7000, 7000), y: rng.within(-900, 9500) }
}

/// Near a point, on the court.
pub(super) fn near(rng: &mut Rng, point: Chart, reach: i64) -> Chart {
    let side = HALF_WIDTH - MARGIN;
    Chart {
        x: (point.x + rng.within(-reach, reach)).clamp(-side, side),
        y: (point.y + rng.within(-reach, reach)).clamp(-(BASELINE_TO_HOOP - MARGIN - 100), 2 * HOOP_Y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_frames_agree_with_the_vendors_samples() {
        // p(3117, 7899) h(-44, 12783) is (-3161, 4884); p(-2516, -2511) h(46, -12566) is (-2562, 10055).
        let place = CourtPoint { x: 3117, y: 7899, z: 0, hoop: Hoop { x: -44, y: 12783, z: 2990 } };
        assert_eq!(place.chart(), Chart { x: -3161, y: 4884 });
        let place = CourtPoint { x: -2516, y: -2511, z: 0, hoop: Hoop { x: 46, y: -12566, z: 2990 } };
        assert_eq!(place.chart(), Chart { x: -2562, y: 10055 });
        assert_eq!(place.hoop.at(place.chart(), 0), place);
        assert!((Chart { x: 3161, y: 4884 }.distance_cm() - 581.767_797_3).abs() < 1e-6);
    }

    #[test]
    fn the_arc_is_6750_mm_and_6600_in_the_corners() {
        assert!(Chart { x: 0, y: 6750 }.is_three() && !Chart { x: 0, y: 6749 }.is_three());
        // Between whole distances: 6749.6 mm from the hoop.
        assert!(!Chart { x: 73, y: 6749 }.is_three());
        assert!(Chart { x: -6600, y: 0 }.is_three() && !Chart { x: -6599, y: 0 }.is_three());
    }

    #[test]
    fn every_zone_occurs_and_each_is_all_threes_or_all_twos() {
        let mut zones = BTreeSet::new();
        let mut advanced_zones = BTreeSet::new();
        for x in (-7600..=7600).step_by(50) {
            for y in (-1500..=27000).step_by(50) {
                let point = Chart { x, y };
                zones.insert((point.zone(), point.is_three()));
                advanced_zones.insert((point.advanced_zone(), point.is_three()));
            }
        }
        let numbers = |pairs: &BTreeSet<(i64, bool)>| pairs.iter().map(|pair| pair.0).collect::<Vec<_>>();
        assert_eq!(numbers(&zones), (1..=14).collect::<Vec<_>>());
        assert_eq!(numbers(&advanced_zones), (1..=23).collect::<Vec<_>>());
    }

    #[test]
    fn every_spot_lies_on_the_court_and_in_its_range() {
        let mut rng = Rng::with_key(1, &[]);
        for venue in 0..50 {
            for hoop in hoops(9, venue) {
                for range in [Range::Rim, Range::Middle, Range::Three, Range::Heave] {
                    for _ in 0..40 {
                        let point = spot(&mut rng, range, crate::season::figures::SHOT_SHARES);
                        let place = hoop.at(point, 0);
                        assert!(place.x.abs() <= HALF_WIDTH && place.y.abs() <= HALF_LENGTH, "{place:?}");
                        assert_eq!(point.is_three(), matches!(range, Range::Three | Range::Heave));
                        let place = hoop.at(near(&mut rng, point, 600), 0);
                        assert!(place.x.abs() <= HALF_WIDTH && place.y.abs() <= HALF_LENGTH, "{place:?}");
                    }
                }
            }
        }
    }
}
