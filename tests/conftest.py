"""The simulated service that most tests ask."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import sideline

NOW = "2027-03-01T12:00:00Z"


@pytest.fixture(scope="session", autouse=True)
def _no_real_credentials() -> Iterator[None]:
    """No test may reach the real service by what the developer has exported, nor go through the developer's proxy."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("SIDELINE_") or name.lower().endswith("_proxy"):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, now=NOW) as service:
        yield service


@pytest.fixture(scope="session")
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    with service.client() as client:
        yield client


@pytest.fixture(autouse=True)
def _no_faults_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "service" in request.fixturenames:
        request.getfixturevalue("service").faults.clear()


@pytest.fixture(scope="session")
def game(service: sideline.Simulator, client: sideline.Client) -> dict[str, object]:
    """A game that is over, as `client.game` gives it."""
    return client.game(service.games[0]["event_id"]).to_dict()


@pytest.fixture(scope="session")
def session_id(game: dict[str, list[dict[str, str]]]) -> str:
    return game["results"][0]["id"]
