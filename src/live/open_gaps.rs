//! The open gaps of a stream: when to request the state of the game, and which gaps a state closes. Pure: `now` counts from the
//! start of the stream.

use super::game_state::{Failure, State};
use super::item::{Notice, Update};
use super::rows::{self, Rows, TEAM_LINE_ID};
use crate::config::Sport;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

// Waits in pauses, of which users have 5 s each.
/// How long to wait for the next snapshot of the stream before requesting one.
const SNAPSHOT_WAIT: f64 = 0.4;
/// Waits after an attempt that closed no gap: the first, the second, and all later ones.
const WAITS: [f64; 3] = [1.0, 2.0, 4.0];
/// A state of rows with versions that was requested so long after a gap is later than the gap.
const LATE_WITH_VERSIONS: f64 = 4.0;
/// Maximum of open gaps; the oldest ones are merged.
const MAX_OPEN: usize = 256;
/// Maximum of remembered cells; beyond it no state is confirmed until the gaps are closed.
const MAX_CELLS: usize = 65_536;
/// The name of the box score among the parts that are missing.
const STATS: &str = "stats";

/// What an update of a stream contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Updates {
    #[default]
    /// Only what changed, so that a later update does not close a gap.
    Changes,
    /// The whole state, so that the next update closes a gap.
    Snapshots,
}

/// Team, player and code.
type CellKey = (i64, i64, String);

#[derive(Debug, Default)]
pub(super) struct OpenGaps {
    updates: Updates,
    sport: Sport,
    /// Minimum time between two requests for different gaps: the unit of all other waits.
    pause: Duration,
    /// The oldest first.
    gaps: Vec<TakenGap>,
    /// When to request the state of the game; `None`: no gap is open.
    pub(super) due: Option<Duration>,
    last_request: Option<Duration>,
    /// Attempts in a row that brought nothing new.
    attempts: usize,
    /// The state before, which the next request confirms.
    last_state: Option<LastState>,
    /// The values that the stream has delivered since the newest gap, as bits.
    delivered_values: BTreeSet<(CellKey, Option<u64>)>,
    /// The last of them of each cell, and when it was delivered.
    last_delivered: BTreeMap<CellKey, (Option<f64>, Duration)>,
    /// The players' cells that were not zero before the oldest gap: a complete state has values of these players.
    counts: BTreeSet<CellKey>,
    /// The newest snapshot, which is not read before there is a gap.
    last_snapshot: Option<Update>,
}

#[derive(Debug)]
struct TakenGap {
    gap: Notice,
    taken_at: Duration,
}

#[derive(Debug)]
struct LastState {
    sent_at: Duration,
    cells: BTreeMap<CellKey, Option<f64>>,
    has_unreadable_rows: bool,
    missing: Vec<String>,
}

impl OpenGaps {
    pub(super) fn new(updates: Updates, sport: Sport, pause: Duration) -> Self {
        OpenGaps { updates, sport, pause, ..OpenGaps::default() }
    }

    /// Records a gap that the reader took; returns whether it was merged into another one. Final gaps, and those at the end of a
    /// stream, stay unchanged.
    pub(super) fn take_gap(&mut self, gap: &Notice, now: Duration) -> bool {
        let Notice::Gap { end: Some(_), is_final: false, .. } = gap else { return false };
        if let Some(read) = self.last_snapshot.take().and_then(|update| rows::read(update.raw(), self.sport)) {
            self.counts.clear();
            self.count(cells_of(&read));
        }
        self.forget_delivered();
        let earliest = self.last_request.map_or(Duration::ZERO, |last| last.saturating_add(self.pause));
        let patience = match self.updates {
            Updates::Changes => Duration::ZERO,
            Updates::Snapshots => self.pause.mul_f64(SNAPSHOT_WAIT),
        };
        self.due.get_or_insert((now + patience).max(earliest));
        self.gaps.push(TakenGap { gap: gap.clone(), taken_at: now });
        let is_full = self.gaps.len() > MAX_OPEN;
        if is_full {
            let oldest = self.gaps.remove(0);
            self.gaps[0].gap.cover(oldest.gap);
        }
        is_full
    }

    /// Reads an update that the reader took; returns the gaps that it closes.
    pub(super) fn take_update(&mut self, update: &Update, now: Duration) -> Vec<Notice> {
        if self.gaps.is_empty() && self.updates == Updates::Snapshots {
            self.last_snapshot = Some(update.clone());
            return Vec::new();
        }
        match rows::read(update.raw(), self.sport) {
            Some(read) if self.gaps.is_empty() => self.count(cells_of(&read)),
            Some(read) if self.updates == Updates::Changes => self.remember(read, now),
            Some(read) if read.is_complete(self.players()) => {
                self.last_snapshot = Some(update.clone());
                return self.close(self.gaps.len(), &[update.clone()].into(), None);
            }
            _ => {}
        }
        Vec::new()
    }

    /// The players of whom a complete state has lines.
    fn players(&self) -> impl Iterator<Item = (i64, i64)> {
        self.counts.iter().map(|(team, player, _)| (*team, *player))
    }

    fn count(&mut self, cells: BTreeMap<CellKey, Option<f64>>) {
        for (key, value) in cells {
            if value.is_none_or(|value| value == 0.0) {
                self.counts.remove(&key);
            } else if key.1 != TEAM_LINE_ID && self.counts.len() < MAX_CELLS {
                self.counts.insert(key);
            }
        }
    }

    /// When the state before was requested, if it confirms this one: the gaps before it are older than the state.
    fn confirm(
        &mut self,
        cells: &BTreeMap<CellKey, Option<f64>>,
        sent_at: Duration,
        late: Option<Duration>,
    ) -> Option<Duration> {
        let earlier_state = self.last_state.as_ref().filter(|last| self.confirms(last, cells, sent_at));
        let earlier_request = earlier_state.map(|last| last.sent_at);
        if earlier_request.is_some() && self.gaps.first().is_some_and(|open| Some(open.taken_at) <= late) {
            self.forget_absent(cells);
        }
        earlier_request
    }

    /// Two states in a row, long after the gap, leave out a player whose team they have: the counts were corrected to zero.
    fn forget_absent(&mut self, cells: &BTreeMap<CellKey, Option<f64>>) {
        let players: BTreeSet<_> = cells.keys().map(|(team, player, _)| (*team, *player)).collect();
        let teams: BTreeSet<_> =
            players.iter().filter(|player| player.1 != TEAM_LINE_ID).map(|player| player.0).collect();
        self.counts.retain(|(team, player, _)| !teams.contains(team) || players.contains(&(*team, *player)));
    }

    fn remember(&mut self, read: Rows, now: Duration) {
        for row in read.rows {
            for (code, value) in row.stats {
                if self.delivered_values.len() < MAX_CELLS {
                    let key = (row.team_id, row.player_id, code);
                    self.delivered_values.insert((key.clone(), bits(value)));
                    self.last_delivered.insert(key, (value, now));
                }
            }
        }
    }

    /// Begins an attempt if one is due.
    pub(super) fn start_attempt(&mut self, now: Duration) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.last_request = Some(now);
        }
        is_due
    }

    /// Records the state that the attempt sent at `sent_at` brought; returns what the reader learns. `jitter` is in 0..1.
    pub(super) fn take_state(&mut self, state: State, sent_at: Duration, now: Duration, jitter: f64) -> Vec<Notice> {
        let cells = cells_of(&state.rows);
        let late = sent_at.checked_sub(self.pause.mul_f64(LATE_WITH_VERSIONS));
        let earlier_request = self.confirm(&cells, sent_at, late);
        let is_complete = state.rows.has_lines(self.players());
        let mut missing = missing_parts(&state, is_complete);
        let State { update, rows, requested_at, .. } = state;
        // An empty state does not tell: it waits as long as one of rows with versions.
        let has_versions = rows.rows.iter().all(|row| row.version.is_some());
        let has_unreadable_rows = !rows.problems.is_empty();
        let later_than = if has_versions { late } else { earlier_request };
        let is_later = |open: &&TakenGap| Some(open.taken_at) <= later_than;
        let closed = if missing.is_empty() { self.gaps.iter().take_while(is_later).count() } else { 0 };
        let updates: Arc<[Update]> = [update].into();
        let mut notices = self.close(closed, &updates, Some(requested_at));
        let Some(open) = self.gaps.first() else {
            self.count(cells);
            return notices;
        };
        if missing.is_empty() {
            missing.push(STATS.into());
        }
        notices.push(Notice::Recovering {
            gap: Box::new(open.gap.clone()),
            updates,
            missing: missing.clone(),
            requested_at,
        });
        // Where only time is missing, each attempt may be the last one.
        let is_news =
            (is_complete && missing == [STATS]) || self.last_state.as_ref().is_none_or(|last| last.missing != missing);
        self.attempts = if is_news || closed > 0 { 0 } else { self.attempts + 1 };
        self.last_state = Some(LastState { sent_at, cells, has_unreadable_rows, missing });
        self.try_again(now, jitter);
        notices
    }

    /// Whether the state before, whose rows were all readable and which was requested a pause or more earlier, has the same values,
    /// except for those that the stream has delivered since. Then both have all that happened before the earlier request, unless
    /// two copies of the service in a row lag more than a pause.
    fn confirms(&self, last: &LastState, cells: &BTreeMap<CellKey, Option<f64>>, sent_at: Duration) -> bool {
        let is_same = |key: &CellKey| {
            let (before, value) = (last.cells.get(key).copied().flatten(), cells.get(key).copied().flatten());
            // A value below that of the request before, or one of the stream between both requests, may be late, or a
            // correction: the next request tells.
            let is_lowered = self
                .last_delivered
                .get(key)
                .is_some_and(|(last_value, at)| (last.sent_at..sent_at).contains(at) && *last_value < value);
            (before == value && !is_lowered)
                || (before < value && self.delivered_values.contains(&(key.clone(), bits(value))))
        };
        let is_complete = !last.has_unreadable_rows && self.delivered_values.len() < MAX_CELLS;
        is_complete && cells.keys().chain(last.cells.keys()).all(is_same)
    }

    /// Records that the attempt brought nothing; returns the final gaps if the service refuses for good.
    pub(super) fn take_failure(&mut self, failure: &Failure, now: Duration, jitter: f64) -> Vec<Notice> {
        if failure.is_refusal {
            let gaps = self.gaps.drain(..).map(|open| final_gap(open.gap, &failure.reason)).collect();
            self.forget();
            return gaps;
        }
        self.try_again(now, jitter);
        self.attempts += 1;
        Vec::new()
    }

    fn try_again(&mut self, now: Duration, jitter: f64) {
        let wait = self.pause.mul_f64(WAITS[self.attempts.min(WAITS.len() - 1)]);
        // Up to a fifth later: clients that were cut off together do not all ask together.
        self.due = Some(now + wait + wait.mul_f64(jitter.clamp(0.0, 1.0) / 5.0));
    }

    /// Closes the oldest gaps.
    fn close(&mut self, count: usize, updates: &Arc<[Update]>, requested_at: Option<SystemTime>) -> Vec<Notice> {
        let recovered =
            |open: TakenGap| Notice::Recovered { gap: Box::new(open.gap), updates: updates.clone(), requested_at };
        let notices = self.gaps.drain(..count).map(recovered).collect();
        if self.gaps.is_empty() {
            self.forget();
        }
        notices
    }

    fn forget(&mut self) {
        (self.due, self.attempts, self.last_state) = (None, 0, None);
        self.forget_delivered();
    }

    fn forget_delivered(&mut self) {
        self.delivered_values.clear();
        let last_values = std::mem::take(&mut self.last_delivered);
        self.count(last_values.into_iter().map(|(key, (value, _))| (key, value)).collect());
    }
}

fn bits(value: Option<f64>) -> Option<u64> {
    value.map(f64::to_bits)
}

/// What a state lacks: parts, unreadable values, lines.
fn missing_parts(state: &State, is_complete: bool) -> Vec<String> {
    let parts = state.missing.iter().map(|part| (*part).to_owned());
    let unreadable = state.rows.problems.iter().map(|problem| problem.path.clone());
    let lines = (!is_complete && state.rows.problems.is_empty()).then(|| STATS.to_owned());
    parts.chain(unreadable).chain(lines).collect()
}

fn cells_of(rows: &Rows) -> BTreeMap<CellKey, Option<f64>> {
    let of_row = |row: &rows::Row| {
        let (team, player) = row.player();
        row.stats.clone().into_iter().map(move |(code, value)| ((team, player, code), value))
    };
    rows.rows.iter().flat_map(of_row).collect()
}

fn final_gap(mut gap: Notice, cause: &str) -> Notice {
    if let Notice::Gap { reason, is_final, .. } = &mut gap {
        *reason = format!("not recovered: {cause} (gap: {reason})").into();
        *is_final = true;
    }
    gap
}

#[cfg(test)]
#[path = "open_gaps_tests.rs"]
mod tests;
