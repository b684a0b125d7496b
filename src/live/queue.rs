//! The queue of buffered items: counts them, drops updates, merges notices. Pure.

use super::gap_reason::GapReason;
use super::item::{Item, Notice};
use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::time::SystemTime;

/// Merges notices beyond the capacity, to one of each kind between two updates.
#[derive(Debug, Default)]
pub(super) struct Queue {
    items: VecDeque<Queued>,
    pub(super) updates: usize,
    /// Approximate size of the items.
    pub(super) bytes: usize,
    capacity: usize,
    max_bytes: usize,
    /// Number of notices at which they are merged next.
    merge_at: usize,
}

#[derive(Debug)]
struct Queued {
    item: Item,
    /// Number of notices merged into this one, and the time of the first.
    earlier: Option<(u64, SystemTime)>,
}

impl Queued {
    fn into_item(self) -> Item {
        match self.earlier {
            Some((count, first)) => with_merge_count(self.item, count, first),
            None => self.item,
        }
    }
}

impl Queue {
    pub(super) fn new(capacity: usize, max_bytes: usize) -> Self {
        Queue { capacity, max_bytes, merge_at: capacity, ..Queue::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds an item; returns how many gaps became part of others.
    pub(super) fn push(&mut self, item: Item) -> u64 {
        self.count_added(&item);
        let is_state = matches!(item, Item::Notice(Notice::Recovering { .. }));
        self.items.push_back(Queued { item, earlier: None });
        self.merge_notices(is_state && self.bytes > self.max_bytes)
    }

    /// Puts an item back at the front.
    pub(super) fn put_back(&mut self, item: Item) {
        self.count_added(&item);
        self.items.push_front(Queued { item, earlier: None });
    }

    /// Removes what was recovered of gaps, and returns the notices of those that are closed or final.
    pub(super) fn take_closed_gaps(&mut self) -> Vec<Item> {
        let mut closed = Vec::new();
        for entry in std::mem::take(&mut self.items) {
            match entry.item {
                Item::Notice(Notice::Recovering { .. }) => {}
                Item::Notice(Notice::Recovered { .. } | Notice::Gap { is_final: true, .. }) => {
                    closed.push(entry.into_item());
                }
                _ => self.items.push_back(entry),
            }
        }
        self.bytes = self.items.iter().map(|entry| entry.item.size()).sum();
        closed
    }

    pub(super) fn pop(&mut self) -> Option<Item> {
        let entry = self.items.pop_front()?;
        self.count_removed(&entry.item);
        Some(entry.into_item())
    }

    /// When the oldest update was received.
    pub(super) fn oldest(&self) -> Option<SystemTime> {
        self.items.iter().find_map(|entry| match &entry.item {
            Item::Update(update) => Some(update.received_at),
            Item::Notice(_) => None,
        })
    }

    /// Drops the oldest update; with `notices`, a gap takes its place. Returns whether that gap is new.
    pub(super) fn drop_oldest(&mut self, notices: bool) -> bool {
        let Some(at) = self.items.iter().position(|entry| matches!(entry.item, Item::Update(_))) else {
            return false;
        };
        let Some(Queued { item, .. }) = self.items.remove(at) else { return false };
        self.count_removed(&item);
        let Item::Update(update) = item else { return false };
        if !notices {
            return false;
        }
        let received_at = update.received_at;
        let before = at.checked_sub(1).and_then(|before| self.items.get_mut(before)).map(|entry| &mut entry.item);
        if let Some(Item::Notice(Notice::Gap { end, reason, dropped: Some(dropped), .. })) = before
            && *reason == GapReason::Overflow
        {
            (*end, *dropped) = (Some(received_at), *dropped + 1);
            return false;
        }
        let (start, end) = (received_at, Some(received_at));
        let gap =
            Item::Notice(Notice::Gap { start, end, reason: GapReason::Overflow, dropped: Some(1), is_final: false });
        self.count_added(&gap);
        self.items.insert(at, Queued { item: gap, earlier: None });
        true
    }

    fn count_added(&mut self, item: &Item) {
        self.updates += usize::from(matches!(item, Item::Update(_)));
        self.bytes += item.size();
    }

    fn count_removed(&mut self, item: &Item) {
        self.updates -= usize::from(matches!(item, Item::Update(_)));
        self.bytes = self.bytes.saturating_sub(item.size());
    }

    fn merge_notices(&mut self, has_too_many_bytes: bool) -> u64 {
        if !has_too_many_bytes && self.items.len() - self.updates <= self.merge_at {
            return 0;
        }
        let mut merged_gaps = 0;
        let mut all = VecDeque::with_capacity(self.updates);
        let mut notices: Vec<Queued> = Vec::new();
        for entry in self.items.drain(..) {
            if matches!(entry.item, Item::Notice(_)) {
                merged_gaps += merge(&mut notices, entry);
            } else {
                all.extend(notices.drain(..));
                all.push_back(entry);
            }
        }
        all.extend(notices);
        self.bytes = all.iter().map(|entry| entry.item.size()).sum();
        self.items = all;
        self.merge_at = self.capacity.max(2 * (self.items.len() - self.updates));
        merged_gaps
    }
}

/// Adds a notice to those since the last update. An earlier one of its kind is merged into it, unless it closes a gap. Returns
/// how many gaps became part of another one.
fn merge(notices: &mut Vec<Queued>, mut new: Queued) -> u64 {
    let is_kept = matches!(new.item, Item::Notice(Notice::Recovered { .. } | Notice::Gap { is_final: true, .. }));
    let mut merged_gaps = 0;
    if !is_kept && let Some(at) = notices.iter().position(|notice| group(&notice.item) == group(&new.item)) {
        let old = notices.remove(at);
        let first = old.earlier.map_or_else(|| old.item.at(), |(_, first)| first);
        let count = 1 + old.earlier.map_or(0, |(count, _)| count) + new.earlier.map_or(0, |(count, _)| count);
        new.earlier = Some((count, first));
        merged_gaps = u64::from(matches!(old.item, Item::Notice(Notice::Gap { .. })));
        if let (Item::Notice(old), Item::Notice(new)) = (old.item, &mut new.item) {
            new.cover(old);
        }
    }
    notices.push(new);
    merged_gaps
}

/// What merged notices have in common: their kind, and of open gaps the reason that programs compare. `None`: an update.
fn group(item: &Item) -> Option<(Discriminant<Notice>, bool, Option<&GapReason>)> {
    let Item::Notice(notice) = item else { return None };
    Some(match notice {
        Notice::Gap { is_final, reason, .. } => {
            (discriminant(notice), *is_final, as_comparable(reason).filter(|_| !is_final))
        }
        _ => (discriminant(notice), false, None),
    })
}

/// The reasons to which no text is added.
fn as_comparable(reason: &GapReason) -> Option<&GapReason> {
    Some(reason).filter(|reason| matches!(reason, GapReason::Overflow | GapReason::Restarted))
}

/// Mentions the merged notices in the reason, except in reasons that programs compare.
fn with_merge_count(mut item: Item, count: u64, first: SystemTime) -> Item {
    let seconds = item.at().duration_since(first).unwrap_or_default().as_secs_f64();
    let note = format!("(the last of {} such notices in {seconds:.1} s)", count + 1);
    match &mut item {
        Item::Notice(Notice::Disconnected { reason, .. }) => *reason = format!("{reason} {note}"),
        Item::Notice(Notice::Gap { reason, is_final, .. }) if *is_final || as_comparable(reason).is_none() => {
            *reason = format!("{reason} {note}").into();
        }
        _ => {}
    }
    item
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::item::Update;
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn update(n: u64) -> Item {
        let text = "x".repeat(1_000);
        let (id, received_at) = ("".into(), at(n));
        Item::Update(Update { event: None, id, text, binary: None, seq: None, source: None, received_at })
    }

    fn disconnected(n: u64) -> Item {
        let reason = format!("disconnected {n}");
        Item::Notice(Notice::Disconnected { at: at(n), reason, status: None, attempt: n as u32, retry_at: None })
    }

    fn gap(n: u64) -> Item {
        let (start, end, reason) = (at(n), Some(at(n + 1)), "it was cut".into());
        Item::Notice(Notice::Gap { start, end, reason, dropped: None, is_final: false })
    }

    fn connected(n: u64) -> Item {
        Item::Notice(Notice::Connected { at: at(n) })
    }

    fn drain(queue: &mut Queue) -> Vec<Item> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn a_gap_replaces_dropped_updates() {
        let mut queue = Queue::new(10, usize::MAX);
        for item in [connected(0), update(1), update(2), disconnected(3), update(4), update(5)] {
            queue.push(item);
        }
        let new: Vec<bool> = (0..3).map(|_| queue.drop_oldest(true)).collect();
        assert_eq!(new, [true, false, true]);
        let overflow = |start, end, n| {
            let (start, end) = (at(start), Some(at(end)));
            Item::Notice(Notice::Gap { start, end, reason: "overflow".into(), dropped: Some(n), is_final: false })
        };
        assert_eq!(drain(&mut queue), [connected(0), overflow(1, 2, 2), disconnected(3), overflow(4, 4, 1), update(5)]);
        assert_eq!((queue.bytes, queue.updates), (0, 0));
    }

    #[test]
    fn notices_are_merged_with_their_number_and_time_span() {
        let mut queue = Queue::new(4, usize::MAX);
        queue.push(update(0));
        for n in 1..=10_000 {
            queue.push(disconnected(n));
            assert!(queue.len() <= 6, "{n}: {}", queue.len());
        }
        let items = drain(&mut queue);
        assert_eq!(items.last(), Some(&disconnected(10_000)));
        let Item::Notice(Notice::Disconnected { attempt, reason, .. }) = &items[1] else { panic!() };
        let expected = format!("disconnected {attempt} (the last of {attempt} such notices in {}.0 s)", attempt - 1);
        assert!(*attempt > 9_990 && *reason == expected, "{reason}");
    }

    #[test]
    fn notices_of_connections_without_updates_are_merged() {
        let mut queue = Queue::new(4, usize::MAX);
        for n in 0..10_000 {
            [disconnected(n), gap(n), connected(n)].into_iter().for_each(|item| _ = queue.push(item));
            assert!(queue.len() <= 8);
        }
        let items = drain(&mut queue);
        assert_eq!(items.last(), Some(&connected(9_999)));
        let is_covered =
            items.iter().any(|item| matches!(item, Item::Notice(Notice::Gap { start, .. }) if *start == at(0)));
        assert!(is_covered, "{items:?}");
    }

    #[test]
    fn dropped_updates_between_notices_use_no_memory() {
        let mut queue = Queue::new(4, usize::MAX);
        for n in 0..10_000 {
            [disconnected(n), gap(n), connected(n), update(n)].into_iter().for_each(|item| _ = queue.push(item));
            while queue.updates > 1 {
                queue.drop_oldest(true);
            }
            assert!(queue.len() < 40 && queue.bytes < 40_000, "{}", queue.len());
        }
        let dropped: u64 = drain(&mut queue)
            .iter()
            .map(|item| match item {
                Item::Notice(Notice::Gap { dropped: Some(n), .. }) => *n,
                _ => 0,
            })
            .sum();
        assert_eq!(dropped, 9_999);
    }
}
