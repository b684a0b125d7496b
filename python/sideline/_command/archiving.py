"""The commands `sideline sync`, with a lock and an exit status for cron, and `sideline status`."""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from .._client import Client, Progress, check_sync, progress_text, store_of
from .._rows import visible
from ..archive import Archive, Store, SyncReport, hole_line, is_available, load_deltalake
from .exits import Exit

_LINE_INTERVAL = 10.0
"""Seconds between two progress lines without a terminal."""


def sync_archive(
    root: str,
    teams: Sequence[int] | None,
    games: Sequence[str] | None,
    start: str | None,
    end: str | None,
    tables: Sequence[str] | None,
    window: timedelta | None,
    *,
    allow_drift: bool = False,
    as_json: bool = False,
) -> int:
    """Sync and print a report. Returns the exit status: 0 complete, 3 incomplete, 4 unknown fields and no hole."""
    deltalake = load_deltalake()
    try:
        with Client() as client:
            archive = Archive(root, client)
            # Check before creating a folder for the lock.
            check_sync(archive, teams, games, start, end, tables)
            with _exclusive(store_of(archive)):
                report = archive.sync(
                    team_ids=teams,
                    game_ids=games,
                    start=start,
                    end=end,
                    tables=tables,
                    correction_window=window,
                    on_error="keep",
                    progress=None if sys.stderr.isatty() else _ProgressLines(),
                )
    except deltalake.exceptions.DeltaError as error:
        print(f"sideline: {root}: {error}", file=sys.stderr)
        return Exit.ERROR
    if as_json:
        print(json.dumps(_summary(root, report)))
    else:
        _print(root, report)
    if not report.complete:
        return Exit.INCOMPLETE
    return Exit.UNKNOWN_FIELDS if report.drift.num_rows and not allow_drift else Exit.DONE


def _summary(root: str, report: SyncReport) -> dict[str, Any]:
    names = ("unit", "status", "error")
    return {
        "archive": root,
        "complete": report.complete,
        "units": dict(Counter(report.coverage["status"])),
        "holes": [{name: hole[name] for name in names} for hole in report.holes],
        "corrections": report.corrections.num_rows,
        "unknown_fields": [
            {name: row[name] for name in ("operation", "path", "type", "count")} for row in report.drift.to_dicts()
        ],
    }


def _print(root: str, report: SyncReport) -> None:
    units, corrections = report.coverage.num_rows, report.corrections.num_rows
    state = "complete" if report.complete else f"incomplete, {len(report.holes)} hole{'s' * (len(report.holes) != 1)}"
    print(f"{root}: {state}; {units} units, {corrections} corrections")
    for hole in report.holes:
        print(f"hole: {hole_line(hole)}")
    for field in report.drift.to_dicts():
        print(f"unknown field: {field['operation']} {field['path']} ({field['type']}), {field['count']} responses")


def print_status(root: str, teams: Sequence[int] | None, since: str | None, *, as_json: bool) -> int:
    """Print the verdicts. Returns the exit status: 0 without problems, 3 otherwise."""
    from ..archive import PROBLEMS, SEVERITY

    rows = Archive(root).status(teams, since).to_dicts()
    problems = [row for row in rows if row["status"] in PROBLEMS]
    if as_json:
        print(json.dumps(rows, default=lambda time: time.isoformat(timespec="milliseconds"), indent=1))
        return Exit.INCOMPLETE if problems else Exit.DONE
    counts = Counter(row["status"] for row in rows)
    state = "no problems" if not problems else f"{len(problems)} table{'s' * (len(problems) != 1)} with problems"
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(SEVERITY) if counts[verdict])
    print(f"{root}: {state}; {summary or 'no games'}")
    for row in problems:
        print(visible(f"{row['game_id']} {row['table']} {row['status']}: {'; '.join(row['reasons'])}"))
    return Exit.INCOMPLETE if problems else Exit.DONE


class _ProgressLines:
    """Prints a progress line every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _LINE_INTERVAL

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now >= self._next or progress.done == progress.total:
            self._next = now + _LINE_INTERVAL
            print(progress_text(progress), file=sys.stderr, flush=True)


@contextmanager
def _exclusive(store: Store) -> Iterator[None]:
    """Run only one sync of an archive at a time. The system releases the lock when the process ends.

    A run that stores nothing leaves neither a lock nor a folder.
    """
    if is_available(store):
        # Concurrent runs share the units by leases.
        yield
        return
    if store.is_local:
        path = Path(store.root) / ".sideline-sync.lock"
    else:
        path = (
            Path(tempfile.gettempdir()) / f"sideline-sync-{hashlib.sha256(store.root.encode()).hexdigest()[:16]}.lock"
        )
    new_folders = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    with _locked(path, store.root):
        try:
            yield
        finally:
            if store.is_local and not any(entry != path for entry in path.parent.iterdir()):
                _remove(path, new_folders)


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
    """Remove the lock and the folders that were created for it, innermost first."""
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
