//! The resources of a whole game: what its sessions show, and the score.
//!
//! All of a response is made from one [`GameSnapshot`], so that it is consistent while the game is played.

mod ball_screens;
mod plays;
mod shots;
mod videos;

use super::game_log::{GameLog, GamePeriod, GamePossession, Hoop, PlayEvent};
use super::ids::IdKind;
use super::ledger::{self, VisiblePeriods};
use super::{Season, football};
use crate::model::catch_up::GameLine;
use crate::model::game_totals::{GameTotals, PeriodTotals, TeamScore};
use crate::model::possessions::TeamPossessions;
use crate::model::schedule::ScheduledGame;
use crate::model::stats::TeamStats;
use crate::sport::Sport;
use std::sync::Arc;

/// A game at a moment of its clock.
#[derive(Debug)]
pub(crate) struct GameSnapshot<'a> {
    season: &'a Season,
    index: usize,
    game_log: Arc<GameLog>,
    now: i64,
}

/// An event and its context.
struct Moment<'a> {
    /// In the game: later events do not change it.
    number: u64,
    period: &'a GamePeriod,
    possession: &'a GamePossession,
    play_event: &'a PlayEvent,
    /// The rest of the possession.
    next: Option<&'a PlayEvent>,
}

impl Season {
    /// A game up to its clock; a future one is empty.
    pub(crate) fn whole(&self, game_id: &str, now: i64) -> Option<GameSnapshot<'_>> {
        self.whole_at(self.game_index(game_id)?, now)
    }

    pub(super) fn whole_at(&self, index: usize, now: i64) -> Option<GameSnapshot<'_>> {
        let game_log = self.game_log(IdKind::Game, index as u64)?;
        Some(GameSnapshot { season: self, index, game_log, now: self.time_of(index, now) })
    }
}

impl GameSnapshot<'_> {
    /// When it ended, if it has.
    pub(crate) fn ended_at(&self) -> Option<i64> {
        Some(self.game_log.ends_at()).filter(|ended_at| *ended_at < self.now)
    }

    /// Home first.
    pub(crate) fn team_stats(&self) -> Vec<TeamStats> {
        let visible = self.visible_at();
        let team = |place: usize| match self.season.sport {
            Sport::Basketball => ledger::stats(&self.game_log, place, &self.season.teams[place], &visible),
            Sport::Football => {
                let wire = &self.season.teams[place];
                let details = football::details(&self.game_log, place, wire, &self.game_log.periods, self.now);
                football::stats(wire, &[details], false)
            }
        };
        self.game_log.sides.iter().map(|side| team(side.team)).collect()
    }

    /// The lines of both teams; player 0 is the team, as in a session's stats.
    pub(crate) fn lines(&self) -> Vec<GameLine> {
        let teams = self.team_stats().into_iter();
        let lines = teams.flat_map(|team| team.player_stats.into_iter().map(move |line| (team.id, line)));
        lines
            .map(|(team, line)| GameLine { pid: line.id.to_string(), tid: team.to_string(), total_stats: line.stats })
            .collect()
    }

    /// Home first; football has none.
    pub(crate) fn possessions(&self) -> Vec<TeamPossessions> {
        if self.season.sport == Sport::Football {
            return Vec::new();
        }
        let visible = self.visible_at();
        let sides = self.game_log.sides.iter();
        sides
            .map(|side| ledger::possessions(&self.game_log, side.team, &self.season.teams[side.team], &visible))
            .collect()
    }

    /// The score by period: each has the points scored in it.
    pub(crate) fn totals(&self) -> GameTotals {
        let visible = self.visible_at();
        let period_count = self.game_log.periods.iter().filter(|period| period.started_at < self.now).count();
        let score = |periods: usize| match self.season.sport {
            Sport::Basketball => self.game_log.score(&visible[..periods]).unwrap_or_default(),
            Sport::Football => football::score(&self.game_log, periods, self.now),
        };
        let scores = |[home, away]: [i64; 2]| {
            let team_score = |side: usize, value: i64| TeamScore { team_id: self.team_id(side), value };
            (team_score(0, home), team_score(1, away))
        };
        let period_totals = visible[..period_count].iter().enumerate().rev().map(|(part, (period, _))| {
            let (before, after) = (score(part), score(part + 1));
            let (home_team_score, away_team_score) = scores([after[0] - before[0], after[1] - before[1]]);
            PeriodTotals {
                away_team_score,
                home_team_score,
                period: period.name.clone(),
                session_id: period.id.clone(),
            }
        });
        let (home_team_score, away_team_score) = scores(score(period_count));
        let period = self.game_log.periods.get(period_count.saturating_sub(1));
        GameTotals {
            away_team_score,
            home_team_score,
            period: period.map_or_else(String::new, |period| period.name.clone()),
            game_clock: clock(period.map_or(0, |period| self.left(period))),
            status: self.game().status.clone(),
            period_totals: period_totals.collect(),
        }
    }

    /// Time left in a period that has begun, or of a future one.
    fn left(&self, period: &GamePeriod) -> i64 {
        if self.season.sport == Sport::Football {
            return football::clock(period, self.now);
        }
        let last = period.visible_at(self.now).last().map(|possession| possession.end_clock);
        last.or(period.possessions.first().map(|possession| possession.start_clock)).unwrap_or(0)
    }

    fn game(&self) -> &ScheduledGame {
        &self.season.games[self.index]
    }

    fn visible_at(&self) -> VisiblePeriods<'_> {
        self.game_log.visible_at(self.now)
    }

    fn moments(&self) -> Vec<Moment<'_>> {
        let possessions = self.possessions_shown();
        let play_events = possessions.iter().flat_map(|(period, possession)| {
            let all = &possession.play_events;
            all.iter().enumerate().map(|(place, play_event)| (*period, *possession, play_event, all.get(place + 1)))
        });
        let play_events = (0..).zip(play_events);
        play_events
            .map(|(number, (period, possession, play_event, next))| Moment {
                number,
                period,
                possession,
                play_event,
                next,
            })
            .collect()
    }

    fn possessions_shown(&self) -> Vec<(&GamePeriod, &GamePossession)> {
        let visible = self.visible_at().into_iter();
        visible
            .flat_map(|(period, possessions)| possessions.iter().map(move |possession| (period, possession)))
            .collect()
    }

    /// As the game's resources write it.
    fn team_id(&self, side: usize) -> String {
        [self.game().home_team_id, self.game().away_team_id][side].to_string()
    }

    fn player_id(&self, side: usize, member: usize) -> i64 {
        self.game_log.sides[side].members[member].player.id
    }

    fn id(&self, kind: IdKind, number: u64) -> String {
        self.season.ids.text(kind, self.index as u64, number)
    }

    /// Of the home team's venue.
    fn venue(&self, kind: IdKind, part: u64) -> String {
        self.season.ids.text(kind, self.game_log.sides[0].team as u64, part)
    }

    fn hoop(&self, hoop: Hoop) -> String {
        self.venue(IdKind::Hoop, u64::from(hoop.y < 0))
    }
}

impl GamePossession {
    /// Who defends a player: man to man, by position in the lineup.
    fn defender(&self, side: usize, member: usize) -> usize {
        let seat = self.on_court[side].iter().position(|place| *place == member).unwrap_or(0);
        self.on_court[1 - side][seat]
    }
}

/// The format of game totals: "00:15:00".
fn clock(left: i64) -> String {
    format!("{:02}:{:02}:{:02}", left / 3_600_000, left / 60_000 % 60, left / 1000 % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_clock_of_game_totals_has_hours() {
        assert_eq!(super::clock(15 * 60_000), "00:15:00");
        assert_eq!(super::clock(61_999), "00:01:01");
    }
}
