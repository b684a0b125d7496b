//! A Butterworth filter of second order, run forwards and backwards: no lag, and the gain of one pass squared.

use std::array::from_fn;
use std::f64::consts::{PI, SQRT_2};

/// Frames a second below which nothing is smoothed, and neither accelerations nor sprints are counted.
const MIN_RATE_HZ: f64 = 5.0;

pub(crate) fn is_low(rate_hz: f64) -> bool {
    rate_hz < MIN_RATE_HZ - 1e-9
}

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

    /// Smooths equally spaced values of one or more coordinates. Both ends are continued by a point reflection about a parabola's
    /// value there, so that a line stays a line and the noise of the last value is not pinned down.
    pub fn smooth<const N: usize>(&self, values: [&[f64]; N]) -> [Vec<f64>; N] {
        let n = values.first().map_or(0, |values| values.len());
        let pad = self.settling;
        if n < 2 {
            return values.map(<[f64]>::to_vec);
        }
        let reach = (self.settling / 6).max(4).min(n);
        let first = values.map(|values| end_value(values[..reach].iter().copied()));
        let last = values.map(|values| end_value(values[n - reach..].iter().rev().copied()));
        // A run shorter than the padding is reflected at one end and at the other in turn.
        let value = |k: usize, i: usize| {
            let (mut place, mut sign, mut sum) = (i as i64 - pad as i64, 1.0, 0.0);
            loop {
                match usize::try_from(place) {
                    Ok(i) if i < n => break sum + sign * values[k][i],
                    Ok(_) => (place, sum) = (2 * (n as i64 - 1) - place, sum + sign * 2.0 * last[k]),
                    Err(_) => (place, sum) = (-place, sum + sign * 2.0 * first[k]),
                }
                sign = -sign;
            }
        };
        let mut extension: Vec<[f64; N]> = (0..n + 2 * pad).map(|i| from_fn(|k| value(k, i))).collect();
        self.pass(extension.iter_mut());
        self.pass(extension.iter_mut().rev());
        from_fn(|k| extension[pad..pad + n].iter().map(|point| point[k]).collect())
    }

    /// One pass; it starts as if the first value had always been there. The coordinates do not wait for each other.
    fn pass<'a, const N: usize>(&self, values: impl Iterator<Item = &'a mut [f64; N]>) {
        let [a1, a2] = self.feedback;
        let mut values = values.peekable();
        let start = values.peek().map_or([0.0; N], |first| **first);
        let (mut x1, mut x2, mut y1, mut y2) = (start, start, start, start);
        for value in values {
            let y = from_fn(|k| self.gain * (value[k] + 2.0 * x1[k] + x2[k]) - a1 * y1[k] - a2 * y2[k]);
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
