"""Bodies with unusual values: REST's table and the live box score read the same values, or both name the same row."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sideline

AT = datetime(2027, 3, 1, 12, 0, 5, tzinfo=UTC)
GOLDEN = Path(__file__).parent / "golden"
UNUSUAL: list[Any] = [
    None, True, False, 0, -1, 7, 1.5, 1e300, -0.0, 2**53 + 1, 2**63, 10**400, "", " ", "7", " 7", "07", "1e3", "x", "2-4", "é\x00", [], [1], [{}],
    {}, {"id": 3}, {"id": "x"}, {"value": 1},
]  # fmt: skip
CODES_OF_ALL = set(sideline.SCHEMAS["box_score"].names)
Row = dict[str, Any]
Read = tuple[dict[tuple[int, int], Row] | None, str | None]
"""The rows by team and player, or the path of what is unreadable."""


def update(text: str) -> sideline.Update:
    restore: Callable[..., sideline.Update] = getattr(sideline.Update, "_restore")  # noqa: B009
    return restore(None, "", text, None, None, None, AT - datetime(1970, 1, 1, tzinfo=UTC))


def positions(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and array below a value, with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from positions(value[key])


def change(dice: random.Random, count: int, body: Any, inside: Callable[[Any], Any]) -> Any:
    """A copy in which so many places inside a part of it are unusual."""
    changed_body = copy.deepcopy(body)
    for _ in range(count):
        candidates = list(positions(inside(changed_body)))
        if not candidates:
            return changed_body
        parent, key = dice.choice(candidates)
        action = dice.randrange(4)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[dice.choice(["id", "stats", "PTS", "player_stats", "a\x00b", "pid", "\x1b"])] = parent.pop(key)
        else:
            parent[key] = copy.deepcopy(dice.choice(UNUSUAL))
    return changed_body


def rows_of(table: sideline.Table) -> dict[tuple[int, int], Row]:
    """What both show of a row: its names, version and values."""
    names = ("team_name", "first_name", "last_name", "version")
    values = [name for name in table.schema.names if name not in CODES_OF_ALL or name.isupper()]
    return {(row["team_id"], row["player_id"]): {name: row[name] for name in (*names, *values) if row[name] is not None} for row in table.to_dicts()}


def rest(operation: str, body: Any, **ids: Any) -> Read:
    try:
        return rows_of(sideline.Payload.from_bytes(operation, json.dumps(body).encode(), **ids).table("box_score")), None
    except sideline.DecodeError as error:
        return None, error.path


def live(text: str) -> tuple[dict[tuple[int, int], Row], list[str]]:
    score = sideline.LiveBoxScore()
    score.feed(update(text))
    assert score.unreadable >= len(score.problems)
    return rows_of(score.table()), [problem.path for problem in score.problems]


def row_of(path: str) -> str:
    """The path of the row, or of its team, that a path is in."""
    match = re.match(r"\$\.(?:data|teams\[\d+\](?:\.player_stats\[\d+\])?|stats\[\d+\])", path)
    assert match, path
    return match.group()


def has_duplicates(body: Any) -> bool:
    """Whether rows have the same ids: then the box score has the one with the highest version."""
    text = json.dumps(body)
    return len(re.findall(r'"(?:id|pid)": ', text)) != len(set(re.findall(r'"(?:id|pid)": "?[^,}"]*', text)))


def a_snapshot(dice: random.Random, count: int) -> tuple[Read, Any]:
    lines = [{"id": n, "player_details": {"id": n, "firstname": "A", "lastname": f"B{n}"}, "version": 5 + n, "stats": {"PTS": n, "FG": 2.0}} for n in (0, 7, 8)]
    body = {"teams": [{"id": team, "name": f"T{team}", "player_stats": copy.deepcopy(lines)} for team in (1, 2)]}
    changed_body = change(dice, count, body, lambda body: body["teams"])
    return rest("stats", changed_body, session_id="s"), changed_body


def a_state(dice: random.Random, count: int) -> tuple[Read, Any]:
    body = {"stats": [{"pid": str(n), "tid": str(team), "totalStats": {"PTS": n, "FG": 2.0}} for team in (1, 2) for n in (7, 8)], "details": []}
    changed_body = change(dice, count, body, lambda body: body["stats"])
    return rest("catch_up", changed_body, game_id="g"), changed_body


def a_message(dice: random.Random, count: int) -> tuple[Read, Any]:
    """A stats message beside a body of REST with the same row."""
    data = {"team_id": 1, "player_id": 7, "version": 3, "stats": {"PTS": 4, "FG": 2.0}}
    changed_body: dict[str, Any] = {"data": {}}
    # A message without values has nothing to show.
    while changed_body["data"].get("stats") in (None, {}):
        changed_body = change(dice, count, {"type": "stats", "data": data}, lambda message: message["data"])
    data = changed_body["data"]
    row = {name: data[name] for name in ("version", "stats") if name in data} | ({"id": data["player_id"]} if "player_id" in data else {})
    team = {"player_stats": [row]} | ({"id": data["team_id"]} if "team_id" in data else {})
    rows, path = rest("stats", {"teams": [team]}, session_id="s")
    if path is not None:
        for path_of_rest, path_of_stream in (
            ("$.teams[0].player_stats[0].id", "$.data.player_id"),
            ("$.teams[0].player_stats[0]", "$.data"),
            ("$.teams[0].id", "$.data.team_id"),
            ("$.teams[0]", "$.data"),
        ):
            path = path.replace(path_of_rest, path_of_stream)
    return (None if rows is None else {ids: row for ids, row in rows.items() if row.keys() - {"version"}}, path), changed_body


KINDS = {"snapshots": a_snapshot, "states of a game": a_state, "messages": a_message}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.extended)])
def test_rest_and_the_live_box_score_agree_or_name_the_same_row(kind: str, count: int) -> None:
    unreadable = 0
    for seed in range(count):
        places_changed = 2 if seed % 4 == 0 else 1
        (rows, path), body = KINDS[kind](random.Random(f"{kind} {seed}"), places_changed)
        live_rows, problems = live(json.dumps(body))
        if kind == "snapshots" and "player_stats" not in json.dumps(body):
            assert (live_rows, problems) == ({}, []), "no box score"
        elif path is not None:
            unreadable += 1
            # A team without an identity is named as a whole; of two such places, each may name its first.
            names = [row_of(problem) if places_changed == 2 else problem for problem in problems]
            assert any(path.startswith(name) for name in names), (seed, body, path, problems)
        elif not has_duplicates(body):
            if kind == "messages":
                live_rows = {ids: row for ids, row in live_rows.items() if row.keys() - {"version"}}
            assert rows is not None
            assert problems == [], (seed, body, problems)
            assert {ids: row for ids, row in rows.items() if row} == {ids: row for ids, row in live_rows.items() if row}, (seed, body)
    assert count / 10 < unreadable < count, "both kinds of bodies are many"


@pytest.mark.parametrize("path", ["$", "$.data"])
def test_a_snapshot_in_another_form_is_named_and_not_passed_over(path: str) -> None:
    team = {"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": 4}}]}
    snapshot: dict[str, Any] = {"teams": [team]}
    odd_roots: list[Any] = [{"teams": team}, {"teams": {"1": team}}, {"teams": [[team]]}, {"teams": {"team": [team]}}, [snapshot], [[snapshot]]]
    for body in odd_roots:
        message = body if path == "$" else {"source": "broadcastsummary", "data": body}
        expected_path = path + (".teams" if isinstance(body, dict) else "")
        assert live(json.dumps(message)) == ({}, [expected_path]), body
    assert live(json.dumps({"teams": {"home": {"id": 1}}})) == ({}, []), "no lines"
