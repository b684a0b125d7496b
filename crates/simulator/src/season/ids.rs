//! UUID-shaped ids made from the seed. They can be decoded, so that no table is needed: a season of 5,500 games has
//! some 40,000 sessions, most of which are never requested.

use super::rng::mix;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    Game = 1,
    GamePeriod = 2,
    Practice = 3,
    Drill = 4,
    Court = 5,
    Facility = 6,
    Hoop = 7,
    GamePossession = 8,
    Play = 9,
    Screen = 10,
}

/// The meaning of an id: kind, number, and the number of a part (a period of a game).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedId {
    pub kind: IdKind,
    pub index: u64,
    pub part: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    seed: u64,
}

const BITS: u32 = 60;
const MASK: u64 = (1 << BITS) - 1;
const PART_BITS: u32 = 16;
const INDEX_BITS: u32 = 40;
const FACTOR: u64 = 0x09E3_779B_97F4_A7C5;
const UNDO: u64 = inverse(FACTOR);

/// The multiplicative inverse of an odd number (Newton; each step doubles the correct bits).
const fn inverse(number: u64) -> u64 {
    let mut guess = number;
    let mut step = 0;
    while step < 6 {
        guess = guess.wrapping_mul(2u64.wrapping_sub(number.wrapping_mul(guess)));
        step += 1;
    }
    guess
}

impl Ids {
    pub(super) fn new(seed: u64) -> Self {
        Ids { seed }
    }

    pub(super) fn text(&self, kind: IdKind, index: u64, part: u64) -> String {
        let (high, low) = self.halves(((kind as u64) << (INDEX_BITS + PART_BITS)) | (index << PART_BITS) | part);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFFF,
            low >> 48,
            low & 0xFFFF_FFFF_FFFF
        )
    }

    /// Decodes an id; `None` if it is not of this season.
    pub(super) fn read(&self, text: &str) -> Option<NamedId> {
        let digits: String = text.split('-').collect();
        if digits.len() != 32 || text.len() != 36 || !digits.is_ascii() {
            return None;
        }
        let low = u64::from_str_radix(&digits[16..], 16).ok()? & MASK;
        let payload = self.unscramble(low);
        let kind = match payload >> (INDEX_BITS + PART_BITS) {
            1 => IdKind::Game,
            2 => IdKind::GamePeriod,
            3 => IdKind::Practice,
            4 => IdKind::Drill,
            5 => IdKind::Court,
            6 => IdKind::Facility,
            7 => IdKind::Hoop,
            8 => IdKind::GamePossession,
            9 => IdKind::Play,
            10 => IdKind::Screen,
            _ => return None,
        };
        let index = (payload >> PART_BITS) & ((1 << INDEX_BITS) - 1);
        let part = payload & ((1 << PART_BITS) - 1);
        (self.text(kind, index, part) == text).then_some(NamedId { kind, index, part })
    }

    /// Version 4 and the variant of RFC 9562 are set; the rest of the upper half authenticates the lower.
    fn halves(&self, payload: u64) -> (u64, u64) {
        let high = (mix(self.seed ^ mix(payload)) & !0xF000) | 0x4000;
        let low = (0b1000 << BITS) | ((mix(high) & 0b11) << BITS) | self.scramble(payload);
        (high, low)
    }

    // A shift by half the width is its own inverse.
    fn scramble(&self, payload: u64) -> u64 {
        let mut x = (payload ^ mix(self.seed)) & MASK;
        for _ in 0..2 {
            x = x.wrapping_mul(FACTOR) & MASK;
            x ^= x >> (BITS / 2);
        }
        x
    }

    fn unscramble(&self, id: u64) -> u64 {
        let mut x = id;
        for _ in 0..2 {
            x ^= x >> (BITS / 2);
            x = x.wrapping_mul(UNDO) & MASK;
        }
        (x ^ mix(self.seed)) & MASK
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn an_id_is_a_uuid_and_tells_what_it_names() {
        let ids = Ids::new(7);
        for (kind, index, part) in [(IdKind::Game, 0, 0), (IdKind::GamePeriod, 5499, 3), (IdKind::Facility, 369, 0)] {
            let text = ids.text(kind, index, part);
            assert_eq!(text.len(), 36);
            assert_eq!(&text[14..15], "4");
            assert!("89ab".contains(&text[19..20]), "{text}");
            assert_eq!(ids.read(&text).unwrap(), NamedId { kind, index, part });
        }
    }

    #[test]
    fn an_id_of_another_season_names_nothing() {
        let text = Ids::new(7).text(IdKind::Game, 3, 0);
        assert_eq!(Ids::new(8).read(&text), None);
        assert_eq!(Ids::new(7).read(&text.to_uppercase()), None);
        assert_eq!(Ids::new(7).read("not an id"), None);
        assert_eq!(Ids::new(7).read(&"é".repeat(16)), None);
    }
}
