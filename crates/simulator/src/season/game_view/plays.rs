//! A game's play-by-play: each event, with what it adds to the box score.

use super::{GameSnapshot, Moment};
use crate::model::play_by_play::{Play, PlayKey, VideoAttributes};
use crate::season::corrections::Correction;
use crate::season::feed;
use crate::season::game_log::{Act, GamePeriod};
use crate::season::ids::IdKind;
use crate::season::ledger::{self, DISTANCE};
use serde_json::{Map, Value};

/// The numbers of rows that only a correction made: greater than all others.
const CORRECTIONS: u64 = 1 << 15;

impl GameSnapshot<'_> {
    /// By time; rows added by corrections are last.
    pub(crate) fn plays(&self) -> Vec<Play> {
        (0..self.game_log.periods.len()).for_each(|part| self.season.place_events(&self.game_log, part));
        let mut plays: Vec<Play> = self.moments().iter().map(|moment| self.play(moment)).collect();
        for (number, correction) in (CORRECTIONS..).zip(&self.game_log.corrections) {
            // Measured values are not among the events, so there is no row to correct.
            if correction.code != DISTANCE {
                self.correct(&mut plays, correction, number);
            }
        }
        plays
    }

    fn play(&self, moment: &Moment) -> Play {
        let Moment { number, period, play_event, .. } = *moment;
        let (place, chart) = (play_event.shown_place(), play_event.shown_place().chart());
        let (base, actual) = base_and_actual(&play_event.act);
        let stats = ledger::codes(&play_event.act).into_iter();
        Play {
            stats: stats.map(|(code, value)| (code.to_owned(), value.into())).collect(),
            game_clock: Some(self.game_log.clocks.game(play_event.clock)),
            shot_clock: play_event.shot_clock.map(|left| self.game_log.clocks.shot(left)),
            player_x: Some(place.x as f64),
            player_y: Some(place.y as f64),
            player_z: Some(place.z as f64),
            hoop_to_event_x: Some(chart.x as f64),
            hoop_to_event_y: Some(chart.y as f64),
            base_stats: base.to_owned(),
            actual_stats: actual.to_owned(),
            ..self.row(
                number,
                period,
                play_event.side,
                self.player_id(play_event.side, play_event.member),
                play_event.at,
                feed::classification(&play_event.act),
            )
        }
    }

    /// A row without clocks, place and codes, which a correction does not have.
    fn row(&self, number: u64, period: &GamePeriod, side: usize, player: i64, at: i64, classification: &str) -> Play {
        let (facility, court) = (self.venue(IdKind::Facility, 0), self.venue(IdKind::Court, 0));
        Play {
            kind: "ACTUAL".to_owned(),
            event_id: self.id(IdKind::Play, number),
            timestamp: at,
            team_id: self.team_id(side),
            session_type: "GAME_ROUND".to_owned(),
            session_id: period.id.clone(),
            practice_id: None,
            practice_definition_id: None,
            drill_definition_id: None,
            game_id: self.game().event_id.clone(),
            stats: Map::new(),
            corrected: false,
            facility_id: facility.clone(),
            court_id: court.clone(),
            game_clock: None,
            shot_clock: None,
            period: period.name.clone(),
            player_x: None,
            player_y: None,
            player_z: None,
            hoop_to_event_x: None,
            hoop_to_event_y: None,
            clip_id: None,
            classification: classification.to_owned(),
            description: self.description(side, player, classification),
            video_attributes: VideoAttributes { facility_id: facility, court_id: court, session_id: period.id.clone() },
            base_stats: String::new(),
            actual_stats: String::new(),
            key: PlayKey { actor_id: player.to_string(), timestamp: at },
            act: "PLAYER".to_owned(),
            pid: player.to_string(),
        }
    }

    /// "A B live ball turnover".
    fn description(&self, side: usize, player: i64, classification: &str) -> String {
        let event_name = classification.to_lowercase().replace('_', " ");
        match self.game_log.sides[side].members.iter().find(|member| member.player.id == player) {
            Some(member) => format!("{} {} {event_name}", member.player.first_name, member.player.last_name),
            None => event_name,
        }
    }

    /// Changes the row of the corrected event; adds a row if the player has none with the code.
    fn correct(&self, plays: &mut Vec<Play>, correction: &Correction, number: u64) {
        let Correction { side, player_id, code, delta, occurred_at, .. } = *correction;
        let player = player_id.to_string();
        let is_it = |play: &&mut Play| {
            play.pid == player
                && play.timestamp == occurred_at
                && play.session_id == correction.session_id
                && play.stats.contains_key(code)
        };
        if let Some(play) = plays.iter_mut().find(is_it) {
            let before = play.stats.get(code).and_then(Value::as_i64).unwrap_or(0);
            play.stats.insert(code.to_owned(), (before + delta).into());
            play.corrected = true;
            play.classification = correction.classification();
            play.description = self.description(side, player_id, &play.classification);
            return;
        }
        let Some(period) = self.game_log.periods.iter().find(|period| period.id == correction.session_id) else {
            return;
        };
        let row = self.row(number, period, side, player_id, occurred_at, &correction.classification());
        plays.push(Play {
            stats: Map::from_iter([(code.to_owned(), delta.into())]),
            corrected: true,
            base_stats: code.to_owned(),
            actual_stats: code.to_owned(),
            ..row
        });
    }
}

/// The general code of an event, and the specific one (TO and LBTO).
fn base_and_actual(act: &Act) -> (&'static str, &'static str) {
    match act {
        Act::Shot { is_made: true, three: false, .. } => ("FG", "FG2"),
        Act::Shot { is_made: true, three: true, .. } => ("FG", "FG3"),
        Act::Shot { is_made: false, three: false, .. } => ("FGA", "FGA2"),
        Act::Shot { is_made: false, three: true, .. } => ("FGA", "FGA3"),
        Act::FreeThrow { is_made: true } => ("FT", "FT"),
        Act::FreeThrow { is_made: false } => ("FTA", "FTA"),
        Act::Assist => ("AST", "AST"),
        Act::Turnover { live: true } => ("TO", "LBTO"),
        Act::Turnover { live: false } => ("TO", "TO"),
        Act::Steal => ("STL", "STL"),
        Act::Rebound { offensive: true } => ("REB", "OFFENSIVE_REB"),
        Act::Rebound { offensive: false } => ("REB", "DEFENSIVE_REB"),
        Act::Block => ("BLK", "BLK"),
        Act::Foul => ("FL", "FL"),
    }
}
