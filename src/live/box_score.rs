//! Maintains the current box score from updates. A message has new values, not increments, and a `version` that orders it:
//! corrections replace earlier values; late and repeated values are ignored (tests/specification.md, facts 8). Pure.

use super::item::{Item, Notice, Update};
use super::rows::{self, Names, Problem, Row, RowsKind, TEAM_LINE_ID};
use super::staleness::Staleness;
use crate::config::Sport;
use crate::error::{Error, Result};
use crate::resource;
use crate::resource::live::LEADERS;
use crate::resource::stats::STATS;
use crate::scrub::Scrubber;
use arrow_array::RecordBatch;
use reader::Body;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tables::from_rows::{floats, from_columns, integers, texts};

/// Number of problems that are kept.
const MAX_PROBLEMS: usize = 20;
/// Maximum of bytes of names and codes.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// A recovered value that lowers a count is applied if a request sent so much later has it too: the response of one request may
/// come from a copy of the service that lags.
const CONFIRMED_AFTER: Duration = Duration::from_secs(5);
/// A copy of the service that lags this much may still have a count that was lowered since, even if the higher one was lost.
const MAX_LAG: Duration = Duration::from_secs(20);

/// The lines of both teams.
#[derive(Debug, Clone, Default)]
pub struct BoxScore {
    sport: Sport,
    teams: BTreeMap<i64, TeamLines>,
    /// The names of players whose messages have none.
    roster: BTreeMap<i64, Names>,
    codes: BTreeSet<String>,
    staleness: Staleness,
    /// Updates that were ignored because they were late or duplicates.
    pub ignored: u64,
    /// Rows that were left out: an id or a value is unreadable, or there is no room for a code.
    pub unreadable: u64,
    /// The last of them, the oldest first, with their times of receipt.
    pub problems: VecDeque<(SystemTime, Problem)>,
    /// Time of receipt of the last item that changed it.
    pub updated_at: Option<SystemTime>,
    /// Number of items.
    items: u64,
}

#[derive(Debug, Clone, Default)]
struct TeamLines {
    name: Option<Arc<str>>,
    lines: BTreeMap<i64, ScoreLine>,
}

#[derive(Debug, Clone, Default)]
struct ScoreLine {
    names: Names,
    /// The highest version, and that of the last whole line: earlier values of any code are late.
    version: Option<i64>,
    whole_version: Option<i64>,
    occurred_at: Option<i64>,
    cells: BTreeMap<String, Cell>,
}

#[derive(Debug, Clone, PartialEq)]
struct Cell {
    value: Option<f64>,
    version: Option<i64>,
    from: Moment,
    /// When it was last lowered.
    lowered_at: Option<SystemTime>,
    /// A value of a request that another one has to confirm, and when it was sent.
    candidate: Option<(f64, SystemTime)>,
}

impl Cell {
    /// The cell after it has got a value.
    fn after(before: Option<&Cell>, value: Option<f64>, from: Moment) -> Self {
        let is_lower = before.is_some_and(|before| value < before.value);
        let lowered_at = if is_lower { Some(from.at) } else { before.and_then(|before| before.lowered_at) };
        Cell { value, version: before.and_then(|before| before.version), from, lowered_at, candidate: None }
    }
}

/// When a value came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// When the stream delivered it, or when it was requested.
    at: SystemTime,
    /// The number of its item: the order of items does not depend on a clock.
    item: u64,
    is_requested: bool,
    /// A snapshot had it, so that a later one has it too.
    is_of_snapshot: bool,
}

/// Where rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The stream.
    Stream,
    /// A request for the gap with this number. A request before it confirms what it says of values from before an item.
    Request { gap: u64, confirmed_until: u64 },
    /// A response that the user passed.
    Seed,
}

impl BoxScore {
    /// Creates an empty box score with the columns of a sport.
    pub fn new(sport: Sport) -> Self {
        BoxScore { sport, ..BoxScore::default() }
    }

    /// Applies an item of either stream; returns whether it changed the box score.
    pub fn feed(&mut self, item: &Item) -> bool {
        self.items += 1;
        match item {
            Item::Update(update) => self.feed_update(update, Origin::Stream, update.received_at),
            Item::Notice(notice) => {
                let (gap, confirmed_until) = self.staleness.record(notice, self.items);
                self.feed_notice(notice, Origin::Request { gap, confirmed_until })
            }
        }
    }

    fn feed_notice(&mut self, notice: &Notice, request: Origin) -> bool {
        let (updates, sent_at) = match notice {
            Notice::Recovering { updates, requested_at, .. } => (updates, Some(*requested_at)),
            Notice::Recovered { updates, requested_at, .. } => (updates, *requested_at),
            _ => return false,
        };
        let origin = if sent_at.is_some() { request } else { Origin::Stream };
        let feed = |update: &&Update| self.feed_update(update, origin, sent_at.unwrap_or(update.received_at));
        updates.iter().filter(feed).count() > 0
    }

    /// Applies an update that was received, or requested, at this time.
    fn feed_update(&mut self, update: &Update, origin: Origin, at: SystemTime) -> bool {
        let Some(read) = rows::read(update.raw(), self.sport) else { return false };
        if origin == Origin::Stream && read.is_complete(self.rows().filter(Row::has_counts).map(|row| row.player())) {
            self.staleness.complete_state(update.received_at);
        }
        let (has_rows, unreadable) = (!read.rows.is_empty(), self.unreadable);
        let is_of_snapshot = origin != Origin::Seed && read.kind == RowsKind::Snapshot;
        let from = Moment { at, item: self.items, is_requested: origin != Origin::Stream, is_of_snapshot };
        let has_changed = self.apply(read, origin, from, update.received_at);
        self.ignored += u64::from(has_rows && !has_changed && self.unreadable == unreadable);
        self.updated_at = has_changed.then_some(update.received_at).or(self.updated_at);
        has_changed
    }

    /// Applies a response of `stats`, `team_game_stats` or `catch_up` where it is not older than the current lines.
    pub fn seed(&mut self, body: &[u8]) -> Result<()> {
        let invalid_root = || {
            Error::Argument("a box score is seeded with a payload of stats, team_game_stats or catch_up with \"stats\"; this body has no team with player_stats".into())
        };
        let read =
            rows::read(body, self.sport).filter(|read| read.kind != RowsKind::Change).ok_or_else(invalid_root)?;
        let from = Moment { at: SystemTime::UNIX_EPOCH, item: self.items, is_requested: true, is_of_snapshot: false };
        self.apply(read, Origin::Seed, from, crate::machine::now());
        Ok(())
    }

    /// Whether values may be missing at this time.
    pub fn is_stale(&self, now: SystemTime) -> bool {
        self.staleness.is_stale(now)
    }

    fn apply(&mut self, read: rows::Rows, origin: Origin, from: Moment, received_at: SystemTime) -> bool {
        let mut has_changed = read.kind != RowsKind::Change && self.forget_absent(&read, origin, from.at);
        for problem in read.problems {
            self.leave_out(problem, received_at);
        }
        let mut text_bytes = None;
        for row in read.rows {
            if let Err(problem) = self.reserve(&row, &mut text_bytes) {
                self.leave_out(problem, received_at);
                continue;
            }
            let team = self.teams.entry(row.team_id).or_default();
            team.name = row.team_name.clone().or(team.name.take());
            let line = team.lines.entry(row.player_id).or_default();
            has_changed |= line.apply(row, read.kind, origin, from);
        }
        has_changed
    }

    fn leave_out(&mut self, problem: Problem, at: SystemTime) {
        self.unreadable += 1;
        self.problems.push_back((at, problem));
        self.problems.drain(..self.problems.len().saturating_sub(MAX_PROBLEMS));
    }

    /// The bytes of its names and codes.
    fn text_bytes(&self) -> usize {
        let lines = self.teams.values().flat_map(|team| team.lines.values());
        let in_lines = lines.map(|line| rows::text_bytes(Some(&line.names), line.cells.keys()));
        let team_names = self.teams.values().filter_map(|team| team.name.as_deref()).map(str::len);
        self.codes.iter().map(String::len).chain(team_names).chain(in_lines).sum()
    }

    /// Makes room for a row, so that the table can always have its columns; or returns an error. `text_bytes`: of the names
    /// and codes so far, which are counted for the first new one of a message.
    fn reserve(&mut self, row: &Row, text_bytes: &mut Option<usize>) -> std::result::Result<(), Problem> {
        let team = self.teams.get(&row.team_id);
        let line = team.and_then(|team| team.lines.get(&row.player_id));
        let is_known = line.is_some();
        let codes = row.stats.iter().map(|(code, _)| code);
        let codes = codes.filter(|code| line.is_none_or(|line| !line.cells.contains_key(*code)));
        let new: Vec<String> = codes.clone().filter(|code| !self.codes.contains(*code)).cloned().collect();
        let team_name = row.team_name.as_deref().filter(|_| team.is_none_or(|team| team.name != row.team_name));
        let names = Some(&row.names).filter(|names| line.is_none_or(|line| line.names != **names));
        let size = rows::text_bytes(names, codes) + team_name.map_or(0, str::len);
        let with_row = if size == 0 { 0 } else { size + *text_bytes.get_or_insert_with(|| self.text_bytes()) };
        let has_room = with_row <= MAX_TEXT_BYTES;
        let count: usize = self.teams.values().map(|team| 1 + team.lines.len()).sum();
        let rows = count + usize::from(!is_known) + usize::from(team.is_none());
        let is_new = !is_known || !new.is_empty();
        // The limits of a table of an empty body.
        if !has_room || (is_new && tables::is_too_wide((self.codes.len() + new.len()).max(1), rows, 0)) {
            let beside =
                format!("{count} rows and {} codes, with texts of {} bytes", self.codes.len(), self.text_bytes());
            return Err(Problem::new("$", format!("no table has room for it beside {beside}")));
        }
        *text_bytes = text_bytes.map(|bytes| bytes + size);
        self.codes.extend(new);
        Ok(())
    }

    /// The lines that a state leaves out of a team are unknown: its total in one that was requested, players in one that closed a gap,
    /// and either where two snapshots of the stream in a row lack them. Earlier messages remain late.
    fn forget_absent(&mut self, read: &rows::Rows, origin: Origin, at: SystemTime) -> bool {
        let (is_absent, is_snapshot) = (read.absent(), origin == Origin::Stream && read.is_whole());
        let version = |row: &Row| self.teams.get(&row.team_id)?.lines.get(&row.player_id)?.version;
        let is_current = !read.rows.iter().any(|row| row.version.is_some() && row.version < version(row));
        let [earlier, last] = if is_snapshot && is_current { self.staleness.snapshot(self.items) } else { [0, 0] };
        let first_item = if let Origin::Request { confirmed_until, .. } = origin { confirmed_until } else { 0 };
        let is_partial = read.kind == RowsKind::Snapshot && (origin == Origin::Seed || !read.problems.is_empty());
        // A line of zeros may be left out.
        let is_zero = |cell: &Cell| cell.value == Some(0.0);
        let is_of = |cell: &Cell, item| cell.from.is_of_snapshot && cell.from.item <= item && !is_zero(cell);
        let mut has_changed = false;
        for (id, team) in &mut self.teams {
            for (player, line) in team.lines.iter_mut().filter(|(player, _)| is_absent(*id, **player)) {
                let before = line.cells.len();
                line.cells.retain(|_, cell| match *player {
                    _ if is_snapshot => !is_of(cell, earlier),
                    TEAM_LINE_ID => is_partial || (origin != Origin::Seed && cell.from.at > at),
                    _ => cell.from.item >= first_item || is_zero(cell),
                });
                has_changed |= line.cells.len() < before;
                line.whole_version = line.whole_version.max(line.version.filter(|_| line.cells.len() < before));
                self.staleness.is_doubtful |= line.cells.values().any(|cell| is_of(cell, last));
            }
        }
        has_changed
    }

    /// Builds the table `live_leaders`: the players with the highest values of a code, those with equal values by their ids.
    pub fn leaders(&self, code: &str, count: usize) -> Result<RecordBatch> {
        let value = |row: Row| row.stats.iter().find(|(other, _)| other == code)?.1.map(|value| (value, row));
        let players = self.rows().filter(|row| row.player_id != TEAM_LINE_ID);
        let mut leaders: Vec<(f64, Row)> = players.filter_map(value).collect();
        leaders.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        leaders.truncate(count);
        let names: Vec<Option<String>> = leaders.iter().map(|(_, row)| row.names.whole()).collect();
        let columns = vec![
            integers(leaders.iter().map(|(_, row)| Some(row.team_id))),
            texts(leaders.iter().map(|(_, row)| row.team_name.as_deref())),
            integers(leaders.iter().map(|(_, row)| Some(row.player_id))),
            texts(names.iter().map(Option::as_deref)),
            floats(leaders.iter().map(|(value, _)| Some(*value))),
        ];
        from_columns(&LEADERS, columns).map_err(|error| Error::internal(error.to_string()).caused_by(error))
    }

    /// Names a player whose messages have no name, as a roster does.
    pub fn name_player(&mut self, id: i64, first: Option<String>, last: Option<String>) {
        self.roster.insert(id, Names { first, last });
    }

    /// The lines, in the order of their teams and players.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let lines = self.teams.iter().flat_map(|(id, team)| team.lines.iter().map(move |line| (*id, team, line)));
        lines.map(|(team_id, team, (player_id, line))| {
            let is_named = [&line.names.first, &line.names.last].into_iter().flatten().any(|name| !name.is_empty());
            let names = self.roster.get(player_id).filter(|_| !is_named).unwrap_or(&line.names);
            let (team_name, names, stats) = (team.name.clone(), names.clone(), line.values());
            Row { team_id, team_name, player_id: *player_id, names, version: line.version, stats, ..Row::default() }
        })
    }

    /// Builds the table `box_score`.
    pub fn table(&self) -> Result<RecordBatch> {
        let json = rows::to_body(&self.rows().collect::<Vec<_>>());
        rows::box_score(resource::of_sport(&STATS, self.sport), &Body::from(json.as_bytes()))
            .map_err(|error| Error::decode(error, &Scrubber::default()))
    }
}

impl ScoreLine {
    /// Applies a row; returns whether a value changed.
    fn apply(&mut self, mut row: Row, kind: RowsKind, origin: Origin, from: Moment) -> bool {
        self.names.update(row.names);
        let has_versions = row.version.is_some() && self.version.is_some();
        if has_versions && row.version < self.version && self.has_restarted(row.occurred_at, kind, from.at) {
            (self.version, self.whole_version) = (None, None);
            self.cells.values_mut().for_each(|cell| cell.version = None);
        }
        // Without versions, the later message wins. A change of an equal version is a duplicate; a whole line may have more codes.
        let is_late = |(new, last)| new < last || (new == last && kind == RowsKind::Change);
        let last_version = |cell: Option<&Cell>| self.whole_version.max(cell.and_then(|cell| cell.version));
        let is_newer = |cell: Option<&Cell>| !row.version.zip(last_version(cell)).is_some_and(is_late);
        let (before, codes) = (self.values(), row.stats.iter().map(|(code, _)| code.clone()).collect::<BTreeSet<_>>());
        row.stats.retain(|(code, _)| is_newer(self.cells.get(code)));
        self.version = self.version.max(row.version);
        self.occurred_at = self.occurred_at.max(row.occurred_at);
        match origin {
            _ if kind == RowsKind::Change => self.change(row.stats, row.version, from),
            Origin::Request { gap, confirmed_until } if !has_versions => {
                // A code that is zero may be left out.
                self.cells.retain(|code, cell| cell.from.item >= confirmed_until || codes.contains(code));
                let left_out = self.cells.keys().filter(|code| !codes.contains(*code));
                let zeros: Vec<_> = left_out.map(|code| (code.clone(), Some(0.0))).collect();
                for (code, value) in zeros.into_iter().chain(row.stats) {
                    self.recover(code, value, from, gap, confirmed_until);
                }
            }
            _ => {
                self.cells.retain(|code, cell| codes.contains(code) || !is_newer(Some(cell)));
                self.change(row.stats, row.version, from);
            }
        }
        self.whole_version = self.whole_version.max(row.version.or(self.version).filter(|_| kind != RowsKind::Change));
        self.values() != before
    }

    /// Whether a row of a lower version is that of a counter that restarted: it is much later, and a change is of a later event.
    fn has_restarted(&self, occurred_at: Option<i64>, kind: RowsKind, at: SystemTime) -> bool {
        let last = self.cells.values().map(|cell| cell.from.at).max().filter(|last| *last > SystemTime::UNIX_EPOCH);
        let is_later = last.is_some_and(|last| at.duration_since(last).is_ok_and(|since| since > MAX_LAG));
        let is_later_event = self.occurred_at.is_some() && occurred_at > self.occurred_at;
        is_later && (kind != RowsKind::Change || is_later_event)
    }

    /// Takes new values of some codes.
    fn change(&mut self, stats: Vec<(String, Option<f64>)>, version: Option<i64>, from: Moment) {
        for (code, value) in stats {
            let cell = Cell::after(self.cells.get(&code), value, from);
            self.cells.insert(code, Cell { version: version.or(cell.version), ..cell });
        }
    }

    /// Takes a value that was requested, unless the stream's is newer, or it has to be confirmed.
    fn recover(&mut self, code: String, value: Option<f64>, from: Moment, gap: u64, confirmed_until: u64) {
        let requested_at = from.at;
        let Some(cell) = self.cells.get_mut(&code) else { return self.change(vec![(code, value)], None, from) };
        let is_before_gap = cell.from.item < confirmed_until;
        let is_before = is_before_gap || cell.from.is_requested || cell.from.at <= requested_at;
        let Some(value) = value.filter(|_| is_before) else { return };
        if cell.value == Some(value) {
            cell.candidate = None;
            return;
        }
        let within = |at: SystemTime, wait: Duration| at.checked_add(wait).is_none_or(|due| due > requested_at);
        // What the stream delivered since the gap, or lowers a count, may be newer than the state.
        let is_since_gap = cell.from.item > gap && !cell.from.is_requested;
        let since = if is_since_gap { Some(cell.from.at) } else { cell.lowered_at };
        let is_doubtful = cell.value.is_some_and(|current| value < current)
            || cell.value < Some(value) && since.is_some_and(|at| within(at, MAX_LAG));
        // What closes a gap was requested late enough after another state. One state may close several gaps.
        let is_late = |at| if confirmed_until == 0 { !within(at, CONFIRMED_AFTER) } else { at != requested_at };
        let is_confirmed = is_before_gap || cell.candidate.is_some_and(|(other, at)| other == value && is_late(at));
        if !is_doubtful || is_confirmed {
            *cell = Cell::after(Some(cell), Some(value), from);
        } else if cell.candidate.is_none_or(|(other, _)| other != value) {
            cell.candidate = Some((value, requested_at));
        }
    }

    fn values(&self) -> Vec<(String, Option<f64>)> {
        self.cells.iter().map(|(code, cell)| (code.clone(), cell.value)).collect()
    }
}

#[cfg(test)]
#[path = "box_score_tests.rs"]
mod tests;
