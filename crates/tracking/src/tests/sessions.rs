use super::paths::*;
use super::teams::*;
use crate::defenders::{Moment, Openness, defender};
use crate::frames::frames;
use crate::lineups::Possession;
use crate::loads::loads;
use crate::opponents::opponents;
use crate::quality::{QualityShot, qualities};
use crate::reason::Reason;
use crate::session::{Events, Session};
use crate::spacing::by_frame;
use crate::track::{Object, Samples, Track};

fn at(seconds: f64) -> i64 {
    START_MS + (seconds * 1000.0).round() as i64
}

/// A game in which one away player has no position for some seconds.
fn game_without(player_id: i64, span: std::ops::Range<f64>) -> Session {
    let session = game(PERFECT);
    let tracks = session.tracks.iter().map(|track| {
        let is_player = track.object == Object::Player { team_id: AWAY, player_id };
        let mut samples = Samples::default();
        for i in 0..track.len() {
            if !is_player || !span.contains(&((track.t_ms[i] - START_MS) as f64 / 1000.0)) {
                samples.push(track.t_ms[i], track.x[i], track.y[i], track.z[i]);
            }
        }
        Track::new(track.object, samples, &COURT)
    });
    let events = Events { possessions: session.possessions.clone(), offset_s: Some(0.0), ..Events::default() };
    Session::new(tracks.collect(), events, COURT)
}

#[test]
fn four_opponents_are_too_few_at_a_frame() {
    let session = game_without(id(AWAY, 4), 20.0..25.0);
    let times = session.frame_times(Some(1.0));
    for row in opponents(&session, &times, true) {
        let Object::Player { team_id: HOME, .. } = session.tracks[row.track as usize].object else { continue };
        let is_hidden = (20..25).contains(&row.frame);
        assert_eq!(row.nearest == Err(Reason::TooFewOpponents), is_hidden, "{}", row.frame);
    }
    let shapes = by_frame(&session, &times);
    let gaps = shapes.iter().filter(|(_, team, shape)| *team == AWAY && *shape == Err(Reason::Gap)).count();
    assert_eq!(gaps, 5);
}

#[test]
fn a_dropout_is_interpolated_and_a_gap_is_missing() {
    let short = game_without(id(AWAY, 4), 20.0..20.85);
    let times = short.frame_times(None);
    let track = short.tracks.len() - 1;
    let rows: Vec<_> =
        frames(&short, &times, false, true).into_iter().filter(|row| row.track as usize == track).collect();
    assert_eq!(rows.len(), times.len());
    assert_eq!(rows.iter().filter(|row| row.is_interpolated).count(), 9);
    let long = game_without(id(AWAY, 4), 20.0..25.0);
    let rows = frames(&long, &times, false, true);
    assert_eq!(rows.iter().filter(|row| row.track as usize == track).count(), times.len() - 50);
}

#[test]
fn shots_with_wrong_places_do_not_move_the_offset() {
    let tracks = game(PERFECT).tracks;
    let place_at = |t: f64, slot: i64, number: usize| match number % 4 {
        0 => (place(HOME, slot, t).0 + 40.0, 0.0),
        _ => place(HOME, slot, t),
    };
    let shots = shots().into_iter().enumerate().map(|(number, (t, slot))| {
        let (x, y) = place_at(t, slot, number);
        crate::offset::Shot { t_ms: at(t - 0.5), player_id: id(HOME, slot), x, y }
    });
    let offset = crate::offset::estimate(&tracks, &shots.collect::<Vec<_>>());
    assert!(offset.is_some_and(|offset| offset.is_confirmed && (offset.seconds - 0.5).abs() < 0.02), "{offset:?}");
}

#[test]
fn the_offset_moves_periods_and_possessions() {
    let possession = Possession {
        team_id: HOME,
        number: None,
        start_ms: at(10.0),
        end_ms: at(20.0),
        players: vec![],
        opponents: vec![],
    };
    let periods = vec![(at(10.0), "Q1".to_owned()), (at(19.0), "Q1".to_owned()), (at(21.0), "Q2".to_owned())];
    let events = Events { possessions: vec![possession], periods, offset_s: Some(2.0), ..Events::default() };
    let session = Session::new(game(PERFECT).tracks, events, COURT);
    assert_eq!((session.possessions[0].start_ms, session.possessions[0].end_ms), (at(12.0), at(22.0)));
    assert_eq!((session.period_at(at(21.9)), session.period_at(at(22.1))), (0, 1));
    let parts = loads(&session, &session.tracks[0], [2.0, 4.0, 5.5, 7.0]);
    assert!((parts[0].tracked_s - 22.0).abs() < 0.2 && (parts[1].tracked_s - SECONDS + 22.0).abs() < 0.2);
}

#[test]
fn the_angle_is_that_to_the_hoop() {
    let mut session = game(PERFECT);
    let (x, y) = place(HOME, 1, 30.0);
    let shot = Moment { t_ms: Some(at(30.0)), player_id: Some(id(HOME, 1)), ..Moment::default() };
    let nearest = defender(&session, &shot).unwrap_or_else(|reason| panic!("{reason:?}"));
    let (a, b) = place(AWAY, nearest.defender_id - 100 * AWAY, 30.0);
    for (hoop, angle) in [((a, b), 0.0), ((2.0 * x - a, 2.0 * y - b), 180.0), ((x - (b - y), y + (a - x)), 90.0)] {
        let angle_deg =
            defender(&session, &Moment { hoop: Some(hoop), ..shot }).ok().and_then(|nearest| nearest.angle_deg);
        assert!(angle_deg.is_some_and(|value| (value - angle).abs() < 0.01), "{angle_deg:?} {angle}");
    }
    session.tracks.clear();
    assert_eq!(defender(&session, &shot).err(), Some(Reason::ShooterNotTracked));
}

#[test]
fn a_rare_cell_is_expected_by_its_openness() {
    let shot = |zone: i64, is_make: bool| QualityShot {
        group: 0,
        zone: Some(zone),
        openness: Openness::Open,
        is_make,
        is_three: false,
    };
    let common = (0..10).map(|number| shot(1, number < 5));
    let rare = (0..2).map(|_| QualityShot { group: 1, ..shot(2, true) });
    let rows = qualities(&common.chain(rare).collect::<Vec<_>>(), 2);
    let expected: Vec<f64> = rows.iter().flatten().map(|row| row.expected_efg).collect();
    assert!((expected[0] - 0.5).abs() < 1e-12 && (expected[1] - 7.0 / 12.0).abs() < 1e-12, "{expected:?}");
}

#[test]
fn a_sprint_lasts_a_second() {
    // Above 7 m/s for 0.8 s, then for 1.2 s.
    for (seconds, count) in [(0.8, 0), (1.2, 1)] {
        let course = move |t: f64| {
            (
                0.0,
                if t < 1.0 {
                    6.0 * t
                } else if t < 1.0 + seconds {
                    6.0 + 8.0 * (t - 1.0)
                } else {
                    6.0 + 8.0 * seconds + 6.0 * (t - 1.0 - seconds)
                } - 14.0,
            )
        };
        let session = session(sample(&course, 2.0 + seconds, 50.0, 0.0, 0));
        assert_eq!(loads(&session, &session.tracks[0], [2.0, 4.0, 5.5, 7.0])[0].sprints, count, "{seconds} s");
    }
}

#[test]
fn possessions_of_one_team_name_the_opponents_too() {
    // A sixth opponent inside the court, so that presence alone decides nothing.
    let mut tracks = game(PERFECT).tracks;
    let mut sixth = tracks[9].clone();
    sixth.object = Object::Player { team_id: AWAY, player_id: id(AWAY, 5) };
    tracks.push(sixth);
    let five = |team: i64| (0..5).map(|slot| id(team, slot)).collect::<Vec<i64>>();
    let possession = Possession {
        team_id: HOME,
        number: None,
        start_ms: at(0.0),
        end_ms: at(SECONDS),
        players: Vec::new(),
        opponents: five(AWAY),
    };
    let events = Events { possessions: vec![possession], offset_s: Some(0.0), ..Events::default() };
    let session = Session::new(tracks, events, COURT);
    assert_eq!(session.lineups.at(AWAY, at(30.0)).map(|five| five.to_vec()), Ok(five(AWAY)));
}

#[test]
fn one_shot_of_a_player_who_stands_hardly_moves_the_offset() {
    for seed in 0..20 {
        let track = Track::new(player(1), sample(&|_| (3.0, 2.0), 60.0, 2.0, 0.3, seed), &COURT);
        let shot = crate::offset::Shot { t_ms: at(30.2), player_id: 1, x: 3.0, y: 2.0 };
        let offset = crate::offset::estimate(&[track], &[shot]);
        assert!(offset.is_some_and(|offset| offset.seconds.abs() < 1.5), "{seed}: {offset:?}");
    }
}

#[test]
fn an_offset_out_of_reach_is_unknown() {
    for offset in [-20.0, 5.0] {
        let session = game(Sensors { offset, ..PERFECT });
        assert_eq!(session.offset_s, None, "{offset}");
        assert!(session.closest_offset.is_some(), "{offset}");
    }
    assert!(game(Sensors { offset: 3.0, ..PERFECT }).offset_s.is_some());
}

#[test]
fn line_ups_of_possessions_agree_or_are_unknown() {
    // Presence cannot decide: six players of the team are inside the court.
    let mut tracks = game(PERFECT).tracks;
    let mut sixth = tracks[9].clone();
    sixth.object = Object::Player { team_id: AWAY, player_id: id(AWAY, 5) };
    tracks.push(sixth);
    let five = |first: i64| (first..first + 5).map(|slot| id(AWAY, slot)).collect::<Vec<i64>>();
    let possession = |(start, end, first): (f64, f64, i64)| Possession {
        team_id: AWAY,
        number: None,
        start_ms: at(start),
        end_ms: at(end),
        players: five(first),
        opponents: Vec::new(),
    };
    // The last one ends before it starts, and says nothing.
    let spans = [(20.0, 30.0, 0), (40.0, 60.0, 0), (55.0, 70.0, 1), (80.0, 90.0, 0), (200.0, 150.0, 0)];
    let events = Events { possessions: spans.map(possession).to_vec(), offset_s: Some(0.0), ..Events::default() };
    let lineups = Session::new(tracks, events, COURT).lineups;
    let first = |t: f64| lineups.at(AWAY, at(t)).ok().map(|five| five[0] - id(AWAY, 0));
    for (t, expected) in [
        (14.9, None),
        (15.0, Some(0)),
        (25.0, Some(0)),
        (35.0, Some(0)),
        (50.0, Some(0)),
        (57.0, None),
        (60.0, None),
        (60.1, Some(1)),
        (75.0, None),
        (85.0, Some(0)),
        (95.0, Some(0)),
        (95.1, None),
        (180.0, None),
    ] {
        assert_eq!(first(t), expected, "{t}");
    }
}

/// Minutes without a possession are missing rows, during which others may have played.
#[test]
fn a_lineup_is_not_carried_over_a_long_hole() {
    let mut tracks = game(PERFECT).tracks;
    let mut sixth = tracks[9].clone();
    sixth.object = Object::Player { team_id: AWAY, player_id: id(AWAY, 5) };
    tracks.push(sixth);
    let possession = |(start, end): (f64, f64)| Possession {
        team_id: AWAY,
        number: None,
        start_ms: at(start),
        end_ms: at(end),
        players: (0..5).map(|slot| id(AWAY, slot)).collect(),
        opponents: Vec::new(),
    };
    let possessions = [(20.0, 30.0), (200.0, 210.0), (400.0, 410.0)].map(possession).to_vec();
    let events = Events { possessions, offset_s: Some(0.0), ..Events::default() };
    let lineups = Session::new(tracks, events, COURT).lineups;
    for (t, is_known) in [(100.0, true), (205.0, true), (300.0, false), (405.0, true)] {
        assert_eq!(lineups.at(AWAY, at(t)).is_ok(), is_known, "{t}");
    }
}

#[test]
fn slopes_at_equal_steps_are_those_of_the_spline() {
    let mut random = Random(3);
    for count in [1, 2, 3, 4, 5, 6, 40, 500] {
        let v: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let t: Vec<f64> = (0..count).map(|i| 0.04 * f64::from(i)).collect();
        let (even, any) = (crate::curve::even_slopes(0.04, &v), crate::curve::slopes(&t, &v));
        assert!(even.iter().zip(&any).all(|(a, b)| (a - b).abs() < 1e-8), "{count}");
        assert_eq!(even.len(), any.len());
    }
}

#[test]
fn a_wrong_label_moves_no_border_of_periods() {
    let label = |t: f64| if t < 300.0 { "H1" } else { "H2" };
    let mut marks: Vec<(i64, String)> =
        (0..60).map(|i| f64::from(i) * 10.0).map(|t| (at(t), label(t).into())).collect();
    marks[59].1 = "H1".into();
    marks[2].1 = "H2".into();
    let events = Events { periods: marks, offset_s: Some(0.0), ..Events::default() };
    let session = Session::new(Vec::new(), events, COURT);
    let periods: Vec<_> = session.periods.iter().map(|period| (period.label.as_deref(), period.end_ms)).collect();
    assert_eq!(periods, [(Some("H1"), at(295.0)), (Some("H2"), i64::MAX)]);
}

/// Every fifth position of some tracks of a game of ten frames a second.
fn game_with_slow(is_slow: impl Fn(Object) -> bool, events: Events) -> Session {
    let thin = |track: &Track| {
        let mut samples = Samples::default();
        for i in (0..track.len()).step_by(if is_slow(track.object) { 5 } else { 1 }) {
            samples.push(track.t_ms[i], track.x[i], track.y[i], track.z[i]);
        }
        Track::new(track.object, samples, &COURT)
    };
    Session::new(game(PERFECT).tracks.iter().map(thin).collect(), events, COURT)
}

#[test]
fn a_slow_tag_among_fast_ones_has_its_own_rate() {
    let slow = Object::Player { team_id: AWAY, player_id: id(AWAY, 4) };
    let session = game_with_slow(|object| object == slow, Events::default());
    let all_slow = game_with_slow(|_| true, Events::default());
    let number = session.tracks.len() - 1;
    assert!(session.rate_hz.is_some_and(|rate| (rate - 10.0).abs() < 1e-9));
    let load = |session: &Session| loads(session, &session.tracks[number], [2.0, 4.0, 5.5, 7.0])[0];
    assert!(!load(&session).has_efforts);
    assert_eq!(load(&session).distance_m(), load(&all_slow).distance_m());
    let times = session.frame_times(None);
    let rows = frames(&session, &times, false, false);
    assert_eq!(rows.iter().filter(|row| row.track as usize == number).count(), all_slow.tracks[number].len());
    for row in rows {
        let is_slow = row.track as usize == number;
        assert_eq!(row.reason, is_slow.then_some(Reason::RateTooLow));
        assert_eq!(row.acceleration_mps2.is_none(), is_slow);
    }
    // Without possessions the line-up is that of those who are inside the court.
    let five: Vec<i64> = (0..5).map(|slot| id(AWAY, slot)).collect();
    assert_eq!(session.lineups.at(AWAY, at(30.0)).map(|five| five.to_vec()), Ok(five));
}
