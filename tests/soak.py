"""Uses everything at once for a long time, against a service with random faults; compares every delivered fact with the truth.

    python tests/soak.py [REPORT]      SOAK_SECONDS (default 3600), SOAK_SEED

Each round has its own season in two simulators: one injects faults, its twin serves the truth. In a round a game is played and
read over both streams, recorded and replayed, while batches are requested and an archive is synced. The
simulators run in another process, so that memory, descriptors and threads measured here are the client's alone.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import multiprocessing
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import sideline

NOW = "2027-03-01T12:00:00Z"
SOURCES = ["stats", "shots", "marker"]
LIVE: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.1, "silence_limit": 1.5, "give_up_on": ()}
GROWTH = {"bytes in use": 4 << 20, "resident bytes": 24 << 20, "Python objects": 20_000, "descriptors": 4, "threads": 4}
"""What the last quarter of the rounds may have more than the second. In use is what was allocated and not freed, in every
heap of glibc: the core's, pyarrow's, the interpreter's own. Resident is also what allocators keep free for later."""


ONE_HEAP = {"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""glibc keeps a heap for each of some sixty threads of Delta Lake, Arrow and polars; what they keep free would hide a leak."""


# The other process: the services.


def serve(pipe: Connection) -> None:
    """Simulators by name; commands are tuples of name, path of a method and arguments."""
    services: dict[str, sideline.Simulator] = {}
    while True:
        name, method, arguments, kwargs = pipe.recv()
        if method == "open":
            services[name] = sideline.Simulator(**kwargs)
            services[name].streams.heartbeat = 0.1
            service = services[name]
            pipe.send((service._options(), service.games, service.teams))
            continue
        if method == "end":
            return
        at: Any = services[name]
        for part in method.split("."):
            at = getattr(at, part)
        try:
            pipe.send(at(*arguments, **kwargs))
        except ValueError as error:
            pipe.send(error)
        if method == "close":
            del services[name]


class Host:
    """The other process, which handles one command at a time."""

    def __init__(self) -> None:
        self._pipe, child_pipe = multiprocessing.Pipe()
        self._lock = threading.Lock()
        self._process = multiprocessing.get_context("spawn").Process(target=serve, args=(child_pipe,), daemon=True)
        self._process.start()

    def __call__(self, name: str, method: str, *arguments: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._pipe.send((name, method, arguments, kwargs))
            result = None if method == "end" else self._pipe.recv()
        if isinstance(result, ValueError):
            raise result
        return result

    def close(self) -> None:
        self("", "end")
        self._process.join(10)


# What was found.


@dataclass
class Findings:
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    samples: list[dict[str, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, subject: str, count: int = 1) -> None:
        with self.lock:
            self.counts[subject] += count

    def error(self, error: BaseException) -> None:
        with self.lock:
            self.errors[type(error).__name__] += 1

    def check(self, right: bool, subject: str) -> None:
        self.add("comparisons")
        if not right:
            with self.lock:
                self.failures.append(subject)


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]]


def in_use() -> int:
    """Bytes allocated and not freed; 0 if the C library does not report them."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = Mallinfo
    info = mallinfo()
    return int(info.uordblks + info.hblkhd)


def measure() -> dict[str, int]:
    """The resources of this process, by the names of `GROWTH`."""
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    descriptors, threads = (len(os.listdir(f"/proc/self/{subject}")) for subject in ("fd", "task"))
    return dict(zip(GROWTH, (in_use(), resident, sys.getallocatedblocks(), descriptors, threads), strict=True))


# A round.

REST_FAULTS: list[dict[str, Any]] = [
    {"status": 500}, {"status": 503, "headers": {"Retry-After": "0"}}, {"status": 404, "body": {"status": 404, "message": "gone"}}, {"status": 403, "body": {"status": 403, "message": "no"}},
    {"reset": True}, {"cut_at": 300}, {"cut_at": 300, "reset": True}, {"content_length": 5}, {"content_length": -5}, {"gzip": "whole"}, {"gzip": "damaged"}, {"gzip": "cut"},
    {"trailing": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}, {"informational": [103]}, {"stale": True}, {"delay": 0.1}, {"clock_offset": 600.0},
    {"status": 200, "body": b"<html>log in</html>"}, {"status": 429, "headers": {"Retry-After": "0"}},
]  # fmt: skip


@dataclass
class Round:
    host: Host
    findings: Findings
    rng: random.Random
    folder: Path
    number: int

    def __post_init__(self) -> None:
        size = {"seed": self.number, "teams": 4, "games": 8, "now": NOW}
        options, self.games, self.teams = self.host("faulty", "open", **size)
        true, *_ = self.host("true", "open", **size)
        self.truth = sideline.Client(**true)
        self.client = sideline.Client(**options, max_retries=3, timeout=10, max_concurrency=8)
        self.async_client = sideline.AsyncClient(**options, max_retries=1, timeout=5)
        self.game = self.games[-1]
        self.finished_games = [game["event_id"] for game in self.games[:3]]
        rows = self.truth.game(self.finished_games).table("sessions").to_dicts()
        self.sessions = list(dict.fromkeys(row["session_id"] for row in rows))
        self.bodies = {session: self.truth.stats(session).raw for session in self.sessions}

    def close(self) -> None:
        self.client.close()
        asyncio.run(self.async_client.aclose())
        self.truth.close()
        self.host("faulty", "close")
        self.host("true", "close")

    def go_wrong(self) -> None:
        for fault in self.rng.sample(REST_FAULTS, 6):
            self.host("faulty", "faults.add", "/v1/data/*", probability=0.04, **fault)
            self.host("faulty", "faults.add", "/broadcast/v1/games/*", probability=0.04, **fault)
        for path, max_bytes in (("/live/v2/games", 30_000), ("/broadcast/v1/stats/event-stream", 60_000)):
            for _ in range(self.rng.randrange(5, 40)):
                self.host("faulty", "faults.add", path, cut_at=self.rng.randrange(max_bytes), reset=self.rng.random() < 0.3, times=1)
            for status in (500, 401, 429):
                self.host("faulty", "faults.add", path, status=status, times=1, probability=0.3)
            self.host("faulty", "streams.stall", path, after=self.rng.randrange(200), times=1)
        self.host("faulty", "streams.slow", 200_000, times=2)

    # What runs at once.

    def websocket(self) -> None:
        game = self.game["event_id"]
        messages = self.read_messages(self.truth)
        path = self.folder / "game.journal"
        box, items = sideline.LiveBoxScore(), []
        seen = {0}
        with self.client.live(game, sources=SOURCES, **LIVE).record(path) as stream:
            for item in self.until(stream, lambda: messages[-1]["seq"] in seen):
                items.append(item)
                box.feed(item)
                if isinstance(item, sideline.Update):
                    seen.add(item.seq)
                    if self.rng.random() < 0.001:
                        self.host("faulty", "revoke_tokens")
            stats = stream.stats
            # Faults continue: a reported gap may still be unread.
            for _ in range(50):
                while (item := stream._core.next_within(0.05)) is not None:
                    items.append(item)
                if sum(isinstance(item, sideline.live.Gap) and not item.is_final for item in items) == (stats := stream.stats).gaps:
                    break
        updates = [item.to_dict() for item in items if isinstance(item, sideline.Update)]
        self.findings.check(updates == messages, f"websocket: {len(updates)} messages of {len(messages)}, or others, or in another order")
        self.findings.check(stats.dropped == 0, "websocket: messages were dropped")
        gaps = sum(isinstance(item, sideline.live.Gap) and not item.is_final for item in items)
        self.findings.check(gaps == stats.gaps, "websocket: a hole without a Gap")
        self.findings.check(box_score(box.table()) == self.rest(), "websocket: another box score than REST's")
        from_journal = [item.to_dict() for item in sideline.replay(path, None, notices=False)]
        self.findings.check(from_journal == messages, "replay: not what was recorded")
        self.findings.add("websocket messages", len(updates))
        self.findings.add("websocket connections", stats.reconnects + 1)
        self.findings.add("gaps told", gaps)

    def event_stream(self) -> None:
        box, last = sideline.LiveBoxScore(), -1
        with self.client.live_stats(self.game["event_id"], **LIVE) as stream:
            for item in self.until(stream, lambda: box_score(box.table()) == self.rest()):
                box.feed(item)
                if isinstance(item, sideline.Update):
                    version = item.to_dict()["version"]
                    self.findings.check(version >= last, f"event stream: version {version} after {last}")
                    last = version
            stats = stream.stats
        self.findings.check(box_score(box.table()) == self.rest(), "event stream: another box score than REST's")
        self.findings.add("event stream documents", stats.updates)
        self.findings.add("event stream connections", stats.reconnects + 1)

    def batches(self) -> None:
        ids = [*self.sessions, "no-such-session", *self.sessions]
        for _ in range(6):
            batch = self.client.stats(ids, on_error="keep")
            self.compare(batch, ids)
            if not batch.complete:
                second = batch.retry(on_error="keep")
                self.compare(second, ids)
                self.findings.check(len(second) >= len(batch), "batch: retry lost what had come")

        async def run_async() -> None:
            for batch in await asyncio.gather(*(self.async_client.stats(ids, on_error="keep") for _ in range(4))):
                self.compare(batch, ids)
            tasks = [asyncio.ensure_future(self.async_client.stats(ids)) for _ in range(4)]
            await asyncio.sleep(0.02)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run(run_async())

    def compare(self, batch: Any, ids: list[str]) -> None:
        coverage = batch.coverage.to_dicts()
        self.findings.check([row["session_id"] for row in coverage] == ids, "batch: a unit is not accounted for")
        fetched_ids = [row["session_id"] for row in coverage if row["status"] in ("fetched", "empty")]
        for session, payload in zip(fetched_ids, batch, strict=True):
            self.findings.check(payload.raw == self.bodies.get(session), f"batch: another body for {session}")
        for error in batch.errors.values():
            self.findings.error(error)
            self.findings.check(isinstance(error, sideline.SidelineError), f"batch: {error!r}")
        self.findings.add("batch units", len(ids))

    def archive(self) -> None:
        if not hasattr(sideline, "Archive"):
            return
        archive = sideline.Archive(self.folder / "season", self.client)
        for _ in range(30):
            report = archive.sync(game_ids=self.finished_games, on_error="keep")
            self.findings.add("archive syncs")
            for row in report.coverage.to_dicts():
                if row["error"]:
                    self.findings.add("archive units that failed and were asked again")
            if report.complete:
                break
        else:
            # What is refused for good in this round is not there, and said so: without faults it comes.
            self.host("faulty", "faults.clear")
            self.findings.check(archive.sync(game_ids=self.finished_games, on_error="keep").complete, "archive: incomplete without faults")
        for name, fetch in (("player_stats", self.truth.stats), ("stat_events", self.truth.stats_details), ("shots", self.truth.shots)):
            actual, true = rows(archive.to_arrow(name)), rows(fetch(self.truth.game(self.finished_games)).table(name).to_arrow())
            self.findings.check(actual == true, f"archive: {name} has {len(actual)} rows, true are {len(true)}, or others")
            self.findings.add("archive rows", len(actual))

    # Its parts.

    def read_messages(self, client: sideline.Client) -> list[Any]:
        """The messages of the twin's websocket for the whole game."""
        self.host("true", "play", self.game["event_id"], None)
        messages: list[Any] = []
        with client.live(self.game["event_id"], sources=SOURCES, notices=False) as stream:
            is_finished = False
            while not (is_finished and messages):
                # After the end of the game nothing is added: what is there comes without a pause, if not on a busy machine.
                is_finished = self.is_over()
                while (item := stream._core.next_within(3.0 if is_finished else 0.5)) is not None:
                    messages.append(item.to_dict())
        self.is_played.set()
        return messages

    def is_over(self) -> bool:
        """Whether the twin's game is: a busy machine pauses within it."""
        try:
            self.host("true", "play", self.game["event_id"], None)
        except ValueError:
            return True
        return False

    def rest(self) -> dict[Any, Any]:
        assert self.is_played.wait(600), "the twin's game is not over"
        if not self.finals:
            teams = self.game["home_team_id"], self.game["away_team_id"]
            self.finals = [self.truth.team_game_stats(team, game_id=self.game["event_id"]).table("box_score") for team in teams]
        return box_score(*self.finals)

    def until(self, stream: sideline.LiveStream, is_over: Callable[[], Any], silent: float = 60.0, max_seconds: float = 600.0) -> Iterator[Any]:
        """Reads until the end. Fails after a long time without anything new, since the machine may be slow."""
        began = last_check_at = last_item_at = time.monotonic()
        while time.monotonic() < min(last_item_at + silent, began + max_seconds):
            item = stream._core.next_within(0.3)
            if item is not None:
                yield item
            if isinstance(item, sideline.Update):
                last_item_at = time.monotonic()
            # Looking is dear: not for each of many items.
            if item is None or time.monotonic() - last_check_at > 0.5:
                if is_over():
                    return
                last_check_at = time.monotonic()
        now = time.monotonic()
        self.findings.check(False, f"{stream!r}: not over after {now - began:.0f} s, the last update {now - last_item_at:.0f} s ago; {stream.stats}")

    def run(self) -> None:
        self.is_played, self.finals = threading.Event(), []
        self.go_wrong()
        self.host("faulty", "play", self.game["event_id"], self.rng.choice([600.0, 1500.0, 3000.0]))

        def run_guarded(work: Callable[[], None]) -> None:
            try:
                work()
            except BaseException:  # noqa: BLE001 - whatever escapes is the finding
                self.findings.check(False, f"{work.__name__} raised:\n{traceback.format_exc()}")

        parts = [self.websocket, self.event_stream, self.batches, self.archive]
        threads = [threading.Thread(target=run_guarded, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.findings.add("rounds")


def box_score(*tables: sideline.Table) -> dict[tuple[int, int], dict[str, float]]:
    """Stats by team and player. A code that is 0 may be absent; the score is a team's."""
    lines = (row for table in tables for row in table.to_dicts())
    return {(row["team_id"], row["player_id"]): {k: v for k, v in row.items() if k.isupper() and v and not k.endswith("_SCORE")} for row in lines}


def rows(table: Any) -> list[str]:
    """In an order of their own, columns by name."""
    names = sorted(table.column_names)
    return sorted(repr([row[name] for name in names]) for row in table.to_pylist())


# The whole.


@contextmanager
def round_of(host: Host, findings: Findings, seed: int, number: int) -> Iterator[Round]:
    with tempfile.TemporaryDirectory() as folder:
        game_round = Round(host, findings, random.Random(f"{seed} {number}"), Path(folder), number)
        try:
            yield game_round
        finally:
            game_round.close()


def clients(host: Host, findings: Findings, count: int) -> None:
    """Opens and closes `count` clients."""
    options, *_ = host("clients", "open", teams=4, games=8, now=NOW)

    async def count_tasks() -> int:
        async with sideline.AsyncClient(**options) as client:
            await client.teams()
        return len(asyncio.all_tasks())

    def open_clients(count: int) -> None:
        for n in range(count):
            with sideline.Client(**options) as client:
                if n % 4 == 0:
                    client.teams()
            if n % 20 == 0:
                findings.check(asyncio.run(count_tasks()) == 1, "a task was left")

    open_clients(count // 10)
    before = measure_after_collection()
    open_clients(count)
    after = measure_after_collection()
    host("clients", "close")
    findings.add("clients opened and closed", count)
    growth = {name: after[name] - before[name] for name in after}
    findings.check(growth["bytes in use"] < (128 << 10) + 16 * count, f"{count} clients left {growth} of {before}")
    findings.check(growth["resident bytes"] < 8 << 20, f"{count} clients left {growth} of {before}")
    findings.check(growth["descriptors"] <= 2 and growth["threads"] <= 2, f"{count} clients left {growth} of {before}")
    findings.counts["bytes that those clients left in use"] = max(0, growth["bytes in use"])


def measure_after_collection() -> dict[str, int]:
    gc.collect()
    time.sleep(1.0)
    return measure()


def flat(findings: Findings) -> None:
    samples = findings.samples
    if len(samples) < 4:
        return
    quarter = len(samples) // 4
    for name, limit in GROWTH.items():
        # The first quarter is what is made once and kept.
        early, late = (median(sample[name] for sample in part) for part in (samples[quarter : 2 * quarter], samples[-quarter:]))
        findings.check(late - early <= limit, f"{name} grew from {early:,} to {late:,}")


def describe_commit() -> str:
    """The current commit."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return commit + (", with changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def report(findings: Findings, seconds: float, seed: int, commit: str) -> str:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    table = "".join(f"| {name} | {count:,} |\n" for name, count in findings.counts.items())
    errors = ", ".join(f"{count:,} {name}" for name, count in findings.errors.most_common()) or "none"
    memory = "".join(f"| {name} | {format_row(name, [sample[name] for sample in findings.samples])} |\n" for name in GROWTH if findings.samples)
    failures = "".join(f"\n```\n{text[:2000]}\n```\n" for text in findings.failures[:20]) or "None.\n"
    return f"""# Soak

`SOAK_SECONDS={seconds:.0f} SOAK_SEED={seed} make soak` at commit {commit}; {machine}.

Live stream, websocket, batches and archive sync at once, against a simulator with random faults; every delivered fact is
compared with what a twin without faults sent ([tests/soak.py](../tests/soak.py)).

| what | count |
|---|--:|
{table}| **of the comparisons wrong** | **{len(findings.failures)}** |

Errors that the faults made, each told for its unit in `coverage`: {errors}.

After each round, with {" ".join(f"{name}={value}" for name, value in ONE_HEAP.items())}:

| what is held | at first | second quarter | last quarter | at the end | at most |
|---|--:|--:|--:|--:|--:|
{memory}
## What was wrong

{failures}"""


def format_row(name: str, values: list[int]) -> str:
    """At first, the medians of the second and of the last quarter, at the end, at most."""
    quarter = max(1, len(values) // 4)
    columns = [values[0], median(values[quarter : 2 * quarter] or values), median(values[-quarter:]), values[-1], max(values)]
    return " | ".join(f"{value / 2**20:,.1f} MiB" if "bytes" in name else f"{value:,.0f}" for value in columns)


def main() -> int:
    seconds = float(os.environ.get("SOAK_SECONDS", "3600"))
    seed = int(os.environ.get("SOAK_SEED", "1"))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "soak-report.md")
    findings, host, commit = Findings(), Host(), describe_commit()
    end = time.monotonic() + seconds
    # All ten thousand from five minutes on.
    clients(host, findings, min(10_000, int(seconds * 34)))
    number = 0
    while number == 0 or time.monotonic() < end:
        number += 1
        with round_of(host, findings, seed, number) as now:
            now.run()
        findings.samples.append(measure_after_collection())
        if findings.failures:
            print(f"round {number}: {len(findings.failures)} wrong, the last four:", *findings.failures[-4:], sep="\n", file=sys.stderr)
    host.close()
    flat(findings)
    text = report(findings, seconds, seed, commit)
    path.write_text(text, encoding="utf-8")
    print(text)
    return 1 if findings.failures else 0


if __name__ == "__main__":
    if not ONE_HEAP.keys() <= os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_HEAP})
    sys.exit(main())
