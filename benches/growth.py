"""What syncs of growing archives take: memory, CPU, bytes, files and requests.

    .venv/bin/python benches/growth.py [--games 100 600 2400] [--days 150] [--tables games,sessions] [--possessions 4]

For each number of games: the first sync, a night with nothing new (of two weeks, and of all days), and a night of ten new games;
then status, audit, report, changes read in batches, rebuild of a table, and export into DuckDB. Each is a process of its own, whose
peak memory (VmHWM) and CPU seconds are measured; the service is another process. `--json` names a file of rows, in which each
replaces the one of the same games, size and sync; `docs/make_growth.py` writes them into docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

TABLES = ["events", "games", "locations", "player_stats", "possessions", "sessions", "shots", "stat_events"]
"""Tables of a sync with locations."""

SYNC = """
import json, resource, sys, time
start = time.perf_counter()
import sideline
root, options = sys.argv[1], json.loads(sys.argv[2])
with sideline.Client() as client:
    report = sideline.Archive(root, client).sync(**options, progress=False)
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"complete": report.complete, "rows": report.coverage.num_rows, "mb": round(peak / 1024), "cpu": round(used.ru_utime + used.ru_stime, 2), "seconds": round(time.perf_counter() - start, 1)}))
"""

READS = {
    "status": "archive.status()",
    "audit": "archive.audit()",
    "report": "archive.report()",
    "changes": "for stream in archive.changes().values():\n    for batch in stream: pass",
    "rebuild": "archive.rebuild('stat_events')",
    "export": "archive.export(f'duckdb://{root}.duckdb')",
}
"""What is measured of an archive besides syncs, each in a process of its own."""

READ = """
import json, resource, sys, time
start = time.perf_counter()
import sideline
root = sys.argv[1]
archive = sideline.Archive(root)
{call}
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({{"mb": round(peak / 1024), "cpu": round(used.ru_utime + used.ru_stime, 2), "seconds": round(time.perf_counter() - start, 1)}}))
"""


def serve(pipe: Connection, options: dict[str, Any]) -> None:
    """Serve a league; send the environment of a client, then play a night or count requests for each message."""
    from long_league import LongLeague

    with LongLeague(**options) as league:
        pipe.send(league.environ)
        while (message := pipe.recv()) is not None:
            if message == "requests":
                pipe.send(len(league.requests))
                league.requests.clear()
            else:
                league.next_night(message)
                pipe.send(league.time.isoformat())


def sync(root: Path, environ: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """Sync in a process of its own."""
    return run(SYNC, environ, str(root), json.dumps(options))


def run(program: str, environ: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Return what a process of its own measured."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout))


def folder_size(root: Path) -> dict[str, Any]:
    """Return the megabytes and files of an archive, and the share of its logs."""
    sizes = {path: path.stat().st_size for path in root.rglob("*") if path.is_file()}
    log = sum(size for path, size in sizes.items() if "_delta_log" in path.parts)
    return {
        "stored_mb": round(sum(sizes.values()) / 1e6, 1),
        "files": len(sizes),
        "log": round(log / sum(sizes.values()), 3),
    }


def league_of(games: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a league."""
    return {
        "games": games,
        "days": arguments.days,
        "possessions": arguments.possessions,
        "sessions": arguments.sessions,
        "frames_per_second": arguments.frames,
    }


def grow(games: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each sync of an archive of so many games."""
    spawn = multiprocessing.get_context("spawn")
    pipe, other = spawn.Pipe()
    league = league_of(games, arguments)
    service = spawn.Process(target=serve, args=(other, league), daemon=True)
    service.start()
    environ = pipe.recv()
    tables = arguments.tables.split(",") if arguments.tables else TABLES if arguments.frames else None
    options = {} if tables is None else {"tables": tables}
    rows: list[dict[str, Any]] = []

    def add(name: str, row: dict[str, Any]) -> None:
        size = {"games": games, **{name: league[name] for name in ("sessions", "possessions", "frames_per_second")}}
        rows.append({**size, "sync": name, **row})
        print(json.dumps(rows[-1]), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "season"
        season = {"start": arguments.start, "end": "2027-03-03", **options}
        fortnight = {"start": "2027-02-15", "end": "2027-03-03", **options}
        for name, new, span in (
            ("first sync", 0, season),
            ("second sync", 0, season),
            ("nothing new", 0, fortnight),
            ("nothing new, whole range", 0, season),
            ("ten games", 10, fortnight),
        ):
            if arguments.only and name not in arguments.only:
                continue
            if new:
                pipe.send(new)
                pipe.recv()
            row = sync(root, environ, span)
            pipe.send("requests")
            add(name, {**row, "requests": pipe.recv(), **folder_size(root)})
        for name, call in READS.items():
            if not arguments.only or name in arguments.only:
                add(name, run(READ.format(call=call), environ, str(root)))
    pipe.send(None)
    service.join()
    return rows


def beside(games: int, arguments: argparse.Namespace) -> None:
    """Print a line for the first sync of each version, in turns; each is NAME=FOLDER of a built package."""
    spawn = multiprocessing.get_context("spawn")
    pipe, other = spawn.Pipe()
    service = spawn.Process(target=serve, args=(other, league_of(games, arguments)), daemon=True)
    service.start()
    environ = pipe.recv()
    options = {"start": arguments.start, "end": "2027-03-03"} | (
        {"tables": arguments.tables.split(",")} if arguments.tables else {}
    )
    for _ in range(3):
        for version in arguments.beside:
            name, _, folder = version.partition("=")
            with tempfile.TemporaryDirectory() as root:
                row = sync(Path(root) / "season", {**environ, "PYTHONPATH": folder}, options)
            print(json.dumps({"version": name, "games": games, **row}), flush=True)
    pipe.send(None)
    service.join()


def store(rows: list[dict[str, Any]], path: Path) -> None:
    """Replace the rows of the same games, size and sync in a file, and add the others."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    names = ("games", "sessions", "possessions", "frames_per_second", "sync")
    every = {tuple(row[name] for name in names): row for row in (*before, *rows)}
    path.write_text("[\n" + ",\n".join(map(json.dumps, every.values())) + "\n]\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, nargs="+", default=[100, 600, 2400])
    parser.add_argument("--days", type=float, default=150, help="over which the games are spread")
    parser.add_argument("--start", default="2026-09-01", help="of the first sync")
    parser.add_argument("--tables", help="separated by commas; default: those of a sync")
    parser.add_argument("--possessions", type=int, default=4, help="of a session: the size of bodies")
    parser.add_argument("--sessions", type=int, default=2, help="of a game")
    parser.add_argument("--frames", type=int, default=0, help="of locations in a second; without them, none are synced")
    parser.add_argument("--only", nargs="+", help='what is measured, such as "first sync"; default: all')
    parser.add_argument(
        "--beside",
        nargs="+",
        metavar="NAME=FOLDER",
        help="versions whose first syncs are measured in turns, and nothing else",
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    start = time.perf_counter()
    for games in arguments.games:
        if arguments.beside:
            beside(games, arguments)
            continue
        rows = grow(games, arguments)
        if arguments.json:
            store(rows, arguments.json)
    print(f"{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
