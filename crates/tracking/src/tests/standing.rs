//! Shooters who stand before and after their shots: many offsets are nearly as good as the best.

use super::paths::*;
use crate::defenders::{Moment, surroundings};
use crate::offset::{Offset, Shot, estimate};
use crate::session::{Events, Session};
use crate::track::{Object, Track};

fn at(seconds: f64) -> i64 {
    START_MS + (seconds * 1000.0).round() as i64
}

/// Every six seconds a run of 2.6 s, 0.8 s at the place of the shot, and the way back.
fn runs(t: f64) -> (f64, f64) {
    let t = t % 6.0;
    (3.0 * if t < 3.0 { t.min(2.6) } else { (6.0 - t).min(2.6) } - 4.0, 0.0)
}

/// The estimate for shots whose clock is late by `seconds`.
fn estimate_of(seconds: f64, noise: f64, seed: u64) -> Offset {
    let track = Track::new(player(1), sample(&runs, 120.0, 10.0, noise, seed), &COURT);
    let shot = |t: f64| Shot { t_ms: at(t - seconds), player_id: 1, x: runs(t).0, y: 0.0 };
    let shots: Vec<Shot> = (1..19).map(|round| shot(6.0 * f64::from(round) + 3.0)).collect();
    estimate(&[track], &shots).unwrap_or_else(|| panic!("no shot of a player"))
}

#[test]
fn the_offset_is_the_middle_of_those_at_which_shooters_stand() {
    for seconds in [-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0] {
        for (noise, limit) in [(0.0, 0.03), (0.1, 0.15)] {
            for seed in 0..5 {
                let offset = estimate_of(seconds, noise, seed);
                assert!(
                    offset.is_confirmed && (offset.seconds - seconds).abs() < limit,
                    "{seconds} {noise}: {offset:?}"
                );
                assert!((0.02..0.35).contains(&offset.error_s), "{seconds} {noise}: {offset:?}");
            }
        }
    }
}

#[test]
fn a_shot_at_the_end_of_time_is_at_no_position() {
    let track = Track::new(player(1), sample(&runs, 60.0, 10.0, 0.0, 0), &COURT);
    for t_ms in [i64::MIN, i64::MAX] {
        let offset = estimate(std::slice::from_ref(&track), &[Shot { t_ms, player_id: 1, x: 0.0, y: 0.0 }]);
        assert!(offset.is_some_and(|offset| !offset.is_confirmed && offset.seconds == 0.0), "{offset:?}");
    }
}

#[test]
fn the_ball_is_near_if_it_is_within_the_error_of_the_offset() {
    // It leaves the hand 0.3 s before the time of the shot, with 10 m/s.
    let ball = |t: f64| ((10.0 * (t - 29.7)).clamp(0.0, 10.0), 0.0);
    let track = |object: Object, course: Course<'_>| Track::new(object, sample(course, 60.0, 25.0, 0.0, 0), &COURT);
    let tracks = vec![track(player(1), &|_| (0.0, 0.0)), track(Object::Ball, &ball)];
    let mut session = Session::new(tracks, Events::default(), COURT);
    for (error_s, is_event_time, limits) in
        [(0.0, true, 2.5..3.1), (0.1, true, 0.5..1.1), (0.2, true, 0.0..0.1), (0.2, false, 2.5..3.1)]
    {
        session.closest_offset = Some(Offset { seconds: 0.0, error_s, is_confirmed: true });
        let shot = Moment { t_ms: Some(at(30.0)), is_event_time, player_id: Some(1), ..Moment::default() };
        let ball_m = surroundings(&session, &shot, &[]).ball_m;
        assert!(ball_m.is_some_and(|metres| limits.contains(&metres)), "{error_s} {is_event_time}: {ball_m:?}");
    }
}
