//! The keys of objects: each is created once and cached, and predicted before it is read.

use super::ParseError;
use super::strings::{hash16, text};
use pyo3::prelude::*;
use pyo3::types::PyString;
use reader::{Cursor, simd::low_bytes};

/// Capacity of the cache.
const CACHE_SIZE: usize = 1024;

/// Maximum distance of a key from its hash slot.
const MAX_PROBES: usize = 4;

/// Size of the table of predictions.
const PREDICTIONS: usize = 4096;

/// Longest cached key in words, with its quotes; the name has at most 38 bytes.
const MAX_WORDS: usize = 5;

/// Index of a cached key; `NONE` is no key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeyId(u16);

impl KeyId {
    pub(super) const NONE: KeyId = KeyId(CACHE_SIZE as u16);
}

/// The key of a value.
pub(super) enum ObjectKey<'py> {
    CachedKey(KeyId),
    /// Not cached: it has escapes, is long, or the cache is full.
    Own(Bound<'py, PyString>),
}

impl ObjectKey<'_> {
    pub(super) fn id(&self) -> KeyId {
        match self {
            ObjectKey::CachedKey(id) => *id,
            ObjectKey::Own(_) => KeyId::NONE,
        }
    }
}

struct CachedKey {
    /// The name in quotes, zero-padded.
    words: [u64; MAX_WORDS],
    len: usize,
    object: Py<PyString>,
}

impl CachedKey {
    /// `None` for a name that is too long.
    fn new(name: &[u8], object: Py<PyString>) -> Option<Self> {
        let mut bytes = [0; 8 * MAX_WORDS];
        let len = name.len() + 2;
        let place = bytes.get_mut(..len)?;
        place.fill(b'"');
        place[1..len - 1].copy_from_slice(name);
        let mut words = [0; MAX_WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(CachedKey { words, len, object })
    }

    #[inline(always)]
    fn stands_at(&self, cursor: &Cursor<'_>) -> bool {
        let (count, rest) = (self.len / 8, self.len % 8);
        (0..count).all(|at| cursor.word(8 * at) == self.words[at])
            && (rest == 0 || low_bytes(cursor.word(8 * count), rest) == self.words[count])
    }
}

/// KeyCache are never evicted while a body is read, so an [`KeyId`] stays valid.
pub(super) struct KeyCache {
    /// One slot more than the capacity, for `KeyId::NONE`.
    slots: Vec<Option<CachedKey>>,
    is_full: bool,
    /// Which key came last in each place. A wrong prediction costs only time.
    predictions: Vec<KeyId>,
}

impl KeyCache {
    pub(super) fn new() -> Self {
        KeyCache {
            slots: (0..=CACHE_SIZE).map(|_| None).collect(),
            is_full: false,
            predictions: vec![KeyId::NONE; PREDICTIONS],
        }
    }

    pub(super) fn get(&self, id: KeyId) -> Option<&Py<PyString>> {
        self.slots[usize::from(id.0)].as_ref().map(|key| &key.object)
    }

    /// Whether a key did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Reads a key with its colon and whitespace. Predicts it from the key `before` it in its object (none for the
    /// first) and the key `under` which the object is.
    #[inline(always)]
    pub(super) fn next<'py>(
        &mut self,
        py: Python<'py>,
        cursor: &mut Cursor<'_>,
        under: KeyId,
        before: KeyId,
    ) -> Result<ObjectKey<'py>, ParseError> {
        let place = (37 * usize::from(under.0) + usize::from(before.0)) % PREDICTIONS;
        let guess = self.predictions[place];
        let key = match &self.slots[usize::from(guess.0)] {
            Some(key) if key.stands_at(cursor) => {
                cursor.advance(key.len);
                ObjectKey::CachedKey(guess)
            }
            _ => {
                let key = self.search(py, cursor)?;
                self.predictions[place] = key.id();
                key
            }
        };
        cursor.colon()?;
        Ok(key)
    }

    /// Reads a key and creates it if it is new.
    #[inline(never)]
    fn search<'py>(&mut self, py: Python<'py>, cursor: &mut Cursor<'_>) -> Result<ObjectKey<'py>, ParseError> {
        let start = *cursor;
        let (name, hash) = if let Some((name, words)) = cursor.short_string() {
            (name, hash16(words))
        } else if let Some(name) = cursor.plain_string() {
            // Longer names differ in the middle or at the end.
            (name, hash16([name.word(8), name.last_word()]))
        } else {
            return Ok(ObjectKey::Own(text(py, &cursor.string()?)?));
        };
        let mut free = None;
        for at in (hash..hash + MAX_PROBES).map(|at| at % CACHE_SIZE) {
            match &self.slots[at] {
                Some(key) if key.stands_at(&start) => return Ok(ObjectKey::CachedKey(KeyId(at as u16))),
                Some(_) => {}
                None => {
                    free = Some(at);
                    break;
                }
            }
        }
        let object = text(py, name.bytes())?;
        let Some(key) = CachedKey::new(name.bytes(), object.clone().unbind()) else {
            return Ok(ObjectKey::Own(object));
        };
        let Some(at) = free else {
            self.is_full = true;
            return Ok(ObjectKey::Own(object));
        };
        self.slots[at] = Some(key);
        Ok(ObjectKey::CachedKey(KeyId(at as u16)))
    }
}
