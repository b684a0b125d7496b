"""Refusals, outages and closed clients: a batch keeps its speed, stops when nothing can succeed, and accounts for every id."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from independent import Answer, Asked, as_json, server
from wire import answering, listener, over_tls

import sideline

BODY: dict[str, list[Any]] = {"teams": []}
REFUSAL = as_json({"status": 429, "message": "slow down"}, 429)
Batch = sideline.Batch


def client_of(base_url: str, **options: Any) -> sideline.Client:
    return sideline.Client(**{"username": "ann", "secret": "s", "base_url": base_url} | options)


def ids(count: int) -> list[str]:
    return [f"session-{number}" for number in range(count)]


def not_attempted(batch: Batch) -> list[dict[str, Any]]:
    """The rows of units that were abandoned without a request."""
    rows = [row for row in batch.coverage.to_dicts() if (row["error"] or "").startswith("not attempted:")]
    assert {row["status"] for row in rows} <= {"failed"}
    return rows


def by_turns(refuses: Callable[[int], bool], refusal: Answer = REFUSAL) -> Callable[[Asked], Answer]:
    """Refuses requests by their number."""
    count = itertools.count()
    return lambda request: refusal if refuses(next(count)) else as_json(BODY)


# Refusals.


@pytest.mark.parametrize(
    "refuses",
    [lambda number: number % 20 == 19, lambda number: number < 8, lambda number: 40 <= number < 48],
    ids=["one in twenty", "the first eight", "eight in a row"],
)
def test_refusals_that_pass_cost_one_request_each(refuses: Callable[[int], bool]) -> None:
    with server(by_turns(refuses)) as host, client_of(host.base_url) as client:
        batch = client.stats(ids(200))
        rows = batch.coverage.to_dicts()
    assert batch.complete
    refusals = sum(refuses(number) for number in range(len(host.requests)))
    assert sum(row["attempts"] for row in rows) == len(host.requests) == 200 + refusals


def test_refusals_without_end_stop_a_batch() -> None:
    with server(by_turns(lambda number: True)) as host, client_of(host.base_url) as client:
        batch = client.stats(ids(5000), on_error="keep", progress=False)
    assert len(host.requests) < 100
    rows = not_attempted(batch)
    assert len(rows) > 4900
    assert {row["attempts"] for row in rows} == {0}
    assert batch.counts["failed"] == 5000
    assert {type(error) for error in batch.errors.values()} == {sideline.RateLimited}


# Outages.


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_a_closed_port_stops_a_batch() -> None:
    with client_of(f"http://127.0.0.1:{closed_port()}", max_concurrency=4) as client:
        batch = client.stats(ids(400), on_error="keep", progress=False)
    assert len(not_attempted(batch)) >= 400 - 4 * 4
    assert sum(row["attempts"] for row in batch.coverage.to_dicts()) < 100
    assert {type(error) for error in batch.errors.values()} == {sideline.ConnectError}
    errors = [error for error in batch.errors.values() if str(error).startswith("not attempted:")]
    assert {(error.url, error.attempts) for error in errors} == {("", 0)}
    with pytest.raises(sideline.IncompleteBatch, match="400 of 400"):
        batch.raise_if_incomplete()


def test_an_untrusted_certificate_costs_a_handful_of_handshakes(tls_context: Callable[..., ssl.SSLContext]) -> None:
    with (
        listener(over_tls(tls_context("127.0.0.1"), answering([]))) as seen,
        client_of(f"https://127.0.0.1:{seen.port}", max_concurrency=4) as client,
    ):
        batch = client.stats(ids(300), on_error="keep", progress=False)
    assert seen.connections <= 4 + 4
    assert len(not_attempted(batch)) >= 300 - 8
    assert all("certificate" in str(error) for error in batch.errors.values())


class Down(ThreadingHTTPServer):
    """A server that closes its port after this many requests."""

    daemon_threads = True

    def __init__(self, port: int, requests: int | None) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.left, self.lock = requests, threading.Lock()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.is_closed = threading.Event()
        self.thread.start()

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        self.is_closed.set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    server: Down

    def do_GET(self) -> None:
        _, headers, body = as_json(BODY)
        self.send_response(200)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        with self.server.lock:
            if self.server.left is not None:
                self.server.left -= 1
                if self.server.left == 0:
                    threading.Thread(target=self.server.end).start()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_batch_survives_a_restart() -> None:
    first = Down(0, requests=30)
    port = first.server_port
    servers: list[Down] = []

    def restart() -> None:
        first.is_closed.wait(30)
        # Longer than the four attempts of one request take: their waits end after 3.5 s at the latest.
        threading.Event().wait(4.0)
        servers.append(Down(port, requests=None))

    restarting = threading.Thread(target=restart)
    restarting.start()
    with client_of(f"http://127.0.0.1:{port}") as client:
        batch = client.stats(ids(200), on_error="keep", progress=False)
    restarting.join()
    servers[0].end()
    assert batch.complete, batch.counts


def test_a_success_in_between_means_that_the_batch_continues() -> None:
    with server(by_turns(lambda number: number % 5 != 0, as_json({}, 503))) as host, client_of(host.base_url, max_retries=0, max_concurrency=1) as client:
        batch = client.stats(ids(40), on_error="keep", progress=False)
    assert len(host.requests) == 40
    assert not_attempted(batch) == []
    assert (len(batch), batch.counts["failed"]) == (8, 32)


# Closed clients.


@contextmanager
def hanging(after: int) -> Iterator[tuple[str, threading.Event]]:
    """A server that responds to this many requests and no more; sets the event once four hang, when all others have been read."""
    hangs, release, count = threading.Event(), threading.Event(), itertools.count()

    def respond(request: Asked) -> Answer:
        if (number := next(count)) >= after:
            if number == after + 3:
                hangs.set()
            release.wait(30)
        return as_json(BODY)

    with server(respond) as host:
        try:
            yield host.base_url, hangs
        finally:
            release.set()


def closed_in_time(batch: Batch) -> None:
    assert batch.counts["empty"] == 20
    rows = not_attempted(batch)
    # Four were under way.
    assert (len(rows), sum(row["attempts"] for row in batch.coverage.to_dicts())) == (76, 24)
    texts = {str(error) for error in batch.errors.values()}
    assert texts == {"not attempted: the client was closed", "given up: the client was closed"}
    assert {type(error) for error in batch.errors.values()} == {sideline.SidelineError}


@pytest.mark.parametrize("on_error", ["keep", "raise"])
def test_closing_the_client_ends_its_batch_with_what_was_fetched(on_error: Any) -> None:
    with hanging(after=20) as (base_url, hangs):
        client = client_of(base_url, max_concurrency=4)

        def close() -> None:
            hangs.wait(30)
            client.close()

        closing = threading.Thread(target=close)
        closing.start()
        if on_error == "keep":
            closed_in_time(client.stats(ids(100), on_error="keep", progress=False))
        else:
            with pytest.raises(sideline.IncompleteBatch, match="80 of 100") as excinfo:
                client.stats(ids(100), progress=False)
            closed_in_time(cast(Batch, excinfo.value.batch))
        closing.join()
        with pytest.raises(sideline.SidelineError, match="closed"):
            client.stats(ids(2), on_error="keep")


def test_closing_an_async_client_ends_its_batch_too() -> None:
    async def run() -> Any:
        with hanging(after=20) as (base_url, hangs):
            client = sideline.AsyncClient(username="ann", secret="s", base_url=base_url, max_concurrency=4)
            running = asyncio.ensure_future(client.stats(ids(100), on_error="keep", progress=False))
            await asyncio.get_running_loop().run_in_executor(None, hangs.wait, 30)
            await client.aclose()
            return await running

    closed_in_time(asyncio.run(run()))
