"""How far a sync is: a bar on a terminal, a callable's own way, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(progress: bool | Callable[[int, int], None] | None) -> Iterator[Callable[[int, int], None]]:
    """Gives what to call with units done and planned."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda done, total: None  # noqa: ARG005
    else:
        yield _bar
        print(file=sys.stderr)  # noqa: T201


def _bar(done: int, total: int) -> None:
    filled = 30 * done // total if total else 30
    print(f"\r{'█' * filled}{'·' * (30 - filled)} {done} of {total}\033[K", end="", file=sys.stderr, flush=True)  # noqa: T201
