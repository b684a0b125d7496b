//! Analytic paths and a sensor that samples them.

use crate::court::Court;
use crate::session::{Events, Session};
use crate::track::{Object, Samples, Track};
use std::f64::consts::TAU;

pub(crate) const COURT: Court = Court { half_width: 7.62, half_length: 14.3256, paint: Some((1.8288, 5.7912)) };

/// Numbers from a seed: SplitMix64, and Box and Muller's normal ones.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    }
}

pub(crate) const START_MS: i64 = 1_790_000_000_000;

/// A path's place and its length until a time.
pub(crate) type Course<'a> = &'a dyn Fn(f64) -> (f64, f64);

pub(crate) fn sample(course: Course<'_>, seconds: f64, rate: f64, noise: f64, seed: u64) -> Samples {
    let mut random = Random(seed);
    let mut samples = Samples::default();
    for i in 0..=(seconds * rate).round() as i64 {
        let ms = (i as f64 * 1000.0 / rate).round();
        let (x, y) = course(ms / 1000.0);
        samples.push(START_MS + ms as i64, x + noise * random.normal(), y + noise * random.normal(), 1.0);
    }
    samples
}

pub(crate) fn player(player_id: i64) -> Object {
    Object::Player { team_id: 1 + player_id / 100, player_id }
}

pub(crate) fn session(samples: Samples) -> Session {
    Session::new(vec![Track::new(player(1), samples, &COURT)], Events::default(), COURT)
}

pub(crate) fn length(course: Course<'_>, seconds: f64) -> f64 {
    let n = 100_000;
    let at = |i: i32| course(seconds * f64::from(i) / f64::from(n));
    (0..n)
        .map(|i| {
            let (a, b) = (at(i), at(i + 1));
            (b.0 - a.0).hypot(b.1 - a.1)
        })
        .sum()
}

pub(crate) fn line(speed: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| (0.3 * (speed * t - 10.0), 0.91f64.sqrt() * (speed * t - 10.0))
}

pub(crate) fn circle(radius: f64, speed: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| (radius * (speed / radius * t).cos(), radius * (speed / radius * t).sin())
}

/// Forwards at a constant speed, swaying to the sides.
pub(crate) fn sine(speed: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| (2.0 * (TAU * speed * t / 8.0).sin(), speed * t - 13.0)
}

/// An exponential approach to a top speed, as of sprinters.
pub(crate) fn sprint(top: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| (0.0, top * (t - (1.0 - (-t).exp())) - 13.0)
}

/// To and fro: a second of speeding up, a second at full speed, a second of braking, a second of rest.
pub(crate) fn stop_and_go(top: f64) -> impl Fn(f64) -> (f64, f64) {
    move |t| {
        let (round, s) = ((t / 4.0).floor(), t % 4.0);
        let way = if s < 1.0 {
            s * s / 2.0
        } else if s < 2.0 {
            0.5 + s - 1.0
        } else if s < 3.0 {
            1.5 + (s - 2.0) - (s - 2.0).powi(2) / 2.0
        } else {
            2.0
        };
        let y = top * if round as i64 % 2 == 0 { way } else { 2.0 - way };
        (1.0, y - top)
    }
}
