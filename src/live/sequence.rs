//! What a stream believes of its messages' numbers. A number is a hint: where it stands, who shares its counter and when that
//! counter begins anew is not documented. Pure.

use super::runs::{self, Runs};
use crate::machine;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// Delivered messages that are remembered, by number and a hash of their content. A forgotten one is delivered again.
pub const REMEMBERED: usize = 131_072;
/// Sources whose numbers are followed. Those of further sources are ignored.
const MAX_SOURCES: usize = 64;
/// A number this far behind the highest of its connection belongs to another counter.
const REORDER_WINDOW: i64 = 64;
/// So many connections must go past a missing number before it is no longer asked for.
const PASSES: usize = 3;
/// Numbers a source must have used before going back counts as a restart in the middle of a connection.
const COUNTER_LENGTH: u64 = 3;

/// What to do with a numbered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Deliver,
    /// The same source, number and content were delivered on an earlier connection.
    Repeat,
    /// Deliver it as the first message of a new epoch: the counter began anew.
    Restarted,
}

/// The numbers of one stream, over all its connections.
#[derive(Debug)]
pub struct Sequence {
    /// The position that the user asked for, while the first epoch lasts.
    initial: Option<i64>,
    sources: Vec<Source>,
    /// Restarts that were announced.
    epoch: u32,
    memory: Memory,
    /// All numbers seen in this epoch can be those of one counter.
    is_common: bool,
    /// A counter began anew on this connection, or seemed to: the next connection asks from the beginning.
    is_doubtful: bool,
    progress: Progress,
    /// The highest number that each of the furthest connections reached.
    reached: Vec<i64>,
    on_connection: Option<i64>,
    /// Connections before this one.
    connection: u32,
}

#[derive(Debug)]
struct Source {
    name: Option<Box<str>>,
    /// That of the stream when its counter began.
    epoch: u32,
    runs: Runs,
    progress: Progress,
    /// It used one number for different messages: no counter.
    is_set_aside: bool,
    /// It used a number anew on this connection.
    has_gone_back: bool,
}

/// How far deliveries are, and were when the connection was made.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    highest: Option<i64>,
    before: Option<i64>,
    is_catching_up: bool,
}

impl Progress {
    fn reconnect(&mut self) {
        self.before = self.highest;
        self.is_catching_up = self.before.is_some();
    }

    fn pass(&mut self, seq: i64) {
        self.highest = self.highest.max(Some(seq));
        self.is_catching_up &= Some(seq) <= self.before;
    }
}

impl Sequence {
    pub fn new(last_seq: Option<i64>) -> Self {
        Sequence {
            initial: last_seq,
            sources: Vec::new(),
            epoch: 0,
            memory: Memory::new(REMEMBERED),
            is_common: true,
            is_doubtful: false,
            progress: Progress::default(),
            reached: Vec::new(),
            on_connection: None,
            connection: 0,
        }
    }

    /// The connection is lost: what the next one brings may be a repeat.
    pub fn reconnect(&mut self) {
        self.connection = self.connection.saturating_add(1);
        self.reached.extend(self.on_connection.take());
        self.reached.sort_unstable_by(|a, b| b.cmp(a));
        self.reached.truncate(PASSES);
        if std::mem::take(&mut self.is_doubtful) {
            self.sources.iter_mut().for_each(|source| source.runs = Runs::default());
            self.reached.clear();
            self.is_common = true;
        }
        self.progress.reconnect();
        for source in &mut self.sources {
            source.progress.reconnect();
            source.has_gone_back = false;
        }
    }

    /// The number to resume behind: the highest below which no number is missing that could still come. `None`: the numbers
    /// do not behave as a sequence, or there are none.
    pub fn resume(&self) -> Option<i64> {
        // To ask from the beginning is always safe: what was delivered is known.
        if !self.is_common || self.is_doubtful {
            return self.initial;
        }
        let runs = runs::merged(self.counters().map(|source| &source.runs));
        let settled = (self.reached.len() == PASSES).then(|| self.reached[PASSES - 1]);
        // Two numbers in a row are the least that a counter shows.
        let begun = runs.first().filter(|(first, last)| first < last).map(|(_, last)| *last);
        let mut position = self.initial.max(settled).or(begun)?;
        for (first, last) in runs {
            if first > position.saturating_add(1) {
                break;
            }
            position = position.max(last);
        }
        Some(position)
    }

    /// Takes a numbered message in the order of its arrival.
    pub fn receive(&mut self, source: Option<&str>, seq: i64, content: &[u8]) -> Verdict {
        let Some(at) = self.source(source).filter(|at| !self.sources[*at].is_set_aside) else {
            return Verdict::Deliver;
        };
        let hash = self.memory.hash(content);
        let verdict = match self.memory.get(&(at, seq)) {
            Some(known) if known.hash == hash => {
                let is_repeat = known.connection < self.connection && self.is_catching_up(at);
                if is_repeat { Verdict::Repeat } else { Verdict::Deliver }
            }
            Some(known) if known.epoch == self.sources[at].epoch => {
                self.contradict(at, known.connection < self.connection)
            }
            _ => Verdict::Deliver,
        };
        if verdict != Verdict::Repeat && !self.sources[at].is_set_aside {
            let entry = Entry { hash, connection: self.connection, epoch: self.sources[at].epoch };
            self.memory.insert((at, seq), entry);
        }
        if !self.sources[at].is_set_aside {
            self.note(at, seq);
        }
        verdict
    }

    fn is_catching_up(&self, at: usize) -> bool {
        // Without a common counter another source's number says nothing of this one's.
        let progress = if self.is_common { &self.progress } else { &self.sources[at].progress };
        progress.is_catching_up
    }

    fn note(&mut self, at: usize, seq: i64) {
        let is_elsewhere = |(n, other): (usize, &Source)| n != at && other.runs.contains(seq);
        let falls_behind = self.on_connection.is_some_and(|highest| seq < highest.saturating_sub(REORDER_WINDOW));
        let is_new = self.sources[at].runs.add(seq);
        if is_new && (falls_behind || self.sources.iter().enumerate().any(is_elsewhere)) {
            self.is_common = false;
        }
        self.sources[at].progress.pass(seq);
        self.progress.pass(seq);
        if self.sources[at].runs.count() > 1 {
            self.on_connection = self.on_connection.max(Some(seq));
        }
    }

    /// A source uses a number for another message than before in its epoch. A service that restarts loses its connections:
    /// `is_reconnected` is the stronger sign.
    fn contradict(&mut self, at: usize, is_reconnected: bool) -> Verdict {
        let source = &mut self.sources[at];
        let count = source.runs.count();
        let is_restart = match is_reconnected {
            true => count > 1,
            false => count >= COUNTER_LENGTH && !source.has_gone_back,
        };
        source.has_gone_back = true;
        source.runs = Runs::default();
        // One number alone, on another connection: there is nothing yet to judge by.
        if is_restart || is_reconnected {
            // Where an epoch began is not known exactly, nor who shares the counter: the next connection shows it.
            (self.is_doubtful, self.initial) = (true, None);
            let is_announced = !is_restart || (is_reconnected && source.epoch < self.epoch);
            self.epoch += u32::from(!is_announced);
            source.epoch = self.epoch;
            return if is_announced { Verdict::Deliver } else { Verdict::Restarted };
        }
        // It was no counter, and says nothing of those of other sources.
        source.is_set_aside = true;
        self.on_connection = None;
        self.reached.clear();
        Verdict::Deliver
    }

    /// Sources whose numbers tell a position. One number alone may be anything.
    fn counters(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.is_set_aside && source.runs.count() > 1)
    }

    fn source(&mut self, name: Option<&str>) -> Option<usize> {
        if let Some(at) = self.sources.iter().position(|source| source.name.as_deref() == name) {
            return Some(at);
        }
        if self.sources.len() == MAX_SOURCES {
            return None;
        }
        self.sources.push(Source {
            name: name.map(Into::into),
            epoch: self.epoch,
            runs: Runs::default(),
            progress: Progress::default(),
            is_set_aside: false,
            has_gone_back: false,
        });
        Some(self.sources.len() - 1)
    }
}

/// Source and number.
type Key = (usize, i64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    connection: u32,
    /// That of the source when it was delivered.
    epoch: u32,
}

/// What was delivered last with each number; the oldest entries are forgotten.
#[derive(Debug)]
struct Memory {
    entries: HashMap<Key, Entry>,
    order: VecDeque<Key>,
    most: usize,
    /// Keyed at random: no peer can choose two contents with one hash.
    hasher: RandomState,
}

impl Memory {
    fn new(most: usize) -> Self {
        Memory { entries: HashMap::new(), order: VecDeque::new(), most, hasher: machine::hash_key() }
    }

    fn hash(&self, content: &[u8]) -> u64 {
        self.hasher.hash_one(content)
    }

    fn get(&self, key: &Key) -> Option<Entry> {
        self.entries.get(key).copied()
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        if self.entries.insert(key, entry).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
