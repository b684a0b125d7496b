use super::paths::*;
use crate::session::{Events, Session};
use crate::track::{Samples, Track, tracks};
use proptest::prelude::*;

fn with_jumps(rate: f64, noise: f64, is_bad: impl Fn(usize) -> bool) -> (Samples, usize) {
    let mut samples = sample(&circle(3.0, 4.0), 40.0, rate, noise, 1);
    let count = (0..samples.t_ms.len()).filter(|i| is_bad(*i)).count();
    for i in (0..samples.t_ms.len()).filter(|i| is_bad(*i)) {
        samples.y[i] += if samples.y[i] > 0.0 { -11.0 } else { 11.0 };
    }
    (samples, count)
}

#[test]
fn teleports_are_left_out_and_counted() {
    for rate in [2.0, 5.0, 10.0, 25.0, 50.0] {
        for noise in [0.0, 0.03, 0.1] {
            let (samples, count) = with_jumps(rate, noise, |i| i % 20 == 7);
            let track = Track::new(player(1), samples, &COURT);
            assert_eq!(track.teleports, count, "{rate} Hz, noise {noise}");
        }
    }
}

#[test]
fn a_jump_among_few_positions_is_no_noise() {
    for rate in [2.0, 5.0, 25.0] {
        let mut samples = sample(&circle(3.0, 1.0), 7.0 / rate, rate, 0.0, 1);
        samples.y[3] += 11.0;
        let track = Track::new(player(1), samples, &COURT);
        assert_eq!((track.teleports, track.len()), (1, 7), "{rate} Hz, noise {}", track.noise_m);
    }
}

#[test]
fn a_jump_at_either_end_is_left_out() {
    let (samples, _) = with_jumps(10.0, 0.0, |i| i == 0 || i == 400);
    let track = Track::new(player(1), samples, &COURT);
    assert_eq!((track.teleports, track.len()), (2, 399));
}

#[test]
fn a_lasting_jump_leaves_out_what_no_speed_explains() {
    // 9 m at 12 m/s are 0.75 s, in which six to ten frames are too early.
    let mut samples = sample(&circle(3.0, 4.0), 40.0, 10.0, 0.0, 1);
    samples.y[100..300].iter_mut().for_each(|y| *y += 9.0);
    let track = Track::new(player(1), samples, &COURT);
    assert!((12..=20).contains(&track.teleports), "{}", track.teleports);
}

#[test]
fn noise_alone_is_no_teleport() {
    for rate in [2.0, 10.0, 25.0, 50.0] {
        let track = Track::new(player(1), sample(&circle(3.0, 4.0), 60.0, rate, 0.3, 2), &COURT);
        assert_eq!(track.teleports, 0, "{rate} Hz");
    }
}

#[test]
fn positions_off_the_court_are_left_out_and_counted() {
    let mut samples = sample(&line(1.0), 10.0, 10.0, 0.0, 0);
    samples.x[5] = 9.7;
    samples.y[8] = -16.5;
    samples.x[9] = f64::NAN;
    samples.y[12] = f64::NEG_INFINITY;
    let track = Track::new(player(1), samples, &COURT);
    assert_eq!((track.off_court, track.teleports, track.len()), (3, 0, 97));
}

#[test]
fn a_position_with_an_impossible_time_is_left_out_and_counted() {
    let mut samples = sample(&line(1.0), 10.0, 10.0, 0.0, 0);
    (samples.t_ms[0], samples.t_ms[7], samples.t_ms[9]) = (i64::MIN, 0, i64::MAX);
    let cleaned_tracks = tracks([(player(1), samples)], &COURT);
    assert_eq!((cleaned_tracks[0].teleports, cleaned_tracks[0].len()), (3, 98));
    let session = Session::new(cleaned_tracks, Events::default(), COURT);
    assert_eq!(session.frame_times(Some(10.0)).len(), 100);
    assert!(tracks([], &COURT).is_empty());
}

#[test]
fn noise_is_estimated() {
    for rate in [5.0, 10.0, 25.0, 50.0] {
        for noise in [0.03, 0.1, 0.3] {
            let track = Track::new(player(1), sample(&circle(3.0, 2.0), 120.0, rate, noise, 4), &COURT);
            assert!((track.noise_m / noise - 1.0).abs() < 0.15, "{rate} Hz: {} for {noise}", track.noise_m);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_rows_decides_nothing(seed in 0u64..1000) {
        let (samples, _) = with_jumps(10.0, 0.05, |i| i % 20 == 7);
        let mut order: Vec<usize> = (0..samples.t_ms.len()).collect();
        let mut random = Random(seed);
        order.sort_by_cached_key(|_| (random.uniform() * 1e9) as u64);
        let mut mixed = Samples::default();
        for i in order {
            mixed.push(samples.t_ms[i], samples.x[i], samples.y[i], samples.z[i]);
        }
        let (a, b) = (Track::new(player(1), samples, &COURT), Track::new(player(1), mixed, &COURT));
        prop_assert_eq!((a.t_ms, a.x, a.y, a.teleports), (b.t_ms, b.x, b.y, b.teleports));
    }
}
