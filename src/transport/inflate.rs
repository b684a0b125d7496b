//! gzip (RFC 1952), inflated when all of it came: all members, each checked against its checksum and its length. No step
//! takes more room than was granted before.

use crate::json::Body;
use flate2::bufread::MultiGzDecoder;
use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_free_decompressor,
    libdeflate_gzip_decompress_ex, libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE as NO_SPACE,
    libdeflate_result_LIBDEFLATE_SUCCESS as SUCCESS,
};
use std::io::Read;
use std::ptr::NonNull;

/// A byte of deflate holds no more than this.
const MOST_OF_A_BYTE: usize = 1032;

/// What a body adds behind its bytes: with room for it, they are not moved once more.
const PADDING: usize = 64;

/// A compressed body of so many bytes is inflated in a millisecond, whatever it holds; a longer one not on the threads that
/// read sockets.
const SHORT: usize = 4 * 1024;

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    TooLarge,
    /// Cut, changed on the way, or followed by what is no gzip.
    Damaged,
}

/// A body on its way from gzip, in steps: each says how many bytes it holds before it runs.
pub(super) struct Inflation {
    compressed: Body,
    /// Bytes of it that are done.
    taken: usize,
    whole: Vec<u8>,
    /// Bytes that the next step may add.
    room: usize,
    limit: usize,
}

/// What a step gave.
pub(super) enum Step {
    Done(Body),
    More(Inflation),
}

impl Inflation {
    /// To a body of at most `limit` bytes.
    pub(super) fn new(compressed: Body, limit: usize) -> Self {
        // The last four bytes tell the length of the last member, which is most often the only one; they may lie.
        let told = compressed.as_slice().last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let room = told.min(compressed.len().saturating_mul(MOST_OF_A_BYTE)).min(limit);
        Inflation { compressed, taken: 0, whole: Vec::new(), room, limit }
    }

    pub(super) fn is_short(&self) -> bool {
        self.compressed.len() <= SHORT
    }

    /// The bytes that the next step holds, compressed and not.
    pub(super) fn needs(&self) -> usize {
        self.compressed.len() + self.whole.len() + self.room
    }

    /// Inflates until the body ends, or needs more room.
    pub(super) fn run(mut self) -> Result<Step, Refused> {
        let mut inflater = Inflater::new().ok_or(Refused::TooLarge)?;
        self.whole.try_reserve_exact(self.room + PADDING).map_err(|_| Refused::TooLarge)?;
        let end = self.whole.len() + self.room;
        while let Some(rest) = self.compressed.as_slice().get(self.taken..).filter(|rest| !rest.is_empty()) {
            let free = end - self.whole.len();
            match inflater.member(rest, &mut self.whole, free) {
                Ok(taken) => self.taken += taken,
                Err(Refused::TooLarge) if end < self.limit => {
                    self.room = free.saturating_mul(2).max(rest.len()).min(self.limit - self.whole.len());
                    return Ok(Step::More(self));
                }
                Err(refused) => return Err(refused),
            }
        }
        // A length that lies must not be kept.
        if self.whole.capacity() / 2 > self.whole.len() + PADDING {
            self.whole.shrink_to(self.whole.len() + PADDING);
        }
        Ok(Step::Done(Body::from(self.whole)))
    }
}

/// All steps at once.
#[cfg(any(test, fuzzing))]
pub(super) fn inflate(compressed: &[u8], limit: usize) -> Result<Body, Refused> {
    let mut inflation = Inflation::new(Body::from(compressed), limit);
    loop {
        let needs = inflation.needs();
        match inflation.run()? {
            Step::Done(body) => {
                assert!(compressed.len() + body.len() <= needs, "more was held than was said");
                return Ok(body);
            }
            Step::More(more) => inflation = more,
        }
    }
}

/// The start of a body, of at most `limit` bytes; of one that is damaged what comes before the damage.
pub(super) fn inflate_start(compressed: &[u8], limit: usize) -> Body {
    let mut start = Vec::new();
    // An error's text says more than what is wrong with its compression.
    let _ = MultiGzDecoder::new(compressed).take(limit as u64).read_to_end(&mut start);
    Body::from(start)
}

struct Inflater(NonNull<libdeflate_decompressor>);

impl Inflater {
    fn new() -> Option<Self> {
        // SAFETY: it takes nothing; null says that there is no memory.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Inflater)
    }

    /// Adds the first member of `compressed` to `whole`, at most `room` bytes; how many compressed bytes it took.
    fn member(&mut self, compressed: &[u8], whole: &mut Vec<u8>, room: usize) -> Result<usize, Refused> {
        let free = whole.spare_capacity_mut();
        let room = room.min(free.len());
        let (mut taken, mut made) = (0, 0);
        // SAFETY: the decompressor lives as long as `self` and nothing else uses it meanwhile; the input is readable and the
        // output writable for the lengths given, which the library keeps to; both counters outlive the call.
        let result = unsafe {
            libdeflate_gzip_decompress_ex(
                self.0.as_ptr(),
                compressed.as_ptr().cast(),
                compressed.len(),
                free.as_mut_ptr().cast(),
                room,
                &raw mut taken,
                &raw mut made,
            )
        };
        match result {
            SUCCESS => {
                // SAFETY: `made` bytes from the old end on were written, no more than the spare capacity.
                unsafe { whole.set_len(whole.len() + made.min(room)) };
                Ok(taken)
            }
            NO_SPACE => Err(Refused::TooLarge),
            _ => Err(Refused::Damaged),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: it came from `libdeflate_alloc_decompressor` and is freed once.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflated(compressed: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
        inflate(compressed, limit).map(|body| body.as_slice().to_vec())
    }

    /// Numbers, which compress to about a third.
    fn text(bytes: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let mut digit = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'0' + (state >> 24) as u8 % 10
        };
        std::iter::repeat_with(&mut digit).take(bytes).collect()
    }

    #[test]
    fn a_body_is_inflated_to_its_last_byte_and_no_further_than_the_limit() {
        for bytes in [0, 1, 5_000, 3_000_000] {
            let whole = text(bytes);
            assert!(inflated(&gzip(&whole), bytes) == Ok(whole), "{bytes}");
        }
        let whole = text(5_000);
        assert_eq!(inflated(&gzip(&whole), 4_999), Err(Refused::TooLarge));
        assert_eq!(inflated(b"", 10), Ok(Vec::new()), "no body is no damage: it is told as empty");
    }

    #[test]
    fn all_members_are_the_body() {
        let (first, second) = (text(100_000), text(70));
        for parts in [[&first, &second], [&second, &first], [&first, &first]] {
            let compressed = parts.map(|part| gzip(part)).concat();
            let whole = parts.map(Vec::as_slice).concat();
            assert!(inflated(&compressed, whole.len()) == Ok(whole.clone()));
            assert_eq!(inflated(&compressed, whole.len() - 1), Err(Refused::TooLarge));
        }
    }

    #[test]
    fn what_is_cut_or_changed_or_has_more_behind_it_is_never_a_body() {
        let whole = text(3_000);
        let compressed = gzip(&whole);
        for end in 1..compressed.len() {
            assert!(inflated(&compressed[..end], 1 << 20).is_err(), "cut at {end}");
        }
        // Time, flags and system of the head say nothing of the body.
        for at in (0..4).chain(10..compressed.len()) {
            for bit in 0..8 {
                let mut damaged = compressed.clone();
                damaged[at] ^= 1 << bit;
                let came = inflated(&damaged, 1 << 20);
                assert!(came.is_err() || came == Ok(whole.clone()), "bit {bit} of byte {at}");
            }
        }
        for more in [&b"x"[..], &[0; 8], &compressed[..20]] {
            assert_eq!(inflated(&[&compressed, more].concat(), 1 << 20), Err(Refused::Damaged));
        }
    }

    #[test]
    fn a_length_that_lies_costs_nothing_and_is_damage() {
        let mut compressed = gzip(&text(3_000));
        let end = compressed.len();
        for told in [0, 2_999, 3_001, u32::MAX] {
            compressed[end - 4..].copy_from_slice(&told.to_le_bytes());
            assert_eq!(inflated(&compressed, usize::MAX / 2), Err(Refused::Damaged), "{told}");
        }
    }

    #[test]
    fn of_an_error_what_can_be_read_is_read() {
        let compressed = gzip(&text(3_000));
        assert_eq!(inflate_start(&compressed, 100).as_slice(), &text(3_000)[..100]);
        assert!(!inflate_start(&compressed[..compressed.len() / 2], 5_000).is_empty());
        assert!(inflate_start(b"<html>", 100).is_empty());
    }
}
