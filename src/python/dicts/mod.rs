//! JSON as Python objects, built while it is read.
//!
//! | module | content |
//! |---|---|
//! | [`keys`] | the keys of objects: created once, predicted before they are read |
//! | [`strings`] | strings: short ones are cached |
//!
//! Uses only the stable ABI, so that one wheel serves every Python, and has no unsafe code of its own.

mod keys;
mod strings;

use crate::python::errors;
use crate::scrub::Scrubber;
use crate::table::{self, Body, Cursor, DecodeError, ErrorKind, Number};
use jiter::JsonValue;
use keys::{KeyCache, KeyId, ObjectKey};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};
use std::sync::{Mutex, PoisonError};
use strings::StringCache;

/// Maximum nesting of arrays and objects.
const MAX_DEPTH: u8 = 200;

/// A body's JSON as Python objects.
pub fn objects<'py>(py: Python<'py>, body: &Body, scrubber: &Scrubber) -> PyResult<Bound<'py, PyAny>> {
    let padded = body.padded();
    let Some(cursor) = table::start(&padded) else { return Err(errors::internal(py, "a body without its padding")) };
    read(py, cursor).map_err(|stopped| match stopped {
        ParseError::Python(error) => *error,
        ParseError::Body => refused(py, body, scrubber),
    })
}

/// Reports what is wrong with a body, by a second reader.
#[cold]
fn refused(py: Python<'_>, body: &Body, scrubber: &Scrubber) -> PyErr {
    let json = table::json(body);
    let Err(error) = JsonValue::parse(json, false) else {
        return errors::internal(py, "one reader refuses a body that another one reads");
    };
    let offset = body.len() - json.len() + error.index;
    let path = table::json_path(body, offset);
    let message = error.error_type.to_string();
    errors::raise(py, DecodeError::Body { message, path, offset }.scrubbed(scrubber))
}

enum ParseError {
    /// The body is not JSON, or exceeds the maximum nesting or number length.
    Body,
    Python(Box<PyErr>),
}

impl From<ErrorKind> for ParseError {
    fn from(_: ErrorKind) -> Self {
        ParseError::Body
    }
}

impl From<PyErr> for ParseError {
    fn from(error: PyErr) -> Self {
        ParseError::Python(Box::new(error))
    }
}

/// Caches shared by all bodies, of bounded size.
struct Caches {
    keys: KeyCache,
    strings: StringCache,
}

/// Taken while a body is read: building objects can start the garbage collector, and so Python code that reads a body,
/// on this thread or another; a re-entrant reader finds the cache empty and starts a new one.
///
/// It holds strings and is never dropped. Since Python 3.12 no subinterpreter can load this module; those of 3.11 share
/// one lock and one allocator, so a string outlives the interpreter that made it.
static CACHES: Mutex<Option<Box<Caches>>> = Mutex::new(None);

fn read<'py>(py: Python<'py>, cursor: Cursor<'_>) -> Result<Bound<'py, PyAny>, ParseError> {
    let caches = CACHES.lock().unwrap_or_else(PoisonError::into_inner).take();
    let caches = caches.unwrap_or_else(|| Box::new(Caches { keys: KeyCache::new(), strings: StringCache::new() }));
    let mut builder = Builder { py, cursor, caches, elements: Vec::new(), depth: 0 };
    let value = builder.body();
    let Builder { mut caches, .. } = builder;
    if caches.keys.is_full() {
        caches.keys = KeyCache::new();
    }
    let _older = CACHES.lock().unwrap_or_else(PoisonError::into_inner).replace(caches);
    value
}

struct Builder<'py, 'a> {
    py: Python<'py>,
    cursor: Cursor<'a>,
    caches: Box<Caches>,
    /// The elements of all open arrays, innermost last.
    elements: Vec<Bound<'py, PyAny>>,
    depth: u8,
}

impl<'py> Builder<'py, '_> {
    fn body(&mut self) -> Result<Bound<'py, PyAny>, ParseError> {
        self.cursor.whitespace();
        let value = self.value(KeyId::NONE)?;
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(value) } else { Err(ParseError::Body) }
    }

    /// Reads a value. `under` is its key, or that of its array.
    #[inline(always)]
    fn value(&mut self, under: KeyId) -> Result<Bound<'py, PyAny>, ParseError> {
        let py = self.py;
        Ok(match self.cursor.peek_byte() {
            b'"' => self.caches.strings.next(py, &mut self.cursor)?.into_any(),
            b'{' => self.object(under)?.into_any(),
            b'[' => self.array(under)?.into_any(),
            b'n' if self.cursor.consume_null() => py.None().into_bound(py),
            b't' if self.cursor.consume_literal(b"true") => PyBool::new(py, true).to_owned().into_any(),
            b'f' if self.cursor.consume_literal(b"false") => PyBool::new(py, false).to_owned().into_any(),
            _ => match self.cursor.number()? {
                Number::Int(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any(),
                Number::Float(value) => PyFloat::new(py, value).into_any(),
                Number::Long(token) => long(py, token)?,
            },
        })
    }

    #[inline(never)]
    fn object(&mut self, under: KeyId) -> Result<Bound<'py, PyDict>, ParseError> {
        self.open();
        let dict = PyDict::new(self.py);
        let mut before = KeyId::NONE;
        let mut more = self.cursor.has_first_item(b'}');
        while more {
            let key = self.caches.keys.next(self.py, &mut self.cursor, under, before)?;
            before = key.id();
            let value = self.element(before)?;
            match key {
                ObjectKey::CachedKey(id) => dict.set_item(self.caches.keys.get(id).ok_or(ParseError::Body)?, value)?,
                ObjectKey::Own(key) => dict.set_item(key, value)?,
            }
            more = self.cursor.has_next_item(b'}')?;
        }
        self.depth -= 1;
        Ok(dict)
    }

    #[inline(never)]
    fn array(&mut self, under: KeyId) -> Result<Bound<'py, PyList>, ParseError> {
        self.open();
        let first = self.elements.len();
        let mut more = self.cursor.has_first_item(b']');
        while more {
            let value = self.element(under)?;
            self.elements.push(value);
            more = self.cursor.has_next_item(b']')?;
        }
        self.depth -= 1;
        Ok(PyList::new(self.py, self.elements.drain(first..))?)
    }

    /// Consumes the bracket of an array or object.
    fn open(&mut self) {
        self.cursor.advance(1);
        self.depth += 1;
    }

    /// A value in an array or object.
    #[inline(always)]
    fn element(&mut self, under: KeyId) -> Result<Bound<'py, PyAny>, ParseError> {
        if self.depth > MAX_DEPTH {
            return Err(ParseError::Body);
        }
        self.value(under)
    }
}

/// Converts an integer of more than 64 bits in parts, since the limit of `sys.set_int_max_str_digits` does not apply.
#[cold]
fn long<'py>(py: Python<'py>, token: &[u8]) -> Result<Bound<'py, PyAny>, ParseError> {
    let (negative, digits) = token.strip_prefix(b"-").map_or((false, token), |digits| (true, digits));
    let mut value = 0u64.into_pyobject(py).map_err(PyErr::from)?.into_any();
    for part in digits.chunks(18) {
        let number = part.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
        value = value.mul(10u64.pow(part.len() as u32))?.add(number)?;
    }
    Ok(if negative { value.neg()? } else { value })
}
