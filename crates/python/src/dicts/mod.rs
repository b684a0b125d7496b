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

use crate::errors;
use keys::{KeyCache, KeyId, ObjectKey};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};
use reader::{Body, Cursor, ErrorKind, JsonError, Number, json_path};
use sideline::error::Error;
use sideline::scrub::Scrubber;
use std::sync::{Mutex, PoisonError};
use strings::StringCache;
use tables::DecodeError;

/// Maximum nesting of arrays and objects.
const MAX_DEPTH: u8 = 200;

/// A body's JSON as Python objects.
pub(crate) fn objects<'py>(py: Python<'py>, body: &Body, scrubber: &Scrubber) -> PyResult<Bound<'py, PyAny>> {
    let padded_body = body.with_padding();
    let Some(cursor) = reader::start(&padded_body) else {
        return Err(errors::internal(py, "a body without its padding"));
    };
    read(py, cursor).map_err(|(error, offset)| match error {
        ParseError::Python(error) => *error,
        ParseError::Body(fault) => errors::raise(py, Error::decode(decode_error(body, fault, offset), scrubber)),
    })
}

/// What is wrong with a body: the error of its JSON, which tables report too, or a limit of the dicts.
#[cold]
fn decode_error(body: &Body, fault: BodyError, offset: usize) -> DecodeError {
    let error = reader::syntax_error(body).unwrap_or_else(|| match fault {
        BodyError::Json(fault) => fault.at(body, offset),
        BodyError::TooDeep => JsonError {
            message: format!("arrays and objects are nested more than {MAX_DEPTH} deep"),
            path: json_path::at(body, offset),
            offset,
        },
    });
    error.into()
}

enum ParseError {
    Body(BodyError),
    Python(Box<PyErr>),
}

/// Why a body cannot be read.
#[derive(Clone, Copy)]
enum BodyError {
    /// It is not JSON, or has a number of too many digits.
    Json(ErrorKind),
    TooDeep,
}

impl From<ErrorKind> for ParseError {
    fn from(fault: ErrorKind) -> Self {
        ParseError::Body(BodyError::Json(fault))
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

/// Errors come with their offset.
fn read<'py>(py: Python<'py>, cursor: Cursor<'_>) -> Result<Bound<'py, PyAny>, (ParseError, usize)> {
    let caches = CACHES.lock().unwrap_or_else(PoisonError::into_inner).take();
    let caches = caches.unwrap_or_else(|| Box::new(Caches { keys: KeyCache::new(), strings: StringCache::new() }));
    let mut builder = Builder { py, cursor, caches, elements: Vec::new(), depth: 0 };
    let value = builder.body();
    let Builder { mut caches, cursor, .. } = builder;
    if caches.keys.is_full() {
        caches.keys = KeyCache::new();
    }
    let _older = CACHES.lock().unwrap_or_else(PoisonError::into_inner).replace(caches);
    value.map_err(|error| (error, cursor.position()))
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
        if self.cursor.is_at_end() { Ok(value) } else { Err(ErrorKind::Trailing.into()) }
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
                ObjectKey::CachedKey(id) => dict.set_item(
                    self.caches.keys.get(id).ok_or_else(|| {
                        ParseError::Python(Box::new(errors::internal(self.py, "a key that is not cached")))
                    })?,
                    value,
                )?,
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
            return Err(ParseError::Body(BodyError::TooDeep));
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
