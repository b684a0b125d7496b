"""A response of status 200 is data only if it has its resource's root."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from independent import Server, as_json, server

import sideline

SERVICE_ERROR = {"status": 500, "message": "general system error", "shottrackerRequestId": "0b6dfd45"}
GATEWAY_ERROR = {"message": "API rate limit exceeded"}

# The call of each operation with tables, the path of its missing root, a body without rows, and one whose element is null.
OPERATIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str, Any, Any]] = {
    "teams": ((), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "roster": ((46,), {}, "$.id", {"id": 46, "players": []}, {"id": 46, "players": [None]}),
    "schedule": (("2026-11-01",), {}, "$.games", {"games": []}, {"games": [None]}),
    "matchup": ((46, "2026-11-01"), {"reference": "SHOTTRACKER", "gender": "MEN"}, "$.games", {"games": []}, {"games": [None]}),
    "team_events": ((46, "2026-11-01", "2026-11-02"), {}, "$.events", {"events": []}, {"events": [None]}),
    "team_game_stats": ((46,), {"game_id": "g"}, "$.player_stats", {"id": 46, "player_stats": []}, {"id": 46, "player_stats": [None]}),
    "game": (("g",), {}, "$.id", {"id": "g", "results": []}, {"events": [None]}),
    "stats": (("s",), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "stats_details": (("s",), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "possessions": (("s",), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "shots": (("s",), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "locations": (("s", 1_790_000_000_000, 1_790_000_060_000), {}, "$", [], [None]),
    "game_stats_details": (("g",), {}, "$.teams", {"teams": []}, {"teams": [None]}),
    "game_shots": (("g",), {}, "$.shots", {"shots": []}, {"shots": [None]}),
    "play_by_play": (("g",), {}, "$.details", {"details": []}, {"details": [None]}),
    "ball_screens": (("g",), {}, "$.ballscreens", {"ballscreens": []}, {"ballscreens": [None]}),
    "videos": (("g",), {}, "$.videos", {"videos": []}, {"videos": [None]}),
    "catch_up": (("g", ["shots", "details"]), {}, "$.shots", {"shots": [], "details": []}, {"shots": [], "details": [None]}),
    "broadcast_roster": ((46,), {}, "$.id", {"id": 46, "players": []}, {"id": 46, "players": [None]}),
}
NOT_SHOWN = ("shots", "locations")
"""Of these the specification shows no body (2.9, 4.11): a call returns it, and only its table raises."""
NO_DATA: list[Any] = [{}, None, [], 7, "text", {"squads": [{"id": 1}]}, {"data": {"teams": [], "id": 1}}, {"status": 200, "message": "OK"}]


class Service:
    """Answers every request with one body."""

    def __init__(self, server: Server) -> None:
        self.server, self.body = server, b""

    def client(self, **options: Any) -> sideline.Client:
        addresses = {"base_url": self.server.base_url, "broadcast_base_url": self.server.base_url}
        return sideline.Client(username="a", secret="b", api_key="c", **addresses, **{"max_retries": 0, **options})


@pytest.fixture(scope="module")
def bodies() -> Iterator[Service]:
    with server(lambda _: (200, {}, service.body)) as running:
        service = Service(running)
        yield service


@pytest.fixture(scope="module")
def client(bodies: Service) -> Iterator[sideline.Client]:
    with bodies.client() as client:
        yield client


def call(client: sideline.Client, operation: str) -> sideline.Payload:
    arguments, options, *_ = OPERATIONS[operation]
    return getattr(client, operation)(*arguments, **options)


def test_every_operation_with_tables_is_tried() -> None:
    with pytest.raises(ValueError, match="it is one of") as excinfo:
        sideline.Payload.from_bytes("?", b"")
    names = str(excinfo.value).partition("one of ")[2].split(", ")
    assert {name for name in names if sideline.Payload.from_bytes(name, b"").tables} - {"practice"} == set(OPERATIONS)


@pytest.mark.parametrize("operation", sorted({*OPERATIONS} - {*NOT_SHOWN}))
def test_a_body_without_its_root_raises_although_no_table_is_requested(bodies: Service, client: sideline.Client, operation: str) -> None:
    _, _, root, empty, holds_null = OPERATIONS[operation]
    key = root.removeprefix("$.")
    invalid_bodies = [body for body in NO_DATA if body != empty and not (operation == "team_events" and body == [])]
    invalid_bodies += [{**empty, key: value} for value in (None, 7) if root not in ("$", "$.id")] if isinstance(empty, dict) else []
    for body in [*invalid_bodies, holds_null]:
        bodies.body = json.dumps(body).encode()
        with pytest.raises(sideline.DecodeError) as excinfo:
            call(client, operation)
        error = excinfo.value
        if body is not holds_null:
            assert error.path == root, body
        assert error.payload is not None
        assert (error.payload.raw, error.payload.status) == (bodies.body, 200)
        # The same of the body alone, in every table that reads that place.
        with pytest.raises(sideline.DecodeError):
            [error.payload.table(name) for name in error.payload.tables]
        copy = pickle.loads(pickle.dumps(error))
        assert copy.payload.raw == bodies.body
        for exception in (error, copy):
            assert exception.url.startswith(bodies.server.base_url) and exception.elapsed == error.payload.elapsed.total_seconds() > 0
            assert (exception.method, exception.attempts, bool(exception.advice)) == ("GET", 1, True)
    bodies.body = json.dumps(empty).encode()
    assert call(client, operation).table().num_rows == 0


@pytest.mark.parametrize("operation", [*NOT_SHOWN, "follow"])
def test_a_body_that_the_specification_does_not_show_is_returned_and_its_table_raises(bodies: Service, client: sideline.Client, operation: str) -> None:
    link = "/v1/data/stats/s/shots"
    _, _, root, empty, holds_null = OPERATIONS["shots" if operation == "follow" else operation]
    for body in [*(body for body in NO_DATA if body != empty), holds_null]:
        bodies.body = json.dumps(body).encode()
        payload = client.follow(link) if operation == "follow" else call(client, operation)
        assert (payload.to_dict(), payload.raw, payload.status) == (body, bodies.body, 200)
        with pytest.raises(sideline.DecodeError) as excinfo:
            payload.table()
        assert body is holds_null or excinfo.value.path == root, body
    bodies.body = json.dumps({"squads": []}).encode()
    batch = client.shots(["s-1", "s-2"], on_error="keep", progress=False)
    assert {row["status"] for row in batch.coverage.to_dicts()} == {"failed"}, "a unit of a batch needs its rows"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_error_document_in_a_200_is_that_error(bodies: Service, client: sideline.Client, operation: str) -> None:
    classes = {401: sideline.AuthenticationError, 403: sideline.PermissionDenied, 404: sideline.NotFound, 422: sideline.InvalidRequest}
    classes |= {429: sideline.RateLimited, 500: sideline.ServerError, 503: sideline.ServerError}
    for status, kind in classes.items():
        bodies.body = json.dumps({**SERVICE_ERROR, "status": status}).encode()
        with pytest.raises(kind) as excinfo:
            call(client, operation)
        error = excinfo.value
        assert isinstance(error, sideline.ApiError)
        assert (type(error), error.status, error.message, error.request_id) == (kind, status, "general system error", "0b6dfd45")
        assert error.payload is not None and error.payload.raw == bodies.body
    bodies.body = json.dumps(GATEWAY_ERROR).encode()
    with pytest.raises(sideline.ApiError, match="API rate limit exceeded") as excinfo:
        call(client, operation)
    assert type(excinfo.value) is sideline.ApiError and excinfo.value.payload is not None


def test_a_coroutine_raises_the_same(bodies: Service) -> None:
    async def stats() -> None:
        async with sideline.AsyncClient(username="a", secret="b", base_url=bodies.server.base_url, max_retries=0) as client:
            await client.stats("s")

    for body, kind in [(b"{}", sideline.DecodeError), (json.dumps(SERVICE_ERROR).encode(), sideline.ServerError)]:
        bodies.body = body
        with pytest.raises(kind) as excinfo:
            asyncio.run(stats())
        assert excinfo.value.payload.raw == body


def test_transient_errors_are_retried(bodies: Service) -> None:
    responses = iter([json.dumps({**SERVICE_ERROR, "status": 503}), '{"teams": []}'])
    with server(lambda _: (200, {}, next(responses).encode())) as running, sideline.Client(username="a", secret="b", base_url=running.base_url) as client:
        assert client.teams().table().num_rows == 0
    assert len(running.requests) == 2


def test_operations_without_tables_and_data_with_a_message_are_left_alone(bodies: Service, client: sideline.Client) -> None:
    for body in [{}, {"message": "m", "events": []}, []]:
        bodies.body = json.dumps(body).encode()
        assert client.game_events("g").to_dict() == body
    bodies.body = json.dumps(SERVICE_ERROR).encode()
    assert client.get("/v1/data/teams").to_dict() == SERVICE_ERROR
    with pytest.raises(sideline.ServerError):
        client.game_events("g")
    bodies.body = json.dumps({"teams": [], **SERVICE_ERROR}).encode()
    with pytest.warns(sideline.SchemaDriftWarning):
        assert client.teams().table().num_rows == 0


def test_a_root_at_the_end_of_a_large_body_is_missed_too(bodies: Service, client: sideline.Client) -> None:
    bodies.body = b'{"teams":[' + b'{"id":1},' * 100_000 + b"null]}"
    with pytest.raises(sideline.DecodeError) as excinfo:
        client.teams()
    assert excinfo.value.path == "$.teams[100000]"
    bodies.body = b'{"x":[' + b'{"id":1},' * 100_000 + b'{}],"teams":null}'
    with pytest.raises(sideline.DecodeError) as excinfo:
        client.teams()
    assert excinfo.value.path == "$.teams"


def test_in_a_batch_it_is_a_failed_unit_with_its_payload(bodies: Service) -> None:
    failures = {"root": {}, "null": None, "service": SERVICE_ERROR, "missing": {**SERVICE_ERROR, "status": 404}, "gateway": GATEWAY_ERROR}

    def respond(request: Any) -> Any:
        session = request.target.split("/")[4]
        return as_json(failures.get(session, {"teams": []}))

    with server(respond) as running, sideline.Client(username="a", secret="b", base_url=running.base_url, max_retries=0) as client:
        batch = client.stats([*failures, "good"], on_error="keep")
        assert batch.counts == {"fetched": 0, "empty": 1, "forbidden": 0, "missing": 0, "failed": 5}
        assert [type(error) for error in batch.errors.values()] == [
            sideline.DecodeError,
            sideline.DecodeError,
            sideline.ServerError,
            sideline.NotFound,
            sideline.ApiError,
        ]
        units = {unit.id: unit for unit in batch._units}
        for session, body in failures.items():
            payload = units[session].payload
            assert payload is not None and json.loads(payload.raw) == body
            assert batch.errors[session].payload is payload  # type: ignore[attr-defined]
        assert len(batch) == 1
        with pytest.raises(sideline.IncompleteError):
            client.stats([*failures, "good"])


def test_one_part_without_its_root_fails_the_call(bodies: Service) -> None:
    """Joined with the others it would leave no trace."""
    responses = {"0": b'{"events":[]}', "1": b'{"events":null}'}
    with server(lambda _: (200, {}, responses[str(min(len(running.requests) - 1, 1))])) as running:
        client = sideline.Client(username="a", secret="b", base_url=running.base_url, max_retries=0, max_concurrency=1)
        with client, pytest.raises(sideline.DecodeError) as excinfo:
            client.team_events(46, "2026-01-01", "2026-12-01")
    assert excinfo.value.payload is not None and excinfo.value.payload.raw == responses["1"]


def test_a_body_that_is_not_json_is_kept_beside_its_error() -> None:
    with server(lambda _: (200, {"content-type": "text/html"}, b"<html>Log in")) as running:
        with sideline.Client(username="a", secret="b", base_url=running.base_url) as client, pytest.raises(sideline.DecodeError) as excinfo:
            client.teams()
    assert excinfo.value.payload is not None and excinfo.value.payload.raw == b"<html>Log in"


def test_the_coverage_of_a_batch_has_its_units_and_the_service_s_time(bodies: Service, client: sideline.Client) -> None:
    bodies.body = b'{"teams":[]}'
    batch = client.stats(["s-1", "s-2"])
    rows = batch.coverage
    assert rows.column_names == sideline.SCHEMAS["coverage"].names
    assert rows.column_names[-4:] == ["fetched_at", "unit", "served_at", "listed_at"]
    dates = [parsedate_to_datetime(payload.headers["date"]) for payload in batch]
    assert [(row["unit"], row["served_at"], row["listed_at"]) for row in rows.to_dicts()] == [("stats/s-1", dates[0], None), ("stats/s-2", dates[1], None)]
