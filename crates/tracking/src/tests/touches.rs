use super::paths::{COURT, START_MS};
use crate::ball::{Ending, passes, touches};
use crate::reason::Reason;
use crate::session::{Events, Session};
use crate::track::{Object, Samples, Track};

/// Three players who stand, and a ball that one holds for 2 s, that flies for a second, and so on.
fn session(rate: f64, holders: &[usize], has_ball: bool) -> Session {
    const SPOTS: [(i64, i64, f64, f64); 3] = [(1, 11, -4.0, 0.0), (1, 12, 4.0, 0.0), (2, 21, 0.0, 6.0)];
    let seconds = 3.0 * holders.len() as f64 - 1.0;
    let spot = |number: usize| SPOTS[holders[number.min(holders.len() - 1)]];
    let ball = |t: f64| {
        let (number, s) = ((t / 3.0) as usize, t % 3.0);
        let (a, b, share) = (spot(number), spot(number + 1), (s - 2.0).max(0.0));
        (a.2 + share * (b.2 - a.2) + 0.3, a.3 + share * (b.3 - a.3))
    };
    let observe = |place: &dyn Fn(f64) -> (f64, f64)| {
        let mut samples = Samples::default();
        for i in 0..=(seconds * rate) as i64 {
            let t = i as f64 / rate;
            let (x, y) = place(t);
            samples.push(START_MS + (t * 1000.0).round() as i64, x, y, 1.2);
        }
        samples
    };
    let mut tracks: Vec<Track> = SPOTS
        .iter()
        .map(|(team_id, player_id, x, y)| {
            let object = Object::Player { team_id: *team_id, player_id: *player_id };
            Track::new(object, observe(&|_| (*x, *y)), &COURT)
        })
        .collect();
    if has_ball {
        tracks.push(Track::new(Object::Ball, observe(&ball), &COURT));
    }
    Session::new(tracks, Events::default(), COURT)
}

#[test]
fn touches_and_passes_are_those_of_the_ball() {
    let session = session(25.0, &[0, 1, 2, 0], true);
    let shots = [(START_MS + 11_000, 11)];
    let all_touches = touches(&session, &shots).unwrap_or_default();
    let summary: Vec<(i64, Ending)> = all_touches.iter().map(|touch| (touch.player_id, touch.ending)).collect();
    assert_eq!(summary, [(11, Ending::Pass), (12, Ending::Turnover), (21, Ending::Turnover), (11, Ending::Shot)]);
    for (i, touch) in all_touches.iter().enumerate() {
        assert!((touch.start_ms - START_MS - 3000 * i as i64).abs() <= 200, "{touch:?}");
        assert!((touch.end_ms - START_MS - 3000 * i as i64 - 2000).abs() <= 200, "{touch:?}");
    }
    let passes = passes(&session, &all_touches);
    let [pass] = passes.as_slice() else { panic!("{passes:?}") };
    assert_eq!((pass.passer_id, pass.receiver_id), (11, 12));
    assert!((pass.distance_m - 8.0).abs() < 1e-6 && (pass.air_time_s - 1.0).abs() < 0.3, "{pass:?}");
}

#[test]
fn a_pass_beside_an_opponent_is_no_turnover() {
    for rate in [5.0, 10.0, 25.0, 50.0] {
        let with_ball = session(rate, &[0, 1, 0, 1], true);
        let mut tracks = with_ball.tracks;
        // Half a metre from the way of the ball, which is 8 m/s fast.
        let mut opponent = tracks[2].clone();
        opponent.x.fill(0.0);
        opponent.y.fill(0.5);
        tracks[2] = opponent;
        let session = Session::new(tracks, Events::default(), COURT);
        let all_touches = touches(&session, &[]).unwrap_or_default();
        let players: Vec<i64> = all_touches.iter().map(|touch| touch.player_id).collect();
        assert_eq!(players, [11, 12, 11, 12], "{rate} Hz");
        assert_eq!(passes(&session, &all_touches).len(), 3, "{rate} Hz");
    }
}

#[test]
fn touches_need_a_ball_and_a_rate() {
    assert_eq!(touches(&session(25.0, &[0, 1], false), &[]).err(), Some(Reason::NoBall));
    assert_eq!(touches(&session(2.0, &[0, 1], true), &[]).err(), Some(Reason::RateTooLow));
    // A slow ball among fast players.
    let mut tracks = session(25.0, &[0, 1], false).tracks;
    tracks.extend(session(2.0, &[0, 1], true).tracks.pop());
    let slow_ball = Session::new(tracks, Events::default(), COURT);
    assert_eq!(touches(&slow_ball, &[]).err(), Some(Reason::RateTooLow));
}
