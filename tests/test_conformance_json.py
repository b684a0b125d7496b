"""JSON texts (`conformance/json.json`) read as dicts, and in a body that is read as a table."""

from __future__ import annotations

import copy
import json
from typing import Any, NoReturn

import pytest
from cases import Case, check_shape, data, own, params

import sideline

OWN = own("json.json")
EXPECTATIONS = {"value", "float", "integer", "digits", "length", "depth", "refused"}
MARK = b"\xef\xbb\xbf"


def depth(value: Any) -> int:
    levels = 0
    while isinstance(value, list):
        levels += 1
        value = value[0] if value else None
    return levels


def is_expected(value: Any, case: Case) -> bool:
    """`repr` shows types, the order of keys, and exact floats."""
    match case:
        case {"value": expected}:
            return repr(value) == repr(expected)
        case {"float": text}:
            return type(value) is float and repr(value) == repr(float(text))
        case {"integer": text}:
            return type(value) is int and value == int(text)
        case {"digits": count}:
            return type(value) is int and len(str(value)) == count
        case {"length": length}:
            return len(value) == length
        case {"depth": levels}:
            return depth(value) == levels
    return False


def mismatch(case: Case) -> str:
    """What is otherwise than the case expects; empty if nothing is."""
    body = data(case["input"])
    try:
        value = sideline.Payload.from_bytes("get", body).to_dict()
    except sideline.DecodeError as error:
        return "" if "refused" in case else f"dicts refuse it: {error}"
    return "" if is_expected(value, case) else f"dicts have {value!r:.200}"


def mismatch_in_a_table(case: Case) -> str:
    """The text as a field that no table knows, between fields that one knows. A mark may stand only at the beginning of a body."""
    text, mark = data(case["input"]), b""
    if text.startswith(MARK):
        text, mark = text.removeprefix(MARK), MARK
    payload = sideline.Payload.from_bytes("teams", mark + b'{"teams": [{"id": 46, "other": ' + text + b', "name": "Kansas"}]}')
    try:
        rows = payload.table().to_dicts()
    except sideline.DecodeError as error:
        return "" if case.get("refused") is True else f"tables refuse it: {error}"
    if case.get("refused") is True:
        return f"tables read {rows!r:.200}"
    return "" if [(row["team_id"], row["name"]) for row in rows] == [(46, "Kansas")] else f"a table has {rows!r:.200}"


def test_every_own_case_can_be_run() -> None:
    check_shape(OWN, {"kind", "input", "choice"} | EXPECTATIONS, 224)
    for case in OWN:
        assert len(case.keys() & EXPECTATIONS) == 1, case["name"]
        assert case["kind"] in ("valid", "invalid", "free")
        assert ("choice" in case) == (case["kind"] == "free"), case["name"]
        assert case["kind"] == "free" or ("refused" in case) == (case["kind"] == "invalid"), case["name"]
        assert case.get("refused", True) in (True, "dicts")


@pytest.mark.parametrize("case", params(OWN, ""))
def test_an_own_case_is_read_or_refused_as_the_standard_says(case: Case) -> None:
    assert mismatch(case) == ""
    assert mismatch_in_a_table(case) == ""


@pytest.mark.parametrize("case", params(OWN, ""))
def test_a_wrong_expectation_is_noticed_in_every_case(case: Case) -> None:
    without_expectations = {key: value for key, value in copy.deepcopy(case).items() if key not in EXPECTATIONS}
    if "refused" in case:
        assert mismatch(without_expectations | {"value": None}) != ""
        assert mismatch_in_a_table(without_expectations | {"refused": "dicts" if case["refused"] is True else True}) != ""
    else:
        assert mismatch(without_expectations | {"value": ["planted"]}) != ""
        assert mismatch(without_expectations | {"refused": True}) != ""
        assert mismatch_in_a_table(without_expectations | {"refused": True}) != ""


def by_python(body: bytes) -> Any:
    """Python's json without its extensions to JSON: constants, lone surrogates, other encodings."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(body.decode(), parse_constant=refuse)


@pytest.mark.parametrize("case", params([case for case in OWN if case["kind"] != "free"], ""))
def test_another_reader_has_the_same_opinion_of_an_own_case(case: Case) -> None:
    try:
        value = by_python(data(case["input"]))
    except (ValueError, RecursionError):
        assert case["kind"] == "invalid"
    else:
        assert is_expected(value, case)
