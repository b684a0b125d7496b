"""Every public name has a docstring with an example; the examples run against the simulator."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract import operations
from needs import EXTRAS, PLOT, missing, needs, reason

import sideline
from sideline import court, metrics

REFERENCE = (Path(__file__).parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
VALUES = (str, tuple, types.MappingProxyType, court.Frame, court.Court)


def named() -> Iterator[tuple[str, Any]]:
    """The documented names: those of the reference, and all of a documented module's own."""
    for path in re.findall(r"^::: (sideline\.\S+)$", REFERENCE, re.M):
        owner, _, name = path.rpartition(".")
        if owner == "sideline.plot" and missing(PLOT):
            continue
        found = getattr(importlib.import_module(owner), name)
        if isinstance(found, types.ModuleType):
            for inner, one in vars(found).items():
                if not inner.startswith("_") and getattr(one, "__module__", None) == path:
                    yield f"{path}.{inner}", one
        else:
            yield path, found


PUBLIC = {path: found for path, found in named() if not isinstance(found, VALUES)}


def members(of: Any) -> dict[str, Any]:
    """The public methods and properties of a class, including inherited ones, without the fields of records."""
    own = {name: vars(base)[name] for base in reversed(of.__mro__) if base.__module__.startswith("sideline") for name in vars(base)}
    return {name: one for name, one in own.items() if not name.startswith("_") and not isinstance(one, types.MemberDescriptorType)}


def of_the_extension() -> Iterator[doctest.DocTest]:
    """doctest looks for Python's own functions alone."""
    for path, of in PUBLIC.items():
        if isinstance(of, type) and of.__module__ == "sideline":
            for name, one in {"": of, **members(of)}.items():
                found = doctest.DocTestParser().get_doctest(inspect.getdoc(one) or "", {}, f"{path}.{name}".rstrip("."), None, None)
                if found.examples:
                    yield found


SHOWN = tuple(f"sideline.{name}" for name in ("_answers", "_client", "_engines.plan", "archive"))
"""Private modules of public names."""
FOUND = pkgutil.walk_packages(sideline.__path__, "sideline.")
NAMES = [module.name for module in FOUND if not module.name.startswith("sideline._") or module.name.startswith(SHOWN)]
MODULES = [importlib.import_module(name) for name in NAMES if not (name.startswith("sideline.plot") and missing(PLOT))]
EXAMPLES = [example for module in MODULES for example in doctest.DocTestFinder(exclude_empty=True).find(module) if example.examples]
EXAMPLES += of_the_extension()


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory, client: sideline.Client, game: dict[str, Any]) -> sideline.Archive:
    archive = sideline.Archive(tmp_path_factory.mktemp("archive"), client)
    archive.sync(game_ids=[game["id"]]).raise_if_incomplete()
    return archive


AWAITED = ("sideline._client.async_client", "sideline.batch.AsyncBatch", "sideline._client.season.AsyncSeason")
"""Whose examples have an `AsyncClient` and await at the top level, as in a notebook."""


class TopLevelAwait:
    """Runs statements that await on one event loop."""

    def __init__(self, example: doctest.DocTest, service: sideline.Simulator) -> None:
        self.globs = example.globs
        self.globs |= {"client": service.async_client(), "_run": self.run, "asyncio": asyncio}
        self.runner = asyncio.Runner()
        for one in example.examples:
            one.source = one.source if is_plain(one.source) else f"_run({one.source!r})\n"

    def run(self, source: str) -> None:
        code = compile(source, "<example>", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        self.runner.run(eval(code, self.globs))

    def close(self) -> None:
        self.runner.run(self.globs["client"].aclose())
        self.runner.close()


def is_plain(source: str) -> bool:
    try:
        compile(source, "<example>", "single")
    except SyntaxError:
        return False
    return True


class Runner(doctest.DocTestRunner):
    """Runs an example up to the first optional library that is not installed."""

    def __init__(self, optionflags: int) -> None:
        super().__init__(optionflags=optionflags | doctest.FAIL_FAST)
        self.missing: list[str] = []

    def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any) -> None:
        error = exc_info[1]
        if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS and missing([error.name]):
            self.missing.append(error.name)
        super().report_unexpected_exception(out, test, example, exc_info)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_runs(
    example: doctest.DocTest,
    service: sideline.Simulator,
    client: sideline.Client,
    game: dict[str, Any],
    session_id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    at_hand: dict[str, Any] = {
        "client": client,
        "service": service,
        "sideline": sideline,
        "court": court,
        "metrics": metrics,
        "live_game_id": service.games[0]["event_id"],
        "team_id": game["game_attributes"]["home_team_id"],
        "game_id": game["id"],
        "session_id": session_id,
        "session_start": game["results"][0]["started_at"],
    }
    if example.name.startswith(("sideline.archive", "sideline.errors.QueryError")):
        at_hand |= {"archive": request.getfixturevalue("archived"), "games": 1}
    example.globs = {**at_hand, "Timeout": sideline.Timeout}
    out: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    awaited = TopLevelAwait(example, service) if example.name.startswith(AWAITED) else None
    runner = Runner(optionflags=flags)
    failed = runner.run(example, out=out.append, clear_globs=False).failed
    if awaited is not None:
        awaited.close()
    if runner.missing:
        pytest.skip(reason(runner.missing))
    assert failed == 0, "".join(out)


def test_everything_public_is_in_the_reference() -> None:
    names = {f"sideline.{name}" for name in sideline.__all__ if not isinstance(getattr(sideline, name), VALUES)}
    assert names <= set(PUBLIC)


@needs(*PLOT, extra="plot")
def test_every_plot_is_in_the_reference() -> None:
    assert {f"sideline.plot.{name}" for name in sideline.plot.__all__} <= set(PUBLIC)


@pytest.mark.parametrize("path", PUBLIC)
def test_public_names_have_docstrings(path: str) -> None:
    of = PUBLIC[path]
    assert inspect.getdoc(of)
    silent = [name for name, one in members(of).items() if not inspect.getdoc(one)] if isinstance(of, type) else []
    assert silent == []


@pytest.mark.parametrize("path", PUBLIC)
def test_public_names_have_examples(path: str) -> None:
    """In its own text, in that of a method, or where it is of a family (errors, notices) in its parent's."""
    of = PUBLIC[path]
    family = [base for base in of.__mro__ if base.__module__.startswith("sideline")] if isinstance(of, type) else [of]
    texts = [base.__doc__ or "" for base in family]
    texts += [inspect.getdoc(one) or "" for one in members(of).values()] if isinstance(of, type) else []
    assert any(">>>" in text for text in texts)


def test_every_method_of_the_clients_has_an_example() -> None:
    shown = {example.name for example in EXAMPLES}
    for module, client in (("client", "Client"), ("async_client", "AsyncClient")):
        assert {f"sideline._client.{module}.{client}.{one['name']}" for one in operations()} <= shown


@needs(*PLOT, extra="plot")
def test_every_plot_has_an_example() -> None:
    """They are written in modules of their own, and found there."""
    assert set(sideline.plot.__all__) <= {example.name.rpartition(".")[2] for example in EXAMPLES}
