"""Bounds of docs/limits.md, each with a peer that floods it and a process that says what it took.

`measure(case)` runs one; `tests/test_bounds.py` compares it with what is allowed, and `python docs/make_limits.py` writes the peaks down.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import independent

MIB = 1 << 20

PROLOGUE = """
import re, sys, time, warnings, sideline
warnings.simplefilter("ignore")
def memory(name="VmHWM"):
    # `ru_maxrss` would include what the parent had.
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024
def client(**options):
    at = sys.argv[1]
    return sideline.Client(username="a", secret="canary-secret", api_key="canary-key", base_url=at, broadcast_base_url=at, max_retries=0, **options)
def report(before):
    print(memory() - before)
"""

SINGLE = """
with client() as one:
    one.stats("small")
    before = memory()
    try:
        payload = one.stats("large")
        payload.table({table!r})
    except sideline.SidelineError as error:
        pass
    report(before)
"""

BATCH = """
with client(max_response_bytes=64 << 20) as one:
    one.stats(["small"], on_error="keep", progress=False)
    before = memory()
    batch = one.stats([f"large{number}" for number in range(14)], on_error="keep", progress=False)
    report(before)
"""

STREAM = """
with client() as one:
    with one.live_stats("g1", max_buffer_bytes=8 << 20, recover="off", {options}) as live:
        before = memory("VmRSS")
        time.sleep(2.5)
        assert live.stats.bytes > 1 << 20, "it was not flooded"
        report(before)
"""

JOURNAL = """
import tempfile
with client() as one, tempfile.TemporaryDirectory() as folder:
    with one.live_stats("g1", max_buffer_bytes=8 << 20, recover="off", overflow="drop_oldest").record(folder + "/game.journal") as live:
        before = memory("VmRSS")
        end = time.monotonic() + 2.5
        for _ in live:
            if time.monotonic() > end:
                break
        assert live.stats.bytes > 16 << 20, "it was not flooded"
        report(before)
"""


@dataclass(frozen=True)
class Bound:
    """What floods a bound, and how much the process may take."""

    flood: str
    limit: str
    """As docs/limits.md has it, for the values of this test."""
    allowed_mib: float
    script: str
    body: Callable[[], bytes]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def long_body() -> bytes:
    return gzip.compress(b'{"teams": []' + b" " * (24 * MIB) + b"}", 6)


def unknown_keys() -> bytes:
    return b'{"teams":[{"id":1,' + b",".join(b'"K%d":1' % number for number in range(300_000)) + b',"player_stats":[]}]}'


def wide() -> bytes:
    codes = ",".join(f'"C{number}":1' for number in range(1_001))
    rows = ",".join(f'{{"id":{number},"stats":{{{codes}}}}}' for number in range(200))
    return f'{{"teams":[{{"id":1,"player_stats":[{rows}]}}]}}'.encode()


def tall() -> bytes:
    """One long name, which each row of the table would repeat."""
    rows = ",".join(f'{{"id":{number},"stats":{{"PTS":1}}}}' for number in range(20_000))
    return json.dumps({"teams": [{"id": 1, "name": "x" * 1_500, "player_stats": []}]}).replace("[]", f"[{rows}]").encode()


def events(field: str) -> Callable[[], bytes]:
    line = field.encode() + b": " + b"x" * 65_536
    end = b"" if field == "data" else b"data: 1\n"
    return lambda: b"".join(b"%s%d\n%s\n" % (line, number, end) for number in range(1_500))


SSE = (("content-type", "text/event-stream"),)
GZIP = (("content-encoding", "gzip"),)
BUFFER_LIMIT = "`max_buffer_bytes`, 8 MiB, and 4 MiB read ahead"

BOUNDS = [
    Bound("14 bodies of a batch, 24 MiB each, 25 kB on the wire", "`max_response_bytes`, 64 MiB", 64 + 32, BATCH, long_body, headers=GZIP),
    Bound("64 MiB as the body of an error", "64 KiB", 8, SINGLE.format(table="player_stats"), lambda: b"x" * (64 * MIB), status=500),
    Bound(
        "a table of 20,000 rows that repeat a name of 1,500 bytes, of 0.6 MB",
        "16 MiB and 64 times the body",
        16 + 36 + 36,
        SINGLE.format(table="player_stats"),
        tall,
    ),
    Bound("200 rows of 1,001 undeclared codes, of 2 MB", "1,000 columns", 96, SINGLE.format(table="box_score"), wide),
    Bound("300,000 unknown keys, of 3 MB", "1,000 paths", 64, SINGLE.format(table="player_stats"), unknown_keys),
    Bound("96 MB of events with long data that nobody reads", BUFFER_LIMIT, 8 + 4 + 20, STREAM.format(options=""), events("data"), headers=SSE),
    Bound("96 MB of events with long ids that nobody reads", BUFFER_LIMIT, 8 + 4 + 20, STREAM.format(options=""), events("id"), headers=SSE),
    Bound("96 MB of events with long types that nobody reads", BUFFER_LIMIT, 8 + 4 + 20, STREAM.format(options=""), events("event"), headers=SSE),
    Bound(
        "one event of 48 MB",
        "`max_event_bytes`, 1 MiB, times 16",
        16 + 16,
        STREAM.format(options="max_event_bytes=1 << 20"),
        lambda: b"data: " + b"x" * (48 * MIB) + b"\n\n",
        headers=SSE,
    ),
    Bound("96 MB of events in a journal", "two frames, and the buffer of 8 MiB", 8 + 4 + 36, JOURNAL, events("data"), headers=SSE),
]


def measure(case: Bound) -> float:
    """Return the MiB by which a process grows that meets the flood."""
    body = case.body()

    def respond(request: independent.Asked) -> independent.Answer:
        if "_subscribe" in request.target:
            return 200, {}, b'{"token": "canary-token"}'
        is_small = "/small" in request.target
        return (200, {}, b'{"teams": []}') if is_small else (case.status, dict(case.headers), body)

    with independent.server(respond) as service:
        command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(case.script), service.base_url]
        done = subprocess.run(command, env={**os.environ, "RUST_BACKTRACE": "0"}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])
