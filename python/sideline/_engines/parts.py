"""Requests and decodes the units of a plan, a few at a time."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from .._client import TableName, Timeout, core_of, mask_id, planned_units, shape_of, table_from_arrow, units_of, waits
from .._core import CoverageRow, Payload, Table, _batch_table, _coverage_table
from .._lazy import load_later, pa, pc
from ..archive import Refusals, map_in_threads
from ..batch import Batch, Unit
from ..errors import AuthenticationError, IncompleteBatch

if TYPE_CHECKING:
    from .._client import Client
    from .plan import Plan, PlanUnit

BATCH_SIZE = 32
"""Units in memory at the same time."""

_WINDOW_BATCH_SIZE = 4
"""Windows of locations are large, so fewer are in memory."""

_LOCATION_KEYS = ("t", "tag", "player_id")
"""The columns by which positions of adjacent windows are merged."""

_clients: dict[tuple[str, int], "Client"] = {}
_accepted_clients: "WeakSet[Client]" = WeakSet()
"""Those of which a request for a unit was not refused."""


class Outcome(NamedTuple):
    """How a unit of a plan ended."""

    unit: "PlanUnit"
    result: Unit
    batch: Batch

    @property
    def is_unavailable(self) -> bool:
        """Whether it is a 404 of a resource without a link, which is not a hole."""
        return self.result.status == "missing" and not self.unit.is_linked

    @property
    def payload(self) -> Payload | None:
        """The response, if it counts as data."""
        return self.result.payload if self.result.is_answered else None


def client_of(plan: "Plan") -> "Client":
    """Return this process's client for the plan's service; all parts share its connections and its rate."""
    # The key has a hash of the secret, so that a changed secret gets a new client.
    key = json.dumps(dict(plan.service), sort_keys=True), hash(os.environ.get("SIDELINE_SECRET"))
    client = _clients.get(key)
    if client is None:
        # Two threads may both create one: a lock could stay locked after a fork.
        client = _clients.setdefault(key, _client_for(plan))
    return client


def _client_for(plan: "Plan") -> "Client":
    # A worker that has only the plan builds the client that made it: the one import that would close a cycle.
    build: type[Client] = load_later("sideline._client", "Client")
    options = dict(plan.service)
    if "timeout" in options:
        connect, read, total = options["timeout"]
        options["timeout"] = Timeout(connect=connect, read=read, total=total)
    return build(**options)


def outcomes(
    plan: "Plan", client: "Client | None" = None, sizes: Iterator[int] | None = None
) -> Iterator[list[Outcome]]:
    """Yield the outcomes in the plan's order; `sizes` gives the number of units to request at once, after the first.

    Raises `AuthenticationError` if the service refuses the credentials.
    """
    if client is not None and not waits(client):
        kind = type(client).__name__
        raise TypeError(f"client is a synchronous sideline.Client or None, not {kind}")
    reader = client_of(plan) if client is None else client
    core_of(reader).check_credentials()
    limit = _WINDOW_BATCH_SIZE if plan.operation == "locations" else BATCH_SIZE
    refusals = Refusals(reader)
    remaining = iter(planned_units(plan))
    # The first request alone: where its signature is refused, no other is sent.
    for size in chain([1], repeat(limit) if sizes is None else sizes):
        units = list(islice(remaining, min(limit, size)))
        if not units:
            return
        group = _windows(reader, units) if plan.operation == "locations" else _batch(reader, plan.operation, units)
        for outcome in group:
            error = outcome.result.error
            # Before any request of a client was accepted, a refusal is taken to concern its credentials.
            if isinstance(error, AuthenticationError) and reader not in _accepted_clients:
                raise error
            refusals.check(error)
        _accepted_clients.add(reader)
        yield group


def _batch(client: "Client", operation: str, units: "Sequence[PlanUnit]") -> list[Outcome]:
    options: dict[str, Any] = {"on_error": "keep", "progress": False}
    if units[0].session_id is not None:
        options["game_id"] = [unit.game_id for unit in units]
    batch: Batch = getattr(client, operation)([unit.id for unit in units], **options)
    return [Outcome(unit, result, batch) for unit, result in zip(units, units_of(batch), strict=True)]


def _windows(client: "Client", units: "Sequence[PlanUnit]") -> list[Outcome]:
    """Request each unit as a batch of one, because its range is its own."""

    def fetch_unit(unit: "PlanUnit") -> Outcome:
        assert unit.start is not None
        assert unit.end is not None
        options: dict[str, Any] = {"on_error": "keep", "progress": False}
        if unit.game_id is not None:
            options["game_id"] = unit.game_id
        batch: Batch = client.locations([unit.id], unit.start, unit.end, **options)
        return Outcome(unit, units_of(batch)[0], batch)

    return list(map_in_threads(fetch_unit, units, len(units)))


def raise_holes(plan: "Plan", outcomes: Sequence[Outcome]) -> None:
    """Raise `IncompleteBatch` if a unit is missing."""
    holes = [outcome for outcome in outcomes if not outcome.result.is_answered and not outcome.is_unavailable]
    if not holes:
        return
    counts = Counter(hole.result.status for hole in holes)
    first = holes[0]
    raise IncompleteBatch(
        f"{plan.table}: {len(holes)} of {len(outcomes)} units are missing "
        f"({', '.join(f'{count} {status}' for status, count in counts.items())}); the first is "
        f"{mask_id(first.batch, first.unit.name)}: "
        f"{first.result.error}. Read again, or use part.bodies(), which has a row for each missing unit",
        batch=first.batch,
    ) from first.result.error


def tables(plan: "Plan", client: "Client | None" = None, sizes: Iterator[int] | None = None) -> Iterator[Table]:
    """Yield the rows of each unit. Raises `IncompleteBatch` if one is missing."""
    units = planned_units(plan)
    before: pa.Table | None = None
    for part in outcomes(plan, client, sizes):
        raise_holes(plan, part)
        for outcome in part:
            unit, payload = outcome.unit, outcome.payload
            if payload is not None and (unit.has_next or before is not None):
                # The rows from the end on of the last one are those of the next part.
                until = unit.end if unit is units[-1] and unit.has_next else None
                columns = None if plan.columns is None else list(dict.fromkeys((*plan.columns, *_LOCATION_KEYS)))
                rows = rows_of_unit(payload, plan.table, columns, until).to_arrow()
                new = rows if before is None else _exclude(rows, before)
                before = rows.select(_LOCATION_KEYS) if unit.has_next else None
                yield table_from_arrow(plan.table, new if plan.columns is None else new.select(list(plan.columns)))
            elif payload is not None:
                yield payload.table(plan.table, plan.columns)
            else:
                before = None


def _exclude(rows: "pa.Table", before: "pa.Table") -> "pa.Table":
    """Return the rows of a window that the window before it does not have, as `client.locations` merges them."""
    before = before.filter(pc.is_in(before["t"], rows["t"]))
    keys = {tuple(key.values()) for key in before.to_pylist() if key["t"] is not None}
    places = pc.indices_nonzero(pc.is_in(rows["t"], before["t"]))
    candidates = zip(places.to_pylist(), rows.take(places).select(_LOCATION_KEYS).to_pylist(), strict=True)
    duplicate_places = pa.array([place for place, key in candidates if tuple(key.values()) in keys], pa.int64())
    return rows.filter(pc.invert(pc.is_in(pa.array(range(rows.num_rows), pa.int64()), duplicate_places)))


def rows_of_unit(payload: Payload, name: TableName, columns: Sequence[str] | None, until: int | None) -> Table:
    """Return the table of one payload; rows from `until` on belong to the next window."""
    if until is None:
        return payload.table(name, columns)
    needed_columns = None if columns is None else list(dict.fromkeys((*columns, "t")))
    rows = payload.table(name, needed_columns).to_arrow()
    rows = rows.filter(pc.less(rows["t"], pa.scalar(until, rows.schema.field("t").type)))
    return table_from_arrow(name, rows if columns is None else rows.select(list(columns)))


def read(plan: "Plan", client: "Client | None") -> Table:
    """Return all rows as one table."""
    if plan.operation == "locations":
        arrow_tables = [table.to_arrow() for table in tables(plan, client)]
        complete_table = pa.concat_tables([plan.schema.to_arrow().empty_table(), *arrow_tables]).unify_dictionaries()
        return table_from_arrow(plan.table, complete_table)
    payloads: list[Payload] = []
    shape: Payload | None = None
    for group in outcomes(plan, client):
        raise_holes(plan, group)
        shape = shape_of(group[0].batch)
        payloads += [outcome.payload for outcome in group if outcome.payload is not None]
    if shape is None:
        return table_from_arrow(plan.table, plan.schema.to_arrow().empty_table())
    return _batch_table(shape, payloads, plan.table, plan.columns)


def batches(plan: "Plan", client: "Client | None") -> "Iterator[pa.RecordBatch]":
    """Yield the rows as record batches of the plan's schema."""
    if plan.table == "box_score" and plan.columns is None:
        raise ValueError(
            "box_score has columns that depend on the data, so its batches have no common schema: plan player_stats, "
            "or name the columns"
        )
    return (batch for table in tables(plan, client) for batch in table.to_arrow().to_batches())


def bodies_schema() -> "pa.Schema":
    """Return the schema of `Part.bodies`."""
    from .._rows import SCHEMAS

    return pa.schema([*SCHEMAS["coverage"].to_arrow(), pa.field("has_next", pa.bool_()), pa.field("body", pa.binary())])


def body_tables(plan: "Plan", client: "Client | None") -> "Iterator[pa.Table]":
    """Yield coverage and bodies, a few units at a time. A missing unit is a row."""
    for part in outcomes(plan, client):
        table = _coverage_table([_row(outcome) for outcome in part]).to_arrow()
        raw = [None if outcome.result.payload is None else outcome.result.payload.raw for outcome in part]
        table = table.append_column("has_next", pa.array([outcome.unit.has_next for outcome in part]))
        yield table.append_column("body", pa.array(raw, pa.binary()))


def _row(outcome: Outcome) -> CoverageRow:
    row = outcome.result.row
    return row.with_status("unavailable") if outcome.is_unavailable else row


def bodies(plan: "Plan", client: "Client | None") -> Table:
    """Return coverage and bodies of all units as one table."""
    complete_table = pa.concat_tables([bodies_schema().empty_table(), *body_tables(plan, client)]).unify_dictionaries()
    return table_from_arrow("bodies", complete_table)
