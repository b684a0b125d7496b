"""What `sideline live` and `sideline record` share."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._client import core_of
from ._exits import Exit
from ._parser import Parser, print_error

if TYPE_CHECKING:
    from .._client import Client
    from ..live import LiveStream


def add_stream(parser: Parser) -> Any:
    """Add the options that name a stream; returns their group."""
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--schedule-id", metavar="ID", help="the Broadcast API's event stream of a game")
    choice.add_argument("--game-id", metavar="ID", help="the live websocket of a game")
    return choice


def open_stream(client: "Client", args: argparse.Namespace) -> "LiveStream":
    """Return the stream that the options name."""
    game, schedule = args.game_id, args.schedule_id
    stream = client.live(game) if game is not None else client.live_stats(schedule)
    # Check before a journal is created.
    core_of(client).check_credentials(broadcast=game is None)
    return stream


class Refusal:
    """The reason of the last refusal among the items of a stream, if the service responded with a status."""

    reason: str | None = None

    def add(self, item: object) -> None:
        from ..live import Disconnected

        if isinstance(item, Disconnected) and item.status is not None:
            self.reason = item.reason


@contextmanager
def until_stopped() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether a signal came, so that a loop can end between two items."""
    has_signal = False

    def stop(*_: object) -> None:
        nonlocal has_signal
        has_signal = True

    previous = [(number, signal.signal(number, stop)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield lambda: has_signal
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def status_of_stream(stream: "LiveStream", refusal: str | None) -> int:
    """Return the exit status of a command that read a stream."""
    if not stream.stats.updates and refusal:
        print_error(f"nothing was received: {refusal}")
        return Exit.ERROR
    return Exit.DONE
