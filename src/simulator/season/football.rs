//! Football games: real quarters, invented stats. The service's football codes, plays and field frame are unknown, so
//! every code says that it is invented, and no event has a place.

use super::clocks::ClockFormat;
use super::game_log::{GameLog, GamePeriod, Side};
use super::links;
use super::rng::Rng;
use super::schedule::MINUTE;
use crate::resource::stats::{PlayerStats, TeamStats};
use crate::resource::stats_details::{Occurrence, PlayerOccurrences, TeamDetails};
use crate::resource::team::Team;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const QUARTER: i64 = 15 * MINUTE;
const CODES: [&str; 2] = ["INVENTED_PLAYS", "INVENTED_YARDS"];

/// Four quarters without basketball events.
pub fn game(mut rng: Rng, starts_at: i64, sides: [Side; 2], id: impl Fn(u64) -> String) -> GameLog {
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
pub fn clock(period: &GamePeriod, now: i64) -> i64 {
    let wall = (period.ended_at - period.started_at).max(1);
    QUARTER - QUARTER * (now.clamp(period.started_at, period.ended_at) - period.started_at) / wall
}

struct FootballPlay {
    at: i64,
    clock: i64,
    member: usize,
    yards: i64,
}

/// The plays of a side in a period, by time.
fn plays(game_log: &GameLog, period: &GamePeriod, side: usize) -> Vec<FootballPlay> {
    // Keyed by session id: a period always has the same plays.
    let key = period.id.bytes().fold(side as u64, |key, byte| key.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut rng = Rng::keyed(key, &[0xF007]);
    let count = rng.within(14, 20);
    let wall = period.ended_at - period.started_at;
    let members = game_log.sides[side].members.len().min(22);
    (1..=count)
        .map(|number| FootballPlay {
            at: period.started_at + wall * number / (count + 1),
            clock: QUARTER - QUARTER * number / (count + 1),
            member: rng.index(members),
            yards: rng.within(-4, 18),
        })
        .collect()
}

/// A team's occurrences in some periods of a game up to `now`, by player, then by code.
fn occurrences(
    game_log: &GameLog,
    team: usize,
    periods: &[GamePeriod],
    now: i64,
) -> BTreeMap<usize, [Vec<Occurrence>; 2]> {
    let mut all: BTreeMap<usize, [Vec<Occurrence>; 2]> = BTreeMap::new();
    for side in (0..2).filter(|side| game_log.sides[*side].team == team) {
        for period in periods {
            for play in plays(game_log, period, side).into_iter().filter(|play| play.at <= now) {
                let lists = all.entry(play.member).or_default();
                for (list, value) in lists.iter_mut().zip([1, play.yards]) {
                    list.push(Occurrence {
                        occurred_at: play.at,
                        value: value as f64,
                        game_clock: Some(game_log.clocks.game(play.clock)),
                        shot_clock: None,
                        period: period.name.clone(),
                        x: None,
                        y: None,
                        z: None,
                        hoop_to_event_x: None,
                        hoop_to_event_y: None,
                    });
                }
            }
        }
    }
    all
}

pub fn details(game_log: &GameLog, team: usize, wire: &Team, periods: &[GamePeriod], now: i64) -> TeamDetails {
    let all = occurrences(game_log, team, periods, now);
    let own = |lists: [Vec<Occurrence>; 2]| CODES.iter().map(|code| (*code).to_owned()).zip(lists).collect::<Vec<_>>();
    let mut total: [Vec<Occurrence>; 2] = Default::default();
    for lists in all.values() {
        total.iter_mut().zip(lists).for_each(|(total, list)| total.extend_from_slice(list));
    }
    total.iter_mut().for_each(|list| list.sort_by_key(|one| one.occurred_at));
    let version = total[0].len() as i64;
    let side = usize::from(game_log.sides[0].team != team);
    let total = (version > 0).then(|| PlayerOccurrences { id: 0, player_details: None, version, stats: own(total) });
    let players = all.into_iter().map(|(member, lists)| PlayerOccurrences {
        id: game_log.sides[side].members[member].player.id,
        player_details: Some(game_log.sides[side].members[member].details()),
        version: lists[0].len() as i64,
        stats: own(lists),
    });
    TeamDetails {
        id: wire.id,
        name: wire.name.clone(),
        logo_image_link: links::logo(wire.id),
        player_stats: total.into_iter().chain(players).collect(),
    }
}

/// The sums of details; over games with their number.
pub fn stats(wire: &Team, games: &[TeamDetails], with_games: bool) -> TeamStats {
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
            let more: f64 = list.iter().map(|one| one.value).sum();
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
