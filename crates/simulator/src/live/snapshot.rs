//! The whole of a game as one document, shared by the Broadcast API's stats, its event stream and the websocket's
//! `broadcastsummary`. Its field names are made up, except `teams`, which has the shape of a session's stats, summed
//! over the game's sessions.

use crate::broadcast::MOCK_SERVICE;
use crate::model::stats::TeamStats;
use crate::season::{Season, Standing};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    schedule_id: String,
    game_id: String,
    status: String,
    period: Option<String>,
    game_clock: Option<String>,
    home_team_id: i64,
    away_team_id: i64,
    home_score: i64,
    away_score: i64,
    version: i64,
    teams: Vec<TeamStats>,
}

impl Snapshot {
    /// The team totals without players: the level `game_stats`.
    pub(super) fn of_teams(mut self) -> Self {
        self.teams.iter_mut().for_each(|team| team.player_stats.retain(|line| line.id == 0));
        self
    }
}

/// The sample game of `mock=true` at a step; after the last one it begins again.
pub(crate) fn mock(season: &Season, step: usize) -> Option<Snapshot> {
    let moments = season.moments(0);
    let at = moments.get(step.checked_rem(moments.len())?)?;
    let snapshot = of(season, 0, *at);
    Some(Snapshot { schedule_id: MOCK_SERVICE.to_owned(), ..snapshot })
}

pub(crate) fn of(season: &Season, game: usize, now: i64) -> Snapshot {
    let Standing { game: scheduled_game, period, game_clock, score, version, .. } = season.standing(game, now);
    Snapshot {
        schedule_id: scheduled_game.event_id.clone(),
        game_id: scheduled_game.event_id.clone(),
        status: scheduled_game.status.clone(),
        period,
        game_clock,
        home_team_id: scheduled_game.home_team_id,
        away_team_id: scheduled_game.away_team_id,
        home_score: score[0],
        away_score: score[1],
        version,
        teams: season.game_stats(game, now),
    }
}
