//! The items of a stream as Python's objects, and back.

use crate::payload::datetime;
use crate::{convert, dicts, errors};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyType};
use reader::Body;
use sideline::live::{self, Item, Notice};
use sideline::scrub::Scrubber;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Event, id, text, bytes, sequence number, source, and time of arrival: an update as plain values.
type UpdateParts = (Option<String>, String, String, Option<Vec<u8>>, Option<i64>, Option<String>, Duration);

/// One message of a live stream, as received: `to_dict()`, `text`, `raw`.
///
/// >>> with client.live_stats(live_game_id, notices=False) as stream:
/// ...     update = next(stream)
/// >>> update.event, len(update.raw) == len(update.text.encode()), update.received_at.tzinfo is not None
/// ('message', True, True)
#[pyclass(frozen, module = "sideline", name = "Update")]
pub(crate) struct PyUpdate {
    pub(super) inner: live::Update,
    /// For texts about it.
    pub(super) scrubber: Arc<Scrubber>,
}

#[pymethods]
impl PyUpdate {
    /// Return the JSON as Python objects, with nothing dropped; a new object at each call.
    ///
    /// Raises `DecodeError` if the message is not JSON; `text` returns it unparsed.
    ///
    /// >>> with client.live_stats(live_game_id, notices=False) as stream:
    /// ...     next(stream).to_dict()["schedule_id"] == live_game_id
    /// True
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        errors::guard(py, || dicts::objects(py, &Body::from(self.inner.raw()), &self.scrubber))
    }

    /// The message as text; invalid UTF-8 is replaced, and only `raw` has the original bytes.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.inner.text)
    }

    /// The message as received, in bytes.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.raw())
    }

    /// The event type; "message" if the service sends none.
    #[getter]
    fn event(&self) -> &str {
        self.inner.event.as_deref().unwrap_or("message")
    }

    /// The last event id; `None` if the stream has none.
    #[getter]
    fn id(&self) -> Option<&str> {
        Some(&*self.inner.id).filter(|id| !id.is_empty())
    }

    /// The sequence number of a websocket message.
    #[getter]
    fn seq(&self) -> Option<i64> {
        self.inner.seq
    }

    /// The source of a websocket message.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.inner.source.as_deref()
    }

    /// Time of receipt: an aware `datetime.datetime`.
    #[getter]
    fn received_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.inner.received_at)
    }

    /// Pickled as received, so that a multiprocessing worker can use it.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, UpdateParts)> {
        let live::Update { event, id, text, binary, seq, source, received_at } = slf.get().inner.clone();
        let since_epoch = received_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let plain = (
            event.as_deref().map(str::to_owned),
            id.to_string(),
            text,
            binary.map(|bytes| bytes.to_vec()),
            seq,
            source.as_deref().map(str::to_owned),
            since_epoch,
        );
        Ok((slf.get_type().getattr("_restore")?, plain))
    }

    #[staticmethod]
    #[pyo3(signature = (*plain))]
    fn _restore(plain: UpdateParts) -> Self {
        let (event, id, text, binary, seq, source, since_epoch) = plain;
        let received_at = SystemTime::UNIX_EPOCH + since_epoch;
        let (event, source) = (event.map(Into::into), source.map(Into::into));
        let (id, binary) = (id.into(), binary.map(Into::into));
        let inner = live::Update { event, id, text, binary, seq, source, received_at };
        PyUpdate { inner, scrubber: Arc::default() }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let scrubber = &self.scrubber;
        let mut parts = vec![scrubber.id(self.event()).into()];
        parts.extend(self.source().map(|source| format!("source {}", scrubber.id(source))));
        parts.extend(self.seq().map(|seq| format!("seq {seq}")));
        parts.extend(self.id().map(|id| format!("id {}", scrubber.id(id.chars().take(40).collect::<String>()))));
        parts.push(format!("{} bytes", self.inner.raw().len()));
        parts.push(format!("received {}", self.received_at(py)?));
        Ok(format!("<sideline.Update {}>", parts.join("; ")))
    }
}

/// The class of a notice in `sideline.live`.
pub(super) fn class_name(notice: &Notice) -> &'static str {
    match notice {
        Notice::Connected { .. } => "Connected",
        Notice::Disconnected { .. } => "Disconnected",
        Notice::Gap { .. } => "Gap",
        Notice::Quiet { .. } => "Quiet",
        Notice::Recovering { .. } => "Recovering",
        Notice::Recovered { .. } => "Recovered",
    }
}

/// The item behind a Python object of a stream.
pub(super) fn item_of(object: &Bound<'_, PyAny>) -> PyResult<Item> {
    if let Ok(update) = object.cast::<PyUpdate>() {
        let update = update.get().inner.clone();
        return Ok(Item::Update(live::Update { received_at: whole_microseconds(update.received_at), ..update }));
    }
    let time = |name: &str| -> PyResult<Option<SystemTime>> {
        let at = object.getattr(name)?;
        if at.is_none() {
            return Ok(None);
        }
        if let Ok(at) = at.extract() {
            return Ok(Some(at));
        }
        let ms = convert::epoch_ms(name, &at)?;
        Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))))
    };
    let required_time = |name: &str| time(name).map(|at| at.unwrap_or(SystemTime::UNIX_EPOCH));
    let notice = match notice_class(object)?.as_str() {
        "Connected" => Notice::Connected { at: required_time("at")? },
        "Disconnected" => Notice::Disconnected {
            at: required_time("at")?,
            reason: object.getattr("reason")?.extract()?,
            status: object.getattr("status")?.extract()?,
            attempt: object.getattr("attempt")?.extract()?,
            retry_at: time("retry_at")?,
        },
        "Gap" => Notice::Gap {
            start: required_time("start")?,
            end: time("end")?,
            reason: object.getattr("reason")?.extract::<String>()?.into(),
            dropped: object.getattr("dropped")?.extract()?,
            is_final: object.getattr("is_final")?.extract()?,
        },
        "Quiet" => Notice::Quiet { since: required_time("since")? },
        "Recovering" => {
            let missing = object.getattr("missing")?.extract()?;
            let (gap, updates) = recovered_parts(object)?;
            Notice::Recovering { gap, updates, missing, requested_at: required_time("requested_at")? }
        }
        "Recovered" => {
            let (gap, updates) = recovered_parts(object)?;
            Notice::Recovered { gap, updates, requested_at: time("requested_at")? }
        }
        name => return Err(PyValueError::new_err(format!("{name} is no item of a stream"))),
    };
    Ok(Item::Notice(notice))
}

/// The class of a notice: of its own classes and their bases, the one below `Notice`.
fn notice_class(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let classes = object.get_type().mro().iter().map(|class| class.cast_into::<PyType>()?.name()?.extract());
    let classes: Vec<String> = classes.collect::<PyResult<_>>()?;
    let below = classes.iter().position(|class| class == "Notice").and_then(|base| classes[..base].last());
    Ok(below.cloned().unwrap_or_else(|| convert::kind(object)))
}

/// A time of receipt as Python's times have it, so that it can be compared with those of notices.
fn whole_microseconds(at: SystemTime) -> SystemTime {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Gap and updates of a `Recovering` or `Recovered`.
fn recovered_parts(object: &Bound<'_, PyAny>) -> PyResult<(Box<Notice>, Arc<[live::Update]>)> {
    let Item::Notice(gap @ Notice::Gap { .. }) = item_of(&object.getattr("gap")?)? else {
        return Err(PyValueError::new_err("the gap of a Recovered is a Gap"));
    };
    let update = |object: PyResult<Bound<'_, PyAny>>| match item_of(&object?)? {
        Item::Update(update) => Ok(update),
        Item::Notice(_) => Err(PyValueError::new_err("the updates of a Recovered are Updates")),
    };
    let updates = object.getattr("updates")?.try_iter()?.map(update).collect::<PyResult<_>>()?;
    Ok((Box::new(gap), updates))
}
