//! A position in a body, and the only code that reads the body through pointers. Numbers, strings and skipping build on
//! it in their own files.

use super::body::PADDING;
use super::error::{ErrorKind, Expected, ReadResult};
use std::marker::PhantomData;

/// A position in a padded body.
///
/// Every unsafe block here relies on this: `at <= end`, both in one allocation that lives for `'a`, and the [`PADDING`]
/// bytes from `end` on are readable. `new` checks the padding, and no function moves `at` past `end` or reads past the
/// padding, whatever its arguments: an argument out of range is cut to the range. Each body has padding of its own, so
/// cursors with the same `end` are in the same body.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    at: *const u8,
    start: *const u8,
    end: *const u8,
    body: PhantomData<&'a [u8]>,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of a body; `None` if the padding is missing or not zero.
    pub fn new(padded_body: &'a [u8]) -> Option<Self> {
        let len = padded_body.len().checked_sub(PADDING)?;
        if padded_body[len..].iter().any(|b| *b != 0) {
            return None;
        }
        let start = padded_body.as_ptr();
        // SAFETY: `len` is within `padded_body`.
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

    /// Moves to the position of another cursor in the same body; a cursor of another body changes nothing.
    #[inline(always)]
    pub fn go_to(&mut self, other: &Cursor<'a>) {
        self.at = if self.end == other.end { other.at } else { unlikely(self.at) };
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

    /// The byte at the cursor; 0, from the padding, at the end.
    #[inline(always)]
    pub fn peek_byte(&self) -> u8 {
        // SAFETY: `at <= end`, and the padding is readable.
        unsafe { *self.at }
    }

    /// The byte `ahead` of the cursor; `ahead` is cut to [`PADDING`] - 1.
    #[inline(always)]
    pub fn peek(&self, ahead: usize) -> u8 {
        // SAFETY: `at <= end`, and `PADDING` bytes after it are readable.
        unsafe { *self.at.add(ahead.min(PADDING - 1)) }
    }

    /// Eight bytes, little-endian; `ahead` is cut to [`PADDING`] - 8.
    #[inline(always)]
    pub fn word(&self, ahead: usize) -> u64 {
        // SAFETY: `at <= end`, and `PADDING` bytes after it are readable.
        u64::from_le(unsafe { self.at.add(ahead.min(PADDING - 8)).cast::<u64>().read_unaligned() })
    }

    /// Sixteen bytes; `ahead` is cut to [`PADDING`] - 16.
    #[inline(always)]
    pub fn bytes16(&self, ahead: usize) -> &[u8; 16] {
        // SAFETY: `at <= end`, and `PADDING` bytes after it are readable; nothing writes to them for `'a`.
        unsafe { &*self.at.add(ahead.min(PADDING - 16)).cast::<[u8; 16]>() }
    }

    /// The next 64 bytes.
    #[inline(always)]
    pub fn bytes64(&self) -> &[u8; 64] {
        const { assert!(PADDING >= 64) };
        // SAFETY: `at <= end`, and the padding after it makes 64 bytes readable; nothing writes to them for `'a`.
        unsafe { &*self.at.cast::<[u8; 64]>() }
    }

    /// Advances over `n` bytes, or to the end if fewer are left.
    #[inline(always)]
    pub fn advance(&mut self, n: usize) {
        // Where `n` is known to be small, one comparison is left.
        if n <= PADDING {
            // SAFETY: `at <= end`, and `PADDING` bytes after it are in the allocation.
            let next = unsafe { self.at.add(n) };
            self.at = if next <= self.end { next } else { unlikely(self.end) };
        } else if n <= self.end as usize - self.at as usize {
            // SAFETY: not past `end`.
            self.at = unsafe { self.at.add(n) };
        } else {
            self.at = unlikely(self.end);
        }
    }

    /// The text between an earlier position in the same body and the cursor; empty for any other.
    #[inline(always)]
    pub fn span_from(&self, earlier: &Cursor<'a>) -> Span<'a> {
        let is_earlier = earlier.end == self.end && earlier.at <= self.at;
        let at = if is_earlier { earlier.at } else { unlikely(self.at) };
        Span { at, len: self.at as usize - at as usize, body: PhantomData }
    }

    /// Skips whitespace.
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

    /// Consumes a literal such as `null` if it is next. It has no zero byte, so a match ends before the padding.
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
    pub fn expect_null(&mut self, expected: Expected) -> ReadResult<()> {
        if self.consume_null() { Ok(()) } else { Err(ErrorKind::Expected(expected)) }
    }

    /// Consumes the `:` after a key and the whitespace around it.
    #[inline(always)]
    pub fn colon(&mut self) -> ReadResult<()> {
        self.whitespace();
        if self.peek_byte() != b':' {
            return Err(ErrorKind::Colon);
        }
        self.advance(1);
        self.whitespace();
        Ok(())
    }

    /// After an opening bracket: whether there is an item. Consumes the closing bracket if there is no item.
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

/// Returns `at`, behind a branch that is never taken: a conditional move would delay all that is read next.
#[cold]
#[inline(never)]
fn unlikely(at: *const u8) -> *const u8 {
    std::hint::black_box(at)
}

/// Text of the body. Unlike a slice it may be read a little past its end, into the padding.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
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
        // SAFETY: made by `Cursor::span_from`, so these bytes lie in the body, which lives for `'a`.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }

    /// Eight bytes from `from`, whatever the length of the span; `from` is cut to [`PADDING`] - 8.
    #[inline(always)]
    pub fn word(&self, from: usize) -> u64 {
        // SAFETY: it starts at or before the body's end, and `PADDING` bytes after that are readable.
        u64::from_le(unsafe { self.at.add(from.min(PADDING - 8)).cast::<u64>().read_unaligned() })
    }

    /// The text of a string without its quotes; empty if it is shorter than both.
    #[inline(always)]
    pub fn inner(&self) -> Span<'a> {
        // SAFETY: the first byte is part of it where it has one.
        Span { at: unsafe { self.at.add(self.len.min(1)) }, len: self.len.saturating_sub(2), body: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, PADDING};

    fn with_padding(body: &[u8]) -> Vec<u8> {
        [body, &[0; PADDING]].concat()
    }

    /// Run under Miri, which sees a read outside of the allocation.
    #[test]
    fn no_argument_leads_out_of_the_body_and_its_padding() {
        let (body, other) = (with_padding(b"null"), with_padding(b"[1, 2, 3, 4]"));
        let (start, stranger) = (Cursor::new(&body).unwrap(), Cursor::new(&other).unwrap());
        let mut end = start;
        end.advance(usize::MAX);
        assert!(end.is_at_end());
        end.advance(1);
        assert_eq!(end.position(), 4);

        for ahead in [0, PADDING - 16, PADDING - 8, PADDING, usize::MAX] {
            assert_eq!((end.peek(ahead), end.word(ahead), end.bytes16(ahead)), (0, 0, &[0; 16]), "{ahead}");
        }
        assert_eq!(end.bytes64(), &[0; 64]);
        assert!(!end.consume_literal(b"null") && !end.consume_literal(&[b'n'; 2 * PADDING]));

        end.go_to(&stranger);
        assert_eq!(end.position(), 4);
        assert_eq!((start.span_from(&end).len(), end.span_from(&stranger).len()), (0, 0));

        let span = end.span_from(&start);
        assert_eq!(span.bytes(), b"null");
        assert_eq!((span.word(4), span.word(usize::MAX)), (0, 0));
        let none = span.inner().inner().inner();
        assert_eq!((none.len(), none.word(0) as u8), (0, b'l'));
    }
}
