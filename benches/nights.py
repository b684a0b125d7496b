"""Nightly syncs of a season: bytes written, files live and CPU seconds, night by night.

    target/bench/bin/python benches/nights.py [--nights 100] [--games-a-night 2] [--json nights.json] [--figure nights.svg]

The service is the second service of the tests, in a process of its own: CPU seconds are those of the client, all its threads
together. Each night games were played since the last; now and then a stat of a game of the last five days is corrected. The archive
syncs from the season's first day. Logs are kept as short as those of real nights, of which Delta Lake keeps a month. Bytes are those
of every Parquet file that a commit added. Exits with 1 where more than five times the final bytes were written, or a partition has
more than twelve files.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import sideline

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

FIRST = datetime(2026, 11, 6, 9, tzinfo=UTC)
MOST_TIMES, MOST_FILES = 5.0, 12

SECONDS_OF_A_WEEK = 20
"""What seven nights take here, about."""


class Files:
    """The files of an archive by the commits of its logs, each of which is read once: old ones are deleted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commits: set[Path] = set()
        self.written: Counter[str] = Counter()
        self.live: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def read(self) -> dict[str, Any]:
        """Return the bytes written so far and live now, and the most files of one partition."""
        for commit in sorted(set(self.root.glob("*/_delta_log/*.json")) - self.commits):
            self.commits.add(commit)
            name = commit.parent.parent.name
            for line in commit.read_text().splitlines():
                action = json.loads(line)
                if "add" in action:
                    self.written[name] += action["add"]["size"]
                    self.live[name][action["add"]["path"]] = action["add"]["size"]
                if "remove" in action:
                    self.live[name].pop(action["remove"]["path"], None)
        partitions = Counter(f"{name}/{path}".rpartition("/")[0] for name, paths in self.live.items() for path in paths)
        tables = {name: (self.written[name], sum(paths.values()), len(paths)) for name, paths in self.live.items()}
        return {
            "written": self.written.total(),
            "live": sum(live for _, live, _ in tables.values()),
            "files": partitions.total(),
            "most_in_a_partition": max(partitions.values()),
            "log": sum(path.stat().st_size for path in self.root.glob("*/_delta_log/*")),
            "tables": tables,
        }


def age(root: Path, night: int) -> None:
    """Let Delta Lake forget what it would of real nights: files of the logs after 30 days, replaced files after 7."""
    if night == 0:
        return
    # The first archive sets deltalake's allocator before this import.
    import deltalake

    retention = {"delta.deletedFileRetentionDuration": f"interval {SECONDS_OF_A_WEEK} seconds"}
    for table in root.glob("*/_delta_log") if night == 1 else ():
        deltalake.DeltaTable(table.parent).alter.set_table_properties(retention)
    for path in root.glob("*/_delta_log/*"):
        then = path.stat().st_mtime - 86_400
        os.utime(path, (then, then))


def serve(pipe: Connection, size: dict[str, int], games: int, correct_every: int) -> None:
    """Send the options of a client, then play a night for each message until `None`."""
    from service import Service

    dice = random.Random(0)
    with Service(seed=3, now=FIRST, **size) as service:
        pipe.send(service.client_options())
        while (number := pipe.recv()) is not None:
            if number:
                service.advance(timedelta(days=1))
            for game in range(games):
                service.season.add_game(service.time - timedelta(hours=14 - 2 * game))
            if number % correct_every == 0:
                since = (service.now() - 5 * 86_400) * 1000
                recent = [event for event in service.season.events if event.start > since]
                service.change.correct_stat(dice.choice(dice.choice(recent).sessions).id)
            pipe.send(number)


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
    cpu.plot(x, [night["cpu"] for night in nights], label="of a sync")
    cpu.set_ylabel("CPU seconds")
    cpu.set_xlabel("night")
    for part in (size, files, cpu):
        part.set_ylim(bottom=0)
        part.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--games-a-night", type=int, default=2)
    parser.add_argument("--possessions", type=int, default=40, help="of a session")
    parser.add_argument("--correct-every", type=int, default=5, metavar="NIGHTS", help="a stat of the last five days")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path, help="such as nights.svg; needs matplotlib")
    given = parser.parse_args()
    nights = []
    size = {"teams": 8, "games": 0, "practices": 0, "upcoming": 0, "days": 3, "possessions": given.possessions}
    spawn = multiprocessing.get_context("spawn")
    pipe, other = spawn.Pipe()
    service = spawn.Process(target=serve, args=(other, size, given.games_a_night, given.correct_every), daemon=True)
    service.start()
    client = sideline.Client(**pipe.recv())
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        for number in range(given.nights):
            pipe.send(number)
            pipe.recv()
            age(Path(folder), number)
            start, cpu = time.perf_counter(), time.process_time()
            report = sideline.Archive(folder, client).sync(start="2026-11-01", progress=False)
            took, spent = time.perf_counter() - start, time.process_time() - cpu
            found = files.read()
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
        pipe.send(None)
        archive = sideline.Archive(folder)
        for name, (written, live, count) in sorted(nights[-1]["tables"].items()):
            print(f"{name:<20} written {written:>12,} live {live:>12,} times {written / live:>5.1f} files {count:>4}")
        print("games", archive.info().games, "corrections", archive.info().corrections)
        archive.compact()
        final = files.read()["live"]
    times = nights[-1]["written"] / final
    most = max(night["most_in_a_partition"] for night in nights)
    print(f"compacted: {final:,} bytes; written {times:.1f} times as many; at most {most} files of a partition")
    tenth = max(1, given.nights // 10)
    means = [sum(night["cpu"] for night in part) / len(part) for part in (nights[tenth : 2 * tenth], nights[-tenth:])]
    print(
        f"CPU seconds of a sync, in the second tenth of the nights and in the last: {means[0]:.2f}, {means[1]:.2f}"
        f" ({means[1] / means[0]:.2f} times)"
    )
    if given.json:
        given.json.write_text(json.dumps(nights))
    if given.figure:
        draw(nights, given.figure)
    return 0 if times <= MOST_TIMES and most <= MOST_FILES else 1


if __name__ == "__main__":
    sys.exit(main())
