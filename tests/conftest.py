"""The simulated service that most tests use."""

from __future__ import annotations

import gc
import os
import signal
import ssl
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import trustme
from canaries import leaks
from needs import reason_in

import sideline
from postgres_server import postgres_server

NOW = "2027-03-01T12:00:00Z"

CANARIES: dict[str, str] = {}
"""Credentials of all simulators that the tests made, those that are gone too: whose each is."""


def pytest_configure() -> None:
    """Registers the credentials of every simulator as canaries. Enables Ctrl-C, which a background job of a shell and its
    children would ignore. Gives the libraries one thread, as on a machine with one processor: there a thread of deltalake's
    that waits for another one waits forever, and the processes of the tests take every processor anyway."""
    os.environ.update(TOKIO_WORKER_THREADS="1", POLARS_MAX_THREADS="1", OPENBLAS_NUM_THREADS="1")
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    original = sideline.Simulator.__init__

    @wraps(original)
    def init(self: sideline.Simulator, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        CANARIES.update({self.secret: f"secret of {self!r}", self.api_key: f"key of {self!r}"})

    sideline.Simulator.__init__ = init  # type: ignore[method-assign]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files whose tests may take long come first, then the larger ones, so that none of them keeps one process busy when the
    others are done. By their names, those that wait for a network would come together and leave the processors idle."""
    limits: Counter[Path] = Counter()
    for item in items:
        marker = item.get_closest_marker("timeout")
        # 0 is no limit.
        limits[item.path] = max(limits[item.path], (marker.args[0] or 1_000_000) if marker else 0)
    places = {path: (-limit, -path.stat().st_size) for path, limit in limits.items()}
    items.sort(key=lambda item: places[item.path])


def pytest_collection_finish() -> None:
    """Each collection of garbage would visit the objects of thousands of collected tests, and is off until these exist."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails any test whose output, warnings or failure show a secret of a simulator, including the output of its children.

    test_secrets.py covers all other texts; test_canaries.py tests this hook."""
    report = yield
    # Only the texts of this phase: earlier ones are in earlier reports.
    texts = {title: text for title, text in report.sections if text and title.endswith(report.when or "")}
    if report.longrepr is not None:
        texts["the report"] = report.longreprtext
    if matches := leaks({owner: secret for secret, owner in CANARIES.items()}, texts):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} shows {matches}"
    elif report.failed and (reason := reason_in(report.longreprtext)):
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, f"Skipped: {reason}")
    return report


@pytest.fixture(scope="session", autouse=True)
def _no_real_credentials() -> Iterator[None]:
    """No test may reach the real service through exported variables, or use the developer's proxy."""
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


@pytest.fixture(scope="module")
def league() -> Iterator[sideline.Simulator]:
    """A small season of its own for the tests of a file, which may change it."""
    # It needs the libraries of an archive.
    from archives import small_season

    with small_season() as league:
        yield league


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, for `new_database`. It has a password, which the server does not check and no text may show."""
    with postgres_server() as address:
        yield address.replace("sideline@", "sideline:canary-password@")


@pytest.fixture(autouse=True)
def _no_faults_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "service" in request.fixturenames:
        request.getfixturevalue("service").faults.clear()
        request.getfixturevalue("service").streams.clear()


@pytest.fixture(scope="session")
def game(service: sideline.Simulator, client: sideline.Client) -> dict[str, object]:
    """A finished game, as `client.game` returns it."""
    return client.game(service.games[0]["event_id"]).to_dict()


@pytest.fixture(scope="session")
def session_id(game: dict[str, list[dict[str, str]]]) -> str:
    return game["results"][0]["id"]


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority that no system trusts."""
    return trustme.CA()


@pytest.fixture(scope="session")
def bundle(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its certificate, in a file."""
    path = tmp_path_factory.mktemp("authority") / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture(scope="session")
def tls_context(authority: trustme.CA) -> Callable[..., ssl.SSLContext]:
    """The server side of TLS, with a certificate for these names."""

    def context(*names: str) -> ssl.SSLContext:
        server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(server_context)
        return server_context

    return context


@pytest.fixture
def agg() -> Iterator[None]:
    """Plots without a screen."""
    import matplotlib
    from matplotlib import pyplot

    backend = matplotlib.get_backend()
    matplotlib.use("agg")
    yield
    pyplot.close("all")
    matplotlib.use(backend)
