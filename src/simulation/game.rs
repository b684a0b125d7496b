//! The game of a night: the points of its players, with their whole history, and the bodies that show them.

use super::night::SeededRandom;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const PLAYERS: [i64; 4] = [7, 8, 9, 10];
pub(super) const TEAM: i64 = 1;

/// New points of a player. Versions count the changes of the game.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub at: Duration,
    pub player: i64,
    pub points: i64,
    pub version: i64,
}

#[derive(Debug, Default)]
pub(super) struct Game {
    pub history: Vec<Change>,
}

impl Game {
    /// A player scores, or a correction takes points away.
    pub(super) fn score(&mut self, at: Duration) -> Change {
        let version = self.history.len() as i64 + 1;
        let mut random = SeededRandom(version as u64 ^ 0xB0B0);
        let player = random.pick(&PLAYERS);
        let before = self.points(at).get(&player).map_or(0, |change| change.points);
        let points = if random.below(8) == 0 { (before - 2).max(0) } else { before + random.between(1, 3) as i64 };
        let change = Change { at, player, points, version };
        self.history.push(change);
        change
    }

    /// The last change of each player until a time.
    pub(super) fn points(&self, until: Duration) -> BTreeMap<i64, Change> {
        self.points_while(|change| change.at <= until)
    }

    /// The last change of each player up to a version.
    pub(super) fn points_of_version(&self, version: i64) -> BTreeMap<i64, Change> {
        self.points_while(|change| change.version <= version)
    }

    fn points_while(&self, is_before: impl Fn(&Change) -> bool) -> BTreeMap<i64, Change> {
        let changes = self.history.iter().take_while(|change| is_before(change));
        changes.map(|change| (change.player, *change)).collect()
    }

    /// The changes of one player.
    pub(super) fn of_player(&self, player: i64) -> Vec<Change> {
        self.history.iter().filter(|change| change.player == player).copied().collect()
    }

    /// The teams of a snapshot; with `has_invalid_row`, one row is unreadable.
    pub(super) fn teams(&self, until: Duration, has_versions: bool, has_invalid_row: bool) -> Value {
        let row = |change: &Change| {
            let points = if has_invalid_row && change.player == PLAYERS[0] { json!("x") } else { json!(change.points) };
            let version = has_versions.then_some(change.version);
            json!({ "id": change.player, "version": version, "stats": { "PTS": points } })
        };
        json!([{ "id": TEAM, "name": "T", "player_stats": self.points(until).values().map(row).collect::<Value>() }])
    }

    /// A body of `catch_up`; with `has_invalid_row`, one row is unreadable.
    pub(super) fn catch_up(&self, until: Duration, has_invalid_row: bool) -> String {
        let row = |change: &Change| {
            let points = if has_invalid_row && change.player == PLAYERS[0] { json!("x") } else { json!(change.points) };
            json!({ "tid": TEAM.to_string(), "pid": change.player.to_string(), "totalStats": { "PTS": points } })
        };
        let rows = self.points(until).values().map(row).collect::<Value>();
        json!({ "stats": rows, "details": [] }).to_string()
    }
}
