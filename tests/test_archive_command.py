"""`sideline sync` as cron runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from archives import contents, different_tables

import sideline

COMMAND = [sys.executable, "-W", "error", "-m", "sideline", "sync"]
FEBRUARY = ["--from", "2027-02-01", "--to", "2027-03-02"]


@pytest.fixture(autouse=True)
def _without_faults(league: sideline.Simulator) -> Iterator[None]:
    yield
    league.faults.clear()


def run(league: sideline.Simulator, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env={**os.environ, **league.environ, **environment}, capture_output=True, text=True, timeout=60)


def test_a_complete_sync_ends_with_0_and_plain_lines(tmp_path: Path, league: sideline.Simulator) -> None:
    tables = ("events", "shots", "stat_events")
    done = run(league, str(tmp_path / "season"), *FEBRUARY, "--tables", ",".join(tables))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{tmp_path}/season: complete; \d+ units, 0 corrections\n", done.stdout)
    assert re.fullmatch(r"sync: [1-9]\d* units to request, about [\d.]+ MB in all\n(sync \d+/\d+, [\d,]+ rows, .*\n)+", done.stderr)
    assert "\r" not in done.stderr
    with league.client() as client:
        direct = sideline.Archive(tmp_path / "direct", client)
        direct.sync(start="2027-02-01", end="2027-03-02", tables=tables)
    assert different_tables(contents(direct, tables), contents(sideline.Archive(tmp_path / "season"), tables)) == []


def test_a_script_reads_json(tmp_path: Path, league: sideline.Simulator) -> None:
    league.faults.add("*/shots", status=403, times=1)
    done = run(league, str(tmp_path / "season"), "--games", league.games[0]["event_id"], "--tables", "shots", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert (report["complete"], report["corrections"], report["unknown_fields"]) == (False, 0, [])
    assert report["units"]["forbidden"] == len(report["holes"]) == 1
    assert report["holes"][0].keys() == {"unit", "status", "error"}


def test_a_warning_is_one_line_without_code(tmp_path: Path, league: sideline.Simulator) -> None:
    league.faults.add("/v1/data/teams", body={"teams": [{**team, "mascot": 1} for team in league.teams]})
    command = [*COMMAND[:1], *COMMAND[3:], str(tmp_path / "season"), *FEBRUARY, "--tables", "teams"]
    done = subprocess.run(command, env={**os.environ, **league.environ}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4
    lines = [line for line in done.stderr.splitlines() if not line.startswith("sync")]
    assert len(lines) == 1 and lines[0].startswith("sideline: teams: the service sent an unknown field: teams[].mascot")


def test_teams_games_and_tables_may_be_chosen(tmp_path: Path, league: sideline.Simulator) -> None:
    team, game = league.teams[0]["id"], league.games[0]["event_id"]
    assert run(league, str(tmp_path / "one"), "--teams", str(team), *FEBRUARY, "--tables", "shots,games").returncode == 0
    archive = sideline.Archive(tmp_path / "one")
    games = archive.scan("games").collect().to_dicts()
    assert all(team in (row["home_team_id"], row["away_team_id"]) for row in games)
    assert set(archive.info().rows) == {"events", "games", "location_windows", "sessions", "shots"}, "without events no game is over"
    assert run(league, str(tmp_path / "two"), "--games", game, "--tables", "events", "--correction-window", "inf").returncode == 0
    assert sideline.Archive(tmp_path / "two").scan("events").collect()["event_id"].to_list() == [game]


def test_an_incomplete_sync_ends_with_3_and_names_its_holes(tmp_path: Path, league: sideline.Simulator) -> None:
    game = league.games[0]["event_id"]
    league.faults.add("*/possessions", status=403)
    done = run(league, str(tmp_path / "season"), "--games", game, "--tables", "possessions")
    assert done.returncode == 3
    first, *holes = done.stdout.splitlines()
    count = len({hole.split()[1] for hole in holes})
    assert f"incomplete, {count} holes" in first
    assert len(holes) == count
    assert all(re.match(r"hole: possessions/\S+ (forbidden|failed): ", hole) for hole in holes)
    league.faults.clear()
    assert run(league, str(tmp_path / "season"), "--games", game, "--tables", "possessions").returncode == 0
    sessions = sideline.Archive(tmp_path / "season").scan("sessions").collect()["session_id"].to_list()
    assert {hole.split()[1] for hole in holes} == {f"possessions/{session}" for session in sessions}


def test_a_secret_that_is_refused_is_one_line_at_once(tmp_path: Path, league: sideline.Simulator) -> None:
    before = len(league.requests)
    done = run(league, str(tmp_path / "season"), *FEBRUARY, SIDELINE_SECRET="not the secret")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"sideline: GET \S+ returned 401: .* SIDELINE_SECRET\)\.?\n", done.stderr), done.stderr
    assert len(league.requests) - before <= 8


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (FEBRUARY, {"SIDELINE_SECRET": ""}, "SIDELINE_SECRET"),
        ([], {}, "give the range: --from"),
        (["--from", "2027-03-02", "--to", "2027-02-01"], {}, "swap them"),
        ([*FEBRUARY, "--tables", "shot"], {}, "no archived table is named shot"),
        ([*FEBRUARY, "--correction-window", "nan"], {}, "'nan' is not a number of days"),
        ([*FEBRUARY, "--correction-window", "1e300"], {}, "'1e300' is not a number of days"),
    ],
)
def test_an_error_is_one_line_and_ends_with_1_or_2(
    tmp_path: Path, league: sideline.Simulator, arguments: list[str], environment: dict[str, str], message: str
) -> None:
    done = run(league, str(tmp_path / "season"), *arguments, **environment)
    assert done.returncode == (1 if environment else 2)
    assert message in done.stderr
    assert done.stderr.startswith("sideline")
    assert done.stderr.count("\n") == 1
    assert league.secret not in done.stderr
    assert not (tmp_path / "season").exists(), "nothing is left behind, a lock neither"


def test_a_second_run_meets_the_lock_and_a_killed_one_leaves_none(tmp_path: Path, league: sideline.Simulator) -> None:
    root = str(tmp_path / "season")
    league.faults.add("*/schedule*", delay=20.0)
    with subprocess.Popen([*COMMAND, root, *FEBRUARY], env={**os.environ, **league.environ}) as first:
        before = len(league.requests)
        while len(league.requests) == before and first.poll() is None:
            time.sleep(0.05)
        second = run(league, root, *FEBRUARY)
        first.send_signal(signal.SIGKILL)
    assert second.returncode == 1
    assert f"another sync of {root} is running" in second.stderr
    league.faults.clear()
    assert run(league, root, *FEBRUARY, "--tables", "teams").returncode == 0


@pytest.mark.parametrize("reader", ["closed", "a pipe without a reader", "full"])
def test_a_broken_standard_error_does_not_end_a_sync(reader: str, tmp_path: Path, league: sideline.Simulator) -> None:
    with broken_error(reader) as options:
        done = subprocess.run(
            [*COMMAND, str(tmp_path / "season"), *FEBRUARY, "--tables", "teams,shots", "--json"],
            env={**os.environ, **league.environ},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            **options,
        )
    report = json.loads(done.stdout)
    assert (done.returncode, report["complete"]) == (0, True)
    assert sideline.Archive(tmp_path / "season").scan("shots").collect().height


@contextmanager
def broken_error(reader: str) -> Iterator[dict[str, Any]]:
    """The options of a process whose standard error cannot be written to."""
    if reader == "closed":
        yield {"preexec_fn": lambda: os.close(2)}
        return
    if reader == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        end, descriptor = os.pipe()
        os.close(end)
    try:
        yield {"stderr": descriptor}
    finally:
        os.close(descriptor)
