"""The simulated service that most tests ask."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

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
        request.getfixturevalue("service").streams.clear()


@pytest.fixture(scope="session")
def game(service: sideline.Simulator, client: sideline.Client) -> dict[str, object]:
    """A game that is over, as `client.game` gives it."""
    return client.game(service.games[0]["event_id"]).to_dict()


@pytest.fixture(scope="session")
def session_id(game: dict[str, list[dict[str, str]]]) -> str:
    return game["results"][0]["id"]


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority that no system knows."""
    return trustme.CA()


@pytest.fixture(scope="session")
def bundle(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its certificate, in a file."""
    path = tmp_path_factory.mktemp("authority") / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture(scope="session")
def certified(authority: trustme.CA) -> Callable[..., ssl.SSLContext]:
    """A server's side of TLS, with a certificate for the names given."""

    def context(*names: str) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(made)
        return made

    return context
