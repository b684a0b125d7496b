"""A child process in which libraries are not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

_PRELUDE = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{package!r}}", name=package)

sys.meta_path.insert(0, Absent())
"""


def run_without(absent: Iterable[str], code: str, *arguments: str) -> str:
    """What the code prints where importing these packages fails as if they were not installed."""
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE.format(absent=tuple(absent)) + code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
