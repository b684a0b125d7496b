"""Recorded streams: replayed, and repaired."""

from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath

import sideline
from sideline._arguments import named
from sideline._core import _repair_journal, _replay
from sideline.streams import Overflow

__all__ = ["LostBytes", "Repair", "repair", "replay"]


def replay(
    path: str | PathLike[str],
    speed: float | None = 1.0,
    *,
    notices: bool = True,
    overflow: Overflow = "block",
    buffer: int = 1024,
) -> "sideline.LiveStream":
    """Replays a journal that `LiveStream.record` wrote: the same items in the same order, as a stream that ends.

    A journal whose recorder was killed ends with its last whole block. What is appended later is not replayed.

    Parameters:
        speed: 1.0 gives the items at the pace they came, by their receive times, 60.0 a minute in a second; `None` as
            fast as they are taken. The time between two recordings in one journal passes too.
        notices, overflow, buffer: as for `Client.live_stats`.

    Raises `OSError` for a file that cannot be read and `DecodeError` for one that is no journal. Where a journal is
    damaged all items before the damage are given, then a `DecodeError` with its `offset` in bytes; `sideline journal
    repair` saves what is whole behind it.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> [item.text for item in sideline.replay("game.journal", None, notices=False)] == [recorded[1].text]
    True
    """
    from sideline.live import LiveStream

    with named(speed="a number such as 2.0, or None for as fast as possible", path="a str or a path"):
        core = _replay(path, speed, {"notices": notices, "overflow": overflow, "buffer": buffer})
    return LiveStream(core, f"replay of {fspath(path)}")


@dataclass(frozen=True, slots=True)
class LostBytes:
    """Bytes of a journal that were damaged."""

    start: int
    """The first of them."""
    bytes: int
    after: datetime | None
    """When the last item before them was received; `None`: there is none."""
    before: datetime | None
    """When the first item after them was received; `None`: there is none."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair saved, and what was lost."""

    blocks: int
    items: int
    lost: list[LostBytes]


def repair(path: str | PathLike[str], out: str | PathLike[str] | None = None) -> Repair:
    """Saves every whole block of a damaged journal; where others were lost, the new journal has a `Gap`.

    Without `out` the repaired journal takes the place of the damaged one, which is kept with `.damaged` at the end of
    its name. A journal that is whole stays as it is.

    Raises `OSError` where a file cannot be read or written, and `BlockingIOError` while the journal is recorded.

    >>> with client.live_stats(live_game_id).record("game.journal") as stream:
    ...     recorded = [next(stream), next(stream)]
    >>> from sideline.journal import repair
    >>> repair("game.journal")
    Repair(blocks=1, items=2, lost=[])
    """
    blocks, items, lost = _repair_journal(path, out)
    return Repair(blocks, items, [LostBytes(*one) for one in lost])
