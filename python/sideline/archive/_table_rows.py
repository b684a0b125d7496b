"""Writes the rows of bodies into the tables, where they replace those of earlier bodies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from .._rows import library
from . import _arrow, _commits, _rosters
from ._body import Body
from ._decode import decode_together, stored_schema
from ._fetch import Outcome
from ._plan import RESOURCES, UNDATED, Unit
from ._raw import WITHDRAWN
from ._schemas import MONTH, in_month
from ._settings import Settings
from ._store import Store, is_in

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

_MAX_THREADS = 2
"""Tables written at once. Each takes memory."""


def write_rows(
    store: Store,
    outcomes: Sequence[tuple[Outcome, str]],
    months: Mapping[str, set[str]],
    *,
    touched: bool,
    tables_before: "Mapping[str, DeltaTable | None] | None" = None,
) -> None:
    """Replace the rows of earlier bodies in each table, by key within the months.

    `touched`: whether there may be such rows, so that they are deleted even if the new bodies have none. If not, rows
    are added to the `tables_before` tables, unless another writer has changed one since.
    """
    pa = library("pyarrow", "archive")
    within = {month for outcome, _ in outcomes for month in months[outcome.unit.name]}
    changed: dict[str, list[tuple[Outcome, str]]] = {}
    for outcome, month in sorted(outcomes, key=lambda one: (one[1], one[0].unit.id)):
        for name in outcome.tables:
            changed.setdefault(name, []).append((outcome, month))

    def decoded(name: str) -> "Iterator[tuple[str, pyarrow.Table]]":
        """Yield the rows of each month, a part at a time."""
        if name == "players":
            yield UNDATED, _rosters.history(store, [outcome.unit.name for outcome, _ in changed[name]])
            return
        if name == "locations":
            yield from ((month, outcome.decode()[name]) for outcome, month in changed[name])
            return
        for month, same in groupby(changed[name], key=itemgetter(1)):
            bodies = (
                (outcome.unit, outcome.body) for outcome, _ in same if outcome.body and outcome.status != WITHDRAWN
            )
            parts = (
                decode_together(name, ((unit, body.raw) for unit, body in some))
                for some in _parts(bodies, store.settings)
            )
            if name != "box_score":
                yield from ((month, rows) for rows in parts)
            # Each has columns of its own.
            elif tables := [*parts]:
                yield month, pa.concat_tables(tables, promote_options="default")

    def rows_of(name: str) -> "pyarrow.Table | pyarrow.RecordBatchReader":
        none = in_month(_arrow.empty(stored_schema(name)), "")
        tables = (in_month(rows, month) for month, rows in decoded(name))
        # Box scores have columns of their own, and rosters read the archive, which is impossible while it is written.
        if name in ("box_score", "players"):
            return pa.concat_tables([none, *tables], promote_options="default")
        return pa.RecordBatchReader.from_batches(none.schema, (batch for rows in tables for batch in rows.to_batches()))

    def is_added(name: str, table: "DeltaTable | None") -> bool:
        schema = stored_schema(name)
        if name == "box_score":
            for column in dict.fromkeys(column for outcome, _ in changed[name] for column in outcome.extra_columns):
                schema = schema.append(pa.field(column, pa.float64()))
        has_other_rows = False
        if table is None:
            table = store.open_or_create(name, in_month(_arrow.empty(schema), "").schema)
            has_other_rows = table.version() > 0
        columns = [field.name for field in table.schema().fields if field.name != MONTH]
        new_columns = {*schema.names} - {*columns}
        if {column.lower() for column in new_columns} & {column.lower() for column in columns}:
            # Another writer has stored the stat code in another case. The next sync makes a hole of the unit.
            raise store.error_of_contention(name)
        # Only deltalake adds a new column. Another writer may have created the table without it.
        if new_columns or has_other_rows:
            return False
        # Programs that do not read Delta Lake take the columns of one file for those of all.
        tables = ((month, _with_codes(rows, columns) if name == "box_score" else rows) for month, rows in decoded(name))
        batches = ((month, batch) for month, rows in tables for batch in rows.to_batches())
        is_done = _commits.try_commit(store, table, _commits.add_files(store, table, batches))
        store.keep(table)
        return is_done

    def write(name: str) -> None:
        table = (tables_before or {}).get(name)
        if not touched and name != "players":
            if not any(outcome.counts.get(name) for outcome, _ in changed[name]):
                store.keep(table)
                return
            if store.can_add_files and is_added(name, table):
                return
        key = next(resource.key for resource in RESOURCES.values() if name in resource.tables)
        keys = [outcome.unit.key for outcome, _ in changed[name]]
        store.replace(name, lambda: rows_of(name), f"{is_in(MONTH, within)} AND {is_in(key, keys)}")

    with ThreadPoolExecutor(_MAX_THREADS) as pool:
        list(pool.map(write, changed))


def _with_codes(rows: "pyarrow.Table", columns: Sequence[str]) -> "pyarrow.Table":
    """Return box scores with the columns of the table, of which they lack stat codes."""
    pa = library("pyarrow", "archive")
    lacks = pa.nulls(rows.num_rows, pa.float64())
    names = {*rows.column_names}
    return pa.Table.from_arrays([rows[column] if column in names else lacks for column in columns], list(columns))


def _parts(bodies: Iterable[tuple[Unit, Body]], settings: Settings) -> Iterator[list[tuple[Unit, Body]]]:
    """Yield bodies that are decoded together."""
    part: list[tuple[Unit, Body]] = []
    size = 0
    for unit, body in bodies:
        if part and size + body.size > settings.max_bytes_decoded:
            yield part
            part, size = [], 0
        part.append((unit, body))
        size += body.size
    if part:
        yield part
