"""Played games, read over either stream: whole, cut, corrected. The final state equals that of REST."""

from __future__ import annotations

import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from wire import listener, over_tls, proxy, relay

import sideline

NOW = "2027-03-01T12:00:00Z"
EVENT_STREAM = "/broadcast/v1/stats/event-stream"
WEBSOCKET = "/live/v2/games"
QUICK: dict[str, Any] = {"retry_wait": 0.001, "max_wait": 0.002, "give_up_on": ()}


@pytest.fixture
def season() -> Iterator[sideline.Simulator]:
    """A simulator for this test, because a played game stays played."""
    with sideline.Simulator(seed=11, teams=4, games=8, now=NOW) as season:
        yield season


@pytest.fixture
def client(season: sideline.Simulator) -> Iterator[sideline.Client]:
    with season.client() as client:
        yield client


@pytest.fixture
def game(season: sideline.Simulator) -> dict[str, Any]:
    """One that is still to come."""
    return season.games[-1]


@pytest.fixture
def finished_game(season: sideline.Simulator) -> str:
    """A finished game: its event stream sends it once, then heartbeats."""
    return str(season.games[0]["event_id"])


Opens = Callable[..., sideline.LiveStream]


@pytest.fixture(params=["websocket", "event stream"])
def open_stream(request: pytest.FixtureRequest, client: sideline.Client, game: dict[str, Any]) -> Opens:
    if request.param == "websocket":
        return lambda **options: client.live(game["event_id"], sources=["stats"], **options)
    return lambda **options: client.live_stats(game["event_id"], **options)


def quiet(stream: sideline.LiveStream, seconds: float = 1.0) -> Iterator[Any]:
    """Takes items until none has arrived for this long: in steps, since a busy machine may stop the whole process for a while."""
    empty = 0
    while empty < 10:
        if (item := stream._core.next_within(seconds / 10)) is None:
            empty += 1
        else:
            empty = 0
            yield item


def lines(*tables: sideline.Table) -> dict[tuple[int, int], dict[str, float]]:
    """Stats by team and player. A code that is 0 may be absent; the score is a team's, not a stat of its players."""
    result = {}
    for row in (row for table in tables for row in table.to_dicts()):
        stats = {code: value for code, value in row.items() if code.isupper() and value and not code.endswith("_SCORE")}
        result[row["team_id"], row["player_id"]] = stats
    return result


def rest(client: sideline.Client, game: dict[str, Any]) -> dict[tuple[int, int], dict[str, float]]:
    teams = game["home_team_id"], game["away_team_id"]
    return lines(*(client.team_game_stats(team, game_id=game["event_id"]).table("box_score") for team in teams))


def one_gap_for_each_hole(notices: list[Any]) -> None:
    """There is one gap between two connections, and no two overlap. Each is recovered at most once, later."""
    holes = [notice for notice in notices if isinstance(notice, sideline.live.Gap) and not notice.is_final]
    assert sum(isinstance(notice, sideline.live.Recovered) for notice in notices) <= len(holes)
    kinds = [
        type(notice).__name__
        for notice in notices
        if not isinstance(notice, (sideline.live.Quiet, sideline.live.Recovering, sideline.live.Recovered))
        and not (isinstance(notice, sideline.live.Gap) and notice.is_final)
    ]
    assert kinds[0] == "Connected"
    for before, after in pairwise(kinds):
        assert (before, after) in {
            ("Connected", "Disconnected"),
            ("Disconnected", "Disconnected"),
            ("Disconnected", "Gap"),
            ("Gap", "Connected"),
        }
    assert all(gap.end is not None and gap.start <= gap.end for gap in holes)
    assert all(before.end <= after.start for before, after in pairwise(holes))
    assert len(holes) == kinds.count("Connected") - 1


def comparable(item: Any) -> tuple[Any, ...]:
    """What an item says: updates are equal only to themselves."""
    if isinstance(item, sideline.Update):
        return item.text, item.seq, item.received_at
    if isinstance(item, (sideline.live.Recovering, sideline.live.Recovered)):
        return type(item), item.gap, item.requested_at, *map(comparable, item.updates)
    return type(item), item


def come_to_rest(box: sideline.LiveBoxScore, stream: sideline.LiveStream, client: sideline.Client, game: dict[str, Any]) -> list[Any]:
    """Feeds a box score until it equals that of REST, even if a busy machine pauses during the game; returns the items."""
    items, until = [], time.monotonic() + 60
    while True:
        news = list(quiet(stream))
        items += news
        box.feed_all(news)
        if lines(box.table()) == rest(client, game):
            return items
        assert time.monotonic() < until, (lines(box.table()), rest(client, game))


@pytest.mark.parametrize("speed", [None, 3000.0])
def test_the_box_score_of_a_played_game_equals_that_of_the_rest_api(
    season: sideline.Simulator, client: sideline.Client, game: dict[str, Any], open_stream: Opens, speed: float | None
) -> None:
    box = sideline.LiveBoxScore()
    with open_stream() as stream:
        assert isinstance(next(stream), sideline.live.Connected)
        season.play(game["event_id"], speed=speed)
        # On a busy machine a document tells of several moments.
        assert len(come_to_rest(box, stream, client, game)) > 10
        assert stream.stats.gaps == stream.stats.dropped == 0
    assert len(lines(box.table())) >= 12


def test_a_thousand_cuts_at_random_bytes_lose_nothing_of_the_websocket(season: sideline.Simulator, client: sideline.Client, game: dict[str, Any]) -> None:
    rng = random.Random(1)
    for _ in range(1000):
        season.faults.add(WEBSOCKET, cut_at=rng.randrange(900), reset=rng.random() < 0.05, times=1)
    box, seen, notices = sideline.LiveBoxScore(), [], []
    with client.live(game["event_id"], sources=["stats", "shots", "marker"], **QUICK) as stream:
        season.play(game["event_id"], speed=1500)
        for item in quiet(stream, 3.0):
            if isinstance(item, sideline.Update):
                seen.append(item.seq)
                box.feed(item)
            else:
                notices.append(item)
        assert stream.stats.reconnects >= 900
    assert seen == list(range(1, len(seen) + 1)), "none twice, none missing, in order"
    one_gap_for_each_hole(notices)
    assert sum(isinstance(notice, sideline.live.Disconnected) for notice in notices) >= 1000
    assert lines(box.table()) == rest(client, game)


def test_a_thousand_cuts_at_random_bytes_of_the_event_stream_end_in_the_rest_apis_box_score(
    season: sideline.Simulator, client: sideline.Client, game: dict[str, Any]
) -> None:
    season.streams.heartbeat = 0.001  # so that a byte comes at which to cut, when the game is over
    rng = random.Random(2)
    for _ in range(1000):
        season.faults.add(EVENT_STREAM, cut_at=rng.randrange(9_000), reset=rng.random() < 0.05, times=1)
    box, items = sideline.LiveBoxScore(), []
    with client.live_stats(game["event_id"], **QUICK) as stream:
        season.play(game["event_id"], speed=1500)
        for item in quiet(stream, 3.0):
            items.append(item)
            box.feed(item)
    notices = [item for item in items if not isinstance(item, sideline.Update)]
    one_gap_for_each_hole(notices)
    assert sum(isinstance(notice, sideline.live.Disconnected) for notice in notices) == 1000
    # A half event is no event. A new connection begins with the current state of the game: only then may a document be repeated.
    documents = [item.to_dict() if isinstance(item, sideline.Update) else None for item in items]
    updates = [document for document in documents if document]
    assert all(before["version"] <= after["version"] for before, after in pairwise(updates)), "in order"
    assert all(before != after for before, after in pairwise(documents) if before and after), "none twice"
    assert len(updates) > 50
    assert lines(box.table()) == rest(client, game)


def test_corrections_come_over_either_stream_and_down_too(
    season: sideline.Simulator, client: sideline.Client, game: dict[str, Any], open_stream: Opens
) -> None:
    box = sideline.LiveBoxScore()
    with open_stream() as stream:
        season.play(game["event_id"], speed=None)
        come_to_rest(box, stream, client, game)
        (team, player), stats = next((key, stats) for key, stats in rest(client, game).items() if key[1] and stats.get("FG"))
        season.correct(game["event_id"], player, "FG", -1)
        season.correct(game["event_id"], player, "AST", +2)
        assert len(come_to_rest(box, stream, client, game)) >= 1
    now = lines(box.table())
    assert now[team, player].get("FG", 0) == stats["FG"] - 1
    assert now[team, player]["AST"] == stats.get("AST", 0) + 2


def test_a_box_score_seeded_after_a_gap_is_right_and_late_messages_do_not_turn_it_back(
    season: sideline.Simulator, client: sideline.Client, game: dict[str, Any]
) -> None:
    with client.live(game["event_id"], sources=["stats"], notices=False) as stream:
        season.play(game["event_id"], speed=None)
        updates = list(quiet(stream))
    teams = game["home_team_id"], game["away_team_id"]
    box = sideline.LiveBoxScore(*(client.team_game_stats(team, game_id=game["event_id"]) for team in teams))
    assert lines(box.table()) == rest(client, game)
    assert box.feed_all(updates) == 0
    assert box.ignored == len(updates)
    assert lines(box.table()) == rest(client, game)


def test_a_revoked_token_is_renewed_and_nothing_is_lost(season: sideline.Simulator, client: sideline.Client, game: dict[str, Any]) -> None:
    seen, disconnects = [], 0
    with client.live(game["event_id"], sources=["stats", "shots", "marker"], retry_wait=0.001) as stream:
        season.play(game["event_id"], speed=2000)
        for item in quiet(stream, 2.0):
            if isinstance(item, sideline.Update):
                seen.append(item.seq)
                if len(seen) in (500, 1000, 1500):
                    season.revoke_tokens()
            disconnects += isinstance(item, sideline.live.Disconnected)
    assert disconnects == 3
    assert seen == list(range(1, len(seen) + 1))
    tokens = {request.query["token"] for request in season.requests if request.path == WEBSOCKET}
    assert len(tokens) == 4


def test_a_given_token_serves_without_credentials_and_cannot_be_renewed(season: sideline.Simulator, client: sideline.Client, game: dict[str, Any]) -> None:
    token = client.subscription_token(game["event_id"])
    with sideline.Client(websocket_url=season.websocket_url) as anonymous:
        stream = anonymous.live(token=token, sources=["marker"], retry_wait=0.001)
        with stream:
            assert isinstance(next(stream), sideline.live.Connected)
            season.revoke_tokens(token)
            with pytest.raises(sideline.ApiError) as excinfo:
                list(stream)
        assert excinfo.value.status in (401, 403)
        assert token not in f"{excinfo.value} {excinfo.value.url} {stream!r}"


def test_heartbeats_alone_are_one_quiet_and_no_reconnect(season: sideline.Simulator, client: sideline.Client, finished_game: str) -> None:
    # A hundred times as fast as in life: a heartbeat for each ten seconds.
    season.streams.heartbeat = 0.1
    with client.live_stats(finished_game, silence_limit=1.0, quiet_after=1.5, retry_wait=0.05) as stream:
        until = time.monotonic() + 6.0
        items = []
        while (left := until - time.monotonic()) > 0:
            items.append(stream._core.next_within(left))
        assert [type(item).__name__ for item in items if item] == ["Connected", "Update", "Quiet"]
        assert stream.stats.reconnects == 0
        assert stream.state == "connected"


def test_without_a_byte_the_connection_is_lost_after_the_limit_and_not_before(season: sideline.Simulator, client: sideline.Client, finished_game: str) -> None:
    season.streams.stall(after=1, heartbeats=False, times=2)
    for stream in (client.live_stats(finished_game, silence_limit=1.0), client.live(finished_game, sources=["broadcastsummary"], silence_limit=1.0)):
        with stream:
            connected, update, disconnect = next(stream), next(stream), next(stream)
            assert isinstance(connected, sideline.live.Connected)
            assert isinstance(disconnect, sideline.live.Disconnected)
            assert disconnect.attempt == 0
            assert 0.99 <= (disconnect.at - update.received_at).total_seconds() < 10


def test_bytes_that_are_no_text_are_replaced_and_lose_nothing_else(season: sideline.Simulator, client: sideline.Client, finished_game: str) -> None:
    season.streams.insert(b"data: \xff\xfe\n\n", EVENT_STREAM, times=1)
    with client.live_stats(finished_game, notices=False) as stream:
        assert next(stream).text == "\ufffd\ufffd"
        assert next(stream).to_dict()["game_id"] == finished_game


def test_slow_bytes_are_no_silence(season: sideline.Simulator, client: sideline.Client, finished_game: str) -> None:
    with client.live_stats(finished_game, notices=False) as stream:
        size = len(next(stream).raw)
    season.streams.slow(size // 3, EVENT_STREAM, times=1)
    start = time.monotonic()
    with client.live_stats(finished_game, notices=False, silence_limit=1.5) as stream:
        assert len(next(stream).raw) == size
        assert stream.stats.reconnects == 0
    assert time.monotonic() - start > 1.5, "it was slow"


def test_a_recording_with_cuts_replayed_is_the_same_items_and_the_same_box_score(
    season: sideline.Simulator, client: sideline.Client, game: dict[str, Any], open_stream: Opens, tmp_path: Path
) -> None:
    rng = random.Random(3)
    for _ in range(50):
        season.faults.add("*/*", cut_at=rng.randrange(20_000), times=1)
    with open_stream(**QUICK).record(tmp_path / "game.journal") as stream:
        next(stream)
        season.play(game["event_id"], speed=3000)
        items = list(quiet(stream))
        season.faults.clear()
        seen = sideline.LiveBoxScore()
        seen.feed_all(items)
        items += come_to_rest(seen, stream, client, game)
    from_journal = list(sideline.replay(tmp_path / "game.journal", speed=None))[1:]
    assert list(map(comparable, items)) == list(map(comparable, from_journal))
    box = sideline.LiveBoxScore()
    box.feed_all(from_journal)
    assert lines(box.table()) == rest(client, game)


@pytest.mark.skipif(os.name == "nt", reason="the command is stopped by a POSIX signal")
def test_the_command_records_the_websocket_of_a_game(season: sideline.Simulator, game: dict[str, Any], tmp_path: Path) -> None:
    journal = tmp_path / "game.journal"
    season.play(game["event_id"], speed=1e6)
    command = [sys.executable, "-W", "error", "-m", "sideline", "record", "--game-id", game["event_id"], str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **season.environ}) as running:
        until = time.monotonic() + 60
        while not (journal.exists() and len(list(sideline.replay(journal, speed=None))) > 2000):
            assert time.monotonic() < until
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, "")
    assert out.startswith("recorded ")
    assert season.secret not in journal.read_bytes().decode("latin-1")


def test_both_streams_go_through_a_proxy_that_wants_credentials_and_tls_of_an_added_authority(
    season: sideline.Simulator, game: dict[str, Any], tls_context: Callable[..., ssl.SSLContext], bundle: Path
) -> None:
    def inward(outside: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", int(season.base_url.rpartition(":")[2]))) as inside:
            relay(outside, inside, bytearray())

    addresses = dict.fromkeys(("base_url", "broadcast_base_url"), "https://service.invalid") | {"websocket_url": "wss://service.invalid"}
    with (
        listener(over_tls(tls_context("service.invalid"), inward, notify=False)) as secure,
        proxy({"service.invalid:443": secure.port}, credentials="ann:pw") as between,
    ):
        through = between.address.replace("//", "//ann:pw@")
        with season.client(**addresses, proxy=through, ca_bundle=bundle) as client:
            season.play(game["event_id"], speed=None)
            final = rest(client, game)
            while rest(client, game) != final:
                final = rest(client, game)
            for stream in (client.live(game["event_id"], sources=["stats"]), client.live_stats(game["event_id"])):
                box = sideline.LiveBoxScore()
                with stream:
                    box.feed_all(quiet(stream))
                    assert stream.stats.reconnects == 0
                assert lines(box.table()) == rest(client, game)
        assert set(between.lines) == {"CONNECT service.invalid:443 HTTP/1.1"}
        assert b"token" not in between.client_bytes


def test_a_game_that_is_over_cannot_be_played_and_a_correction_of_nothing_says_so(season: sideline.Simulator) -> None:
    game_id = season.games[0]["event_id"]
    with pytest.raises(ValueError, match="the game is over"):
        season.play(game_id)
    for player, stat, delta, message in [(1, "PTS", 1, "neither team"), (1, "XYZ", 1, "XYZ"), (1, "AST", 0, "corrects nothing")]:
        with pytest.raises(ValueError, match=message):
            season.correct(game_id, player, stat, delta)
    with pytest.raises(ValueError, match="no such game|is no game"):
        season.play("nobody")
    with pytest.raises(ValueError, match="speed"):
        season.play(season.games[-1]["event_id"], speed=0)
