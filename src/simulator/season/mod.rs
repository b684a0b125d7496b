//! A season, played and not sampled. Deterministic by seed; games are played when asked for.
//!
//! | file | idea |
//! |---|---|
//! | `rng`, `ids`, `names` | chance that is the same everywhere, ids that can be read back, invented names |
//! | `teams`, `schedule`, `roster` | who plays whom, when, and with whom |
//! | `flow` | what happens in a game: periods of possessions of happenings |
//! | `court`, `play` | the geometry, and the game itself, possession by possession |
//! | `ledger` | happenings as stats, details, possessions and shots |
//! | `tracking` | where everybody is at a time |
//! | `practice`, `football` | the other events |
//! | `events`, `links` | games and practices as the service shows them |

mod events;
mod flow;
mod ids;
mod links;
mod names;
mod play;
pub(super) mod rng;
mod roster;
mod schedule;
mod teams;

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
use flow::{Flow, Side};
use ids::{Ids, Kind, Named};
use roster::Member;
use schedule::Plan;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// So many games and practices are kept once they are played; asked for again, another comes out the same.
const KEPT: usize = 64;

/// A season: who plays whom, when. What happened in a game is made when it is asked for.
#[derive(Debug)]
pub struct Season {
    seed: u64,
    sport: Sport,
    ids: Ids,
    teams: Vec<Team>,
    plan: Plan,
    games: Vec<ScheduledGame>,
    /// For each team the numbers of its games, by tipoff.
    games_of_team: Vec<Vec<usize>>,
    played: Mutex<VecDeque<((Kind, u64), Arc<Flow>)>>,
}

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
    /// `now` in epoch milliseconds places the season: it lies late in it. No game is played here.
    pub fn new(seed: u64, sport: Sport, teams: usize, games: usize, now: i64) -> Self {
        let ids = Ids::new(seed);
        let plan = schedule::plan(seed, sport, teams, games, now);
        let teams = teams::teams(sport, teams);
        let mut games_of_team = vec![Vec::new(); teams.len()];
        for (index, fixture) in plan.fixtures.iter().enumerate() {
            games_of_team[fixture.home].push(index);
            games_of_team[fixture.away].push(index);
        }
        let scheduled = |(index, fixture)| schedule::scheduled(ids, sport, &teams, index, fixture);
        let games = plan.fixtures.iter().enumerate().map(scheduled).collect();
        Season { seed, sport, ids, teams, plan, games, games_of_team, played: Mutex::default() }
    }

    pub fn teams(&self) -> &[Team] {
        &self.teams
    }

    /// Every game, by tipoff.
    pub fn games(&self) -> &[ScheduledGame] {
        &self.games
    }

    /// The team's current active players; with a game, all who were on the team then (the departed with `is_active` false).
    /// `None`: no such team, or the team is not in that game.
    pub fn roster(&self, team_id: i64, game_id: Option<&str>) -> Option<Roster> {
        let team = self.team_index(team_id)?;
        let at = match game_id {
            None => None,
            Some(id) => {
                let fixture = &self.plan.fixtures[self.game_index(id)?];
                ([fixture.home, fixture.away].contains(&team)).then_some(Some(fixture.tipoff_at))?
            }
        };
        Some(roster::roster(&self.teams[team], &self.members(team), at))
    }

    /// A game or practice that has begun by `now`, whole or as far as it went; one to come has no results.
    pub fn event(&self, event_id: &str, now: i64) -> Option<Event> {
        let game = self.game_index(event_id)?;
        if self.games[game].tipoff_at >= now {
            return Some(events::coming(self.sport, &self.games[game]));
        }
        Some(events::game(self.sport, &self.games[game], &self.game(game), now))
    }

    /// Games and practices of a team that overlap `from..to`, by start, as known at `now`.
    pub fn team_events(&self, team_id: i64, from: i64, to: i64, now: i64) -> Vec<Event> {
        let Some(team) = self.team_index(team_id) else { return Vec::new() };
        let games = self.games_of_team[team].iter().map(|index| &self.games[*index]);
        // No game takes six hours: only those that can overlap the range are played.
        let near = games.filter(|game| game.tipoff_at < to.min(now) && game.tipoff_at + 6 * schedule::HOUR > from);
        let mut events: Vec<Event> = near.filter_map(|game| self.event(&game.event_id, now)).collect();
        events.retain(|event| event.started_at < to && event.ended_at > from);
        events.sort_by_key(|event| event.started_at);
        events
    }

    /// A session that has begun by `now`, as far as it went.
    pub fn session(&self, session_id: &str, now: i64) -> Option<Arc<Session>> {
        let Named { kind, index, part } = self.ids.read(session_id)?;
        let flow = self.flow(kind, index)?;
        let period = flow.periods.get(part as usize).filter(|period| period.started_at < now)?;
        Some(Arc::new(Session {
            event_id: self.games[index as usize].event_id.clone(),
            team_ids: flow.sides.iter().map(|side| self.teams[side.team].id).collect(),
            started_at: period.started_at,
            ended_at: period.ended_at.min(now),
            stats: Vec::new(),
            details: Vec::new(),
            possessions: Vec::new(),
            shots: Vec::new(),
        }))
    }

    /// One batch for each time step in `from..=to` that lies in the session.
    pub fn locations(&self, session_id: &str, _from: i64, _to: i64, now: i64) -> Option<Vec<LocationBatch>> {
        self.session(session_id, now).map(|_| Vec::new())
    }

    /// The occurrences of all sessions of a game.
    pub fn game_details(&self, game_id: &str, _now: i64) -> Option<Vec<TeamDetails>> {
        self.game_index(game_id).map(|_| Vec::new())
    }

    /// A team's sums over a game, or over its games whose start lies in `from..to`.
    pub fn team_game_stats(
        &self,
        team_id: i64,
        game_id: Option<&str>,
        _from: i64,
        _to: i64,
        _now: i64,
    ) -> Option<TeamStats> {
        let team = &self.teams[self.team_index(team_id)?];
        if let Some(id) = game_id {
            self.game_index(id)?;
        }
        Some(TeamStats {
            id: team.id,
            name: team.name.clone(),
            logo_image_link: links::logo(team.id),
            player_stats: Vec::new(),
        })
    }

    fn team_index(&self, team_id: i64) -> Option<usize> {
        teams::index_of(team_id, self.teams.len())
    }

    fn game_index(&self, game_id: &str) -> Option<usize> {
        let named = self.ids.read(game_id).filter(|named| named.kind == Kind::Game)?;
        Some(named.index as usize).filter(|index| *index < self.games.len())
    }

    fn members(&self, team: usize) -> Vec<Member> {
        roster::members(self.seed, self.sport, team, &self.teams[team], &self.plan)
    }

    fn game(&self, index: usize) -> Arc<Flow> {
        self.keep((Kind::Game, index as u64), || {
            let fixture = &self.plan.fixtures[index];
            let side = |team| {
                let at = fixture.tipoff_at;
                let there = |member: &Member| member.left_at.is_none_or(|left_at| at < left_at);
                Side { team, members: self.members(team).into_iter().filter(there).collect() }
            };
            play::game(self.seed, self.ids, index, fixture.tipoff_at, [side(fixture.home), side(fixture.away)])
        })
    }

    /// What happened in the event that a session's id names.
    fn flow(&self, kind: Kind, index: u64) -> Option<Arc<Flow>> {
        match kind {
            Kind::Period => {
                Some(index as usize).filter(|index| *index < self.games.len()).map(|index| self.game(index))
            }
            _ => None,
        }
    }

    fn keep(&self, key: (Kind, u64), make: impl FnOnce() -> Flow) -> Arc<Flow> {
        let kept = |queue: &VecDeque<((Kind, u64), Arc<Flow>)>| {
            queue.iter().find(|(name, _)| *name == key).map(|(_, flow)| flow.clone())
        };
        if let Some(flow) = kept(&self.played.lock().unwrap_or_else(PoisonError::into_inner)) {
            return flow;
        }
        // Played without the lock: two threads may both play a game, to the same end.
        let flow = Arc::new(make());
        let mut queue = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        if kept(&queue).is_none() {
            queue.truncate(KEPT - 1);
            queue.push_front((key, flow.clone()));
        }
        flow
    }
}
