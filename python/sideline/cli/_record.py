"""`sideline record`: a live stream in a journal."""

import argparse
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .._core import Update
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


def run(args: argparse.Namespace) -> int:
    """Record until the stream ends or Ctrl-C."""
    with open_client() as client:
        stream = open_stream(client, args)
        with until_stopped() as is_stopped, stream.record(args.path):
            refusal = _watch(stream, is_stopped)
    stats = stream.stats
    print(f"recorded {_summary(stats.updates, stats.bytes, stats.gaps)} to {args.path}")
    return status_of_stream(stream, refusal.reason)


def _watch(stream: "LiveStream", is_stopped: Callable[[], bool]) -> Refusal:
    """Take and count items."""
    from ..live import Disconnected, follow

    terminal = sys.stderr.isatty()
    every = 0.5 if terminal else _LINE_INTERVAL
    last: datetime | None = None
    refusal = Refusal()
    try:
        for item in follow(stream, is_stopped, every):
            refusal.add(item)
            if isinstance(item, Update):
                last = item.received_at
            if isinstance(item, Disconnected) and item.attempt == 1 and item.retry_at is not None:
                line = f"not connected: {item.reason}"
                print_line(f"\r{line}\033[K" if terminal else line)
            if item is None:
                stats = stream.stats
                when = f"last received {last.astimezone():%H:%M:%S}" if last else "nothing received yet"
                line = f"{_summary(stats.updates, stats.bytes, stats.gaps)}, {when}"
                print_line(f"\r{line}\033[K" if terminal else line, end="" if terminal else "\n")
    finally:
        if terminal:
            print_line("")
    return refusal


def _summary(updates: int, size: int, gaps: int) -> str:
    size_text = f"{size} bytes" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"{updates} update{'s' * (updates != 1)}, {size_text}, {gaps} gap{'s' * (gaps != 1)}"
