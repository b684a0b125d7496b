//! Response bytes in a padded buffer, so that the cursor may read past the end.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Zero bytes after the body, so that wide reads need no bounds check.
pub(crate) const PADDING: usize = 64;

/// A body's bytes, followed by [`PADDING`] zero bytes. Grows while it is received and is read-only afterwards.
#[derive(Clone, Default)]
pub struct Body {
    bytes: Vec<u8>,
    len: usize,
    /// Set once the whole body has been validated as JSON. Clones share it.
    is_validated: Arc<AtomicBool>,
}

impl Body {
    /// Makes room for so many more bytes and the padding, so that neither adding them nor `finish` can fail.
    ///
    /// # Errors
    /// The process has no memory for them.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        self.bytes.truncate(self.len);
        self.bytes.try_reserve(more.saturating_add(PADDING))
    }
    pub fn extend_from_slice(&mut self, more: &[u8]) {
        self.is_validated = Arc::default();
        self.bytes.truncate(self.len);
        self.bytes.extend_from_slice(more);
        self.len = self.bytes.len();
    }
    /// Adds the padding. Call it once the body is complete.
    pub fn finish(mut self) -> Self {
        self.bytes.resize(self.len + PADDING, 0);
        self
    }
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
    /// The bytes and their padding; copied if `finish` was not called.
    pub fn with_padding(&self) -> Cow<'_, [u8]> {
        if self.bytes.len() == self.len + PADDING {
            return Cow::Borrowed(&self.bytes);
        }
        Cow::Owned([self.as_slice(), &[0; PADDING]].concat())
    }
    /// Whether the whole body has been validated, so that it need not be checked again.
    pub fn is_validated(&self) -> bool {
        self.is_validated.load(Ordering::Relaxed)
    }
    pub fn mark_validated(&self) {
        self.is_validated.store(true, Ordering::Relaxed);
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Body { bytes: [bytes, &[0; PADDING]].concat(), len: bytes.len(), ..Body::default() }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Body { len: bytes.len(), bytes, ..Body::default() }.finish()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::expect_used)]
    use super::*;

    #[test]
    fn a_body_of_known_length_is_received_without_a_copy() {
        let mut body = Body::default();
        body.try_reserve(1000).expect("there is memory");
        let start = body.bytes.as_ptr();
        for _ in 0..10 {
            body.extend_from_slice(&[b'1'; 100]);
        }
        let body = body.finish();
        assert_eq!((body.bytes.as_ptr(), body.len()), (start, 1000));
        assert!(matches!(body.with_padding(), Cow::Borrowed(_)));
    }
}
