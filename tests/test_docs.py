"""The generated page is current, and what the README shows runs."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import sideline

ROOT = Path(__file__).parent.parent


def test_the_page_of_tables_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run python docs/make_tables.py"


def test_the_readmes_python_runs(service: sideline.Simulator) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-W", "error", "-c", block], capture_output=True, text=True, timeout=60, env=service.environ)
        assert (done.returncode, done.stderr) == (0, ""), block
