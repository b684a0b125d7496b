"""A table made anew from the bodies that were kept."""

import threading
from collections.abc import Iterator
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive.fetch import decoded
from sideline.archive.plan import RESOURCES
from sideline.archive.read import bodies, conformed, coverage, unit_of
from sideline.archive.store import Store, contract, stored

if TYPE_CHECKING:
    import pyarrow

_ATTEMPTS = 5


def rebuild(store: Store, name: str) -> None:
    """Replace all rows in one transaction, after any other writer's; a body is in memory at a time."""
    pa: Any = library("pyarrow", "archive")
    schema = _schema(store, name)
    for attempt in range(_ATTEMPTS):
        table = store.opened(name, schema)
        ahead = _Ahead(_batches(store, name, schema))
        rows = pa.RecordBatchReader.from_batches(schema, ahead)
        try:
            if store.replaced(table, rows, None, last=attempt == _ATTEMPTS - 1):
                return
        finally:
            ahead.stop()
        store.wait(attempt)


def _current(store: Store, name: str) -> "Iterator[pyarrow.Table]":
    operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
    wanted = {
        row["unit"]: row["stored_at"]
        for row in coverage(store, ("unit", "operation", "stored_at"))
        if row["operation"] in operations and row["stored_at"]
    }
    for row in bodies(store, wanted):
        if row["stored_at"] == wanted[row["unit"]]:
            yield decoded(unit_of(row), row["body"])[name]


def _schema(store: Store, name: str) -> "pyarrow.Schema":
    """The contract's columns, and those that only bodies name: stat codes of a box score."""
    schema = stored(contract(name).empty_table()).schema
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
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def _make(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(StopIteration())
        except BaseException as error:
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
