"""Checks of arguments, and errors that name the argument."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, overload

from .._core import _check_range, _epoch_ms

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from .types import Duration


@contextmanager
def name_arguments(**written: str) -> Iterator[None]:
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


def check_count(argument: str, count: object) -> None:
    """Raise `ValueError` for what is no whole number of at least 1."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"{argument} is {count!r}; it must be a whole number of at least 1")


def list_of_names(argument: str, names: object) -> list[str]:
    """Return one name or several, each once. Raises `TypeError` for anything else."""
    items: list[Any] = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not all(isinstance(name, str) for name in items):
        raise TypeError(f"{argument} is a name or a list of names, not {names!r}")
    return list(dict.fromkeys(items))


@overload
def as_seconds(duration: "Duration", name: str = "") -> float: ...
@overload
def as_seconds(duration: "Duration | None") -> float | None: ...
def as_seconds(duration: Any, name: str = "") -> Any:
    """Return a duration in seconds; what is no `timedelta` is unchanged.

    With the `name` of an argument that nothing else checks, anything but a number is a `TypeError`.
    """
    total_seconds = getattr(duration, "total_seconds", None)
    if name and total_seconds is None and not hasattr(duration, "__float__"):
        raise TypeError(f"{name} is a number of seconds or a timedelta, not {type(duration).__name__}")
    return duration if total_seconds is None else total_seconds()


def is_time(value: object) -> bool:
    """Return whether a value is a `datetime` to which days can be added, and from which they can be subtracted."""
    from datetime import MAXYEAR, datetime

    return isinstance(value, datetime) and 1 < value.year < MAXYEAR


def as_timedelta(name: str, duration: "Duration") -> "timedelta":
    """Return a duration as a `timedelta`. Raises `TypeError`, or `ValueError` for a negative or infinite one."""
    from datetime import timedelta

    seconds = as_seconds(duration)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        kind = type(duration).__name__
        raise TypeError(f"{name} is a timedelta or a number of seconds, not {kind}: write timedelta(days=7)")
    try:
        period = duration if isinstance(duration, timedelta) else timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} is {seconds} seconds; it must be finite: write timedelta(days=7)") from None
    if seconds < 0:
        raise ValueError(f"{name} is {duration}: it cannot be negative; write timedelta(days=7)")
    if period > timedelta(days=365_250):
        raise ValueError(f"{name} is {duration}: give at most 1,000 years, such as timedelta(days=7)")
    return period


def check_on_error(on_error: str) -> None:
    """Raise `ValueError` for another word."""
    if on_error not in ("raise", "keep"):
        raise ValueError(f'on_error is {on_error!r}; it must be "raise" or "keep"')


def check_range(start: Any, end: Any, now: "datetime | None") -> None:
    """Raise `ValueError` for a range that holds nothing; without `end` it ends `now`."""
    if end is None and _epoch_ms("start", start) >= _epoch_ms("now", now):
        raise ValueError(f"start {start} is in the future, and a range without end ends now, {now}: pass end too")
    _check_range(start, now if end is None else end)
