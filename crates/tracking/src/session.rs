//! The tracks of a session, and everything that its other tables say about them.

use crate::court::Court;
use crate::filter::is_low;
use crate::lineups::{Lineups, Possession};
use crate::offset::{self, Offset, Shot};
use crate::track::{Object, Track};
use std::collections::{BTreeMap, BTreeSet};

/// A period of a session; its ends are open where no other period follows or precedes.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    pub label: Option<String>,
    pub start_ms: i64,
    pub end_ms: i64,
}

/// The tracks of one session in the order of their objects.
#[derive(Debug)]
pub struct Session {
    pub court: Court,
    pub tracks: Vec<Track>,
    /// Frames a second, the median of the tracks; `None` if no track has two positions.
    pub rate_hz: Option<f64>,
    /// Seconds to add to the time of an event for the time of its positions; `None` without a shot to compare, and where most
    /// shots are elsewhere at any offset.
    pub offset_s: Option<f64>,
    /// The offset that comes closest, confirmed or not: what compares events with positions needs one.
    pub(crate) closest_offset: Option<Offset>,
    pub periods: Vec<Period>,
    pub lineups: Lineups,
    pub possessions: Vec<Possession>,
}

/// What the events of a session say, in the clock of the events.
#[derive(Debug, Default)]
pub struct Events {
    pub shots: Vec<Shot>,
    pub possessions: Vec<Possession>,
    /// Times with the label of their period.
    pub periods: Vec<(i64, String)>,
    /// An offset estimated before, from more shots.
    pub offset_s: Option<f64>,
}

impl Session {
    pub fn new(mut tracks: Vec<Track>, events: Events, court: Court) -> Self {
        tracks.sort_unstable_by_key(|track| track.object);
        let rate_hz = rate_hz(&tracks);
        let known_offset = events.offset_s.map(|seconds| Offset { seconds, error_s: 0.0, is_confirmed: true });
        let closest_offset = known_offset.or_else(|| offset::estimate(&tracks, &events.shots));
        let offset_s = closest_offset.filter(|offset| offset.is_confirmed).map(|offset| offset.seconds);
        let shift = (offset_s.unwrap_or(0.0) * 1000.0).round() as i64;
        let mut possessions = events.possessions;
        for possession in &mut possessions {
            possession.start_ms = possession.start_ms.saturating_add(shift);
            possession.end_ms = possession.end_ms.saturating_add(shift);
        }
        let marks = events.periods.into_iter().map(|(t, label)| (t.saturating_add(shift), label)).collect();
        let lineups = Lineups::new(&tracks, &possessions, rate_hz, &court);
        Session { court, tracks, rate_hz, offset_s, closest_offset, periods: periods(marks), lineups, possessions }
    }

    pub fn track(&self, object: Object) -> Option<&Track> {
        let place = self.tracks.binary_search_by_key(&object, |track| track.object).ok()?;
        self.tracks.get(place)
    }

    /// The track of a player of whichever team.
    pub fn player(&self, player_id: i64) -> Option<&Track> {
        let is_player =
            |track: &&Track| matches!(track.object, Object::Player { player_id: id, .. } if id == player_id);
        self.tracks.iter().filter(is_player).max_by_key(|track| track.len())
    }

    pub fn ball(&self) -> Option<&Track> {
        self.track(Object::Ball).filter(|track| !track.is_empty())
    }

    /// Whether it has possessions, and the times of all.
    pub fn has_times_of_possessions(&self) -> bool {
        !self.possessions.is_empty() && self.possessions.iter().all(Possession::has_times)
    }

    pub fn is_rate_low(&self) -> bool {
        self.rate_hz.is_none_or(is_low)
    }

    /// The position of a period in [`Session::periods`].
    pub fn period_at(&self, t_ms: i64) -> usize {
        self.periods.partition_point(|period| period.end_ms <= t_ms).min(self.periods.len() - 1)
    }

    /// The first and last time of any track.
    pub fn extent_ms(&self) -> Option<(i64, i64)> {
        let first = self.tracks.iter().filter_map(|track| track.t_ms.first()).min()?;
        Some((*first, *self.tracks.iter().filter_map(|track| track.t_ms.last()).max()?))
    }

    /// The times of the frames: those of the positions, or equally spaced ones.
    pub fn frame_times(&self, rate: Option<f64>) -> Vec<i64> {
        let Some((first, last)) = self.extent_ms() else { return Vec::new() };
        let Some(rate) = rate else {
            let mut times: Vec<i64> = Vec::new();
            for track in &self.tracks {
                if !is_subset(&track.t_ms, &times) {
                    times = merge(&times, &track.t_ms);
                }
            }
            return times;
        };
        let count = ((last - first) as f64 * rate / 1000.0 + 1e-6).floor() as i64;
        (0..=count).map(|i| first + (i as f64 * 1000.0 / rate).round() as i64).collect()
    }

    /// Frames from the first to the last position of any track.
    pub fn frames_expected(&self) -> Option<i64> {
        let (first, last) = self.extent_ms()?;
        Some(((last - first) as f64 / 1000.0 * self.rate_hz?).round() as i64 + 1)
    }

    /// The longest time of a track without a position, from the start to the end of the session.
    pub fn longest_gap_s(&self, track: &Track) -> Option<f64> {
        let (first, last) = self.extent_ms()?;
        let times: Vec<i64> = [first].into_iter().chain(track.t_ms.iter().copied()).chain([last]).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().map(|gap| gap as f64 / 1000.0)
    }

    /// Seconds from one frame to the next.
    pub(crate) fn frame_s(&self) -> f64 {
        self.rate_hz.map_or(0.0, |rate| 1.0 / rate)
    }
}

/// Whether every time is one of others; both are in order.
fn is_subset(sample: &[i64], all: &[i64]) -> bool {
    let first = sample.first().map_or(0, |first| all.partition_point(|t| t < first));
    let mut others = all[first..].iter();
    sample.len() <= all.len() && sample.iter().all(|t| others.find(|other| *other >= t) == Some(t))
}

fn merge(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut union = Vec::with_capacity(a.len().max(b.len()));
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => *x.min(y),
            (x, y) => *x.or(y).unwrap_or(&0),
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        union.push(next);
    }
    union
}

/// The median of the rates of the tracks.
fn rate_hz(tracks: &[Track]) -> Option<f64> {
    let mut rates: Vec<f64> = tracks.iter().filter_map(|track| track.rate_hz).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len().saturating_sub(1) / 2).copied()
}

/// Periods from times that have labels. A label that is not that of most times between its borders, such as a wrong one of a
/// single row, is no period.
fn periods(mut marks: Vec<(i64, String)>) -> Vec<Period> {
    marks.sort_unstable();
    let all = periods_of(&marks);
    let has_most = |period: &&Period| {
        let place = |end: i64| marks.partition_point(|(t, _)| *t < end);
        let inside = &marks[place(period.start_ms)..place(period.end_ms)];
        2 * inside.iter().filter(|(_, label)| Some(label) == period.label.as_ref()).count() > inside.len()
    };
    let labels: BTreeSet<&str> = all.iter().filter(has_most).filter_map(|period| period.label.as_deref()).collect();
    if labels.is_empty() || labels.len() == all.len() {
        return all;
    }
    marks.retain(|(_, label)| labels.contains(label.as_str()));
    periods_of(&marks)
}

/// A period for each label: a border lies in the middle between two times. Without any, one period.
fn periods_of(marks: &[(i64, String)]) -> Vec<Period> {
    let mut times: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (t, label) in marks {
        times.entry(label).or_default().push(*t);
    }
    let mut spans: Vec<(&str, Vec<i64>)> = times.into_iter().collect();
    spans.sort_unstable_by_key(|(label, times)| (times[times.len() / 2], *label));
    if spans.is_empty() {
        return vec![Period { label: None, start_ms: i64::MIN, end_ms: i64::MAX }];
    }
    let mut borders: Vec<i64> = spans.windows(2).map(|pair| border(&pair[0].1, &pair[1].1)).collect();
    for i in 1..borders.len() {
        borders[i] = borders[i].max(borders[i - 1]);
    }
    let start = |i: usize| if i == 0 { i64::MIN } else { borders[i - 1] };
    let end = |i: usize| borders.get(i).copied().unwrap_or(i64::MAX);
    let label = |i: usize| Some(spans[i].0.to_owned());
    (0..spans.len()).map(|i| Period { label: label(i), start_ms: start(i), end_ms: end(i) }).collect()
}

/// The border that puts the fewest times of two periods, each in order, on the wrong side: one label may be wrong.
fn border(before: &[i64], after: &[i64]) -> i64 {
    let place = |times: &[i64], t: i64| times.partition_point(|time| *time <= t);
    let misplaced_count = |t: &i64| before.len() - place(before, *t) + place(after, *t);
    let Some(last) = before.iter().copied().min_by_key(misplaced_count) else { return i64::MIN };
    let next = [before, after].into_iter().filter_map(|times| times.get(place(times, last))).min();
    next.map_or(last, |next| last.midpoint(*next))
}
