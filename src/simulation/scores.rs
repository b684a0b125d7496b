//! The box score of a stream during a night, beside the history of the game: it shows nothing older than before, and what is said
//! to be recovered is in it.

use super::game::Game;
use super::readers::number;
use super::service::RequestKind;
use super::world::World;
use crate::config::Sport;
use crate::live::{BoxScore, GapReason, Item, Notice, Overflow};
use crate::machine;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
/// A gap is closed within this time where the service is healthy: shorter than the minute after which a night is checked.
const MAX_OPEN_TIME: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(super) struct ObservedScore {
    score: BoxScore,
    /// The place in each player's history that the box score has reached.
    positions: BTreeMap<i64, usize>,
    /// The gaps that were taken and are open, the oldest first.
    open: VecDeque<Notice>,
    /// Gaps that nothing will close.
    final_gaps: usize,
    /// When the newest state that was requested came.
    state_at: Option<SystemTime>,
    /// Number of items.
    items: usize,
    doubts: Vec<Doubt>,
}

/// What is wrong, unless one of these messages is delivered after so many items.
#[derive(Debug)]
struct Doubt {
    messages: Range<u64>,
    items: usize,
    at: Duration,
    text: String,
}

impl Default for ObservedScore {
    fn default() -> Self {
        ObservedScore {
            score: BoxScore::new(Sport::Basketball),
            positions: BTreeMap::new(),
            open: VecDeque::new(),
            final_gaps: 0,
            state_at: None,
            items: 0,
            doubts: Vec::new(),
        }
    }
}

impl ObservedScore {
    /// Applies an item, and checks what the box score shows then. `open_gaps` is what the stream counts.
    pub(super) fn feed(&mut self, world: &World, kind: RequestKind, item: &Item, open_gaps: u64) {
        let name = kind.name();
        self.items += 1;
        self.score.feed(item);
        let backwards = self.advance(&world.state().service.game);
        match item {
            Item::Update(update) => {
                // With a small buffer that blocks, some updates wait outside it.
                let is_buffered = world.settings.overflow != Overflow::Block || world.settings.buffer > 64;
                if is_buffered && self.state_at.is_some_and(|state_at| update.received_at < state_at) {
                    let text = format!("order: {name}: an update was received before the state that precedes it");
                    self.doubt(world.now(), 0..0, text);
                }
            }
            Item::Notice(notice) => {
                if matches!(notice, Notice::Gap { reason: GapReason::Overflow, .. }) {
                    // A message that was on its way may be what was dropped.
                    self.doubts.retain(|doubt| doubt.messages.is_empty() || doubt.at + 10 * SECOND < world.now());
                }
                if let Some(problem) = self.account(notice) {
                    world.fail(format!("recovery: {name}: {problem}"));
                }
                if !backwards.is_empty() {
                    world.fail(format!("recovery: {name}: {} after {notice:?}", backwards.join(", ")));
                }
                let is_open = open_gaps > 0 || !self.open.is_empty();
                self.check_recovered(world, kind, notice, is_open);
                // A snapshot closes the gaps of an event stream before their notices.
                if kind == RequestKind::Messages && !self.open.is_empty() && !self.score.is_stale(machine::now()) {
                    let text = format!("stale: {name}: {} gaps are open, and it is not stale", self.open.len());
                    self.doubt(world.now(), 0..0, text);
                }
            }
        }
    }

    /// Follows the points of each player; returns the players whose points became older than they were.
    fn advance(&mut self, game: &Game) -> Vec<String> {
        let mut backwards = Vec::new();
        for (player, points) in self.points() {
            let history = game.of_player(player);
            let position = self.positions.entry(player).or_default();
            match history.iter().skip(*position).position(|change| change.points == points) {
                Some(later) => *position += later,
                None => {
                    // A higher count may be one that was corrected.
                    if history.get(*position).is_some_and(|change| points < change.points) {
                        backwards.push(format!("player {player} has {points} again"));
                    }
                    *position = history.iter().rposition(|change| change.points == points).unwrap_or(0);
                }
            }
        }
        backwards
    }

    /// Accounts for the gaps: each is closed or final once, in order. Returns what is wrong.
    fn account(&mut self, notice: &Notice) -> Option<String> {
        match notice {
            Notice::Gap { end: Some(_), is_final: false, .. } => self.open.push_back(notice.clone()),
            Notice::Gap { is_final: true, start, .. } => {
                self.final_gaps += 1;
                let first = self.open.pop_front();
                if !matches!(&first, Some(Notice::Gap { start: first, .. }) if first == start) {
                    return Some(format!("{notice:?} is final, and the oldest open gap is {first:?}"));
                }
            }
            Notice::Recovering { gap, .. } if self.open.front() != Some(&**gap) => {
                return Some(format!("{gap:?} is recovering, and the oldest open gap is {:?}", self.open.front()));
            }
            Notice::Recovered { gap, .. } => {
                let first = self.open.pop_front();
                if first.as_ref() != Some(&**gap) {
                    return Some(format!("{gap:?} was recovered, and the oldest open gap was {first:?}"));
                }
            }
            _ => {}
        }
        None
    }

    /// What happened until the end of a gap is shown once the gap is closed, unless the stream itself still delivers it.
    fn check_recovered(&mut self, world: &World, kind: RequestKind, notice: &Notice, is_open: bool) {
        let (Notice::Recovering { updates, .. } | Notice::Recovered { updates, .. }) = notice else { return };
        let is_requested = !matches!(notice, Notice::Recovered { requested_at: None, .. });
        let state_at = updates.last().map(|update| update.received_at).filter(|_| is_requested);
        self.state_at = self.state_at.max(state_at);
        let Notice::Recovered { gap, .. } = notice else { return };
        let Notice::Gap { end: Some(end), .. } = **gap else { return };
        // A later gap may have lost what the service resent.
        if is_open {
            return;
        }
        let state = world.state();
        let service = &state.service;
        // A snapshot of the stream is taken as the present state, though an older one may come again.
        let snapshot = updates.first().filter(|_| !is_requested).and_then(|update| number(&update.text));
        let snapshot = snapshot.and_then(|n| service.events.get(n as usize)?.version);
        let now = || service.game.points(world.since_start(end));
        let expected = snapshot.map_or_else(now, |version| service.game.points_of_version(version));
        let points = self.points();
        let (mut doubts, at) = (Vec::new(), world.now());
        for (player, last) in expected {
            let history = service.game.of_player(player);
            let mut later = history.iter().skip_while(|change| change.version < last.version);
            let value = points.get(&player).copied();
            if later.any(|change| Some(change.points) == value) {
                continue;
            }
            let first = service.messages.iter().find(|message| message.version == Some(last.version));
            let first = first.map_or(0, |message| message.n);
            // Every later event has it too.
            let end = if kind == RequestKind::Events { service.events.len() as u64 } else { first + 1 };
            let (name, expected) = (kind.name(), last.points);
            let text = format!(
                "honest: at {at:?} {name} says that a gap is closed, and player {player} has {value:?}, not {expected}"
            );
            doubts.push((first..end, text));
        }
        drop(state);
        doubts.into_iter().for_each(|(messages, text)| self.doubt(world.now(), messages, text));
    }

    fn doubt(&mut self, at: Duration, messages: Range<u64>, text: String) {
        self.doubts.push(Doubt { messages, items: self.items, at, text });
    }

    /// What the night shows to be wrong: `updates` has `n` of each message with its position among all items.
    pub(super) fn justified_doubts<'a>(&'a self, updates: &'a [(u64, usize)]) -> impl Iterator<Item = &'a str> {
        let is_delivered =
            |doubt: &Doubt| updates.iter().any(|(n, item)| doubt.messages.contains(n) && *item > doubt.items);
        self.doubts.iter().filter(move |doubt| !is_delivered(doubt)).map(|doubt| &*doubt.text)
    }

    /// Checks that it shows the points of the last seconds, and that every gap is closed; `open_gaps` is what the stream counts,
    /// and `closes_soon` is false where two answers may differ however often the state is requested.
    pub(super) fn check_truth(&self, world: &World, kind: RequestKind, open_gaps: u64, closes_soon: bool) {
        let (name, open, now) = (kind.name(), self.open.len(), world.now());
        if self.final_gaps > 0 {
            world.fail(format!("final: {name} gave up gaps, though a route answers"));
        }
        let invalid_points = self.wrong_points(&world.state().service.game, now);
        if !invalid_points.is_empty() {
            world.fail(format!("truth: {name}: {}", invalid_points.join(", ")));
        }
        // A counter that restarted without a cut is noticed at its next message, however late that comes.
        let is_late = |gap: &Notice| matches!(gap, Notice::Gap { end: Some(end), .. } if world.since_start(*end) + MAX_OPEN_TIME < now);
        if open_gaps != open as u64 || (closes_soon && self.open.iter().any(is_late)) {
            world.fail(format!("open gaps: {name} counts {open_gaps}, and {open} were not closed"));
        } else if open == 0 && self.score.is_stale(machine::now()) {
            world.fail(format!("stale: {name} is stale without an open gap"));
        }
    }

    fn wrong_points(&self, game: &Game, now: Duration) -> Vec<String> {
        let since = now.saturating_sub(3 * SECOND);
        let (points, before) = (self.points(), game.points(since));
        let is_right = |player: i64, value: Option<i64>| {
            let history = game.of_player(player);
            let recent = history.iter().filter(|change| change.at > since).map(|change| Some(change.points));
            recent.chain([before.get(&player).map(|change| change.points)]).any(|points| points == value)
        };
        let players = game.points(now).into_iter().map(|(player, last)| (player, points.get(&player).copied(), last));
        let invalid_points = players.filter(|(player, value, _)| !is_right(*player, *value));
        invalid_points
            .map(|(player, value, last)| format!("player {player} has {value:?}, not {}", last.points))
            .collect()
    }

    /// The points that the box score shows.
    fn points(&self) -> BTreeMap<i64, i64> {
        let values = self.score.values("PTS").into_iter();
        values.filter_map(|(player, points)| Some((player, points? as i64))).collect()
    }
}
