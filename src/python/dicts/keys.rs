//! The keys of objects: each is made once and kept, and guessed before it is read.

use super::Stopped;
use super::strings::{mixed, text};
use crate::table::{Cursor, head};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many keys can be kept.
const ROOM: usize = 1024;

/// How far from its own place a key may be kept.
const PROBES: usize = 4;

/// How many guesses are kept.
const GUESSES: usize = 4096;

/// A key that is kept has with its quotes at most so many words, so its name at most 38 bytes.
const WORDS: usize = 5;

/// A kept key, by its place. At `NONE` there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Id(u16);

impl Id {
    pub const NONE: Id = Id(ROOM as u16);
}

/// The key of a value.
pub enum Key<'py> {
    Kept(Id),
    /// It is written with escapes, or is long, or there was no room for it.
    Own(Bound<'py, PyString>),
}

impl Key<'_> {
    pub fn id(&self) -> Id {
        match self {
            Key::Kept(id) => *id,
            Key::Own(_) => Id::NONE,
        }
    }
}

struct Kept {
    /// The name in quotes, and zeros after it.
    words: [u64; WORDS],
    len: usize,
    object: Py<PyString>,
}

impl Kept {
    /// `None` for a name that is too long.
    fn new(name: &[u8], object: Py<PyString>) -> Option<Self> {
        let mut bytes = [0; 8 * WORDS];
        let len = name.len() + 2;
        let place = bytes.get_mut(..len)?;
        place.fill(b'"');
        place[1..len - 1].copy_from_slice(name);
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(Kept { words, len, object })
    }

    #[inline(always)]
    fn stands_at(&self, cursor: &Cursor<'_>) -> bool {
        let (whole, rest) = (self.len / 8, self.len % 8);
        (0..whole).all(|at| cursor.word(8 * at) == self.words[at])
            && (rest == 0 || head(cursor.word(8 * whole), rest) == self.words[whole])
    }
}

/// No key goes while a body is read: an [`Id`] means one key from its first to its last byte.
pub struct Keys {
    /// One place more than there is room for: that of `Id::NONE`.
    kept: Vec<Option<Kept>>,
    is_full: bool,
    /// Which key came last where. A wrong guess costs time and nothing else: the text decides.
    guesses: Vec<Id>,
}

impl Keys {
    pub fn new() -> Self {
        Keys { kept: (0..=ROOM).map(|_| None).collect(), is_full: false, guesses: vec![Id::NONE; GUESSES] }
    }

    pub fn get(&self, id: Id) -> Option<&Py<PyString>> {
        self.kept[usize::from(id.0)].as_ref().map(|key| &key.object)
    }

    /// Whether there was no room for a key.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Over a key, its colon and the blanks around it. What it will be is guessed by the key `before` it in its object (none:
    /// it is the first) and by the key `under` which this object stands.
    #[inline(always)]
    pub fn next<'py>(
        &mut self,
        py: Python<'py>,
        cursor: &mut Cursor<'_>,
        under: Id,
        before: Id,
    ) -> Result<Key<'py>, Stopped> {
        let place = (37 * usize::from(under.0) + usize::from(before.0)) % GUESSES;
        let guess = self.guesses[place];
        let key = match &self.kept[usize::from(guess.0)] {
            Some(kept) if kept.stands_at(cursor) => {
                cursor.advance(kept.len);
                Key::Kept(guess)
            }
            _ => {
                let key = self.search(py, cursor)?;
                self.guesses[place] = key.id();
                key
            }
        };
        cursor.colon()?;
        Ok(key)
    }

    /// Over a key, which is made if it is new.
    #[inline(never)]
    fn search<'py>(&mut self, py: Python<'py>, cursor: &mut Cursor<'_>) -> Result<Key<'py>, Stopped> {
        let here = *cursor;
        let (name, own) = if let Some((name, words)) = cursor.short_string() {
            (name, mixed(words))
        } else if let Some(name) = cursor.plain_string() {
            // What is longer than two words is told apart by its middle and its end.
            (name, mixed([name.word(8), name.last_word()]))
        } else {
            return Ok(Key::Own(text(py, &cursor.string()?)?));
        };
        let mut free = None;
        for at in (own..own + PROBES).map(|at| at % ROOM) {
            match &self.kept[at] {
                Some(key) if key.stands_at(&here) => return Ok(Key::Kept(Id(at as u16))),
                Some(_) => {}
                None => {
                    free = Some(at);
                    break;
                }
            }
        }
        let object = text(py, name.bytes())?;
        let Some(key) = Kept::new(name.bytes(), object.clone().unbind()) else { return Ok(Key::Own(object)) };
        let Some(at) = free else {
            self.is_full = true;
            return Ok(Key::Own(object));
        };
        self.kept[at] = Some(key);
        Ok(Key::Kept(Id(at as u16)))
    }
}
