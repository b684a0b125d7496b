//! One response of the service: its bytes, read as dict or table on demand.

use crate::dicts::objects;
use crate::table::PyTable;
use crate::{convert, errors, memory, pickle};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyMemoryView, PyString, PyType};
use reader::{Body, JsonError, Value};
use sideline::config::Sport;
use sideline::error::Error;
use sideline::fetch::{self, DriftField};
use sideline::transport::Response;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tables::Context;

/// One response of the service: `to_dict()` loses nothing, `table()` and `to_*()` have fixed, typed columns.
///
/// It is read as the body's dict is: by key, `len`, iteration.
///
/// >>> stats = client.stats(session_id)
/// >>> stats.status, stats.tables
/// (200, ['player_stats', 'box_score'])
/// >>> len(stats["teams"])
/// 2
#[pyclass(frozen, module = "sideline", name = "Payload")]
pub struct PyPayload {
    inner: fetch::Payload,
    /// The unknown fields found on arrival.
    drift_fields: Vec<DriftField>,
    /// Cache for `[]`, `len` and iteration; `to_dict` returns a new object each time, which the caller may change.
    read: PyOnceLock<Py<PyAny>>,
}

/// The elements of a list of a body, as iterator over their bytes.
#[pyclass(frozen, module = "sideline", name = "Elements")]
pub struct Elements {
    payload: fetch::Payload,
    spans: Vec<Range<usize>>,
    next: AtomicUsize,
}

#[pymethods]
impl Elements {
    fn __len__(&self) -> usize {
        self.spans.len()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        errors::guard(py, || {
            let Some(span) = self.spans.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return Ok(None) };
            let body = self.payload.body().map_err(|error| errors::raise(py, error))?;
            Ok(body.as_slice().get(span.clone()).map(|bytes| PyBytes::new(py, bytes)))
        })
    }
}

/// The places of a list's elements in a body, which is checked as a document.
fn elements(body: &Body, name: Option<&str>) -> Result<Option<Vec<Range<usize>>>, JsonError> {
    let padded_body = body.with_padding();
    let document = Value::of(body, &padded_body)?;
    let span = |value: Value<'_>| value.offset()..value.offset() + value.raw().len();
    let list = match name {
        Some(name) => document.get(name),
        None if document.is_object() => return Ok(Some(vec![span(document)])),
        None => Some(document),
    };
    Ok(list.filter(Value::is_array).map(|list| list.elements().map(span).collect()))
}

impl PyPayload {
    pub fn new(inner: fetch::Payload) -> Self {
        PyPayload::with_drift(inner, Vec::new())
    }

    pub fn inner(&self) -> &fetch::Payload {
        &self.inner
    }

    pub fn with_drift(inner: fetch::Payload, drift_fields: Vec<DriftField>) -> Self {
        PyPayload { inner, drift_fields, read: PyOnceLock::new() }
    }

    /// The first response; `None` for a body from a file.
    fn first(&self) -> Option<&Response> {
        self.inner.parts.first()
    }

    /// Several responses are merged on first access.
    fn body(&self, py: Python<'_>) -> PyResult<&Body> {
        let body = errors::guard(py, || py.detach(|| self.inner.body()).map_err(|e| self.raise(py, e)))?;
        Ok(body)
    }

    fn decode(&self, py: Python<'_>, name: Option<String>, columns: Option<&Bound<'_, PyAny>>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let columns = convert::columns(columns)?;
            self.ensure(py, &memory::TABLES)?;
            let batches = py.detach(|| self.inner.table(name.as_deref(), columns.as_deref()));
            let batches = batches.map_err(|e| self.raise(py, e))?;
            let name = name.or_else(|| self.inner.tables().first().map(|name| (*name).to_owned()));
            PyTable::new(py, name.unwrap_or_default(), batches)
        })
    }

    /// Raises `MemoryError` where what is made of its bodies cannot fit; short bodies are not checked.
    pub(crate) fn ensure(&self, py: Python<'_>, estimate: &memory::Estimate) -> PyResult<()> {
        let bodies: Vec<&[u8]> = py.detach(|| self.inner.bodies().collect());
        estimate.ensure_allowed(py, &bodies, self.inner.max_memory())?;
        py.detach(|| estimate.ensure_fits(&bodies)).map_err(PyMemoryError::new_err)
    }

    /// The exception of this body.
    pub(crate) fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        let payload = matches!(error, Error::Decode(_)).then(|| self.inner.clone());
        raise(py, fetch::FetchError { error, payload })
    }

    fn object<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.read.get_or_try_init(py, || self.to_dict(py).map(Bound::unbind)).map(|object| object.bind(py))
    }
}

#[pymethods]
impl PyPayload {
    /// Make a payload from a body in a file: ``Payload.from_bytes("stats", raw, session_id="...")``.
    ///
    /// The ids are those of the request, which the body does not repeat. Neither does a body of stats show its sport,
    /// which decides the columns of `box_score`. Raises `ValueError` for an unknown operation or sport.
    ///
    /// >>> teams = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 7, "name": "Comets"}]}')
    /// >>> teams.table(columns=["team_id", "name"]).to_dicts()
    /// [{'team_id': 7, 'name': 'Comets'}]
    #[classmethod]
    #[pyo3(signature = (operation, raw, *, session_id = None, game_id = None, team_id = None, sport = "basketball"))]
    fn from_bytes(
        class: &Bound<'_, PyType>,
        operation: &str,
        raw: &Bound<'_, PyAny>,
        session_id: Option<&Bound<'_, PyAny>>,
        game_id: Option<&Bound<'_, PyAny>>,
        team_id: Option<&Bound<'_, PyAny>>,
        sport: &str,
    ) -> PyResult<Self> {
        let py = class.py();
        errors::guard(py, || {
            let sport = parse_sport(sport)?;
            let mut context = Context::default();
            for (name, id) in [("session_id", session_id), ("game_id", game_id), ("team_id", team_id)] {
                if let Some(id) = id {
                    context = context.with(name, convert::id(name, id)?);
                }
            }
            if raw.is_instance_of::<PyString>() {
                return Err(PyTypeError::new_err("raw is bytes, not str: open the file with \"rb\""));
            }
            let raw = match raw.cast::<PyBytes>() {
                Ok(bytes) => bytes.clone(),
                // Only from objects with bytes: a parsed dict or a path would be converted to wrong ones.
                Err(_) => match PyMemoryView::from(raw) {
                    Ok(view) => py.get_type::<PyBytes>().call1((view,))?.cast_into()?,
                    Err(_) => {
                        let text = format!("raw must be bytes, the body as it was sent, not {}", convert::kind(raw));
                        return Err(PyTypeError::new_err(text));
                    }
                },
            };
            let raw = raw.as_bytes();
            memory::ensure(raw.len())?;
            fetch::Payload::from_bytes(operation, raw, sport, context)
                .map(PyPayload::new)
                .map_err(|e| errors::raise(py, e))
        })
    }

    /// Return the JSON as Python objects, with nothing dropped; a new object at each call.
    ///
    /// >>> client.teams().to_dict()["teams"][0]["sport"]
    /// 'BASKETBALL'
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || {
            self.ensure(py, &memory::OBJECTS)?;
            objects(py, self.body(py)?, &self.inner.scrubber()).map_err(|error| {
                match error.value(py).hasattr("offset") {
                    Ok(true) => with_payload(py, &error, self.inner.clone()),
                    _ => error,
                }
            })
        })
    }

    /// The bytes of the body.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        errors::guard(py, || Ok(PyBytes::new(py, self.body(py)?.as_slice())))
    }

    /// Number of bytes received, in all responses; merges nothing.
    #[getter]
    fn _size(&self) -> usize {
        self.inner.size()
    }

    /// Return the elements of a list of the body, each as its bytes, or `None` if it has none of this name.
    ///
    /// Without a name they are the elements of the body itself, or the body if it is an object. The whole body is checked
    /// first, and no element is converted: a long list takes no more memory than its bytes.
    fn _elements(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Option<Elements>> {
        errors::guard(py, || {
            let body = self.body(py)?;
            let spans = py.detach(|| elements(body, name));
            let spans = spans.map_err(|error| {
                let error = errors::raise(py, Error::decode(error.into(), &self.inner.scrubber()));
                with_payload(py, &error, self.inner.clone())
            })?;
            Ok(spans.map(|spans| Elements { payload: self.inner.clone(), spans, next: AtomicUsize::new(0) }))
        })
    }

    /// Return one table of the body, by default the first. `columns` limits and orders the columns.
    ///
    /// With `tz`, such as "America/New_York", timestamps are shown in that zone; the instants stay.
    ///
    /// With `names=True` each column of ids is followed, at the end of the table, by one of names: `team_name`,
    /// `player_name`, or of lists of ids `player_names`. They are those of the same body; where it has none they are null.
    /// Raises `DecodeError` where the body does not fit, `ValueError` where there is no such table or column.
    ///
    /// >>> client.stats(session_id).table("box_score", columns=["team_id", "player_id", "PTS"]).column_names
    /// ['team_id', 'player_id', 'PTS']
    ///
    /// >>> client.shots(session_id).table(columns=["player_id", "points"], names=True).column_names
    /// ['player_id', 'points', 'player_name']
    #[pyo3(signature = (name = None, columns = None, names = false, tz = None))]
    fn table<'py>(
        slf: &Bound<'py, Self>,
        name: Option<String>,
        columns: Option<&Bound<'py, PyAny>>,
        names: bool,
        tz: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let table = Bound::new(py, slf.get().decode(py, name, columns)?)?.into_any();
        if !names && tz.is_none() {
            return Ok(table);
        }
        errors::guard(py, || {
            let rows = py.import("sideline._rows")?;
            let table = match names {
                true => rows.call_method1("with_names", (table, PyList::new(py, [slf])?))?,
                false => table,
            };
            match tz {
                Some(tz) => rows.call_method1("in_zone", (table, tz)),
                None => Ok(table),
            }
        })
    }

    /// Return every table of the body by name, the default first: like `table(name)` for each, but in one pass.
    ///
    /// Raises `DecodeError` where one of them does not fit; `table(name)` still returns the others.
    ///
    /// >>> tables = client.possessions(session_id).all_tables()
    /// >>> list(tables)
    /// ['possessions', 'possession_events', 'possession_players']
    fn all_tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        errors::guard(py, || {
            self.ensure(py, &memory::TABLES)?;
            let results = py.detach(|| self.inner.all_tables()).map_err(|e| self.raise(py, e))?;
            let tables = PyDict::new(py);
            for (name, batches) in results {
                tables.set_item(name, Bound::new(py, PyTable::new(py, name.to_owned(), batches)?)?)?;
            }
            Ok(tables)
        })
    }

    /// Return a `pyarrow.Table`, like ``table(name, columns).to_arrow()``.
    ///
    /// >>> client.teams().to_arrow().schema.field("team_id").type
    /// DataType(int64)
    #[pyo3(signature = (name = None, columns = None))]
    fn to_arrow<'py>(
        &self,
        py: Python<'py>,
        name: Option<String>,
        columns: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        PyTable::frame(Bound::new(py, self.decode(py, name, columns)?)?, "to_arrow")
    }

    /// Return a `polars.DataFrame`, like ``table(name, columns).to_polars()``.
    ///
    /// >>> client.teams().to_polars()["team_id"].is_unique().all()
    /// True
    #[pyo3(signature = (name = None, columns = None))]
    fn to_polars<'py>(
        &self,
        py: Python<'py>,
        name: Option<String>,
        columns: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        PyTable::frame(Bound::new(py, self.decode(py, name, columns)?)?, "to_polars")
    }

    /// Return a `pandas.DataFrame`, like ``table(name, columns).to_pandas()``.
    ///
    /// >>> client.teams().to_pandas().team_id.is_unique
    /// True
    #[pyo3(signature = (name = None, columns = None))]
    fn to_pandas<'py>(
        &self,
        py: Python<'py>,
        name: Option<String>,
        columns: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        PyTable::frame(Bound::new(py, self.decode(py, name, columns)?)?, "to_pandas")
    }

    /// The names of the tables in this body, the default first.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.inner.tables()
    }

    /// Return the paths of the unknown fields in the body: fields that the service added or renamed.
    ///
    /// >>> sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 7, "mascot": "owl"}]}').unknown_fields()
    /// ['teams[].mascot']
    fn unknown_fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        errors::guard(py, || {
            let paths = py.detach(|| self.inner.unknown_fields()).map_err(|e| self.raise(py, e))?;
            Ok(paths.into_iter().map(String::from).collect())
        })
    }

    /// The unknown fields found on arrival: path, JSON type, byte offset, and whether they are new to the client.
    #[getter]
    fn _drift_fields(&self) -> Vec<(&str, Option<&'static str>, usize, bool)> {
        self.drift_fields.iter().map(|field| (&*field.path, field.kind, field.offset, field.is_new)).collect()
    }

    /// Return the exception that `strict=True` raises; `None` without unknown fields.
    fn _refusal<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let Some(error) = fetch::refusal(&slf.get().drift_fields) else { return Ok(None) };
        let error = errors::raise(py, error).into_value(py).into_bound(py).into_any();
        error.setattr("payload", slf)?;
        Ok(Some(error))
    }

    /// The single responses if several were merged, else this one alone.
    #[getter]
    fn parts(slf: Bound<'_, Self>) -> PyResult<Vec<Py<PyPayload>>> {
        let py = slf.py();
        if let Some(singles) = slf.get().inner.singles() {
            return singles.map(|single| Py::new(py, PyPayload::new(single))).collect();
        }
        Ok(vec![slf.unbind()])
    }

    /// The operation that returned the payload.
    #[getter]
    fn operation(&self) -> &'static str {
        self.inner.operation
    }

    /// The sport whose columns `box_score` has.
    #[getter]
    fn _sport(&self) -> &'static str {
        self.inner.sport.name()
    }

    /// The HTTP status; `None` for a body from a file. For merged responses this and the following are those of the
    /// first one.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.first().map(|first| first.status)
    }

    /// The response headers: a mapping with case-insensitive names. A repeated header has its values joined by `, `;
    /// `request_id` is the first one that is not empty.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        headers(py, self.first().map_or(&[], |first| first.headers.as_slice()))
    }

    /// The service's request id, if any.
    #[getter]
    fn request_id(&self) -> Option<&str> {
        self.first()?.request_id.as_deref()
    }

    /// The URL that responded, without secrets.
    #[getter]
    fn url(&self) -> Option<&str> {
        self.first().map(|first| &*first.url)
    }

    /// Time from the start of the first attempt to the last byte: a `datetime.timedelta`.
    #[getter]
    fn elapsed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.first().map(|first| timedelta(py, first.elapsed)).transpose()
    }

    /// Time of the complete response: an aware `datetime.datetime`.
    #[getter]
    fn fetched_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(first) = self.first() else { return Ok(None) };
        datetime(py, first.fetched_at).map(Some)
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.object(key.py())?.get_item(key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.object(py)?.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.object(py)?.try_iter()?.into_any())
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.object(key.py())?.contains(key)
    }

    /// Always true, although an empty dict is false.
    fn __bool__(&self) -> bool {
        true
    }

    /// Return the keys of `to_dict()`.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.call_method0("keys")
    }

    /// Return the values of `to_dict()`.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.call_method0("values")
    }

    /// Return the items of `to_dict()`.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.call_method0("items")
    }

    /// Return the value of a key of `to_dict()`, or the default.
    ///
    /// >>> client.teams().get("no such key", "nothing")
    /// 'nothing'
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(&self, key: &Bound<'py, PyAny>, default: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        self.object(py)?.call_method1("get", (key, default))
    }

    /// Pickled as received, so that a multiprocessing worker can return it.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, pickle::PayloadState)> {
        let py = slf.py();
        let restore = slf.get_type().getattr("_restore")?;
        Ok((restore, pickle::state(py, &slf.get().inner).map_err(|e| errors::raise(py, e))?))
    }

    #[staticmethod]
    #[pyo3(signature = (*state))]
    fn _restore(py: Python<'_>, state: pickle::PayloadState) -> PyResult<Self> {
        pickle::restore(state).map(PyPayload::new).map_err(|e| errors::raise(py, e))
    }

    fn __repr__(&self) -> String {
        let mut parts = vec![self.inner.operation.to_owned()];
        if let Some(first) = self.first() {
            parts.push(format!("{} {}", first.status, first.url));
        }
        parts.push(format!("{} bytes", self.inner.size()));
        if self.inner.parts.len() > 1 {
            parts.push(format!("{} answers joined", self.inner.parts.len()));
        }
        let tables = self.inner.tables();
        parts.push(if tables.is_empty() { "no table".to_owned() } else { format!("tables: {}", tables.join(", ")) });
        format!("<sideline.Payload {}>", parts.join("; "))
    }

    fn _repr_html_<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("payload_html", (slf,)))
    }
}

/// Raises `ValueError` for another word.
pub(crate) fn parse_sport(text: &str) -> PyResult<Sport> {
    let error = || PyValueError::new_err(format!("sport is \"basketball\" or \"football\", not {text:?}"));
    Sport::parse(text).ok_or_else(error)
}

/// The exception of a failed call, with its response.
pub(crate) fn raise(py: Python<'_>, failed: fetch::FetchError) -> PyErr {
    let error = errors::raise(py, failed.error);
    failed.payload.map_or_else(|| error.clone_ref(py), |payload| with_payload(py, &error, payload))
}

/// The same exception with its response.
fn with_payload(py: Python<'_>, error: &PyErr, payload: fetch::Payload) -> PyErr {
    let value = error.value(py);
    let attempts = payload.parts.first().map_or(1, |part| part.attempts);
    let attach = || {
        value.setattr("payload", Bound::new(py, PyPayload::new(payload))?)?;
        value.setattr("attempts", attempts)
    };
    attach().err().unwrap_or_else(|| error.clone_ref(py))
}

/// A mapping of headers, in the order received.
pub(crate) fn headers<'py>(py: Python<'py>, headers: &[(String, impl AsRef<str>)]) -> PyResult<Bound<'py, PyAny>> {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_ref())).collect();
    errors::guard(py, || py.import("sideline._client")?.getattr("Headers")?.call1((headers,)))
}

/// 1970-01-01 UTC.
pub(crate) fn epoch(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let datetime = py.import("datetime")?;
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))
}

/// An aware `datetime`.
pub(crate) fn datetime(py: Python<'_>, at: SystemTime) -> PyResult<Bound<'_, PyAny>> {
    epoch(py)?.call_method1("__add__", (timedelta(py, at.duration_since(UNIX_EPOCH).unwrap_or_default())?,))
}

fn timedelta(py: Python<'_>, duration: Duration) -> PyResult<Bound<'_, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("seconds", duration.as_secs())?;
    fields.set_item("microseconds", duration.subsec_micros())?;
    py.import("datetime")?.getattr("timedelta")?.call((), Some(&fields))
}
