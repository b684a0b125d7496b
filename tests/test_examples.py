"""The examples run against the simulator that they start, and against the service selected by the environment."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sideline

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: object, folder: Path, service: sideline.Simulator | None = None) -> str:
    environ = {**os.environ, **(service.environ if service else {})}
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"game_locations.py", "folder_of_bodies.py"}


def test_game_locations_run_as_they_stand(tmp_path: Path) -> None:
    said = run("game_locations.py", folder=tmp_path)
    rows = [int(count) for count in re.findall(r": (\d+) rows from", said)]
    # Two halves of more than half an hour, eleven tags at 20 Hz.
    assert len(rows) == 2
    assert all(count > 30 * 60 * 20 * 11 for count in rows)
    assert f"{sum(rows)} rows in all" in said
    assert len(list((tmp_path / "locations").glob("*.parquet"))) == 2


def test_game_locations_ask_the_service_of_the_environment(tmp_path: Path, service: sideline.Simulator, client: sideline.Client, game: dict[str, Any]) -> None:
    asked = len(service.requests)
    said = run("game_locations.py", game["id"], "--out", tmp_path / "here", folder=tmp_path, service=service)
    assert len(service.requests) > asked
    frame = pl.read_parquet(tmp_path / "here" / "*.parquet").sort("t", "tag")
    whole = [client.locations(part["id"], part["started_at"], part["ended_at"]).to_polars() for part in game["results"]]
    assert frame.drop("type").equals(pl.concat(whole).sort("t", "tag").drop("type"))
    assert f"{frame.height} rows in all" in said


@pytest.mark.parametrize("of_the_environment", [False, True])
def test_a_folder_of_bodies_is_read(tmp_path: Path, service: sideline.Simulator, game: dict[str, Any], of_the_environment: bool) -> None:
    folder = tmp_path / "bodies"
    arguments = [folder, game["id"]] if of_the_environment else [folder]
    said = run("folder_of_bodies.py", *arguments, folder=tmp_path, service=service if of_the_environment else None)
    found = {(operation, table): int(rows) for operation, table, rows in re.findall(r"(\w+): \d+ bodies, (\w+): (\d+) rows", said)}
    tables = {table for _, table in found}
    # The second time no service is asked.
    asked = len(service.requests)
    assert run("folder_of_bodies.py", folder, folder=tmp_path) == said
    assert len(service.requests) == asked
    assert all(rows > 0 for rows in found.values())
    example = runpy.run_path(str(EXAMPLES / "folder_of_bodies.py"))
    named = {operation for names in ("OF_ALL", "OF_A_TEAM", "OF_A_GAME", "OF_A_SESSION") for operation in example[names]}
    assert {operation for operation, _ in found} == named - ({"schedule"} if of_the_environment else set())
    assert tables >= {"sessions", "events", "location_windows", "players", "box_score", "stat_events", "possessions", "shots", "locations"}
    sessions = {path.stem for path in (folder / "stats").glob("*.json")}
    assert set(example["read"](folder, "stats").column("session_id").to_pylist()) == sessions
