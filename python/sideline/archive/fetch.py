"""The seam between plan and service: units in, outcomes out, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sideline._core import Payload
from sideline.archive.plan import RESOURCES, Unit
from sideline.archive.store import now, stored
from sideline.errors import ApiError, AuthenticationError, NotFound, PermissionDenied, SidelineError

if TYPE_CHECKING:
    import pyarrow

    from sideline.client import Client


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


def had(unit: Unit, raw: bytes, fetched_at: datetime, request_id: str | None) -> Outcome:
    """The outcome of a body that came; one that cannot be read has failed."""
    try:
        tables = decoded(unit, raw)
    except SidelineError as error:
        return Outcome(unit, "failed", fetched_at, request_id=request_id, error=str(error))
    rows = tables[RESOURCES[unit.operation].tables[0]].num_rows
    return Outcome(unit, "fetched" if rows else "empty", fetched_at, raw, tables, request_id, rows=rows)


def not_had(unit: Unit, error: Exception) -> Outcome:
    """The outcome of a request that ended with an error."""
    status = (
        "forbidden"
        if isinstance(error, (PermissionDenied, AuthenticationError))
        else "missing"
        if isinstance(error, NotFound)
        else "failed"
    )
    answer = error if isinstance(error, ApiError) else None
    return Outcome(
        unit,
        status,
        now(),
        request_id=answer.request_id if answer else None,
        error=f"{type(error).__name__}: {error}",
        attempts=answer.attempts if answer else 1,
    )


def asked(client: "Client", unit: Unit) -> Payload:
    """The one request of a unit."""
    if unit.operation == "locations":
        return client.locations(unit.id, unit.start, unit.end)  # type: ignore[arg-type]
    call: Callable[[str], Payload] = getattr(client, unit.operation)
    return call(unit.id)


def fetch(client: "Client", units: Sequence[Unit]) -> Iterator[Outcome]:
    """Ask for each unit, as many at once as the client allows."""

    def one(unit: Unit) -> Outcome:
        try:
            payload = asked(client, unit)
            return had(unit, payload.raw, payload.fetched_at or now(), payload.request_id)
        except SidelineError as error:
            return not_had(unit, error)

    with ThreadPoolExecutor(client._options["max_concurrency"]) as pool:
        try:
            yield from pool.map(one, units)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
