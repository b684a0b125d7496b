"""Recovery of gaps: which requests are sent when, and that the live box score is right afterwards, against the second service.

`RECOVERY_RUNS=2000 pytest tests/test_recovery.py` plays more random schedules; a failure names its seed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from service import NO_DATA, Features, PlayedGame, Service
from service.played import Totals

import sideline
from sideline.cli import main

RUNS = int(os.environ.get("RECOVERY_RUNS", "60"))
SHARDS = 6
PAUSE = 0.04
QUICK: dict[str, Any] = {"retry_wait": 0.002, "max_wait": 0.01}
END = "the end of the run"
RECOVERY = ["catch_up", "game", "stats", "broadcast_stats"]
"""The operations of a recovery."""


Client = TypeVar("Client", sideline.Client, sideline.AsyncClient)


def with_pause(client: Client, seconds: float = PAUSE) -> Client:
    """The client, whose waits of a recovery are multiples of so many seconds: users have 5."""
    client._recover_pause = seconds
    return client


def features(lines: str = "players") -> Features:
    return Features(subscription_token=True, catch_up=True, broadcast_stats=True, catch_up_lines=lines)


def new_service(lines: str = "players") -> Service:
    return Service(seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(2, 2), features=features(lines))


@pytest.fixture
def second() -> Iterator[Service]:
    with new_service() as service:
        yield service


@pytest.fixture
def client(second: Service) -> Iterator[sideline.Client]:
    with with_pause(sideline.Client(**second.client_options())) as client:
        yield client


def start(service: Service, *, is_numbered: bool = False) -> PlayedGame:
    return PlayedGame(service, service.season.games[0], is_numbered=is_numbered)


def box(score: sideline.LiveBoxScore) -> Totals:
    """The lines of a box score, without zero and unknown values."""
    keys = set(sideline.SCHEMAS["box_score"].names[: sideline.SCHEMAS["box_score"].names.index("games_played") + 1])
    rows = score.table().to_dicts()
    return {(row["team_id"], row["player_id"]): {code: value for code, value in row.items() if code not in keys and value} for row in rows}


def assert_same(score: sideline.LiveBoxScore, truth: Totals, *, has_totals: bool) -> None:
    """Equal to REST; where its responses lack the teams' totals, those may be unknown, but never wrong."""
    actual = box(score)
    for (team_id, player_id), stats in truth.items():
        line = actual.get((team_id, player_id), {})
        if player_id == 0 and not has_totals:
            assert line.items() <= stats.items(), (team_id, player_id, line, stats)
        else:
            assert line == stats, (team_id, player_id, line, stats)
    assert all(key in truth for key, line in actual.items() if line)


def take_until(stream: sideline.LiveStream, condition: Callable[[Any], bool]) -> list[Any]:
    items: list[Any] = []
    for item in stream:
        items.append(item)
        if condition(item):
            return items
    raise AssertionError(f"the stream ended: {items[-3:]}")


def is_connected(item: Any) -> bool:
    return isinstance(item, sideline.live.Connected)


def is_recovered(item: Any) -> bool:
    return isinstance(item, sideline.live.Recovered)


def is_final(item: Any) -> bool:
    return isinstance(item, sideline.live.Gap) and item.is_final


def missing(items: list[Any]) -> list[tuple[str, ...]]:
    return [item.missing for item in items if isinstance(item, sideline.live.Recovering)]


def cut_and_lose(service: Service, game: PlayedGame) -> None:
    """Messages that no connection receives, and no replay has."""
    service.live.refuse(503, times=1)
    service.live.cut()
    game.play(5)


def test_a_gap_is_closed_by_a_second_request_that_confirms_the_first(second: Service, client: sideline.Client) -> None:
    game, score = start(second), sideline.LiveBoxScore()
    with client.live(game.event.id, sources=["stats"], **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        cut_and_lose(second, game)
        items = take_until(stream, is_connected)
        stats_before = stream.stats
        score.feed_all(items)
        assert score.stale
        later_items = take_until(stream, is_recovered)
        score.feed_all(later_items)
        items += later_items
        assert_same(score, game.totals(), has_totals=False)
        assert not score.stale
        stats = stream.stats
    gap, connected, recovering, recovered = [item for item in items if not isinstance(item, (sideline.Update, sideline.live.Disconnected))]
    assert isinstance(gap, sideline.live.Gap)
    assert is_connected(connected)
    assert (recovering.gap, recovered.gap, gap.is_final) == (gap, gap, False)
    assert recovering.missing == ("stats",)
    assert gap.end <= recovering.requested_at <= recovered.requested_at - timedelta(seconds=PAUSE)
    (update,) = recovered.updates
    assert update.source == "catch_up"
    assert sorted(update.to_dict()) == ["details", "gameTotals", "stats"]
    assert recovered.at == update.received_at
    assert recovered.at.tzinfo is not None
    assert recovered.requested_at <= recovered.at
    assert len(second.requests.all("catch_up")) == 2
    assert (stats_before.gaps, stats_before.open_gaps, stats_before.recovered) == (1, 1, 0)
    assert (stats.gaps, stats.open_gaps, stats.recovered) == (1, 0, 1)
    payload = sideline.Payload.from_bytes("catch_up", update.raw)
    assert payload.table("play_by_play").num_rows == 15


def test_the_score_of_a_recovered_state_counts_until_a_message_has_one(second: Service, client: sideline.Client) -> None:
    """Its stats lack the teams' own lines, and no message of the stream names the sides."""
    game, score = start(second), sideline.LiveBoxScore()
    sides = game.event.home_id, game.event.away_id

    def points() -> list[float]:
        return [game.totals().get((team_id, 0), {}).get("PTS", 0) for team_id in sides]

    with client.live(game.event.id, sources=["stats"], **QUICK) as stream:
        take_until(stream, is_connected)
        for _ in range(2):
            while not (game.play() and min(points()) > 0):
                pass
            cut_and_lose(second, game)
            items = take_until(stream, is_recovered)
            score.feed_all(item for item in items if not isinstance(item, sideline.live.Recovering))
            assert ([score.home.team_id, score.away.team_id], [score.home.points, score.away.points]) == (list(sides), points())
        before = points()
        while points() == before:
            assert game.play()
        while [score.home.points, score.away.points] != points():
            score.feed(next(stream))


def test_shots_are_requested_where_the_stream_names_them(second: Service, client: sideline.Client) -> None:
    game = start(second)
    with client.live(game.event.id, sources=["stats", "shots"], **QUICK) as stream:
        take_until(stream, is_connected)
        cut_and_lose(second, game)
        take_until(stream, is_recovered)
    assert {request.ids["resources"] for request in second.requests.all("catch_up")} == {"stats,details,shots"}


@pytest.mark.parametrize("reason", ["off", "by token", "without notices"])
def test_nothing_is_requested_where_recovery_is_off_or_impossible(reason: str, second: Service, client: sideline.Client) -> None:
    game = start(second)
    options: dict[str, Any] = {
        "off": {"game_id": game.event.id, "recover": "off"},
        "by token": {"token": second.live.token_for(game.event.id)},
        "without notices": {"game_id": game.event.id, "notices": False},
    }[reason]
    with client.live(**options, **QUICK) as stream:
        second.live.wait_for_connections(1)
        cut_and_lose(second, game)
        second.live.wait_for_connections(2)
        game.play(1)
        items = take_until(stream, lambda item: isinstance(item, sideline.Update))
    assert sum(isinstance(item, sideline.live.Gap) for item in items) == (reason != "without notices")
    assert not any(isinstance(item, (sideline.live.Recovering, sideline.live.Recovered)) for item in items)
    assert second.requests.all("catch_up") == []


def test_an_unknown_value_of_recover_is_refused_with_the_valid_ones(client: sideline.Client) -> None:
    for open_stream in (lambda: client.live("g", recover="always"), lambda: client.live_stats("g", recover="always")):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='"auto" or "off"'):
            open_stream()


@pytest.mark.parametrize(
    ("operation", "fault", "reason"),
    [
        ("catch_up", {"status": 503}, "503"),
        ("catch_up", {"status": 429}, "429"),
        ("catch_up", {"change": NO_DATA["null root"]}, "no row of a box score"),
        ("catch_up", {"change": NO_DATA["error document"]}, "General system error"),
        ("catch_up", {"refuse": True}, "connection"),
        ("stats", {"skip": 1, "status": 503}, "503"),
        ("stats", {"change": NO_DATA["null root"]}, "no box score"),
        ("game", {"change": lambda body: body | {"results": []}}, "no sessions"),
        ("game", {"cut_at": 20}, ""),
    ],
)
def test_a_failed_attempt_is_repeated_until_the_gap_is_closed(
    operation: str, fault: dict[str, Any], reason: str, second: Service, client: sideline.Client, caplog: pytest.LogCaptureFixture
) -> None:
    second.features.catch_up = operation == "catch_up"
    game, score = start(second), sideline.LiveBoxScore()
    second.faults.add(operation, times=2, **fault)
    with caplog.at_level(logging.WARNING, "sideline"), client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        cut_and_lose(second, game)
        items = take_until(stream, is_recovered)
        score.feed_all(items)
        stats = stream.stats
    assert_same(score, game.totals(), has_totals=False)
    assert missing(items) == [("stats",)]
    assert not any(map(is_final, items))
    assert (stats.gaps, stats.open_gaps, stats.recovered) == (1, 0, 1)
    warnings = [record.getMessage() for record in caplog.records if "not recovered" in record.getMessage()]
    assert len(warnings) == 2
    assert all(reason in warning for warning in warnings)
    assert second.secret not in caplog.text


def with_an_unreadable_line(body: dict[str, Any]) -> dict[str, Any]:
    first, *others = body["stats"]
    return body | {"stats": [first | {"totalStats": {"PTS": "x"}}, *others]}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda body: {name: part for name, part in body.items() if name != "details"}, ("plays",)),
        (lambda body: body | {"details": None, "shots": {}}, ("plays", "shots")),
        (with_an_unreadable_line, ("$.stats[0].totalStats.PTS",)),
    ],
)
def test_a_response_that_closes_a_part_is_applied_and_says_what_is_missing(
    change: Callable[[Any], Any], names: tuple[str, ...], second: Service, client: sideline.Client
) -> None:
    game, score = start(second), sideline.LiveBoxScore()
    second.faults.add("catch_up", times=3, change=change)
    with client.live(game.event.id, sources=["stats", "details", "shots"], **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        cut_and_lose(second, game)
        items = take_until(stream, lambda item: isinstance(item, sideline.live.Recovering))
        score.feed_all(items)
        assert (score.unreadable, [problem.path for problem in score.problems]) == ((1, [*names]) if names[0].startswith("$") else (0, []))
        assert len(box(score)) > 1
        items += take_until(stream, is_recovered)
        score.feed_all(items)
        stats = stream.stats
    # What was unreadable is not yet confirmed.
    assert missing(items) == [names] * 3 + [("stats",)] * names[0].startswith("$")
    assert_same(score, game.totals(), has_totals=False)
    assert (stats.recovered, stats.unreadable) == (1, 3 * names[0].startswith("$"))


@pytest.mark.parametrize("status", [403, 404, 422])
def test_where_catch_up_is_refused_the_stats_of_the_sessions_close_each_gap(status: int, second: Service, client: sideline.Client) -> None:
    second.faults.add("catch_up", status=status, body={"message": "refused"})
    game, score = start(second), sideline.LiveBoxScore()
    game.play(10)
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        for gaps in (1, 2):
            cut_and_lose(second, game)
            items = take_until(stream, is_recovered)
            score.feed_all(items)
            assert_same(score, game.totals(), has_totals=True)
            counts = second.requests.counts()
            assert (counts["catch_up"], counts["game"], counts["stats"]) == (2 * gaps, 2 * gaps, 2 * gaps * len(game.event.sessions))
        assert stream.stats.recovered == 2
    (update,) = items[-1].updates
    assert update.source == "session_stats"
    table = sideline.Payload.from_bytes("stats", update.raw).table("box_score")
    assert {row["first_name"] is None for row in table.to_dicts()} == {True, False}, "the teams' own lines have no names"


def test_what_a_body_repeats_is_in_the_sum_once(second: Service, client: sideline.Client) -> None:
    """A session of the game, a team of a session and a line of a team, as `client.box_score` counts them."""

    def repeat(body: Any, name: str) -> Any:
        return body | {name: [*body[name], *body[name]]}

    second.faults.add("catch_up", status=404, body={"message": "refused"})
    second.faults.add("team_game_stats", status=403, body={"status": 403, "message": "No access to STATS data"})
    second.faults.add("game", change=lambda body: repeat(body, "results"))
    second.faults.add("stats", change=lambda body: repeat(body | {"teams": [repeat(team, "player_stats") for team in body["teams"]]}, "teams"))
    game, score = start(second), sideline.LiveBoxScore()
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        cut_and_lose(second, game)
        score.feed_all(take_until(stream, is_recovered))
    assert_same(score, game.totals(), has_totals=True)
    rest = {(row["team_id"], row["player_id"]): row["PTS"] or 0 for row in client.box_score(game.event.id).to_dicts()}
    assert {key: line.get("PTS", 0) for key, line in box(score).items()} == rest


def test_a_period_that_begins_during_the_stream_is_in_the_sum(second: Service, client: sideline.Client) -> None:
    second.features.catch_up = False
    game, score = start(second), sideline.LiveBoxScore()
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        for sessions in (2, 3):
            cut_and_lose(second, game)
            score.feed_all(take_until(stream, is_recovered))
            assert len(game.event.sessions) == sessions
            assert_same(score, game.totals(), has_totals=True)
            second.change.add_session(game.event.id)
    assert len(second.requests.all("stats")) == 2 * (2 + 3)


def remove_parts(team_id: int, parts: str) -> Callable[[Any], Any]:
    """A change of a body: it lacks the lines or the values of a team."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        if "stats" in body:
            others = [line for line in body["stats"] if line["tid"] != str(team_id)]
            lines = [{"pid": line["pid"], "tid": line["tid"]} for line in body["stats"] if line["tid"] == str(team_id)]
            return body | {"stats": others + (lines if parts == "values" else [])}
        empty = {"team": None, "null": {"player_stats": None}, "lines": {"player_stats": []}}[parts]
        return body | {"teams": [team if team["id"] != team_id else team | (empty or {}) for team in body["teams"] if team["id"] != team_id or empty]}

    return change


@pytest.mark.parametrize("parts", ["team", "values"])
def test_a_response_without_a_team_or_its_values_closes_no_gap(parts: str, second: Service, client: sideline.Client) -> None:
    game, score = start(second), sideline.LiveBoxScore()
    second.faults.add("catch_up", times=4, change=remove_parts(game.event.team_ids[1], parts))
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(20)
        cut_and_lose(second, game)
        items = take_until(stream, is_recovered)
        score.feed_all(items)
    assert missing(items) == [("stats",)] * 5
    assert_same(score, game.totals(), has_totals=False)
    assert not score.stale


@pytest.mark.parametrize("parts", ["team", "null", "lines"])
def test_an_event_without_a_team_or_its_lines_closes_no_gap(parts: str, second: Service, client: sideline.Client) -> None:
    with_pause(client, 3600.0)
    game, score = start(second), sideline.LiveBoxScore()
    with client.live_stats(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(20)
        second.live.send_event(game.snapshot())
        score.feed_all(take_until(stream, lambda item: isinstance(item, sideline.Update)))
        second.live.cut()
        game.play(20)
        score.feed_all(take_until(stream, is_connected))
        snapshot = game.snapshot()
        only_totals = [team | {"player_stats": [line for line in team["player_stats"] if line["id"] == 0]} for team in snapshot["teams"]]
        for document in (remove_parts(game.event.team_ids[1], parts)(snapshot), snapshot | {"teams": only_totals}):
            second.live.send_event(document)
            score.feed_all(take_until(stream, lambda item: isinstance(item, sideline.Update)))
            assert score.stale
        assert stream.stats.open_gaps == 1
        second.live.send_event(snapshot)
        score.feed_all(take_until(stream, is_recovered))
    assert_same(score, game.totals(), has_totals=True)
    assert not score.stale


def withdraw_player(service: Service, game: PlayedGame, player_id: int) -> None:
    """The service corrects all that a player did: no body has a line of the player any more."""
    with service.season.lock:
        for session in game.event.sessions:
            for possession in session.possessions:
                possession.actions = [action for action in possession.actions if action.player_id != player_id]
                possession.player_ids = [other_id for other_id in possession.player_ids if other_id != player_id]
        service.season.revision += 1


@pytest.mark.parametrize("kind", ["websocket", "sse"])
def test_a_player_whose_counts_were_corrected_to_zero_in_a_gap_keeps_no_gap_open(
    kind: Literal["websocket", "sse"], second: Service, client: sideline.Client
) -> None:
    game, score = start(second), sideline.LiveBoxScore()
    open_stream = client.live if kind == "websocket" else client.live_stats
    with open_stream(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        team_id, player_id = game.event.team_ids[0], game.pending[0][2].player_id
        game.play(40)
        second.live.send_event(game.snapshot())
        if kind == "sse":
            score.feed_all(take_until(stream, lambda item: isinstance(item, sideline.Update)))
        second.live.refuse(503, times=1)
        second.live.cut()
        withdraw_player(second, game, player_id)
        items = take_until(stream, is_connected)
        assert any(row["player_id"] == player_id for row in score.table().to_dicts()) == (kind == "sse")
        cut_at = time.monotonic()
        items += take_until(stream, is_recovered)
        # Before, each may be a response of a copy that lags.
        assert time.monotonic() - cut_at >= 4 * PAUSE
        score.feed_all(items)
    assert set(missing(items)) == {("stats",)}
    assert (team_id, player_id) not in game.totals()
    assert_same(score, game.totals(), has_totals=kind == "sse")
    assert not score.stale


@pytest.mark.parametrize(
    ("occurred_at", "seconds", "is_newer"),
    [(1_005, 21, True), (1_005, 19, False), (1_000, 21, False), (999, 21, False), (None, 21, False)],
)
def test_a_lower_version_of_a_later_event_is_of_a_counter_that_restarted(occurred_at: int | None, seconds: float, is_newer: bool) -> None:
    score = sideline.LiveBoxScore()

    def feed(version: int, points: int, at: float, occurred_at: int | None) -> bool:
        data = {"team_id": 1, "player_id": 11, "occurred_at": occurred_at, "version": version, "stats": {"PTS": points}}
        text = json.dumps({"type": "stats", "data": data})
        return score.feed(sideline.Update._restore(None, "", text, None, None, "stats", timedelta(seconds=1_000_000 + at)))

    assert feed(30, 30, 0, 1_000)
    assert feed(1, 32, seconds, occurred_at) == is_newer
    if is_newer:
        assert not feed(1, 34, seconds + 1, occurred_at), "a duplicate"
        assert feed(2, 34, seconds + 1, 1_006)
    assert [row["PTS"] for row in score.table().to_dicts()] == [34 if is_newer else 30]


@pytest.mark.parametrize(("seconds", "is_newer"), [(19, False), (21, True)])
def test_a_later_state_of_a_lower_version_is_of_a_counter_that_restarted(seconds: float, is_newer: bool) -> None:
    score = sideline.LiveBoxScore()

    def feed(version: int, points: int, at: float) -> bool:
        teams = [{"id": 1, "player_stats": [{"id": 11, "version": version, "stats": {"PTS": points}}]}]
        return score.feed(sideline.Update._restore(None, "", json.dumps({"teams": teams}), None, None, None, timedelta(seconds=1_000_000 + at)))

    assert feed(30, 30, 0)
    assert feed(1, 2, seconds) == is_newer
    assert [row["PTS"] for row in score.table().to_dicts()] == [2 if is_newer else 30]


@pytest.mark.parametrize("body", [{"teams": []}, "lines"])
def test_an_empty_session_adds_nothing(body: Any, second: Service, client: sideline.Client) -> None:
    second.features.catch_up = False
    game, score = start(second), sideline.LiveBoxScore()
    teams = [{"id": team_id, "name": "T", "player_stats": []} for team_id in game.event.team_ids]
    second.faults.add("stats", path=game.event.sessions[-1].id, body={"teams": teams} if body == "lines" else body)
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        cut_and_lose(second, game)
        items = take_until(stream, is_recovered)
        score.feed_all(items)
    assert missing(items) == [("stats",)]
    assert_same(score, game.totals(), has_totals=True)


@pytest.mark.parametrize("session", [0, 1])
def test_a_session_that_is_unknown_for_a_while_ends_no_recovery(session: int, second: Service, client: sideline.Client) -> None:
    second.features.catch_up = False
    game, score = start(second), sideline.LiveBoxScore()
    second.faults.add("stats", path=game.event.sessions[session].id, times=2, status=404, body={"message": "Invalid id"})
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        cut_and_lose(second, game)
        items = take_until(stream, is_recovered)
        score.feed_all(items)
    assert not any(map(is_final, items))
    assert_same(score, game.totals(), has_totals=True)


def test_partial_states_are_merged_beyond_the_bytes_of_the_buffer(second: Service, client: sideline.Client) -> None:
    game = start(second)
    second.faults.add("catch_up", change=lambda body: {"stats": body["stats"], "pad": "x" * 1_000_000})
    with client.live(game.event.id, max_buffer_bytes=1 << 20, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        second.live.cut()
        take_until(stream, lambda item: isinstance(item, sideline.live.Recovering))
        requests = len(second.requests.all("catch_up"))
        while len(second.requests.all("catch_up")) < requests + 6:
            time.sleep(PAUSE)
        assert stream.stats.buffer_bytes < 3_000_000


@pytest.mark.parametrize(
    ("operation", "fault", "reason"),
    [("stats", {"status": 403}, "403"), ("stats", {"status": 404}, "404"), ("game", {"status": 422}, "422")],
)
def test_a_gap_is_final_where_every_route_is_refused(
    operation: str, fault: dict[str, Any], reason: str, second: Service, client: sideline.Client, tmp_path: Path
) -> None:
    game = start(second)
    second.features.catch_up = False
    second.faults.add(operation, **fault)
    with client.live(game.event.id, **QUICK).record(tmp_path / "game.journal") as stream:
        take_until(stream, is_connected)
        for number in (1, 2):
            cut_and_lose(second, game)
            items = take_until(stream, is_final)
            final = items[-1]
            (gap,) = [item for item in items[:-1] if isinstance(item, sideline.live.Gap)]
            assert (final.start, final.end, final.dropped) == (gap.start, gap.end, gap.dropped)
            assert final.reason.startswith("not recovered: ")
            assert "returned 404: no Route matched" in final.reason
            assert reason in final.reason
            assert gap.reason in final.reason
            assert second.secret not in final.reason
            assert len(second.requests.all("catch_up")) == number
        assert (stream.stats.gaps, stream.stats.open_gaps, stream.stats.recovered) == (2, 0, 0)
    tables = sideline.replay(tmp_path / "game.journal", speed=None).batches()
    kinds = [kind for table in tables for kind in table["kind"] if "gap" in kind]
    assert kinds == ["gap", "final_gap"] * 2, "a table counts each gap once, as the stream does"


def test_messages_received_during_the_request_precede_its_response_and_stay(second: Service, client: sideline.Client) -> None:
    """The state is older than these messages: it takes nothing back."""
    game, score = start(second), sideline.LiveBoxScore()
    second.faults.add("catch_up", delay=1.0, times=1)
    points: dict[tuple[int, int], float] = {}
    with client.live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        cut_and_lose(second, game)
        playing = threading.Thread(target=lambda: (second.live.wait_for_connections(2), game.play(20), second.live.send(END)))
        playing.start()
        items = []
        for item in stream:
            items.append(item)
            score.feed(item)
            now = {row: stats["PTS"] for row, stats in box(score).items() if "PTS" in stats and row[1]}
            assert all(now.get(row, 0.0) >= before for row, before in points.items()), item
            points |= now
            if is_recovered(item):
                break
        playing.join()
    assert_same(score, game.totals(), has_totals=False)
    kinds = [type(item).__name__ for item in items]
    assert any(isinstance(item, sideline.Update) and END in item.text for item in items[: kinds.index("Recovering")])


def test_a_wait_that_is_cancelled_loses_nothing_and_requests_nothing_more(second: Service) -> None:
    game = start(second)
    second.faults.add("catch_up", delay=0.1)

    async def read() -> tuple[list[Any], int]:
        items, timeouts = [], 0
        async with with_pause(sideline.AsyncClient(**second.client_options())) as client, client.live(game.event.id, **QUICK) as stream:
            while not any(map(is_recovered, items)):
                try:
                    items.append(await asyncio.wait_for(anext(stream), 0.01))
                except TimeoutError:
                    timeouts += 1
                if len(items) == 1:
                    await asyncio.to_thread(cut_and_lose, second, game)
                    items.append("cut")
        return items, timeouts

    items, timeouts = asyncio.run(read())
    assert missing(items) == [("stats",)]
    assert timeouts > 3, "other tasks had their turn"
    assert len(second.requests.all("catch_up")) == 2


def test_dropped_updates_are_recovered_and_the_requests_are_paced(second: Service, client: sideline.Client) -> None:
    with_pause(client, 3600.0)
    game, score = start(second), sideline.LiveBoxScore()
    with client.live(game.event.id, overflow="drop_oldest", buffer=4, **QUICK) as stream:
        take_until(stream, is_connected)
        items: list[Any] = []
        for _ in range(3):
            before = stream.stats.dropped
            while stream.stats.dropped == before:
                game.play(3)
            items += take_until(stream, lambda item: isinstance(item, sideline.live.Gap))
        while not missing(items):
            items.append(next(stream))
        assert stream.stats.recovered == 0, "what confirms it waits for its turn"
        assert stream.stats.open_gaps >= 3
    score.feed_all(items)
    assert score.stale
    assert len(second.requests.all("catch_up")) == 1


def test_a_recovered_gap_is_recorded_replayed_pickled_and_a_row(
    second: Service, client: sideline.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, path = start(second), tmp_path / "game.journal"
    with client.live(game.event.id, **QUICK).record(path) as stream:
        items = take_until(stream, is_connected)
        # Refused until all is played: no message comes on the next connection, however slow this machine is.
        refusal = second.live.refuse(503)
        second.live.cut()
        game.play(5)
        second.faults.remove(refusal)
        items += take_until(stream, is_recovered)
    live, replay_score = sideline.LiveBoxScore(), sideline.LiveBoxScore()
    live.feed_all(items)
    replayed_items = list(sideline.replay(path, speed=None))
    replay_score.feed_all(replayed_items)
    assert [type(item) for item in replayed_items] == [type(item) for item in items]
    assert box(replay_score) == box(live) != {}
    assert replay_score.feed_all(replayed_items) == 0, "known already"
    for original, replayed_item in zip(items[-2:], replayed_items[-2:], strict=True):
        assert original.gap.reason == replayed_item.gap.reason
        assert original.updates[0].raw == replayed_item.updates[0].raw
        assert (replayed_item.updates[0].source, replayed_item.at, replayed_item.requested_at) == ("catch_up", original.at, original.requested_at)
        copy = pickle.loads(pickle.dumps(original))
        assert copy.gap == original.gap
        assert copy.updates[0].text == original.updates[0].text
        assert repr(original).startswith(f"{type(original).__name__}(gap=Gap(start=")
        assert len(repr(original)) < 1000
    (table,) = sideline.replay(path, speed=None).batches(max_rows=1000)
    rows = table.to_dicts()
    assert [row["kind"] for row in rows[-6:]] == ["gap", "connected", "recovering", "update", "recovered", "update"]
    assert rows[-1]["text"] == items[-1].updates[0].text
    assert rows[-4]["reason"] == "missing: stats"
    assert (rows[-2]["start"], rows[-2]["reason"]) == (rows[-6]["start"], rows[-6]["reason"])
    assert main(["replay", str(path), "--fast", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    gap_line, recovering, recovered = lines[-4], *lines[-2:]
    assert recovering["gap"] == recovered["gap"] == gap_line
    assert recovering["missing"] == ["stats"]
    assert [update["data"] for update in recovered["updates"]] == [items[-1].updates[0].text]
    assert (recovered["updates"][0]["source"], recovered["requested_at"]) == ("catch_up", items[-1].requested_at.isoformat())


@pytest.mark.parametrize("recover", ["auto", "off"])
def test_the_next_snapshot_closes_a_gap_of_an_event_stream_without_a_request(recover: Literal["auto", "off"], second: Service, client: sideline.Client) -> None:
    with_pause(client, 3600.0)
    game, score = start(second), sideline.LiveBoxScore()
    with client.live_stats(game.event.id, recover=recover, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        second.live.cut()
        items = take_until(stream, is_connected)
        snapshot = game.snapshot()
        unreadable = json.loads(json.dumps(snapshot))
        unreadable["teams"][0]["player_stats"][0]["stats"]["PTS"] = "x"
        for document in (unreadable, snapshot):
            assert stream.stats.open_gaps == 1
            second.live.send_event(document)
            items += take_until(stream, lambda item: isinstance(item, sideline.Update))
        items.append(next(stream))
        assert stream.stats.open_gaps == 0
    score.feed_all(items)
    assert_same(score, game.totals(), has_totals=True)
    assert not score.stale
    update, recovered = items[-2:]
    assert (recovered.requested_at, recovered.at) == (None, update.received_at)
    assert recovered.updates[0].text == update.text
    assert sum(isinstance(item, sideline.live.Gap) for item in items) == 1
    assert second.requests.all("broadcast_stats") == []


def test_an_event_stream_whose_recovery_is_off_requests_nothing(second: Service, client: sideline.Client) -> None:
    game = start(second)
    with client.live_stats(game.event.id, recover="off", **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        second.live.cut()
        take_until(stream, is_connected)
        time.sleep(5 * PAUSE)
        assert (second.requests.all("broadcast_stats"), stream.stats.open_gaps) == ([], 1)


def test_recovery_gives_a_snapshot_to_an_event_stream_that_sends_none(second: Service, client: sideline.Client) -> None:
    game, score = start(second), sideline.LiveBoxScore()
    with client.live_stats(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        game.play(10)
        second.live.cut()
        items = take_until(stream, is_recovered)
    score.feed_all(items)
    assert_same(score, game.totals(), has_totals=True)
    (update,) = items[-1].updates
    assert (update.event, update.source, update.seq) == ("message", None, None)
    assert update.to_dict() == game.snapshot()
    assert len(second.requests.all("broadcast_stats")) == 1 + len(missing(items))


def test_a_stream_is_as_quick_while_rest_hangs_as_without_recovery(second: Service) -> None:
    """The 95th percentile of many updates: single ones are late where the machine is busy."""

    def lags(recover: Literal["auto", "off"]) -> float:
        game, waits = start(second), []
        second.live.restart()
        with with_pause(sideline.Client(**second.client_options())) as client, client.live(game.event.id, recover=recover, **QUICK) as stream:
            take_until(stream, is_connected)
            cut_and_lose(second, game)
            take_until(stream, is_connected)
            for _ in range(100):
                begun_at = time.monotonic()
                second.live.send(END, source="clock")
                take_until(stream, lambda item: isinstance(item, sideline.Update) and END in item.text)
                waits.append(time.monotonic() - begun_at)
            assert stream.stats.open_gaps == (1 if recover == "auto" else stream.stats.open_gaps)
        return sorted(waits)[94]

    second.faults.add("catch_up", delay=60.0)
    assert lags("auto") < lags("off") + 0.05


# Random schedules


class Reader(threading.Thread):
    """Reads a stream and keeps its box score, until it is stopped or the end has come and no gap is open."""

    def __init__(self, stream: sideline.LiveStream, dice: random.Random, *, is_async: bool) -> None:
        super().__init__(daemon=True)
        self.stream, self.dice, self.is_async = stream, dice, is_async
        self.score = sideline.LiveBoxScore()
        self.items: list[Any] = []
        self.open: list[sideline.live.Gap] = []
        self.has_end = False
        self.is_over = False
        self.error: BaseException | None = None
        self.lock = threading.Lock()

    def run(self) -> None:
        try:
            asyncio.run(self._read_async()) if self.is_async else self._read()
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            self.error = error

    def _read(self) -> None:
        for item in self.stream:
            if self.take(item):
                return

    async def _read_async(self) -> None:
        async for item in self.stream:
            if self.take(item):
                return

    def take(self, item: Any) -> bool:
        """Whether that was the last one."""
        with self.lock:
            if self.is_over:
                return True
            self.items.append(item)
            self.score.feed(item)
            if is_recovered(item) or is_final(item):
                closed = item.gap if is_recovered(item) else item
                assert [(gap.start, gap.end) for gap in self.open[:1]] == [(closed.start, closed.end)], "in the order of the gaps"
                del self.open[0]
            elif isinstance(item, sideline.live.Gap) and item.end is not None:
                self.open.append(item)
            self.has_end |= isinstance(item, sideline.Update) and END in item.text
            return self.has_end and not self.open


class Schedule:
    """The steps of a game."""

    def __init__(self, dice: random.Random, service: Service, game: PlayedGame) -> None:
        self.dice, self.service, self.live, self.game = dice, service, service.live, game
        self.log: list[str] = []

    def run(self, steps: int) -> None:
        names = [name for name in dir(self) if name.startswith("do_")]
        weights = [10 if name == "do_play" else 4 if name == "do_cut" else 1 for name in names]
        for name in self.dice.choices(names, weights, k=steps):
            self.log.append(name)
            getattr(self, name)()

    def after_change(self) -> None:
        """Called after each change of the game."""

    def do_play(self) -> None:
        self.game.play(self.dice.randrange(1, 5))
        self.after_change()

    def do_correct(self) -> None:
        self.game.correct()
        self.after_change()

    def do_cut(self) -> None:
        count = len(self.live.connections)
        self.dice.choice([self.live.cut, self.live.reset])()
        if self.dice.random() < 0.5:
            self.game.play(self.dice.randrange(1, 5))
        if self.dice.random() < 0.5:
            self.live.wait_for_connections(count + 1)

    def do_refuse(self) -> None:
        self.live.refuse(self.dice.choice([500, 503]), times=1)

    def do_fail(self) -> None:
        fault = self.dice.choice([{"status": 403}, {"status": 404}, {"status": 503}, {"cut_at": 20}, {"change": NO_DATA["null root"]}])
        self.service.faults.add(self.dice.choice(RECOVERY), times=1, **fault)

    def do_delay(self) -> None:
        self.service.faults.add(self.dice.choice(RECOVERY), times=1, delay=self.dice.random() * 0.03)


class Websocket(Schedule):
    def do_forget(self) -> None:
        """The service keeps fewer messages for a replay."""
        self.live.keeps = self.dice.choice([0, 3, None])

    def do_restart(self) -> None:
        self.live.restart()
        self.live.cut()

    def do_withdraw(self) -> None:
        """The service has no `catch_up` any more."""
        self.service.features.catch_up = False


class Events(Schedule):
    def after_change(self) -> None:
        if self.dice.random() < 0.7:
            self.live.send_event(self.game.snapshot())


def play(seed: int) -> tuple[int, int, int]:
    """One life of a game: gaps, recovered ones and final ones."""
    dice = random.Random(seed)
    is_events = seed % 4 == 3
    lines = dice.choice(["players", "all"])
    options: dict[str, Any] = QUICK | dice.choice([{}, {}, {"overflow": "drop_oldest", "buffer": dice.randrange(1, 30)}])
    with new_service(lines) as service, with_pause(sideline.Client(**service.client_options())) as client:
        game = PlayedGame(service, service.season.games[0], is_numbered=dice.random() < 0.5)
        service.live.snapshot_on_connect = dice.random() < 0.3
        if game.is_numbered:
            # Others are lost before the stream begins, which is no gap.
            game.play(dice.randrange(10))
        schedule = (Events if is_events else Websocket)(dice, service, game)
        with client.live_stats(game.event.id, **options) if is_events else client.live(game.event.id, **options) as stream:
            reader = Reader(stream, dice, is_async=dice.random() < 0.5)
            reader.start()
            service.live.wait_for_connections(1)
            schedule.run(dice.randrange(10, 30))
            service.faults.clear()
            if is_events:
                end_events(service, game, reader)
            else:
                end_websocket(service, reader)
        # Until the stream is closed, the gap of the last cut may still come.
        stats = stream.stats
    assert reader.error is None, reader.error
    with reader.lock:
        items = list(reader.items)
    try:
        return check(schedule, reader, items, stats, has_totals=lines == "all" or is_events)
    except AssertionError as failure:
        raise AssertionError(f"seed {seed}: {failure}\n{schedule.log}") from None


def end_websocket(service: Service, reader: Reader) -> None:
    """Pauses the game until the reader has all messages and no gap is open."""
    for _ in range(200):
        service.live.send(END, source="clock")
        reader.join(0.05)
        if not reader.is_alive():
            return
    raise AssertionError(f"the end does not arrive; open: {reader.open}, {reader.items[-3:]}")


def end_events(service: Service, game: PlayedGame, reader: Reader) -> None:
    """A last cut, behind which the service sends a snapshot only if it does so to every new connection."""
    game.play(3)
    service.live.cut()
    if service.live.snapshot_on_connect:
        service.live.send_event(game.snapshot())
    for _ in range(200):
        with reader.lock:
            ends = [item for item in reader.items if is_recovered(item) or is_final(item)]
            # A connection that had the last snapshot may have been cut: the gap of that cut comes later.
            reader.is_over = not reader.open and (box(reader.score) == game.totals() or any(map(is_final, ends[-1:])))
            if reader.is_over:
                return
        reader.join(0.05)
    raise AssertionError(f"the box score stays wrong; open: {reader.open}, {reader.items[-3:]}")


def check(schedule: Schedule, reader: Reader, items: list[Any], stats: Any, *, has_totals: bool) -> tuple[int, int, int]:
    gaps = [item for item in items if isinstance(item, sideline.live.Gap) and not item.is_final]
    outcomes = [item for item in items if is_recovered(item) or is_final(item)]
    recovered = [item for item in outcomes if is_recovered(item)]
    assert len(outcomes) == len(gaps), "each gap is closed or final, once"
    assert stats.recovered >= len(recovered)
    assert stats.gaps >= len(gaps)
    assert all(item.reason.startswith("not recovered: ") for item in outcomes if is_final(item))
    assert all(item.missing for item in items if isinstance(item, sideline.live.Recovering))
    if not outcomes or is_recovered(outcomes[-1]):
        assert_same(reader.score, schedule.game.totals(), has_totals=has_totals)
        assert not reader.score.stale
    return len(gaps), len(recovered), len(outcomes) - len(recovered)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_after_any_cuts_the_box_score_is_the_rest_apis_or_a_final_gap_says_why(shard: int) -> None:
    sums = [0, 0, 0]
    for seed in range(shard, RUNS, SHARDS):
        sums = [old + new for old, new in zip(sums, play(seed), strict=True)]
    gaps, recovered, _ = sums
    assert recovered > gaps / 2, sums


SLOW_HANDLER = """
from test_recovery import *

class Slow(logging.Handler):
    def emit(self, record):
        time.sleep(0.02)

logging.getLogger("sideline").addHandler(Slow())
with new_service() as service, sideline.Client(**service.client_options(), max_retries=0) as client:
    game = start(service)
    service.faults.add("catch_up", times=10, status=503)
    with with_pause(client).live(game.event.id, **QUICK) as stream:
        take_until(stream, is_connected)
        cut_and_lose(service, game)
        is_over = threading.Event()
        playing = threading.Thread(target=lambda: [game.correct() and time.sleep(0.001) for _ in iter(is_over.is_set, True)])
        playing.start()
        # A reader that is slower than the stream always finds an update.
        take_until(stream, lambda item: time.sleep(0.005) or is_recovered(item))
        is_over.set()
        playing.join()
"""


def test_a_log_handler_that_takes_its_time_stops_nothing() -> None:
    # In a process of its own: where a reader waits for a lock with the interpreter's, no timeout ends it.
    done = subprocess.run([sys.executable, "-c", SLOW_HANDLER], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
