"""Tables, payloads and schemas in a terminal and in a notebook: names and statistics first."""

from __future__ import annotations

import html
import json
import re
import uuid
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from needs import PLOT, library, needs, require

import sideline

PACKAGE = Path(sideline.__file__).parent
SESSION = str(uuid.UUID(int=7 << 96 | 0x1234))


def box_score(lines: int = 12) -> sideline.Payload:
    """A body of stats, typed by hand: the player's number is in each name."""
    players = [
        {
            "id": 70 + number,
            "player_details": {"firstname": f"First{number}", "lastname": f"Last{number}"},
            "stats": {"PTS": 10 + number, "REB": 3, "AST": 2, "FG": 5, "FGA": 9, "DIST": 123456},
        }
        for number in range(lines)
    ]
    raw = json.dumps({"teams": [{"id": 5, "name": "Elkhorn Mariners", "player_stats": players}]}).encode()
    return sideline.Payload.from_bytes("stats", raw, session_id=SESSION)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_text_fits_the_terminal_with_names_and_statistics_first(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = str(box_score().table("box_score"))
    assert max(map(len, text.splitlines())) <= width
    heads = text.splitlines()[1].split()
    assert heads[:6] == ["team_name", "first_name", "last_name", "PTS", "REB", "AST"]
    assert text.splitlines()[2].split()[:6] == ["Elkhorn", "Mariners", "First0", "Last0", "10", "3"]
    assert ("columns not shown" in text) == (len(heads) < 29)


def test_text_shows_uuids_by_their_first_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    text = str(box_score().table("box_score"))
    assert SESSION not in text
    assert f" {SESSION[:8]}…" in text
    heads = text.splitlines()[1].split()
    assert heads.index("PTS") < heads.index("DIST") < heads.index("session_id")


def test_a_selection_of_columns_stays_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    table = box_score().table("box_score", columns=["session_id", "PTS", "last_name"])
    assert str(table).splitlines()[1].split() == ["session_id", "PTS", "last_name"]


def test_columns_without_a_value_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    heads = str(box_score().table("box_score")).splitlines()[1].split()
    assert heads.index("session_id") < heads.index("BLK"), "nobody blocked a shot"


def columns_of(page: str) -> list[str]:
    return re.findall(r"<th[^>]*>(\w+)</th>", page.partition("</thead>")[0])


def test_html_has_names_and_statistics_before_uuids_and_the_whole_id_to_point_at() -> None:
    table = box_score().table("box_score")
    page = table._repr_html_()
    assert columns_of(page)[:6] == ["team_name", "first_name", "last_name", "PTS", "REB", "AST"]
    assert f">{SESSION}<" not in page
    assert re.search(f'<td[^>]* title="{SESSION}">{SESSION[:8]}…</td>', page)
    assert page.startswith('<div style="overflow-x:auto">'), "a wide table scrolls in the page"


def test_the_html_of_a_payload_shows_the_first_rows_of_its_first_table() -> None:
    page = html.unescape(box_score()._repr_html_())
    assert "<b>player_stats</b>: 72 rows" in page
    assert page.count("<td style") and "First0" in page
    assert "<th style" in page and "tables" in page, "the facts follow"


@pytest.mark.parametrize(
    ("payload", "pattern"),
    [
        (sideline.Payload.from_bytes("game_events", b"{}"), "none: use to_dict()"),
        (sideline.Payload.from_bytes("teams", b'{"teams": [{"id": "x"}]}'), r"\$.teams\[0\].id"),
        (sideline.Payload.from_bytes("teams", b'{"teams": []}'), "0 rows"),
    ],
    ids=["no table", "undecodable", "empty"],
)
def test_the_html_of_a_payload_without_rows_says_so(payload: sideline.Payload, pattern: str) -> None:
    assert re.search(pattern, html.unescape(payload._repr_html_()))


def test_schemas_have_a_short_repr() -> None:
    text = repr(sideline.SCHEMAS)
    assert text.startswith(f"<sideline.SCHEMAS: {len(sideline.SCHEMAS)} tables: teams, players,")
    assert len(text) < 600
    assert list(sideline.SCHEMAS) == [schema.name for schema in sideline.SCHEMAS.values()]
    assert "teams" in sideline.SCHEMAS and "no such" not in sideline.SCHEMAS and 7 not in sideline.SCHEMAS
    with pytest.raises(TypeError):
        sideline.SCHEMAS["teams"] = None  # type: ignore[index]


def test_a_batch_shows_how_many_units_ended_how(client: sideline.Client, session_id: str) -> None:
    batch: Any = client.stats([session_id, "no-such", "nor-this"], on_error="keep")
    assert "3 units, 1 fetched, 2 missing" in repr(batch)
    assert re.search(r">missing</th><td[^>]*>2<", batch._repr_html_())


MODULES = sorted(
    ".".join(["sideline", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in (*PACKAGE.glob("[!_]*.py"), PACKAGE / "plot", PACKAGE / "archive")
)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_module_says_which_names_are_its_own(name: str) -> None:
    if name == "sideline.plot":
        require(*PLOT, extra="plot")
    module = import_module(name)
    assert module.__all__
    assert all(hasattr(module, public_name) for public_name in module.__all__)
    assert not {"Any", "Iterable", "TypeVar", "TYPE_CHECKING"} & set(module.__all__)


@pytest.mark.parametrize("module", [sideline.metrics, pytest.param(library("sideline.plot"), marks=needs(*PLOT, extra="plot")), sideline.court])
def test_completion_in_a_notebook_offers_public_names_alone(module: ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)


def test_the_first_example_of_the_readme_prints_statistics_of_named_players(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", readme, re.S | re.M)[0]
    exec(code, {})
    output = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "\n".join(f"    {line}" for line in output) in readme, "the README has another output"
    first, heads, *lines = output
    assert first.startswith("box_score: ")
    assert heads.split()[:6] == ["team_name", "first_name", "last_name", "PTS", "REB", "AST"]
    assert len(code.splitlines()) <= 5
    assert any(re.match(r"[A-Z]\w+ [A-Z]\w+ +[A-Z]\w+ +[A-Z]\w+ +\d+", line) for line in lines)
