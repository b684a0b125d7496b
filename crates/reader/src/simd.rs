//! Primitives that read 8, 16 or 64 bytes at a time. Each SIMD function has a portable twin, and tests compare the two. With
//! the twins alone, a table of locations takes 1.23 times as long, and four columns of possessions 1.9 times.
//! Masks have the first byte in the lowest bit.

/// Bytes that end a string or need a closer look: `"`, `\\` and control characters, including the padding.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn string_end_mask(block: &[u8; 16]) -> u16 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are read from an array of sixteen.
    let mask = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(equal(b'"'), equal(b'\\'))))
    };
    mask as u16
}

#[cfg(not(target_arch = "x86_64"))]
use portable_string_end_mask as string_end_mask;

/// Exact up to the lowest set bit of each eight bytes; only the lowest of all is used.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn portable_string_end_mask(block: &[u8; 16]) -> u16 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let is_zero = |word: u64| below(word, 1);
    let string_end_mask = |word: u64| {
        let high =
            below(word, 0x20) | is_zero(word ^ (ONES * u64::from(b'"'))) | is_zero(word ^ (ONES * u64::from(b'\\')));
        // The high bits of the eight bytes, side by side.
        (high.wrapping_mul(0x0002_0408_1020_4081) >> 56) as u16
    };
    let [first, second] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| block[at + i])));
    string_end_mask(first) | string_end_mask(second) << 8
}

/// Number of bytes before the first that ends or complicates a string; 16 if no byte does.
#[inline(always)]
pub(crate) fn plain_prefix16(block: &[u8; 16]) -> usize {
    (u32::from(string_end_mask(block)) | 1 << 16).trailing_zeros() as usize
}

/// Like [`plain_prefix16`], for 64 bytes.
#[inline(always)]
pub(crate) fn plain_prefix64(block: &[u8; 64]) -> usize {
    let parts = block.as_chunks::<16>().0.iter().enumerate();
    let string_end_mask = parts.fold(0, |mask, (part, bytes)| mask | u64::from(string_end_mask(bytes)) << (16 * part));
    string_end_mask.trailing_zeros() as usize
}

/// The number written by the first `count` (1 to 8) bytes, which are digits.
#[inline(always)]
pub fn parse_digits(word: u64, count: usize) -> u64 {
    // The shift turns missing digits into leading zeros; then pairs, fours and the eight are combined.
    let values = (word ^ u64::from_ne_bytes([b'0'; 8])) << (64 - 8 * count);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let mask = 0x0000_00FF_0000_00FF;
    let low = (pairs & mask).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & mask).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// Bytes that are not digits, with an extra bit above them that is always set.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn non_digit_mask(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8, _mm_sub_epi8,
    };
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are read from an array of sixteen.
    let digits = unsafe {
        let values = _mm_sub_epi8(_mm_loadu_si128(block.as_ptr().cast::<__m128i>()), _mm_set1_epi8(b'0' as i8));
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values))
    };
    !(digits as u32 & 0xFFFF)
}

#[cfg(not(target_arch = "x86_64"))]
pub use portable_non_digit_mask as non_digit_mask;

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub fn portable_non_digit_mask(block: &[u8; 16]) -> u32 {
    block.iter().enumerate().fold(!0xFFFF, |mask, (place, byte)| mask | u32::from(!byte.is_ascii_digit()) << place)
}

/// The first `count` bytes; the others are zero.
#[inline(always)]
pub fn low_bytes(word: u64, count: usize) -> u64 {
    if count >= 8 { word } else { word & ((1 << (8 * count)) - 1) }
}

/// The first sixteen bytes of a text to compare with; bytes beyond its end are not compared.
#[derive(Debug, Clone)]
pub struct Prefix16 {
    bytes: [u8; 16],
    mask: [u8; 16],
}

impl Prefix16 {
    pub fn of(text: &[u8]) -> Prefix16 {
        let mut head = Prefix16 { bytes: [0; 16], mask: [0; 16] };
        for (place, byte) in text.iter().take(16).enumerate() {
            (head.bytes[place], head.mask[place]) = (*byte, 0xFF);
        }
        head
    }

    #[inline(always)]
    pub fn is_at(&self, block: &[u8; 16]) -> bool {
        let [block, bytes, mask] = [block, &self.bytes, &self.mask].map(|bytes| u128::from_le_bytes(*bytes));
        block & mask == bytes
    }
}

/// The structural bytes of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StructuralMasks {
    pub quotes: u64,
    /// `{` and `[`.
    pub opening: u64,
    /// `}` and `]`.
    pub(crate) closing: u64,
    /// Backslashes and control characters, including the padding.
    pub special: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn structural_masks(block: &[u8; 64]) -> StructuralMasks {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are read four times from an array of 64.
    unsafe {
        let parts = [0, 16, 32, 48].map(|at| _mm_loadu_si128(block.as_ptr().add(at).cast::<__m128i>()));
        let all = |byte: u8| _mm_set1_epi8(byte as i8);
        let equal = |bytes, byte| _mm_cmpeq_epi8(bytes, all(byte));
        // `[` and `{`, and `]` and `}`, differ in one bit.
        let lowercase = parts.map(|bytes| _mm_or_si128(bytes, all(0x20)));
        let is_special = |bytes| {
            let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, all(0x1F)), bytes);
            _mm_or_si128(control, equal(bytes, b'\\'))
        };
        let mask = |[a, b, c, d]: [__m128i; 4]| {
            let bits = |part| u64::from(_mm_movemask_epi8(part) as u16);
            bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48
        };
        // Most blocks have none of these.
        let rare = |[a, b, c, d]: [__m128i; 4]| {
            let any = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
            if _mm_movemask_epi8(any) == 0 { 0 } else { mask([a, b, c, d]) }
        };
        StructuralMasks {
            quotes: mask(parts.map(|bytes| equal(bytes, b'"'))),
            opening: rare(lowercase.map(|bytes| equal(bytes, b'{'))),
            closing: rare(lowercase.map(|bytes| equal(bytes, b'}'))),
            special: rare(parts.map(is_special)),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable_structural_masks as structural_masks;

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn portable_structural_masks(block: &[u8; 64]) -> StructuralMasks {
    let mut masks = StructuralMasks { quotes: 0, opening: 0, closing: 0, special: 0 };
    for (place, byte) in block.iter().enumerate() {
        masks.quotes |= u64::from(*byte == b'"') << place;
        masks.opening |= u64::from(byte | 0x20 == b'{') << place;
        masks.closing |= u64::from(byte | 0x20 == b'}') << place;
        masks.special |= u64::from(*byte < 0x20 || *byte == b'\\') << place;
    }
    masks
}

/// Each bit becomes the parity of itself and those below: set from a quote up to, but not including, the next.
#[inline(always)]
pub(crate) fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: usize = if cfg!(miri) { 21 } else { 1 };

    #[test]
    fn every_byte_has_its_masks_at_every_position() {
        for place in (0..64).step_by(STEP) {
            for byte in 0..=255u8 {
                let mut block = [b'a'; 64];
                block[place] = byte;
                let bit = |is: bool| u64::from(is) << place;
                let expected = StructuralMasks {
                    quotes: bit(byte == b'"'),
                    opening: bit(matches!(byte, b'{' | b'[')),
                    closing: bit(matches!(byte, b'}' | b']')),
                    special: bit(byte < 0x20 || byte == b'\\'),
                };
                let plain = if expected.quotes | expected.special == 0 { 64 } else { place };
                assert_eq!(plain_prefix64(&block), plain, "{byte} at {place}");
                assert_eq!(structural_masks(&block), expected, "{byte} at {place}");
                assert_eq!(portable_structural_masks(&block), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn vector_and_portable_code_find_the_same_digits() {
        for place in (0..16).step_by(STEP) {
            for byte in 0..=255u8 {
                let mut block = *b"0123456789012345";
                block[place] = byte;
                let expected = !0xFFFF | u32::from(!byte.is_ascii_digit()) << place;
                assert_eq!(non_digit_mask(&block), expected, "{byte} at {place}");
                assert_eq!(portable_non_digit_mask(&block), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_string_reaches_from_its_quote_to_the_byte_before_the_next() {
        assert_eq!(prefix_xor(0b0100_1000_0010_0100), 0b0011_1000_0001_1100);
        assert_eq!(prefix_xor(1 << 63), 1 << 63);
        assert_eq!(prefix_xor(1), u64::MAX);
    }

    fn word(text: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn vector_and_portable_code_find_the_same_ends_of_strings() {
        for place in 0..16 {
            for byte in 0..=255u8 {
                let mut block = *b"abcdefgh~\x7F\x80\xFFABCD";
                block[place] = byte;
                let special = byte == b'"' || byte == b'\\' || byte < 0x20;
                assert_eq!(string_end_mask(&block), u16::from(special) << place, "{byte} at {place}");
                assert_eq!(portable_string_end_mask(&block), u16::from(special) << place, "{byte} at {place}");
                assert_eq!(plain_prefix16(&block), if special { place } else { 16 }, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_text_is_compared_to_its_sixteenth_byte_and_no_further_than_its_end() {
        let text = b"\"sixteen_bytes\":, and more";
        for len in 0..text.len() {
            let head = Prefix16::of(&text[..len]);
            for place in 0..16 {
                let mut block = *text.first_chunk::<16>().unwrap();
                assert!(head.is_at(&block), "{len}");
                block[place] ^= 1;
                assert_eq!(head.is_at(&block), place >= len, "{len}, {place}");
            }
        }
    }

    #[test]
    fn digits_are_read_most_significant_first() {
        for text in ["0", "7", "10", "461", "1234", "00012", "999999", "1234567", "12345678", "99999999"] {
            let word = word(text.as_bytes());
            assert_eq!(parse_digits(word, text.len()), text.parse::<u64>().unwrap());
        }
        assert_eq!(parse_digits(word(b"461,\"x\":"), 3), 461);
        assert_eq!(low_bytes(word(b"abcdefgh"), 3), word(b"abc"));
    }
}
