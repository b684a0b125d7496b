"""A process that may have no more memory gets an error: it neither ends nor waits, and continues when it may have more.

`RUST_BACKTRACE=1` makes a panic allocate while it is reported: without care, that never ends.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import independent
import pytest
from archives import archive_of, small_season
from needs import ARCHIVE, needs

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
at, count = sys.argv[1:]
client = sideline.Client(username="a", secret="canary-secret", api_key="canary-key", base_url=at, max_retries=0)
batch = client.stats([f"s{number}" for number in range(int(count))], progress=False)
units = list(batch)
for mib in range(16):
    for convert in (batch.table, batch.to_arrow):
        with at_most(mib):
            try:
                convert("player_stats")
            except MemoryError:
                print("refused")
# The estimate for all bodies at once, 330 MiB, would refuse what takes a tenth of it.
with at_most(150):
    print(batch.table("player_stats").num_rows)
"""


WIDE = """
client = sideline.Client(username="a", secret="canary-secret", api_key="canary-key", base_url=sys.argv[1], max_retries=0)
batch = client.stats([f"s{number}" for number in range(32)], progress=False)
with at_most(150):
    try:
        batch.table("box_score")
    except MemoryError:
        print("refused")
print(batch.table("box_score").num_rows)
"""


FETCH = """
at, encoding = sys.argv[1:]
client = sideline.Client(username="a", secret="canary-secret", api_key="canary-key", base_url=at, max_retries=0)
client.stats(["short"], progress=False)
ids = [f"s{number}" for number in range(16)]
for mib in (0, 4, 40):
    with at_most(mib):
        batch = client.stats(ids, progress=False, on_error="keep")
        errors = [row["error"] for row in batch.coverage.to_dicts() if row["status"] != "fetched"]
        batch = None
        assert all("the process has no memory" in error for error in errors), errors
        words = {"failed"} if errors else set()
        try:
            client.stats(ids, progress=False)
        except sideline.IncompleteBatch as incomplete:
            assert isinstance(incomplete.__cause__, MemoryError), incomplete
            words.add("raised")
    print(mib, *sorted(words))
print(client.stats(ids, progress=False).counts["fetched"])
"""


def child(script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RUST_BACKTRACE": "1", **variables}
    return subprocess.run([sys.executable, "-c", PROLOGUE + script, *arguments], env=environment, capture_output=True, text=True, timeout=150, check=False)


def run(script: str, *arguments: str, **variables: str) -> str:
    done = child(script, *arguments, **variables)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@needs("pyarrow")
@pytest.mark.parametrize(("bodies", "lines"), [(8, 20_000), (300, 500)], ids=["large bodies", "small bodies"])
def test_a_batch_without_memory_for_its_table_raises_and_keeps_its_bodies(bodies: int, lines: int) -> None:
    """With 0 to 15 MiB more than the process has; one amount alone could be lucky.

    A thread's own arena would take address space of its own, more on more processors."""
    line = b'{"id":%d,"stats":{"PTS":1,"AST":2,"REB":3}}'
    body = b'{"teams":[{"id":1,"player_stats":[' + b",".join(line % number for number in range(lines)) + b"]}]}"
    with independent.server(lambda _: (200, {}, body)) as service:
        *refusals, rows = run(BATCH, service.base_url, str(bodies), MALLOC_ARENA_MAX="1").split()
    assert (refusals, int(rows) > bodies * lines) == (["refused"] * 32, True)


@needs("pyarrow")
def test_a_batch_without_memory_for_what_its_bodies_lack_raises() -> None:
    """Each of 32 bodies has 1,000 rows and 31 codes of its own: 9 MB, and 277 MB with the nulls of the others' codes."""
    padding = b"x" * 1_100_000

    def respond(request: independent.Asked) -> independent.Answer:
        session = re.findall(r"/s(\d+)", request.target)[0]
        stats = ",".join(f'"S{session}_{code}":1' for code in range(31))
        lines = ",".join(f'{{"id":{number},"stats":{{{stats}}}}}' for number in range(1_000)).encode()
        return 200, {}, b'{"padding":"%b","teams":[{"id":1,"player_stats":[%b]}]}' % (padding, lines)

    with independent.server(respond) as service:
        assert run(WIDE, service.base_url, MALLOC_ARENA_MAX="1").split() == ["refused", "32000"]


@needs("pyarrow")
@pytest.mark.parametrize("encoding", [pytest.param("identity", marks=pytest.mark.extended), "gzip"])
def test_a_batch_that_has_no_memory_for_its_bodies_raises_or_keeps_the_others(encoding: str) -> None:
    """Bodies of 14 MB, of which the process has room for none to all."""
    line = b'{"id":%d,"stats":{"PTS":1,"AST":2,"REB":3}}'
    body = b'{"teams":[{"id":1,"player_stats":[' + b",".join(line % number for number in range(300_000)) + b"]}]}"
    headers = {"content-encoding": "gzip"} if encoding == "gzip" else {}
    response_body = gzip.compress(body, 5) if encoding == "gzip" else body

    def respond(request: independent.Asked) -> independent.Answer:
        return (200, {}, b'{"teams": []}') if "/short" in request.target else (200, headers, response_body)

    with independent.server(respond) as service:
        done = child(FETCH, service.base_url, encoding)
    # The HTTP library's own buffers, of half a megabyte, may be what has no memory: docs/limits.md.
    sizes = [int(size) for size in re.findall(r"memory allocation of (\d+) bytes failed", done.stderr)]
    assert max(sizes, default=0) < 1 << 20, done.stderr[-3000:]
    if not sizes and "thread-local data" not in done.stderr:
        assert done.stdout.splitlines()[-1:] == ["16"], done.stderr[-3000:]


@needs(*ARCHIVE, "adbc_driver_manager", "duckdb")
def test_an_export_without_memory_raises_and_the_next_one_is_whole(tmp_path: Path) -> None:
    """DuckDB's own limit: without memory for the process, its libraries may end it (docs/limits.md)."""
    import adbc_driver_duckdb.dbapi

    with small_season() as service, service.client() as client:
        archive = archive_of(client, tmp_path / "season")
        archive.sync(start="2027-01-01", end="2027-03-02", progress=False)
    with adbc_driver_duckdb.dbapi.connect(str(tmp_path / "season.duckdb")) as database, database.cursor() as cursor:
        cursor.execute("set memory_limit = '4MB'")
        database.commit()
        with pytest.raises(MemoryError, match="no memory for a statement of the export"):
            archive.export(database)
        cursor.execute("set memory_limit = '1GB'")
        database.commit()
        written = archive.export(database).rows
        for name in ("player_stats", "stat_events", "possession_events"):
            assert written[name] == archive.to_arrow(name).num_rows
