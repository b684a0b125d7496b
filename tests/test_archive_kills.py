"""An archive whose syncs are killed or concurrent ends like one of an undisturbed sync."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from archives import HALF, NOW, WEEKS, Commit, Killed, archive_of, around_commits, contents, different_tables, killed_after, small_season, sorted_rows
from needs import library
from service import Request

import sideline
from long_league import LongLeague

pa = library("pyarrow")

RUN = f"""
import sys, sideline
root, start, end, *tables = sys.argv[1:]
from datetime import datetime
clock = lambda: datetime.fromisoformat("{NOW}")
sideline.Archive(root, sideline.Client(), clock=clock).sync(start=start, end=end, tables=tables or None)
"""


@pytest.fixture
def league() -> Iterator[sideline.Simulator]:
    with small_season() as service:
        yield service


@pytest.fixture
def client(league: sideline.Simulator) -> Iterator[sideline.Client]:
    with league.client() as client:
        yield client


def corrections_of(archive: sideline.Archive) -> list[str]:
    return sorted_rows(archive.corrections().to_polars(), {"seen_at"})


SOME_TABLES = ("events", "player_stats", "stat_events")
"""Rows of every kind: several tables of one body, a body with one table, and what a correction changes."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("tables", [pytest.param(SOME_TABLES, id="few"), pytest.param(None, id="all", marks=pytest.mark.extended)])
def test_a_sync_that_ends_after_any_of_its_transactions_resumes_where_it_was(
    tmp_path: Path, league: sideline.Simulator, client: sideline.Client, tables: tuple[str, ...] | None
) -> None:
    """Both syncs: the first of a game, and that which brings its corrections."""
    options: dict[str, Any] = {"game_ids": [game["event_id"] for game in league.games[:1]], "tables": tables}
    [game] = options["game_ids"]
    reference = archive_of(client, tmp_path / "undisturbed")
    with killed_after(None) as counts:
        reference.sync(**options)
    [first], before = counts, contents(reference, tables)
    assert first >= 9

    archives = [archive_of(client, tmp_path / str(number)) for number in range(1, first + 1)]
    for number, archive in enumerate(archives, 1):
        with killed_after(number), pytest.raises(Killed):
            archive.sync(**options)
        archive.sync(**options)
        assert different_tables(before, contents(archive, tables)) == [], number
        assert archive.corrections().num_rows == 0

    start = datetime.now(UTC)
    lines = client.stats(client.game(game).table("sessions").to_dicts()[0]["session_id"]).table("box_score").to_dicts()
    for player in [line["player_id"] for line in lines if not line["is_team_total"]][:3]:
        league.correct(game, player, "AST", 1)
    with killed_after(None) as counts:
        reference.sync(**options, correction_window=None)
    [second], after = counts, contents(reference, tables)
    corrected = corrections_of(reference)
    assert len(corrected) == 3
    assert different_tables(before, after) != []
    for number, archive in zip(itertools.chain(range(1, second + 1), itertools.repeat(None)), archives, strict=False):
        if number is not None:
            with killed_after(number), pytest.raises(Killed):
                archive.sync(**options, correction_window=None)
            # Torn off in the middle, the past is the past.
            rows_then = {name: sorted_rows(archive.as_of(start).to_arrow(name)) for name in ("player_stats", "stat_events")}
            assert different_tables(rows_then, before) == [], number
            # The game is old: only the units that were torn off are requested again.
            archive.sync(**options)
        if number in (None, 1):
            archive.sync(**options, correction_window=None)
        assert different_tables(after, contents(archive, tables)) == [], number
        assert corrections_of(archive) == corrected, number
    assert second <= len(archives)


def test_a_body_that_is_back_when_its_change_was_torn_off_has_its_rows_back(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    game = league.games[0]["event_id"]
    archive = archive_of(client, tmp_path)
    archive.sync(game_ids=[game])
    before = contents(archive)
    sessions = [session["session_id"] for session in client.game(game).table("sessions").to_dicts()]
    old = {session: client.stats(session) for session in sessions}
    player = next(line["player_id"] for line in old[sessions[0]].table("box_score").to_dicts() if not line["is_team_total"])
    league.correct(game, player, "AST", 1)
    # The bodies, four tables, the correction: all but the coverage.
    with killed_after(6), pytest.raises(Killed):
        archive.sync(game_ids=[game], correction_window=None)
    torn_off = archive.corrections().num_rows
    for session, payload in old.items():
        league.faults.add(f"*/stats/{session}/stats", status=200, body=payload.raw)
    archive.sync(game_ids=[game])
    league.faults.clear()
    assert before["player_stats"] == sorted_rows(archive.to_arrow("player_stats"))
    assert before["box_score"] == sorted_rows(archive.to_arrow("box_score"))
    assert torn_off == 1
    # The occurrence and the play are still there, and no box score tells of them any more.
    assert set(archive.corrections()["table"]) == {"stat_events", "play_by_play"}


def killed_and_synced_again(
    root: Path, season: Callable[[], sideline.Simulator], span: dict[str, str], kills: int, max_requests: int, wait: float, tables: Sequence[str] = ()
) -> int:
    """Syncs in a process that is killed at a random request, several times; returns how often it was killed before its end.

    Each has a simulator of its own: to read the log of all the requests again and again would take longer than the syncs."""
    dice, cut_short = random.Random(5), 0
    for _ in range(kills):
        with season() as service:
            last = dice.randrange(1, max_requests)
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", RUN, str(root), span["start"], span["end"], *tables],
                env={**os.environ, **service.environ},
            )
            try:
                while process.poll() is None and len(service.requests) < last:
                    time.sleep(0.05)
                # Rows are stored meanwhile: the kill falls anywhere in that.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(dice.uniform(0.0, wait))
            finally:
                process.kill()
                cut_short += process.wait() == -signal.SIGKILL
    return cut_short


@pytest.mark.timeout(600)
def test_a_process_killed_at_random_loses_nothing_and_stores_nothing_twice(tmp_path: Path, client: sideline.Client) -> None:
    assert killed_and_synced_again(tmp_path / "killed", small_season, WEEKS, 5, 40, 0.2, SOME_TABLES) > 2
    archive = archive_of(client, tmp_path / "killed")
    archive.sync(**WEEKS, tables=SOME_TABLES)
    reference = archive_of(client, tmp_path / "undisturbed")
    reference.sync(**WEEKS, tables=SOME_TABLES)
    assert different_tables(contents(reference, SOME_TABLES), contents(archive, SOME_TABLES)) == []
    assert archive.corrections().num_rows == 0


@pytest.mark.extended
@pytest.mark.timeout(1200)
def test_half_a_conference_season_killed_ten_times_is_the_season(tmp_path: Path) -> None:
    def season() -> sideline.Simulator:
        return sideline.Simulator(seed=11, now=NOW)

    with season() as service, service.client() as client:

        def sync(root: str) -> tuple[sideline.Archive, int]:
            archive, before = archive_of(client, tmp_path / root), len(service.requests)
            archive.sync(**HALF).raise_if_incomplete()
            return archive, len(service.requests) - before

        reference, all_of_it = sync("undisturbed")
        assert all_of_it > 2500
        assert reference.info().games > 100
        assert killed_and_synced_again(tmp_path / "killed", season, HALF, 10, 750, 0.8) > 7
        after_kills, the_rest = sync("killed")
        assert the_rest < 0.8 * all_of_it
        second, what_may_have_changed = sync("killed")
        assert what_may_have_changed < all_of_it / 10
        assert different_tables(contents(reference), contents(second)) == []
        assert after_kills.corrections().num_rows == 0


def all_at_once(calls: list[Callable[[], object]]) -> None:
    failed: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - asserted on in the main thread
            failed.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in failed:
        raise error


def test_three_writers_of_the_same_weeks_make_one_archive(tmp_path: Path, client: sideline.Client) -> None:
    all_at_once([lambda: archive_of(client, tmp_path / "shared").sync(**WEEKS, tables=SOME_TABLES)] * 3)
    reference = archive_of(client, tmp_path / "alone")
    reference.sync(**WEEKS, tables=SOME_TABLES)
    expected, actual = contents(reference, SOME_TABLES), contents(sideline.Archive(tmp_path / "shared"), SOME_TABLES)
    assert different_tables(expected, actual) == []


def test_six_writers_of_different_games_keep_all(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    games = [game["event_id"] for game in league.games[:6]]
    shared = archive_of(client, tmp_path / "shared")
    all_at_once([lambda game=game: shared.sync(game_ids=[game], tables=SOME_TABLES) for game in games])  # type: ignore[misc]
    reference = archive_of(client, tmp_path / "alone")
    reference.sync(game_ids=games, tables=SOME_TABLES)
    assert different_tables(contents(reference, SOME_TABLES), contents(shared, SOME_TABLES)) == []


def test_an_earlier_body_does_not_replace_a_later_one(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    """The slow writer has fetched, and is about to write its rows, when another fetches a correction and stores it."""
    game = league.games[0]["event_id"]
    archive = archive_of(client, tmp_path / "shared")
    player = next(
        line["player_id"]
        for line in client.stats(client.game(game).table("sessions").to_dicts()[0]["session_id"]).table("box_score").to_dicts()
        if not line["is_team_total"]
    )
    meanwhile: list[bool] = []

    def slow(store: Any, table: Any, rows: Any, commit: Commit) -> bool:
        if table.table_uri.rstrip("/").endswith("/player_stats") and not meanwhile:
            meanwhile.append(True)
            league.correct(game, player, "AST", 1)
            archive_of(client, tmp_path / "shared").sync(game_ids=[game])
        return commit()

    with around_commits(slow):
        archive.sync(game_ids=[game])
    assert meanwhile
    fresh = archive_of(client, tmp_path / "fresh")
    fresh.sync(game_ids=[game])
    expected, actual = contents(fresh), contents(archive)
    assert expected.pop("raw") != actual.pop("raw")
    assert different_tables(expected, actual) == []


MAX_SYNC_MB = 350
"""The peak of the processes of a first sync."""

RUN_SEASON = """
import sys, sideline
report = sideline.Archive(sys.argv[1], sideline.Client()).sync(start="2026-09-01", end="2027-03-03", progress=False)
report.raise_if_incomplete()
"""


def peak_until(process: subprocess.Popen[bytes], is_over: Callable[[], bool]) -> int:
    """The most MB that a process and its children had, until it ends or a condition holds; it is killed then."""
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for pid in (process.pid, *children_of(process.pid)):
            with contextlib.suppress(OSError, StopIteration):
                text = Path(f"/proc/{pid}/status").read_text()
                peaks[pid] = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM"))
        if is_over():
            process.kill()
            process.wait()
        time.sleep(0.01)
    return sum(peaks.values()) >> 10


def children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        children = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
        return children + [grandchild for child in children for grandchild in children_of(child)]
    return []


def rows_of_bodies(league: LongLeague, games: int, operation: str, path: str, tables: Sequence[str]) -> dict[str, list[int]]:
    """The rows of the bodies of all sessions, read without an archive."""
    rows: dict[str, list[Any]] = {table: [] for table in tables}
    for index in range(games):
        game_id, *session_ids = (league.of_index(index, key) for key in league.template_ids)
        for session_id in session_ids:
            request = Request("GET", f"/v1/data/stats/{session_id}/{path}", {}, operation, {"id": session_id})
            payload = sideline.Payload.from_bytes(operation, league.respond(request).body, session_id=session_id, game_id=game_id)
            for table in tables:
                rows[table].append(payload.table(table).to_arrow())
    return {table: sorted_rows(pa.concat_tables(parts, promote_options="permissive")) for table, parts in rows.items()}


@pytest.mark.extended
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the peaks")
def test_a_first_sync_killed_in_a_flush_is_completed_within_the_memory_of_a_sync(tmp_path: Path) -> None:
    games, root = 600, tmp_path / "season"
    with LongLeague(games) as league:
        environment = {**os.environ, **league.environ}

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen([sys.executable, "-c", RUN_SEASON, str(root)], env=environment)

        # A flush stores bodies, then their rows, then that they are complete.
        first = start()
        first_peak = peak_until(first, lambda: len(list(root.glob("raw/_delta_log/*.json"))) > 4)
        assert first.returncode == -signal.SIGKILL
        archive = sideline.Archive(root)
        interrupted_units = archive.scan("coverage").filter(status="failed").collect()["unit"]
        assert not interrupted_units.is_empty()
        assert set(interrupted_units) <= set(archive.scan("raw").collect()["unit"])
        second = start()
        second_peak = peak_until(second, lambda: False)
        assert second.returncode == 0
        assert max(first_peak, second_peak) < MAX_SYNC_MB
        operations = {"stats": ("stats", ("player_stats",)), "stats_details": ("stats/details", ("stat_events",)), "shots": ("shots", ("shots",))}
        operations |= {"possessions": ("possessions", ("possessions", "possession_events", "possession_players"))}
        for operation, (path, tables) in operations.items():
            for table, rows in rows_of_bodies(league, games, operation, path, tables).items():
                assert sorted_rows(archive.to_arrow(table)) == rows, table
                assert len(rows) == games * len(league.truth(names=[table])[table])
        assert archive.scan("events").collect().height == games
        assert archive.scan("sessions").collect().height == 2 * games
