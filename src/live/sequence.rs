//! Finds repeats and the resume position by the messages' sequence numbers. Numbers are hints: which sources share a counter
//! and when a counter restarts is not documented. Pure.

use super::interval_set::{self, IntervalSet};
use crate::machine::HashKey;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

/// Maximum of delivered messages to remember, by number and content hash. A forgotten one may be delivered twice.
pub(crate) const MAX_REMEMBERED: usize = 131_072;
/// Maximum of tracked sources. The numbers of further sources are ignored.
const MAX_SOURCES: usize = 64;
/// A number this far behind the highest of its connection belongs to another counter.
const REORDER_WINDOW: i64 = 64;
/// Number of connections that must pass a missing number before it is no longer requested.
const CONNECTIONS_TO_SETTLE: usize = 3;
/// Numbers that a source must have used before going back counts as a restart within a connection.
const MIN_COUNTER_LENGTH: u64 = 3;

/// What to do with a numbered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Deliver,
    /// A repeat: an earlier connection delivered the same source, number and content.
    Duplicate,
    /// Deliver it as the first message after the counter restarted.
    NewEpoch,
}

/// The sequence numbers of one stream, over all its connections.
#[derive(Debug, Default)]
pub struct Sequence {
    /// The user's position, during the first epoch.
    initial: Option<i64>,
    sources: Vec<Source>,
    /// Number of announced restarts.
    epoch: u32,
    memory: Memory,
    /// Whether one counter cannot explain all numbers of this epoch.
    has_several_counters: bool,
    /// A counter may have restarted on this connection, so the next one resumes from the beginning.
    may_have_restarted: bool,
    progress: Progress,
    /// The highest numbers of the connections that got furthest, descending.
    connection_maxima: Vec<i64>,
    /// The highest number of this connection.
    current_maximum: Option<i64>,
    /// Number of connections before this one.
    connection: u32,
}

#[derive(Debug, Default)]
struct Source {
    name: Option<Box<str>>,
    /// The stream's epoch when its counter started.
    epoch: u32,
    numbers: IntervalSet,
    progress: Progress,
    /// Its numbers are ignored: it used one for different messages, so they are no counter.
    is_ignored: bool,
    /// It reused a number on this connection.
    has_gone_back: bool,
}

/// The highest delivered number, now and when the connection was opened.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    highest: Option<i64>,
    at_connect: Option<i64>,
    is_catching_up: bool,
}

impl Progress {
    fn reconnect(&mut self) {
        self.at_connect = self.highest;
        self.is_catching_up = self.at_connect.is_some();
    }

    fn advance(&mut self, seq: i64) {
        self.highest = self.highest.max(Some(seq));
        self.is_catching_up &= Some(seq) <= self.at_connect;
    }
}

impl Sequence {
    pub fn new(last_seq: Option<i64>) -> Self {
        Sequence { initial: last_seq, ..Sequence::default() }
    }

    /// Starts a new connection, whose messages may be repeats.
    pub fn reconnect(&mut self) {
        self.connection = self.connection.saturating_add(1);
        self.connection_maxima.extend(self.current_maximum.take());
        self.connection_maxima.sort_unstable_by(|a, b| b.cmp(a));
        self.connection_maxima.truncate(CONNECTIONS_TO_SETTLE);
        if std::mem::take(&mut self.may_have_restarted) {
            self.sources.iter_mut().for_each(|source| source.numbers = IntervalSet::default());
            self.connection_maxima.clear();
            self.has_several_counters = false;
        }
        self.progress.reconnect();
        for source in &mut self.sources {
            source.progress.reconnect();
            source.has_gone_back = false;
        }
    }

    /// The number to resume after: the highest with no missing number below it that could still arrive. `None`: there are no
    /// numbers, or they do not behave like a sequence.
    pub(crate) fn resume(&self) -> Option<i64> {
        // Resuming from the beginning is always safe, because repeats are recognised.
        if self.has_several_counters || self.may_have_restarted {
            return self.initial;
        }
        // A single number is no evidence of a counter.
        let counters = self.sources.iter().filter(|source| !source.is_ignored && source.numbers.count > 1);
        let intervals = interval_set::union(counters.map(|source| &source.numbers));
        let settled_maximum = self.connection_maxima.get(CONNECTIONS_TO_SETTLE - 1).copied();
        // Two consecutive numbers are the least evidence of a counter.
        let start = intervals.first().filter(|(first, last)| first < last).map(|(_, last)| *last);
        let mut position = self.initial.max(settled_maximum).or(start)?;
        for (first, last) in intervals {
            if first > position.saturating_add(1) {
                break;
            }
            position = position.max(last);
        }
        Some(position)
    }

    /// Classifies a numbered message. Messages are passed in the order of their arrival.
    pub fn receive(&mut self, source: Option<&str>, seq: i64, content: &[u8]) -> Verdict {
        let Some(at) = self.source_index(source).filter(|at| !self.sources[*at].is_ignored) else {
            return Verdict::Deliver;
        };
        let hash = self.memory.hash_key.hash_one(content);
        let verdict = match self.memory.entries.get(&(at, seq)).copied() {
            Some(entry) if entry.hash == hash => {
                let is_duplicate = entry.connection < self.connection && self.is_catching_up(at);
                if is_duplicate { Verdict::Duplicate } else { Verdict::Deliver }
            }
            Some(entry) if entry.epoch == self.sources[at].epoch => {
                self.resolve_conflict(at, entry.connection < self.connection)
            }
            _ => Verdict::Deliver,
        };
        if verdict != Verdict::Duplicate && !self.sources[at].is_ignored {
            let entry = Entry { hash, connection: self.connection, epoch: self.sources[at].epoch };
            self.memory.insert((at, seq), entry);
        }
        if !self.sources[at].is_ignored {
            self.record(at, seq);
        }
        verdict
    }

    fn is_catching_up(&self, at: usize) -> bool {
        // Without a common counter, other sources' numbers say nothing about this one.
        let progress = if self.has_several_counters { &self.sources[at].progress } else { &self.progress };
        progress.is_catching_up
    }

    fn record(&mut self, at: usize, seq: i64) {
        let is_of_other_source = |(n, other): (usize, &Source)| n != at && other.numbers.contains(seq);
        let falls_behind = self.current_maximum.is_some_and(|highest| seq < highest.saturating_sub(REORDER_WINDOW));
        let is_new = self.sources[at].numbers.insert(seq);
        if is_new && (falls_behind || self.sources.iter().enumerate().any(is_of_other_source)) {
            self.has_several_counters = true;
        }
        self.sources[at].progress.advance(seq);
        self.progress.advance(seq);
        if self.sources[at].numbers.count > 1 {
            self.current_maximum = self.current_maximum.max(Some(seq));
        }
    }

    /// Handles a number that a source reuses for a different message. After a reconnect this suggests a restart more strongly,
    /// because a service that restarts drops its connections.
    fn resolve_conflict(&mut self, at: usize, is_reconnected: bool) -> Verdict {
        let source = &mut self.sources[at];
        let count = source.numbers.count;
        let is_restart = match is_reconnected {
            true => count > 1,
            false => count >= MIN_COUNTER_LENGTH && !source.has_gone_back,
        };
        source.has_gone_back = true;
        source.numbers = IntervalSet::default();
        // A single number on another connection is not enough to judge by.
        if is_restart || is_reconnected {
            // Where the epoch started and who shares the counter is unknown until the next connection.
            (self.may_have_restarted, self.initial) = (true, None);
            let is_announced = !is_restart || (is_reconnected && source.epoch < self.epoch);
            self.epoch += u32::from(!is_announced);
            source.epoch = self.epoch;
            return if is_announced { Verdict::Deliver } else { Verdict::NewEpoch };
        }
        // Its numbers were no counter and say nothing about those of other sources.
        source.is_ignored = true;
        self.current_maximum = None;
        self.connection_maxima.clear();
        Verdict::Deliver
    }

    fn source_index(&mut self, name: Option<&str>) -> Option<usize> {
        if let Some(at) = self.sources.iter().position(|source| source.name.as_deref() == name) {
            return Some(at);
        }
        if self.sources.len() == MAX_SOURCES {
            return None;
        }
        self.sources.push(Source { name: name.map(Into::into), epoch: self.epoch, ..Source::default() });
        Some(self.sources.len() - 1)
    }
}

/// Source and number.
type Key = (usize, i64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    connection: u32,
    /// The source's epoch at delivery.
    epoch: u32,
}

/// The last message delivered with each number; forgets the oldest ones.
#[derive(Debug, Default)]
struct Memory {
    entries: HashMap<Key, Entry>,
    order: VecDeque<Key>,
    /// Randomly keyed, so that nobody can construct a collision.
    hash_key: HashKey,
}

impl Memory {
    fn insert(&mut self, key: Key, entry: Entry) {
        if self.entries.insert(key, entry).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
