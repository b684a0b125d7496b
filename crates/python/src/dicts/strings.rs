//! Python strings; short ones are cached, since most recur.

use super::ParseError;
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use reader::{Cursor, ErrorKind};

/// Capacity of the cache: one string for each slot, the newest.
const CACHE_SIZE: usize = 2048;

struct ShortString {
    /// The text, zero-padded.
    words: [u64; 2],
    object: Py<PyString>,
}

pub(super) struct StringCache {
    slots: Vec<Option<ShortString>>,
}

impl StringCache {
    pub(super) fn new() -> Self {
        StringCache { slots: (0..CACHE_SIZE).map(|_| None).collect() }
    }

    /// Reads a string.
    #[inline(always)]
    pub(super) fn next<'py>(
        &mut self,
        py: Python<'py>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Bound<'py, PyString>, ParseError> {
        let Some((span, words)) = cursor.short_string() else { return text(py, &cursor.string()?) };
        let slot = &mut self.slots[hash16(words) % CACHE_SIZE];
        if let Some(short) = slot
            && short.words == words
        {
            return Ok(short.object.bind(py).clone());
        }
        let object = text(py, span.bytes())?;
        *slot = Some(ShortString { words, object: object.clone().unbind() });
        Ok(object)
    }
}

/// A 16-bit hash.
#[inline(always)]
pub(super) fn hash16(words: [u64; 2]) -> usize {
    let hash16 = words[0].wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ words[1].wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    (hash16 >> 48) as usize
}

/// A string from bytes that may not be valid UTF-8; the caller finds where they are not.
pub(super) fn text<'py>(py: Python<'py>, utf8: &[u8]) -> Result<Bound<'py, PyString>, ParseError> {
    PyString::from_bytes(py, utf8).map_err(|error| {
        if error.is_instance_of::<PyUnicodeDecodeError>(py) {
            ErrorKind::NotUtf8.into()
        } else {
            ParseError::from(error)
        }
    })
}
