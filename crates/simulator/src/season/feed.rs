//! The messages of a game's live streams: a possession's events once it is over, as the other resources show them.
//! Messages hold new current values over the whole game.

use super::corrections::Correction;
use super::game_log::{Act, GameLog, GamePeriod, GamePossession, PlayEvent};
use super::ledger::{self, DISTANCE};
use crate::model::schedule::ScheduledGame;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A message of a sequenced source, without its envelope.
#[derive(Debug, Clone)]
pub(crate) struct FeedMessage {
    /// `marker`, `stats` or `shots`.
    pub source: &'static str,
    pub data: Value,
}

/// The progress of a game's messages.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// Number of periods whose start, and whose end, was sent.
    started_periods: usize,
    ended_periods: usize,
    possessions: usize,
    corrections: usize,
    on_court: [[usize; 5]; 2],
    score: Option<[i64; 2]>,
    /// By side and player; 0 is the team.
    totals: HashMap<(usize, i64), HashMap<&'static str, i64>>,
    messages: Vec<FeedMessage>,
}

const TEAM: i64 = 0;

impl Feed {
    /// The new messages up to `now`.
    pub(crate) fn advance(&mut self, game_log: &GameLog, game: &ScheduledGame, now: i64) -> Vec<FeedMessage> {
        let mut sent_before = self.possessions;
        for (part, period) in game_log.periods.iter().enumerate().filter(|(_, period)| period.started_at < now) {
            if part == self.started_periods {
                self.started_periods += 1;
                self.mark("PERIOD_STARTED", game, period, period.started_at, json!({}));
            }
            let possessions = period.visible_at(now);
            for possession in possessions.iter().skip(sent_before) {
                self.corrected(game_log, game, self.possessions);
                self.possession(game_log, game, period, possession);
            }
            sent_before = sent_before.saturating_sub(possessions.len());
            if part == self.ended_periods && period.ended_at < now {
                self.corrected(game_log, game, self.possessions);
                self.ended_periods += 1;
                self.mark("PERIOD_ENDED", game, period, period.ended_at, json!({}));
                if self.ended_periods == game_log.periods.len() {
                    self.mark("GAME_ENDED", game, period, period.ended_at, json!({}));
                }
            }
        }
        self.corrected(game_log, game, self.possessions);
        std::mem::take(&mut self.messages)
    }

    fn possession(
        &mut self,
        game_log: &GameLog,
        game: &ScheduledGame,
        period: &GamePeriod,
        possession: &GamePossession,
    ) {
        for side in 0..2 {
            if self.possessions == 0 || self.on_court[side] != possession.on_court[side] {
                let five = possession.on_court[side].map(|place| game_log.sides[side].members[place].player.id);
                let lineup = json!({"team_id": team_id(game, side), "player_ids": five});
                self.mark("LINEUP", game, period, possession.started_at, lineup);
            }
        }
        self.on_court = possession.on_court;
        self.possessions += 1;
        // Versions as the game counts them: one for each event, then one for the possession.
        let first = possession.version - possession.play_events.len() as i64;
        for (version, play_event) in (first..).zip(&possession.play_events) {
            self.play_event(game_log, game, period, play_event, version);
        }
        let (at, version) = (possession.ended_at, possession.version);
        for side in 0..2 {
            for place in possession.on_court[side] {
                let member = &game_log.sides[side].members[place];
                let distance = possession.distance(member.skills.pace);
                for id in [member.player.id, TEAM] {
                    *self.totals.entry((side, id)).or_default().entry(DISTANCE).or_default() += distance;
                }
                let stats = self.current(side, member.player.id, &[DISTANCE]);
                self.stats(game, side, member.player.id, at, stats, "DISTANCE", version);
            }
            let mut stats = self.current(side, TEAM, &[DISTANCE]);
            self.add_score(&mut stats, side);
            self.stats(game, side, TEAM, at, stats, "DISTANCE", version);
        }
    }

    fn play_event(
        &mut self,
        game_log: &GameLog,
        game: &ScheduledGame,
        period: &GamePeriod,
        play_event: &PlayEvent,
        version: i64,
    ) {
        let side = play_event.side;
        let player = game_log.sides[side].members[play_event.member].player.id;
        if let Some(shot) = ledger::shot(game_log, period, play_event)
            && let Ok(Value::Object(shot)) = serde_json::to_value(&shot)
        {
            let mut data = Map::new();
            data.insert("team_id".to_owned(), team_id(game, side).into());
            data.insert("player_id".to_owned(), player.into());
            data.extend(shot);
            self.messages.push(FeedMessage { source: "shots", data: Value::Object(data) });
        }
        let codes = ledger::codes(&play_event.act);
        let names: Vec<&'static str> = codes.iter().map(|(code, _)| *code).collect();
        self.score = Some(play_event.score);
        for id in [player, TEAM] {
            let totals = self.totals.entry((side, id)).or_default();
            codes.iter().for_each(|(code, value)| *totals.entry(code).or_default() += value);
            let mut stats = self.current(side, id, &names);
            if ledger::scores(&play_event.act) {
                self.add_score(&mut stats, side);
            }
            self.stats(game, side, id, play_event.at, stats, classification(&play_event.act), version);
        }
    }

    /// The corrections made when this many possessions were over.
    fn corrected(&mut self, game_log: &GameLog, game: &ScheduledGame, possessions: usize) {
        while let Some(correction) =
            game_log.corrections.get(self.corrections).filter(|correction| correction.after <= possessions)
        {
            self.corrections += 1;
            self.correction(game, correction);
        }
    }

    fn correction(&mut self, game: &ScheduledGame, correction: &Correction) {
        let Correction { side, player_id, code, occurred_at, version, .. } = *correction;
        for id in [player_id, TEAM] {
            *self.totals.entry((side, id)).or_default().entry(code).or_default() += correction.delta;
        }
        if let (Some(score), "PTS") = (&mut self.score, code) {
            score[side] += correction.delta;
        }
        let classification = correction.classification();
        let stats = self.current(side, player_id, &[code]);
        self.stats(game, side, player_id, occurred_at, stats, &classification, version);
        let mut stats = self.current(side, TEAM, &[code]);
        if code != "PTS" {
            return self.stats(game, side, TEAM, occurred_at, stats, &classification, version);
        }
        self.add_score(&mut stats, side);
        self.stats(game, side, TEAM, occurred_at, stats, &classification, version);
        let mut stats = Map::new();
        self.add_score(&mut stats, 1 - side);
        self.stats(game, 1 - side, TEAM, occurred_at, stats, &classification, version);
    }

    fn current(&self, side: usize, id: i64, codes: &[&'static str]) -> Map<String, Value> {
        let totals = self.totals.get(&(side, id));
        let current = |code: &str| {
            let total = totals.and_then(|totals| totals.get(code)).copied().unwrap_or(0);
            (code.to_owned(), Value::from(total as f64))
        };
        codes.iter().map(|code| current(code)).collect()
    }

    fn add_score(&self, stats: &mut Map<String, Value>, side: usize) {
        if let Some(score) = self.score {
            stats.insert("TEAM_SCORE".to_owned(), Value::from(score[side] as f64));
            stats.insert("OPPOSING_TEAM_SCORE".to_owned(), Value::from(score[1 - side] as f64));
        }
    }

    #[allow(clippy::too_many_arguments, reason = "they are the fields of the message")]
    fn stats(
        &mut self,
        game: &ScheduledGame,
        side: usize,
        player_id: i64,
        occurred_at: i64,
        stats: Map<String, Value>,
        classification: &str,
        version: i64,
    ) {
        let data = json!({
            "occurred_at": occurred_at, "team_id": team_id(game, side), "player_id": player_id,
            "stats": stats, "classification": classification, "version": version,
        });
        self.messages.push(FeedMessage { source: "stats", data });
    }

    /// The contents of markers are not documented; these are made up.
    fn mark(&mut self, marker: &str, game: &ScheduledGame, period: &GamePeriod, at: i64, more: Value) {
        let mut data = json!({
            "occurred_at": at, "marker": marker, "game_id": game.event_id, "status": game.status,
            "session_id": period.id, "period": period.name,
        });
        if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
            data.extend(more);
        }
        self.messages.push(FeedMessage { source: "marker", data });
    }
}

fn team_id(game: &ScheduledGame, side: usize) -> i64 {
    [game.home_team_id, game.away_team_id][side]
}

/// Blocks and fouls have no documented names, and are named alike.
pub(super) fn classification(act: &Act) -> &'static str {
    match act {
        Act::Shot { is_made: true, three: false, .. } => "TWO_POINT_MAKE",
        Act::Shot { is_made: false, three: false, .. } => "TWO_POINT_MISS",
        Act::Shot { is_made: true, three: true, .. } => "THREE_POINT_MAKE",
        Act::Shot { is_made: false, three: true, .. } => "THREE_POINT_MISS",
        Act::FreeThrow { is_made: true } => "FREE_THROW_MAKE",
        Act::FreeThrow { is_made: false } => "FREE_THROW_MISS",
        Act::Assist => "ASSIST",
        Act::Turnover { live: true } => "LIVE_BALL_TURNOVER",
        Act::Turnover { live: false } => "TURNOVER",
        Act::Steal => "STEAL",
        Act::Rebound { offensive: true } => "OFFENSIVE_REBOUND",
        Act::Rebound { offensive: false } => "DEFENSIVE_REBOUND",
        Act::Block => "BLOCK",
        Act::Foul => "FOUL",
    }
}
