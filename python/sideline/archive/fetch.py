"""The seam between plan and service: units in, outcomes out."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sideline._core import Payload
from sideline.archive.plan import RESOURCES, Unit
from sideline.archive.store import now, stored
from sideline.errors import ApiError, AuthenticationError, DecodeError, NotFound, PermissionDenied, TransportError

_STEP = 0.05
"""Seconds without a look for Ctrl-C."""

One = TypeVar("One")
Made = TypeVar("Made")

if TYPE_CHECKING:
    import pyarrow

    from sideline.client import Client

OF_ONE = (ApiError, TransportError, DecodeError)
"""Errors of one request; any other concerns all of them, and ends a sync."""


@dataclass
class Outcome:
    """How a unit ended: `status` is exactly one of fetched, empty, forbidden, missing, failed."""

    unit: Unit
    status: str
    fetched_at: datetime
    raw: bytes | None = None
    tables: "Mapping[str, pyarrow.Table]" = field(default_factory=dict)
    """As they are stored."""
    request_id: str | None = None
    error: str | None = None
    attempts: int = 1
    rows: int = 0
    """Of its first table."""

    def forget(self) -> None:
        """Let body and rows go."""
        self.raw, self.tables = None, {}


def decoded(unit: Unit, raw: bytes) -> "dict[str, pyarrow.Table]":
    """A body's tables, as they are stored."""
    resource = RESOURCES[unit.operation]
    if resource.key == "session_id":
        ids: dict[str, Any] = {"session_id": unit.id}
    elif unit.operation == "team_events":
        ids = {"team_id": unit.team_id}
    elif unit.operation == "roster":
        ids = {"team_id": unit.id}
    elif unit.operation in ("teams", "schedule"):
        ids = {}
    else:
        ids = {"game_id": unit.id}
    payload = Payload.from_bytes(unit.operation, raw, **ids)
    return {name: stored(payload.to_arrow(name)) for name in resource.tables}


def had(unit: Unit, raw: bytes, fetched_at: datetime, request_id: str | None, attempts: int = 1) -> Outcome:
    """The outcome of a body that came; one that cannot be read has failed."""
    try:
        tables = decoded(unit, raw)
    except DecodeError as error:
        return Outcome(unit, "failed", fetched_at, request_id=request_id, error=_line(error), attempts=attempts)
    rows = tables[RESOURCES[unit.operation].tables[0]].num_rows
    return Outcome(unit, "fetched" if rows else "empty", fetched_at, raw, tables, request_id, None, attempts, rows)


def not_had(unit: Unit, error: Exception) -> Outcome:
    """The outcome of a request that ended with an error."""
    status = (
        "forbidden" if isinstance(error, PermissionDenied) else "missing" if isinstance(error, NotFound) else "failed"
    )
    answer = error if isinstance(error, ApiError) else None
    return Outcome(
        unit,
        status,
        now(),
        request_id=answer.request_id if answer else None,
        error=_line(error),
        attempts=answer.attempts if answer else 1,
    )


_TEAMS_REFUSED = 3
"""So many refusals of the list of teams are no accident."""


class Heed:
    """Hears the refusals of a sync, from all its threads."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._one_asks = Lock()
        self._refused = False

    def __call__(self, error: Exception | None) -> None:
        """Raise where the credentials as such are refused, which ends a sync: the teams are every client's to read.

        A gateway may refuse one id, one path, or a request now and then: that is a hole, and the rest comes.
        """
        if not isinstance(error, AuthenticationError):
            return
        # The others wait, and ask for nothing meanwhile.
        with self._one_asks:
            self._refused = self._refused or self._teams_refused()
        if self._refused:
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


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class Came(NamedTuple):
    """What was fetched and is yet to be read."""

    operation: str
    size: int
    """Bytes of its body."""
    read: Callable[[], Outcome]


def fetch(client: "Client", units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Came]:
    """Ask for each unit, as many at once as the client allows; `tell` hears how many ended.

    What comes is read by its `read`: reading and storing need not hold up what is asked next.
    """
    by_operation = sorted(units, key=lambda unit: unit.operation)
    done = 0
    for operation, group in groupby(by_operation, key=lambda unit: unit.operation):
        same = list(group)
        base = done
        if operation == "locations":
            yield from _one_by_one(client, same, lambda ended, base=base: tell(base + ended))  # type: ignore[misc]
        else:
            yield from _at_once(client, operation, same, lambda ended, base=base: tell(base + ended))  # type: ignore[misc]
        done += len(same)
        tell(done)


def _at_once(client: "Client", operation: str, units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Came]:
    batch = getattr(client, operation)(
        [unit.id for unit in units], on_error="keep", progress=lambda progress: tell(progress.done)
    )
    rows = batch.coverage.to_dicts()
    # Where the batch gave up, some were not asked for.
    Heed(client)(next((one.error for one, row in zip(batch._units, rows, strict=True) if not row["attempts"]), None))
    for unit, ended, row in zip(units, batch._units, rows, strict=True):
        if ended.came and ended.payload is not None:
            read = partial(_read, unit, ended.payload, row["fetched_at"], row["request_id"], row["attempts"])
            yield Came(operation, ended.payload._size, read)
        else:
            lost = Outcome(
                unit,
                row["status"],
                row["fetched_at"],
                request_id=row["request_id"],
                error=_line(ended.error) if ended.error else row["error"],
                attempts=row["attempts"],
            )
            yield Came(operation, 0, partial(_same, lost))


def _read(unit: Unit, payload: Payload, at: datetime, request_id: str | None, attempts: int) -> Outcome:
    # Not before: until then the body is held once, by the payload.
    return had(unit, payload.raw, at, request_id, attempts)


def _same(outcome: Outcome) -> Outcome:
    return outcome


def _one_by_one(client: "Client", units: Sequence[Unit], tell: Callable[[int], None]) -> Iterator[Came]:
    """Ranges of their own: no batch asks for them. They are large, so that few are in memory."""

    heed = Heed(client)

    def one(unit: Unit) -> Came:
        assert unit.start is not None
        assert unit.end is not None
        try:
            payload: Payload = client.locations(unit.id, unit.start, unit.end)
        except OF_ONE as error:
            heed(error)
            return Came(unit.operation, 0, partial(_same, not_had(unit, error)))
        read = partial(_read, unit, payload, payload.fetched_at or now(), payload.request_id, 1)
        return Came(unit.operation, payload._size, read)

    for done, came in enumerate(spread(one, units, 4), 1):
        tell(done)
        yield came


def spread(work: Callable[[One], Made], on: Sequence[One], threads: int) -> Iterator[Made]:
    """What `work` makes of each, in their order, in so many threads.

    The threads are daemons, which no pool's are: Ctrl-C leaves the requests under way alone, and waits for none.
    """
    made: list[Future[Made]] = [Future() for _ in on]
    left = deque(zip(made, on, strict=True))

    def one() -> None:
        while left:
            try:
                future, given = left.popleft()
            except IndexError:
                return
            try:
                future.set_result(work(given))
            except BaseException as error:
                # What is left comes after this one, which ends all.
                left.clear()
                future.set_exception(error)

    for _ in range(min(threads, len(on))):
        Thread(target=one, name="sideline archive", daemon=True).start()
    try:
        for future in made:
            # In steps: where polars is imported, Ctrl-C interrupts no wait.
            while not wait([future], _STEP).done:
                pass
            yield future.result()
    finally:
        left.clear()
