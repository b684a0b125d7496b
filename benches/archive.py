"""Archive rows: what a game of a sync takes, of 100 games and of 1,000, each synced from nothing by a process of its own.

    target/bench/bin/python benches/archive.py [--rounds 3] [--games 100,1000]

The service is the simulator, in this process. Each sync has its folder to itself; memory is the peak of the syncing process
(`VmHWM`), as in `over_http.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GAMES = (100, 1_000)
NOW = "2027-03-01T12:00:00Z"
MOST = 1.25
"""What is constant does not grow by more."""
MOST_MB = 350
"""Of the peak of a sync, at any number of games."""


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
    assert archive.info().games == len(games), "not all games are there, so nothing was timed"
    print(json.dumps([*took, peak]))


def rows(rounds: int, counts: tuple[int, int] = GAMES) -> list:
    from measure import Row, number, spread

    import sideline

    few, many = counts
    measured: dict[int, list[list[float]]] = {few: [], many: []}
    with (
        sideline.Simulator(seed=3, teams=40, games=many + many // 4, now=NOW) as service,
        tempfile.TemporaryDirectory() as root,
    ):
        games = [game["event_id"] for game in service.games][:many]
        for turn in range(rounds):
            for count in counts if turn % 2 == 0 else reversed(counts):
                command = [sys.executable, __file__, "--synced", f"{root}/{turn}-{count}"]
                done = subprocess.run(
                    command,
                    check=True,
                    capture_output=True,
                    text=True,
                    input=json.dumps(games[:count]),
                    env={**os.environ, **service.environ},
                )
                measured[count].append(json.loads(done.stdout))

    def grown(place: int, per: int) -> list[float]:
        return [
            b[place] / (many if per else 1) / (a[place] / (few if per else 1))
            for a, b in zip(*measured.values(), strict=True)
        ]

    def medians(place: int, scale: float, per: bool) -> str:
        values = [
            spread([one[place] * scale / (count if per else 1) for one in measured[count]]).median for count in counts
        ]
        return ", ".join(map(number, values))

    work = f"archive sync of {few:,} and of {many:,} games: time per game and memory constant"
    wall, cpu, memory = spread(grown(0, 1)), spread(grown(1, 1)), spread(grown(2, 0))
    peak = spread([one[2] * 1e-3 for one in measured[many]])
    return [
        Row("Archive", work, f"{few:,} games", f"{wall.of('×')} the time per game, {memory.of('×')} the memory", f"≤ {MOST}× both",
            max(wall.median, memory.median) <= MOST,
            f"per game {medians(0, 1e3, True)} ms; peak {medians(2, 1e-3, False)} MB",
            f"CPU per game {cpu.of('×')}: {medians(1, 1e3, True)} ms"),
        Row("Archive", f"archive sync of {many:,} games: peak memory", "–", peak.of(" MB"), f"≤ {MOST_MB} MB", peak.median <= MOST_MB),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--games", default="100,1000")
    parser.add_argument("--synced", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.synced:
        synced(given.synced, json.load(sys.stdin))
        return
    few, many = map(int, given.games.split(","))
    for row in rows(given.rounds, (few, many)):
        print(row)


if __name__ == "__main__":
    main()
