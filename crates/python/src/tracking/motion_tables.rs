//! Frames, opponents, loads and coverage as tables.

use super::ids;
use super::write::Writer;
use arrow_array::RecordBatch;
use sideline::resource::tracking as declared;
use tracking::frames::{Frame, frames as frames_of};
use tracking::loads::Load;
use tracking::opponents::{Opponent, opponents as opponents_of};
use tracking::reason::Reason;
use tracking::recording::{GroupLoad, LoadGroups, RecordedSession, loads_by_group};
use tracking::track::Track;

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

pub(super) fn opponents(sessions: &[RecordedSession], rate: Option<f64>) -> Batch {
    let parts = parts(sessions, rate, |entry, times| opponents_of(&entry.session, times, rate.is_some()));
    let rows = || iterate::<Opponent>(&parts);
    Writer::default()
        .texts(rows().map(|(part, _)| part.session_id()))
        .categories(rows().map(|(part, row)| part.period(row.frame)))
        .positions(rows().map(|(_, row)| i32::try_from(row.frame).ok()))
        .times(rows().map(|(part, row)| part.times.get(row.frame as usize).copied()))
        .integers(rows().map(|(part, row)| part.ids(row.track).0))
        .integers(rows().map(|(part, row)| part.ids(row.track).1))
        .integers(rows().map(|(_, row)| row.nearest.ok().map(|nearest| nearest.0)))
        .numbers(rows().map(|(_, row)| row.nearest.ok().map(|nearest| nearest.1)))
        .categories(rows().map(|(_, row)| row.nearest.err().map(Reason::name)))
        .finish(&declared::OPPONENTS)
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
        .integers(rows.iter().map(|row| Some(row.team_id)))
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
        .numbers(number(|load| load.peak_mps))
        .integers(effort(|load| load.accelerations[0]))
        .integers(effort(|load| load.accelerations[1]))
        .integers(effort(|load| load.decelerations[0]))
        .integers(effort(|load| load.decelerations[1]))
        .categories(rows.iter().map(|row| load_reason(row).map(Reason::name)))
        .finish(&declared::LOADS)
}

fn share(load: &Load) -> Option<f64> {
    (load.frames_expected > 0.0).then(|| (load.frames_seen / load.frames_expected).min(1.0))
}

fn load_reason(row: &GroupLoad) -> Option<Reason> {
    match row.load {
        load if load.tracked_s <= 0.0 => Some(Reason::Gap),
        load if !load.has_efforts => Some(Reason::RateTooLow),
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
