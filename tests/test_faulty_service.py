"""Whatever the service does wrong, in any order of calls: an answer is right, or an error of the class that the README names.

A state machine of Hypothesis; `HYPOTHESIS_EXAMPLES=2000 pytest tests/test_faulty_service.py` is a longer run, of other examples.
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import sideline

EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "0"))
NOW = "2027-03-01T12:00:00Z"
TIMEOUT = 1.5
MAX_SECONDS = TIMEOUT + 20.0
"""A call ends within its timeout; the rest is a slow machine's."""

STATUSES = (301, 304, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 599)

KINDS: dict[int, type[sideline.ApiError]] = {
    400: sideline.InvalidRequest, 401: sideline.AuthenticationError, 404: sideline.NotFound, 422: sideline.InvalidRequest, 429: sideline.RateLimited,
}  # fmt: skip


def kind(status: int) -> tuple[type[sideline.ApiError], ...]:
    if status == 403:
        return sideline.AuthenticationError, sideline.PermissionDenied
    return (sideline.ServerError if 500 <= status < 600 else KINDS.get(status, sideline.ApiError),)


# A fault, and what it may make of a call.
Outcome = tuple[type[BaseException], ...]
TRANSPORT_ERROR: Outcome = (sideline.TransportError,)
UNREADABLE: Outcome = (sideline.TransportError, sideline.DecodeError)
NO_ERROR: Outcome = ()


def _statuses() -> st.SearchStrategy[tuple[dict[str, Any], Outcome]]:
    bodies = st.sampled_from([None, {"status": 1, "message": "no"}, b"<html>no</html>", b"", b"\xff\xfe", {"message": None}, [1]])
    return st.builds(lambda status, body: ({"status": status, "body": body, "headers": {"Retry-After": "0"}}, kind(status)), st.sampled_from(STATUSES), bodies)


FAULTS = st.one_of(
    _statuses(),
    st.builds(lambda at: ({"cut_at": at}, TRANSPORT_ERROR), st.integers(0, 400)),
    st.builds(lambda at: ({"cut_at": at, "reset": True}, TRANSPORT_ERROR), st.integers(0, 400)),
    st.sampled_from([
        ({"reset": True}, TRANSPORT_ERROR),
        ({"content_length": 5}, TRANSPORT_ERROR),
        ({"content_length": -5}, UNREADABLE),
        ({"gzip": "whole"}, NO_ERROR),
        ({"gzip": "damaged"}, UNREADABLE),
        ({"gzip": "cut"}, UNREADABLE),
        ({"trailing": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"}, NO_ERROR),
        ({"informational": (103, 100)}, NO_ERROR),
        ({"stale": True}, TRANSPORT_ERROR),
        ({"delay": 0.05}, NO_ERROR),
        ({"delay": 2 * TIMEOUT}, TRANSPORT_ERROR),
        ({"bytes_per_second": 40}, TRANSPORT_ERROR),
        ({"requests_per_second": 5.0, "burst": 2, "retry_after": True}, (sideline.RateLimited,)),
        ({"clock_offset": 900.0}, (sideline.AuthenticationError,)),
        ({"clock_offset": -900.0}, (sideline.AuthenticationError,)),
        ({"status": 200, "body": b"<html>log in</html>", "headers": {"Content-Type": "text/html"}}, UNREADABLE),
        ({"status": 200, "body": b'{"teams": [{"id": 1'}, UNREADABLE),
        ({"status": 200, "body": b""}, UNREADABLE),
    ]),
)  # fmt: skip
PATHS = st.sampled_from(["*", "*", "/v1/data/*", "*/stats", "*/teams", "/broadcast/*"])

Ask = Callable[[sideline.Client], Any]
_SESSIONS = st.integers(0, 5)
"""Of games that are over."""


def _calls(world: World) -> dict[str, Callable[[sideline.Client, int], Any]]:
    """Each call by a number: which of its kind."""
    game, session, team = world.games.__getitem__, world.sessions.__getitem__, world.teams.__getitem__
    return {
        "teams": lambda c, n: c.teams(),
        "roster": lambda c, n: c.roster(team(n % 4)),
        "schedule": lambda c, n: c.schedule("2026-11-01", "2026-12-15"),
        "team_events": lambda c, n: c.team_events(team(n % 4), "2025-09-01", "2026-12-15"),
        "team_game_stats": lambda c, n: c.team_game_stats(world.home[n % 3], game_id=game(n % 3)),
        "game": lambda c, n: c.game(game(n % 3)),
        "stats": lambda c, n: c.stats(session(n)),
        "stats_details": lambda c, n: c.stats_details(session(n)),
        "possessions": lambda c, n: c.possessions(session(n)),
        "shots": lambda c, n: c.shots(session(n)),
        "game_shots": lambda c, n: c.game_shots(game(n % 3)),
        "catch_up": lambda c, n: c.catch_up(game(n % 3), ["stats", "shots"]),
        "locations": lambda c, n: c.locations(session(n), world.begins[n] - 40 * 60_000, world.begins[n] + 5 * 60_000),
        "broadcast_teams": lambda c, n: c.broadcast_teams(),
        "broadcast_stats": lambda c, n: c.broadcast_stats(game(n % 3)),
        "follow": lambda c, n: c.follow(f"https://far.invalid/v1/data/stats/{session(n)}/stats"),
        "get": lambda c, n: c.get("/v1/data/teams"),
    }


INVALID: list[tuple[Ask, type[Exception]]] = [
    (lambda c: c.stats("../teams"), ValueError),
    (lambda c: c.stats(""), ValueError),
    (lambda c: c.stats(3.5), TypeError),
    (lambda c: c.stats([["a"]]), sideline.IncompleteBatch),
    (lambda c: c.stats({"a"}), TypeError),
    (lambda c: c.schedule("yesterday"), ValueError),
    (lambda c: c.schedule("2026-11-01T20:00:00"), ValueError),
    (lambda c: c.team_events(1, 20, 10), sideline.InvalidRequest),
    (lambda c: c.follow("https://far.invalid/elsewhere"), ValueError),
    (lambda c: c.catch_up("g", ["weather"]), ValueError),
    (lambda c: c.stats(["a"], on_error="ignore"), ValueError),
    (lambda c: c.live("g", buffer=0), ValueError),
    (lambda c: c.live_stats("g", overflow="lose"), ValueError),
]


class World:
    """Two services of one season: the first has the faults, the second serves the truth."""

    def __init__(self) -> None:
        # A port is in no body, so that the two say the same.
        self.service, self.twin = (sideline.Simulator(seed=5, teams=4, games=8, now=NOW) for _ in range(2))
        # One connection, so that it is no leak where a range is requested in pieces.
        self.truth = self.twin.client(max_concurrency=1)
        self.games = [game["event_id"] for game in self.twin.games[:3]]
        self.home = [game["home_team_id"] for game in self.twin.games[:3]]
        self.teams = [team["id"] for team in self.twin.teams]
        sessions = [session for game in self.games for session in self.truth.game(game).table("sessions").to_dicts()[:2]]
        self.sessions = [session["session_id"] for session in sessions]
        self.begins = [int(session["started_at"].timestamp() * 1000) for session in sessions]
        self.calls = _calls(self)

    def close(self) -> None:
        self.truth.close()
        self.service.close()
        self.twin.close()


def make_the_threads(service: sideline.Simulator) -> None:
    """Those that every client shares, made once: calls have theirs, streams have theirs."""
    with service.client() as client, client.live_stats(service.games[0]["event_id"]) as stream:
        client.teams()
        next(stream)


def count_resources() -> tuple[int, int]:
    """Threads and descriptors of this process."""
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return threading.active_count(), descriptors


class FaultyService(RuleBasedStateMachine):
    world: ClassVar[World]

    @initialize()
    def start(self) -> None:
        self.before = count_resources()
        self.client: sideline.Client | None = None
        self.streams: list[sideline.LiveStream] = []
        self.possible_errors: set[type[BaseException]] = set()
        self.retries = 0

    # What goes wrong.

    @rule(fault=FAULTS, path=PATHS, times=st.sampled_from([None, 1, 2]), probability=st.sampled_from([1.0, 0.5]))
    def add_a_fault(self, fault: tuple[dict[str, Any], Outcome], path: str, times: int | None, probability: float) -> None:
        fault_options, outcome = fault
        self.world.service.faults.add(path, times=times, probability=probability, **fault_options)
        self.possible_errors |= set(outcome)

    @rule()
    def clear_the_faults(self) -> None:
        self.world.service.faults.clear()
        self.world.service.streams.clear()
        # A connection that the service ended behind a whole answer is found out by the next request on it. A client that sends
        # nothing twice can only tell.
        self.possible_errors &= set() if self.retries or self.client is None else {sideline.TransportError}

    @rule(game=st.integers(0, 2), stat=st.sampled_from(["AST", "BLK"]))
    def correct_a_game(self, game: int, stat: str) -> None:
        lines = self.world.truth.team_game_stats(self.world.home[game], game_id=self.world.games[game]).table("box_score").to_dicts()
        for service in (self.world.service, self.world.twin):
            service.correct(self.world.games[game], lines[-1]["player_id"], stat, +1)

    # A client's life.

    @precondition(lambda self: self.client is None)
    @rule(retries=st.integers(0, 2), at_once=st.sampled_from([1, 4, 16]))
    def open_a_client(self, retries: int, at_once: int) -> None:
        timeout = sideline.Timeout(connect=TIMEOUT, read=TIMEOUT, total=TIMEOUT)
        self.retries = retries
        self.client = self.world.service.client(max_retries=retries, max_concurrency=at_once, timeout=timeout)

    @precondition(lambda self: self.client is not None)
    @rule()
    def close_the_client(self) -> None:
        assert self.client
        self.client.close()
        self.client.close()
        for call in (self.client.teams, lambda: self.client and self.client.stats(["a"]), lambda: self.client and self.client.live_stats("g")):
            with pytest.raises(sideline.SidelineError, match="closed"):
                call()
        for stream in self.streams:
            had_ended = stream.state == "closed" and stream._core.has_ended
            try:
                items = list(stream)
            except sideline.StreamClosed:
                continue
            except sideline.SidelineError as error:
                # It had ended with this, and nobody had read so far.
                self.is_allowed(error)
                continue
            assert had_ended
            assert items == []
        self.streams.clear()
        self.client = None

    @precondition(lambda self: self.client is not None)
    @rule()
    def pickle_the_client(self) -> None:
        copy = pickle.loads(pickle.dumps(self.client))
        with pytest.raises(sideline.ConfigurationError, match="SIDELINE_SECRET"):
            copy.teams()
        copy.close()

    # Calls.

    def right_or_allowed(self, call: Callable[[], Any], truth: Callable[[], Any], check: Callable[[Any, Any], None]) -> None:
        began = time.monotonic()
        try:
            result = call()
        except sideline.SidelineError as error:
            self.is_allowed(error)
            self.pickles(error)
        else:
            check(result, truth())
        assert time.monotonic() - began < MAX_SECONDS

    def is_the_same(self, payload: sideline.Payload, truth: sideline.Payload) -> None:
        assert payload.raw == truth.raw

    def pickles(self, error: BaseException) -> None:
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def is_allowed(self, error: BaseException) -> None:
        assert isinstance(error, tuple(self.possible_errors)), (error, self.possible_errors)
        if isinstance(error, sideline.ApiError):
            assert isinstance(error, kind(error.status))
            assert error.attempts >= 1
            assert error.message is not None
        assert str(error)

    @precondition(lambda self: self.client is not None)
    @rule(data=st.data(), number=_SESSIONS)
    def ask_for_one(self, data: st.DataObject, number: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.calls)))
        call, client = self.world.calls[name], self.client
        assert client

        def check(payload: sideline.Payload, truth: sideline.Payload) -> None:
            assert payload.status == 200
            try:
                body = payload.to_dict()
            except sideline.DecodeError as error:
                self.is_allowed(error)
                return
            assert body == truth.to_dict()
            for table in truth.tables:
                assert payload.table(table).to_arrow().equals(truth.table(table).to_arrow())
            copy = pickle.loads(pickle.dumps(payload))
            assert copy.raw == payload.raw

        self.right_or_allowed(lambda: call(client, number), lambda: call(self.world.truth, number), check)

    @precondition(lambda self: self.client is not None)
    @rule(numbers=st.lists(_SESSIONS, max_size=6), has_invalid_id=st.booleans(), is_retried=st.booleans())
    def ask_for_many(self, numbers: list[int], has_invalid_id: bool, is_retried: bool) -> None:
        ids = [self.world.sessions[n] for n in numbers] + ["no-such-session"] * has_invalid_id
        began = time.monotonic()
        assert self.client
        batch = self.client.stats(ids, on_error="keep")
        if is_retried:
            batch = pickle.loads(pickle.dumps(batch))
            assert batch.ids == ids
        # Each unit has the call's timeout for itself; those of a client that sends one at a time come one by one.
        assert time.monotonic() - began < MAX_SECONDS * max(1, len(ids))
        coverage = batch.coverage.to_dicts()
        assert [row["session_id"] for row in coverage] == ids
        assert sum(batch.counts.values()) == len(ids)
        fetched_ids = [row["session_id"] for row in coverage if row["status"] in ("fetched", "empty")]
        assert len(batch) == len(fetched_ids)
        for payload, session in zip(batch, fetched_ids, strict=True):
            assert payload.to_dict() == self.world.truth.stats(session).to_dict()
        for session, error in batch.errors.items():
            if not (session == "no-such-session" and isinstance(error, sideline.NotFound)):
                self.is_allowed(error)
        if not batch.complete:
            with pytest.raises(sideline.IncompleteBatch) as excinfo:
                batch.raise_if_incomplete()
            assert excinfo.value.batch is batch

    @precondition(lambda self: self.client is not None)
    @rule(case=st.sampled_from(INVALID))
    def ask_for_what_cannot_be(self, case: tuple[Ask, type[Exception]]) -> None:
        call, expected = case
        before = self.count_requests()
        assert self.client
        with pytest.raises(expected):
            call(self.client)
        assert self.count_requests() == before, "nothing was sent"

    def count_requests(self) -> int:
        """Requests but those of streams, which connect again when they like."""
        stream_paths = ("/live/", "/event-stream", "/_subscribe")
        return sum(not any(part in seen.path for part in stream_paths) for seen in self.world.service.requests)

    @precondition(lambda self: self.client is not None)
    @rule()
    def ask_for_what_is_not_there(self) -> None:
        assert self.client
        try:
            # At the latest here the faulty response is read.
            body = self.client.stats("no-such-session").to_dict()
        except sideline.NotFound:
            pass
        except sideline.SidelineError as error:
            self.is_allowed(error)
        else:
            raise AssertionError(f"there is no such session: {body}")

    # Streams.

    @precondition(lambda self: self.client is not None and len(self.streams) < 3)
    @rule(game=st.integers(0, 2), websocket=st.booleans(), notices=st.booleans())
    def open_a_stream(self, game: int, websocket: bool, notices: bool) -> None:
        options: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.02, "silence_limit": 1.0, "notices": notices}
        assert self.client
        game_id = self.world.games[game]
        stream = self.client.live(game_id, sources=["stats"], **options) if websocket else self.client.live_stats(game_id, **options)
        assert stream.state == "new"
        stream.__enter__()
        self.streams.append(stream)

    @precondition(lambda self: self.streams)
    @rule(number=st.integers(0, 2), count=st.integers(1, 40))
    def read_a_stream(self, number: int, count: int) -> None:
        stream = self.streams[number % len(self.streams)]
        began = time.monotonic()
        try:
            for _ in range(count):
                item = stream._core.next_within(0.05)
                if item is None:
                    break
                self.take(stream, item)
        except sideline.SidelineError as error:
            # It stays among the streams: what can be done next must not depend on time.
            self.is_allowed(error)
            assert list(stream) == [], "it told once, and ended"
        assert time.monotonic() - began < MAX_SECONDS

    def take(self, stream: sideline.LiveStream, item: sideline.Update | sideline.live.Notice) -> None:
        if isinstance(item, sideline.Update):
            item.to_dict()

    @precondition(lambda self: self.streams)
    @rule(number=st.integers(0, 2))
    def close_a_stream(self, number: int) -> None:
        stream = self.streams.pop(number % len(self.streams))
        stream.close()
        assert stream.state == "closed"
        with pytest.raises(sideline.StreamClosed):
            list(stream)

    @rule()
    def cut_all_streams(self) -> None:
        self.world.service.streams.cut()

    # At any time.

    @invariant()
    def streams_are_in_a_known_state(self) -> None:
        for stream in getattr(self, "streams", ()):
            assert stream.state in ("new", "connecting", "connected", "waiting", "closed")
            assert stream.stats.lag < 60

    def teardown(self) -> None:
        self.clear_the_faults()
        for stream in self.streams:
            stream.close()
        if self.client is not None:
            # Without faults the same client is as good as new.
            self.right_or_allowed(self.client.teams, self.world.truth.teams, self.is_the_same)
            self.client.close()
        self.streams, self.client = [], None
        gc.collect()
        until = time.monotonic() + 5
        while (now := count_resources()) > self.before and any(a > b + 2 for a, b in zip(now, self.before, strict=True)) and time.monotonic() < until:
            time.sleep(0.01)
        assert all(after <= before + 2 for after, before in zip(now, self.before, strict=True)), (self.before, now)


@pytest.mark.timeout(0 if EXAMPLES else 600)
@pytest.mark.parametrize("examples", [EXAMPLES or 20, pytest.param(60, marks=pytest.mark.extended)])
def test_a_service_that_goes_wrong_gives_right_responses_or_documented_errors(examples: int) -> None:
    FaultyService.world = World()
    try:
        make_the_threads(FaultyService.world.service)
        FaultyService.TestCase.settings = settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            # A service that goes wrong by chance and time does not do so again: no shrinking.
            phases=(Phase.generate,),
            database=None,
            derandomize=not EXAMPLES,
            suppress_health_check=list(HealthCheck),
        )
        FaultyService.TestCase().runTest()
    finally:
        FaultyService.world.close()
