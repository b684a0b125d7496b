//! The service's own randomness: credentials, request ids, faults. Games have separate random streams.

use super::season::Rng;

/// The purpose of a draw; the numbers of one purpose do not depend on draws for others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    StoredCredentials = 1,
    Faults = 2,
    RequestIds = 3,
}

#[derive(Debug)]
pub(super) struct SimRandom(Rng);

impl SimRandom {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        SimRandom(Rng::with_key(seed, &[0x5E41_1CE0, purpose as u64]))
    }
    /// True with this probability; exact at 0 and 1.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        ((self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64) < probability
    }
    pub(super) fn uuid(&mut self) -> String {
        let (high, low) = (self.0.next_u64(), self.0.next_u64());
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
        (0..len).map(|_| char::from(SET[self.0.index(SET.len())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_the_form_of_a_random_one() {
        let mut random = SimRandom::new(1, Purpose::RequestIds);
        for _ in 0..100 {
            let id = random.uuid();
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{id}");
        }
    }
}
