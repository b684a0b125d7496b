"""Runs pytest as if libraries were not installed: `python -m pytest -p tests.hide --hide polars --hide obstore`.

Child processes that inherit the environment miss them too, xdist's workers for one: `hidden/sitecustomize.py` hides them there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent / "hidden"

# The same module that the children load.
sys.path.insert(0, str(HOME))
from hiding import VARIABLE, hide  # noqa: E402

sys.path.remove(str(HOME))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--hide", action="append", default=[], metavar="NAME", help="a library that shall seem not to be installed; may be repeated")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    names = early_config.known_args_namespace.hide
    if imported_names := [name for name in names if name in sys.modules and name not in os.environ.get(VARIABLE, "").split(",")]:
        raise pytest.UsageError(f"--hide: already imported: {', '.join(imported_names)}")
    if names:
        os.environ[VARIABLE] = ",".join(names)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])])
        hide(names)
