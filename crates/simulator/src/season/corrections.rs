//! Corrections after the fact: they change a value of a player's line, and so the team's.
//!
//! A correction changes stats and the score, and adds one occurrence with its delta, without clocks and place, to the
//! details, so that a box score stays the sum of its details. Possessions and shots are observations, and stay.

use super::game_log::{GameLog, GamePeriod, GamePossession};
use super::ledger::{self, CODES, DISTANCE};
use crate::model::stats_details::Occurrence;

#[derive(Debug, Clone)]
pub(crate) struct Correction {
    pub session_id: String,
    pub side: usize,
    pub player_id: i64,
    pub code: &'static str,
    pub delta: i64,
    /// The version of the changed line: higher than all earlier ones.
    pub version: i64,
    /// The time of the corrected event, if known.
    pub occurred_at: i64,
    /// As in the clock strings' `period`.
    pub period: String,
    /// Possessions of the game that were over when it was made. The scores of later ones include it.
    pub after: usize,
}

impl Correction {
    pub(crate) fn occurrence(&self) -> Occurrence {
        Occurrence {
            occurred_at: self.occurred_at,
            value: self.delta as f64,
            game_clock: None,
            shot_clock: None,
            period: self.period.clone(),
            x: None,
            y: None,
            z: None,
            hoop_to_event_x: None,
            hoop_to_event_y: None,
        }
    }

    fn points(&self) -> i64 {
        if self.code == "PTS" { self.delta } else { 0 }
    }

    /// The classification in messages. Taking a make back leaves a miss (`UPDATED_<x>_TO_<y>`); other decreases are
    /// deletions.
    pub(crate) fn classification(&self) -> String {
        let shot_kind = match self.code {
            "FG" | "FG2" | "PTS" => Some("TWO_POINT"),
            "FG3" => Some("THREE_POINT"),
            "FT" => Some("FREE_THROW"),
            _ => None,
        };
        match (shot_kind, self.delta < 0) {
            (Some(kind), true) => format!("UPDATED_{kind}_MAKE_TO_MISS"),
            (Some(kind), false) => format!("UPDATED_{kind}_MISS_TO_MAKE"),
            (None, true) => format!("DELETED_{}", self.event_kind()),
            (None, false) => self.event_kind().to_owned(),
        }
    }

    fn event_kind(&self) -> &'static str {
        match self.code {
            "FGA" | "FGA2" | "FGA_OTD" => "TWO_POINT_MISS",
            "FGA3" | "FGA3_OTD" => "THREE_POINT_MISS",
            "FTA" => "FREE_THROW_MISS",
            "AST" => "ASSIST",
            "TO" => "TURNOVER",
            "LBTO" => "LIVE_BALL_TURNOVER",
            "STL" => "STEAL",
            "REB" => "REBOUND",
            "OFFENSIVE_REB" => "OFFENSIVE_REBOUND",
            "DEFENSIVE_REB" => "DEFENSIVE_REBOUND",
            "BLK" => "BLOCK",
            "FL" => "FOUL",
            _ => "DISTANCE",
        }
    }
}

impl GameLog {
    /// A correction made at `now`. It belongs to the last session in which the player has as much as it takes away.
    pub(crate) fn correction(&self, now: i64, player_id: i64, stat: &str, delta: i64) -> Result<Correction, String> {
        let code = CODES.iter().chain([&DISTANCE]).find(|code| **code == stat);
        let code = *code.ok_or_else(|| format!("{stat:?} is none of {}, {DISTANCE}", CODES.join(", ")))?;
        if delta == 0 {
            return Err("a correction by 0 corrects nothing".to_owned());
        }
        if !(-1_000_000..=1_000_000).contains(&delta) {
            return Err(format!("a correction is at most a million, not {delta}"));
        }
        let side = self.sides.iter().position(|side| side.members.iter().any(|member| member.player.id == player_id));
        let side = side.ok_or_else(|| format!("player {player_id} is in neither team of the game"))?;
        let visible = self.visible_at(now);
        let team = self.sides[side].team;
        let value_in =
            |part: &(&GamePeriod, &[GamePossession])| ledger::value(self, team, &vec![*part], player_id, code);
        let (period, possessions) = visible
            .iter()
            .rev()
            .find(|part| value_in(part).is_some_and(|value| value + delta >= 0))
            .ok_or_else(|| format!("player {player_id} has no session yet whose {code} can change by {delta}"))?;
        let last_event = possessions.iter().flat_map(|possession| &possession.play_events).rev().find(|play_event| {
            play_event.side == side
                && self.sides[side].members[play_event.member].player.id == player_id
                && ledger::codes(&play_event.act).iter().any(|(event_code, _)| *event_code == code)
        });
        let ended_at = possessions.last().map_or(period.started_at, |possession| possession.ended_at);
        let versions =
            visible.iter().flat_map(|(_, possessions)| possessions.iter().map(|possession| possession.version));
        let corrected_versions = self.corrections.iter().map(|correction| correction.version);
        Ok(Correction {
            session_id: period.id.clone(),
            side,
            player_id,
            code,
            delta,
            version: versions.chain(corrected_versions).max().unwrap_or(0) + 1,
            occurred_at: last_event.map_or(ended_at, |play_event| play_event.at),
            period: period.name.clone(),
            after: visible.iter().map(|(_, possessions)| possessions.len()).sum(),
        })
    }

    pub(crate) fn correct(&mut self, correction: Correction) {
        for possession in self.periods.iter_mut().flat_map(|period| &mut period.possessions).skip(correction.after) {
            possession.version += 1;
            for play_event in &mut possession.play_events {
                play_event.score[correction.side] += correction.points();
            }
        }
        self.corrections.push(correction);
    }

    /// The current score, home first; `None` before anything happened.
    pub(crate) fn score(&self, visible: &[(&GamePeriod, &[GamePossession])]) -> Option<[i64; 2]> {
        let possessions = || visible.iter().flat_map(|(_, possessions)| possessions.iter());
        let last = possessions().rfind(|possession| !possession.play_events.is_empty())?;
        let mut score = last.play_events.last()?.score;
        // Later sessions do not change the score in this one.
        let end = visible.last().map_or(0, |(period, _)| period.ended_at);
        for correction in self
            .corrections
            .iter()
            .filter(|correction| correction.version > last.version && correction.occurred_at <= end)
        {
            score[correction.side] += correction.points();
        }
        Some(score)
    }
}
