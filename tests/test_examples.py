"""The examples run against the simulator that they start, and against the service selected by the environment."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from needs import library, needs

import sideline

duckdb = library("duckdb")
pl = library("polars")

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: object, folder: Path, service: sideline.Simulator | None = None) -> str:
    environ = {**os.environ, **(service.environ if service else {})}
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"game_locations.py", "folder_of_bodies.py", "dagster_season.py", "capture_scorers.py"}


@pytest.mark.extended
def test_a_script_runs_on_a_capture(tmp_path: Path) -> None:
    first = run("capture_scorers.py", tmp_path / "day-one", folder=tmp_path)
    assert len(first.splitlines()) > 5 and all(re.fullmatch(r".+ \(.+\): \d+", line) for line in first.splitlines())
    assert run("capture_scorers.py", tmp_path / "day-one", folder=tmp_path) == first
    with sideline.Simulator(seed=7, teams=4, games=12) as season, season.client() as client:
        names = set(client.teams().table()["name"])
    assert not any(name in first for name in names)


@needs("polars")
def test_game_locations_run_as_they_stand(tmp_path: Path) -> None:
    output = run("game_locations.py", folder=tmp_path)
    rows = [int(count) for count in re.findall(r": (\d+) rows from", output)]
    # Two halves of more than half an hour, eleven tags at 20 Hz.
    assert len(rows) == 2
    assert all(count > 30 * 60 * 20 * 11 for count in rows)
    assert f"{sum(rows)} rows in all" in output
    assert len(list((tmp_path / "locations").glob("*.parquet"))) == 2


@needs("polars")
def test_game_locations_use_the_service_of_the_environment(tmp_path: Path, service: sideline.Simulator, client: sideline.Client, game: dict[str, Any]) -> None:
    before = len(service.requests)
    output = run("game_locations.py", game["id"], "--out", tmp_path / "here", folder=tmp_path, service=service)
    assert len(service.requests) > before
    frame = pl.read_parquet(tmp_path / "here" / "*.parquet").sort("t", "tag")
    parts = [client.locations(part["id"], part["started_at"], part["ended_at"]).to_polars() for part in game["results"]]
    assert frame.drop("type").equals(pl.concat(parts).sort("t", "tag").drop("type"))
    assert f"{frame.height} rows in all" in output


@needs("polars", "pyarrow", extra="arrow,polars")
@pytest.mark.parametrize("of_the_environment", [False, True])
def test_a_folder_of_bodies_is_read(tmp_path: Path, service: sideline.Simulator, game: dict[str, Any], of_the_environment: bool) -> None:
    folder = tmp_path / "bodies"
    arguments = [folder, game["id"]] if of_the_environment else [folder]
    output = run("folder_of_bodies.py", *arguments, folder=tmp_path, service=service if of_the_environment else None)
    counts = {(operation, table): int(rows) for operation, table, rows in re.findall(r"(\w+): \d+ bodies, (\w+): (\d+) rows", output)}
    tables = {table for _, table in counts}
    # The second time no request is sent.
    before = len(service.requests)
    assert run("folder_of_bodies.py", folder, folder=tmp_path) == output
    assert len(service.requests) == before
    assert all(rows > 0 for rows in counts.values())
    example = runpy.run_path(str(EXAMPLES / "folder_of_bodies.py"))
    operations = {operation for names in ("OF_ALL", "OF_A_TEAM", "OF_A_GAME", "OF_A_SESSION") for operation in example[names]}
    assert {operation for operation, _ in counts} == operations - ({"schedule"} if of_the_environment else set())
    assert tables >= {"sessions", "events", "location_windows", "players", "box_score", "stat_events", "possessions", "shots", "locations"}
    sessions = {path.stem for path in (folder / "stats").glob("*.json")}
    assert set(example["read"](folder, "stats").column("session_id").to_pylist()) == sessions


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=4, games=4, now="2027-03-01T12:00:00Z") as service:
        yield service


@needs("polars")
def test_the_nightly_script_prints_only_what_somebody_should_see(tmp_path: Path, season: sideline.Simulator) -> None:
    scripts = str(Path(sys.executable).parent)
    environ = {**os.environ, **season.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    command = [str(EXAMPLES / "nightly.sh"), str(tmp_path / "season"), "2026-09-01"]

    def nightly() -> tuple[int, str, str]:
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    assert nightly() == (0, "", "")
    assert (tmp_path / "season.html").stat().st_size > 1_000
    with season.client() as client:
        team = client.teams().table("teams").to_dicts()[0]["team_id"]
    season.faults.add(f"/v1/data/teams/{team}/events", status=404)
    try:
        status, output, errors = nightly()
    finally:
        season.faults.clear()
    assert (status, errors) == (3, "")
    assert "team_events/" in output


@pytest.mark.extended
@needs("polars")
def test_the_dbt_models_read_an_exported_archive(tmp_path: Path, season: sideline.Simulator) -> None:
    with season.client() as client:
        archive = sideline.Archive(tmp_path / "season", client, clock=lambda: datetime(2027, 3, 1, 12, tzinfo=UTC))
        # The sources of the models.
        archive.sync(start="2026-09-01", tables=["box_score", "events"])
        archive.export(f"duckdb://{tmp_path}/season.duckdb")
        expected = archive.scan("box_score").filter(~pl.col("is_team_total")).select(pl.col("PTS").sum()).collect().item()
    model = (EXAMPLES / "dbt" / "models" / "player_season.sql").read_text()
    query, count = re.subn(r"\{\{ source\('sideline', '(\w+)'\) \}\}", r"\1", model)
    assert count == 1
    with duckdb.connect(f"{tmp_path}/season.duckdb", read_only=True) as database:
        rows = database.sql(query).pl()
    assert rows["points"].sum() == expected > 0
    assert rows["player_id"].is_unique().all()


def test_the_dagster_asset_is_materialized(tmp_path: Path, season: sideline.Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster = pytest.importorskip("dagster", reason="dagster is large; the asset is run by hand before a release")
    for name, value in {**season.environ, "SEASON_ARCHIVE": str(tmp_path / "season")}.items():
        monkeypatch.setenv(name, value)
    definitions = runpy.run_path(str(EXAMPLES / "dagster_season.py"))
    assert dagster.materialize([definitions["season"]]).success
