"""The exceptions themselves; test_wrong_input.py tests what raises them."""

from __future__ import annotations

import copy
import errno
import inspect
import pickle
import ssl
from collections.abc import Iterator
from typing import Any, cast

import pytest

import sideline
from sideline import errors

FIELDS = {
    "status": 422,
    "message": "a | b",
    "request_id": "0b6dfd45-7b0c-4c0e-9d0a-000000000001",
    "method": "GET",
    "url": "https://host/v1/data/teams",
    "attempts": 2,
}
API_ERRORS = [
    sideline.ApiError,
    sideline.AuthenticationError,
    sideline.PermissionDenied,
    sideline.NotFound,
    sideline.InvalidRequest,
    sideline.RateLimited,
    sideline.ServerError,
]
EXCEPTIONS = [kind for name in errors.__all__ if issubclass(kind := getattr(errors, name), Exception) and not issubclass(kind, Warning)]


@pytest.mark.parametrize("kind", [kind for kind in EXCEPTIONS if issubclass(kind, sideline.ApiError)])
@pytest.mark.parametrize("copy_error", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_api_error_keeps_its_fields_when_it_travels(kind, copy_error) -> None:
    more = {sideline.InvalidRequest: {"rules": ["a", "b"]}, sideline.RateLimited: {"retry_after": 2.5}}.get(kind, {})
    error = copy_error(kind("GET ... returned 422: a | b", **FIELDS, **more))
    assert type(error) is kind
    assert str(error) == "GET ... returned 422: a | b"
    assert vars(error) == {**FIELDS, **more}


@pytest.mark.parametrize(
    "error",
    [
        *(kind("text") for kind in EXCEPTIONS if not issubclass(kind, (sideline.ApiError, sideline.IncompleteBatch, sideline.IncompleteSync))),
        sideline.IncompleteBatch("text", cast("Any", ["a batch"])),
        sideline.IncompleteSync("text", cast("Any", "a report")),
        sideline.DecodeError("text", path="$.teams[0].id", offset=17),
    ],
    ids=repr,
)
def test_other_errors_travel_too(error: Exception) -> None:
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), vars(other)) == (type(error), "text", vars(error))


def test_every_exception_is_public_and_caught_by_the_base() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == "sideline.errors"]
    assert {kind.__name__ for kind in kinds} == set(errors.__all__) <= set(sideline.__all__)
    assert len(EXCEPTIONS) >= 16
    assert all(issubclass(kind, sideline.SidelineError) for kind in EXCEPTIONS)


@pytest.mark.parametrize("kind", [kind for kind in EXCEPTIONS if kind is not sideline.SidelineError])
def test_every_exception_says_what_to_do(kind: type[Exception]) -> None:
    """Which puts it into the table of docs/errors.md."""
    assert "\n\nWhat to do: " in inspect.cleandoc(kind.__doc__ or "")


def test_the_standard_librarys_names_catch_too() -> None:
    assert issubclass(sideline.InvalidRequest, ValueError)
    assert issubclass(sideline.RequestTimeout, TimeoutError)
    assert all(issubclass(kind, sideline.ApiError) for kind in API_ERRORS)
    assert issubclass(sideline.ConnectError, sideline.TransportError)


@pytest.fixture
def teams() -> Iterator[tuple[sideline.Simulator, sideline.Client]]:
    with sideline.Simulator(seed=7, teams=4, games=8) as service, service.client(max_retries=1) as client:
        yield service, client


@pytest.mark.parametrize(
    "read", [lambda payload: payload.table(), lambda payload: payload.to_polars(), lambda payload: payload.table("teams", columns=["team_id"])]
)
def test_a_later_decode_error_has_its_payload_and_request(read, teams) -> None:
    service, client = teams
    service.faults.add("/v1/data/teams", status=503, times=1)
    service.faults.add("/v1/data/teams", body={"teams": [{"id": {}, "name": "A"}]}, times=1)
    payload = client.teams()
    with pytest.raises(sideline.DecodeError) as excinfo:
        read(payload)
    error = excinfo.value
    assert error.payload is not None
    assert (error.payload.raw, error.url, error.attempts, error.method) == (payload.raw, payload.url, 2, "GET")
    assert error.elapsed == payload.elapsed.total_seconds() > 0


def test_a_decode_error_of_a_body_that_was_not_requested_has_no_address() -> None:
    payload = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": {}}]}')
    with pytest.raises(sideline.DecodeError) as excinfo:
        payload.table()
    assert excinfo.value.payload is not None and excinfo.value.payload.raw == payload.raw
    assert (excinfo.value.url, excinfo.value.elapsed) == ("", 0.0)


def test_errors_without_a_response_have_the_cause_that_the_network_reported() -> None:
    with sideline.Client(username="u", secret="s", base_url="http://127.0.0.1:9", max_retries=0) as client, pytest.raises(sideline.ConnectError) as excinfo:
        client.teams()
    cause = excinfo.value.__cause__
    assert isinstance(cause, ConnectionRefusedError)
    assert cause.errno == errno.ECONNREFUSED
    assert str(cause.strerror) in str(excinfo.value)
    with sideline.Simulator(seed=7, teams=4, games=8) as service, service.client(max_retries=0, timeout=0.05) as client:
        service.faults.add(delay=30)
        with pytest.raises(sideline.RequestTimeout) as late:
            client.teams()
    assert isinstance(late.value.__cause__, TimeoutError)
    with sideline.Simulator(seed=7, teams=4, games=8) as service:
        plain = service.base_url.replace("http:", "https:")
        with sideline.Client(username="u", secret="s", base_url=plain, max_retries=0) as client, pytest.raises(sideline.ConnectError) as tls_error:
            client.teams()
    assert isinstance(tls_error.value.__cause__, ssl.SSLError)


def test_an_error_document_in_the_place_of_a_token_is_that_error(teams) -> None:
    service, client = teams
    service.faults.add("*", body={"status": 403, "message": "no access to this game", "serviceRequestId": "r-1"})
    with pytest.raises(sideline.PermissionDenied, match="no access to this game"):
        client.subscription_token(service.games[0]["event_id"])


def test_a_body_without_a_token_names_its_request(teams) -> None:
    service, client = teams
    service.faults.add("*", body={"nothing": []})
    with pytest.raises(sideline.TransportError, match="holds no token") as excinfo:
        client.subscription_token(service.games[0]["event_id"])
    assert (excinfo.value.attempts, excinfo.value.method) == (1, "GET")
    assert "http://127.0.0.1" in excinfo.value.url
    service.faults.clear()
    service.faults.add("*", body="<html>Log in</html>", headers={"Content-Type": "text/html"})
    with pytest.raises(sideline.TransportError, match=r" \(text/html\) holds no token"):
        client.subscription_token(service.games[0]["event_id"])
