"""Replays recorded streams."""

from os import PathLike, fspath
from typing import TYPE_CHECKING

from ._lazy import LazyModule

if TYPE_CHECKING:
    from . import live
else:
    live = LazyModule("sideline.live")
from ._client import Duration, Overflow, as_seconds, name_arguments
from ._core import _replay

__all__ = ["replay"]


def replay(
    path: str | PathLike[str],
    speed: float | None = 1.0,
    *,
    max_pause: Duration = 1.0,
    notices: bool = True,
    overflow: Overflow = "block",
    buffer: int = 1024,
) -> "live.LiveStream":
    """Replay a journal that `LiveStream.record` wrote: the same items in the same order, as a stream that ends.

    Damage does not end a replay: a `Gap` with the reason "damaged" is where items are missing, and one with the reason
    "torn" where the recorder was killed. Items appended later are not replayed.

    Parameters:
        speed: 1.0 replays at the original pace, 60.0 a minute per second; `None` as fast as possible. The pace is that
            of the monotonic times, so a step of the recorder's clock does not change it.
        max_pause: How long a pause between two recordings in one journal lasts at most, in seconds.
        notices, overflow, buffer: as for `Client.live_stats`.

    Raises `OSError` for a file that cannot be read, and `DecodeError` for a file that is not a journal or that another
    version of sideline wrote.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> [item.text for item in sideline.replay("game.journal", None, notices=False)] == [recorded[1].text]
    True
    """
    from .live import LiveStream

    speed_form = "a number such as 2.0, or None for as fast as possible"
    with name_arguments(speed=speed_form, max_pause="a number of seconds, such as 1.0", path="a str or a path"):
        core = _replay(path, speed, as_seconds(max_pause), {"notices": notices, "overflow": overflow, "buffer": buffer})
    return LiveStream(core, f"replay of {fspath(path)}")
