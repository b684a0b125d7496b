"""The seam between plan and service: units in, outcomes out."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import groupby
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sideline._core import Payload
from sideline.archive.decode import NOT_OF_ONE, decoded
from sideline.archive.plan import COMPLETE, RESOURCES, Unit
from sideline.archive.store import now
from sideline.errors import (
    ApiError,
    AuthenticationError,
    ConnectError,
    DecodeError,
    NotFound,
    PermissionDenied,
    TransportError,
)

if TYPE_CHECKING:
    import pyarrow

    from sideline._client import Client

OF_ONE = (ApiError, TransportError, DecodeError, ValueError)
"""Errors of one request; any other concerns all of them, and ends a sync."""

SEASON_DATE = "x-simulated-date"
"""The header in which a simulator with a frozen clock says its season's time."""

_STEP = 0.05
"""Seconds between two checks for Ctrl-C."""

_TEAMS_REFUSED = 3
"""So many refusals of the list of teams are no accident."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class Outcome:
    """How a unit ended; `status` is one of those of the table `coverage`."""

    unit: Unit
    status: str
    fetched_at: datetime
    served_at: datetime | None = None
    """The service's `Date`."""
    raw: bytes | None = None
    """Its body; also where that could not be decoded, which `error` says."""
    tables: "Mapping[str, pyarrow.Table]" = field(default_factory=dict)
    """As they are stored."""
    request_id: str | None = None
    url: str | None = None
    """Without secrets."""
    error: str | None = None
    attempts: int = 1
    rows: int = 0
    """Of its first table."""
    listed_at: datetime | None = None
    is_absence: bool = False
    """Whether the service said that there is no such thing, or its parent no longer lists it."""
    cause: Exception | None = None

    @property
    def is_stored(self) -> bool:
        """Whether it changes rows: with those of its body, or with none where the unit was withdrawn."""
        return self.status in COMPLETE or self.status == "withdrawn"

    def release(self) -> None:
        """Let body and rows go: they would add up."""
        self.raw, self.tables, self.cause = None, {}, None


def read(
    unit: Unit,
    raw: bytes,
    fetched_at: datetime,
    served_at: datetime | None = None,
    request_id: str | None = None,
    attempts: int = 1,
    url: str | None = None,
) -> Outcome:
    """The outcome of a body. One that cannot be decoded or stored has failed, and its body is kept."""
    outcome = Outcome(unit, "failed", fetched_at, served_at, raw, request_id=request_id, url=url, attempts=attempts)
    try:
        outcome.tables = decoded(unit, raw)
    except NOT_OF_ONE:
        raise
    except Exception as error:  # whatever one body raises is that unit's hole, never the end of the sync
        outcome.error = line(error)
        return outcome
    outcome.rows = outcome.tables[RESOURCES[unit.operation].tables[0]].num_rows
    outcome.status = "fetched" if outcome.rows else "empty"
    return outcome


def failed(unit: Unit, error: Exception) -> Outcome:
    """The outcome of a request that ended with an error; a body that came with it is kept."""
    response = error if isinstance(error, ApiError) else None
    # A body that came with status 200 and is none, whatever status it names, is a failure.
    payload: Payload | None = getattr(error, "payload", None)
    return Outcome(
        unit,
        status_of(error) if payload is None else "failed",
        now(),
        served_at(payload),
        None if payload is None else payload.raw,
        request_id=response.request_id if response else None,
        url=getattr(error, "url", None),
        error=line(error),
        attempts=response.attempts if response else 1,
        is_absence=isinstance(error, NotFound) and payload is None,
        cause=error,
    )


def status_of(error: Exception) -> str:
    """The status of a unit that ended with the error."""
    if isinstance(error, PermissionDenied):
        return "forbidden"
    return "missing" if isinstance(error, NotFound) else "failed"


def line(error: Exception) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {error}"


def served_at(payload: Payload | None, header: str = "date") -> datetime | None:
    """The service's `Date`; `None` where there is none that can be read."""
    if payload is None or not payload.headers:
        return None
    text = payload.headers.get(header)
    try:
        date = None if text is None else parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date is None or date.tzinfo else date.replace(tzinfo=UTC)


def unreachable(outcomes: Sequence[Outcome]) -> Exception | None:
    """Why the service cannot be reached, where that is why each of them failed."""
    causes = [outcome.cause for outcome in outcomes if outcome.attempts or outcome.status != "failed"]
    return causes[0] if causes and all(isinstance(cause, ConnectError) for cause in causes) else None


class Refusals:
    """Watches for refused credentials, from all threads of a sync."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._one_asks = Lock()
        self._are_refused = False

    def check(self, error: Exception | None) -> None:
        """Raise where the credentials as such are refused, which ends a sync: the teams are every client's to read.

        A gateway may refuse one id, one path, or a request now and then: that is a hole, and the rest is fetched.
        """
        if not isinstance(error, AuthenticationError):
            return
        # The other threads wait, and send nothing meanwhile.
        with self._one_asks:
            self._are_refused = self._are_refused or self._teams_refused()
        if self._are_refused:
            raise error

    def _teams_refused(self) -> bool:
        for _ in range(_TEAMS_REFUSED):
            try:
                self._client.teams()
            except AuthenticationError:
                continue
            except OF_ONE:
                pass
            return False
        return True


class Fetched(NamedTuple):
    """What was fetched and is yet to be read."""

    operation: str
    size: int
    """Bytes of its body."""
    read: Callable[[], Outcome]


def fetch(client: "Client", units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Fetched]:
    """Request each unit, as many at once as the client allows; `tell` is called with how many have ended.

    A body is decoded by its `read`, so that decoding and storing need not hold up the next requests.
    """
    by_operation = sorted(units, key=lambda unit: unit.operation)
    done = 0
    for operation, group in groupby(by_operation, key=lambda unit: unit.operation):
        same = list(group)
        sendable = [unit for unit in same if unit.problem is None]
        for unit in same:
            if unit.problem is not None:
                ended = Outcome(unit, "failed", now(), error=unit.problem, attempts=0)
                yield Fetched(operation, 0, partial(_same, ended))
        each = _one_by_one if operation == "locations" else _at_once
        if sendable:
            yield from each(client, sendable, lambda ended, base=done: tell(base + ended))  # type: ignore[misc]
        done += len(same)
        tell(done)


def _at_once(client: "Client", units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Fetched]:
    operation = units[0].operation
    batch = getattr(client, operation)(
        [unit.id for unit in units], on_error="keep", progress=lambda progress: tell(progress.done)
    )
    rows = batch.coverage.to_dicts()
    # A batch that gave up says why in its first unit without an attempt.
    Refusals(client).check(
        next((one.error for one, row in zip(batch._units, rows, strict=True) if not row["attempts"]), None)
    )
    for unit, one, row in zip(units, batch._units, rows, strict=True):
        if one.came and one.payload is not None:
            yield Fetched(operation, one.payload._size, partial(_read, unit, one.payload, row))
        else:
            yield Fetched(operation, 0, partial(_same, _failed(unit, one.error, one.payload, row)))


def _read(unit: Unit, payload: Payload, row: Mapping[str, Any]) -> Outcome:
    # `raw` is a copy: before this the body is held once, by the payload.
    at, url = served_at(payload), payload.url
    return read(unit, payload.raw, row["fetched_at"], at, row["request_id"], row["attempts"], url)


def _failed(unit: Unit, error: Exception | None, payload: Payload | None, row: Mapping[str, Any]) -> Outcome:
    return Outcome(
        unit,
        row["status"],
        row["fetched_at"] or now(),
        served_at(payload),
        None if payload is None else payload.raw,
        request_id=row["request_id"],
        url=getattr(error, "url", None),
        error=line(error) if error and row["attempts"] else row["error"],
        attempts=row["attempts"],
        is_absence=row["status"] == "missing",
        cause=error,
    )


def _same(outcome: Outcome) -> Outcome:
    return outcome


def _one_by_one(client: "Client", units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Fetched]:
    """Ranges of their own: no batch requests them. They are large, so that few are in memory."""
    refusals = Refusals(client)

    def one(unit: Unit) -> Fetched:
        assert unit.start is not None
        assert unit.end is not None
        try:
            payload: Payload = client.locations(unit.id, unit.start, unit.end)
        except OF_ONE as error:
            refusals.check(error)
            return Fetched(unit.operation, 0, partial(_same, failed(unit, error)))
        row = {"fetched_at": payload.fetched_at or now(), "request_id": payload.request_id, "attempts": 1}
        return Fetched(unit.operation, payload._size, partial(_read, unit, payload, row))

    for done, fetched in enumerate(spread(one, units, 4), 1):
        tell(done)
        yield fetched


def spread(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """The result of `work` for each item, in order, from several threads.

    The threads are daemons, which no pool's are: Ctrl-C leaves the requests under way alone, and waits for none.
    """
    futures: list[Future[Result]] = [Future() for _ in items]
    left = deque(zip(futures, items, strict=True))

    def run() -> None:
        while left:
            try:
                future, item = left.popleft()
            except IndexError:
                return
            try:
                future.set_result(work(item))
            except BaseException as error:
                # The items that are left would be read after this one, which ends all.
                left.clear()
                future.set_exception(error)

    for _ in range(min(threads, len(items))):
        Thread(target=run, name="sideline archive", daemon=True).start()
    try:
        for future in futures:
            # In steps: where polars is imported, Ctrl-C interrupts no wait.
            while not wait([future], _STEP).done:
                pass
            yield future.result()
    finally:
        left.clear()
