"""Adds bodies to `raw`, a few in memory at a time, and finds those that `coverage` does not account for."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from . import _arrow, _commits
from ._libraries import pa, pc
from ._plan import partitions
from ._read import coverage_of, to_views
from ._schemas import MONTH, internal_schemas
from ._store import Store, is_in

if TYPE_CHECKING:
    from deltalake import DeltaTable

Row = Mapping[str, Any]

UNDECODABLE, WITHDRAWN = "undecodable", "withdrawn"
"""Statuses of rows of `raw`, besides "stored"."""

_BATCH_BYTES, _BATCH_ROWS = 1024 * 1024, 16
"""Bodies that are in memory at once while they are written, unless one has more bytes."""


def interrupted_units(
    store: Store,
    raw: "DeltaTable | None",
    coverage: "DeltaTable | None",
    months: Collection[str],
    rows_of_month: "pa.Table | None" = None,
) -> set[str]:
    """Return the units with a body of these months in an opened table `raw` whose storing was interrupted.

    `rows_of_month`: the units and sequences of `coverage` if there is one month and they have been read.
    """
    sequences_in_raw: dict[str, int] = {}
    for month in months if raw is not None else ():
        ledger = rows_of_month
        if ledger is None:
            batches = () if coverage is None else store.select(coverage, ("unit", "sequence"), months=partitions(month))
            ledger = pa.Table.from_batches(batches, pa.schema({"unit": pa.string(), "sequence": pa.int64()}))
        for bodies_ in store.select(raw, ("unit", "sequence", "status"), months=[month]):  # type: ignore[arg-type]
            is_accounted = pc.less_equal(
                bodies_["sequence"], ledger["sequence"].take(pc.index_in(bodies_["unit"], ledger["unit"]))
            )
            is_body = pc.not_equal(bodies_["status"], _arrow.scalar(UNDECODABLE, pa.string()))
            for row in to_views(bodies_.filter(pc.and_(is_body, pc.invert(_arrow.is_true(is_accounted))))):
                sequences_in_raw[row["unit"]] = max(row["sequence"], sequences_in_raw.get(row["unit"], 0))
    # The row of a unit whose event has moved is in another month.
    rows = coverage_of(store, coverage, sequences_in_raw) if sequences_in_raw and coverage is not None else []
    sequences = {row["unit"]: row["sequence"] or 0 for row in rows}
    return {unit for unit, sequence in sequences_in_raw.items() if sequence > sequences.get(unit, 0)}


def add_bodies(store: Store, table: "DeltaTable", rows: Sequence[Row], *, is_contended: bool) -> int:
    """Add rows to `raw`. Returns how many were added before another writer was active, who may have added some of the
    same entries. Of a contended table, other writers may change other rows meanwhile."""
    if not rows:
        return 0
    parts = [
        part
        for _, same in groupby(sorted(rows, key=itemgetter(MONTH)), key=itemgetter(MONTH))
        for part in _parts(list(same), store.settings.max_part_bytes)
    ]
    if not is_contended:
        files = [file for part in parts for file in _commits.add_files(store, table, batches_of(store, part))]
        return len(rows) if _commits.try_commit(store, table, files) else 0
    count = 0
    for part in parts:
        before = table.version()
        # The predicate matches no row. It makes one of two writers of the same entry try again.
        if not store.try_replace(table, _reader(store, part), _entries(part)):
            break
        count += len(part)
        if table.version() != before + 1:
            break
    return count


def _parts(rows: Iterable[Row], max_bytes: int, max_rows: float = inf) -> "Iterator[list[Row]]":
    part: list[Row] = []
    size = 0
    for row in rows:
        row_size = row["body"].size if row["body"] else 0
        if part and (size + row_size > max_bytes or len(part) >= max_rows):
            yield part
            part, size = [], 0
        part.append(row)
        size += row_size
    if part:
        yield part


def batches_of(store: Store, rows: Sequence[Row]) -> "Iterator[tuple[str, pa.RecordBatch]]":
    """Yield rows of `raw` of one month, with the month. The bodies of a batch are decompressed when it is written."""
    schema = internal_schemas()["raw"]
    for part in _parts(rows, _BATCH_BYTES, min(_BATCH_ROWS, store.settings.max_row_group_bodies)):
        [batch] = _arrow.table([{**row, "body": None} for row in part], schema).to_batches()
        bodies = [row["body"].raw if row["body"] else b"" for row in part]
        is_given = _arrow.array([bool(row["body"]) for row in part], pa.bool_()).buffers()[1]
        # The bytes themselves: pyarrow's pool would keep the memory of copies.
        ends = pa.py_buffer(array("i", accumulate(map(len, bodies), initial=0)))
        column = pa.Array.from_buffers(pa.binary(), len(part), [is_given, ends, pa.py_buffer(b"".join(bodies))])
        del bodies
        batch = batch.set_column(schema.get_field_index("body"), "body", column)
        yield part[0][MONTH], batch.drop_columns([MONTH])


def _reader(store: Store, rows: Sequence[Row]) -> "pa.RecordBatchReader":
    schema = internal_schemas()["raw"]
    pairs = batches_of(store, rows)
    batches = (batch.add_column(0, MONTH, _arrow.repeat(month, batch.num_rows)) for month, batch in pairs)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _entries(rows: Sequence[Row]) -> str:
    return f"{is_in(MONTH, {row[MONTH] for row in rows})} AND {is_in('entry', (row['entry'] for row in rows))}"
