//! The core of `sideline.Tracking`: Arrow tables in, Arrow tables out; `sideline-tracking` computes.

mod motion_tables;
mod read;
mod sessions;
mod shot_tables;
mod team_tables;
mod write;

use crate::errors;
use crate::table::PyTable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sessions::{EventRow, SessionReader, event_rows};
use sideline::resource::tracking as declared;
use tracking::court::Court;
use tracking::defenders::Moment;
use tracking::recording::{LoadGroups, RecordedSession};
use tracking::session::{Events, Session};
use tracking::track::{Object, Track, known_team};
use write::table;

/// Half the width and length of the court, and half the width and the length of its paint, in metres.
type CourtSize = (f64, f64, Option<(f64, f64)>);

/// Session id, game id, rate, offset, and whether the session has a ball.
type SessionFacts = (Option<String>, Option<String>, Option<f64>, Option<f64>, bool);

/// The sessions of a `Tracking`, and its shots.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreTracking {
    sessions: Vec<RecordedSession>,
    shots: Vec<EventRow>,
    court: Court,
}

#[pymethods]
impl CoreTracking {
    #[new]
    fn new(
        py: Python<'_>,
        locations: Vec<Bound<'_, PyAny>>,
        shots: Vec<Bound<'_, PyAny>>,
        stat_events: Vec<Bound<'_, PyAny>>,
        possessions: Vec<Bound<'_, PyAny>>,
        court: CourtSize,
    ) -> PyResult<Self> {
        errors::guard(py, || {
            let court = Court { half_width: court.0, half_length: court.1, paint: court.2 };
            let mut reader = SessionReader::default();
            for batch in read::batches(&locations)? {
                reader.add_locations(&batch)?;
            }
            reader.check_unit(&court)?;
            let mut all_shots = Vec::new();
            for batch in read::batches(&shots)? {
                all_shots.extend(event_rows("shots", &batch)?);
            }
            reader.add_shots(&all_shots);
            for batch in read::batches(&stat_events)? {
                reader.add_events(&batch)?;
            }
            for batch in read::batches(&possessions)? {
                reader.add_possessions(&batch)?;
            }
            let sessions = py.detach(|| reader.finish(court));
            Ok(CoreTracking { sessions, shots: all_shots, court })
        })
    }

    fn sessions(&self) -> Vec<SessionFacts> {
        let facts = |entry: &RecordedSession| {
            let session = &entry.session;
            let ids = (entry.session_id.clone(), entry.game_id.clone());
            (ids.0, ids.1, session.rate_hz, session.offset_s, session.ball().is_some())
        };
        self.sessions.iter().map(facts).collect()
    }

    #[getter]
    fn shots(&self) -> usize {
        self.shots.len()
    }

    #[pyo3(signature = (rate, is_exact))]
    fn frames(&self, py: Python<'_>, rate: Option<f64>, is_exact: bool) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| motion_tables::frames(&self.sessions, rate, is_exact));
            table(py, &declared::FRAMES, batch)
        })
    }

    #[pyo3(signature = (rate))]
    fn opponents(&self, py: Python<'_>, rate: Option<f64>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| motion_tables::opponents(&self.sessions, rate));
            table(py, &declared::OPPONENTS, batch)
        })
    }

    /// Move the time of each row by `shift_s`.
    fn defenders(&self, py: Python<'_>, rows: Option<Vec<Bound<'_, PyAny>>>, shift_s: f64) -> PyResult<PyTable> {
        errors::guard(py, || {
            let mut row_events = Vec::new();
            for batch in read::batches(rows.as_deref().unwrap_or_default())? {
                row_events.extend(event_rows("rows", &batch)?);
            }
            let rows = if rows.is_some() { &row_events } else { &self.shots };
            let batch = py.detach(|| shot_tables::defenders(&self.sessions, rows, shift_s));
            table(py, &declared::DEFENDERS, batch)
        })
    }

    fn matchups(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| shot_tables::matchups(&self.sessions, &self.shots));
            table(py, &declared::MATCHUPS, batch)
        })
    }

    fn shot_quality(&self, py: Python<'_>, by: Vec<String>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| shot_tables::shot_quality(&self.sessions, &self.shots, &by));
            table(py, &declared::SHOT_QUALITY, batch)
        })
    }

    /// Raise `ValueError` where a session has no ball, or a low rate.
    fn touches(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| team_tables::touches(&self.sessions, &self.shots));
            table(py, &declared::TOUCHES, Ok(batch.map_err(PyValueError::new_err)?))
        })
    }

    /// Raise `ValueError` where a session has no ball, or a low rate.
    fn passes(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| team_tables::passes(&self.sessions, &self.shots));
            table(py, &declared::PASSES, Ok(batch.map_err(PyValueError::new_err)?))
        })
    }

    fn spacing(&self, py: Python<'_>, by_frame: bool) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| team_tables::spacing(&self.sessions, by_frame));
            table(py, &declared::SPACING, batch)
        })
    }

    fn loads(&self, py: Python<'_>, by: Vec<String>, bands: [f64; 4]) -> PyResult<PyTable> {
        errors::guard(py, || {
            let has_column = |name: &str| by.iter().any(|column| column == name);
            let groups = LoadGroups {
                by_game: has_column("game_id"),
                by_session: has_column("session_id"),
                by_period: has_column("period"),
            };
            let batch = py.detach(|| motion_tables::loads(&self.sessions, groups, bands));
            table(py, &declared::LOADS, batch)
        })
    }

    fn coverage(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| motion_tables::coverage(&self.sessions));
            table(py, &declared::COVERAGE, batch)
        })
    }

    /// Return the part of a session around a time, with its offset; `None` if there is no such session.
    fn window(
        &self,
        py: Python<'_>,
        session: (Option<String>, Option<String>),
        time: (i64, bool),
        around_ms: (i64, i64),
    ) -> PyResult<Option<Self>> {
        errors::guard(py, || {
            let ((session_id, game_id), (t_ms, is_event_time)) = (session, time);
            if read::is_seconds(t_ms) {
                let message = "the time of row is in seconds; it must be a time, or epoch milliseconds";
                return Err(PyValueError::new_err(message));
            }
            let moment = Moment { t_ms: Some(t_ms), is_event_time, ..Moment::default() };
            let row = EventRow { session_id, game_id, moment, ..EventRow::default() };
            let Some(entry) = row.session(&self.sessions) else { return Ok(None) };
            let shift = if is_event_time { entry.session.offset_s.unwrap_or(0.0) } else { 0.0 };
            let t_ms = t_ms.saturating_add((shift * 1000.0).round() as i64);
            let session = cut(entry, t_ms.saturating_sub(around_ms.0), t_ms.saturating_add(around_ms.1));
            Ok(Some(CoreTracking { sessions: vec![session], shots: Vec::new(), court: self.court }))
        })
    }
}

/// The part of a session between two times.
fn cut(entry: &RecordedSession, start_ms: i64, end_ms: i64) -> RecordedSession {
    let session = &entry.session;
    let part = |track: &Track| {
        let first = track.t_ms.partition_point(|t| *t < start_ms);
        let last = track.t_ms.partition_point(|t| *t <= end_ms);
        Track {
            t_ms: track.t_ms[first..last].to_vec(),
            x: track.x[first..last].to_vec(),
            y: track.y[first..last].to_vec(),
            z: track.z[first..last].to_vec(),
            ..*track
        }
    };
    let tracks: Vec<Track> = session.tracks.iter().map(part).filter(|track| !track.is_empty()).collect();
    let shift = (session.offset_s.unwrap_or(0.0) * 1000.0).round() as i64;
    let mut possessions = session.possessions.clone();
    possessions.retain(|possession| possession.end_ms >= start_ms && possession.start_ms <= end_ms);
    for possession in &mut possessions {
        possession.start_ms = possession.start_ms.saturating_sub(shift);
        possession.end_ms = possession.end_ms.saturating_sub(shift);
    }
    let events = Events { possessions, offset_s: session.offset_s, ..Events::default() };
    let mut window = Session::new(tracks, events, session.court);
    window.periods.clone_from(&session.periods);
    window.rate_hz = session.rate_hz;
    let clocks = entry.clocks.iter().filter(|clock| (start_ms..=end_ms).contains(&clock.0)).copied().collect();
    let (session_id, game_id) = (entry.session_id.clone(), entry.game_id.clone());
    RecordedSession { session_id, game_id, session: window, clocks }
}

/// Team, if it is known, and player of an object; the ball has neither.
fn ids(object: Object) -> (Option<i64>, Option<i64>) {
    match object {
        Object::Player { team_id, player_id } => (known_team(team_id), Some(player_id)),
        Object::Ball => (None, None),
    }
}
