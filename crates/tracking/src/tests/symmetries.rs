use super::paths::*;
use super::teams::{PERFECT, Sensors, game};
use crate::court::Court;
use crate::loads::{Load, loads};
use crate::opponents::opponents;
use crate::session::{Events, Session};
use crate::spacing::{by_possession, hull_area};
use crate::track::{Samples, Track};

const WIDE: Court = Court { half_width: 100.0, half_length: 100.0, paint: None };

fn load_of(samples: &Samples, move_point: impl Fn(f64, f64) -> (f64, f64)) -> Load {
    let mut copies = Samples::default();
    for i in 0..samples.t_ms.len() {
        let (x, y) = move_point(samples.x[i], samples.y[i]);
        copies.push(samples.t_ms[i], x, y, samples.z[i]);
    }
    let session = Session::new(vec![Track::new(player(1), copies, &WIDE)], Events::default(), WIDE);
    loads(&session, &session.tracks[0], [2.0, 4.0, 5.5, 7.0])[0]
}

#[test]
fn the_frame_of_the_court_decides_nothing() {
    for (rate, noise) in [(2.0, 0.0), (10.0, 0.1), (25.0, 0.03)] {
        let samples = sample(&stop_and_go(5.0), 40.0, rate, noise, 3);
        let complete = load_of(&samples, |x, y| (x, y));
        let (sin, cos) = 0.7f64.sin_cos();
        let copies = [
            load_of(&samples, |x, y| (cos * x - sin * y, sin * x + cos * y)),
            load_of(&samples, |x, y| (x + 3.1, y - 2.7)),
            load_of(&samples, |x, y| (-x, y)),
        ];
        for load in copies {
            assert!((load.distance_m() - complete.distance_m()).abs() < 1e-6);
            assert!((load.peak_mps.unwrap_or_default() - complete.peak_mps.unwrap_or_default()).abs() < 1e-6);
            assert_eq!((load.accelerations, load.decelerations), (complete.accelerations, complete.decelerations));
        }
        let larger = load_of(&samples, |x, y| (1.5 * x, 1.5 * y));
        assert!((larger.distance_m() / complete.distance_m() - 1.5).abs() < 0.01);
    }
}

#[test]
fn two_halves_are_the_whole() {
    let samples = sample(&stop_and_go(5.0), 60.0, 10.0, 0.03, 3);
    let part = |range: std::ops::Range<usize>| {
        let mut part = Samples::default();
        range.for_each(|i| part.push(samples.t_ms[i], samples.x[i], samples.y[i], samples.z[i]));
        part
    };
    let mut joined_samples = part(0..280);
    let second = part(300..600);
    (0..second.t_ms.len()).for_each(|i| joined_samples.push(second.t_ms[i], second.x[i], second.y[i], second.z[i]));
    let same = |x, y| (x, y);
    let mut sum = load_of(&part(0..280), same);
    sum.add(&load_of(&second, same));
    let complete = load_of(&joined_samples, same);
    assert!((sum.distance_m() / complete.distance_m() - 1.0).abs() < 0.005);
    assert!((sum.tracked_s - complete.tracked_s).abs() < 1e-9);
    assert_eq!((sum.accelerations, sum.sprints), (complete.accelerations, complete.sprints));
}

#[test]
fn half_a_turn_changes_no_opponent() {
    let session = game(Sensors { noise: 0.1, ..PERFECT });
    let turn = |track: &Track| {
        let mut track = track.clone();
        track.x.iter_mut().chain(&mut track.y).for_each(|value| *value = -*value);
        track
    };
    let tracks = session.tracks.iter().map(turn).collect();
    let events = Events { possessions: session.possessions.clone(), offset_s: Some(0.0), ..Events::default() };
    let other = Session::new(tracks, events, COURT);
    let times = session.frame_times(Some(1.0));
    assert_eq!(opponents(&session, &times, true), opponents(&other, &times, true));
}

#[test]
fn spacing_is_that_of_the_five() {
    assert!((hull_area(&[(0.0, 0.0), (2.0, 0.0), (2.0, 3.0), (0.0, 3.0), (1.0, 1.0)]) - 6.0).abs() < 1e-12);
    assert_eq!(hull_area(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), 0.0);
    let shapes = by_possession(&game(PERFECT));
    let shape = shapes[3].unwrap_or_default();
    assert!(shape.hull_m2 > 10.0 && shape.teammate_m > 3.0 && shape.ball_side.is_none(), "{shape:?}");
}
