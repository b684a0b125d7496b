//! The schedule, and games by the ids of any system.

use super::call::EndpointCall;
use super::response::{EndpointResponse, ErrorResponse, json};
use super::rules::DAY_MS;
use super::season::Season;
use crate::model::schedule::ScheduledGame;
use serde::Serialize;
use serde_json::{Map, Value};

/// The service's own id system, and that of this season's reference ids.
pub(super) const OWN_REFERENCE: &str = "SHOTTRACKER";
const SEASONS_REFERENCE: &str = "SIM";
/// The default season type of a week.
const REGULAR: &str = "REG";

#[derive(Serialize)]
struct Games<T> {
    games: Vec<T>,
}

/// Answers a call of `/v1/data/schedule/games`.
pub(super) fn games(season: &Season, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    // The only documented error of this operation.
    let from = call.int("from").ok_or_else(ErrorResponse::general)?;
    let to = call.int("to").unwrap_or(from.saturating_add(DAY_MS));
    let kind = call.text("type").unwrap_or("BASKETBALL");
    let team = call.text("team_id");
    let location = call.text("location_id");
    let week = call.text("weekNumber");
    let season_type = call.text("seasonType").unwrap_or(REGULAR);
    let plays = |game: &ScheduledGame, team: &str| team.parse().is_ok_and(|team: i64| plays(game, team));
    let is_in = |game: &ScheduledGame, week: &str| {
        let (of_game, number) = season.week(game);
        of_game == season_type && week.parse() == Ok(number)
    };
    let games = season.games().iter().filter(|game| {
        (from..to).contains(&game.tipoff_at)
            && game.kind == kind
            && team.is_none_or(|team| plays(game, team))
            && location.is_none_or(|location| game.location_id == location)
            && week.is_none_or(|week| is_in(game, week))
    });
    json(&Games { games: games.collect() })
}

fn plays(game: &ScheduledGame, team: i64) -> bool {
    game.home_team_id == team || game.away_team_id == team
}

/// Answers a call of `/v1/data/schedule/games/matchup`: the games that all named teams play in. An unknown system or
/// team has no games.
pub(super) fn matchup(season: &Season, call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    let team_names = call.query.iter().filter(|(name, value)| name == "team_id" && !value.is_empty());
    let team_names: Vec<&str> = team_names.map(|(_, team)| team.as_str()).collect();
    let (reference, gender) = (call.text("reference"), call.text("gender"));
    let (Some(from), Some(reference), Some(gender), 1..=2) = (call.int("from"), reference, gender, team_names.len())
    else {
        return Err(ErrorResponse::general());
    };
    let to = call.int("to").unwrap_or(i64::MAX);
    let teams: Option<Vec<i64>> = team_names.into_iter().map(|team| team_of(season, reference, team)).collect();
    let Some(teams) = teams else { return json(&Games::<()> { games: Vec::new() }) };
    let games = season.games().iter().filter(|game| {
        (from..to).contains(&game.tipoff_at) && game.gender == gender && teams.iter().all(|team| plays(game, *team))
    });
    json(&Games { games: games.map(matchup_game).collect::<Result<Vec<_>, _>>()? })
}

/// The service's id of a team by another system's id.
fn team_of(season: &Season, reference: &str, id: &str) -> Option<i64> {
    let is_it = |team: &&crate::model::team::Team| match reference {
        OWN_REFERENCE => id.parse() == Ok(team.id),
        SEASONS_REFERENCE => team.reference_id == id,
        _ => false,
    };
    season.teams().iter().find(is_it).map(|team| team.id)
}

/// The game as a matchup shows it.
fn matchup_game(game: &ScheduledGame) -> Result<Map<String, Value>, ErrorResponse> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(game) else { return Err(ErrorResponse::general()) };
    fields.shift_remove("type");
    fields.shift_remove("source");
    let location = game.location_id.replace('@', "/");
    fields.insert("location_id".to_owned(), format!("/{location}").into());
    Ok(fields)
}
