//! The five players of a team on court: from the possessions, else by the time that each spends inside the court.

use crate::court::Court;
use crate::reason::Reason;
use crate::track::{Object, Track, known_team};
use std::collections::BTreeMap;

pub type Five = [i64; 5];

/// For each team its players with the running sum of their seconds inside the court, at the end of each second that has a position.
type Presence = BTreeMap<i64, Vec<(i64, Vec<(i64, f64)>)>>;

/// A possession with the line-ups of both sides; a list that has not five different players is no line-up. One that ends before
/// it starts has no known time.
#[derive(Debug, Clone, PartialEq)]
pub struct Possession {
    pub team_id: i64,
    /// Its position in the team's list, if it is known.
    pub number: Option<i32>,
    pub start_ms: i64,
    pub end_ms: i64,
    pub players: Vec<i64>,
    pub opponents: Vec<i64>,
}

impl Possession {
    pub(crate) fn has_times(&self) -> bool {
        self.start_ms <= self.end_ms
    }
}

/// Milliseconds before the first and after the last possession to which its line-up extends.
const MAX_EXTENSION_MS: i64 = 5000;

/// A longer time without a possession may have had others on court, whoever was before and after it.
const MAX_HOLE_MS: i64 = 180_000;

/// Seconds on each side of a moment in which presence is measured.
const REACH_S: i64 = 5;

/// The fifth player must be inside the court for at least this share of the time, and the sixth for so much less.
const MIN_SHARE: f64 = 0.5;
const MIN_DIFFERENCE: f64 = 0.4;

/// Who is on court at a moment.
#[derive(Debug)]
pub struct Lineups {
    /// The two teams, by their time inside the court.
    pub teams: Vec<i64>,
    /// For each team its line-up by the possessions, from each time on at which it changes.
    timelines: BTreeMap<i64, Vec<(i64, Option<Five>)>>,
    /// For each team its line-up at each second, by presence.
    present: BTreeMap<i64, Vec<Result<Five, Reason>>>,
    start_ms: i64,
    /// Why a team has no five opponents: players whose team is not known may be some.
    too_few: Reason,
}

impl Lineups {
    pub(crate) fn new(tracks: &[Track], possessions: &[Possession], rate_hz: Option<f64>, court: &Court) -> Self {
        let start_ms = tracks.iter().filter_map(|track| track.t_ms.first()).min().copied().unwrap_or(0);
        let end_ms = tracks.iter().filter_map(|track| track.t_ms.last()).max().copied().unwrap_or(0);
        let mut presence = Presence::new();
        let mut too_few = Reason::TooFewOpponents;
        for track in tracks {
            if let Object::Player { team_id, player_id } = track.object {
                if known_team(team_id).is_none() {
                    too_few = Reason::LineupUnknown;
                    continue;
                }
                let frame_s = 1.0 / track.rate_hz.or(rate_hz).unwrap_or(1.0);
                let sums = running_sums(track, frame_s, start_ms, court);
                presence.entry(team_id).or_default().push((player_id, sums));
            }
        }
        let inside = |team: &i64| presence[team].iter().filter_map(|(_, sums)| Some(sums.last()?.1)).sum::<f64>();
        let mut teams: Vec<i64> = presence.keys().copied().collect();
        teams.sort_unstable_by(|a, b| inside(b).total_cmp(&inside(a)).then(a.cmp(b)));
        teams.truncate(2);
        Lineups {
            teams,
            timelines: spans_of(possessions, &presence)
                .into_iter()
                .map(|(team, spans)| (team, timeline(&spans)))
                .collect(),
            present: presence
                .iter()
                .map(|(team, players)| (*team, present(players, (end_ms - start_ms) / 1000 + 1, too_few)))
                .collect(),
            start_ms,
            too_few,
        }
    }

    /// The other one of the two teams.
    pub fn opponent(&self, team_id: i64) -> Result<i64, Reason> {
        match *self.teams.as_slice() {
            [a, b] if team_id == a => Ok(b),
            [a, b] if team_id == b => Ok(a),
            _ => Err(self.too_few),
        }
    }

    /// The five players of a team at a moment.
    pub fn at(&self, team_id: i64, t_ms: i64) -> Result<Five, Reason> {
        self.stated_at(team_id, t_ms).map_or_else(|| self.present_at(team_id, t_ms), Ok)
    }

    /// The first time after a moment at which a line-up may be another one.
    pub(crate) fn next_change(&self, team_id: i64, t_ms: i64) -> i64 {
        let second = (t_ms.max(self.start_ms) - self.start_ms) / 1000;
        let next_second = self.start_ms.saturating_add(1000 * (second + 1));
        let timeline = self.timelines.get(&team_id).map_or(&[][..], Vec::as_slice);
        let next = timeline.get(timeline.partition_point(|(start_ms, _)| *start_ms <= t_ms));
        next.map_or(next_second, |(start_ms, _)| next_second.min(*start_ms))
    }

    /// The line-up of the possessions around a moment, if they agree.
    fn stated_at(&self, team_id: i64, t_ms: i64) -> Option<Five> {
        let timeline = self.timelines.get(&team_id)?;
        timeline[..timeline.partition_point(|(start_ms, _)| *start_ms <= t_ms)].last()?.1
    }

    fn present_at(&self, team_id: i64, t_ms: i64) -> Result<Five, Reason> {
        let seconds = self.present.get(&team_id).ok_or(self.too_few)?;
        let second = (t_ms.max(self.start_ms) - self.start_ms) / 1000;
        seconds[(second as usize).min(seconds.len() - 1)]
    }
}

/// The five of a team at each second, and after the last one.
fn present(players: &[(i64, Vec<(i64, f64)>)], seconds: i64, too_few: Reason) -> Vec<Result<Five, Reason>> {
    let at = |second: i64| {
        if players.len() < 5 {
            return Err(too_few);
        }
        let mut shares: Vec<(f64, i64)> =
            players.iter().map(|(id, sums)| (share(sums, second, seconds), *id)).collect();
        shares.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let sixth = shares.get(5).map_or(0.0, |share| share.0);
        if shares[4].0 < MIN_SHARE || shares[4].0 - sixth < MIN_DIFFERENCE {
            return Err(Reason::LineupUnknown);
        }
        let mut five = std::array::from_fn(|i| shares[i].1);
        five.sort_unstable();
        Ok(five)
    };
    (0..=seconds).map(at).collect()
}

/// The share of the seconds around a moment that a player spent inside the court.
fn share(sums: &[(i64, f64)], second: i64, seconds: i64) -> f64 {
    let (first, last) = ((second - REACH_S).max(0), (second + REACH_S + 1).min(seconds));
    let until = |second: i64| match sums.partition_point(|sum| sum.0 < second) {
        0 => 0.0,
        place => sums[place - 1].1,
    };
    (until(last) - until(first)) / (last - first).max(1) as f64
}

fn running_sums(track: &Track, frame_s: f64, start_ms: i64, court: &Court) -> Vec<(i64, f64)> {
    let (mut sums, mut count): (Vec<(i64, f64)>, u32) = (Vec::new(), 0);
    for i in (0..track.len()).filter(|i| court.is_inside(track.x[*i], track.y[*i])) {
        count += 1;
        let sum = ((track.t_ms[i] - start_ms) / 1000, f64::from(count) * frame_s);
        match sums.last_mut() {
            Some(last) if last.0 == sum.0 => *last = sum,
            _ => sums.push(sum),
        }
    }
    sums
}

fn spans_of(possessions: &[Possession], presence: &Presence) -> BTreeMap<i64, Vec<(i64, i64, Five)>> {
    // Possessions name the team that has the ball; the other one is that of its players.
    let team_of = |players: &[i64]| {
        let is_theirs = |team: &&i64| presence[team].iter().any(|(id, _)| players.contains(id));
        presence.keys().find(is_theirs).copied()
    };
    let mut spans: BTreeMap<i64, Vec<(i64, i64, Five)>> = BTreeMap::new();
    for possession in possessions {
        let other = team_of(&possession.opponents).filter(|team| *team != possession.team_id);
        for (team, players) in [(Some(possession.team_id), &possession.players), (other, &possession.opponents)] {
            if let Some((team, five)) = team.zip(five(players))
                && possession.has_times()
            {
                spans.entry(team).or_default().push((possession.start_ms, possession.end_ms, five));
            }
        }
    }
    spans
}

/// The line-up from each time on at which it changes. Where spans overlap, and between two near spans, both must agree.
fn timeline(spans: &[(i64, i64, Five)]) -> Vec<(i64, Option<Five>)> {
    // At one time, ends come before starts.
    let starts = spans.iter().map(|(start_ms, _, five)| (*start_ms, true, *five));
    let ends = spans.iter().map(|(_, end_ms, five)| (end_ms.saturating_add(1), false, *five));
    let mut edges: Vec<(i64, bool, Five)> = starts.chain(ends).collect();
    edges.sort_unstable();
    let (mut active, mut timeline) = (BTreeMap::<Five, u32>::new(), Vec::new());
    if let Some((first_ms, _, five)) = edges.first() {
        timeline.push((first_ms.saturating_sub(MAX_EXTENSION_MS), Some(*five)));
    }
    for (i, (t_ms, is_start, five)) in edges.iter().enumerate() {
        let count = active.entry(*five).or_default();
        *count = if *is_start { *count + 1 } else { count.saturating_sub(1) };
        active.retain(|_, count| *count > 0);
        let next = edges.get(i + 1);
        if next.is_some_and(|next| next.0 == *t_ms) {
            continue;
        }
        let mut fives = active.keys();
        let common_five = match (fives.next(), fives.next()) {
            (Some(only), None) => Some(*only),
            (Some(_), Some(_)) => None,
            (None, _) => Some(*five)
                .filter(|five| next.is_none_or(|next| next.2 == *five && next.0.saturating_sub(*t_ms) <= MAX_HOLE_MS)),
        };
        timeline.push((*t_ms, common_five));
    }
    if let Some((last_ms, ..)) = edges.last() {
        timeline.push((last_ms.saturating_add(MAX_EXTENSION_MS), None));
    }
    timeline
}

fn five(players: &[i64]) -> Option<Five> {
    let mut five: Five = players.try_into().ok()?;
    five.sort_unstable();
    five.windows(2).all(|pair| pair[0] < pair[1]).then_some(five)
}
