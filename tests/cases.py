"""The conformance cases of `tests/conformance/`, written for this project from the standards, and those of outsiders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]

OWN = Path(__file__).parent / "conformance"
#: Further cases, which are not part of the project.
OUTSIDERS = Path(__file__).parents[2] / "shared" / "conformance"


def own(file: str) -> list[Case]:
    """The cases of one of the project's files; a file that is missing or empty is an error."""
    read: list[Case] = json.loads((OWN / file).read_text(encoding="utf-8"))["cases"]
    assert read
    return read


def of_outsiders(file: str) -> list[Case]:
    """Empty if the file is not there."""
    path = OUTSIDERS / file
    return json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []


def reason_without(file: str) -> str:
    return f"{file} of outsiders is not in {OUTSIDERS}"


def params(cases: list[Case], file: str) -> list[Any]:
    """Parameters of a test, each named by its case; without cases a single one, which is skipped with the reason."""
    return [pytest.param(case, id=case["name"]) for case in cases] or [pytest.param({}, id="absent", marks=pytest.mark.skip(reason=reason_without(file)))]


def data(parts: Any) -> bytes:
    """The bytes of a text, or of a list of parts (each file says which)."""
    match parts:
        case str(text):
            return text.encode()
        case list():
            return b"".join(map(data, parts))
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"repeat": text, "times": times}:
            return text.encode() * times
        case {"gzip": text, **ends}:
            return gzip.compress(text.encode(), mtime=0)[ends.get("from") : ends.get("to")]
        case {"length": inner}:
            return b"%d" % len(data(inner))
        case {"hexlength": inner}:
            return b"%x" % len(data(inner))
    raise ValueError(parts)


def check_shape(cases: list[Case], keys: set[str], least: int) -> None:
    """Every case has its name, its reference and nothing that no runner reads; there are at least so many."""
    assert len({case["name"] for case in cases}) == len(cases) >= least
    for case in cases:
        assert case.keys() <= {"name", "reference", "says", "departure"} | keys, case["name"]
        assert case["reference"], case["name"]
        assert case["says"], case["name"]
        assert len(case.get("departure", "a reason that says why")) > 20, case["name"]
