//! Sets of integers, stored as intervals. Pure.

use std::collections::VecDeque;

/// Beyond this many intervals the lowest hole is filled: sources that are not requested leave permanent holes.
const MAX_INTERVALS: usize = 65_536;

#[derive(Debug, Clone, Default)]
pub(super) struct IntervalSet {
    /// First and last number of each, ascending; no two are adjacent.
    intervals: VecDeque<(i64, i64)>,
    /// Numbers inserted so far.
    pub(super) count: u64,
}

impl IntervalSet {
    pub(super) fn contains(&self, seq: i64) -> bool {
        let next = self.intervals.partition_point(|(first, _)| *first <= seq);
        next.checked_sub(1).and_then(|at| self.intervals.get(at)).is_some_and(|(_, last)| seq <= *last)
    }

    /// Inserts a number; returns whether it is new.
    pub(super) fn insert(&mut self, seq: i64) -> bool {
        // The interval that starts at or before `seq` precedes `next`.
        let next = match self.intervals.back() {
            Some((first, _)) if *first <= seq => self.intervals.len(),
            _ => self.intervals.partition_point(|(first, _)| *first <= seq),
        };
        let touches_next = self.intervals.get(next).is_some_and(|(first, _)| seq.checked_add(1) == Some(*first));
        let before = next.checked_sub(1);
        let last_before = before.and_then(|before| self.intervals.get(before)).map(|(_, last)| *last);
        if last_before.is_some_and(|last| seq <= last) {
            return false;
        }
        self.count += 1;
        let touches_before = last_before.and_then(|last| last.checked_add(1)) == Some(seq);
        match (before.filter(|_| touches_before), touches_next) {
            (Some(before), true) => {
                let end = self.intervals.remove(next).map_or(seq, |(_, last)| last);
                self.intervals[before].1 = end;
            }
            (Some(before), false) => self.intervals[before].1 = seq,
            (None, true) => self.intervals[next].0 = seq,
            (None, false) => self.intervals.insert(next, (seq, seq)),
        }
        if self.intervals.len() > MAX_INTERVALS
            && let (Some((first, _)), Some(second)) = (self.intervals.pop_front(), self.intervals.front_mut())
        {
            second.0 = first;
        }
        true
    }
}

/// The intervals of the union of several sets, ascending; no two are adjacent.
pub(super) fn union<'a>(sets: impl Iterator<Item = &'a IntervalSet>) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = sets.flat_map(|set| set.intervals.iter().copied()).collect();
    all.sort_unstable();
    all.dedup_by(|next, interval| {
        let touches = next.0 <= interval.1.saturating_add(1);
        if touches {
            interval.1 = interval.1.max(next.1);
        }
        touches
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_new_once() {
        let mut intervals = IntervalSet::default();
        let new: Vec<bool> =
            [1, 2, 4, 3, 3, 1, 5, i64::MAX, i64::MIN, i64::MAX].map(|seq| intervals.insert(seq)).into();
        assert_eq!(new, [true, true, true, true, false, false, true, true, true, false]);
        assert_eq!(intervals.intervals, [(i64::MIN, i64::MIN), (1, 5), (i64::MAX, i64::MAX)]);
        assert_eq!(intervals.count, 7);
    }

    #[test]
    fn the_lowest_hole_is_filled_beyond_the_maximum() {
        let mut intervals = IntervalSet::default();
        let last = 2 * MAX_INTERVALS as i64;
        assert!((0..last).all(|n| intervals.insert(2 * n)));
        assert_eq!(intervals.intervals.len(), MAX_INTERVALS);
        assert!(intervals.contains(1) && !intervals.contains(2 * last - 3));
    }

    #[test]
    fn adjacent_intervals_of_several_sets_are_joined() {
        let mut sets = [IntervalSet::default(), IntervalSet::default()];
        for seq in [1, 3, 5, 9] {
            sets[0].insert(seq);
        }
        for seq in [2, 4, 5, 8] {
            sets[1].insert(seq);
        }
        assert_eq!(union(sets.iter()), [(1, 5), (8, 9)]);
    }

    proptest! {
        #[test]
        fn the_set_contains_exactly_the_inserted_numbers(seqs in prop::collection::vec(-20_i64..20, 0..200)) {
            let (mut intervals, mut set) = (IntervalSet::default(), BTreeSet::new());
            for seq in seqs {
                prop_assert_eq!(intervals.insert(seq), set.insert(seq));
            }
            let all: Vec<i64> = union([&intervals].into_iter()).iter().flat_map(|(first, last)| *first..=*last).collect();
            prop_assert_eq!(all, set.iter().copied().collect::<Vec<_>>());
            prop_assert!((-25..25).all(|seq| intervals.contains(seq) == set.contains(&seq)));
            prop_assert!(intervals.intervals.iter().zip(intervals.intervals.iter().skip(1)).all(|(a, b)| a.1 + 1 < b.0));
        }
    }
}
