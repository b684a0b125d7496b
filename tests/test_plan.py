"""Plans and parts: every unit is known before it is requested, and no reader gets fewer rows than there are."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import library
from service import NO_DATA, Features, Season, Service, differences
from service.season import MINUTE

import sideline
from sideline import Part, Plan
from sideline._engines import parts as _parts

pl = library("polars")

NOW = "2027-03-01T12:00:00Z"
RANGE = {"start": "2027-02-01", "end": "2027-03-02"}
SESSION_TABLES = ("player_stats", "possession_events", "shots", "locations")


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=3, now=NOW, features=Features(play_by_play=True)) as running:
        yield running


@pytest.fixture
def asking(second: Service) -> Iterator[sideline.Client]:
    second.requests.clear()
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        yield client
    second.faults.clear()


def rows(parts: list[Part], client: sideline.Client) -> list[dict[str, Any]]:
    return [row for part in parts for row in part.read(client).to_dicts()]


@pytest.mark.parametrize("table", [*SESSION_TABLES, "play_by_play"])
def test_parts_together_are_the_truth_in_the_order_of_the_whole(second: Service, asking: sideline.Client, table: str) -> None:
    plan = asking.plan(table, **RANGE)
    truth = second.truth()[table]
    expected = rows(plan.split(1), asking)
    assert not differences(expected, truth, columns=truth[0].keys())
    for count in (3, 1000):
        parts = plan.split(count)
        assert rows(parts, asking) == expected
        assert [row for part in parts for batch in part.batches(asking) for row in sideline.Table(table, batch).to_dicts()] == expected
        sizes = [len(part) for part in parts]
        assert sum(sizes) == len(plan)
        assert len(parts) == min(count, len(plan))
        assert max(sizes) - min(sizes) <= 1


def test_the_parts_of_box_scores_have_the_columns_of_their_data(second: Service, asking: sideline.Client) -> None:
    plan = asking.plan("box_score", **RANGE)
    truth = second.truth()["box_score"]
    assert not differences(rows(plan.split(2), asking), truth, columns=truth[0].keys())
    with pytest.raises(ValueError, match="player_stats"):
        plan.split(1)[0].batches(asking)
    part = asking.plan("box_score", **RANGE, columns=["player_id", "PTS"]).split(1)[0]
    assert {tuple(batch.schema.names) for batch in part.batches(asking)} == {("player_id", "PTS")}


@pytest.mark.parametrize("is_end_included", [False, True])
def test_windows_of_a_session_are_neither_lost_nor_repeated(is_end_included: bool) -> None:
    season = Season(5, now=datetime.fromisoformat(NOW), teams=2, players=3, games=2, sessions=(2, 2), practices=0, possessions=3)
    # 75 minutes are three windows, and an hour is two of the longest.
    for (_, session), minutes in zip(season.sessions(), (75, 60, 30), strict=False):
        session.end = session.start + minutes * MINUTE
    with Service(season, now=NOW, features=Features(locations_limit=True)) as service:
        if is_end_included:
            bodies = service._rest.bodies

            def locations(request: Any) -> Any:
                _, session = season.session(request.first("id")) or pytest.fail("no such session")
                return bodies.locations(session, request.number("from"), request.number("to") + 1)

            service._rest._locations = locations  # type: ignore[method-assign]
        with sideline.Client(**service.client_options()) as client:
            plan = client.plan("locations", **RANGE)
            spans = [(unit["session_id"], (unit["end"] - unit["start"]).total_seconds() / 60) for unit in plan.units.to_dicts()]
            assert [minutes for _, minutes in spans[:6]] == [30, 30, 15, 30, 30, 30]
            truth = service.truth()["locations"]
            for count in (1, 1000):
                parts = plan.split(count)
                assert not differences(rows(parts, client), truth, columns=truth[0].keys())
                rows_of_bodies = [row for part in parts for row in part.bodies(client).to_dicts()]
                assert [row["has_next"] for row in rows_of_bodies[:6]] == [True, True, False, True, False, False]


def test_a_position_outside_its_window_is_neither_lost_nor_repeated(tmp_path: Path) -> None:
    """One before the session, one within the time of the next window, which does not have it, one that it has too, and one after the session."""
    season = Season(5, now=datetime.fromisoformat(NOW), teams=2, players=3, games=1, sessions=(1, 1), practices=0, possessions=3)
    [(game, session)] = season.sessions()
    session.end = session.start + 75 * MINUTE
    places = [session.start - 1, session.start + 40 * MINUTE + 1, session.start + 31 * MINUTE + 1, session.end + MINUTE]

    def add_positions(body: Any) -> Any:
        first = body[0]["locations"][0]
        positions = {session.start: places, session.start + 30 * MINUTE: places[2:3]}.get(first["t"], [])
        body[0]["locations"] += [{**first, "t": t, "x": 1, "y": 1} for t in positions]
        return body

    with Service(season, now=NOW, features=Features(locations_limit=True)) as service, sideline.Client(**service.client_options()) as client:
        service.faults.add("locations", change=add_positions)
        expected = client.locations(session.id, session.start, session.end).table().to_polars().sort("t", "player_id")
        assert expected.height == len(service.truth()["locations"]) + 4
        for rows_read in (
            client.plan("locations", game_ids=[game.id]).split(1)[0].read(client).to_polars(),
            client.scan("locations", game_ids=[game.id]).collect(),
        ):
            assert rows_read.sort("t", "player_id").select(expected.columns).drop("game_id").equals(expected.drop("game_id"))
        assert client.scan("locations", game_ids=[game.id]).select("x").collect().height == expected.height
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(game_ids=[game.id], tables=["locations"])
        assert archive.scan("locations").collect().height == expected.height


def test_units_know_their_game_teams_and_times(second: Service, asking: sideline.Client) -> None:
    units = {unit["session_id"]: unit for unit in asking.plan("stat_events", **RANGE).units.to_dicts()}
    expected = {session.id: (event, session) for event, session in second.season.sessions()}
    assert units.keys() == expected.keys()
    for session_id, (event, session) in expected.items():
        unit = units[session_id]
        assert unit["game_id"] == (event.id if event.is_game else None)
        assert unit["event_id"] == event.id
        assert unit["team_ids"] == event.team_ids
        assert (unit["start"].timestamp() * 1000, unit["end"].timestamp() * 1000) == (session.start, session.end)
    starts = [unit["start"] for unit in units.values()]
    assert starts == sorted(starts)


def test_teams_games_and_sessions_are_planned_by_what_is_given(second: Service, asking: sideline.Client) -> None:
    game = second.season.games[0]
    sessions = [session.id for session in game.sessions]
    by_game = asking.plan("stat_events", game_ids=game.id)
    assert [unit["session_id"] for unit in by_game.units.to_dicts()] == sessions
    assert second.requests.counts() == {"game": 1}
    team = asking.plan("stat_events", team_ids=[game.home_id], **RANGE)
    assert second.requests.counts() == {"game": 1, "schedule": 1, "team_events": 1}
    assert all(game.home_id in unit["team_ids"] for unit in team.units.to_dicts())
    by_session = asking.plan("stat_events", session_ids=sessions)
    assert rows(by_session.split(2), asking) == [{**row, "game_id": None} for row in rows(by_game.split(2), asking)]
    assert sum(second.requests.counts().values()) == 3 + 2 * len(sessions)
    assert [unit["session_id"] for unit in team.only(game_ids=[game.id, "other"]).units.to_dicts()] == sessions
    assert len(team.only(session_ids=["other"])) == 0
    assert team.only(session_ids=[]).split(4) == []


def test_without_an_end_the_plan_ends_at_the_services_now(second: Service, asking: sideline.Client) -> None:
    assert len(asking.plan("shots", start=RANGE["start"])) == len(second.season.sessions())
    last = second.requests.all("team_events")[-1].number("to")
    assert last == second.season.now


@pytest.mark.parametrize(
    ("operation", "options", "subject"),
    [
        ("teams", {"status": 500}, "teams/all"),
        ("schedule", {"change": NO_DATA["null root"]}, "schedule/all"),
        ("team_events", {"status": 503, "times": 1}, "team_events/team "),
        ("team_events", {"status": 403, "body": {"status": 403, "message": "Restricted"}, "times": 1}, "team_events/team "),
        ("team_events", {"change": lambda body: {"events": [None, *body["events"]]}}, "event/"),
        ("team_events", {"change": lambda body: {"events": [{**event, "results": None} for event in body["events"]]}}, "results is null"),
    ],
)
def test_a_hole_in_the_lists_is_named_and_no_plan(second: Service, asking: sideline.Client, operation: str, options: dict[str, Any], subject: str) -> None:
    second.faults.add(operation, **options)
    with pytest.raises(sideline.IncompleteError, match=subject):
        asking.plan("shots", **RANGE)
    assert not any(request.operation == "shots" for request in second.requests.all())


def test_a_game_that_does_not_exist_is_a_hole_of_a_plan(asking: sideline.Client) -> None:
    with pytest.raises(sideline.IncompleteError, match="game/no-such-game"):
        asking.plan("shots", game_ids=["no-such-game"])


def test_a_game_that_only_the_schedule_lists_is_planned() -> None:
    with Service(seed=3, now=NOW) as service, sideline.Client(**service.client_options()) as client:
        game = service.season.games[0]
        with service.season.lock:
            game.is_listed = False
            service.season.revision += 1
        session_ids = {unit["session_id"] for unit in client.plan("shots", **RANGE).units.to_dicts()}
        assert {session.id for session in game.sessions} <= session_ids
        # One that the service does not have either was not tracked.
        service.faults.add("game", status=404, body={"status": 404, "message": "Invalid id"})
        session_ids = {unit["session_id"] for unit in client.plan("shots", **RANGE).units.to_dicts()}
        assert not {session.id for session in game.sessions} & session_ids


@pytest.mark.parametrize("table", ["stat_events", "locations"])
def test_a_hole_raises_and_is_a_row_of_bodies(second: Service, asking: sideline.Client, table: str) -> None:
    plan = asking.plan(table, **RANGE)
    second.faults.add(plan.operation, status=503, times=1)
    [part] = plan.split(1)
    with pytest.raises(sideline.IncompleteError, match=r"1 failed.*session .* of game .*503"):
        part.read(asking)
    second.faults.add(plan.operation, status=404, body={"status": 404, "message": "Invalid id"}, times=1)
    with pytest.raises(sideline.IncompleteError, match="1 missing"):
        list(part.batches(asking))
    second.faults.add(plan.operation, status=403, body={"status": 403, "message": "No access"}, times=1)
    second.faults.add(plan.operation, change=NO_DATA["null root"], times=1)
    rows_of_bodies = part.bodies(asking).to_dicts()
    assert [row["session_id"] for row in rows_of_bodies] == [unit["session_id"] for unit in plan.units.to_dicts()]
    assert sorted(row["status"] for row in rows_of_bodies if row["status"] != "fetched") == ["failed", "forbidden"]
    by_status = {row["status"]: row for row in rows_of_bodies}
    assert by_status["forbidden"]["body"] is None
    assert by_status["failed"]["body"] is not None
    for row in rows_of_bodies:
        if row["status"] == "fetched":
            payload = sideline.Payload.from_bytes(plan.operation, row["body"], session_id=row["session_id"], game_id=row["game_id"])
            assert payload.table(table).num_rows == row["rows"]


def test_an_unlinked_404_is_unavailable_and_no_hole(second: Service, asking: sideline.Client) -> None:
    plan = asking.plan("possessions", **RANGE)
    assert {unit["linked"] for unit in plan.units.to_dicts()} == {False}
    second.faults.add("possessions", status=404, body={"status": 404, "message": "Invalid id"}, times=1)
    [part] = plan.split(1)
    assert part.read(asking).num_rows < len(second.truth()["possessions"])
    second.faults.add("possessions", status=404, body={"status": 404, "message": "Invalid id"}, times=1)
    assert [row["status"] for row in part.bodies(asking).to_dicts()].count("unavailable") == 1


def test_refused_credentials_are_said_as_such(second: Service) -> None:
    with sideline.Client(**{**second.client_options(), "secret": "wrong"}) as client, pytest.raises(sideline.AuthenticationError):
        client.plan("shots", **RANGE)


def test_a_part_is_small_and_holds_no_secret(second: Service, asking: sideline.Client) -> None:
    with Service(seed=1, now=NOW, teams=2, games=55, sessions=(3, 3), practices=0, possessions=1) as large:
        options = large.client_options()
        with sideline.Client(**options, requests_per_second=1000) as client:
            plan = client.plan("stat_events", start="2026-12-01", end=NOW)
            part = plan.only(session_ids=[unit["session_id"] for unit in plan.units.to_dicts()][:164]).split(1)[0]
            assert len(part) == 164
            text = pickle.dumps(part)
            assert len(text) < 20_000
            for text_bytes in (text, plan.to_json().encode(), repr(plan).encode(), repr(part).encode(), plan.__reduce__()[1][0]):
                for secret in (options["secret"], options["api_key"]):
                    assert secret.encode() not in text_bytes
            assert pickle.loads(text) == part
            assert Plan.from_json(plan.to_json()) == plan


WORKER = """
import os, pickle, sys
part = pickle.loads(sys.stdin.buffer.read())
sys.stdout.flush()
first = part.read().num_rows
if pid := os.fork():
    _, status = os.waitpid(pid, 0)
    print(first, part.read().num_rows, status)
else:
    os._exit(0 if part.read().num_rows == first else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_workers_environment_gives_the_secret_and_redirects_nothing(second: Service, asking: sideline.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # The planner's own settings are of its environment.
    with monkeypatch.context() as patch:
        for name, value in second.environ.items():
            patch.setenv(name, value)
        with sideline.Client() as client:
            part = client.plan("shots", **RANGE).split(1)[0]
    assert {part.plan.service[name] for name in ("sport", "environment")} == {"basketball", "production"}
    elsewhere = "http://127.0.0.1:9"
    settings = {"BASE_URL": elsewhere, "WEBSOCKET_URL": elsewhere, "BROADCAST_BASE_URL": elsewhere, "SPORT": "football", "ENVIRONMENT": "development"}
    environ = {**os.environ, **{f"SIDELINE_{name}": value for name, value in settings.items()}, "SIDELINE_USERNAME": "nobody"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORKER], input=pickle.dumps(part), capture_output=True, env={**environ, "SIDELINE_SECRET": second.secret}
    )
    count = part.read(asking).num_rows
    assert run.stdout.split() == [b"%d" % count, b"%d" % count, b"0"], run.stderr.decode()
    run = subprocess.run([sys.executable, "-c", WORKER], input=pickle.dumps(part), capture_output=True, env=environ)
    assert b"SIDELINE_SECRET" in run.stderr


def test_parts_of_one_process_share_a_client(second: Service, asking: sideline.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parts, "_clients", {})
    monkeypatch.setenv("SIDELINE_SECRET", "wrong")
    plans = [asking.plan(table, **RANGE) for table in ("shots", "possessions")]
    with pytest.raises(sideline.AuthenticationError, match="401"):
        plans[0].split(1)[0].read()
    # One that was set later is used.
    monkeypatch.setenv("SIDELINE_SECRET", second.secret)
    assert plans[0].split(1)[0].read().to_dicts() == plans[0].split(1)[0].read(asking).to_dicts()
    for part in [*plans[0].split(3), *pickle.loads(pickle.dumps(plans[1].split(2)))]:
        part.read()
    assert len(_parts._clients) == 2
    with pytest.raises(TypeError, match="synchronous"):
        plans[0].split(1)[0].read(sideline.AsyncClient(**second.client_options()))  # type: ignore[arg-type]


def test_the_rate_is_divided_by_the_parts_that_are_read_at_once(second: Service) -> None:
    with sideline.Client(**second.client_options(), requests_per_second=40, timeout=sideline.Timeout(connect=3, read=4, total=50)) as client:
        plan = client.plan("shots", **RANGE)
        for parts, tasks, rate in ((4, None, 10), (4, 2, 20), (2, 8, 20), (1, None, 40)):
            for part in plan.split(parts, tasks=tasks):
                assert part.plan.service["requests_per_second"] == rate
                worker_client = _parts._client_for(part.plan)
                assert worker_client._options["requests_per_second"] == rate
                assert worker_client._options["timeout"] == client._options["timeout"]


def test_an_asynchronous_client_plans_the_same(second: Service, asking: sideline.Client) -> None:
    async def plan_twice() -> tuple[Plan, Plan]:
        async with sideline.AsyncClient(**second.client_options(), max_retries=0) as client:
            return await client.plan("shots", **RANGE), await client.season(2026).plan("shots")

    plan, season_plan = asyncio.run(plan_twice())
    assert plan == asking.plan("shots", **RANGE)
    assert plan._units == season_plan._units


def test_a_cancelled_plan_sends_no_further_request() -> None:
    with Service(seed=3, now=NOW, teams=8) as service:
        service.faults.add(delay=0.2)

        async def cancel() -> tuple[int, int]:
            async with sideline.AsyncClient(**service.client_options(), max_concurrency=1) as client:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.plan("shots", **RANGE), 0.3)
                count = len(service.requests)
                await asyncio.sleep(1)
                return len(service.requests) - count, len(await client.teams())

        further_requests, root_keys = asyncio.run(cancel())
    assert further_requests <= 2, "those that were on their way"
    assert root_keys == 1, "the client goes on"


def test_a_season_is_july_to_june(second: Service, asking: sideline.Client) -> None:
    for name in ("2026-27", "2026-2027", "2026", 2026, np.int64(2026)):
        season = asking.season(name)  # type: ignore[arg-type]
        assert season.range == (datetime(2026, 7, 1, tzinfo=UTC), datetime(2027, 7, 1, tzinfo=UTC))
        assert season.name == "2026-27"
    assert asking.season("1999-00").range[1] == datetime(2000, 7, 1, tzinfo=UTC)
    assert len(asking.season(2026).plan("shots")) == len(second.season.sessions())
    assert len(asking.season(2026, team_ids=[second.season.teams[0].id]).plan("shots")) < len(second.season.sessions())
    assert len(asking.season(2025).plan("shots")) == 0
    for invalid_season in ("2026-28", "26-27", "", 26, True, None, 2026.0, 1989, 2100):
        with pytest.raises(ValueError, match="2026-27|from 1990 to 2099"):
            asking.season(invalid_season)  # type: ignore[arg-type]


def test_the_teams_of_a_season_are_read_once(second: Service, asking: sideline.Client) -> None:
    team = second.season.teams[0].id
    plan = asking.plan("shots", team_ids=[team], start="2026-07-01", end="2027-07-01")
    for teams in (team, str(team), [team], (team_id for team_id in [team]), np.array([team])):
        season = asking.season(2026, team_ids=teams)
        assert repr(season) == "<sideline.Season 2026-27, 1 team>"
        assert [season.plan("shots") for _ in range(2)] == [plan, plan]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"table": "shots"}, "give one of start="),
        ({"table": "shots", "session_ids": ["a"], **RANGE}, "give one of start="),
        ({"table": "shots", "game_ids": ["a"], "team_ids": [1]}, "team_ids need a range"),
        ({"table": "shots", "end": "2027-01-01"}, "end needs a start"),
        ({"table": "shots", "start": "2027-01-02", "end": "2027-01-01"}, "after end"),
        ({"table": "shots", "team_ids": ["x"], **RANGE}, "team_ids are numbers"),
        ({"table": "shots", "columns": ["nope"], **RANGE}, "no column 'nope'"),
        ({"table": "shots", "columns": [], **RANGE}, "no column"),
        ({"table": "players", **RANGE}, r"client\.roster\(team_ids\)\.table\('players'\)"),
        ({"table": "sessions", **RANGE}, "team_events"),
        ({"table": "nope", **RANGE}, "there are player_stats"),
        ({"table": "play_by_play", "session_ids": ["a"]}, "requested by game"),
        ({"table": "locations", "session_ids": ["a"]}, "start= and end="),
    ],
)
def test_an_impossible_plan_is_refused_before_a_request(second: Service, asking: sideline.Client, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        asking.plan(**arguments)
    assert len(second.requests) == 0


def test_locations_of_sessions_take_a_range(second: Service, asking: sideline.Client) -> None:
    _, session = second.season.sessions()[0]
    plan = asking.plan("locations", session_ids=[session.id], start=session.start, end=session.end)
    truth = second.truth(session_ids=[session.id])["locations"]
    assert not differences(rows(plan.split(1), asking), truth, columns=truth[0].keys() - {"game_id"})


def test_an_invalid_plan_is_refused(asking: sideline.Client) -> None:
    text = asking.plan("shots", session_ids=["a"]).to_json()
    for invalid_text in (
        "",
        "{}",
        "[]",
        text.replace('"version":1', '"version":9'),
        text.replace('"base_url"', '"secret"'),
        text.replace('"shots"', '"teams"'),
        text[:-3],
    ):
        with pytest.raises(ValueError, match="not a sideline plan"):
            Plan.from_json(invalid_text)
    for count in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="at least 1"):
            Plan.from_json(text).split(count)  # type: ignore[arg-type]


def test_an_estimate_is_near_what_a_simulated_season_costs() -> None:
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client(requests_per_second=50) as client:
        games = [game["event_id"] for game in service.games[:3]]
        for table in ("player_stats", "stat_events", "possessions", "shots", "play_by_play", "ball_screens", "locations"):
            plan = client.plan(table, game_ids=games)
            cost = plan.estimate()
            sizes = [len(body) for part in plan.split(1) for body in part.bodies(client)["body"]]
            assert (cost.requests, cost.seconds, cost.source) == (len(sizes), len(sizes) / 50, "declared")
            assert sum(sizes) / 2 < cost.bytes < 2 * sum(sizes), table


def test_a_sync_says_in_advance_what_its_bodies_take(tmp_path: Path) -> None:
    seen: list[sideline.Progress] = []
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        archive = sideline.Archive(tmp_path, client)
        games = [game["event_id"] for game in service.games[:3]]
        archive.sync(game_ids=games, tables=["shots", "play_by_play", "locations"], progress=seen.append)
    size = sum(len(body) for body in archive.scan("raw").filter(pl.col("operation").is_in(["shots", "play_by_play", "locations"])).collect()["body"])
    assert size / 2 < seen[0].bytes < 2 * size
    assert {progress.bytes for progress in seen} == {seen[0].bytes}


def test_a_batch_of_positions_says_in_advance_what_its_range_takes() -> None:
    seen: list[sideline.Progress] = []
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        session = client.game(service.games[0]["event_id"]).table("sessions").to_dicts()[0]
        start = int(session["started_at"].timestamp() * 1000)
        batch = client.locations([session["session_id"]], session["started_at"], start + MINUTE, progress=seen.append)
    size = sum(len(payload.raw) for payload in batch)
    assert size / 2 < seen[0].bytes < 2 * size


def test_an_estimate_can_be_read(client: sideline.Client, game: dict[str, Any]) -> None:
    cost = client.plan("shots", game_ids=[game["id"]]).estimate()
    assert str(cost._replace(requests=1234, bytes=56_780_000, seconds=125.4)) == "1,234 requests, about 56.8 MB, at least 2:05"
    assert str(cost._replace(requests=2, bytes=51_000)) == "2 requests, about 0.1 MB, no time is known without requests_per_second"
