//! Positions, speeds and accelerations at each frame.

use crate::motion::{Path, Smoothing};
use crate::opponents::Cursor;
use crate::reason::Reason;
use crate::session::Session;
use crate::track::Track;

/// An object at a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    pub frame: u32,
    /// The position of the object's track in [`Session::tracks`].
    pub track: u32,
    pub x: f64,
    pub y: f64,
    pub z: Option<f64>,
    pub speed_mps: Option<f64>,
    pub acceleration_mps2: Option<f64>,
    pub is_interpolated: bool,
    pub reason: Option<Reason>,
}

/// A path with its accelerations.
struct Course {
    path: Path,
    accelerations: Vec<f64>,
}

impl Course {
    fn end_ms(&self) -> f64 {
        self.path.start_ms as f64 + (self.path.x.len() - 1) as f64 * self.path.step_s * 1000.0
    }

    fn acceleration(&self, t_ms: f64) -> f64 {
        let exact = (t_ms - self.path.start_ms as f64) / 1000.0 / self.path.step_s;
        let last = self.accelerations.len() - 1;
        let i = (exact.max(0.0) as usize).min(last);
        let share = (exact - i as f64).clamp(0.0, 1.0);
        self.accelerations[i] + share * (self.accelerations[(i + 1).min(last)] - self.accelerations[i])
    }
}

/// Every object at every frame that its positions support, in the order of the frames and then of the tracks. Without
/// resampling these are its own positions, and the frames that a dropout of at most a second lacks.
pub fn frames(session: &Session, times: &[i64], is_resampled: bool, is_exact: bool) -> Vec<Frame> {
    let Some(rate_hz) = session.rate_hz else { return lone_frames(session, times) };
    let smoothing = |track: &Track| Smoothing::new(track.rate_hz.unwrap_or(rate_hz), is_exact);
    let smoothings: Vec<Smoothing> = session.tracks.iter().map(smoothing).collect();
    let course = |path: Path| Course { accelerations: path.accelerations(&path.speeds()), path };
    let tracks = session.tracks.iter().zip(&smoothings);
    let courses: Vec<Vec<Course>> =
        tracks.map(|(track, smoothing)| smoothing.paths(track).map(course).collect()).collect();
    let mut next = vec![0; courses.len()];
    let mut cursor = Cursor::with_steps(session);
    let mut rows = Vec::new();
    for (frame, t_ms) in times.iter().enumerate() {
        cursor.advance(*t_ms);
        for (number, track) in session.tracks.iter().enumerate() {
            let is_own = cursor.is_exact(number, *t_ms);
            if !is_resampled && !is_own && !cursor.is_dropout(number, *t_ms) {
                continue;
            }
            let Some((x, y)) = cursor.position(number, *t_ms) else { continue };
            while courses[number].get(next[number]).is_some_and(|course| course.end_ms() < *t_ms as f64 - 0.5) {
                next[number] += 1;
            }
            let course = courses[number].get(next[number]).filter(|course| course.path.start_ms <= *t_ms);
            let mut row = Frame { is_interpolated: !is_own, ..still(frame, number, track, (x, y), *t_ms) };
            if let Some(course) = course {
                describe(&mut row, course, *t_ms as f64, &smoothings[number], track.is_rate_low());
            }
            rows.push(row);
        }
    }
    rows
}

fn describe(row: &mut Frame, course: &Course, t_ms: f64, smoothing: &Smoothing, is_rate_low: bool) {
    let ((x, y), (vx, vy)) = course.path.at(t_ms);
    if smoothing.is_filtered() {
        (row.x, row.y) = (x, y);
    }
    row.speed_mps = Some(vx.hypot(vy));
    row.acceleration_mps2 = (!is_rate_low).then(|| course.acceleration(t_ms));
    row.reason = is_rate_low.then_some(Reason::RateTooLow);
}

/// A single position has no speed.
fn still(frame: usize, number: usize, track: &Track, (x, y): (f64, f64), t_ms: i64) -> Frame {
    Frame {
        frame: frame as u32,
        track: number as u32,
        x,
        y,
        z: height(track, t_ms),
        speed_mps: None,
        acceleration_mps2: None,
        is_interpolated: false,
        reason: Some(Reason::Gap),
    }
}

fn lone_frames(session: &Session, times: &[i64]) -> Vec<Frame> {
    let row = |(frame, t_ms): (usize, &i64)| {
        let tracks = session.tracks.iter().enumerate();
        let row =
            |(number, track): (usize, &Track)| Some(still(frame, number, track, track.position(*t_ms as f64)?, *t_ms));
        tracks.filter_map(row).collect::<Vec<Frame>>()
    };
    times.iter().enumerate().flat_map(row).collect()
}

/// The height on the line between two positions.
fn height(track: &Track, t_ms: i64) -> Option<f64> {
    let i = track.t_ms.partition_point(|t| *t < t_ms);
    let after = *track.t_ms.get(i)?;
    if after == t_ms {
        return Some(track.z[i]).filter(|z| z.is_finite());
    }
    let before = i.checked_sub(1)?;
    let share = (t_ms - track.t_ms[before]) as f64 / (after - track.t_ms[before]) as f64;
    Some(track.z[before] + share * (track.z[i] - track.z[before])).filter(|z| z.is_finite())
}
