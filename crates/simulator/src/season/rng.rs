//! Randomness that is the same on every platform: SplitMix64, integers only.

use super::figures::{AT, Quantiles};

/// A random stream. Streams of different keys are independent, so that values made on demand do not depend on their
/// order.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

/// The finaliser of SplitMix64: every bit of the input moves every bit of the output.
pub(super) const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Rng {
    /// The stream of a seed and a key (purpose, team, ..).
    pub(crate) fn with_key(seed: u64, key: &[u64]) -> Self {
        Rng(key.iter().fold(mix(seed), |state, part| mix(state ^ mix(*part))))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let out = mix(self.0);
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        out
    }

    /// 0 to `n - 1`; 0 if `n` is not positive.
    pub(crate) fn below(&mut self, n: i64) -> i64 {
        ((u128::from(self.next_u64()) * n.max(1) as u128) >> 64) as i64
    }

    /// `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high - low + 1)
    }

    /// True in `permille` of a thousand cases.
    pub(crate) fn chance(&mut self, permille: i64) -> bool {
        self.below(1000) < permille
    }

    /// An index in `0..n`.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        self.below(n as i64) as usize
    }

    /// About normal, around 0, with this standard deviation: the sum of four parts of one number.
    pub(crate) fn bell(&mut self, deviation: i64) -> i64 {
        let bits = self.next_u64();
        let sum: i64 = (0..4).map(|part| ((bits >> (16 * part)) & 0xFFFF) as i64).sum();
        (sum - 131_070) * deviation / 37_837
    }

    /// A value of a distribution, given by its quantiles.
    pub(crate) fn quantile(&mut self, values: &Quantiles) -> i64 {
        let part = self.below(1000);
        let upper = AT.partition_point(|at| *at <= part).clamp(1, AT.len() - 1);
        let (from, to) = (AT[upper - 1], AT[upper]);
        values[upper - 1] + (values[upper] - values[upper - 1]) * (part - from) / (to - from)
    }

    /// An index of `weights`, in proportion to them. `None` if all are 0.
    pub(crate) fn choose_weighted(&mut self, weights: &[i64]) -> Option<usize> {
        let total: i64 = weights.iter().sum();
        if total <= 0 {
            return None;
        }
        let mut left = self.below(total);
        weights.iter().position(|weight| {
            left -= weight;
            left < 0
        })
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_splitmix64() {
        // First outputs of SplitMix64 from state 1234567, as in its public reference tests.
        let mut rng = Rng(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn chance_stays_within_its_bounds_and_reaches_them() {
        let mut rng = Rng::with_key(3, &[1]);
        let numbers: Vec<i64> = (0..2000).map(|_| rng.within(-2, 2)).collect();
        assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&-2), Some(&2)));
        assert_eq!(rng.choose_weighted(&[0, 5, 0]), Some(1));
        assert_eq!(rng.choose_weighted(&[0, 0]), None);
    }
}
