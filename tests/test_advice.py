"""Every error of a request says what happened and what to do, as text and as data."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service import Service

import sideline


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with Service(seed=4) as league:
        yield league


@pytest.fixture
def league(running: Service) -> Iterator[Service]:
    yield running
    running.faults.clear()


def error_of(league: Service, call: Callable[[sideline.Client], Any] = lambda client: client.teams(), **options: Any) -> sideline.SidelineError:
    with sideline.Client(**league.client_options() | {"max_retries": 0} | options) as client, pytest.raises(sideline.SidelineError) as excinfo:
        call(client)
    error = excinfo.value
    assert isinstance(error.advice, str)
    assert error.advice
    error_copy = pickle.loads(pickle.dumps(error))
    assert (error_copy.advice, error_copy._advice_kind, error_copy._found) == (error.advice, error._advice_kind, error._found)
    return error


STATUSES = {
    400: (sideline.InvalidRequest, "correct_request"),
    403: (sideline.PermissionDenied, "ask_for_privilege"),
    404: (sideline.NotFound, "check_id"),
    408: (sideline.ApiError, "try_later"),
    409: (sideline.ApiError, "check_base_address"),
    422: (sideline.InvalidRequest, "correct_request"),
    429: (sideline.RateLimited, "slow_down"),
    503: (sideline.ServerError, "report_to_support"),
}


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_advice(league: Service, status: int) -> None:
    league.faults.add("teams", status=status, body={"status": status, "message": "no. Not now. ", "serviceRequestId": "r"})
    error = error_of(league)
    kind, advice = STATUSES[status]
    assert isinstance(error, kind)
    assert error._advice_kind == advice
    assert str(error) == f"{error._found}. {error.advice}"
    assert "no. Not now." in error._found
    assert isinstance(error, sideline.ApiError)
    assert error.elapsed > 0


def test_credentials_clock_and_key_are_distinguished(league: Service) -> None:
    assert error_of(league, secret="mistyped")._advice_kind == "check_credentials"
    assert error_of(league, lambda client: client.broadcast_teams(), api_key="mistyped")._advice_kind == "check_key"
    league.clock_offset = 3 * 86_400.0
    try:
        error = error_of(league)
    finally:
        league.clock_offset = 0.0
    assert error._advice_kind == "set_clock"
    assert "set this machine's clock" in error.advice


def test_an_error_without_a_response_has_its_advice_and_request(league: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    error = error_of(league, base_url=f"http://127.0.0.1:{port}", max_retries=1)
    assert isinstance(error, sideline.ConnectError)
    assert (error.method, error.attempts, error._advice_kind) == ("GET", 2, "check_address")
    assert error.url == f"http://127.0.0.1:{port}/v1/data/teams"
    assert error.elapsed > 0
    assert str(error) == f"{error._found}. {error.advice}"
    league.faults.add("teams", cut_at=3)
    assert error_of(league)._advice_kind == "try_again"
    league.faults.clear()
    league.faults.add("teams", delay=30.0)
    assert error_of(league, timeout=0.2)._advice_kind == "raise_timeout"


def test_a_body_that_is_no_data_has_its_advice(league: Service) -> None:
    for body, headers, kind in (
        ({"squads": []}, {}, "look_at_body"),
        ({"teams": [{"id": "x" * 9_000}]}, {}, "look_at_body"),
        ("<html>Log in" + "x" * 9_000, {"content-type": "text/html"}, "check_base_address"),
    ):
        league.faults.add("teams", body=body, headers=headers, times=1)
        error = error_of(league, lambda client: client.teams().table())
        assert isinstance(error, sideline.DecodeError)
        assert error._advice_kind == kind
        assert str(error) == f"{error._found}. {error.advice}"
        assert error._found.endswith(f" at {error.path} (byte {error.offset})")
        assert len(str(error)) < 2_000


def test_a_strict_client_says_what_it_refused_and_where_it_is(league: Service) -> None:
    league.faults.add("teams", body={"teams": [{"id": 7, "mascot": "owl"}]}, times=1)
    error = error_of(league, strict=True)
    assert (error._advice_kind, str(error)) == ("look_at_body", f"{error._found}. {error.advice}")
    assert "teams[].mascot" in error._found and "strict=True" in error._found and ".payload" in error.advice


def test_a_unit_that_was_not_attempted_has_the_advice_of_its_cause(league: Service) -> None:
    def call(client: sideline.Client) -> None:
        batch = client.stats([f"s{number}" for number in range(30)], on_error="keep", progress=False)
        errors = {type(error).__name__: error for error in batch.errors.values()}
        raise errors["AuthenticationError"]

    assert error_of(league, call, secret="mistyped")._advice_kind == "check_credentials"


def test_a_missing_credential_ends_a_batch_before_it_is_sent(league: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIDELINE_SECRET", raising=False)
    before = len(league.requests)
    error = error_of(league, lambda client: client.stats(["a", "b"], on_error="keep"), secret=None)
    assert isinstance(error, sideline.ConfigurationError)
    assert "SIDELINE_SECRET" in str(error)
    assert len(league.requests) == before
