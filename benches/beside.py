"""The same work by this build and by an earlier one, in turns: decoding, dicts, HTTP, event streams and the start of a process.

    target/bench/bin/python benches/beside.py [--rounds 7]

The earlier build is in `target/bench/before` (README.md, "An earlier build"); without it there are no rows. Each build has a
process of its own, both have the same bodies and the same server, and a row's ratio is taken in each round.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from archive import BEFORE, COMMIT
from measure import Row, number, spread

KINDS = ("game", "period", "possessions", "schedule", "locations", "session stats", "roster", "small")
FOUR = ["player_id", "t", "x", "y"]
GUARD = 1.05
"""The most that a row's median ratio may be, unless our median time is within the middle half of the earlier build's or below it."""
FILLED = 0.15
"""Seconds that a turn of decoding fills; the least of its calls counts."""
Job = Callable[[], object]


def decoding(folder: Path) -> dict[str, Job]:
    """Of all five bodies of a kind, one after the other. An earlier build has no `all_tables`."""
    import sideline

    jobs: dict[str, Job] = {}
    for kind, (operation, ids) in json.loads((folder / "kinds.json").read_text()).items():
        raws = [(folder / f"{kind}-{number}.json").read_bytes() for number in range(len(ids))]

        def payloads(operation=operation, raws=raws, ids=ids) -> list[sideline.Payload]:
            return [sideline.Payload.from_bytes(operation, raw, **these) for raw, these in zip(raws, ids, strict=True)]

        def tables(payload: sideline.Payload) -> object:
            every = getattr(payload, "all_tables", None)
            return every() if every else [payload.table(name) for name in payload.tables]

        jobs[f"{kind}, bytes → Arrow"] = lambda made=payloads: [tables(one) for one in made()]
        jobs[f"{kind}, bytes → dicts"] = lambda made=payloads: [one.to_dict() for one in made()]
        if kind == "locations":
            jobs["locations: four columns"] = lambda made=payloads: [one.table(columns=FOUR) for one in made()]
    return jobs


def requests(plain: str, compressed: str) -> dict[str, Job]:
    import over_http
    import stream

    def lag(part: float) -> float:
        of_events = sorted(stream.lags(lambda: stream.ours_async(plain, "paced"), asyncio.run))
        return of_events[int(part * len(of_events))] / 1e3

    jobs: dict[str, Job] = {
        "300 games of 1.5 MB, plain → Arrow": lambda: over_http.games_sideline(plain),
        "300 games of 1.5 MB, gzip → Arrow": lambda: over_http.games_sideline(compressed),
        "20,000 small signed requests: one call for many ids": lambda: over_http.small_batch(plain),
        "20,000 small signed requests: AsyncClient, a call each": lambda: over_http.small_calls(plain),
        "paced stream, lag p50": lambda: lag(0.5),
        "paced stream, lag p99": lambda: lag(0.99),
    }
    for name, count in stream.EVENTS.items():
        jobs[f"{count:,} events, {name}, to dicts"] = lambda name=name, count=count: stream.taken(
            stream.ours(plain, name), count
        )
        jobs[f"{count:,} events, {name}, async for"] = lambda name=name, count=count: stream.awaited(
            lambda: stream.ours_async(plain, name), count
        )
    return jobs


def work(folder: str, plain: str, compressed: str) -> None:
    """In a process of its own: do each job that is named, and write its seconds and CPU seconds."""
    short = decoding(Path(folder))
    jobs = short | requests(plain, compressed)
    print(json.dumps(list(jobs)), flush=True)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        name = line.strip()
        gc.collect()
        until = time.perf_counter() + (FILLED if name in short else 0)
        best = [float("inf")] * 2
        while True:
            start, spent = time.perf_counter(), time.process_time()
            result = jobs[name]()
            took = [time.perf_counter() - start, time.process_time() - spent]
            if isinstance(result, float):
                took[0] = result
            del result
            best = [min(pair) for pair in zip(best, took, strict=True)]
            if time.perf_counter() >= until:
                break
        print(json.dumps(best), flush=True)


def write_bodies(folder: Path) -> None:
    from workloads import bodies

    kinds = {}
    for kind in KINDS:
        kinds[kind] = (bodies(kind)[0].operation, [body.ids for body in bodies(kind)])
        for place, body in enumerate(bodies(kind)):
            (folder / f"{kind}-{place}.json").write_bytes(body.raw)
    (folder / "kinds.json").write_text(json.dumps(kinds))


def starts(base: str, rounds: int) -> tuple[list, list]:
    """Of a process that prints a table; the least of five starts is a turn."""
    from process import SCRIPTS

    def start(python: object) -> list[float]:
        took = []
        for _ in range(5):
            began = time.perf_counter()
            script = f"{SCRIPTS['sideline']}\nprint(table)"
            subprocess.run([str(python), "-I", "-c", script, base], check=True, capture_output=True)
            took.append(time.perf_counter() - began)
        return [min(took), 0.0]

    now, then = zip(*((start(sys.executable), start(BEFORE)) for _ in range(rounds)), strict=True)
    return list(now), list(then)


def row(job: str, times: tuple[list, list]) -> Row:
    """A guard, except for events: their guards are the peers in `stream.py` (README.md, "Events to dicts")."""
    wall = spread([now[0] / then[0] for now, then in zip(*times, strict=True)])
    holds = (
        wall.median <= GUARD
        or statistics.median(now for now, _ in times[0]) <= spread([then for then, _ in times[1]]).high
    )
    is_guard = " events, " not in job
    spent = [statistics.median(cpu for _, cpu in of_build) for of_build in times]
    least = [f"{number(min(seconds for seconds, _ in of_build) * 1e3)} ms" for of_build in times]
    note = f"CPU {number(spent[0] / spent[1])}×" if min(spent) > 0.001 else ""
    return Row(
        f"Beside {COMMIT}", job, COMMIT, f"{wall.of('×')} of its time", f"≤ {GUARD}×" if is_guard else "", holds if is_guard else None,
        ", ".join(least), note,
    )  # fmt: skip


def rows(rounds: int) -> list:
    from serving import serving

    if not BEFORE.exists():
        return []
    found = []
    with tempfile.TemporaryDirectory() as name, serving() as served:
        write_bodies(Path(name))
        builds = [
            subprocess.Popen(
                [python, __file__, "--work", name, served.plain, served.gzip],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for python in (sys.executable, BEFORE)
        ]  # fmt: skip
        names, _ = (json.loads(build.stdout.readline()) for build in builds)
        for job in names:
            times: tuple[list, list] = ([], [])
            for turn in range(rounds):
                for which in (0, 1) if turn % 2 else (1, 0):
                    print(job, file=builds[which].stdin, flush=True)
                    times[which].append(json.loads(builds[which].stdout.readline()))
            found.append(row(job, times))
        for build in builds:
            build.stdin.close()
            build.wait()
        found.append(row("process start → first table printed", starts(served.plain, rounds)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work)
        return
    for row in rows(given.rounds):
        print(f"{row.work} | {row.measured} | {row.times} | {row.note}", flush=True)


if __name__ == "__main__":
    main()
