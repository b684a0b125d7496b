"""Findings about the truth of tables, archives and answers: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from archives import Killed, killed_after
from data_seasons import archive_in, change_season, client_of, coverage, find_unaccounted, new_service, played, rows_of_sessions, sync, verdicts, without_teams
from needs import environment_without
from service import NULL, Features, Row, Service, instant
from service.bodies import Bodies
from trust import Memory, find_unnamed, is_named

import sideline
from sideline import metrics

pl = pytest.importorskip("polars", reason="needs polars: pip install 'sideline[polars]'")

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives of the season that tests copy: `lists` of two tables of each session, `whole` of all tables."""
    folder = tmp_path_factory.mktemp("archives")
    with new_service() as league, client_of(league) as client:
        assert sync(sideline.Archive(folder / "lists", client)).complete
        assert sync(sideline.Archive(folder / "whole", client), None).complete
    return folder


@pytest.fixture
def league() -> Iterator[Service]:
    with new_service() as league:
        yield league


@pytest.fixture
def client(league: Service) -> Iterator[sideline.Client]:
    with client_of(league) as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path, folders: Path, client: sideline.Client) -> sideline.Archive:
    shutil.copytree(folders / "lists", tmp_path / "season")
    return archive_in(tmp_path, client)


@pytest.fixture
def full_archive(tmp_path: Path, folders: Path, client: sideline.Client) -> sideline.Archive:
    shutil.copytree(folders / "whole", tmp_path / "season")
    return archive_in(tmp_path, client)


# 1. A suspended game.


@pytest.mark.parametrize("response", ["404", "without results"])
@pytest.mark.parametrize("status", ["ACTIVE", "CANCELLED", "POSTPONED"])
def test_a_suspended_game_is_requested_by_its_id_and_its_old_sessions_leave(league: Service, archive: sideline.Archive, response: str, status: str) -> None:
    game = played(league)[0]
    old = {session.id for session in game.sessions}
    body = Bodies(league.season, league.links, league.features).event(game) | {"results": []}
    with change_season(league):
        game.sessions, game.status, game.tipoff = [], status, league.season.now + 10 * 86_400_000
    if response == "without results":
        league.faults.add("game", path=f"/{game.id}$", status=200, body=body)
    league.requests.clear()
    sync(archive)
    assert [request for request in league.requests.all("game") if request.ids["event_id"] == game.id]
    assert find_unaccounted(archive, league, "stat_events") == []
    sync(archive)
    assert rows_of_sessions(archive, "stat_events", old) == []


# 2. Teams that leave.


@pytest.mark.parametrize("change", ["a corrected shot", "an overtime"])
def test_a_change_of_a_game_whose_teams_left_is_stored_or_named(league: Service, archive: sideline.Archive, change: str) -> None:
    game = played(league)[0]
    league.faults.add("teams", change=without_teams(set(game.team_ids)))
    if change == "an overtime":
        league.season.add_session(game.id)
    else:
        while "make" not in (league.change.correct_stat(game.sessions[0].id) or ""):
            pass
    # The game ended before the usual window.
    sync(archive, correction_window=None)
    assert find_unaccounted(archive, league, "stat_events") == []


def test_the_roster_of_a_team_that_left_ends(league: Service, full_archive: sideline.Archive) -> None:
    team = league.season.teams[0]
    with change_season(league):
        league.season.teams.remove(team)
    for _ in range(2):
        sync(full_archive, ("players",))
    assert [row for row in full_archive.players().to_dicts() if row["team_id"] == team.id and row["listed_until"] is None] == []


def test_players_as_of_now_have_no_team_that_left(league: Service, full_archive: sideline.Archive) -> None:
    team = league.season.teams[0]
    with change_season(league):
        league.season.teams.remove(team)
    for _ in range(2):
        sync(full_archive, ("players",))
    league.advance(timedelta(hours=1))
    assert [row for row in full_archive.players(as_of=league.time).to_dicts() if row["team_id"] == team.id] == []


def test_a_roster_whose_team_left_is_requested_or_its_account_says_so(league: Service, full_archive: sideline.Archive) -> None:
    team = league.season.teams[0]
    with change_season(league):
        league.season.teams.remove(team)
    league.requests.clear()
    sync(full_archive, ("teams", "players"))
    roster_requests = [request for request in league.requests.all("roster") if request.ids["team_id"] == str(team.id)]
    assert coverage(full_archive)[f"teams/{team.id}"]["status"] == "withdrawn"
    assert roster_requests or coverage(full_archive)[f"roster/{team.id}"]["status"] in ("withdrawn", "missing", "failed")


# 3. One account.

FAILURES: dict[str, dict[str, Any]] = {
    "429": {"status": 429, "body": {"message": "API rate limit exceeded"}, "headers": {"Retry-After": "0"}},
    "500": {"status": 500, "body": {"status": 500, "message": "General system error"}},
    "403": {"status": 403, "body": {"status": 403, "message": "Access denied to resource", "serviceRequestId": "1"}},
    "cut": {"cut_at": 40},
    "empty": {"body": {}},
    "null": {"change": lambda body: NULL},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_the_report_has_the_hole_of_a_game_that_no_list_has(league: Service, archive: sideline.Archive, failure: str) -> None:
    game = played(league)[0]
    with change_season(league):
        game.is_listed = game.is_scheduled = False
    league.faults.add("game", path=f"/{game.id}$", **FAILURES[failure])
    report = sync(archive)
    holes = [hole["unit"] for hole in archive.info().holes]
    assert holes, "the request failed, so the archive has a hole"
    assert ([hole["unit"] for hole in report.holes], report.complete) == (holes, False)


def test_the_report_has_the_holes_that_a_kill_left(league: Service, client: sideline.Client, tmp_path: Path) -> None:
    archive, game = archive_in(tmp_path, client), played(league)[0]
    with pytest.raises(Killed), killed_after(5):
        sync(archive)
    with change_season(league):
        game.is_listed = game.is_scheduled = False
    league.faults.add("game", path=f"/{game.id}$", **FAILURES["500"])
    report = sync(archive)
    holes = {hole["unit"] for hole in archive.info().holes}
    assert len(holes) > 1
    assert {hole["unit"] for hole in report.holes} == holes


# 4. Verdicts of lists.


@pytest.fixture
def after_the_window(league: Service, full_archive: sideline.Archive) -> sideline.Archive:
    """Nothing changes in 40 days, and a night of then lists everything again."""
    league.advance(timedelta(days=40))
    assert sync(full_archive, None).complete
    return full_archive


@pytest.mark.parametrize("table", ["games", "events", "sessions", "location_windows"])
def test_a_list_is_available_once_it_was_listed_after_the_window(league: Service, after_the_window: sideline.Archive, table: str) -> None:
    game = played(league)[-1]
    [row] = [row for row in after_the_window.status().to_dicts() if (row["game_id"], row["table"]) == (game.id, table)]
    assert row["last_listed"] > instant(game.end) + timedelta(days=30)
    assert (row["status"], row["reasons"]) == ("available", [])


# 5. Games that are gone.


def merge(league: Service) -> str:
    """The sessions of a game are another one's."""
    first, second, *_ = played(league)
    with change_season(league):
        second.sessions += first.sessions
        league.season.events.remove(first)
    return first.id


def renumber(league: Service) -> str:
    first = played(league)[0]
    with change_season(league):
        old, first.id = first.id, league.season.new_id()
    return old


@pytest.mark.parametrize("change", [merge, renumber])
def test_a_game_that_is_gone_is_withdrawn_and_not_late(league: Service, full_archive: sideline.Archive, change: Callable[[Service], str]) -> None:
    game_id = change(league)
    for _ in range(2):
        assert sync(full_archive, None).complete
    assert {row["status"] for row in coverage(full_archive).values() if row["game_id"] == game_id} == {"withdrawn"}
    assert set(verdicts(full_archive, game_id).values()) <= {"withdrawn"}


@pytest.mark.parametrize("change", [merge, renumber])
def test_the_status_of_an_archive_without_problems_exits_with_0(
    league: Service, full_archive: sideline.Archive, change: Callable[[Service], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sideline import cli

    change(league)
    for _ in range(2):
        assert sync(full_archive, None).complete
    assert cli.main(["status", str(tmp_path / "season")]) == 0, capsys.readouterr().out


# 6. Verdicts on data that is not there.


def one_team(body: Any) -> Any:
    return {**body, "teams": body["teams"][:1]}


def without_possessions(body: Any) -> Any:
    first, *others = body["teams"]
    return {**body, "teams": [{**first, "possessions": []}, *others]}


def without_events(body: Any) -> Any:
    first, *others = body["teams"]
    return {**body, "teams": [{**first, "possessions": [{**possession, "stats": []} for possession in first["possessions"]]}, *others]}


def half_of_the_plays(body: Any) -> Any:
    """Every second entry of the longest list in the body."""
    name = max((name for name, value in body.items() if isinstance(value, list)), key=lambda name: len(body[name]))
    return {**body, name: body[name][::2]}


POSSESSION_TABLES = ("possessions", "possession_players")


def first_half(body: Any) -> Any:
    if "events" in body:
        return {**body, "events": [first_half(event) for event in body["events"]]}
    return {**body, "results": body["results"][:1]}


LACKS: dict[str, tuple[tuple[str, ...], Any]] = {
    "one team": (("possessions",), one_team),
    "one team's possessions": (("possessions",), without_possessions),
    "one team's events": (("possessions",), without_events),
    "one team's second half": (("possessions",), without_possessions),
    "half of the plays": (("play_by_play",), half_of_the_plays),
    "the second half": (("team_events", "game"), first_half),
}
"""What each season was always served without: the operations, and the change of their bodies."""


@pytest.fixture(scope="module")
def verdicts_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """The verdicts on the first game of a season without something, after the window."""

    @cache
    def verdicts_of_lack(lack: str) -> dict[str, str]:
        operations, change = LACKS[lack]
        with new_service(features=Features(play_by_play="plays" in lack)) as league, client_of(league) as client:
            seconds = {game.sessions[1].id for game in played(league)}
            for operation in operations:
                league.faults.add(operation, change=change, when=(lambda request: request.id in seconds) if lack == "one team's second half" else None)
            archive = archive_in(tmp_path_factory.mktemp("lacking"), client)
            sync(archive, None)
            league.advance(timedelta(days=40))
            sync(archive, None)
            return verdicts(archive, played(league)[0].id)

    return verdicts_of_lack


@pytest.mark.parametrize("table", POSSESSION_TABLES)
@pytest.mark.parametrize("lack", ["one team", "one team's possessions", "one team's events", "one team's second half"])
def test_a_game_without_one_teams_possessions_is_not_available(verdicts_without: Callable[[str], dict[str, str]], lack: str, table: str) -> None:
    assert verdicts_without(lack)[table] != "available"


def test_a_game_without_half_of_its_plays_is_not_available(verdicts_without: Callable[[str], dict[str, str]]) -> None:
    assert verdicts_without("half of the plays")["play_by_play"] != "available"


@pytest.mark.parametrize("table", ["player_stats", "box_score", "possessions"])
def test_a_game_whose_second_half_is_not_listed_is_not_available(verdicts_without: Callable[[str], dict[str, str]], table: str) -> None:
    assert verdicts_without("the second half")[table] != "available"


# 7. A practice that was stored by its id.


def test_the_rows_of_a_practice_that_is_gone_leave_or_are_named(league: Service, client: sideline.Client, tmp_path: Path) -> None:
    practice = next(event for event in league.season.events if not event.is_game)
    sessions = {session.id for session in practice.sessions}
    league.faults.add("game", path=f"/{practice.id}$", status=200, body=Bodies(league.season, league.links, league.features).event(practice))
    archive = archive_in(tmp_path, client)
    sync(archive, game_ids=[practice.id])
    assert rows_of_sessions(archive, "stat_events", sessions), "the practice was not stored by its id"
    league.faults.clear()
    with change_season(league):
        league.season.events.remove(practice)
    first = sync(archive, game_ids=[practice.id])
    assert [hole["unit"] for hole in first.holes] == [f"team_events/{practice.id}"]
    sync(archive, game_ids=[practice.id])
    assert rows_of_sessions(archive, "stat_events", sessions) == []


# 8. Metrics of numbers that cannot be known.

HOME, AWAY = [11, 12, 13, 14, 15], [21, 22, 23, 24, 25]


def game_of(clocks: list[tuple[str | None, str | None]], home: list[int] = HOME) -> sideline.Payload:
    """Possessions of two teams in turn with these clocks, each with a made two by the first player."""

    def possession(team: int, clock: tuple[str | None, str | None], own_players: list[int], other: list[int]) -> Row:
        made_shot = {"player_id": own_players[0] if own_players else None, "possession_type": "FGA", "details": ["FGA2", "FG", "FG2", "PTS"]}
        return {"start_game_clock": clock[0], "end_game_clock": clock[1], "player_ids": own_players, "opposing_player_ids": other, "stats": [made_shot]}

    sides = [(1, home, AWAY), (2, AWAY, home)]
    teams = [
        {"id": team, "possessions": [possession(team, clock, own_players, other) for clock in clocks[team - 1 :: 2]]} for team, own_players, other in sides
    ]
    return sideline.Payload.from_bytes("possessions", json.dumps({"teams": teams}).encode(), session_id="s1")


GOOD_CLOCKS: list[tuple[str | None, str | None]] = [("20:00.0", "19:30.0"), ("19:30.0", "19:00.0"), ("19:00.0", "18:30.0"), ("18:30.0", "18:00.0")]
ODD_CLOCKS: dict[str, list[tuple[str | None, str | None]]] = {
    "no end": [*GOOD_CLOCKS[:3], ("18:30.0", None)],
    "a negative end": [*GOOD_CLOCKS[:3], ("18:30.0", "-00:01.0")],
    "a rising clock": [*GOOD_CLOCKS[:3], ("18:00.0", "18:30.0")],
    "no clocks": [(None, None)] * 4,
}


def test_the_metrics_of_good_clocks_are_right() -> None:
    assert set(metrics.minutes(game_of(GOOD_CLOCKS))["minutes"]) == {2.0}
    assert set(metrics.pace(game_of(GOOD_CLOCKS))["pace"]) == {40.0}


@pytest.mark.parametrize("clocks", ODD_CLOCKS)
def test_minutes_that_cannot_be_known_are_null(clocks: str) -> None:
    assert set(metrics.minutes(game_of(ODD_CLOCKS[clocks]))["minutes"]) == {None}


@pytest.mark.parametrize("clocks", ODD_CLOCKS)
def test_a_pace_that_cannot_be_known_is_null(clocks: str) -> None:
    assert set(metrics.pace(game_of(ODD_CLOCKS[clocks]))["pace"]) == {None}


def test_a_possession_with_six_players_is_off_for_none_of_them() -> None:
    five, six = game_of(GOOD_CLOCKS).to_dict(), game_of(GOOD_CLOCKS, [*HOME, 16]).to_dict()
    body = {"teams": [{**team, "possessions": [*team["possessions"], *other["possessions"]]} for team, other in zip(five["teams"], six["teams"], strict=True)]}
    table = metrics.on_off(sideline.Payload.from_bytes("possessions", json.dumps(body).encode(), session_id="s1")).to_polars()
    on_court = table.filter(pl.col("player_id").is_in(HOME)).select("off_possessions", "off_points").to_dicts()
    assert len(on_court) == 5
    assert all(row["off_possessions"] in (0, None) and row["off_points"] in (0, None) for row in on_court)


def test_usage_follows_its_own_definition_beside_possessions_without_players() -> None:
    codes = {"FG": 1, "FGA": 2, "FTA": 0, "TO": 1, "AST": 1, "REB": 1}
    rows = [{"id": player, "stats": codes} for player in HOME] + [{"id": 0, "stats": {code: 5 * count for code, count in codes.items()}}]
    body = {"teams": [{"id": 1, "player_stats": rows}, {"id": 2, "player_stats": [{**row, "id": row["id"] and row["id"] + 10} for row in rows]}]}
    box = sideline.Payload.from_bytes("stats", json.dumps(body).encode(), session_id="s1")
    with_players, without_players = game_of(GOOD_CLOCKS).to_dict(), game_of([("18:00.0", "17:30.0"), ("17:30.0", "17:00.0")], []).to_dict()
    teams = [
        {**team, "possessions": [*team["possessions"], *other["possessions"]]}
        for team, other in zip(with_players["teams"], without_players["teams"], strict=True)
    ]
    shares = metrics.usage(box, sideline.Payload.from_bytes("possessions", json.dumps({"teams": teams}).encode(), session_id="s1")).to_polars()
    # Five players with the same minutes have a fifth of the plays each, or all shares are unknown.
    home_shares = shares.filter(pl.col("player_id").is_in(HOME))["usage"].to_list()
    assert len(home_shares) == 5
    assert all(share is None or share == pytest.approx(0.2) for share in home_shares)


# 9. Whole numbers beyond the exact ones of a float.


@pytest.mark.parametrize("operation", ["stats", "stats_details"])
def test_a_whole_number_that_loses_digits_is_an_unknown_field(operation: str) -> None:
    number = 2**53 + 1
    stats: Any = {"PTS": number} if operation == "stats" else {"PTS": [{"occurred_at": 1, "value": number}]}
    body = {"teams": [{"id": 1, "name": "A", "player_stats": [{"id": 7, "stats": stats}]}]}
    payload = sideline.Payload.from_bytes(operation, json.dumps(body).encode(), session_id="s1")
    table = payload.table("player_stats" if operation == "stats" else "stat_events")
    [value] = table["value"]
    assert value == number or any("PTS" in str(field) for field in payload.unknown_fields()), f"{number} is {value:.0f}"


# 10. The judge of the trust machine.


def test_a_correction_excuses_only_its_own_table() -> None:
    row = {"session_id": "s1", "game_id": "g1", "team_id": 11, "player_id": 1}
    assert not is_named("shots", row, [{"table": "stat_events", "field": "value", "session_id": "s1", "game_id": "g1", "team_id": 11}], Memory())


def test_a_withdrawn_unit_does_not_excuse_a_row_that_was_deleted() -> None:
    row = {"session_id": "s1", "game_id": "g1", "team_id": 11, "player_id": 1}
    withdrawn_unit = {"operation": "shots", "unit": "shots/s1", "status": "withdrawn", "session_id": "s1", "game_id": "g1", "team_id": None}
    # The row is one of the truth that the archive lacks.
    assert not is_named("shots", row, [withdrawn_unit], Memory())


def test_a_withdrawal_excuses_rows_as_long_as_the_service_denies_their_unit(league: Service, archive: sideline.Archive) -> None:
    """The first sync with a 404 reports a hole, the second the withdrawal, and the third only that the unit is still withdrawn."""
    memory = Memory()
    memory.note(league.season)
    assert sync(archive, None).complete
    league.faults.add("possessions", status=404, body={"status": 404, "message": "no such session"})
    reports = [sync(archive, None) for _ in range(3)]
    assert not find_unnamed(archive, reports[-1], league, memory, ["possessions"])
    league.faults.clear()
    assert find_unnamed(archive, reports[-1], league, memory, ["possessions"])


def test_a_hole_of_a_teams_roster_or_list_does_not_excuse_the_rows_of_a_listed_session(league: Service) -> None:
    memory = Memory()
    memory.note(league.season)
    game = played(league)[0]
    row = {"session_id": game.sessions[0].id, "game_id": game.id, "team_id": game.home_id, "player_id": 1}
    hole = {
        "operation": "team_events",
        "unit": f"team_events/team {game.away_id}",
        "status": "failed",
        "session_id": None,
        "game_id": None,
        "team_id": game.away_id,
    }
    # The other team's list has the game too, so the session's own unit is what was requested.
    assert not is_named("shots", row, [hole], memory)


# 11. A game that moves.


def test_a_game_that_moves_out_of_the_range_keeps_its_row(league: Service, full_archive: sideline.Archive) -> None:
    game = played(league)[0]
    assert league.change.move_game(game.id, timedelta(days=-100))
    for _ in range(2):
        assert sync(full_archive, None).complete
    assert full_archive.scan("sessions").filter(game_id=game.id).collect().height == 2, "the game itself stays"
    assert coverage(full_archive)[f"schedule/{game.id}"]["error"] != "the schedule no longer lists it"
    assert full_archive.scan("games").filter(game_id=game.id).collect().height == 1


# 12. Extras that are not installed.


EXPORT = """
import sideline, sys
try:
    sideline.Archive(sys.argv[1]).export(sys.argv[2])
except ImportError as error:
    print(error)
"""


def test_an_export_without_its_extra_says_what_to_install(folders: Path, tmp_path: Path) -> None:
    # The extra `archive` has DuckDB and with it a driver, but no manager of drivers.
    environment = environment_without("adbc_driver_manager", "adbc_driver_postgresql")
    command = [sys.executable, "-c", EXPORT, str(folders / "lists"), f"duckdb:///{tmp_path}/target.duckdb"]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    assert 'pip install "sideline[export]"' in output
