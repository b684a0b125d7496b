//! How well shots went beside how well shots of their kind go.

use crate::defenders::Openness;
use crate::intervals::bootstrap;
use std::collections::BTreeMap;

/// A shot whose defender is known.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityShot {
    /// The position of the group that the shot belongs to.
    pub group: usize,
    pub zone: Option<i64>,
    pub openness: Openness,
    pub is_make: bool,
    pub is_three: bool,
}

impl QualityShot {
    /// 1 for a made two, 1.5 for a made three.
    fn value(&self) -> f64 {
        match (self.is_make, self.is_three) {
            (false, _) => 0.0,
            (true, false) => 1.0,
            (true, true) => 1.5,
        }
    }
}

/// Effective field-goal shares of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    pub shots: usize,
    pub efg: f64,
    pub expected_efg: f64,
    pub interval: (f64, f64),
}

/// A cell of zone and openness with fewer shots counts by its openness alone.
const MIN_CELL: usize = 10;

/// The quality of each of `groups` groups; `None` for one without a shot.
pub fn qualities(shots: &[QualityShot], groups: usize) -> Vec<Option<Quality>> {
    let mut cells: BTreeMap<(Option<i64>, Openness), (usize, f64)> = BTreeMap::new();
    let mut kinds: BTreeMap<Openness, (usize, f64)> = BTreeMap::new();
    for shot in shots {
        for (count, sum) in
            [cells.entry((shot.zone, shot.openness)).or_default(), kinds.entry(shot.openness).or_default()]
        {
            *count += 1;
            *sum += shot.value();
        }
    }
    let expected = |shot: &QualityShot| {
        let cell = cells[&(shot.zone, shot.openness)];
        let (count, sum) = if cell.0 < MIN_CELL || shot.zone.is_none() { kinds[&shot.openness] } else { cell };
        sum / count as f64
    };
    let quality = |group: usize| {
        let group_shots: Vec<&QualityShot> = shots.iter().filter(|shot| shot.group == group).collect();
        let values: Vec<f64> = group_shots.iter().map(|shot| shot.value()).collect();
        let n = values.len() as f64;
        Some(Quality {
            shots: group_shots.len(),
            interval: bootstrap(&values)?,
            efg: values.iter().sum::<f64>() / n,
            expected_efg: group_shots.iter().map(|shot| expected(shot)).sum::<f64>() / n,
        })
    };
    (0..groups).map(quality).collect()
}
