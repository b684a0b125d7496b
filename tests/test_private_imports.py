"""Tests use few private names: each file's private imports and patches are listed here, and their number may only fall.

Settings are not patched: `archives.archive_with` and the like pass them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.source

TESTS = Path(__file__).parent
PRIVATE = re.compile(r"sideline(\.\w+)*\._(?!_)\w+")

ALLOWED_IMPORTS: dict[str, tuple[int, str]] = {
    "findings/test_python_findings.py": (1, "the verdicts that pages must name"),
    "findings/test_use_findings.py": (2, "the page and the terminal of a game without a browser"),
    "archives.py": (9, "the door to the archive's settings and schemas, to both ways in which it commits, and to what it stores"),
    "contract.py": (1, "the core's own list of operations"),
    "test_archive.py": (5, "steps and units, which no table shows; the bodies that are in memory at once"),
    "test_archive_arrow.py": (2, "arrays that are made and files that are read without pandas"),
    "test_archive_bucket.py": (2, "commits and compactions one at a time, whose requests are counted"),
    "test_archive_corrections.py": (1, "rules of what a correction is, on rows by hand"),
    "test_archive_export.py": (3, "the target as an export sees it, the rules of its values, and a kill before any statement"),
    "test_archive_lakehouse.py": (1, "rows that a key does not tell apart, which no service sends"),
    "test_archive_leases.py": (1, "leases with a clock of the test's"),
    "test_archive_memory.py": (6, "when memory is returned and how many bodies are decoded at once, which no result shows; what a sync holds packed"),
    "test_archive_pipeline.py": (1, "chunks without an archive"),
    "test_archive_trust.py": (3, "a decoder of last year; rules of what is settled, on rows by hand"),
    "test_archive_writers.py": (8, "another writer between two steps of ours, and how often files are read"),
    "test_audit_rules.py": (3, "rules on frames by hand"),
    "test_capture.py": (1, "a capture without a process, and pseudonyms of a key"),
    "test_cli.py": (1, "the statuses that the documentation lists"),
    "test_cli_live.py": (1, "the box score before the first update"),
    "test_crosswalk.py": (2, "names compared one by one"),
    "test_display.py": (1, "lines of the display without a terminal"),
    "test_finding.py": (1, "names compared one by one"),
    "test_generated.py": (1, "generated code"),
    "test_injection.py": (2, "what counts as visible"),
    "test_journal.py": (1, "the command's line each 10 s"),
    "test_life.py": (1, "every state of a unit with every observation"),
    "test_live_page.py": (1, "the page's events, refusals and settings without a browser"),
    "test_odd_values.py": (1, "the target as an export sees it"),
    "test_on_air.py": (2, "the fields that the documentation lists, and refusals without a network"),
    "test_packaging.py": (1, "the file of the extension"),
    "test_plan.py": (2, "clients that the parts of one process share"),
    "test_plot.py": (1, "places of marks, which no axis shows"),
    "test_pseudonyms.py": (1, "the mapping itself, which outputs show only in part"),
    "test_report.py": (1, "cells of the report, and the time in an earlier one"),
    "test_scoreboard.py": (3, "the view of a game without a stream"),
    "test_status.py": (1, "rules of when a row holds, on rows by hand"),
}
"""File → how many, and why."""


def uses(source: str) -> list[str]:
    """The private modules and names that a file imports, and the targets and private names that it patches."""
    return list(_uses(ast.parse(source)))


def _uses(tree: ast.AST) -> Iterator[str]:
    modules: set[str] = set()
    """Local names of private modules and of their members: `from sideline.archive import _sync as sync`."""
    own_names = {"sideline"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if PRIVATE.match(name.name) or name.name == "_core")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sideline":
            own_names |= {name.asname or name.name for name in node.names}
            if PRIVATE.match(node.module or ""):
                yield node.module or ""
                modules |= {name.asname or name.name for name in node.names}
            else:
                private = [name for name in node.names if name.name.startswith("_") and not name.name.startswith("__")]
                modules |= {name.asname or name.name for name in private}
                yield from (f"{node.module}.{name.name}" for name in private)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr" and node.args:
            yield from _patch_targets(node.args, modules, own_names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            # The text of a program that a test runs.
            yield from (match[0].split()[-1] for match in re.finditer(rf"^\s*(from|import) {PRIVATE.pattern}", node.value, re.MULTILINE))
            yield from (match[0].strip() for match in re.finditer(r"^\s*from sideline(\.\w+)* import .*\b_[a-z]\w*", node.value, re.MULTILINE))


def _patch_targets(arguments: list[ast.expr], modules: set[str], own_names: set[str]) -> Iterator[str]:
    target, *rest = arguments
    if isinstance(target, ast.Constant) and isinstance(target.value, str):
        if PRIVATE.match(target.value):
            yield target.value
    elif rest:
        name = str(rest[0].value) if isinstance(rest[0], ast.Constant) else ast.unparse(rest[0])
        root = ast.unparse(target).partition(".")[0]
        if root in modules or (root in own_names and isinstance(rest[0], ast.Constant) and name.startswith("_") and not name.startswith("__")):
            yield f"{ast.unparse(target)}.{name}"


FILES = sorted(path for path in TESTS.rglob("*.py") if path != Path(__file__))


def test_private_imports_and_patches_only_become_fewer() -> None:
    uses_by_file = {str(path.relative_to(TESTS)): uses(path.read_text(encoding="utf-8")) for path in FILES}
    counts = {name: len(names) for name, names in uses_by_file.items() if names}
    allowed_counts = {name: number for name, (number, _) in ALLOWED_IMPORTS.items()}
    more = {name: uses_by_file[name] for name, number in counts.items() if number > allowed_counts.get(name, 0)}
    assert more == {}, "private imports that are not listed in ALLOWED_IMPORTS: use what is public, or tests/archives.py"
    assert counts == allowed_counts, "some are gone: lower their number in ALLOWED_IMPORTS"


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("from sideline._text import visible", 1),
        ("from sideline.archive._plan import Unit, is_settled", 1),
        ("from sideline.archive import _plan as plan, _sync", 2),
        ("from sideline import Client, _core", 1),
        ("import sideline._core", 1),
        ('def test(monkeypatch):\n    monkeypatch.setattr("sideline._serve.HEARTBEAT", 0.1)', 1),
        ('from sideline.archive import _sync as sync\ndef test(patch):\n    patch.setattr(sync, "trim", 1)\n    patch.setattr(sync.Sync, "run", 1)', 3),
        ('from sideline import cli\ndef test(patch):\n    patch.setattr(cli, "_LINE_INTERVAL", 1)', 1),
        ('RUN = """\nfrom sideline.archive._memory import trim\ntrim()\n"""', 1),
        ('from sideline._serve import Handler\ndef test(patch):\n    patch.setattr(Handler, "timeout", 1)', 2),
        ("import sideline\nfrom sideline.archive import KEYS\nsideline.__version__\nfrom sideline import __version__", 0),
        ('def test(patch):\n    patch.setattr(terminal, "isatty", 1)\n    patch.setattr("sideline.cli.main", 1)', 0),
        ('import http.client\ndef test(patch):\n    patch.setattr(http.client, "_MAXLINE", 1)', 0),
    ],
)
def test_every_kind_of_private_use_is_counted(source: str, number: int) -> None:
    assert len(uses(source)) == number
