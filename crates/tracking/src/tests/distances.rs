use super::paths::*;
use crate::loads::{Load, loads};
use crate::track::Samples;

type Boxed = Box<dyn Fn(f64) -> (f64, f64)>;

const BANDS: [f64; 4] = [2.0, 4.0, 5.5, 7.0];

fn load_of(samples: Samples) -> Load {
    let session = session(samples);
    loads(&session, &session.tracks[0], BANDS)[0]
}

/// The largest relative errors of distance and peak speed over some seeds.
fn errors(course: Course<'_>, seconds: f64, top: f64, rate: f64, noise: f64) -> (f64, f64) {
    let truth = length(course, seconds);
    let loads = (0..8).map(|seed| load_of(sample(course, seconds, rate, noise, seed)));
    loads.fold((0.0f64, 0.0f64), |(distance, peak), load| {
        (
            distance.max((load.distance_m() / truth - 1.0).abs()),
            peak.max((load.peak_mps.unwrap_or_default() / top - 1.0).abs()),
        )
    })
}

#[test]
fn distance_is_that_of_the_path() {
    let courses: [(Boxed, f64); 6] = [
        (Box::new(line(1.5)), 12.0),
        (Box::new(line(4.0)), 5.0),
        (Box::new(circle(2.0, 2.0)), 30.0),
        (Box::new(circle(2.0, 4.0)), 30.0),
        (Box::new(sine(3.0)), 8.0),
        (Box::new(sprint(8.0)), 4.0),
    ];
    for (number, (course, seconds)) in courses.iter().enumerate() {
        for rate in [10.0, 25.0, 50.0] {
            for (noise, limit) in [(0.0, 0.01), (0.03, 0.01), (0.1, 0.03)] {
                let (distance, _) = errors(course, *seconds, 1.0, rate, noise);
                assert!(distance <= limit, "course {number}, {rate} Hz, noise {noise}: {distance}");
            }
        }
    }
}

#[test]
fn two_frames_a_second_are_joined_by_a_curve() {
    for speed in [1.0, 2.5, 4.0] {
        let (distance, _) = errors(&circle(3.0, speed), 30.0, 1.0, 2.0, 0.0);
        assert!(distance <= 0.03, "{speed} m/s: {distance}");
    }
}

#[test]
fn a_player_who_stands_hardly_moves() {
    for rate in [2.0, 5.0, 10.0, 25.0, 50.0] {
        for (noise, limit) in [(0.03, 0.1), (0.1, 0.3)] {
            let load = load_of(sample(&|_| (3.0, -2.0), 120.0, rate, noise, 5));
            assert!(load.distance_m() / 120.0 <= limit, "{rate} Hz, noise {noise}: {}", load.distance_m() / 120.0);
        }
    }
}

#[test]
fn peak_speed_is_that_of_the_path() {
    let courses: [(Boxed, f64, f64); 2] =
        [(Box::new(sprint(8.0)), 4.0, 8.0 * (1.0 - (-4.0f64).exp())), (Box::new(stop_and_go(6.0)), 40.0, 6.0)];
    for (course, seconds, top) in &courses {
        for rate in [10.0, 25.0, 50.0] {
            let (_, peak) = errors(course, *seconds, *top, rate, 0.0);
            assert!(peak <= 0.02, "{top} m/s at {rate} Hz: {peak}");
        }
        for rate in [25.0, 50.0] {
            let (_, peak) = errors(course, *seconds, *top, rate, 0.03);
            assert!(peak <= 0.05, "{top} m/s at {rate} Hz with noise: {peak}");
        }
    }
}

#[test]
fn no_peak_is_faster_than_a_player() {
    // Two jumps of 11 m, each with a second before and after it: 11 m/s, of which the curve makes more.
    let mut samples = sample(&|_| (0.0, -5.0), 30.0, 2.0, 0.0, 0);
    for i in [20, 22] {
        samples.y[i] = 6.0;
        for gap in [i - 1, i + 1] {
            samples.x[gap] = f64::NAN;
        }
    }
    let load = load_of(samples);
    let peak = load.peak_mps.unwrap_or_default();
    assert!(peak > 1.0 && peak <= 12.0, "{peak}");
}

#[test]
fn efforts_are_counted_once() {
    // Ten rounds of a second each at 6 m/s², at 6 m/s, and at -6 m/s².
    let load = load_of(sample(&stop_and_go(6.0), 40.0, 25.0, 0.0, 0));
    assert_eq!((load.accelerations, load.decelerations, load.sprints), ([10, 10], [10, 10], 0));
    // Faster than 7 m/s from the eighth second on, for 2 s.
    let load = load_of(sample(&sprint(8.0), 3.3, 25.0, 0.0, 0));
    assert_eq!((load.sprints, load.accelerations), (1, [1, 1]));
    let load = load_of(sample(&sprint(8.0), 2.5, 25.0, 0.0, 0));
    assert_eq!(load.sprints, 0);
}

#[test]
fn efforts_are_unknown_at_a_low_rate() {
    assert!(!load_of(sample(&line(4.0), 5.0, 4.0, 0.0, 0)).has_efforts);
    assert!(load_of(sample(&line(4.0), 5.0, 5.0, 0.0, 0)).has_efforts);
}

#[test]
fn bands_share_the_distance() {
    let load = load_of(sample(&line(4.5), 5.0, 25.0, 0.0, 0));
    assert!((load.bands_m[2] - 22.5).abs() < 1e-6, "{:?}", load.bands_m);
    assert!((load.distance_m() - load.bands_m[2]).abs() < 1e-9);
}

#[test]
fn a_gap_has_no_distance() {
    let mut samples = Samples::default();
    let complete = sample(&line(4.0), 6.0, 10.0, 0.0, 0);
    for i in (0..complete.t_ms.len()).filter(|i| !(21..=35).contains(i)) {
        samples.push(complete.t_ms[i], complete.x[i], complete.y[i], complete.z[i]);
    }
    let load = load_of(samples);
    assert!((load.distance_m() - 4.0 * (2.0 + 2.4)).abs() < 0.01, "{}", load.distance_m());
    assert!((load.tracked_s - 4.4).abs() < 1e-9);
    assert!((load.seen_s - 4.6).abs() < 1e-9 && (load.expected_s - 6.1).abs() < 1e-9, "{load:?}");
}

#[test]
fn a_short_dropout_is_bridged() {
    let mut samples = Samples::default();
    let complete = sample(&circle(3.0, 4.0), 6.0, 10.0, 0.0, 0);
    for i in (0..complete.t_ms.len()).filter(|i| !(21..=24).contains(i)) {
        samples.push(complete.t_ms[i], complete.x[i], complete.y[i], complete.z[i]);
    }
    let load = load_of(samples);
    assert!((load.distance_m() / 24.0 - 1.0).abs() < 0.01, "{}", load.distance_m());
}

#[test]
fn the_distance_of_a_slow_player_is_not_that_of_the_noise() {
    let courses: [Boxed; 5] = [
        Box::new(line(0.3)),
        Box::new(line(0.5)),
        Box::new(line(1.0)),
        Box::new(circle(0.5, 0.5)),
        Box::new(circle(2.0, 0.7)),
    ];
    for (number, course) in courses.iter().enumerate() {
        let truth = length(course, 20.0);
        for rate in [5.0, 10.0, 25.0, 50.0] {
            for noise in [0.03, 0.1] {
                let metres = |seed| load_of(sample(course, 20.0, rate, noise, seed)).distance_m();
                let error = (0..20).map(metres).sum::<f64>() / 20.0 / truth - 1.0;
                assert!(error.abs() <= 0.04, "course {number}, {rate} Hz, noise {noise}: {error}");
            }
        }
    }
}
