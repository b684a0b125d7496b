"""The notebooks run in a real kernel, on their own simulator and on the service selected by the environment."""

from __future__ import annotations

import base64
import io
import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import library, missing, require

import sideline

require("nbclient", "nbformat")
image, nbformat = library("matplotlib.image"), library("nbformat")
ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NEEDS_SPARK = pytest.mark.skipif(shutil.which("java") is None or bool(missing(["pyspark"])), reason="needs Java and pyspark: pip install 'sideline[spark]'")
RUNNABLE = [
    pytest.param(
        path,
        id=path.stem,
        marks=[
            NEEDS_SPARK,
            pytest.mark.extended,
            pytest.mark.timeout(900),
        ]
        if "spark" in path.stem
        else [],
    )
    for path in NOTEBOOKS
]
RUNNER = runpy.run_path(str(ROOT / "notebooks" / "run.py"))
run = RUNNER["run"]

SECRET = "canary-secret-of-the-environment"


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> str:
    return json.dumps([cell.outputs for cell in code(notebook)])


def streams(notebook: Any) -> set[str]:
    return {output["name"] for cell in code(notebook) for output in cell.outputs if output["output_type"] == "stream"}


def measure_change(before: str, after: str) -> float:
    """The share of a picture's pixels that are others: letters differ a little from machine to machine."""
    first, second = (image.imread(io.BytesIO(base64.b64decode(picture)), format="png") for picture in (before, after))
    assert first.shape == second.shape
    return float((np.abs(first - second).max(axis=2) > 0.3).mean())


def test_each_has_a_number_of_its_own_and_the_page_of_notebooks_has_them_all() -> None:
    numbers = [int(path.name[:2]) for path in NOTEBOOKS]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 12
    links = re.findall(r"\]\((\S+\.ipynb)\)", (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8"))
    assert links == [path.name for path in NOTEBOOKS]


def test_all_begin_with_the_same_three_lines() -> None:
    (first,) = {code(read(path))[0].source for path in NOTEBOOKS}
    assert len(first.splitlines()) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_explains_the_real_service_and_no_line_is_too_wide(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert {"`SIDELINE_USERNAME`", "`SIDELINE_SECRET`"} <= set(re.findall(r"`SIDELINE_\w+`", cells[0].source))
    rest = [line for cell in cells[2:] if cell.cell_type == "code" for line in cell.source.splitlines()]
    assert [line for line in rest if len(line) > 110] == []
    # Five minutes.
    assert sum(len(cell.source.split()) for cell in cells) < 500


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebooks_were_run_and_are_small(path: Path) -> None:
    notebook = read(path)
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert path.stat().st_size < 300_000
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata["language_info"] == {"name": "python"}
    assert not re.search(r"/(tmp|home|root|work|Users)\b", outputs(notebook)), "a path of the machine that ran it"


@pytest.mark.parametrize("path", RUNNABLE)
def test_a_run_gives_the_committed_outputs(path: Path, tmp_path: Path) -> None:
    reference, now = read(path), run(path, tmp_path)
    for old, new in zip(code(reference), code(now), strict=True):
        assert RUNNER["shape"](new) == RUNNER["shape"](old), f"run make notebooks; the cell is\n{new.source}"
        for before, after in zip(RUNNER["pictures"](old), RUNNER["pictures"](new), strict=True):
            assert measure_change(before, after) < 0.005, f"run make notebooks; the picture is of\n{new.source}"
    assert streams(now) <= {"stdout"}, "a warning"
    with sideline.Simulator(seed=7, teams=4, games=24) as same:
        for notebook in (reference, now):
            assert same.secret not in outputs(notebook)
            assert same.api_key not in outputs(notebook)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param("01|12", id="two"),
        pytest.param("(?!.*spark)", marks=pytest.mark.extended, id="without Spark"),
        pytest.param("", marks=[pytest.mark.extended, NEEDS_SPARK], id="with Spark"),
    ],
)
def test_notebooks_use_the_service_of_the_environment_and_show_no_secret(names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one kernel, one after the other; the test above runs each on its own."""
    runnable = [path for path in NOTEBOOKS if re.match(names, path.stem)]
    together = nbformat.v4.new_notebook(cells=[cell for path in runnable for cell in code(read(path))])
    nbformat.write(together, tmp_path / "all.ipynb")
    # By the real clock, as the real service is.
    with sideline.Simulator(seed=11, teams=4, games=24) as service:
        service.credentials.add("canary", SECRET)
        for name, value in {**service.environ, "SIDELINE_USERNAME": "canary", "SIDELINE_SECRET": SECRET}.items():
            monkeypatch.setenv(name, value)
        text = outputs(run(tmp_path / "all.ipynb", tmp_path))
        assert service.base_url in text
        paths = {seen.path for seen in service.requests}
        assert SECRET not in text
        assert service.api_key not in text
    assert {"/v1/data/teams", "/v1/data/schedule/games", "/v1/data/sensors/locations"} <= paths


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem.endswith("_a_live_game")], ids=lambda path: path.stem)
def test_without_a_current_game_the_notebook_says_so_and_plays_a_simulated_one(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sideline.Simulator(seed=11, teams=4, games=24) as service:
        service.faults.add("/v1/data/schedule/games", status=200, body={"games": []})
        for name, value in service.environ.items():
            monkeypatch.setenv(name, value)
        notebook = run(path, tmp_path)
        assert [seen.path for seen in service.requests] == ["/v1/data/schedule/games"]
    text = outputs(notebook)
    assert "No game is going on now. The cells below play a simulated one." in text
    assert "1001" in text


def test_a_cell_that_shows_something_else_is_seen() -> None:
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("stream", name="stdout", text="7 rows at http://127.0.0.1:4711")])
    other = nbformat.from_dict(json.loads(json.dumps(cell)))
    other.outputs[0]["text"] = "7 rows at http://127.0.0.1:4712"
    assert RUNNER["shape"](cell) == RUNNER["shape"](other)
    other.outputs[0]["text"] = "8 rows at http://127.0.0.1:4711"
    assert RUNNER["shape"](cell) != RUNNER["shape"](other)
    for volatile_cell in (cell, other):
        volatile_cell.metadata["tags"] = ["volatile"]
    assert RUNNER["shape"](cell) == RUNNER["shape"](other)
