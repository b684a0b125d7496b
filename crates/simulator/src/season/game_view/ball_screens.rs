//! A game's ball screens: those that the possessions count, as predictions. The details are drawn separately, so that
//! requests do not change the game.

use super::GameSnapshot;
use crate::model::ball_screens::BallScreen;
use crate::season::ball_screens::Screen;
use crate::season::game_log::{GamePeriod, GamePossession};
use crate::season::ids::IdKind;
use crate::season::rng::Rng;
use serde_json::{Map, Value};

/// Only SWITCH is documented; the others are made up.
const DEFENCE: [&str; 5] = ["SWITCH", "DROP", "HEDGE", "OVER", "UNDER"];

impl GameSnapshot<'_> {
    pub(crate) fn ball_screens(&self) -> Vec<BallScreen> {
        let possessions = self.possessions_shown();
        let screens = (0..).zip(possessions).flat_map(|(number, (period, possession))| {
            possession.screens.iter().map(move |screen| (number, period, possession, screen))
        });
        let screens = (0..).zip(screens);
        screens
            .map(|(number, (possession_number, period, possession, screen))| {
                self.ball_screen(number, possession_number, period, possession, screen)
            })
            .collect()
    }

    fn ball_screen(
        &self,
        number: u64,
        possession_number: u64,
        period: &GamePeriod,
        possession: &GamePossession,
        screen: &Screen,
    ) -> BallScreen {
        let mut rng = Rng::with_key(self.season.seed, &[0x5C2E, self.index as u64, number]);
        let side = possession.side;
        let (handler, screener) = (screen.handler, screen.screener);
        let defender = |member: usize| self.player_id(1 - side, possession.defender(side, member)).to_string();
        let (place, lasts) = (possession.hoop.at(screen.place, 0), screen.lasts);
        let clocks = self.game_log.clocks;
        let into = (screen.at - period.started_at) / 1000;
        let offence: Map<String, Value> = screen.actions().iter().map(|action| likely(action, &mut rng)).collect();
        let defence = DEFENCE[rng.index(DEFENCE.len())];
        BallScreen {
            session_id: period.id.clone(),
            timestamp: screen.at,
            kind: "BALL_SCREEN".to_owned(),
            event_id: self.id(IdKind::Screen, number),
            game_id: self.game().event_id.clone(),
            team_possession_id: Some(self.id(IdKind::GamePossession, possession_number)),
            session_type: "GAME_ROUND".to_owned(),
            period: period.name.clone(),
            source: "VERIZON".to_owned(),
            corrected: false,
            ball_handler_player_id: self.player_id(side, handler).to_string(),
            ball_handler_defender_player_id: defender(handler),
            screener_player_ids: vec![self.player_id(side, screener).to_string()],
            screener_defender_player_ids: vec![defender(screener)],
            offensive_actions: offence,
            defensive_actions: Map::from_iter([likely(defence, &mut rng)]),
            end_timestamp: screen.at + lasts,
            team_id: self.team_id(side),
            defender_team_id: self.team_id(1 - side),
            screener_x: place.x as f64,
            screener_y: place.y as f64,
            wing: screen.wing as i64,
            video_time_mark_start: format!("{:02}:{:02}", into / 60, into % 60),
            start_game_clock: clocks.game(screen.clock),
            end_game_clock: clocks.game(screen.clock - lasts),
            start_shot_clock: screen.shot_clock.map(|left| clocks.shot(left)),
            end_shot_clock: screen.shot_clock.map(|left| clocks.shot(left - lasts)),
        }
    }
}

fn likely(action: &str, rng: &mut Rng) -> (String, Value) {
    (action.to_owned(), Value::from(rng.within(50, 99) as f64 / 100.0))
}
