//! A Butterworth filter of second order, run forwards and backwards: no lag, and the gain of one pass squared.

use std::f64::consts::{PI, SQRT_2};

/// Frames a second below which nothing is smoothed, and neither accelerations nor sprints are counted.
pub const MIN_RATE_HZ: f64 = 5.0;

/// The cut-off frequency at a rate: 2.5 Hz, but at most a quarter of the rate.
pub fn cutoff_hz(rate_hz: f64) -> f64 {
    (0.25 * rate_hz).min(MAX_CUTOFF_HZ)
}

const MAX_CUTOFF_HZ: f64 = 2.5;

/// The coefficients of one pass, by the bilinear transform.
#[derive(Debug, Clone, Copy)]
pub struct Butterworth {
    gain: f64,
    feedback: [f64; 2],
    /// Samples after which a pass has forgotten how it started.
    settling: usize,
}

impl Butterworth {
    /// `cutoff_hz` is below half of `rate_hz`.
    pub fn new(cutoff_hz: f64, rate_hz: f64) -> Self {
        let w = (PI * cutoff_hz / rate_hz).tan();
        let scale = 1.0 / (1.0 + SQRT_2 * w + w * w);
        Butterworth {
            gain: w * w * scale,
            feedback: [2.0 * (w * w - 1.0) * scale, (1.0 - SQRT_2 * w + w * w) * scale],
            settling: (4.0 * rate_hz / cutoff_hz).ceil() as usize,
        }
    }

    /// Smooths equally spaced values. Both ends are continued by a point reflection about a parabola's value there, so that a
    /// line stays a line and the noise of the last value is not pinned down.
    pub fn smooth(&self, values: &[f64]) -> Vec<f64> {
        let (n, pad) = (values.len(), self.settling.min(values.len().saturating_sub(1)));
        if n < 2 {
            return values.to_vec();
        }
        let reach = (self.settling / 6).max(4).min(n);
        let first = end_value(values[..reach].iter().copied());
        let last = end_value(values[n - reach..].iter().rev().copied());
        let head = (1..=pad).rev().map(|i| 2.0 * first - values[i]);
        let tail = (1..=pad).map(|i| 2.0 * last - values[n - 1 - i]);
        let mut extension: Vec<f64> = head.chain(values.iter().copied()).chain(tail).collect();
        for _ in 0..2 {
            self.pass(&mut extension);
            extension.reverse();
        }
        extension[pad..pad + n].to_vec()
    }

    /// One pass; it starts as if the first value had always been there.
    fn pass(&self, values: &mut [f64]) {
        let [a1, a2] = self.feedback;
        let (mut x1, mut x2, mut y1, mut y2) = (values[0], values[0], values[0], values[0]);
        for value in values {
            let y = self.gain * (*value + 2.0 * x1 + x2) - a1 * y1 - a2 * y2;
            (x2, x1, y2, y1) = (x1, *value, y1, y);
            *value = y;
        }
    }
}

/// The value at the first of equally spaced points of the parabola that fits them best.
fn end_value(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    if n < 3.0 {
        return values.into_iter().next().unwrap_or(0.0);
    }
    // The weights of a fit at its end, in closed form: Savitzky and Golay (1964).
    let scale = n * (n + 1.0) * (n + 2.0);
    let weight = |i: f64| 3.0 * (3.0 * n * n - 3.0 * n + 2.0 - 6.0 * (2.0 * n - 1.0) * i + 10.0 * i * i) / scale;
    values.enumerate().map(|(i, value)| weight(i as f64) * value).sum()
}
