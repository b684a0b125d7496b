"""A process that may have no more memory gets an error: it neither ends nor waits, and continues when it may have more.

`RUST_BACKTRACE=1` makes a panic allocate while it is reported: without care, that never ends.
"""

from __future__ import annotations

import os
import subprocess
import sys

import independent
import pytest
from needs import needs

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="bounds the memory of a process as Linux does"),
    pytest.mark.timeout(180),
]

PROLOGUE = """
import contextlib, faulthandler, resource, sys, sideline
faulthandler.enable()
faulthandler.dump_traceback_later(120, exit=True)
HARD = resource.getrlimit(resource.RLIMIT_AS)[1]

@contextlib.contextmanager
def at_most(mib):
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (mib << 20)
    resource.setrlimit(resource.RLIMIT_AS, (size, HARD))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (HARD, HARD))
"""

BATCH = """
at = sys.argv[1]
client = sideline.Client(username="a", secret="canary-secret", api_key="canary-key", base_url=at, max_retries=0)
batch = client.stats([f"s{number}" for number in range(8)], progress=False)
for mib in range(16):
    for convert in (batch.table, batch.to_arrow):
        with at_most(mib):
            try:
                convert("player_stats")
            except MemoryError:
                print("refused")
print(batch.table("player_stats").num_rows)
"""


def run(script: str, *arguments: str) -> str:
    environment = {**os.environ, "RUST_BACKTRACE": "1"}
    done = subprocess.run([sys.executable, "-c", PROLOGUE + script, *arguments], env=environment, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@needs("pyarrow")
def test_a_batch_without_memory_for_its_table_raises_and_keeps_its_bodies() -> None:
    """With 0 to 15 MiB more than the process has; one amount alone could be lucky."""
    line = b'{"id":%d,"stats":{"PTS":1,"AST":2,"REB":3}}'
    body = b'{"teams":[{"id":1,"player_stats":[' + b",".join(line % number for number in range(20_000)) + b"]}]}"
    with independent.server(lambda _: (200, {}, body)) as service:
        *refusals, rows = run(BATCH, service.base_url).split()
    assert (refusals, int(rows) > 8 * 20_000) == (["refused"] * 32, True)
