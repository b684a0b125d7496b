//! The defenders around a player at a moment.

use crate::opponents::opposing_five;
use crate::reason::Reason;
use crate::session::Session;
use crate::track::{Object, Track};

/// How far from the place of the shot its shooter may be.
pub const MAX_PLACE_ERROR_M: f64 = 1.0;

/// Half the time over which the closing speed is measured.
const CLOSING_MS: f64 = 250.0;

/// A moment of a player: a shot, or any event.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// Epoch milliseconds; `None` if unknown.
    pub t_ms: Option<i64>,
    /// Whether the time is in the clock of the events, so that the offset is added.
    pub is_event_time: bool,
    pub player_id: Option<i64>,
    pub place: Option<(f64, f64)>,
    pub hoop: Option<(f64, f64)>,
}

/// Whoever defends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defender {
    pub t_ms: i64,
    pub defender_id: i64,
    pub distance_m: f64,
    pub second_defender_id: i64,
    pub second_distance_m: f64,
    /// Positive while the defender comes closer.
    pub closing_mps: Option<f64>,
    /// Between the directions to the hoop and to the defender, from 0 to 180.
    pub angle_deg: Option<f64>,
}

/// How open a shot is, in the order of the distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Openness {
    VeryTight,
    Tight,
    Open,
    WideOpen,
}

impl Openness {
    /// By the distance of the nearest defender: the limits are 2, 4 and 6 feet.
    pub fn of(distance_m: f64) -> Openness {
        match distance_m {
            ..0.6096 => Openness::VeryTight,
            ..1.2192 => Openness::Tight,
            ..1.8288 => Openness::Open,
            _ => Openness::WideOpen,
        }
    }

    /// The value of the column `openness`.
    pub fn name(self) -> &'static str {
        match self {
            Openness::VeryTight => "very_tight",
            Openness::Tight => "tight",
            Openness::Open => "open",
            Openness::WideOpen => "wide_open",
        }
    }
}

/// The time of a moment in the clock of the positions.
pub fn time_of(session: &Session, moment: &Moment) -> Result<i64, Reason> {
    time_at(session.offset_s, moment)
}

fn time_at(offset_s: Option<f64>, moment: &Moment) -> Result<i64, Reason> {
    let t_ms = moment.t_ms.ok_or(Reason::ClockUnknown)?;
    match (moment.is_event_time, offset_s) {
        (false, _) => Ok(t_ms),
        (true, Some(offset)) => Ok(t_ms.saturating_add((offset * 1000.0).round() as i64)),
        (true, None) => Err(Reason::ClockUnknown),
    }
}

/// The two nearest opponents of a player at a moment.
pub fn defender(session: &Session, moment: &Moment) -> Result<Defender, Reason> {
    let track = moment.player_id.and_then(|id| session.player(id)).filter(|track| !track.is_empty());
    let track = track.ok_or(Reason::ShooterNotTracked)?;
    let Object::Player { team_id, .. } = track.object else { return Err(Reason::ShooterNotTracked) };
    let t_ms = time_of(session, moment)?;
    let place = track.position(t_ms as f64).ok_or(Reason::Gap)?;
    if moment.place.is_some_and(|shot| distance(shot, place) > MAX_PLACE_ERROR_M) {
        return Err(Reason::PlaceDisagrees);
    }
    let five = opposing_five(session, team_id, t_ms)?;
    let mut near: Vec<(f64, i64, &Track)> = Vec::new();
    for other in &session.tracks {
        let Object::Player { team_id: other_team, player_id } = other.object else { continue };
        if other_team == team_id || !five.contains(&player_id) {
            continue;
        }
        // A moment with a position has one of the sensor's within half the largest gap.
        if let Some(other_place) = other.position(t_ms as f64) {
            near.push((distance(other_place, place), player_id, other));
        }
    }
    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let [first, second, _, _, _] = near.as_slice() else { return Err(Reason::TooFewOpponents) };
    Ok(Defender {
        t_ms,
        defender_id: first.1,
        distance_m: first.0,
        second_defender_id: second.1,
        second_distance_m: second.0,
        closing_mps: closing(track, first.2, t_ms as f64),
        angle_deg: angle(place, first.2.position(t_ms as f64), moment.hoop),
    })
}

/// Distances at a moment that say whether events and positions agree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Surroundings {
    /// From the player to the place of the event.
    pub place_error_m: Option<f64>,
    pub ball_m: Option<f64>,
    /// To the nearest of the named players.
    pub named_m: Option<f64>,
}

/// The distances of a player at a moment, whatever else is unknown: also where no offset is confirmed.
pub fn surroundings(session: &Session, moment: &Moment, names: &[i64]) -> Surroundings {
    let distances = || {
        let offset = session.closest_offset;
        let t_ms = time_at(offset.map(|offset| offset.seconds), moment).ok()? as f64;
        let within_ms = offset.filter(|_| moment.is_event_time).map_or(0.0, |offset| 2.0 * 1000.0 * offset.error_s);
        let player = session.player(moment.player_id?)?;
        let place = player.position(t_ms)?;
        let from_player = |other: (f64, f64)| distance(other, place);
        let near_names = names.iter().filter_map(|id| session.player(*id)?.position(t_ms)).map(from_player);
        Some(Surroundings {
            place_error_m: moment.place.map(from_player),
            ball_m: session.ball().and_then(|ball| ball_distance(player, ball, t_ms, within_ms)),
            named_m: near_names.min_by(f64::total_cmp),
        })
    };
    distances().unwrap_or_default()
}

/// The least distance from `within_ms` before a moment to as long after it, and at the ball's positions around them: between two
/// positions a pass or a shot may begin, whose way no line shows.
fn ball_distance(player: &Track, ball: &Track, t_ms: f64, within_ms: f64) -> Option<f64> {
    ball.position(t_ms)?;
    let first = ball.t_ms.partition_point(|t| (*t as f64) <= t_ms - within_ms).saturating_sub(1);
    let last = ball.t_ms.partition_point(|t| (*t as f64) < t_ms + within_ms).min(ball.len() - 1);
    let distance_at = |t: f64| Some(distance(player.position(t)?, ball.position(t)?));
    let frames = ball.t_ms[first..=last].iter().map(|t| *t as f64);
    frames.chain([t_ms]).filter_map(distance_at).min_by(f64::total_cmp)
}

fn closing(player: &Track, defender: &Track, t_ms: f64) -> Option<f64> {
    let distance_at = |t: f64| Some(distance(player.position(t)?, defender.position(t)?));
    Some((distance_at(t_ms - CLOSING_MS)? - distance_at(t_ms + CLOSING_MS)?) / (2.0 * CLOSING_MS / 1000.0))
}

/// In whole nanometres, so that rounding errors do not choose the side of a threshold.
fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    ((a.0 - b.0).hypot(a.1 - b.1) * 1e9).round() / 1e9
}

fn angle(place: (f64, f64), defender: Option<(f64, f64)>, hoop: Option<(f64, f64)>) -> Option<f64> {
    let (defender, hoop) = (defender?, hoop?);
    let (a, b) = ((defender.0 - place.0, defender.1 - place.1), (hoop.0 - place.0, hoop.1 - place.1));
    Some((a.0 * b.1 - a.1 * b.0).abs().atan2(a.0 * b.0 + a.1 * b.1).to_degrees())
}
