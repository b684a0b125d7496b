"""Takes the items of a live stream for what shows it, with ticks between them."""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING

from .._client import core_of_stream

if TYPE_CHECKING:
    from ._streams import LiveStream

INTERVAL = 0.25
"""Seconds between two ticks, at least."""

MAX_WAIT = 0.2
"""Seconds between two calls of `is_stopped`, at most."""


def follow(
    stream: "LiveStream", is_stopped: Callable[[], bool] = lambda: False, interval: float = INTERVAL
) -> Iterator[object | None]:
    """Yield the items of a stream until it ends or is stopped, and `None` as a tick after each interval."""
    core = core_of_stream(stream)
    core.open()
    until = monotonic() + interval
    while not is_stopped():
        item = core.next_within(min(MAX_WAIT, until - monotonic()))
        # An item may have arrived before the stream ended.
        if item is None and core.has_ended and (item := core.take()) is None:
            return
        if item is not None:
            yield item
        if monotonic() >= until:
            yield None
            until = monotonic() + interval
