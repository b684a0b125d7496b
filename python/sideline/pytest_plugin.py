"""Pytest fixtures for users of this package: a simulated service, and clients of it.

pytest loads this module whenever the package is installed, so it imports nothing until a fixture is used.
`-p no:sideline` disables it.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ._client import AsyncClient, Client
    from .simulator import Simulator

__all__ = ["sideline_async_client", "sideline_client", "sideline_simulator"]

_SEED = 7
_NOW = "2027-03-01T12:00:00Z"
"""The frozen clock, with which bodies are the same every day on every machine."""

_SERVICES = pytest.StashKey[list["Simulator"]]()
"""Those that run: the shared one, and the own one of the test."""

_OPTIONS = ("seed", "teams", "games", "now", "sport", "location_rate", "faults", "strict")

_MARKER = (
    "sideline(seed=, teams=, games=, now=, sport=, location_rate=, faults=[{...}]): run the test with its own "
    "simulated service, of this size and with these faults (each the arguments of faults.add). "
    "sideline(strict=False): let the test pass although no request met one of its faults."
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the marker its own season, as the parameter of `sideline_simulator`."""
    options = _marker_options(metafunc.definition)
    if options is None:
        return
    # A test may also request the fixture while it runs.
    if "sideline_simulator" not in metafunc.fixturenames:
        metafunc.fixturenames.append("sideline_simulator")
    test_id = getattr(pytest, "HIDDEN_PARAM", "sideline")
    # Function scope gives each marked test its own service; the shared one stays alive meanwhile.
    metafunc.parametrize("sideline_simulator", [pytest.param(options, id=test_id)], indirect=True, scope="function")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Reject the marker where it has no effect: methods of `unittest.TestCase` take no parameters."""
    if (
        isinstance(item, pytest.Function)
        and "sideline_simulator" in item.fixturenames
        and _marker_options(item) is not None
    ):
        params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        if "sideline_simulator" not in params:
            pytest.fail("the marker sideline has no effect on a method of unittest.TestCase", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> "Generator[None, Any, Any]":
    """Fail a test that added a fault which no request or stream met: its path may be misspelt."""
    result = yield
    unused = [f"faults.{fault}" for service in _services(item) for fault in service.faults.unused]
    unused += [f"streams.{fault}" for service in _services(item) for fault in service.streams.unused]
    if unused and _options(item).get("strict", True):
        pytest.fail(
            f"no request met {', '.join(unused)}; correct its path, or mark the test "
            "with @pytest.mark.sideline(strict=False)",
            pytrace=False,
        )
    return result


@pytest.fixture(scope="session")
def _sideline_season(request: pytest.FixtureRequest) -> "Iterator[Simulator]":
    with _serve(request, {}) as service:
        yield service


@contextmanager
def _serve(request: pytest.FixtureRequest, options: dict[str, Any]) -> "Iterator[Simulator]":
    from .simulator import Simulator

    services = request.config.stash.setdefault(_SERVICES, [])
    with Simulator(**{"seed": _SEED, "now": _NOW, **options}) as service:
        services.append(service)
        try:
            yield service
        finally:
            services.remove(service)


@pytest.fixture(scope="session")
def sideline_simulator(request: pytest.FixtureRequest) -> "Iterator[Simulator]":
    """Serve a simulated season on loopback: one per session (or worker of pytest-xdist), with a frozen clock.

    A test with the marker `sideline` gets its own. Faults are removed after each test.
    """
    options: dict[str, Any] | None = getattr(request, "param", None)
    if options is None:
        yield request.getfixturevalue("_sideline_season")
        return
    faults = options.get("faults", ())
    with _serve(request, {name: value for name, value in options.items() if name != "faults"}) as service:
        for fault in faults:
            service.faults.add(**fault)
        yield service


@pytest.fixture
def sideline_client(sideline_simulator: "Simulator") -> "Iterator[Client]":
    """Provide a `sideline.Client` of the simulated service; it reads no `SIDELINE_` variable."""
    with sideline_simulator.client() as client:
        yield client


@pytest.fixture
def sideline_async_client(sideline_simulator: "Simulator") -> "Iterator[AsyncClient]":
    """Provide a `sideline.AsyncClient` of the service, for any event loop; it reads no `SIDELINE_` variable."""
    from ._client import core_of

    client = sideline_simulator.async_client()
    yield client
    core_of(client).close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Remove faults that a test left in the shared simulator."""
    for service in _services(item):
        service.faults.clear()
        service.streams.clear()


def _services(item: pytest.Item) -> "list[Simulator]":
    """Return those that run, and that of the test where the project's own fixture takes the place of ours."""
    services = [*item.config.stash.get(_SERVICES, [])]
    service = getattr(item, "funcargs", {}).get("sideline_simulator")
    if service is not None and service not in services:
        from .simulator import Simulator

        services += [service] if isinstance(service, Simulator) else []
    return services


def _marker_options(node: pytest.Item) -> dict[str, Any] | None:
    """Return the options of a test's own season; `None` if it has none."""
    options = _options(node)
    is_strict = options.pop("strict", None)
    has_own = bool(options) or (is_strict is None and node.get_closest_marker("sideline") is not None)
    return options if has_own else None


def _options(node: pytest.Item) -> dict[str, Any]:
    """Merge the markers of a test, the nearest last."""
    options: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("sideline"))):
        unknown_options = [*map(repr, mark.args), *(name for name in mark.kwargs if name not in _OPTIONS)]
        if unknown_options:
            pytest.fail(
                f"{node.name}: the marker sideline takes {', '.join(_OPTIONS)}, not {', '.join(unknown_options)}",
                pytrace=False,
            )
        options |= mark.kwargs
    return options
