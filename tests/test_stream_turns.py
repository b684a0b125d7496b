"""A live connection's requests beside a batch of the same client: the live one is always next."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import sideline

QUICK: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.1, "silence_limit": 1.0, "give_up_on": ()}
UNKNOWN_SESSIONS = [f"no-such-session-{n}" for n in range(600)]


@contextmanager
def slow_down(service: sideline.Simulator, client: sideline.Client) -> Iterator[None]:
    """A batch is under way that would take minutes: the service passes three requests in a second."""
    service.faults.add("/v1/data/*", requests_per_second=3, burst=1)

    def run_batch() -> None:
        assert not client.stats(UNKNOWN_SESSIONS, on_error="keep").complete

    batch = threading.Thread(target=run_batch)
    batch.start()
    until = time.monotonic() + 30
    while sum(seen.status == 429 for seen in service.requests) < 3:
        assert time.monotonic() < until
        time.sleep(0.01)
    try:
        yield
    finally:
        client.close()
        batch.join(10)
    assert not batch.is_alive()


def connected(stream: sideline.LiveStream, within: float) -> float:
    """Reads until the stream is connected; returns how long that took."""
    began = time.monotonic()
    while (duration := time.monotonic() - began) < within:
        if isinstance(stream._core.next_within(0.1), sideline.live.Connected):
            return time.monotonic() - began
    raise AssertionError(f"{stream!r}: not connected after {duration:.1f} s")


@pytest.mark.parametrize("websocket", [True, False], ids=["websocket", "event stream"])
def test_a_stream_connects_past_a_batch_that_waits(websocket: bool) -> None:
    with sideline.Simulator(seed=3, teams=4, games=8) as service:
        client, game = service.client(max_concurrency=8), service.games[0]["event_id"]
        open_stream = {True: lambda: client.live(game, sources=["stats"], **QUICK), False: lambda: client.live_stats(game, **QUICK)}[websocket]
        with slow_down(service, client):
            for _ in range(3):
                with open_stream() as stream:
                    connected(stream, within=20.0)


def test_a_revoked_token_is_renewed_past_a_batch_that_waits() -> None:
    with sideline.Simulator(seed=3, teams=4, games=8) as service:
        client, game = service.client(max_concurrency=8), service.games[0]["event_id"]
        with client.live(game, sources=["stats"], **QUICK) as stream:
            connected(stream, within=20.0)
            with slow_down(service, client):
                for _ in range(2):
                    service.revoke_tokens()
                    connected(stream, within=20.0)


def test_retry_after_delays_a_stream_too_and_is_no_silence() -> None:
    with sideline.Simulator(seed=3, teams=4, games=8) as service, service.client() as client:
        service.faults.add("*/teams", status=429, headers={"Retry-After": "2"}, times=1)
        call = threading.Thread(target=client.teams)
        began = time.monotonic()
        call.start()
        until = time.monotonic() + 30
        while not service.requests:
            assert time.monotonic() < until
            time.sleep(0.01)
        # Until the refusal has been read.
        time.sleep(0.5)
        with client.live(service.games[0]["event_id"], sources=["stats"], **QUICK) as stream:
            first = next(stream)
        assert time.monotonic() - began > 1.5
        assert isinstance(first, sideline.live.Connected), first
        call.join(10)
        assert [seen.path.rpartition("/")[2] for seen in service.requests].count("_subscribe") == 1
