"""`sideline record`: a live stream in a journal."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .._core import Update
from .._rows import count_text
from ._client import open_client
from ._parser import Commands, add_command, print_line
from ._streams import Refusal, add_stream, open_stream, status_of_stream, until_stopped

if TYPE_CHECKING:
    from ..live import LiveStream

_LINE_INTERVAL = 10.0
"""Seconds between two lines without a terminal."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "record",
        run,
        "append a live stream to a journal, until Ctrl-C",
        "Append each item of a live stream to a journal, which sideline.replay replays, until Ctrl-C. A killed "
        "recorder loses at most one second. Exit status: 0, or 1 if the service refused and nothing was received.",
    )
    add_stream(parser)
    parser.add_argument("path", type=Path, metavar="PATH", help="the journal, which is created or continued")


@dataclass
class RecordCounts:
    """What is in the journal: the stream's own counters have the items that wait, too."""

    updates: int = 0
    size: int = 0
    gaps: int = 0
    last: datetime | None = None

    def add(self, item: object) -> None:
        """Count an item that was recorded."""
        from ..live import Gap

        if isinstance(item, Update):
            self.updates, self.size, self.last = self.updates + 1, self.size + len(item.raw), item.received_at
        # A final gap repeats one that came before.
        self.gaps += isinstance(item, Gap) and not item.is_final

    def __str__(self) -> str:
        size = self.size
        size_text = f"{size} bytes" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
        return f"{count_text(self.updates, 'update')}, {size_text}, {count_text(self.gaps, 'gap')}"


def run(args: argparse.Namespace) -> int:
    """Record until the stream ends or Ctrl-C."""
    counts, refusal = RecordCounts(), Refusal()
    with open_client() as client:
        stream = open_stream(client, args)
        with until_stopped() as is_stopped, stream.record(args.path):
            _watch(stream, counts, refusal, is_stopped)
    print(f"recorded {counts} to {args.path}")
    return status_of_stream(stream, refusal.reason)


def _watch(stream: "LiveStream", counts: RecordCounts, refusal: Refusal, is_stopped: Callable[[], bool]) -> None:
    """Take and count items."""
    from ..live import Disconnected, follow

    terminal = sys.stderr.isatty()
    every = 0.5 if terminal else _LINE_INTERVAL
    try:
        for item in follow(stream, is_stopped, every):
            counts.add(item)
            refusal.add(item)
            if isinstance(item, Disconnected) and item.attempt == 1 and item.retry_at is not None:
                line = f"not connected: {item.reason}"
                print_line(f"\r{line}\033[K" if terminal else line)
            if item is None:
                when = f"last received {counts.last.astimezone():%H:%M:%S}" if counts.last else "nothing received yet"
                line = f"{counts}, {when}"
                print_line(f"\r{line}\033[K" if terminal else line, end="" if terminal else "\n")
    finally:
        if terminal:
            print_line("")
