//! The nearest opponent of each player at each frame.

use crate::length;
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
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        Cursor { session, next: vec![0; session.tracks.len()], step_ms: Vec::new() }
    }

    /// A cursor that recognises dropouts.
    pub(crate) fn with_steps(session: &'a Session) -> Self {
        Cursor { step_ms: session.tracks.iter().map(median_step_ms).collect(), ..Cursor::new(session) }
    }

    /// Moves to a time, which is not before that of the last call.
    pub(crate) fn advance(&mut self, t_ms: i64) {
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

    /// Whether the time lies between two positions, no frame of the track's own rate being between them.
    pub(crate) fn is_dropout(&self, track: usize, t_ms: i64) -> bool {
        let (times, next) = (&self.session.tracks[track].t_ms, self.next[track]);
        let Some(step) = next.checked_sub(1).and_then(|i| Some(times.get(next)? - times[i])) else { return false };
        let from_either = times[next] - t_ms;
        let least = (self.step_ms[track] / 2).min(from_either).min(t_ms - times[next - 1]);
        step <= MAX_GAP_MS && 2 * step > 3 * self.step_ms[track] && least * 2 >= self.step_ms[track] - 1
    }

    pub(crate) fn position(&self, track: usize, t_ms: i64) -> Option<(f64, f64)> {
        self.session.tracks[track].position_near(t_ms as f64, self.next[track])
    }
}

fn median_step_ms(track: &Track) -> i64 {
    let mut steps: Vec<i64> = track.t_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(MAX_GAP_MS)
}

/// The nearest opponent of every player at every frame, in the order of the frames and then of the tracks.
pub fn opponents(session: &Session, times: &[i64], is_resampled: bool) -> Vec<Opponent> {
    let mut cursor = Cursor::with_steps(session);
    let players: Vec<(usize, i64, i64)> = players(session);
    let mut rows = Vec::with_capacity(times.len() * players.len());
    let mut places: Vec<Option<(f64, f64)>> = vec![None; session.tracks.len()];
    for (frame, t_ms) in times.iter().enumerate() {
        cursor.advance(*t_ms);
        for (track, ..) in &players {
            places[*track] = cursor.position(*track, *t_ms);
        }
        let mut sides = Sides::default();
        for (track, team_id, _) in &players {
            let Some(place) = places[*track] else { continue };
            if !is_resampled && !cursor.is_exact(*track, *t_ms) && !cursor.is_dropout(*track, *t_ms) {
                continue;
            }
            let side = sides.of(session, *team_id, *t_ms);
            let nearest = side.and_then(|five| nearest_of(place, &five, &players, &places, *team_id));
            rows.push(Opponent { frame: frame as u32, track: *track as u32, nearest });
        }
    }
    rows
}

/// The position in [`Session::tracks`], team and id of each player.
pub(crate) fn players(session: &Session) -> Vec<(usize, i64, i64)> {
    let player = |(i, track): (usize, &Track)| match track.object {
        Object::Player { team_id, player_id } if !track.is_empty() => Some((i, team_id, player_id)),
        _ => None,
    };
    session.tracks.iter().enumerate().filter_map(player).collect()
}

/// The opponents' line-up of each team at one frame, looked up once.
#[derive(Default)]
pub(crate) struct Sides(Vec<(i64, Result<Five, Reason>)>);

impl Sides {
    pub(crate) fn of(&mut self, session: &Session, team_id: i64, t_ms: i64) -> Result<Five, Reason> {
        if let Some((_, side)) = self.0.iter().find(|(team, _)| *team == team_id) {
            return *side;
        }
        let side = opposing_five(session, team_id, t_ms);
        self.0.push((team_id, side));
        side
    }
}

pub(crate) fn opposing_five(session: &Session, team_id: i64, t_ms: i64) -> Result<Five, Reason> {
    let other = session.lineups.opponent(team_id).ok_or(Reason::TooFewOpponents)?;
    session.lineups.at(other, t_ms)
}

fn nearest_of(
    place: (f64, f64),
    five: &Five,
    players: &[(usize, i64, i64)],
    places: &[Option<(f64, f64)>],
    own_team: i64,
) -> Result<(i64, f64), Reason> {
    let mut nearest: Option<(i64, f64)> = None;
    let mut count = 0;
    for (track, team_id, player_id) in players {
        if *team_id == own_team || !five.contains(player_id) {
            continue;
        }
        let Some((x, y)) = places[*track] else { continue };
        count += 1;
        let distance = length(x - place.0, y - place.1);
        if nearest.is_none_or(|(_, least)| distance < least) {
            nearest = Some((*player_id, distance));
        }
    }
    nearest.filter(|_| count == 5).ok_or(Reason::TooFewOpponents)
}
