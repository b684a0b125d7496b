//! A season, played and not sampled. Deterministic by seed; games are played on demand.
//!
//! | file | content |
//! |---|---|
//! | `rng`, `ids`, `names` | platform-independent randomness, decodable ids, invented names |
//! | `teams`, `schedule`, `roster` | who plays whom, when, and with whom |
//! | `game_log` | what happens in a game: periods of possessions of events |
//! | `court`, `play` | the geometry, and the game itself, possession by possession |
//! | `substitutions`, `ball_screens`, `clocks` | who is on court, what an offence does before it shoots, clocks as strings |
//! | `ledger` | events as stats, details, possessions and shots |
//! | `feed`, `corrections`, `live` | messages of the live streams, corrections after the fact, games with clocks of their own |
//! | `path`, `limits`, `motion`, `tracking` | smooth ways, what a body can do, how ten players move so that the events are true, and what sensors tell of it |
//! | `figures` | what a game is drawn from, beside the figures of real games |
//! | `practice`, `football` | the other events |
//! | `events`, `links` | games and practices as the service shows them |
//! | `broadcast` | a team as the Broadcast API shows it |
//! | `game_view` | a game as a whole: its score, shots, plays and ball screens |

mod ball_screens;
mod broadcast;
mod chances;
mod clocks;
mod corrections;
mod court;
mod events;
mod feed;
mod figures;
mod football;
mod form;
mod game_log;
mod game_view;
mod ids;
mod ledger;
mod limits;
mod links;
mod live;
mod motion;
mod names;
mod path;
mod play;
mod practice;
mod rng;
mod roster;
mod schedule;
mod substitutions;
mod teams;
#[cfg(test)]
mod tests;
mod tracking;

use crate::model::event::Event;
use crate::model::locations::LocationBatch;
use crate::model::possessions::TeamPossessions;
use crate::model::roster::Roster;
use crate::model::schedule::ScheduledGame;
use crate::model::shots::TeamShots;
use crate::model::stats::TeamStats;
use crate::model::stats_details::TeamDetails;
use crate::model::team::Team;
use crate::sport::Sport;
pub(super) use feed::{Feed, FeedMessage};
use game_log::{GameLog, Side};
pub(crate) use game_view::GameSnapshot;
use ids::{IdKind, Ids, NamedId};
pub(super) use live::Standing;
use motion::Motion;
use practice::Practice;
pub(super) use rng::Rng;
use roster::TeamMember;
use schedule::{HOUR, SeasonPlan};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub(crate) use tracking::Sensors;
use tracking::Tracker;

/// Number of played games and practices in the cache; replaying gives the same result.
const MAX_CACHED_GAMES: usize = 64;
/// `version` grows through the season; no game has this many events.
const VERSIONS_OF_A_GAME: i64 = 4096;

/// A season: who plays whom, when. Games are played when requested.
#[derive(Debug)]
pub(crate) struct Season {
    seed: u64,
    sport: Sport,
    ids: Ids,
    teams: Vec<Team>,
    plan: SeasonPlan,
    games: Vec<ScheduledGame>,
    /// For each team the numbers of its games, by tipoff.
    games_of_team: Vec<Vec<usize>>,
    games_played: Mutex<GameCache>,
    /// By team, made when first needed.
    rosters: Vec<OnceLock<Vec<Arc<TeamMember>>>>,
    sensors: Sensors,
    changes: live::Changes,
}

type GameCache = VecDeque<((IdKind, u64), Arc<GameLog>)>;

/// The four resources of one session (a period, a drill).
#[derive(Debug)]
pub(crate) struct Session {
    pub ended_at: i64,
    pub stats: Vec<TeamStats>,
    pub details: Vec<TeamDetails>,
    pub possessions: Vec<TeamPossessions>,
    pub shots: Vec<TeamShots>,
}

/// Whether an event that starts then can overlap the range. None takes six hours, so only these need to be played.
fn near(at: i64, from: i64, to: i64, now: i64) -> bool {
    at < to.min(now) && at + 6 * HOUR > from
}

impl Season {
    /// Places the season so that it is late in it at `now`, in epoch milliseconds. Plays no game.
    pub(crate) fn new(seed: u64, sport: Sport, teams: usize, games: usize, now: i64) -> Self {
        let ids = Ids::new(seed);
        let plan = schedule::plan(seed, sport, teams, games, now);
        let teams = teams::teams(sport, teams);
        let mut games_of_team = vec![Vec::new(); teams.len()];
        for (index, fixture) in plan.fixtures.iter().enumerate() {
            games_of_team[fixture.home].push(index);
            games_of_team[fixture.away].push(index);
        }
        let schedule_game = |(index, fixture)| schedule::schedule_game(ids, sport, &teams, index, fixture);
        let games = plan.fixtures.iter().enumerate().map(schedule_game).collect();
        Season {
            seed,
            sport,
            ids,
            teams,
            plan,
            games,
            games_played: Mutex::default(),
            rosters: std::iter::repeat_with(OnceLock::new).take(games_of_team.len()).collect(),
            games_of_team,
            sensors: Sensors::default(),
            changes: live::Changes::default(),
        }
    }

    /// The same season with other sensors.
    pub(crate) fn sensed_by(self, sensors: Sensors) -> Self {
        Season { sensors, ..self }
    }

    pub(crate) fn teams(&self) -> &[Team] {
        &self.teams
    }

    /// Every game, by tipoff.
    pub(crate) fn games(&self) -> &[ScheduledGame] {
        &self.games
    }

    /// A game's part of the season, and the number of its week.
    pub(crate) fn week(&self, game: &ScheduledGame) -> (&'static str, i64) {
        schedule::week(&self.plan, game.tipoff_at)
    }

    /// The team's current active players; with a game, all who were on the team then (the departed with `is_active`
    /// false). `None`: no such team, or the team is not in that game.
    pub(crate) fn roster(&self, team_id: i64, game_id: Option<&str>) -> Option<Roster> {
        let team = self.team_index(team_id)?;
        let at = match game_id {
            None => None,
            Some(id) => {
                let fixture = &self.plan.fixtures[self.game_index(id)?];
                ([fixture.home, fixture.away].contains(&team)).then_some(Some(fixture.tipoff_at))?
            }
        };
        Some(roster::roster(&self.teams[team], self.members(team), at))
    }

    /// A game or practice that has begun by `now`, up to `now`; a future one has no results.
    pub(crate) fn event(&self, event_id: &str, now: i64) -> Option<Event> {
        let NamedId { kind, index, part: 0 } = self.ids.read(event_id)? else { return None };
        let now = self.time_of_event(kind, index, now);
        match kind {
            IdKind::Game => {
                let game = self.games.get(index as usize)?;
                if game.tipoff_at >= now {
                    return Some(events::coming(self.sport, game));
                }
                Some(events::game(self.sport, game, &*self.game_log(kind, index)?, now))
            }
            IdKind::Practice => {
                let practice = self.practice(index).filter(|practice| practice.starts_at < now)?;
                let game_log = self.game_log(kind, index)?;
                let (team, kind) =
                    (&self.teams[practice.team], if practice.is_workout { "workout" } else { "practice" });
                Some(events::practice(self.sport, team, kind, event_id.to_owned(), &game_log, now))
            }
            _ => None,
        }
    }

    /// Games and practices of a team that overlap `from..to`, by start, as known at `now`, without workouts.
    pub(crate) fn team_events(&self, team_id: i64, from: i64, to: i64, now: i64) -> Vec<Event> {
        let Some(team) = self.team_index(team_id) else { return Vec::new() };
        let games = self.games_of_team[team].iter();
        let games = games.filter(|game| near(self.games[**game].tipoff_at, from, to, self.time_of(**game, now)));
        let mut ids: Vec<String> = games.map(|game| self.games[*game].event_id.clone()).collect();
        ids.extend(self.practice_ids(team, false, from, to, now));
        self.events_between(ids, from, to, now)
    }

    /// The workouts of a team that overlap `from..to`, by start, as known at `now`.
    pub(crate) fn team_workouts(&self, team_id: i64, from: i64, to: i64, now: i64) -> Vec<Event> {
        let Some(team) = self.team_index(team_id) else { return Vec::new() };
        self.events_between(self.practice_ids(team, true, from, to, now), from, to, now)
    }

    fn practice_ids(&self, team: usize, workouts: bool, from: i64, to: i64, now: i64) -> Vec<String> {
        let all = self.practices(team).into_iter();
        all.filter(|practice| practice.is_workout == workouts && near(practice.starts_at, from, to, now))
            .map(|practice| self.ids.text(IdKind::Practice, practice.number(), 0))
            .collect()
    }

    fn events_between(&self, ids: Vec<String>, from: i64, to: i64, now: i64) -> Vec<Event> {
        let mut events: Vec<Event> = ids.iter().filter_map(|id| self.event(id, now)).collect();
        events.retain(|event| event.started_at < to && event.ended_at > from);
        events.sort_by_key(|event| event.started_at);
        events
    }

    /// A session that has begun by `now`, up to `now`.
    pub(crate) fn session(&self, session_id: &str, now: i64) -> Option<Arc<Session>> {
        let (game_log, part, now) = self.period(session_id, now)?;
        let period = &game_log.periods[part];
        let visible = vec![(period, period.visible_at(now))];
        self.place_events(&game_log, part);
        let mut places: Vec<usize> = game_log.sides.iter().map(|side| side.team).collect();
        places.dedup();
        let teams = || places.iter().map(|place| (*place, &self.teams[*place]));
        let session = Session {
            ended_at: period.ended_at.min(now),
            stats: Vec::new(),
            details: Vec::new(),
            possessions: Vec::new(),
            shots: Vec::new(),
        };
        Some(Arc::new(match self.sport {
            Sport::Basketball => Session {
                stats: teams().map(|(place, team)| ledger::stats(&game_log, place, team, &visible)).collect(),
                details: teams().map(|(place, team)| ledger::details(&game_log, place, team, &visible)).collect(),
                possessions: teams()
                    .map(|(place, team)| ledger::possessions(&game_log, place, team, &visible))
                    .collect(),
                shots: teams().map(|(place, team)| ledger::shots(&game_log, place, team, &visible)).collect(),
                ..session
            },
            Sport::Football => {
                let periods = std::slice::from_ref(period);
                let details = teams().map(|(place, team)| football::details(&game_log, place, team, periods, now));
                let details: Vec<TeamDetails> = details.collect();
                let stats = teams().zip(&details);
                let stats = stats
                    .map(|((_, team), team_details)| football::stats(team, std::slice::from_ref(team_details), false));
                Session { stats: stats.collect(), details, ..session }
            }
        }))
    }

    /// Calls `each` with one batch for each time step in `from..=to` of the session; `None`: no such session.
    pub(crate) fn locations(
        &self,
        session_id: &str,
        from: i64,
        to: i64,
        now: i64,
        mut visit: impl FnMut(LocationBatch),
    ) -> Option<()> {
        let (game_log, part, now) = self.period(session_id, now)?;
        let seed = self.motion_seed(&game_log, part);
        let visit = |mut batch| {
            self.sensors.receive(seed, &mut batch);
            visit(batch);
        };
        let teams = [0, 1].map(|side: usize| &self.teams[game_log.sides[side].team]);
        if self.sport == Sport::Football {
            let period = &game_log.periods[part];
            football::batches(&game_log, teams, period, (from, to.min(now)), self.sensors.step).for_each(visit);
            return Some(());
        }
        let periods = (&game_log.periods[part], game_log.periods.get(part + 1));
        let tracker = Tracker::new(seed, &game_log.sides, teams, game_log.sides[0].team, periods, self.sensors);
        tracker.batches(from, to.min(now)).for_each(visit);
        Some(())
    }

    fn motion_seed(&self, game_log: &GameLog, part: usize) -> u64 {
        rng::mix(self.seed ^ rng::mix(game_log.starts_at() as u64 + part as u64))
    }

    /// Sets where the events of a period are served: once, as it takes the plan of the period's motion.
    fn place_events(&self, game_log: &GameLog, part: usize) {
        let period = &game_log.periods[part];
        let events = || period.possessions.iter().flat_map(|possession| &possession.play_events);
        if events().any(|event| event.player_at.get().is_none()) {
            let next = game_log.periods.get(part + 1);
            let motion = Motion::new(self.motion_seed(game_log, part), &game_log.sides, period, next);
            events().for_each(|event| _ = event.player_at.get_or_init(|| motion.aside(event)));
        }
    }

    /// The occurrences of all sessions of a game.
    pub(crate) fn game_details(&self, game_id: &str, now: i64) -> Option<Vec<TeamDetails>> {
        let game = self.game_index(game_id)?;
        let now = self.time_of(game, now);
        if self.games[game].tipoff_at >= now {
            return Some(Vec::new());
        }
        let game_log = self.game_log(IdKind::Game, game as u64)?;
        let visible = game_log.visible_at(now);
        (0..visible.len()).for_each(|part| self.place_events(&game_log, part));
        let teams = game_log.sides.iter().map(|side| (side.team, &self.teams[side.team]));
        Some(match self.sport {
            Sport::Basketball => teams.map(|(place, team)| ledger::details(&game_log, place, team, &visible)).collect(),
            Sport::Football => {
                teams.map(|(place, team)| football::details(&game_log, place, team, &game_log.periods, now)).collect()
            }
        })
    }

    /// A team's sums over a game, or over its games that start in `from..to`.
    pub(crate) fn team_game_stats(
        &self,
        team_id: i64,
        game_id: Option<&str>,
        from: i64,
        to: i64,
        now: i64,
    ) -> Option<TeamStats> {
        let team = self.team_index(team_id)?;
        let mut games = self.games_of_team[team].clone();
        match game_id {
            Some(id) => {
                let game = self.game_index(id)?;
                games.retain(|index| *index == game);
                games.first()?;
            }
            None => games.retain(|index| (from..to).contains(&self.games[*index].tipoff_at)),
        }
        games.retain(|index| self.games[*index].tipoff_at < self.time_of(*index, now));
        let flows = games
            .iter()
            .filter_map(|index| Some((self.game_log(IdKind::Game, *index as u64)?, self.time_of(*index, now))));
        let wire = &self.teams[team];
        Some(match self.sport {
            Sport::Basketball => {
                let lines: Vec<_> = flows
                    .map(|(game_log, now)| ledger::game_lines(&game_log, team, &game_log.visible_at(now)))
                    .collect();
                ledger::sum(wire, &lines)
            }
            Sport::Football => {
                let details =
                    flows.map(|(game_log, now)| football::details(&game_log, team, wire, &game_log.periods, now));
                football::stats(wire, &details.collect::<Vec<_>>(), true)
            }
        })
    }

    fn team_index(&self, team_id: i64) -> Option<usize> {
        teams::index_of(team_id, self.teams.len())
    }

    /// The position of a game in the season.
    pub(crate) fn game_index(&self, game_id: &str) -> Option<usize> {
        let id = self.ids.read(game_id).filter(|id| id.kind == IdKind::Game && id.part == 0)?;
        Some(id.index as usize).filter(|index| *index < self.games.len())
    }

    fn members(&self, team: usize) -> &[Arc<TeamMember>] {
        let members = || roster::members(self.seed, self.sport, team, &self.teams[team], &self.plan);
        self.rosters[team].get_or_init(members)
    }

    fn practices(&self, team: usize) -> Vec<Practice> {
        if self.sport == Sport::Football {
            return Vec::new();
        }
        let tipoffs: Vec<i64> = self.games_of_team[team].iter().map(|game| self.games[*game].tipoff_at).collect();
        practice::of_team(self.seed, team, &self.plan, &tipoffs)
    }

    fn practice(&self, number: u64) -> Option<Practice> {
        let team = Some(Practice::team_of(number)).filter(|team| *team < self.teams.len())?;
        self.practices(team).into_iter().find(|practice| practice.number() == number)
    }

    /// The log of the event of a session that has begun by `now`, the index of the session's period, and the event's
    /// clock.
    fn period(&self, session_id: &str, now: i64) -> Option<(Arc<GameLog>, usize, i64)> {
        let NamedId { kind, index, part } = self.ids.read(session_id)?;
        let event = match kind {
            IdKind::GamePeriod => IdKind::Game,
            IdKind::Drill => IdKind::Practice,
            _ => return None,
        };
        let (game_log, now) = (self.game_log(event, index)?, self.time_of_event(event, index, now));
        game_log.periods.get(part as usize).filter(|period| period.started_at < now)?;
        Some((game_log, part as usize, now))
    }

    /// The log of a game or practice, from the cache or played now.
    fn game_log(&self, kind: IdKind, index: u64) -> Option<Arc<GameLog>> {
        let key = (kind, index);
        let cached_game =
            |queue: &GameCache| queue.iter().find(|(name, _)| *name == key).map(|(_, game_log)| game_log.clone());
        if let Some(game_log) = cached_game(&self.games_played.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(game_log);
        }
        // Played without the lock: two threads may both play a game, with the same result.
        let game_log = Arc::new(match kind {
            IdKind::Game => self.with_corrections(index, self.play(index as usize)?),
            IdKind::Practice => {
                let practice = self.practice(index)?;
                practice::play(self.seed, self.ids, practice, self.members(practice.team).to_vec())
            }
            _ => return None,
        });
        let mut queue = self.games_played.lock().unwrap_or_else(PoisonError::into_inner);
        if cached_game(&queue).is_none() {
            queue.truncate(MAX_CACHED_GAMES - 1);
            queue.push_front((key, game_log.clone()));
        }
        Some(game_log)
    }

    fn play(&self, index: usize) -> Option<GameLog> {
        let fixture = *self.plan.fixtures.get(index)?;
        let is_member = |member: &&Arc<TeamMember>| member.left_at.is_none_or(|left_at| fixture.tipoff_at < left_at);
        let sides = [fixture.home, fixture.away].map(|team| Side {
            team,
            members: self.members(team).iter().filter(is_member).cloned().collect(),
            strength: Rng::with_key(self.seed, &[0x57E6, team as u64]).bell(figures::form::STRENGTH),
        });
        let rng = Rng::with_key(self.seed, &[0x6A3E, index as u64]);
        let id = |part| self.ids.text(IdKind::GamePeriod, index as u64, part);
        Some(match self.sport {
            Sport::Basketball => {
                let hoops = court::hoops(self.seed, fixture.home);
                let version = (index as i64 + 1) * VERSIONS_OF_A_GAME;
                play::game(rng, hoops, version, fixture.tipoff_at, sides, id)
            }
            Sport::Football => football::game(rng, fixture.tipoff_at, sides, id),
        })
    }
}
