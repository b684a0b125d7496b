"""The arrows between our crates: what each may depend on. A crate that is not in the table has no place in the workspace yet."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.source

ROOT = Path(__file__).parent.parent
CLIENT = "sideline"
LIBRARIES = {"sideline-reader", "sideline-tables", "sideline-tracking", "sideline-simulator", CLIENT}
ARROWS: dict[str, set[str]] = {
    "sideline-reader": set(),
    "sideline-tables": {"sideline-reader"},
    "sideline-tracking": set(),
    "sideline-simulator": set(),
    CLIENT: {"sideline-reader", "sideline-tables"},
    "sideline-python": LIBRARIES,
    "sideline-extension": {"sideline-python"},
}
"""Crate → the crates of ours that its code may use."""
ARROWS_OF_TESTS: dict[str, set[str]] = {
    # Its models and the table declarations are compared there.
    CLIENT: {"sideline-simulator"},
}
"""Crate → the further crates of ours that its tests may use."""


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def workspace() -> dict[str, Any]:
    return read_toml(ROOT / "Cargo.toml")


@cache
def members() -> dict[str, dict[str, Any]]:
    """The manifest of each crate of ours, by its name."""
    manifests = [workspace(), *(read_toml(ROOT / member / "Cargo.toml") for member in workspace()["workspace"]["members"])]
    return {manifest["package"]["name"]: manifest for manifest in manifests}


def dependencies(manifest: Mapping[str, Any], *kinds: str, shared: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages that a manifest names, also under another name, for one platform, or by way of the workspace."""
    for table in [manifest, *manifest.get("target", {}).values()]:
        for kind in kinds:
            for name, dependency in table.get(kind, {}).items():
                details = dependency if isinstance(dependency, dict) else {}
                definition = shared.get(name) if details.get("workspace") else None
                details = definition if isinstance(definition, dict) else details
                yield details.get("package", name)


def crossings(manifest: Mapping[str, Any], shared: Mapping[str, Any]) -> set[str]:
    """Return each crate of ours that a manifest names and may not."""
    name = manifest["package"]["name"]
    of_code = {package for package in dependencies(manifest, "dependencies", "build-dependencies", shared=shared) if package.startswith(CLIENT)}
    of_tests = {package for package in dependencies(manifest, "dev-dependencies", shared=shared) if package.startswith(CLIENT)}
    return of_code - ARROWS[name] | of_tests - ARROWS[name] - ARROWS_OF_TESTS.get(name, set())


def test_every_crate_has_its_place() -> None:
    assert members().keys() == ARROWS.keys()
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert folders <= set(workspace()["workspace"]["members"])


@pytest.mark.parametrize("name", sorted(ARROWS))
def test_a_crate_depends_only_on_those_below_it(name: str) -> None:
    assert crossings(members()[name], workspace()["workspace"]["dependencies"]) == set()


def test_the_client_is_built_without_the_simulator() -> None:
    assert workspace()["workspace"]["default-members"] == ["."]
    assert "sideline-simulator" not in {*dependencies(workspace(), "dependencies", shared={})}


@pytest.mark.parametrize(
    ("manifest", "crossing"),
    [
        ({"package": {"name": "sideline-simulator"}, "dependencies": {"sideline": {"path": "../.."}}}, "sideline"),
        ({"package": {"name": "sideline-simulator"}, "dev-dependencies": {"sideline": {"path": "../.."}}}, "sideline"),
        ({"package": {"name": "sideline-simulator"}, "build-dependencies": {"client": {"package": "sideline"}}}, "sideline"),
        ({"package": {"name": "sideline-tables"}, "dependencies": {"sideline": {"workspace": True}}}, "sideline"),
        ({"package": {"name": "sideline-tables"}, "dependencies": {"ours": {"workspace": True}}}, "sideline-tracking"),
        ({"package": {"name": "sideline"}, "dependencies": {"sideline-simulator": {"path": "crates/simulator"}}}, "sideline-simulator"),
        ({"package": {"name": "sideline-reader"}, "target": {"cfg(unix)": {"dependencies": {"sideline-tables": "1"}}}}, "sideline-tables"),
    ],
)
def test_the_check_finds_a_forbidden_arrow(manifest: dict[str, Any], crossing: str) -> None:
    assert crossings(manifest, {"ours": {"package": "sideline-tracking", "path": "crates/tracking"}}) == {crossing}


@pytest.mark.parametrize("kind", ["dependencies", "dev-dependencies"])
def test_a_test_of_the_client_may_use_the_simulator(kind: str) -> None:
    manifest = {"package": {"name": CLIENT}, kind: {"sideline-simulator": {"path": "crates/simulator"}}}
    assert (crossings(manifest, {}) == set()) == (kind == "dev-dependencies")


def test_the_picture_of_the_house_is_current() -> None:
    """`python tools/house.py --picture` draws what docs/design.md shows."""
    output = subprocess.run([sys.executable, "tools/house.py", "--picture"], cwd=ROOT, check=True, capture_output=True, text=True)  # ours
    assert f"```text\n{output.stdout}```" in (ROOT / "docs/design.md").read_text(encoding="utf-8")
