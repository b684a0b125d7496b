//! Distances, speed bands and efforts of one player.

use crate::filter::MIN_RATE_HZ;
use crate::length;
use crate::motion::{Path, Smoothing};
use crate::session::Session;
use crate::track::Track;

/// A player whose way of a second is shorter than this many standard deviations of its noise stands.
const MIN_WAY: f64 = 2.0;

/// The largest noise that is believed; at few frames a second the estimate has movement in it.
const MAX_NOISE_M: f64 = 0.35;
const MAX_NOISE_AT_LOW_RATE_M: f64 = 0.1;

/// Seconds over which a peak speed is a mean.
const PEAK_S: f64 = 0.2;

const SPRINT_S: f64 = 1.0;
const EFFORT_S: f64 = 0.3;

/// What a player did in a part of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub tracked_s: f64,
    pub frames_expected: f64,
    pub frames_seen: f64,
    /// Metres in each speed band.
    pub bands_m: [f64; 5],
    pub sprints: u32,
    pub peak_mps: f64,
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
        self.frames_expected += other.frames_expected;
        self.frames_seen += other.frames_seen;
        self.sprints += other.sprints;
        self.peak_mps = self.peak_mps.max(other.peak_mps);
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
    expect_frames(session, track, &mut loads);
    let Some(rate_hz) = session.rate_hz else { return loads };
    let smoothing = Smoothing::new(rate_hz, false);
    let is_low = rate_hz < MIN_RATE_HZ - 1e-9;
    let noise = track.noise_m.min(if is_low { MAX_NOISE_AT_LOW_RATE_M } else { MAX_NOISE_M });
    for path in smoothing.paths(track) {
        add_steps(session, &path, &smoothing, noise, bands, &mut loads);
        if !is_low {
            add_efforts(session, &path, bands[3], &mut loads);
        }
    }
    for load in &mut loads {
        load.has_efforts = !is_low;
    }
    loads
}

fn expect_frames(session: &Session, track: &Track, loads: &mut [Load]) {
    let Some((first, last)) = session.extent_ms() else { return };
    for (period, load) in session.periods.iter().zip(&mut *loads) {
        let (start, end) = (period.start_ms.max(first), period.end_ms.min(last));
        // The last frame has no step after it.
        let is_last = u8::from(end == last && start <= last);
        load.frames_expected =
            ((end - start).max(0) as f64 / 1000.0 / session.frame_s().max(1e-3) + f64::from(is_last)).round();
    }
    for t in &track.t_ms {
        loads[session.period_at(*t)].frames_seen += 1.0;
    }
}

fn add_steps(session: &Session, path: &Path, smoothing: &Smoothing, noise: f64, bands: [f64; 4], loads: &mut [Load]) {
    let (n, reach) = (path.x.len(), (0.5 / path.step_s).round().max(1.0) as usize);
    let step_noise = noise * smoothing.step_noise;
    let way = |a: usize, b: usize| length(path.x[b] - path.x[a], path.y[b] - path.y[a]);
    for i in 0..n - 1 {
        let period = session.period_at(path.start_ms + ((i as f64 + 0.5) * path.step_s * 1000.0) as i64);
        let load = &mut loads[period];
        load.tracked_s += path.step_s;
        load.peak_mps = load.peak_mps.max(peak(path, i));
        let (first, last) = ((i + 1).saturating_sub(reach), (i + reach).min(n - 1));
        let share = ((last - first) as f64 * path.step_s).min(1.0);
        if noise > 0.0 && way(first, last) <= MIN_WAY * noise * smoothing.second_noise * share.sqrt() {
            continue;
        }
        // Noise lengthens a step by half its variance over the length; this takes the same away.
        let metres = (way(i, i + 1).powi(2) - step_noise.powi(2)).max(0.0).sqrt();
        load.bands_m[bands.partition_point(|band| *band <= metres / path.step_s)] += metres;
    }
}

/// The mean velocity around a point over a fifth of a second: a shorter peak is noise.
fn peak(path: &Path, i: usize) -> f64 {
    let reach = (PEAK_S / 2.0 / path.step_s).round() as usize;
    let (first, last) = (i.saturating_sub(reach), (i + reach).min(path.x.len() - 1));
    let count = (last - first + 1) as f64;
    let sum = |v: &[f64]| v[first..=last].iter().sum::<f64>();
    length(sum(&path.vx), sum(&path.vy)) / count
}

fn add_efforts(session: &Session, path: &Path, sprint_mps: f64, loads: &mut [Load]) {
    let (speeds, accelerations) = (path.speeds(), path.accelerations());
    let braking: Vec<f64> = accelerations.iter().map(|value| -value).collect();
    let mut count = |values: &[f64], least: f64, seconds: f64, add: fn(&mut Load, usize), kind: usize| {
        for start in efforts(values, least, seconds, path.step_s) {
            let period = session.period_at(path.start_ms + (start * 1000.0) as i64);
            add(&mut loads[period], kind);
        }
    };
    count(&speeds, sprint_mps, SPRINT_S, |load, _| load.sprints += 1, 0);
    for (kind, least) in [2.0, 3.0].into_iter().enumerate() {
        count(&accelerations, least, EFFORT_S, |load, kind| load.accelerations[kind] += 1, kind);
        count(&braking, least, EFFORT_S, |load, kind| load.decelerations[kind] += 1, kind);
    }
}

/// When values begin to be above a limit for at least some seconds; the crossings are interpolated.
fn efforts(values: &[f64], least: f64, seconds: f64, step_s: f64) -> Vec<f64> {
    let crossing = |i: usize| {
        let (before, after) = (values[i - 1] - least, values[i] - least);
        (i as f64 - 1.0 + before / (before - after)) * step_s
    };
    let mut starts = Vec::new();
    let mut since = values.first().filter(|value| **value > least).map(|_| 0.0);
    for i in 1..=values.len() {
        let is_above = values.get(i).is_some_and(|value| *value > least);
        match (since, is_above) {
            (None, true) => since = Some(crossing(i)),
            (Some(start), false) => {
                let end = if i < values.len() { crossing(i) } else { (i - 1) as f64 * step_s };
                if end - start >= seconds - 1e-6 {
                    starts.push(start);
                }
                since = None;
            }
            _ => {}
        }
    }
    starts
}
