//! Limits on the size of a table, so that a small body cannot make a huge one.

use super::declaration::{Table, Ty};
use super::error::{DecodeErrorKind, DecodeResult};
use std::collections::HashMap;

/// Maximum number of undeclared columns.
pub(crate) const MAX_EXTRA_COLUMNS: usize = 1000;
/// Cells of undeclared columns, in addition to one for each byte of the body.
pub(crate) const BASE_EXTRA_CELLS: usize = 65_536;
/// Bytes of a table, in addition to [`BYTES_PER_BYTE`] for each byte of the body.
pub(crate) const BASE_BYTES: usize = 16 * 1024 * 1024;
pub(crate) const BYTES_PER_BYTE: usize = 64;

pub const TOO_WIDE_MESSAGE: &str = "the table would have more than 1,000 columns that are not declared, or more than 65,536 cells in \
                            them and one for each byte of the body; player_stats has a row for each of them";
pub(crate) const NO_ROOM_MESSAGE: &str = "the table would take more than 16 MiB and 64 bytes for each byte of its body";

/// Whether the undeclared columns exceed the limits.
pub fn is_too_wide(columns: usize, rows: usize, body: usize) -> bool {
    columns > MAX_EXTRA_COLUMNS || rows.saturating_mul(columns) > body.saturating_add(BASE_EXTRA_CELLS)
}

/// The bytes that a table may still use.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
}

impl Room {
    pub(crate) fn of(body: usize) -> Self {
        Room { left: body.saturating_mul(BYTES_PER_BYTE).saturating_add(BASE_BYTES) }
    }

    /// Checks before allocating.
    pub(crate) fn check(&self, bytes: usize) -> DecodeResult<()> {
        if bytes <= self.left { Ok(()) } else { Err(DecodeErrorKind::NoRoom) }
    }

    pub(crate) fn take(&mut self, bytes: usize) -> DecodeResult<()> {
        self.check(bytes)?;
        self.left -= bytes;
        Ok(())
    }
}

/// An upper bound on the size of a table's rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// The node of its rows in the schema tree.
    pub node: usize,
    columns: usize,
    lists: usize,
    is_open: bool,
}

impl Extent {
    pub(crate) fn of(table: &Table, node: usize) -> Self {
        let is_list = |ty: Ty| matches!(ty, Ty::Links | Ty::ListInt64 | Ty::ListText | Ty::LineupId | Ty::MapFloat64);
        let lists = table.cols.iter().filter(|col| is_list(col.ty)).count();
        Extent { node, columns: table.cols.len(), lists, is_open: table.open.is_some() }
    }

    /// Whether `rows` fit even if each repeats the longest text and the longest list. List elements and lineups take
    /// less than eight times their JSON.
    pub(crate) fn fits(&self, rows: usize, longest: LongestValues, open: usize, body: usize) -> bool {
        let (text, list) = (longest.text, longest.list.saturating_mul(8));
        let fits_array = i32::try_from(rows.saturating_mul(text.max(list))).is_ok();
        let row = self.columns.saturating_mul(text.saturating_add(16)).saturating_add(self.lists.saturating_mul(list));
        let open = if self.is_open { open } else { 0 };
        let bytes = rows.saturating_mul(row.saturating_add(open * 9));
        fits_array && !is_too_wide(open, rows, body) && Room::of(body).check(bytes).is_ok()
    }
}

/// Byte lengths of the longest values of a body.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LongestValues {
    pub text: usize,
    pub list: usize,
}

/// The distinct keys of a body's open objects, which mostly repeat in the same order.
#[derive(Debug, Default)]
pub(super) struct ExtraKeySet<'a> {
    keys: Vec<std::borrow::Cow<'a, [u8]>>,
    places: HashMap<std::borrow::Cow<'a, [u8]>, usize>,
    next: usize,
}

impl<'a> ExtraKeySet<'a> {
    pub(crate) fn note(&mut self, key: std::borrow::Cow<'a, [u8]>) {
        if self.keys.get(self.next) == Some(&key) {
            self.next += 1;
        } else if let Some(place) = self.places.get(&key) {
            self.next = place + 1;
        } else if self.keys.len() <= MAX_EXTRA_COLUMNS {
            self.places.insert(key.clone(), self.keys.len());
            self.keys.push(key);
            self.next = self.keys.len();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn keys_are_counted_once_in_any_order() {
        let mut keys = ExtraKeySet::default();
        for key in ["a", "b", "c", "a", "b", "c", "c", "b", "d", "a"] {
            keys.note(Cow::Borrowed(key.as_bytes()));
        }
        assert_eq!(keys.len(), 4);
        (0..5000).for_each(|n| keys.note(Cow::Owned(n.to_string().into())));
        assert_eq!(keys.len(), MAX_EXTRA_COLUMNS + 1);
    }

    #[test]
    fn room_is_bounded_by_the_body() {
        let mut room = Room::of(1);
        assert_eq!(room.take(BASE_BYTES), Ok(()));
        assert_eq!(room.check(65), Err(DecodeErrorKind::NoRoom));
        assert_eq!(room.take(64), Ok(()));
        assert!(is_too_wide(1001, 0, 0) && is_too_wide(2, 32_769, 0) && !is_too_wide(2, 32_769, 2));
        assert!(Room::of(usize::MAX).check(usize::MAX).is_ok());
    }
}
