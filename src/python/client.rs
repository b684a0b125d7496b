//! One core call for both faces of a client: `call_sync` waits, `call_async` gives an awaitable.

use crate::config::{Config, Environment, Options, Secret, Source, Sport, Timeouts};
use crate::error::{Error, Result};
use crate::fetch::{self, Drift, Met};
use crate::live;
use crate::machine;
use crate::operation::{self, Arguments, Value};
use crate::per_process::PerProcess;
use crate::python::payload::{self, Payload};
use crate::python::table::Table;
use crate::python::{convert, errors, exit, logging, runtime};
use crate::transport::{CallTimeout, Probe, Stage, Transport, certificate};
use futures_util::FutureExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The settings of a client, and the connections that this process has for them.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreClient {
    config: Config,
    transport: PerProcess<Transport>,
    /// A child made by `fork` begins its own: the parent's may be locked.
    drift: PerProcess<Arc<Drift>>,
    closed: AtomicBool,
    /// It came by pickle, which carries no secrets.
    unpickled: bool,
}

#[pymethods]
impl CoreClient {
    /// `options` by the names of the client's parameters; what is absent or `None` is looked up in the environment.
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        prepare_interpreter(py)?;
        errors::guard(py, || {
            let unpickled = option(options, "unpickled")?.unwrap_or(false);
            let options = read_options(options)?;
            let config = options.resolve(&|name| std::env::var(name).ok()).map_err(|e| errors::raise(py, e))?;
            let (transport, drift, closed) = (PerProcess::new(), PerProcess::new(), AtomicBool::new(false));
            let client = CoreClient { config, transport, drift, closed, unpickled };
            // Now, so that a certificate file that cannot be read is an error here and not at the first call; detached,
            // because what the HTTP client logs attaches from wherever it is.
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
    ) -> PyResult<Payload> {
        errors::guard(py, || {
            let arguments = convert::arguments(operation, arguments)?;
            let future =
                self.request(operation, &arguments, convert::timeout(timeout)?).map_err(|e| errors::raise(py, e))?;
            runtime::wait(py, future)?.into_payload(py)
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
            let future =
                self.request(operation, &arguments, convert::timeout(timeout)?).map_err(|e| errors::raise(py, e))?;
            runtime::awaitable(py, future)
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
            runtime::wait(py, future)?.into_text(py)
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
            runtime::awaitable(py, future)
        })
    }

    /// What is set and where it came from: name, value as it may be shown, source.
    fn settings(&self) -> Vec<(&'static str, Option<String>, &'static str)> {
        let source = |source| match source {
            Source::Given => "argument",
            Source::Variable(name) => name,
            Source::Default => "default",
        };
        self.config.settings().into_iter().map(|set| (set.name, set.shown, source(set.source))).collect()
    }

    /// The proxy of requests to the REST API and what names it.
    fn proxy(&self, py: Python<'_>) -> PyResult<Option<(String, &'static str)>> {
        errors::guard(py, || self.transport().and_then(|transport| transport.proxy()).map_err(|e| errors::raise(py, e)))
    }

    /// Raises what the first signed request would (or the first of the Broadcast API), where a credential is missing or
    /// the client is closed.
    #[pyo3(signature = (*, broadcast = false))]
    fn check_credentials(&self, py: Python<'_>, broadcast: bool) -> PyResult<()> {
        let auth = if broadcast { operation::Auth::ApiKey } else { operation::Auth::Signed };
        let checked = || self.transport()?.check_credentials(auth);
        errors::guard(py, || checked().map_err(|e| errors::raise(py, e)))
    }

    /// What a request for the teams would be signed over now.
    fn string_to_sign(&self, py: Python<'_>) -> PyResult<String> {
        let made = || self.transport()?.string_to_sign();
        errors::guard(py, || made().map_err(|e| errors::raise(py, e)))
    }

    fn probe_sync<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        errors::guard(py, || {
            let future = self.probe().map_err(|e| errors::raise(py, e))?;
            runtime::wait(py, future)?.into_pyobject(py)
        })
    }

    fn probe_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || {
            let future = self.probe().map_err(|e| errors::raise(py, e))?;
            runtime::awaitable(py, future)
        })
    }

    /// The table `drift`.
    fn drift(&self, py: Python<'_>) -> PyResult<Table> {
        errors::guard(py, || {
            let batch = py.detach(|| self.met()?.table()).map_err(|e| errors::raise(py, e))?;
            Table::new(py, "drift".to_owned(), vec![batch])
        })
    }

    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::Release);
        if let Some(transport) = self.transport.get() {
            exit::inside(py, || py.detach(|| transport.close()));
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

    #[getter]
    fn username(&self) -> Option<&str> {
        self.config.username.as_deref()
    }

    #[getter]
    fn environment(&self) -> &'static str {
        match self.config.environment {
            Environment::Production => "production",
            Environment::Development => "development",
        }
    }

    #[getter]
    fn sport(&self) -> &'static str {
        match self.config.sport {
            Sport::Basketball => "basketball",
            Sport::Football => "football",
        }
    }
}

impl CoreClient {
    /// This process's connections: a child made by `fork` opens its own.
    pub(super) fn transport(&self) -> Result<Transport> {
        if self.closed() {
            return Err(Error::Closed);
        }
        self.transport.get_or_make(|| Transport::new(self.config.clone())).cloned()
    }

    /// A token of the websocket, asked for.
    fn token(
        &self,
        game_id: &Bound<'_, PyAny>,
        timeout: Option<CallTimeout>,
    ) -> PyResult<impl Future<Output = Token> + Send + 'static + use<>> {
        let arguments: Arguments = vec![("game_id".to_owned(), Value::Text(convert::id("game_id", game_id)?))];
        let prepare = || {
            Ok((
                self.transport()?.with_timeout(timeout),
                operation::call("subscription_token", &arguments, &self.config)?,
            ))
        };
        let (transport, call) = prepare().map_err(|e| errors::raise(game_id.py(), e))?;
        let asked = async move {
            match call.requests.first() {
                Some(request) => live::subscription_token(&transport, request).await,
                None => Err(Error::Argument("a call without a request".into())),
            }
        };
        Ok(async move {
            let asked = AssertUnwindSafe(asked).catch_unwind().await;
            Token(asked.map_err(|panic| errors::panic_text(&*panic)))
        })
    }

    /// How far a connection gets.
    fn probe(&self) -> Result<impl Future<Output = Probed> + Send + 'static + use<>> {
        let transport = self.transport()?;
        let looked = async move { transport.probe().await };
        Ok(async move {
            let looked = AssertUnwindSafe(looked).catch_unwind().await;
            Probed(looked.map_err(|panic| errors::panic_text(&*panic)))
        })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn unpickled(&self) -> bool {
        self.unpickled
    }

    pub(super) fn met(&self) -> Result<Arc<Drift>> {
        self.drift.get_or_make(|| Ok(Arc::default())).cloned()
    }

    /// Checks the arguments now; what it gives sends the requests. It holds nothing of Python's.
    fn request(
        &self,
        operation: &str,
        arguments: &Arguments,
        timeout: Option<CallTimeout>,
    ) -> Result<impl Future<Output = Answer> + Send + 'static + use<>> {
        let transport = self.transport()?.with_timeout(timeout);
        let call = operation::call(operation, arguments, &self.config);
        let call = call.map_err(|error| error.scrubbed(transport.scrubber()))?;
        let (unpickled, drift) = (self.unpickled, self.met()?);
        let fetched = async move {
            let payload = fetch::run(&transport, call).await?;
            drift.look_apart(payload, machine::now()).await
        };
        // What came belongs to the caller from here on, whether it is an error's or not.
        let fetched = async move {
            let fetched = fetched.await;
            match &fetched {
                Ok((payload, _)) | Err(fetch::Failed { payload: Some(payload), .. }) => payload.release(),
                Err(_) => {}
            }
            fetched
        };
        Ok(async move {
            match AssertUnwindSafe(fetched).catch_unwind().await {
                Ok(answer) => {
                    Answer::Came(answer.map_err(|failed| {
                        Box::new(fetch::Failed { error: explained(failed.error, unpickled), ..failed })
                    }))
                }
                Err(panic) => Answer::Panicked(errors::panic_text(&*panic)),
            }
        })
    }
}

/// What a missing credential has to do with `pickle`.
pub(super) fn explained(error: Error, unpickled: bool) -> Error {
    match error {
        Error::Configuration(text) if unpickled => Error::Configuration(format!(
            "{text} (this client was unpickled, and a pickle carries no secrets: they are read from the environment)"
        )),
        other => other,
    }
}

/// What a request came to. It becomes a Python object only where the interpreter is attached.
enum Answer {
    Came(std::result::Result<(fetch::Payload, Vec<Met>), Box<fetch::Failed>>),
    Panicked(String),
}

impl Answer {
    fn into_payload(self, py: Python<'_>) -> PyResult<Payload> {
        match self {
            Answer::Came(Ok((payload, met))) => Ok(Payload::arrived(payload, met)),
            Answer::Came(Err(failed)) => Err(payload::raise(py, *failed)),
            Answer::Panicked(text) => Err(errors::internal(py, &text)),
        }
    }
}

impl<'py> IntoPyObject<'py> for Answer {
    type Target = Payload;
    type Output = Bound<'py, Payload>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Bound::new(py, self.into_payload(py)?)
    }
}

/// What asking for a token came to; a panic by its text.
struct Token(std::result::Result<Result<Secret>, String>);

impl Token {
    fn into_text(self, py: Python<'_>) -> PyResult<String> {
        match self.0 {
            Ok(Ok(token)) => Ok(token.expose().to_owned()),
            Ok(Err(error)) => Err(errors::raise(py, error)),
            Err(panic) => Err(errors::internal(py, &panic)),
        }
    }
}

impl<'py> IntoPyObject<'py> for Token {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(PyString::new(py, &self.into_text(py)?))
    }
}

/// What a probe came to; a panic by its text.
struct Probed(std::result::Result<Result<Probe>, String>);

impl<'py> IntoPyObject<'py> for Probed {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let probe = match self.0 {
            Ok(Ok(probe)) => probe,
            Ok(Err(error)) => return Err(errors::raise(py, error)),
            Err(panic) => return Err(errors::internal(py, &panic)),
        };
        let stopped = probe.stopped.map(|stopped| {
            let stage = match stopped.stage {
                Stage::Name => "name",
                Stage::Connection => "connection",
                Stage::Proxy => "proxy",
                Stage::Tls => "tls",
                Stage::Answer => "answer",
            };
            (stage, stopped.text, stopped.advice.text())
        });
        let told = PyDict::new(py);
        told.set_item("addresses", probe.addresses)?;
        told.set_item("peer", probe.peer.map(|peer| peer.to_string()))?;
        told.set_item("status", probe.status)?;
        told.set_item("ahead", probe.ahead.map(|ahead| ahead as f64 / 1000.0))?;
        told.set_item("certificate", probe.certificate.as_deref().and_then(read_certificate))?;
        told.set_item("stopped", stopped)?;
        Ok(told)
    }
}

/// Who issued a certificate (DER), and its end in epoch seconds; `None` where it is none.
#[pyfunction]
#[pyo3(name = "_certificate")]
pub fn read_certificate(der: &[u8]) -> Option<(String, i64)> {
    certificate::read(der).map(|read| (read.issuer, read.not_after))
}

/// What the first client of an interpreter loads: the bridge to `logging`, and the end of our threads before Python's.
fn prepare_interpreter(py: Python<'_>) -> PyResult<()> {
    static PREPARED: PyOnceLock<()> = PyOnceLock::new();
    let prepare = || {
        logging::install(py)?;
        let core = py.import("sideline._core")?;
        py.import("atexit")?.call_method1("register", (core.getattr("_shutdown")?,))?;
        Ok::<_, PyErr>(())
    };
    PREPARED.get_or_try_init(py, prepare).map(|_| ())
}

fn read_options(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    Ok(Options {
        username: option(given, "username")?,
        secret: option(given, "secret")?.map(|text: String| Secret::new(text)),
        api_key: option(given, "api_key")?.map(|text: String| Secret::new(text)),
        environment: option(given, "environment")?,
        sport: option(given, "sport")?,
        base_url: option(given, "base_url")?,
        websocket_url: option(given, "websocket_url")?,
        broadcast_base_url: option(given, "broadcast_base_url")?,
        timeouts: option(given, "timeout")?.map(timeouts).transpose()?,
        max_retries: option(given, "max_retries")?,
        max_concurrency: option(given, "max_concurrency")?,
        max_response_bytes: option(given, "max_response_bytes")?,
        requests_per_second: option(given, "requests_per_second")?,
        proxy: option(given, "proxy")?.map(|text: String| Secret::new(text)),
        ca_bundle: option(given, "ca_bundle")?,
        user_agent: option(given, "user_agent")?,
        allow_http: option(given, "allow_http")?.unwrap_or(false),
        api_key_in: option(given, "api_key_in")?,
        token_path: option(given, "token_path")?,
        token_parameter: option(given, "token_parameter")?,
    })
}

pub(super) fn option<'py, T>(given: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let Some(value) = given.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
    // The value stays out of the text: it may be a secret.
    value.extract().map(Some).map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(given.py()) {
            PyTypeError::new_err(format!("{name} is of the wrong type: {}", convert::kind(&value)))
        } else {
            PyValueError::new_err(format!("{name} is out of range"))
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
