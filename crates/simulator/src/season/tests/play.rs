//! The simulated game is basketball: positions agree with what the events say, and nobody does what no player can.

use super::*;
use crate::model::game_shots::GameShot;
use crate::model::locations::Location;

/// Four frames a second of the first games, with the shots of each.
fn frames_of(sensors: Sensors) -> impl Iterator<Item = (Vec<GameShot>, Vec<LocationBatch>)> {
    let season = small().sensed_by(Sensors { step: 250, ..sensors });
    let finished_games = games(&season).into_iter().filter(|game| game.ended_at < NOW).take(4);
    finished_games.map(move |game| {
        let halves = game.results.iter();
        let frames = halves.flat_map(|half| locations(&season, &half.id, half.started_at, half.ended_at, NOW).unwrap());
        (season.whole(&game.id, NOW).unwrap().shots(), frames.collect())
    })
}

fn frame(frames: &[LocationBatch], at: i64) -> &[Location] {
    let time = |batch: &LocationBatch| batch.locations.first().map_or(i64::MAX, |location| location.t);
    let after = frames.partition_point(|batch| time(batch) <= at);
    &frames[after.saturating_sub(1)].locations
}

fn away(item: &Location, x: f64, y: f64) -> f64 {
    (item.x - x).hypot(item.y - y)
}

/// The opponents at a time, the nearest to a point first.
fn opponents(frames: &[LocationBatch], shot: &GameShot, at: i64, x: f64, y: f64) -> Vec<(i64, f64, f64)> {
    let team: i64 = shot.tid.parse().unwrap();
    let others = frame(frames, at).iter().filter(|item| item.tid.is_some_and(|other| other != team));
    let mut others: Vec<_> = others.map(|item| (item.pid.unwrap(), away(item, x, y), item.y)).collect();
    others.sort_by(|item, other| item.1.total_cmp(&other.1));
    others
}

fn share(flags: impl Iterator<Item = bool>) -> f64 {
    let all: Vec<bool> = flags.collect();
    all.iter().filter(|is| **is).count() as f64 / all.len() as f64
}

/// Time, place and velocity of a player.
type LastFrame = (i64, [f64; 2], Option<[f64; 2]>);

#[test]
fn a_shot_names_the_nearest_defender_who_is_as_near_as_in_real_games() {
    let games: Vec<_> = frames_of(Sensors::default()).collect();
    let shots: Vec<_> = games.iter().flat_map(|(shots, frames)| shots.iter().map(move |shot| (shot, frames))).collect();
    assert!(shots.iter().all(|(shot, _)| shot.shot_defenders.len() == 1));
    let nearest: Vec<_> =
        shots.iter().map(|(shot, frames)| opponents(frames, shot, shot.t, shot.px, shot.py)).collect();
    let named_share = share(shots.iter().zip(&nearest).map(|((shot, _), near)| near[0].0 == shot.shot_defenders[0]));
    assert!(named_share > 0.99, "{named_share}");
    let is_set =
        share(shots.iter().zip(&nearest).map(|((shot, _), near)| near.iter().all(|item| item.2 * shot.hy > 0.0)));
    assert!(is_set > 0.95, "{is_set}");
    for (from, to, real) in [(0.0, 2.0, 0.183), (2.0, 4.0, 0.364), (4.0, 6.0, 0.275), (6.0, 99.0, 0.178)] {
        let band = share(nearest.iter().map(|near| (from * 304.8..to * 304.8).contains(&near[0].1)));
        assert!((band - real).abs() < 0.07, "{from} ft: {band}");
    }
}

#[test]
fn a_second_before_a_shot_positions_do_not_tell_its_outcome() {
    let mut distances = [Vec::new(), Vec::new()];
    for (shots, frames) in frames_of(Sensors::default()) {
        for shot in &shots {
            let before = frame(&frames, shot.t - 1000);
            let Some(shooter) = before.iter().find(|item| item.pid.is_some_and(|id| id.to_string() == shot.pid)) else {
                continue;
            };
            let near = opponents(&frames, shot, shot.t - 1000, shooter.x, shooter.y);
            distances[usize::from(shot.st == "MAKE")].push(near[0].1 / 304.8);
        }
    }
    let medians = distances.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    assert!((medians[0] - medians[1]).abs() < 0.9, "{medians:?} ft before misses and makes");
}

#[test]
fn nobody_runs_or_turns_faster_than_a_player_can() {
    let (mut fastest, mut turns) = (0.0_f64, Vec::new());
    for (_, frames) in frames_of(Sensors::default()).take(2) {
        let mut last: BTreeMap<i64, LastFrame> = BTreeMap::new();
        for item in frames.iter().flat_map(|batch| &batch.locations).filter(|item| item.pid.is_some()) {
            let before = last.get(&item.pid.unwrap()).filter(|before| item.t - before.0 == 250).copied();
            let velocity = before.map(|(_, [x, y], _)| [(item.x - x) / 250.0, (item.y - y) / 250.0]);
            fastest = velocity.map_or(fastest, |[x, y]| fastest.max(x.hypot(y)));
            if let (Some([x, y]), Some(Some([fx, fy]))) = (velocity, before.map(|before| before.2)) {
                turns.push((x - fx).hypot(y - fy) * 4.0);
            }
            last.insert(item.pid.unwrap(), (item.t, [item.x, item.y], velocity));
        }
    }
    turns.sort_by(f64::total_cmp);
    assert!(fastest < 8.5, "{fastest} m/s");
    assert!(turns[turns.len() * 99 / 100] < 5.0, "{} m/s2", turns[turns.len() * 99 / 100]);
}

#[test]
fn imperfect_sensors_tell_the_same_game_less_well() {
    let others = |sensors: Sensors| frames_of(sensors).next().unwrap();
    let (shots, frames) = others(Sensors::default());
    let (_, noisy) = others(Sensors { noise: 300, ..Sensors::default() });
    let pairs = frames.iter().zip(&noisy).flat_map(|(item, other)| item.locations.iter().zip(&other.locations));
    let (sum, count) =
        pairs.fold((0.0, 0.0), |(sum, count), (item, other)| (sum + (item.x - other.x).powi(2), count + 1.0));
    assert!(((sum / count).sqrt() - 300.0).abs() < 15.0, "{}", (sum / count).sqrt());
    let (_, lossy) = others(Sensors { dropout: 200, ..Sensors::default() });
    let left = lossy.iter().map(|batch| batch.locations.len()).sum::<usize>() as f64 / (11 * frames.len()) as f64;
    assert!((left - 0.8).abs() < 0.01, "{left}");
    let (_, late) = others(Sensors { lag: 1000, ..Sensors::default() });
    let places =
        |batch: &LocationBatch| batch.locations.iter().map(|item| (item.pid, item.x as i64)).collect::<Vec<_>>();
    assert_eq!(places(&frames[100]), places(&late[104]));
    let (_, bench_frames) = others(Sensors { bench: true, ..Sensors::default() });
    assert!(bench_frames[0].locations.len() > 20 && bench_frames[0].locations.iter().any(|item| item.x > 8000.0));
    let (other_shots, _) = others(Sensors { wrong_defenders: 250, ..Sensors::default() });
    let error_share =
        share(shots.iter().zip(&other_shots).map(|(item, other)| item.shot_defenders != other.shot_defenders));
    assert!((error_share - 0.25).abs() < 0.1, "{error_share}");
}
