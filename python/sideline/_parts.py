"""The units of a plan, requested and decoded, some at a time."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sideline._core import Payload, Table, _batch_table, _coverage_table
from sideline._frames import library
from sideline._types import TableName
from sideline.archive.fetch import spread
from sideline.batch import Batch, Unit
from sideline.errors import IncompleteError
from sideline.plan import Plan, PlanUnit
from sideline.timeout import Timeout

if TYPE_CHECKING:
    import pyarrow

    from sideline._client import Client

AT_ONCE = 32
"""Units in memory at once."""

_WINDOWS_AT_ONCE = 4
"""Windows of locations are large."""

_STATUS = 6
"""Its place in a row of `coverage`."""

_clients: dict[tuple[str, int], "Client"] = {}


class Outcome(NamedTuple):
    """How a unit of a plan ended."""

    unit: PlanUnit
    ended: Unit
    batch: Batch

    @property
    def is_unavailable(self) -> bool:
        """Whether it is 404 for what no link names, which is no hole."""
        return self.ended.status == "missing" and not self.unit.is_linked

    @property
    def payload(self) -> Payload | None:
        """The response, where it counts as data."""
        return self.ended.payload if self.ended.came else None


def client_of(plan: Plan) -> "Client":
    """The client of this process for the plan's service: its connections and its rate are shared by all parts."""
    # With the secret's hash, a secret that was set or changed later is used.
    key = json.dumps(dict(plan.service), sort_keys=True), hash(os.environ.get("SIDELINE_SECRET"))
    found = _clients.get(key)
    if found is None:
        # Two threads may both make one; no lock can be held by a thread that a fork leaves behind.
        found = _clients.setdefault(key, _built(plan))
    return found


def _built(plan: Plan) -> "Client":
    from sideline._client import Client

    options = dict(plan.service)
    if "timeout" in options:
        connect, read, total = options["timeout"]
        options["timeout"] = Timeout(connect=connect, read=read, total=total)
    return Client(**options)


def outcomes(plan: Plan, client: "Client | None" = None, sizes: Iterator[int] | None = None) -> Iterator[list[Outcome]]:
    """How each unit ended, in the plan's order; `sizes` are how many units to request at once, each time."""
    from sideline._client import Client

    if client is not None and not isinstance(client, Client):
        kind = type(client).__name__
        raise TypeError(f"client is a sideline.Client, which waits, or None; not {kind}")
    asks = client_of(plan) if client is None else client
    asks._core.check_credentials()
    most = _WINDOWS_AT_ONCE if plan.operation == "locations" else AT_ONCE
    left = iter(plan._units)
    while units := list(islice(left, min(most, most if sizes is None else next(sizes)))):
        yield _windows(asks, units) if plan.operation == "locations" else _batch(asks, plan.operation, units)


def _batch(client: "Client", operation: str, units: Sequence[PlanUnit]) -> list[Outcome]:
    options: dict[str, Any] = {"on_error": "keep", "progress": False}
    if units[0].session_id is not None:
        options["game_id"] = [unit.game_id for unit in units]
    batch: Batch = getattr(client, operation)([unit.id for unit in units], **options)
    return [Outcome(unit, ended, batch) for unit, ended in zip(units, batch._units, strict=True)]


def _windows(client: "Client", units: Sequence[PlanUnit]) -> list[Outcome]:
    """Each has a range of its own, so that each is a batch of one."""

    def one(unit: PlanUnit) -> Outcome:
        assert unit.start is not None
        assert unit.end is not None
        options: dict[str, Any] = {"on_error": "keep", "progress": False}
        if unit.game_id is not None:
            options["game_id"] = unit.game_id
        batch: Batch = client.locations([unit.id], unit.start, unit.end, **options)
        return Outcome(unit, batch._units[0], batch)

    return list(spread(one, units, len(units)))


def raise_holes(plan: Plan, found: Sequence[Outcome]) -> None:
    """Raise `IncompleteError` where a unit did not come."""
    holes = [one for one in found if not one.ended.came and not one.is_unavailable]
    if not holes:
        return
    counts = Counter(hole.ended.status for hole in holes)
    first = holes[0]
    raise IncompleteError(
        f"{plan.table}: {len(holes)} of {len(found)} units did not come "
        f"({', '.join(f'{count} {status}' for status, count in counts.items())}); the first is {first.unit.name}: "
        f"{first.ended.error}. Read again, or read part.bodies(), where what did not come is a row",
        batch=first.batch,
    ) from first.ended.error


def tables(plan: Plan, client: "Client | None" = None, sizes: Iterator[int] | None = None) -> Iterator[Table]:
    """The rows of each unit. Raises `IncompleteError` where one did not come."""
    for found in outcomes(plan, client, sizes):
        raise_holes(plan, found)
        for one in found:
            if one.payload is not None:
                yield of_unit(one.payload, plan.table, plan.columns, one.unit.end if one.unit.has_next else None)


def of_unit(payload: Payload, name: TableName, columns: Sequence[str] | None, until: int | None) -> Table:
    """One payload's table; rows from `until` on are those of the next window."""
    if until is None:
        return payload.table(name, columns)
    pa, pc = library("pyarrow", "arrow"), library("pyarrow.compute", "arrow")
    needed = None if columns is None else list(dict.fromkeys((*columns, "t")))
    rows = payload.table(name, needed).to_arrow()
    rows = rows.filter(pc.less(rows["t"], pa.scalar(until, rows.schema.field("t").type)))
    return Table._from_arrow(name, rows if columns is None else rows.select(list(columns)))


def read(plan: Plan, client: "Client | None") -> Table:
    """All rows as one table."""
    if plan.operation == "locations":
        pa = library("pyarrow", "arrow")
        found = [table.to_arrow() for table in tables(plan, client)]
        whole = pa.concat_tables([plan.schema.to_arrow().empty_table(), *found]).unify_dictionaries()
        return Table._from_arrow(plan.table, whole)
    payloads: list[Payload] = []
    shape: Payload | None = None
    for ended in outcomes(plan, client):
        raise_holes(plan, ended)
        shape = ended[0].batch._shape
        payloads += [one.payload for one in ended if one.payload is not None]
    if shape is None:
        return Table._from_arrow(plan.table, plan.schema.to_arrow().empty_table())
    return _batch_table(shape, payloads, plan.table, plan.columns)


def batches(plan: Plan, client: "Client | None") -> "Iterator[pyarrow.RecordBatch]":
    """The rows as record batches of the plan's schema."""
    if plan.table == "box_score" and plan.columns is None:
        raise ValueError(
            "box_score has columns that depend on the data, so that its batches have no schema in common: plan "
            "player_stats, or name the columns"
        )
    return (batch for table in tables(plan, client) for batch in table.to_arrow().to_batches())


def bodies_schema() -> "pyarrow.Schema":
    """The columns of `Part.bodies`."""
    from sideline._schemas import SCHEMAS

    pa = library("pyarrow", "arrow")
    return pa.schema([*SCHEMAS["coverage"].to_arrow(), pa.field("has_next", pa.bool_()), pa.field("body", pa.binary())])


def body_tables(plan: Plan, client: "Client | None") -> "Iterator[pyarrow.Table]":
    """Coverage and body of some units at a time. A unit that did not come is a row."""
    pa = library("pyarrow", "arrow")
    for found in outcomes(plan, client):
        rows = []
        for one in found:
            row = list(one.ended.row)
            if one.is_unavailable:
                row[_STATUS] = "unavailable"
            rows.append(tuple(row))
        table = _coverage_table(rows).to_arrow()
        raw = [None if one.ended.payload is None else one.ended.payload.raw for one in found]
        table = table.append_column("has_next", pa.array([one.unit.has_next for one in found]))
        yield table.append_column("body", pa.array(raw, pa.binary()))


def bodies(plan: Plan, client: "Client | None") -> Table:
    """All of them as one table."""
    pa = library("pyarrow", "arrow")
    whole = pa.concat_tables([bodies_schema().empty_table(), *body_tables(plan, client)]).unify_dictionaries()
    return Table._from_arrow("bodies", whole)
