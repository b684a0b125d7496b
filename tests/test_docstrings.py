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


def public_names() -> Iterator[tuple[str, Any]]:
    """The documented names: those of the reference, and all of a documented module's own."""
    for path in re.findall(r"^::: (sideline\.\S+)$", REFERENCE, re.M):
        owner, _, name = path.rpartition(".")
        if owner == "sideline.plot" and missing(PLOT):
            continue
        target = getattr(importlib.import_module(owner), name)
        if isinstance(target, types.ModuleType):
            for inner, value in vars(target).items():
                if not inner.startswith("_") and getattr(value, "__module__", None) == path:
                    yield f"{path}.{inner}", value
        else:
            yield path, target


PUBLIC = {path: target for path, target in public_names() if not isinstance(target, VALUES)}


def members(class_: Any) -> dict[str, Any]:
    """The public methods and properties of a class, including inherited ones, without the fields of records."""
    attributes = {name: vars(base)[name] for base in reversed(class_.__mro__) if base.__module__.startswith("sideline") for name in vars(base)}
    return {name: attribute for name, attribute in attributes.items() if not name.startswith("_") and not isinstance(attribute, types.MemberDescriptorType)}


def of_the_extension() -> Iterator[doctest.DocTest]:
    """doctest looks for Python's own functions alone."""
    for path, target in PUBLIC.items():
        if isinstance(target, type) and target.__module__ == "sideline":
            for name, member in {"": target, **members(target)}.items():
                test = doctest.DocTestParser().get_doctest(inspect.getdoc(member) or "", {}, f"{path}.{name}".rstrip("."), None, None)
                if test.examples:
                    yield test


DOCUMENTED_MODULES = tuple(f"sideline.{name}" for name in ("_answers", "_client", "_engines.plan", "archive"))
"""Private modules of public names."""
MODULE_INFOS = pkgutil.walk_packages(sideline.__path__, "sideline.")
NAMES = [module.name for module in MODULE_INFOS if not module.name.startswith("sideline._") or module.name.startswith(DOCUMENTED_MODULES)]
MODULES = [importlib.import_module(name) for name in NAMES if not (name.startswith("sideline.plot") and missing(PLOT))]
EXAMPLES = [example for module in MODULES for example in doctest.DocTestFinder(exclude_empty=True).find(module) if example.examples]
EXAMPLES += of_the_extension()


@pytest.fixture(scope="module")
def synced_archive(tmp_path_factory: pytest.TempPathFactory, client: sideline.Client, game: dict[str, Any]) -> sideline.Archive:
    archive = sideline.Archive(tmp_path_factory.mktemp("archive"), client)
    archive.sync(game_ids=[game["id"]]).raise_if_incomplete()
    return archive


ASYNCHRONOUS = ("sideline._client.async_client", "sideline.batch.AsyncBatch", "sideline._client.season.AsyncSeason")
"""Whose examples have an `AsyncClient` and await at the top level, as in a notebook."""


class TopLevelAwait:
    """Runs statements that await on one event loop."""

    def __init__(self, example: doctest.DocTest, service: sideline.Simulator) -> None:
        self.globs = example.globs
        self.globs |= {"client": service.async_client(), "_run": self.run, "asyncio": asyncio}
        self.runner = asyncio.Runner()
        for step in example.examples:
            step.source = step.source if is_plain(step.source) else f"_run({step.source!r})\n"

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
        at_hand |= {"archive": request.getfixturevalue("synced_archive"), "games": 1}
    example.globs = {**at_hand, "Timeout": sideline.Timeout}
    out: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    top_level_await = TopLevelAwait(example, service) if example.name.startswith(ASYNCHRONOUS) else None
    runner = Runner(optionflags=flags)
    failed = runner.run(example, out=out.append, clear_globs=False).failed
    if top_level_await is not None:
        top_level_await.close()
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
    target = PUBLIC[path]
    assert inspect.getdoc(target)
    silent = [name for name, member in members(target).items() if not inspect.getdoc(member)] if isinstance(target, type) else []
    assert silent == []


@pytest.mark.parametrize("path", PUBLIC)
def test_public_names_have_examples(path: str) -> None:
    """In its own text, in that of a method, or where it is of a family (errors, notices) in its parent's."""
    target = PUBLIC[path]
    family = [base for base in target.__mro__ if base.__module__.startswith("sideline")] if isinstance(target, type) else [target]
    texts = [base.__doc__ or "" for base in family]
    texts += [inspect.getdoc(member) or "" for member in members(target).values()] if isinstance(target, type) else []
    assert any(">>>" in text for text in texts)


def test_every_method_of_the_clients_has_an_example() -> None:
    example_names = {example.name for example in EXAMPLES}
    for module, client in (("client", "Client"), ("async_client", "AsyncClient")):
        assert {f"sideline._client.{module}.{client}.{operation['name']}" for operation in operations()} <= example_names


@needs(*PLOT, extra="plot")
def test_every_plot_has_an_example() -> None:
    """They are written in modules of their own, and found there."""
    assert set(sideline.plot.__all__) <= {example.name.rpartition(".")[2] for example in EXAMPLES}
