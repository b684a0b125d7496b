"""The lines of `surface.md`: those of today run, and a habit that fails is named by the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sideline
from sideline import metrics

pl = pytest.importorskip("polars", reason="needs polars: pip install 'sideline[polars]'")
pytest.importorskip("deltalake", reason="needs deltalake: pip install 'sideline[archive]'")

HERE = Path(__file__).parent
PAGE = (HERE / "surface.md").read_text(encoding="utf-8")


class Task(NamedTuple):
    """A row of the table."""

    name: str
    before: str
    now: str
    habit: str
    documented_as: str


TASKS = [
    Task(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| task")
]


def code_of(cell: str) -> str:
    return cell.strip("`")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the lines use."""
    with sideline.Simulator(seed=7, teams=4, games=8, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        game_id = service.games[0]["event_id"]
        session_id = client.game(game_id).table("sessions")["session_id"][0]
        archive = sideline.Archive(tmp_path_factory.mktemp("archives") / "season", client)
        archive.sync(game_ids=game_id, tables=("shots", "box_score"), progress=False)
        yield {
            "sideline": sideline,
            "metrics": metrics,
            "pl": pl,
            "timedelta": timedelta,
            "service": service,
            "client": client,
            "archive": archive,
            "game_id": game_id,
            "session_id": session_id,
            "team_id": service.teams[0]["id"],
        }


def test_there_are_thirty_tasks_and_at_most_48_names() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) == 30
    count = len(sideline.__all__) - 1
    assert count <= 48
    assert f"{count} now" in PAGE


@pytest.mark.filterwarnings("ignore:nothing has the name")
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_line_of_today_runs(task: Task, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    eval(code_of(task.now), names)


@pytest.mark.source
@pytest.mark.filterwarnings("ignore:nothing has the name")
@pytest.mark.parametrize("task", [task for task in TASKS if task.habit != "–"], ids=lambda task: task.name)
def test_a_habit_works_or_the_documentation_names_it(task: Task, names: dict[str, Any]) -> None:
    failure: Exception | None = None
    try:
        eval(code_of(task.habit), names)
    except (AttributeError, NameError, TypeError, KeyError) as error:
        failure = error
    assert (failure is None) == (task.documented_as == "works"), failure
    if failure is not None:
        analyst = (HERE.parent / "docs" / "analyst.md").read_text(encoding="utf-8")
        [table] = re.findall(r"^## Coming from httpx.*?\n\n\|(.*?)\n\n", analyst, re.M | re.S)
        habits = [line.strip("|").partition(" | ")[0] for line in table.splitlines()[2:]] + [analyst]
        assert any(code_of(task.documented_as) in habit for habit in habits)
