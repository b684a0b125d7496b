"""Makes Arrow arrays and tables of Python values without pandas.

pyarrow's own functions import pandas where it is installed, to recognise its objects. A nightly sync needs none of it,
and the import would be a fifth of its time. arro3 comes with deltalake.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import Any

from .._lazy import library
from ._libraries import pa, pc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def array(values: Iterable[Any], kind: "pa.DataType") -> "pa.Array":
    """Return texts, bytes, numbers, booleans, times, or lists of them, as an array of that type."""
    arro3: Any = library("arro3.core", "archive")
    values = list(values)
    if pa.types.is_timestamp(kind):
        micros = (None if value is None else (value - _EPOCH) // timedelta(microseconds=1) for value in values)
        return array(micros, pa.int64()).cast(pa.timestamp("us", kind.tz)).cast(kind, safe=False)
    if pa.types.is_dictionary(kind):
        return array(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_list(kind):
        # A null offset makes its list null.
        ends: list[int | None] = []
        flat: list[Any] = []
        for value in values:
            ends.append(None if value is None else len(flat))
            flat += value or []
        return pa.ListArray.from_arrays(array([*ends, len(flat)], pa.int32()), array(flat, kind.value_type), type=kind)
    return pa.array(arro3.Array(values, type=arro3.DataType.from_arrow(kind)))


def whole(column: "pa.ChunkedArray") -> "pa.Array":
    """Return a column as one array."""
    return column.combine_chunks() if column.num_chunks else array([], column.type)


def scalar(value: Any, kind: "pa.DataType") -> "pa.Scalar":
    """Return a value as a scalar of that type."""
    return array([value], kind)[0]


def is_true(flags: Any) -> Any:
    """Return flags without nulls, which are false."""
    return pc.coalesce(flags, scalar(False, pa.bool_()))


def table(rows: Sequence[Mapping[str, Any]], schema: "pa.Schema") -> "pa.Table":
    """Return rows in the columns of the schema; what a row lacks is null."""
    columns = [array([row.get(name) for row in rows], schema.field(name).type) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def repeat(text: str, count: int) -> "pa.Array":
    """Return an array that has the text `count` times."""
    first = pa.Array.from_buffers(pa.int8(), count, [None, pa.py_buffer(bytes(count))])
    return array([text], pa.string()).take(first)


def empty(schema: "pa.Schema") -> "pa.Table":
    """Return a table without rows."""
    return pa.Table.from_batches([], schema)


def import_table(stream: Any) -> "pa.Table":
    """Return the table that another library exports."""
    return pa.RecordBatchReader.from_stream(stream).read_all()


def file_reader(schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]") -> "pa.RecordBatchReader":
    """Return a reader of rows that are read now, into a temporary file.

    deltalake reads a stream in its event loop, where it cannot open a table itself: while a thread of ours did so, the
    loop of a machine with one processor would wait for it forever.
    """
    rows = _through_file(schema, batches)
    next(rows)
    return pa.RecordBatchReader.from_batches(schema, rows)


def _through_file(schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]") -> "Iterator[Any]":
    """Write the rows when the first item is requested, which is nothing, and then yield them."""
    ipc: Any = library("pyarrow.ipc", "archive")
    with TemporaryFile() as file:
        with ipc.new_stream(file, schema, options=ipc.IpcWriteOptions(compression="zstd")) as stream:
            for batch in batches:
                stream.write(batch)
        file.seek(0)
        yield None
        yield from ipc.open_stream(file)
