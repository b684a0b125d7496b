//! The fixtures: rounds by the circle method, spread over about five months around the season's clock.

use super::ids::{IdKind, Ids};
use super::rng::Rng;
use super::{names, teams};
use crate::model::schedule::ScheduledGame;
use crate::model::team::Team;
use crate::sport::Sport;

pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;
const SEASON_DAYS: i64 = 150;
const LAST_NOW: i64 = 253_402_300_799_999;
/// Percentage of games that are over at the season's clock.
const PLAYED_PERCENT: usize = 87;

/// One game, by the positions of its teams in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fixture {
    pub tipoff_at: i64,
    pub home: usize,
    pub away: usize,
}

/// The fixtures by tipoff, and the first and last moment of the season.
#[derive(Debug)]
pub(super) struct SeasonPlan {
    pub fixtures: Vec<Fixture>,
    pub starts_at: i64,
    pub ends_at: i64,
}

/// Day, time of the day, home, away.
type Draw = (i64, i64, usize, usize);

/// The last day of a round's window is free, so that no team plays on consecutive days.
fn draw(rng: &mut Rng, first_day: i64, window: i64, (home, away): (usize, usize)) -> Draw {
    (first_day + rng.below(window - 1), tipoff_of_day(rng, window), home, away)
}

pub(super) fn plan(seed: u64, sport: Sport, team_count: usize, games: usize, now: i64) -> SeasonPlan {
    // Callers may pass any number; the bound keeps times before the year 9999.
    let now = now.clamp(0, LAST_NOW);
    let mut rng = Rng::with_key(seed, &[0x5C4E]);
    let men = teams::men_among(sport, team_count);
    let mut leagues = [(0..men).collect::<Vec<_>>(), (men..team_count).collect()];
    leagues.iter_mut().for_each(|league| rng.shuffle(league));
    let games_of_a_round: usize = leagues.iter().map(|league| league.len() / 2).sum();
    if games_of_a_round == 0 || games == 0 {
        return SeasonPlan { fixtures: Vec::new(), starts_at: now - SEASON_DAYS * DAY, ends_at: now };
    }
    let rounds = games.div_ceil(games_of_a_round) as i64;
    let days = SEASON_DAYS.max(rounds);
    let window = days / rounds;
    let mut draws: Vec<Draw> = Vec::with_capacity(rounds as usize * games_of_a_round);
    for round in 0..rounds {
        let mut pairs: Vec<_> = leagues.iter().flat_map(|league| pairs_of_round(league, round as usize)).collect();
        rng.shuffle(&mut pairs);
        pairs.truncate(games - draws.len());
        draws.extend(pairs.into_iter().map(|pair| draw(&mut rng, round * days / rounds, window, pair)));
    }
    draws.sort_unstable();
    // One game is going on at the season's clock, whatever the hour: its day ties the season to the clock.
    let running = (draws.len() * PLAYED_PERCENT / 100).min(draws.len() - 1);
    let running_tipoff = (now - 20 * MINUTE).div_euclid(30 * MINUTE) * 30 * MINUTE;
    let starts_at = (running_tipoff.div_euclid(DAY) - draws[running].0) * DAY;
    let mut fixtures: Vec<Fixture> = draws
        .iter()
        .enumerate()
        .map(|(place, &(day, hour, home, away))| Fixture {
            tipoff_at: if place == running { running_tipoff } else { starts_at + day * DAY + hour },
            home,
            away,
        })
        .collect();
    fixtures.sort_unstable_by_key(|fixture| (fixture.tipoff_at, fixture.home));
    SeasonPlan { fixtures, starts_at, ends_at: starts_at + days * DAY }
}

/// From noon to evening in the United States. If teams play on consecutive days, a game is over before midnight UTC.
fn tipoff_of_day(rng: &mut Rng, window: i64) -> i64 {
    17 * HOUR + rng.below(if window >= 2 { 20 } else { 9 }) * 30 * MINUTE
}

/// The pairs of a round, home first: one team is fixed, the others rotate around it; each lap swaps the homes.
fn pairs_of_round(league: &[usize], round: usize) -> Vec<(usize, usize)> {
    let seats = league.len() + league.len() % 2;
    if seats < 2 {
        return Vec::new();
    }
    let (lap, turn) = (round / (seats - 1), round % (seats - 1));
    let seat = |place: usize| if place == 0 { 0 } else { 1 + (place - 1 + turn) % (seats - 1) };
    (0..seats / 2)
        .filter_map(|place| {
            let (first, second) = (*league.get(seat(place))?, *league.get(seat(seats - 1 - place))?);
            // Otherwise the fixed team would be at home for a whole lap.
            let swap = if place == 0 { (turn + lap) % 2 == 1 } else { (place + lap) % 2 == 1 };
            Some(if swap { (second, first) } else { (first, second) })
        })
        .collect()
}

/// A game's part of the season and its week: week 1 begins on the Monday before the first game.
pub(super) fn week(plan: &SeasonPlan, tipoff_at: i64) -> (&'static str, i64) {
    let tipoff_of = |fixture: Option<&Fixture>| fixture.map_or(tipoff_at, |fixture| fixture.tipoff_at);
    let (first, last) = (tipoff_of(plan.fixtures.first()), tipoff_of(plan.fixtures.last()));
    let percent = (tipoff_at - first) * 100 / (last - first).max(1);
    let part = match percent {
        ..3 => "EXH",
        3..7 => "PRE",
        7..93 => "REG",
        _ => "POST",
    };
    (part, monday_week(tipoff_at) - monday_week(first) + 1)
}

/// Weeks since the first Monday: the epoch's first day was a Thursday.
fn monday_week(at: i64) -> i64 {
    (at.div_euclid(DAY) + 3).div_euclid(7)
}

/// The fixture as the service shows it.
pub(super) fn schedule_game(ids: Ids, sport: Sport, teams: &[Team], index: usize, fixture: &Fixture) -> ScheduledGame {
    let (home, away) = (&teams[fixture.home], &teams[fixture.away]);
    let event_id = ids.text(IdKind::Game, index as u64, 0);
    let (court, facility) =
        (ids.text(IdKind::Court, fixture.home as u64, 0), ids.text(IdKind::Facility, fixture.home as u64, 0));
    ScheduledGame {
        facility_name: format!(
            "{} {}",
            names::team(fixture.home).0,
            if sport == Sport::Football { "Field" } else { "Arena" }
        ),
        court_name: if sport == Sport::Football { "Field 1" } else { "Main Court" }.to_owned(),
        location_id: format!("{court}@{facility}"),
        tournament: (index % 40 == 17).then(|| "SIM Invitational".to_owned()),
        tipoff_at: fixture.tipoff_at,
        gender: home.gender.clone(),
        // The only documented value, also for games that are over.
        status: "ACTIVE".to_owned(),
        kind: home.sport.clone(),
        home_team_id: home.id,
        home_team_name: home.name.clone(),
        home_team_reference_id: home.reference_id.clone(),
        away_team_id: away.id,
        away_team_name: away.name.clone(),
        away_team_reference_id: away.reference_id.clone(),
        officials_team_id: 0,
        _results: super::links::game(sport, &event_id),
        reference_id: format!("SIM-G{}", index + 1),
        fan_engagement_enabled: index.is_multiple_of(3),
        source: "SHOTTRACKER".to_owned(),
        event_id,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use std::collections::BTreeSet;

    const NOW: i64 = 1_772_000_000_000;

    fn twice_a_day(plan: &SeasonPlan) -> Option<(i64, usize)> {
        let mut seen = BTreeSet::new();
        plan.fixtures
            .iter()
            .flat_map(|f| [f.home, f.away].map(|team| (f.tipoff_at.div_euclid(DAY), team)))
            .find(|key| !seen.insert(*key))
    }

    #[test]
    fn a_team_never_plays_twice_a_day() {
        for (teams, games) in [(16, 240), (2, 200), (7, 100), (370, 5500), (33, 400)] {
            for hour in 0..24 {
                let plan = plan(5, Sport::Basketball, teams, games, NOW + hour * HOUR);
                assert_eq!(plan.fixtures.len(), games);
                assert_eq!(twice_a_day(&plan), None, "{teams} teams, {games} games, {hour} h");
            }
        }
    }

    #[test]
    fn most_games_are_over_and_at_least_one_goes_on_at_the_clock() {
        for (teams, games) in [(16, 20), (16, 240), (370, 5500), (4, 100)] {
            for minute in [0, 7, 29, 30, 31, 600, 1439] {
                let now = NOW.div_euclid(DAY) * DAY + minute * MINUTE;
                let plan = plan(5, Sport::Basketball, teams, games, now);
                let started_games = plan.fixtures.iter().filter(|f| f.tipoff_at < now).count();
                assert!((84..=91).contains(&(started_games * 100 / games)), "{started_games} of {games}");
                let age = |f: &Fixture| now - f.tipoff_at;
                assert!(plan.fixtures.iter().any(|f| (20 * MINUTE..=50 * MINUTE).contains(&age(f))));
            }
        }
    }

    #[test]
    fn a_lap_of_the_circle_lets_everybody_meet_everybody_once() {
        let league: Vec<usize> = (0..8).collect();
        let first_pairs: BTreeSet<_> =
            (0..7).flat_map(|round| pairs_of_round(&league, round)).map(|(a, b)| (a.min(b), a.max(b))).collect();
        assert_eq!(first_pairs.len(), 28);
        let later_pairs: BTreeSet<_> = (0..14).flat_map(|round| pairs_of_round(&league, round)).collect();
        assert_eq!(later_pairs.len(), 56, "in the second lap the homes change");
    }

    #[test]
    fn men_and_women_do_not_meet() {
        let men = teams::men_among(Sport::Basketball, 40);
        let plan = plan(1, Sport::Basketball, 40, 300, NOW);
        assert!(plan.fixtures.iter().all(|f| (f.home < men) == (f.away < men)));
        assert!(plan.fixtures.iter().any(|f| f.home >= men));
    }

    #[test]
    fn a_week_begins_on_monday_and_the_first_game_is_in_week_1() {
        // 1 January 2024 was a Monday.
        let monday = 1_704_067_200_000;
        let fixtures = [2, 102].map(|day| Fixture { tipoff_at: monday + day * DAY, home: 0, away: 1 });
        let plan = SeasonPlan { fixtures: fixtures.into(), starts_at: monday, ends_at: monday + 103 * DAY };
        let number = |at| week(&plan, at).1;
        assert_eq!([monday, monday + 7 * DAY - 1, monday + 7 * DAY, monday + 14 * DAY].map(number), [1, 1, 2, 3]);
        let part = |day: i64| week(&plan, monday + (day + 2) * DAY).0;
        assert_eq!([0, 2, 3, 6, 7, 92, 93, 100].map(part), ["EXH", "EXH", "PRE", "PRE", "REG", "REG", "POST", "POST"]);
    }

    #[test]
    fn the_season_takes_about_five_months() {
        let plan = plan(1, Sport::Basketball, 16, 240, NOW);
        let span = plan.fixtures.last().unwrap().tipoff_at - plan.fixtures[0].tipoff_at;
        assert!((140 * DAY..=152 * DAY).contains(&span));
    }
}
