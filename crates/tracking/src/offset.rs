//! The offset between the clock of the events and that of the positions.

use std::f64::consts::LN_2;

use crate::defenders::MAX_PLACE_ERROR_M;
use crate::track::{Object, Track};

/// A shot as the events have it: its time in their clock, its place in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    pub t_ms: i64,
    pub player_id: i64,
    pub x: f64,
    pub y: f64,
}

/// The largest offset that is tried, in tenths of a second: 3 s.
const MAX_TENTHS: i32 = 30;

/// A shot farther from its shooter than this says only that it does not fit.
const MAX_DISTANCE_M: f64 = 1.5;

/// The squared distance of one shot more than there are: a few shots say little about the typical distance.
const PRIOR_M2: f64 = 0.1;

/// An offset between two clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    pub seconds: f64,
    /// Its standard error in seconds.
    pub error_s: f64,
    /// Whether it puts at least half of the shooters at the places of their shots.
    pub is_confirmed: bool,
}

/// The seconds which, added to the times of the shots, put the shooters closest to the places of their shots. Squared distances
/// are cut at the same length, so that shots with wrong places decide nothing. Shooters stand, so that many offsets are nearly
/// as good as the best: the estimate is the mean of those around it, each weighted by its likelihood for distances that are
/// normal and offsets of usually a second. `None` without a shot of a player with positions.
pub fn estimate(tracks: &[Track], shots: &[Shot]) -> Option<Offset> {
    let paths: Vec<ShooterPath> = shots.iter().filter_map(|shot| ShooterPath::new(tracks, shot)).collect();
    if paths.is_empty() {
        return None;
    }
    let distances = |seconds: f64| paths.iter().map(move |path| path.distance(seconds));
    let squares =
        |seconds: f64| distances(seconds).map(|metres| metres.unwrap_or(f64::MAX).min(MAX_DISTANCE_M).powi(2));
    let cost = |seconds: f64, typical: f64| LN_2 * squares(seconds).sum::<f64>() / typical + seconds * seconds / 2.0;
    let costs = (-MAX_TENTHS..=MAX_TENTHS).map(|tenths| (cost(f64::from(tenths) / 10.0, PRIOR_M2), tenths));
    let (_, closest) = costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.abs().cmp(&b.1.abs())))?;
    let typical = typical_square(squares(f64::from(closest) / 10.0).collect());
    // Half a second to both sides of the closest.
    let likely = (-25..=25).map(|i| f64::from(closest) / 10.0 + f64::from(i) / 50.0);
    let likely = likely.filter(|seconds| seconds.abs() <= f64::from(MAX_TENTHS) / 10.0);
    let (seconds, error_s) = mean(likely.map(|seconds| (cost(seconds, typical), seconds)).collect());
    // As exact as the times, which are in milliseconds; and 0, not -0.
    let seconds = (1000.0 * seconds).round() / 1000.0 + 0.0;
    let metres: Vec<f64> = distances(seconds).flatten().collect();
    let near = metres.iter().filter(|metres| **metres <= MAX_PLACE_ERROR_M).count();
    Some(Offset { seconds, error_s, is_confirmed: near > 0 && 2 * near >= metres.len() })
}

/// Where a shooter is at each tenth of a second around the time of a shot, and the place of the shot.
struct ShooterPath {
    positions: Vec<Option<(f64, f64)>>,
    place: (f64, f64),
}

impl ShooterPath {
    fn new(tracks: &[Track], shot: &Shot) -> Option<Self> {
        let is_shooter = |track: &&Track| {
            matches!(track.object, Object::Player { player_id, .. } if player_id == shot.player_id) && !track.is_empty()
        };
        let track = tracks.iter().find(is_shooter)?;
        let tenths = -MAX_TENTHS - 2..=MAX_TENTHS + 2;
        let positions: Vec<_> = tenths.map(|i| track.position(shot.t_ms as f64 + 100.0 * f64::from(i))).collect();
        Some(ShooterPath { positions: positions.windows(5).map(mean_position).collect(), place: (shot.x, shot.y) })
    }

    fn distance(&self, seconds: f64) -> Option<f64> {
        let tenths = (10.0 * seconds + f64::from(MAX_TENTHS)).max(0.0);
        let (before, part) = (tenths.floor() as usize, tenths.fract());
        let (a, b) = ((*self.positions.get(before)?)?, *self.positions.get(before + 1).unwrap_or(&None));
        let b = b.or((part < 1e-9).then_some(a))?;
        let (x, y) = (a.0 + part * (b.0 - a.0), a.1 + part * (b.1 - a.1));
        Some((x - self.place.0).hypot(y - self.place.1))
    }
}

/// The mean of the positions within 0.4 s: the noise of one decides little.
fn mean_position(positions: &[Option<(f64, f64)>]) -> Option<(f64, f64)> {
    let count = positions.len() as f64;
    positions.iter().try_fold((0.0, 0.0), |(x, y), position| {
        let (a, b) = (*position)?;
        Some((x + a / count, y + b / count))
    })
}

/// The median of squared distances, beside which one more counts once.
fn typical_square(mut squares: Vec<f64>) -> f64 {
    let (count, middle) = (squares.len() as f64, squares.len() / 2);
    let (_, median, _) = squares.select_nth_unstable_by(middle, f64::total_cmp);
    (PRIOR_M2 + count * *median) / (1.0 + count)
}

/// The mean of offsets with their costs, and its standard deviation.
fn mean(costs: Vec<(f64, f64)>) -> (f64, f64) {
    let least = costs.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
    let weights: Vec<(f64, f64)> = costs.iter().map(|(cost, offset)| ((least - cost).exp(), *offset)).collect();
    let total: f64 = weights.iter().map(|(weight, _)| weight).sum();
    let mean = weights.iter().map(|(weight, offset)| weight * offset).sum::<f64>() / total;
    let variance = weights.iter().map(|(weight, offset)| weight * (offset - mean).powi(2)).sum::<f64>() / total;
    (mean, variance.sqrt())
}
