//! Limits on the size of a table, so that a small body cannot make a huge one.

use super::error::{DecodeErrorKind, DecodeResult};

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
pub(super) struct Quota {
    left: usize,
}

impl Quota {
    pub(crate) fn of(body: usize) -> Self {
        Quota { left: body.saturating_mul(BYTES_PER_BYTE).saturating_add(BASE_BYTES) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_is_bounded_by_the_body() {
        let mut quota = Quota::of(1);
        assert_eq!(quota.take(BASE_BYTES), Ok(()));
        assert_eq!(quota.check(65), Err(DecodeErrorKind::NoRoom));
        assert_eq!(quota.take(64), Ok(()));
        assert!(is_too_wide(1001, 0, 0) && is_too_wide(2, 32_769, 0) && !is_too_wide(2, 32_769, 2));
        assert!(Quota::of(usize::MAX).check(usize::MAX).is_ok());
    }
}
