"""Requests units and returns their outcomes."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from itertools import groupby
from threading import Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .._client import size_of, units_of
from .._core import Payload
from ..errors import (
    ApiError,
    AuthenticationError,
    ConnectError,
    DecodeError,
    NotFound,
    PermissionDenied,
    TransportError,
)
from ._body import Body
from ._decode import MACHINE_ERRORS, check_key, count_rows, decode_tables, empty_tables
from ._libraries import pa
from ._life import COMPLETE, Observation, State, after
from ._packed import pack, unpack
from ._plan import RESOURCES, Unit
from ._store import now

if TYPE_CHECKING:
    from .._client import Client

REQUEST_ERRORS = (ApiError, TransportError, DecodeError, ValueError)
"""Errors of one request. Any other error ends the sync."""

SEASON_DATE = "x-simulated-date"
"""The header with the season's time, sent by a simulator with a frozen clock."""

_CHECK_INTERVAL = 0.05
"""Seconds between two checks for Ctrl-C."""

_MAX_REFUSALS = 3
"""This many refusals of the list of teams mean that the credentials are refused."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True)
class Outcome:
    """How a unit ended; `status` is a status of the table `coverage`."""

    unit: Unit
    status: str
    fetched_at: datetime
    served_at: datetime | None = None
    """The time in the service's `Date` header."""
    body: Body | None = None
    """The body, even if it could not be decoded; then `error` says why. An empty body is no body."""
    request_id: str | None = None
    url: str | None = None
    """Without secrets."""
    error: str | None = None
    attempts: int = 1
    rows: int = 0
    """Number of rows in the first table."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of rows in each table of the body."""
    extra_columns: Sequence[str] = ()
    """The body's stat codes, which are columns of its box score."""
    rows_of_locations: "pa.Buffer | None" = None
    """The packed rows of a body of locations: to decode its megabytes twice would take a third of a sync's time."""
    listed_at: datetime | None = None
    """When a list or an event last listed it."""
    is_absence: bool = False
    """Whether the service says that it does not exist, or its parent no longer lists it."""
    cause: Exception | None = None
    """The error that `error` describes."""

    @property
    def is_stored(self) -> bool:
        """Whether it changes rows: to those of its body, or to none if the unit was withdrawn."""
        return self.status in COMPLETE or self.status == "withdrawn"

    @property
    def tables(self) -> Sequence[str]:
        """The names of the tables whose rows it changes."""
        return RESOURCES[self.unit.operation].tables if self.is_stored else ()

    def decode(self) -> "dict[str, pa.Table]":
        """Return its tables in storage types; those of a unit that was withdrawn have no rows."""
        if self.body is None or self.status == "withdrawn":
            return empty_tables(self.unit)
        if self.rows_of_locations is not None:
            return {"locations": unpack(self.rows_of_locations)}
        return decode_tables(self.unit, self.body.raw)

    def release(self) -> None:
        """Drop the body to free its memory."""
        self.body, self.rows_of_locations, self.cause = None, None, None


def read(
    unit: Unit,
    raw: bytes,
    fetched_at: datetime,
    served_at: datetime | None = None,
    request_id: str | None = None,
    attempts: int = 1,
    url: str | None = None,
) -> Outcome:
    """Return the outcome of a body. A body that cannot be decoded or stored has failed, and is kept."""
    outcome = Outcome(
        unit, "failed", fetched_at, served_at, Body.of(raw), request_id=request_id, url=url, attempts=attempts
    )
    try:
        if unit.operation == "locations":
            check_key(unit, raw)
            rows = decode_tables(unit, raw)["locations"]
            outcome.counts, outcome.rows_of_locations = {"locations": rows.num_rows}, pack(rows)
        else:
            outcome.counts, outcome.extra_columns = count_rows(unit, raw)
    except MACHINE_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - one bad body is a hole and must not end the sync
        outcome.error = describe(error)
        return outcome
    outcome.rows = outcome.counts[RESOURCES[unit.operation].tables[0]]
    seen = Observation.BODY if outcome.rows else Observation.BODY_WITHOUT_ROWS
    outcome.status = after(State.EXPECTED, seen).status
    return outcome


def failed(unit: Unit, error: Exception) -> Outcome:
    """Return the outcome of a failed request, with its body if there is one."""
    response = error if isinstance(error, ApiError) else None
    # A body of status 200 that is an error document is a failure, whatever status it names.
    payload: Payload | None = getattr(error, "payload", None)
    return Outcome(
        unit,
        after(State.EXPECTED, _observe(error, payload)).status,
        now(),
        served_at(payload),
        None if payload is None else Body.of(payload.raw),
        request_id=response.request_id if response else None,
        url=getattr(error, "url", None),
        error=describe(error),
        attempts=response.attempts if response else 1,
        is_absence=isinstance(error, NotFound) and payload is None,
        cause=error,
    )


def _observe(error: Exception, payload: Payload | None) -> Observation:
    """Return what an error says about its unit. The writer knows whether it was ever linked."""
    if payload is not None or isinstance(error, DecodeError):
        return Observation.ERROR_DOCUMENT
    if isinstance(error, PermissionDenied):
        return Observation.REFUSAL
    return Observation.NOT_FOUND_LINKED if isinstance(error, NotFound) else Observation.SILENCE


def describe(error: Exception) -> str:
    """Return the error's type and message."""
    return f"{type(error).__name__}: {error}"


def served_at(payload: Payload | None, header: str = "date") -> datetime | None:
    """Return the time of the service's `Date` header, or `None` if it cannot be read."""
    headers = None if payload is None else payload.headers
    return _parse_date(headers.get(header)) if headers else None


@lru_cache(64)
def _parse_date(text: str | None) -> datetime | None:
    """Many responses of a second have the same."""
    try:
        date = None if text is None else parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date is None or date.tzinfo else date.replace(tzinfo=UTC)


def connection_error(outcomes: Sequence[Outcome]) -> Exception | None:
    """Return the connection error if every unit failed with one."""
    causes = [outcome.cause for outcome in outcomes if outcome.attempts or outcome.status != "failed"]
    return causes[0] if causes and all(isinstance(cause, ConnectError) for cause in causes) else None


class Refusals:
    """Recognises refused credentials, for all threads of a sync."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._lock = Lock()
        self._are_refused = False

    def check(self, error: Exception | None) -> None:
        """Raise if the service refuses the credentials even for the list of teams, which any client may read.

        A gateway that refuses only one id, one path or an occasional request causes a hole and does not end the sync.
        """
        if not isinstance(error, AuthenticationError):
            return
        # Other threads wait here and send nothing meanwhile.
        with self._lock:
            self._are_refused = self._are_refused or self._teams_refused()
        if self._are_refused:
            raise error

    def _teams_refused(self) -> bool:
        for _ in range(_MAX_REFUSALS):
            try:
                self._client.teams()
            except AuthenticationError:
                continue
            except REQUEST_ERRORS:
                pass
            return False
        return True


class Fetched(NamedTuple):
    """A fetched unit whose body is not decoded yet."""

    operation: str
    size: int
    """Bytes of the body."""
    read: Callable[[], Outcome]
    """Returns the outcome, and decodes the body if there is one."""


def fetch(client: "Client", units: Sequence[Unit], on_ended: Callable[[int], None]) -> Iterator[Fetched]:
    """Request units concurrently. `on_ended` is called with the number of units that have ended.

    `read` decodes a body, so that decoding and storing do not hold up the next requests.
    """
    by_operation = sorted(units, key=lambda unit: unit.operation)
    done = 0
    for operation, group in groupby(by_operation, key=lambda unit: unit.operation):
        same = list(group)
        sendable = [unit for unit in same if unit.problem is None]
        for unit in same:
            if unit.problem is not None:
                outcome = Outcome(unit, "failed", now(), error=unit.problem, attempts=0)
                yield Fetched(operation, 0, partial(_return, outcome))
        fetch_units = _fetch_each if operation == "locations" else _fetch_batch
        if sendable:
            yield from fetch_units(client, sendable, lambda outcome, base=done: on_ended(base + outcome))  # type: ignore[misc]
        done += len(same)
        on_ended(done)


def _fetch_batch(client: "Client", units: Sequence[Unit], on_ended: Callable[[int], None]) -> Iterator[Fetched]:
    operation = units[0].operation
    batch = getattr(client, operation)(
        [unit.id for unit in units], on_error="keep", progress=lambda progress: on_ended(progress.done)
    )
    rows = batch.coverage.to_dicts()
    # The first unit without an attempt says why a batch stopped.
    Refusals(client).check(
        next(
            (core_unit.error for core_unit, row in zip(units_of(batch), rows, strict=True) if not row["attempts"]), None
        )
    )
    for unit, core_unit, row in zip(units, units_of(batch), rows, strict=True):
        if core_unit.is_answered and core_unit.payload is not None:
            yield Fetched(operation, size_of(core_unit.payload), partial(_read, unit, [core_unit.payload], row))
        else:
            yield Fetched(operation, 0, partial(_return, _failed(unit, core_unit.error, core_unit.payload, row)))


def _read(unit: Unit, payloads: list[Payload], row: Mapping[str, Any]) -> Outcome:
    """Decode the body of the only payload, which is taken: `raw` is a copy of it."""
    payload = payloads.pop()
    at, url, raw = served_at(payload), payload.url, payload.raw
    del payload
    return read(unit, raw, row["fetched_at"], at, row["request_id"], row["attempts"], url)


def _failed(unit: Unit, error: Exception | None, payload: Payload | None, row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a unit of a batch that has no data; `row` is its row of the batch's coverage."""
    return Outcome(
        unit,
        row["status"],
        row["fetched_at"] or now(),
        served_at(payload),
        None if payload is None else Body.of(payload.raw),
        request_id=row["request_id"],
        url=getattr(error, "url", None),
        error=describe(error) if error and row["attempts"] else row["error"],
        attempts=row["attempts"],
        is_absence=row["status"] == "missing",
        cause=error,
    )


def _return(outcome: Outcome) -> Outcome:
    """Return an outcome without a body to decode: the `read` of its `Fetched`."""
    return outcome


def _fetch_each(client: "Client", units: Sequence[Unit], on_ended: Callable[[int], None]) -> Iterator[Fetched]:
    """Request units with ranges, which batches do not support. They are large, so few are in memory."""
    refusals = Refusals(client)

    def fetch_unit(unit: Unit) -> Fetched:
        assert unit.start is not None
        assert unit.end is not None
        try:
            payload: Payload = client.locations(unit.id, unit.start, unit.end)
        except REQUEST_ERRORS as error:
            refusals.check(error)
            return Fetched(unit.operation, 0, partial(_return, failed(unit, error)))
        row = {"fetched_at": payload.fetched_at or now(), "request_id": payload.request_id, "attempts": 1}
        return Fetched(unit.operation, size_of(payload), partial(_read, unit, [payload], row))

    for done, fetched in enumerate(map_in_threads(fetch_unit, units, 4), 1):
        on_ended(done)
        yield fetched


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """Return the result of `work` for each item, in order, from several threads.

    No more results than threads wait until they are used. The threads are daemons, unlike those of a pool, so that
    Ctrl-C does not wait for running requests.
    """
    futures: list[Future[Result]] = [Future() for _ in items]
    left = deque(zip(futures, items, strict=True))
    turns = Semaphore(threads)

    def run() -> None:
        while left:
            turns.acquire()
            try:
                future, item = left.popleft()
            except IndexError:
                return
            try:
                future.set_result(work(item))
            except BaseException as error:  # noqa: BLE001 - raised again where the result is read
                # This error ends the whole run, so the remaining items are not needed.
                left.clear()
                future.set_exception(error)
                turns.release(threads)
            # The frame of a waiting thread would keep the result.
            del future, item

    for _ in range(min(threads, len(items))):
        # Their requests belong to the caller's span.
        Thread(target=copy_context().run, args=(run,), name="sideline archive", daemon=True).start()
    try:
        for place, future in enumerate(futures):
            # Wait in steps: once polars is imported, Ctrl-C does not interrupt a wait.
            while not wait([future], _CHECK_INTERVAL).done:
                pass
            yield future.result()
            futures[place] = future = Future()
            turns.release()
    finally:
        left.clear()
        turns.release(threads)
