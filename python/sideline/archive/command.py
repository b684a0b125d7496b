"""`sideline sync`: one sync for cron, with a lock, lines of its own and an exit status."""

import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sideline._frames import library
from sideline._progress import Progress, text
from sideline.archive import Archive
from sideline.archive.report import hole_line
from sideline.archive.store import Store
from sideline.client import Client

COMPLETE, FAILED, INCOMPLETE = 0, 1, 3

_LINE_EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


def sync(
    root: str,
    teams: Sequence[int] | None,
    games: Sequence[str] | None,
    start: str | None,
    end: str | None,
    tables: Sequence[str] | None,
    window: timedelta | None,
) -> int:
    """Sync and tell; the result is the exit status: 0 complete, 3 incomplete."""
    deltalake: Any = library("deltalake", "archive")
    try:
        with Client() as client:
            archive = Archive(root, client)
            # Before there is a folder for the lock.
            archive._checked(teams, games, start, end, tables, window)
            with _alone(archive._store):
                report = archive.sync(
                    teams,
                    games,
                    start,
                    end,
                    tables=tables,
                    correction_window=window,
                    progress=None if sys.stderr.isatty() else _Lines(),
                )
    except deltalake.exceptions.DeltaError as error:
        print(f"sideline: {root}: {error}", file=sys.stderr)
        return FAILED
    units, corrections = report.coverage.num_rows, report.corrections.num_rows
    state = "complete" if report.complete else f"incomplete, {len(report.holes)} hole{'s' * (len(report.holes) != 1)}"
    print(f"{root}: {state}; {units} units, {corrections} corrections")
    for hole in report.holes:
        print(f"hole: {hole_line(hole)}")
    return COMPLETE if report.complete else INCOMPLETE


class _Lines:
    """A line now and then."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _LINE_EVERY

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now >= self._next or progress.done == progress.total:
            self._next = now + _LINE_EVERY
            print(text(progress), file=sys.stderr, flush=True)


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """One run of this command for an archive; the system lets the lock go when the process ends, however it does."""
    if store.is_local:
        path = Path(store.root) / ".sideline-sync.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        path = (
            Path(tempfile.gettempdir()) / f"sideline-sync-{hashlib.sha256(store.root.encode()).hexdigest()[:16]}.lock"
        )
    with path.open("a+b") as file:
        try:
            _lock(file.fileno())
        except OSError:
            raise BlockingIOError(f"another sync of {store.root} is running (it holds {path})") from None
        yield


def _lock(number: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
