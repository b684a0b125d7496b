//! Inflates complete gzip bodies (RFC 1952): all members, each verified by its checksum and length. It runs in steps, so that
//! the memory for each step can be leased first.

use flate2::bufread::MultiGzDecoder;
use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_free_decompressor,
    libdeflate_gzip_decompress_ex, libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE as NO_SPACE,
    libdeflate_result_LIBDEFLATE_SUCCESS as SUCCESS,
};
use reader::Body;
use std::io::Read;
use std::ptr::NonNull;

/// The maximum compression ratio of deflate.
const MAX_RATIO: usize = 1032;

/// As much as `json::body::PADDING`, which [`Body`] adds after its bytes: reserving it here avoids a copy.
const PADDING: usize = 64;

/// Inflating this many bytes takes at most a millisecond; longer bodies must not block the threads that read sockets.
const MAX_INLINE_BYTES: usize = 4 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InflateError {
    TooLarge,
    OutOfMemory,
    /// Truncated, corrupted, or followed by data that is not gzip.
    Damaged,
}

/// A partially inflated body.
pub(super) struct Inflation {
    input: Body,
    /// Compressed bytes that are already inflated.
    position: usize,
    output: Vec<u8>,
    /// Bytes that the next step may add.
    step_size: usize,
    limit: usize,
}

pub(super) enum InflateStep {
    Done(Body),
    More(Inflation),
}

impl Inflation {
    /// The body may have at most `limit` bytes.
    pub(super) fn new(input: Body, limit: usize) -> Self {
        // The last four bytes claim the length of the last member, which is usually the only one.
        let length = input.as_slice().last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        let step_size = length.min(input.len().saturating_mul(MAX_RATIO)).min(limit);
        Inflation { input, position: 0, output: Vec::new(), step_size, limit }
    }

    pub(super) fn is_inline(&self) -> bool {
        self.input.len() <= MAX_INLINE_BYTES
    }

    /// The bytes in memory during the next step: compressed and inflated.
    pub(super) fn required_memory(&self) -> usize {
        self.input.len() + self.output.len() + self.step_size
    }

    /// Inflates until the body ends or needs more memory.
    pub(super) fn run(mut self) -> Result<InflateStep, InflateError> {
        let mut inflater = Inflater::new().ok_or(InflateError::OutOfMemory)?;
        self.output.try_reserve_exact(self.step_size + PADDING).map_err(|_| InflateError::OutOfMemory)?;
        let end = self.output.len() + self.step_size;
        while let Some(rest) = self.input.as_slice().get(self.position..).filter(|rest| !rest.is_empty()) {
            let free = end - self.output.len();
            match inflater.inflate_member(rest, &mut self.output, free) {
                Ok(bytes_read) => self.position += bytes_read,
                Err(InflateError::TooLarge) if end < self.limit => {
                    self.step_size = free.saturating_mul(2).max(rest.len()).min(self.limit - self.output.len());
                    return Ok(InflateStep::More(self));
                }
                Err(error) => return Err(error),
            }
        }
        // Do not keep the memory of a false claim.
        if self.output.capacity() / 2 > self.output.len() + PADDING {
            self.output.shrink_to(self.output.len() + PADDING);
        }
        Ok(InflateStep::Done(Body::from(self.output)))
    }
}

/// Returns up to `limit` bytes of a body. If it is damaged, these are the bytes before the damage.
pub(super) fn inflate_prefix(input: &[u8], limit: usize) -> Body {
    let mut start = Vec::new();
    // This is for error bodies: their text matters more than their damage.
    let _ = MultiGzDecoder::new(input).take(limit as u64).read_to_end(&mut start);
    Body::from(start)
}

struct Inflater(NonNull<libdeflate_decompressor>);

impl Inflater {
    fn new() -> Option<Self> {
        // SAFETY: no arguments; returns null if out of memory.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Inflater)
    }

    /// Appends the first member of `input` to `output`, at most `limit` bytes. Returns the input bytes consumed.
    fn inflate_member(&mut self, input: &[u8], output: &mut Vec<u8>, limit: usize) -> Result<usize, InflateError> {
        let free = output.spare_capacity_mut();
        let limit = limit.min(free.len());
        let (mut bytes_read, mut bytes_written) = (0, 0);
        // SAFETY: `&mut self` makes the use of the live decompressor exclusive; the input is readable and the output writable
        // for the lengths passed, which the library respects; both counters outlive the call.
        let result = unsafe {
            libdeflate_gzip_decompress_ex(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                free.as_mut_ptr().cast(),
                limit,
                &raw mut bytes_read,
                &raw mut bytes_written,
            )
        };
        match result {
            SUCCESS => {
                // SAFETY: `bytes_written` bytes after the old end were initialized, within the spare capacity.
                unsafe { output.set_len(output.len() + bytes_written.min(limit)) };
                Ok(bytes_read)
            }
            NO_SPACE => Err(InflateError::TooLarge),
            _ => Err(InflateError::Damaged),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: allocated by `libdeflate_alloc_decompressor`, and freed only here.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::super::fuzz::inflate;
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate_to_vec(input: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
        inflate(input, limit).map(|body| body.as_slice().to_vec())
    }

    /// Digits, which compress to less than half.
    fn digits(bytes: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let mut digit = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'0' + (state >> 24) as u8 % 10
        };
        std::iter::repeat_with(&mut digit).take(bytes).collect()
    }

    #[test]
    fn a_body_is_inflated_completely_up_to_the_limit() {
        for bytes in [0, 1, 5_000, 3_000_000] {
            let content = digits(bytes);
            assert!(inflate_to_vec(&gzip(&content), bytes) == Ok(content), "{bytes}");
        }
        let content = digits(5_000);
        assert_eq!(inflate_to_vec(&gzip(&content), 4_999), Err(InflateError::TooLarge));
        assert_eq!(inflate_to_vec(b"", 10), Ok(Vec::new()), "an empty body is not damaged");
    }

    #[test]
    fn all_members_are_inflated() {
        let (first, second) = (digits(100_000), digits(70));
        for parts in [[&first, &second], [&second, &first], [&first, &first]] {
            let input = parts.map(|part| gzip(part)).concat();
            let content = parts.map(Vec::as_slice).concat();
            assert!(inflate_to_vec(&input, content.len()) == Ok(content.clone()));
            assert_eq!(inflate_to_vec(&input, content.len() - 1), Err(InflateError::TooLarge));
        }
    }

    #[test]
    fn truncated_corrupted_or_trailing_data_is_an_error() {
        let content = digits(3_000);
        let input = gzip(&content);
        for end in 1..input.len() {
            assert!(inflate_to_vec(&input[..end], 1 << 20).is_err(), "cut at {end}");
        }
        // The time, flags and system in the header are not covered by the checksum.
        for at in (0..4).chain(10..input.len()) {
            for bit in 0..8 {
                let mut corrupt_input = input.clone();
                corrupt_input[at] ^= 1 << bit;
                let result = inflate_to_vec(&corrupt_input, 1 << 20);
                assert!(result.is_err() || result == Ok(content.clone()), "bit {bit} of byte {at}");
            }
        }
        for trailing in [&b"x"[..], &[0; 8], &input[..20]] {
            assert_eq!(inflate_to_vec(&[&input, trailing].concat(), 1 << 20), Err(InflateError::Damaged));
        }
    }

    #[test]
    fn a_false_length_is_damage() {
        let mut input = gzip(&digits(3_000));
        let end = input.len();
        for length in [0, 2_999, 3_001, u32::MAX] {
            input[end - 4..].copy_from_slice(&length.to_le_bytes());
            assert_eq!(inflate_to_vec(&input, usize::MAX / 2), Err(InflateError::Damaged), "{length}");
        }
    }

    #[test]
    fn the_readable_start_of_a_damaged_body_is_returned() {
        let input = gzip(&digits(3_000));
        assert_eq!(inflate_prefix(&input, 100).as_slice(), &digits(3_000)[..100]);
        assert!(!inflate_prefix(&input[..input.len() / 2], 5_000).is_empty());
        assert!(inflate_prefix(b"<html>", 100).is_empty());
    }
}
