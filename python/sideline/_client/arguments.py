"""Checks of arguments, and errors that name the argument."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._core import _epoch_ms

if TYPE_CHECKING:
    from datetime import datetime


@contextmanager
def named(**written: str) -> Iterator[None]:
    """Name the argument of the wrong type or size in the message, with what to write: the core names it only in a note.

    A number of the wrong size is a `ValueError`.
    """
    try:
        yield
    except (TypeError, OverflowError) as error:
        for note in getattr(error, "__notes__", ()):
            match = re.fullmatch(r"while processing '(\w+)'", note)
            if match and match[1] in written:
                if isinstance(error, OverflowError):
                    raise ValueError(f"{match[1]} is {written[match[1]]}; this one exceeds 64 bits") from None
                raise TypeError(f"{match[1]} is {written[match[1]]}; {error}") from None
        raise


def check_range(start: Any, end: Any, now: "datetime | None") -> None:
    """Raise `ValueError` for an empty range; without `end` it ends `now`."""
    ends = _epoch_ms("start", start), _epoch_ms("end", now if end is None else end)
    if ends[0] < ends[1]:
        return
    # Not at the top: a call that is right needs no calendar.
    from datetime import UTC, datetime, timedelta

    first, last = (datetime.fromtimestamp(milliseconds / 1000, UTC) for milliseconds in ends)
    if end is None:
        raise ValueError(f"start {first} is in the future, and a range without end ends now, {last}: pass end too")
    if first == last:
        day = (first + timedelta(days=1)).date()
        raise ValueError(f"start and end are both {first}: the range is empty; for a whole day, end it with {day}")
    raise ValueError(f"start {first} is after end {last}: swap them")
