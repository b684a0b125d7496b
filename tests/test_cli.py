"""The `sideline` command."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import sideline
from sideline.cli import _parser, main

COMMAND = [sys.executable, "-W", "error", "-m", "sideline"]
COMMANDS = ["demo", "simulate", "sync", "status", "doctor", "record", "journal"]
TABLES = ["games", "sessions", "box_score", "stat_events", "possessions", "shots"]


def test_a_folder_that_cannot_be_made_is_told_before_the_walk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("my notes")
    assert main(["demo", "--out", str(tmp_path / "notes")]) == 1
    out, errors = capsys.readouterr()
    assert out == "" and str(tmp_path / "notes") in errors and errors.count("\n") == 1


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


def test_help_says_what_each_command_does_what_each_option_means_and_where_credentials_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        return capsys.readouterr().out

    whole = " ".join(said("--help").split())
    for word in ("SIDELINE_USERNAME", "SIDELINE_SECRET", "SIDELINE_API_KEY", "sideline doctor", *COMMANDS):
        assert word in whole
    for command in COMMANDS:
        text = said(command, "--help")
        about = text.split("\n\n")[1]
        assert len(about.split()) > 8, command
    assert "Exit status" in said("doctor", "--help")
    [commands] = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    assert set(commands.choices) == set(COMMANDS)
    assert [(name, action.dest) for name, parser in commands.choices.items() for action in parser._actions if not action.help] == []


def test_the_module_and_the_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("sideline")
    texts = [subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=30) for command in (COMMAND, [str(script)])]
    assert texts[0].stdout == texts[1].stdout != ""
    nothing = subprocess.run(COMMAND, capture_output=True, text=True, timeout=30)
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert nothing.stderr.startswith("usage: sideline")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--port", "70000"], "port"),
        (["--now", "2027-03-01T12:00"], "time zone"),
        (["--teams", "0"], "teams"),
        (["--now", "soon"], "soon"),
        (["--seed", "9" * 20], "too large"),
    ],
)
def test_what_cannot_be_is_one_line(wrong: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *wrong]) == 1
    text = capsys.readouterr().err
    assert text.startswith("sideline: ")
    assert says in text
    assert text.count("\n") == 1


def test_an_empty_id_is_told_by_its_own_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, name in (("--game-id", "game_id"), ("--schedule-id", "schedule_id")):
        assert main(["record", option, "", str(tmp_path / "game.journal")]) == 1
        assert capsys.readouterr().err.startswith(f'sideline: {name} "" is not an id')
