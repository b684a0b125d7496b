//! Spellings of a text: plain, percent-encoded any number of times, in JSON or in HTML.

use std::borrow::Cow;

/// Maximum number of nested encodings.
const MAX_DEPTH: usize = 8;

/// What a spelling other than the plain one begins with.
const SPELLING_MARKS: &[u8] = b"%\\&+";

/// A set of bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut set = ByteSet::default();
        bytes.iter().for_each(|byte| set.insert(*byte));
        set
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub(super) fn add(&mut self, other: ByteSet) {
        self.0.iter_mut().zip(other.0).for_each(|(bits, other)| *bits |= other);
    }

    pub(super) fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0
    }
}

/// A text to look for.
#[derive(Clone)]
pub(super) struct Needle {
    bytes: Cow<'static, [u8]>,
    /// Whether to ignore case.
    folds: bool,
}

impl Needle {
    pub(super) fn new(text: &str, folds: bool) -> Self {
        Needle { bytes: text.as_bytes().to_vec().into(), folds }
    }

    pub(super) const fn case_insensitive(text: &'static [u8]) -> Self {
        Needle { bytes: Cow::Borrowed(text), folds: true }
    }

    /// The bytes that a spelling of the needle may begin with.
    pub(super) fn first_bytes(&self) -> ByteSet {
        let mut first = ByteSet::of(SPELLING_MARKS);
        for byte in self.bytes.first().into_iter().copied() {
            first.insert(byte);
            if self.folds {
                first.insert(byte.to_ascii_lowercase());
                first.insert(byte.to_ascii_uppercase());
            }
        }
        first
    }

    fn is(&self, expected: u8, actual: u8) -> bool {
        expected == actual || self.folds && expected.eq_ignore_ascii_case(&actual)
    }
}

/// One byte of a spelled text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpelledByte {
    pub(super) byte: u8,
    /// Number of bytes of its spelling.
    pub(super) len: usize,
    /// How often it is percent-encoded.
    pub(super) depth: usize,
}

/// The number of bytes at the start of `rest` that spell the needle, of which a text that was cut may have a part.
pub(super) fn matches(needle: &Needle, rest: &[u8], is_cut: bool) -> Option<usize> {
    let mut at = 0;
    for (place, expected) in needle.bytes.iter().enumerate() {
        let left = &rest[at..];
        if left.is_empty() {
            return (is_cut && place > 0).then_some(at);
        }
        // Most texts are plain, and each byte of them is compared with every secret.
        let len = match left[0] {
            b'%' | b'\\' | b'&' | b'+' => spellings(left).find(|unit| needle.is(*expected, unit.byte))?.len,
            plain if needle.is(*expected, plain) => 1,
            _ => return None,
        };
        at += len;
    }
    Some(at)
}

/// The most likely reading of a text's start.
pub(super) fn unit(rest: &[u8]) -> Option<SpelledByte> {
    match *rest.first()? {
        b'%' | b'\\' | b'&' => spellings(rest).next(),
        byte => Some(SpelledByte { byte, len: 1, depth: 0 }),
    }
}

/// Whether a name may begin here.
pub(super) fn is_name_part(rest: &[u8]) -> bool {
    rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'%' | b'&' | b'\\'))
}

/// Possible readings of a text's start, the longest spelling first.
pub(super) fn spellings(rest: &[u8]) -> impl Iterator<Item = SpelledByte> {
    let plain = rest.first().map(|byte| SpelledByte { byte: *byte, len: 1, depth: 0 });
    let blank = plain.filter(|unit| unit.byte == b'+').map(|_| SpelledByte { byte: b' ', len: 1, depth: 0 });
    let percent = if rest.first() == Some(&b'%') { percent(rest) } else { [None; MAX_DEPTH] };
    let escape = match rest.first() {
        Some(b'\\') => json(&rest[1..]),
        Some(b'&') => html(&rest[1..]),
        _ => None,
    };
    percent.into_iter().rev().chain([escape, plain, blank]).flatten()
}

/// `%41`, `%2541`, `%252541` ..
fn percent(rest: &[u8]) -> [Option<SpelledByte>; MAX_DEPTH] {
    let mut bytes = [None; MAX_DEPTH];
    let mut at = 1;
    for (depth, slot) in bytes.iter_mut().enumerate() {
        let Some(byte) = rest.get(at..at + 2).and_then(hex) else { break };
        *slot = Some(SpelledByte { byte: byte as u8, len: at + 2, depth: depth + 1 });
        if byte != u32::from(b'%') {
            break;
        }
        at += 2;
    }
    bytes
}

/// After a backslash: `u0041`, `x41`, or the letter itself.
fn json(rest: &[u8]) -> Option<SpelledByte> {
    let unit = |byte: u32, len| u8::try_from(byte).ok().map(|byte| SpelledByte { byte, len, depth: 0 });
    match rest.first()? {
        b'u' => unit(rest.get(1..5).and_then(hex)?, 6),
        b'x' => unit(rest.get(1..3).and_then(hex)?, 4),
        letter if letter.is_ascii_punctuation() => unit(u32::from(*letter), 2),
        _ => None,
    }
}

/// After an ampersand: `#65;`, `#x41;`, or a name.
fn html(rest: &[u8]) -> Option<SpelledByte> {
    let end = rest.iter().take(8).position(|byte| *byte == b';')?;
    let byte = match &rest[..end] {
        b"amp" => u32::from(b'&'),
        b"lt" => u32::from(b'<'),
        b"gt" => u32::from(b'>'),
        b"quot" => u32::from(b'"'),
        b"apos" => u32::from(b'\''),
        [b'#', b'x' | b'X', digits @ ..] => hex(digits)?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    u8::try_from(byte).ok().map(|byte| SpelledByte { byte, len: end + 2, depth: 0 })
}

fn hex(digits: &[u8]) -> Option<u32> {
    let are_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| are_digits)?;
    u32::from_str_radix(text, 16).ok()
}
