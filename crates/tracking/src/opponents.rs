//! The nearest opponent of each player at each frame.

use crate::lineups::Five;
use crate::reason::Reason;
use crate::session::Session;
use crate::track::{MAX_GAP_MS, Object, Track};

/// The nearest opponent of a player at a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opponent {
    pub frame: u32,
    /// The position of the player's track in [`Session::tracks`].
    pub track: u32,
    pub nearest: Result<(i64, f64), Reason>,
}

/// Walks along the frames, and keeps for each track where it stands.
pub(crate) struct Cursor<'a> {
    session: &'a Session,
    next: Vec<usize>,
    step_ms: Vec<i64>,
    t_ms: i64,
    previous_ms: i64,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        let next = vec![0; session.tracks.len()];
        Cursor { session, next, step_ms: Vec::new(), t_ms: i64::MIN, previous_ms: i64::MIN }
    }

    /// A cursor that recognises dropouts.
    pub(crate) fn with_steps(session: &'a Session) -> Self {
        Cursor { step_ms: session.tracks.iter().map(median_step_ms).collect(), ..Cursor::new(session) }
    }

    /// Moves to a time, which is not before that of the last call.
    pub(crate) fn advance(&mut self, t_ms: i64) {
        (self.previous_ms, self.t_ms) = (self.t_ms, t_ms);
        for (next, track) in self.next.iter_mut().zip(&self.session.tracks) {
            let mut steps = 0;
            while track.t_ms.get(*next).is_some_and(|t| *t < t_ms) {
                *next += 1;
                steps += 1;
                // The first time is far: it is searched for.
                if steps == 8 {
                    *next += track.t_ms[*next..].partition_point(|t| *t < t_ms);
                }
            }
        }
    }

    pub(crate) fn is_exact(&self, track: usize, t_ms: i64) -> bool {
        self.session.tracks[track].t_ms.get(self.next[track]) == Some(&t_ms)
    }

    /// Whether the track lacks a frame at this time, between two of its positions. Tags that send at different times make several
    /// frames for each step of the track; only the first of a step counts.
    pub(crate) fn is_dropout(&self, track: usize, t_ms: i64) -> bool {
        let (times, next, step_ms) = (&self.session.tracks[track].t_ms, self.next[track], self.step_ms[track]);
        let Some(before) = next.checked_sub(1).map(|i| times[i]) else { return false };
        let Some(gap_ms) = times.get(next).map(|after| after - before) else { return false };
        let steps = |t: i64| ((t - before) as f64 / step_ms as f64).round();
        let is_first = self.previous_ms <= before || steps(self.previous_ms) < steps(t_ms);
        let is_between = 0.0 < steps(t_ms) && steps(t_ms) < steps(before + gap_ms);
        gap_ms <= MAX_GAP_MS && 2 * gap_ms > 3 * step_ms && is_first && is_between
    }

    pub(crate) fn position(&self, track: usize, t_ms: i64) -> Option<(f64, f64)> {
        let (track, next) = (&self.session.tracks[track], self.next[track]);
        match track.t_ms.get(next) {
            Some(t) if *t == t_ms => Some((track.x[next], track.y[next])),
            _ => track.position_near(t_ms as f64, next),
        }
    }
}

fn median_step_ms(track: &Track) -> i64 {
    let mut steps: Vec<i64> = track.t_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(MAX_GAP_MS)
}

/// The nearest opponent of every player at every frame, in the order of [`visit_opponents`].
pub fn opponents(session: &Session, times: &[i64], is_resampled: bool) -> Vec<Opponent> {
    let mut rows = Vec::new();
    visit_opponents(session, times, is_resampled, |row| rows.push(row));
    rows
}

/// Visits the nearest opponent of every player at every frame, in the order of the frames and then of the tracks.
pub fn visit_opponents(session: &Session, times: &[i64], is_resampled: bool, mut visit: impl FnMut(Opponent)) {
    let mut cursor = Cursor::with_steps(session);
    let players = players(session);
    let mut sides: Vec<Side> = Vec::new();
    let side_of = |(_, team_id, _): &(usize, i64, i64)| {
        let existing_place = sides.iter().position(|side| side.team_id == *team_id);
        existing_place.unwrap_or_else(|| {
            sides.push(Side::new(*team_id));
            sides.len() - 1
        })
    };
    let side_of: Vec<usize> = players.iter().map(side_of).collect();
    let mut places: Vec<Option<(f64, f64)>> = vec![None; players.len()];
    for (frame, t_ms) in times.iter().enumerate() {
        cursor.advance(*t_ms);
        for ((track, ..), place) in players.iter().zip(&mut places) {
            *place = cursor.position(*track, *t_ms);
        }
        for side in &mut sides {
            side.read(session, &players, &places, *t_ms);
        }
        for ((number, (track, ..)), place) in players.iter().enumerate().zip(&places) {
            let Some(place) = *place else { continue };
            if is_resampled || cursor.is_exact(*track, *t_ms) || cursor.is_dropout(*track, *t_ms) {
                let nearest = sides[side_of[number]].nearest(place);
                visit(Opponent { frame: frame as u32, track: *track as u32, nearest });
            }
        }
    }
}

/// The position in [`Session::tracks`], team and id of each player.
pub(crate) fn players(session: &Session) -> Vec<(usize, i64, i64)> {
    let player = |(i, track): (usize, &Track)| match track.object {
        Object::Player { team_id, player_id } if !track.is_empty() => Some((i, team_id, player_id)),
        _ => None,
    };
    session.tracks.iter().enumerate().filter_map(player).collect()
}

/// A player's id and place.
type Placed = (i64, (f64, f64));

/// The opponents of a team.
struct Side {
    team_id: i64,
    /// The positions of the line-up among the players, until a time.
    five: Result<Vec<usize>, Reason>,
    until_ms: i64,
    /// Ids and places at the current frame.
    near: Result<[Placed; 5], Reason>,
}

impl Side {
    fn new(team_id: i64) -> Self {
        let reason = Reason::TooFewOpponents;
        Side { team_id, five: Err(reason), until_ms: i64::MIN, near: Err(reason) }
    }

    /// Moves to a frame, which is not before that of the last call.
    fn read(&mut self, session: &Session, players: &[(usize, i64, i64)], places: &[Option<(f64, f64)>], t_ms: i64) {
        if t_ms >= self.until_ms {
            let is_theirs =
                |(_, team_id, id): &(usize, i64, i64), five: &Five| *team_id != self.team_id && five.contains(id);
            let five = opposing_five(session, self.team_id, t_ms);
            self.five = five.map(|five| (0..players.len()).filter(|i| is_theirs(&players[*i], &five)).collect());
            let other = session.lineups.opponent(self.team_id).unwrap_or(self.team_id);
            self.until_ms = session.lineups.next_change(other, t_ms);
        }
        self.near = self.five.as_ref().map_err(|reason| *reason).and_then(|five| {
            let opponents = five.iter().filter_map(|i| Some((players[*i].2, places[*i]?)));
            let mut near = [(0, (0.0, 0.0)); 5];
            let mut count = 0;
            for opponent in opponents {
                if let Some(slot) = near.get_mut(count) {
                    *slot = opponent;
                }
                count += 1;
            }
            if count == near.len() { Ok(near) } else { Err(Reason::TooFewOpponents) }
        });
    }

    fn nearest(&self, place: (f64, f64)) -> Result<(i64, f64), Reason> {
        let mut nearest = (0, f64::INFINITY);
        for (player_id, (x, y)) in self.near? {
            let square = (x - place.0).powi(2) + (y - place.1).powi(2);
            if square < nearest.1 {
                nearest = (player_id, square);
            }
        }
        Ok((nearest.0, nearest.1.sqrt()))
    }
}

pub(crate) fn opposing_five(session: &Session, team_id: i64, t_ms: i64) -> Result<Five, Reason> {
    let other = session.lineups.opponent(team_id)?;
    session.lineups.at(other, t_ms)
}
