use super::paths::START_MS;
use super::teams::*;
use crate::defenders::{Defender, Moment, defender};
use crate::matchups::matchups;
use crate::opponents::opponents;
use crate::reason::Reason;
use crate::session::Session;
use crate::track::Object;

/// The response to each shot, with its true time and shooter.
fn responses(session: &Session, sensors: Sensors) -> Vec<(f64, i64, Result<Defender, Reason>)> {
    let response = |(t, slot): (f64, i64)| {
        let moment = Moment {
            t_ms: Some(START_MS + ((t - sensors.offset) * 1000.0).round() as i64),
            is_event_time: true,
            player_id: Some(id(HOME, slot)),
            place: Some(place(HOME, slot, t)),
            hoop: Some((0.0, 12.7)),
        };
        (t, slot, defender(session, &moment))
    };
    shots().into_iter().map(response).collect()
}

fn distance_at(t: f64, shooter: i64, team: i64, slot: i64) -> f64 {
    let (a, b) = (place(HOME, shooter, t), place(team, slot, t));
    (a.0 - b.0).hypot(a.1 - b.1)
}

fn nearest(t: f64, shooter: i64) -> (i64, f64) {
    let all = (0..5).map(|slot| (id(AWAY, slot), distance_at(t, shooter, AWAY, slot)));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

#[test]
fn complete_frames_name_the_nearest() {
    let session = game(PERFECT);
    assert!(session.offset_s.is_some_and(|offset| offset.abs() < 0.01), "{:?}", session.offset_s);
    for (t, slot, response) in responses(&session, PERFECT) {
        let response = response.unwrap_or_else(|reason| panic!("{t}: {reason:?}"));
        let (defender_id, distance) = nearest(t, slot);
        assert_eq!(response.defender_id, defender_id, "{t}");
        assert!((response.distance_m - distance).abs() < 0.03, "{t}: {} {distance}", response.distance_m);
    }
}

#[test]
fn poor_sensors_never_name_a_substitute() {
    for (seed, offset) in [(1, -1.0), (2, -0.4), (3, 0.0), (4, 0.7), (5, 1.0)] {
        for has_lineups in [true, false] {
            let sensors = Sensors { rate: 2.0, noise: 0.3, offset, substitutes: 5, has_lineups, seed, ..PERFECT };
            let session = game(sensors);
            let error = session.offset_s.map_or(9.0, |found_offset| (found_offset - offset).abs());
            assert!(error <= 0.15, "offset {offset}: {:?}", session.offset_s);
            check_answers(&session, sensors, 0.8);
        }
    }
}

fn check_answers(session: &Session, sensors: Sensors, least_share: f64) {
    let rows = responses(session, sensors);
    let names: Vec<(f64, i64, Defender)> =
        rows.iter().filter_map(|(t, slot, response)| Some((*t, *slot, response.ok()?))).collect();
    assert!(names.len() as f64 >= least_share * rows.len() as f64, "{} of {}", names.len(), rows.len());
    let is_near = |(t, slot, response): &&(f64, i64, Defender)| {
        let defender_slot = response.defender_id - AWAY * 100;
        assert!((0..5).contains(&defender_slot), "{} is not on court", response.defender_id);
        distance_at(*t, *slot, AWAY, defender_slot) <= nearest(*t, *slot).1 + 0.5
    };
    let near = names.iter().filter(is_near).count();
    assert!(near as f64 >= 0.97 * names.len() as f64, "{near} of {} are near", names.len());
}

#[test]
fn dropouts_and_teleports_leave_most_answers() {
    for has_lineups in [true, false] {
        let sensors = Sensors {
            rate: 10.0,
            noise: 0.1,
            offset: 0.7,
            dropouts: 0.1,
            teleports: 0.05,
            substitutes: 5,
            has_lineups,
            ..PERFECT
        };
        check_answers(&game(sensors), sensors, 0.9);
    }
}

#[test]
fn a_missing_team_names_nobody() {
    let mut session = game(PERFECT);
    session.tracks.retain(|track| !matches!(track.object, Object::Player { team_id: AWAY, .. }));
    let responses = responses(&session, PERFECT);
    assert!(responses.iter().all(|(.., response)| *response == Err(Reason::TooFewOpponents)));
}

#[test]
fn null_has_a_reason() {
    let session = game(PERFECT);
    let at = |t: f64| Some(START_MS + (t * 1000.0) as i64);
    let shot = Moment { t_ms: at(30.0), is_event_time: true, player_id: Some(id(HOME, 1)), ..Moment::default() };
    assert!(defender(&session, &shot).is_ok());
    let reason = |moment: Moment| defender(&session, &moment).err();
    assert_eq!(reason(Moment { player_id: Some(7), ..shot }), Some(Reason::ShooterNotTracked));
    assert_eq!(reason(Moment { player_id: None, ..shot }), Some(Reason::ShooterNotTracked));
    assert_eq!(reason(Moment { t_ms: None, ..shot }), Some(Reason::ClockUnknown));
    assert_eq!(reason(Moment { t_ms: at(SECONDS + 5.0), ..shot }), Some(Reason::Gap));
    let (x, y) = place(HOME, 1, 30.0);
    assert_eq!(reason(Moment { place: Some((x + 1.1, y)), ..shot }), Some(Reason::PlaceDisagrees));
    assert_eq!(reason(Moment { place: Some((x + 0.9, y)), ..shot }), None);
    let mut without_offset = game(PERFECT);
    without_offset.offset_s = None;
    assert_eq!(defender(&without_offset, &shot).err(), Some(Reason::ClockUnknown));
    assert!(defender(&without_offset, &Moment { is_event_time: false, ..shot }).is_ok());
}

#[test]
fn one_unseen_opponent_is_too_few() {
    let mut session = game(PERFECT);
    for track in &mut session.tracks {
        if track.object == (Object::Player { team_id: AWAY, player_id: id(AWAY, 4) }) {
            let keep = |t: &i64| (t - START_MS - 30_000).abs() > 600;
            let places: Vec<usize> = (0..track.len()).filter(|i| keep(&track.t_ms[*i])).collect();
            for values in [&mut track.x, &mut track.y, &mut track.z] {
                *values = places.iter().map(|i| values[*i]).collect();
            }
            track.t_ms = places.iter().map(|i| track.t_ms[*i]).collect();
        }
    }
    let shot = Moment { t_ms: Some(START_MS + 30_000), player_id: Some(id(HOME, 1)), ..Moment::default() };
    assert_eq!(defender(&session, &shot).err(), Some(Reason::TooFewOpponents));
}

#[test]
fn a_sixth_player_on_court_leaves_the_lineup_unknown() {
    let mut session = game(Sensors { has_lineups: false, ..PERFECT });
    let mut extra = session.tracks[9].clone();
    extra.object = Object::Player { team_id: AWAY, player_id: id(AWAY, 5) };
    session.tracks.push(extra);
    let events = crate::session::Events { offset_s: Some(0.0), ..Default::default() };
    let session = Session::new(session.tracks, events, super::paths::COURT);
    let shot = Moment { t_ms: Some(START_MS + 30_000), player_id: Some(id(HOME, 1)), ..Moment::default() };
    assert_eq!(defender(&session, &shot).err(), Some(Reason::LineupUnknown));
}

#[test]
fn opponents_at_each_frame_are_the_nearest() {
    let session = game(Sensors { substitutes: 2, ..PERFECT });
    let times = session.frame_times(None);
    let rows = opponents(&session, &times, false);
    assert_eq!(rows.len(), 14 * times.len());
    for row in rows.iter().step_by(97) {
        let Object::Player { team_id: HOME, player_id } = session.tracks[row.track as usize].object else { continue };
        if player_id - 100 < 5 {
            let t = (times[row.frame as usize] - START_MS) as f64 / 1000.0;
            let (defender_id, distance) = nearest(t, player_id - 100);
            let (named_id, named_distance) = row.nearest.unwrap_or((0, 0.0));
            assert_eq!(named_id, defender_id);
            assert!((named_distance - distance).abs() < 1e-9);
        }
    }
}

#[test]
fn matchups_count_the_time_in_possession() {
    let session = game(PERFECT);
    let pairs = matchups(&session);
    let total: f64 = pairs.values().map(|pair| pair.seconds).sum();
    // Five attackers for 600 s: 580 s of home, 20 s of away.
    assert!((total - 3000.0).abs() < 5.0, "{total}");
    let of_away: f64 = pairs.iter().filter(|(key, _)| key.0 == AWAY).map(|(_, pair)| pair.seconds).sum();
    assert!((of_away - 100.0).abs() < 3.0, "{of_away}");
}
