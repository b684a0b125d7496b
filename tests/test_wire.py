"""Each operation on the wire: the request line that is sent, and every documented field of a body written by hand.

The bodies follow docs/wire.md field by field; `exchange` serves one of them and keeps the requests.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from contract import rows_of
from independent import Asked, as_json, read, server, verify
from wire import answering, listener

import sideline

T = 1_793_563_200_000  # date -u -d 2026-11-01T20:00:00Z +%s
AT = datetime(2026, 11, 1, 20, tzinfo=UTC)
LINK = "https://api.shottracker.com/v1/data/x"


@contextmanager
def exchange(body: Any, status: int = 200, **options: Any) -> Iterator[tuple[sideline.Client, list[Asked]]]:
    """A client of a server that responds to every signed request with one body, and refuses others."""

    def respond(request: Asked) -> Any:
        if not request.target.startswith("/broadcast/") and verify(request, {"ann": "s3cret"}, time.time()) is not None:
            return as_json({"message": "HMAC signature does not match"}, 401)
        return as_json(body, status)

    with server(respond) as seen:
        address = seen.base_url
        settings = {"username": "ann", "secret": "s3cret", "api_key": "k3y", "base_url": address, "broadcast_base_url": address}
        with sideline.Client(**settings | options) as client:
            yield client, seen.requests


def target(call: Callable[[sideline.Client], Any], body: Any = None, **options: Any) -> str:
    """The request of a call."""
    with exchange({} if body is None else body, **options) as (client, requests):
        call(client)
    assert len(requests) == 1
    assert requests[0].method == "GET"
    return requests[0].target


def fetch(call: Callable[[sideline.Client], Any], body: Any, **options: Any) -> Any:
    """The payload of a body that has nothing but documented fields; it is in the dict as it was sent."""
    with exchange(body, strict=True, **options) as (client, _):
        payload = call(client)
    assert payload.to_dict() == body
    return payload


def row(table: Any) -> dict[str, Any]:
    rows = rows_of(table)
    assert len(rows) == 1
    return rows[0]


# -- requests

NO_TEAMS: dict[str, Any] = {"teams": []}
NO_GAMES: dict[str, Any] = {"games": []}
EVENTS: dict[str, Any] = {"events": []}


@pytest.mark.parametrize(
    ("call", "body", "expected"),
    [
        (lambda c: c.teams(), NO_TEAMS, "/v1/data/teams"),
        (lambda c: c.roster(46), {"id": 46, "players": []}, "/v1/data/teams/46"),
        (lambda c: c.roster(46, game_id="g-1", reference="NCAA"), {"id": 46, "players": []}, "/v1/data/teams/46?game_event_id=g-1&reference=NCAA"),
        (lambda c: c.schedule(1_800_000_000_001), NO_GAMES, "/v1/data/schedule/games?type=BASKETBALL&from=1800000000001"),
        (
            lambda c: c.schedule(1_800_000_000_001, 1_800_000_000_002, sport="football"),
            NO_GAMES,
            "/v1/data/schedule/games?type=FOOTBALL&from=1800000000001&to=1800000000002",
        ),
        (lambda c: c.schedule(1_800_000_000_005, 1_800_000_000_009), NO_GAMES, "/v1/data/schedule/games?type=BASKETBALL&from=1800000000005&to=1800000000009"),
        (
            lambda c: c.schedule(1_800_000_000_001, 1_800_000_000_002, team_id=46, location_id="a@b"),
            NO_GAMES,
            "/v1/data/schedule/games?type=BASKETBALL&from=1800000000001&to=1800000000002&team_id=46&location_id=a@b",
        ),
        (
            lambda c: c.schedule(1_800_000_000_001, season_type="pre", week=3),
            NO_GAMES,
            "/v1/data/schedule/games?type=BASKETBALL&from=1800000000001&seasonType=PRE&weekNumber=3",
        ),
        (lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002), EVENTS, "/v1/data/teams/46/events?from=1800000000001&to=1800000000002"),
        (
            lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002, games_only=True),
            EVENTS,
            "/v1/data/teams/46/events?from=1800000000001&to=1800000000002&gamesonly=true",
        ),
        (
            lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002, workouts_only=True),
            EVENTS,
            "/v1/data/teams/46/events?from=1800000000001&to=1800000000002&workoutsonly=true",
        ),
        (
            lambda c: c.team_game_stats(46, start=1_800_000_000_001, end=1_800_000_000_002),
            {"id": 46, "player_stats": []},
            "/v1/data/teams/46/players/game/stats?from=1800000000001&to=1800000000002",
        ),
        (
            lambda c: c.team_game_stats(46, game_id="g-1"),
            {"id": 46, "player_stats": []},
            "/v1/data/teams/46/players/game/stats?from=1&to=2&event_id=g-1",
        ),
        (lambda c: c.game_events("g-1"), {}, "/v1/data/games/g-1/events"),
        (lambda c: c.game_events("g-1", team_id=46), {}, "/v1/data/games/g-1/events?team_id=46"),
        (lambda c: c.game("g-1"), {"id": "g-1", "results": []}, "/v1/data/games/g-1"),
        (lambda c: c.stats("s-1"), NO_TEAMS, "/v1/data/stats/s-1/stats"),
        (lambda c: c.stats_details("s-1"), NO_TEAMS, "/v1/data/stats/s-1/stats/details"),
        (lambda c: c.possessions("s-1"), NO_TEAMS, "/v1/data/stats/s-1/possessions"),
        (lambda c: c.shots("s-1"), NO_TEAMS, "/v1/data/stats/s-1/shots"),
        (lambda c: c.locations("s-1", 1_800_000_000_001, 1_800_000_000_002), [], "/v1/data/sensors/locations?id=s-1&from=1800000000001&to=1800000000002"),
        (lambda c: c.game_stats_details("g-1"), NO_TEAMS, "/v1/data/stats/games/g-1/stats/details"),
        (lambda c: c.game_shots("g-1"), {"shots": []}, "/v1/data/stats/games/g-1/shots"),
        (lambda c: c.videos("g-1"), {"videos": []}, "/v1/data/stats/games/g-1/videos"),
        (lambda c: c.play_by_play("g-1"), {"details": []}, "/v1/data/stats/games/g-1/details"),
        (lambda c: c.ball_screens("g-1"), {"ballscreens": []}, "/v1/data/stats/games/g-1/ballscreens"),
        (lambda c: c.catch_up("g-1", ["shots", "details"]), {"shots": [], "details": []}, "/v1/data/stats/games/g-1/shots,details"),
        (
            lambda c: c.matchup([46, "7"], 1_800_000_000_001, 1_800_000_000_002, reference="NCAA", gender="men"),
            NO_GAMES,
            "/v1/data/schedule/games/matchup?from=1800000000001&to=1800000000002&team_id=46&team_id=7&reference=NCAA&gender=MEN",
        ),
        (
            lambda c: c.matchup(46, 1_800_000_000_005, 1_800_000_000_009, reference="NCAA", gender="WOMEN"),
            NO_GAMES,
            "/v1/data/schedule/games/matchup?from=1800000000005&to=1800000000009&team_id=46&reference=NCAA&gender=WOMEN",
        ),
        (lambda c: c.subscription_token("g-1"), {"token": "t"}, "/v1/data/schedule/games/g-1/_subscribe"),
        (lambda c: c.broadcast_schedule(), {}, "/broadcast/v1/games/schedule?apikey=k3y"),
        (
            lambda c: c.broadcast_schedule(1_800_000_000_005, 1_800_000_000_009),
            {},
            "/broadcast/v1/games/schedule?from=1800000000005&to=1800000000009&apikey=k3y",
        ),
        (lambda c: c.broadcast_schedule(mock=True), {}, "/broadcast/v1/games/schedule?mock=true&apikey=k3y"),
        (lambda c: c.broadcast_teams(), {}, "/broadcast/v1/games/teams?apikey=k3y"),
        (lambda c: c.broadcast_roster(46, game_id="g-1"), {"id": 46, "players": []}, "/broadcast/v1/games/teams/46?game_event_id=g-1&apikey=k3y"),
        (lambda c: c.broadcast_stats("x-1"), {}, "/broadcast/v1/stats?schedule_id=x-1&apikey=k3y"),
        (lambda c: c.broadcast_stats("mock-service", mock=True), {}, "/broadcast/v1/stats?schedule_id=mock-service&mock=true&apikey=k3y"),
        (lambda c: c.broadcast_colors("x-1"), {}, "/broadcast/v1/games/active/x-1/colors?apikey=k3y"),
        (lambda c: c.broadcast_locomotion("x-1", 46), {}, "/broadcast/v1/locomotion?schedule_id=x-1&team_id=46&apikey=k3y"),
        (lambda c: c.get("/v1/data/games/g-1/lineups", {"at": 5}), {}, "/v1/data/games/g-1/lineups?at=5"),
        (lambda c: c.get("/broadcast/v1/games/officials"), {}, "/broadcast/v1/games/officials?apikey=k3y"),
    ],
)
def test_each_operation_requests_its_documented_address(call: Callable[[sideline.Client], Any], body: Any, expected: str) -> None:
    assert target(call, body) == expected


def test_a_football_client_requests_football_games() -> None:
    assert target(lambda c: c.schedule(1_800_000_000_001), NO_GAMES, sport="football") == "/v1/data/schedule/games?type=FOOTBALL&from=1800000000001"


@pytest.mark.parametrize(
    ("sport", "environment", "host"),
    [
        ("basketball", "production", "api.shottracker.com"),
        ("basketball", "development", "devapi-shottracker.ddsports.com"),
        ("football", "production", "api-gridtracker.ddsports.com"),
        ("football", "development", "devapi-gridtracker.ddsports.com"),
    ],
)
@pytest.mark.parametrize("kind", ["rest", "broadcast", "websocket"])
def test_each_sport_and_environment_has_its_host(sport: str, environment: str, host: str, kind: str) -> None:
    calls: dict[str, Callable[[sideline.Client], Any]] = {
        "rest": lambda client: client.teams(),
        "broadcast": lambda client: client.broadcast_teams(),
        "websocket": lambda client: next(client.live(token="t", give_up_on=range(300, 600), retry_wait=0.01)),
    }
    heads: list[bytes] = []
    # A proxy that reaches nobody; what it receives is the point.
    with listener(answering(heads, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) as between:
        settings = {"sport": sport, "environment": environment, "proxy": f"http://127.0.0.1:{between.port}"}
        with sideline.Client(username="u", secret="s", api_key="k", max_retries=0, **settings) as client, contextlib.suppress(sideline.ConnectError):
            calls[kind](client)
    assert heads[0].startswith(f"CONNECT {host}:443 HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("place", ["query", "header"])
def test_the_broadcast_key_is_sent_once_and_where_it_was_requested(place: str) -> None:
    heads: list[bytes] = []
    with listener(answering(heads)) as seen:
        with sideline.Client(api_key="canary k&y", api_key_in=place, broadcast_base_url=f"http://127.0.0.1:{seen.port}") as client:
            payload = client.broadcast_teams()
            next(client.live_stats("x-1", max_wait=0.01))
    for request in map(read, heads[:2]):
        in_query = "apikey=canary%20k%26y" in request.target
        assert (in_query, request.headers.get("apikey")) == ((True, None) if place == "query" else (False, "canary k&y"))
        assert "authorization" not in request.headers
    assert "canary" not in payload.url + repr(client) + repr(payload)


def test_a_wrong_place_for_the_key_is_refused() -> None:
    with pytest.raises(sideline.ConfigurationError, match='api_key_in is "body"; it must be "query" or "header"'):
        sideline.Client(api_key="k", api_key_in="body")  # type: ignore[arg-type]


def test_mock_data_is_streamed_where_it_is_requested() -> None:
    heads: list[bytes] = []
    with listener(answering(heads)) as seen:
        with sideline.Client(api_key="k3y", broadcast_base_url=f"http://127.0.0.1:{seen.port}") as client:
            next(client.live_stats("mock-service", mock=True))
    assert read(heads[0]).target == "/broadcast/v1/stats/event-stream?schedule_id=mock-service&mock=true&apikey=k3y"


def test_the_simulators_mock_game_is_streamed_without_end(service: sideline.Simulator, client: sideline.Client) -> None:
    with client.live_stats("mock-service", mock=True, notices=False) as stream:
        scores = [next(stream).to_dict() for _ in range(3)]
    assert {score["schedule_id"] for score in scores} == {"mock-service"}


def test_where_a_token_is_requested_and_carried_can_be_set() -> None:
    heads: list[bytes] = []
    body = b'{"token": "t/1"}'
    ok = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with listener(answering(heads, ok)) as seen:
        address = f"127.0.0.1:{seen.port}"
        settings = {"base_url": f"http://{address}", "websocket_url": f"ws://{address}", "token_path": "/v3/tokens/{game_id}", "token_parameter": "start_token"}
        with sideline.Client(username="ann", secret="s3cret", **settings) as client:
            next(client.live("g-1", give_up_on=range(200, 600)))
    first, second = read(heads[0]), read(heads[1])
    assert first.target == "/v3/tokens/g-1"
    assert verify(first, {"ann": "s3cret"}, time.time()) is None
    assert second.target == "/live/v2/games?start_token=t%2F1"
    assert "authorization" not in second.headers


def test_a_fresh_token_that_is_refused_is_not_blamed_on_its_age() -> None:
    def respond(request: Asked) -> Any:
        return as_json({"token": "t"}) if "_subscribe" in request.target else as_json({"message": "no"}, 403)

    with server(respond) as seen:
        settings = {"base_url": seen.base_url, "websocket_url": seen.base_url.replace("http", "ws")}
        with sideline.Client(username="ann", secret="s3cret", **settings) as client:
            with pytest.raises(sideline.ApiError) as excinfo:
                list(client.live("g-1"))
            assert "may lack access" in str(excinfo.value)
            assert "give game_id" not in str(excinfo.value)
            with pytest.raises(sideline.ApiError, match="give game_id="):
                list(client.live(token="t"))


# -- bodies, each with every documented field and no other


def test_a_team_has_its_seven_fields() -> None:
    team = {"id": 46, "name": "A", "gender": "MEN", "conference_name": "C", "league_name": "L", "sport": "BASKETBALL", "reference_id": "r-1"}
    assert row(fetch(lambda c: c.teams(), {"teams": [team]}).table()) == {"team_id": team.pop("id"), **team}


PLAYER_IMAGES = [
    "image_light",
    "image_dark",
    "image_light_transparent",
    "image_dark_transparent",
    "headshot_light",
    "headshot_dark",
    "headshot_transparent",
    "image_profile",
]
TEAM_IMAGES = [
    "logo_small_light",
    "logo_small_dark",
    "logo_small_light_transparent",
    "logo_small_dark_transparent",
    "logo_light",
    "logo_dark",
    "logo_light_transparent",
    "logo_dark_transparent",
]


def test_a_roster_has_the_team_its_images_its_players_and_their_services() -> None:
    player = {
        "id": 11, "first_name": "A", "last_name": "B", "jersey_number": 0, "jersey_number_str": "00", "position": "center", "profile_image_link": LINK,
        "display_name": "A. B.", "is_active": False, "reference_id": "p-1", "sensor": 100630, "is_starter": True, "is_scout": False,
        "special_services": [{"type": "MIC", "value": "mic6"}, {"type": "VIDEO", "value": "v"}],
        "team_player_images": {name: f"{LINK}/{name}" for name in PLAYER_IMAGES},
    }  # fmt: skip
    team = {"id": 46, "name": "A", "gender": "MEN", "conference_name": "C", "league_name": "L", "sport": "BASKETBALL", "reference_id": "r-1"}
    images = {name: f"{LINK}/{name}" for name in TEAM_IMAGES}
    body = {**team, "logo_image_link": LINK, "team_images": images, "players": [player]}
    payload = fetch(lambda c: c.roster(46), body)
    flat = {name: value for name, value in player.items() if name not in ("id", "special_services", "team_player_images")}
    assert row(payload.table("players")) == {"team_id": 46, "player_id": 11, **flat, **{name: f"{LINK}/{name}" for name in PLAYER_IMAGES}}
    assert [(r["type"], r["value"]) for r in payload.table("special_services").to_dicts()] == [("MIC", "mic6"), ("VIDEO", "v")]
    assert row(payload.table("team")) == {"team_id": team.pop("id"), **team, "logo_image_link": LINK, **images}


def test_a_scheduled_game_has_its_twenty_one_fields() -> None:
    game = {
        "event_id": "e-1", "facility_name": "F", "court_name": "C", "location_id": "c-1@f-1", "tournament": None, "tipoff_at": T, "gender": "MEN",
        "status": "ACTIVE", "type": "BASKETBALL", "home_team_id": 1, "away_team_id": 2, "home_team_name": "A", "away_team_name": "B",
        "home_team_reference_id": "r-1", "away_team_reference_id": "r-2", "officials_team_id": 0, "_results": LINK, "reference_id": "r-3",
        "fan_engagement_enabled": True, "source": "SHOTTRACKER",
    }  # fmt: skip
    expected = {("game_id" if name == "event_id" else "results_link" if name == "_results" else name): value for name, value in game.items()}
    table = fetch(lambda c: c.schedule(1_800_000_000_001), {"games": [game]}).table()
    assert row(table) == {**expected, "tipoff_at": AT, "court_id": "c-1", "facility_id": "f-1"}


def test_an_undocumented_status_is_an_ordinary_value() -> None:
    body = {"games": [{"event_id": "e-1", "status": "RAINED_OUT", "type": "CURLING", "gender": "MIXED"}]}
    fields = row(fetch(lambda c: c.schedule(1_800_000_000_001), body).table())
    assert (fields["status"], fields["type"], fields["gender"]) == ("RAINED_OUT", "CURLING", "MIXED")


def test_a_location_id_without_an_at_sign_is_left_whole() -> None:
    fields = row(fetch(lambda c: c.matchup(1, 1_800_000_000_001, reference="X", gender="MEN"), {"games": [{"event_id": "e-1", "location_id": "/a/b"}]}).table())
    assert (fields["location_id"], fields["court_id"], fields["facility_id"]) == ("/a/b", None, None)


def event(**more: Any) -> dict[str, Any]:
    links = [f"{LINK}?id=s-1&from={T}&to={T + 1_800_000}", f"{LINK}?id=s-1&from={T + 1_800_000}&to={T + 2_400_000}"]
    result = {
        "id": "s-1",
        "name": "Q1",
        "type": "GAME_ROUND",
        "started_at": T,
        "ended_at": T + 2_400_000,
        "_stats": f"{LINK}/1",
        "_stats_details": f"{LINK}/2",
        "_shots": f"{LINK}/3",
        "_locations": links,
    }
    return {
        "id": "e-1", "name": "A at B", "results": [result], "source": "SHOTTRACKER", "is_practice_event": False, "is_game_event": True, "started_at": T,
        "ended_at": T + 2_400_000, "game_type": "HALF", "_self": f"{LINK}/self", "totals": {"_stats_details": f"{LINK}/all"},
        "game_attributes": {"home_team_id": 1, "home_team_name": "B", "away_team_id": 2, "away_team_name": "A"},
    } | more  # fmt: skip


@pytest.mark.parametrize("root", [lambda event: {"events": [event]}, lambda event: [event], lambda event: event])
def test_an_event_has_its_fields_whatever_the_root(root: Callable[[Any], Any]) -> None:
    payload = fetch(lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002), root(event()))
    fields = row(payload.table("events"))
    assert (fields["event_id"], fields["game_id"], fields["team_id"], fields["name"], fields["source"]) == ("e-1", "e-1", 46, "A at B", "SHOTTRACKER")
    assert (fields["is_practice_event"], fields["is_game_event"], fields["game_type"], fields["started_at"]) == (False, True, "HALF", AT)
    assert [fields[name] for name in ("home_team_id", "home_team_name", "away_team_id", "away_team_name")] == [1, "B", 2, "A"]
    assert (fields["self_link"], fields["stats_details_link"]) == (f"{LINK}/self", f"{LINK}/all")


def test_a_session_has_its_links_and_windows_that_touch() -> None:
    payload = fetch(lambda c: c.game("e-1"), event())
    fields = row(payload.table("sessions"))
    assert (fields["session_id"], fields["name"], fields["type"], fields["started_at"]) == ("s-1", "Q1", "GAME_ROUND", AT)
    assert [fields[name] for name in ("stats_link", "stats_details_link", "shots_link")] == [f"{LINK}/{n}" for n in (1, 2, 3)]
    first, second = payload.table("location_windows").to_dicts()
    assert (first["start"], first["end"]) == (AT, second["start"])


@pytest.mark.parametrize("link", [None, f"{LINK}/possessions"])
def test_a_result_may_have_a_link_to_possessions_or_none(link: str | None) -> None:
    game = event()
    if link:
        game["results"][0] |= {"_possessions": link, "_possessions_summary": f"{link}/summary"}
    assert row(fetch(lambda c: c.game("e-1"), game).table("sessions"))["possessions_link"] == link


def test_a_session_without_a_name_and_a_link_of_one_window_are_read() -> None:
    game = event()
    game["results"][0] |= {"name": None, "_locations": f"{LINK}?id=s-1&from={T}&to={T + 1}"}
    payload = fetch(lambda c: c.game("e-1"), game)
    assert row(payload.table("sessions"))["name"] is None
    assert row(payload.table("location_windows"))["start"] == AT


DETAILS = {"id": 11, "firstname": "A", "lastname": "B", "profile_image_link": LINK}


def test_team_game_stats_are_one_teams_lines() -> None:
    line = {"id": 11, "player_details": DETAILS, "version": 7, "games_played": 3, "stats": {"FG": 8, "FGA": 15, "PTS": 17.0}}
    payload = fetch(lambda c: c.team_game_stats(46, game_id="g-1"), {"id": 46, "name": "A", "logo_image_link": LINK, "player_stats": [line]})
    totals = row(payload.table("box_score"))
    assert [totals[name] for name in ("team_id", "team_name", "player_id", "first_name", "last_name", "version", "games_played")] == [
        46,
        "A",
        11,
        "A",
        "B",
        7,
        3,
    ]
    assert [totals[code] for code in ("FG", "FGA", "PTS", "AST")] == [8.0, 15.0, 17.0, None]
    assert totals["game_id"] == "g-1"
    assert {(r["stat"], r["value"]) for r in payload.table("player_stats").to_dicts()} == {("FG", 8.0), ("FGA", 15.0), ("PTS", 17.0)}


def teams(*lines: Any) -> dict[str, Any]:
    return {"teams": [{"id": 46, "name": "A", "logo_image_link": LINK, "player_stats": list(lines)}]}


def test_the_line_with_id_0_is_the_teams_total() -> None:
    player = {"id": 11, "player_details": DETAILS, "version": 7, "stats": {"PTS": 2}}
    total = {"id": 0, "player_details": None, "version": 8, "stats": {"PTS": 2}}
    rows = fetch(lambda c: c.stats("s-1"), teams(player, total)).table("box_score").to_dicts()
    assert [(r["player_id"], r["is_team_total"], r["session_id"]) for r in rows] == [(11, False, "s-1"), (0, True, "s-1")]


def test_a_stat_occurrence_has_its_ten_fields() -> None:
    occurrence = {
        "occurred_at": T,
        "value": 2,
        "game_clock": "9:58.7",
        "shot_clock": "12.0",
        "period": "Q1",
        "x": 1,
        "y": 2,
        "z": 3,
        "hoop_to_event_x": -4,
        "hoop_to_event_y": 5,
    }
    body = teams(
        {"id": 11, "player_details": DETAILS, "version": 7, "stats": {"PTS": [occurrence]}}, {"id": 0, "player_details": None, "stats": {"PTS": [occurrence]}}
    )
    line, total = fetch(lambda c: c.stats_details("s-1"), body).table().to_dicts()
    assert {name: line[name] for name in occurrence} == {**occurrence, "occurred_at": AT}
    assert (line["game_clock_s"], line["shot_clock_s"], line["stat"], total["is_team_total"]) == (598.7, 12.0, "PTS", True)


COUNTERS = "left_wing middle_wing right_wing pick_n_pop pick_n_roll pick_n_short_roll screened_shot handoff drag pop roll slip short_roll reject re_screen stay step_up snake split other"


def test_a_possession_has_its_attributes_its_stats_and_both_lineups() -> None:
    attributes = {"turnover": 1, "passes": 2, "half_court": True, "paint_touch": False, "ball_reversals": 3, "ball_screens": 4}
    attributes |= {f"ball_screens_{name}": number for number, name in enumerate(COUNTERS.split())}
    shot = {"shot_distance_cm": 581.7, "x": 1, "y": 2, "z": 3, "zone": 4, "advanced_zone": 5, "is_3point": True}
    shot_stat = {
        "timestamp": T,
        "possession_type": "FGA",
        "details": ["FGA3", "FGA3_OTD"],
        "player_id": 11,
        "game_clock": "1:2.3",
        "shot_clock": "4.5",
        "shot_attributes": shot,
    }
    rebound = {"timestamp": T, "possession_type": "DEFENSIVE_REB", "details": ["REB"], "player_id": 12}
    possession = {
        "_locations": f"{LINK}?id=s-1&from=1&to=2", "start_timestamp": T, "end_timestamp": T, "start_game_clock": "9:00.0", "end_game_clock": "8:40.0",
        "period": "Q1", "player_ids": [3, 1], "opposing_player_ids": [9], "stats": [shot_stat, rebound], "possession_attributes": attributes,
    }  # fmt: skip
    player = {"id": 11, "first_name": "A", "last_name": "B", "profile_image_link": LINK}
    payload = fetch(lambda c: c.possessions("s-1"), {"teams": [{"id": 46, "name": "A", "team_player_details": [player], "possessions": [possession]}]})
    fields = row(payload.table("possessions"))
    assert {name: fields[name] for name in attributes} == attributes
    assert (fields["player_ids"], fields["opposing_player_ids"], fields["start_timestamp"], fields["locations_link"]) == (
        [3, 1],
        [9],
        AT,
        possession["_locations"],
    )
    first, second = payload.table("possession_events").to_dicts()
    assert {name: first[name] for name in shot} == shot
    assert (first["details"], first["game_clock_s"], second["possession_type"], second["game_clock"], second["zone"]) == (
        ["FGA3", "FGA3_OTD"],
        62.3,
        "DEFENSIVE_REB",
        None,
        None,
    )
    assert [row(payload.table("possession_players"))[name] for name in ("player_id", "first_name", "last_name", "profile_image_link")] == [11, "A", "B", LINK]


def test_a_sessions_shot_has_its_documented_fields() -> None:
    shot = {
        "occurred_at": T, "is_make": True, "is_3point": False, "zone": 3, "advanced_zone": 7, "player_x": 900, "player_y": 9000, "player_z": 1100, "hoop_x": 0,
        "hoop_y": 12725, "hoop_z": 3048, "hoop_player_x": -900, "hoop_player_y": 3725, "status": "RECORDED", "game_clock": "9:58.7", "shot_clock": "12.0",
        "period": "Q1", "attributes": ["OTD"],
    }  # fmt: skip
    body = {"teams": [{"id": 46, "name": "A", "logo_image_link": LINK, "player_shots": [{"id": 11, "player_details": DETAILS, "shots": [shot]}]}]}
    fields = row(fetch(lambda c: c.shots("s-1"), body).table())
    assert {name: fields[name] for name in shot} == {**shot, "occurred_at": AT}
    assert (fields["points"], fields["session_id"], fields["player_id"]) == (2, "s-1", 11)


def test_locations_are_batches_under_an_array() -> None:
    sample = {
        "t": T,
        "x": 10,
        "y": 20,
        "z": 40,
        "type": "PLAYER",
        "sid": "s-1",
        "tag": "65001",
        "tid": 46,
        "pid": 11,
        "speed": 0.5,
        "gc": "12:30.00",
        "sc": "02.00",
    }
    rows = (
        fetch(lambda c: c.locations("s-1", T, T + 1), [{"locations": [sample]}, {"locations": [sample | {"tag": "65002", "pid": 12, "type": "BALL"}]}])
        .table()
        .to_dicts()
    )
    assert [(r["tag"], r["player_id"], r["type"], r["team_id"], r["speed"]) for r in rows] == [("65001", 11, "PLAYER", 46, 0.5), ("65002", 12, "BALL", 46, 0.5)]
    assert (rows[0]["t"], rows[0]["game_clock_s"], rows[0]["shot_clock_s"]) == (AT, 750.0, 2.0)


TOTALS = {
    "awayTeamScore": {"teamId": "2", "value": 3}, "homeTeamScore": {"teamId": "1", "value": 5}, "period": "H2", "gameClock": "00:10:00", "status": "ACTIVE",
    "periodTotals": [{"awayTeamScore": {"teamId": "2", "value": 3}, "homeTeamScore": {"teamId": "1", "value": 5}, "period": "H1", "sessionId": "s-1"}],
}  # fmt: skip


def test_a_games_shot_is_the_same_row_from_abbreviations() -> None:
    shot = {
        "label": None, "t": T, "pid": "11", "tid": "1", "sid": "s-1", "sst": "GAME_ROUND", "gid": "g-1", "st": "MISS", "is3": True, "pts": -1, "z": 3, "az": 7,
        "px": 900, "py": 9000, "pz": 1100, "hx": 0, "hy": 12725, "hz": 3048, "hsx": -900, "hsy": 3725, "s": "RECORDED", "drb": 2, "dd": None, "fid": "F",
        "hid": "H", "gc": None, "sc": None, "prd": "H1", "attributes": ["CAS"], "players": ["12"], "d": 383.2, "shotDefenders": [21],
    }  # fmt: skip
    fields = row(fetch(lambda c: c.game_shots("g-1"), {"shots": [shot], "gameTotals": TOTALS}).table())
    assert [fields[name] for name in ("player_id", "team_id", "is_make", "is_3point", "points", "zone", "defender_ids")] == [11, 1, False, True, 0, 3, [21]]
    assert [fields[name] for name in ("distance_cm", "hoop_player_x", "hoop_player_y", "period", "status")] == [383.2, -900, 3725, "H1", "RECORDED"]


def test_a_play_has_its_documented_fields() -> None:
    play = {
        "type": "ACTUAL", "eventId": "E", "timestamp": T, "teamId": "1", "sessionType": "GAME_ROUND", "sessionId": "s-1", "practiceId": None,
        "practiceDefinitionId": None, "drillDefinitionId": None, "gameId": "g-1", "stats": {"TO": 1, "LBTO": 1}, "corrected": False, "facilityId": "F",
        "courtId": "C", "gameClock": None, "shotClock": None, "period": "Q1", "playerX": -100, "playerY": -200, "playerZ": 300, "hoopToEventX": -140,
        "hoopToEventY": 12525, "clipId": None, "classification": "LIVE_BALL_TURNOVER", "description": "A B live ball turnover",
        "videoAttributes": {"facilityId": "F", "courtId": "C", "sessionId": "s-1"}, "baseStats": "TO", "actualStats": "LBTO",
        "key": {"actorId": "11", "timestamp": T}, "act": "PLAYER", "pid": "11",
    }  # fmt: skip
    fields = row(fetch(lambda c: c.play_by_play("g-1"), {"details": [play], "gameTotals": TOTALS}).table())
    assert [fields[name] for name in ("event_id", "team_id", "player_id", "stats", "corrected", "base_stats", "actual_stats")] == [
        "E",
        1,
        11,
        {"TO": 1.0, "LBTO": 1.0},
        False,
        "TO",
        "LBTO",
    ]
    assert [fields[name] for name in ("player_x", "hoop_to_event_y", "classification", "description", "act")] == [
        -100,
        12525,
        "LIVE_BALL_TURNOVER",
        "A B live ball turnover",
        "PLAYER",
    ]


def test_a_ball_screen_has_its_documented_fields() -> None:
    screen = {
        "sessionId": "s-1", "timestamp": T, "type": "BALL_SCREEN", "eventId": "E", "gameId": "g-1", "teamPossessionId": "P", "sessionType": "GAME_ROUND",
        "period": "H1", "source": "VERIZON", "corrected": False, "ballHandlerPlayerId": "1", "ballHandlerDefenderPlayerId": "2", "screenerPlayerIds": ["3"],
        "screenerDefenderPlayerIds": ["4"], "offensiveActions": {"POP": 0.5}, "defensiveActions": {"SWITCH": 0.5}, "endTimestamp": T, "teamId": "1",
        "defenderTeamId": "2", "screenerX": -1, "screenerY": 1, "wing": 1, "videoTimeMarkStart": "00:10", "startGameClock": "07:00.0",
        "endGameClock": "06:59.0", "startShotClock": "05.0", "endShotClock": "04.0",
    }  # fmt: skip
    fields = row(fetch(lambda c: c.ball_screens("g-1"), {"ballscreens": [screen], "gameTotals": TOTALS}).table())
    assert all(value is not None for value in fields.values())
    assert (fields["offensive_actions"], fields["screener_player_ids"], fields["start_game_clock_s"]) == ({"POP": 0.5}, [3], 420.0)


def test_a_catch_up_has_each_part_under_its_own_key() -> None:
    line = {"pid": "11", "tid": "1", "totalStats": {"PTS": 5, "FG3": 1}}
    payload = fetch(lambda c: c.catch_up("g-1", ["stats", "shots"]), {"stats": [line], "shots": [], "gameTotals": TOTALS})
    assert payload.tables == ["player_stats", "box_score", "shots"]
    totals = row(payload.table("box_score"))
    assert (totals["player_id"], totals["team_id"], totals["PTS"], totals["FG3"]) == (11, 1, 5.0, 1.0)


def test_a_broadcast_roster_has_its_documented_fields() -> None:
    player = {
        "id": 11, "first_name": "A", "last_name": "B", "jersey_number": 4, "jersey_number_str": "4", "position_abbr": "C", "sensor": 100001,
        "special_services": [{"type": "MIC", "value": "mic1"}], "is_active": False,
    }  # fmt: skip
    body = {
        "id": 46,
        "name": "A",
        "abbr": "T",
        "city": "X",
        "state": "XX",
        "color_rgb": "0066CC",
        "players": [player],
        "sensor_assignments_history": [{"anything": 1}],
    }
    payload = fetch(lambda c: c.broadcast_roster(46, game_id="g-1"), body)
    fields = row(payload.table("players"))
    assert [fields[name] for name in ("player_id", "first_name", "last_name", "jersey_number", "position", "sensor", "is_active")] == [
        11,
        "A",
        "B",
        4,
        "C",
        100001,
        False,
    ]


BROADCAST: list[Callable[[sideline.Client], Any]] = [
    lambda c: c.broadcast_schedule(),
    lambda c: c.broadcast_teams(),
    lambda c: c.broadcast_stats("x"),
    lambda c: c.broadcast_colors("x"),
    lambda c: c.broadcast_locomotion("x", 1),
    lambda c: c.game_events("g-1"),
]


@pytest.mark.parametrize("call", BROADCAST)
@pytest.mark.parametrize("body", [{"anything": [1, {"deep": None}]}, [], [1]])
def test_a_body_that_is_not_documented_is_a_dict_and_no_table(call: Callable[[sideline.Client], Any], body: Any) -> None:
    payload = fetch(call, body)
    assert payload.tables == []
    with pytest.raises(ValueError, match="to_dict"):
        payload.table()


# -- football


def test_a_football_game_has_quarters() -> None:
    game = event(game_type="QUARTER")
    game["results"][0]["type"] = "FOOTBALL_GAME_QUARTER"
    payload = fetch(lambda c: c.game("e-1"), game)
    assert row(payload.table("sessions"))["type"] == "FOOTBALL_GAME_QUARTER"
    assert row(payload.table("events"))["game_type"] == "QUARTER"


def test_football_stats_are_rows_and_columns_of_their_own_codes() -> None:
    body = teams({"id": 11, "player_details": DETAILS, "version": 1, "stats": {"RUSH_YDS": 87.5, "TD": 1}})
    payload = fetch(lambda c: c.stats("s-1"), body, sport="football")
    line = row(payload.table("box_score"))
    assert (line["RUSH_YDS"], line["TD"], "PTS" in line) == (87.5, 1.0, False)
    assert {r["stat"] for r in payload.table("player_stats").to_dicts()} == {"RUSH_YDS", "TD"}


# -- errors

REFUSALS = [
    (lambda c: c.roster(46), 403, "Restricted resource", sideline.PermissionDenied),
    (lambda c: c.team_game_stats(46, game_id="g"), 403, "No access to STATS data", sideline.PermissionDenied),
    (lambda c: c.stats("s"), 403, "No access to STATS data", sideline.PermissionDenied),
    (lambda c: c.stats_details("s"), 403, "No access to STATS data", sideline.PermissionDenied),
    (lambda c: c.possessions("s"), 403, "No access to STATS data", sideline.PermissionDenied),
    (lambda c: c.shots("s"), 403, "No access to SHOTS data", sideline.PermissionDenied),
    (lambda c: c.game_events("g"), 403, "Access denied to resource", sideline.PermissionDenied),
    (lambda c: c.game_shots("g"), 403, "Access denied to resource", sideline.PermissionDenied),
    (lambda c: c.roster(46, game_id="g"), 404, "Game not found | Team not found in the game", sideline.NotFound),
    (lambda c: c.stats("s"), 404, "Invalid id", sideline.NotFound),
    (lambda c: c.stats_details("s"), 404, "Invalid id", sideline.NotFound),
    (lambda c: c.possessions("s"), 404, "Invalid id", sideline.NotFound),
    (
        lambda c: c.locations("s", 1_800_000_000_001, 1_800_000_000_002),
        400,
        "Valid from and to timestamps are required | Locations must be requested in 30 min timeframes",
        sideline.InvalidRequest,
    ),
    (
        lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002),
        422,
        "from must be less than to | the range may not exceed 8 months",
        sideline.InvalidRequest,
    ),
    (lambda c: c.team_game_stats(46, start=1_800_000_000_001, end=1_800_000_000_002), 422, "from must be less than to", sideline.InvalidRequest),
    (lambda c: c.teams(), 500, "General system error", sideline.ServerError),
    (lambda c: c.schedule(1_800_000_000_001), 500, "General system error", sideline.ServerError),
]


@pytest.mark.parametrize(("call", "status", "message", "kind"), REFUSALS)
@pytest.mark.parametrize("key", ["shottrackerRequestId", "gridtrackerRequestId", "serviceRequestId"])
def test_an_error_of_the_service_has_its_status_message_and_request_id(
    call: Callable[[sideline.Client], Any], status: int, message: str, kind: type[sideline.ApiError], key: str
) -> None:
    request_id = "00000000-0000-4000-8000-000000000001"
    with exchange({"status": status, "message": message, key: request_id}, status, max_retries=0) as (client, requests):
        with pytest.raises(kind) as excinfo:
            call(client)
    assert (excinfo.value.status, excinfo.value.message, excinfo.value.request_id) == (status, message, request_id)
    # Of an unknown session it is found out once whether its id is a game's.
    assert [request.target for request in requests[1:]] == (["/v1/data/games/s"] if message == "Invalid id" else [])
    if isinstance(excinfo.value, sideline.InvalidRequest):
        assert excinfo.value.rules == message.split(" | ")


@pytest.mark.parametrize("key", ["apikey", "secret"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_gateways_refusal_is_one_of_the_credentials(key: str, status: int) -> None:
    with exchange({"message": "Invalid authentication credentials"}, status) as (client, requests):
        with pytest.raises(sideline.AuthenticationError, match="SIDELINE_API_KEY" if key == "apikey" else "SIDELINE_SECRET") as excinfo:
            client.broadcast_teams() if key == "apikey" else client.teams()
    assert (excinfo.value.status, excinfo.value.request_id, len(requests)) == (status, None, 1)


def test_every_request_is_a_get_over_http_1_1_without_a_body() -> None:
    heads: list[bytes] = []
    with listener(answering(heads)) as seen, sideline.Client(username="ann", secret="s3cret", base_url=f"http://127.0.0.1:{seen.port}") as client:
        client.teams()
    assert heads[0].startswith(b"GET /v1/data/teams HTTP/1.1\r\n")
    assert b"content-length" not in heads[0].lower()
    assert b"transfer-encoding" not in heads[0].lower()
    request = read(heads[0])
    assert {"date", "host", "authorization"} <= request.headers.keys()
    assert time.strptime(request.headers["date"], "%a, %d %b %Y %H:%M:%S GMT")


def test_a_body_comes_back_byte_for_byte() -> None:
    raw = json.dumps({"teams": [], "extra": "é"}, ensure_ascii=False).encode() + b"\n"
    with server(lambda request: (200, {}, raw)) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url) as client:
        with pytest.warns(sideline.SchemaDriftWarning, match="extra"):
            assert bytes(client.teams().raw) == raw
