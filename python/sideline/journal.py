"""Recorded streams, given again."""

from os import PathLike, fspath
from typing import TYPE_CHECKING

from sideline._arguments import named
from sideline._core import _replay

if TYPE_CHECKING:
    from sideline.live import LiveStream
    from sideline.streams import Overflow


def replay(
    path: str | PathLike[str],
    speed: float | None = 1.0,
    *,
    notices: bool = True,
    overflow: "Overflow" = "block",
    buffer: int = 1024,
) -> "LiveStream":
    """The items of a journal that `LiveStream.record` wrote: the same ones, in the same order, as a stream that ends.

    A journal whose recorder was killed ends with its last whole frame. It is read as long as it is now.

    Parameters:
        speed: 1.0 gives the items at the pace they came, by their receive times, 60.0 a minute in a second; `None` as
            fast as they are taken. The time between two recordings in one journal passes too.
        notices, overflow, buffer: as for `Client.live_stats`.

    Raises `OSError` for a file that cannot be read and `DecodeError` for one that is no journal. Where a journal is
    damaged all items before the damage are given, then a `DecodeError` with its `offset` in bytes.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> [item.text for item in sideline.replay("game.journal", None, notices=False)] == [recorded[1].text]
    True
    """
    from sideline.live import LiveStream

    with named(speed="a number such as 2.0, or None for as fast as possible", path="a str or a path"):
        core = _replay(path, speed, {"notices": notices, "overflow": overflow, "buffer": buffer})
    return LiveStream(core, f"replay of {fspath(path)}")
