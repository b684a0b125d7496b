//! Football games: real quarters; plays, codes, points and coordinates are invented, because the service's are unknown.
//! Every code is marked as invented. The frame is that of a court: millimetres from the centre, `x` across, `y` along the field.

use super::clocks::{self, ClockFormat};
use super::game_log::{GameLog, GamePeriod, Side};
use super::links;
use super::rng::Rng;
use super::schedule::MINUTE;
use super::tracking::{self, ease};
use crate::model::locations::{Location, LocationBatch};
use crate::model::stats::{PlayerStats, TeamStats};
use crate::model::stats_details::{Occurrence, PlayerOccurrences, TeamDetails};
use crate::model::team::Team;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const QUARTER: i64 = 15 * MINUTE;
const CODES: [&str; 3] = ["INVENTED_PLAYS", "INVENTED_YARDS", "INVENTED_POINTS"];
/// Milliseconds from the snap to the end of a play.
const PLAY: i64 = 6000;
const YARD: f64 = 914.4;
/// Half the distance of the hash marks, in millimetres: a play starts between them.
const HASH: i64 = 6096;
/// The goal line, in yards from the centre.
const GOAL: i64 = 50;

/// Where the eleven stand before the snap, in yards from the ball: across, and away from the line of scrimmage.
const OFFENCE: [(f64, f64); 11] = [
    (0.0, 5.0),
    (1.5, 7.0),
    (-21.0, 1.0),
    (20.0, 1.0),
    (6.0, 1.0),
    (-4.0, 1.0),
    (-2.0, 1.0),
    (0.0, 1.0),
    (2.0, 1.0),
    (4.0, 1.0),
    (-12.0, 2.0),
];
const DEFENCE: [(f64, f64); 11] = [
    (-5.0, 1.0),
    (-1.5, 1.0),
    (1.5, 1.0),
    (5.0, 1.0),
    (-6.0, 5.0),
    (0.0, 5.0),
    (6.0, 5.0),
    (-20.0, 7.0),
    (19.0, 7.0),
    (-8.0, 13.0),
    (8.0, 13.0),
];

/// Four quarters without basketball events.
pub(super) fn game(mut rng: Rng, starts_at: i64, sides: [Side; 2], id: impl Fn(u64) -> String) -> GameLog {
    let mut at = starts_at;
    let periods = (0..4)
        .map(|part: u64| {
            // Half-time belongs to the second quarter, so that sessions touch.
            let half_time = if part == 1 { 15 * MINUTE } else { 0 };
            let started_at = at;
            at += rng.within(36, 46) * MINUTE + half_time;
            GamePeriod {
                id: id(part),
                name: format!("Q{}", part + 1),
                started_at,
                ended_at: at,
                possessions: Vec::new(),
            }
        })
        .collect();
    GameLog { sides, clocks: ClockFormat::draw(&mut rng), periods, corrections: Vec::new() }
}

/// Time left in a quarter: its clock runs evenly.
pub(super) fn clock(period: &GamePeriod, now: i64) -> i64 {
    let wall = (period.ended_at - period.started_at).max(1);
    QUARTER - QUARTER * (now.clamp(period.started_at, period.ended_at) - period.started_at) / wall
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct FieldPoint {
    x: f64,
    y: f64,
}

impl FieldPoint {
    fn towards(self, other: FieldPoint, part: f64) -> FieldPoint {
        FieldPoint { x: self.x + (other.x - self.x) * part, y: self.y + (other.y - self.y) * part }
    }
}

struct FootballPlay {
    /// Its end.
    at: i64,
    clock: i64,
    /// The side with the ball.
    side: usize,
    /// The one of its eleven who has the ball, from 0.
    carrier: usize,
    yards: i64,
    points: i64,
    /// 1 where the side attacks towards positive `y`, else -1.
    towards: f64,
    snap: FieldPoint,
    end: FieldPoint,
}

/// The plays of a period, by time: drives of four downs that end in a touchdown, a field goal or the other side's ball.
fn plays(game_log: &GameLog, period: &GamePeriod) -> Vec<FootballPlay> {
    // Keyed by session id: a period always has the same plays.
    let key = period.id.bytes().fold(1, |key: u64, byte| key.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut rng = Rng::with_key(key, &[0xF007]);
    let (count, wall) = (rng.within(30, 38), period.ended_at - period.started_at);
    let part = game_log.periods.iter().position(|other| other.id == period.id).unwrap_or(0);
    // Yards from the side's own goal line, and what is left to gain.
    let (mut side, mut spot, mut down, mut left) = (part % 2, 25, 1, 10);
    let mut plays = Vec::new();
    for number in 1..=count {
        // The sides change ends with each quarter.
        let towards = if (side + part) % 2 == 0 { 1.0 } else { -1.0 };
        let is_kick = down == 4 && spot >= 65;
        let yards = if is_kick { 0 } else { rng.within(-4, 12).min(2 * GOAL - spot).max(1 - spot) };
        let is_touchdown = spot + yards == 2 * GOAL;
        let points = if is_kick { 3 } else { 7 * i64::from(is_touchdown) };
        let place = |spot: i64, x: i64| FieldPoint { x: x as f64, y: towards * (spot - GOAL) as f64 * YARD };
        let snap = place(spot, rng.within(-HASH, HASH));
        plays.push(FootballPlay {
            at: period.started_at + wall * number / (count + 1),
            clock: QUARTER - QUARTER * number / (count + 1),
            side,
            carrier: rng.index(5),
            yards,
            points,
            towards,
            snap,
            end: place(spot + yards, snap.x as i64 + rng.within(-4000, 4000)),
        });
        (spot, left) = (spot + yards, left - yards);
        (down, left) = if left <= 0 { (1, 10) } else { (down + 1, left) };
        if points > 0 {
            (side, spot, down, left) = (1 - side, 25, 1, 10);
        } else if down > 4 {
            (side, spot, down, left) = (1 - side, (60 - spot).max(20), 1, 10);
        }
    }
    plays
}

/// The score over the first periods of a game up to `now`, home first.
pub(super) fn score(game_log: &GameLog, periods: usize, now: i64) -> [i64; 2] {
    let mut score = [0, 0];
    for period in game_log.periods.iter().take(periods) {
        plays(game_log, period).iter().filter(|play| play.at <= now).for_each(|play| score[play.side] += play.points);
    }
    score
}

/// The members of a side on the field: its first eleven attack, the next eleven defend.
fn eleven(side: &Side, has_ball: bool) -> impl Iterator<Item = usize> {
    let count = side.members.len();
    let first = if has_ball { 0 } else { count.saturating_sub(11).min(11) };
    first..count.min(first + 11)
}

/// One batch for each time step in `from..=to` of a period: twenty-two players and the ball.
pub(super) fn batches<'a>(
    game_log: &'a GameLog,
    teams: [&'a Team; 2],
    period: &'a GamePeriod,
    (from, to): (i64, i64),
    step: i64,
) -> impl Iterator<Item = LocationBatch> + 'a {
    let plays = plays(game_log, period);
    tracking::steps(period, from, to, step).map(move |t| {
        // The play that is on, or comes next; after the last one its players stay.
        let number = plays.partition_point(|play| play.at < t).min(plays.len() - 1);
        let before = (t - step).max(period.started_at);
        let location = |kind: &str, tag: String, point_at: &dyn Fn(i64) -> FieldPoint, z: f64| {
            let (at, previous) = (point_at(t), point_at(before));
            let (x, y) = (at.x - previous.x, at.y - previous.y);
            Location {
                x: at.x.round(),
                t,
                z,
                kind: kind.to_owned(),
                sid: period.id.clone(),
                y: at.y.round(),
                tag,
                tid: None,
                speed: ((x * x + y * y).sqrt() / step as f64 * 1e6).round() / 1e6,
                pid: None,
                gc: Some(clocks::of_location(clock(period, t))),
                sc: None,
            }
        };
        let mut locations = Vec::with_capacity(23);
        for (side, team) in teams.iter().enumerate() {
            for (seat, member) in eleven(&game_log.sides[side], plays[number].side == side).enumerate() {
                let player = &game_log.sides[side].members[member].player;
                let player_at = |t| position(&plays, t, |play, is_over| place(play, side, seat, is_over));
                locations.push(Location {
                    tid: Some(team.id),
                    pid: Some(player.id),
                    ..location("PLAYER", player.sensor.to_string(), &player_at, 1000.0)
                });
            }
        }
        let ball_at = |t| position(&plays, t, |play, is_over| if is_over { play.end } else { play.snap });
        locations.push(location("BALL", tracking::ball_tag(game_log.sides[0].team), &ball_at, 1000.0));
        LocationBatch { locations }
    })
}

/// Between the places at the snaps and the ends of plays. `place` also takes whether the play is over.
fn position(plays: &[FootballPlay], t: i64, place: impl Fn(&FootballPlay, bool) -> FieldPoint) -> FieldPoint {
    let number = plays.partition_point(|play| play.at < t);
    let Some(play) = plays.get(number) else {
        return plays.last().map_or(FieldPoint { x: 0.0, y: 0.0 }, |last| place(last, true));
    };
    let snap_at = play.at - PLAY;
    if t >= snap_at {
        return place(play, false).towards(place(play, true), ease((t - snap_at) as f64 / PLAY as f64));
    }
    let Some(last) = number.checked_sub(1).and_then(|number| plays.get(number)) else { return place(play, false) };
    let part = (t - last.at) as f64 / (snap_at - last.at).max(1) as f64;
    place(last, true).towards(place(play, false), ease(part))
}

/// Where one of a side's eleven stands at the snap, or is at the end of a play: the carrier with the ball.
fn place(play: &FootballPlay, side: usize, seat: usize, is_over: bool) -> FieldPoint {
    let has_ball = play.side == side;
    if is_over && has_ball && seat == play.carrier {
        return play.end;
    }
    let (across, away) = if has_ball { OFFENCE[seat] } else { DEFENCE[seat] };
    let back = if has_ball { -play.towards } else { play.towards };
    let at_snap = FieldPoint { x: play.snap.x + across * YARD, y: play.snap.y + back * away * YARD };
    // Everybody runs most of the way to the ball, and stays in bounds.
    let at = if is_over { at_snap.towards(play.end, 0.6) } else { at_snap };
    FieldPoint { x: at.x.clamp(-24_384.0, 24_384.0), y: at.y.clamp(-60.0 * YARD, 60.0 * YARD) }
}

/// A team's occurrences in some periods of a game up to `now`, by player, then by code.
fn occurrences(
    game_log: &GameLog,
    team: usize,
    periods: &[GamePeriod],
    now: i64,
) -> BTreeMap<usize, [Vec<Occurrence>; 3]> {
    let mut all: BTreeMap<usize, [Vec<Occurrence>; 3]> = BTreeMap::new();
    for period in periods {
        for play in plays(game_log, period).into_iter().filter(|play| play.at <= now) {
            let side = &game_log.sides[play.side];
            let Some(member) = eleven(side, true).nth(play.carrier).filter(|_| side.team == team) else { continue };
            let lists = all.entry(member).or_default();
            for (list, value) in lists.iter_mut().zip([Some(1), Some(play.yards), Some(play.points).filter(|n| *n > 0)])
            {
                list.extend(value.map(|value| Occurrence {
                    occurred_at: play.at,
                    value: value as f64,
                    game_clock: Some(game_log.clocks.game(play.clock)),
                    shot_clock: None,
                    period: period.name.clone(),
                    x: Some(play.end.x.round()),
                    y: Some(play.end.y.round()),
                    z: Some(1000.0),
                    hoop_to_event_x: None,
                    hoop_to_event_y: None,
                }));
            }
        }
    }
    all
}

pub(super) fn details(game_log: &GameLog, team: usize, wire: &Team, periods: &[GamePeriod], now: i64) -> TeamDetails {
    let all = occurrences(game_log, team, periods, now);
    let by_code =
        |lists: [Vec<Occurrence>; 3]| CODES.iter().map(|code| (*code).to_owned()).zip(lists).collect::<Vec<_>>();
    let mut total: [Vec<Occurrence>; 3] = Default::default();
    for lists in all.values() {
        total.iter_mut().zip(lists).for_each(|(total, list)| total.extend_from_slice(list));
    }
    total.iter_mut().for_each(|list| list.sort_by_key(|occurrence| occurrence.occurred_at));
    let version = total[0].len() as i64;
    let side = usize::from(game_log.sides[0].team != team);
    let total =
        (version > 0).then(|| PlayerOccurrences { id: 0, player_details: None, version, stats: by_code(total) });
    let players = all.into_iter().map(|(member, lists)| PlayerOccurrences {
        id: game_log.sides[side].members[member].player.id,
        player_details: Some(game_log.sides[side].members[member].details()),
        version: lists[0].len() as i64,
        stats: by_code(lists),
    });
    TeamDetails {
        id: wire.id,
        name: wire.name.clone(),
        logo_image_link: links::logo(wire.id),
        player_stats: total.into_iter().chain(players).collect(),
    }
}

/// The sums of details; over games with their number.
pub(super) fn stats(wire: &Team, games: &[TeamDetails], with_games: bool) -> TeamStats {
    let mut lines: BTreeMap<i64, PlayerStats> = BTreeMap::new();
    for player in games.iter().flat_map(|game| &game.player_stats) {
        let line = lines.entry(player.id).or_insert_with(|| PlayerStats {
            id: player.id,
            player_details: player.player_details.clone(),
            version: 0,
            games_played: with_games.then_some(0),
            stats: Map::new(),
        });
        line.version += player.version;
        line.games_played = line.games_played.map(|games| games + 1);
        for (code, list) in &player.stats {
            let before = line.stats.get(code).and_then(Value::as_i64).unwrap_or(0);
            let more: f64 = list.iter().map(|occurrence| occurrence.value).sum();
            line.stats.insert(code.clone(), Value::from(before + more as i64));
        }
    }
    TeamStats {
        id: wire.id,
        name: wire.name.clone(),
        logo_image_link: links::logo(wire.id),
        player_stats: lines.into_values().collect(),
    }
}
