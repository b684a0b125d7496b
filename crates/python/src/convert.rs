//! Converts Python values to the arguments of operations. The accepted types depend on the argument's name; operations
//! check the values.

use crate::errors;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyMapping, PyMemoryView, PyString};
use sideline::config::MAX_TIMEOUT;
use sideline::fetch::PlannedId;
use sideline::operation::argument::{Argument, Kind};
use sideline::operation::{self, Arguments, Value};
use sideline::transport::CallTimeout;
use std::time::Duration;

/// The arguments of an operation by their names; an optional one that is `None` is not given, and one that takes several is
/// repeated.
pub(crate) fn arguments(operation: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Arguments> {
    let declarations = operation::arguments_of(operation);
    let mut arguments = Vec::with_capacity(keywords.len());
    for (name, value) in keywords.iter() {
        let name = name.cast::<PyString>()?.to_str()?;
        match declarations.iter().find(|argument| argument.name == name) {
            Some(argument) if !argument.is_required && value.is_none() => {}
            Some(argument) => convert(&mut arguments, argument, &value)?,
            None => return Err(PyTypeError::new_err(format!("{operation} takes no argument {name:?}"))),
        }
    }
    Ok(arguments)
}

/// Seconds to connect, to read and in total; the first two may be the client's.
pub(crate) type Limits = (Option<f64>, Option<f64>, f64);

/// The limits of one call: connect and read where they are named, and total.
pub(crate) fn timeout(limits: Option<Limits>) -> PyResult<Option<CallTimeout>> {
    let Some((connect, read, total)) = limits else { return Ok(None) };
    let seconds = |seconds: f64| {
        let duration = Duration::try_from_secs_f64(seconds).ok();
        let error =
            || PyValueError::new_err(format!("timeout is {seconds}; it must be more than 0 seconds, and finite"));
        duration.filter(|duration| !duration.is_zero() && *duration <= MAX_TIMEOUT).ok_or_else(error)
    };
    let (connect, read) = (connect.map(seconds).transpose()?, read.map(seconds).transpose()?);
    Ok(Some(CallTimeout { connect, read, total: seconds(total)? }))
}

fn convert(arguments: &mut Arguments, argument: &Argument, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let name = argument.name;
    let value = match argument.kind {
        Kind::Parameters => return parameters(arguments, value),
        Kind::ForeignIds | Kind::Choices(_) if is_sequence(value) => {
            for item in value.try_iter()? {
                arguments.push((name.to_owned(), scalar(name, argument.kind, &item?)?));
            }
            return Ok(());
        }
        Kind::Time => time(name, value)?,
        Kind::Flag => flag(name, value)?,
        kind => scalar(name, kind, value)?,
    };
    arguments.push((name.to_owned(), value));
    Ok(())
}

/// The query of `get`: each pair under its own name, a list once for each of its elements.
fn parameters(arguments: &mut Arguments, params: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(params) = params.cast::<PyMapping>() else {
        return Err(PyTypeError::new_err(format!(
            "params is a mapping of names to values, such as {{\"from\": 1}}, not {}",
            kind(params)
        )));
    };
    for pair in params.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let type_error =
            |_| PyTypeError::new_err(format!("params is a mapping of names to values, not of {}", kind(&name)));
        let name: String = name.extract().map_err(type_error)?;
        if is_sequence(&value) {
            for value in value.try_iter()? {
                arguments.push((name.clone(), parameter(&name, &value?)?));
            }
        } else {
            arguments.push((name.clone(), parameter(&name, &value)?));
        }
    }
    Ok(())
}

fn parameter(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        flag(name, value)
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Value::Float(value.extract()?))
    } else {
        scalar(name, Kind::Parameters, value)
    }
}

/// An id, a text or a whole number. NumPy's integers are numbers here, its strings are strings; an id may be a `UUID`.
fn scalar(name: &str, expected: Kind, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let is_id = expected == Kind::Id;
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.extract()?));
    }
    if is_id && kind(value) == "UUID" {
        return Ok(Value::Text(value.str()?.extract()?));
    }
    if let Some(number) = integer(name, value)? {
        return Ok(Value::Int(number));
    }
    if is_id && is_sequence(value) {
        return Err(PyTypeError::new_err(format!(
            "{name} takes one id, not {}: pass one of its ids, and call once for each",
            kind(value)
        )));
    }
    let expected = match expected {
        Kind::Id => "an id (int, str or UUID)",
        Kind::ForeignIds => "an id (int or str) or a list of one or two",
        Kind::Text | Kind::Choice(_) => "a str",
        Kind::Choices(_) => "a str or several",
        Kind::Count => "an int",
        Kind::Time | Kind::Flag | Kind::Parameters => "a str or an int",
    };
    let is_float = is_id && kind(value).starts_with("float");
    let hint = if is_float {
        ": a column of pandas with missing ids has floats; write column.dropna().astype(\"int64\")"
    } else {
        ""
    };
    Err(PyTypeError::new_err(format!("{name} is {expected}, not {}{hint}", kind(value))))
}

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // NumPy's bool is not a subclass of Python's.
    if value.is_instance_of::<PyBool>() || value.get_type().name()?.to_cow()?.starts_with("bool") {
        return Ok(Value::Bool(value.is_truthy()?));
    }
    Err(PyTypeError::new_err(format!("{name} is True or False, not {}", kind(value))))
}

/// Epoch seconds of the years 2001 to 2286.
const EPOCH_SECONDS_RANGE: std::ops::Range<i64> = 1_000_000_000..10_000_000_000;

/// An aware `datetime`, a `date`, ISO 8601 or epoch milliseconds.
pub(crate) fn time(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.extract()?));
    }
    if let Some(milliseconds) = integer(name, value)? {
        // Read as milliseconds it would be a time in early 1970 and match nothing.
        if EPOCH_SECONDS_RANGE.contains(&milliseconds) {
            return Err(PyValueError::new_err(format!(
                "{name} {milliseconds} reads like seconds: in epoch milliseconds that time is {milliseconds}000"
            )));
        }
        return Ok(Value::Int(milliseconds));
    }
    if let Ok(seconds) = value.cast::<PyFloat>()
        && EPOCH_SECONDS_RANGE.contains(&(seconds.value() as i64))
    {
        let milliseconds = (seconds.value() * 1000.0) as i64;
        return Err(PyValueError::new_err(format!(
            "{name} {value} reads like seconds: in epoch milliseconds that time is {milliseconds}"
        )));
    }
    if kind(value) == "datetime64" {
        return numpy_time(name, value);
    }
    let datetime = value.py().import("datetime")?;
    // pandas.NaT subclasses datetime; it is rejected below as a text.
    if value.is_instance(&datetime.getattr("datetime")?)? && kind(value) != "NaTType" {
        return datetime_ms(name, value).map(Value::Int);
    }
    if value.is_instance(&datetime.getattr("date")?)? {
        return Ok(Value::Text(value.call_method0("isoformat")?.extract()?));
    }
    Err(PyTypeError::new_err(format!(
        "{name} is an aware datetime, a date, an ISO 8601 string or epoch milliseconds (int), not {}",
        kind(value)
    )))
}

/// NumPy times have no zone; a bare date means midnight UTC, as any date does.
fn numpy_time(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text: String = value.str()?.extract()?;
    if text.len() == "2026-11-01".len() && !text.contains('T') {
        return Ok(Value::Text(text));
    }
    let Some((day, time)) = text.split_once('T').filter(|_| text != "NaT") else {
        return Err(PyValueError::new_err(format!("{name} is a numpy.datetime64 that names no day: {text}")));
    };
    let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time };
    let time = if time.len() == 2 { format!("{time}:00") } else { time.to_owned() };
    Err(PyValueError::new_err(format!(
        "{name} is a numpy.datetime64, which has no time zone; where it is UTC write \"{day}T{time}Z\", \
         or of a column pandas.to_datetime(column, utc=True)"
    )))
}

/// A time in epoch milliseconds, for functions that are not operations.
pub(crate) fn epoch_ms(name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    operation::time(name, time(name, value)?).map_err(|error| errors::raise(value.py(), error))
}

/// Many ids, as plain integers and texts; any other value as its text and the reason why it cannot be sent.
pub(crate) fn ids(name: &str, values: &[Bound<'_, PyAny>]) -> PyResult<Vec<PlannedId>> {
    values.iter().map(|value| one_id(name, value)).collect()
}

/// The game of each id, if any.
pub(crate) fn game_ids(values: &[Bound<'_, PyAny>]) -> PyResult<Vec<Option<PlannedId>>> {
    let optional_id = |value: &Bound<'_, PyAny>| match value.is_none() {
        true => Ok(None),
        false => one_id("game_id", value).map(Some),
    };
    values.iter().map(optional_id).collect()
}

fn one_id(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PlannedId> {
    // Unwraps an Arrow scalar. The exact check first: `hasattr` on a string is slower than the rest together.
    let plain = if !value.is_exact_instance_of::<PyString>() && value.hasattr("as_py")? {
        value.call_method0("as_py")?
    } else {
        value.clone()
    };
    match scalar(name, Kind::Id, &plain) {
        Ok(id) => Ok(Ok(id)),
        Err(error) => {
            let text = value.str().and_then(|text| text.extract::<String>()).unwrap_or_else(|_| kind(value));
            Ok(Err((text.chars().take(80).collect(), error.value(value.py()).to_string())))
        }
    }
}

/// An id as text.
pub(crate) fn id(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(match scalar(name, Kind::Id, value)? {
        Value::Text(text) => text,
        Value::Int(number) => number.to_string(),
        other => return Err(PyTypeError::new_err(format!("{name} is an id, not {other:?}"))),
    })
}

/// Column names, or one.
pub(crate) fn columns(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<String>>> {
    let Some(value) = value else { return Ok(None) };
    if let Ok(name) = value.cast::<PyString>() {
        return Ok(Some(vec![name.extract()?]));
    }
    let type_error = |kind: String| PyTypeError::new_err(format!("columns is a list of names, not {kind}"));
    let mut names: Vec<String> = Vec::new();
    for name in value.try_iter().map_err(|_| type_error(kind(value)))? {
        let name = name?;
        let name = name.extract().map_err(|_| type_error(format!("of {}", kind(&name))))?;
        if names.contains(&name) {
            return Err(PyValueError::new_err(format!("columns has {name:?} twice: write each name once")));
        }
        names.push(name);
    }
    Ok(Some(names))
}

/// Epoch milliseconds of a `datetime`, by integer arithmetic: `timestamp()` is a float.
fn datetime_ms(name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let datetime = value.py().import("datetime")?;
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    if value.call_method0("utcoffset")?.is_none() {
        let iso: String = value.call_method0("isoformat")?.extract()?;
        return Err(PyValueError::new_err(format!(
            "{name} is a datetime without a time zone; where it is UTC write {}, or \"{iso}Z\"",
            utc_literal(value)?
        )));
    }
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    let since = value.call_method1("__sub__", (epoch,))?;
    let part = |name: &str| since.getattr(name)?.extract::<i64>();
    Ok((part("days")? * 86_400 + part("seconds")?) * 1000 + part("microseconds")?.div_euclid(1000))
}

/// `datetime(2026, 11, 1, tzinfo=timezone.utc)`: the literal that the user should write.
fn utc_literal(naive: &Bound<'_, PyAny>) -> PyResult<String> {
    let part = |name: &str| naive.getattr(name)?.extract::<i64>();
    let mut parts = vec![part("year")?, part("month")?, part("day")?, part("hour")?, part("minute")?, part("second")?];
    parts.push(part("microsecond")?);
    while parts.len() > 3 && parts.last() == Some(&0) {
        parts.pop();
    }
    if parts.len() == 4 {
        // An hour alone looks like a mistake.
        parts.push(0);
    }
    let parts: Vec<String> = parts.iter().map(i64::to_string).collect();
    Ok(format!("datetime({}, tzinfo=timezone.utc)", parts.join(", ")))
}

/// An integer, if it is one: `__index__` separates integers from floats with an integer value.
fn integer(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} is not a bool")));
    }
    let number = if value.is_instance_of::<PyInt>() {
        value.clone()
    } else {
        // An array of one element has `__index__` too, but it raises or warns.
        if is_sequence(value) || !value.hasattr("__index__")? {
            return Ok(None);
        }
        match value.call_method0("__index__") {
            Ok(number) => number,
            Err(_) => return Ok(None),
        }
    };
    number.extract().map(Some).map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyValueError::new_err(format!("{name} is too large: {value} does not fit into 64 bits"))
        } else {
            error
        }
    })
}

/// A number of rows; more than there can be are all.
pub(super) fn count_of_rows(rows: &Bound<'_, PyAny>) -> PyResult<usize> {
    rows.extract().or_else(|error: PyErr| match error.is_instance_of::<PyOverflowError>(rows.py()) {
        true if rows.gt(0)? => Ok(usize::MAX),
        true => Err(PyValueError::new_err(format!("rows is {rows}; it must be a number of rows from 0 up"))),
        false => Err(error),
    })
}

/// Whether a value has elements and is not a text: lists, tuples, ranges, arrays, Series.
fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    // Python iterates bytes as numbers.
    let scalar = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>();
    // A NumPy scalar has `__array__` and `shape`, but cannot be iterated.
    !scalar && value.try_iter().is_ok()
}

/// The type of a value, for a message.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    if value.is_none() {
        return "None".to_owned();
    }
    value.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string())
}
