//! Speeds and accelerations along a track.

use crate::curve;
use crate::filter::{Butterworth, cutoff_hz, is_low};
use crate::length;
use crate::track::Track;
use std::borrow::Cow;

/// Points a second at least on a path: below, points on the curve are added between the frames.
const MIN_POINTS_HZ: f64 = 10.0;

/// Seconds over which the change of the speed is an acceleration.
const ACCELERATION_S: f64 = 0.4;

/// Equally spaced points of one run, smoothed, with their velocities.
#[derive(Debug, Clone)]
pub struct Path {
    pub start_ms: i64,
    pub step_s: f64,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub vx: Vec<f64>,
    pub vy: Vec<f64>,
}

impl Path {
    pub fn speed(&self, i: usize) -> f64 {
        length(self.vx[i], self.vy[i])
    }

    pub fn speeds(&self) -> Vec<f64> {
        (0..self.x.len()).map(|i| self.speed(i)).collect()
    }

    /// The change of the speed around each point, from the speeds at all points.
    pub fn accelerations(&self, speeds: &[f64]) -> Vec<f64> {
        let reach = (ACCELERATION_S / 2.0 / self.step_s).round().max(1.0) as usize;
        let around = |i: usize| (i.saturating_sub(reach), (i + reach).min(speeds.len() - 1));
        let change = |(first, last): (usize, usize)| match last - first {
            0 => 0.0,
            steps => (speeds[last] - speeds[first]) / (steps as f64 * self.step_s),
        };
        (0..speeds.len()).map(|i| change(around(i))).collect()
    }

    /// Place and velocity at a time between the first and last point.
    pub fn at(&self, t_ms: f64) -> ((f64, f64), (f64, f64)) {
        let exact = ((t_ms - self.start_ms as f64) / 1000.0 / self.step_s).clamp(0.0, (self.x.len() - 1) as f64);
        let i = (exact.floor() as usize).min(self.x.len().saturating_sub(2));
        if i + 1 >= self.x.len() {
            return ((self.x[i], self.y[i]), (self.vx[i], self.vy[i]));
        }
        let (t, h) = (exact - i as f64, self.step_s);
        let piece = |v: &[f64], m: &[f64]| curve::evaluate([(0.0, v[i], m[i] * h), (1.0, v[i + 1], m[i + 1] * h)], t);
        let ((x, vx), (y, vy)) = (piece(&self.x, &self.vx), piece(&self.y, &self.vy));
        ((x, y), (vx / h, vy / h))
    }
}

/// How one track is smoothed, and how much of its noise is left.
#[derive(Debug, Clone)]
pub struct Smoothing {
    filter: Option<Butterworth>,
    pub(crate) points_hz: f64,
    /// Variances for unit noise: of the way along one axis over one step between two points, over two, and so on to a second.
    pub(crate) variances: Vec<f64>,
}

impl Smoothing {
    /// For frames at a rate; without a filter if `is_exact`, and at a low rate.
    pub fn new(rate_hz: f64, is_exact: bool) -> Self {
        let points_hz = rate_hz * (MIN_POINTS_HZ / rate_hz - 1e-6).ceil().max(1.0);
        if is_exact || is_low(rate_hz) {
            // Points between frames have no noise of their own, so that theirs is not removed.
            let half_second = (points_hz / 2.0) as usize;
            let variances = (1..=2 * half_second).map(|lag| if lag < half_second { 0.0 } else { 2.0 }).collect();
            return Smoothing { filter: None, points_hz, variances };
        }
        let filter = Butterworth::new(cutoff_hz(rate_hz), points_hz);
        let variances = noise_left(&filter, points_hz, (points_hz / rate_hz).round());
        Smoothing { filter: Some(filter), points_hz, variances }
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// The paths of a track, one for each run of at least two positions.
    pub fn paths<'a>(&'a self, track: &'a Track) -> impl Iterator<Item = Path> + 'a {
        track.runs().into_iter().filter(|run| run.len() >= 2).map(|run| self.path(track, run.start, run.end))
    }

    fn path(&self, track: &Track, start: usize, end: usize) -> Path {
        let (start_ms, end_ms) = (track.t_ms[start], track.t_ms[end - 1]);
        let t_ms = &track.t_ms[start..end];
        let seconds = |t: i64| (t - start_ms) as f64 / 1000.0;
        let duration_s = seconds(end_ms);
        // The last point is the last position: the step is rounded.
        let count = (duration_s * self.points_hz).round().max(1.0) as usize;
        let step_s = duration_s / count as f64;
        // The times are whole milliseconds.
        let is_at = |(i, t): (usize, &i64)| (seconds(*t) - i as f64 * step_s).abs() < 1e-9;
        let is_even = count + 1 == t_ms.len() && t_ms.iter().enumerate().all(is_at);
        let t: Vec<f64> = if is_even { Vec::new() } else { t_ms.iter().map(|t| seconds(*t)).collect() };
        let [x, y] = [&track.x, &track.y].map(|values| match is_even {
            true => Cow::Borrowed(&values[start..end]),
            false => Cow::Owned(resample(&t, &values[start..end], step_s, count + 1)),
        });
        let [x, y] = match self.filter {
            Some(filter) => filter.smooth([&x, &y]),
            None => [x.into_owned(), y.into_owned()],
        };
        let [vx, vy] = [&x, &y].map(|values| curve::even_slopes(step_s, values));
        Path { start_ms, step_s, x, y, vx, vy }
    }
}

/// The curve through points at `count` equally spaced times from 0.
fn resample(t: &[f64], v: &[f64], step: f64, count: usize) -> Vec<f64> {
    let slopes = curve::slopes(t, v);
    let mut piece = 1;
    let value = |i: usize| {
        let at = i as f64 * step;
        while piece + 1 < t.len() && t[piece] < at {
            piece += 1;
        }
        curve::evaluate([(t[piece - 1], v[piece - 1], slopes[piece - 1]), (t[piece], v[piece], slopes[piece])], at).0
    };
    (0..count).map(value).collect()
}

/// What the filter leaves of unit noise, from its response to a single pulse.
fn noise_left(filter: &Butterworth, points_hz: f64, points_per_frame: f64) -> Vec<f64> {
    let (half, second) = ((4.0 * points_hz).ceil() as usize, points_hz.round() as usize);
    let mut pulse = vec![0.0; 2 * half + 1];
    pulse[half] = 1.0;
    let [response] = filter.smooth([&pulse]);
    let change = |lag: usize| -> f64 { (lag..response.len()).map(|i| (response[i] - response[i - lag]).powi(2)).sum() };
    // Between frames the curve spreads the noise of a frame over several points.
    (1..=second + 1).map(|lag| change(lag) * points_per_frame).collect()
}
