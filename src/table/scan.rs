//! Eight bytes at a time: the primitives that read wide. Portable here; wider twins for one processor take their place.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

const fn all(byte: u8) -> u64 {
    ONES * byte as u64
}

/// High bits where a byte is zero. Exact up to and including the lowest one set, and only that one is ever used.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// Bytes before the first that ends or complicates a string: `"`, `\` or a control character. 8: none here.
#[inline(always)]
pub(super) fn plain_text(word: u64) -> usize {
    let quote = zeros(word ^ all(b'"'));
    let backslash = zeros(word ^ all(b'\\'));
    let control = word.wrapping_sub(all(0x20)) & !word & HIGH;
    ((quote | backslash | control).trailing_zeros() / 8) as usize
}

/// How many of the first bytes are digits.
#[inline(always)]
pub(super) fn digits(word: u64) -> usize {
    let values = word ^ all(b'0');
    // A byte of 10 or more reaches its high bit; a carry can only disturb bytes above the first such.
    let others = (values.wrapping_add(all(0x80 - 10)) | values) & HIGH;
    (others.trailing_zeros() / 8) as usize
}

/// The number that the first `count` (1 to 8) bytes write; they are digits.
#[inline(always)]
pub(super) fn number(word: u64, count: usize) -> u64 {
    // Shifted up, the bytes that are gone count as leading zeros; then pairs, fours and the eight are joined.
    let values = (word ^ all(b'0')) << (64 - 8 * count);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let mask = 0x0000_00FF_0000_00FF;
    let low = (pairs & mask).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & mask).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// The first `count` bytes, the others zero.
#[inline(always)]
pub(super) fn head(word: u64, count: usize) -> u64 {
    if count >= 8 { word } else { word & ((1 << (8 * count)) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn each_byte_at_each_place_is_told_apart() {
        for place in 0..8 {
            for byte in 0..=255u8 {
                let (mut text, mut number) = (*b"abcdefgh", *b"12345678");
                text[place] = byte;
                number[place] = byte;
                let special = byte == b'"' || byte == b'\\' || byte < 0x20;
                assert_eq!(plain_text(u64::from_le_bytes(text)), if special { place } else { 8 }, "{byte} at {place}");
                assert_eq!(digits(u64::from_le_bytes(number)), if byte.is_ascii_digit() { 8 } else { place });
            }
        }
    }

    #[test]
    fn digits_are_read_most_significant_first() {
        for text in ["0", "7", "10", "461", "1234", "00012", "999999", "1234567", "12345678", "99999999"] {
            let word = word(text.as_bytes());
            assert_eq!(digits(word), text.len());
            assert_eq!(number(word, text.len()), text.parse::<u64>().unwrap());
        }
        assert_eq!(number(word(b"461,\"x\":"), 3), 461);
        assert_eq!(head(word(b"abcdefgh"), 3), word(b"abc"));
    }
}
