//! Texts as Python strings; short ones are kept, for most of them come again.

use super::Stopped;
use crate::table::Cursor;
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many short texts are kept: one at each place, the newest.
const KEPT: usize = 2048;

struct Short {
    /// The text, and zeros after it.
    words: [u64; 2],
    object: Py<PyString>,
}

pub struct Strings {
    kept: Vec<Option<Short>>,
}

impl Strings {
    pub fn new() -> Self {
        Strings { kept: (0..KEPT).map(|_| None).collect() }
    }

    /// Over a string.
    #[inline(always)]
    pub fn next<'py>(&mut self, py: Python<'py>, cursor: &mut Cursor<'_>) -> Result<Bound<'py, PyString>, Stopped> {
        let Some((span, words)) = cursor.short_string() else { return text(py, &cursor.string()?) };
        let kept = &mut self.kept[mixed(words) % KEPT];
        if let Some(short) = kept
            && short.words == words
        {
            return Ok(short.object.bind(py).clone());
        }
        let object = text(py, span.bytes())?;
        *kept = Some(Short { words, object: object.clone().unbind() });
        Ok(object)
    }
}

/// A number of 16 bits that two texts rarely share.
#[inline(always)]
pub fn mixed(words: [u64; 2]) -> usize {
    let mixed = words[0].wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ words[1].wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    (mixed >> 48) as usize
}

/// A text that was not looked at yet, in what the body calls UTF-8.
pub fn text<'py>(py: Python<'py>, utf8: &[u8]) -> Result<Bound<'py, PyString>, Stopped> {
    PyString::from_bytes(py, utf8).map_err(|error| {
        if error.is_instance_of::<PyUnicodeDecodeError>(py) { Stopped::Body } else { Stopped::from(error) }
    })
}
