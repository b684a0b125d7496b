"""Problems of a store are errors that say what to do: no credentials, damaged files, a full disk."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from archives import small_season
from needs import library

import sideline

duckdb = library("duckdb")

FEW_TABLES = ("events", "player_stats", "possessions", "shots")
"""What the tests sync: each table takes its time."""


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with small_season() as service:
        yield service


@pytest.fixture(scope="module")
def one_game(season: sideline.Simulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive of one game: it is copied and never written."""
    folder = tmp_path_factory.mktemp("archives") / "season"
    with season.client() as client:
        sideline.Archive(folder, client).sync(game_ids=[season.games[0]["event_id"]], tables=FEW_TABLES)
    return folder


@pytest.fixture
def archive(season: sideline.Simulator, one_game: Path, tmp_path: Path) -> Iterator[sideline.Archive]:
    """Of one game."""
    with season.client() as client:
        yield sideline.Archive(shutil.copytree(one_game, tmp_path / "season"), client)


def a_file(root: Path, table: str) -> Path:
    return next(iter(sorted((root / "season" / table).rglob("*.parquet"))))


READS: dict[str, Callable[[sideline.Archive], Any]] = {
    "scan": lambda archive: archive.scan("shots"),
    "to_arrow": lambda archive: archive.to_arrow("shots"),
    "delta": lambda archive: archive.delta("shots"),
    "sql": lambda archive: archive.sql("select count(*) from shots"),
    "as_of": lambda archive: archive.as_of("2020-01-01").scan("shots"),
    "audit": lambda archive: archive.audit(),
    "compact": lambda archive: archive.compact(),
}


@pytest.mark.parametrize("read", READS)
def test_a_cut_file_is_an_error_that_names_rebuild(read: str, archive: sideline.Archive, season: sideline.Simulator, tmp_path: Path) -> None:
    if read == "compact":  # of one file there is nothing to join
        archive.sync(game_ids=[season.games[1]["event_id"]], tables=FEW_TABLES)
    rows = archive.scan("shots").collect()
    file = a_file(tmp_path, "shots")
    content = file.read_bytes()
    for size in (len(content) // 2, len(content) - 3, 10, 0, None):
        if size is None:
            file.unlink()
        else:
            file.write_bytes(content[:size])
        with pytest.raises(sideline.DecodeError, match=r"archive.rebuild\('shots'\) restores the table") as excinfo:
            READS[read](archive)
        assert str(file) in str(excinfo.value)
    assert archive.scan("possessions").collect().height > 0
    archive.rebuild("shots")
    assert archive.scan("shots").collect().sort(rows.columns[:5]).equals(rows.sort(rows.columns[:5]))


@pytest.mark.parametrize("table", ["raw", "coverage"])
def test_a_cut_file_of_the_archives_own_record_says_that_no_rebuild_helps(table: str, archive: sideline.Archive, tmp_path: Path) -> None:
    for file in (tmp_path / "season" / table).rglob("*.parquet"):
        os.truncate(file, 100)
    with pytest.raises(sideline.DecodeError, match=r"has 100 bytes, but \d+ were written: restore .* from a copy"):
        archive.rebuild("shots")


EAGER_READS: dict[str, Callable[[sideline.Archive], Any]] = {
    "to_arrow": lambda archive: archive.to_arrow("shots"),
    "audit": lambda archive: archive.audit(),
    "compact": lambda archive: archive.compact(),
    "status": lambda archive: archive.status(),
}


@pytest.mark.parametrize("read", EAGER_READS)
def test_a_file_damaged_at_its_own_length_is_an_error_that_names_rebuild(
    read: str, archive: sideline.Archive, season: sideline.Simulator, tmp_path: Path
) -> None:
    archive.sync(game_ids=[season.games[1]["event_id"]], tables=FEW_TABLES)
    expected = archive.to_arrow("shots")
    file = a_file(tmp_path, "shots")
    content = file.read_bytes()
    for place in (10, len(content) - 60):  # a page's header, and the footer
        file.write_bytes(content[:place] + bytes(byte ^ 0xA5 for byte in content[place : place + 24]) + content[place + 24 :])
        with pytest.raises(sideline.DecodeError, match=r"is damaged .*archive.rebuild\('shots'\) restores the table") as excinfo:
            EAGER_READS[read](archive)
        assert str(file) in str(excinfo.value)
    archive.rebuild("shots")
    assert archive.to_arrow("shots").num_rows == expected.num_rows


@pytest.mark.parametrize(("table", "remedy"), [("raw", "restore it from a copy"), ("shots", r"archive.rebuild\('shots'\) restores the table")])
def test_a_damaged_file_is_named_by_reads_as_of_a_time(table: str, remedy: str, archive: sideline.Archive, tmp_path: Path) -> None:
    file = a_file(tmp_path, table)
    content = file.read_bytes()
    file.write_bytes(content[:-60] + bytes(byte ^ 0xA5 for byte in content[-60:-36]) + content[-36:])  # the footer
    past = archive.as_of("2100-01-01")
    for read in (past.to_arrow, past.scan) if table == "raw" else (past.to_arrow,):
        with pytest.raises(sideline.DecodeError, match=f"is damaged .*{remedy}") as excinfo:
            read("shots")
        assert str(file) in str(excinfo.value)


def test_a_damaged_body_is_named_to_a_library_that_reads_changes(archive: sideline.Archive, tmp_path: Path) -> None:
    shots = archive.changes()["shots"]
    file = a_file(tmp_path, "raw")
    content = file.read_bytes()
    file.write_bytes(content[:-60] + bytes(byte ^ 0xA5 for byte in content[-60:-36]) + content[-36:])  # the footer
    for read in (library("pyarrow").table, library("polars").DataFrame):
        with pytest.raises(sideline.DecodeError, match="is damaged .*restore it from a copy"):
            read(shots)


def test_duckdb_fetches_times(archive: sideline.Archive) -> None:
    [moment] = archive.sql("select max(fetched_at) as moment from coverage")["moment"]
    assert moment.utcoffset() is not None


def test_a_query_opens_each_table_once(archive: sideline.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coverage, which is large, also says whether a table that is not there was lost: once more for all of them."""
    table = library("deltalake").DeltaTable
    opens: Counter[str] = Counter()
    init = table.__init__

    def count(self: Any, address: str, **options: Any) -> None:
        opens[Path(address).name] += 1
        init(self, address, **options)

    monkeypatch.setattr(table, "__init__", count)
    assert archive.sql("select 1 as one").num_rows == 1
    assert opens.pop("coverage") == 2
    assert set(opens.values()) == {1}


def test_a_readers_error_about_whole_files_is_its_own(archive: sideline.Archive) -> None:
    with pytest.raises(sideline.QueryError, match="no_such_table"):
        archive.sql("select * from no_such_table")


FULL = """
    import resource, signal, sys
    import sideline
    from archives import small_season
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with small_season() as service, service.client() as client:
        archive = sideline.Archive(sys.argv[1], client)
        archive.sync(game_ids=[service.games[0]["event_id"]], tables=["shots", "events"])
        before = archive.info().rows
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for work in (lambda: archive.sync(game_ids=[service.games[1]["event_id"]], tables=["shots", "events"]), lambda: archive.rebuild("shots")):
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
            try:
                work()
            except OSError as error:
                print(error.errno, error)
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert all(rows >= before[name] for name, rows in archive.info().rows.items())
        archive.sync(game_ids=[service.games[1]["event_id"]], tables=["shots", "events"])
        print(archive.info().games)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_is_an_error_that_names_rebuild_and_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FULL), str(tmp_path / "season")]
    # A module that is first imported while the disk is full would leave a cut .pyc behind.
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=150)
    assert run.returncode == 0, run.stderr[-2000:]
    synced_line, rebuilt, games = run.stdout.splitlines()
    for line in (synced_line, rebuilt):
        assert line.startswith(f"{errno.ENOSPC} ")
        assert "has no room left" in line
        assert "free some space and sync again" in line
        assert "archive.rebuild(name)" in line
    assert games == "2"


NONE = """
    import sys
    import sideline
    for work in (lambda archive: archive.info(), lambda archive: archive.scan("shots")):
        try:
            work(sideline.Archive(sys.argv[1]))
        except sideline.ConfigurationError as error:
            print(error)
"""


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("s3://bucket/season", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"]),
        ("az://container/season", ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"]),
    ],
)
def test_a_bucket_without_credentials_says_what_to_set(address: str, names: list[str], tmp_path: Path) -> None:
    clean_environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_"))}
    # No request reaches the metadata service of a cloud: nothing listens at this port.
    env = {**clean_environ, "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9"}
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(NONE), address], env=env, capture_output=True, text=True, timeout=150)
    lines = run.stdout.splitlines()
    assert len(lines) == 2, run.stderr[-2000:]
    for line in lines:
        assert line.startswith(f"{address} cannot be opened (")
        assert line.endswith("in the environment, or pass storage_options=")
        assert all(name in line for name in names)
        assert len(line) < 600
        assert line.isprintable()


def test_credentials_that_a_bucket_refuses_say_what_to_set_and_are_not_shown() -> None:
    from independent import Asked, server

    def refuse(request: Asked) -> tuple[int, dict[str, str], bytes]:
        return 403, {"content-type": "application/xml"}, b"<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>"

    with server(refuse) as service:
        options = {
            "aws_endpoint_url": service.base_url,
            "aws_access_key_id": "key-canary",
            "aws_secret_access_key": "secret-canary",
            "aws_region": "x",
            "aws_allow_http": "true",
        }
        with pytest.raises(sideline.ConfigurationError, match="set AWS_ACCESS_KEY_ID") as excinfo:
            sideline.Archive("s3://bucket/season", storage_options=options).info()
    assert "canary" not in f"{excinfo.value!r}"


def test_a_folder_may_have_any_name(season: sideline.Simulator, tmp_path: Path) -> None:
    """Blanks and signs: `DeltaTable` percent-encodes paths, which polars takes literally."""
    with season.client() as client:
        archive = sideline.Archive(tmp_path / "my season <1> é", client)
        archive.sync(game_ids=[season.games[0]["event_id"]], tables=FEW_TABLES)
        rows = archive.to_arrow("shots").num_rows
        assert archive.scan("shots").collect().height == rows > 0
        assert all(Path(file).is_file() for file in archive.files("shots"))
        archive.sync(game_ids=[season.games[1]["event_id"]], tables=FEW_TABLES)
        assert archive.scan("shots").collect().height > rows


def test_rebuild_restores_the_type_of_a_column(archive: sideline.Archive) -> None:
    """Another version of sideline may have stored another one."""
    pa = library("pyarrow")
    before = archive.to_arrow("shots").sort_by("occurred_at")
    table = archive.delta("shots")
    rows = table.to_pyarrow_table()
    place = rows.schema.get_field_index("player_id")
    narrow = rows.set_column(place, "player_id", rows["player_id"].cast(pa.int32()))
    library("deltalake").write_deltalake(table, narrow, mode="overwrite", schema_mode="overwrite", partition_by=["month"])
    # deltalake has one thread here, as on a machine with one processor: it must not wait for a thread that waits for it.
    rebuild = Thread(target=archive.rebuild, args=["shots"], daemon=True)
    rebuild.start()
    rebuild.join(60)
    assert not rebuild.is_alive()
    assert archive.delta("shots").to_pyarrow_table().schema.field("player_id").type == pa.int64()
    assert archive.to_arrow("shots").sort_by("occurred_at").equals(before)
