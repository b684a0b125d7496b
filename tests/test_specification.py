"""`specification.md` names an existing test for every statement of every section of the specification, and none of the simulator alone except
under "Simulator only"; `containment.md` names one for every finding, and `limits.md` those of each bound."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.source

ROOT = Path(__file__).parent.parent

#: Sections of the interface specification, and those of the facts (F) that say what a client meets or does.
SECTIONS = [
    *("1", "2", *(f"2.{n}" for n in range(1, 10)), "3", "4", *(f"4.{n}" for n in range(1, 12)), "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "7", "8", "9"),
    *("F1", *(f"F2.{n}" for n in range(1, 22)), "F3.1", "F3.2", "F3.3", "F3.4", "F4", "F5", *(f"F6.{n}" for n in range(1, 9)), "F7", "F8"),
    *(f"F9.{n}" for n in range(1, 18)),
    *("D4.5", "D4.6", "D4.11", "D6.1", "DF4"),
]
SIMULATOR_ONLY = "Simulator only"
SIMULATOR_FILES = ("crates/simulator/src/", "tests/test_simulator.py::")
UNKNOWN_PROOF = "unknown: docs/wire.md"


class Statement(NamedTuple):
    id: str
    text: str
    proof: str
    heading: str


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    """The rows of a page's tables, each with the heading above it; no table's head."""
    rows: list[tuple[str, list[str]]] = []
    heading = ""
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|---"):
            rows.pop()
        elif line.startswith("| "):
            rows.append((heading, [cell.strip() for cell in line.strip("|").split(" | ")]))
    return rows


def statements(name: str) -> list[Statement]:
    page = (ROOT / "tests" / name).read_text(encoding="utf-8")
    return [Statement(*cells, heading) for heading, cells in rows_of(page)]


STATEMENTS = statements("specification.md")
CONTAINMENT = statements("containment.md")


BOUNDS = {cells[0]: cells[1] for _, cells in rows_of((ROOT / "tests" / "limits.md").read_text(encoding="utf-8"))}


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


def identifiers_in(node: ast.AST) -> set[str]:
    """Names, arguments and attributes, those of httpx excepted."""
    identifiers: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            identifiers.add(part.id)
        elif isinstance(part, ast.arg):
            identifiers.add(part.arg)
        elif isinstance(part, ast.Attribute) and not (isinstance(part.value, ast.Name) and part.value.id == "httpx"):
            identifiers.add(part.attr)
    return identifiers


def has_no_client(test: ast.AST) -> bool:
    """Whether a test mentions the simulator and no client of the package; a client of httpx does not count."""
    identifiers = identifiers_in(test)
    is_foreign = "httpx" in identifiers and not {"Client", "AsyncClient"} & identifiers
    return "Simulator" in identifiers and (is_foreign or not any("client" in name.lower() for name in identifiers))


@cache
def names_without_client(path: str) -> frozenset[str]:
    """The tests of a Python file that run the simulator and no client."""
    functions = [node for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(function.name for function in functions if has_no_client(function))


def is_of_the_simulator(proof: str) -> bool:
    """Whether a proof runs the simulator alone: by its file, or because a Python test runs no client."""
    path, _, name = proof.strip("`").partition("::")
    return proof.strip("`").startswith(SIMULATOR_FILES) or (path.endswith(".py") and name in names_without_client(path))


def find_misplaced(statements: list[Statement]) -> list[str]:
    """Statements that a test of the simulator proves outside of its section, or that another test proves inside."""
    return [
        statement.id
        for statement in statements
        if statement.proof != UNKNOWN_PROOF and is_of_the_simulator(statement.proof) != (statement.heading == SIMULATOR_ONLY)
    ]


def test_a_statement_of_a_client_is_not_proved_by_the_simulator_alone() -> None:
    assert find_misplaced(STATEMENTS) == []
    assert any(statement.heading == SIMULATOR_ONLY for statement in STATEMENTS)


@pytest.mark.parametrize(
    ("heading", "proof"),
    [
        ("Specification 8: limits", "`crates/simulator/src/auth.rs::five_minutes_of_skew_pass_and_a_second_more_does_not`"),
        ("Specification 8: limits", "`tests/test_simulator.py::test_session_windows_touch_and_cover`"),
        ("Specification 8: limits", "`tests/test_signature.py::test_the_schedule_is_a_day_long_by_default`"),
        ("Specification 8: limits", "`tests/test_signature.py::test_the_broadcast_key_is_checked`"),
        (SIMULATOR_ONLY, "`tests/test_wrong_input.py::test_a_credential_without_a_privilege_is_denied`"),
        (SIMULATOR_ONLY, "`tests/test_ranges.py::test_a_long_range_is_requested_in_pieces_that_touch_and_cover`"),
        (SIMULATOR_ONLY, "`src/signer.rs::the_signature_is_that_of_openssl`"),
    ],
)
def test_the_check_finds_a_proof_in_the_wrong_section(heading: str, proof: str) -> None:
    assert is_proved(proof)
    assert find_misplaced([Statement("x-1", "A statement.", proof, heading)]) == ["x-1"]


def test_each_bound_of_the_documentation_has_a_test_or_says_why_not() -> None:
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").partition("## Measured")[0]
    assert list(BOUNDS) == [cells[0] for _, cells in rows_of(page)]
    assert [proof for proofs in BOUNDS.values() if not proofs.startswith("none") for proof in proofs.split(", ") if not is_proved(proof)] == []


def test_every_departure_is_documented_with_its_reason() -> None:
    page = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
    table_rows = [cells for heading, cells in rows_of(page) if heading == "Departures"]
    assert all(len(cells) == 4 and all(cells) for cells in table_rows)
    headings = [statement.id.rpartition("-")[0] for statement in STATEMENTS if statement.heading == "Departures"]
    assert [f"D{cells[0]}" for cells in table_rows] == headings


def test_every_statement_is_proved_by_a_test_that_exists() -> None:
    assert [statement for statement in STATEMENTS if statement.proof != UNKNOWN_PROOF and not is_proved(statement.proof)] == []
    assert [statement for statement in CONTAINMENT if not is_proved(statement.proof)] == []


def test_every_statement_has_an_id_of_its_own_and_says_something() -> None:
    ids = [statement.id for statement in STATEMENTS]
    assert len(set(ids)) == len(ids) >= 290
    assert all(len(statement.text) > 8 for statement in STATEMENTS)


def test_every_line_that_was_found_has_a_statement() -> None:
    ids = [statement.id for statement in CONTAINMENT]
    assert len(set(ids)) == len(ids)
    lines = {statement_id.rpartition("-")[0] for statement_id in ids}
    assert lines == {*(f"C{n}" for n in range(1, 9)), *(f"L{n}" for n in range(2, 10))}


def test_no_section_is_left_out() -> None:
    sections = {statement.id.rpartition("-")[0] for statement in STATEMENTS}
    assert sections == set(SECTIONS)


@pytest.mark.parametrize(
    "proof", ["`tests/test_wire.py::test_no_such_test`", "`tests/no_such_file.py::test_x`", "tests/test_wire.py", "", "`src/signer.rs::authorization`"]
)
def test_the_check_finds_names_that_are_no_test(proof: str) -> None:
    assert not is_proved(proof)


def test_unknowns_of_the_wire_are_documented() -> None:
    assert "\n## Unknown\n" in (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
