"""Bodies with odd places: REST's table and the live box score read the same values, or both name the same row."""

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
ODD: list[Any] = [
    None, True, False, 0, -1, 7, 1.5, 1e300, -0.0, 2**53 + 1, 2**63, 10**400, "", " ", "7", " 7", "07", "1e3", "x", "2-4", "é\x00", [], [1], [{}],
    {}, {"id": 3}, {"id": "x"}, {"value": 1},
]  # fmt: skip
CODES_OF_ALL = set(sideline.SCHEMAS["box_score"].names)
Row = dict[str, Any]
Read = tuple[dict[tuple[int, int], Row] | None, str | None]
"""The rows by team and player, or the path of what is unreadable."""


def update(text: str) -> sideline.Update:
    restored: sideline.Update = getattr(sideline.Update, "_restore")(None, "", text, None, None, None, AT - datetime(1970, 1, 1, tzinfo=UTC))  # noqa: B009
    return restored


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and array below a value, with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def mutate(dice: random.Random, count: int, body: Any, inside: Callable[[Any], Any]) -> Any:
    """A copy in which so many places inside a part of it are odd."""
    mutated = copy.deepcopy(body)
    for _ in range(count):
        where = list(places(inside(mutated)))
        if not where:
            return mutated
        parent, key = dice.choice(where)
        action = dice.randrange(4)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[dice.choice(["id", "stats", "version", "PTS", "player_stats", "a\x00b", "pid", "\x1b"])] = parent.pop(key)
        else:
            parent[key] = copy.deepcopy(dice.choice(ODD))
    return mutated


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
    mutated = mutate(dice, count, body, lambda body: body["teams"])
    return rest("stats", mutated, session_id="s"), mutated


def a_state(dice: random.Random, count: int) -> tuple[Read, Any]:
    body = {"stats": [{"pid": str(n), "tid": str(team), "totalStats": {"PTS": n, "FG": 2.0}} for team in (1, 2) for n in (7, 8)], "details": []}
    mutated = mutate(dice, count, body, lambda body: body["stats"])
    return rest("catch_up", mutated, game_id="g"), mutated


def a_message(dice: random.Random, count: int) -> tuple[Read, Any]:
    """A stats message beside a body of REST with the same row."""
    data = {"team_id": 1, "player_id": 7, "version": 3, "stats": {"PTS": 4, "FG": 2.0}}
    mutated: dict[str, Any] = {"data": {}}
    # A message without values has nothing to show.
    while mutated["data"].get("stats") in (None, {}):
        mutated = mutate(dice, count, {"type": "stats", "data": data}, lambda message: message["data"])
    data = mutated["data"]
    row = {name: data[name] for name in ("version", "stats") if name in data} | ({"id": data["player_id"]} if "player_id" in data else {})
    team = {"player_stats": [row]} | ({"id": data["team_id"]} if "team_id" in data else {})
    rows, path = rest("stats", {"teams": [team]}, session_id="s")
    if path is not None:
        for here, there in (("$.teams[0].player_stats[0].id", "$.data.player_id"), ("$.teams[0].player_stats[0]", "$.data"), ("$.teams[0].id", "$.data.team_id"), ("$.teams[0]", "$.data")):
            path = path.replace(here, there)
    return (None if rows is None else {ids: row for ids, row in rows.items() if row.keys() - {"version"}}, path), mutated


KINDS = {"snapshots": a_snapshot, "states of a game": a_state, "messages": a_message}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.extended)])
def test_rest_and_the_live_box_score_agree_or_name_the_same_row(kind: str, count: int) -> None:
    unreadable = 0
    for seed in range(count):
        odd = 2 if seed % 4 == 0 else 1
        (rows, path), body = KINDS[kind](random.Random(f"{kind} {seed}"), odd)
        found, problems = live(json.dumps(body))
        if kind == "snapshots" and "player_stats" not in json.dumps(body):
            assert (found, problems) == ({}, []), "no box score"
        elif path is not None:
            unreadable += 1
            # A team without an identity is named as a whole; of two odd places, each may name its first.
            names = [row_of(problem) if odd == 2 else problem for problem in problems]
            assert any(path.startswith(name) for name in names), (seed, body, path, problems)
        elif not has_duplicates(body):
            if kind == "messages":
                found = {ids: row for ids, row in found.items() if row.keys() - {"version"}}
            assert rows is not None
            assert problems == [], (seed, body, problems)
            assert {ids: row for ids, row in rows.items() if row} == {ids: row for ids, row in found.items() if row}, (seed, body)
    assert count / 10 < unreadable < count, "both kinds of bodies are many"
