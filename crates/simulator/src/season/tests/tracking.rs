//! Positions.

use super::*;
use crate::model::locations::Location;
use crate::season::game_log::{Act, GamePossession, PlayEvent};
use crate::season::limits::{Stride, follow, reachable};
use crate::season::motion::Motion;
use crate::season::path::Point;
use crate::season::rng::Rng;

#[test]
fn locations_are_ten_players_and_the_ball_on_a_grid_and_nobody_jumps() {
    let season = small();
    let game = games(&season).into_iter().find(|game| game.ended_at < NOW).unwrap();
    for half in &game.results {
        let all = locations(&season, &half.id, half.started_at, half.ended_at, NOW).unwrap();
        assert_eq!(all.len() as i64, (half.ended_at - half.started_at) / 500 + 1);
        let mut last: BTreeMap<i64, (i64, f64, f64)> = BTreeMap::new();
        let (mut fastest, mut paths) = (0.0_f64, 0.0);
        for (step, batch) in all.iter().enumerate() {
            let t = half.started_at + step as i64 * 500;
            assert_eq!(batch.locations.len(), 11);
            let (players, balls): (Vec<_>, Vec<_>) = batch.locations.iter().partition(|l| l.kind == "PLAYER");
            assert_eq!((balls[0].kind.as_str(), balls[0].pid, balls[0].tid), ("BALL", None, None));
            for location in &batch.locations {
                assert_eq!((location.t, location.sid.as_str()), (t, half.id.as_str()));
                assert!(location.x.abs() <= 7620.0 && location.y.abs() <= 14326.0, "{location:?}");
            }
            for player in players {
                let now = (t, player.x, player.y);
                if let Some(before) = last.insert(player.pid.unwrap(), now).filter(|before| before.0 == t - 500) {
                    let path = ((now.1 - before.1).powi(2) + (now.2 - before.2).powi(2)).sqrt();
                    fastest = fastest.max(path / 500.0);
                    paths += path / 1000.0;
                    // A change of players takes over a seat of the lineup: then the speed is the seat's.
                    assert!((player.speed - path / 500.0).abs() < 0.01, "{player:?}");
                }
            }
        }
        let kilometres = paths / 10_000.0;
        assert!(fastest < 8.5, "{fastest} m/s");
        assert!((1.5..5.0).contains(&kilometres), "{kilometres} km a player");
    }
}

/// In a zone the defenders keep their areas, so that attackers who wander are farther from theirs.
#[test]
fn some_possessions_are_defended_in_a_zone_and_shift_with_the_ball() {
    let season = small();
    let (mut gaps, mut shifts) = ([Vec::new(), Vec::new()], Vec::new());
    for game in 0..6 {
        let log = season.play(game).unwrap();
        for period in &log.periods {
            let motion = Motion::new(game as u64, &log.sides, period, None);
            for (index, possession) in period.possessions.iter().enumerate() {
                let is_zone = motion::is_zone(game as u64, index);
                let [attackers, defenders] =
                    [possession.side, 1 - possession.side].map(|side| (side, possession.on_court[side]));
                let first = possession.play_events.first().map_or(possession.ended_at, |event| event.at);
                for at in (possession.started_at + 12_000..first - 2000).step_by(1000) {
                    let gap = (0..5).map(|seat| {
                        let [attacker, defender] =
                            [attackers, defenders].map(|(side, five)| motion.player(side, five[seat], at));
                        attacker.distance(defender) / 5000.0
                    });
                    gaps[usize::from(is_zone)].push(gap.sum::<f64>());
                    if is_zone {
                        let centre = motion.player(defenders.0, defenders.1[4], at);
                        shifts.push((centre.x, motion.ball(at).0.x));
                    }
                }
            }
        }
    }
    let share = gaps[1].len() as f64 / (gaps[0].len() + gaps[1].len()) as f64;
    let [man, zone] = gaps.map(|gaps| gaps.iter().sum::<f64>() / gaps.len() as f64);
    let with_ball = shifts.iter().filter(|(centre, ball)| centre * ball > 0.0).count();

    assert!((0.05..0.16).contains(&share), "{share}");
    assert!(man < 2.6 && zone > man + 0.6, "{man} m man to man, {zone} m in a zone");
    assert!(with_ball * 4 > shifts.len() * 3, "{with_ball} of {}", shifts.len());
}

/// At every moment, not only on average over a frame: of places 20 ms apart, in games of several seeds.
#[test]
fn nobody_exceeds_the_limits_to_be_where_events_need_him() {
    for seed in [1, 7, 8, 2027] {
        let season = Season::new(seed, Sport::Basketball, 16, 40, NOW);
        for game in 0..3 {
            let log = season.play(game).unwrap();
            for (part, period) in log.periods.iter().enumerate() {
                let motion = Motion::new(seed, &log.sides, period, log.periods.get(part + 1));
                for possession in &period.possessions {
                    for side in 0..2 {
                        for member in possession.on_court[side] {
                            let places = (possession.started_at..possession.ended_at).step_by(20);
                            check_limits(places.map(|at| motion.player(side, member, at)));
                        }
                    }
                    for event in &possession.play_events {
                        check_release(&motion, possession, event);
                    }
                }
            }
        }
    }
}

/// Whatever is asked: the pose gives way, and never the limits.
#[test]
fn a_pose_out_of_reach_gives_way() {
    let mut rng = Rng::with_key(1, &[]);
    for _ in 0..2000 {
        let mut draw = |x: i64, y: i64| Point { x: rng.within(-x, x) as f64, y: rng.within(-y, y) as f64 };
        let (from, to, way) = (draw(5000, 11_000), draw(7400, 14_000), draw(9000, 16_000));
        let [start, end] = [draw(3000, 3000), draw(8000, 8000)].map(|velocity| velocity * 0.001);
        let at = rng.within(1, 6000) as f64;
        let from = Stride { place: from, velocity: start, ..Stride::default() };
        let to = reachable(from, Stride { at, place: to, velocity: end, ..Stride::default() });
        let mut strides = follow(from, to, |t| way * (t / 3000.0).min(1.0));
        strides.push(to);
        for pair in strides.windows(2) {
            let end = pair[0].after(pair[1].at);
            assert!(end.place.distance(pair[1].place) < 0.01, "{from:?} {to:?} {pair:?}");
            assert!(end.velocity.distance(pair[1].velocity) < 1e-5, "{from:?} {to:?} {pair:?}");
            assert!(pair[0].acceleration.length() <= 0.005 && end.velocity.length() <= 8.5, "{pair:?}");
            assert!(end.place.x.abs() < 7620.0 && end.place.y.abs() < 14_326.0, "{pair:?}");
        }
    }
}

fn check_limits(places: impl Iterator<Item = Point>) {
    let (mut last, mut last_velocity) = (None, None);
    for place in places {
        assert!(place.x.abs() < 7620.0 && place.y.abs() < 14_326.0, "{place:?}");
        let velocity = last.map(|last| (place - last) * (1.0 / 20.0));
        if let (Some(velocity), Some(last_velocity)) = (velocity, last_velocity) {
            let acceleration = (velocity - last_velocity) * 50.0;
            assert!(velocity.length() <= 8.5 && acceleration.length() <= 5.0, "{velocity:?} {acceleration:?}");
        }
        (last, last_velocity) = (Some(place), velocity);
    }
}

fn check_release(motion: &Motion, possession: &GamePossession, event: &PlayEvent) {
    let Act::Shot { defender, gap, .. } = event.act else { return };
    let place = Point { x: event.place.x as f64, y: event.place.y as f64 };
    assert!(motion.player(event.side, event.member, event.at).distance(place) < 1.0, "{event:?}");
    for member in possession.on_court[1 - event.side] {
        let away = motion.player(1 - event.side, member, event.at).distance(place) - gap as f64;
        assert!(if member == defender { away.abs() < 10.0 } else { away > 100.0 }, "{event:?} {member} {away}");
    }
}

#[test]
fn a_shooter_is_where_the_shot_is_taken() {
    let season = small();
    let game = games(&season).into_iter().find(|game| game.ended_at < NOW).unwrap();
    let half = &game.results[0];
    let session = season.session(&half.id, NOW).unwrap();
    let all = locations(&season, &half.id, half.started_at, half.ended_at, NOW).unwrap();
    let shooters = session.shots.iter().flat_map(|team| &team.player_shots);
    let mut away = Vec::new();
    for (player, shot) in shooters.flat_map(|player| player.shots.iter().map(move |shot| (player.id, shot))) {
        let step = (shot.occurred_at - half.started_at + 250) / 500;
        let shooter = all[step as usize].locations.iter().find(|location| location.pid == Some(player)).unwrap();
        away.push((shooter.x - shot.player_x).abs().max((shooter.y - shot.player_y).abs()));
        let seen = clock(shooter.gc.as_ref().unwrap());
        assert!((seen - clock(shot.game_clock.as_ref().unwrap())).abs() < 0.5, "{shooter:?} {shot:?}");
    }
    away.sort_by(f64::total_cmp);

    assert!(away[away.len() / 2] < 20.0 && away[away.len() * 9 / 10] < 150.0, "{away:?}");
}

#[test]
fn every_occurrence_is_where_its_player_is() {
    let sensors = Sensors { step: 20, ..Sensors::default() };
    for seed in [1, 7] {
        let season = Season::new(seed, Sport::Basketball, 16, 40, NOW).sensed_by(sensors);
        for half in games(&season).into_iter().take(2).flat_map(|game| game.results) {
            let session = season.session(&half.id, NOW).unwrap();
            let players = session.details.iter().flat_map(|team| &team.player_stats).filter(|player| player.id != 0);
            let stats = players.flat_map(|player| player.stats.iter().map(move |(_, list)| (player.id, list)));
            let mut events = BTreeMap::<_, Vec<_>>::new();
            for (id, event) in stats.flat_map(|(id, list)| list.iter().map(move |event| (id, event))) {
                let t = event.occurred_at - (event.occurred_at - half.started_at) % 20;
                events.entry((t, id)).or_default().push(event);
            }
            for batch in locations(&season, &half.id, half.started_at, half.ended_at, NOW).unwrap() {
                for at in batch.locations {
                    for event in at.pid.and_then(|id| events.remove(&(at.t, id))).into_iter().flatten() {
                        let away = ((at.x - event.x.unwrap()).powi(2) + (at.y - event.y.unwrap()).powi(2)).sqrt();
                        assert!(away <= 1000.0, "{away} mm: {event:?}");
                    }
                }
            }
            assert!(events.is_empty(), "without a place: {events:?}");
        }
    }
}

#[test]
fn windows_of_locations_join_without_a_seam() {
    let season = small();
    let game = games(&season).into_iter().find(|game| game.ended_at < NOW).unwrap();
    let half = &game.results[0];
    let (from, to) = (half.started_at, half.started_at + 60_000);
    let window = |from, to| locations(&season, &half.id, from, to, NOW).unwrap();
    let complete = window(from, to);
    let (mut first, second) = (window(from, from + 30_000), window(from + 30_000, to));
    assert_eq!(first.pop().as_ref(), second.first());
    first.extend(second);
    assert_eq!(first, complete);
    assert_eq!(window(from + 1, from + 499).len(), 0);
    assert_eq!(locations(&season, "nothing", from, to, NOW), None);
}

#[test]
fn the_clocks_of_locations_never_rise() {
    let season = small();
    let game = games(&season).into_iter().find(|game| game.ended_at < NOW).unwrap();
    for half in &game.results {
        let mut left = f64::INFINITY;
        for batch in locations(&season, &half.id, half.started_at, half.ended_at, NOW).unwrap() {
            let now = clock(batch.locations[0].gc.as_ref().unwrap());
            assert!(now <= left);
            left = now;
        }
        assert_eq!(left, 0.0);
    }
}

#[test]
fn a_finer_grid_passes_through_the_same_points() {
    let season = small();
    let game = games(&season).into_iter().find(|game| game.ended_at < NOW).unwrap();
    let half = &game.results[0];
    let first_minute =
        |season: &Season| locations(season, &half.id, half.started_at, half.started_at + 60_000, NOW).unwrap();
    let coarse = first_minute(&season);
    for hz in [20, 25, 50] {
        let fine = first_minute(&small().sensed_by(Sensors { step: 1000 / hz, ..Sensors::default() }));
        assert_eq!(fine.len() as i64, 60 * hz + 1);
        let times: Vec<i64> = fine.iter().map(|batch| batch.locations[0].t - half.started_at).collect();
        assert!(times.iter().enumerate().all(|(step, t)| *t == step as i64 * 1000 / hz));
        // The speed is that of the last step: over a shorter one it is another.
        let place = |location: &Location| (location.t, location.tag.clone(), location.pid, location.x, location.y);
        let places = |batches: &[LocationBatch]| -> BTreeSet<String> {
            batches.iter().flat_map(|batch| &batch.locations).map(|location| format!("{:?}", place(location))).collect()
        };
        let shared_places = places(&coarse).intersection(&places(&fine)).count();
        assert_eq!(
            shared_places,
            coarse.iter().filter(|batch| (batch.locations[0].t - half.started_at) % (1000 / hz) == 0).count() * 11
        );
        let fastest = fine.iter().flat_map(|batch| &batch.locations).filter(|l| l.kind == "PLAYER").map(|l| l.speed);
        assert!(fastest.fold(0.0, f64::max) < 8.5);
    }
}
