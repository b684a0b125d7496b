"""The generated files match the declarations and the template."""

from __future__ import annotations

import importlib.util
import inspect
import runpy
import shutil
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest
from contract import operations

import sideline
from sideline._client.options import ClientOptions

pytestmark = pytest.mark.source

ROOT = Path(__file__).parent.parent


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "tools" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_files_are_current() -> None:
    stale = [path.name for path, text in generator().files().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make generate`"


def test_each_fault_of_the_nights_still_finds_its_line(tmp_path: Path) -> None:
    """A fault whose line has changed stops the mutation run, which `make test` does not do."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    reintroduce = runpy.run_path(str(ROOT / "benches" / "night_mutants.py"))["reintroduce"]
    reintroduce.__globals__["COPY"] = tmp_path
    faults = tomllib.loads((ROOT / "src" / "simulation" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    for number, fault in enumerate(faults):
        reintroduce(number, fault)


@pytest.mark.parametrize("client", [sideline.Client, sideline.AsyncClient])
def test_a_method_of_ids_has_an_overload_for_one_and_one_for_several(client: type) -> None:
    for operation in operations():
        overloads = typing.get_overloads(vars(client)[operation["name"]])
        takes_many = any(argument["takes_many"] for argument in operation["arguments"])
        assert len(overloads) == (2 if takes_many else 0), operation["name"]
        if overloads:
            single, several = (list(inspect.signature(overload).parameters) for overload in overloads)
            assert [*single[:-1], "on_error", "progress", single[-1]] == several


@pytest.mark.parametrize("client", [sideline.Client, sideline.AsyncClient])
def test_the_options_are_the_parameters_of_the_constructor(client: type) -> None:
    expected = {name: hint for name, hint in typing.get_type_hints(client.__init__).items() if name != "return"}
    assert typing.get_type_hints(ClientOptions) == expected
