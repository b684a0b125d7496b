//! The order of a journal's frames: which of those that are read continue it, and where there is damage. Pure.

/// What a frame says about its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) number: u64,
    /// Checksum of the frame before it.
    pub(super) previous: u32,
    /// Its own checksum.
    pub(super) checksum: u32,
}

impl Link {
    fn follows(self, other: Option<Link>) -> bool {
        match other {
            None => self.number == 0,
            Some(other) => Some(self.number) == other.number.checked_add(1) && self.previous == other.checksum,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChainStep<F> {
    /// Frames are missing here, or frames lie here that belong elsewhere.
    Damage,
    /// The next frame.
    Frame(F),
}

/// Orders frames while they are read. A frame out of place is a candidate until a later one shows whether it belongs elsewhere
/// (then the frame that belongs here follows) or the frames before it are lost (then the one after it follows).
#[derive(Debug)]
pub(super) struct Chain<F> {
    /// The last frame in order.
    pub(super) last: Option<Link>,
    candidate: Option<(Link, F)>,
}

impl<F> Chain<F> {
    pub(super) fn new() -> Self {
        Chain { last: None, candidate: None }
    }

    pub(super) fn push(&mut self, link: Link, frame: F, steps: &mut Vec<ChainStep<F>>) {
        if let Some((candidate, _)) = &self.candidate
            && link.follows(Some(*candidate))
        {
            self.release(steps);
        }
        if link.follows(self.last) {
            self.last = Some(link);
            steps.push(ChainStep::Frame(frame));
            return;
        }
        if self.candidate.as_ref().is_some_and(|(candidate, _)| link.number > candidate.number) {
            self.release(steps);
        }
        steps.push(ChainStep::Damage);
        if self.last.is_none_or(|last| link.number > last.number) {
            self.candidate = Some((link, frame));
        }
    }

    /// Bytes that are no frame were passed over.
    pub(super) fn damage(&mut self, steps: &mut Vec<ChainStep<F>>) {
        self.release(steps);
        steps.push(ChainStep::Damage);
    }

    /// Accepts the candidate, although frames before it may be missing. There may be no further frames.
    pub(super) fn release(&mut self, steps: &mut Vec<ChainStep<F>>) {
        let Some((link, frame)) = self.candidate.take() else { return };
        if self.last.is_some_and(|last| link.number <= last.number) {
            return;
        }
        if !link.follows(self.last) {
            steps.push(ChainStep::Damage);
        }
        self.last = Some(link);
        steps.push(ChainStep::Frame(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(number: u64) -> Link {
        Link { number, previous: (number as u32).wrapping_sub(1), checksum: number as u32 }
    }

    /// The steps of frames in this order.
    fn steps_of(numbers: &[u64]) -> Vec<ChainStep<u64>> {
        let (mut chain, mut steps) = (Chain::new(), Vec::new());
        for number in numbers {
            chain.push(link(*number), *number, &mut steps);
        }
        chain.release(&mut steps);
        steps
    }

    proptest! {
        #[test]
        fn frames_come_once_and_in_order_and_every_hole_is_damage(
            numbers in proptest::collection::vec(0..8_u64, 0..12),
        ) {
            let steps = steps_of(&numbers);
            let mut last = None;
            let mut is_damaged = false;
            for step in &steps {
                match step {
                    ChainStep::Damage => is_damaged = true,
                    ChainStep::Frame(number) => {
                        prop_assert!(last.is_none_or(|last| *number > last), "{steps:?}");
                        prop_assert!(is_damaged || *number == last.map_or(0, |last| last + 1), "{steps:?}");
                        (last, is_damaged) = (Some(*number), false);
                    }
                }
            }
            let frames: Vec<u64> =
                steps.iter().filter_map(|step| if let ChainStep::Frame(number) = step { Some(*number) } else { None }).collect();
            prop_assert!(frames == numbers || steps.contains(&ChainStep::Damage), "{steps:?}");
        }
    }

    #[test]
    fn a_frame_of_another_journal_is_damage() {
        let (mut chain, mut steps) = (Chain::new(), Vec::new());
        chain.push(link(0), 0, &mut steps);
        chain.push(Link { previous: 77, checksum: 78, ..link(1) }, 99, &mut steps);
        chain.push(link(1), 1, &mut steps);
        chain.push(link(2), 2, &mut steps);
        chain.release(&mut steps);
        assert_eq!(steps, [ChainStep::Frame(0), ChainStep::Damage, ChainStep::Frame(1), ChainStep::Frame(2)]);
    }
}
