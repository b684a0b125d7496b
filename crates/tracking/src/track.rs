//! The positions of one object in order of time, without those that are impossible.

use crate::court::Court;
use crate::curve;
use crate::filter::is_low;
use std::ops::Range;

/// The team of a player whose team is not known: such players are no team.
const UNKNOWN_TEAM: i64 = i64::MIN;

/// The id of a team; `None` if it is not known.
pub fn known_team(team_id: i64) -> Option<i64> {
    Some(team_id).filter(|id| *id != UNKNOWN_TEAM)
}

/// The subject of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    Player { team_id: i64, player_id: i64 },
    Ball,
}

impl Object {
    pub fn player(team_id: Option<i64>, player_id: i64) -> Self {
        Object::Player { team_id: team_id.unwrap_or(UNKNOWN_TEAM), player_id }
    }
}

/// Positions in any order; NaN marks a missing coordinate.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    pub t_ms: Vec<i64>,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
}

impl Samples {
    pub fn push(&mut self, t_ms: i64, x: f64, y: f64, z: f64) {
        self.t_ms.push(t_ms);
        self.x.push(x);
        self.y.push(y);
        self.z.push(z);
    }

    /// Adds samples; those of a track come in any order.
    pub fn extend(&mut self, more: Samples) {
        self.t_ms.extend(more.t_ms);
        self.x.extend(more.x);
        self.y.extend(more.y);
        self.z.extend(more.z);
    }
}

/// A position farther than this from the middle of its session's times has a wrong time.
const MAX_FROM_MIDDLE_MS: i64 = 12 * 3_600_000;

/// So has a frame that comes alone, so long before or after all others.
const MAX_ALONE_MS: i64 = 10_000;

/// The tracks of a session. Positions with impossible times are left out first, and counted as teleports: what is computed
/// for each second is bounded.
pub fn tracks(samples: impl IntoIterator<Item = (Object, Samples)>, court: &Court) -> Vec<Track> {
    let samples: Vec<(Object, Samples)> = samples.into_iter().collect();
    let mut times: Vec<i64> = samples.iter().flat_map(|(_, samples)| samples.t_ms.iter().copied()).collect();
    if times.is_empty() {
        return Vec::new();
    }
    // Of each track they are mostly in order.
    times.sort();
    let (last, middle) = (times.len() - 1, times[times.len() / 2]);
    let mut counts = (1..=samples.len().min(times.len() / 100)).rev();
    let is_apart = |before: usize| times[before + 1].saturating_sub(times[before]) > MAX_ALONE_MS;
    let first_time = times[counts.clone().find(|count| is_apart(count - 1)).unwrap_or(0)];
    let last_time = times[last - counts.find(|count| is_apart(last - count)).unwrap_or(0)];
    let first_time = first_time.max(middle.saturating_sub(MAX_FROM_MIDDLE_MS));
    let last_time = last_time.min(middle.saturating_add(MAX_FROM_MIDDLE_MS));
    let is_far = |t: &i64| !(first_time..=last_time).contains(t);
    let track = |(object, mut samples): (Object, Samples)| {
        let count = samples.t_ms.iter().filter(|t| is_far(t)).count();
        if count > 0 {
            let mut near = Samples::default();
            for i in (0..samples.t_ms.len()).filter(|i| !is_far(&samples.t_ms[*i])) {
                near.push(samples.t_ms[i], samples.x[i], samples.y[i], samples.z[i]);
            }
            samples = near;
        }
        let mut track = Track::new(object, samples, court);
        track.teleports += count;
        track
    };
    samples.into_iter().map(track).collect()
}

/// A longer time without a position is a gap, over which nothing is interpolated.
pub const MAX_GAP_MS: i64 = 1000;

/// A player who would need more is not where the sensor says.
pub const MAX_PLAYER_MPS: f64 = 12.0;
const MAX_BALL_MPS: f64 = 40.0;

/// The largest noise that is believed: the estimate of few positions has jumps and movement in it.
pub(crate) const MAX_NOISE_M: f64 = 0.35;

/// Five standard deviations of the difference of two positions with that noise.
const MAX_SPREAD_M: f64 = 5.0 * std::f64::consts::SQRT_2 * MAX_NOISE_M;

/// How many fragments back a fragment looks for its predecessor.
const MAX_LOOKBACK: usize = 64;

/// Samples on each side that decide the value of the spline between two samples.
const REACH: usize = 10;

/// Positions of one object, at most one for each time, in order.
#[derive(Debug, Clone)]
pub struct Track {
    pub object: Object,
    pub t_ms: Vec<i64>,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
    /// Positions left out because they are too far off the court.
    pub off_court: usize,
    /// Positions left out because reaching them needs an impossible speed.
    pub teleports: usize,
    /// Standard deviation of the sensor's noise along one axis, estimated from third differences.
    pub noise_m: f64,
    /// Positions a second, by the steps that are at most half as long again as the median one; `None` without two positions.
    pub rate_hz: Option<f64>,
}

/// The longest chain of positions that ends with a fragment.
struct Chain {
    length: usize,
    /// Its first position in the fragment.
    start: usize,
    before: Option<usize>,
}

impl Track {
    pub fn new(object: Object, samples: Samples, court: &Court) -> Self {
        let mut track = Track {
            object,
            t_ms: samples.t_ms,
            x: samples.x,
            y: samples.y,
            z: samples.z,
            off_court: 0,
            teleports: 0,
            noise_m: 0.0,
            rate_hz: None,
        };
        track.sort();
        track.drop_off_court(court);
        track.noise_m = noise(&track);
        track.drop_teleports();
        track.rate_hz = rate_hz(&track.t_ms);
        track
    }

    pub fn len(&self) -> usize {
        self.t_ms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.t_ms.is_empty()
    }

    pub fn is_rate_low(&self) -> bool {
        self.rate_hz.is_none_or(is_low)
    }

    /// Orders by time. Several positions of one time, as two sensors send, become their mean, unless noise does not explain how
    /// far apart they are.
    fn sort(&mut self) {
        if self.t_ms.windows(2).all(|pair| pair[0] < pair[1]) {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        // By value too: the mean does not depend on the order of the rows.
        order.sort_unstable_by(|a, b| {
            let by_place = self.x[*a].total_cmp(&self.x[*b]).then(self.y[*a].total_cmp(&self.y[*b]));
            self.t_ms[*a].cmp(&self.t_ms[*b]).then(by_place).then(self.z[*a].total_cmp(&self.z[*b]))
        });
        let mut ordered_samples = Samples::default();
        for group in order.chunk_by(|a, b| self.t_ms[*a] == self.t_ms[*b]) {
            let distance = |a: usize, b: usize| (self.x[a] - self.x[b]).hypot(self.y[a] - self.y[b]);
            if group.iter().any(|i| distance(group[0], *i) > MAX_SPREAD_M) {
                self.teleports += group.len();
                continue;
            }
            let mean = |values: &[f64]| {
                let finite: Vec<f64> = group.iter().map(|i| values[*i]).filter(|value| value.is_finite()).collect();
                finite.iter().sum::<f64>() / finite.len() as f64
            };
            ordered_samples.push(self.t_ms[group[0]], mean(&self.x), mean(&self.y), mean(&self.z));
        }
        (self.t_ms, self.x, self.y, self.z) =
            (ordered_samples.t_ms, ordered_samples.x, ordered_samples.y, ordered_samples.z);
    }

    fn drop_off_court(&mut self, court: &Court) {
        let is_given = |i: usize| !self.x[i].is_nan() && !self.y[i].is_nan();
        let is_kept: Vec<bool> = (0..self.len()).map(|i| court.is_possible(self.x[i], self.y[i])).collect();
        self.off_court = (0..self.len()).filter(|i| is_given(*i) && !is_kept[*i]).count();
        self.retain(|i| is_kept[i]);
    }

    /// Keeps the longest chain of positions in which no step needs more than the largest speed.
    fn drop_teleports(&mut self) {
        let fragments = self.fragments();
        if fragments.len() < 2 {
            return;
        }
        let mut chains: Vec<Chain> = Vec::with_capacity(fragments.len());
        for (number, fragment) in fragments.iter().enumerate() {
            let single = Chain { length: fragment.len(), start: fragment.start, before: None };
            let earlier = number.saturating_sub(MAX_LOOKBACK)..number;
            let extensions = earlier.filter_map(|before| self.chain(&chains, &fragments, before, number));
            // The nearest of equally long chains.
            chains.push(extensions.fold(single, |best, chain| if chain.length >= best.length { chain } else { best }));
        }
        let mut next = (0..fragments.len()).max_by_key(|i| (chains[*i].length, *i));
        let mut is_kept = vec![false; self.len()];
        while let Some(number) = next {
            is_kept[chains[number].start..fragments[number].end].fill(true);
            next = chains[number].before;
        }
        self.teleports += is_kept.iter().filter(|is_kept| !**is_kept).count();
        self.retain(|i| is_kept[i]);
    }

    /// The chain that ends with a fragment after an earlier one: without the fragment's positions that are too early.
    fn chain(&self, chains: &[Chain], fragments: &[Range<usize>], before: usize, number: usize) -> Option<Chain> {
        let (last, end) = (fragments[before].end - 1, fragments[number].end);
        let start = (fragments[number].start..end).find(|i| self.is_reachable(last, *i))?;
        Some(Chain { length: chains[before].length + end - start, start, before: Some(before) })
    }

    /// Ranges in which each position is reachable from the one before.
    fn fragments(&self) -> Vec<Range<usize>> {
        let mut fragments = Vec::new();
        let mut start = 0;
        for i in 1..=self.len() {
            if i == self.len() || !self.is_reachable(i - 1, i) {
                fragments.push(start..i);
                start = i;
            }
        }
        fragments
    }

    fn is_reachable(&self, from: usize, to: usize) -> bool {
        let limit = if self.object == Object::Ball { MAX_BALL_MPS } else { MAX_PLAYER_MPS };
        let seconds = (self.t_ms[to] - self.t_ms[from]) as f64 / 1000.0;
        let distance = (self.x[to] - self.x[from]).hypot(self.y[to] - self.y[from]);
        // Five standard deviations of the difference of two positions: noise alone is no teleport.
        let noise_m = self.noise_m.min(MAX_NOISE_M);
        distance <= limit * seconds + 5.0 * std::f64::consts::SQRT_2 * noise_m + 1e-9
    }

    fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        let mut next = 0;
        for i in 0..self.len() {
            if is_kept(i) {
                self.t_ms[next] = self.t_ms[i];
                (self.x[next], self.y[next], self.z[next]) = (self.x[i], self.y[i], self.z[i]);
                next += 1;
            }
        }
        self.t_ms.truncate(next);
        self.x.truncate(next);
        self.y.truncate(next);
        self.z.truncate(next);
    }

    /// Ranges of positions without a gap between them.
    pub fn runs(&self) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut start = 0;
        for i in 1..=self.len() {
            if i == self.len() || self.t_ms[i] - self.t_ms[i - 1] > MAX_GAP_MS {
                runs.push(start..i);
                start = i;
            }
        }
        runs
    }

    /// Where the object is at a time (milliseconds, with fractions), on the curve through its positions; `None` inside a
    /// gap, and outside the first and last position.
    pub fn position(&self, t_ms: f64) -> Option<(f64, f64)> {
        self.position_near(t_ms, self.t_ms.partition_point(|t| (*t as f64) < t_ms))
    }

    /// Like [`Track::position`], where `i` is the first position at or after the time.
    pub(crate) fn position_near(&self, t_ms: f64, i: usize) -> Option<(f64, f64)> {
        if *self.t_ms.get(i)? as f64 == t_ms {
            return Some((self.x[i], self.y[i]));
        }
        if i == 0 || self.t_ms[i] - self.t_ms[i - 1] > MAX_GAP_MS {
            return None;
        }
        let is_extensions = |i: usize| self.t_ms[i] - self.t_ms[i - 1] <= MAX_GAP_MS;
        let (mut start, mut end) = (i - 1, i + 1);
        while start > 0 && i - start < REACH && is_extensions(start) {
            start -= 1;
        }
        while end < self.len() && end - i < REACH && is_extensions(end) {
            end += 1;
        }
        let t: Vec<f64> = self.t_ms[start..end].iter().map(|t| (*t as f64 - t_ms) / 1000.0).collect();
        Some((curve::value_at(&t, &self.x[start..end], 0.0), curve::value_at(&t, &self.y[start..end], 0.0)))
    }
}

fn rate_hz(t_ms: &[i64]) -> Option<f64> {
    let mut steps: Vec<i64> = t_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.retain(|step| *step <= MAX_GAP_MS);
    steps.sort_unstable();
    let median = *steps.get(steps.len() / 2)?;
    steps.retain(|step| 2 * step <= 3 * median);
    Some(steps.len() as f64 * 1000.0 / steps.iter().sum::<i64>() as f64)
}

/// The median length of the third differences, over that of unit noise in two dimensions.
fn noise(track: &Track) -> f64 {
    /// Positions to look at: enough for a median.
    const MAX_DIFFERENCES: usize = 20_000;
    let third = |v: &[f64], i: usize| v[i + 3] - 3.0 * v[i + 2] + 3.0 * v[i + 1] - v[i];
    let count = track.len().saturating_sub(3);
    let step = count.div_ceil(MAX_DIFFERENCES).max(1);
    let even = |i: &usize| {
        let steps: [i64; 3] = std::array::from_fn(|k| track.t_ms[i + k + 1] - track.t_ms[i + k]);
        let (least, largest) = (steps.iter().min(), steps.iter().max());
        least.zip(largest).is_some_and(|(least, largest)| 2 * largest <= 3 * least && *largest <= MAX_GAP_MS)
    };
    let differences = (0..count).step_by(step).filter(even);
    let mut lengths: Vec<f64> = differences.map(|i| third(&track.x, i).hypot(third(&track.y, i))).collect();
    if lengths.is_empty() {
        return 0.0;
    }
    let middle = lengths.len() / 2;
    let (_, median, _) = lengths.select_nth_unstable_by(middle, f64::total_cmp);
    // 20 = 1 + 9 + 9 + 1; the median of a Rayleigh distribution is sqrt(2 ln 2).
    *median / (20f64.sqrt() * (2.0 * std::f64::consts::LN_2).sqrt())
}
