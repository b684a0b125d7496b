"""Decodes a table again from the stored bodies."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from . import _arrow, _commits
from ._decode import decode_together, stored_schema
from ._fetch import Outcome, read
from ._ledger import remove_holes
from ._libraries import pa, pl
from ._listing import Origin, event
from ._plan import RESOURCES, Unit, is_list, unit_of
from ._raw import UNDECODABLE, WITHDRAWN
from ._read import bodies, check_bodies, columns_of, conform, coverage, require, unit_of_body
from ._rosters import history
from ._schemas import MONTH, in_month, internal_schemas
from ._store import Store, listed_files, now
from ._writer import Context, Row, write_outcomes

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAX_ATTEMPTS = 5
_BATCH_SIZE = 100


def rebuild(store: Store, name: str) -> None:
    """Replace all rows in one transaction, after those of other writers, with a few bodies in memory at a time.

    Then it tries bodies that could not be decoded when they were fetched, whose rows a lost table cannot take.
    """
    require(store)
    # Without the archive's own record no table is right.
    store.keep(store.open_checked("coverage"))
    check_bodies(store, name)
    schema = _schema(store, name)
    for attempt in range(_MAX_ATTEMPTS):
        table = store.open_or_create(name, schema)
        if _try_rebuild(store, table, name, schema):
            break
        store.wait(attempt)
    else:
        raise store.error_of_contention(name)
    if store.is_local:
        # The versions of a new log are lower than those that the last commit of `coverage` has recorded.
        store.rebuilt.add(name)
        store.replace("coverage", lambda: _arrow.empty(internal_schemas()["coverage"]), "false")
    _read_undecodable(store, name)


def _columns(schema: "pa.Schema") -> dict[str, "pa.DataType"]:
    return dict(zip(schema.names, schema.types, strict=True))


def _try_rebuild(store: Store, table: "DeltaTable", name: str, schema: "pa.Schema") -> bool:
    if store.can_add_files and _columns(pa.schema(table.schema().to_arrow())) == _columns(schema):
        # deltalake would have a file of each month in memory.
        files = _commits.add_files(store, table, _batches(store, name, schema))
        return _commits.try_commit(store, table, files, listed_files(table))
    batches = (
        conform(in_month(pa.Table.from_batches([batch]), month), schema).to_batches()[0]
        for month, batch in _batches(store, name, schema)
    )
    return store.try_replace(table, _arrow.file_reader(schema, batches), None)


def _read_undecodable(store: Store, name: str) -> None:
    """Store bodies that an earlier version of sideline could not decode and this one can."""
    operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
    last: dict[str, tuple[int, str]] = {}
    for row in bodies(store, columns=("unit", "operation", "sequence", "status")):
        if row["operation"] in operations and not is_list(row["unit"]):
            last[row["unit"]] = max(last.get(row["unit"], (0, "")), (row["sequence"], row["status"]))
    entries = [f"{unit}#{sequence}" for unit, (sequence, status) in last.items() if status == UNDECODABLE]
    existing_rows = {row["unit"]: row for row in coverage(store)} if entries else {}
    for first in range(0, len(entries), _BATCH_SIZE):
        outcomes = []
        for row in bodies(store, entries=entries[first : first + _BATCH_SIZE]):
            outcome = read(_unit(row, existing_rows), row["body"], row["stored_at"], row["served_at"])
            if outcome.is_stored and not _is_malformed(row):
                outcomes.append(outcome)
        if outcomes:
            _write(store, outcomes, existing_rows)
    store.forget_files()


def _is_malformed(row: Row) -> bool:
    """Return whether the body is an event that cannot be stored, such as one with `"results": null`."""
    if row["operation"] not in ("game", "team_events"):
        return False
    body = json.loads(row["body"])
    [entry] = [body] if row["operation"] == "game" else body["events"]
    return event(row["id"], entry, None, Origin(row["stored_at"])).problem is not None


def _unit(row: Row, existing_rows: dict[str, Row]) -> Unit:
    if row["unit"] in existing_rows:
        return unit_of(existing_rows[row["unit"]])
    unit = unit_of_body(row)
    # A game has no team: the row of a malformed one has the team whose list had it.
    return replace(unit, team_id=None) if unit.operation == "game" else unit


def _write(store: Store, outcomes: list[Outcome], existing_rows: dict[str, Row]) -> None:
    write_outcomes(store, outcomes, Context(uuid.uuid4().hex, now(), existing_rows), now)
    remove_holes(
        store,
        {
            f"event/{outcome.unit.id}"
            for outcome in outcomes
            if outcome.unit.operation in ("game", "team_events", "schedule")
        },
    )


def _current(store: Store, name: str) -> "Iterator[tuple[str, pa.Table]]":
    """Yield the rows of the stored bodies, by month."""
    operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
    # The last bodies of `raw`, not those of `coverage`: a sync stores rows before it accounts for their bodies.
    last_bodies = columns_of(store, "raw", ("unit", "operation", "sequence", "status", "entry", MONTH))
    last_bodies = last_bodies.filter(pl.col("operation").is_in(operations) & (pl.col("status") != UNDECODABLE))
    last_bodies = last_bodies.sort("sequence").unique("unit", keep="last")
    if name != "players":
        # A withdrawn roster has a history.
        last_bodies = last_bodies.filter(pl.col("status") != WITHDRAWN)
    for (month, operation), part in last_bodies.sort(MONTH, "operation", "unit").group_by(
        MONTH, "operation", maintain_order=True
    ):
        size = 1 if operation == "locations" else _BATCH_SIZE
        for chunk in part["entry"].to_frame().iter_slices(size):
            rows = bodies(store, entries=chunk["entry"].to_list(), months=[month])
            if name == "players":
                yield month, history(store, [row["unit"] for row in rows])
            else:
                yield month, decode_together(name, ((unit_of_body(row), row["body"]) for row in rows))


def _schema(store: Store, name: str) -> "pa.Schema":
    """Return the public columns, and the stat codes that the bodies of a box score add."""
    schema = in_month(stored_schema(name).empty_table(), "").schema
    if name != "box_score":
        return schema
    more = {
        field.name: field
        for _, rows in _current(store, name)
        for field in rows.schema
        if field.name not in schema.names
    }
    return pa.schema([*schema, *(more[column] for column in sorted(more))])


def _batches(store: Store, name: str, schema: "pa.Schema") -> "Iterator[tuple[str, pa.RecordBatch]]":
    """Yield the month and the rows of some bodies at a time, with the columns of the schema except the month."""
    columns = schema.remove(schema.get_field_index(MONTH))
    for month, rows in _current(store, name):
        yield from ((month, batch) for batch in conform(rows, columns).to_batches())
