//! Who guarded whom: the nearest opponent of each attacker while the attacker's team has the ball.

use crate::opponents::{Opponent, opponents};
use crate::session::Session;
use crate::track::Object;
use std::collections::BTreeMap;

/// Frames a second that are compared.
const FRAMES_HZ: f64 = 5.0;

/// Seconds and metre-seconds of a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Guarding {
    pub seconds: f64,
    pub metre_seconds: f64,
}

/// For each attacker and defender (by team and id, and id) how long and how close; empty without possessions.
pub fn matchups(session: &Session) -> BTreeMap<(i64, i64, i64), Guarding> {
    let mut pairs: BTreeMap<(i64, i64, i64), Guarding> = BTreeMap::new();
    let rate = session.rate_hz.map_or(FRAMES_HZ, |rate| rate.min(FRAMES_HZ));
    let mut spans: Vec<(i64, i64, i64)> = session
        .possessions
        .iter()
        .map(|possession| (possession.start_ms, possession.end_ms, possession.team_id))
        .collect();
    spans.sort_unstable();
    let times = session.frame_times(Some(rate));
    let in_possession: Vec<(i64, i64)> = times.into_iter().filter_map(|t| Some((t, team_at(&spans, t)?))).collect();
    let times: Vec<i64> = in_possession.iter().map(|(t, _)| *t).collect();
    for Opponent { frame, track, nearest } in opponents(session, &times, true) {
        let (t_ms, attacking) = in_possession[frame as usize];
        let Object::Player { team_id, player_id } = session.tracks[track as usize].object else { continue };
        let is_playing = || session.lineups.at(team_id, t_ms).is_ok_and(|five| five.contains(&player_id));
        if let Ok((defender, distance)) = nearest
            && team_id == attacking
            && is_playing()
        {
            let pair = pairs.entry((team_id, player_id, defender)).or_default();
            pair.seconds += 1.0 / rate;
            pair.metre_seconds += distance / rate;
        }
    }
    pairs
}

/// The team that has the ball at a time; the later possession where two overlap, and the outer one after one within it.
pub(crate) fn team_at(spans: &[(i64, i64, i64)], t_ms: i64) -> Option<i64> {
    let next = spans.partition_point(|span| span.0 <= t_ms);
    spans[..next].iter().rev().find(|span| t_ms <= span.1).map(|span| span.2)
}
