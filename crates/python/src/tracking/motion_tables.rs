//! Frames, opponents, loads and coverage as tables.

use super::ids;
use super::write::Writer;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, TimestampMillisecondArray};
use sideline::resource::tracking as declared;
use std::sync::Arc;
use tracking::frames::{Frame, frames as frames_of};
use tracking::loads::Load;
use tracking::opponents::{Opponent, visit_opponents};
use tracking::reason::Reason;
use tracking::recording::{GroupLoad, LoadGroups, RecordedSession, loads_by_group};
use tracking::session::Session;
use tracking::track::{Object, Track, known_team};

type Batch = Result<RecordBatch, String>;

/// A session with its frames and the rows of one kind.
struct Part<'a, Row> {
    entry: &'a RecordedSession,
    times: Vec<i64>,
    rows: Vec<Row>,
}

fn parts<'a, Row>(
    sessions: &'a [RecordedSession],
    rate: Option<f64>,
    rows: impl Fn(&RecordedSession, &[i64]) -> Vec<Row>,
) -> Vec<Part<'a, Row>> {
    let part = |entry: &'a RecordedSession| {
        let times = entry.session.frame_times(rate);
        let rows = rows(entry, &times);
        Part { entry, times, rows }
    };
    sessions.iter().map(part).collect()
}

/// The rows of all parts, with their part.
fn iterate<'a, Row>(parts: &'a [Part<'a, Row>]) -> impl Iterator<Item = (&'a Part<'a, Row>, &'a Row)> {
    parts.iter().flat_map(|part| part.rows.iter().map(move |row| (part, row)))
}

impl<Row> Part<'_, Row> {
    fn session_id(&self) -> Option<&str> {
        self.entry.session_id.as_deref()
    }

    fn period(&self, frame: u32) -> Option<&str> {
        period_at(self.entry, self.times[frame as usize])
    }

    fn ids(&self, track: u32) -> (Option<i64>, Option<i64>) {
        ids(self.entry.session.tracks[track as usize].object)
    }
}

pub(super) fn period_at(entry: &RecordedSession, t_ms: i64) -> Option<&str> {
    let session = &entry.session;
    session.periods.get(session.period_at(t_ms))?.label.as_deref()
}

pub(super) fn frames(sessions: &[RecordedSession], rate: Option<f64>, is_exact: bool) -> Batch {
    let parts = parts(sessions, rate, |entry, times| frames_of(&entry.session, times, rate.is_some(), is_exact));
    let rows = || iterate::<Frame>(&parts);
    let clocks: Vec<Vec<(Option<f64>, Option<f64>)>> =
        parts.iter().map(|part| part.times.iter().map(|t| part.entry.clocks_at(*t)).collect()).collect();
    let clock = || {
        let pairs = parts.iter().zip(&clocks);
        pairs.flat_map(|(part, clocks)| part.rows.iter().map(move |row| clocks[row.frame as usize]))
    };
    Writer::default()
        .texts(rows().map(|(part, _)| part.session_id()))
        .categories(rows().map(|(part, row)| part.period(row.frame)))
        .positions(rows().map(|(_, row)| i32::try_from(row.frame).ok()))
        .times(rows().map(|(part, row)| part.times.get(row.frame as usize).copied()))
        .numbers(clock().map(|clock| clock.0))
        .numbers(clock().map(|clock| clock.1))
        .integers(rows().map(|(part, row)| part.ids(row.track).0))
        .integers(rows().map(|(part, row)| part.ids(row.track).1))
        .numbers(rows().map(|(_, row)| Some(row.x)))
        .numbers(rows().map(|(_, row)| Some(row.y)))
        .numbers(rows().map(|(_, row)| row.z))
        .numbers(rows().map(|(_, row)| row.speed_mps))
        .numbers(rows().map(|(_, row)| row.acceleration_mps2))
        .flags(rows().map(|(_, row)| Some(row.is_interpolated)))
        .categories(rows().map(|(_, row)| row.reason.map(Reason::name)))
        .finish(&declared::FRAMES)
}

/// The columns of opponents: a game has nearly a million rows, which are written once.
struct OpponentColumns {
    frames: Vec<i32>,
    times: Vec<i64>,
    teams: Int64Builder,
    players: Vec<i64>,
    nearest: Int64Builder,
    distances: Float64Builder,
    reasons: Vec<Option<Reason>>,
}

impl OpponentColumns {
    fn with_capacity(rows: usize) -> Self {
        OpponentColumns {
            frames: Vec::with_capacity(rows),
            times: Vec::with_capacity(rows),
            teams: Int64Builder::with_capacity(rows),
            players: Vec::with_capacity(rows),
            nearest: Int64Builder::with_capacity(rows),
            distances: Float64Builder::with_capacity(rows),
            reasons: Vec::with_capacity(rows),
        }
    }

    fn add(&mut self, session: &Session, times: &[i64], row: &Opponent) {
        let Object::Player { team_id, player_id } = session.tracks[row.track as usize].object else { return };
        self.frames.push(row.frame as i32);
        self.times.push(times[row.frame as usize]);
        self.teams.append_option(known_team(team_id));
        self.players.push(player_id);
        let nearest = row.nearest.ok();
        self.nearest.append_option(nearest.map(|nearest| nearest.0));
        self.distances.append_option(nearest.map(|nearest| nearest.1));
        self.reasons.push(row.nearest.err());
    }
}

pub(super) fn opponents(sessions: &[RecordedSession], rate: Option<f64>) -> Batch {
    let positions = sessions.iter().flat_map(|entry| &entry.session.tracks).map(Track::len);
    let mut columns = OpponentColumns::with_capacity(positions.sum());
    let mut ends = Vec::new();
    for entry in sessions {
        let times = entry.session.frame_times(rate);
        visit_opponents(&entry.session, &times, rate.is_some(), |row| columns.add(&entry.session, &times, &row));
        ends.push((entry, columns.times.len()));
    }
    let OpponentColumns { frames, times, mut teams, players, mut nearest, mut distances, reasons } = columns;
    let starts = [0].into_iter().chain(ends.iter().map(|(_, end)| *end));
    let parts: Vec<(&RecordedSession, &[i64])> =
        ends.iter().zip(starts).map(|((entry, end), start)| (*entry, &times[start..*end])).collect();
    let periods = parts.iter().flat_map(|(entry, times)| times.iter().map(|t_ms| period_at(entry, *t_ms)));
    let mut writer = Writer::default();
    writer.push(session_ids(&parts)).categories(periods).push(Arc::new(Int32Array::from(frames)));
    writer
        .push(Arc::new(TimestampMillisecondArray::from(times).with_timezone("UTC")))
        .push(Arc::new(teams.finish()))
        .push(Arc::new(Int64Array::from(players)))
        .push(Arc::new(nearest.finish()))
        .push(Arc::new(distances.finish()))
        .categories(reasons.iter().map(|reason| reason.map(Reason::name)))
        .finish(&declared::OPPONENTS)
}

/// The id of the session of each row. Its memory is reserved at once: growing it would copy it several times.
fn session_ids(parts: &[(&RecordedSession, &[i64])]) -> ArrayRef {
    let rows = parts.iter().map(|(_, times)| times.len()).sum();
    let bytes = parts.iter().map(|(entry, times)| entry.session_id.as_deref().map_or(0, str::len) * times.len()).sum();
    let mut column = StringBuilder::with_capacity(rows, bytes);
    for (entry, times) in parts {
        times.iter().for_each(|_| column.append_option(entry.session_id.as_deref()));
    }
    Arc::new(column.finish())
}

pub(super) fn loads(sessions: &[RecordedSession], groups: LoadGroups, bands: [f64; 4]) -> Batch {
    let rows = loads_by_group(sessions, groups, bands);
    let seen = |load: &Load| load.tracked_s > 0.0;
    let number = |value: fn(&Load) -> f64| rows.iter().map(move |row| seen(&row.load).then(|| value(&row.load)));
    let effort = |value: fn(&Load) -> u32| {
        let has_efforts = |load: &Load| load.has_efforts && load.tracked_s > 0.0;
        rows.iter().map(move |row| has_efforts(&row.load).then(|| i64::from(value(&row.load))))
    };
    let mut writer = Writer::default();
    writer
        .texts(rows.iter().map(|row| row.session_id.as_deref()))
        .texts(rows.iter().map(|row| row.game_id.as_deref()))
        .categories(rows.iter().map(|row| row.period.as_deref()))
        .integers(rows.iter().map(|row| known_team(row.team_id)))
        .integers(rows.iter().map(|row| Some(row.player_id)))
        .numbers(rows.iter().map(|row| Some(row.load.tracked_s / 60.0)))
        .numbers(rows.iter().map(|row| share(&row.load)))
        .numbers(number(Load::distance_m))
        .numbers(number(|load| load.distance_m() / load.tracked_s * 60.0));
    for band in 0..5 {
        writer.numbers(rows.iter().map(|row| seen(&row.load).then(|| row.load.bands_m[band])));
    }
    writer
        .integers(effort(|load| load.sprints))
        .numbers(rows.iter().map(|row| row.load.peak_mps))
        .integers(effort(|load| load.accelerations[0]))
        .integers(effort(|load| load.accelerations[1]))
        .integers(effort(|load| load.decelerations[0]))
        .integers(effort(|load| load.decelerations[1]))
        .categories(rows.iter().map(|row| load_reason(row).map(Reason::name)))
        .finish(&declared::LOADS)
}

fn share(load: &Load) -> Option<f64> {
    (load.expected_s > 0.0).then(|| (load.seen_s / load.expected_s).min(1.0))
}

fn load_reason(row: &GroupLoad) -> Option<Reason> {
    match row.load {
        load if load.tracked_s <= 0.0 => Some(Reason::Gap),
        load if !load.has_efforts => Some(Reason::RateTooLow),
        load if load.peak_mps.is_none() => Some(Reason::Gap),
        _ => None,
    }
}

pub(super) fn coverage(sessions: &[RecordedSession]) -> Batch {
    let of_session = |entry| move |track| (entry, track);
    let rows: Vec<(&RecordedSession, &Track)> =
        sessions.iter().flat_map(|entry| entry.session.tracks.iter().map(of_session(entry))).collect();
    let rows = || rows.iter().copied();
    let count = |count: usize| i64::try_from(count).ok();
    Writer::default()
        .texts(rows().map(|(entry, _)| entry.session_id.as_deref()))
        .texts(rows().map(|(entry, _)| entry.game_id.as_deref()))
        .integers(rows().map(|(_, track)| ids(track.object).0))
        .integers(rows().map(|(_, track)| ids(track.object).1))
        .integers(rows().map(|(entry, _)| entry.session.frames_expected()))
        .integers(rows().map(|(_, track)| count(track.len())))
        .numbers(rows().map(|(entry, track)| entry.session.longest_gap_s(track)))
        .integers(rows().map(|(_, track)| count(track.off_court)))
        .integers(rows().map(|(_, track)| count(track.teleports)))
        .numbers(rows().map(|(entry, _)| entry.session.rate_hz))
        .numbers(rows().map(|(entry, _)| entry.session.offset_s))
        .finish(&declared::COVERAGE)
}
