//! The offset between the clock of the events and that of the positions.

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

/// The largest offset that is tried.
const MAX_OFFSET_S: f64 = 3.0;

/// A shot farther from its shooter than this says only that it does not fit.
const MAX_DISTANCE_M: f64 = 1.5;

/// Squared distance that an offset of one second costs all shots together: a few shots of players who stand do not decide.
const COST_M2: f64 = 0.1;

/// An offset between two clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    pub seconds: f64,
    /// Whether it puts at least half of the shooters at the places of their shots.
    pub is_confirmed: bool,
}

/// The seconds which, added to the times of the shots, put the shooters closest to the places of their shots: the least sum
/// of squared distances, each cut at the same length, so that shots with wrong places decide nothing. `None` without a shot
/// of a player with positions.
pub fn estimate(tracks: &[Track], shots: &[Shot]) -> Option<Offset> {
    let pairs: Vec<(&Track, &Shot)> = shots.iter().filter_map(|shot| Some((shooter(tracks, shot)?, shot))).collect();
    if pairs.is_empty() {
        return None;
    }
    let distance = |(track, shot): &(&Track, &Shot), offset: f64| {
        let (x, y) = track.position(shot.t_ms as f64 + offset * 1000.0)?;
        Some((x - shot.x).hypot(y - shot.y))
    };
    let cost = |offset: f64| {
        let distances = pairs.iter().map(|pair| distance(pair, offset).unwrap_or(MAX_DISTANCE_M));
        distances.map(|metres| metres.min(MAX_DISTANCE_M).powi(2)).sum::<f64>() + COST_M2 * offset * offset
    };
    let coarse = best(0.0, 0.05, (MAX_OFFSET_S / 0.05).round() as i32, &cost);
    let seconds = best(coarse, 0.005, 10, &cost);
    let distances: Vec<f64> = pairs.iter().filter_map(|pair| distance(pair, seconds)).collect();
    let near = distances.iter().filter(|metres| **metres <= MAX_PLACE_ERROR_M).count();
    Some(Offset { seconds, is_confirmed: near > 0 && 2 * near >= distances.len() })
}

fn best(middle: f64, step: f64, count: i32, cost: &impl Fn(f64) -> f64) -> f64 {
    let offsets = (-count..=count).map(|i| middle + f64::from(i) * step);
    let costs = offsets.map(|offset| (cost(offset), offset));
    costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.abs().total_cmp(&b.1.abs()))).map_or(middle, |(_, offset)| offset)
}

fn shooter<'a>(tracks: &'a [Track], shot: &Shot) -> Option<&'a Track> {
    let is_shooter = |track: &&Track| {
        matches!(track.object, Object::Player { player_id, .. } if player_id == shot.player_id) && !track.is_empty()
    };
    tracks.iter().find(is_shooter)
}
