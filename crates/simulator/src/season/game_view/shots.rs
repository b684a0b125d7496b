//! The shots of a game: those of its sessions, in abbreviations, and with fields that only the game has.

use super::{GameSnapshot, Moment};
use crate::model::game_shots::GameShot;
use crate::season::game_log::Act;
use crate::season::ids::IdKind;
use crate::season::ledger;
use crate::season::rng::Rng;

impl GameSnapshot<'_> {
    pub(crate) fn shots(&self) -> Vec<GameShot> {
        self.moments().iter().filter_map(|moment| self.shot(moment)).collect()
    }

    fn shot(&self, moment: &Moment) -> Option<GameShot> {
        let Moment { number, period, possession, play_event, next } = *moment;
        let shot = ledger::shot(&self.game_log, period, play_event)?;
        let side = play_event.side;
        let has_attribute = |name: &str| shot.attributes.iter().any(|attribute| attribute == name);
        let mut rng = Rng::with_key(self.season.seed, &[0xD21B, self.index as u64, number]);
        let passer = next.filter(|next| next.act == Act::Assist);
        let Act::Shot { defender, .. } = play_event.act else { return None };
        let others = possession.on_court[1 - side];
        let is_wrong = rng.chance(self.season.sensors.wrong_defenders);
        let defender = if is_wrong { wrong(&mut rng, others, defender) } else { defender };
        Some(GameShot {
            label: None,
            t: shot.occurred_at,
            pid: self.player_id(side, play_event.member).to_string(),
            tid: self.team_id(side),
            sid: period.id.clone(),
            sst: "GAME_ROUND".to_owned(),
            gid: self.game().event_id.clone(),
            st: if shot.is_make { "MAKE" } else { "MISS" }.to_owned(),
            is3: shot.is_3point,
            pts: match (shot.is_make, shot.is_3point) {
                (false, _) => -1,
                (true, false) => 2,
                (true, true) => 3,
            },
            z: shot.zone,
            az: shot.advanced_zone,
            px: shot.player_x,
            py: shot.player_y,
            pz: shot.player_z,
            hx: shot.hoop_x,
            hy: shot.hoop_y,
            hz: shot.hoop_z,
            hsx: shot.hoop_player_x,
            hsy: shot.hoop_player_y,
            s: shot.status,
            drb: if has_attribute("OTD") { rng.within(1, 8) } else { 0 },
            dd: None,
            fid: self.venue(IdKind::Facility, 0),
            hid: self.hoop(play_event.place.hoop),
            gc: shot.game_clock,
            sc: shot.shot_clock,
            prd: shot.period,
            players: passer.iter().map(|pass| self.player_id(side, pass.member).to_string()).collect(),
            d: play_event.place.chart().distance_cm(),
            shot_defenders: vec![self.player_id(1 - side, defender)],
            attributes: shot.attributes,
        })
    }
}

/// Another of the five.
fn wrong(rng: &mut Rng, five: [usize; 5], defender: usize) -> usize {
    let seat = five.iter().position(|member| *member == defender).unwrap_or(0);
    five[(seat + 1 + rng.index(4)) % 5]
}
