//! The service's own randomness: credentials, request ids, faults. What happens in games has its own.

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed on every platform.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    /// Numbers for one purpose; those for another are independent of how many of these are drawn.
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose.bytes().fold(seed, |state, byte| mix(state.wrapping_add(STEP) ^ u64::from(byte)));
        Dice(mixed)
    }
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
    /// True this often; exact at 0 and 1.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64 / (1u64 << 53) as f64) < probability
    }
    /// A random (version 4) UUID.
    pub(super) fn uuid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            (low >> 48) & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }
    /// Letters and digits.
    pub(super) fn text(&mut self, len: usize) -> String {
        const SET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..len).map(|_| char::from(SET[(self.next() % SET.len() as u64) as usize])).collect()
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_splitmix64s() {
        // The first outputs of the reference implementation for the seed 1234567.
        let mut dice = Dice(1_234_567);
        assert_eq!([dice.next(), dice.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn a_uuid_has_the_form_of_a_random_one() {
        let mut dice = Dice::new(1, "ids");
        for _ in 0..100 {
            let id = dice.uuid();
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{id}");
        }
    }
}
