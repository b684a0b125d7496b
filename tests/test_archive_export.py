"""Exports to other databases: exactly once, whatever is killed, in DuckDB and in a real PostgreSQL."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from archives import TABLES, Killed, set_quantities
from needs import library, needs
from service import Service

import sideline
from postgres_server import new_database
from sideline.archive._export_target import Address, Target, keywords_of, open_target
from sideline.archive._export_values import deliverable, sentence
from sideline.cli import main

pa = library("pyarrow")

NOW = datetime(2027, 3, 5, 12, tzinfo=UTC)
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "correction_window": None, "on_error": "keep", "progress": False}
SIZE: dict[str, Any] = {
    "teams": 3,
    "players": 6,
    "games": 3,
    "sessions": (1, 1),
    "possessions": 3,
    "practices": 1,
    "days": 8,
    "link_base": "https://service.invalid",
}
NIGHTS = int(os.environ.get("EXPORT_NIGHTS", "2"))
"""Nights of changes, each exported by three exports of which two are killed; by hand 100."""

# All tables are compared, also those that no sync has requested.
MISSING_TABLES = pytest.mark.filterwarnings("ignore:.*no sync has requested them")
pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), MISSING_TABLES]


@pytest.fixture(params=["duckdb", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "duckdb":
        return f"duckdb://{tmp_path}/target.duckdb"
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(seed=5, now=NOW, **SIZE) as league:
        yield league


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive of the whole season: it is copied and never written."""
    folder = tmp_path_factory.mktemp("archives") / "season"
    with Service(seed=5, now=NOW, **SIZE) as league, sideline.Client(**league.client_options()) as client:
        sideline.Archive(folder, client).sync(**SPAN)
    return folder


@pytest.fixture
def archive(tmp_path: Path, season: Path, league: Service) -> Iterator[sideline.Archive]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield sideline.Archive(shutil.copytree(season, tmp_path / "season"), client)


def plain_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in order, with JSON read: PostgreSQL writes it with other blanks."""

    def plain(column: Any) -> list[Any]:
        if isinstance(column.type, pa.JsonType) or column.type == pa.string():
            return [value if value is None or value[:1] not in ("[", "{") else json.loads(value) for value in column.cast(pa.string()).to_pylist()]
        if pa.types.is_timestamp(column.type):
            return column.cast(pa.timestamp("us", "UTC")).to_pylist()
        return column.to_pylist()

    return sorted(zip(*map(plain, rows.columns), strict=True), key=repr)


def differences(archive: sideline.Archive, address: str, tables: Sequence[str] = (*TABLES, "coverage", "corrections")) -> list[str]:
    """The tables whose rows are not the archive's."""
    different = []
    with open_target(Address(address)) as target:
        for name in tables:
            rows = target.read(f'select * from "{name}"')
            # A box score's columns are added when they come.
            expected = deliverable(name, archive.to_arrow(name), lambda *problem: pytest.fail(sentence(*problem)), is_postgresql=target.is_postgresql)
            if plain_rows(rows.select(expected.column_names)) != plain_rows(expected):
                different.append(name)
    return different


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], list[int]]:
    """Ends an export before its statement of this number."""
    state: dict[str, Any] = {"count": [0], "at": None}

    def watch(name: str) -> None:
        original = getattr(Target, name)

        def execute(self: Target, *arguments: Any) -> Any:
            state["count"][0] += 1
            if state["count"][0] == state["at"]:
                raise Killed
            return original(self, *arguments)

        monkeypatch.setattr(Target, name, execute)

    watch("run")
    watch("add")

    def at(number: int | None) -> list[int]:
        state["count"][0], state["at"] = 0, number
        return state["count"]

    return at


@pytest.mark.parametrize("pseudonyms", [None, b"a key of 16 bytes or more"])
def test_a_target_has_the_columns_of_the_archive(league: Service, archive: sideline.Archive, tmp_path: Path, pseudonyms: bytes | None) -> None:
    league.change.correct_stat()
    archive.sync(**SPAN, tables=[*TABLES])
    address = f"duckdb://{tmp_path}/target.duckdb"
    archive.export(address, pseudonyms=pseudonyms)
    names = (*TABLES, "tracking_loads", "tracking_defenders", "coverage", "corrections")
    with open_target(Address(address)) as target:
        columns = {name: target.columns(name) for name in names}
    assert columns == {name: archive.to_arrow(name).column_names for name in names}
    assert all(archive.to_arrow(name).num_rows for name in names[-4:])
    if pseudonyms is None:
        assert differences(archive, address, names) == []


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.timeout(0 if NIGHTS > 2 else 300)
@pytest.mark.parametrize("target", [pytest.param("duckdb", marks=pytest.mark.extended), "postgresql"], indirect=True)
def test_each_change_arrives_once_whenever_exports_are_killed(
    league: Service, archive: sideline.Archive, target: str, killed_at: Callable[[int | None], list[int]]
) -> None:
    dice = random.Random(4)
    statement_count = killed_at(None)
    first = archive.export(target)
    assert first.units > 10
    assert first.rows["stat_events"] > 0
    assert differences(archive, target) == []
    report = archive.export(target)
    assert report.units == 0
    assert sum(report.rows[name] for name in TABLES) == 0
    for _ in range(NIGHTS):
        for name in dice.sample(sorted(league.change.all), 3):
            league.change.all[name]()
        archive.sync(**SPAN, tables=["events", "games", "players", "player_stats", "possessions", "shots"])
        for _ in range(2):
            killed_at(dice.randint(1, max(statement_count[0], 4)))
            with suppress(Killed):
                archive.export(target)
        statement_count = killed_at(None)
        archive.export(target)
        assert differences(archive, target) == []


@needs("adbc_driver_manager", "adbc_driver_postgresql")
def test_a_frozen_schema_refuses_a_column_and_an_evolving_one_adds_it(archive: sideline.Archive, target: str) -> None:
    archive.export(target, schema="freeze")
    with open_target(Address(target)) as database:
        database.run('alter table shots drop column "points"')
        database.run("update sideline_units set sequence = 0 where unit like 'shots/%'")
        database.commit()
    with pytest.raises(ValueError, match='shots has columns that the target lacks: points. Add them, or export with schema="evolve"'):
        archive.export(target, schema="freeze")
    assert differences_of_shots(archive, target) is None
    archive.export(target)
    assert differences(archive, target) == []


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.parametrize(("name", "column"), [("shots", "zone"), ("box_score", "PTS"), ("coverage", "attempts")])
def test_a_column_that_the_target_lacked_gets_its_values(name: str, column: str, archive: sideline.Archive, target: str) -> None:
    archive.export(target)
    with open_target(Address(target)) as database:
        database.run(f'alter table {name} drop column "{column}"')
        if name == "coverage":
            database.run("insert into coverage (unit) values ('of no archive')")
        database.commit()
    archive.export(target)
    assert differences(archive, target) == []
    assert archive.export(target).units == 0


def test_the_command_tells_a_target_that_does_not_fit_from_a_wrong_option(
    archive: sideline.Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"duckdb://{tmp_path}/season.duckdb"
    command = ["export", archive._store.root, "--schema", "freeze", "--to"]
    assert main([*command, address]) == 0
    with open_target(Address(address)) as database:
        database.run("alter table shots drop column zone")
        database.commit()
    statuses = [main([*command, to]) for to in (address, "mysql://host/database", "postgresql://me@127.0.0.1:1/league")]
    assert statuses == [1, 2, 1]
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3 and all(line.startswith("sideline: ") for line in errors)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.timeout(60)
def test_an_interrupt_during_a_statement_of_an_export_is_not_a_refusal(tmp_path: Path) -> None:
    with open_target(Address(f"duckdb://{tmp_path}/season.duckdb")) as database:
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            database.read("select count(*) from range(100000000000) a, range(1000) b")


def differences_of_shots(archive: sideline.Archive, address: str) -> None:
    """Nothing was written by an export that was refused."""
    with open_target(Address(address)) as target:
        assert "points" not in target.columns("shots")
        assert target.read("select count(*) as n from shots")["n"].to_pylist() == [archive.to_arrow("shots").num_rows]


@needs("adbc_driver_manager", "adbc_driver_postgresql")
def test_a_target_with_other_rows_is_refused(archive: sideline.Archive, target: str, tmp_path: Path) -> None:
    other = sideline.Archive(tmp_path / "other", archive._client)
    other.sync(**SPAN, tables=["games"])
    with open_target(Address(target)) as database:
        database.create("shots", pa.schema(sideline.SCHEMAS["coverage"]))
        database.commit()
    with pytest.raises(ValueError, match="a table 'shots' that no export made"):
        archive.export(target)
    with open_target(Address(target)) as database:
        database.run("drop table shots")
        database.commit()
    archive.export(target)
    with pytest.raises(ValueError, match="rows of another archive"):
        other.export(target)
    assert differences(archive, target) == []


@pytest.mark.parametrize("commits", [0, 2, 12])
def test_an_archive_restored_from_a_copy_exports_what_it_has(commits: int, archive: sideline.Archive, league: Service, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "season"
    archive.export(target)
    copy = shutil.copytree(folder, tmp_path / "copy")
    session, other_session = (session.id for _, session in league.season.sessions()[:2])
    for change in (lambda: league.change.correct_stat(session), league.change.add_game):
        change()
        archive.sync(**SPAN)
        archive.export(target)
    shutil.rmtree(folder)
    earlier_archive = sideline.Archive(shutil.copytree(copy, folder), archive._client)
    # With as many commits as before, its bodies have the numbers of other ones in the target. After more its log lacks the exported version.
    set_quantities(earlier_archive, kept_versions=1)
    for number in range(commits):
        league.change.correct_stat(other_session if number else session)
        earlier_archive.sync(**SPAN)
    earlier_archive.export(target)
    assert differences(earlier_archive, target) == []
    assert earlier_archive.export(target).units == 0


@pytest.mark.parametrize("to", ["season.duckdb", "mysql://host/database", "duckdb://relative.duckdb", ""])
def test_an_invalid_target_is_refused_with_advice(archive: sideline.Archive, to: str) -> None:
    with pytest.raises(ValueError, match="to is an address"):
        archive.export(to)


@needs("adbc_driver_manager", "duckdb")
def test_duckdb_takes_more_rows_than_it_casts_at_once(tmp_path: Path) -> None:
    texts = [json.dumps([number]) for number in range(5_000)]
    rows = pa.table({"position": pa.array(range(5_000)), "details": pa.array(texts).cast(pa.json_(pa.string()))})
    with open_target(Address(f"duckdb://{tmp_path}/season.duckdb")) as database:
        database.create("plays", rows.schema)
        database.add("plays", rows)
        assert database.read("select position, details from plays order by position")["details"].to_pylist() == texts


@needs("adbc_driver_manager", "adbc_driver_postgresql")
def test_a_file_for_which_the_disk_has_no_room_is_not_left_behind(archive: sideline.Archive, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    address = f"duckdb://{tmp_path}/target.duckdb"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        with pytest.raises(ConnectionError, match="cannot connect to the target of the export: .*File too large"):
            archive.export(address)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "target.duckdb").exists()
    archive.export(address)
    assert differences(archive, address) == []


def test_a_target_that_cannot_be_reached_is_an_error_without_its_password(archive: sideline.Archive) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match="cannot connect to the target") as error:
        archive.export(f"postgresql://me:canary-password@127.0.0.1:{port}/x")
    assert "canary" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "keywords"),
    [
        ("postgresql://", {}),
        ("postgresql:///league", {"dbname": "league"}),
        ("postgres://me@db:5433/league", {"user": "me", "host": "db", "port": "5433", "dbname": "league"}),
        ("postgresql://me:a:b'c@[::1]:1/x", {"user": "me", "password": "a:b'c", "host": "::1", "port": "1", "dbname": "x"}),
        ("postgresql://a,b:2/x", {"host": "a,b", "port": ",2", "dbname": "x"}),
        ("postgresql://%2Ftmp/x?ssl=true", {"host": "/tmp", "dbname": "x", "sslmode": "require"}),
        ("postgresql://db/x?user=m%40e&password=%26%3D+", {"host": "db", "dbname": "x", "user": "m@e", "password": "&=+"}),
    ],
)
def test_an_address_has_the_keywords_of_postgresql(address: str, keywords: dict[str, str]) -> None:
    assert keywords_of(address) == keywords


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.parametrize(
    "rest",
    [
        "me:canary/x@db/league",
        "me:1/canary@db/league",
        "me:1?canary@db/league",
        "me:1?a=canary@db/league",
        "me:canary@x@db/league",
        "me:canary%zz@db/league",
        "me:canary%FF@db/league",
        "me:canary%00@db/league",
        "[db:canary/league",
        "db:canary/league",
        "db/league?password",
        "db/league?pass word=canary",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_never_reaches_the_driver(archive: sideline.Archive, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import adbc_driver_postgresql.dbapi

    monkeypatch.setattr(adbc_driver_postgresql.dbapi, "connect", lambda *_: pytest.fail("the driver had it"))
    with pytest.raises(ValueError, match="cannot be read: write / @") as error:
        archive.export(f"postgresql://{rest}")
    assert "canary" not in str(error.value)


@contextmanager
def echo_server() -> Iterator[tuple[int, list[str]]]:
    """The port of a server that requests a password, refuses it and repeats it in its error, and the passwords sent to it."""
    passwords: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer, peer.makefile("rb") as file:
                file.read(struct.unpack("!i", file.read(4))[0] - 4)
                peer.sendall(b"R" + struct.pack("!ii", 8, 3))
                assert file.read(1) == b"p"
                passwords.append(file.read(struct.unpack("!i", file.read(4))[0] - 4)[:-1].decode())
                text = f"SFATAL\0C28P01\0Mthe password is {passwords[0]}\0\0".encode()
                peer.sendall(b"E" + struct.pack("!i", 4 + len(text)) + text)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], passwords
        thread.join(20)


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.parametrize("password", ["canary-1", "a/b@c:d?e#f&g%h", "it's a \\ 'test' = \\' host=x", "ü€"])
def test_a_password_of_any_characters_reaches_the_server_and_no_error_repeats_it(archive: sideline.Archive, password: str) -> None:
    with echo_server() as (port, passwords):
        with pytest.raises(ConnectionError, match=r"the password is \*\*\*") as error:
            archive.export(f"postgresql://me:{quote(password, safe='')}@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable")
        assert password not in str(error.value)
    assert passwords == [password]


@needs("adbc_driver_manager", "adbc_driver_postgresql")
def test_the_command_resumes_after_a_real_kill(league: Service, archive: sideline.Archive, target: str) -> None:
    command = [sys.executable, "-m", "sideline", "export", archive._store.root, "--to", target]
    for wait in (0.3, 0.9):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            child.wait(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
    for attempt in range(20):
        # A server notices only after a moment that its client has ended.
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            break
        time.sleep(0.1 * attempt)
    assert done.returncode == 0, done.stderr
    assert "rows exported" in done.stdout
    assert "canary" not in done.stdout + done.stderr
    assert differences(archive, target) == []


def convert(rows: pa.Table, *, is_postgresql: bool = True) -> tuple[pa.Table, list[str]]:
    problems: list[str] = []
    return deliverable("shots", rows, lambda *problem: problems.append(sentence(*problem)), is_postgresql=is_postgresql), problems


def test_values_that_no_target_holds_are_null_and_named() -> None:
    times = pa.array([0, 9 * 10**15, -9 * 10**15, None], pa.timestamp("ms", "UTC"))
    nested = pa.array([["a\0b"], ["a"], None, ["\\u0000"]], pa.list_(pa.string()))
    rows = pa.table({"at": times, "name": ["a", "a\0b", None, "\\u0000"], "nested": nested})
    converted_rows, problems = convert(rows)
    assert converted_rows["at"].to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC), None, None, None]
    assert converted_rows["name"].to_pylist() == ["a", None, None, "\\u0000"]
    assert converted_rows["nested"].to_pylist() == [None, '["a"]', None, json.dumps(["\\u0000"])]
    assert problems == [
        "shots.at: 2 values outside the years 1 to 9999, null in the target",
        "shots.name: 1 value with a NUL, null in the target",
        "shots.nested: 1 value with a NUL, null in the target",
    ]
    converted_rows, problems = convert(rows, is_postgresql=False)
    assert converted_rows["name"].to_pylist() == rows["name"].to_pylist()
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("names", "is_postgresql", "retained_names"),
    [
        (["", "PTS"], False, ["PTS"]),
        (["a\0b", "PTS"], True, ["PTS"]),
        (["CTID", "xmin", "oid", "rowid"], True, ["rowid"]),
        (["ctid", "xmin", "rowid"], False, ["ctid", "xmin", "rowid"]),
        (["é" * 31, "é" * 32], True, ["é" * 31]),
        (["PTS", "pts", "Pts"], True, ["PTS", "pts", "Pts"]),
        (["PTS", "pts", "Pts"], False, ["PTS"]),
    ],
)
def test_columns_that_the_target_cannot_have_are_left_out_and_named(names: list[str], is_postgresql: bool, retained_names: list[str]) -> None:
    converted_rows, problems = convert(pa.table([pa.array([1])] * len(names), names), is_postgresql=is_postgresql)
    assert converted_rows.column_names == retained_names
    assert len(problems) == len(names) - len(retained_names)


def shot_keys(address: str) -> list[str]:
    with open_target(Address(address)) as target:
        rows = target.read(
            "select constraint_name as name from information_schema.table_constraints where constraint_type = 'PRIMARY KEY' and table_name = 'shots'"
        )
    return rows["name"].to_pylist()


def test_rows_that_share_a_key_all_arrive_and_cost_the_primary_key(archive: sideline.Archive, league: Service, postgres: str) -> None:
    address = new_database(postgres)
    assert archive.export(address, "shots").problems == ()
    assert shot_keys(address) == ["shots_pkey"]
    league.faults.add("shots", change=twice_the_shots)
    league.change.correct_stat(league.season.games[0].sessions[0].id)
    archive.sync(**SPAN, tables=["shots"])
    (problem,) = archive.export(address).problems
    assert problem.startswith("shots: no primary key (session_id, team_id, player_id, occurred_at), because several rows have the same")
    assert shot_keys(address) == []
    assert differences(archive, address, ["shots"]) == []
    assert archive.export(address).problems == ()


def twice_the_shots(body: Any) -> Any:
    return {name: value * 2 if isinstance(value, list) else value for name, value in body.items()}


def test_a_table_that_is_chosen_later_gets_all_its_rows(archive: sideline.Archive, target: str) -> None:
    archive.export(target, ["shots"])
    assert archive.export(target).rows["player_stats"] > 0
    assert differences(archive, target) == []
    with pytest.raises(ValueError, match="no table 'shot' is exported; there are teams"):
        archive.export(target, tables="shot")


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.parametrize("name", ["coverage", "corrections", "shots"])
def test_a_table_that_was_dropped_in_the_target_gets_all_its_rows(name: str, archive: sideline.Archive, league: Service, target: str) -> None:
    league.change.correct_stat()
    archive.sync(**SPAN)
    archive.export(target)
    with open_target(Address(target)) as database:
        database.run(f"drop table {name}")
        database.commit()
    assert archive.export(target).rows[name] == archive.to_arrow(name).num_rows > 0
    assert differences(archive, target) == []


def test_an_open_connection_of_another_database_gets_all_rows_and_stays_open(archive: sideline.Archive, tmp_path: Path) -> None:
    dbapi = library("adbc_driver_sqlite.dbapi")
    with dbapi.connect(str(tmp_path / "season.sqlite")) as connection:
        assert archive.export(connection).units > 10
        assert archive.export(connection).units == 0
        with connection.cursor() as cursor:
            for name in ("shots", "coverage", "possessions"):
                cursor.execute(f"select count(*) from {name}")
                assert cursor.fetchone() == (archive.to_arrow(name).num_rows,)
    with pytest.raises(TypeError, match="an address or an open ADBC connection, not PosixPath"):
        archive.export(tmp_path)


def test_a_statement_that_the_target_refuses_is_an_error_without_its_password(archive: sideline.Archive, postgres: str) -> None:
    address = new_database(postgres)
    archive.export(address, "shots")
    with open_target(Address(address)) as database:
        database.run("alter table shots add constraint odd check (points < 0) not valid")
        database.run("update sideline_units set sequence = 0")
        database.commit()
    with pytest.raises(sideline.SidelineError, match="refused a statement.*odd") as error:
        archive.export(address)
    assert "canary" not in str(error.value)
    assert error.value.__cause__ is None
