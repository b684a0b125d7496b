"""One odd value or one hostile body: contained, in bounded memory, by an error that names it."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from service import Service

import sideline
from streams import server, then_hold

BASE, TIMES = 16 << 20, 64
"""A table takes at most so many bytes, and so many for each byte of its body (docs/tables.md)."""
GOLDEN = Path(__file__).parent / "golden"
COLUMNS = 1_000
"""`box_score` has so many columns that are not declared."""


@pytest.fixture
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    with service.client(max_retries=0) as client:
        yield client


def stats(players: int, codes: int, has_own_codes: bool = True) -> sideline.Payload:
    """Each player with codes of his own, or all with the same."""
    lines = [{"id": n, "stats": {f"C{n * codes + code if has_own_codes else code}": 1 for code in range(codes)}} for n in range(players)]
    body = json.dumps({"teams": [{"id": 1, "player_stats": lines}]}, separators=(",", ":"))
    return sideline.Payload.from_bytes("stats", body.encode(), session_id="s")


# Tables.


def test_box_score_refuses_more_columns_than_it_may_have() -> None:
    assert len(stats(1, COLUMNS).table("box_score").column_names) == COLUMNS + len(sideline.SCHEMAS["box_score"])
    wide = stats(1, COLUMNS + 1)
    with pytest.raises(sideline.DecodeError, match="player_stats has a row for each") as excinfo:
        wide.table("box_score")
    assert len(str(excinfo.value)) < 2_000
    assert wide.table().num_rows == COLUMNS + 1


def test_box_score_refuses_more_cells_than_its_body_allows() -> None:
    sparse = stats(900, 1)
    with pytest.raises(sideline.DecodeError, match="player_stats has a row for each"):
        sparse.table("box_score")
    assert sparse.table("player_stats").num_rows == 900
    assert sparse.table("box_score", columns=["C1", "C2"]).num_rows == 900
    dense = stats(900, 100, has_own_codes=False).table("box_score")
    assert (dense.num_rows, len(dense.column_names)) == (900, 100 + len(sideline.SCHEMAS["box_score"]))


def test_one_box_score_of_many_bodies_is_bounded_too(client: sideline.Client, service: sideline.Simulator) -> None:
    for n in range(3):
        codes = {f"C{n}x{code}": 1 for code in range(400)}
        body = {"teams": [{"id": 1, "player_stats": [{"id": 1, "stats": codes}]}]}
        service.faults.add(f"*/stats/s{n}/stats", status=200, body=json.dumps(body).encode())
    batch = client.stats([f"s{n}" for n in range(3)])
    with pytest.raises(sideline.DecodeError, match="player_stats has a row for each"):
        batch.table("box_score")
    assert batch.table().num_rows == 1200


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda: stats(900, 1).raw, id="more columns than a box score may have"),
        pytest.param(lambda: json.dumps({"teams": [{"id": 1, "player_stats": [{"id": 1, "stats": {"A\0": 1}}]}]}).encode(), id="a stat code with a NUL"),
    ],
)
def test_a_unit_counts_as_fetched_only_where_every_table_can_be_made(body: Callable[[], bytes], client: sideline.Client, service: sideline.Simulator) -> None:
    """Otherwise one unit costs the tables of the others."""
    session_id = client.game(service.games[0]["event_id"]).table("sessions")["session_id"][0]
    service.faults.add("*/stats/s/stats", status=200, body=body())
    batch = client.stats(["s", session_id], on_error="keep")
    assert (batch.counts["failed"], batch.counts["fetched"]) == (1, 1)
    assert batch.table("box_score").num_rows == client.stats(session_id).table("box_score").num_rows


LONG_NAME = "n" * 300_000
HOSTILE = {
    "a long name above many rows": ("stats", {"teams": [{"id": 1, "name": LONG_NAME, "player_stats": [{"id": n, "stats": {"A": 1}} for n in range(20_000)]}]}),
    "a long name above many values": (
        "stats",
        {"teams": [{"id": 1, "name": LONG_NAME, "player_stats": [{"id": 1, "stats": {f"A{n}": 1 for n in range(30_000)}}]}]},
    ),
    "empty games": ("schedule", {"games": [{"event_id": "g"}] * 100_000}),
    "a long list above many rows": ("possessions", {"possessions": [{"id": "p", "players": list(range(30_000)), "events": [{"id": "e"}] * 30_000}]}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_table_is_larger_than_its_body_allows(name: str) -> None:
    operation, body = HOSTILE[name]
    raw = json.dumps(body, separators=(",", ":")).encode()
    payload = sideline.Payload.from_bytes(operation, raw, session_id="s" * 900, game_id="g" * 900)
    for table in payload.tables:
        with contextlib.suppress(sideline.DecodeError):
            assert payload.table(table).to_arrow().nbytes <= BASE + TIMES * len(raw)


@pytest.mark.parametrize("name", ["a long name above many rows", "a long name above many values"])
def test_a_refusal_for_size_names_the_bound(name: str) -> None:
    operation, body = HOSTILE[name]
    payload = sideline.Payload.from_bytes(operation, json.dumps(body).encode(), session_id="s")
    with pytest.raises(sideline.DecodeError, match="16 MiB and 64 bytes for each byte of its body"):
        payload.table()


Place = tuple[str | int, ...]
SHORTEST_ROWS: dict[str, tuple[str, Place, str]] = {
    "ball_screens": ("ball_screens", ("ballscreens",), '{"sessionId":"s","eventId":"e"}'),
    "box_score": ("stats", ("teams", 0, "player_stats"), '{"id":1}'),
    "events": ("team_events", ("events",), '{"id":"e"}'),
    "games": ("schedule", ("games",), '{"event_id":"g"}'),
    "location_windows": ("team_events", ("events", 0, "results", 0, "_locations"), '"?from=1&to=2"'),
    "locations": ("locations", (2, "locations"), '{"t":1}'),
    "play_by_play": ("play_by_play", ("details",), '{"eventId":"e"}'),
    "player_stats": ("stats", ("teams", 0, "player_stats"), '{"id":1,"stats":{"A":1,"B":1,"C":1,"D":1}}'),
    "players": ("roster", ("players",), '{"id":1}'),
    "possession_events": ("possessions", ("teams", 0, "possessions", 0, "stats"), "{}"),
    "possession_players": ("possessions", ("teams", 0, "team_player_details"), '{"id":1}'),
    "possessions": ("possessions", ("teams", 0, "possessions"), "{}"),
    "sessions": ("team_events", ("events", 0, "results"), '{"id":"s"}'),
    "shots": ("shots", ("teams", 0, "player_shots", 0, "shots"), "{}"),
    "special_services": ("roster", ("players", 0, "special_services"), "{}"),
    "stat_events": ("stats_details", ("teams", 0, "player_stats", 0, "stats", "PTS"), "{}"),
    "team": ("roster", ("players",), "{}"),
    "teams": ("teams", ("teams",), '{"id":1}'),
    "videos": ("videos", ("videos",), "{}"),
}
"""Of each table that bodies have: the place of its rows in a documented body, and the shortest of them."""


def many_rows(operation: str, place: Place, row: str, count: int) -> bytes:
    body = json.loads((GOLDEN / f"{operation}.json").read_bytes())
    rows = body
    for key in place:
        rows = rows[key]
    rows[:] = ["here"]
    return json.dumps(body, separators=(",", ":")).replace('"here"', ",".join([row] * count)).encode()


def table_or_refusal(payload: sideline.Payload, table: str) -> tuple[Any, str]:
    try:
        return payload.table(table).to_arrow(), ""
    except sideline.DecodeError as error:
        return None, str(error)


def test_each_table_of_a_body_has_its_hostile_body() -> None:
    payloads = [sideline.Payload.from_bytes(path.stem, path.read_bytes(), session_id="s") for path in GOLDEN.glob("*.json")]
    assert {table for payload in payloads for table in payload.tables} == set(SHORTEST_ROWS)


@pytest.mark.parametrize("table", SHORTEST_ROWS)
def test_the_shortest_rows_make_no_larger_table_than_their_body_allows(table: str) -> None:
    operation, place, row = SHORTEST_ROWS[table]
    for count in (2_000, 100_000):
        raw = many_rows(operation, place, row, count)
        # Each row has the long ids of the call too.
        payload = sideline.Payload.from_bytes(operation, raw, session_id="s" * 100, game_id="g" * 100)
        rows, refusal = table_or_refusal(payload, table)
        if rows is None:
            assert "16 MiB and 64 bytes for each byte of its body" in refusal
            assert count > 2_000
        else:
            assert rows.nbytes <= BASE + TIMES * len(raw)
            assert rows.num_rows >= count or table == "team"


def test_every_table_of_a_season_is_far_below_its_bound(client: sideline.Client, service: sideline.Simulator) -> None:
    game = service.games[0]["event_id"]
    session = client.game(game).to_dict()["results"][0]["id"]
    for payload in (client.stats(session), client.shots(session), client.possessions(session), client.teams()):
        for table in payload.tables:
            assert payload.table(table).to_arrow().nbytes < (BASE + TIMES * len(payload.raw)) / 2


def test_a_code_that_can_name_no_column_is_refused_by_box_score_alone() -> None:
    body = {"teams": [{"id": 1, "player_stats": [{"id": 1, "stats": {"PTS": 2, "A\0": 1}}]}]}
    payload = sideline.Payload.from_bytes("stats", json.dumps(body).encode(), session_id="s")
    with pytest.raises(sideline.DecodeError, match=r"NUL character cannot name a column; player_stats has a row for it"):
        payload.table("box_score")
    assert payload.table("player_stats").to_arrow()["stat"].to_pylist() == ["PTS", "A\0"]
    assert payload.table("box_score", columns=["PTS"]).to_dicts() == [{"PTS": 2.0}]


def _stats(lines: list[dict[str, object]], name: str = "T") -> sideline.Payload:
    body = {"teams": [{"id": 1, "name": name, "player_stats": lines}]}
    return sideline.Payload.from_bytes("stats", json.dumps(body).encode(), session_id="s")


def test_a_live_box_score_takes_nothing_that_no_table_can_have() -> None:
    score = sideline.LiveBoxScore(_stats([{"id": 1, "stats": {"PTS": 2}}]))
    score.seed(_stats([{"id": 1, "stats": {"PTS": 3, "A\0": 1}}]))
    invalid_stats: list[dict[str, Any]] = [{"A\0": 1}, {f"C{number}": 1 for number in range(1_000)}, {"PTS": "many"}]
    changes = [{"team_id": 1, "player_id": 1, "stats": codes, "version": 9} for codes in [*invalid_stats, {"AST": 1}]]
    events = "".join(f"data: {json.dumps({'type': 'stats', 'data': change})}\n\n" for change in changes)
    with server([then_hold(events.encode())]) as running_server, running_server.client() as client, client.live_stats("g", notices=False) as stream:
        assert [score.feed(next(stream)) for _ in changes] == [False, False, False, True]
    assert (score.unreadable, score.ignored) == (4, 0)
    assert {name: score.table().to_dicts()[0][name] for name in ("PTS", "AST")} == {"PTS": 2, "AST": 1}


def test_a_live_box_score_without_a_table_still_says_why() -> None:
    lines: list[dict[str, object]] = [{"id": number, "stats": {"PTS": 2}} for number in range(5_000)]
    score = sideline.LiveBoxScore(_stats(lines, name="T" * 20_000))
    with pytest.raises(sideline.DecodeError):
        score.table()
    assert "would take more than 16 MiB" in repr(score)


# Streams.


def test_a_mistyped_source_is_not_waited_for_for_ever() -> None:
    """The service neither refuses an unknown name nor sends anything for it."""
    with Service(seed=3) as service, sideline.Client(**service.client_options()) as client:
        token = service.live.token_for("g")
        options: dict[str, Any] = {"token": token, "notices": False, "quiet_after": 0.2}
        with client.live(sources=["typo"], **options) as stream:
            assert isinstance(next(stream), sideline.live.Quiet)
        with client.live(sources=["typo", "stats"], **options) as stream:
            assert isinstance(next(stream), sideline.live.Quiet)
            service.live.send(source="stats")
            assert next(stream).source == "stats"  # type: ignore[union-attr]
        with client.live(**options) as stream:
            service.live.wait_for_connections(3)
            time.sleep(0.6)
            service.live.send(source="stats")
            assert isinstance(next(stream), sideline.Update), "whoever names no source wants no notice"


# Unknown fields.


def test_the_number_of_reported_unknown_fields_is_limited(client: sideline.Client, service: sideline.Simulator) -> None:
    body = {"teams": [{"id": 1, **{f"key{n}": n for n in range(100_000)}}]}
    service.faults.add("/v1/data/teams", body=json.dumps(body).encode(), times=1)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        payload = client.teams()
    assert len(payload.unknown_fields()) == len(messages) == client.drift().num_rows == 1_000
    assert payload.table().num_rows == 1


def test_the_check_for_unknown_fields_is_linear() -> None:
    def seconds(count: int) -> float:
        """CPU time of the fastest of three."""
        body = b'{"teams": [{%s}]}' % b",".join(b'"key%d": 1' % n for n in range(count))
        times = []
        for _ in range(3):
            start = time.process_time()
            assert len(sideline.Payload.from_bytes("teams", body).unknown_fields()) == 1_000
            times.append(time.process_time() - start)
        return min(times)

    # 64 times as many: ten times that is far from the 4,096 times of a quadratic check.
    assert seconds(128_000) < 640 * seconds(2_000)


# Requests.


def test_a_range_whose_ends_are_the_same_is_refused() -> None:
    with Service(seed=3) as service, sideline.Client(**service.client_options(), max_retries=0) as client:
        noon = datetime(2027, 1, 15, 12, tzinfo=UTC)
        with pytest.raises(ValueError, match="the range is empty"):
            client.schedule(noon, noon)
        assert list(service.requests.all("schedule")) == []


# Processes and objects.


def test_a_field_can_be_pickled() -> None:
    for schema in sideline.SCHEMAS.values():
        for field in schema:
            copy = pickle.loads(pickle.dumps(field))
            assert copy == field
            assert (copy.unit, copy.frame, copy.description) == (field.unit, field.frame, field.description)


def test_a_batch_is_retried_by_a_client_of_its_class(client: sideline.Client, service: sideline.Simulator) -> None:
    batch = client.stats(["no-such-session"], on_error="keep")
    invalid_clients: list[Any] = [service.async_client(), "client", service]
    for other in invalid_clients:
        with pytest.raises(TypeError, match="client must be a Client, like"):
            batch.retry(client=other)
    with service.client() as other_client:
        assert batch.retry(client=other_client, on_error="keep").counts["missing"] == 1


@pytest.mark.skipif(not hasattr(os, "fork") or sys.version_info >= (3, 12), reason="no fork, or no collection between its objects")
def test_a_child_forked_while_a_thread_makes_units_looks_at_them_itself(client: sideline.Client, service: sideline.Simulator) -> None:
    session = client.game(service.games[0]["event_id"]).to_dict()["results"][0]["id"]
    batch = client.stats([session] * 100)
    is_waited_for, has_begun, release, collections = threading.Lock(), threading.Lock(), threading.Event(), itertools.count()

    def on_collection(phase: str, _: object) -> None:
        """Runs between the objects that the thread makes; the 20th time, some of the units are there and others are not."""
        if threading.current_thread() is thread and phase == "start" and next(collections) == 20:
            has_begun.release()
            release.wait()

    def make_units() -> None:
        with is_waited_for:
            gc.enable()
            assert len(batch._units) == 100

    thread = threading.Thread(target=make_units)
    thresholds = gc.get_threshold()
    gc.callbacks.append(on_collection)
    # A collection in another thread would keep this one's from beginning, so none may until this thread waits and makes no objects.
    gc.disable()
    gc.set_threshold(1)
    is_waited_for.acquire()
    has_begun.acquire()
    try:
        thread.start()
        is_waited_for.release()
        assert has_begun.acquire(timeout=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)
            os._exit(0 if batch.counts["fetched"] == 100 else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        gc.callbacks.remove(on_collection)
        gc.enable()
        gc.set_threshold(*thresholds)
        release.set()
        thread.join()
    assert batch.counts["fetched"] == 100


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="later versions refuse it themselves")
def test_a_subinterpreter_is_refused_with_a_reason() -> None:
    script = """
        import _xxsubinterpreters as interpreters
        other = interpreters.create()
        try:
            interpreters.run_string(other, "import sideline._core")
        except interpreters.RunFailedError as error:
            print(error)
        interpreters.destroy(other)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=True)
    assert "main interpreter only" in run.stdout
