"""Archive rows: time, CPU and peak memory of a sync of 50, 200 and 800 games from nothing, and of one night in a season.

    target/bench/bin/python benches/archive.py [--rounds 3] [--games 50,200,800]

The service is the simulator, in this process. Each sync is a process of its own, and memory is its peak (`VmHWM`), as in
`over_http.py`. A night is eight games, after a sync of 200. Where `target/bench/before` is an environment with an earlier build
(README.md), a sync of 200 games takes turns with that build's. A single round leaves the larger syncs out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

GAMES = (50, 200, 800)
NIGHT = 8
NOW = "2027-03-01T12:00:00Z"
MOST_MB = 350
"""Of the peak of a sync, at any number of games."""
MOST_OF_BEFORE = 0.8
"""Of the time per game of an earlier build."""
BEFORE, COMMIT = Path(__file__).parent.parent / "target/bench/before/bin/python", "195d7c9"


def synced(folder: str, games: list[str]) -> None:
    """Sync the games; run in a process of its own, which writes seconds, CPU seconds and peak kilobytes."""
    from datetime import datetime

    import sideline

    with sideline.Client() as client:
        archive = sideline.Archive(folder, client, clock=lambda: datetime.fromisoformat(NOW))
        start, spent = time.perf_counter(), time.process_time()
        archive.sync(game_ids=games, progress=False).raise_if_incomplete()
        took = [time.perf_counter() - start, time.process_time() - spent]
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert archive.info().games >= len(games), "not all games are there, so nothing was timed"
    print(json.dumps([took[0] / len(games) * 1e3, took[1] / len(games) * 1e3, peak / 1e3]))


def rows(rounds: int, counts: Sequence[int] = GAMES) -> list:
    counts = counts if rounds > 1 else counts[:1]
    from measure import Row, Spread, number, spread

    import sideline

    many, common = max(counts), counts[len(counts) // 2]
    measured: dict[object, list[list[float]]] = defaultdict(list)
    with (
        sideline.Simulator(seed=3, teams=40, games=many + many // 4 + NIGHT, now=NOW) as service,
        tempfile.TemporaryDirectory() as root,
    ):
        games = [game["event_id"] for game in service.games]

        def sync(of: object, folder: str, chosen: list[str], python: Path | str = sys.executable) -> None:
            command = [python, __file__, "--synced", f"{root}/{folder}"]
            environment = {**os.environ, **service.environ}
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, input=json.dumps(chosen), env=environment
            )
            measured[of].append(json.loads(done.stdout))

        for turn in range(rounds):
            # The largest takes minutes, and its peak hardly differs between runs.
            for count in counts if turn == 0 else [count for count in counts if count < many]:
                sync(count, f"{turn}-{count}", games[:count])
            sync("night", f"{turn}-{common}", games[common : common + NIGHT])
            if BEFORE.exists():
                sync("before", f"{turn}-before", games[:common], BEFORE)

    def of(what: object, place: int) -> Spread:
        return spread([one[place] for one in measured[what]])

    found = [
        Row("Archive", f"archive sync of {count} games: peak memory", "–", of(count, 2).of(" MB"), f"≤ {MOST_MB} MB",
            of(count, 2).median <= MOST_MB, note=f"per game {of(count, 0).of(' ms')}, CPU {of(count, 1).of(' ms')}")
        for count in counts
    ]  # fmt: skip
    found.append(
        Row("Archive", f"archive sync of a night of {NIGHT} games: time per game", "–", of("night", 0).of(" ms"),
            note=f"CPU {of('night', 1).of(' ms')}, peak {of('night', 2).of(' MB')}")
    )  # fmt: skip
    part = spread([a[0] / b[0] for a, b in zip(measured[common], measured["before"], strict=False)] or [math.nan])
    was_measured = bool(measured["before"])
    found.append(
        Row("Archive", f"archive sync of {common} games: time per game", f"that of {COMMIT}",
            f"{part.of('×')} of its time" if was_measured else "–", f"≤ {MOST_OF_BEFORE}×",
            part.median <= MOST_OF_BEFORE if was_measured else None,
            f"{number(of(common, 0).median)} ms, {number(of('before', 0).median)} ms" if was_measured else "",
            f"peak {of('before', 2).of(' MB')} before" if was_measured else f"no build of {COMMIT} in {BEFORE.parent.parent.name}")
    )  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--games", default=",".join(map(str, GAMES)))
    parser.add_argument("--synced", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.synced:
        synced(given.synced, json.load(sys.stdin))
        return
    for row in rows(given.rounds, [int(count) for count in given.games.split(",")]):
        print(row)


if __name__ == "__main__":
    main()
