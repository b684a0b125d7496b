"""Writes files of tables and commits them, without a query engine.

deltalake would do the same with one, whose code alone takes 30 MB of memory, and whose predicates of hundreds of ids
fill the log.
"""

import os
import re
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _arrow
from ._file_bounds import Bounds
from ._libraries import deltalake, obstore, pa, parquet, pc, transaction
from ._log_copy import LOG, text_of_commit
from ._memory import trim
from ._schemas import MONTH, in_month, internal_schemas
from ._store import MAX_ROW_GROUP, MONTH_OF_FILE, Store, has_one, is_in, is_outside, listed_files, name_of, with_columns

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAX_ROW_GROUP_SIZE = 8 * 1024 * 1024
"""Bytes of a row group, which its writer and its readers have in memory, unless one batch has more."""

_BATCH_SIZE = 1024 * 1024
"""Bytes of the rows that are in memory at once while files are joined, unless one row has more."""

_LOG_ENTRY = re.compile(r"(\d{20})\.")


def is_checkpoint(path: str) -> bool:
    """Return whether an entry of a log is a checkpoint: later entries suffice to read later versions."""
    return ".checkpoint." in path


def by_month(rows: "pa.Table") -> "Iterator[tuple[str, pa.RecordBatch]]":
    """Yield the rows of each month, without its column."""
    others = rows.drop_columns([MONTH])
    months = sorted(rows[MONTH].unique().to_pylist())
    for month in months:
        is_in_month = pc.equal(rows[MONTH], _arrow.scalar(month, rows[MONTH].type))
        # A filter copies the rows.
        for batch in (others if len(months) == 1 else others.filter(is_in_month)).to_batches():
            yield month, batch


def _row_groups(batches: "Iterable[pa.RecordBatch]", max_rows: int) -> "Iterator[pa.Table]":
    """Yield the rows of each row group: at most so many, and so many bytes, unless one batch has more."""
    group: list[Any] = []
    rows = size = 0
    for batch in batches:
        if group and (rows + batch.num_rows > max_rows or size + batch.nbytes > _MAX_ROW_GROUP_SIZE):
            yield pa.Table.from_batches(group)
            group, rows, size = [], 0, 0
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if group:
        yield pa.Table.from_batches(group)


def log(store: Store, table: "DeltaTable") -> list[tuple[int, str]]:
    """Return the version and path of each entry of a table's log."""
    name = name_of(table)
    if store.is_local:
        names = os.listdir(Path(store.root, name, LOG))
    else:
        objects = obstore.list(store.bucket, f"{name}/{LOG}").collect()
        names = [item["path"].rpartition("/")[2] for item in objects]
    return sorted((int(match[1]), name) for name in names if (match := _LOG_ENTRY.match(name)))


def remove_log(store: Store, table: "DeltaTable", paths: Iterable[str]) -> None:
    """Remove entries of a table's log, the oldest first; another writer may do the same."""
    if not store.is_local:
        obstore.delete(store.bucket, [f"{name_of(table)}/{LOG}/{path}" for path in paths])
        return
    for path in paths:
        with suppress(FileNotFoundError):
            Path(store.root, name_of(table), LOG, path).unlink()


def oldest_version(store: Store) -> int:
    """Return the oldest version of the archive that can be read."""
    table = store.open("coverage")
    entries = [] if table is None else log(store, table)
    return min((number for number, path in entries if number == 0 or is_checkpoint(path)), default=0)


def add_files(
    store: Store,
    table: "DeltaTable",
    rows: "Iterable[tuple[str | None, pa.RecordBatch]]",
    *,
    has_same_rows: bool = False,
) -> list[Any]:
    """Write rows, which come by month, as files of an opened table. They belong to it once they are committed."""
    try:
        return [
            _add_file(store, table, month, (batch for _, batch in batches), has_same_rows=has_same_rows)
            for month, batches in groupby(rows, key=itemgetter(0))
        ]
    except OSError as error:
        raise store.error_of_write(table, error) from None


def _add_file(
    store: Store,
    table: "DeltaTable",
    month: str | None,
    batches: "Iterator[pa.RecordBatch]",
    *,
    has_same_rows: bool,
) -> Any:
    name = name_of(table)
    folder = "" if month is None else f"{MONTH}={month}/"
    path = f"{folder}part-{uuid.uuid4()}.zstd.parquet"
    first = next(batches)
    has_bodies = "body" in first.schema.names
    bounds = Bounds()
    with (
        _new_file(store, f"{name}/{path}") as file,
        parquet.ParquetWriter(
            file,
            first.schema,
            compression="zstd",
            # Statistics would hold two whole bodies of each row group.
            write_statistics=[column for column in first.schema.names if column != "body"],
            use_dictionary=[column for column in first.schema.names if column != "body"],
        ) as writer,
    ):
        group = store.settings.max_row_group_bodies if has_bodies else MAX_ROW_GROUP
        for batch in _row_groups(chain([first], batches), group):
            bounds.add(batch)
            writer.write_table(batch)
        writer.close()
        size = file.tell()
    values = {} if month is None else {MONTH: month}
    return transaction.AddAction(path, size, values, time.time_ns() // 1_000_000, not has_same_rows, bounds.text())


@contextmanager
def _new_file(store: Store, path: str) -> Iterator[Any]:
    """Open a file of the folder for writing, or one in memory that becomes an object of the bucket."""
    if store.is_local:
        file = Path(store.root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(file), "wb") as output:
            yield output
        return
    buffer = pa.BufferOutputStream()
    yield buffer
    data = buffer.getvalue().to_pybytes()
    obstore.put(store.bucket, path, data, use_multipart=False)
    store.keep_object(path, data)


def try_commit(
    store: Store,
    table: "DeltaTable",
    new_files: Sequence[Any],
    old_files: Iterable[Mapping[str, Any]] = (),
    *,
    has_same_rows: bool = False,
) -> bool:
    """Add and remove files of an opened table in one transaction. Returns false if another writer has committed
    anything since the table was opened. `has_same_rows`: the rows are those of the removed files."""
    name = name_of(table)
    store.written.add(name)
    if store.logs is not None and store.logs.has(table):
        actions = [*map(_addition, new_files), *(_removal(file, has_same_rows=has_same_rows) for file in old_files)]
        try:
            return store.logs.commit(table, name, text_of_commit(store.commit_metadata(name), actions))
        except obstore.exceptions.BaseError as error:
            raise store.error_of_write(table, error) from None
    at = time.time_ns() // 1_000_000
    removals = [
        transaction.RemoveAction(file["path"], not has_same_rows, at, file["size_bytes"], _month_of(file))
        for file in old_files
    ]
    try:
        table.create_write_transaction(
            [*new_files, *removals],
            "append",
            table.schema(),
            table.metadata().partition_columns or None,
            commit_properties=store.commit_properties(name, max_commit_retries=0),
        )
    except deltalake.exceptions.CommitFailedError:
        return False
    except (deltalake.exceptions.DeltaError, OSError) as error:
        raise store.error_of_write(table, error) from None
    trim()
    return True


def _addition(file: Any) -> dict[str, Any]:
    """Return what a commit says of a new file."""
    members = {"path": file.path, "partitionValues": file.partition_values, "size": file.size}
    members |= {"modificationTime": file.modification_time, "dataChange": file.data_change, "stats": file.stats}
    return {"add": members}


def _removal(file: Mapping[str, Any], *, has_same_rows: bool) -> dict[str, Any]:
    """Return what a commit says of a file that no longer belongs to the table."""
    members = {"path": file["path"], "dataChange": not has_same_rows, "deletionTimestamp": time.time_ns() // 1_000_000}
    members |= {"extendedFileMetadata": True, "partitionValues": _month_of(file), "size": file["size_bytes"]}
    return {"remove": members}


def _month_of(file: Mapping[str, Any]) -> dict[str, str]:
    return {MONTH: file[MONTH_OF_FILE]} if MONTH_OF_FILE in file else {}


def replace_units(
    store: Store, table: "DeltaTable", rows: "pa.Table", units: Collection[str], months: Collection[str]
) -> bool:
    """Replace the rows of units in the opened table `coverage`, which are in these months.

    Returns false if another writer was active.
    """
    if not store.can_add_files:
        return store.try_replace(table, rows, is_in("unit", units))
    schema = internal_schemas()["coverage"]
    bounds = (min(units), max(units))
    parts, old_files = [rows], []
    for file in listed_files(table, "unit"):
        if file[MONTH_OF_FILE] not in months or is_outside(file, "unit", bounds):
            continue
        file_rows = store.rows_of_file(table, file, [name for name in schema.names if name != MONTH])
        is_replaced = has_one(file_rows["unit"], units)
        if pc.any(is_replaced).as_py():
            old_files.append(file)
            rest = file_rows.filter(pc.invert(is_replaced))
            parts.append(in_month(rest, file[MONTH_OF_FILE]))
    every = pa.concat_tables([_arrow.empty(schema), *parts], promote_options="permissive").select(schema.names)
    return try_commit(store, table, add_files(store, table, by_month(every)), old_files)


def join_files(store: Store, table: "DeltaTable", files: Sequence[Mapping[str, Any]]) -> bool:
    """Replace files of one month by one, a few rows in memory at a time: a body may have megabytes. Returns false if
    another writer was active."""
    schema = internal_schemas()[name_of(table)]
    schema = schema.remove(schema.get_field_index(MONTH))

    def rows() -> "Iterator[tuple[str | None, pa.RecordBatch]]":
        for file in files:
            with store.open_file(table, file) as input_file:
                parquet_file = parquet.ParquetFile(input_file)
                for number in range(parquet_file.num_row_groups):
                    group = parquet_file.metadata.row_group(number)
                    size = max(1, _BATCH_SIZE * group.num_rows // (group.total_byte_size or 1))
                    for batch in parquet_file.iter_batches(size, [number], use_threads=False):
                        yield file[MONTH_OF_FILE], with_columns(batch, schema.names, schema, None)

    new_files = add_files(store, table, rows(), has_same_rows=True)
    return try_commit(store, table, new_files, files, has_same_rows=True)


def overwrite(store: Store, table: "DeltaTable", rows: "pa.Table") -> bool:
    """Replace all rows of an opened table without months. Returns false if another writer was active."""
    if not store.can_add_files:
        return store.try_replace(table, rows, "true")
    new_files = add_files(store, table, ((None, batch) for batch in rows.to_batches()))
    return try_commit(store, table, new_files, listed_files(table))
