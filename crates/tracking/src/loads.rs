//! Distances, speed bands and efforts of one player.

use crate::length;
use crate::motion::{Path, Smoothing};
use crate::session::{Period, Session};
use crate::track::{MAX_NOISE_M, MAX_PLAYER_MPS, Track};

/// A player whose way of a second is shorter than this many standard deviations of its noise stands.
const MIN_WAY: f64 = 2.0;

/// A way shorter than this many standard deviations of its noise is measured over a longer time.
const SLOW: f64 = 3.0;

/// The largest noise that is believed at few frames a second, where the estimate has movement in it.
const MAX_NOISE_AT_LOW_RATE_M: f64 = 0.1;

/// Seconds over which a peak speed is a mean.
const PEAK_S: f64 = 0.2;

/// A speed that is lower than a threshold by less than this share is at it: rounding errors do not choose the band.
const ROUNDING: f64 = 1e-6;

const SPRINT_S: f64 = 1.0;
const EFFORT_S: f64 = 0.3;

/// What a player did in a part of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub tracked_s: f64,
    /// The time of the frames that there are, and of those with the player.
    pub expected_s: f64,
    pub seen_s: f64,
    /// Metres in each speed band.
    pub bands_m: [f64; 5],
    pub sprints: u32,
    /// `None` without a fifth of a second of positions.
    pub peak_mps: Option<f64>,
    /// Above 2 and 3 m/s².
    pub accelerations: [u32; 2],
    pub decelerations: [u32; 2],
    /// Whether the rate allows efforts.
    pub has_efforts: bool,
}

impl Load {
    pub fn distance_m(&self) -> f64 {
        self.bands_m.iter().sum()
    }

    /// Adds another part of the same player.
    pub fn add(&mut self, other: &Load) {
        let is_empty = self.tracked_s == 0.0;
        self.has_efforts = if is_empty {
            other.has_efforts
        } else {
            self.has_efforts && (other.has_efforts || other.tracked_s == 0.0)
        };
        self.tracked_s += other.tracked_s;
        self.expected_s += other.expected_s;
        self.seen_s += other.seen_s;
        self.sprints += other.sprints;
        self.peak_mps = [self.peak_mps, other.peak_mps].into_iter().flatten().reduce(f64::max);
        for (band, metres) in self.bands_m.iter_mut().zip(other.bands_m) {
            *band += metres;
        }
        for k in 0..2 {
            self.accelerations[k] += other.accelerations[k];
            self.decelerations[k] += other.decelerations[k];
        }
    }
}

/// The load of a track in each period of its session. `bands` are four rising speeds in m/s.
pub fn loads(session: &Session, track: &Track, bands: [f64; 4]) -> Vec<Load> {
    let mut loads = vec![Load::default(); session.periods.len()];
    count_frames(session, track, &mut loads);
    let Some(rate_hz) = track.rate_hz else { return loads };
    let (smoothing, is_low) = (Smoothing::new(rate_hz, false), track.is_rate_low());
    let bands = bands.map(|band| band * (1.0 - ROUNDING));
    let noise = track.noise_m.min(if is_low { MAX_NOISE_AT_LOW_RATE_M } else { MAX_NOISE_M });
    for path in smoothing.paths(track) {
        add_steps(session, &path, &smoothing, noise, bands, &mut loads);
        add_peaks(session, &path, &mut loads);
        if !is_low {
            add_efforts(session, &path, bands[3], &mut loads);
        }
    }
    for load in &mut loads {
        load.has_efforts = !is_low;
    }
    loads
}

fn count_frames(session: &Session, track: &Track, loads: &mut [Load]) {
    let until = |t_ms: i64| track.t_ms.partition_point(|t| *t < t_ms);
    for (period, load) in session.periods.iter().zip(loads) {
        load.expected_s = expected_s(session, period);
        load.seen_s = (until(period.end_ms) - until(period.start_ms)) as f64 * frame_s(session);
    }
}

fn frame_s(session: &Session) -> f64 {
    session.frame_s().max(1e-3)
}

/// The time of the frames of a period of a session at its rate: sessions of several rates are added.
pub(crate) fn expected_s(session: &Session, period: &Period) -> f64 {
    let Some((first, last)) = session.extent_ms() else { return 0.0 };
    let (start, end) = (period.start_ms.max(first), period.end_ms.min(last));
    // The last frame has no step after it.
    let is_last = u8::from(end == last && start <= last);
    ((end - start).max(0) as f64 / 1000.0 / frame_s(session) + f64::from(is_last)).round() * frame_s(session)
}

fn add_steps(session: &Session, path: &Path, smoothing: &Smoothing, noise: f64, bands: [f64; 4], loads: &mut [Load]) {
    let (n, reach) = (path.x.len(), (0.5 / path.step_s).round().max(1.0) as usize);
    let limits = bands.map(|band| band * path.step_s);
    let variances: Vec<f64> = smoothing.variances.iter().map(|variance| noise * noise * variance).collect();
    let variance = |steps: usize| variances[(steps - 1).min(variances.len() - 1)];
    let second_variance = MIN_WAY * MIN_WAY * variance(2 * reach - 1);
    let square = |a: usize, b: usize| (path.x[b] - path.x[a]).powi(2) + (path.y[b] - path.y[a]).powi(2);
    let mut period = PeriodCursor::default();
    for i in 0..n - 1 {
        let load = &mut loads[period.at(session, path, i as f64 + 0.5)];
        load.tracked_s += path.step_s;
        let around = |reach: usize| ((i + 1).saturating_sub(reach), (i + reach).min(n - 1));
        let (first, last) = around(reach);
        let share = ((last - first) as f64 * path.step_s).min(1.0);
        if noise > 0.0 && square(first, last) <= second_variance * share {
            continue;
        }
        // The way of a step is that of the shortest time around it in which the player's way exceeds its noise.
        let (first, last) = around(2 * reach);
        let mean_square = square(first, last) / ((last - first) as f64).powi(2);
        let is_long =
            |reach: &usize| mean_square * ((2 * reach - 1) as f64).powi(2) >= SLOW * SLOW * variance(2 * reach - 1);
        let (first, last) = around((1..reach).find(is_long).unwrap_or(reach));
        // Noise lengthens a way by half its variance over the length; this takes the same away.
        let metres = (square(first, last) - variance(last - first)).max(0.0).sqrt() / (last - first) as f64;
        load.bands_m[limits.iter().filter(|limit| **limit <= metres).count()] += metres;
    }
}

/// The period of a path's points, visited in order.
#[derive(Default)]
struct PeriodCursor(Option<(usize, i64)>);

impl PeriodCursor {
    fn at(&mut self, session: &Session, path: &Path, point: f64) -> usize {
        let t_ms = path.start_ms + (point * path.step_s * 1000.0) as i64;
        match self.0 {
            Some((period, end_ms)) if t_ms < end_ms => period,
            _ => {
                let period = session.period_at(t_ms);
                self.0 = Some((period, session.periods[period].end_ms));
                period
            }
        }
    }
}

/// Raises each peak to the largest mean velocity over a fifth of a second: a shorter peak is noise.
fn add_peaks(session: &Session, path: &Path, loads: &mut [Load]) {
    let (n, reach) = (path.x.len(), (PEAK_S / 2.0 / path.step_s).round() as usize);
    let (mut sum, mut first, mut end) = ((0.0, 0.0), 0, 0);
    let mut period = PeriodCursor::default();
    // In a shorter run, the difference of two positions is mostly noise; times are whole milliseconds.
    if ((n - 1) as f64 * path.step_s) < 0.99 * PEAK_S {
        return;
    }
    for i in 0..n - 1 {
        while end < (i + reach + 1).min(n) {
            sum = (sum.0 + path.vx[end], sum.1 + path.vy[end]);
            end += 1;
        }
        while first + reach < i {
            sum = (sum.0 - path.vx[first], sum.1 - path.vy[first]);
            first += 1;
        }
        let load = &mut loads[period.at(session, path, i as f64 + 0.5)];
        let mean_mps = length(sum.0, sum.1) / (end - first) as f64;
        // Between two positions beside a gap the curve may be steeper than any way that a player runs.
        if mean_mps <= MAX_PLAYER_MPS {
            load.peak_mps = Some(load.peak_mps.map_or(mean_mps, |peak| peak.max(mean_mps)));
        }
    }
}

fn add_efforts(session: &Session, path: &Path, sprint_mps: f64, loads: &mut [Load]) {
    let speeds = path.speeds();
    let accelerations = path.accelerations(&speeds);
    let mut count = |starts: Vec<f64>, add: &dyn Fn(&mut Load)| {
        for start in starts {
            add(&mut loads[session.period_at(path.start_ms + (start * 1000.0) as i64)]);
        }
    };
    count(efforts(&speeds, 1.0, sprint_mps, SPRINT_S, path.step_s), &|load| load.sprints += 1);
    for (kind, least) in [2.0, 3.0].into_iter().enumerate() {
        let starts = |sign: f64| efforts(&accelerations, sign, least, EFFORT_S, path.step_s);
        count(starts(1.0), &|load| load.accelerations[kind] += 1);
        count(starts(-1.0), &|load| load.decelerations[kind] += 1);
    }
}

/// When values, or with the other sign their opposites, begin to be above a limit for at least some seconds; the crossings are
/// interpolated.
fn efforts(values: &[f64], sign: f64, least: f64, seconds: f64, step_s: f64) -> Vec<f64> {
    let crossing = |i: usize| {
        let (before, after) = (sign * values[i - 1] - least, sign * values[i] - least);
        (i as f64 - 1.0 + before / (before - after)) * step_s
    };
    let is_above = |value: &f64| sign * *value > least;
    let (mut starts, mut end) = (Vec::new(), 0);
    while let Some(first) = values[end..].iter().position(is_above).map(|i| end + i) {
        end = values[first..].iter().position(|value| !is_above(value)).map_or(values.len(), |i| first + i);
        let start_s = if first == 0 { 0.0 } else { crossing(first) };
        let end_s = if end < values.len() { crossing(end) } else { (end - 1) as f64 * step_s };
        if end_s - start_s >= seconds - 1e-6 {
            starts.push(start_s);
        }
    }
    starts
}
