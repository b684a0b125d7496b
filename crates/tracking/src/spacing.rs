//! The room that a team's five players take.

use crate::opponents::{Cursor, players};
use crate::reason::Reason;
use crate::session::Session;

/// Frames a second that a possession's means are taken over.
const FRAMES_HZ: f64 = 5.0;

/// The shape of five players at a frame, or its mean.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shape {
    pub hull_m2: f64,
    pub teammate_m: f64,
    pub in_paint: f64,
    pub ball_side: Option<f64>,
}

/// The shape of each of the two teams at each frame: the position of the frame, the team, the shape.
pub fn by_frame(session: &Session, times: &[i64]) -> Vec<(usize, i64, Result<Shape, Reason>)> {
    let mut teams = session.lineups.teams.clone();
    teams.sort_unstable();
    let mut cursor = Cursor::new(session);
    let mut rows = Vec::with_capacity(times.len() * teams.len());
    for (frame, t_ms) in times.iter().enumerate() {
        cursor.advance(*t_ms);
        rows.extend(teams.iter().map(|team| (frame, *team, shape(session, &cursor, *team, *t_ms))));
    }
    rows
}

/// The mean shape of the team that has the ball, for each of [`Session::possessions`]. Where most frames lack it, a mean of the
/// others would not be that of the possession.
pub fn by_possession(session: &Session) -> Vec<Result<Shape, Reason>> {
    let rate = session.rate_hz.map_or(FRAMES_HZ, |rate| rate.min(FRAMES_HZ));
    let times = session.frame_times(Some(rate));
    let mean = |possession: &crate::lineups::Possession| {
        if !possession.has_times() {
            return Err(Reason::ClockUnknown);
        }
        let first = times.partition_point(|t| *t < possession.start_ms);
        let last = times.partition_point(|t| *t <= possession.end_ms).max(first);
        let mut cursor = Cursor::new(session);
        let shapes = times[first..last].iter().map(|t| {
            cursor.advance(*t);
            shape(session, &cursor, possession.team_id, *t)
        });
        // Frames before the first and after the last position are missing too.
        let frames = possession.end_ms.saturating_sub(possession.start_ms) as f64 / 1000.0 * rate;
        mean(shapes.collect(), frames)
    };
    session.possessions.iter().map(mean).collect()
}

fn mean(shapes: Vec<Result<Shape, Reason>>, frames: f64) -> Result<Shape, Reason> {
    let reason = shapes.iter().find_map(|shape| shape.as_ref().err().copied()).unwrap_or(Reason::Gap);
    let shapes: Vec<Shape> = shapes.into_iter().flatten().collect();
    let is_most = |count: usize| count > 0 && 2.0 * count as f64 >= frames;
    if !is_most(shapes.len()) {
        return Err(reason);
    }
    let n = shapes.len() as f64;
    let sides: Vec<f64> = shapes.iter().filter_map(|shape| shape.ball_side).collect();
    let mean = |value: fn(&Shape) -> f64| shapes.iter().map(value).sum::<f64>() / n;
    Ok(Shape {
        hull_m2: mean(|shape| shape.hull_m2),
        teammate_m: mean(|shape| shape.teammate_m),
        in_paint: mean(|shape| shape.in_paint),
        ball_side: is_most(sides.len()).then(|| sides.iter().sum::<f64>() / sides.len() as f64),
    })
}

fn shape(session: &Session, cursor: &Cursor<'_>, team: i64, t_ms: i64) -> Result<Shape, Reason> {
    let five = session.lineups.at(team, t_ms).map_err(|_| Reason::LineupUnknown)?;
    let teammates = players(session).into_iter().filter(|(_, team_id, id)| *team_id == team && five.contains(id));
    let places: Vec<(f64, f64)> = teammates.filter_map(|(track, ..)| cursor.position(track, t_ms)).collect();
    if places.len() < 5 {
        return Err(Reason::Gap);
    }
    let ball = session.ball().and_then(|track| track.position(t_ms as f64));
    Ok(Shape {
        hull_m2: hull_area(&places),
        teammate_m: mean_distance(&places),
        in_paint: places.iter().filter(|(x, y)| session.court.is_in_paint(*x, *y)).count() as f64,
        ball_side: ball.map(|(x, _)| places.iter().filter(|place| place.0 * x >= 0.0).count() as f64 / 5.0),
    })
}

fn mean_distance(places: &[(f64, f64)]) -> f64 {
    let pairs = places.iter().enumerate().flat_map(|(i, a)| places[i + 1..].iter().map(move |b| (a, b)));
    let distances: Vec<f64> = pairs.map(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1)).collect();
    distances.iter().sum::<f64>() / distances.len() as f64
}

/// The area of the convex hull, by Andrew's monotone chain and the shoelace formula.
pub fn hull_area(places: &[(f64, f64)]) -> f64 {
    let mut ordered_places = places.to_vec();
    ordered_places.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let cross = |o: (f64, f64), a: (f64, f64), b: (f64, f64)| (a.0 - o.0) * (b.1 - o.1) - (a.1 - o.1) * (b.0 - o.0);
    let chain = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut chain: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while chain.len() >= 2 && cross(chain[chain.len() - 2], chain[chain.len() - 1], point) <= 0.0 {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut hull = chain(&mut ordered_places.iter().copied());
    hull.extend(chain(&mut ordered_places.iter().rev().copied()));
    let edges = hull.iter().zip(hull.iter().cycle().skip(1));
    edges.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>().abs() / 2.0
}
