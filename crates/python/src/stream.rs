//! Live streams, their items and their journals. Items that have arrived are taken without waiting.

mod items;

pub(crate) use items::PyUpdate;

use crate::client::{CoreClient, option};
use crate::payload::{datetime, parse_sport};
use crate::table::PyTable;
use crate::wait::{self, Wait};
use crate::{convert, errors, interpreter_exit, runtime, trace};
use items::{class_name, item_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use sideline::config::{MAX_TIMEOUT, Secret};
use sideline::error::{Error, Result};
use sideline::fork_safe::pid;
use sideline::live::{
    self, BoxScore, ConnectionState, Item, LiveSubscription, Notice, Overflow, Stream, StreamOptions, Taken,
};
use sideline::operation;
use sideline::scrub::Scrubber;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A live stream. It belongs to one process: a forked child has neither its thread nor its socket.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreStream {
    stream: Option<Arc<Stream>>,
    scrubber: Arc<Scrubber>,
    pid: u32,
    created_at: Instant,
    /// When the event loop last had its turn, in nanoseconds since `created_at`.
    turn: AtomicU64,
    /// Paths and reasons of unreadable rows that are logged already.
    logged_problems: Mutex<HashSet<live::Problem>>,
}

/// Maximum of unreadable rows that are logged.
const MAX_LOGGED: usize = 1000;

/// How long items are taken before the event loop gets its turn.
const MAX_TURN: Duration = Duration::from_millis(4);

impl CoreStream {
    pub fn new(stream: Stream) -> Self {
        let scrubber = Arc::new(stream.scrubber.clone());
        let (created_at, turn) = (Instant::now(), AtomicU64::new(0));
        let logged_problems = Mutex::default();
        CoreStream { stream: Some(Arc::new(stream)), scrubber, pid: pid(), created_at, turn, logged_problems }
    }

    fn stream(&self, py: Python<'_>) -> PyResult<&Arc<Stream>> {
        match &self.stream {
            Some(stream) if self.pid == pid() => Ok(stream),
            _ => Err(errors::stream_closed(py, "this stream was opened in another process; open one here")),
        }
    }

    /// The exception of a stream's error: `StreamClosed` if its client was closed.
    fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        match error {
            Error::Closed => errors::stream_closed(py, "the client of this stream was closed"),
            error => errors::raise(py, error.scrub(&self.scrubber)),
        }
    }

    fn item<'py>(&self, py: Python<'py>, item: Item) -> PyResult<Bound<'py, PyAny>> {
        match item {
            Item::Update(inner) => Ok(self.update(py, inner)?.into_any()),
            Item::Notice(notice) => self.notice(py, notice),
        }
    }
}

impl CoreStream {
    fn update<'py>(&self, py: Python<'py>, inner: live::Update) -> PyResult<Bound<'py, PyUpdate>> {
        Bound::new(py, PyUpdate { inner, scrubber: self.scrubber.clone() })
    }

    /// A notice as a Python dataclass of `sideline.live`.
    fn notice<'py>(&self, py: Python<'py>, notice: Notice) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("sideline.live").and_then(|module| module.getattr(class_name(&notice)));
        let optional = |at: Option<SystemTime>| at.map(|at| datetime(py, at)).transpose();
        errors::guard(py, || match notice {
            Notice::Connected { at } => class?.call1((datetime(py, at)?,)),
            Notice::Disconnected { at, reason, status, attempt, retry_at } => {
                class?.call1((datetime(py, at)?, reason, status, attempt, optional(retry_at)?))
            }
            Notice::Gap { start, end, reason, dropped, is_final } => {
                class?.call1((datetime(py, start)?, optional(end)?, reason.as_str(), dropped, is_final))
            }
            Notice::Quiet { since } => class?.call1((datetime(py, since)?,)),
            Notice::Recovering { gap, updates, missing, requested_at } => {
                let (gap, updates) = (self.notice(py, *gap)?, self.updates(py, &updates)?);
                let missing = missing.into_iter().map(|part| self.scrubber.id(part).to_string());
                let missing = PyTuple::new(py, missing.collect::<Vec<_>>())?;
                class?.call1((gap, updates, missing, datetime(py, requested_at)?))
            }
            Notice::Recovered { gap, updates, requested_at } => {
                let (gap, updates) = (self.notice(py, *gap)?, self.updates(py, &updates)?);
                class?.call1((gap, updates, optional(requested_at)?))
            }
        })
    }

    fn updates<'py>(&self, py: Python<'py>, updates: &[live::Update]) -> PyResult<Bound<'py, PyTuple>> {
        let updates = updates.iter().map(|update| self.update(py, update.clone())).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, updates)
    }

    /// Counts rows that a batch leaves out, and logs each path and reason once.
    fn leave_out(&self, stream: &Stream, problems: Vec<live::Problem>) {
        stream.buffer.count_unreadable(problems.len() as u64);
        let mut logged_problems = self.logged_problems.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in problems {
            if logged_problems.len() < MAX_LOGGED && !logged_problems.contains(&problem) {
                let path = self.scrubber.id(problem.path.as_str());
                // That of this crate is no logger of Python's.
                log::warn!(
                    target: "sideline::live::table",
                    "live stream: a row is left out: {} at {path}",
                    self.scrubber.message(problem.reason.as_str())
                );
                logged_problems.insert(problem);
            }
        }
    }
}

impl Drop for CoreStream {
    fn drop(&mut self) {
        if self.pid != pid() {
            // A forked child must not drop it: its locks may be held, and its task belongs to the parent.
            std::mem::forget(self.stream.take());
        }
    }
}

#[pymethods]
impl CoreStream {
    /// Connect; only the first call has an effect.
    fn open(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.stream(py)?;
        let handle = runtime::streams().map_err(|e| errors::raise(py, e))?;
        errors::guard(py, || {
            py.detach(|| stream.open(&handle));
            Ok(())
        })
    }

    /// Return the next item if there is one, else `None`; see `has_ended`.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match take(py, self.stream(py)?)? {
            Taken::Item(item) => self.item(py, item).map(Some),
            Taken::Nothing | Taken::Ended(None) => Ok(None),
            Taken::Ended(Some(error)) => Err(self.raise(py, error)),
        }
    }

    /// Wait for the next item; `None` at the end. Ctrl-C ends the wait.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stream = self.stream(py)?;
        loop {
            match take(py, stream)? {
                Taken::Item(item) => return self.item(py, item).map(Some),
                Taken::Ended(None) => return Ok(None),
                Taken::Ended(Some(error)) => return Err(self.raise(py, error)),
                Taken::Nothing => {}
            }
            if !interpreter_exit::run_detached(py, || stream.buffer.ready_within(runtime::SIGNAL_CHECK_INTERVAL)) {
                py.check_signals()?;
            }
        }
    }

    /// Wait for the next item for at most `seconds`; `None` if it does not come.
    fn next_within<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stream = self.stream(py)?;
        let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_TIMEOUT).min(MAX_TIMEOUT);
        let until = Instant::now() + wait;
        loop {
            match take(py, stream)? {
                Taken::Item(item) => return self.item(py, item).map(Some),
                Taken::Ended(None) => return Ok(None),
                Taken::Ended(Some(error)) => return Err(self.raise(py, error)),
                Taken::Nothing => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            interpreter_exit::run_detached(py, || stream.buffer.ready_within(left.min(runtime::SIGNAL_CHECK_INTERVAL)));
            py.check_signals()?;
        }
    }

    /// Complete when there is an item. The call takes no item, so cancelling it loses none.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Wait>> {
        errors::guard(py, || wait::wait(py, &self.stream(py)?.buffer))
    }

    /// Whether the stream has ended and all items were taken.
    #[getter]
    fn has_ended(&self) -> bool {
        self.state() == "closed"
    }

    /// Return the next item like `take`, but `None` if the event loop is due for a turn; see `is_turn_due`.
    fn take_in_turn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.is_turn_due() { Ok(None) } else { self.take(py) }
    }

    /// Whether items were taken for so long that other tasks of the event loop should run.
    #[getter]
    fn is_turn_due(&self) -> bool {
        let elapsed = self.created_at.elapsed().as_nanos() as u64;
        elapsed.saturating_sub(self.turn.load(Ordering::Relaxed)) > MAX_TURN.as_nanos() as u64
    }

    /// Record that the event loop had its turn.
    fn begin_turn(&self) {
        self.turn.fetch_max(self.created_at.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Push a gap that ends now; returns whether what happened before is requested.
    fn push_start_gap(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.stream(py)?.push_start_gap())
    }

    /// Append all later items to a journal.
    fn record(&self, py: Python<'_>, path: PathBuf, sync_every: Option<f64>) -> PyResult<()> {
        let stream = self.stream(py)?;
        let seconds = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!("sync_every is {seconds}; it is a number of seconds from 0 up, or None"))
            })
        };
        let sync_every = sync_every.map(seconds).transpose()?;
        let runtime = runtime::streams().map_err(|e| errors::raise(py, e))?;
        errors::guard(py, || py.detach(|| stream.record(&path, sync_every, &runtime)).map_err(|e| self.raise(py, e)))
    }

    /// Close the stream; raises if the last items of a journal could not be written.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.stream(py) {
            Ok(stream) => errors::guard(py, || py.detach(|| stream.close()).map_err(|e| self.raise(py, e))),
            Err(_) => Ok(()),
        }
    }

    #[getter]
    fn state(&self) -> &'static str {
        let stream = self.stream.as_ref().filter(|_| self.pid == pid());
        match stream.map_or(ConnectionState::Closed, |stream| stream.buffer.state()) {
            ConnectionState::New => "new",
            ConnectionState::Connecting => "connecting",
            ConnectionState::Connected => "connected",
            ConnectionState::Waiting => "waiting",
            ConnectionState::Closed => "closed",
        }
    }

    /// Time of receipt of the newest update: an aware `datetime.datetime`.
    #[getter]
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.stream(py)?.buffer.counts().last.map(|at| datetime(py, at)).transpose()
    }

    /// The counters of `sideline.live.StreamStats`.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stream = self.stream(py)?;
        let counts = stream.buffer.counts();
        let stats = PyDict::new(py);
        let numbers = [
            ("updates", counts.updates),
            ("bytes", counts.bytes),
            ("reconnects", counts.reconnects),
            ("gaps", counts.gaps),
            ("open_gaps", counts.open_gaps),
            ("recovered", counts.recovered),
            ("repeats", counts.repeats),
            ("dropped", counts.dropped),
            ("unreadable", counts.unreadable),
        ];
        numbers.into_iter().try_for_each(|(name, number)| stats.set_item(name, number))?;
        stats.set_item("buffer_bytes", stream.buffer.bytes())?;
        stats.set_item("lag", stream.buffer.lag(SystemTime::now()).as_secs_f64())?;
        Ok(stats)
    }

    /// Count rows that a display could not read.
    fn count_unreadable(&self, py: Python<'_>, rows: u64) -> PyResult<()> {
        self.stream(py)?.buffer.count_unreadable(rows);
        Ok(())
    }

    /// Return items of the stream as a table: `live_items` or `stat_updates`. A row that is unreadable is left out, counted, and
    /// logged once.
    fn items_table(&self, py: Python<'_>, items: Vec<Bound<'_, PyAny>>, name: &str) -> PyResult<PyTable> {
        errors::guard(py, || {
            let items: Vec<Item> = items.iter().map(item_of).collect::<PyResult<_>>()?;
            let batch = py.detach(|| {
                let (batch, problems) = live::table::build(name, &items)?;
                // A closed stream has nothing to count.
                if let Some(stream) = &self.stream {
                    self.leave_out(stream, problems);
                }
                Ok(batch)
            });
            PyTable::new(py, name.to_owned(), vec![batch.map_err(|e| errors::raise(py, e))?])
        })
    }
}

/// The next item, if there is one. Waits for a journal's disk detached from the interpreter.
fn take(py: Python<'_>, stream: &Stream) -> PyResult<Taken> {
    if !stream.is_recorded() {
        return stream.take().map_err(|e| errors::raise(py, e.scrub(&stream.scrubber)));
    }
    errors::guard(py, || py.detach(|| stream.take()).map_err(|e| errors::raise(py, e.scrub(&stream.scrubber))))
}

/// Create the event stream of this name without connecting. `options` are the parameters of `live_stats`.
#[pyfunction]
#[pyo3(name = "_event_stream")]
pub(crate) fn event_stream(
    py: Python<'_>,
    client: &Bound<'_, CoreClient>,
    name: &str,
    arguments: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
) -> PyResult<CoreStream> {
    errors::guard(py, || {
        let arguments = convert::arguments(name, arguments)?;
        let options = read_options(options)?;
        let span = trace::current(py)?;
        let stream = || -> Result<Stream> {
            let request = operation::event_stream(name, &arguments)?;
            live::event_stream(client.get().transport()?.with_span(span), request, options)
        };
        stream().map(CoreStream::new).map_err(|e| client.get().raise(py, e))
    })
}

/// Open a journal as a stream and read its beginning. `options` are the parameters of `replay`.
#[pyfunction]
#[pyo3(name = "_replay")]
pub(crate) fn replay(
    py: Python<'_>,
    path: PathBuf,
    speed: Option<f64>,
    max_pause: f64,
    options: &Bound<'_, PyDict>,
) -> PyResult<CoreStream> {
    errors::guard(py, || {
        let options = read_options(options)?;
        let max_pause = Duration::try_from_secs_f64(max_pause).map_err(|_| {
            PyValueError::new_err(format!("max_pause is {max_pause}; it is a number of seconds from 0 up"))
        })?;
        let stream = py.detach(|| live::replay(&path, speed, max_pause, options));
        stream.map(CoreStream::new).map_err(|e| errors::raise(py, e))
    })
}

/// Create a stream without connecting. `what` are the parameters of `live` that select the updates, `options` the
/// others.
#[pyfunction]
#[pyo3(name = "_live")]
pub(crate) fn websocket(
    py: Python<'_>,
    client: &Bound<'_, CoreClient>,
    fields: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
) -> PyResult<CoreStream> {
    errors::guard(py, || {
        let game_id = fields.get_item("game_id")?.filter(|id| !id.is_none());
        let subscription = LiveSubscription {
            game_id: game_id.map(|id| convert::id("game_id", &id)).transpose()?,
            token: option(fields, "token")?.map(|text: String| Secret::new(text)),
            sources: option(fields, "sources")?.unwrap_or_default(),
            last_seq: option(fields, "last_seq")?,
            broadcast_summary_level: option(fields, "broadcast_summary_level")?,
        };
        // The service does not answer for an unknown source, so a stream without notices would wait forever.
        let options = StreamOptions { first_quiet: !subscription.sources.is_empty(), ..read_options(options)? };
        let span = trace::current(py)?;
        let stream =
            || -> Result<Stream> { live::websocket(client.get().transport()?.with_span(span), subscription, options) };
        stream().map(CoreStream::new).map_err(|e| client.get().raise(py, e))
    })
}

pub(crate) fn read_options(options: &Bound<'_, PyDict>) -> PyResult<StreamOptions> {
    let default = StreamOptions::default();
    let seconds = |name: &str, default: Duration| -> PyResult<Duration> {
        let Some(seconds) = option::<f64>(options, name)? else { return Ok(default) };
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("{name} is a number of seconds from 0 up, not {seconds}")))
    };
    let overflow: Option<String> = option(options, "overflow")?;
    Ok(StreamOptions {
        silence_limit: seconds("silence_limit", default.silence_limit)?,
        retry_wait: seconds("retry_wait", default.retry_wait)?,
        max_wait: seconds("max_wait", default.max_wait)?,
        notices: option(options, "notices")?.unwrap_or(default.notices),
        first_quiet: default.first_quiet,
        overflow: match overflow {
            Some(text) => Overflow::parse(&text).map_err(|e| errors::raise(options.py(), e))?,
            None => default.overflow,
        },
        buffer: option(options, "buffer")?.unwrap_or(default.buffer),
        max_event_bytes: option(options, "max_event_bytes")?.unwrap_or(default.max_event_bytes),
        max_buffer_bytes: option(options, "max_buffer_bytes")?.unwrap_or(default.max_buffer_bytes),
        quiet_after: seconds("quiet_after", default.quiet_after)?,
        give_up_on: option(options, "give_up_on")?.unwrap_or(default.give_up_on),
        last_event_id: option(options, "last_event_id")?,
        recover: option::<f64>(options, "recover_pause")?.map(Duration::from_secs_f64),
    })
}

/// A box score maintained from updates.
#[pyclass(frozen, module = "sideline._core")]
pub struct CoreBoxScore {
    score: Mutex<BoxScore>,
    /// Of the newest update: problems quote what the service sent.
    scrubber: Mutex<Arc<Scrubber>>,
}

#[pymethods]
impl CoreBoxScore {
    #[new]
    fn new(sport: &str) -> PyResult<Self> {
        Ok(CoreBoxScore { score: Mutex::new(BoxScore::new(parse_sport(sport)?)), scrubber: Mutex::default() })
    }

    /// Apply an item of a stream; returns whether the box score changed.
    fn feed(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(update) = item.cast::<PyUpdate>() {
            *self.scrubber.lock().unwrap_or_else(PoisonError::into_inner) = update.get().scrubber.clone();
        }
        errors::guard(py, || {
            let item = item_of(item)?;
            Ok(py.detach(|| self.lock().feed(&item)))
        })
    }

    fn seed(&self, py: Python<'_>, raw: &Bound<'_, PyBytes>) -> PyResult<()> {
        let raw = raw.as_bytes();
        errors::guard(py, || py.detach(|| self.lock().seed(raw)).map_err(|e| errors::raise(py, e)))
    }

    /// Name a player whose messages have no name.
    fn name_player(&self, player_id: i64, first: Option<String>, last: Option<String>) {
        self.lock().name_player(player_id, first, last);
    }

    fn table(&self, py: Python<'_>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| self.lock().table()).map_err(|e| errors::raise(py, e))?;
            PyTable::new(py, "box_score".to_owned(), vec![batch])
        })
    }

    fn leaders(&self, py: Python<'_>, stat: &str, count: usize) -> PyResult<PyTable> {
        errors::guard(py, || {
            let batch = py.detach(|| self.lock().leaders(stat, count)).map_err(|e| errors::raise(py, e))?;
            PyTable::new(py, "live_leaders".to_owned(), vec![batch])
        })
    }

    #[getter]
    fn ignored(&self) -> u64 {
        self.lock().ignored
    }

    #[getter]
    fn unreadable(&self) -> u64 {
        self.lock().unreadable
    }

    /// Time of receipt, path and reason of the last rows that were left out.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyAny>, String, String)>> {
        let scrubber = self.scrubber.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let problem = |(at, problem): &(SystemTime, live::Problem)| {
            let (path, reason) = (scrubber.id(problem.path.as_str()), scrubber.message(problem.reason.as_str()));
            Ok((datetime(py, *at)?, path.to_string(), reason.to_string()))
        };
        self.lock().problems.iter().map(problem).collect()
    }

    /// Return whether values may be missing, of a box score whose items are applied this many seconds late.
    #[pyo3(signature = (delay_s = 0.0))]
    fn is_stale(&self, delay_s: f64) -> bool {
        let delay = Duration::try_from_secs_f64(delay_s).unwrap_or_default();
        self.lock().is_stale(SystemTime::now().checked_sub(delay).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    #[getter]
    fn updated_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.lock().updated_at;
        at.map(|at| datetime(py, at)).transpose()
    }
}

impl CoreBoxScore {
    fn lock(&self) -> std::sync::MutexGuard<'_, BoxScore> {
        self.score.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
