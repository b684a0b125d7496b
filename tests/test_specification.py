"""`specification.md` names an existing test for every statement of every section of the specification; `containment.md` names one for
every finding."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent

#: Sections of the interface specification, and those of the facts (F) that say what a client meets or does.
SECTIONS = [
    *("1", "2", *(f"2.{n}" for n in range(1, 10)), "3", "4", *(f"4.{n}" for n in range(1, 12)), "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "7", "8", "9"),
    *("F1", *(f"F2.{n}" for n in range(1, 22)), "F3.1", "F3.2", "F3.3", "F3.4", "F4", "F5", *(f"F6.{n}" for n in range(1, 9)), "F7", "F8"),
    *(f"F9.{n}" for n in range(1, 18)),
]
UNKNOWN = "unknown: docs/wire.md"


class Statement(NamedTuple):
    id: str
    text: str
    proof: str


def statements(name: str) -> list[Statement]:
    page = (ROOT / "tests" / name).read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    return [Statement(*row) for row in rows if row[0] != "id"]


STATEMENTS = statements("specification.md")
CONTAINMENT = statements("containment.md")


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of a file's tests; empty if there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        functions = (node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return frozenset(name for name in functions if name.startswith("test_"))
    inner = re.sub(r"(?m)^\s*(//.*|#\[(?!(tokio::)?test\b).*\])\n", "", text)
    attribute = re.findall(r"#\[(?:tokio::)?test\b[^\]]*\]\s*(?:async )?fn (\w+)", inner)
    return frozenset(attribute)


def is_proved(proof: str) -> bool:
    path, separator, name = proof.strip("`").partition("::")
    return bool(separator) and name in names_in(path)


def test_every_statement_is_proved_by_a_test_that_exists() -> None:
    assert [statement for statement in STATEMENTS if statement.proof != UNKNOWN and not is_proved(statement.proof)] == []
    assert [statement for statement in CONTAINMENT if not is_proved(statement.proof)] == []


def test_every_statement_has_an_id_of_its_own_and_says_something() -> None:
    ids = [statement.id for statement in STATEMENTS]
    assert len(set(ids)) == len(ids) >= 290
    assert all(len(statement.text) > 8 for statement in STATEMENTS)


def test_every_line_that_was_found_has_a_statement() -> None:
    ids = [statement.id for statement in CONTAINMENT]
    assert len(set(ids)) == len(ids)
    found = {one.rpartition("-")[0] for one in ids}
    assert found == {*(f"C{n}" for n in range(1, 9)), *(f"L{n}" for n in range(2, 10))}


def test_no_section_is_left_out() -> None:
    found = {statement.id.rpartition("-")[0] for statement in STATEMENTS}
    assert found == set(SECTIONS)


@pytest.mark.parametrize(
    "proof", ["`tests/test_wire.py::test_no_such_test`", "`tests/no_such_file.py::test_x`", "tests/test_wire.py", "", "`src/signer.rs::authorization`"]
)
def test_the_check_finds_names_that_are_no_test(proof: str) -> None:
    assert not is_proved(proof)


def test_unknowns_of_the_wire_are_documented() -> None:
    assert "\n## Unknown\n" in (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
