"""The exceptions themselves; what raises them is in test_wrong_input.py."""

from __future__ import annotations

import copy
import pickle

import pytest

import sideline

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


@pytest.mark.parametrize("kind", API_ERRORS)
@pytest.mark.parametrize("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_api_error_keeps_its_fields_when_it_travels(kind, copied) -> None:
    more = {sideline.InvalidRequest: {"rules": ["a", "b"]}, sideline.RateLimited: {"retry_after": 2.5}}.get(kind, {})
    error = copied(kind("GET ... returned 422: a | b", **FIELDS, **more))
    assert type(error) is kind
    assert str(error) == "GET ... returned 422: a | b"
    assert vars(error) == {**FIELDS, **more}


@pytest.mark.parametrize(
    "error",
    [
        sideline.SidelineError("text"),
        sideline.ConfigurationError("text"),
        sideline.TransportError("text"),
        sideline.ConnectError("text"),
        sideline.RequestTimeout("text"),
        sideline.DecodeError("text", path="$.teams[0].id", offset=17),
    ],
)
def test_other_errors_travel_too(error: Exception) -> None:
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), vars(other)) == (type(error), "text", vars(error))


def test_every_exception_is_caught_by_the_base() -> None:
    from sideline import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)]
    assert len(kinds) >= 13
    assert all(issubclass(kind, sideline.SidelineError) for kind in kinds)
    assert {kind.__name__ for kind in kinds} <= set(sideline.__all__)


def test_the_standard_librarys_names_catch_too() -> None:
    assert issubclass(sideline.InvalidRequest, ValueError)
    assert issubclass(sideline.RequestTimeout, TimeoutError)
    assert all(issubclass(kind, sideline.ApiError) for kind in API_ERRORS)
    assert issubclass(sideline.ConnectError, sideline.TransportError)
