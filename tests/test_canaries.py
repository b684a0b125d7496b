"""conftest.py finds a simulator's secret that a test shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SHOWING = """
import logging, subprocess, sys
import pytest, sideline

@pytest.fixture
def credentials():
    # It is gone when the report is made.
    with sideline.Simulator(seed=99, teams=4, games=8) as service:
        return service.secret, service.api_key

def test_printed(credentials): print(credentials[0])
def test_logged(credentials): logging.getLogger("sideline").warning("a %s", credentials[1].encode().hex())
def test_of_a_child(credentials): subprocess.run([sys.executable, "-c", f"import sys; sys.stderr.write({credentials[0]!r})"])
def test_failed(credentials): assert f"at {credentials[1]}" == ""
def test_innocent(credentials): print("nothing")
"""


def test_a_test_that_shows_a_simulators_credentials_fails(tmp_path: Path) -> None:
    (tmp_path / "test_showing.py").write_text(SHOWING)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-rA", "--tb=line", "test_showing.py"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    output = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=50).stdout
    for name in ("printed", "logged", "of_a_child", "failed"):
        assert re.search(rf"test_showing.py::test_{name} shows \[.(secret|key) of <sideline.Simulator", output), output
    assert re.search("4 failed, 1 passed", output), output
