"""A table made anew from the bodies that were kept."""

from collections.abc import Iterator
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
        rows = pa.RecordBatchReader.from_batches(schema, _batches(store, name, schema))
        if store.replaced(table, rows, None, last=attempt == _ATTEMPTS - 1):
            return
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
