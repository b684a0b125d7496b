"""Rules of the service as a client meets them: what is sent to the second service, and what becomes of its responses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from service import Event, Features, PlayedGame, Request, Service
from service.live import BINARY

import sideline

NOW = "2027-03-01T12:00:00+00:00"
DAY = 86_400_000
FROM, TO = 1_790_000_000_000, 1_810_000_000_000


@pytest.fixture
def second() -> Iterator[Service]:
    with Service(seed=5, now=NOW, practices=2) as second:
        yield second


@pytest.fixture
def caller(second: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        yield client


def send(second: Service, call: Callable[[], Any]) -> tuple[Any, Request]:
    """The result of a call, and its only request."""
    second.requests.clear()
    result = call()
    (request,) = second.requests.all()
    return result, request


def played_game(second: Service) -> Event:
    return next(game for game in second.season.games if game.sessions)


def ids(payload: sideline.Payload, table: str, column: str) -> list[Any]:
    return [row[column] for row in payload.table(table).to_dicts()]


# -- what a request says


def test_games_only_is_sent_and_leaves_practices_out(second: Service, caller: sideline.Client) -> None:
    team = second.season.teams[0].id
    span = (TO - 20_000_000_000, TO)
    events, request = send(second, lambda: caller.team_events(team, *span))
    assert "gamesonly" not in request.query
    games, request = send(second, lambda: caller.team_events(team, *span, games_only=True))
    assert request.query["gamesonly"] == ["true"]
    of_team = [event for event in second.season.played if team in event.team_ids]
    assert sorted(ids(events, "events", "event_id")) == sorted(event.id for event in of_team)
    assert sorted(ids(games, "events", "event_id")) == sorted(event.id for event in of_team if event.is_game)
    assert any(not event.is_game for event in of_team)


def test_a_schedule_sends_its_start_always(second: Service, caller: sideline.Client) -> None:
    with pytest.raises(TypeError, match="start"):
        caller.schedule()  # type: ignore[call-arg]
    for start in (None, ""):
        with pytest.raises((TypeError, ValueError), match="start"):
            caller.schedule(start)  # type: ignore[arg-type]
    assert len(second.requests) == 0
    _, request = send(second, lambda: caller.schedule(FROM))
    assert request.query["from"] == [str(FROM)]


def test_a_schedule_without_an_end_is_the_services_day(second: Service, caller: sideline.Client) -> None:
    first, *others = sorted(game.tipoff for game in second.season.games)
    assert others[-1] > first + DAY
    second.season.add_game(datetime.fromtimestamp((first + DAY // 2) / 1000, UTC))
    payload, request = send(second, lambda: caller.schedule(first))
    assert (request.query["from"], request.query.get("to")) == ([str(first)], None)
    expected = [game.id for game in second.season.games if first <= game.tipoff <= first + DAY]
    assert sorted(ids(payload, "games", "game_id")) == sorted(expected)
    assert len(expected) >= 2


def test_a_schedule_is_filtered_by_team_and_place(second: Service, caller: sideline.Client) -> None:
    game = played_game(second)
    place = f"{game.court_id}@{game.facility_id}"
    of_team, request = send(second, lambda: caller.schedule(FROM, TO, team_id=game.home_id))
    assert (request.query["team_id"], request.query.get("location_id")) == ([str(game.home_id)], None)
    assert sorted(ids(of_team, "games", "game_id")) == sorted(event.id for event in second.season.games if game.home_id in event.team_ids)
    of_place, request = send(second, lambda: caller.schedule(FROM, TO, location_id=place))
    assert (request.query.get("team_id"), request.query["location_id"]) == (None, [place])
    assert ids(of_place, "games", "game_id") == [game.id]


def test_a_roster_of_a_game_has_the_players_of_its_time(second: Service, caller: sideline.Client) -> None:
    game = played_game(second)
    former = second.season.roster(game.home_id)[0].id
    second.change.trade_player(former, next(team.id for team in second.season.teams if team.id != game.home_id))
    now, request = send(second, lambda: caller.roster(game.home_id))
    assert "game_event_id" not in request.query
    of_game, request = send(second, lambda: caller.roster(game.home_id, game_id=game.id))
    assert request.query["game_event_id"] == [game.id]
    assert former not in ids(now, "players", "player_id")
    assert {row["player_id"] for row in of_game.table("players").to_dicts() if not row["is_active"]} == {former}


def test_a_game_of_team_game_stats_is_sent_with_a_range_that_does_not_count(second: Service, caller: sideline.Client) -> None:
    """The service wants `from` and `to` even with a game, and ignores them: a range in which nothing was played goes along."""
    game = played_game(second)
    payload, request = send(second, lambda: caller.team_game_stats(game.home_id, game_id=game.id))
    assert request.query == {"from": ["1"], "to": ["2"], "event_id": [game.id]}
    rows = payload.table("box_score").to_dicts()
    truth = [row for row in second.truth_of_game(game.id)["stat_events"] if row["team_id"] == game.home_id and row["stat"] == "PTS"]
    points: dict[int, float] = {}
    for row in truth:
        points[row["player_id"]] = points.get(row["player_id"], 0) + row["value"]
    assert {row["player_id"]: row["PTS"] for row in rows if row.get("PTS")} == points
    assert points
    for start, end in ((1, None), (None, 2), (1, 2)):
        with pytest.raises(ValueError, match="game_id"):
            caller.team_game_stats(game.home_id, game_id=game.id, start=start, end=end)  # type: ignore[call-overload]


def test_team_game_stats_of_a_range_are_the_sums_of_its_games(second: Service, caller: sideline.Client) -> None:
    team = played_game(second).home_id
    games = [game for game in second.season.games if game.sessions and team in game.team_ids]
    assert len(games) >= 2
    payload, _ = send(second, lambda: caller.team_game_stats(team, start=TO - 20_000_000_000, end=TO))
    sums = {row["player_id"]: row for row in payload.table("box_score").to_dicts()}
    single = [caller.team_game_stats(team, game_id=game.id).table("box_score").to_dicts() for game in games]
    assert sums[0]["PTS"] == sum(row["PTS"] for rows in single for row in rows if row["player_id"] == 0) > 0
    assert sums[0]["games_played"] == len(games)


def test_the_query_of_a_request_is_sent_and_not_signed(second: Service, caller: sideline.Client) -> None:
    _, request = send(second, lambda: caller.schedule(FROM, TO))
    assert request.target.startswith("/v1/data/schedule/games?")
    # A gateway that signs the query too computes another signature of the same request.
    second.signs_query = True
    with pytest.raises(sideline.AuthenticationError):
        caller.schedule(FROM, TO)
    assert caller.teams().status == 200


def test_the_key_in_the_header_is_accepted_where_the_service_reads_it(second: Service) -> None:
    with sideline.Client(**second.client_options(), api_key_in="header") as client:
        with pytest.raises(sideline.AuthenticationError):
            client.broadcast_teams()
        second.features.api_key_header = True
        payload, request = send(second, client.broadcast_teams)
    assert payload.status == 200
    assert (request.query, request.headers["apikey"]) == ({}, second.api_key)


# -- links


def test_every_link_leads_to_the_resource_that_its_name_says(second: Service, caller: sideline.Client) -> None:
    counts: dict[str, int] = {}

    def follow(kind: str, link: str, direct: Callable[[], sideline.Payload]) -> sideline.Payload:
        payload, request = send(second, lambda: caller.follow(link))
        assert f"{second.base_url}{request.target}" == link
        assert payload.raw == direct().raw
        assert payload.tables == direct().tables
        counts[kind] = counts.get(kind, 0) + 1
        return payload

    for game in caller.schedule(FROM, TO).table("games").to_dicts():
        if not second.season.event(game["game_id"]).sessions:  # type: ignore[union-attr]
            continue
        event = follow("game", game["results_link"], lambda game=game: caller.game(game["game_id"]))
        (row,) = event.table("events").to_dicts()
        follow("game", row["self_link"], lambda game=game: caller.game(game["game_id"]))
        follow("game details", row["stats_details_link"], lambda game=game: caller.game_stats_details(game["game_id"]))
        for session in event.table("sessions").to_dicts():
            identity = session["session_id"]
            follow("stats", session["stats_link"], lambda identity=identity: caller.stats(identity))
            follow("details", session["stats_details_link"], lambda identity=identity: caller.stats_details(identity))
            follow("shots", session["shots_link"], lambda identity=identity: caller.shots(identity))
        for window in event.table("location_windows").to_dicts():
            follow("locations", window["link"], lambda window=window: caller.locations(window["session_id"], window["start"], window["end"]))
    assert set(counts) == {"game", "game details", "stats", "details", "shots", "locations"}
    assert min(counts.values()) >= 2


def test_the_windows_of_a_sessions_locations_cover_it_without_a_gap(second: Service, caller: sideline.Client) -> None:
    game = caller.game(played_game(second).id)
    windows = game.table("location_windows").to_dicts()
    for session in game.table("sessions").to_dicts():
        edge = session["started_at"]
        samples = set()
        for window in (row for row in windows if row["session_id"] == session["session_id"]):
            assert window["start"] == edge < window["end"]
            edge = window["end"]
            samples |= {(row["t"], row["tag"]) for row in caller.follow(window["link"]).table().to_dicts()}
        assert edge == session["ended_at"]
        all_samples = caller.locations(session["session_id"], session["started_at"], session["ended_at"]).table().to_dicts()
        assert samples == {(row["t"], row["tag"]) for row in all_samples}
        assert samples


# -- errors


def test_a_roster_that_is_not_there_says_why(second: Service, caller: sideline.Client) -> None:
    game = played_game(second)
    other = next(team.id for team in second.season.teams if team.id not in game.team_ids)
    for team, name, message in ((game.home_id, "no-game", "Game not found"), (other, game.id, "Team not found in the game")):
        with pytest.raises(sideline.NotFound) as excinfo:
            caller.roster(team, game_id=name)
        assert (excinfo.value.status, excinfo.value.message) == (404, message)
        assert excinfo.value.request_id


@pytest.mark.parametrize("operation", ["stats", "stats_details", "possessions"])
def test_an_unknown_session_is_an_invalid_id(second: Service, caller: sideline.Client, operation: str) -> None:
    with pytest.raises(sideline.NotFound) as excinfo:
        getattr(caller, operation)("00000000-0000-4000-8000-000000000000")
    assert (excinfo.value.status, excinfo.value.message) == (404, "Invalid id")
    assert second.requests.all(operation)[0].status == 404


@pytest.mark.parametrize("resource", ["events", "players/game/stats"])
@pytest.mark.parametrize(("start", "end", "count"), [(0, 5, 1), (9, 5, 1), (-5, -9, 2), (1, TO, 1)])
def test_the_rules_that_a_range_violates_are_read_from_a_422(second: Service, caller: sideline.Client, resource: str, start: int, end: int, count: int) -> None:
    team = second.season.teams[0].id
    with pytest.raises(sideline.InvalidRequest) as excinfo:
        caller.get(f"/v1/data/teams/{team}/{resource}", {"from": start, "to": end})
    assert excinfo.value.status == 422
    assert excinfo.value.rules == excinfo.value.message.split(" | ")
    assert len(excinfo.value.rules) == count
    # The operation of its own says the same and sends nothing; a long range of events is split.
    second.requests.clear()
    call = (lambda: caller.team_events(team, start, end)) if resource == "events" else (lambda: caller.team_game_stats(team, start=start, end=end))
    if (resource, start) != ("events", 1):
        with pytest.raises(sideline.InvalidRequest) as before:
            call()
        assert before.value.rules == excinfo.value.rules
        assert len(second.requests) == 0


def test_a_resource_of_a_whole_game_has_403_and_500(second: Service, caller: sideline.Client) -> None:
    second.features = Features.everything()
    game = played_game(second).id
    calls: list[Callable[[], Any]] = [
        lambda: caller.game_stats_details(game), lambda: caller.game_shots(game), lambda: caller.play_by_play(game),
        lambda: caller.ball_screens(game), lambda: caller.catch_up(game, ["stats"]),
    ]  # fmt: skip
    for status, message, kind in ((403, "Access denied to resource", sideline.PermissionDenied), (500, "General system error", sideline.ServerError)):
        second.faults.clear()
        second.faults.add(path="/v1/data/stats/games/", status=status, body={"status": status, "message": message, "serviceRequestId": "r-1"})
        for call in calls:
            with pytest.raises(kind) as excinfo:
                call()
            assert (excinfo.value.status, excinfo.value.message, excinfo.value.request_id) == (status, message, "r-1")


# -- the clock


@pytest.mark.parametrize("sign", [1, -1])
def test_five_minutes_of_skew_pass_and_more_is_corrected(sign: int) -> None:
    with Service(seed=5) as second, sideline.Client(**second.client_options(), max_retries=0) as client:

        def dates() -> list[float]:
            """The statuses of a call's requests, and how far their dates are from the service's clock."""
            second.requests.clear()
            client.teams()
            statuses.append([request.status for request in second.requests.all()])
            return [parsedate_to_datetime(request.headers["date"]).timestamp() - second.now() for request in second.requests.all()]

        statuses: list[list[int]] = []
        assert dates() == [pytest.approx(0, abs=3)]
        # Within the limit a request has the date of this machine, whatever the service's is.
        second.clock_offset = sign * 290
        assert dates() == [pytest.approx(-sign * 290, abs=5)]
        # Beyond it the refused request is sent once more, dated by the service's clock, and later ones too.
        second.clock_offset = sign * 310
        assert dates() == [pytest.approx(-sign * 310, abs=5), pytest.approx(0, abs=5)]
        assert dates() == [pytest.approx(0, abs=5)]
        assert statuses == [[200], [200], [401, 200], [200]]


# -- what else is read


def test_a_practice_is_an_event_that_is_no_game(second: Service, caller: sideline.Client) -> None:
    practice = next(event for event in second.season.played if not event.is_game)
    events = caller.team_events(practice.home_id, TO - 20_000_000_000, TO).table("events").to_dicts()
    (row,) = (row for row in events if row["event_id"] == practice.id)
    assert (row["is_practice_event"], row["is_game_event"], row["game_id"], row["game_type"]) == (True, False, None, None)
    # Its own resource has the same body; the specification has none, so the fault replaces it.
    link = f"/v1/data/teams/{practice.home_id}/practices/{practice.id}"
    body = next(event for event in caller.team_events(practice.home_id, TO - 20_000_000_000, TO)["events"] if event["id"] == practice.id)
    second.faults.add(path="/practices/", status=200, body=body)
    payload, request = send(second, lambda: caller.follow(link))
    assert request.target == link
    (practice_event,) = payload.table("events").to_dicts()
    assert (practice_event["event_id"], practice_event["is_practice_event"], practice_event["game_id"]) == (practice.id, True, None)


def test_broadcast_stats_and_the_event_stream_have_the_same_document(second: Service) -> None:
    second.features = Features.everything()
    game = PlayedGame(second, played_game(second))
    with sideline.Client(**second.client_options()) as client, client.live_stats(game.event.id, notices=False) as stream:
        second.live.wait_for_connections(1, kind="sse")
        for _ in range(3):
            game.play(2)
            second.live.send_event(game.snapshot())
            assert next(stream).to_dict() == client.broadcast_stats(game.event.id).to_dict()


def test_zones_are_read_as_numbers_whatever_they_are(second: Service, caller: sideline.Client) -> None:
    """No border is known, so no zone is computed, and a number beyond the known ones is kept too."""
    session = played_game(second).sessions[0]
    numbers = iter([*range(1, 15), 15, 99] * 20)
    expected = []

    def renumber(body: Any) -> Any:
        for team in body["teams"]:
            for player in team["player_shots"]:
                for shot in player["shots"]:
                    shot["zone"] = next(numbers)
                    shot["advanced_zone"] = 24 - shot["zone"] % 24
                    expected.append((shot["zone"], shot["advanced_zone"]))
        return body

    second.faults.add("shots", change=renumber)
    rows = caller.shots(session.id).table().to_dicts()
    assert sorted((row["zone"], row["advanced_zone"]) for row in rows) == sorted(expected)
    assert len(rows) > 2


# -- departures from the specification (docs/wire.md, "Departures")


def test_a_range_of_team_game_stats_is_sent_without_a_game(second: Service, caller: sideline.Client) -> None:
    """An `event_id` would make the service ignore the range."""
    _, request = send(second, lambda: caller.team_game_stats(second.season.teams[0].id, start=FROM, end=FROM + DAY))
    assert request.query == {"from": [str(FROM)], "to": [str(FROM + DAY)]}


def test_full_game_events_are_requested_without_a_team_unless_one_is_named(second: Service, caller: sideline.Client) -> None:
    game = played_game(second)
    _, request = send(second, lambda: caller.game_events(game.id))
    assert request.target == f"/v1/data/games/{game.id}/events"
    _, request = send(second, lambda: caller.game_events(game.id, team_id=game.home_id))
    assert request.query == {"team_id": [str(game.home_id)]}


def test_a_link_is_requested_at_the_configured_address() -> None:
    with Service(seed=5, now=NOW, link_base="https://elsewhere.example") as second, sideline.Client(**second.client_options()) as client:
        link = client.game(played_game(second).id).table("events").to_dicts()[0]["self_link"]
        assert link.startswith("https://elsewhere.example/v1/data/games/")
        payload, request = send(second, lambda: client.follow(link))
    assert (payload.status, request.target) == (200, link.removeprefix("https://elsewhere.example"))


def test_any_byte_of_an_event_stream_counts_as_a_heartbeat(second: Service, caller: sideline.Client) -> None:
    second.live.heartbeat_every = None
    with caller.live_stats("any", notices=False, silence_limit=2.0, retry_wait=0.01) as stream:
        second.live.wait_for_connections(1, kind="sse")
        for n in range(6):
            time.sleep(0.5)
            second.live.send_event({"n": n})
            assert next(stream).to_dict() == {"n": n}
        assert len(second.live.of_kind("sse")) == 1
        # Without one the connection is lost.
        second.live.wait_for_connections(2, kind="sse")


def test_a_retry_of_the_service_waits_no_longer_than_max_wait(second: Service, caller: sideline.Client) -> None:
    with caller.live_stats("any", retry_wait=0.01, max_wait=0.2, recover="off") as stream:
        next(stream)
        second.live.send_event({"n": 1}, retry=60_000)
        second.live.cut("sse")
        notice = next(item for item in stream if isinstance(item, sideline.live.Disconnected))
        assert notice.retry_at is not None and (notice.retry_at - notice.at).total_seconds() <= 0.2
        second.live.wait_for_connections(2, kind="sse")


@pytest.mark.parametrize("kind", ["sse", "websocket"])
def test_a_message_that_is_not_utf_8_is_unreadable_and_keeps_its_bytes(kind: str, second: Service, caller: sideline.Client) -> None:
    message = json.dumps({"type": "stats", "data": {"team_id": 1, "player_id": 7, "stats": {"PTS": 2, "N~": 1}}}).encode().replace(b"~", b"\xff")
    stream: sideline.LiveStream[Any]
    is_websocket = kind == "websocket"
    stream = caller.live(token="token-0", notices=False) if is_websocket else caller.live_stats("any", notices=False)
    score = sideline.LiveBoxScore()
    with stream:
        second.live.wait_for_connections(1)
        if is_websocket:
            second.live.send_frame(BINARY, message)
        else:
            second.live.send_raw(b"data: " + message + b"\n\n", "sse")
        update = next(stream)
    assert (update.raw, update.text) == (message, message.decode(errors="replace"))
    with pytest.raises(sideline.DecodeError, match="UTF-8"):
        update.to_dict()
    assert not score.feed(update)
    assert (score.unreadable, score.table().num_rows) == (1, 0)
    assert "UTF-8" in score.problems[0].reason
