"""The examples in the documentation run, against the simulator."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import sideline
from sideline import court, metrics, operations

FOUND = pkgutil.walk_packages(sideline.__path__, "sideline.")
MODULES = [importlib.import_module(module.name) for module in FOUND if not module.name.startswith("sideline._")]
EXAMPLES = [example for module in MODULES for example in doctest.DocTestFinder(exclude_empty=True).find(module) if example.examples]


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory, client: sideline.Client, game: dict[str, Any]) -> sideline.Archive:
    archive = sideline.Archive(tmp_path_factory.mktemp("archive"), client)
    archive.sync(game_ids=[game["id"]]).raise_if_incomplete()
    return archive


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
    if example.name.startswith("sideline.archive"):
        at_hand |= {"archive": request.getfixturevalue("archived"), "games": 1}
    example.globs = {**at_hand, "Timeout": sideline.Timeout}
    out: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.DocTestRunner(optionflags=flags).run(example, out=out.append).failed == 0, "".join(out)


def test_every_method_of_the_clients_has_an_example() -> None:
    shown = {example.name.rpartition(".")[2] for example in EXAMPLES}
    assert {name for name in vars(operations.Operations) if not name.startswith("_")} <= shown


def test_every_plot_has_an_example() -> None:
    """They are written in modules of their own, and found there."""
    assert set(sideline.plot.__all__) <= {example.name.rpartition(".")[2] for example in EXAMPLES}
