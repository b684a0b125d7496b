"""A table made anew from the bodies that were kept."""

import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive._decode import decoded
from sideline.archive._fetch import Outcome, read
from sideline.archive._writer import Context, Row, keep
from sideline.archive._ledger import close, is_list
from sideline.archive._listing import Received, event
from sideline.archive._plan import RESOURCES, Unit
from sideline.archive._plan import unit_of as planned
from sideline.archive._read import bodies, conformed, coverage, require, unit_of
from sideline.archive._rosters import history
from sideline.archive._store import MONTH, Store, contract, in_month, now, stored

if TYPE_CHECKING:
    import pyarrow

_ATTEMPTS = 5
_AT_ONCE = 100


def rebuild(store: Store, name: str) -> None:
    """Replace all rows in one transaction, after any other writer's; a body is in memory at a time.

    Bodies that could not be decoded when they were fetched are tried first.
    """
    require(store)
    _read_undecodable(store, name)
    pa: Any = library("pyarrow", "archive")
    schema = _schema(store, name)
    for attempt in range(_ATTEMPTS):
        table = store.opened(name, schema)
        ahead = _Ahead(_batches(store, name, schema))
        rows = pa.RecordBatchReader.from_batches(schema, ahead)
        try:
            if store.replaced(table, rows, None, last=attempt == _ATTEMPTS - 1):
                return
        except Exception:
            # The writer wraps it in an error of its own.
            if ahead.error is not None:
                raise ahead.error from None
            raise
        finally:
            ahead.stop()
        store.wait(attempt)


def _read_undecodable(store: Store, name: str) -> None:
    """Store bodies that this version of sideline can decode and an earlier one could not."""
    operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
    last: dict[str, tuple[int, str]] = {}
    for row in bodies(store, columns=("unit", "operation", "sequence", "status")):
        if row["operation"] in operations and not is_list(row["unit"]):
            last[row["unit"]] = max(last.get(row["unit"], (0, "")), (row["sequence"], row["status"]))
    entries = [f"{unit}#{sequence}" for unit, (sequence, status) in last.items() if status == "undecodable"]
    known = {row["unit"]: row for row in coverage(store)} if entries else {}
    for first in range(0, len(entries), _AT_ONCE):
        outcomes = []
        for row in bodies(store, entries=entries[first : first + _AT_ONCE]):
            outcome = read(_unit(row, known), row["body"], row["stored_at"], row["served_at"])
            if outcome.is_stored and not _is_malformed(row):
                outcomes.append(outcome)
        if outcomes:
            _keep(store, outcomes, known)


def _is_malformed(row: Row) -> bool:
    """Whether it is an event that decodes and whose sessions cannot be believed, such as `"results": null`."""
    if row["operation"] not in ("game", "team_events"):
        return False
    body = json.loads(row["body"])
    [entry] = [body] if row["operation"] == "game" else body["events"]
    return event(row["id"], entry, None, Received(row["stored_at"])).problem is not None


def _unit(row: Row, known: dict[str, Row]) -> Unit:
    if row["unit"] in known:
        return planned(known[row["unit"]])
    unit = unit_of(row)
    # A game belongs to no team: what is kept of a malformed one is whose list had it.
    return replace(unit, team_id=None) if unit.operation == "game" else unit


def _keep(store: Store, outcomes: list[Outcome], known: dict[str, Row]) -> None:
    keep(store, outcomes, Context(uuid.uuid4().hex, now(), known), now)
    close(
        store,
        {
            f"event/{outcome.unit.id}"
            for outcome in outcomes
            if outcome.unit.operation in ("game", "team_events", "schedule")
        },
    )


def _current(store: Store, name: str) -> "Iterator[pyarrow.Table]":
    operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
    entries = [
        f"{row['unit']}#{row['sequence']}"
        for row in coverage(store, ("unit", "operation", "sequence", "body_id"))
        if row["operation"] in operations and row["sequence"] and (row["body_id"] or name == "players")
    ]
    for row in bodies(store, entries=entries):
        rows = history(store, unit_of(row)) if name == "players" else decoded(unit_of(row), row["body"])[name]
        yield in_month(rows, row[MONTH])


def _schema(store: Store, name: str) -> "pyarrow.Schema":
    """The contract's columns, and those that only bodies name: stat codes of a box score."""
    schema = in_month(stored(contract(name).empty_table()), "").schema
    if name != "box_score":
        return schema
    pa: Any = library("pyarrow", "archive")
    more = {
        field.name: field for rows in _current(store, name) for field in rows.schema if field.name not in schema.names
    }
    return pa.schema([*schema, *(more[column] for column in sorted(more))])


def _batches(store: Store, name: str, schema: "pyarrow.Schema") -> "Iterator[pyarrow.RecordBatch]":
    for rows in _current(store, name):
        yield from conformed(rows, schema).to_batches()


class _Ahead:
    """An iterator whose items another thread makes: the writer asks for them inside deltalake's own event loop, where
    nothing of deltalake can be read."""

    def __init__(self, items: "Iterator[pyarrow.RecordBatch]") -> None:
        self._items = items
        self._queue: Queue[Any] = Queue(2)
        self._stopped = threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def _make(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(StopIteration())
        except BaseException as error:
            self.error = error
            self._put(error)

    def _put(self, item: object) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    def stop(self) -> None:
        """Nothing more is wanted."""
        self._stopped.set()
        self._thread.join()

    def __iter__(self) -> "Iterator[pyarrow.RecordBatch]":
        return self

    def __next__(self) -> "pyarrow.RecordBatch":
        item = self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item
