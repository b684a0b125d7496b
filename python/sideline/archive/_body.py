"""A body that waits to be stored, compressed."""

import hashlib
from typing import Any

from ._libraries import pa


class Body:
    """A body of a response. It is held compressed, in a third to a twentieth of its size."""

    __slots__ = ("_compressed_body", "id", "size")

    def __init__(self, raw: bytes) -> None:
        self.id: str = body_id(raw)
        self.size: int = len(raw)
        self._compressed_body: bytes = _codec(self.size).compress(raw, asbytes=True)

    @classmethod
    def of(cls, raw: bytes) -> "Body | None":
        """Return the body, or `None` if it is empty."""
        return cls(raw) if raw else None

    @property
    def raw(self) -> bytes:
        """The body as it was received."""
        raw: bytes = _codec(self.size).decompress(self._compressed_body, self.size, asbytes=True)
        return raw


def body_id(raw: bytes) -> str:
    """Return the id of a body, by its content."""
    return hashlib.sha256(raw).hexdigest()[:32]


_LARGE = 1024 * 1024
"""Bytes of a body, such as one of locations, of which two codecs take the same time."""


def _codec(size: int) -> Any:
    codec: Any = pa.Codec
    # Of the codecs, LZ4 takes the least time: a body is read again for each of its tables. Zstandard leaves a third.
    return codec("zstd", 1) if size >= _LARGE else codec("lz4_raw")
