//! The core of the sync and the async client: `call_sync` waits, `call_async` returns an awaitable.

use crate::payload::{self, PyPayload};
use crate::table::PyTable;
use crate::{convert, errors, interpreter_exit, logging, runtime, trace};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyMapping};
use sideline::config::{ClientOptions, Config, FurtherHeader, Secret, SettingSource, Timeouts};
use sideline::error::{Error, LocalError, Result};
use sideline::fetch::{self, Drift, DriftField};
use sideline::fork_safe::ForkSafe;
use sideline::live;
use sideline::operation::{self, Arguments, Value};
use sideline::transport::{CallTimeout, Probe, Span, Stage, Transport, certificate};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The settings of a client, and its connections in this process.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreClient {
    config: Config,
    transport: ForkSafe<Transport>,
    /// A forked child starts its own: the parent's may be locked.
    drift: ForkSafe<Arc<Drift>>,
    closed: AtomicBool,
    /// Whether it was unpickled; a pickle carries no secrets.
    is_unpickled: bool,
}

#[pymethods]
impl CoreClient {
    /// `options` by the names of the client's parameters; missing or `None` values are looked up in the environment.
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        prepare_interpreter(py)?;
        errors::guard(py, || {
            let is_unpickled = option(options, "unpickled")?.unwrap_or(false);
            // The Python half keeps it; here its type is checked, like that of the others.
            option::<bool>(options, "strict")?;
            let options = read_options(options)?;
            let config = options.resolve(&|name| std::env::var(name).ok()).map_err(|e| errors::raise(py, e))?;
            let (transport, drift, closed) = (ForkSafe::new(), ForkSafe::new(), AtomicBool::new(false));
            let client = CoreClient { config, transport, drift, closed, is_unpickled };
            // Now, so that an unreadable certificate file fails here and not at the first call. Detached, because the
            // HTTP client logs from its threads, and a log record attaches.
            py.detach(|| client.transport().map(|_| ())).map_err(|e| errors::raise(py, e))?;
            Ok(client)
        })
    }

    fn call_sync(
        &self,
        py: Python<'_>,
        operation: &str,
        arguments: &Bound<'_, PyDict>,
        timeout: Option<convert::Limits>,
    ) -> PyResult<PyPayload> {
        errors::guard(py, || {
            let arguments = convert::arguments(operation, arguments)?;
            let future = self
                .request(operation, &arguments, convert::timeout(timeout)?, trace::current(py)?)
                .map_err(|e| self.raise(py, e))?;
            into_payload(py, runtime::wait(py, future)?)
        })
    }

    fn call_async<'py>(
        &self,
        py: Python<'py>,
        operation: &str,
        arguments: &Bound<'py, PyDict>,
        timeout: Option<convert::Limits>,
    ) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || {
            let arguments = convert::arguments(operation, arguments)?;
            let future = self
                .request(operation, &arguments, convert::timeout(timeout)?, trace::current(py)?)
                .map_err(|e| self.raise(py, e))?;
            runtime::awaitable(py, future, |py, fetched| into_payload(py, fetched)?.into_py_any(py))
        })
    }

    fn token_sync(
        &self,
        py: Python<'_>,
        game_id: &Bound<'_, PyAny>,
        timeout: Option<convert::Limits>,
    ) -> PyResult<String> {
        errors::guard(py, || {
            let future = self.token(game_id, convert::timeout(timeout)?)?;
            token_text(py, runtime::wait(py, future)?)
        })
    }

    fn token_async<'py>(
        &self,
        py: Python<'py>,
        game_id: &Bound<'py, PyAny>,
        timeout: Option<convert::Limits>,
    ) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || {
            let future = self.token(game_id, convert::timeout(timeout)?)?;
            runtime::awaitable(py, future, |py, token| token_text(py, token)?.into_py_any(py))
        })
    }

    /// Return the name, value without secrets, and source of each setting.
    fn settings(&self) -> Vec<(&'static str, Option<String>, &'static str)> {
        let source = |source| match source {
            SettingSource::Explicit => "argument",
            SettingSource::Variable(name) => name,
            SettingSource::Default => "default",
        };
        self.config.settings().into_iter().map(|(name, value, from)| (name, value, source(from))).collect()
    }

    /// Return the proxy of requests to the REST API, and the setting or variable that names it.
    fn proxy(&self, py: Python<'_>) -> PyResult<Option<(String, &'static str)>> {
        errors::guard(py, || self.transport().and_then(|transport| transport.proxy()).map_err(|e| self.raise(py, e)))
    }

    /// Raise the error of the first signed request (or the first of the Broadcast API) if a credential is missing or
    /// the client is closed.
    #[pyo3(signature = (*, broadcast = false))]
    fn check_credentials(&self, py: Python<'_>, broadcast: bool) -> PyResult<()> {
        let check = || self.transport()?.check_credentials(operation::Auth::of_api(broadcast));
        errors::guard(py, || check().map_err(|e| self.raise(py, e)))
    }

    /// Return an id as errors show it: short, without the client's secrets and without control characters.
    fn mask_id(&self, text: &str) -> String {
        self.config.scrubber().id(text).to_string()
    }

    /// Return the string to sign of a request for the teams, at this moment.
    fn string_to_sign(&self, py: Python<'_>) -> PyResult<String> {
        let sign = || self.transport()?.string_to_sign();
        errors::guard(py, || sign().map_err(|e| self.raise(py, e)))
    }

    fn probe_sync<'py>(&self, py: Python<'py>, timeout: Option<convert::Limits>) -> PyResult<Bound<'py, PyDict>> {
        errors::guard(py, || {
            let future = self.probe(convert::timeout(timeout)?).map_err(|e| self.raise(py, e))?;
            describe_probe(py, runtime::wait(py, future)?)
        })
    }

    fn probe_async<'py>(&self, py: Python<'py>, timeout: Option<convert::Limits>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || {
            let future = self.probe(convert::timeout(timeout)?).map_err(|e| self.raise(py, e))?;
            runtime::awaitable(py, future, |py, probe| describe_probe(py, probe)?.into_py_any(py))
        })
    }

    /// Return the table `drift`.
    fn drift(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| self.drift_record()?.table()).map_err(|e| self.raise(py, e))?;
            PyTable::new(py, "drift".to_owned(), vec![batch])
        })
    }

    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::Release);
        if let Some(transport) = self.transport.get() {
            interpreter_exit::run_attached(py, || py.detach(|| transport.close()));
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    #[getter]
    fn base_url(&self) -> &str {
        &self.config.base_url
    }

    /// Return the names and values of `headers=`; `None` for a credential.
    #[getter]
    fn headers(&self) -> Vec<(&str, Option<&str>)> {
        let headers = self.config.headers.iter();
        headers.map(|header| (header.name.as_str(), header.public_value())).collect()
    }

    #[getter]
    fn username(&self) -> Option<&str> {
        self.config.username.as_deref()
    }

    #[getter]
    fn environment(&self) -> &'static str {
        self.config.environment.name()
    }

    #[getter]
    fn sport(&self) -> &'static str {
        self.config.sport.name()
    }
}

impl CoreClient {
    /// The connections of this process: a forked child opens its own.
    pub(super) fn transport(&self) -> Result<Transport> {
        if self.closed() {
            return Err(Error::Closed);
        }
        self.transport.get_or_try_init(|| Transport::new(self.config.clone())).cloned()
    }

    /// Requests a websocket token.
    fn token(
        &self,
        game_id: &Bound<'_, PyAny>,
        timeout: Option<CallTimeout>,
    ) -> PyResult<impl Future<Output = Result<Secret>> + Send + 'static + use<>> {
        let arguments: Arguments = vec![("game_id".to_owned(), Value::Text(convert::id("game_id", game_id)?))];
        let span = trace::current(game_id.py())?;
        let prepare = || {
            Ok((
                self.transport()?.with_timeout(timeout).with_span(span.clone()),
                operation::call("subscription_token", &arguments, &self.config)?,
            ))
        };
        let (transport, call) = prepare().map_err(|e| self.raise(game_id.py(), e))?;
        Ok(async move { live::subscription_token(&transport, call.first()?).await })
    }

    /// Finds out how far a connection gets.
    fn probe(
        &self,
        timeout: Option<CallTimeout>,
    ) -> Result<impl Future<Output = Result<Probe>> + Send + 'static + use<>> {
        let transport = self.transport()?;
        Ok(async move { transport.probe(timeout.map(|timeout| timeout.total)).await })
    }

    /// The exception of an error, whose text never shows a secret of this client.
    pub(super) fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        let scrubber =
            self.transport.get().map_or_else(|| self.config.scrubber(), |transport| transport.scrubber().clone());
        errors::raise(py, error.scrub(&scrubber))
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn is_unpickled(&self) -> bool {
        self.is_unpickled
    }

    pub(super) fn drift_record(&self) -> Result<Arc<Drift>> {
        self.drift.get_or_try_init(|| Ok(Arc::default())).cloned()
    }

    /// Checks the arguments now; the returned future sends the requests and holds no Python objects.
    fn request(
        &self,
        operation: &str,
        arguments: &Arguments,
        timeout: Option<CallTimeout>,
        span: Option<Arc<dyn Span>>,
    ) -> Result<impl Future<Output = Fetched> + Send + 'static + use<>> {
        let transport = self.transport()?.with_timeout(timeout).with_span(span);
        let call = operation::call(operation, arguments, &self.config)?;
        let (is_unpickled, drift) = (self.is_unpickled, self.drift_record()?);
        let is_body_shown = operation::is_body_shown(operation);
        // The caller owns the response from here on, also that of an error.
        Ok(async move {
            let fetched = fetch::run(&transport, call, drift, is_body_shown).await;
            match &fetched {
                Ok((payload, _)) | Err(fetch::FetchError { payload: Some(payload), .. }) => payload.release(),
                Err(_) => {}
            }
            fetched.map_err(|failed| {
                Box::new(fetch::FetchError { error: with_pickle_hint(failed.error, is_unpickled), ..failed })
            })
        })
    }
}

/// Explains a missing credential after unpickling.
pub(super) fn with_pickle_hint(error: Error, is_unpickled: bool) -> Error {
    match error {
        Error::Configuration(LocalError { text, .. }) if is_unpickled => Error::configuration(format!(
            "{text} (this client was unpickled, and a pickle carries no secrets: credentials are read from the environment)"
        )),
        other => other,
    }
}

/// The result of a request, and the unknown fields that are new.
type Fetched = std::result::Result<(fetch::Payload, Vec<DriftField>), Box<fetch::FetchError>>;

fn into_payload(py: Python<'_>, fetched: Fetched) -> PyResult<PyPayload> {
    let (payload, drift_fields) = fetched.map_err(|failed| payload::raise(py, *failed))?;
    Ok(PyPayload::with_drift(payload, drift_fields))
}

fn token_text(py: Python<'_>, token: Result<Secret>) -> PyResult<String> {
    token.map(|token| token.expose().to_owned()).map_err(|error| errors::raise(py, error))
}

fn describe_probe(py: Python<'_>, probe: Result<Probe>) -> PyResult<Bound<'_, PyDict>> {
    let probe = probe.map_err(|error| errors::raise(py, error))?;
    let failure = probe.failure.map(|failure| {
        let stage = match failure.stage {
            Stage::Dns => "name",
            Stage::Connect => "connection",
            Stage::Proxy => "proxy",
            Stage::Tls => "tls",
            Stage::Response => "answer",
        };
        (stage, failure.text, failure.advice.text())
    });
    let facts = PyDict::new(py);
    facts.set_item("addresses", probe.addresses)?;
    facts.set_item("peer", probe.peer.map(|peer| peer.to_string()))?;
    facts.set_item("status", probe.status)?;
    facts.set_item("ahead", probe.clock_offset_ms.map(|offset_ms| offset_ms as f64 / 1000.0))?;
    facts.set_item("certificate", probe.certificate.as_deref().and_then(read_certificate))?;
    facts.set_item("stopped", failure)?;
    Ok(facts)
}

/// Return issuer and expiry (epoch seconds) of a DER certificate; `None` if the bytes are not a certificate.
#[pyfunction]
#[pyo3(name = "_certificate")]
pub(crate) fn read_certificate(der: &[u8]) -> Option<(String, i64)> {
    certificate::parse(der)
}

/// Sets up the bridge to `logging`, and stops our threads before the interpreter exits. Runs once.
fn prepare_interpreter(py: Python<'_>) -> PyResult<()> {
    static IS_PREPARED: PyOnceLock<()> = PyOnceLock::new();
    let prepare = || {
        logging::install(py)?;
        let core = py.import("sideline._core")?;
        py.import("atexit")?.call_method1("register", (core.getattr("_shutdown")?,))?;
        Ok::<_, PyErr>(())
    };
    IS_PREPARED.get_or_try_init(py, prepare).map(|_| ())
}

fn read_options(options: &Bound<'_, PyDict>) -> PyResult<ClientOptions> {
    Ok(ClientOptions {
        username: option(options, "username")?,
        secret: option(options, "secret")?.map(|text: String| Secret::new(text)),
        api_key: option(options, "api_key")?.map(|text: String| Secret::new(text)),
        environment: option(options, "environment")?,
        sport: option(options, "sport")?,
        base_url: option(options, "base_url")?,
        websocket_url: option(options, "websocket_url")?,
        broadcast_base_url: option(options, "broadcast_base_url")?,
        timeouts: option(options, "timeout")?.map(timeouts).transpose()?,
        max_retries: option(options, "max_retries")?,
        max_concurrency: option(options, "max_concurrency")?,
        max_response_bytes: option(options, "max_response_bytes")?,
        max_memory: option(options, "max_memory")?,
        requests_per_second: option(options, "requests_per_second")?,
        proxy: option(options, "proxy")?.map(|text: String| Secret::new(text)),
        ca_bundle: option(options, "ca_bundle")?,
        user_agent: option(options, "user_agent")?,
        headers: further_headers(options)?,
        allow_http: option(options, "allow_http")?.unwrap_or(false),
        api_key_in: option(options, "api_key_in")?,
        token_path: option(options, "token_path")?,
        token_parameter: option(options, "token_parameter")?,
    })
}

/// The values stay out of errors: they may be credentials.
fn further_headers(options: &Bound<'_, PyDict>) -> PyResult<Vec<FurtherHeader>> {
    let Some(headers) = options.get_item("headers")?.filter(|headers| !headers.is_none()) else {
        return Ok(Vec::new());
    };
    let type_error = |kind: String| PyTypeError::new_err(format!("headers is a mapping of names to texts, not {kind}"));
    let Ok(headers) = headers.cast::<PyMapping>() else { return Err(type_error(convert::kind(&headers).to_string())) };
    let header = |item: Bound<'_, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let text = |value: &Bound<'_, PyAny>| {
            value.extract::<String>().map_err(|_| type_error(format!("of {}", convert::kind(value))))
        };
        let value = if value.is_none() { None } else { Some(Secret::new(text(&value)?)) };
        Ok(FurtherHeader { name: text(&name)?, value })
    };
    headers.items()?.iter().map(header).collect()
}

pub(super) fn option<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
    // The value is left out of the text: it may be a secret.
    value.extract().map(Some).map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(options.py()) {
            PyTypeError::new_err(format!("{name} is of the wrong type: {}", convert::kind(&value)))
        } else {
            // A number is no secret.
            let number = if value.is_instance_of::<PyInt>() { format!(" {value}") } else { String::new() };
            PyValueError::new_err(format!("{name}{number} is out of range"))
        }
    })
}

fn timeouts((connect, read, total): (f64, f64, f64)) -> PyResult<Timeouts> {
    let seconds = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("timeout: {seconds} is not a number of seconds")))
    };
    Ok(Timeouts { connect: seconds(connect)?, read: seconds(read)?, total: seconds(total)? })
}
