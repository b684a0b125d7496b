"""What counts as data for an archive: the second service, whose season is known, breaks one thing at a time."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import TRUE, Commit, Killed, around_commits, rows_of_commit
from needs import ARCHIVE, library, require
from service import NO_DATA, Features, Service, differences, ids_as_text, truncated

import sideline
from sideline.archive._fetch import count_rows
from sideline.archive._plan import Unit, is_settled

WHOLE_SPAN: dict[str, Any] = {"start": "2027-01-15", "end": "2027-04-01"}
SPAN = {**WHOLE_SPAN, "tables": ("events", "shots")}
"""A test syncs the tables that it is about, since each takes its time: these, or more by `span_with`."""
FEW_TABLES = ("events", "sessions", "location_windows", "shots")
"""The tables of their bodies."""


require(*ARCHIVE, extra="archive")
deltalake = library("deltalake")
pl = library("polars")
pa = library("pyarrow")


NOW = "2027-03-01T12:00:00+00:00"
SIZE: dict[str, Any] = {"seed": 3, "teams": 2, "games": 4, "sessions": (2, 2), "possessions": 4, "practices": 1, "days": 20}
SIZE |= {"link_base": "https://service.invalid"}  # of every service, so that its bodies are the same ones
Json = Any

pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(now=NOW, **SIZE) as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path, client: sideline.Client) -> sideline.Archive:
    return sideline.Archive(tmp_path / "season", client)


def season_of(factory: pytest.TempPathFactory, span: dict[str, Any]) -> Path:
    """The folder of an archive of the season: it is copied and never written."""
    folder = factory.mktemp("archives") / "season"
    with Service(now=NOW, **SIZE) as league, sideline.Client(**league.client_options()) as client:
        sideline.Archive(folder, client).sync(**span)
    return folder


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return season_of(tmp_path_factory, SPAN)


@pytest.fixture(scope="module")
def whole_season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return season_of(tmp_path_factory, WHOLE_SPAN)


@pytest.fixture
def synced_season(tmp_path: Path, season: Path) -> None:
    """Makes `archive` that of the season with few tables, by a copy: the same sync in each test takes fifty times as long."""
    shutil.copytree(season, tmp_path / "season")


@pytest.fixture
def whole(tmp_path: Path, whole_season: Path) -> None:
    """Makes `archive` that of the season with all tables, by a copy."""
    shutil.copytree(whole_season, tmp_path / "season")


def span_with(*tables: str) -> dict[str, Any]:
    """The usual tables, and these."""
    return {**SPAN, "tables": (*SPAN["tables"], *tables)}


def rows(table: Any, name: str) -> list[dict[str, Any]]:
    """Rows with the columns of the contract, times in UTC; of players those that are on a roster now."""
    frame = table.filter(pl.col("listed_until").is_null()) if name == "players" else table
    columns = None if name == "box_score" else set(sideline.SCHEMAS[name].names)
    return [
        {key: value.astimezone(UTC) if isinstance(value, datetime) else value for key, value in row.items() if columns is None or key in columns}
        for row in frame.collect().to_dicts()
    ]


def untrue(archive: sideline.Archive, league: Service, names: Iterable[str] = FEW_TABLES) -> dict[str, Any]:
    """Those of the tables that are not the truth, and how they differ."""
    truth = league.truth(names=(compared_names := list(names)))
    differences_by_table = {
        name: differences(rows(archive.scan(name), name), truth[name], columns=None if name == "box_score" else sideline.SCHEMAS[name].names)
        for name in compared_names
    }
    return {name: different for name, different in differences_by_table.items() if different}


def snapshot(archive: sideline.Archive, names: Iterable[str] = FEW_TABLES) -> dict[str, list[str]]:
    return {name: sorted(map(str, rows(archive.scan(name), name))) for name in names}


def sync(archive: sideline.Archive, **options: Any) -> sideline.archive.SyncReport:
    return archive.sync(**{**SPAN, "correction_window": None, "on_error": "keep", **options})


def statuses(archive: sideline.Archive) -> dict[str, str]:
    return {row["unit"]: row["status"] for row in archive.scan("coverage").collect().to_dicts()}


def edit(entries: str, index: int, change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """A body of which one entry is changed."""

    def edit_entry(body: Json) -> Json:
        body[entries][index] = change(body[entries][index])
        return body

    return edit_entry


# 1. Links tell how to reach a resource, not whether it exists.


def test_every_table_is_there_whether_its_link_is_or_not(archive: sideline.Archive, league: Service) -> None:
    report = archive.sync(**WHOLE_SPAN)
    assert untrue(archive, league, TRUE) == {}
    assert archive.scan("possessions").collect().height > 0
    assert report.holes == []


def test_a_resource_that_was_never_linked_and_is_404_is_unavailable_and_no_hole(archive: sideline.Archive, league: Service) -> None:
    span = {**SPAN, "tables": ("play_by_play", "ball_screens")}
    report = archive.sync(**span)
    unavailable = [row for row in report.coverage.to_dicts() if row["status"] == "unavailable"]
    assert {row["operation"] for row in unavailable} == {"play_by_play", "ball_screens"}
    assert archive.info().holes == []
    league.features.play_by_play = league.features.ball_screens = True
    archive.sync(**span, correction_window=None)
    assert untrue(archive, league, ("play_by_play", "ball_screens")) == {}
    assert "unavailable" not in statuses(archive).values()


@pytest.mark.usefixtures("whole")
def test_an_unavailable_resource_is_final_once_its_game_can_no_longer_be_corrected(archive: sideline.Archive, league: Service) -> None:
    league.season.events = [event for event in league.season.events if event.sessions]
    league.season.revision += 1
    league.advance(timedelta(days=40))
    league.requests.clear()
    archive.sync(**span_with("play_by_play"))
    assert league.requests.all("play_by_play") == []


def test_a_linked_resource_that_is_404_is_a_hole_until_it_is_there(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("shots", status=404, times=1)
    [hole] = sync(archive).holes
    assert (hole["operation"], hole["status"]) == ("shots", "missing")
    league.faults.clear()
    archive.sync(**SPAN)
    assert untrue(archive, league) == {}


# 2. A response counts as data only if it has its resource's root.


KINDS = ("empty object", "null", "error document", "gateway document", "null root", "root of null", "other root", "wrapped")
LISTS = ("schedule", "team_events", "roster")


def test_a_200_without_data_is_a_hole_of_its_session_whatever_it_is(archive: sideline.Archive, league: Service) -> None:
    """Each kind is the response for another session."""
    sessions = [session.id for _, session in league.season.sessions()][: len(KINDS)]
    tables, span = ("player_stats", "box_score"), {**SPAN, "tables": ("player_stats",)}
    units = {f"stats/{session}" for session in sessions}
    assert len(units) == len(KINDS)

    def spoil() -> None:
        for session, kind in zip(sessions, KINDS, strict=True):
            league.faults.add("stats", path=f"/{session}/", change=NO_DATA[kind])

    spoil()
    assert {hole["unit"] for hole in sync(archive, **span).holes} == units
    league.faults.clear()
    archive.sync(**span)
    assert untrue(archive, league, tables) == {}
    before = snapshot(archive, tables)
    spoil()
    assert {hole["unit"] for hole in sync(archive, **span).holes} == units
    assert snapshot(archive, tables) == before
    league.faults.clear()
    archive.sync(**span)
    assert (snapshot(archive, tables), archive.info().holes) == (before, [])


@pytest.mark.parametrize(("operation", "kind"), [(operation, kind) for operation in LISTS for kind in ("error document", "null root")])
def test_a_200_without_data_is_a_hole_and_never_replaces_a_row(archive: sideline.Archive, league: Service, operation: str, kind: str) -> None:
    tables = {"roster": ("players", "team", "special_services"), "schedule": ("games",)}.get(operation, FEW_TABLES)
    span = {**SPAN, "tables": [name for name in tables if name in ("players", "games", "events", "shots")]}
    league.faults.add(operation, change=NO_DATA[kind])
    first = sync(archive, **span)
    assert operation in {hole["operation"] for hole in first.holes} or any(hole["unit"].startswith("event/") for hole in first.holes)
    league.faults.clear()
    archive.sync(**span)
    assert untrue(archive, league, tables) == {}
    before = snapshot(archive, tables)
    league.faults.add(operation, change=NO_DATA[kind])
    assert not sync(archive, **span).complete
    assert snapshot(archive, tables) == before
    league.faults.clear()
    archive.sync(**span)
    assert (snapshot(archive, tables), archive.info().holes) == (before, [])


def test_a_body_of_another_team_game_or_session_is_a_hole_and_never_stored(tmp_path: Path) -> None:
    """A hole keeps what is stored, and the next sync requests the body again."""
    with Service(now=NOW, features=Features(play_by_play=True), **SIZE) as league, sideline.Client(**league.client_options()) as client:
        team, other_team = (team.id for team in league.season.teams)
        game, other_game = [game for game in league.season.games if game.sessions][:2]
        session, other_session = game.sessions[0].id, other_game.sessions[0].id
        tables = ("players", "team", "play_by_play", "locations")
        archive = sideline.Archive(tmp_path, client)

        def spoil() -> None:
            league.faults.add("roster", path=f"/teams/{team}$", change=lambda body: {**body, "id": other_team})
            league.faults.add("play_by_play", path=game.id, change_bytes=lambda body: body.replace(game.id.encode(), other_game.id.encode()))
            league.faults.add("locations", path=session, change_bytes=lambda body: body.replace(session.encode(), other_session.encode()))

        span = {"tables": ("players", "play_by_play", "locations")}
        spoil()
        units = {f"roster/{team}", f"play_by_play/{game.id}", f"locations/{session}"}
        assert {hole["unit"] for hole in sync(archive, **span).holes} == units
        league.faults.clear()
        sync(archive, **span)
        assert untrue(archive, league, tables) == {}
        spoil()
        assert {hole["unit"] for hole in sync(archive, **span).holes} == units
        assert untrue(archive, league, tables) == {}


# 3. The league's `Date` and a sequence order bodies, not this machine's clock.


@pytest.mark.usefixtures("whole")
def test_a_machine_whose_clock_was_a_day_ahead_throws_no_newer_body_away(archive: sideline.Archive, league: Service) -> None:
    table = archive.delta("coverage").to_pyarrow_table()
    later = [{**row, "fetched_at": row["fetched_at"] + timedelta(days=1)} for row in table.to_pylist()]
    deltalake.write_deltalake(archive.delta("coverage"), pa.Table.from_pylist(later, table.schema), mode="overwrite")
    assert league.change.correct_stat()
    archive.sync(**span_with("stat_events"), correction_window=None)
    assert untrue(archive, league, (*FEW_TABLES, "stat_events")) == {}


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("date", ["a day behind", "absent"])
def test_a_later_body_counts_whatever_its_date_says(archive: sideline.Archive, league: Service, date: str) -> None:
    assert league.change.correct_stat()
    league.clock_offset = -86_400 if date == "a day behind" else 0
    league.send_date = date != "absent"
    archive.sync(**span_with("stat_events"), correction_window=None)
    assert untrue(archive, league, (*FEW_TABLES, "stat_events")) == {}


# 4. An event's own end never moves the plan's clock.


@pytest.mark.parametrize("end", ["an end to come", "the year 3000", "before its start", "beyond any calendar"])
def test_one_events_end_does_not_close_the_window_of_the_others(archive: sideline.Archive, league: Service, end: str) -> None:
    instant = {"an end to come": 1_806_000_000_000, "the year 3000": 32_503_680_000_000, "before its start": 1, "beyond any calendar": 10**17}[end]

    def set_end(event: Json) -> Json:
        return {**event, "ended_at": instant}

    span = {**SPAN, "tables": ("stat_events",)}
    league.faults.add("team_events", change=edit("events", 0, set_end))
    sync(archive, **span)
    corrected_session = league.season.sessions()[-1][1]
    assert league.change.correct_stat(corrected_session.id)
    report = sync(archive, **span, correction_window=timedelta(days=30))
    assert f"stats_details/{corrected_session.id}" in {row["unit"] for row in report.coverage.to_dicts()}
    assert untrue(archive, league, ("stat_events",)) == {}


def test_a_range_without_an_end_ends_when_it_is_at_the_service(archive: sideline.Archive, league: Service) -> None:
    archive.sync(start="2027-01-15")
    [schedule] = league.requests.all("schedule")
    [end] = schedule.query["to"] if isinstance(schedule.query["to"], list) else [schedule.query["to"]]
    assert int(end) == datetime.fromisoformat(NOW).timestamp() * 1000
    with pytest.raises(ValueError, match="pass end too"):
        archive.sync(start="2027-03-02")


# 5. Absence is recorded.


@pytest.mark.parametrize(
    ("change", "base", "span", "names"),
    [
        *((change, "whole", WHOLE_SPAN, TRUE) for change in ("remove_session", "withdraw_game", "unlist_game")),
        ("reissue_session", "synced_season", SPAN, FEW_TABLES),
    ],
)
def test_a_unit_that_is_no_longer_listed_leaves_the_tables_but_not_the_past(
    request: pytest.FixtureRequest, archive: sideline.Archive, league: Service, change: str, base: str, span: dict[str, Any], names: tuple[str, ...]
) -> None:
    request.getfixturevalue(base)
    before, snapshot_time = snapshot(archive, names), datetime.now(UTC)
    assert league.change.all[change]()
    report = archive.sync(**span)
    assert untrue(archive, league, names) == {}
    withdrawn = {row["unit"] for row in report.coverage.to_dicts() if row["status"] == "withdrawn"}
    assert withdrawn
    assert {unit for unit, status in statuses(archive).items() if status == "withdrawn"} == withdrawn
    corrections = archive.corrections().to_polars().filter(field="status").to_dicts()
    assert {(row["old"], row["new"]) for row in corrections} == {('"fetched"', '"withdrawn"')}
    past = archive.as_of(snapshot_time)
    assert {name: sorted(map(str, rows(past.scan(name), name))) for name in names} == before
    assert archive.sync(**span).corrections.num_rows == 0


def test_a_practice_that_turns_out_to_be_a_game_has_its_rows_once(tmp_path: Path) -> None:
    features = Features(play_by_play=True, ball_screens=True)
    with Service(now=NOW, features=features, **SIZE) as league, sideline.Client(**league.client_options(), max_retries=0) as client:
        practice = league.season.add_practice(league.season.teams[0].id, datetime(2027, 2, 20, 12, tzinfo=UTC))
        archive = sideline.Archive(tmp_path / "season", client)
        span = span_with("games", "play_by_play", "ball_screens")
        archive.sync(**span)
        for kind in ("game", "practice", "game"):
            assert league.change.retype_event(practice.id), kind
            report = archive.sync(**span)
            withdrawn = {row["unit"].partition("/")[0] for row in report.coverage.to_dicts() if row["status"] == "withdrawn"}
            expected = {"team_events"} if kind == "game" else {"game", "schedule", "play_by_play", "ball_screens"}
            assert withdrawn == expected
            assert untrue(archive, league, (*FEW_TABLES, "games")) == {}
            assert archive.changes()["events"].table().num_rows == archive.to_arrow("events").num_rows
            archive.rebuild("events")
            assert untrue(archive, league, (*FEW_TABLES, "games")) == {}


def test_the_hole_of_an_event_that_is_of_another_kind_ends(archive: sideline.Archive, league: Service) -> None:
    """An event is requested by its id, in vain, as the kind that the archive takes it for: a practice that is unknown, and one that is a game now."""
    practice = next(event for event in league.season.events if event.sessions and not event.is_game)
    for kind in ("practice", "game"):
        if kind == "game":
            assert league.change.retype_event(practice.id)
            sync(archive).raise_if_incomplete()
        league.faults.add("game", status=500, body={"status": 500, "message": "broken"})
        report = archive.sync(game_ids=[practice.id], on_error="keep")
        assert [hole["unit"] for hole in report.holes] == [f"game/{practice.id}"]
        league.faults.clear()
        assert sync(archive).holes == [], kind
        assert archive.info().holes == []
        assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_an_event_that_does_not_say_its_kind_is_a_hole_and_changes_nothing(archive: sideline.Archive, league: Service) -> None:
    def silent(event: Json) -> Json:
        return {name: value for name, value in event.items() if name not in ("is_game_event", "is_practice_event", "game_attributes")}

    league.faults.add("team_events", change=lambda body: {**body, "events": [silent(event) for event in body["events"]]})
    before = snapshot(archive)
    holes = [hole for hole in sync(archive).holes if hole["unit"].startswith("event/")]
    assert {hole["unit"] for hole in holes} == {f"event/{event.id}" for event in league.season.events if event.sessions}
    assert {hole["error"] for hole in holes} == {"DecodeError: neither is_game_event nor is_practice_event is true or false"}
    assert snapshot(archive) == before
    league.faults.clear()
    assert sync(archive).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_the_hole_of_an_entry_that_cannot_be_decoded_ends_once_the_list_has_it_in_order(archive: sideline.Archive, league: Service) -> None:
    """Its date is known, and yet the next sync of a list reads its hole."""
    fault = league.faults.add("schedule", change=edit("games", 0, lambda game: {**game, "home_team_id": {}}))
    report = sync(archive, **span_with("games"))
    [hole] = report.holes
    assert hole["unit"].startswith("event/") and "home_team_id" in hole["error"]
    league.faults.remove(fault)
    report = sync(archive, **span_with("games"))
    assert report.complete, report.holes
    assert not archive.info().holes
    assert untrue(archive, league, ("games",)) == {}


@pytest.mark.usefixtures("synced_season")
def test_a_withdrawn_unit_that_is_listed_again_returns(archive: sideline.Archive, league: Service) -> None:
    game = next(event for event in league.season.games if event.sessions)
    league.season.events.remove(game)
    league.season.revision += 1
    archive.sync(**SPAN)
    league.season.events.append(game)
    league.season.revision += 1
    report = archive.sync(**SPAN)
    assert untrue(archive, league) == {}
    assert {row["new"] for row in report.corrections.to_dicts() if row["field"] == "status"} == {'"fetched"'}
    assert "withdrawn" not in statuses(archive).values()


@pytest.mark.usefixtures("synced_season")
@pytest.mark.parametrize("operation", ["schedule", "team_events", "teams"])
def test_a_list_that_is_empty_once_withdraws_nothing_and_twice_it_does(archive: sideline.Archive, league: Service, operation: str) -> None:
    tables, span = (*FEW_TABLES, "games", "teams"), span_with("games", "teams")
    archive.sync(**span)
    before = snapshot(archive, tables)
    root = {"schedule": "games", "team_events": "events", "teams": "teams"}[operation]
    league.faults.add(operation, change=lambda body: {**body, root: []})
    league.faults.add("schedule", change=lambda body: {**body, "games": []})
    report = sync(archive, **span)
    assert snapshot(archive, tables) == before
    assert report.holes
    league.faults.clear()
    assert archive.sync(**span).complete
    assert snapshot(archive, tables) == before
    league.faults.add(operation, change=lambda body: {**body, root: []})
    league.faults.add("schedule", change=lambda body: {**body, "games": []})
    sync(archive, **span)
    assert sync(archive, **span).complete
    empty_table = {"schedule": "games", "team_events": "shots", "teams": "teams"}[operation]
    assert archive.scan(empty_table).collect().is_empty()
    league.faults.clear()
    archive.sync(**span)
    assert untrue(archive, league, tables) == {}


@contextmanager
def another_service(host: str = "127.0.0.1", *, are_teams_known: bool = False) -> Iterator[sideline.Client]:
    """A client of a service with other games, and, if they are not known, other teams."""
    with Service(now=NOW, **SIZE | {"seed": 4, "teams": 2 if are_teams_known else 4}) as other:
        if not are_teams_known:
            other.faults.add("teams", change=lambda body: {"teams": body["teams"][2:]})
        options = other.client_options()
        with sideline.Client(**options | {"base_url": options["base_url"].replace("127.0.0.1", host)}, max_retries=0) as client:
            yield client


def test_lists_without_any_stored_team_withdraw_nothing_before_a_second_sync(tmp_path: Path, archive: sideline.Archive, whole_season: Path) -> None:
    """Those of another key of the service: one sync with it would withdraw everything, and end with 0."""
    shutil.copytree(whole_season, tmp_path / "season")
    before, statuses_before = rows(archive.scan("teams"), "teams"), statuses(archive)
    with another_service() as client:
        other = sideline.Archive(tmp_path / "season", client)
        report = other.sync(**WHOLE_SPAN, on_error="keep")
        assert "it may be another account's" in {row["unit"]: row["error"] for row in report.holes}["teams/11"]
        assert {row["team_id"] for row in before} < {row["team_id"] for row in rows(archive.scan("teams"), "teams")}
        assert "withdrawn" not in {status for unit, status in statuses(archive).items() if unit in statuses_before}
        other.sync(**WHOLE_SPAN, on_error="keep")
    assert {row["team_id"] for row in before}.isdisjoint(row["team_id"] for row in rows(archive.scan("teams"), "teams"))


@pytest.mark.usefixtures("whole")
def test_a_sync_that_requests_no_list_of_teams_withdraws_at_once(archive: sideline.Archive, league: Service) -> None:
    assert league.change.withdraw_game()
    assert archive.sync(**SPAN, team_ids=[team.id for team in league.season.teams]).complete
    assert untrue(archive, league) == {}


@pytest.mark.parametrize("are_teams_known", [True, False])
def test_a_sync_of_another_service_is_refused_and_changes_nothing(
    tmp_path: Path, archive: sideline.Archive, whole_season: Path, *, are_teams_known: bool
) -> None:
    """Such as one with the environment of a trial, whose lists have nothing of the season."""
    shutil.copytree(whole_season, tmp_path / "season")
    before, statuses_before = snapshot(archive, TRUE), statuses(archive)
    with another_service("localhost", are_teams_known=are_teams_known) as client:
        other = sideline.Archive(tmp_path / "season", client)
        with pytest.raises(sideline.ConfigurationError, match=r"synced from 127\.0\.0\.1, and localhost lists none of"):
            other.sync(**WHOLE_SPAN)
    assert (snapshot(archive, TRUE), statuses(archive)) == (before, statuses_before)


@pytest.mark.parametrize("window", [None, timedelta(days=1)], ids=["nothing settled", "most settled"])
@pytest.mark.parametrize("change", ["withdraw_game", "add_game"])
def test_a_service_that_moves_to_another_host_is_the_same_one(tmp_path: Path, league: Service, season: Path, change: str, window: timedelta | None) -> None:
    shutil.copytree(season, tmp_path / "season")
    options = league.client_options()
    assert league.change.all[change]()
    with sideline.Client(**options | {"base_url": options["base_url"].replace("127.0.0.1", "localhost")}) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        assert archive.sync(**SPAN, correction_window=window).complete
        assert untrue(archive, league, FEW_TABLES) == {}


def test_a_service_that_has_moved_and_lists_nothing_withdraws_nothing(tmp_path: Path, league: Service, whole_season: Path) -> None:
    shutil.copytree(whole_season, tmp_path / "season")
    options = league.client_options()
    for operation, entries in (("schedule", "games"), ("team_events", "events"), ("teams", "teams")):
        league.faults.add(operation, change=lambda body, entries=entries: {**body, entries: []})
    with sideline.Client(**options | {"base_url": options["base_url"].replace("127.0.0.1", "localhost")}, max_retries=0) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        assert sync(archive, tables=(*SPAN["tables"], "teams")).holes
        assert untrue(archive, league, (*FEW_TABLES, "teams")) == {}


def test_a_new_team_of_a_service_that_has_moved_has_games_that_no_other_team_has(tmp_path: Path, league: Service, client: sideline.Client) -> None:
    """That none of the stored games is listed says nothing: they are those of another team."""
    first, second = (team.id for team in league.season.teams)
    with league.season.lock:
        for event in [event for event in league.season.events if event.is_game]:
            league.season.events.remove(event)
        practice = league.season.add_practice(second, datetime(2027, 2, 20, 12, tzinfo=UTC))
        league.season.revision += 1
    sideline.Archive(tmp_path / "season", client).sync(**SPAN, team_ids=[first])
    options = league.client_options()
    with sideline.Client(**options | {"base_url": options["base_url"].replace("127.0.0.1", "localhost")}) as later_client:
        archive = sideline.Archive(tmp_path / "season", later_client)
        assert archive.sync(**SPAN, team_ids=[second]).complete
    assert practice.id in {row["game_id"] or row["event_id"] for row in rows(archive.scan("events"), "events")}


@pytest.mark.usefixtures("synced_season")
def test_a_game_that_moved_out_of_the_range_is_not_withdrawn(archive: sideline.Archive, league: Service) -> None:
    game = next(event for event in league.season.games if event.sessions)
    assert league.change.move_game(game.id, timedelta(days=-60))
    report = archive.sync(**SPAN, correction_window=None)
    assert [row["unit"] for row in report.coverage.to_dicts() if row["status"] == "withdrawn"] == []
    assert "shots" not in untrue(archive, league)


def test_a_game_that_moved_out_of_the_range_has_its_new_time(archive: sideline.Archive, league: Service) -> None:
    span = span_with("games")
    sync(archive, **span)
    game = next(event for event in league.season.games if event.sessions)
    assert league.change.move_game(game.id, timedelta(days=-60))
    league.faults.add("schedule", skip=1, times=1, status=404)
    assert [hole["unit"] for hole in sync(archive, **span).holes] == [f"game/{game.id}"]
    assert "games" in untrue(archive, league, span["tables"])
    assert sync(archive, **span).complete
    assert untrue(archive, league, span["tables"]) == {}
    league.requests.clear()
    assert sync(archive, **span).complete
    assert len(league.requests.all("schedule")) == 1


@pytest.mark.parametrize("years", [-57, -37, 74, 7_000])
def test_a_game_that_moved_to_a_time_that_no_range_may_have_is_no_hole(archive: sideline.Archive, league: Service, years: int) -> None:
    span = span_with("games")
    sync(archive, **span)
    game = next(event for event in league.season.games if event.sessions)
    assert league.change.move_game(game.id, timedelta(days=365.25 * years))
    assert sync(archive, **span).complete
    assert {"events", "shots"}.isdisjoint(untrue(archive, league, span["tables"]))


NO_START, FAR_END = {"started_at": None}, {"ended_at": 4_102_444_800_000}


@pytest.mark.parametrize(
    ("kind", "times"),
    [("game", NO_START), ("game", FAR_END), ("game", NO_START | FAR_END), ("practice", NO_START), ("practice", FAR_END)],
    ids=["game without a start", "game until 2100", "game with neither", "practice without a start", "practice until 2100"],
)
def test_an_event_with_odd_times_is_withdrawn_where_its_list_lacks_it(archive: sideline.Archive, league: Service, kind: str, times: dict[str, Any]) -> None:
    event = next(event for event in league.season.events if event.sessions and event.is_game == (kind == "game"))

    def change(body: Json) -> Json:
        for entry in (body, *body.get("events", ()), *body.get("games", ())):
            if entry.get("id") == event.id:
                entry |= times
            elif entry.get("event_id") == event.id and times.keys() & NO_START:
                entry["tipoff_at"] = None
        return body

    for operation in ("schedule", "team_events", "game"):
        league.faults.add(operation, change=change)
    span = span_with("games")
    sync(archive, **span).raise_if_incomplete()
    for other_range in ({"start": "2027-02-27"}, {"end": "2027-01-20"}):
        assert sync(archive, **span | other_range).complete
    assert "withdrawn" not in statuses(archive).values()
    league.season.events.remove(event)
    league.season.revision += 1
    for _ in range(3):
        sync(archive, **span)
    assert archive.info().holes == []
    assert untrue(archive, league, (*FEW_TABLES, "games")) == {}


@pytest.mark.usefixtures("synced_season")
@pytest.mark.parametrize("is_old_game_there", [True, False])
def test_a_session_of_another_game_leaves_it_when_the_new_one_is_synced_by_its_id(
    archive: sideline.Archive, league: Service, *, is_old_game_there: bool
) -> None:
    old, new = [event for event in league.season.games if event.sessions][:2]
    sessions = old.sessions if not is_old_game_there else old.sessions[-1:]
    new.sessions += sessions
    old.sessions = [session for session in old.sessions if session not in sessions]
    league.season.revision += 1
    span = {"game_ids": [new.id], "tables": SPAN["tables"], "on_error": "keep"}
    league.requests.clear()
    report = archive.sync(**span)
    assert {hole["unit"] for hole in report.holes} == (set() if is_old_game_there else {f"game/{old.id}"})
    if is_old_game_there:
        assert untrue(archive, league) == {}
    league.requests.clear()
    assert archive.sync(**span).complete
    assert len(league.requests.all("game")) == 1
    assert sync(archive).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_a_game_that_only_an_unreadable_schedule_could_still_list_is_a_hole(archive: sideline.Archive, league: Service) -> None:
    game = next(event for event in league.season.games if event.sessions)
    before = snapshot(archive)
    assert league.change.withdraw_game(game.id)
    league.faults.add("schedule", status=422)
    report = sync(archive)
    assert f"event/{game.id}" in {hole["unit"] for hole in report.holes}
    assert snapshot(archive) == before
    league.faults.clear()
    assert archive.sync(**SPAN).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_a_unit_that_is_404_after_it_was_fetched_is_a_hole_and_in_the_second_sync_withdrawn(archive: sideline.Archive, league: Service) -> None:
    session = league.season.sessions()[0][1].id
    league.faults.add("shots", path=f"/{session}/", status=404)
    shots = archive.scan("shots").filter(session_id=session)
    assert [hole["unit"] for hole in sync(archive).holes] == [f"shots/{session}"]
    assert shots.collect().height > 0
    assert [hole["unit"] for hole in archive.info().holes] == [f"shots/{session}"]
    report = sync(archive)
    assert report.complete
    assert statuses(archive)[f"shots/{session}"] == "withdrawn"
    assert archive.scan("shots").filter(session_id=session).collect().is_empty()
    league.faults.clear()
    archive.sync(**SPAN)
    assert untrue(archive, league) == {}


@contextmanager
def killed_before_the_account_of(operation: str) -> Iterator[None]:
    """The sync is killed after the rows of these units are stored and before `coverage` records it."""

    def kill(store: Any, table: Any, rows: Any, commit: Commit) -> bool:
        new = rows_of_commit(table, rows)
        if "absent_in" in new.schema.names and any(row["operation"] == operation and row["sequence"] for row in new.to_pylist()):
            raise Killed
        return commit()

    with around_commits(kill), pytest.raises(Killed):
        yield


def test_a_final_unit_whose_storing_was_interrupted_is_requested_again(archive: sideline.Archive, league: Service) -> None:
    """A sync of all games is killed when it has stored the body and not its rows: `coverage` has the body before, which is final."""
    options = span_with("player_stats")
    past = {**options, "correction_window": timedelta(0)}
    sync(archive, **past).raise_if_incomplete()
    assert league.change.correct_stat()

    def commit_and_end(store: Any, table: Any, rows: Any, commit: Commit) -> bool:
        operations = rows_of_commit(table, rows)
        is_body = {"body", "operation"} <= {*operations.schema.names} and "stats" in operations["operation"].to_pylist()
        assert commit()
        if is_body:
            raise Killed
        return True

    with around_commits(commit_and_end), pytest.raises(Killed):
        sync(archive, **options)
    assert untrue(archive, league, ["player_stats"])
    sync(archive, **past).raise_if_incomplete()
    assert untrue(archive, league, ["player_stats"]) == {}


@pytest.fixture
def killed_archive(archive: sideline.Archive) -> sideline.Archive:
    """With rows of shots that `coverage` does not account for."""
    with killed_before_the_account_of("shots"):
        archive.sync(**SPAN)
    assert archive.scan("shots").collect().height > 0
    assert {status for unit, status in statuses(archive).items() if unit.startswith("shots/")} == {"failed"}
    return archive


def test_rows_of_a_sync_that_was_killed_are_not_doubled(killed_archive: sideline.Archive, league: Service) -> None:
    killed_archive.sync(**SPAN).raise_if_incomplete()
    assert untrue(killed_archive, league) == {}


def test_rows_of_a_sync_that_was_killed_go_with_their_session(killed_archive: sideline.Archive, league: Service) -> None:
    session = killed_archive.scan("shots").collect()["session_id"][0]
    assert league.change.remove_session(session)
    killed_archive.sync(**SPAN).raise_if_incomplete()
    assert untrue(killed_archive, league) == {}
    assert statuses(killed_archive)[f"shots/{session}"] == "withdrawn"


def test_rows_of_a_sync_that_was_killed_go_with_their_resource(killed_archive: sideline.Archive, league: Service) -> None:
    """A unit that was never linked and is a 404 is `unavailable`, not a hole; its stored rows must go."""
    session = killed_archive.scan("shots").collect()["session_id"][0]
    league.faults.add("shots", path=f"/{session}/", status=404)
    assert [hole["unit"] for hole in sync(killed_archive).holes] == [f"shots/{session}"]
    assert sync(killed_archive).complete
    assert statuses(killed_archive)[f"shots/{session}"] == "withdrawn"
    assert killed_archive.scan("shots").filter(session_id=session).collect().is_empty()


@pytest.mark.parametrize("times", [{"ended_at": None}, {"started_at": None}, {"started_at": None, "ended_at": None}, {"ended_at": 0}])
def test_locations_that_cannot_be_requested_are_holes_that_say_why(archive: sideline.Archive, league: Service, times: dict[str, Any]) -> None:
    event, session = league.season.sessions()[0]

    def change(body: Json) -> Json:
        for result in body["results"]:
            if result["id"] == session.id:
                result.update(times)
        return body

    league.faults.add("game", change=change)
    game = {"game_ids": [event.id], "on_error": "keep", "tables": ["shots", "locations"]}
    [hole] = [hole for hole in archive.sync(**game).holes if hole["session_id"] == session.id]
    assert (hole["unit"], hole["status"], hole["attempts"]) == (f"locations/{session.id}", "failed", 0)
    assert "locations need a session's start and a later end" in hole["error"]
    # The session has no times twice in a row: its hole stays until it has them.
    assert f"locations/{session.id}" in {hole["unit"] for hole in archive.sync(**game).holes}
    league.faults.clear()
    archive.sync(**game)
    assert statuses(archive)[f"locations/{session.id}"] != "failed"


@pytest.mark.usefixtures("synced_season")
def test_each_unit_knows_when_it_was_last_listed(archive: sideline.Archive, league: Service) -> None:
    league.season.events = [event for event in league.season.events if event.sessions]
    league.season.revision += 1
    # Once more after the correction window, and never again.
    league.advance(timedelta(days=40))
    archive.sync(**SPAN)
    league.advance(timedelta(days=40))
    archive.sync(**SPAN)
    units = archive.scan("coverage").filter(pl.col("session_id").is_not_null()).collect()
    assert units["listed_at"].unique().to_list() == [datetime.fromisoformat(NOW) + timedelta(days=80)]
    assert max(units["served_at"]) == datetime.fromisoformat(NOW) + timedelta(days=40)


def test_an_entry_beyond_the_window_is_written_again_only_when_it_changes(archive: sideline.Archive, league: Service) -> None:
    def entries() -> dict[str, tuple[Any, Any]]:
        entry_rows = archive.scan("coverage").filter(pl.col("unit").str.contains("^(game|schedule)/")).collect()
        return {row["unit"]: (row["fetched_at"], row["listed_at"]) for row in entry_rows.to_dicts()}

    played_ids = {event.id for event in league.season.games if event.sessions}
    league.advance(timedelta(days=40))
    archive.sync(**SPAN, on_error="keep")
    first = entries()
    league.advance(timedelta(days=1))
    forfeit_id, withdrawn_id, *_ = sorted(played_ids)
    league.change.change_status(forfeit_id, "FORFEIT")
    league.season.events = [event for event in league.season.events if event.id != withdrawn_id]
    archive.sync(**SPAN, on_error="keep")
    league.advance(timedelta(days=1))
    archive.sync(**SPAN, on_error="keep")
    last = entries()
    for unit, (fetched_at, listed_at) in first.items():
        name = unit.partition("/")[2]
        if name in played_ids - {withdrawn_id}:
            assert (last[unit][0] == fetched_at) == (unit != f"schedule/{forfeit_id}"), unit
            assert last[unit][1] == listed_at + timedelta(days=2)


@pytest.mark.parametrize(
    "change",
    [
        *({"status": "missing"}, {"final": False}, {"team_id": 2}, {"game_id": None}, {"event_id": "e"}, {"linked": False}),
        *({"teams": [1]}, {"starts_at": None}, {"over_at": None}),
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_entry_whose_row_would_be_another_one_is_written(change: dict[str, Any]) -> None:
    at = datetime(2027, 1, 1, tzinfo=UTC)
    unit = Unit("game", "g", team_id=1, game_id="g", starts_at=at, over_at=at, teams=(1, 2))
    row = {"team_id": 1, "game_id": "g", "event_id": None, "starts_at": at, "over_at": at, "teams": [1, 2]}
    row |= {"status": "fetched", "final": True, "linked": True}
    week = timedelta(days=7)
    assert is_settled(unit, row, at + 2 * week, week)
    assert not is_settled(unit, row | change, at + 2 * week, week)
    assert not is_settled(unit, row, at + week, week)
    assert not is_settled(unit, row, at + 2 * week, None), "a window without an end"


@pytest.mark.parametrize("with_locations", [True, False], ids=["at once", "after a sync without locations"])
def test_positions_are_requested_again_when_their_session_has_other_times(archive: sideline.Archive, league: Service, *, with_locations: bool) -> None:
    """The event of a settled game ends as before, but its first session ended later."""
    span = span_with("locations")
    archive.sync(**span)
    session = league.season.games[0].sessions[0]
    with league.season.lock:
        session.end += 3 * 60_000
        league.season.revision += 1
    if not with_locations:
        archive.sync(**SPAN)
    assert set(untrue(archive, league, ("locations",))) == {"locations"}
    archive.sync(**span)
    assert untrue(archive, league, (*FEW_TABLES, "locations")) == {}
    league.requests.clear()
    archive.sync(**span)
    assert not any(session.id in request.target for request in league.requests.all())


# 6. Ids are compared as the type that tables use.


@pytest.mark.parametrize("operation", ["schedule", "teams", "team_events", "roster", "stats"])
def test_ids_that_are_sent_as_text_change_nothing(archive: sideline.Archive, league: Service, operation: str) -> None:
    extra = {"schedule": ("games",), "teams": ("teams",), "roster": ("players",), "stats": ("player_stats",)}.get(operation, ())
    tables, span = (*FEW_TABLES, *extra), span_with(*extra)
    league.faults.add(operation, change=ids_as_text)
    assert archive.sync(**span).holes == []
    assert untrue(archive, league, tables) == {}
    league.change.add_game()
    archive.sync(**span)
    assert untrue(archive, league, tables) == {}


def test_a_game_that_only_a_schedule_with_text_ids_has_is_a_hole(archive: sideline.Archive, league: Service) -> None:
    game = next(event for event in league.season.games if event.sessions)
    league.faults.add("schedule", change=ids_as_text)
    league.faults.add("team_events", change=lambda body: {"events": [event for event in body["events"] if event["id"] != game.id]})
    league.faults.add("game", status=404)
    assert [hole["unit"] for hole in sync(archive).holes] == [f"game/{game.id}"]


# 7. An event without a list of sessions withdraws none.


@pytest.mark.usefixtures("synced_season")
@pytest.mark.parametrize("results", ["null", "absent", "text"])
def test_an_event_without_its_sessions_is_a_hole_and_keeps_them(archive: sideline.Archive, league: Service, results: str) -> None:
    before = snapshot(archive)

    def without_results(event: Json) -> Json:
        del event["results"]
        return event if results == "absent" else {**event, "results": None if results == "null" else "none"}

    league.faults.add("team_events", change=lambda body: {"events": [without_results(event) if event["is_game_event"] else event for event in body["events"]]})
    game, session = next((event, session) for event, session in league.season.sessions() if event.is_game)
    report = sync(archive)
    assert f"event/{game.id}" in {hole["unit"] for hole in report.holes}
    assert f"shots/{session.id}" in {row["unit"] for row in report.coverage.to_dicts()}
    assert snapshot(archive) == before
    league.faults.clear()
    assert archive.sync(**SPAN).complete
    assert archive.info().holes == []


@pytest.mark.usefixtures("synced_season")
def test_an_event_that_lists_no_session_any_more_loses_them_in_the_second_sync(archive: sideline.Archive, league: Service) -> None:
    before = snapshot(archive)
    game = next(event for event in league.season.games if event.sessions)

    def empty_results(body: Json) -> Json:
        return {"events": [{**event, "results": []} if event["id"] == game.id else event for event in body["events"]]}

    league.faults.add("team_events", change=empty_results)
    assert [hole["unit"] for hole in sync(archive).holes] == [f"event/{game.id}"]
    assert snapshot(archive) == before
    assert sync(archive).complete
    assert archive.scan("shots").filter(game_id=game.id).collect().is_empty()
    assert archive.info().holes == []


@pytest.mark.parametrize(
    "entry",
    [
        {"home_team_id": None, "away_team_id": None},
        {"home_team_id": 998, "away_team_id": 999},
        {"home_team_id": "home"},
        {"tipoff_at": None},
    ],
    ids=str,
)
def test_a_game_that_only_the_schedule_has_is_stored_whatever_its_entry_says(archive: sideline.Archive, league: Service, entry: Json) -> None:
    game = league.season.games[0]
    with league.season.lock:
        game.is_listed = False
        league.season.revision += 1

    def edit_entry(body: Json) -> Json:
        return {"games": [{**row, **entry} if row["event_id"] == game.id else row for row in body["games"]]}

    league.faults.add("schedule", change=edit_entry)
    report = sync(archive, tables=("games", "shots"))
    sessions = [session.id for session in game.sessions]
    assert set(archive.to_arrow("shots")["session_id"].to_pylist()) >= set(sessions)
    is_malformed = entry == {"home_team_id": "home"}
    assert {hole["unit"] for hole in report.holes} == ({f"event/{game.id}"} if is_malformed else set())
    if not is_malformed:
        assert game.id in archive.to_arrow("games")["game_id"].to_pylist()
        # Otherwise it would be in no table of a season.
        league.faults.add("game", path=game.id, status=503)
        assert {hole["unit"] for hole in sync(archive, tables=("games", "shots")).holes} == {f"game/{game.id}"}


def test_a_game_without_teams_is_only_of_the_teams_that_it_has(tmp_path: Path) -> None:
    with Service(now=NOW, **{**SIZE, "teams": 4}) as league, sideline.Client(**league.client_options()) as client:
        game = league.season.games[0]
        others = {team.id for team in league.season.teams} - {game.home_id, game.away_id}
        with league.season.lock:
            game.is_listed = False
            league.season.revision += 1
        league.faults.add("schedule", change=lambda body: {"games": [{**row, "home_team_id": None, "away_team_id": None} for row in body["games"]]})
        for number, teams in enumerate((others, {game.home_id})):
            archive = sideline.Archive(tmp_path / str(number), client)
            sync(archive, team_ids=sorted(teams))
            assert (game.id in archive.to_arrow("shots")["game_id"].to_pylist()) == (teams != others)


@pytest.mark.parametrize("is_stored", [False, True], ids=["new", "stored"])
@pytest.mark.parametrize("team", [0, 1])
@pytest.mark.parametrize("count", [0, 1])
def test_a_session_that_one_of_two_lists_has_is_there(archive: sideline.Archive, league: Service, team: int, count: int, *, is_stored: bool) -> None:
    """Settled or not: the game of the first list is older than the correction window, and not read again."""
    game = league.season.games[0]
    if is_stored:
        archive.sync(**SPAN)

    def edit_entry(body: Json) -> Json:
        return {"events": [{**event, "results": event["results"][:count]} if event["id"] == game.id else event for event in body["events"]]}

    league.faults.add("team_events", path=f"/teams/{league.season.teams[team].id}/events", change=edit_entry)
    for _ in range(3):
        report = archive.sync(**SPAN)
        assert (untrue(archive, league), report.holes) == ({}, [])
    assert not archive.sync(**SPAN).corrections.num_rows
    sessions = [session.id for session in game.sessions]
    league.faults.clear()
    league.faults.add("team_events", change=edit_entry)
    archive.sync(**SPAN, on_error="keep")
    archive.sync(**SPAN, on_error="keep")
    assert {session for session in sessions if session in archive.to_arrow("shots")["session_id"].to_pylist()} == set(sessions[:count])


@pytest.mark.parametrize("is_first", [False, True])
def test_a_session_that_a_list_has_in_one_of_two_versions_of_its_event_is_there(archive: sideline.Archive, league: Service, *, is_first: bool) -> None:
    def repeat(body: Json) -> Json:
        event = {**body["events"][0], "results": []}
        return {"events": [event, *body["events"]] if is_first else [*body["events"], event]}

    league.faults.add("team_events", change=repeat)
    for _ in range(2):
        assert archive.sync(**SPAN).complete
        assert untrue(archive, league) == {}


def test_an_id_of_two_practices_is_a_hole_with_the_sessions_of_both(tmp_path: Path) -> None:
    with Service(now=NOW, **{**SIZE, "practices": 2}) as league, sideline.Client(**league.client_options()) as client:
        archive = sideline.Archive(tmp_path, client)
        first, second = [event for event in league.season.events if not event.is_game]
        assert first.home_id != second.home_id

        def rename(body: Json) -> Json:
            return {"events": [{**event, "id": first.id} if event["id"] == second.id else event for event in body["events"]]}

        league.faults.add("team_events", change=rename)
        for _ in range(2):
            assert [hole["unit"] for hole in archive.sync(**SPAN, on_error="keep").holes] == [f"event/{first.id}"]
            assert set(untrue(archive, league)) == {"events", "sessions", "location_windows"}
        league.faults.clear()
        archive.sync(**SPAN)
        assert untrue(archive, league) == {}


def copy_first(entries: str, change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """A body with a second version of its first entry."""
    return lambda body: {**body, entries: [*body[entries], change(body[entries][0])]}


def repeat_session(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return edit("events", 0, lambda event: {**event, "results": [*event["results"], change(event["results"][0])]})


COPIES = {
    "a game": ("schedule", copy_first("games", lambda game: game)),
    "an event": ("team_events", copy_first("events", lambda event: event)),
    "a session": ("team_events", repeat_session(lambda session: session)),
    "a team": ("teams", copy_first("teams", lambda team: team)),
}
CONTRADICTIONS = {
    "a game": ("schedule", copy_first("games", lambda game: {**game, "status": "FINAL"})),
    "an event": ("team_events", copy_first("events", lambda event: {**event, "started_at": event["started_at"] + 60_000})),
    "a session": ("team_events", repeat_session(lambda session: {**session, "ended_at": session["ended_at"] + 60_000})),
    "a team": ("teams", copy_first("teams", lambda team: {**team, "name": "Another"})),
}


@pytest.mark.parametrize("kind", COPIES)
def test_an_entry_that_a_list_has_twice_counts_once(archive: sideline.Archive, league: Service, client: sideline.Client, kind: str) -> None:
    operation, change = COPIES[kind]
    league.faults.add(operation, change=change)
    tables = (*FEW_TABLES, "games", "teams")
    count = len(league.season.sessions())
    for max_count in (count, count - 1):
        league.requests.clear()
        assert archive.sync(**span_with("games", "teams")).complete
        assert untrue(archive, league, tables) == {}
        assert len(league.requests.all("shots")) <= max_count
    assert len(client.plan("shots", **WHOLE_SPAN)) == count


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_entries_of_one_id_that_differ_are_holes(archive: sideline.Archive, league: Service, kind: str) -> None:
    operation, change = CONTRADICTIONS[kind]
    span = span_with("games", "teams")
    league.faults.add(operation, change=change)
    for _ in range(3):
        report = sync(archive, **span, correction_window=timedelta(0))
        assert [hole["unit"].partition("/")[0] for hole in report.holes] == ["event"]
        for name, key in (("games", "game_id"), ("events", "event_id"), ("sessions", "session_id"), ("teams", "team_id")):
            assert max(Counter(archive.to_arrow(name)[key].to_pylist()).values()) == 1
    league.faults.clear()
    sync(archive, **span).raise_if_incomplete()
    assert untrue(archive, league, (*FEW_TABLES, "games", "teams")) == {}


# 8. A malformed entry is a hole of its own, and the sync continues with the others.

MALFORMED_ENTRIES: dict[str, tuple[str, Callable[[Json], Json]]] = {
    "a session without id": ("team_events", lambda event: {**event, "results": [{"name": "Q1"}, *event["results"]]}),
    "a null session": ("team_events", lambda event: {**event, "results": [None, *event["results"]]}),
    "times as text": ("team_events", lambda event: {**event, "started_at": "noon", "ended_at": "later"}),
    "a sessions time as text": ("team_events", lambda event: {**event, "results": [{**event["results"][0], "started_at": "noon"}, *event["results"][1:]]}),
    "an event id that is no id": ("team_events", lambda event: {**event, "id": "../x y"}),
    "an event that is a number": ("team_events", lambda event: 7),
    "a null event": ("team_events", lambda event: None),
    "a null id in the schedule": ("schedule", lambda game: {**game, "event_id": None}),
    "a game that is text": ("schedule", lambda game: "game"),
    "a tip-off as text": ("schedule", lambda game: {**game, "tipoff_at": "noon"}),
    "a team without id": ("teams", lambda team: {**team, "id": None}),
}


@pytest.mark.parametrize("entry", MALFORMED_ENTRIES)
def test_a_malformed_entry_is_one_hole_and_the_rest_is_stored(archive: sideline.Archive, league: Service, entry: str) -> None:
    operation, change = MALFORMED_ENTRIES[entry]
    extra = {"teams": ("teams",), "schedule": ("games",)}.get(operation, ())
    span = span_with(*extra)
    root = {"team_events": "events", "schedule": "games", "teams": "teams"}[operation]
    league.faults.add(operation, change=edit(root, 0, change))
    report = sync(archive, **span)
    assert report.holes
    assert all(hole["unit"].startswith("event/") and hole["error"] for hole in report.holes), report.holes
    session_count = archive.scan("shots").collect()["session_id"].n_unique()
    assert session_count >= len(league.season.sessions()) - 2
    league.faults.clear()
    archive.sync(**span)
    assert untrue(archive, league, (*FEW_TABLES, *extra)) == {}
    assert archive.info().holes == []


def test_a_session_id_that_is_a_number_is_text_in_every_table(archive: sideline.Archive, league: Service) -> None:
    session = league.season.sessions()[0][1]
    session.id = "5"

    def number_id(body: Json) -> Json:
        for event in body["events"]:
            for result in event["results"]:
                result["id"] = 5 if result["id"] == "5" else result["id"]
        return body

    league.faults.add("team_events", change=number_id)
    archive.sync(**SPAN)
    assert untrue(archive, league) == {}


TIME_CHANGES: dict[str, Callable[[Json], Json]] = {
    "a time in nanoseconds": lambda event: {**event, "occurred_at": event["occurred_at"] * 1_000_000},
    "a time in microseconds": lambda event: {**event, "occurred_at": event["occurred_at"] * 1_000},
    "a far time": lambda event: {**event, "occurred_at": 9 * 10**15},
}


def _first_occurrence(body: Json, change: Callable[[Json], Json]) -> Json:
    stats = body["teams"][0]["player_stats"][0]["stats"]
    code = next(iter(stats))
    stats[code][0] = change(stats[code][0])
    return body


@pytest.mark.parametrize("fault", TIME_CHANGES)
def test_a_time_that_cannot_be_stored_is_one_units_hole(archive: sideline.Archive, league: Service, fault: str) -> None:
    span = {**SPAN, "tables": ("stat_events",)}
    league.faults.add("stats_details", change=lambda body: _first_occurrence(body, TIME_CHANGES[fault]), times=1)
    [hole] = sync(archive, **span).holes
    assert (hole["operation"], hole["status"]) == ("stats_details", "failed")
    assert set(untrue(archive, league, ("stat_events",))) == {"stat_events"}
    archive.sync(**span)
    assert untrue(archive, league, ("stat_events",)) == {}


@pytest.mark.parametrize("code", ["A\x00B", "pts", "Session_ID"])
def test_a_stat_code_that_can_be_no_column_is_one_units_hole(archive: sideline.Archive, league: Service, code: str) -> None:
    def add_code(body: Json) -> Json:
        body["teams"][0]["player_stats"][0]["stats"][code] = 1
        return body

    span = {**SPAN, "tables": ("player_stats",)}
    league.faults.add("stats", change=add_code, times=1)
    [hole] = sync(archive, **span).holes
    assert (hole["operation"], hole["status"]) == ("stats", "failed")
    assert archive.scan("player_stats").collect().height > 0
    archive.sync(**span)
    assert untrue(archive, league, ("player_stats", "box_score")) == {}


def test_a_stat_code_that_is_a_pattern_for_polars_is_a_column_like_any_other(archive: sideline.Archive, league: Service, tmp_path: Path) -> None:
    codes = {"*": 1, "^.*$": 2}

    def with_codes(body: Json) -> Json:
        body["teams"][0]["player_stats"][0]["stats"] |= codes
        return body

    league.faults.add("stats", change=with_codes)
    archive.sync(**span_with("player_stats"))
    columns = archive.to_arrow("box_score").column_names
    assert codes.keys() <= {*columns}
    archive.publish(tmp_path / "release", pseudonyms="a key of the tests")
    frames = [archive.scan("box_score"), archive.scan("box_score", refresh=True, **WHOLE_SPAN), pl.scan_parquet(tmp_path / "release/box_score/*.parquet")]
    for frame in frames:
        rows = frame.collect()
        assert rows.columns == columns
        assert [rows[code].max() for code in codes] == [1, 2]


@pytest.mark.parametrize("is_stored_before", [False, True])
def test_a_stat_code_in_another_case_than_that_of_other_bodies_is_one_units_hole(archive: sideline.Archive, league: Service, is_stored_before: bool) -> None:
    """Delta Lake does not tell the columns `HUSTLE` and `hustle` apart."""

    def with_code(code: str) -> Callable[[Json], Json]:
        return lambda body: json.loads(json.dumps(body).replace('"stats": {', f'"stats": {{"{code}": 1, '))

    (game, first), *_, (_, last) = league.season.sessions()
    span = {**SPAN, "tables": ("player_stats",)}
    league.faults.add("stats", change=with_code("HUSTLE"), path=first.id)
    if is_stored_before:
        archive.sync(game_ids=[game.id], tables=["player_stats"])
    fault = league.faults.add("stats", change=with_code("hustle"), path=last.id)
    [hole] = sync(archive, **span).holes
    assert (hole["unit"], hole["status"]) == (f"stats/{last.id}", "failed")
    assert "'hustle' has the name of the column 'HUSTLE'" in hole["error"]
    assert archive.scan("box_score").collect()["HUSTLE"].sum() > 0
    league.faults.remove(fault)
    assert archive.sync(**span).complete


def test_an_id_that_cannot_be_sent_is_a_hole_of_its_units(archive: sideline.Archive, league: Service) -> None:
    session = league.season.sessions()[0][1]
    invalid_id = "a/../b"
    league.faults.add("team_events", change=lambda body: json.loads(json.dumps(body).replace(session.id, invalid_id)))
    report = sync(archive, tables=["player_stats", "stat_events", "possessions", "shots"])
    assert {hole["unit"] for hole in report.holes} == {f"{operation}/{invalid_id}" for operation in ("stats", "stats_details", "possessions", "shots")}
    others = {session.id for _, session in league.season.sessions()[1:]}
    assert set(archive.scan("stat_events").collect()["session_id"]) == others


# 9. Bodies that could not be decoded are kept.


def test_a_body_that_cannot_be_decoded_is_kept_as_it_is(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("stats_details", change=lambda body: _first_occurrence(body, TIME_CHANGES["a time in nanoseconds"]), times=1)
    [hole] = sync(archive, tables=["stat_events"]).holes
    [raw_row] = archive.scan("raw").filter(status="undecodable").collect().to_dicts()
    assert raw_row["unit"] == hole["unit"]
    assert "000000" in raw_row["body"].decode()
    assert raw_row["body"] not in archive.scan("raw").filter(status="stored").collect()["body"].to_list()


def test_a_rebuild_reads_what_an_earlier_version_could_not(archive: sideline.Archive, league: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_old(unit: Unit, raw: bytes) -> Any:
        if unit.operation == "shots":
            raise sideline.DecodeError("a field of next year")
        return count_rows(unit, raw)

    with monkeypatch.context() as patch:
        patch.setattr("sideline.archive._fetch.count_rows", too_old)
        assert {hole["operation"] for hole in sync(archive).holes} == {"shots"}
    assert archive.scan("shots").collect().is_empty()
    league.requests.clear()
    archive.rebuild("shots")
    assert league.requests.all() == []
    assert untrue(archive, league) == {}
    assert archive.info().holes == []


# 10. Every key that the plan knows is in every table.


@pytest.mark.usefixtures("whole")
def test_every_row_of_a_game_has_its_game_id(archive: sideline.Archive, league: Service) -> None:
    games = archive.scan("sessions").filter(pl.col("game_id").is_not_null()).select("session_id", "game_id").collect()
    for name in ("player_stats", "box_score", "stat_events", "shots", "possessions", "possession_events", "possession_players"):
        joined_rows = archive.scan(name).collect().join(games, on="session_id", suffix="_of_session")
        assert joined_rows.height > 0
        assert (joined_rows["game_id"] == joined_rows["game_id_of_session"]).all(), name


# 11. A folder without an archive is an error, not an empty season.

READS: dict[str, Callable[[sideline.Archive], object]] = {
    "scan": lambda archive: archive.scan("shots"),
    "scan coverage": lambda archive: archive.scan("coverage"),
    "to_arrow": lambda archive: archive.to_arrow("shots"),
    "delta": lambda archive: archive.delta("shots"),
    "sql": lambda archive: archive.sql("select 1"),
    "info": lambda archive: archive.info(),
    "corrections": lambda archive: archive.corrections(),
    "as_of": lambda archive: archive.as_of(date(2027, 1, 1)),
    "audit": lambda archive: archive.audit(),
    "compact": lambda archive: archive.compact(),
    "rebuild": lambda archive: archive.rebuild("shots"),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("has_client", [False, True])
def test_a_folder_that_holds_no_archive_raises_and_is_named(tmp_path: Path, client: sideline.Client, read: str, *, has_client: bool) -> None:
    folder = tmp_path / "mistyped"
    with pytest.raises(FileNotFoundError, match=f"{folder} holds no archive"):
        READS[read](sideline.Archive(folder, client if has_client else None))
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize("read", READS)
def test_a_folder_that_cannot_be_read_is_not_taken_for_one_without_an_archive(tmp_path: Path, read: str) -> None:
    # A link to itself stands for a folder of another user: root could read any.
    folder = tmp_path / "unreadable"
    folder.symlink_to(folder)
    with pytest.raises(OSError, match=str(folder)) as error:
        READS[read](sideline.Archive(folder))
    assert error.value.errno == errno.ELOOP


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("table", [*TRUE, "raw", "coverage"])
def test_a_lost_table_is_never_an_empty_one(archive: sideline.Archive, tmp_path: Path, table: str) -> None:
    shutil.rmtree(tmp_path / "season" / table)
    for read in (archive.to_arrow, archive.scan, archive.files, lambda name: archive.sql(f"from {name}")):
        with pytest.raises(FileNotFoundError, match=rf"has no {table}, though rows of it were stored: (archive.rebuild\('{table}'\) restores|restore)"):
            read(table)


@pytest.mark.usefixtures("synced_season")
@pytest.mark.parametrize("table", ["sessions", "shots", "raw", "coverage"])
def test_a_sync_does_not_begin_a_lost_table_anew(archive: sideline.Archive, league: Service, tmp_path: Path, table: str) -> None:
    """It would have the rows of this sync alone."""
    shutil.copytree(tmp_path / "season" / table, tmp_path / "copy")
    shutil.rmtree(tmp_path / "season" / table)
    league.change.add_game()
    with pytest.raises(FileNotFoundError, match=f"has no {table}, though rows of it were stored"):
        sync(archive)
    if table in ("raw", "coverage"):
        shutil.copytree(tmp_path / "copy", tmp_path / "season" / table)
    else:
        archive.rebuild(table)
    assert sync(archive).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("read", ["as_of", "changes", "rebuild", "players"])
def test_lost_bodies_are_an_error_of_what_reads_them(archive: sideline.Archive, tmp_path: Path, read: str) -> None:
    version = archive.changes().version
    shutil.rmtree(tmp_path / "season" / "raw")
    reads: dict[str, Callable[[], object]] = {
        "as_of": lambda: archive.as_of("2020-01-01").scan("shots"),
        "changes": lambda: [stream.table() for since in (None, version - 1) for stream in archive.changes(since=since).values()],
        "rebuild": lambda: archive.rebuild("shots"),
        "players": archive.players,
    }
    with pytest.raises(FileNotFoundError, match="has no raw, though rows of it were stored: restore it from a copy"):
        reads[read]()
    assert archive.to_arrow("shots").num_rows > 0


@pytest.mark.usefixtures("synced_season")
def test_bodies_from_an_earlier_copy_do_not_hide_a_correction(archive: sideline.Archive, league: Service, tmp_path: Path) -> None:
    """Their numbers are lower than those of the bodies that are accounted for."""
    shutil.copytree(tmp_path / "season" / "raw", tmp_path / "copy")
    [session] = {row["session_id"] for row in archive.to_arrow("shots").slice(0, 1).to_pylist()}
    version = archive.changes().version

    def insert_shot() -> None:
        shots = league.truth(names=("shots",))
        while league.truth(names=("shots",)) == shots:
            league.change.insert_possession(session)

    insert_shot()
    sync(archive)
    shutil.rmtree(tmp_path / "season" / "raw")
    shutil.copytree(tmp_path / "copy", tmp_path / "season" / "raw")
    with pytest.raises(sideline.DecodeError, match=f"has lost bodies of shots/{session}: restore it from a copy"):
        archive.changes(since=version)["shots"].table()
    insert_shot()
    assert sync(archive).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_nothing_is_decoded_again_without_the_last_bodies(archive: sideline.Archive, league: Service, tmp_path: Path) -> None:
    """A rebuild would leave out their rows, and an earlier state would have them."""
    before = datetime.now(UTC)
    league.change.add_game()
    sync(archive)
    rows_before = archive.to_arrow("shots").num_rows
    sorted((tmp_path / "season" / "raw" / "_delta_log").glob("*.json"))[-1].unlink()
    fresh = sideline.Archive(tmp_path / "season", archive._client)
    for read in (lambda: fresh.rebuild("shots"), lambda: fresh.as_of(before).scan("shots")):
        with pytest.raises(sideline.DecodeError, match="has lost bodies of shots/.*: restore it from a copy"):
            read()
    assert fresh.to_arrow("shots").num_rows == rows_before
    assert sync(fresh).complete
    fresh.rebuild("shots")
    assert untrue(fresh, league) == {}


@pytest.mark.usefixtures("synced_season")
@pytest.mark.parametrize("damage", ["an empty commit", "an empty last commit", "a cut commit", "a lost commit"])
@pytest.mark.parametrize("table", ["shots", "coverage"])
def test_a_damaged_log_is_an_error_that_names_the_remedy(archive: sideline.Archive, league: Service, tmp_path: Path, table: str, damage: str) -> None:
    """deltalake takes an empty commit for one that changed nothing: rows are there twice, or not at all."""
    for _ in range(2):
        league.change.add_game()
        sync(archive)
    league.change.add_game()
    shutil.copytree(tmp_path / "season" / table, tmp_path / "copy")
    commits = sorted((tmp_path / "season" / table / "_delta_log").glob("*.json"))
    commit = commits[-1 if damage == "an empty last commit" else -2]
    if damage == "a lost commit":
        commit.unlink()
    else:
        os.truncate(commit, commit.stat().st_size // 2 if damage == "a cut commit" else 0)
    remedy = r"delete this folder, and archive.rebuild\('shots'\) restores" if table == "shots" else "restore coverage from a copy"
    fresh = sideline.Archive(tmp_path / "season")
    for read in (fresh.to_arrow, fresh.scan, lambda name: fresh.sql(f"from {name}"), lambda _: sync(archive)):
        with pytest.raises(sideline.DecodeError, match=rf"the log of .*{table} is damaged \([^\n]*\): {remedy}"):
            read(table)
    shutil.rmtree(tmp_path / "season" / table)
    if table == "shots":
        fresh.rebuild("shots")
    else:
        shutil.copytree(tmp_path / "copy", tmp_path / "season" / table)
    assert sync(archive).complete
    assert untrue(archive, league) == {}


@pytest.mark.usefixtures("synced_season")
def test_a_lost_last_commit_is_an_error_until_a_rebuild(archive: sideline.Archive, league: Service, tmp_path: Path) -> None:
    """Nothing in the log says that there was one, and the rows of the last sync would be gone."""
    league.change.add_game()
    sync(archive)
    sorted((tmp_path / "season" / "shots" / "_delta_log").glob("*.json"))[-1].unlink()
    sync(archive, tables=["teams"])
    league.change.add_game()
    fresh = sideline.Archive(tmp_path / "season", archive._client)
    for read in (fresh.to_arrow, fresh.scan, lambda name: fresh.sql(f"from {name}"), lambda _: fresh.info(), lambda _: sync(fresh)):
        with pytest.raises(sideline.DecodeError, match=r"the log of .*shots is damaged \(its last commits are missing\): .*archive.rebuild\('shots'\)"):
            read("shots")
    shutil.rmtree(tmp_path / "season" / "shots")
    fresh.rebuild("shots")
    assert sideline.Archive(tmp_path / "season").to_arrow("shots").num_rows == fresh.info().rows["shots"]
    assert sync(fresh).complete
    fresh.compact()
    fresh.vacuum()
    assert untrue(sideline.Archive(tmp_path / "season"), league) == {}


@pytest.mark.usefixtures("synced_season")
def test_lost_corrections_are_an_error_until_they_are_restored(archive: sideline.Archive, league: Service, tmp_path: Path) -> None:
    assert archive.corrections().num_rows == 0
    for _ in range(2):
        league.change.correct_stat()
    assert sync(archive, correction_window=None).corrections.num_rows
    corrections = archive.corrections().to_dicts()
    shutil.move(tmp_path / "season" / "corrections", tmp_path / "copy")
    fresh = sideline.Archive(tmp_path / "season", archive._client)
    for read in (
        fresh.corrections,
        lambda: fresh.to_arrow("corrections"),
        lambda: fresh.sql("from corrections"),
        fresh.info,
        fresh.report,
        lambda: sync(fresh),
    ):
        with pytest.raises(FileNotFoundError, match="has no corrections, though rows of it were stored: restore corrections from a copy"):
            read()
    fresh.rebuild("shots")
    shutil.copytree(tmp_path / "copy", tmp_path / "season" / "corrections")
    assert sync(fresh).complete
    assert fresh.corrections().to_dicts() == corrections != []


@pytest.mark.usefixtures("synced_season")
def test_an_entry_of_a_log_that_another_process_removes_meanwhile_is_no_loss(archive: sideline.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_before = archive.to_arrow("shots").num_rows
    names_of = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: [*names_of(path), f"{99:020}.json"])
    assert archive.to_arrow("shots").num_rows == rows_before > 0


def test_a_file_is_no_archive(tmp_path: Path, client: sideline.Client) -> None:
    (tmp_path / "file").touch()
    archive = sideline.Archive(tmp_path / "file", client)
    for work in (archive.info, lambda: archive.to_arrow("shots"), lambda: archive.sync(**SPAN)):
        with pytest.raises(OSError, match="file"):
            work()


@pytest.mark.parametrize("name", ["season=2027", "a b", "50%", "{a}", "é'#;&", *([] if sys.platform == "win32" else ['a?b*c"'])])
def test_an_archive_can_be_in_a_folder_of_any_usual_name(league: Service, client: sideline.Client, season: Path, tmp_path: Path, name: str) -> None:
    archive = sideline.Archive(shutil.copytree(season, tmp_path / name), client)
    league.change.insert_possession()
    assert sync(archive).complete
    archive.compact()
    archive.rebuild("shots")
    assert untrue(archive, league) == {}
    [session] = {row["session_id"] for row in archive.to_arrow("shots").slice(0, 1).to_pylist()}
    of_session = archive.to_arrow("shots")["session_id"].to_pylist().count(session)
    for frame in (archive.scan("shots"), archive.as_of("2100-01-01").scan("shots"), archive.scan("shots", refresh=True, **WHOLE_SPAN)):
        assert frame.filter(pl.col("session_id") == session).select(pl.len()).collect().item() == of_session > 0


@pytest.mark.parametrize("name", ["season [2027]", "a^b", "a|b", "a%20b", "a\nb", *([] if sys.platform == "win32" else ["a\\b"])])
def test_a_folder_whose_name_delta_lake_takes_for_another_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"^an archive cannot be in .*, because Delta Lake cannot write to a path with '.*': choose another folder$"):
        sideline.Archive(tmp_path / name)


def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    # What a command gets of "\xe9t\xe9" where the locale is UTF-8, and of "été" where it has no letters but ASCII.
    with pytest.raises(ValueError, match=r"^an archive cannot be in '.*\\udce9t\\udce9', because Delta Lake cannot write to a path with '\\udce9'"):
        sideline.Archive(tmp_path / os.fsdecode(b"\xe9t\xe9"))


def test_an_archive_of_nothing_reads_as_empty(archive: sideline.Archive) -> None:
    archive.sync(start="2001-01-01", end="2001-01-02", tables=["shots"])
    for read in ("scan", "scan coverage", "to_arrow", "sql", "info", "corrections", "as_of", "audit", "compact", "rebuild"):
        READS[read](archive)
    assert archive.scan("shots").collect().is_empty()


@pytest.mark.parametrize("status", [404, 422, 500])
def test_a_mistyped_team_or_secret_leaves_nothing_behind(archive: sideline.Archive, league: Service, tmp_path: Path, status: int) -> None:
    # The specification has no 404 for a team's events.
    league.faults.add("team_events", path="/9999", status=status)
    report = sync(archive, team_ids=[9999])
    assert {hole["operation"] for hole in report.holes} == {"team_events"}
    assert not (tmp_path / "season").exists()
    with (
        sideline.Client(**{**league.client_options(), "secret": "wrong"}) as client,
        pytest.raises(sideline.AuthenticationError),
    ):
        sideline.Archive(tmp_path / "season", client).sync(**SPAN)
    assert not (tmp_path / "season").exists()
    team_id = league.season.teams[0].id
    report = sync(archive, team_ids=[9999, team_id])
    assert {hole["team_id"] for hole in report.holes} == {9999}
    for game_id in ("no-such-game", "no/game"):
        [game] = archive.sync(game_ids=[game_id], tables=SPAN["tables"], on_error="keep").holes
        assert game["unit"] == f"game/{game_id}"
    assert archive.info().holes == [], "a hole that no sync could close"


def test_the_hole_of_a_team_that_the_archive_has_stays(archive: sideline.Archive, league: Service) -> None:
    teams = [team.id for team in league.season.teams]
    assert sync(archive).complete
    league.faults.add("teams", change=lambda body: {"teams": [team for team in body["teams"] if team["id"] != teams[0]]})
    league.faults.add("team_events", path=f"/{teams[0]}", status=500)
    assert not sync(archive, team_ids=teams).complete
    assert [hole["team_id"] for hole in archive.info().holes if hole["operation"] == "team_events"] == [teams[0]]


def test_the_hole_of_a_team_is_closed_by_the_list_of_teams(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("team_events", path="/9999", status=500)
    league.faults.add("teams", status=500, times=9)
    assert not sync(archive, team_ids=[9999, league.season.teams[0].id]).complete
    league.faults.clear()
    assert sync(archive).complete
    assert archive.info().holes == []


# 12. One schema of coverage.


def test_coverage_has_the_same_columns_everywhere(archive: sideline.Archive) -> None:
    report = archive.sync(**SPAN)
    names = sideline.SCHEMAS["coverage"].names
    assert report.coverage.column_names == names
    assert archive.scan("coverage").collect_schema().names() == names
    assert archive.to_arrow("coverage").column_names == names
    assert archive.sql("from coverage").column_names == names
    assert names[-3:] == ["unit", "served_at", "listed_at"]
    assert set(archive.info().holes[0] if archive.info().holes else names) == set(names)


# 13. A report knows the fields that no table knows.


def test_unknown_fields_are_in_the_report_of_the_sync_that_met_them(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("shots", change=lambda body: {**body, "mascot": "owl"})
    with pytest.warns(sideline.SchemaDriftWarning):
        report = archive.sync(**SPAN)
    [field] = report.drift.to_dicts()
    assert (field["operation"], field["count"]) == ("shots", len(league.season.sessions()))
    assert "1 unknown field" in repr(report)
    league.faults.clear()
    assert archive.sync(**SPAN, correction_window=None).drift.num_rows == 0


def test_the_command_ends_with_4_for_unknown_fields_and_3_for_holes(tmp_path: Path, league: Service) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "sideline",
            "sync",
            str(tmp_path / "season"),
            "--from",
            SPAN["start"],
            "--to",
            SPAN["end"],
            "--tables",
            "player_stats,shots",
        ]
        return subprocess.run([*command, *more], env={**os.environ, **league.environ}, capture_output=True, text=True, timeout=60)

    league.faults.add("shots", change=lambda body: {**body, "mascot": "owl"})
    done = run()
    assert (done.returncode, done.stdout.count("unknown field: shots")) == (4, 1), done.stderr
    assert run("--allow-drift", "--correction-window", "inf").returncode == 0
    league.faults.add("stats", status=500)
    assert run("--correction-window", "inf").returncode == 3


def test_a_command_that_stored_nothing_leaves_no_lock_and_no_folder(tmp_path: Path, league: Service) -> None:
    root = tmp_path / "new" / "season"
    command = [sys.executable, "-m", "sideline", "sync", str(root), "--from", SPAN["start"], "--to", SPAN["end"]]
    environment = {**os.environ, **league.environ, "SIDELINE_SECRET": "wrong"}
    assert subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode == 1
    assert not root.parent.exists()


# 14. A simulator's season is its archive's time.


def test_a_simulators_season_is_the_time_by_which_its_archive_plans(tmp_path: Path) -> None:
    with sideline.Simulator(seed=7, teams=4, games=12, now="2027-03-01T12:00:00Z") as simulator, simulator.client() as client:
        archive = sideline.Archive(tmp_path, client)
        game = simulator.games[0]["event_id"]
        archive.sync(game_ids=[game])
        player = client.game_stats_details(game).table().to_dicts()[-1]["player_id"]
        simulator.correct(game, player, "REB", 1)
        report = archive.sync(game_ids=[game], correction_window=None)
        assert [row["field"] for row in report.corrections.to_dicts()] == ["value"]
        before = len(simulator.requests)
        archive.sync(game_ids=[game], correction_window=timedelta(days=1))
        assert len(simulator.requests) == before + 1, "the game was over for months"


# 15. Corrections of games and possessions.


@pytest.mark.usefixtures("whole")
def test_a_games_change_of_status_or_time_is_a_correction(archive: sideline.Archive, league: Service) -> None:
    game = next(event for event in league.season.games if event.sessions)
    league.change.change_status(game.id, "FINAL")
    upcoming = next(event for event in league.season.games if not event.sessions)
    league.change.move_game(upcoming.id, timedelta(hours=1))
    archive.sync(**span_with("games"))
    corrections = archive.corrections().to_polars().filter(table="games").to_dicts()
    assert {(row["game_id"], row["field"]) for row in corrections} == {(game.id, "status"), (upcoming.id, "tipoff_at")}
    assert [row["new"] for row in corrections if row["field"] == "status"] == ['"FINAL"']


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("change", ["insert_possession", "remove_possession"])
def test_a_possession_that_comes_or_goes_is_one_correction(archive: sideline.Archive, league: Service, change: str) -> None:
    assert league.change.all[change]()
    report = archive.sync(**WHOLE_SPAN, correction_window=None)
    counts = Counter((row["table"], row["field"]) for row in report.corrections.to_dicts())
    assert counts["possessions", "row"] == 1
    assert not [key for key in counts if key[0] in ("possessions", "possession_events") and key != ("possessions", "row")]
    assert untrue(archive, league, TRUE) == {}


# 16. Several syncs at once.


def test_three_first_syncs_at_once_store_each_body_once(tmp_path: Path, league: Service) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with sideline.Client(**league.client_options()) as client:
                sideline.Archive(tmp_path / "season", client).sync(**SPAN)
        except BaseException as error:  # noqa: BLE001 - asserted on in the main thread
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    archive = sideline.Archive(tmp_path / "season")
    units = archive.scan("raw").collect()["unit"]
    assert units.n_unique() == len(units)
    assert untrue(archive, league) == {}
    assert archive.corrections().num_rows == 0


# 17. Who played for whom, and when.


@pytest.mark.usefixtures("whole")
def test_a_traded_players_earlier_rows_join_to_him(archive: sideline.Archive, league: Service) -> None:
    stats = archive.scan("player_stats").filter(~pl.col("is_team_total")).collect()
    player, team = stats.select("player_id", "team_id").row(0)
    other = next(other_team.id for other_team in league.season.teams if other_team.id != team)
    league.advance(timedelta(days=1))
    assert league.change.trade_player(player, other)
    archive.sync(**span_with("players", "player_stats"))
    assert untrue(archive, league, (*FEW_TABLES, "players", "player_stats")) == {}
    players = archive.scan("players").filter(player_id=player).collect()
    assert {row["team_id"]: (row["listed_from"], row["listed_until"]) for row in players.to_dicts()} == {
        team: (datetime.fromisoformat(NOW), datetime.fromisoformat(NOW) + timedelta(days=1)),
        other: (datetime.fromisoformat(NOW) + timedelta(days=1), None),
    }
    assert stats.join(archive.scan("players").collect(), on=["team_id", "player_id"], how="anti").is_empty()
    archive.rebuild("players")
    assert archive.scan("players").filter(player_id=player).collect().sort("team_id").equals(players.sort("team_id"))


# What ends a sync, and what does not.


def test_a_sync_raises_by_default_once_the_rest_is_stored(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("shots", status=500, times=1)
    with pytest.raises(sideline.IncompleteSync, match=r"1 of \d+ units are missing: shots/") as excinfo:
        archive.sync(**SPAN)
    report = excinfo.value.report
    assert report is not None
    assert [hole["operation"] for hole in report.holes] == ["shots"]
    assert set(untrue(archive, league)) == {"shots"}


def test_a_service_that_cannot_be_reached_ends_a_sync_and_stores_nothing(tmp_path: Path, league: Service) -> None:
    options = {**league.client_options(), "base_url": "http://127.0.0.1:9"}
    with sideline.Client(**options, max_retries=0) as client, pytest.raises(sideline.ConnectError):
        sideline.Archive(tmp_path / "season", client).sync(**SPAN)
    assert not (tmp_path / "season").exists()


def test_a_service_that_is_gone_when_an_end_of_the_range_is_requested_ends_a_sync(tmp_path: Path) -> None:
    with Service(now=NOW, **SIZE) as league, sideline.Client(**league.client_options(), max_retries=1) as client:
        game = next(event for event in league.season.games if event.sessions)
        game.tipoff = game.start - 600_000

        def stop(_: Any) -> bool:
            is_around = len(league.requests.all("schedule")) > 1
            if is_around:
                threading.Thread(target=league.close).start()
            return is_around

        league.faults.add("schedule", when=stop, refuse=True)
        archive = sideline.Archive(tmp_path / "season", client)
        with pytest.raises(sideline.ConnectError):
            archive.sync(start=game.start - 1, end=NOW, tables=["games", "shots"], on_error="keep", progress=False)
    assert not (tmp_path / "season").exists()


def test_a_hole_of_a_list_is_closed_by_a_sync_whose_range_holds_it(archive: sideline.Archive, league: Service) -> None:
    league.faults.add("team_events", status=500, times=1)
    [hole] = sync(archive).holes
    assert hole["unit"].startswith("team_events/team ")
    assert sync(archive, start="2027-03-10", end="2027-03-20").complete
    assert [hole["unit"] for hole in archive.info().holes] == [hole["unit"]]
    archive.sync(**SPAN)
    assert archive.info().holes == []
    assert untrue(archive, league) == {}


def test_cut_bodies_of_every_kind_are_holes_and_the_next_sync_is_whole(archive: sideline.Archive, league: Service) -> None:
    for operation in ("stats", "stats_details", "possessions", "shots", "roster"):
        league.faults.add(operation, change_bytes=truncated(0.5), times=1)
    report = sync(archive, **WHOLE_SPAN, tables=None)
    assert Counter(hole["operation"] for hole in report.holes) == Counter(["stats", "stats_details", "possessions", "shots", "roster"])
    archive.sync(**WHOLE_SPAN)
    assert untrue(archive, league, TRUE) == {}


def test_every_addition_of_the_vendor_is_archived_too(tmp_path: Path) -> None:
    with Service(now=NOW, features=Features.everything(), **SIZE) as league, sideline.Client(**league.client_options()) as client:
        archive = sideline.Archive(tmp_path, client)
        assert {row["status"] for row in archive.sync(**WHOLE_SPAN).coverage.to_dicts()} <= {"fetched", "empty", "unavailable", "withdrawn"}
        assert untrue(archive, league, TRUE) == {}


@pytest.mark.parametrize("reason", ["the clock was ahead", "it moved", "it was canceled"])
def test_a_game_that_was_requested_too_early_leaves_no_hole(archive: sideline.Archive, league: Service, reason: str) -> None:
    [upcoming] = [event.id for event in league.season.games if not event.sessions]
    if reason == "the clock was ahead":
        league.clock_offset = timedelta(hours=28).total_seconds()
    else:
        league.advance(timedelta(hours=28))
    assert [(hole["unit"], hole["status"]) for hole in archive.sync(**SPAN, on_error="keep").holes] == [(f"game/{upcoming}", "missing")]
    league.clock_offset = 0.0
    if reason == "it moved":
        league.change.move_game(upcoming, by=timedelta(days=5))
    elif reason == "it was canceled":
        league.change.change_status(upcoming, "CANCELED")
    assert archive.sync(**SPAN).holes == archive.info().holes == []
    if reason != "it was canceled":
        league.advance(timedelta(days=6))
        league.change.start_game(upcoming)
        archive.sync(**SPAN)
        assert upcoming in archive.to_arrow("events")["event_id"].to_pylist()
