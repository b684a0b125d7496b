"""The package for type checkers: the programs in `typed/` with mypy and pyright, both strict; the stubs."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from needs import PLOT, missing, needs
from pages import BLOCKS

import sideline

ROOT = Path(__file__).parent.parent
TYPED = Path(__file__).parent / "typed"
PROGRAMS = sorted(path.name for path in TYPED.glob("*.py"))
REFUSED_LINES = {number for number, line in enumerate((TYPED / "mistakes.py").read_text(encoding="utf-8").splitlines(), 1) if "# refused" in line}

# A checker reads the whole package, and the machine may be busy.
pytestmark = pytest.mark.timeout(300)

ALLOWLIST = """
# pyo3 lists every name in it, but `from sideline._core import *` is not used.
sideline._core.__all__
"""
"""Where the extension may differ from its stub."""


def run(*command: str, at: Path = ROOT) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run([sys.executable, "-m", *command], cwd=at, capture_output=True, text=True, env=env, timeout=280)


@cache
def why_pyright_cannot_run() -> str:
    """Empty where it can. It is a program for Node, which it fetches when it first runs."""
    done = run("pyright", "--version")
    return "" if done.returncode == 0 else f"pyright cannot run: {(done.stderr or done.stdout).strip()[-200:]}"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The programs in a folder of their own: a user's project, without this one's settings."""
    for name in PROGRAMS:
        shutil.copy(TYPED / name, tmp_path)
    return tmp_path


STANDARD = """
disallow_untyped_calls = false
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_any_generics = false
disallow_subclassing_any = false
disallow_untyped_decorators = false
warn_return_any = false
warn_unused_ignores = false
disable_error_code = import-untyped
"""
"""What mypy refuses only if it is strict. Arrow has no types."""


def mypy(at: Path, *, is_strict: bool = True) -> tuple[dict[str, set[int]], str]:
    """The lines with errors of each file in a folder, and what the checker says."""
    settings = ["[mypy]", "strict = true"]
    if not is_strict:
        # Only for these files: libraries are then read with the options of the strict check, whose cache has them.
        settings += [f"[mypy-{path.stem}]\n{STANDARD}" for path in at.glob("*.py")]
    (at / "mypy.ini").write_text("\n".join(settings), encoding="utf-8")
    done = run("mypy", f"--cache-dir={ROOT / '.mypy_cache' / 'strict'}", ".", at=at)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines: dict[str, set[int]] = {path.name: set() for path in at.glob("*.py")}
    for name, line in re.findall(r"^([^:\n]+):(\d+): error:", done.stdout, re.M):
        lines[name].add(int(line))
    return lines, done.stdout


def pyright(at: Path, *, is_strict: bool = True) -> tuple[dict[str, set[int]], str]:
    """The same of pyright."""
    if reason := why_pyright_cannot_run():
        pytest.skip(reason)
    settings = {"typeCheckingMode": "strict" if is_strict else "standard", "pythonVersion": "3.11"}
    (at / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, "--project", ".", at=at)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    lines: dict[str, set[int]] = {path.name: set() for path in at.glob("*.py")}
    assert report["summary"]["filesAnalyzed"] == len(lines)
    for fault in report["generalDiagnostics"]:
        lines[Path(fault["file"]).name].add(fault["range"]["start"]["line"] + 1)
    return lines, "\n".join(f"{fault['file']}: {fault['message']}" for fault in report["generalDiagnostics"])


Checker = Callable[..., tuple[dict[str, set[int]], str]]


@pytest.mark.parametrize("checker", [pytest.param(mypy, marks=needs("mypy")), pyright], ids=["mypy", "pyright"])
def test_a_users_program_is_clean_and_a_mistake_is_refused(checker: Checker, elsewhere: Path) -> None:
    assert len(REFUSED_LINES) >= 50
    uses = [(TYPED / name).read_text(encoding="utf-8") for name in PROGRAMS if name != "mistakes.py"]
    assert sum(text.count(" print(") + text.count(" assert_type(") for text in uses) >= 60
    error_lines, output = checker(elsewhere)
    assert error_lines == {name: REFUSED_LINES if name == "mistakes.py" else set() for name in PROGRAMS}, output


@pytest.mark.parametrize("checker", [mypy, pytest.param(pyright, marks=pytest.mark.extended)], ids=["mypy", "pyright"])
def test_python_blocks_of_the_documentation_have_no_type_errors(checker: Checker, tmp_path: Path) -> None:
    assert len(BLOCKS) > 90
    for block in BLOCKS:
        (tmp_path / f"{block.page.stem.lower()}_{block.line}.py").write_text(block.code, encoding="utf-8")
    lines, text = checker(tmp_path, is_strict=False)
    assert not {name: numbers for name, numbers in lines.items() if numbers}, text


@needs("mypy")
def test_the_stubs_are_true(tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text(ALLOWLIST, encoding="utf-8")
    # Only the modules whose types the stub names: the whole package would take 16 seconds.
    lines = ["[mypy]", "strict = true", "mypy_path = python", "ignore_missing_imports = true", "follow_imports = skip"]
    modules = ("sideline._client", "sideline._client.types", "sideline.errors")
    lines += [line for module in modules for line in (f"[mypy-{module}]", "follow_imports = normal")]
    (tmp_path / "mypy.ini").write_text("\n".join(lines), encoding="utf-8")
    options = ["--mypy-config-file", str(tmp_path / "mypy.ini"), "--allowlist", str(tmp_path / "allowed")]
    done = run("mypy.stubtest", "sideline._core", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_public_types_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_pyright_cannot_run():
        pytest.skip(reason)
    # An editable install is no package to it; the libraries must be found for the types that name them.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(sideline.__file__).parent.parent), sysconfig.get_path("purelib")]))
    done = run("pyright", "--verifytypes", "sideline", "--ignoreexternal", "--outputjson", at=tmp_path)
    report = json.loads(done.stdout)["typeCompleteness"]
    unclear = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"])]
    assert (unclear, report["completenessScore"]) == ([], 1)


def public() -> Iterator[tuple[str, typing.Any]]:
    """Every public name, and the public methods of classes with their constructors."""
    modules = {"sideline": sideline, "sideline.metrics": sideline.metrics} | ({} if missing(PLOT) else {"sideline.plot": sideline.plot})
    for path, module in modules.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{path}.{name}", value
            if inspect.isclass(value):
                yield f"{path}.{name}", value
                for base in value.__mro__:
                    if base.__module__.startswith("sideline"):
                        yield from ((f"{path}.{name}.{member}", member_value) for member, member_value in members(base))


def members(class_: type) -> Iterator[tuple[str, typing.Any]]:
    for name, member in vars(class_).items():
        plain = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if callable(plain) and not inspect.isclass(plain) and (name == "__init__" or not name.startswith("_")):
            yield name, plain


@needs("deltalake", "duckdb", "pandas", "polars", "pyarrow")
@pytest.mark.parametrize(("path", "target"), [*public()], ids=lambda value: value if isinstance(value, str) else "")
def test_types_and_signatures_can_be_read_at_run_time(path: str, target: typing.Any) -> None:
    # Methods of the extension have no annotations; their stub is checked above.
    if inspect.isfunction(target) or inspect.isclass(target):
        typing.get_type_hints(target)
    # Python itself knows no signature of an exception without a constructor of its own.
    if not (inspect.isclass(target) and issubclass(target, BaseException)):
        inspect.signature(target)
