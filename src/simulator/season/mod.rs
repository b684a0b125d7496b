//! A season, played and not sampled. Deterministic by seed; games are played when asked for.

use crate::config::Sport;
use crate::resource::event::Event;
use crate::resource::locations::LocationBatch;
use crate::resource::possessions::TeamPossessions;
use crate::resource::roster::Roster;
use crate::resource::schedule::ScheduledGame;
use crate::resource::shots::TeamShots;
use crate::resource::stats::TeamStats;
use crate::resource::stats_details::TeamDetails;
use crate::resource::team::Team;
use std::sync::Arc;

/// A season: who plays whom, when. What happened in a game is made when it is asked for.
#[derive(Debug)]
pub struct Season {}

/// What one session (a period, a drill) gave, as the four resources of a session show it.
#[derive(Debug)]
pub struct Session {
    pub event_id: String,
    pub team_ids: Vec<i64>,
    pub started_at: i64,
    pub ended_at: i64,
    pub stats: Vec<TeamStats>,
    pub details: Vec<TeamDetails>,
    pub possessions: Vec<TeamPossessions>,
    pub shots: Vec<TeamShots>,
}

impl Season {
    /// `now` in epoch milliseconds places the season: it lies late in it.
    pub fn new(_seed: u64, _sport: Sport, _teams: usize, _games: usize, _now: i64) -> Self {
        unimplemented!()
    }
    pub fn teams(&self) -> &[Team] {
        unimplemented!()
    }
    /// Every game, by tipoff.
    pub fn games(&self) -> &[ScheduledGame] {
        unimplemented!()
    }
    /// The team's current active players; with a game, all who were on the team then (the departed with `is_active` false).
    /// `None`: no such team, or the team is not in that game.
    pub fn roster(&self, _team_id: i64, _game_id: Option<&str>) -> Option<Roster> {
        unimplemented!()
    }
    /// A game or practice that has begun by `now`, whole or as far as it went; one to come has no results.
    pub fn event(&self, _event_id: &str, _now: i64) -> Option<Event> {
        unimplemented!()
    }
    /// Games and practices of a team that overlap `from..to`, by start, as known at `now`.
    pub fn team_events(&self, _team_id: i64, _from: i64, _to: i64, _now: i64) -> Vec<Event> {
        unimplemented!()
    }
    /// A session that has begun by `now`, as far as it went.
    pub fn session(&self, _session_id: &str, _now: i64) -> Option<Arc<Session>> {
        unimplemented!()
    }
    /// One batch for each time step in `from..=to` that lies in the session.
    pub fn locations(&self, _session_id: &str, _from: i64, _to: i64, _now: i64) -> Option<Vec<LocationBatch>> {
        unimplemented!()
    }
    /// The occurrences of all sessions of a game.
    pub fn game_details(&self, _game_id: &str, _now: i64) -> Option<Vec<TeamDetails>> {
        unimplemented!()
    }
    /// A team's sums over a game, or over its games whose start lies in `from..to`.
    pub fn team_game_stats(
        &self,
        _team_id: i64,
        _game_id: Option<&str>,
        _from: i64,
        _to: i64,
        _now: i64,
    ) -> Option<TeamStats> {
        unimplemented!()
    }
}
