//! Many ids in one call: fetched by a sync or async client, and read as one table.

use crate::client::{CoreClient, with_pickle_hint};
use crate::payload::PyPayload;
use crate::table::PyTable;
use crate::{capsule, convert, errors, memory, runtime, to_dicts, trace};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use sideline::error::{Error, RequestErrorKind, Result};
use sideline::fetch::{self, Counters, UnitOutcome};
use sideline::operation::{self, Value};
use sideline::resource::coverage::Covered;
use sideline::scrub::Scrubbed;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Operation, name of the id argument, ids, other arguments, timeout, and the game of each id, if any.
type BatchArguments<'py> = (
    String,
    String,
    Vec<Bound<'py, PyAny>>,
    Bound<'py, PyDict>,
    Option<convert::Limits>,
    Option<Vec<Bound<'py, PyAny>>>,
);

/// The progress of a running batch.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreProgress(Arc<Counters>);

#[pymethods]
impl CoreProgress {
    #[new]
    fn new() -> Self {
        CoreProgress(Arc::default())
    }

    #[getter]
    fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }
}

/// The row of `coverage` of one unit.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoverageRow(Covered);

#[pymethods]
impl CoverageRow {
    #[new]
    fn new(py: Python<'_>, state: &str) -> PyResult<Self> {
        let to_error = |error| errors::internal(py, &format!("a row of coverage cannot be read back: {error}"));
        serde_json::from_str(state).map(CoverageRow).map_err(to_error)
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(String,)> {
        serde_json::to_string(&self.0).map(|state| (state,)).map_err(|error| errors::internal(py, &error.to_string()))
    }

    #[getter]
    fn status(&self) -> &str {
        &self.0.status
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows
    }

    #[getter]
    fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Return the same row with another status.
    fn with_status(&self, status: String) -> Self {
        CoverageRow(Covered { status, ..self.0.clone() })
    }
}

/// The outcome of each unit of a batch. Python objects are made on first access: making a row and a payload for each
/// unit takes a tenth of a small request, while no socket is served.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreUnits {
    /// Never locked while Python code runs: a process forked meanwhile would wait forever.
    units: Mutex<UnitList>,
    is_plain: bool,
}

enum UnitList {
    Outcomes(Vec<UnitOutcome>),
    Made(Py<PyList>),
}

impl CoreUnits {
    fn units(&self) -> MutexGuard<'_, UnitList> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CoreUnits {
    /// Whether every unit has a response without unknown fields, so that none needs a closer look.
    #[getter]
    fn plain(&self) -> bool {
        self.is_plain
    }

    /// Return for each unit its response, its error, and its row of `coverage`.
    fn to_list(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        errors::guard(py, || {
            let done = match &*self.units() {
                UnitList::Made(list) => return Ok(list.clone_ref(py)),
                UnitList::Outcomes(done) => done.clone(),
            };
            let list = done.into_iter().map(|done| unit(py, done)).collect::<PyResult<Vec<_>>>()?;
            let list = PyList::new(py, list)?.unbind();
            // Another thread may have been faster: return its units.
            let before = match &mut *self.units() {
                UnitList::Made(first) => return Ok(first.clone_ref(py)),
                units => std::mem::replace(units, UnitList::Made(list.clone_ref(py))),
            };
            drop(before);
            Ok(list)
        })
    }
}

/// Return ids as plain integers and texts. Any other id is kept unchanged if it is hashable, else converted to text; it
/// fails only its own unit.
#[pyfunction]
#[pyo3(name = "_ids")]
pub(crate) fn ids<'py>(
    py: Python<'py>,
    name: &str,
    values: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let plain = |(value, id): (&Bound<'py, PyAny>, fetch::PlannedId)| match id {
        Ok(Value::Text(_)) if value.is_exact_instance_of::<PyString>() => Ok(value.clone()),
        Ok(Value::Int(number)) => Ok(number.into_pyobject(py)?.into_any()),
        Ok(Value::Text(text)) => Ok(text.into_pyobject(py)?.into_any()),
        Err(_) if value.hash().is_ok() => Ok(value.clone()),
        Err((text, _)) => Ok(text.into_pyobject(py)?.into_any()),
        Ok(other) => Err(errors::internal(py, &format!("an id that is {other}"))),
    };
    errors::guard(py, || values.iter().zip(convert::ids(name, &values)?).map(plain).collect())
}

/// Return the ids of an Arrow array, from any library; `None` if the object has no Arrow data.
#[pyfunction]
#[pyo3(name = "_arrow_ids")]
pub(crate) fn arrow_ids<'py>(
    py: Python<'py>,
    name: &str,
    data: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyList>>> {
    errors::guard(py, || {
        if !capsule::is_arrow(data)? {
            return Ok(None);
        }
        let chunks = capsule::read_ids(name, data)?;
        to_dicts::column(py, chunks.iter()).map(Some)
    })
}

/// Return a time in epoch milliseconds; accepts the same values as operations.
#[pyfunction]
#[pyo3(name = "_epoch_ms")]
pub(crate) fn epoch_ms(py: Python<'_>, name: &str, time: &Bound<'_, PyAny>) -> PyResult<i64> {
    errors::guard(py, || convert::epoch_ms(name, time))
}

/// Raise `ValueError` for a range that is swapped, empty or outside the years 1990 to 2100.
#[pyfunction]
#[pyo3(name = "_check_range")]
pub(crate) fn check_range(py: Python<'_>, start: &Bound<'_, PyAny>, end: &Bound<'_, PyAny>) -> PyResult<()> {
    errors::guard(py, || {
        let (start, end) = (convert::epoch_ms("start", start)?, convert::epoch_ms("end", end)?);
        operation::ranges::check(Some(start), Some(end)).map_err(|error| errors::raise(py, error))
    })
}

/// Wait for all units. `tick` is called about twenty times a second, and an exception in it ends the call.
#[pyfunction]
#[pyo3(name = "_batch_sync")]
pub(crate) fn batch_sync<'py>(
    py: Python<'py>,
    client: &CoreClient,
    arguments: BatchArguments<'py>,
    strict: bool,
    progress: &CoreProgress,
    tick: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    errors::guard(py, || {
        let future = fetched(py, client, &arguments, strict, progress)?;
        let tick = |py: Python<'_>| tick.as_ref().map_or(Ok(()), |tick| tick.call0(py).map(|_| ()));
        into_units(py, runtime::wait_with(py, future, tick)?)
    })
}

#[pyfunction]
#[pyo3(name = "_batch_async")]
pub(crate) fn batch_async<'py>(
    py: Python<'py>,
    client: &CoreClient,
    arguments: BatchArguments<'py>,
    strict: bool,
    progress: &CoreProgress,
) -> PyResult<Bound<'py, PyAny>> {
    errors::guard(py, || {
        let future = fetched(py, client, &arguments, strict, progress)?;
        runtime::awaitable(py, future, |py, done| into_units(py, done)?.into_py_any(py))
    })
}

/// Return one table over many payloads; `shape` gives the schema if there are none.
#[pyfunction]
#[pyo3(name = "_batch_table", signature = (shape, payloads, name, columns))]
pub(crate) fn batch_table(
    py: Python<'_>,
    shape: &PyPayload,
    payloads: Vec<Py<PyPayload>>,
    name: Option<String>,
    columns: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    errors::guard(py, || {
        let columns = convert::columns(columns)?;
        let payloads: Vec<fetch::Payload> = payloads.iter().map(|payload| payload.get().inner().clone()).collect();
        let bodies: Vec<&[u8]> = payloads.iter().flat_map(fetch::Payload::bodies).collect();
        let max_memory = payloads.iter().filter_map(fetch::Payload::max_memory).min();
        memory::TABLES.ensure_allowed(py, &bodies, max_memory)?;
        memory::TABLES.ensure_begins(&bodies)?;
        let bytes_begun = AtomicUsize::new(0);
        let ensure = |bodies: &[&[u8]], bytes: usize| {
            let fits = memory::TABLES.ensure_next(&bytes_begun, bodies).and_then(|()| memory::probe(bytes));
            fits.map_err(|message| RequestErrorKind::Memory.error(Scrubbed::local(message)))
        };
        let shape = shape.inner();
        let output = py.detach(|| fetch::table_of(shape, &payloads, name.as_deref(), columns.as_deref(), ensure));
        let (name, batches) = output.map_err(|error| errors::raise(py, error))?;
        PyTable::new(py, name, batches)
    })
}

/// Return the table `coverage` with these rows.
#[pyfunction]
#[pyo3(name = "_coverage_table")]
pub(crate) fn coverage_table(py: Python<'_>, rows: Vec<Py<CoverageRow>>) -> PyResult<PyTable> {
    errors::guard(py, || {
        let rows: Vec<&Covered> = rows.iter().map(|row| &row.get().0).collect();
        let batch = py.detach(|| fetch::coverage(&rows)).map_err(|error| errors::raise(py, error))?;
        PyTable::new(py, "coverage".to_owned(), vec![batch])
    })
}

/// Checks the arguments now; the returned future sends the requests and holds no Python objects.
fn fetched(
    py: Python<'_>,
    client: &CoreClient,
    (operation, name, ids, arguments, timeout, game_ids): &BatchArguments<'_>,
    strict: bool,
    progress: &CoreProgress,
) -> PyResult<impl Future<Output = Fetched> + Send + 'static + use<>> {
    let ids = convert::ids(name, ids)?;
    let game_ids = game_ids.as_deref().map_or(Ok(Vec::new()), convert::game_ids)?;
    let rest = convert::arguments(operation, arguments)?;
    let timeout = convert::timeout(*timeout)?;
    let span = trace::current(py)?;
    let prepare = || {
        let transport = client.transport()?.with_timeout(timeout).with_span(span.clone());
        let plan = fetch::plan(operation, name, &ids, &game_ids, &rest, client.config());
        Ok::<_, Error>((transport, client.drift_record()?, plan?))
    };
    let (transport, drift, (shape, units)) = prepare().map_err(|error| client.raise(py, error))?;
    let (is_unpickled, counters) = (client.is_unpickled(), progress.0.clone());
    Ok(async move {
        let done = fetch::run_all(&transport, &drift, units, strict, &counters).await;
        done.map(|done| (shape, done)).map_err(|error| with_pickle_hint(error, is_unpickled))
    })
}

/// A payload without a response, and the units.
type Fetched = Result<(fetch::Payload, Vec<UnitOutcome>)>;

fn into_units(py: Python<'_>, fetched: Fetched) -> PyResult<Bound<'_, PyTuple>> {
    let (shape, done) = fetched.map_err(|error| errors::raise(py, error))?;
    let is_plain = |done: &UnitOutcome| {
        done.error.is_none() && done.response.as_ref().is_some_and(|(_, fields)| fields.is_empty())
    };
    let is_plain = done.iter().all(is_plain);
    let units = CoreUnits { units: Mutex::new(UnitList::Outcomes(done)), is_plain };
    (PyPayload::new(shape), units).into_pyobject(py)
}

fn unit<'py>(py: Python<'py>, done: UnitOutcome) -> PyResult<Bound<'py, PyTuple>> {
    let payload =
        done.response.map(|(payload, fields)| Bound::new(py, PyPayload::with_drift(payload, fields))).transpose()?;
    let error = done.error.map(|error| errors::raise(py, error).into_value(py).into_bound(py));
    if let (Some(payload), Some(error)) = (&payload, &error) {
        error.setattr("payload", payload)?;
    }
    (payload, error, CoverageRow(done.coverage)).into_pyobject(py)
}
