"""The archive: what a sync stores, what it requests again, and how it reports what is missing."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import NOW, SEASON, TABLES, WEEKS, WINTER, archive_of, contents, different_tables, ledger, set_quantities, settings, small_season, sorted_rows
from needs import library

import sideline
from sideline.archive import _fetch as fetch, _listing as listing, _pipeline as pipeline, _plan as plan
from test_audit import CONTRADICTIONS, OPERATIONS

deltalake = library("deltalake")
pd = library("pandas")
pl = library("polars")
pa = library("pyarrow")

PER_SESSION = {
    "stats": ("player_stats", "box_score"),
    "stats_details": ("stat_events",),
    "possessions": ("possessions", "possession_events", "possession_players"),
    "shots": ("shots",),
}
PER_GAME = ("play_by_play", "ball_screens")
SOME_TABLES = ("events", "games", "shots", "stat_events")
"""The tables of tests that are about none in particular: the sync of each takes time."""
AUDITED_TABLES = ("events", "player_stats", "stat_events", "possessions", "shots")
STATUSES = {"fetched", "empty", "forbidden", "missing", "unavailable", "failed"}


@pytest.fixture(autouse=True)
def _without_faults(league: sideline.Simulator) -> Iterator[None]:
    yield
    league.faults.clear()


@pytest.fixture(scope="module")
def client(league: sideline.Simulator) -> Iterator[sideline.Client]:
    with league.client(max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory, client: sideline.Client) -> sideline.Archive:
    """An archive of the last weeks: it is read and never written."""
    archive = archive_of(client, tmp_path_factory.mktemp("archives") / "weeks")
    archive.sync(**WEEKS).raise_if_incomplete()
    return archive


def games_of(archive: sideline.Archive) -> dict[str, datetime]:
    """Each game, and when it was over."""
    events = archive.scan("events").filter(pl.col("is_game_event")).collect().to_dicts()
    return {event["game_id"]: event["ended_at"] for event in events}


def test_stored_tables_equal_those_of_the_calls(weeks: sideline.Archive, client: sideline.Client) -> None:
    sessions = weeks.scan("sessions").collect()["session_id"].sort().to_list()
    assert len(sessions) > 20
    for operation in PER_SESSION:
        batch = getattr(client, operation)(sessions)
        for name in PER_SESSION[operation]:
            keys = {"game_id"}  # The plan knows the game; these calls do not.
            assert sorted_rows(weeks.to_arrow(name), keys) == sorted_rows(batch.to_arrow(name), keys), name
    games = sorted(games_of(weeks))
    for operation in ("play_by_play", "ball_screens"):
        assert sorted_rows(weeks.to_arrow(operation)) == sorted_rows(getattr(client, operation)(games).to_arrow())
    assert sorted_rows(weeks.to_arrow("games")) == sorted_rows(client.schedule(**WEEKS).to_arrow())
    assert sorted_rows(weeks.to_arrow("teams")) == sorted_rows(client.teams().to_arrow())
    session_tables = [client.game(game).to_arrow("sessions") for game in games]
    stored_sessions = weeks.scan("sessions").filter(pl.col("game_id").is_not_null()).collect().to_arrow()
    assert sorted_rows(stored_sessions) == sorted_rows(pa.concat_tables(session_tables))


def test_each_session_of_a_game_is_there_once_and_a_practice_has_its_team(weeks: sideline.Archive) -> None:
    sessions = weeks.scan("sessions").collect()
    assert sessions["session_id"].is_unique().all()
    assert sessions.filter(pl.col("game_id").is_null() == pl.col("team_id").is_null()).is_empty()


# Of locations too, which a sync requests only by name.
@pytest.mark.filterwarnings("ignore:.*has no rows of locations")
def test_columns_and_types_are_those_of_the_schemas(weeks: sideline.Archive) -> None:
    for name in TABLES:
        schema = pa.schema(sideline.SCHEMAS[name])
        table = weeks.to_arrow(name)
        assert table.schema.names[: len(schema)] == schema.names, name
        assert table.schema.types[: len(schema)] == schema.types, name
        as_polars = pl.from_arrow(schema.empty_table()).schema
        assert dict(list(weeks.scan(name).collect_schema().items())[: len(schema)]) == dict(as_polars), name
        assert weeks.scan(name).collect().height == table.num_rows
        if name not in ("box_score", "players"):
            assert len(table.schema) == len(schema)
    for name in ("coverage", "corrections"):
        assert weeks.to_arrow(name).schema.names == sideline.SCHEMAS[name].names


def test_the_tables_of_an_archive_are_those_of_these_tests(weeks: sideline.Archive) -> None:
    assert tuple(weeks.changes()) == TABLES


def test_a_second_sync_requests_only_units_that_may_have_changed(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive, tables = archive_of(client, tmp_path), ("events", "shots", "play_by_play")
    archive.sync(**WINTER, tables=tables)
    before = contents(archive, tables)
    request_count = len(league.requests)
    report = archive.sync(**WINTER, tables=tables)
    paths = [request.path.removeprefix("/v1/data") for request in league.requests[request_count:]]
    assert len(paths) == len(set(paths))

    service_time = datetime.fromisoformat(NOW)
    events = archive.scan("events").collect().to_dicts()
    young = {event["event_id"] for event in events if service_time - event["ended_at"] <= timedelta(days=7)}
    sessions = archive.scan("sessions").filter(pl.col("event_id").is_in(young)).collect()["session_id"].to_list()
    games = {event["game_id"] for event in events if event["event_id"] in young} - {None}
    assert 0 < len(young) < len(events) / 4
    assert games
    expected_paths = {*(f"/stats/{session}" for session in sessions), *(f"/games/{game}" for game in games)}
    expected_paths |= {"/teams", "/schedule"} | {f"/teams/{team['id']}" for team in league.teams}
    assert all(any(expected in path for expected in expected_paths) for path in paths)
    teams = len(league.teams)
    assert len(paths) == len(sessions) + len(games) + 2 + teams
    assert report.complete
    assert different_tables(before, contents(archive, tables)) == []
    assert [row["status"] for row in ledger(archive) if row["absent_in"]] == []


def test_a_game_that_continues_is_never_final_and_its_growth_no_correction(tmp_path: Path) -> None:
    with small_season() as service, service.client() as client:
        now = datetime.fromisoformat(NOW)
        [going] = [game["event_id"] for game in service.games if now - timedelta(hours=1) <= datetime.fromtimestamp(game["tipoff_at"] / 1000, UTC) <= now]
        archive, tables = archive_of(client, tmp_path), ("events", "player_stats", "stat_events", "shots")
        archive.sync(**WEEKS, tables=tables)
        units = [row for row in ledger(archive) if row["game_id"] == going and row["operation"] != "schedule"]
        assert len(units) > 3
        assert not any(row["final"] for row in units)
        assert archive.info().unfinished == 1
        first = archive.scan("stat_events").collect().height
        service.play(going, speed=None)
        report = archive.sync(**WEEKS, tables=tables, correction_window=timedelta(0))
        assert next(row["unit"] for row in units if row["operation"] == "stats") in report.coverage.to_polars()["unit"].to_list()
        assert archive.scan("stat_events").collect().height >= first
        assert archive.corrections().num_rows == 0


def test_games_alone_need_no_range(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    game = league.games[0]["event_id"]
    request_count = len(league.requests)
    report = archive.sync(game_ids=[game], tables=["shots"])
    assert {row["operation"] for row in report.coverage.to_dicts()} == {"game", "shots"}
    assert len(league.requests) - request_count == report.coverage.num_rows
    assert set(archive.scan("shots").collect()["session_id"]) == set(client.game(game).to_polars("sessions")["session_id"])


def test_a_sync_of_one_table_is_made_whole_by_a_sync_of_all(tmp_path: Path, weeks: sideline.Archive, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    archive.sync(**WEEKS, tables=["shots"]).raise_if_incomplete()
    with pytest.warns(UserWarning, match="no sync has requested them"):
        assert archive.scan("stat_events").collect().is_empty()
    archive.sync(**WEEKS).raise_if_incomplete()
    assert different_tables(contents(weeks), contents(archive)) == []


FAULTS: list[dict[str, Any]] = [
    {"status": 403, "probability": 0.08},
    {"status": 404, "probability": 0.08},
    {"status": 500, "probability": 0.08},
    {"cut_at": 50, "probability": 0.08},
    {"body": b"{garbage", "probability": 0.06},
    {"status": 429, "probability": 0.01},
]
"""Together more than a third of all requests; a 429 slows the client down."""


def test_under_random_faults_every_unit_ends_once_and_rows_are_those_of_the_fetched(
    tmp_path: Path, weeks: sideline.Archive, league: sideline.Simulator
) -> None:
    client = league.client(max_retries=0)
    archive = archive_of(client, tmp_path)
    for fault in FAULTS:
        league.faults.add("*", **fault)
    report = archive.sync(team_ids=[team["id"] for team in league.teams], **WEEKS, on_error="keep")
    league.faults.clear()
    rows = report.coverage.to_dicts()
    assert len({row["unit"] for row in rows}) == len(rows)
    assert {row["status"] for row in rows} <= STATUSES
    assert {"fetched", "forbidden", "missing", "failed"} <= {row["status"] for row in rows}
    assert not report.complete
    assert len(report.holes) == sum(row["status"] not in ("fetched", "empty", "unavailable") for row in rows)
    with pytest.raises(sideline.IncompleteSync) as excinfo:
        report.raise_if_incomplete()
    assert excinfo.value.report is report

    for operation in [*PER_SESSION, *PER_GAME]:
        key, name = ("session_id", PER_SESSION[operation][0]) if operation in PER_SESSION else ("game_id", operation)
        expected = {row[key]: row["rows"] for row in rows if row["operation"] == operation and row["status"] == "fetched"}
        counts = archive.scan(name).collect()[key].value_counts()
        assert dict(counts.iter_rows()) == expected, operation
    assert {hole["unit"] for hole in archive.info().holes} == {hole["unit"] for hole in report.holes}

    # The next syncs request each hole again, and the rows stored before do not disturb them.
    archive = archive_of(league.client(), tmp_path)
    while not (report := archive.sync(**WEEKS, on_error="keep")).complete:
        pass
    assert archive.info().holes == []
    assert different_tables(contents(weeks), contents(archive)) == ["raw"], "the garbage is kept too"
    assert set(archive.scan("raw").collect()["status"]) == {"stored", "undecodable"}


REFUSAL = {"status": 401, "body": {"message": "HMAC signature does not match"}}


@pytest.mark.parametrize("selection", ["range", "games"])
def test_credentials_that_are_refused_end_a_sync_at_once(tmp_path: Path, league: sideline.Simulator, selection: str) -> None:
    games = [game["event_id"] for game in league.games]
    arguments: dict[str, Any] = dict(SEASON) if selection == "range" else {"game_ids": games * 3}
    before = len(league.requests)
    with league.client(secret="not the secret") as client, pytest.raises(sideline.AuthenticationError, match="SIDELINE_SECRET"):
        archive_of(client, tmp_path).sync(**arguments)
    assert len(league.requests) - before <= 2 * 16, "those that were under way, and whether the teams are refused too"


def test_after_an_error_that_ends_all_no_thread_begins_anything() -> None:
    started_numbers: list[int] = []

    def work(number: int) -> None:
        started_numbers.append(number)
        if number == 1:
            raise KeyError(number)
        time.sleep(0.2)

    with pytest.raises(KeyError):
        list(fetch.map_in_threads(work, range(50), 2))
    assert started_numbers == [0, 1]


def test_credentials_that_are_withdrawn_meanwhile_end_a_sync_and_the_next_resumes(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    month: dict[str, Any] = {**WEEKS, "start": "2027-02-01", "tables": (*SOME_TABLES, "possessions")}
    reference, archive = (archive_of(client, tmp_path / name) for name in ("undisturbed", "season"))
    before = len(league.requests)
    reference.sync(**month).raise_if_incomplete()
    total = len(league.requests) - before
    league.faults.add("*", **REFUSAL, requests_per_second=0.001, burst=total // 2)
    before = len(league.requests)
    with pytest.raises(sideline.AuthenticationError, match="401"):
        archive.sync(**month)
    assert total // 2 < len(league.requests) - before < total // 2 + 48 < total
    league.faults.clear()
    archive.sync(**month).raise_if_incomplete()
    assert different_tables(contents(reference, month["tables"]), contents(archive, month["tables"])) == []


def test_a_service_that_refuses_now_and_then_leaves_holes_and_ends_no_sync(
    tmp_path: Path, weeks: sideline.Archive, league: sideline.Simulator, client: sideline.Client
) -> None:
    league.faults.add("*/shots", **REFUSAL, times=6)
    league.faults.add("/v1/data/teams", **REFUSAL, times=3)
    archive = archive_of(client, tmp_path / "season")
    report = archive.sync(**WEEKS, tables=SOME_TABLES, on_error="keep")
    assert 0 < len(report.holes) <= 7
    archive.sync(**WEEKS, tables=SOME_TABLES)
    for name in SOME_TABLES:
        assert sorted_rows(archive.to_arrow(name)) == sorted_rows(weeks.to_arrow(name)), name


@pytest.mark.parametrize("path", ["*/ballscreens", "*/stats/details", "/v1/data/schedule*"])
def test_a_path_that_a_gateway_refuses_is_a_hole_and_keeps_nothing_else_from_coming(
    tmp_path: Path, league: sideline.Simulator, client: sideline.Client, path: str
) -> None:
    tables = ("games", "shots", "possessions", "stat_events", "ball_screens")
    league.faults.add(path, **REFUSAL)
    report = archive_of(client, tmp_path).sync(**WEEKS, tables=tables, on_error="keep")
    [operation] = {hole["operation"] for hole in report.holes}
    assert operation in {"ball_screens", "stats_details", "schedule"}
    assert all(hole["status"] == "failed" and "AuthenticationError" in hole["error"] for hole in report.holes)
    assert {row["operation"] for row in report.coverage.to_dicts() if row["status"] == "fetched"} >= {"shots", "possessions"}
    league.faults.clear()
    archive_of(client, tmp_path).sync(**WEEKS, tables=tables)


def test_a_unit_that_fails_later_keeps_what_it_had_and_is_requested_again(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    game = league.games[0]["event_id"]
    archive.sync(game_ids=[game], tables=SOME_TABLES)
    before = contents(archive, SOME_TABLES)
    sessions = archive.to_arrow("sessions")["session_id"].to_pylist()
    league.faults.add("*/shots", status=500)
    report = archive.sync(game_ids=[game], tables=SOME_TABLES, correction_window=None, on_error="keep")
    assert sorted(hole["unit"] for hole in report.holes) == sorted(f"shots/{session}" for session in sessions)
    assert {hole["unit"] for hole in archive.info().holes} == {hole["unit"] for hole in report.holes}
    assert before["shots"] == sorted_rows(archive.to_arrow("shots"))
    league.faults.clear()
    request_count = len(league.requests)
    assert archive.sync(game_ids=[game], tables=SOME_TABLES, correction_window=timedelta(0)).complete
    assert [request.path.rpartition("/")[2] for request in league.requests[request_count + 1 :]] == ["shots"] * len(sessions)
    assert different_tables(before, contents(archive, SOME_TABLES)) == []


def test_a_game_that_no_teams_events_have_is_requested_by_its_id(
    tmp_path: Path, weeks: sideline.Archive, league: sideline.Simulator, client: sideline.Client
) -> None:
    archive = archive_of(client, tmp_path)
    league.faults.add("*/events", status=500)
    report = archive.sync(**WEEKS, tables=SOME_TABLES, on_error="keep")
    assert {hole["operation"] for hole in report.holes} == {"team_events"}
    service_time = datetime.fromisoformat(NOW)
    ended_games = {game for game, ended_at in games_of(weeks).items() if ended_at + timedelta(hours=3) <= service_time}
    assert ended_games <= set(games_of(archive))


def test_without_teams_the_schedule_gives_their_names(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    league.faults.add("/v1/data/teams", status=500)
    report = archive.sync(**WINTER, tables=["teams", "shots"], on_error="keep")
    assert [hole["operation"] for hole in report.holes] == ["teams"]
    team_ids = {row["team_id"] for row in report.coverage.to_dicts() if row["operation"] == "team_events"}
    assert team_ids == {team["id"] for team in league.teams}


def test_a_scheduled_game_that_is_nowhere_is_a_hole(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    league.faults.add("*/events", status=200, body=b'{"events": []}')
    league.faults.add("*/games/*", status=404)
    report = archive.sync(**WEEKS, tables=SOME_TABLES, on_error="keep")
    assert {(hole["operation"], hole["status"]) for hole in report.holes} == {("game", "missing")}
    assert {hole["game_id"] for hole in archive.info().holes} == {hole["game_id"] for hole in report.holes}
    assert len(report.holes) > 0


def test_four_readers_find_the_same_sums(weeks: sideline.Archive) -> None:
    for name, column in (("player_stats", "value"), ("shots", "points"), ("box_score", "PTS"), ("stat_events", "x")):
        by_polars = weeks.scan(name).select(pl.col(column).sum()).collect().item()
        [by_duckdb] = weeks.sql(f'select sum("{column}") as total from {name}')["total"]
        by_deltalake = weeks.delta(name).to_pyarrow_table()[column]
        by_pandas = pd.DataFrame(weeks.delta(name).to_pandas())[column].sum()
        by_arrow = sum(value for value in weeks.to_arrow(name)[column].to_pylist() if value is not None)
        assert by_polars == pytest.approx(by_duckdb)
        assert by_polars == pytest.approx(by_pandas)
        assert by_polars == pytest.approx(by_arrow)
        assert by_polars == pytest.approx(sum(value for value in by_deltalake.to_pylist() if value is not None))


def test_it_is_read_offline_and_without_a_client(weeks: sideline.Archive) -> None:
    code = f"""
import sideline
archive = sideline.Archive({weeks._store.root!r})
print(archive.scan("shots").collect().height, archive.sql("select count(*) as rows from shots")["rows"][0], archive.info().games)
archive.sync(start="2026-11-01")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    rows = weeks.to_arrow("shots").num_rows
    assert done.stdout.split() == [str(rows), str(rows), str(len(games_of(weeks)))]
    assert done.stderr.splitlines()[-1] == "ValueError: sync needs a synchronous client: sideline.Archive(root, sideline.Client())"


def test_an_address_is_as_good_as_a_folder(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    game = league.games[0]["event_id"]
    by_address = archive_of(client, (tmp_path / "season").as_uri())
    by_address.sync(game_ids=[game], tables=SOME_TABLES).raise_if_incomplete()
    by_path = sideline.Archive(tmp_path / "season")
    assert by_path.scan("shots").collect().height > 0
    assert repr(by_address) == repr(by_path), "one lock"
    assert different_tables(contents(by_address), contents(by_path)) == []


def test_an_archive_without_a_game_has_all_columns_and_no_row(tmp_path: Path, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path / "nothing")
    archive.sync(start="2001-01-01", end="2001-01-02", tables=["shots"])
    archive = sideline.Archive(tmp_path / "nothing")
    assert [archive.scan(name).collect().height for name in TABLES] == [0] * len(TABLES)
    assert archive.sql("select * from shots").column_names[: len(sideline.SCHEMAS["shots"])] == sideline.SCHEMAS["shots"].names
    assert archive.corrections().num_rows == 0
    assert archive.info().games == 0
    with pytest.raises(ValueError, match="nothing is stored of shots"):
        archive.delta("shots")


def test_compaction_changes_no_row(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    for game in league.games[:3]:
        archive.sync(game_ids=[game["event_id"]], tables=SOME_TABLES)
    before, files = contents(archive, SOME_TABLES), len(archive.delta("stat_events").file_uris())
    archive.compact()
    assert files > 1
    assert len(archive.delta("stat_events").file_uris()) == 1
    assert different_tables(before, contents(archive, SOME_TABLES)) == []


def test_a_schema_that_grew_adds_its_column_and_a_rebuild_fills_it(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    first, second = (game["event_id"] for game in league.games[:2])
    archive.sync(game_ids=[first], tables=["possessions"])
    # As last year's version wrote it.
    table = archive.delta("possessions")
    deltalake.write_deltalake(table, table.to_pyarrow_table().drop_columns("lineup_id"), mode="overwrite", schema_mode="overwrite")
    reader = archive.delta("possessions")
    assert "lineup_id" not in reader.to_pyarrow_table().column_names
    old_rows = archive.scan("possessions").collect()
    assert old_rows["lineup_id"].null_count() == old_rows.height > 0
    archive.sync(game_ids=[second], tables=["possessions"])
    assert reader.to_pyarrow_table().num_rows == old_rows.height
    all_rows = archive.scan("possessions").collect()
    assert 0 < all_rows["lineup_id"].null_count() == old_rows.height < all_rows.height
    archive.rebuild("possessions")
    rebuilt_rows = archive.scan("possessions").collect()
    assert rebuilt_rows["lineup_id"].null_count() == 0
    assert rebuilt_rows.height == all_rows.height


def test_a_rebuilt_table_is_the_same(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    names = ("possessions", "box_score", "play_by_play", "events")
    archive.sync(game_ids=[game["event_id"] for game in league.games[:2]], tables=names)
    before = contents(archive, names)
    for name in names:
        archive.rebuild(name)
        assert before[name]
        assert different_tables(before, contents(archive, names)) == [], name


def test_info_has_rows_games_holes_and_freshness(weeks: sideline.Archive) -> None:
    info = weeks.info()
    assert info.rows["shots"] == weeks.to_arrow("shots").num_rows
    assert info.games == len(games_of(weeks))
    assert info.holes == []
    assert info.fetched_at is not None
    assert datetime.now(UTC) - info.fetched_at < timedelta(minutes=5)
    assert f"games: {info.games}" in repr(info)
    assert weeks._repr_html_().count("<tr>") > len(info.rows)


def test_a_report_shows_its_holes_in_a_notebook(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive, game = archive_of(client, tmp_path), league.games[0]["event_id"]
    assert "sync: complete" in archive.sync(game_ids=[game], tables=["shots"])._repr_html_()
    league.faults.add("*/shots", status=403, body={"errors": [{"code": 403, "message": "<b>no</b>"}]})
    html = archive.sync(game_ids=[game], tables=["shots"], correction_window=None, on_error="keep")._repr_html_()
    sessions = client.game(game).table("sessions").num_rows
    assert f"sync: {sessions} holes" in html
    assert html.count("<li>shots&#x2f;") == sessions
    assert "<b>no" not in html
    report = archive.sync(game_ids=[f"no-{number}" for number in range(12)], on_error="keep")
    assert report._repr_html_().count("<li>game&#x2f;no-") == 10
    assert "and 2 more" in report._repr_html_()


def test_units_are_requested_by_whole_events_so_many_or_so_many_bytes_at_once() -> None:
    events = [[plan.Unit(operation, f"{number}") for operation in ("stats", "shots")] for number in range(500)]
    assert [len(step) for step in pipeline.steps_of(events, lambda _: 1, settings())] == [400, 400, 200]
    sizes = {"stats": settings().max_step_bytes // 8, "shots": 1}
    assert [len(step) for step in pipeline.steps_of(events, lambda unit: sizes[unit.operation], settings())] == [16] * 62 + [8]
    assert list(pipeline.steps_of([], lambda _: 1, settings())) == []


def test_the_size_of_bodies_decides_how_many_are_requested_next_and_small_chunks_make_the_same_archive(
    tmp_path: Path, weeks: sideline.Archive, client: sideline.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_sizes: list[int] = []

    def fetch_and_measure(*arguments: Any) -> Iterator[fetch.Fetched]:
        fetched = list(fetch.fetch(*arguments))
        step_sizes.append(sum(item.size for item in fetched))
        return iter(fetched)

    monkeypatch.setattr("sideline.archive._sync.fetch", fetch_and_measure)
    max_bytes = 250_000
    archive = set_quantities(archive_of(client, tmp_path), max_step_bytes=max_bytes, max_step_units=24)
    archive.sync(**WEEKS).raise_if_incomplete()
    assert len(step_sizes) > 5, step_sizes
    # A step ends with the first unit beyond; the last one of all is what is left.
    assert all(size < 2 * max_bytes for size in step_sizes), step_sizes
    assert different_tables(contents(weeks), contents(archive)) == []


def test_units_are_small_and_the_same_each_time(league: sideline.Simulator, client: sideline.Client) -> None:
    origin = listing.Origin(datetime.now(UTC))
    events = listing.events([client.game(game["event_id"]).raw for game in league.games[:3]], None, origin).events
    units = [unit for event in events for unit in plan.units_within(event, plan.operations(None), origin.fetched_at)]
    assert units == [unit for event in events for unit in plan.units_within(event, plan.operations(None), origin.fetched_at)]
    assert len({unit.name for unit in units}) == len(units) > 20
    assert pickle.loads(pickle.dumps(units)) == units
    assert max(len(pickle.dumps(unit)) for unit in units) < 1000


def test_another_process_has_the_archive_and_none_of_its_keys(tmp_path: Path, weeks: sideline.Archive) -> None:
    archive = pickle.loads(pickle.dumps(sideline.Archive(Path(weeks._store.root), storage_options={"aws_secret_access_key": "canary"})))
    assert archive.to_arrow("shots").num_rows == weeks.to_arrow("shots").num_rows > 0
    assert b"canary" not in pickle.dumps(sideline.Archive(tmp_path, storage_options={"aws_secret_access_key": "canary"}))


@pytest.mark.parametrize("scheme", ["memory", "ftp", "https", "S3"])
def test_an_archive_elsewhere_than_in_a_folder_or_bucket_is_refused(scheme: str) -> None:
    with pytest.raises(ValueError, match=f"cannot be in {scheme}") as excinfo:
        sideline.Archive(f"{scheme}://user:canary@host/season")
    assert "s3://bucket/name" in str(excinfo.value)
    assert "canary" not in str(excinfo.value)


def test_locations_are_available_where_they_are_requested(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    practice = next(event for event in client.team_events(league.teams[0]["id"], **WEEKS)["events"] if event["is_practice_event"])
    start, end = practice["started_at"] - 1, practice["started_at"] + 1
    archive.sync(team_ids=[league.teams[0]["id"]], start=start, end=end, tables=["locations"]).raise_if_incomplete()
    session = practice["results"][0]
    direct = client.locations(session["id"], session["started_at"], session["ended_at"])
    assert archive.scan("locations").filter(session_id=session["id"]).collect().height == direct.table().num_rows > 0


def test_a_time_is_written_as_in_every_call(weeks: sideline.Archive) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for when in (tomorrow, tomorrow.date(), tomorrow.isoformat(), tomorrow.date().isoformat(), int(tomorrow.timestamp() * 1000)):
        assert weeks.as_of(when).scan("shots").collect().height == weeks.info().rows["shots"], when
        assert weeks.corrections(since=when).num_rows == 0
    for when in ("2020-01-01", 1577836800000, "2020-01-01T01:00:00+01:00"):
        assert weeks.as_of(when).when == datetime(2020, 1, 1, tzinfo=UTC)
        assert weeks.as_of(when).scan("shots").collect().is_empty()
    with pytest.raises(ValueError, match="time zone"):
        weeks.as_of("2027-01-01T00:00:00")
    with pytest.raises(TypeError, match="when is an aware datetime"):
        weeks.as_of(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give the range"),
        ({"start": "2026-11-01", "tables": ["shot"]}, "no archived table is named shot"),
        ({"start": "2026-11-01", "on_error": "ignore"}, "on_error"),
        ({"team_ids": [1001], "game_ids": ["a"]}, "not both"),
        ({"game_ids": ["a"], "start": "2026-11-01"}, "not both"),
        ({"game_ids": ["a"], "end": "2026-11-01"}, "not both"),
    ],
)
def test_an_impossible_sync_is_refused(tmp_path: Path, client: sideline.Client, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        archive_of(client, tmp_path).sync(**arguments)
    with pytest.raises(ValueError, match="no archived table is named 'shot'"):
        sideline.Archive(tmp_path).scan("shot")
    with pytest.raises(ValueError, match="time zone"):
        sideline.Archive(tmp_path).as_of(datetime(2027, 1, 1))


@pytest.mark.parametrize("name", [b"shots", 3, None, ["shots", "events"]], ids=repr)
def test_what_is_no_name_of_a_table_is_shown_with_the_names(weeks: sideline.Archive, client: sideline.Client, tmp_path: Path, name: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "scan": lambda: weeks.scan(name),
        "to_arrow": lambda: weeks.to_arrow(name),
        "rebuild": lambda: weeks.rebuild(name),
        "sync": lambda: weeks.sync(start="2027-02-01", end="2027-03-01", tables=[name]),
        "export": lambda: weeks.export(f"duckdb://{tmp_path}/season.duckdb", tables=[name]),
        "export of no list": lambda: weeks.export(f"duckdb://{tmp_path}/season.duckdb", tables=(name if name == 3 else [name])),
        "client.scan": lambda: client.scan(name, game_ids=["a"]),
        "client.plan": lambda: client.plan(name, game_ids=["a"]),
    }
    for call in calls.values():
        with pytest.raises(ValueError, match=re.escape(repr(name)) + ".*; there are .*shots"):
            call()


@pytest.mark.parametrize("query", [b"select 1", 3, None])
def test_a_query_that_is_no_text_is_refused(weeks: sideline.Archive, query: Any) -> None:
    with pytest.raises(TypeError, match="query is one select as text, not"):
        weeks.sql(query)


def test_a_clean_season_has_no_violation_and_a_row_that_is_gone_is_one(
    tmp_path: Path, weeks: sideline.Archive, league: sideline.Simulator, client: sideline.Client
) -> None:
    assert weeks.audit().num_rows == 0
    archive = archive_of(client, tmp_path)
    archive.sync(game_ids=[league.games[0]["event_id"]], tables=AUDITED_TABLES)
    assert archive.audit().num_rows == 0
    archive.delta("shots").delete("points > 2")
    violations = archive.audit().to_dicts()
    assert {row["rule"] for row in violations} == {"shots_match_events"}
    assert set(archive.audit().column_names) == set(sideline.SCHEMAS["violations"].names)


def test_each_rules_contradiction_that_the_service_sends_is_found_in_the_archive(tmp_path: Path) -> None:
    """A session for each rule; the others are clean."""
    first = {rule: alter for alter, (rule, _) in reversed(CONTRADICTIONS.items())}
    with small_season(games=24) as league, league.client() as client:
        games = [game["event_id"] for game in league.games[: len(first)]]
        expected = {}
        for (rule, alter), game in zip(first.items(), games, strict=True):
            event = client.game(game)
            session = event.to_dict()["results"][0]["id"]
            bodies = {name: getattr(client, operation)(session).to_dict() for name, operation in OPERATIONS.items() if name != "sessions"}
            bodies["sessions"] = event.to_dict()
            before = json.loads(json.dumps(bodies))
            alter(bodies)
            paths = {"player_stats": "stats", "stat_events": "stats/details", "possessions": "possessions", "shots": "shots"}
            for name in bodies:
                path = f"/v1/data/games/{game}" if name == "sessions" else f"/v1/data/stats/{session}/{paths[name]}"
                if bodies[name] != before[name]:
                    league.faults.add(path, status=200, body=bodies[name])
            expected[session] = rule
        archive = archive_of(client, tmp_path)
        archive.sync(game_ids=[*games, league.games[len(first)]["event_id"]], tables=AUDITED_TABLES).raise_if_incomplete()
    actual = {(row["session_id"], row["rule"]) for row in archive.audit().to_dicts()}
    assert actual == set(expected.items())


def test_a_service_that_refuses_too_many_gets_as_many_requests_as_it_bears(tmp_path: Path, league: sideline.Simulator) -> None:
    league.faults.add("*", requests_per_second=200, burst=40)
    request_count = len(league.requests)
    with league.client() as client:
        archive_of(client, tmp_path).sync(**SEASON, tables=["player_stats", "stat_events", "possessions", "shots"]).raise_if_incomplete()
    statuses = [request.status for request in league.requests[request_count:]]
    assert len(statuses) > 600
    # The rate is found within the first third. How well it is kept is tested in src/transport/rate, on a simulated clock.
    later = statuses[len(statuses) // 3 :]
    assert later.count(429) <= 0.1 * len(later), (statuses.count(429), len(statuses))


@pytest.mark.parametrize("time", ["2020-01-01", "2020-01-01T00:00:00Z", 1_577_836_800_000, date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)])
def test_as_of_takes_the_times_of_every_call(weeks: sideline.Archive, time: Any) -> None:
    archive = sideline.Archive(weeks._store.root)
    assert archive.as_of(time).scan("shots").collect().is_empty()
    assert archive.corrections(since=time).num_rows == 0


@pytest.mark.parametrize("invalid_time", [datetime(2020, 1, 1), "yesterday", 1.5])
def test_an_invalid_time_is_refused_with_what_to_write(weeks: sideline.Archive, invalid_time: Any) -> None:
    archive = sideline.Archive(weeks._store.root)
    for call in (archive.as_of, archive.corrections):
        with pytest.raises((ValueError, TypeError), match=r"^(when|since) "):
            call(invalid_time)


def test_a_null_in_place_of_a_response_is_requested_again(tmp_path: Path, weeks: sideline.Archive, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path / "season")
    league.faults.add("*/shots", body="null")
    report = archive.sync(**WEEKS, tables=SOME_TABLES, correction_window=timedelta(0), on_error="keep")
    assert {hole["operation"] for hole in report.holes} == {"shots"}
    assert archive.to_arrow("shots").num_rows == 0
    league.faults.clear()
    archive.sync(**WEEKS, tables=SOME_TABLES, correction_window=timedelta(0)).raise_if_incomplete()
    for name in SOME_TABLES:
        assert sorted_rows(archive.to_arrow(name)) == sorted_rows(weeks.to_arrow(name)), name
    assert set(archive.scan("raw").collect()["status"]) == {"stored", "undecodable"}, "of the bodies the nulls are kept too"


def test_an_id_is_the_same_however_it_is_written(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    assert archive.sync(team_ids=["1001", 1001], start="2026-11-01", end="2026-11-08", tables=["events"]).complete
    unit_counts = Counter(
        unit["unit"] for unit in archive.sync(team_ids=["1001", 1001], start="2026-11-01", end="2026-11-08", tables=["events"]).coverage.to_dicts()
    )
    assert unit_counts["team_events/team 1001"] == 1
    [hole] = archive.sync(game_ids=[7, "7"], on_error="keep").holes
    assert (hole["game_id"], hole["status"]) == ("7", "missing")


@pytest.mark.parametrize("window", [True, "7", [7]])
def test_an_invalid_window_is_refused_before_any_request(tmp_path: Path, league: sideline.Simulator, client: sideline.Client, window: Any) -> None:
    request_count = len(league.requests)
    with pytest.raises(TypeError, match=r"correction_window is a timedelta or a number of seconds, not .*: write timedelta\(days=7\)"):
        archive_of(client, tmp_path).sync(start="2026-11-01", correction_window=window)
    assert len(league.requests) == request_count


def test_a_path_that_is_empty_is_not_the_folder_one_is_in() -> None:
    with pytest.raises(ValueError, match="root is '': pass a folder"):
        sideline.Archive("")
    for no_path in (None, b"season", 5):
        with pytest.raises(TypeError, match=f"root is {no_path!r}: pass a folder"):
            sideline.Archive(no_path)  # type: ignore[arg-type] - what the test refuses
    for bucket in ("s3://", "gs:///"):
        with pytest.raises(ValueError, match=f"{bucket} names no bucket"):
            sideline.Archive(bucket)


@pytest.mark.parametrize("address", ["s3:/bucket/season", "S3:bucket/season", "gs:/bucket/season"])
def test_an_address_that_lacks_its_slashes_is_no_folder(address: str) -> None:
    with pytest.raises(ValueError, match=rf'neither a folder nor an address: write "{address[:2].lower()}://bucket/season"'):
        sideline.Archive(address)
    assert sideline.Archive("season: 2026")._store.is_local


def test_a_deleted_table_is_not_an_empty_one(tmp_path: Path, league: sideline.Simulator, client: sideline.Client) -> None:
    archive = archive_of(client, tmp_path)
    archive.sync(game_ids=[league.games[0]["event_id"]], tables=SOME_TABLES)
    rows = archive.to_arrow("shots").num_rows
    shutil.rmtree(tmp_path / "shots")
    for read in (archive.scan, archive.to_arrow, archive.as_of(datetime(2100, 1, 1, tzinfo=UTC)).scan, lambda name: archive.sql(f"from {name}")):
        with pytest.raises(FileNotFoundError, match=r"has no shots, though rows of it were stored: archive.rebuild\('shots'\)"):
            read("shots")
    archive.rebuild("shots")
    assert archive.to_arrow("shots").num_rows == rows > 0
    with pytest.warns(UserWarning, match="no sync has requested them"):
        assert archive.scan("locations").collect().is_empty()


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("2026-11-08", "2026-11-01", "^start 2026-11-08 00:00:00.* is after end 2026-11-01 00:00:00.*: swap them"),
        ("2026-11-08", "2026-11-08", "^start equals end, 2026-11-08 .*: the range is empty; for a whole day, end it with 2026-11-09"),
        (date(2026, 11, 8), 1_700_000_000_000, "swap them"),
        (date(2026, 11, 8), 0, "from 1990 to 2100"),
        ("2027-03-02", None, "^start 2027-03-02 is in the future, .* ends now, 2027-03-01 12:00.*: pass end too"),
    ],
)
def test_a_range_that_holds_nothing_is_refused_before_any_request_or_write(
    tmp_path: Path, league: sideline.Simulator, client: sideline.Client, start: Any, end: Any, message: str
) -> None:
    request_count = len(league.requests)
    with pytest.raises(ValueError, match=message):
        archive_of(client, tmp_path / "season").sync(start=start, end=end)
    assert len(league.requests) == request_count
    assert not (tmp_path / "season").exists()


def test_a_missing_credential_is_reported_before_anything_is_written(tmp_path: Path, league: sideline.Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USERNAME", "SECRET"):
        monkeypatch.delenv(f"SIDELINE_{name}", raising=False)
    for credentials, missing in (({}, "username"), ({"username": "ann"}, "secret")):
        with sideline.Client(base_url=league.base_url, **credentials) as client, pytest.raises(sideline.ConfigurationError, match=f"^{missing} is missing: "):
            archive_of(client, tmp_path / "season").sync(**WEEKS)
        with pytest.raises(sideline.SidelineError, match="closed"):
            archive_of(client, tmp_path / "season").sync(**WEEKS)
    assert not (tmp_path / "season").exists()


@pytest.mark.parametrize("team_ids", ["x", ["1001", "x"], [1.5], 1.5])
def test_an_invalid_team_is_named_before_any_request(tmp_path: Path, league: sideline.Simulator, team_ids: Any) -> None:
    request_count = len(league.requests)
    with pytest.raises((ValueError, TypeError), match="team_ids"), league.client() as client:
        sideline.Archive(tmp_path, client).sync(team_ids=team_ids, start="2026-11-01")
    assert len(league.requests) == request_count


@pytest.mark.skipif("SIDELINE_LONG_TESTS" not in os.environ, reason="takes a minute, and a machine of its own: SIDELINE_LONG_TESTS=1")
@pytest.mark.timeout(300)
def test_a_conference_season_takes_little_longer_than_a_hidden_limit_allows(tmp_path: Path) -> None:
    per_second, burst = 100, 20
    with sideline.Simulator(seed=11, now=NOW) as service, service.client() as client:
        service.faults.add("*", requests_per_second=per_second, burst=burst)
        started_at = time.monotonic()
        archive_of(client, tmp_path).sync(**SEASON).raise_if_incomplete()
        duration = time.monotonic() - started_at
        statuses = Counter(request.status for request in service.requests)
    assert statuses[200] > 5000
    assert statuses[429] < 0.02 * statuses.total(), statuses
    ideal = (statuses[200] - burst) / per_second
    assert duration < 1.3 * ideal, f"{duration:.1f} s, where {ideal:.1f} s are the least"
