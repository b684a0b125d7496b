"""`sideline sync`: a season in an archive, with a lock and an exit status for cron."""

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._rows import count_text
from ._client import open_client
from ._exits import Exit
from ._parser import Commands, add_archive, add_command, add_json, add_list, days, print_error, print_line, team_id

if TYPE_CHECKING:
    from .._client import Progress
    from ..archive import Store, SyncReport

_LINE_INTERVAL = 10.0
"""Seconds between two progress lines without a terminal."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sync",
        run,
        "sync new or changed data into an archive",
        "Sync a season into Delta Lake tables; an interrupted sync resumes. Exit status: 0 complete, 1 error, 3 "
        "incomplete (the holes are printed), 4 no holes, but unknown fields (they are printed). Credentials are read "
        "from the environment: SIDELINE_USERNAME, SIDELINE_SECRET.",
    )
    add_archive(parser)
    add_list(parser, "--teams", "only these teams (default: all that the credential may read)", kind=team_id)
    add_list(parser, "--games", "only these games")
    parser.add_argument(
        "--from", dest="start", metavar="TIME", help="the beginning of the range: ISO 8601; a date is midnight UTC"
    )
    parser.add_argument("--to", dest="end", metavar="TIME", help="the end of the range (default: now)")
    add_list(parser, "--tables", "only these tables (default: all but locations)", metavar="TABLE")
    parser.add_argument(
        "--correction-window",
        type=days,
        default=timedelta(days=7),
        metavar="DAYS",
        help="how long after its end a game is requested again (default: 7); inf: always",
    )
    parser.add_argument("--allow-drift", action="store_true", help="exit with status 0, not 4, for unknown fields")
    add_json(parser, "print the report as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Sync and print a report. Returns the exit status: 0 complete, 3 incomplete, 4 unknown fields and no hole."""
    if args.start is None and args.games is None:
        raise ValueError("give the range: --from, and --to if it does not end now; or --games")
    from .._client import check_sync, store_of
    from ..archive import Archive, load_deltalake

    deltalake = load_deltalake()
    try:
        with open_client() as client:
            archive = Archive(args.path, client)
            # Check before creating a folder for the lock.
            check_sync(archive, args.teams, args.games, args.start, args.end, args.tables)
            with _exclusive(store_of(archive)):
                report = archive.sync(
                    team_ids=args.teams,
                    game_ids=args.games,
                    start=args.start,
                    end=args.end,
                    tables=args.tables,
                    correction_window=args.correction_window,
                    on_error="keep",
                    progress=None if sys.stderr.isatty() else _ProgressLines(),
                )
    except deltalake.exceptions.DeltaError as error:
        print_error(f"{args.path}: {error}")
        return Exit.ERROR
    if args.as_json:
        print(json.dumps(_summary(args.path, report)))
    else:
        _print(args.path, report)
    if not report.complete:
        return Exit.INCOMPLETE
    return Exit.UNKNOWN_FIELDS if report.drift.num_rows and not args.allow_drift else Exit.DONE


def _summary(root: str, report: "SyncReport") -> dict[str, Any]:
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


def _print(root: str, report: "SyncReport") -> None:
    from ..archive import hole_line

    state = "complete" if report.complete else f"incomplete, {count_text(len(report.holes), 'hole')}"
    units, corrections = report.coverage.num_rows, report.corrections.num_rows
    print(f"{root}: {state}; {count_text(units, 'unit')}, {count_text(corrections, 'correction')}")
    for hole in report.holes:
        print(f"hole: {hole_line(hole)}")
    for field in report.drift.to_dicts():
        print(f"unknown field: {field['operation']} {field['path']} ({field['type']}), {field['count']} responses")


class _ProgressLines:
    """Prints the number of units, then a progress line every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _LINE_INTERVAL
        self._is_first = True

    def __call__(self, progress: "Progress") -> None:
        from .._client import progress_text, size_texts

        now = time.monotonic()
        if self._is_first:
            self._is_first = False
            expected = [f"{progress.operation}: {progress.total:,} units to request", *size_texts(progress)]
            print_line(", ".join(expected))
        if now >= self._next or progress.done == progress.total:
            self._next = now + _LINE_INTERVAL
            print_line(progress_text(progress))


@contextmanager
def _exclusive(store: "Store") -> Iterator[None]:
    """Run only one sync of an archive at a time. The system releases the lock when the process ends.

    A run that stores nothing leaves neither a lock nor a folder.
    """
    from ..archive import is_available

    if is_available(store):
        # Concurrent runs share the units by leases.
        yield
        return
    if store.is_local:
        path = Path(store.root) / ".sideline-sync.lock"
    else:
        from .._companions import state_folder

        path = state_folder() / f"sync-{hashlib.sha256(store.root.encode()).hexdigest()[:16]}.lock"
    new_folders = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    with _hold_lock(path, store.root):
        try:
            yield
        finally:
            if store.is_local and not any(entry != path for entry in path.parent.iterdir()):
                _remove(path, new_folders)


@contextmanager
def _hold_lock(path: Path, root: str) -> Iterator[None]:
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
