//! A position in a body, and the only code that reads the body through pointers. Numbers, strings and skipping build on
//! it in their own files.

use super::body::PADDING;
use super::error::{ErrorKind, Expected, ReadResult};
use std::marker::PhantomData;

/// A position in a padded body.
///
/// Invariant: `start <= at <= end` within one allocation that lives for `'a`, and the [`PADDING`] bytes from `end` on
/// are readable and zero. `new` checks the padding. Callers advance only over bytes they have seen to be non-zero, or
/// to positions already compared with `end`, so `at` cannot pass `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    at: *const u8,
    start: *const u8,
    end: *const u8,
    body: PhantomData<&'a [u8]>,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of a body; `None` if the padding is missing or not zero.
    pub fn new(padded: &'a [u8]) -> Option<Self> {
        let len = padded.len().checked_sub(PADDING)?;
        if padded[len..].iter().any(|b| *b != 0) {
            return None;
        }
        let start = padded.as_ptr();
        // SAFETY: `len` is within `padded`.
        let end = unsafe { start.add(len) };
        Some(Cursor { at: start, start, end, body: PhantomData })
    }

    /// Calls `call` on a copy, so that `self` never has its address taken and can stay in a register.
    #[inline(always)]
    pub fn with_copy<T>(&mut self, call: impl FnOnce(&mut Self) -> T) -> T {
        let mut copy = *self;
        let result = call(&mut copy);
        self.go_to(&copy);
        result
    }

    /// Moves to the position of another cursor in the same body.
    #[inline(always)]
    pub fn go_to(&mut self, other: &Cursor<'a>) {
        debug_assert!(self.start == other.start && self.end == other.end);
        self.at = other.at;
    }

    pub fn position(&self) -> usize {
        self.at as usize - self.start as usize
    }

    pub fn len(&self) -> usize {
        self.end as usize - self.start as usize
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.end
    }

    #[inline(always)]
    pub fn peek_byte(&self) -> u8 {
        // SAFETY: `at <= end`, and the padding is readable.
        unsafe { *self.at }
    }

    /// The byte `ahead` of the cursor; `ahead` is less than [`PADDING`].
    #[inline(always)]
    pub fn peek(&self, ahead: usize) -> u8 {
        debug_assert!(ahead < PADDING);
        // SAFETY: `at <= end`, and that many bytes after it are readable.
        unsafe { *self.at.add(ahead) }
    }

    /// Eight bytes, little-endian; `ahead` is at most [`PADDING`] - 8.
    #[inline(always)]
    pub fn word(&self, ahead: usize) -> u64 {
        debug_assert!(ahead + 8 <= PADDING);
        // SAFETY: `at <= end`, and `ahead + 8` bytes after it are readable.
        u64::from_le(unsafe { self.at.add(ahead).cast::<u64>().read_unaligned() })
    }

    /// Sixteen bytes; `ahead` is at most [`PADDING`] - 16.
    #[inline(always)]
    pub fn bytes16(&self, ahead: usize) -> &[u8; 16] {
        debug_assert!(ahead + 16 <= PADDING);
        // SAFETY: `at <= end`, and `ahead + 16` bytes after it are readable; nothing writes to them for `'a`.
        unsafe { &*self.at.add(ahead).cast::<[u8; 16]>() }
    }

    /// The next 64 bytes.
    #[inline(always)]
    pub fn bytes64(&self) -> &[u8; 64] {
        const { assert!(PADDING >= 64) };
        // SAFETY: `at <= end`, and the padding after it makes 64 bytes readable; nothing writes to them for `'a`.
        unsafe { &*self.at.cast::<[u8; 64]>() }
    }

    /// Advances over `n` bytes that the caller has seen to be non-zero, and so not padding.
    #[inline(always)]
    pub fn advance(&mut self, n: usize) {
        debug_assert!(self.position() + n <= self.len());
        // SAFETY: bytes that are not zero and follow the cursor without a gap lie before `end`.
        self.at = unsafe { self.at.add(n) };
    }

    /// Moves forward to `position`. Returns `false` and stays if it lies before the cursor or beyond the end.
    pub fn jump(&mut self, position: usize) -> bool {
        let is_ahead = (self.position()..=self.len()).contains(&position);
        if is_ahead {
            // SAFETY: `start + position` is at most `end`.
            self.at = unsafe { self.start.add(position) };
        }
        is_ahead
    }

    /// The text between an earlier position and the cursor.
    #[inline(always)]
    pub fn span_from(&self, earlier: &Cursor<'a>) -> Span<'a> {
        debug_assert!(earlier.at <= self.at);
        Span { at: earlier.at, len: self.at as usize - earlier.at as usize, body: PhantomData }
    }

    #[inline(always)]
    pub fn whitespace(&mut self) {
        if self.peek_byte() <= b' ' {
            self.with_copy(Self::whitespace_slow);
        }
    }

    #[cold]
    #[inline(never)]
    fn whitespace_slow(&mut self) {
        while matches!(self.peek_byte(), b' ' | b'\n' | b'\t' | b'\r') {
            // Indentation is mostly runs of spaces.
            if self.word(0) == 0x2020_2020_2020_2020 { self.advance(8) } else { self.advance(1) }
        }
    }

    /// Consumes a literal such as `null` (at most 8 bytes) if it is next.
    #[inline(always)]
    pub fn consume_literal(&mut self, word: &[u8]) -> bool {
        let is = word.iter().enumerate().all(|(i, b)| self.peek(i) == *b);
        if is {
            self.advance(word.len());
        }
        is
    }

    #[inline(always)]
    pub fn consume_null(&mut self) -> bool {
        self.consume_literal(b"null")
    }

    /// Consumes `null`; any other value is an error.
    pub fn expect_null(&mut self, wanted: Expected) -> ReadResult<()> {
        if self.consume_null() { Ok(()) } else { Err(ErrorKind::Expected(wanted)) }
    }

    /// Consumes the `:` after a key and the whitespace around it.
    pub fn colon(&mut self) -> ReadResult<()> {
        self.whitespace();
        if self.peek_byte() != b':' {
            return Err(ErrorKind::Colon);
        }
        self.advance(1);
        self.whitespace();
        Ok(())
    }

    /// After an opening bracket: whether there is an item. Consumes the closing bracket if there is none.
    #[inline(always)]
    pub fn has_first_item(&mut self, close: u8) -> bool {
        self.whitespace();
        let empty = self.peek_byte() == close;
        if empty {
            self.advance(1);
        }
        !empty
    }

    /// After an item: whether another follows. Consumes the comma or the closing bracket.
    #[inline(always)]
    pub fn has_next_item(&mut self, close: u8) -> ReadResult<bool> {
        if self.peek_byte() != b',' {
            self.whitespace();
        }
        if self.peek_byte() == b',' {
            self.advance(1);
            self.whitespace();
            return Ok(true);
        }
        if self.peek_byte() == close {
            self.advance(1);
            return Ok(false);
        }
        Err(if close == b'}' { ErrorKind::EndOfObject } else { ErrorKind::EndOfArray })
    }
}

/// Text of the body. Unlike a slice it may be read a little past its end, into the padding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    at: *const u8,
    len: usize,
    body: PhantomData<&'a [u8]>,
}

impl<'a> Span<'a> {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: made by `Cursor::since`, so these bytes lie in the body, which lives for `'a`.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }

    /// Eight bytes from `from`, whatever the length of the span.
    #[inline(always)]
    pub fn word(&self, from: usize) -> u64 {
        debug_assert!(from + 8 <= PADDING);
        // SAFETY: it starts at or before the body's end, and `PADDING` bytes after that are readable.
        u64::from_le(unsafe { self.at.add(from).cast::<u64>().read_unaligned() })
    }

    /// The text of a string without its quotes.
    #[inline(always)]
    pub fn inner(&self) -> Span<'a> {
        debug_assert!(self.len >= 2);
        // SAFETY: the first byte is part of it.
        Span { at: unsafe { self.at.add(1) }, len: self.len - 2, body: PhantomData }
    }
}
