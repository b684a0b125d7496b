"""A body that waits to be stored, compressed."""

import hashlib
from typing import Any

from .._rows import library


class Body:
    """A body of a response. It is held compressed, in a third to a twelfth of its size."""

    __slots__ = ("_compressed", "id", "size")

    def __init__(self, raw: bytes) -> None:
        self.id: str = body_id(raw)
        self.size: int = len(raw)
        self._compressed: bytes = _codec().compress(raw, asbytes=True)

    @classmethod
    def of(cls, raw: bytes) -> "Body | None":
        """Return the body, or `None` if it is empty."""
        return cls(raw) if raw else None

    @property
    def raw(self) -> bytes:
        """The body as it was received."""
        raw: bytes = _codec().decompress(self._compressed, self.size, asbytes=True)
        return raw


def body_id(raw: bytes) -> str:
    """Return the id of a body, by its content."""
    return hashlib.sha256(raw).hexdigest()[:32]


def _codec() -> Any:
    # Of the codecs, this one takes the least time: a body is read again for each of its tables.
    return library("pyarrow", "archive").Codec("lz4_raw")
