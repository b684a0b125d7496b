"""Spans and metrics of OpenTelemetry, read from the SDK's collectors in memory and compared with the semantic conventions."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import ARCHIVE, library, needs, require
from service import Features, PlayedGame, Service

import sideline

require("opentelemetry", extra="traces")

metrics, trace = library("opentelemetry.metrics"), library("opentelemetry.trace")
SpanKind, StatusCode = trace.SpanKind, trace.StatusCode
sdk = library("opentelemetry.sdk.trace")
export = library("opentelemetry.sdk.trace.export")
sdk_metrics = library("opentelemetry.sdk.metrics")
conventions = library("opentelemetry.semconv.attributes.http_attributes")
http_metrics = library("opentelemetry.semconv.metrics.http_metrics")
error_attributes = library("opentelemetry.semconv.attributes.error_attributes")
network_attributes = library("opentelemetry.semconv.attributes.network_attributes")
server_attributes = library("opentelemetry.semconv.attributes.server_attributes")
url_attributes = library("opentelemetry.semconv.attributes.url_attributes")

Span = Any
"""A `ReadableSpan`."""

exporter = library("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
reader = library("opentelemetry.sdk.metrics.export").InMemoryMetricReader()

METHOD, STATUS, RESENDS = conventions.HTTP_REQUEST_METHOD, conventions.HTTP_RESPONSE_STATUS_CODE, conventions.HTTP_REQUEST_RESEND_COUNT
ERROR = error_attributes.ERROR_TYPE

REQUIRED = {METHOD, server_attributes.SERVER_ADDRESS, server_attributes.SERVER_PORT, url_attributes.URL_FULL}
"""Attributes that the conventions require of a client's span."""
ALLOWED_ATTRIBUTES = {*REQUIRED, STATUS, RESENDS, ERROR, network_attributes.NETWORK_PROTOCOL_VERSION}


class FaultyProcessor(export.SimpleSpanProcessor):  # type: ignore[misc]
    """Fails for attempts while it is broken."""

    is_broken = False

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.is_broken and span.name == "GET":
            raise RuntimeError("a broken processor")


processor = FaultyProcessor(exporter)


@pytest.fixture(scope="module", autouse=True)
def _providers() -> None:
    provider = sdk.TracerProvider()
    provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(sdk_metrics.MeterProvider([reader]))


@pytest.fixture(autouse=True)
def _nothing_before() -> None:
    exporter.clear()


@pytest.fixture
def second() -> Iterator[Service]:
    features = Features(subscription_token=True, catch_up=True, catch_up_lines="all")
    with Service(seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(2, 2), features=features) as service:
        yield service


@pytest.fixture
def client(second: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**second.client_options()) as client:
        yield client


def spans(name: str | None = None) -> list[Span]:
    """Those that have ended, in the order of their start."""
    ordered_spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    return [span for span in ordered_spans if name in (None, span.name)]


def children(parent: Span) -> list[Span]:
    return [span for span in spans() if span.parent is not None and span.parent.span_id == parent.context.span_id]


def attributes(span: Span) -> dict[str, Any]:
    return dict(span.attributes or {})


def points(name: str) -> list[Any]:
    data = reader.get_metrics_data()
    all_metrics = [metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics] if data else []
    return [point for metric in all_metrics if metric.name == name for point in metric.data.data_points]


def total(name: str) -> float:
    return sum(point.value for point in points(name))


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def traceparent(span: Span) -> str:
    return f"00-{trace.format_trace_id(span.context.trace_id)}-{trace.format_span_id(span.context.span_id)}-{span.context.trace_flags:02x}"


# Calls.


def test_a_retried_call_is_a_span_with_a_child_for_each_attempt(second: Service, client: sideline.Client) -> None:
    second.faults.add("teams", times=2, status=503, body={"message": "busy"})
    retries = total("sideline.request.retries")
    with trace.get_tracer("test").start_as_current_span("caller"):
        client.teams()
    [call], [caller] = spans("sideline.teams"), spans("caller")
    assert (call.parent, call.kind, call.status.status_code) == (caller.context, SpanKind.INTERNAL, StatusCode.UNSET)
    attempts = children(call)
    assert [(span.name, span.kind) for span in attempts] == [("GET", SpanKind.CLIENT)] * 3
    attempt_attributes = [attributes(span) for span in attempts]
    assert [(item[STATUS], item.get(RESENDS), item.get(ERROR)) for item in attempt_attributes] == [(503, None, "503"), (503, 1, "503"), (200, 2, None)]
    assert [span.status.status_code for span in attempts] == [StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET]
    host, _, port = second.base_url.removeprefix("http://").partition(":")
    for item in attempt_attributes:
        assert set(item) >= REQUIRED
        assert set(item) <= ALLOWED_ATTRIBUTES
        assert (item[METHOD], item["server.address"], item["server.port"]) == ("GET", host, int(port))
        assert item["url.full"] == f"{second.base_url}/v1/data/teams"
        assert item["network.protocol.version"] == "1.1"
    assert [request.headers["traceparent"] for request in second.requests.all("teams")] == [traceparent(span) for span in attempts]
    for span, following in zip(attempts, attempts[1:], strict=False):
        assert call.start_time <= span.start_time < span.end_time <= following.start_time
    assert attempts[-1].end_time <= call.end_time
    assert total("sideline.request.retries") == retries + 2


def test_the_duration_is_the_histogram_of_the_conventions(second: Service, client: sideline.Client) -> None:
    def of_server() -> dict[Any, Any]:
        port = int(second.base_url.rpartition(":")[2])
        matches = [point for point in points(http_metrics.HTTP_CLIENT_REQUEST_DURATION) if point.attributes["server.port"] == port]
        return {point.attributes[STATUS]: point for point in matches}

    second.faults.add("teams", times=1, status=503, body={"message": "busy"}, delay=0.3)
    client.teams()
    histogram_points = of_server()
    assert {status: point.count for status, point in histogram_points.items()} == {503: 1, 200: 1}
    assert 0.3 <= histogram_points[503].sum < 5
    assert histogram_points[503].attributes[ERROR] == "503"
    assert ERROR not in histogram_points[200].attributes
    assert list(histogram_points[200].explicit_bounds) == [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    assert set(histogram_points[200].attributes) == {METHOD, STATUS, "server.address", "server.port", "network.protocol.version"}


def test_errors_name_their_class_or_status(second: Service, client: sideline.Client) -> None:
    with pytest.raises(sideline.NotFound):
        client.game("no-such-game")
    [call, *_] = spans("sideline.game")
    assert (attributes(call)[ERROR], call.status.status_code) == ("404", StatusCode.ERROR)
    assert attributes(children(call)[0])[ERROR] == "404"
    exporter.clear()
    second.faults.add("teams", refuse=True)
    with sideline.Client(**second.client_options(), max_retries=0) as impatient, pytest.raises(sideline.TransportError):
        impatient.teams()
    [call] = spans("sideline.teams")
    [attempt] = children(call)
    assert attributes(call)[ERROR] == attributes(attempt)[ERROR] == "TransportError"
    assert STATUS not in attributes(attempt)
    assert attempt.status.description


def test_a_status_of_200_with_an_error_document_is_an_error(second: Service, client: sideline.Client) -> None:
    second.faults.add("teams", status=200, body={"status": 404, "message": "Invalid id", "serviceRequestId": "1"})
    with pytest.raises(sideline.SidelineError):
        client.teams()
    [call] = spans("sideline.teams")
    [attempt] = children(call)
    assert (attributes(attempt)[STATUS], attributes(attempt)[ERROR], attributes(call)[ERROR]) == (200, "404", "404")


@pytest.mark.parametrize("body", [b'{"teams": null}', b'{"teams":', b'{"teams": [{"id": 1, "player_stats": [{"id": "x", "stats": {"PTS": 2}}]}]}'])
def test_a_body_that_is_no_data_is_an_error_of_the_call(second: Service, client: sideline.Client, body: bytes) -> None:
    second.faults.add("stats", status=200, body=body)
    batch = client.stats(["s-1"], on_error="keep", progress=False)
    [error] = batch.errors.values()
    [call] = spans("sideline.stats")
    assert attributes(call)[ERROR] == type(error).__name__ == "DecodeError"
    assert STATUS in attributes(children(call)[0])
    assert ERROR not in attributes(children(call)[0])
    exporter.clear()
    second.faults.add("teams", body={"squads": []})
    with pytest.raises(sideline.DecodeError):
        client.teams()
    [call] = spans("sideline.teams")
    assert (attributes(call)[ERROR], call.status.status_code) == ("DecodeError", StatusCode.ERROR)


def test_a_cancelled_call_ends_its_spans(second: Service) -> None:
    second.faults.add("teams", delay=5.0)

    async def run() -> None:
        async with sideline.AsyncClient(**second.client_options()) as client:
            with trace.get_tracer("test").start_as_current_span("caller"):
                call = asyncio.ensure_future(client.teams())
            await asyncio.sleep(0.3)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    asyncio.run(run())
    until(lambda: spans("sideline.teams"))
    [call] = spans("sideline.teams")
    [attempt] = children(call)
    assert attributes(attempt)[ERROR] == attributes(call)[ERROR] == "cancelled"
    assert call.parent == spans("caller")[0].context


def test_each_unit_of_a_batch_is_a_call_of_its_callers_trace(second: Service, client: sideline.Client) -> None:
    game = second.season.games[0]
    sessions = [session.id for session in game.sessions]
    with trace.get_tracer("test").start_as_current_span("caller"):
        client.stats(sessions, progress=False)
    [caller] = spans("caller")
    assert [span.name for span in children(caller)] == ["sideline.stats"] * len(sessions)
    assert [len(children(span)) for span in children(caller)] == [1] * len(sessions)


def test_what_a_tracing_system_raises_fails_no_call(client: sideline.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(processor, "is_broken", True)
    assert client.teams().status == 200
    assert [str(error.exc_value) for error in unraisable] == ["a broken processor"]
    assert [span.name for span in spans()] == ["sideline.teams"]


# Streams.


def test_a_stream_with_a_cut_is_a_span_for_each_connection(second: Service, client: sideline.Client) -> None:
    game = PlayedGame(second, second.season.games[0], is_numbered=False)
    client._recover_pause = 0.05
    with trace.get_tracer("test").start_as_current_span("caller"):
        stream = client.live(game.event.id, retry_wait=0.05, max_wait=0.1)
    title = f"live {game.event.id}"
    with stream:
        second.live.wait_for_connections(1)
        game.play(5)
        second.live.cut()
        second.live.wait_for_connections(2)
        game.play(5)
        for item in stream:
            if isinstance(item, sideline.live.Recovered):
                break
        until(lambda: stream.stats.reconnects == 1)
        own_points = [point for point in points("sideline.stream.reconnects") if point.attributes["sideline.stream"] == title]
        assert [point.value for point in own_points] == [1]
        for name in ("lag", "open_gaps", "unreadable", "buffer"):
            assert [point.value >= 0 for point in points(f"sideline.stream.{name}") if point.attributes["sideline.stream"] == title] == [True]
    until(lambda: len(spans("sideline.live")) == 2)
    [caller], [first, last] = spans("caller"), spans("sideline.live")
    assert (first.parent, last.parent) == (caller.context, caller.context)
    assert (attributes(first)[ERROR], first.status.status_code) == ("disconnected", StatusCode.ERROR)
    assert (attributes(last), last.status.status_code) == ({}, StatusCode.UNSET)
    assert [span.name for span in children(first)] == ["sideline.subscription_token", "GET"]
    handshakes = [children(connection)[-1] for connection in (first, last)]
    assert [attributes(span)[STATUS] for span in handshakes] == [101, 101]
    assert [connection.request.headers["traceparent"] for connection in second.live.connections] == [traceparent(span) for span in handshakes]
    recovery = [span for span in spans("sideline.catch_up") if span.parent == caller.context]
    assert recovery
    assert children(recovery[-1])


def test_an_event_stream_that_is_refused_and_then_opened(second: Service, client: sideline.Client) -> None:
    second.live.refuse(503, times=1)
    with client.live_stats("g1", retry_wait=0.05, max_wait=0.1) as stream:
        second.live.wait_for_connections(1, kind="sse")
        until(lambda: stream.state == "connected")
    until(lambda: len(spans("sideline.live_stats")) == 2)
    failure, connection = spans("sideline.live_stats")
    assert attributes(failure)[ERROR] == "503"
    assert [attributes(span)[STATUS] for parent in (failure, connection) for span in children(parent)] == [503, 200]
    assert attributes(connection) == {}


# Syncs.


@needs(*ARCHIVE, extra="archive")
def test_a_sync_of_ten_games_has_its_units(tmp_path: Path) -> None:
    size: dict[str, Any] = {"teams": 4, "players": 5, "games": 10, "practices": 0, "upcoming": 0, "sessions": (1, 1), "possessions": 2, "days": 60}
    with Service(seed=5, **size) as second, sideline.Client(**second.client_options()) as client:
        before = {point.attributes["sideline.unit.status"]: point.value for point in points("sideline.sync.units")}
        missing = second.season.games[0].sessions[0].id
        second.faults.add(when=lambda request: request.operation == "stats" and request.id == missing, status=404, body={"message": "Invalid id"})
        archive = sideline.Archive(tmp_path / "season", client)
        with pytest.raises(sideline.IncompleteSync):
            archive.sync(game_ids=[game.id for game in second.season.games])
    [sync] = spans("sideline.sync")
    units = spans("sideline.sync.unit")
    assert all(unit.parent == sync.context for unit in units)
    assert {attributes(unit)["sideline.operation"] for unit in units} >= {"game", "stats"}
    games = [attributes(unit) for unit in units if attributes(unit)["sideline.operation"] == "game"]
    assert sorted(game["sideline.unit"] for game in games) == sorted(f"game/{game.id}" for game in second.season.games)
    calls = [span for span in children(sync) if span.name == "sideline.game"]
    assert len(calls) == 10
    assert all(children(call) for call in calls)
    after = {point.attributes["sideline.unit.status"]: point.value for point in points("sideline.sync.units")}
    differences = {status: after[status] - before.get(status, 0) for status in after if after[status] != before.get(status, 0)}
    statuses = [attributes(unit)["sideline.unit.status"] for unit in units]
    assert differences == {status: statuses.count(status) for status in set(statuses)}
    [hole] = [unit for unit in units if attributes(unit)["sideline.unit"] == f"stats/{missing}"]
    assert (attributes(hole)[ERROR], hole.status.status_code) == ("missing", StatusCode.ERROR)


# Secrets, and what costs nothing.


def test_no_attribute_holds_a_secret(second: Service) -> None:
    options = second.client_options()
    headers = {"X-Gateway-Token": "canary-header-17", "X-Tenant": "tenant-17"}
    with sideline.Client(**options, headers=headers, max_retries=1) as client:
        client.teams()
        client.broadcast_teams()
        with pytest.raises(sideline.SidelineError):
            client.game("no-such-game")
        second.faults.add("teams", status=401, body={"message": f"bad {options['secret']} {options['api_key']} canary-header-17"})
        with pytest.raises(sideline.AuthenticationError):
            client.teams()
        token = str(client.subscription_token(second.season.games[0].id))
        with client.live(second.season.games[0].id) as stream, client.live_stats("g1"):
            second.live.wait_for_connections(2)
            next(stream)
    until(lambda: spans("sideline.live"))
    # As exporters write them: names, attributes, events, statuses.
    texts = [span.to_json() for span in spans()]
    data = reader.get_metrics_data()
    texts.append(data.to_json() if data else "")
    assert any("/broadcast/v1/games/teams" in text for text in texts), "an address that had the key"
    secrets = [options["secret"], options["api_key"], "canary-header-17", token, *second.live.tokens]
    assert not [secret for secret in secrets if len(secret) > 7 and any(secret in text for text in texts)]
    assert not re.search(r"hmac username", "".join(texts))


WITHOUT = """
import json, sys
import sideline
simulator = sideline.Simulator(seed=1, teams=2, games=1)
with simulator, simulator.client() as client:
    client.teams()
    client.live(simulator.games[0]["event_id"]).close()
print(json.dumps([name for name in sys.modules if name.startswith(("opentelemetry", "sideline._companions"))]))
"""


def test_without_the_package_nothing_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
