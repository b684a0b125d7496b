//! The season's live side: games with clocks of their own, corrections, and messages.

use super::Season;
use super::feed::{Feed, FeedMessage};
use super::football;
use super::game_log::GameLog;
use super::ids::IdKind;
use super::schedule::MINUTE;
use crate::model::schedule::ScheduledGame;
use crate::model::stats::TeamStats;
use crate::sport::Sport;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Changes to games from outside, by position in the season.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// ClockFormat of games that do not follow the season's.
    clocks: Mutex<HashMap<u64, i64>>,
    corrections: Mutex<HashMap<u64, Vec<super::corrections::Correction>>>,
}

/// A game at a moment, without its stats.
#[derive(Debug)]
pub(crate) struct Standing<'a> {
    pub game: &'a ScheduledGame,
    pub period: Option<String>,
    pub game_clock: Option<String>,
    pub shot_clock: Option<String>,
    /// Home first.
    pub score: [i64; 2],
    /// The highest version sent.
    pub version: i64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Season {
    /// Sets the game's own clock to `at`, independent of the season's.
    pub(crate) fn set_clock(&self, game: usize, at: i64) {
        lock(&self.changes.clocks).insert(game as u64, at);
    }

    /// The clock of a game or practice: its own, else the season's.
    pub(crate) fn time_of(&self, game: usize, now: i64) -> i64 {
        self.time_of_event(IdKind::Game, game as u64, now)
    }

    pub(super) fn time_of_event(&self, kind: IdKind, index: u64, now: i64) -> i64 {
        match kind {
            IdKind::Game => lock(&self.changes.clocks).get(&index).copied().unwrap_or(now),
            _ => now,
        }
    }

    /// Makes a correction at the game's clock; the error says why it cannot be made. The caller serializes corrections
    /// of one game.
    pub(crate) fn correct(&self, game: usize, player_id: i64, stat: &str, delta: i64, now: i64) -> Result<(), String> {
        if self.sport == Sport::Football {
            return Err("football has no stats that are known, so none that can be corrected".to_owned());
        }
        let index = game as u64;
        let game_log = self.game_log(IdKind::Game, index).ok_or("no such game")?;
        let correction = game_log.correction(self.time_of(game, now), player_id, stat, delta)?;
        let mut corrected = GameLog::clone(&game_log);
        corrected.correct(correction.clone());
        lock(&self.changes.corrections).entry(index).or_default().push(correction);
        let mut games = lock(&self.games_played);
        games.retain(|(key, _)| *key != (IdKind::Game, index));
        games.push_front(((IdKind::Game, index), corrected.into()));
        Ok(())
    }

    /// A game that was just played, with its corrections.
    pub(super) fn with_corrections(&self, index: u64, mut game_log: GameLog) -> GameLog {
        let corrections = lock(&self.changes.corrections);
        corrections.get(&index).into_iter().flatten().for_each(|correction| game_log.correct(correction.clone()));
        game_log
    }

    /// The messages of a game since `feed` was last here.
    pub(crate) fn new_messages(&self, game: usize, feed: &mut Feed, now: i64) -> Vec<FeedMessage> {
        match self.game_log(IdKind::Game, game as u64) {
            Some(game_log) => feed.advance(&game_log, &self.games[game], self.time_of(game, now)),
            None => Vec::new(),
        }
    }

    /// The moments of a game's changes: periods begin, possessions end, the game ends.
    pub(crate) fn moments(&self, game: usize) -> Vec<i64> {
        let Some(game_log) = self.game_log(IdKind::Game, game as u64) else { return Vec::new() };
        let mut moments: Vec<i64> = Vec::new();
        for period in &game_log.periods {
            moments.extend([period.started_at + 1, period.ended_at + 1]);
            moments.extend(period.possessions.iter().map(|possession| possession.ended_at));
            if self.sport == Sport::Football {
                let minutes = (period.ended_at - period.started_at) / MINUTE;
                moments.extend((1..minutes).map(|minute| period.started_at + minute * MINUTE));
            }
        }
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    pub(crate) fn standing(&self, game: usize, now: i64) -> Standing<'_> {
        let mut standing = Standing {
            game: &self.games[game],
            period: None,
            game_clock: None,
            shot_clock: None,
            score: [0; 2],
            version: 0,
        };
        let now = self.time_of(game, now);
        let Some(game_log) = self.game_log(IdKind::Game, game as u64) else { return standing };
        let visible = game_log.visible_at(now);
        standing.score = match self.sport {
            Sport::Basketball => game_log.score(&visible).unwrap_or_default(),
            Sport::Football => football::score(&game_log, game_log.periods.len(), now),
        };
        let versions =
            visible.iter().flat_map(|(_, possessions)| possessions.iter()).map(|possession| possession.version);
        let corrected_versions = game_log.corrections.iter().map(|correction| correction.version);
        standing.version = versions.chain(corrected_versions).max().unwrap_or(0);
        if let Some((period, possessions)) = visible.iter().rev().find(|(period, _)| period.started_at < now) {
            standing.period = Some(period.name.clone());
            if let Some(last) = possessions.last() {
                standing.game_clock = Some(game_log.clocks.game(last.end_clock));
                let shot_clock = last.play_events.last().and_then(|last| last.shot_clock);
                standing.shot_clock = shot_clock.map(|left| game_log.clocks.shot(left));
            }
        }
        standing
    }

    /// The stats of both teams over the sessions of a game, home first; empty before it begins.
    pub(crate) fn game_stats(&self, game: usize, now: i64) -> Vec<TeamStats> {
        if self.games[game].tipoff_at >= self.time_of(game, now) {
            return Vec::new();
        }
        self.whole_at(game, now).map_or_else(Vec::new, |game_view| game_view.team_stats())
    }
}
