"""Optional libraries of tests: a test that needs one that is not installed is skipped, and the reason says what to install.

`library` imports one for a module and `require` is for modules all of whose tests need it. A test that fails because sideline or another
process misses one is skipped by conftest.py (`reason_in`); `needs` marks those whose failure does not name it. `hide.py` runs pytest as if
some were not installed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

EXTRAS = {
    "adbc_driver_manager": "export",
    "adbc_driver_postgresql": "export",
    "arro3": "archive",
    "deltalake": "archive",
    "duckdb": "archive",
    "matplotlib": "plot",
    "mcp": "mcp",
    "obstore": "bucket",
    "opentelemetry": "traces",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "rich": "cli",
    "shtab": "cli",
}
"""By the name that is imported: the extra with which it is installed."""

TOOLS = {
    "IPython": "ipython",
    "boto3": "boto3",
    "jupyter_client": "jupyter-client",
    "lxml": "lxml",
    "moto": "moto",
    "mypy": "mypy",
    "nbclient": "nbclient",
    "nbformat": "nbformat",
    "sklearn": "scikit-learn",
}
"""By the name that is imported: the package of a library that only tests use."""

ARCHIVE = ("arro3", "deltalake", "duckdb", "polars", "pyarrow")
"""What archives need, from the extra `archive`."""

PLOT = ("matplotlib", "pyarrow")
"""What charts need, from the extra `plot`."""


def missing(names: Iterable[str]) -> list[str]:
    """Those that are not installed."""
    return [name for name in dict.fromkeys(names) if find_spec(name) is None]


def reason(names: Iterable[str], extra: str | None = None) -> str:
    return "; ".join(f"needs {name}: pip install {TOOLS.get(name) or repr(f'sideline[{extra or EXTRAS[name]}]')}" for name in names)


class _Missing:
    """A substitute for a library: the first use skips the test, or the module that uses it while it is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("_"):
            # pytest looks for its own attributes in everything that a module has.
            raise AttributeError(attribute)
        pytest.skip(reason([self._name]), allow_module_level=True)


def library(name: str) -> Any:
    """Imports a library, a module of it or one that imports it: `pl = library("polars")`, `plot = library("sideline.plot")`."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in {*EXTRAS, *TOOLS} or not missing([error.name]):
            raise
        return _Missing(error.name)


def needs(*names: str, extra: str | None = None) -> pytest.MarkDecorator:
    """Skips tests without all of these libraries, as a decorator or in `pytestmark`; `extra` names the one that has them all."""
    absent = missing(names)
    return pytest.mark.skipif(bool(absent), reason=reason(absent, extra))


def require(*names: str, extra: str | None = None) -> None:
    """Skips a module, or the one that imports it, without all of these libraries."""
    if absent := missing(names):
        pytest.skip(reason(absent, extra), allow_module_level=True)


def environment_without(*names: str) -> dict[str, str]:
    """The environment of a child process in which these libraries seem not to be installed (`hidden/sitecustomize.py`)."""
    paths = [str(Path(__file__).parent / "hidden"), *filter(None, sys.path)]
    return os.environ | {"HIDDEN_LIBRARIES": ",".join(names), "PYTHONPATH": os.pathsep.join(paths)}


def reason_in(text: str) -> str | None:
    """What to install, if a failure's text says that a library is not installed, and so it is."""
    matches = re.findall(r"ModuleNotFoundError(?:\x1b\[\d+m)?: (?:No module named \\?'(\w+)|(\w+) is not installed)|sideline: (\w+) is not installed", text)
    absent = missing({name for names in matches for name in names} & {*EXTRAS, *TOOLS})
    return reason(absent) if absent else None
