"""Replays and repairs recorded streams."""

from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from typing import TYPE_CHECKING

from ._lazy import LazyModule

if TYPE_CHECKING:
    from . import live
else:
    live = LazyModule("sideline.live")
from ._client import Overflow, named
from ._core import _repair_journal, _replay

__all__ = ["LostBytes", "Repair", "repair", "replay"]


def replay(
    path: str | PathLike[str],
    speed: float | None = 1.0,
    *,
    notices: bool = True,
    overflow: Overflow = "block",
    buffer: int = 1024,
) -> "live.LiveStream":
    """Replay a journal that `LiveStream.record` wrote: the same items in the same order, as a stream that ends.

    A journal of a killed recorder ends with its last intact block. Items appended later are not replayed.

    Parameters:
        speed: 1.0 replays at the original pace, by receive times, 60.0 a minute per second; `None` as fast as possible.
            The time between two recordings in one journal passes too.
        notices, overflow, buffer: as for `Client.live_stats`.

    Raises `OSError` for a file that cannot be read and `DecodeError` for a file that is not a journal. A damaged
    journal yields all items before the damage, then raises `DecodeError` with its `offset` in bytes; `sideline journal
    repair` saves the intact blocks after it.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> [item.text for item in sideline.replay("game.journal", None, notices=False)] == [recorded[1].text]
    True
    """
    from .live import LiveStream

    with named(speed="a number such as 2.0, or None for as fast as possible", path="a str or a path"):
        core = _replay(path, speed, {"notices": notices, "overflow": overflow, "buffer": buffer})
    return LiveStream(core, f"replay of {fspath(path)}")


@dataclass(frozen=True, slots=True)
class LostBytes:
    """Damaged bytes of a journal."""

    start: int
    """The position of the first byte."""
    bytes: int
    after: datetime | None
    """When the last item before them was received, or `None`."""
    before: datetime | None
    """When the first item after them was received, or `None`."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The saved blocks and items of a repaired journal, and the lost bytes."""

    blocks: int
    items: int
    lost: list[LostBytes]


def repair(path: str | PathLike[str], out: str | PathLike[str] | None = None) -> Repair:
    """Save every intact block of a damaged journal; the new journal has a `Gap` for each lost one.

    Without `out` the repaired journal replaces the damaged one, which is kept with the suffix `.damaged`. An intact
    journal stays unchanged.

    Raises `OSError` if a file cannot be read or written, and `BlockingIOError` while the journal is recorded.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> from sideline.journal import repair
    >>> repair("game.journal")
    Repair(blocks=1, items=2, lost=[])
    """
    blocks, items, gaps = _repair_journal(path, out)
    return Repair(blocks, items, [LostBytes(*one) for one in gaps])
