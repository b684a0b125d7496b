//! The Broadcast API: schedule, teams, a team's roster, and a game's stats.

use super::call::EndpointCall;
use super::live::snapshot;
use super::response::{EndpointResponse, ErrorResponse, json};
use super::rest::{invalid_id, roster_of};
use super::rules::DAY_MS;
use super::season::Season;
use crate::model::schedule::ScheduledGame;
use crate::model::team::Team;
use serde::Serialize;

/// The game of `mock=true`, which is played in an endless loop.
pub(super) const MOCK_SERVICE: &str = "mock-service";

/// Answers a call of `/broadcast/v1/..`. Only the roster's body is documented: games are those of the schedule with the
/// streams' ids, teams those of the team list.
pub(super) fn respond(season: &Season, path: &[&str], call: &EndpointCall) -> Result<EndpointResponse, ErrorResponse> {
    match *path {
        ["games", "schedule"] => {
            #[derive(Serialize)]
            struct GamesBody<'a> {
                games: Vec<BroadcastGame<'a>>,
            }
            #[derive(Serialize)]
            struct BroadcastGame<'a> {
                schedule_id: &'a str,
                #[serde(flatten)]
                game: &'a ScheduledGame,
            }
            if call.flag("mock") {
                let games = season.games().first().map(|game| BroadcastGame { schedule_id: MOCK_SERVICE, game });
                return json(&GamesBody { games: games.into_iter().collect() });
            }
            let from = call.int("from").unwrap_or(call.now);
            let to = call.int("to").unwrap_or(from.saturating_add(DAY_MS));
            let games = season.games().iter().filter(|game| (from..to).contains(&game.tipoff_at));
            json(&GamesBody { games: games.map(|game| BroadcastGame { schedule_id: &game.event_id, game }).collect() })
        }
        ["games", "teams"] => {
            #[derive(Serialize)]
            struct TeamsPage<'a> {
                teams: &'a [Team],
            }
            json(&TeamsPage { teams: season.teams() })
        }
        ["games", "teams", team] => {
            let game = call.text("game_event_id");
            let roster = roster_of(season, team.parse().ok(), game)?;
            json(&season.broadcast_team(roster, game, call.now).ok_or_else(invalid_id)?)
        }
        ["games", "active", id, "colors"] => {
            let game = season.game_index(id).ok_or_else(invalid_id)?;
            json(&season.colors(game, call.now).ok_or_else(|| ErrorResponse::new(404, "Game is not active"))?)
        }
        ["locomotion"] => {
            let game = call.text("schedule_id").and_then(|id| season.game_index(id)).ok_or_else(invalid_id)?;
            let team = call.int("team_id").ok_or_else(invalid_id)?;
            json(&season.locomotion(game, team, call.now).ok_or_else(invalid_id)?)
        }
        ["stats"] if call.flag("mock") => {
            let step = usize::try_from(call.now / 1000).unwrap_or_default();
            json(&snapshot::mock(season, step).ok_or_else(invalid_id)?)
        }
        ["stats"] => {
            let game = call.text("schedule_id").and_then(|id| season.game_index(id));
            let game = game.ok_or_else(invalid_id)?;
            json(&snapshot::of(season, game, call.now))
        }
        _ => Err(ErrorResponse::new(404, "Not found")),
    }
}
