//! Sets of numbers, as runs without a hole. Pure.

use std::collections::VecDeque;

/// Beyond this many runs the oldest hole counts as filled: sources that are not asked for leave holes for ever.
const MAX_RUNS: usize = 65_536;

#[derive(Debug, Clone)]
pub struct Runs {
    /// First and last of each, ascending; no two touch.
    runs: VecDeque<(i64, i64)>,
    /// Numbers added so far.
    count: u64,
    most: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Runs { runs: VecDeque::new(), count: 0, most: MAX_RUNS }
    }
}

impl Runs {
    /// Numbers added so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn contains(&self, seq: i64) -> bool {
        let next = self.runs.partition_point(|(first, _)| *first <= seq);
        next.checked_sub(1).and_then(|at| self.runs.get(at)).is_some_and(|(_, last)| seq <= *last)
    }

    /// Adds a number; whether it is new.
    pub fn add(&mut self, seq: i64) -> bool {
        // The run that begins at or before it is the one before `next`.
        let next = match self.runs.back() {
            Some((first, _)) if *first <= seq => self.runs.len(),
            _ => self.runs.partition_point(|(first, _)| *first <= seq),
        };
        let touches_next = self.runs.get(next).is_some_and(|(first, _)| seq.checked_add(1) == Some(*first));
        let before = next.checked_sub(1);
        let last_before = before.and_then(|before| self.runs.get(before)).map(|(_, last)| *last);
        if last_before.is_some_and(|last| seq <= last) {
            return false;
        }
        self.count += 1;
        let touches_before = last_before.and_then(|last| last.checked_add(1)) == Some(seq);
        match (before.filter(|_| touches_before), touches_next) {
            (Some(before), true) => {
                let end = self.runs.remove(next).map_or(seq, |(_, last)| last);
                self.runs[before].1 = end;
            }
            (Some(before), false) => self.runs[before].1 = seq,
            (None, true) => self.runs[next].0 = seq,
            (None, false) => self.runs.insert(next, (seq, seq)),
        }
        if self.runs.len() > self.most
            && let (Some((first, _)), Some(second)) = (self.runs.pop_front(), self.runs.front_mut())
        {
            second.0 = first;
        }
        true
    }
}

/// The runs of all sets together, ascending; no two touch.
pub fn merged<'a>(sets: impl Iterator<Item = &'a Runs>) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = sets.flat_map(|set| set.runs.iter().copied()).collect();
    all.sort_unstable();
    all.dedup_by(|next, run| {
        let touches = next.0 <= run.1.saturating_add(1);
        if touches {
            run.1 = run.1.max(next.1);
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
        let mut runs = Runs::default();
        let new: Vec<bool> = [1, 2, 4, 3, 3, 1, 5, i64::MAX, i64::MIN, i64::MAX].map(|seq| runs.add(seq)).into();
        assert_eq!(new, [true, true, true, true, false, false, true, true, true, false]);
        assert_eq!(runs.runs, [(i64::MIN, i64::MIN), (1, 5), (i64::MAX, i64::MAX)]);
        assert_eq!(runs.count(), 7);
    }

    #[test]
    fn beyond_the_most_runs_the_oldest_hole_is_filled() {
        let mut runs = Runs { most: 4, ..Runs::default() };
        assert!((0..100).all(|n| runs.add(2 * n)));
        assert_eq!(runs.runs.len(), 4);
        assert!(runs.contains(1) && !runs.contains(195));
    }

    #[test]
    fn runs_of_several_sets_that_touch_are_one() {
        let mut sets = [Runs::default(), Runs::default()];
        for seq in [1, 3, 5, 9] {
            sets[0].add(seq);
        }
        for seq in [2, 4, 5, 8] {
            sets[1].add(seq);
        }
        assert_eq!(merged(sets.iter()), [(1, 5), (8, 9)]);
    }

    proptest! {
        #[test]
        fn runs_are_the_set_of_all_that_were_added(seqs in prop::collection::vec(-20_i64..20, 0..200)) {
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for seq in seqs {
                prop_assert_eq!(runs.add(seq), set.insert(seq));
            }
            let all: Vec<i64> = merged([&runs].into_iter()).iter().flat_map(|(first, last)| *first..=*last).collect();
            prop_assert_eq!(all, set.iter().copied().collect::<Vec<_>>());
            prop_assert!((-25..25).all(|seq| runs.contains(seq) == set.contains(&seq)));
            prop_assert!(runs.runs.iter().zip(runs.runs.iter().skip(1)).all(|(a, b)| a.1 + 1 < b.0));
        }
    }
}
