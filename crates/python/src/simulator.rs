//! The service on loopback, for Python.

use crate::dicts::objects;
use crate::{convert, errors, fault_options, interpreter_exit, payload};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use reader::Body;
use sideline::error::Error;
use sideline::scrub::Scrubber;
use sideline_simulator::{
    Privileges, RecordedResponse, RecordedStream, Recording, Seen, Simulator, SimulatorOptions, Sport, StreamFault,
    StreamFaultKind,
};
use std::fmt::Display;
use std::time::Duration;

/// Path, query, status and body.
type WireResponse = (String, Vec<(String, String)>, u16, Vec<u8>);
/// Path, game, and messages with their milliseconds since the connection.
type WireStream = (String, String, Vec<(u64, Vec<u8>)>);

/// The core of `sideline.Simulator`.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreSimulator {
    inner: Simulator,
}

#[pymethods]
impl CoreSimulator {
    #[new]
    #[pyo3(signature = (*, seed, sport, teams, games, now, port, location_rate, noise_m, dropout, clock_offset_s, wrong_defenders, bench_tags, recording))]
    #[allow(clippy::too_many_arguments, reason = "they are a season's options, by name")]
    fn new(
        py: Python<'_>,
        seed: i64,
        sport: &str,
        teams: i64,
        games: i64,
        now: Option<&Bound<'_, PyAny>>,
        port: i64,
        location_rate: i64,
        noise_m: f64,
        dropout: f64,
        clock_offset_s: f64,
        wrong_defenders: f64,
        bench_tags: bool,
        recording: Option<(Vec<WireResponse>, Vec<WireStream>)>,
    ) -> PyResult<Self> {
        let sport = match sport {
            "basketball" => Sport::Basketball,
            "football" => Sport::Football,
            other => {
                return Err(PyValueError::new_err(format!("sport is \"basketball\" or \"football\", not {other:?}")));
            }
        };
        let now = now.map(|now| convert::epoch_ms("now", now)).transpose()?;
        errors::guard(py, || {
            let options = SimulatorOptions {
                seed: in_range("seed", seed)?,
                sport,
                teams: in_range("teams", teams)?,
                games: in_range("games", games)?,
                now,
                port: in_range("port", port)?,
                location_rate: in_range("location_rate", location_rate)?,
                noise_m,
                dropout,
                clock_offset_s,
                wrong_defenders,
                bench_tags,
                recording: recording.map(recording_of),
            };
            let inner = py.detach(|| Simulator::start(options)).map_err(|error| raise(py, error))?;
            Ok(CoreSimulator { inner })
        })
    }

    #[getter]
    fn base_url(&self) -> String {
        self.inner.base_url()
    }

    #[getter]
    fn websocket_url(&self) -> String {
        self.inner.websocket_url()
    }

    #[getter]
    fn broadcast_base_url(&self) -> String {
        self.inner.broadcast_base_url()
    }

    #[getter]
    fn username(&self) -> String {
        self.inner.username()
    }

    #[getter]
    fn secret(&self) -> String {
        self.inner.secret()
    }

    #[getter]
    fn api_key(&self) -> String {
        self.inner.api_key()
    }

    fn teams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || wire(py, py.detach(|| self.inner.teams_json())))
    }

    fn games<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || wire(py, py.detach(|| self.inner.games_json())))
    }

    /// Return the request log: a dict for each request that got a response or was cut.
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        errors::guard(py, || {
            let seen = py.detach(|| self.inner.requests());
            PyList::new(py, seen.iter().map(|seen| request(py, seen)).collect::<PyResult<Vec<_>>>()?)
        })
    }

    /// Add a fault; `options` are the arguments of `faults.add`, by name.
    fn add_fault(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<()> {
        errors::guard(py, || {
            let fault = fault_options::fault(options)?;
            self.inner.faults().add(fault).map_err(|error| raise(py, error))
        })
    }

    /// Return the positions of the faults that no request met.
    fn unused_faults(&self) -> Vec<usize> {
        self.inner.faults().unused()
    }

    fn clear_faults(&self) {
        self.inner.faults().clear();
    }

    /// Play a game; with `None` for `speed`, at the pace of the readers.
    fn play(&self, py: Python<'_>, game_id: &Bound<'_, PyAny>, speed: Option<f64>) -> PyResult<()> {
        errors::guard(py, || {
            let game_id = convert::id("game_id", game_id)?;
            py.detach(|| self.inner.play(&game_id, speed)).map_err(|error| raise(py, error))
        })
    }

    fn correct(
        &self,
        py: Python<'_>,
        game_id: &Bound<'_, PyAny>,
        player_id: i64,
        stat: &str,
        delta: i64,
    ) -> PyResult<()> {
        errors::guard(py, || {
            let game_id = convert::id("game_id", game_id)?;
            py.detach(|| self.inner.correct(&game_id, player_id, stat, delta)).map_err(|error| raise(py, error))
        })
    }

    fn revoke_tokens(&self, token: Option<&str>) {
        self.inner.tokens().revoke(token);
    }

    #[getter]
    fn heartbeat(&self) -> f64 {
        self.inner.streams().heartbeat()
    }

    #[setter]
    fn set_heartbeat(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.inner.streams().set_heartbeat(seconds).map_err(|error| raise(py, error))
    }

    #[getter]
    fn with_ids(&self) -> bool {
        self.inner.streams().with_ids()
    }

    #[setter]
    fn set_with_ids(&self, with_ids: bool) {
        self.inner.streams().set_with_ids(with_ids);
    }

    #[pyo3(signature = (path, *, after, times, seconds, heartbeats))]
    fn add_stall(
        &self,
        py: Python<'_>,
        path: &str,
        after: i64,
        times: Option<i64>,
        seconds: Option<f64>,
        heartbeats: bool,
    ) -> PyResult<()> {
        self.add_stream_fault(py, path, after, times, StreamFaultKind::Stall { heartbeats, seconds })
    }

    #[pyo3(signature = (path, *, after, times, data))]
    fn add_bytes(&self, py: Python<'_>, path: &str, after: i64, times: Option<i64>, data: Vec<u8>) -> PyResult<()> {
        self.add_stream_fault(py, path, after, times, StreamFaultKind::Bytes(data))
    }

    #[pyo3(signature = (path, *, times, bytes_per_second))]
    fn add_slowness(&self, py: Python<'_>, path: &str, times: Option<i64>, bytes_per_second: i64) -> PyResult<()> {
        let bytes_per_second = in_range("bytes_per_second", bytes_per_second)?;
        self.add_stream_fault(py, path, 0, times, StreamFaultKind::Slow { bytes_per_second })
    }

    /// Return the positions of the faults that no stream met.
    fn unused_stream_faults(&self) -> Vec<usize> {
        self.inner.streams().unused()
    }

    fn clear_stream_faults(&self) {
        self.inner.streams().clear();
    }

    fn cut_streams(&self, reset: bool) {
        self.inner.streams().cut(reset);
    }

    fn add_credentials(
        &self,
        py: Python<'_>,
        username: &str,
        secret: &str,
        stats: bool,
        shots: bool,
        restricted_teams: Vec<i64>,
    ) -> PyResult<()> {
        let privileges = Privileges { stats, shots, restricted_teams };
        self.inner.add_credentials(username, secret, privileges).map_err(|error| raise(py, error))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        errors::guard(py, || {
            py.detach(|| self.inner.close());
            Ok(())
        })
    }
}

impl Drop for CoreSimulator {
    fn drop(&mut self) {
        // Detached: it waits for threads that may log, and a log record attaches.
        Python::attach(|py| interpreter_exit::run_attached(py, || py.detach(|| self.inner.close())));
    }
}

impl CoreSimulator {
    fn add_stream_fault(
        &self,
        py: Python<'_>,
        path: &str,
        after: i64,
        times: Option<i64>,
        kind: StreamFaultKind,
    ) -> PyResult<()> {
        let (path, after) = (path.to_owned(), in_range("after", after)?);
        let times = times.map(|times| in_range("times", times)).transpose()?;
        let fault = StreamFault { path, kind, after, times };
        self.inner.streams().add(fault).map_err(|error| raise(py, error))
    }
}

fn recording_of((responses, streams): (Vec<WireResponse>, Vec<WireStream>)) -> Recording {
    let responses = responses.into_iter().map(|(path, query, status, body)| RecordedResponse {
        path,
        query,
        status,
        body: body.into(),
    });
    let streams = streams.into_iter().map(|(path, game_id, messages)| RecordedStream {
        path,
        game_id,
        messages: messages.into_iter().map(|(after, text)| (Duration::from_millis(after), text.into())).collect(),
    });
    Recording { responses: responses.collect(), streams: streams.collect() }
}

/// The exception of an error of the simulator: that of the client's error of the same name.
fn raise(py: Python<'_>, error: sideline_simulator::Error) -> PyErr {
    errors::raise(
        py,
        match error {
            sideline_simulator::Error::Configuration(text) => Error::configuration(text),
            sideline_simulator::Error::Argument(text) => Error::Argument(text),
        },
    )
}

/// A number in the range of its type: a `ValueError` with the name, where pyo3 would raise a bare `OverflowError`.
pub(super) fn in_range<T: TryFrom<i64>>(name: &str, number: i64) -> PyResult<T> {
    T::try_from(number).map_err(|_| PyValueError::new_err(format!("{name} is out of range: {number}")))
}

/// The objects of JSON that the service would send.
fn wire<'py>(py: Python<'py>, json: Result<Vec<u8>, impl Display>) -> PyResult<Bound<'py, PyAny>> {
    let json = json.map_err(|error| errors::internal(py, &error.to_string()))?;
    objects(py, &Body::from(json), &Scrubber::default())
}

fn request<'py>(py: Python<'py>, seen: &Seen) -> PyResult<Bound<'py, PyDict>> {
    let request = PyDict::new(py);
    request.set_item("method", &seen.method)?;
    request.set_item("path", &seen.path)?;
    request.set_item("query", query(py, &seen.query)?)?;
    request.set_item("headers", payload::headers(py, &seen.headers)?)?;
    request.set_item("status", seen.status)?;
    Ok(request)
}

/// The query as a dict; a repeated name has a list of values.
fn query<'py>(py: Python<'py>, pairs: &[(String, String)]) -> PyResult<Bound<'py, PyDict>> {
    let query = PyDict::new(py);
    for (name, _) in pairs {
        let values: Vec<&str> = pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect();
        match values[..] {
            [value] => query.set_item(name, value)?,
            _ => query.set_item(name, values)?,
        }
    }
    Ok(query)
}
