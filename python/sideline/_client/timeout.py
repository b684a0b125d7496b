"""Timeouts of requests."""

import sys
from typing import NamedTuple

__all__ = ["Timeout"]


class Timeout(NamedTuple):
    """Limits in seconds; all three always apply.

    >>> Timeout(total=60)
    Timeout(connect=10.0, read=30.0, total=60)
    """

    connect: float = 10.0
    """For connecting."""
    read: float = 30.0
    """Between two reads of a response."""
    total: float = 120.0
    """For the whole call, with all attempts and waits."""


def _checked(timeout: Timeout) -> Timeout:
    for name, seconds in timeout._asdict().items():
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise TypeError(f"timeout: {name} is a number of seconds, not {type(seconds).__name__}")
        if not 0 < seconds <= sys.float_info.max:
            raise ValueError(f"timeout: {name} is {seconds}; it must be more than 0 seconds, and finite")
    return timeout


def _total(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is seconds or sideline.Timeout(...), not {type(timeout).__name__}")
    try:
        return float(timeout)
    except OverflowError:
        raise ValueError("timeout must be finite: write seconds, such as 30") from None


def limits(timeout: "Timeout | float | None") -> tuple[float, float, float] | None:
    """Return connect, read and total limits; a number is the total, which also bounds the other two."""
    if timeout is None:
        return None
    if isinstance(timeout, Timeout):
        return _checked(timeout)
    total, standard = _total(timeout), Timeout()
    return min(standard.connect, total), min(standard.read, total), total


Limit = Timeout | float | None
"""The timeout of one call: seconds for the whole call, or each limit; `None` is the client's."""


def call_limits(timeout: Limit) -> "tuple[float | None, float | None, float] | None":
    """Return the limits of one call; a number limits the whole call and keeps the client's other limits."""
    if timeout is None:
        return None
    if isinstance(timeout, Timeout):
        return _checked(timeout)
    return None, None, _total(timeout)
