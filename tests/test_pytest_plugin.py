"""The pytest plugin in a small project of a user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "testing.md"

#: What a developer may have exported. Nothing of it may be used or shown.
ENVIRONMENT = {
    "SIDELINE_USERNAME": "developer-canary",
    "SIDELINE_SECRET": "secret-canary",
    "SIDELINE_API_KEY": "key-canary",
    "SIDELINE_ENVIRONMENT": "nonsense-canary",
    "SIDELINE_SPORT": "nonsense-canary",
    "SIDELINE_BASE_URL": "https://canary.invalid",
    "SIDELINE_WEBSOCKET_URL": "wss://canary.invalid",
    "SIDELINE_BROADCAST_BASE_URL": "https://canary.invalid",
}


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pytest(self, source: str, *options: str, **expected: int) -> str:
        """Runs a test file as its owner would, and compares the counts with the expected ones."""
        (self.folder / "test_it.py").write_text(source, encoding="utf-8")
        command = [sys.executable, "-W", "error", "-m", "pytest", "-W", "error", "--strict-markers", "-p", "no:cacheprovider", "-rA", *options]
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SIDELINE_"))}
        done = subprocess.run(command, cwd=self.folder, env=plain | ENVIRONMENT, capture_output=True, text=True, timeout=50)
        text = done.stdout + done.stderr
        counts = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)\b", text.splitlines()[-1])}
        assert counts == expected, text
        assert "canary" not in text
        return text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return Project(tmp_path)


def test_the_documented_pipeline_test_can_be_copied(project: Project) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (source,) = [block for block in blocks if "def scorers" in block]
    project.pytest(source, passed=4)
    project.pytest(source, "-n", "2", passed=4)


SHARED = """
import os, pathlib, pytest

def note(name, service):
    with open(name, "a") as file:
        file.write(f"{os.environ.get('PYTEST_XDIST_WORKER')} {service.base_url}\\n")

@pytest.mark.parametrize("number", range(20))
def test_one(sideline_simulator, sideline_client, number):
    note("shared.txt", sideline_simulator)
    assert sideline_client.teams().table().num_rows == 16

@pytest.mark.sideline(teams=4, games=8)
@pytest.mark.parametrize("number", range(6))
def test_own(sideline_simulator, sideline_client, number):
    note("own.txt", sideline_simulator)
    assert sideline_client.teams().table().num_rows == 4
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_each_worker_has_one_simulator_and_each_marked_test_its_own(project: Project, workers: int) -> None:
    project.pytest(SHARED, *(["-n", str(workers)] if workers else []), passed=26)
    shared = (project.folder / "shared.txt").read_text().splitlines()
    assert (len(shared), len(set(shared))) == (20, workers or 1)
    own_simulators = [line.split()[1] for line in (project.folder / "own.txt").read_text().splitlines()]
    assert len(own_simulators) == 6
    assert not {line.split()[1] for line in shared} & set(own_simulators)


MARKER_TESTS = """
import pytest, sideline

pytestmark = pytest.mark.sideline(teams=4, games=8)

@pytest.fixture(scope="session")
def count(sideline_simulator):
    return len(sideline_simulator.teams)

@pytest.mark.sideline(games=12, faults=[{"path": "/v1/data/teams", "status": 404}])
def test_the_nearest_mark_is_added_to_those_around(sideline_simulator, sideline_client, count):
    assert (count, len(sideline_simulator.games)) == (4, 12)
    with pytest.raises(sideline.NotFound):
        sideline_client.teams()

def test_the_fault_is_gone(sideline_simulator, sideline_client, count):
    assert (count, len(sideline_simulator.games)) == (4, 8)
    assert sideline_client.teams().status == 200

@pytest.mark.parametrize("number", [1, 2])
def test_each_run_of_a_test_begins_with_a_whole_service(sideline_simulator, sideline_client, number):
    assert sideline_simulator.requests == []
    sideline_client.teams()

def test_it_may_be_requested_late(request):
    assert len(request.getfixturevalue("sideline_simulator").teams) == 4

@pytest.mark.sideline(seed=3, sport="football", now=None, location_rate=20)
def test_the_marker_takes_every_option_of_a_season(sideline_simulator, sideline_client):
    assert "football" in repr(sideline_client)
    assert len(sideline_simulator.games) == 8

class TestMethods:
    @pytest.mark.sideline(teams=6, games=12)
    def test_methods_take_it(self, count):
        assert count == 6
"""


def test_a_marked_test_has_a_season_of_its_size_and_its_faults(project: Project) -> None:
    assert "test_methods_take_it\n" in project.pytest(MARKER_TESTS, passed=7)


FIXTURE_TESTS = """
import pytest

seen = []

@pytest.fixture(scope="module")
def base(sideline_simulator):
    return sideline_simulator.base_url

@pytest.mark.sideline(strict=False)
def test_a_fault_is_left(sideline_simulator, base):
    seen.append(sideline_simulator)
    sideline_simulator.faults.add(status=404)
    sideline_simulator.streams.stall()

@pytest.mark.sideline
def test_between(sideline_simulator, base):
    assert sideline_simulator is not seen[0]
    assert base == sideline_simulator.base_url

def test_and_does_not_harm_the_next(sideline_simulator, sideline_client, base):
    assert sideline_simulator is seen[0]
    assert base == sideline_simulator.base_url
    assert sideline_client.teams().status == 200
"""


def test_the_shared_simulator_outlives_those_of_marked_tests_and_loses_its_faults(project: Project) -> None:
    project.pytest(FIXTURE_TESTS, passed=3)


OVERRIDE = """
import pytest, sideline

@pytest.fixture(scope="session")
def sideline_simulator():
    with sideline.Simulator(seed=1, teams=4, games=4) as service:
        yield service

@pytest.mark.sideline(strict=False)
def test_a_fault_is_left(sideline_simulator):
    sideline_simulator.faults.add("/v1/data/teams", status=404)

def test_and_does_not_harm_the_next(sideline_client):
    assert sideline_client.teams().table().num_rows == 4

def test_a_fault_that_no_request_meets(sideline_simulator):
    sideline_simulator.faults.add("*/shot", status=500)
"""


def test_a_simulator_of_the_project_s_own_loses_its_faults_and_fails_for_unused_ones_too(project: Project) -> None:
    assert "no request met faults.add('*/shot', status=500)" in project.pytest(OVERRIDE, passed=2, failed=1)


ASYNC = """
import asyncio

async def count(client):
    return (await client.teams()).table().num_rows

def test_any_loop(sideline_async_client):
    assert [asyncio.run(count(sideline_async_client)) for _ in range(2)] == [16, 16]
    seen.append(sideline_async_client)

def test_it_is_closed_after_its_test(sideline_client):
    assert "closed" in repr(seen[0])

seen = []
"""


def test_the_asynchronous_client_runs_under_plain_asyncio(project: Project) -> None:
    project.pytest(ASYNC, passed=2)


STRICT = """
import pytest

def test_a_fault_that_no_request_meets(sideline_simulator, sideline_client):
    sideline_simulator.faults.add("*/shot", status=500)
    sideline_client.teams()

@pytest.mark.sideline(teams=4, games=8, faults=[{"path": "*/shot", "status": 500}])
def test_a_fault_of_the_marker(sideline_client):
    sideline_client.teams()

def test_a_fault_of_a_service_requested_while_it_runs(request):
    request.getfixturevalue("sideline_simulator").faults.add("*/shot", status=500)

@pytest.mark.sideline(teams=4, games=8)
def test_a_fault_of_its_own_service_requested_while_it_runs(request):
    service = request.getfixturevalue("sideline_simulator")
    assert len(service.teams) == 4
    service.faults.add("*/shot", status=500)

def test_a_fault_that_no_stream_meets(sideline_simulator, sideline_client):
    sideline_simulator.streams.stall("*/event-streams", after=3, seconds=5)
    sideline_client.teams()

@pytest.mark.sideline(strict=False)
def test_one_that_may(sideline_simulator):
    sideline_simulator.faults.add("*/shot", status=500)
    sideline_simulator.streams.slow(100, "*/event-streams")

def test_a_fault_that_fires(sideline_simulator, sideline_client):
    sideline_simulator.faults.add("*/teams", delay=0.001)
    sideline_simulator.faults.add("/v1/data/roster", status=500, probability=0.5)
    sideline_simulator.faults.clear()
    sideline_client.teams()

def test_its_own_failure_comes_first(sideline_simulator):
    sideline_simulator.faults.add("*/shot", status=500)
    assert 1 == 2
"""


def test_a_fault_that_no_request_met_fails_its_test_unless_it_says_otherwise(project: Project) -> None:
    text = project.pytest(STRICT, passed=2, failed=6)
    # Under CI, pytest's summary repeats each message in full.
    reports = text.partition("short test summary")[0]
    assert reports.count("no request met faults.add('*/shot', status=500); correct its path") == 4
    assert reports.count("no request met streams.stall('*/event-streams', after=3, seconds=5); correct its path") == 1
    assert "1 == 2" in text


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("team=4", "strict, not team"),
        ("4", "strict, not 4"),
        ("teams=0", "teams"),
        ("now='2027-03-01T12:00'", "time zone"),
        ("faults=[{'path': '*', 'stauts': 503}]", "stauts"),
    ],
)
def test_a_wrong_marker_is_an_error_that_names_it(project: Project, marker: str, message: str) -> None:
    source = f"import pytest\n@pytest.mark.sideline({marker})\ndef test_it(sideline_client): pass\n"
    text = project.pytest(source, error=1)
    assert message in text
    assert "ERROR collecting" not in text or "test_it: the marker sideline takes" in text


def test_a_marker_that_would_have_no_effect_is_an_error(project: Project) -> None:
    source = """
import pytest, unittest

@pytest.mark.sideline(teams=4)
class Tests(unittest.TestCase):
    @pytest.mark.usefixtures("sideline_simulator")
    def test_it(self): pass
"""
    assert "unittest.TestCase" in project.pytest(source, error=1)


LIGHT = """
import sys

def test_nothing_is_loaded_until_a_fixture_is_used():
    assert [name for name in sys.modules if name.split(".")[0] == "sideline"] == ["sideline", "sideline.pytest_plugin"]
"""


def test_the_plugin_is_light(project: Project) -> None:
    project.pytest(LIGHT, passed=1)


def test_the_plugin_can_be_disabled(project: Project) -> None:
    project.pytest("import sys\ndef test_it(): assert 'sideline' not in sys.modules\n", "-p", "no:sideline", passed=1)
    text = project.pytest("def test_it(sideline_client): pass\n", "-p", "no:sideline", error=1)
    assert "fixture 'sideline_client' not found" in text


def test_the_marker_and_the_fixtures_are_reported(project: Project) -> None:
    text = ""
    for option in ("--markers", "--fixtures"):
        done = subprocess.run([sys.executable, "-m", "pytest", option], cwd=project.folder, capture_output=True, text=True, timeout=50)
        text += done.stdout
    assert "@pytest.mark.sideline(seed=, teams=, games=" in text
    for name in ("sideline_simulator [session scope]", "sideline_client", "sideline_async_client"):
        assert f"\n{name} -- " in text
