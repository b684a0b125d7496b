"""Timeouts of requests."""

import sys
from typing import Any, NamedTuple

from .arguments import as_seconds
from .types import Duration


class Timeout(NamedTuple):
    """Limits in seconds, or as a `timedelta`; all three always apply.

    >>> Timeout(total=60)
    Timeout(connect=10.0, read=30.0, total=60)
    """

    connect: Duration = 10.0
    """For connecting."""
    read: Duration = 30.0
    """Between two reads of a response."""
    total: Duration = 120.0
    """For the whole call, with all attempts and waits."""


def _limits_in_seconds(timeout: Timeout) -> tuple[float, float, float]:
    in_seconds: dict[str, Any] = {name: as_seconds(limit) for name, limit in timeout._asdict().items()}
    for name, seconds in in_seconds.items():
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise TypeError(f"timeout: {name} is a number of seconds, not {type(seconds).__name__}")
        if not 0 < seconds <= sys.float_info.max:
            raise ValueError(f"timeout: {name} is {seconds}; it must be more than 0 seconds, and finite")
    connect, read, total = in_seconds.values()
    return connect, read, total


def _total(timeout: Duration) -> float:
    timeout = as_seconds(timeout)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is seconds, a timedelta or sideline.Timeout(...), not {type(timeout).__name__}")
    try:
        return float(timeout)
    except OverflowError:
        raise ValueError("timeout must be finite: write seconds, such as 30") from None


def limits(timeout: "Timeout | Duration | None") -> tuple[float, float, float] | None:
    """Return connect, read and total limits; a number is the total, which also bounds the other two."""
    if timeout is None:
        return None
    if isinstance(timeout, Timeout):
        return _limits_in_seconds(timeout)
    total, (connect, read, _) = _total(timeout), _limits_in_seconds(Timeout())
    return min(connect, total), min(read, total), total


CallLimits = tuple[float | None, float | None, float] | None
"""Connect, read and total timeout of one call; `None`: the client's."""


def call_limits(timeout: "Timeout | Duration | None") -> CallLimits:
    """Return the limits of one call; a number limits the whole call and keeps the client's other limits."""
    if timeout is None:
        return None
    if isinstance(timeout, Timeout):
        return _limits_in_seconds(timeout)
    return None, None, _total(timeout)
