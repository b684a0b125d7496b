"""The zstd frames of a journal, by the format of RFC 8878 alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from needs import library

pa = library("pyarrow")

MARK = re.compile(rb'\\"n\\": ?(\d+)')
"""A number of the updates that tests record, in the JSON of a journal's line."""


@dataclass
class Part:
    """A zstd frame of items, with a skippable frame that is before it alone."""

    data: bytes
    numbers: list[int]
    """The numbers of its updates."""


def frame_end(data: bytes, start: int) -> int:
    if data[start] >> 4 == 5:
        return start + 8 + int.from_bytes(data[start + 4 : start + 8], "little")
    descriptor = data[start + 4]
    is_single = descriptor >> 5 & 1
    sizes = ((1 if is_single else 0), 2, 4, 8)
    at = start + 5 + (1 - is_single) + (0, 1, 2, 4)[descriptor & 3] + sizes[descriptor >> 6]
    while True:
        header = int.from_bytes(data[at : at + 3], "little")
        at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
        if header & 1:
            return at + 4 * (descriptor >> 2 & 1)


def parts_of(data: bytes) -> tuple[bytes, list[Part], bytes]:
    """Return the bytes before the frames with updates, these frames, and the bytes after them."""
    pieces, pending, at = [], b"", 0
    while at < len(data):
        end = frame_end(data, at)
        frame, pending = pending + data[at:end], b""
        if data[at] >> 4 != 5:
            lines = pa.input_stream(pa.BufferReader(data[at:end]), compression="zstd").read()
            pieces.append(Part(frame, [int(number) for number in MARK.findall(lines)]))
        elif at == 0:
            # The first skippable frame identifies the file.
            pieces.append(Part(frame, []))
        else:
            pending = frame
        at = end
    first = next(index for index, piece in enumerate(pieces) if piece.numbers)
    last = max(index for index, piece in enumerate(pieces) if piece.numbers)
    before, after = (b"".join(piece.data for piece in group) for group in (pieces[:first], pieces[last + 1 :]))
    return before, pieces[first : last + 1], after + pending
