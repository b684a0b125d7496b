"""The second service itself: independent, consistent before and after every mutation, and true to the specification's rules."""

from __future__ import annotations

import ast
import http.client
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from service import EMPTY, NO_DATA, Features, Mutations, Season, Service, differences, sign, truncated

import sideline

NOW = "2027-03-01T12:00:00+00:00"
FROM, TO = 1_790_000_000_000, 1_810_000_000_000
MUTATIONS = sorted(Mutations(Season(teams=2, games=1, now=datetime.fromisoformat(NOW))).all)


def get(service: Service, target: str, *, username: str | None = None, secret: str | None = None, date: str | None = None) -> tuple[int, Any]:
    """A signed request by the standard library alone."""
    host = urlsplit(service.base_url).netloc
    date = date or format_datetime(datetime.now(UTC), usegmt=True)
    signature = sign(secret or service.secret, date, host, "GET", target.partition("?")[0])
    value = f'hmac username="{username or service.username}",algorithm="hmac-sha1",headers="date host request-line",signature="{signature}"'
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        connection.request("GET", target, headers={"Date": date, "Authorization": value})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_no_file_of_the_service_imports_the_package_or_any_library() -> None:
    files = sorted(Path(__file__).with_name("service").rglob("*.py"))
    assert len(files) > 8
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            absolute = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                absolute = [node.module or ""]
            assert {name.partition(".")[0] for name in absolute} <= sys.stdlib_module_names, file


@pytest.mark.parametrize(
    ("secret", "date", "host", "path", "expected"),
    [
        ("second-secret", "Sun, 22 Nov 2026 06:00:00 GMT", "api.example.test", "/v1/data/teams", "JyPjZPo2TmOpZZjM/Yo7Em9yDOA="),
        (
            "g\N{LATIN SMALL LETTER E WITH ACUTE}heim",
            "Mon, 01 Mar 2027 12:00:00 GMT",
            "127.0.0.1:8080",
            "/v1/data/teams/11/events",
            "WP/1MrEH6ujHL/nUgv72ZQhAnks=",
        ),
    ],
)
def test_signatures_are_those_of_openssl(secret: str, date: str, host: str, path: str, expected: str) -> None:
    assert sign(secret, date, host, "GET", path) == expected


def assert_consistent(service: Service) -> None:
    """By the bodies alone: events add up to box scores, players to teams, possessions and shots to events; links and ids lead somewhere."""
    game_ids = {game["event_id"] for game in get(service, f"/v1/data/schedule/games?from={FROM}&to={TO}")[1]["games"]}
    events = {}
    for team in get(service, "/v1/data/teams")[1]["teams"]:
        status, body = get(service, f"/v1/data/teams/{team['id']}/events?from={TO - 20_000_000_000}&to={TO}")
        assert status == 200
        events |= {event["id"]: event for event in body["events"]}
    assert {event.id for event in service.season.games if event.is_scheduled} == game_ids
    assert {event.id for event in service.season.played if event.is_listed} == set(events)
    for event in events.values():
        if event["is_game_event"]:
            assert get(service, urlsplit(event["_self"]).path) == (200, event)
        for result in event["results"]:
            assert event["started_at"] <= result["started_at"] < result["ended_at"] <= event["ended_at"]
            box, details, shots = (get(service, urlsplit(result[name]).path)[1]["teams"] for name in ("_stats", "_stats_details", "_shots"))
            possessions = get(service, f"/v1/data/stats/{result['id']}/possessions")[1]["teams"]
            names = {team["id"]: team["name"] for team in box}
            assert all({team["id"]: team["name"] for team in teams} == names for teams in (details, shots, possessions))
            for team, detail, own_shots, own_possessions in zip(box, details, shots, possessions, strict=True):
                totals = {line["id"]: line["stats"] for line in team["player_stats"]}
                sums = {
                    line["id"]: {code: sum(occurrence["value"] for occurrence in occurrences) for code, occurrences in line["stats"].items()}
                    for line in detail["player_stats"]
                }
                assert sums == {player: {code: value for code, value in stats.items() if value} for player, stats in totals.items()}
                players: Counter[str] = Counter()
                for player, stats in totals.items():
                    players.update(stats if player else {})
                assert Counter(totals[0]) == players
                attempts = [shot for player in own_shots["player_shots"] for shot in player["shots"]]
                assert (len(attempts), sum(shot["is_make"] for shot in attempts)) == (totals[0]["FGA"], totals[0]["FG"])
                counts = Counter(
                    code
                    for possession in own_possessions["possessions"]
                    for stat in possession["stats"]
                    for code in {stat["possession_type"], *stat["details"]}
                )
                assert {code: value for code, value in counts.items() if code != "PTS"} == {
                    code: value for code, value in totals[0].items() if value and code != "PTS"
                }
                times = [(possession["start_timestamp"], possession["end_timestamp"]) for possession in own_possessions["possessions"]]
                assert times == sorted(times)
                assert all(start < end for start, end in times)
                assert all(
                    possession["start_timestamp"] <= stat["timestamp"] <= possession["end_timestamp"]
                    for possession in own_possessions["possessions"]
                    for stat in possession["stats"]
                )
                assert {0, *(player["id"] for player in own_possessions["team_player_details"])} == set(totals)
                for possession in own_possessions["possessions"] if event["is_game_event"] else ():
                    sides = [set(possession[side]) for side in ("player_ids", "opposing_player_ids")]
                    assert [len(side) for side in sides] == [5, 5]
                    at = possession["start_timestamp"]
                    assert [{service.season.player(player).team_at(at) == team["id"] for player in side} for side in sides] == [{True}, {False}]


def test_the_season_is_consistent_and_the_same_for_the_same_seed() -> None:
    with Service(seed=5, now=NOW) as service:
        assert_consistent(service)
        second = Service(seed=5, now=NOW, link_base=service.base_url)
        assert second.truth() == service.truth()
        assert all(service.truth().values())


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_changes_the_truth_and_keeps_it_consistent(name: str) -> None:
    with Service(seed=5, now=NOW, teams=3, games=3, sessions=(1, 2), practices=1) as service:
        before = service.truth()
        assert any(service.change.all[name]() for _ in range(10))
        after = service.truth()
        assert {table for table in before if before[table] != after[table]}
        if name == "reorder":
            assert not any(differences(after[table], before[table]) for table in before)
        assert_consistent(service)


def test_every_table_of_a_payload_is_the_truth_row_for_row() -> None:
    """The only test that compares the two: the client decodes exactly the service's own objects."""
    with Service(seed=5, now=NOW, features=Features(game_round=True, possessions_link=True)) as service:
        service.change.reorder()
        service.change.correct_stat()
        client = sideline.Client(**service.client_options())
        truth = service.truth()
        for table, payload in (("teams", client.teams()), ("games", client.schedule(FROM, TO))):
            assert not differences(payload.table(table).to_dicts(), truth[table])
        for team in service.season.teams:
            rows = service.truth(team_ids=[team.id], request_team_id=team.id)
            for payload in (client.roster(team.id), client.team_events(team.id, TO - 20_000_000_000, TO)):
                for table in payload.tables:
                    columns = (rows[table] or [{}])[0].keys() & set(payload.table(table).column_names)
                    assert not differences(payload.table(table).to_dicts(), rows[table], columns=columns), table
        for _, session in service.season.sessions():
            rows = service.truth(session_ids=[session.id])
            for payload in (client.stats(session.id), client.stats_details(session.id), client.possessions(session.id), client.shots(session.id)):
                for table in payload.tables:
                    columns = {*rows[table][0], *payload.table(table).column_names} - {"game_id"}
                    assert not differences(payload.table(table).to_dicts(), rows[table], columns=columns), table
            locations = client.locations(session.id, session.start, session.end).table().to_dicts()
            assert not differences(locations, rows["locations"], columns=rows["locations"][0].keys() - {"game_id"})


def test_the_tables_of_a_game_are_the_truth_of_its_sessions() -> None:
    with Service(seed=6, features=Features.everything()) as service:
        client = sideline.Client(**service.client_options())
        for game in (game for game in service.season.games if game.sessions):
            rows_of_game = service.truth_of_game(game.id)
            rows = [row for row in service.truth()["play_by_play"] if row["game_id"] == game.id]
            for payload, table, truth in (
                (client.game_stats_details(game.id), "stat_events", rows_of_game["stat_events"]),
                (client.game_shots(game.id), "shots", rows_of_game["shots"]),
                (client.play_by_play(game.id), "play_by_play", rows),
            ):
                assert not differences(payload.table(table).to_dicts(), truth, columns={*truth[0], *payload.table(table).column_names})


def test_errors_are_those_of_the_specification() -> None:
    with Service(seed=5) as service:
        team = service.season.teams[0].id
        assert get(service, f"/v1/data/stats/{'0' * 8}/stats")[0] == 404
        assert get(service, f"/v1/data/teams/{team}?game_event_id=nope")[1]["message"] == "Game not found"
        outside = next(game for game in service.season.games if game.sessions and team not in game.team_ids)
        assert get(service, f"/v1/data/teams/{team}?game_event_id={outside.id}")[0] == 404
        status, body = get(service, f"/v1/data/teams/{team}/events?from=9&to=5")
        assert (status, body["status"], body["message"]) == (422, 422, "from must be less than to")
        assert get(service, f"/v1/data/teams/{team}/events?from=0&to=5")[1]["message"] == "from and to must both be greater than 0"
        assert get(service, f"/v1/data/teams/{team}/events?from=1700000000000&to=1800000000000")[1]["message"] == "the range may not exceed 8 months"
        assert get(service, f"/v1/data/teams/{team}/events?from=-5&to=-9")[1]["message"].count(" | ") == 1
        for privilege, target in (("stats", f"/v1/data/stats/{service.season.sessions()[0][1].id}/stats"), ("rosters", f"/v1/data/teams/{team}")):
            service.credentials[service.username].privileges.discard(privilege)
            assert get(service, target)[0] == 403
        game = service.season.games[0].id
        assert [get(service, f"/v1/data/stats/games/{game}/{part}")[0] for part in ("details", "ballscreens", "shots", "stats,details")] == [404] * 4
        service.features = Features.everything()
        assert [get(service, f"/v1/data/stats/games/{game}/{part}")[0] for part in ("details", "ballscreens", "shots", "stats,details")] == [200] * 4


def test_a_request_is_refused_by_its_signature_user_and_date() -> None:
    with Service(seed=5) as service:
        late = format_datetime(datetime.now(UTC) - timedelta(minutes=6), usegmt=True)
        assert [get(service, "/v1/data/teams", **options)[0] for options in ({"secret": "x"}, {"username": "x"}, {"date": late}, {})] == [401, 401, 401, 200]
        service.clock_offset = -360
        assert get(service, "/v1/data/teams", date=late)[0] == 200


def test_faults_follow_one_another_and_are_counted_by_the_log() -> None:
    with Service(seed=5) as service:
        service.faults.add("teams", status=500, times=1)
        service.faults.add(path="/teams$", change=NO_DATA["null root"], times=1)
        service.faults.add("teams", refuse=True, times=1)
        service.faults.add("teams", cut_at=3, times=1)
        service.faults.add("teams", change_bytes=truncated(0.5), times=1)
        service.faults.add("teams", change=EMPTY, times=1)
        assert get(service, "/v1/data/teams")[0] == 500
        assert get(service, "/v1/data/teams") == (200, {"teams": None})
        with pytest.raises(http.client.RemoteDisconnected):
            get(service, "/v1/data/teams")
        with pytest.raises(http.client.IncompleteRead):
            get(service, "/v1/data/teams")
        with pytest.raises(json.JSONDecodeError):
            get(service, "/v1/data/teams")
        assert get(service, "/v1/data/teams") == (200, {"teams": []})
        assert len(get(service, "/v1/data/teams")[1]["teams"]) == 4
        assert [request.status for request in service.requests.all("teams")] == [500, 200, 0, 200, 200, 200, 200]


def test_a_live_game_is_replayed_from_where_the_client_was() -> None:
    with Service(seed=5) as service:
        client = sideline.Client(**service.client_options())
        with client.live(token="token-0", notices=False, retry_wait=0.01) as stream:
            service.live.wait_for_connections(1)
            # One number alone is no sequence to resume by.
            for n in (1, 2):
                service.live.send({"n": n}, source="marker", numbered=True)
            service.live.send("tick", source="clock")
            assert [next(stream).to_dict()["data"] for _ in range(3)] == [{"n": 1}, {"n": 2}, "tick"]
            service.live.reset()
            service.live.send({"n": 3}, source="marker", numbered=True)
            assert next(stream).to_dict()["data"] == {"n": 3}
            assert service.live.wait_for_connections(2).last_seq == 2
        assert [(message.seq, message.receivers) for message in service.live.sent] == [(1, [0]), (2, [0]), (None, [0]), (3, [1])]
        with client.live_stats("any", notices=False, retry_wait=0.01) as stream:
            service.live.wait_for_connections(1, kind="sse")
            service.live.send_event({"score": 1}, id="7")
            assert next(stream).to_dict() == {"score": 1}
