//! A team as the Broadcast API shows it.

use super::rng::{Rng, mix};
use super::roster::IDS_OF_A_TEAM;
use super::schedule::MINUTE;
use super::{Season, names};
use crate::model::broadcast::{BroadcastPlayer, BroadcastTeam, SensorAssignment};
use crate::model::roster::Roster;
use crate::model::stats::PlayerStats;
use serde::Serialize;
use serde_json::Value;

const STATES: [&str; 8] = ["IN", "KS", "KY", "MO", "NC", "OH", "VA", "WI"];
/// Days before a game: when sensors are assigned, and when a failed one is replaced.
const ASSIGNED_BEFORE: i64 = 90 * MINUTE;
const REPLACED_BEFORE: i64 = 30 * MINUTE;

/// The jerseys of a game. The body is not documented; this one is made up.
#[derive(Debug, Serialize)]
pub(crate) struct Colors {
    home: TeamColor,
    away: TeamColor,
}

#[derive(Debug, Serialize)]
struct TeamColor {
    team_id: i64,
    color_rgb: String,
}

/// The distances that a team's players ran in a game. The body is not documented; this one is made up.
#[derive(Debug, Serialize)]
pub(crate) struct Locomotion {
    team_id: i64,
    players: Vec<Distance>,
}

#[derive(Debug, Serialize)]
struct Distance {
    player_id: i64,
    distance_cm: Value,
}

impl Season {
    /// `None` while the game is not being played.
    pub(crate) fn colors(&self, game: usize, now: i64) -> Option<Colors> {
        let (moments, now) = (self.moments(game), self.time_of(game, now));
        // The first moment is just after the tip-off.
        if !(*moments.first()? - 1..*moments.last()?).contains(&now) {
            return None;
        }
        let color_of = |team_id| Some(TeamColor { team_id, color_rgb: self.color(self.team_index(team_id)?) });
        let game = self.games().get(game)?;
        Some(Colors { home: color_of(game.home_team_id)?, away: color_of(game.away_team_id)? })
    }

    /// `None` for a team that does not play in the game.
    pub(crate) fn locomotion(&self, game: usize, team_id: i64, now: i64) -> Option<Locomotion> {
        let team = self.game_stats(game, now).into_iter().find(|team| team.id == team_id)?;
        let players = team.player_stats.into_iter().filter(|line| line.id != 0);
        let distance = |line: PlayerStats| Distance {
            player_id: line.id,
            distance_cm: line.stats.get("DIST").cloned().unwrap_or_else(|| 0.into()),
        };
        Some(Locomotion { team_id, players: players.map(distance).collect() })
    }

    fn color(&self, team: usize) -> String {
        format!("{:06X}", mix(self.seed ^ team as u64) & 0xFF_FFFF)
    }

    /// The team of a roster; with a game also departed players, and the sensor assignments up to `now`.
    pub(crate) fn broadcast_team(&self, roster: Roster, game_id: Option<&str>, now: i64) -> Option<BroadcastTeam> {
        let index = self.team_index(roster.team.id)?;
        let (city, _) = names::team(index);
        let game = game_id.and_then(|id| self.game_index(id));
        let abbr = city.chars().filter(char::is_ascii_alphabetic).take(3).collect::<String>().to_uppercase();
        let players = roster.players.into_iter().map(|player| BroadcastPlayer {
            id: player.id,
            first_name: player.first_name,
            last_name: player.last_name,
            jersey_number: player.jersey_number,
            jersey_number_str: player.jersey_number_str,
            position_abbr: player.position,
            sensor: player.sensor,
            special_services: player.special_services,
            is_active: game.map(|_| player.is_active),
        });
        let players: Vec<BroadcastPlayer> = players.collect();
        Some(BroadcastTeam {
            id: roster.team.id,
            name: roster.team.name,
            abbr,
            city: city.to_owned(),
            state: STATES[index % STATES.len()].to_owned(),
            color_rgb: self.color(index),
            sensor_assignments_history: game.map(|game| self.assignments(game, index, &players, now)),
            players,
        })
    }

    /// Each player's sensor is that of the roster, which tracks the whole game; one player of a team had another
    /// before.
    fn assignments(&self, game: usize, team: usize, players: &[BroadcastPlayer], now: i64) -> Vec<SensorAssignment> {
        let mut rng = Rng::with_key(self.seed, &[0x5E50, game as u64, team as u64]);
        let (tipoff_at, now) = (self.games[game].tipoff_at, self.time_of(game, now));
        let failed = rng.index(players.len());
        let mut history: Vec<SensorAssignment> = Vec::new();
        for (place, player) in players.iter().enumerate() {
            let mut assign = |sensor, timestamp| {
                history.push(SensorAssignment { player_id: player.id, sensor, timestamp });
            };
            let first = tipoff_at - ASSIGNED_BEFORE + place as i64 * 20_000;
            if place == failed {
                // A spare sensor: players have the lower numbers of a team.
                assign(player.sensor - place as i64 + IDS_OF_A_TEAM - 1, first);
                assign(player.sensor, tipoff_at - REPLACED_BEFORE);
            } else {
                assign(player.sensor, first);
            }
        }
        history.retain(|assignment| assignment.timestamp <= now);
        history.sort_by_key(|assignment| assignment.timestamp);
        history
    }
}
