"""How long a request may take."""

from typing import NamedTuple

__all__ = ["Timeout"]


class Timeout(NamedTuple):
    """Limits in seconds; all three are always on.

    >>> Timeout(total=60)
    Timeout(connect=10.0, read=30.0, total=60)
    """

    connect: float = 10.0
    """For the connection to stand."""
    read: float = 30.0
    """Between two pieces of an answer."""
    total: float = 120.0
    """For the call, with all its attempts and waits."""


def limits(timeout: "Timeout | float | None") -> tuple[float, float, float] | None:
    """Connect, read and total; a number is the total, which no single limit need exceed."""
    if timeout is None:
        return None
    if isinstance(timeout, Timeout):
        return timeout
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is seconds or sideline.Timeout(...), not {type(timeout).__name__}")
    standard = Timeout()
    return min(standard.connect, timeout), min(standard.read, timeout), float(timeout)


Limit = Timeout | float | None
"""How long one call may take: seconds for all of it, or each limit; None is the client's."""


def call_limits(timeout: Limit) -> "tuple[float | None, float | None, float] | None":
    """Connect, read and total of one call; a number limits the whole call, and leaves the others to the client."""
    if timeout is None or isinstance(timeout, Timeout):
        return timeout
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is seconds or sideline.Timeout(...), not {type(timeout).__name__}")
    return None, None, float(timeout)
