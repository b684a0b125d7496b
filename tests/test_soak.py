"""A short run of `make soak`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors are read from /proc")
@pytest.mark.timeout(600)
def test_a_short_soak_finds_nothing_wrong(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    command = [sys.executable, Path(__file__).with_name("soak.py"), report]
    done = subprocess.run(command, env={**os.environ, "SOAK_SECONDS": "10", "SOAK_SEED": "3"}, capture_output=True, text=True, timeout=140)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    counts = {name: int(count.replace(",", "")) for name, count in re.findall(r"^\| (.+?) \| ([\d,]+) \|$", report.read_text(encoding="utf-8"), re.M)}
    # A part that did nothing would find nothing.
    for part in ("clients opened and closed", "websocket messages", "event stream documents", "batch units", "archive rows", "rounds"):
        assert counts[part] > 0, part
    assert counts["websocket connections"] > 1
    assert counts["comparisons"] > 100
