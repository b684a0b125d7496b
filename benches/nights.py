"""Nightly syncs of a season: bytes written, files live and seconds, night by night.

    target/bench/bin/python benches/nights.py [--nights 100] [--games 292] [--teams 20] [--json nights.json]

The service is the simulator, in this process: each night a season of the same seed, a day further on, with one stat of a
game of the last days corrected. The archive syncs from the season's first day. Bytes are those of every Parquet file that
a commit added, and of the commits themselves.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sideline

FIRST = datetime(2026, 10, 15, 9, tzinfo=UTC)
"""The second day of the simulated season, which lasts 146 days."""


def measured(root: Path) -> dict[str, float]:
    """Bytes written so far and live now, and the most files of one partition."""
    written = live = most = files = log = 0
    by_table = {}
    for table in sorted(path.parent for path in root.glob("*/_delta_log")):
        sizes: dict[str, int] = {}
        added = 0
        for commit in sorted((table / "_delta_log").glob("*.json")):
            log += commit.stat().st_size
            for line in commit.read_text().splitlines():
                action = json.loads(line)
                if "add" in action:
                    added += action["add"]["size"]
                    sizes[action["add"]["path"]] = action["add"]["size"]
                if "remove" in action:
                    sizes.pop(action["remove"]["path"], None)
        partitions: dict[str, int] = {}
        for path in sizes:
            partitions[path.rpartition("/")[0]] = partitions.get(path.rpartition("/")[0], 0) + 1
        written, live, files = written + added, live + sum(sizes.values()), files + len(sizes)
        most = max([most, *partitions.values()])
        by_table[table.name] = (added, sum(sizes.values()), len(sizes))
    return {"written": written, "live": live, "files": files, "most_in_a_partition": most, "log": log, "tables": by_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--games", type=int, default=292)
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    nights = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.nights):
            now = FIRST + timedelta(days=number)
            with (
                sideline.Simulator(seed=3, teams=given.teams, games=given.games, now=now.isoformat()) as service,
                service.client() as client,
            ):
                over = (now - timedelta(hours=6)).timestamp() * 1000
                played = [game for game in service.games if game["tipoff_at"] < over]
                if played:
                    game = played[-1]["event_id"]
                    player = client.game_stats_details(game).table().to_dicts()[-1]["player_id"]
                    service.correct(game, player, "REB", 1)
                start = time.perf_counter()
                report = sideline.Archive(folder, client).sync(start="2026-10-01", progress=False)
                took = time.perf_counter() - start
            found = measured(Path(folder))
            nights.append({"night": number + 1, "seconds": round(took, 2), "units": report.coverage.num_rows, **found})
            if (number + 1) % 10 == 0 or number == 0:
                times = found["written"] / found["live"]
                shown = {name: value for name, value in nights[-1].items() if name != "tables"}
                print(f"{shown}, {times:.1f} times the live bytes", flush=True)
        archive = sideline.Archive(folder)
        for name, (written, live, files) in nights[-1]["tables"].items():
            print(f"{name:<20} written {written:>12,} live {live:>12,} files {files:>4}")
        print("games", archive.info().games, "corrections", archive.info().corrections)
        archive.compact()
        final = measured(Path(folder))["live"]
        print(f"compacted: {final:,} bytes; written {nights[-1]['written'] / final:.1f} times as many")
    if given.json:
        given.json.write_text(json.dumps(nights))


if __name__ == "__main__":
    main()
