"""Holds entries of lists, rows of `coverage` and positions that wait to be stored, compressed."""

import pickle
import zlib
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, TypeVar

from ._libraries import pa

Entry = TypeVar("Entry")


class Packed(MutableMapping[str, Entry]):
    """Entries of lists by their ids. Each use of one makes a new object of it."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}
        self._first = b""
        """The first entry, which most others resemble: their differences take a tenth of their bytes."""

    def __getitem__(self, key: str) -> Entry:
        entry: Entry = pickle.loads(zlib.decompressobj(zdict=self._first).decompress(self._data[key]))
        return entry

    def __setitem__(self, key: str, entry: Entry) -> None:
        data = pickle.dumps(entry)
        self._first = self._first or data
        compressor = zlib.compressobj(1, zdict=self._first)
        self._data[key] = compressor.compress(data) + compressor.flush()

    def __delitem__(self, key: str) -> None:
        del self._data[key]

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


def pack(rows: "pa.Table") -> "pa.Buffer":
    """Return rows as a compressed stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(rows)
    return sink.getvalue()


def unpack(stream: "pa.Buffer", schema: "pa.Schema | None" = None, columns: Sequence[str] = ()) -> "pa.Table":
    """Return the rows of a compressed stream, or columns of them: of its schema, only they are decompressed."""
    ipc: Any = pa.ipc
    if schema is None:
        return ipc.open_stream(stream).read_all()
    options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in columns])
    return ipc.open_stream(stream, options=options).read_all().select(columns)
