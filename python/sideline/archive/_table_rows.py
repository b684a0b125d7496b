"""Writes the rows of bodies into the tables, where they replace those of earlier bodies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from . import _arrow, _commits, _rosters
from ._body import Body
from ._decode import decode_together, stored_schema
from ._fetch import Outcome
from ._libraries import pa
from ._plan import NO_MONTH, RESOURCES, Unit
from ._raw import WITHDRAWN
from ._read import check_missing
from ._schemas import MONTH, in_month
from ._settings import Settings
from ._store import Store, is_in
from ._store_errors import check_last_commits

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAX_THREADS = 2
"""Tables written at once. Each takes memory."""


def write_rows(
    store: Store,
    outcomes: Sequence[tuple[Outcome, str]],
    months: Mapping[str, set[str]],
    *,
    has_rows: bool,
    tables_before: "Mapping[str, DeltaTable | None] | None" = None,
) -> None:
    """Replace the rows of earlier bodies in each table, by key within the months.

    `has_rows`: whether there may be such rows, so that they are deleted even if the new bodies have none. If not, rows
    are added to the `tables_before` tables, unless another writer has changed one since.
    """
    outcomes_of: dict[str, list[tuple[Outcome, str]]] = {}
    for outcome, month in sorted(outcomes, key=lambda pair: (pair[1], pair[0].unit.id)):
        for name in outcome.tables:
            outcomes_of.setdefault(name, []).append((outcome, month))
    all_months = {month for outcome, _ in outcomes for month in months[outcome.unit.name]}

    def write(name: str) -> None:
        rows, table = _NewRows(store, name, outcomes_of[name]), (tables_before or {}).get(name)
        if store.is_local:
            check_last_commits(store.root, name)
            if not store.has(name):
                check_missing(store, [name])
        if not has_rows and name != "players":
            if not any(outcome.counts.get(name) for outcome, _ in outcomes_of[name]):
                # A table without rows is not one that was lost.
                store.keep(table or store.open_or_create(name, rows.schema))
                return
            if store.can_add_files and rows.add_to(table):
                return
        key = next(resource.key for resource in RESOURCES.values() if name in resource.tables)
        keys = [outcome.unit.key for outcome, _ in outcomes_of[name]]
        store.replace(name, rows.to_arrow, f"{is_in(MONTH, all_months)} AND {is_in(key, keys)}")

    with ThreadPoolExecutor(_MAX_THREADS) as pool:
        list(pool.map(write, outcomes_of))


@dataclass(frozen=True)
class _NewRows:
    """The rows of outcomes in one table."""

    store: Store
    name: str
    outcomes: Sequence[tuple[Outcome, str]]
    """Each with the month of its rows, in the order of the months."""

    def decode(self) -> "Iterator[tuple[str, pa.Table]]":
        """Yield the rows of each month, a part at a time."""
        if self.name == "players":
            yield NO_MONTH, _rosters.history(self.store, [outcome.unit.name for outcome, _ in self.outcomes])
            return
        if self.name == "locations":
            yield from ((month, outcome.decode()[self.name]) for outcome, month in self.outcomes)
            return
        for month, same in groupby(self.outcomes, key=itemgetter(1)):
            bodies = (
                (outcome.unit, outcome.body) for outcome, _ in same if outcome.body and outcome.status != WITHDRAWN
            )
            parts = (
                decode_together(self.name, ((unit, body.raw) for unit, body in part))
                for part in _parts(bodies, self.store.settings)
            )
            if self.name != "box_score":
                yield from ((month, rows) for rows in parts)
            # Each has columns of its own.
            elif tables := [*parts]:
                yield month, _concat(tables)

    def to_arrow(self) -> "pa.Table | pa.RecordBatchReader":
        no_rows = in_month(_arrow.empty(stored_schema(self.name)), "")
        tables = (in_month(rows, month) for month, rows in self.decode())
        # Box scores have columns of their own, and rosters read the archive, which is impossible while it is written.
        if self.name in ("box_score", "players"):
            return _concat([no_rows, *tables])
        batches = (batch for rows in tables for batch in rows.to_batches())
        return pa.RecordBatchReader.from_batches(no_rows.schema, batches)

    def add_to(self, table: "DeltaTable | None") -> bool:
        """Add the rows as files to an opened table, or to a new one; return False if only deltalake can."""
        has_other_rows = False
        if table is None:
            table = self.store.open_or_create(self.name, self.schema)
            has_other_rows = table.version() > 0
        columns = [field.name for field in table.schema().fields if field.name != MONTH]
        new_columns = {*self.schema.names} - {*columns, MONTH}
        if {column.lower() for column in new_columns} & {column.lower() for column in columns}:
            # Another writer has stored the stat code in another case. The next sync makes a hole of the unit.
            raise self.store.error_of_contention(self.name)
        # Only deltalake adds a new column. Another writer may have created the table without it.
        if new_columns or has_other_rows:
            return False
        tables = self.decode()
        # Programs that do not read Delta Lake take the columns of one file for those of all.
        if self.name == "box_score":
            tables = ((month, _with_codes(rows, columns)) for month, rows in tables)
        batches = ((month, batch) for month, rows in tables for batch in rows.to_batches())
        is_done = _commits.try_commit(self.store, table, _commits.add_files(self.store, table, batches))
        self.store.keep(table)
        return is_done

    @property
    def schema(self) -> "pa.Schema":
        """The columns of the rows, with the stat codes of box scores, and their month."""
        schema = stored_schema(self.name)
        if self.name == "box_score":
            for column in dict.fromkeys(column for outcome, _ in self.outcomes for column in outcome.extra_columns):
                schema = schema.append(pa.field(column, pa.float64()))
        return in_month(_arrow.empty(schema), "").schema


def _concat(tables: "Sequence[pa.Table]") -> "pa.Table":
    """Return tables together, each of which may have columns of its own."""
    return pa.concat_tables(tables, promote_options="default")


def _with_codes(rows: "pa.Table", columns: Sequence[str]) -> "pa.Table":
    """Return box scores with the columns of the table, of which they lack stat codes."""
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
