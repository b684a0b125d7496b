//! Where the long objects and arrays of a body end.
//!
//! A table is decoded when it is requested, so a body of several tables is read several times. The first pass, mostly the
//! schema check on arrival, records the start and end of each object and array longer than 256 bytes. Later passes jump
//! over those that their table does not read. Without the index the three tables of possessions take 1.35 times as long
//! and miss their aim in `benches/REPORT.md`; one pass that builds all tables of a body would replace it.

/// Shorter spans are as fast to skip as to look up. This also bounds memory: spans of this length nest no deeper than
/// the declared paths.
const MIN_SPAN_LEN: usize = 256;

/// Start and end of each span, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct SpanIndex(Vec<(u32, u32)>);

impl SpanIndex {
    /// An index of a body of `bytes`; `None` if offsets exceed 32 bits.
    pub fn of(bytes: usize) -> Option<SpanIndex> {
        u32::try_from(bytes).is_ok().then(SpanIndex::default)
    }

    /// Opens a span; pass the result to `close`.
    #[inline]
    pub fn open(&mut self, start: usize) -> usize {
        self.0.push((start as u32, 0));
        self.0.len() - 1
    }

    #[inline]
    pub fn close(&mut self, opened: usize, end: usize) {
        let Some(span) = self.0.get_mut(opened) else { return };
        span.1 = end as u32;
        if end - span.0 as usize <= MIN_SPAN_LEN {
            // Spans inside a short one are short too.
            self.0.truncate(opened);
        }
    }

    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.0
    }
}

/// The end of the span that starts at `start`, if it is indexed; earlier spans are dropped.
#[inline]
pub(crate) fn end_of(spans: &mut &[(u32, u32)], start: usize) -> Option<usize> {
    while let [(first, end), rest @ ..] = spans {
        if *first as usize >= start {
            return (*first as usize == start).then_some(*end as usize);
        }
        *spans = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Body;
    use crate::json::Cursor;

    #[test]
    fn only_long_ones_are_kept_and_found_from_front_to_back() {
        let mut spans = SpanIndex::default();
        let outer = spans.open(0);
        for (start, end) in [(10, 20), (30, 30 + MIN_SPAN_LEN + 1), (400, 400 + MIN_SPAN_LEN)] {
            let opened = spans.open(start);
            let inner = spans.open(start + 1);
            spans.close(inner, end - 1);
            spans.close(opened, end);
        }
        spans.close(outer, 1000);
        assert_eq!(spans.as_slice(), [(0, 1000), (30, 31 + MIN_SPAN_LEN as u32)]);
        let mut rest = spans.as_slice();
        for (start, end) in [
            (0, Some(1000)),
            (10, None),
            (30, Some(31 + MIN_SPAN_LEN)),
            (30, Some(31 + MIN_SPAN_LEN)),
            (31, None),
            (0, None),
        ] {
            assert_eq!(end_of(&mut rest, start), end, "{start}");
        }
    }

    #[test]
    fn a_cursor_jumps_ahead_and_to_the_end_but_not_back_nor_beyond() {
        let body = Body::from(&b"0123456789"[..]);
        let padded = body.padded();
        let mut cursor = Cursor::new(&padded).unwrap();
        assert!(cursor.jump(4) && cursor.peek_byte() == b'4' && cursor.jump(4));
        assert!(!cursor.jump(3) && !cursor.jump(11) && !cursor.jump(usize::MAX) && cursor.position() == 4);
        assert!(cursor.jump(10) && cursor.is_at_end());
    }
}
