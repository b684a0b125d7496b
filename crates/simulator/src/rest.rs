//! The signed REST API.

use super::call::EndpointCall;
use super::response::{EndpointResponse, ErrorResponse, json, json_of};
use super::rules;
use super::schedule::OWN_REFERENCE;
use super::season::{Season, Session};
use super::{Privileges, game_resources, schedule};
use crate::model::event::{Event, EventsBody};
use crate::model::roster::Roster;
use serde::Serialize;

/// Whether these privileges cover a path; unknown paths are open to all.
pub(super) fn check_access(path: &[&str], privileges: &Privileges) -> Result<(), ErrorResponse> {
    let refusal = match path {
        ["teams", team, ..] if team_id(team).is_some_and(|id| privileges.restricted_teams.contains(&id)) => {
            "Restricted resource"
        }
        ["stats", "games", _, parts] if !game_resources::is_open(parts, privileges) => "Access denied to resource",
        ["stats", "games", _, _] => return Ok(()),
        ["stats", "games", ..] | ["games", _, "events"] if !privileges.stats => "Access denied to resource",
        ["stats", _, "shots"] if !privileges.shots => "No access to SHOTS data",
        ["stats", _, "shots"] => return Ok(()),
        ["stats", ..] | ["sensors", ..] | ["teams", _, "players", "game", "stats"] if !privileges.stats => {
            "No access to STATS data"
        }
        _ => return Ok(()),
    };
    Err(ErrorResponse::new(403, refusal))
}

/// Answers a call of `/v1/data/..`.
pub(super) fn respond(season: &Season, path: &[&str], call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    match *path {
        ["teams"] => json(&Teams { teams: season.teams() }),
        ["teams", team] => roster(season, team, call),
        ["teams", team, "events"] => team_events(season, team, call),
        ["teams", team, "practices", event] => practice(season, team, event, call),
        ["teams", team, "players", "game", "stats"] => team_game_stats(season, team, call),
        ["schedule", "games"] => schedule::games(season, call),
        ["schedule", "games", "matchup"] => schedule::matchup(season, call),
        ["games", game] => json(&game_event(season, game, call)?),
        ["games", game, "events"] => game_events(season, game, call),
        ["games", game, "sensor", "assignments", "history"] => assignments_history(season, game, call),
        ["stats", "games", game, "stats", "details"] => {
            let event = game_event(season, game, call).map_err(|_| no_access())?;
            let teams = season.game_details(game, call.now).ok_or_else(no_access)?;
            json_of(&Teams { teams: &teams }, event.ended_at, call.now)
        }
        ["stats", "games", game, parts] => game_resources::respond(season, game, parts, call),
        ["stats", id, "stats"] => of_session(season, id, call, |session, writer| writer.write(&session.stats)),
        ["stats", id, "stats", "details"] => {
            of_session(season, id, call, |session, writer| writer.write(&session.details))
        }
        ["stats", id, "possessions"] => {
            of_session(season, id, call, |session, writer| writer.write(&session.possessions))
        }
        ["stats", id, "possessions", "summary"] => of_session(season, id, call, possessions_summary),
        ["stats", id, "shots"] => of_session(season, id, call, |session, writer| writer.write(&session.shots)),
        ["sensors", "locations"] => locations(season, call),
        _ => Err(ErrorResponse::new(404, "Not found")),
    }
}

#[derive(Serialize)]
struct Teams<'a, T> {
    teams: &'a [T],
}

pub(super) fn invalid_id() -> ErrorResponse {
    ErrorResponse::new(404, "Invalid id")
}

/// `46`, or `46,SHOTTRACKER`.
fn team_id(segment: &str) -> Option<i64> {
    segment.split_once(',').map_or(segment, |(id, _)| id).parse().ok()
}

/// An unknown game of an operation without a documented 404: access is denied.
pub(super) fn no_access() -> ErrorResponse {
    ErrorResponse::new(403, "Access denied to resource")
}

/// An unknown team is a general error: neither team events nor team game stats have a 404.
fn known_team(season: &Season, segment: &str) -> Result<i64, ErrorResponse> {
    team_id(segment).filter(|id| season.teams().iter().any(|team| team.id == *id)).ok_or_else(ErrorResponse::general)
}

/// Only the documented id system is known.
fn roster(season: &Season, segment: &str, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let reference = segment.split_once(',').map(|(_, reference)| reference).or_else(|| call.text("reference"));
    if reference.is_some_and(|reference| reference != OWN_REFERENCE) {
        return Err(invalid_id());
    }
    json(&roster_of(season, team_id(segment), call.text("game_event_id"))?)
}

/// The roster of a team, or of a game; the error says which of the two is unknown.
pub(super) fn roster_of(season: &Season, team: Option<i64>, game_id: Option<&str>) -> Result<Roster, ErrorResponse> {
    let team = team.filter(|id| season.teams().iter().any(|team| team.id == *id));
    if let Some(game_id) = game_id {
        let game = season.games().iter().find(|game| game.event_id == game_id);
        let plays = |team: i64| game.is_none_or(|game| game.home_team_id == team || game.away_team_id == team);
        let rules = [(game.is_none(), "Game not found"), (!team.is_some_and(plays), "Team not found in the game")];
        let rules: Vec<&str> = rules.iter().filter(|(is_broken, _)| *is_broken).map(|(_, rule)| *rule).collect();
        if !rules.is_empty() {
            return Err(ErrorResponse::new(404, rules.join(" | ")));
        }
    }
    team.and_then(|team| season.roster(team, game_id)).ok_or_else(invalid_id)
}

/// Workouts are included only on request.
fn team_events(season: &Season, team: &str, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let (from, to) = range(call)?;
    let team = known_team(season, team)?;
    let mut events = match call.flag("workoutsonly") {
        true => season.team_workouts(team, from, to, call.now),
        false => season.team_events(team, from, to, call.now),
    };
    if call.flag("gamesonly") {
        events.retain(|event| event.is_game_event);
    }
    json(&EventsBody { events })
}

fn range(call: &EndpointCall) -> Result<(i64, i64), ErrorResponse> {
    rules::range(call.int("from"), call.int("to")).map_err(|rules| ErrorResponse::new(422, rules))
}

fn practice(
    season: &Season,
    team: &str,
    event_id: &str,
    call: &EndpointCall,
) -> Result<EndpointResponse, ErrorResponse> {
    let event = season.event(event_id, call.now).ok_or_else(invalid_id)?;
    // Its own link says that it is a practice, and whose.
    let team = known_team(season, team).map_err(|_| invalid_id())?;
    let of_team = format!("/teams/{team}/practices/{event_id}");
    if event._self.ends_with(&of_team) { json(&event) } else { Err(invalid_id()) }
}

fn game_event(season: &Season, game: &str, call: &EndpointCall) -> Result<Event, ErrorResponse> {
    season.event(game, call.now).filter(|event| event.is_game_event).ok_or_else(invalid_id)
}

/// The range only counts if no game is given.
fn team_game_stats(season: &Season, team: &str, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let game = call.text("event_id");
    let (from, to) = if game.is_some() { (0, 0) } else { range(call)? };
    let stats = season.team_game_stats(known_team(season, team)?, game, from, to, call.now);
    json(&stats.ok_or_else(ErrorResponse::general)?)
}

/// The body is not documented; this one is made up.
fn game_events(season: &Season, game: &str, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    #[derive(Serialize)]
    struct SummaryBody<'a> {
        events: [GameEvents<'a>; 1],
    }
    #[derive(Serialize)]
    struct GameEvents<'a> {
        game_id: &'a str,
        started_at: i64,
        ended_at: i64,
        sessions: Vec<SessionTimes<'a>>,
    }
    #[derive(Serialize)]
    struct SessionTimes<'a> {
        id: &'a str,
        #[serde(rename = "type")]
        kind: &'a str,
        started_at: i64,
        ended_at: i64,
    }
    let Event { results, started_at, ended_at, .. } = &game_event(season, game, call).map_err(|_| no_access())?;
    let sessions = results.iter().map(|result| SessionTimes {
        id: &result.id,
        kind: &result.kind,
        started_at: result.started_at,
        ended_at: result.ended_at,
    });
    let events =
        GameEvents { game_id: game, started_at: *started_at, ended_at: *ended_at, sessions: sessions.collect() };
    json(&SummaryBody { events: [events] })
}

/// The body is not documented; this one has the elements of the Broadcast roster.
fn assignments_history(season: &Season, game: &str, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let entry = season.games().iter().find(|entry| entry.event_id == game).ok_or_else(no_access)?;
    let mut assignments = Vec::new();
    for team in [entry.home_team_id, entry.away_team_id] {
        let roster = roster_of(season, Some(team), Some(game))?;
        let roster = season.broadcast_team(roster, Some(game), call.now).ok_or_else(no_access)?;
        assignments.extend(roster.sensor_assignments_history.unwrap_or_default());
    }
    json(&assignments)
}

/// Writes a session's body.
struct BatchWriter {
    ended_at: i64,
    now: i64,
}

impl BatchWriter {
    fn write<T: Serialize>(&self, teams: &[T]) -> Result<EndpointResponse, ErrorResponse> {
        json_of(&Teams { teams }, self.ended_at, self.now)
    }
}

fn of_session(
    season: &Season,
    id: &str,
    call: &EndpointCall,
    body: impl FnOnce(&Session, BatchWriter) -> Result<EndpointResponse, ErrorResponse>,
) -> Result<EndpointResponse, ErrorResponse> {
    let session = season.session(id, call.now).ok_or_else(invalid_id)?;
    body(&session, BatchWriter { ended_at: session.ended_at, now: call.now })
}

/// The body is not documented; this one is made up, so that the link is not dead.
fn possessions_summary(session: &Session, writer: BatchWriter) -> Result<EndpointResponse, ErrorResponse> {
    #[derive(Serialize)]
    struct Summary<'a> {
        id: i64,
        name: &'a str,
        possessions: usize,
    }
    let teams = session.possessions.iter();
    let teams = teams.map(|team| Summary { id: team.id, name: &team.name, possessions: team.possessions.len() });
    writer.write(&teams.collect::<Vec<_>>())
}

/// The root is an array.
fn locations(season: &Season, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let window = rules::window(call.int("from"), call.int("to"));
    let (from, to) = window.map_err(|rules| ErrorResponse::new(400, rules))?;
    // Written one by one: thirty minutes at a high rate have hundreds of thousands of positions.
    let mut body = vec![b'['];
    let mut written = Ok(());
    let write = |batch| {
        if body.len() > 1 {
            body.push(b',');
        }
        if written.is_ok() {
            written = serde_json::to_writer(&mut body, &batch);
        }
    };
    call.text("id").and_then(|id| season.locations(id, from, to, call.now, write)).ok_or_else(invalid_id)?;
    written.map_err(|_| ErrorResponse::general())?;
    body.push(b']');
    Ok(EndpointResponse { body: body.into(), is_final: to < call.now })
}
