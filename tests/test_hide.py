"""Tests without an optional library: `hide.py` hides it, and the tests that need it are skipped with what to install."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from needs import ARCHIVE, EXTRAS, PLOT, environment_without, library, missing, needs, reason_in, require

ROOT = Path(__file__).parent.parent
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py") if path.parent.name not in ("typed", "hidden"))


def pytest_without(*names: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A run of pytest in which these libraries seem not to be installed."""
    options = [argument for name in names for argument in ("--hide", name)]
    # Of an environment in which something is hidden already, nothing counts.
    environment = {name: value for name, value in os.environ.items() if name != "HIDDEN_LIBRARIES" and not name.startswith("PYTEST_")}
    paths = [str(ROOT), str(ROOT / "tests"), *sys.path]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path and Path(path).name != "hidden")
    command = [sys.executable, "-m", "pytest", "-p", "tests.hide", "-p", "no:cacheprovider", *options, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=170)


SAMPLE = """
import importlib.metadata, importlib.util, subprocess, sys

import pytest
from needs import library, needs

duckdb = library("duckdb")
pl = library("polars")
lazyframe = library("polars.lazyframe")

def test_it_seems_not_to_be_installed():
    assert importlib.util.find_spec("polars") is None
    with pytest.raises(ModuleNotFoundError) as caught:
        import polars
    assert caught.value.name == "polars"
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("polars")
    assert importlib.metadata.version("duckdb") == duckdb.__version__

def test_a_child_misses_it_too():
    done = subprocess.run([sys.executable, "-c", "import duckdb, polars"], capture_output=True, text=True)
    assert done.stderr.strip().endswith("ModuleNotFoundError: No module named 'polars'")

def test_sideline_says_what_to_install():
    import sideline
    with pytest.raises(ModuleNotFoundError, match=r'polars is not installed; install it with: pip install "sideline\\[polars\\]"'):
        sideline.Payload.from_bytes("teams", b'{"teams": []}').to_polars()

def test_that_uses_it():
    pl.DataFrame()
    raise AssertionError("unreachable")

def test_that_uses_a_module_of_it():
    lazyframe.frame
    raise AssertionError("unreachable")

@needs("duckdb", "polars")
def test_that_needs_it():
    raise AssertionError("unreachable")

@pytest.mark.parametrize("code", ["import polars", "import sideline; sideline.Payload.from_bytes('teams', b'{\\"teams\\": []}').to_polars()"])
def test_whose_child_needs_it(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    raise AssertionError("unreachable")

@needs("duckdb")
def test_that_needs_another():
    assert duckdb.sql("select 1").fetchall() == [(1,)]
"""
MODULE = """
from needs import {name}

{call}

def test_unreachable():
    raise AssertionError("unreachable")
"""


@pytest.mark.skipif(bool(missing(["polars", "duckdb"])), reason="needs what it hides")
def test_a_hidden_library_is_missed_by_what_needs_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    hook = "pytest_runtest_makereport"
    (tmp_path / "conftest.py").write_text(f"import runpy\n{hook} = runpy.run_path({str(ROOT / 'tests' / 'conftest.py')!r})[{hook!r}]\n")
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "test_whole.py").write_text(MODULE.format(name="require", call='require("duckdb", "polars", extra="archive")'))
    (tmp_path / "test_at_import.py").write_text(MODULE.format(name="library", call='Frame = library("polars").DataFrame'))
    done = pytest_without("polars", arguments=["-rs", "-q", "-c", str(tmp_path / "pytest.ini"), str(tmp_path)])
    assert "4 passed, 7 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("needs polars: pip install 'sideline[polars]'") >= 1
    assert done.stdout.count("needs polars: pip install 'sideline[archive]'") == 1


USES = {
    "adbc_driver_manager": "from sideline.archive._export_target import Address; Address('duckdb:///tmp/x.duckdb').open()",
    "adbc_driver_postgresql": "from sideline.archive._export_target import Address; Address('postgresql://127.0.0.1:1/x').open()",
    "matplotlib": "sideline.plot",
    "pandas": "teams.to_pandas()",
    "polars": "teams.to_polars()",
    "pyarrow": "teams.to_arrow()",
    "pyspark": "sideline.spark.read(None, None)",
}
"""Code that requests all libraries; tests/test_packaging.py requests the others in an environment without any."""


@pytest.mark.parametrize("name", USES)
def test_without_a_library_sideline_says_what_to_install(name: str) -> None:
    code = f"import sideline; teams = sideline.Payload.from_bytes('teams', b'{{\"teams\": []}}'); {USES[name]}"
    done = subprocess.run([sys.executable, "-c", code], env=environment_without(name), capture_output=True, text=True, timeout=60)
    last = done.stderr.strip().splitlines()[-1]
    assert last == f'ModuleNotFoundError: {name} is not installed; install it with: pip install "sideline[{EXTRAS[name]}]"'


def test_what_is_imported_already_cannot_be_hidden() -> None:
    done = pytest_without("json", arguments=["--collect-only", "tests/test_hide.py"])
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--hide: already imported: json" in done.stderr


def collect(*names: str) -> None:
    done = pytest_without(*names, arguments=["--collect-only", "-q", "tests"])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


@pytest.mark.extended
@pytest.mark.parametrize("name", EXTRAS)
def test_every_module_is_collected_without(name: str) -> None:
    collect(name)


@cache
def not_everywhere() -> frozenset[str]:
    """The libraries that the tests have on some systems only: a release tests the wheels of the others without them."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    names = {re.split(r"[\[<>=!~; ]", entry)[0] for entry in groups["test"] if isinstance(entry, str)}
    return frozenset({*EXTRAS, *(module for module, [name, *_] in packages_distributions().items() if name.lower().replace("_", "-") in names)})


@pytest.mark.extended
def test_every_module_is_collected_with_the_libraries_that_every_system_has() -> None:
    # anyio brings a plugin of pytest, which is imported before anything can be hidden.
    collect(*sorted(not_everywhere() - {"anyio"}))


def top_level_imports(path: str) -> set[str]:
    """The libraries that a module cannot be imported without."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names & not_everywhere()


@needs("IPython", "boto3", "deltalake", "lxml")
def test_no_module_imports_at_its_top_what_only_some_systems_have() -> None:
    assert {"IPython", "boto3", "deltalake", "lxml"} <= not_everywhere()
    assert "tests/test_batch.py" in MODULES
    assert {path: names for path in MODULES if (names := top_level_imports(path))} == {}


@needs("deltalake", "shtab", extra="archive,cli")
def test_a_reason_names_an_extra_that_has_the_library() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = {
        extra: {re.split(r"[<>=\[;]", requirement)[0].strip().lower().replace("_", "-") for requirement in requirements}
        for extra, requirements in extras.items()
    }
    distributions = packages_distributions()
    for groups in (EXTRAS.items(), ((name, "archive") for name in ARCHIVE), ((name, "plot") for name in PLOT)):
        for name, extra in groups:
            packages_of_name = {distribution.lower().replace("_", "-") for distribution in distributions.get(name, [])} or {
                name.replace("_", "-"),
                f"{name}-core",
            }
            assert packages_of_name & packages[extra], (name, extra)


def test_a_library_that_is_broken_is_no_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_broken_library.py").write_text("import a_module_that_does_not_exist\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_does_not_exist"):
        library("a_broken_library")
    assert needs().args == (False,)
    require()
    assert reason_in("ModuleNotFoundError: No module named 'a_module_that_does_not_exist'") is None
    assert reason_in("ModuleNotFoundError: polars is not installed") is None, "it is"
