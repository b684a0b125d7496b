//! Games and practices as the events that the service shows, with their sessions and links.

use super::game_log::GameLog;
use super::links;
use crate::model::event::{Event, EventResult, GameAttributes, Totals};
use crate::model::schedule::ScheduledGame;
use crate::model::team::Team;
use crate::sport::Sport;

/// A future game, without sessions. It is expected to take two hours.
pub(super) fn coming(sport: Sport, game: &ScheduledGame) -> Event {
    Event {
        results: Vec::new(),
        started_at: game.tipoff_at,
        ended_at: game.tipoff_at + 2 * super::schedule::HOUR,
        ..frame(sport, game)
    }
}

/// A game that has begun, up to `now`.
pub(super) fn game(sport: Sport, game: &ScheduledGame, game_log: &GameLog, now: i64) -> Event {
    let kind = match sport {
        Sport::Basketball => "GAME_ROUND",
        Sport::Football => "FOOTBALL_GAME_QUARTER",
    };
    Event {
        results: results(sport, game_log, kind, now),
        started_at: game_log.starts_at(),
        ended_at: game_log.ends_at().min(now),
        ..frame(sport, game)
    }
}

/// A practice (or a workout) that has begun.
pub(super) fn practice(sport: Sport, team: &Team, kind: &str, event_id: String, game_log: &GameLog, now: i64) -> Event {
    Event {
        name: format!("{} {kind}", team.name),
        results: results(sport, game_log, "DRILL", now),
        source: "SHOTTRACKER".to_owned(),
        is_practice_event: true,
        is_game_event: false,
        started_at: game_log.starts_at(),
        ended_at: game_log.ends_at().min(now),
        game_type: None,
        _self: links::practice(sport, team.id, &event_id),
        totals: None,
        game_attributes: None,
        id: event_id,
    }
}

fn frame(sport: Sport, game: &ScheduledGame) -> Event {
    Event {
        id: game.event_id.clone(),
        name: format!("{} at {}", game.away_team_name, game.home_team_name),
        results: Vec::new(),
        source: game.source.clone(),
        is_practice_event: false,
        is_game_event: true,
        started_at: 0,
        ended_at: 0,
        game_type: Some(if sport == Sport::Football { "QUARTER" } else { "HALF" }.to_owned()),
        _self: links::game(sport, &game.event_id),
        totals: Some(Totals { _stats_details: links::game_details(sport, &game.event_id) }),
        game_attributes: Some(GameAttributes {
            home_team_id: game.home_team_id,
            home_team_name: game.home_team_name.clone(),
            away_team_id: game.away_team_id,
            away_team_name: game.away_team_name.clone(),
        }),
    }
}

fn results(sport: Sport, game_log: &GameLog, kind: &str, now: i64) -> Vec<EventResult> {
    let periods = game_log.periods.iter().filter(|period| period.started_at < now);
    periods
        .map(|period| {
            let ended_at = period.ended_at.min(now);
            let link = |resource| links::session(sport, &period.id, resource);
            // Only basketball has possessions; the summary's body is unknown and its link is a game's.
            let possessions = sport == Sport::Basketball;
            EventResult {
                id: period.id.clone(),
                // In basketball games it is null.
                name: (kind != "GAME_ROUND").then(|| period.name.clone()),
                kind: kind.to_owned(),
                started_at: period.started_at,
                ended_at,
                _stats: link("stats"),
                _stats_details: link("stats/details"),
                _shots: link("shots"),
                _locations: links::windows(sport, &period.id, period.started_at, ended_at),
                _possessions: possessions.then(|| link("possessions")),
                _possessions_summary: (possessions && kind == "GAME_ROUND").then(|| link("possessions/summary")),
            }
        })
        .collect()
}
