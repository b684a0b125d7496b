"""Nightly syncs of a season: bytes written, files live and seconds, night by night.

    target/bench/bin/python benches/nights.py [--nights 100] [--games-a-night 2] [--json nights.json] [--figure nights.svg]

The service is the second service of the tests. Each night games were played since the last; now and then a stat of a
game of the last five days is corrected. The archive syncs from the season's first day. Bytes are those of every Parquet file that a
commit added. Exits with 1 where more than five times the final bytes were written, or a partition has more than twelve files.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sideline

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

FIRST = datetime(2026, 11, 6, 9, tzinfo=UTC)
MOST_TIMES, MOST_FILES = 5.0, 12


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
    return {
        "written": written,
        "live": live,
        "files": files,
        "most_in_a_partition": most,
        "log": log,
        "tables": by_table,
    }


def draw(nights: list[dict[str, float]], path: Path) -> None:
    """Draw bytes, files and CPU seconds night by night. Needs matplotlib."""
    from matplotlib import pyplot

    figure, (size, files, cpu) = pyplot.subplots(3, 1, sharex=True, figsize=(7, 7), layout="constrained")
    x = [night["night"] for night in nights]
    for name in ("written", "live"):
        size.plot(x, [night[name] / 1e6 for night in nights], label=name)
    size.set_ylabel("MB")
    for name, label in (("files", "all live files"), ("most_in_a_partition", "most in a partition")):
        files.plot(x, [night[name] for night in nights], label=label)
    files.set_ylabel("files")
    cpu.plot(x, [night["cpu"] for night in nights], label="of a sync, service included")
    cpu.set_ylabel("CPU seconds")
    cpu.set_xlabel("night")
    for part in (size, files, cpu):
        part.set_ylim(bottom=0)
        part.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    from service import Service

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--games-a-night", type=int, default=2)
    parser.add_argument("--possessions", type=int, default=40, help="of a session")
    parser.add_argument("--correct-every", type=int, default=5, metavar="NIGHTS", help="a stat of the last five days")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path, help="such as nights.svg; needs matplotlib")
    given = parser.parse_args()
    dice = random.Random(0)
    nights = []
    size = {"teams": 8, "games": 0, "practices": 0, "upcoming": 0, "days": 3, "possessions": given.possessions}
    with tempfile.TemporaryDirectory() as folder, Service(seed=3, now=FIRST, **size) as service:
        client = sideline.Client(**service.client_options())
        for number in range(given.nights):
            if number:
                service.advance(timedelta(days=1))
            for game in range(given.games_a_night):
                service.season.add_game(service.time - timedelta(hours=14 - 2 * game))
            if number % given.correct_every == 0:
                since = (service.now() - 5 * 86_400) * 1000
                recent = [event for event in service.season.events if event.start > since]
                service.change.correct_stat(dice.choice(dice.choice(recent).sessions).id)
            start, cpu = time.perf_counter(), time.process_time()
            report = sideline.Archive(folder, client).sync(start="2026-11-01", progress=False)
            took, spent = time.perf_counter() - start, time.process_time() - cpu
            found = measured(Path(folder))
            nights.append(
                {
                    "night": number + 1,
                    "seconds": round(took, 2),
                    "cpu": round(spent, 2),
                    "units": report.coverage.num_rows,
                    **found,
                }
            )
            if (number + 1) % 10 == 0 or number == 0:
                shown = {name: value for name, value in nights[-1].items() if name != "tables"}
                print(f"{shown}, {found['written'] / found['live']:.1f} times the live bytes", flush=True)
        client.close()
        archive = sideline.Archive(folder)
        for name, (written, live, files) in nights[-1]["tables"].items():
            print(f"{name:<20} written {written:>12,} live {live:>12,} times {written / live:>5.1f} files {files:>4}")
        print("games", archive.info().games, "corrections", archive.info().corrections)
        archive.compact()
        final = measured(Path(folder))["live"]
    times = nights[-1]["written"] / final
    most = max(night["most_in_a_partition"] for night in nights)
    print(f"compacted: {final:,} bytes; written {times:.1f} times as many; at most {most} files of a partition")
    tenth = max(1, given.nights // 10)
    means = [sum(night["cpu"] for night in part) / len(part) for part in (nights[tenth : 2 * tenth], nights[-tenth:])]
    print(
        f"CPU seconds of a sync (service included), in the second tenth of the nights and in the last: {means[0]:.2f}, {means[1]:.2f}"
    )
    if given.json:
        given.json.write_text(json.dumps(nights))
    if given.figure:
        draw(nights, given.figure)
    return 0 if times <= MOST_TIMES and most <= MOST_FILES else 1


if __name__ == "__main__":
    sys.exit(main())
