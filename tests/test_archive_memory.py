"""A sync keeps little memory: what allocators hold back is returned, and files of bodies are read a part at a time."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import textwrap
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import Commit, archive_with, around_commits, small_season
from needs import library

import sideline
from long_league import LongLeague
from sideline.archive._decode import decode_together
from sideline.archive._listing import Event, Origin, events
from sideline.archive._packed import Packed, pack, unpack

pa = library("pyarrow")
parquet = library("pyarrow.parquet")

VARIABLES = "_RJEM_MALLOC_CONF", "ARROW_DEFAULT_MEMORY_POOL"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="concerns allocators of Linux")


def run(code: str, *arguments: str, **environment: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        env={**environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("library_name", "variable", "setting"),
    [
        ("deltalake", "_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:300,muzzy_decay_ms:0,oversize_threshold:0"),
        ("pyarrow", "ARROW_DEFAULT_MEMORY_POOL", "system"),
    ],
)
@pytest.mark.parametrize("user_setting", [None, "of the user"])
def test_libraries_are_loaded_so_that_they_keep_no_freed_memory(
    library_name: str, variable: str, setting: str, user_setting: str | None, tmp_path: Path
) -> None:
    output = run(
        """
        import os, sys
        _, root, library_name, variable = sys.argv
        seen = []
        class Watch:
            def find_spec(self, name, path=None, target=None):
                if name == library_name:
                    seen.append(os.environ.get(variable))
        sys.meta_path.insert(0, Watch())
        import sideline
        sideline.Archive(root)
        print(*seen, os.environ.get(variable), sep="|")
        """,
        str(tmp_path),
        library_name,
        variable,
        **({} if user_setting is None else {variable: user_setting}),
    )
    assert output == f"{user_setting or setting}|{user_setting}"


def test_pyarrow_allocates_from_the_system(tmp_path: Path) -> None:
    code = "import sys, sideline, pyarrow; sideline.Archive(sys.argv[1]); print(pyarrow.default_memory_pool().backend_name)"
    assert run(code.replace("sideline, pyarrow", "sideline").replace("print", "import pyarrow; print"), str(tmp_path)) == "system"
    assert run(code, str(tmp_path)) != "system", "of a program that has imported it"


MEASUREMENT = """
        from sideline.archive._memory import returned_blocks, trim
        def held():
            return next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("RssAnon"))
"""
"""The beginning of programs that measure how many MB of memory a process holds."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have nothing to trim")
def test_freed_memory_is_returned_to_the_system() -> None:
    output = run(
        MEASUREMENT
        + """
        rows = [bytes(60_000) + b"%d" % number for number in range(2_000)]
        kept = rows[::50]
        del rows
        before = held()
        trim()
        print(before - held())
        """
    )
    assert int(output) > 60, "MB of 120 that were freed"


def test_memory_is_returned_after_each_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr("sideline.archive._sync.trim", lambda: calls.append(1))
    with small_season() as season, season.client() as client:
        archive = archive_with(tmp_path, client, max_step_bytes=100_000, max_chunk_bytes=100_000)
        archive.sync(game_ids=[game["event_id"] for game in season.games[:2]])
    # Each chunk is one commit of bodies; once more before the account.
    assert len(calls) - 1 == sum(commit["operation"] == "WRITE" for commit in archive.delta("raw").history()) > 1


def test_a_file_of_bodies_is_read_a_few_bodies_at_a_time(tmp_path: Path) -> None:
    with small_season() as season, season.client() as client:
        archive = archive_with(tmp_path, client, max_row_group_bodies=4)
        for game in season.games[:2]:
            archive.sync(game_ids=[game["event_id"]])
    archive.compact()
    rows = []
    for file in archive.files("raw"):
        metadata = parquet.ParquetFile(file).metadata
        body = metadata.schema.names.index("body")
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        rows += [group.num_rows for group in groups]
        # Statistics of bodies would be two whole bodies in the footer of each row group.
        assert not any(group.column(body).is_stats_set for group in groups)
    assert max(rows) == 4 < sum(rows)


def test_every_table_has_few_files_while_a_sync_goes_on(tmp_path: Path) -> None:
    files: dict[str, list[int]] = {}

    def count(store: Any, table: Any, rows: Any, commit: Commit) -> bool:
        is_done = commit()
        files.setdefault(Path(table.table_uri).name, []).append(len(table.file_uris()))
        return is_done

    quantities = {"max_step_bytes": 1, "max_chunk_bytes": 1, "compact_interval": 4, "max_files": 2}
    with small_season() as season, season.client() as client, around_commits(count):
        archive = archive_with(tmp_path, client, **quantities)
        archive.sync(game_ids=[game["event_id"] for game in season.games[:4]], tables=["stat_events", "events"])
    assert len(files["raw"]) > 10
    assert "stat_events" in files
    # Those of a compaction, and of the chunks since.
    assert max(max(counts) for counts in files.values()) <= 10, files


def test_an_entry_of_a_list_takes_little_memory() -> None:
    with LongLeague(200, days=900, sessions=4, possessions=1) as league:
        bodies = league._entries["team_events"]
    source = Origin(datetime.now(UTC), datetime.now(UTC), "request", "https://service.invalid/events", 11)
    entries = events(bodies, 11, source).events
    # Every subclass of `Mapping` that the process has loaded remembers its first generator: not memory of an entry.
    Packed[Event]().update((entry.id, entry) for entry in entries[:1])
    tracemalloc.start()
    mapping = Packed[Event]()
    mapping.update((entry.id, entry) for entry in entries)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 200 * 700, f"{size // 200} bytes for each of {len(bodies[0])}"
    assert list(mapping.values()) == entries
    assert entries[7].id in mapping
    del mapping[entries[7].id]
    assert mapping.get(entries[7].id) is None
    assert len(mapping) == 199


def test_packed_rows_are_unpacked_as_they_were() -> None:
    kinds = pa.schema([("unit", pa.string()), ("status", pa.dictionary(pa.int32(), pa.string()))])
    rows = [pa.Table.from_pylist([{"unit": f"stats/{number}", "status": status}], kinds) for number, status in enumerate(("fetched", None))]
    for names in (["unit", "status"], ["status"]):
        assert [unpack(pack(part), kinds, names) for part in rows] == [part.select(names) for part in rows]


def test_lists_are_stored_in_the_order_of_their_times(tmp_path: Path) -> None:
    """A chunk writes a file for each of its months. In the order of the teams, it would have a few events of each month."""
    counts: list[int] = []

    def count_files(store: Any, table: Any, rows: Any, commit: Commit) -> bool:
        if Path(table.table_uri).name == "events":
            counts.append(len(rows) if isinstance(rows, list) else 0)
        return commit()

    size = {"teams": 6, "sessions": 1, "possessions": 1}
    with LongLeague(60, days=300, **size) as league, sideline.Client(**league.client_options()) as client, around_commits(count_files):
        archive = archive_with(tmp_path, client, min_chunk_units=20, max_chunk_units=20)
        archive.sync(start="2026-01-01", end="2027-03-01", tables=["events"])
    assert 3 <= min(counts) <= max(counts) <= 5, counts


SYNC_PEAK = """
import sys, sideline
def peak():
    return next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
options = dict(argument.split("=") for argument in sys.argv[2:])
tables = options.pop("tables", None)
report = sideline.Archive(sys.argv[1], sideline.Client()).sync(tables=tables and tables.split(","), progress=False, **options)
report.raise_if_incomplete()
print(peak())
"""

TABLES = "tables=events,games,locations,player_stats,possessions,sessions,shots,stat_events"

SEASON = "start=2026-09-01", "end=2027-03-03"


@pytest.mark.parametrize("games", [1, pytest.param(12, marks=pytest.mark.extended)])
def test_a_sync_of_locations_takes_at_most_350_mb(games: int, tmp_path: Path) -> None:
    """Ten players, ten frames a second: a body of seven minutes has 9 MB."""
    with LongLeague(games, days=60, sessions=4, possessions=48, frames_per_second=10) as league:
        assert int(run(SYNC_PEAK, str(tmp_path), *SEASON, TABLES, **league.environ)) <= 350
    archive = sideline.Archive(tmp_path)
    assert archive.to_arrow("locations").num_rows == games * 4 * 600 * 10 * 10
    archive.compact()
    files = [parquet.ParquetFile(file).metadata for file in archive.files("raw")]
    groups = [file.row_group(number) for file in files for number in range(file.num_row_groups)]
    assert any(file.num_row_groups > 1 for file in files), "files of bodies were joined"
    assert all(group.num_rows == 1 or group.total_byte_size <= 9 << 20 for group in groups)


def test_large_bodies_are_decoded_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def count(name: str, bodies: Any) -> Any:
        bodies = list(bodies)
        counts.append(len(bodies))
        return decode_together(name, bodies)

    monkeypatch.setattr("sideline.archive._table_rows.decode_together", count)
    with small_season() as season, season.client() as client:
        for max_bytes, name in ((1, "one"), (1 << 20, "several")):
            archive = archive_with(tmp_path / name, client, max_bytes_decoded=max_bytes)
            archive.sync(game_ids=[game["event_id"] for game in season.games[:2]], tables=["stat_events"])
            assert (max(counts) == 1) == (name == "one")
            counts.clear()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such threshold")
def test_large_blocks_are_returned_when_they_are_freed() -> None:
    program = (
        MEASUREMENT
        + """
        import sys
        from contextlib import nullcontext
        # The first block of a size raises glibc's threshold when it is freed.
        bytearray(8 << 20)
        with returned_blocks() if sys.argv[1] == "returned" else nullcontext():
            # Freed among smaller blocks that stay, and that no hole of the heap has room for.
            pairs = [(bytearray(4 << 20), bytearray(1_000_000)) for _ in range(12)]
            before = held()
            small = [pair[1] for pair in pairs]
            del pairs
            print(before - held())
        """
    )
    assert int(run(program, "kept")) < 8 < 40 < int(run(program, "returned")), "MB of 48 that were freed"


@pytest.mark.extended
def test_memory_of_syncs_grows_little_with_the_archive(tmp_path: Path) -> None:
    peaks = []
    for games in (300, 2400):
        with LongLeague(games, sessions=1, possessions=1) as league:
            first, *nights = (int(run(SYNC_PEAK, str(tmp_path / str(games)), *SEASON, **league.environ)) for _ in range(3))
        peaks.append((first, min(nights)))
    growth = [large - small for small, large in zip(*peaks, strict=True)]
    assert (growth[0] <= 40, growth[1] <= 22) == (True, True), peaks


@pytest.mark.parametrize("games", [300, pytest.param(2400, marks=pytest.mark.extended)])
def test_a_night_with_nothing_new_takes_at_most_200_mb_whatever_the_range(games: int, tmp_path: Path) -> None:
    with LongLeague(games, sessions=1, possessions=1) as league:
        first, second = (int(run(SYNC_PEAK, str(tmp_path), *SEASON, **league.environ)) for _ in range(2))
    assert (first <= 350, second <= 200) == (True, True), (first, second)


@pytest.mark.extended
@pytest.mark.timeout(3600)
def test_logs_are_a_tenth_after_100_nights_of_70_games(tmp_path: Path) -> None:
    with LongLeague(70, days=11, sessions=1, possessions=1) as league:
        for _ in range(100):
            days = (league.time + timedelta(days=count) for count in (-2, 1))
            start, end = (f"{day:%Y-%m-%d}" for day in days)
            run(SYNC_PEAK, str(tmp_path), f"start={start}", f"end={end}", **league.environ)
            league.next_night(70)
    sizes = {path: path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()}
    assert sum(size for path, size in sizes.items() if "_delta_log" in path.parts) <= 0.1 * sum(sizes.values())
