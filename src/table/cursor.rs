//! A place in a body, and the only code that reads it through pointers. Numbers, strings and skipping stand in files of
//! their own and are built of what is here.

use super::body::PADDING;
use super::fault::{Fault, Read, Wanted};
use std::marker::PhantomData;

/// A place in a padded body.
///
/// What every unsafe block here rests on: `start <= at <= end`, all in one allocation that lives for `'a`, and the
/// [`PADDING`] bytes from `end` on are readable and zero. `new` checks the padding; `at` moves only over bytes that were
/// compared with something, and nothing is ever compared with zero, or to a place that was compared with `end`: so it cannot
/// pass that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    at: *const u8,
    start: *const u8,
    end: *const u8,
    body: PhantomData<&'a [u8]>,
}

impl<'a> Cursor<'a> {
    /// At the start of a body that is followed by its padding; `None` when it is not.
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

    /// Calls what is not inlined with a copy: a cursor whose address is given away stays in memory, and the one that is read
    /// most belongs in a register.
    #[inline(always)]
    pub fn apart<T>(&mut self, call: impl FnOnce(&mut Self) -> T) -> T {
        let mut copy = *self;
        let result = call(&mut copy);
        self.go_to(&copy);
        result
    }

    /// To the place of another cursor in the same body.
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
    pub fn byte(&self) -> u8 {
        // SAFETY: `at <= end`, and the padding is readable.
        unsafe { *self.at }
    }

    /// The byte `ahead` of the cursor, less than [`PADDING`].
    #[inline(always)]
    pub fn peek(&self, ahead: usize) -> u8 {
        debug_assert!(ahead < PADDING);
        // SAFETY: `at <= end`, and that many bytes after it are readable.
        unsafe { *self.at.add(ahead) }
    }

    /// Eight bytes, the first lowest; `ahead` is at most [`PADDING`] - 8.
    #[inline(always)]
    pub fn word(&self, ahead: usize) -> u64 {
        debug_assert!(ahead + 8 <= PADDING);
        // SAFETY: `at <= end`, and `ahead + 8` bytes after it are readable.
        u64::from_le(unsafe { self.at.add(ahead).cast::<u64>().read_unaligned() })
    }

    /// Sixteen bytes; `ahead` is at most [`PADDING`] - 16.
    #[inline(always)]
    pub fn sixteen(&self, ahead: usize) -> &[u8; 16] {
        debug_assert!(ahead + 16 <= PADDING);
        // SAFETY: `at <= end`, and `ahead + 16` bytes after it are readable; nothing writes to them for `'a`.
        unsafe { &*self.at.add(ahead).cast::<[u8; 16]>() }
    }

    /// The 64 bytes from here on.
    #[inline(always)]
    pub fn block(&self) -> &[u8; 64] {
        const { assert!(PADDING >= 64) };
        // SAFETY: `at <= end`, and the padding after it makes 64 bytes readable; nothing writes to them for `'a`.
        unsafe { &*self.at.cast::<[u8; 64]>() }
    }

    /// Over `n` bytes that the caller has looked at, none of them zero (so none of them padding).
    #[inline(always)]
    pub fn advance(&mut self, n: usize) {
        debug_assert!(self.position() + n <= self.len());
        // SAFETY: bytes that are not zero and follow the cursor without a gap lie before `end`.
        self.at = unsafe { self.at.add(n) };
    }

    /// On to another place of the body. `false`: it lies before the cursor or beyond the end, and the cursor stays.
    pub fn jump(&mut self, position: usize) -> bool {
        let is_ahead = (self.position()..=self.len()).contains(&position);
        if is_ahead {
            // SAFETY: `start + position` is at most `end`.
            self.at = unsafe { self.start.add(position) };
        }
        is_ahead
    }

    /// The text between an earlier place and the cursor.
    #[inline(always)]
    pub fn since(&self, earlier: &Cursor<'a>) -> Span<'a> {
        debug_assert!(earlier.at <= self.at);
        Span { at: earlier.at, len: self.at as usize - earlier.at as usize, body: PhantomData }
    }

    #[inline(always)]
    pub fn whitespace(&mut self) {
        if self.byte() <= b' ' {
            self.apart(Self::whitespace_slow);
        }
    }

    #[cold]
    #[inline(never)]
    fn whitespace_slow(&mut self) {
        while matches!(self.byte(), b' ' | b'\n' | b'\t' | b'\r') {
            // Indentation comes in runs of blanks.
            if self.word(0) == 0x2020_2020_2020_2020 { self.advance(8) } else { self.advance(1) }
        }
    }

    /// Over a word such as `null` (at most 8 bytes), if it stands here.
    #[inline(always)]
    pub fn take_word(&mut self, word: &[u8]) -> bool {
        let is = word.iter().enumerate().all(|(i, b)| self.peek(i) == *b);
        if is {
            self.advance(word.len());
        }
        is
    }

    #[inline(always)]
    pub fn null(&mut self) -> bool {
        self.take_word(b"null")
    }

    /// Over `null`; any other value is of the wrong kind.
    pub fn null_or(&mut self, wanted: Wanted) -> Read<()> {
        if self.null() { Ok(()) } else { Err(Fault::Expected(wanted)) }
    }

    /// Over the `:` that follows a key, with the blanks around it.
    pub fn colon(&mut self) -> Read<()> {
        self.whitespace();
        if self.byte() != b':' {
            return Err(Fault::Colon);
        }
        self.advance(1);
        self.whitespace();
        Ok(())
    }

    /// After an opening bracket: whether an item follows; else over the closing one.
    #[inline(always)]
    pub fn opened(&mut self, close: u8) -> bool {
        self.whitespace();
        let empty = self.byte() == close;
        if empty {
            self.advance(1);
        }
        !empty
    }

    /// After an item: whether another follows; else over the closing bracket.
    #[inline(always)]
    pub fn another(&mut self, close: u8) -> Read<bool> {
        if self.byte() != b',' {
            self.whitespace();
        }
        if self.byte() == b',' {
            self.advance(1);
            self.whitespace();
            return Ok(true);
        }
        if self.byte() == close {
            self.advance(1);
            return Ok(false);
        }
        Err(if close == b'}' { Fault::EndOfObject } else { Fault::EndOfArray })
    }
}

/// Text of the body. Unlike a slice it may be read a little past its end, where the padding is.
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

    /// Eight bytes from its start, whatever its length.
    #[inline(always)]
    pub fn word(&self, from: usize) -> u64 {
        debug_assert!(from + 8 <= PADDING);
        // SAFETY: it starts at or before the body's end, and `PADDING` bytes after that are readable.
        u64::from_le(unsafe { self.at.add(from).cast::<u64>().read_unaligned() })
    }

    /// Without its first and last byte: the text of a string between its quotes.
    #[inline(always)]
    pub fn inner(&self) -> Span<'a> {
        debug_assert!(self.len >= 2);
        // SAFETY: the first byte is part of it.
        Span { at: unsafe { self.at.add(1) }, len: self.len - 2, body: PhantomData }
    }
}
