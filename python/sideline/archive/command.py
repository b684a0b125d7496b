"""`sideline sync`: one sync for cron, with a lock, lines of its own and an exit status."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from sideline._frames import library
from sideline._progress import Progress, text
from sideline.archive import Archive
from sideline.archive.leases import is_available
from sideline.archive.report import hole_line
from sideline.archive.store import Store
from sideline.client import Client

COMPLETE, FAILED, INCOMPLETE, DRIFTED = 0, 1, 3, 4

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
    *,
    allow_drift: bool = False,
) -> int:
    """Sync and print a report; returns the exit status: 0 complete, 3 incomplete, 4 unknown fields and no hole."""
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
                    on_error="keep",
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
    drift = report.drift.to_dicts()
    for field in drift:
        print(f"unknown field: {field['operation']} {field['path']} ({field['type']}), {field['count']} responses")
    if not report.complete:
        return INCOMPLETE
    return DRIFTED if drift and not allow_drift else COMPLETE


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
    """One run of this command for an archive; the system releases the lock when the process ends, however it does.

    A run that stores nothing leaves neither lock nor folder.
    """
    if is_available(store):
        # Runs on all machines share the units.
        yield
        return
    if store.is_local:
        path = Path(store.root) / ".sideline-sync.lock"
    else:
        path = (
            Path(tempfile.gettempdir()) / f"sideline-sync-{hashlib.sha256(store.root.encode()).hexdigest()[:16]}.lock"
        )
    made = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    with _locked(path, store.root):
        try:
            yield
        finally:
            if store.is_local and not any(one != path for one in path.parent.iterdir()):
                _remove(path, made)


@contextmanager
def _locked(path: Path, root: str) -> Iterator[None]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            try:
                _lock(file.fileno())
            except OSError:
                raise BlockingIOError(f"another sync of {root} is running (it holds {path})") from None
            # A run that stored nothing may have removed the file since it was opened.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield
                return


def _remove(lock: Path, folders: Sequence[Path]) -> None:
    """Remove the lock, and the folders that were made for it, innermost first."""
    with suppress(OSError):
        lock.unlink()
        for folder in folders:
            folder.rmdir()


def _lock(number: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
