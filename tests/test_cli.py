"""The `sideline` command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import sideline
from sideline.cli import main

COMMAND = [sys.executable, "-W", "error", "-m", "sideline"]
TABLES = ["games", "sessions", "box_score", "stat_events", "possessions", "shots"]


def test_the_demo_prints_its_tables_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--seed", "3", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    written = {name: parquet.read_table(tmp_path / "out" / f"{name}.parquet") for name in TABLES}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{name}.parquet" for name in TABLES)
    for name, table in written.items():
        assert table.num_rows > 0
        assert f"\n{name}: {table.num_rows} rows" in text
        assert table.column_names[: len(sideline.SCHEMAS[name])] == sideline.SCHEMAS[name].names
    points = {row["team_id"]: 0 for row in written["box_score"].to_pylist()}
    for row in written["box_score"].to_pylist():
        points[row["team_id"]] += (row["PTS"] or 0) if row["is_team_total"] else 0
    assert len(set(points.values())) == 2
    field_goals = sum(shot["points"] for shot in written["shots"].to_pylist())
    free_throws = sum(row["FT"] or 0 for row in written["box_score"].to_pylist() if row["is_team_total"])
    assert sum(points.values()) == field_goals + free_throws


def test_simulate_prints_what_to_export_and_ends_at_ctrl_c() -> None:
    with subprocess.Popen(
        [*COMMAND, "simulate", "--seed", "7", "--teams", "4", "--games", "8"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        assert running.stdout.readline().startswith("#")
        lines = [running.stdout.readline().removeprefix("export ").strip().partition("=") for _ in range(7)]
        exported = {name: value for name, _, value in lines}
        asks = "import sideline; print(len(sideline.Client().teams()['teams']))"
        asked = subprocess.run([sys.executable, "-c", asks], env={**os.environ, **exported}, capture_output=True, text=True, timeout=30)
        assert (asked.stdout, asked.stderr) == ("4\n", "")
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=10)
        assert (running.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [(["--port", "70000"], "port"), (["--now", "2027-03-01T12:00"], "time zone"), (["--teams", "0"], "teams"), (["--now", "soon"], "soon")],
)
def test_what_cannot_be_is_one_line(wrong: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *wrong]) == 1
    text = capsys.readouterr().err
    assert text.startswith("sideline: ")
    assert says in text
    assert text.count("\n") == 1
