"""The box score of a whole game, and times in the reader's zone."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service import Service
from service.faults import Change

import sideline

NOW = "2027-03-01T12:00:00Z"
LINE = ["game_id", "team_id", "team_name", "player_id", "player_name", "is_team_total", "did_not_play", "source"]


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service:
        yield service


@pytest.fixture
def game_id(season: sideline.Simulator) -> Iterator[str]:
    yield season.games[0]["event_id"]
    season.faults.clear()


def sum_of_sessions(client: sideline.Client, game_id: str, code: str) -> dict[tuple[int, int], float]:
    """The sum of a code over the sessions, by team and player."""
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for row in client.stats(client.game(game_id)).table("player_stats").to_dicts():
        if row["stat"] == code:
            sums[row["team_id"], row["player_id"]] += row["value"]
    return dict(sums)


def by_player(table: sideline.Table, code: str) -> dict[tuple[int, int], float]:
    return {(row["team_id"], row["player_id"]): row[code] for row in table.to_dicts() if row[code]}


@pytest.mark.parametrize("code", ["PTS", "REB", "DIST"])
def test_the_services_sums_and_those_of_the_sessions_agree(season: sideline.Simulator, game_id: str, code: str) -> None:
    with season.client(max_retries=0) as client:
        expected = {key: pytest.approx(value) for key, value in sum_of_sessions(client, game_id, code).items() if value}
        service_table = client.box_score(game_id)
        assert set(service_table["source"]) == {"service"}
        assert by_player(service_table, code) == expected
        season.faults.add("/v1/data/teams/*/players/game/stats", status=404)
        sessions = client.box_score(game_id)
        assert set(sessions["source"]) == {"sessions"}
        assert by_player(sessions, code) == expected
        scores = {(row["team_id"], row["TEAM_SCORE"]) for row in sessions.to_dicts() if row["is_team_total"]}
        assert scores == {(row["team_id"], row["PTS"]) for row in sessions.to_dicts() if row["is_team_total"]}, "the last one, not a sum"
        names = sideline.SCHEMAS["game_box_score"].names
        assert sessions.column_names[: len(names)] == service_table.column_names[: len(names)] == names


def test_one_team_without_sums_is_summed_and_named(season: sideline.Simulator, game_id: str) -> None:
    with season.client(max_retries=0) as client:
        home = client.game(game_id).table("events").to_dicts()[0]["home_team_id"]
        expected = by_player(client.box_score(game_id), "PTS")
        season.faults.add(f"/v1/data/teams/{home}/players/game/stats", status=404)
        table = client.box_score(game_id)
    assert {(row["team_id"] == home, row["source"]) for row in table.to_dicts()} == {(True, "sessions"), (False, "service")}
    assert by_player(table, "PTS") == expected


def test_sums_of_a_team_that_does_not_play_are_not_those_of_one_that_does(season: sideline.Simulator, game_id: str) -> None:
    with season.client(max_retries=0) as client:
        home = client.game(game_id).table("events").to_dicts()[0]["home_team_id"]
        expected = by_player(client.box_score(game_id), "PTS")
        body = {**client.team_game_stats(home, game_id=game_id).to_dict(), "id": 999_999}
        season.faults.add(f"/v1/data/teams/{home}/players/game/stats", body=body)
        assert by_player(client.box_score(game_id), "PTS") == expected


def test_an_error_is_no_team_without_a_box_score(season: sideline.Simulator, game_id: str) -> None:
    with season.client(max_retries=0) as client:
        game = client.game(game_id).to_dict()
        season.faults.add(f"/v1/data/games/{game_id}", body={**game, "results": []})
        season.faults.add("*/players/game/stats", status=403)
        with pytest.raises(sideline.PermissionDenied):
            client.box_score(game_id)
        season.faults.clear()
        home = game["game_attributes"]["home_team_id"]
        season.faults.add(f"/v1/data/teams/{home}/players/game/stats", status=500)
        season.faults.add("*/stats/*/stats", body={"teams": []})
        with pytest.raises(sideline.ServerError):
            client.box_score(game_id)


def test_a_game_that_names_one_team_has_a_box_score_of_both(season: sideline.Simulator, game_id: str) -> None:
    with season.client(max_retries=0) as client:
        expected = set(client.box_score(game_id)["team_id"])
        game = client.game(game_id).to_dict()
        attributes = {name: value for name, value in game["game_attributes"].items() if name != "away_team_id"}
        season.faults.add(f"/v1/data/games/{game_id}", body={**game, "game_attributes": attributes})
        assert set(client.box_score(game_id)["team_id"]) == expected


@pytest.mark.parametrize("overtime", [False, True])
def test_periods_have_a_row_each_and_add_up(season: sideline.Simulator, overtime: bool) -> None:
    with season.client() as client:
        sessions = {game["event_id"]: len(client.game(game["event_id"]).table("sessions")) for game in season.games}
        game_id, count = next((game_id, count) for game_id, count in sessions.items() if count >= 2 and (count > 2) == overtime)
        game_table, parts = client.box_score(game_id), client.box_score(game_id, periods=True)
    assert parts.column_names[-1] == "period" not in game_table.column_names
    assert set(parts["source"]) == {"sessions"}
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for row in parts.to_dicts():
        sums[row["team_id"], row["player_id"]] += row["PTS"] or 0
    assert {key: value for key, value in sums.items() if value} == by_player(game_table, "PTS")
    assert list(dict.fromkeys(parts["period"])) == ["H1", "H2", *(f"OT{number}" for number in range(1, count - 1))]


@pytest.fixture
def second() -> Iterator[Service]:
    with Service(seed=5, now=NOW) as service:
        service.faults.add("team_game_stats", status=404)
        yield service


def with_lines(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Change:
    """Changes each line of a body of stats, or leaves it out."""

    def apply(body: dict[str, Any]) -> dict[str, Any]:
        def lines(team: dict[str, Any]) -> list[dict[str, Any]]:
            return [edited_line for line in team["player_stats"] if (edited_line := change(line)) is not None]

        return {**body, "teams": [{**team, "player_stats": lines(team)} for team in body["teams"]]}

    return apply


def test_a_total_that_a_session_lacks_is_not_summed_from_the_others(second: Service) -> None:
    game = next(game for game in second.season.games if len(game.sessions) > 1)
    with sideline.Client(**second.client_options()) as client:
        game_rows = client.box_score(game.id).to_dicts()
        second.faults.add("stats", path=game.sessions[0].id, change=with_lines(lambda line: line if line["id"] else None))
        rows = client.box_score(game.id).to_dicts()
    assert any(row["is_team_total"] for row in game_rows)
    assert rows == [row for row in game_rows if not row["is_team_total"]]


@pytest.mark.parametrize("periods", [False, True])
def test_a_line_that_a_response_repeats_counts_once(second: Service, periods: bool) -> None:
    def with_repeated_lines(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "teams": [{**team, "player_stats": team["player_stats"] * 2} for team in body["teams"]]}

    game = next(game for game in second.season.games if len(game.sessions) > 1)
    with sideline.Client(**second.client_options()) as client:
        game_rows = client.box_score(game.id, periods=periods).to_dicts()
        second.faults.add("stats", change=with_repeated_lines)
        assert client.box_score(game.id, periods=periods).to_dicts() == game_rows
        second.faults.clear()
        sums = client.box_score(game.id).to_dicts()
        second.faults.add("team_game_stats", change=lambda body: {**body, "player_stats": body["player_stats"] * 2})
        assert client.box_score(game.id).to_dicts() == sums


@pytest.mark.parametrize("operation", ["team_game_stats", "stats"])
@pytest.mark.parametrize(("version", "place", "extra"), [(-1, 0, 0), (-1, 99, 0), (1, 0, 2), (1, 99, 2), (0, 0, 0), (0, 99, 2)])
def test_of_two_lines_of_a_player_the_later_version_counts(second: Service, operation: str, version: int, place: int, extra: int) -> None:
    """And the last of equal ones, as in a live box score. Their sum is nobody's."""

    def with_another_line(body: dict[str, Any]) -> dict[str, Any]:
        for team in body.get("teams", [body]):
            line = next(line for line in team["player_stats"] if line["id"] and line["stats"].get("PTS"))
            stats = {**line["stats"], "PTS": line["stats"]["PTS"] + 2}
            team["player_stats"].insert(place, {**line, "version": line["version"] + version, "stats": stats})
        return body

    if operation == "team_game_stats":
        second.faults.clear()
    game = second.season.games[0]
    with sideline.Client(**second.client_options()) as client:
        before = by_player(client.box_score(game.id), "PTS")
        lines = 1 if operation == "team_game_stats" else len(game.sessions)
        second.faults.add(operation, change=with_another_line)
        after = by_player(client.box_score(game.id), "PTS")
    changes = sorted(after[key] - points for key, points in before.items() if after[key] != points)
    assert (sum(changes), after.keys()) == (extra * lines * 2, before.keys())


def test_a_name_that_one_session_lacks_is_that_of_another(second: Service) -> None:
    game = next(game for game in second.season.games if len(game.sessions) > 1)
    with sideline.Client(**second.client_options()) as client:
        game_rows = client.box_score(game.id).to_dicts()
        second.faults.add("stats", path=game.sessions[0].id, change=with_lines(lambda line: {**line, "player_details": None}))
        assert client.box_score(game.id).to_dicts() == game_rows


def body(team: int, *lines: dict[str, Any]) -> dict[str, Any]:
    return {"id": team, "name": f"Team {team}", "player_stats": list(lines)}


def line(player: int, stats: dict[str, float], name: str = "") -> dict[str, Any]:
    details = {"firstname": name.partition(" ")[0], "lastname": name.partition(" ")[2]}
    return {"id": player, "player_details": details if name else None, "stats": stats}


def test_a_player_who_played_has_0_and_one_who_did_not_has_none(season: sideline.Simulator, game_id: str) -> None:
    with season.client() as client:
        teams = client.game(game_id).table("events").to_dicts()[0]
        home, away = teams["home_team_id"], teams["away_team_id"]
        season.faults.add(
            f"/v1/data/teams/{home}/players/game/stats",
            body=body(home, line(0, {"PTS": 2.0, "NEW": 1.0}), line(7, {"PTS": 2.0}, "Ann Lee"), line(8, {"NEW": 1.0}, "Bea"), line(9, {}, "Cleo Park")),
        )
        season.faults.add(f"/v1/data/teams/{away}/players/game/stats", body=body(away, line(0, {"AST": 3.0}), line(5, {"AST": 3.0})))
        table = client.box_score(game_id)
    rows = {row["player_id"] or row["team_id"]: row for row in table.to_dicts()}
    assert table.column_names[:8] == LINE
    assert table.column_names[-1] == "NEW"
    assert {key: (row["player_name"], row["did_not_play"], row["PTS"], row["AST"], row["NEW"], row["REB"]) for key, row in rows.items()} == {
        home: ("Team total", False, 2, 0, 1, None),
        7: ("Ann Lee", False, 2, 0, 0, None),
        8: ("Bea", False, 0, 0, 1, None),
        9: ("Cleo Park", True, None, None, None, None),
        away: ("Team total", False, 0, 3, 0, None),
        5: (None, False, 0, 3, 0, None),
    }
    assert table["is_team_total"] == [False, False, False, True, False, True], "each team's total is last"


def test_the_asynchronous_client_and_football_have_one_too(season: sideline.Simulator, game_id: str) -> None:
    async def request() -> list[dict[str, Any]]:
        async with season.async_client() as client:
            return (await client.box_score(game_id)).to_dicts()

    with season.client() as client:
        assert asyncio.run(request()) == client.box_score(game_id).to_dicts()
    with sideline.Simulator(seed=7, sport="football", teams=4, games=4, now=NOW) as service, service.client() as client:
        table = client.box_score(service.games[0]["event_id"])
    assert table.column_names[:8] == sideline.SCHEMAS.of_sport("football")["game_box_score"].names
    assert len(set(table["team_id"])) == 2
    assert "FGA" not in table.column_names


# Times in the reader's zone.


def test_a_zone_changes_the_times_and_not_the_instants(season: sideline.Simulator, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'sideline[arrow]'")
    with season.client() as client:
        schedule = client.schedule("2026-11-01", "2027-03-01")
        events = client.team_events([team["id"] for team in season.teams], "2026-11-01", "2027-03-01")
    utc, local = schedule.table(), schedule.table(tz="America/New_York")
    assert local["tipoff_at"] == utc["tipoff_at"]
    assert {str(time.tzinfo) for time in local["tipoff_at"]} == {"America/New_York"}
    assert local.to_arrow().schema.field("tipoff_at").type == pyarrow.timestamp("ms", "America/New_York")
    assert {str(time.tzinfo) for time in events.table("events", tz="Europe/Berlin")["started_at"]} == {"Europe/Berlin"}
    with pytest.raises(ValueError, match="tz is 'New York'; it must be the name of a zone, such as America/New_York"):
        schedule.table(tz="New York")


def test_the_variable_changes_what_is_shown_and_no_file(season: sideline.Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with season.client() as client:
        schedule = client.schedule("2026-11-01", "2027-03-01")
    table = schedule.table("games", columns=["tipoff_at"])
    tipoff = table["tipoff_at"][0]
    utc, files = str(table), []
    for name in ("UTC", "America/New_York"):
        monkeypatch.setenv("SIDELINE_TZ", name)
        table.to_csv(tmp_path / "games.csv")
        files.append((tmp_path / "games.csv").read_text(encoding="utf-8"))
    from zoneinfo import ZoneInfo

    local = tipoff.astimezone(ZoneInfo("America/New_York")).strftime("%Y-%m-%d %H:%M:%S")
    assert local in str(table)
    assert local in table._repr_html_()
    assert local not in utc
    assert files[0] == files[1]
    assert "Europe" not in str(schedule.table("games", columns=["tipoff_at"], tz="Europe/Berlin"))
    monkeypatch.setenv("SIDELINE_TZ", "nowhere")
    with pytest.raises(ValueError, match="SIDELINE_TZ is 'nowhere'"):
        str(table)
