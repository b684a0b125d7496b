"""Exports to other databases: exactly once, whatever is killed, in DuckDB and in a real PostgreSQL."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from archives import TABLES, sorted_rows
from needs import library, needs
from service import Service

import sideline
from sideline.archive._export import Address, Target, _plain, open_target

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
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))

pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a new PostgreSQL server on a free port; it runs as another user if the tests run as root."""
    if not BINARIES:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    # Not below pytest's folder, which is closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="sideline-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
        as_user = ["setpriv", "--reuid=nobody", "--clear-groups"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(name: str, *arguments: str) -> None:
        subprocess.run([*as_user, str(BINARIES[-1] / name), *arguments], check=True, capture_output=True, timeout=120, cwd="/")

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "sideline", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-t", "100", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql://sideline:canary-password@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "-t", "100", "stop")
        shutil.rmtree(folder)


@pytest.fixture(params=["duckdb", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "duckdb":
        return f"duckdb://{tmp_path}/target.duckdb"
    address: str = request.getfixturevalue("postgres")
    database = f"test_{uuid.uuid4().hex}"
    subprocess.run([BINARIES[-1] / "createdb", "--maintenance-db", address, database], check=True, timeout=120)
    return address.replace("/postgres", f"/{database}")


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


def differences(archive: sideline.Archive, address: str) -> list[str]:
    """The tables whose rows are not the archive's."""
    found = []
    with open_target(Address(address)) as target:
        for name in (*TABLES, "coverage", "corrections"):
            rows = target.read(f'select * from "{name}"')
            # A box score's columns are added when they come.
            expected = _plain(archive.to_arrow(name))
            if sorted_rows(rows.select(expected.column_names), ()) != sorted_rows(expected.cast(rows.select(expected.column_names).schema), ()):
                found.append(name)
    return found


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], list[int]]:
    """Ends an export before its statement of this number."""
    state: dict[str, Any] = {"count": [0], "at": None}

    def watch(name: str) -> None:
        original = getattr(Target, name)

        def watched(self: Target, *given: Any) -> Any:
            state["count"][0] += 1
            if state["count"][0] == state["at"]:
                raise Killed
            return original(self, *given)

        monkeypatch.setattr(Target, name, watched)

    watch("run")
    watch("add")

    def at(number: int | None) -> list[int]:
        state["count"][0], state["at"] = 0, number
        return state["count"]

    return at


@needs("adbc_driver_manager", "adbc_driver_postgresql")
@pytest.mark.timeout(0 if NIGHTS > 2 else 300)
def test_each_change_arrives_once_whenever_exports_are_killed(
    league: Service, archive: sideline.Archive, target: str, killed_at: Callable[[int | None], list[int]]
) -> None:
    dice = random.Random(4)
    counted = killed_at(None)
    first = archive.export(target)
    assert first.units > 10
    assert first.rows["stat_events"] > 0
    assert differences(archive, target) == []
    again = archive.export(target)
    assert again.units == 0
    assert sum(again.rows[name] for name in TABLES) == 0
    for _ in range(NIGHTS):
        for name in dice.sample(sorted(league.change.all), 3):
            league.change.all[name]()
        archive.sync(**SPAN, tables=["events", "games", "players", "player_stats", "possessions", "shots"])
        for _ in range(2):
            killed_at(dice.randint(1, max(counted[0], 4)))
            with suppress(Killed):
                archive.export(target)
        counted = killed_at(None)
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


@pytest.mark.parametrize("to", ["season.duckdb", "mysql://host/database", "duckdb://relative.duckdb", ""])
def test_an_invalid_target_is_refused_with_advice(archive: sideline.Archive, to: str) -> None:
    with pytest.raises(ValueError, match="to is an address"):
        archive.export(to)


@needs("adbc_driver_manager", "adbc_driver_postgresql")
def test_a_target_that_cannot_be_reached_is_an_error_without_its_password(archive: sideline.Archive) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match="cannot connect to the target") as error:
        archive.export(f"postgresql://me:canary-password@127.0.0.1:{port}/x")
    assert "canary" not in str(error.value)


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
        # A server takes a moment to notice that its client is gone.
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            break
        time.sleep(0.1 * attempt)
    assert done.returncode == 0, done.stderr
    assert "rows exported" in done.stdout
    assert "canary" not in done.stdout + done.stderr
    assert differences(archive, target) == []
