//! The sessions of a game, or of many.

use crate::loads::{Load, expected_s, loads};
use crate::parallel;
use crate::session::Session;
use crate::track::{Object, Track};
use std::collections::{BTreeMap, BTreeSet};

/// A session with its ids.
#[derive(Debug)]
pub struct RecordedSession {
    pub session_id: Option<String>,
    pub game_id: Option<String>,
    pub session: Session,
    /// Time, game clock and shot clock in seconds, by time.
    pub clocks: Vec<(i64, Option<f64>, Option<f64>)>,
}

impl RecordedSession {
    /// The clocks at a time: those of a row, or between two rows at most a second apart.
    pub fn clocks_at(&self, t_ms: i64) -> (Option<f64>, Option<f64>) {
        let i = self.clocks.partition_point(|row| row.0 < t_ms);
        let Some(after) = self.clocks.get(i) else { return (None, None) };
        if after.0 == t_ms {
            return (after.1, after.2);
        }
        let Some(before) = i.checked_sub(1).map(|i| self.clocks[i]) else { return (None, None) };
        if after.0.saturating_sub(before.0) > crate::track::MAX_GAP_MS {
            return (None, None);
        }
        let share = (t_ms - before.0) as f64 / (after.0 - before.0) as f64;
        // A clock that rises was set again between the rows.
        let between = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if b <= a => Some(a + share * (b - a)),
            _ => None,
        };
        (between(before.1, after.1), between(before.2, after.2))
    }
}

/// What loads are kept apart by, besides the player.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadGroups {
    pub by_game: bool,
    pub by_session: bool,
    pub by_period: bool,
}

/// The load of a player in a group; an id is `None` where the group has several.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupLoad {
    pub session_id: Option<String>,
    pub game_id: Option<String>,
    pub period: Option<String>,
    pub team_id: i64,
    pub player_id: i64,
    pub load: Load,
}

type GroupKey = (Option<String>, Option<String>, Option<(Option<String>, Option<String>)>, i64, i64);

/// The loads of every player by group, in the order of the sessions, periods and players. In a group of several sessions, those
/// of the player's game in which the player has no position have frames too, all of them unseen.
pub fn loads_by_group(sessions: &[RecordedSession], groups: LoadGroups, bands: [f64; 4]) -> Vec<GroupLoad> {
    let mut places: BTreeMap<GroupKey, usize> = BTreeMap::new();
    let mut rows: Vec<GroupLoad> = Vec::new();
    for entry in sessions {
        let tracks: Vec<(&Track, (i64, i64))> =
            entry.session.tracks.iter().filter_map(|track| Some((track, player(track)?))).collect();
        let of_tracks = parallel::map(&tracks, |(track, player)| (*player, loads(&entry.session, track, bands)));
        for (number, period) in entry.session.periods.iter().enumerate() {
            for ((team_id, player_id), loads) in &of_tracks {
                let row = GroupLoad {
                    session_id: entry.session_id.clone(),
                    game_id: entry.game_id.clone(),
                    period: period.label.clone(),
                    team_id: *team_id,
                    player_id: *player_id,
                    load: loads[number],
                };
                let place = *places
                    .entry(key((entry, period.label.as_ref()), (*team_id, *player_id), groups))
                    .or_insert(rows.len());
                match rows.get_mut(place) {
                    Some(group) => merge(group, &row),
                    None => rows.push(row),
                }
            }
        }
    }
    for (entry, player) in absences(sessions) {
        for period in &entry.session.periods {
            let place = places.get(&key((entry, period.label.as_ref()), player, groups));
            if let Some(group) = place.and_then(|place| rows.get_mut(*place)) {
                group.load.expected_s += expected_s(&entry.session, period);
            }
        }
    }
    rows
}

/// The sessions of a game without a position of one of its players, with team and id of the player.
fn absences(sessions: &[RecordedSession]) -> Vec<(&RecordedSession, (i64, i64))> {
    let mut players: BTreeMap<&str, BTreeSet<(i64, i64)>> = BTreeMap::new();
    let players_of = |entry: &RecordedSession| entry.session.tracks.iter().filter_map(player).collect::<BTreeSet<_>>();
    for entry in sessions {
        if let Some(game) = &entry.game_id {
            players.entry(game).or_default().extend(players_of(entry));
        }
    }
    let mut absences = Vec::new();
    for entry in sessions {
        let (own_players, of_game) = (players_of(entry), entry.game_id.as_deref().and_then(|game| players.get(game)));
        absences.extend(
            of_game.into_iter().flatten().filter(|player| !own_players.contains(player)).map(|player| (entry, *player)),
        );
    }
    absences
}

fn player(track: &Track) -> Option<(i64, i64)> {
    match track.object {
        Object::Player { team_id, player_id } => Some((team_id, player_id)),
        Object::Ball => None,
    }
}

fn key(
    (entry, label): (&RecordedSession, Option<&String>),
    (team_id, player_id): (i64, i64),
    groups: LoadGroups,
) -> GroupKey {
    // Periods of one name in two games are two; a session without labels is a period of its own.
    let game = entry.game_id.clone().or_else(|| entry.session_id.clone());
    let label = label.cloned().or_else(|| entry.session_id.clone());
    (
        groups.by_game.then(|| entry.game_id.clone()).flatten(),
        groups.by_session.then(|| entry.session_id.clone()).flatten(),
        groups.by_period.then_some((game, label)),
        team_id,
        player_id,
    )
}

fn merge(group: &mut GroupLoad, row: &GroupLoad) {
    let pairs = [
        (&mut group.session_id, &row.session_id),
        (&mut group.game_id, &row.game_id),
        (&mut group.period, &row.period),
    ];
    for (own_id, other_id) in pairs {
        if own_id != other_id {
            *own_id = None;
        }
    }
    group.load.add(&row.load);
}
