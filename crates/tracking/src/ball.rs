//! Touches and passes, from the distance between the ball and the players.

use crate::motion::Smoothing;
use crate::opponents::{Cursor, players};
use crate::reason::Reason;
use crate::session::Session;
use crate::track::{MAX_GAP_MS, Object, Track, known_team};
use std::collections::BTreeSet;

/// A player has the ball from when it is this close until it is farther than the second distance, in metres.
const MAX_START_M: f64 = 1.0;
const MAX_HOLD_M: f64 = 1.5;

/// A ball that is faster than this beside a player, from the start to the end of a contact, flies past.
const MAX_HELD_MPS: f64 = 4.0;

/// A ball higher than this is in nobody's hands.
const MAX_HEIGHT_M: f64 = 2.8;

/// Shorter contacts are no touches; a shorter interruption ends none, as a dribble or a lost frame.
const MIN_TOUCH_MS: i64 = 200;
const MAX_INTERRUPTION_MS: i64 = 500;

/// A longer flight is no pass, and a longer time without a touch a dead ball.
const MAX_FLIGHT_MS: i64 = 3000;

/// How far a shot may be from the end of its touch.
const MAX_SHOT_MS: u64 = 1000;

/// What ended a touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Pass,
    Shot,
    Turnover,
    DeadBall,
    Other,
}

impl Ending {
    pub fn name(self) -> &'static str {
        match self {
            Ending::Pass => "pass",
            Ending::Shot => "shot",
            Ending::Turnover => "turnover",
            Ending::DeadBall => "dead_ball",
            Ending::Other => "other",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    pub team_id: i64,
    pub player_id: i64,
    pub start_ms: i64,
    pub end_ms: i64,
    pub distance_m: f64,
    pub ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    pub team_id: i64,
    pub passer_id: i64,
    pub receiver_id: i64,
    pub t_ms: i64,
    pub distance_m: f64,
    pub air_time_s: f64,
}

/// The touches of a session. `shots` are times, in the clock of the positions, and shooters.
pub fn touches(session: &Session, shots: &[(i64, i64)]) -> Result<Vec<Touch>, Reason> {
    if session.is_rate_low() || session.ball().is_some_and(Track::is_rate_low) {
        return Err(Reason::RateTooLow);
    }
    let mut touches = contacts(session)?;
    let with_shot: BTreeSet<usize> = shots.iter().filter_map(|shot| touch_of(shot, &touches)).collect();
    for i in 0..touches.len() {
        touches[i].ending = match with_shot.contains(&i) {
            true => Ending::Shot,
            false => ending(&touches[i], touches.get(i + 1)),
        };
        touches[i].distance_m = way(session, &touches[i]);
    }
    Ok(touches)
}

/// The passes between touches of teammates.
pub fn passes(session: &Session, touches: &[Touch]) -> Vec<Pass> {
    let pairs = touches.windows(2).filter(|pair| pair[0].ending == Ending::Pass);
    pairs.filter_map(|pair| pass(session, &pair[0], &pair[1])).collect()
}

/// The distance of a pass is that between the passer at its start and the receiver at its end.
fn pass(session: &Session, from: &Touch, to: &Touch) -> Option<Pass> {
    let place = |touch: &Touch, t_ms: i64| {
        let object = Object::Player { team_id: touch.team_id, player_id: touch.player_id };
        session.track(object)?.position(t_ms as f64)
    };
    let (start, end) = (place(from, from.end_ms)?, place(to, to.start_ms)?);
    Some(Pass {
        team_id: from.team_id,
        passer_id: from.player_id,
        receiver_id: to.player_id,
        t_ms: from.end_ms,
        distance_m: (end.0 - start.0).hypot(end.1 - start.1),
        air_time_s: (to.start_ms - from.end_ms) as f64 / 1000.0,
    })
}

/// A player at the ball; the places are those of the ball beside the player at the start and the end of the touch.
struct Contact {
    track: usize,
    touch: Touch,
    first: (f64, f64),
    last: (f64, f64),
}

impl Contact {
    /// Whether the ball only flew past the player.
    fn is_flight(&self) -> bool {
        let seconds = (self.touch.end_ms - self.touch.start_ms) as f64 / 1000.0;
        (self.last.0 - self.first.0).hypot(self.last.1 - self.first.1) > MAX_HELD_MPS * seconds
    }
}

/// Intervals in which one player is at the ball.
fn contacts(session: &Session) -> Result<Vec<Touch>, Reason> {
    let ball = session.ball().ok_or(Reason::NoBall)?;
    let players = players(session);
    let mut cursor = Cursor::new(session);
    let mut holder: Option<Contact> = None;
    let mut contacts: Vec<Contact> = Vec::new();
    for i in 0..ball.len() {
        let t_ms = ball.t_ms[i];
        cursor.advance(t_ms);
        let beside = |track: usize| cursor.position(track, t_ms).map(|(x, y)| (ball.x[i] - x, ball.y[i] - y));
        let distance = |track: usize| beside(track).map_or(f64::INFINITY, |(x, y)| x.hypot(y));
        let is_high = ball.z[i] > MAX_HEIGHT_M;
        let nearest = players.iter().map(|player| (distance(player.0), player));
        let nearest = nearest.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|near| near.0 <= MAX_START_M && !is_high);
        if let Some(contact) = &mut holder {
            let metres = distance(contact.track);
            // Who had the ball while nobody saw it is unknown.
            let is_seen = t_ms - ball.t_ms[i - 1] <= MAX_GAP_MS;
            let is_held = metres <= MAX_HOLD_M && !is_high && is_seen;
            let is_taken = nearest.is_some_and(|(_, player)| player.0 != contact.track && metres > MAX_START_M);
            if is_held && !is_taken {
                // A touch ends when the ball was last close.
                if metres <= MAX_START_M {
                    contact.touch.end_ms = t_ms;
                    contact.last = beside(contact.track).unwrap_or(contact.last);
                }
                continue;
            }
            contacts.extend(holder.take());
        }
        holder = nearest.and_then(|(_, (track, team_id, player_id))| {
            let (team_id, player_id, first) = (*team_id, *player_id, beside(*track)?);
            let touch =
                Touch { team_id, player_id, start_ms: t_ms, end_ms: t_ms, distance_m: 0.0, ending: Ending::Other };
            Some(Contact { track: *track, touch, first, last: first })
        });
    }
    contacts.extend(holder);
    Ok(touches_of(contacts.into_iter().filter(|contact| !contact.is_flight()).map(|contact| contact.touch)))
}

/// Leaves out contacts that are too short, and joins the parts of touches that they, or nothing, interrupt.
fn touches_of(contacts: impl Iterator<Item = Touch>) -> Vec<Touch> {
    let mut touches = join(contacts);
    touches.retain(|touch| touch.end_ms - touch.start_ms >= MIN_TOUCH_MS);
    join(touches.into_iter())
}

fn join(contacts: impl Iterator<Item = Touch>) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    for contact in contacts {
        match touches.last_mut() {
            Some(last)
                if last.player_id == contact.player_id && contact.start_ms - last.end_ms <= MAX_INTERRUPTION_MS =>
            {
                last.end_ms = contact.end_ms;
            }
            _ => touches.push(contact),
        }
    }
    touches
}

/// The touch of a shot's player that ends nearest to it: a shot ends one touch.
fn touch_of(shot: &(i64, i64), touches: &[Touch]) -> Option<usize> {
    let (t_ms, player_id) = *shot;
    let of_shooter = touches.iter().enumerate().filter(|(_, touch)| touch.player_id == player_id);
    let distances = of_shooter.map(|(i, touch)| (touch.end_ms.abs_diff(t_ms), i));
    distances.min().filter(|(ms, _)| *ms <= MAX_SHOT_MS).map(|(_, i)| i)
}

fn ending(touch: &Touch, next: Option<&Touch>) -> Ending {
    match next {
        Some(next) if next.start_ms - touch.end_ms > MAX_FLIGHT_MS => Ending::DeadBall,
        Some(next) if next.player_id == touch.player_id => Ending::Other,
        Some(next) => match known_team(next.team_id).zip(known_team(touch.team_id)) {
            Some((next_team, team)) if next_team == team => Ending::Pass,
            Some(_) => Ending::Turnover,
            None => Ending::Other,
        },
        None => Ending::DeadBall,
    }
}

fn way(session: &Session, touch: &Touch) -> f64 {
    let object = Object::Player { team_id: touch.team_id, player_id: touch.player_id };
    let Some(track) = session.track(object) else { return 0.0 };
    let Some(rate) = track.rate_hz else { return 0.0 };
    let smoothing = Smoothing::new(rate, false);
    let first = track.t_ms.partition_point(|t| *t < touch.start_ms.saturating_sub(1000));
    let last = track.t_ms.partition_point(|t| *t <= touch.end_ms.saturating_add(1000));
    let part = Track {
        t_ms: track.t_ms[first..last].to_vec(),
        x: track.x[first..last].to_vec(),
        y: track.y[first..last].to_vec(),
        z: track.z[first..last].to_vec(),
        ..*track
    };
    let inside = |path: &crate::motion::Path, i: usize| {
        let t = path.start_ms as f64 + i as f64 * path.step_s * 1000.0;
        t >= touch.start_ms as f64 - 1e-6 && t < touch.end_ms as f64 - 1e-6
    };
    let paths = smoothing.paths(&part);
    paths
        .map(|path| {
            (0..path.x.len() - 1).filter(|i| inside(&path, *i)).map(|i| path.speed(i) * path.step_s).sum::<f64>()
        })
        .sum()
}
