//! Where the long objects and arrays of a body end: noted while all of it is read, so that the next table of the same body
//! passes over those that it does not want without looking at them again.

use super::decl::Resource;

/// Shorter ones are as soon passed over as looked up. It bounds what is kept too: eight bytes for an object or array of this
/// length, which nest no deeper than the declared paths.
const LONG: usize = 256;

/// Start and end of each, in the order of their starts.
#[derive(Debug, Default)]
pub(super) struct Brackets(Vec<(u32, u32)>);

impl Brackets {
    /// For a first pass over a body of so many bytes; `None` where no second table will ask, or places do not fit.
    pub fn of(resource: &Resource, bytes: usize) -> Option<Brackets> {
        (resource.tables.len() > 1 && u32::try_from(bytes).is_ok()).then(Brackets::default)
    }

    /// One begins; what this gives is told to `close`.
    #[inline]
    pub fn open(&mut self, start: usize) -> usize {
        self.0.push((start as u32, 0));
        self.0.len() - 1
    }

    #[inline]
    pub fn close(&mut self, opened: usize, end: usize) {
        let Some(bracket) = self.0.get_mut(opened) else { return };
        bracket.1 = end as u32;
        if end - bracket.0 as usize <= LONG {
            // What lies in it is short too.
            self.0.truncate(opened);
        }
    }

    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.0
    }
}

/// Where the one that starts here ends, if it is among them; those before it are dropped.
#[inline]
pub(super) fn end_of(brackets: &mut &[(u32, u32)], start: usize) -> Option<usize> {
    while let [(first, end), rest @ ..] = brackets {
        if *first as usize >= start {
            return (*first as usize == start).then_some(*end as usize);
        }
        *brackets = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;
    use crate::table::cursor::Cursor;

    #[test]
    fn only_long_ones_are_kept_and_found_from_front_to_back() {
        let mut brackets = Brackets::default();
        let outer = brackets.open(0);
        for (start, end) in [(10, 20), (30, 30 + LONG + 1), (400, 400 + LONG)] {
            let opened = brackets.open(start);
            let inner = brackets.open(start + 1);
            brackets.close(inner, end - 1);
            brackets.close(opened, end);
        }
        brackets.close(outer, 1000);
        assert_eq!(brackets.as_slice(), [(0, 1000), (30, 31 + LONG as u32)]);
        let mut rest = brackets.as_slice();
        for (start, end) in
            [(0, Some(1000)), (10, None), (30, Some(31 + LONG)), (30, Some(31 + LONG)), (31, None), (0, None)]
        {
            assert_eq!(end_of(&mut rest, start), end, "{start}");
        }
    }

    #[test]
    fn a_cursor_jumps_ahead_and_to_the_end_but_not_back_nor_beyond() {
        let body = Body::from(&b"0123456789"[..]);
        let padded = body.padded();
        let mut cursor = Cursor::new(&padded).unwrap();
        assert!(cursor.jump(4) && cursor.byte() == b'4' && cursor.jump(4));
        assert!(!cursor.jump(3) && !cursor.jump(11) && !cursor.jump(usize::MAX) && cursor.position() == 4);
        assert!(cursor.jump(10) && cursor.is_at_end());
    }
}
