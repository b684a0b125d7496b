//! JSON as Python objects, built while it is read.
//!
//! | file | what lives there |
//! |---|---|
//! | [`keys`] | the keys of objects: made once, guessed before they are read |
//! | [`strings`] | texts: the short ones are kept |
//!
//! Only calls of the stable ABI, so that one wheel serves every Python; and no unsafe code of its own.

mod keys;
mod strings;

use crate::python::errors;
use crate::scrub::Scrubber;
use crate::table::{self, Body, Cursor, DecodeError, Fault, Number};
use jiter::JsonValue;
use keys::{Id, Key, Keys};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};
use std::sync::{Mutex, PoisonError};
use strings::Strings;

/// How many arrays and objects may lie around a value.
const DEEPEST: u8 = 200;

/// A body's JSON as Python objects.
pub fn objects<'py>(py: Python<'py>, body: &Body, scrubber: &Scrubber) -> PyResult<Bound<'py, PyAny>> {
    let padded = body.padded();
    let Some(cursor) = table::start(&padded) else { return Err(errors::internal(py, "a body without its padding")) };
    read(py, cursor).map_err(|stopped| match stopped {
        Stopped::Python(error) => *error,
        Stopped::Body => refused(py, body, scrubber),
    })
}

/// What is wrong with a body, by a second reader that looks for nothing else.
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

/// Why there is no object.
enum Stopped {
    /// The body is no JSON, or deeper or longer in a number than is read.
    Body,
    Python(Box<PyErr>),
}

impl From<Fault> for Stopped {
    fn from(_: Fault) -> Self {
        Stopped::Body
    }
}

impl From<PyErr> for Stopped {
    fn from(error: PyErr) -> Self {
        Stopped::Python(Box::new(error))
    }
}

/// What earlier bodies taught. Its size has a limit.
struct Known {
    keys: Keys,
    strings: Strings,
}

/// Taken while a body is read, for building objects can start the garbage collector, which can run Python code, which can
/// read a body or let another thread do so: who finds nothing begins with nothing.
///
/// It holds strings and is never dropped. From Python 3.12 on no subinterpreter can load this module; those of 3.11 share one
/// lock and one allocator, so that a string outlives the interpreter which made it.
static KNOWN: Mutex<Option<Box<Known>>> = Mutex::new(None);

fn read<'py>(py: Python<'py>, cursor: Cursor<'_>) -> Result<Bound<'py, PyAny>, Stopped> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    let known = known.unwrap_or_else(|| Box::new(Known { keys: Keys::new(), strings: Strings::new() }));
    let mut builder = Builder { py, cursor, known, elements: Vec::new(), depth: 0 };
    let value = builder.body();
    let Builder { mut known, .. } = builder;
    if known.keys.is_full() {
        known.keys = Keys::new();
    }
    let _older = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).replace(known);
    value
}

struct Builder<'py, 'a> {
    py: Python<'py>,
    cursor: Cursor<'a>,
    known: Box<Known>,
    /// Those of the arrays that are open, one array's after the other's.
    elements: Vec<Bound<'py, PyAny>>,
    depth: u8,
}

impl<'py> Builder<'py, '_> {
    fn body(&mut self) -> Result<Bound<'py, PyAny>, Stopped> {
        self.cursor.whitespace();
        let value = self.value(Id::NONE)?;
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(value) } else { Err(Stopped::Body) }
    }

    /// Over a value. `under` is its key, or that of the array that holds it.
    #[inline(always)]
    fn value(&mut self, under: Id) -> Result<Bound<'py, PyAny>, Stopped> {
        let py = self.py;
        Ok(match self.cursor.byte() {
            b'"' => self.known.strings.next(py, &mut self.cursor)?.into_any(),
            b'{' => self.object(under)?.into_any(),
            b'[' => self.array(under)?.into_any(),
            b'n' if self.cursor.null() => py.None().into_bound(py),
            b't' if self.cursor.take_word(b"true") => PyBool::new(py, true).to_owned().into_any(),
            b'f' if self.cursor.take_word(b"false") => PyBool::new(py, false).to_owned().into_any(),
            _ => match self.cursor.number()? {
                Number::Int(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any(),
                Number::Float(value) => PyFloat::new(py, value).into_any(),
                Number::Long(token) => long(py, token)?,
            },
        })
    }

    #[inline(never)]
    fn object(&mut self, under: Id) -> Result<Bound<'py, PyDict>, Stopped> {
        self.open();
        let dict = PyDict::new(self.py);
        let mut before = Id::NONE;
        let mut more = self.cursor.opened(b'}');
        while more {
            let key = self.known.keys.next(self.py, &mut self.cursor, under, before)?;
            before = key.id();
            let value = self.element(before)?;
            match key {
                Key::Kept(id) => dict.set_item(self.known.keys.get(id).ok_or(Stopped::Body)?, value)?,
                Key::Own(key) => dict.set_item(key, value)?,
            }
            more = self.cursor.another(b'}')?;
        }
        self.depth -= 1;
        Ok(dict)
    }

    #[inline(never)]
    fn array(&mut self, under: Id) -> Result<Bound<'py, PyList>, Stopped> {
        self.open();
        let first = self.elements.len();
        let mut more = self.cursor.opened(b']');
        while more {
            let value = self.element(under)?;
            self.elements.push(value);
            more = self.cursor.another(b']')?;
        }
        self.depth -= 1;
        Ok(PyList::new(self.py, self.elements.drain(first..))?)
    }

    /// Over the bracket of an array or object.
    fn open(&mut self) {
        self.cursor.advance(1);
        self.depth += 1;
    }

    /// A value in an array or object.
    #[inline(always)]
    fn element(&mut self, under: Id) -> Result<Bound<'py, PyAny>, Stopped> {
        if self.depth > DEEPEST {
            return Err(Stopped::Body);
        }
        self.value(under)
    }
}

/// A whole number of more than 64 bits, part by part: the limit of `sys.set_int_max_str_digits` is not ours.
#[cold]
fn long<'py>(py: Python<'py>, token: &[u8]) -> Result<Bound<'py, PyAny>, Stopped> {
    let (negative, digits) = token.strip_prefix(b"-").map_or((false, token), |digits| (true, digits));
    let mut value = 0u64.into_pyobject(py).map_err(PyErr::from)?.into_any();
    for part in digits.chunks(18) {
        let number = part.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
        value = value.mul(10u64.pow(part.len() as u32))?.add(number)?;
    }
    Ok(if negative { value.neg()? } else { value })
}
