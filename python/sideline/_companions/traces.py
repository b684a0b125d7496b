"""Spans and metrics of OpenTelemetry (documentation: Traces), imported once the program has imported OpenTelemetry.

The extension calls `current_trace` and the methods of what it returns.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import time_ns
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context, get_current
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from .._core import __version__

if TYPE_CHECKING:
    from ..archive import Outcome
    from ..live import LiveStream

Attributes = dict[str, str | int]

_DURATION_BOUNDARIES = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Those of the semantic conventions."""

_API = "opentelemetry.trace", "opentelemetry.metrics"

_tracer = trace.get_tracer("sideline", __version__)
_meter = metrics.get_meter("sideline", __version__)
_duration = _meter.create_histogram(
    "http.client.request.duration",
    "s",
    "Duration of HTTP client requests.",
    explicit_bucket_boundaries_advisory=_DURATION_BOUNDARIES,
)
_retries = _meter.create_counter("sideline.request.retries", "{request}", "Requests that were sent again.")
_units = _meter.create_counter("sideline.sync.units", "{unit}", "Units of syncs, by status.")


class Trace:
    """The caller's place in a trace: operations begin within its current span."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self, name: str, at: int) -> "OperationSpan":
        """Begin the span of a call or of a connection; times are nanoseconds since the epoch."""
        span = _tracer.start_span(f"sideline.{name}", self._context, start_time=at)
        return OperationSpan(name, span, trace.set_span_in_context(span, self._context))


class OperationSpan(Trace):
    """The span of a call or of a connection."""

    def __init__(self, name: str, span: Span, context: Context) -> None:
        super().__init__(context)
        self._name = name
        self._span = span

    def attempt(self, url: str, host: str, port: int, resends: int, at: int) -> "AttemptSpan":
        """Begin the span of one request; `resends`: how often it was sent before."""
        attributes: Attributes = {"http.request.method": "GET", "server.address": host, "server.port": port}
        if resends:
            _retries.add(1, {"sideline.operation": self._name})
        span = _tracer.start_span("GET", self._context, SpanKind.CLIENT, {**attributes, "url.full": url}, start_time=at)
        if resends:
            span.set_attribute("http.request.resend_count", resends)
        return AttemptSpan(span, trace.set_span_in_context(span, self._context), attributes)

    def end(self, _status: int | None, error: tuple[str, str] | None, at: int, _seconds: float) -> None:
        """End the span; `error` has a type and a text."""
        _end(self._span, error, at)


class AttemptSpan:
    """The span of one request."""

    def __init__(self, span: Span, context: Context, attributes: Attributes) -> None:
        self._span = span
        self._context = context
        self._attributes = attributes

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that name this span to the service, by the program's propagator."""
        headers: dict[str, str] = {}
        propagate.inject(headers, self._context)
        return list(headers.items())

    def end(self, status: int | None, error: tuple[str, str] | None, at: int, seconds: float) -> None:
        """End the span and record its duration. A request without a response or an error was cancelled."""
        response: Attributes = {}
        if status is not None:
            response = {"http.response.status_code": status, "network.protocol.version": "1.1"}
            if status >= 400 and error is None:
                error = str(status), ""
        elif error is None:
            error = "cancelled", "the request was cancelled"
        self._span.set_attributes(response)
        _end(self._span, error, at)
        if error is not None:
            response["error.type"] = error[0]
        _duration.record(seconds, {**self._attributes, **response}, self._context)


def current_trace() -> Trace | None:
    """Return the caller's place in a trace; `None` while the program has set no provider."""
    providers = trace.get_tracer_provider(), metrics.get_meter_provider()
    # What the API itself provides records nothing.
    is_set = any(not type(provider).__module__.startswith(_API) for provider in providers)
    return Trace(get_current()) if is_set else None


def _end(span: Span, error: tuple[str, str] | None, at: int) -> None:
    if error is not None:
        kind, text = error
        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR, text or None))
    span.end(at)


@contextmanager
def trace_sync() -> "Iterator[Callable[[Iterable[Outcome]], None]]":
    """Report a sync as a span, which has its requests and its units as children; yields what reports units."""
    with _tracer.start_as_current_span("sideline.sync"):
        context = get_current()

        def report(outcomes: "Iterable[Outcome]") -> None:
            for outcome in outcomes:
                _units.add(1, {"sideline.unit.status": outcome.status}, context)
                _report_unit(outcome, context)

        yield report


def _report_unit(outcome: "Outcome", context: Context) -> None:
    end = time_ns()
    span = _tracer.start_span(
        "sideline.sync.unit",
        context,
        attributes={
            "sideline.unit": outcome.unit.name,
            "sideline.operation": outcome.unit.operation,
            "sideline.unit.status": outcome.status,
            "sideline.unit.rows": outcome.rows,
            "sideline.unit.attempts": outcome.attempts,
        },
        start_time=min(end, int(outcome.fetched_at.timestamp() * 1e9)),
    )
    _end(span, None if outcome.error is None else (outcome.status, outcome.error), end)


_titles: "WeakKeyDictionary[LiveStream[Any], str]" = WeakKeyDictionary()
"""The streams that exist, with their titles."""


def observe_stream(stream: "LiveStream[Any]", title: str) -> None:
    """Report the counters of a stream with each collection of metrics, while it exists."""
    _titles[stream] = title


def _observe(name: str, *, when_closed: bool) -> list[Callable[[CallbackOptions], Iterable[Observation]]]:
    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        for stream, title in list(_titles.items()):
            if when_closed or stream.state != "closed":
                yield Observation(getattr(stream.stats, name), {"sideline.stream": title})

    return [observe]


_meter.create_observable_gauge(
    "sideline.stream.lag", _observe("lag", when_closed=False), "s", "How long the oldest update has waited."
)
_meter.create_observable_up_down_counter(
    "sideline.stream.open_gaps",
    _observe("open_gaps", when_closed=False),
    "{gap}",
    "Gaps that are neither closed nor final.",
)
_meter.create_observable_counter(
    "sideline.stream.reconnects",
    _observe("reconnects", when_closed=True),
    "{connection}",
    "Connections after the first.",
)
_meter.create_observable_counter(
    "sideline.stream.unreadable", _observe("unreadable", when_closed=True), "{row}", "Rows that are left out."
)
_meter.create_observable_up_down_counter(
    "sideline.stream.buffer", _observe("buffer_bytes", when_closed=False), "By", "Bytes that wait to be taken."
)
