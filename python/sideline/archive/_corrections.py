"""Compares two bodies of a unit: rows of the table `corrections`. Pure."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

Row = dict[str, Any]

KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "games": (("game_id",),),
    "events": (("event_id",),),
    "sessions": (("event_id", "session_id"),),
    "player_stats": (("session_id", "team_id", "player_id", "stat"),),
    "stat_events": (
        ("session_id", "team_id", "player_id", "stat", "occurred_at"),
        ("session_id", "team_id", "player_id", "stat", "period", "game_clock"),
    ),
    "possessions": (
        ("session_id", "team_id", "start_timestamp"),
        ("session_id", "team_id", "end_timestamp"),
        ("session_id", "team_id", "period", "start_game_clock"),
    ),
    "possession_events": (
        ("session_id", "team_id", "timestamp", "possession_type"),
        ("session_id", "team_id", "timestamp", "player_id"),
        ("session_id", "team_id", "player_id", "possession_type", "game_clock"),
    ),
    "shots": (
        ("session_id", "team_id", "player_id", "occurred_at"),
        ("session_id", "team_id", "player_id", "period", "game_clock"),
    ),
    "play_by_play": (("game_id", "event_id"),),
    "ball_screens": (("game_id", "event_id"),),
    "locations": (("session_id", "t", "tag", "team_id", "player_id"),),
}
"""The keys that identify a row, the best first: rows left unpaired by one key are paired by the next. `box_score` has
the same body as `player_stats`, and windows are not measurements."""

_POSITIONS: Mapping[str, tuple[str, ...]] = {
    "sessions": ("position",),
    "possessions": ("possession",),
    "possession_events": ("possession", "position"),
}
"""The position of a row in its list. An inserted row moves all rows after it, which is not a correction."""

_LABELS = {"team_name", "first_name", "last_name"}
"""Names of teams and players in a session's tables. A new name of the same team or player is not a correction."""

_NAMES = ("team_id", "game_id", "session_id", "player_id")
_VALUE = {"player_stats": "value"}
"""Tables with one value per row: a new row is a change of that value from nothing."""

_SCORES = {"TEAM_SCORE", "OPPOSING_TEAM_SCORE"}
"""Sums of PTS over the sessions so far."""


def corrections(table: str, old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return each changed value of one table of one body.

    Versions, links and positions are not values. A new or removed row is one change of the field `row`.
    """
    pairs = list(_changed_pairs(table, list(old), list(new)))
    if table == "player_stats":
        pairs = _without_sums(pairs)
    rows = []
    for before, after in pairs:
        row = before or after or {}
        ids = {
            "table": table,
            **{name: row.get(name) for name in _NAMES},
            "key": _json({name: row[name] for name in KEYS[table][0] if name not in _NAMES}),
            "old_version": before and before.get("version"),
            "new_version": after and after.get("version"),
        }
        if table in ("possessions", "possession_events") and (before is None or after is None):
            # Identifies the possession and its side for `without_consequences`.
            ids["possession"] = (before is not None, row["session_id"], row["team_id"], row["possession"])
        for field, old_value, new_value in _fields(table, before, after):
            rows.append({**ids, "field": field, "old": _optional(old_value), "new": _optional(new_value)})
    return rows


def _fields(table: str, before: Row | None, after: Row | None) -> Iterator[tuple[str, Any, Any]]:
    if before is not None and after is not None:
        values = _values(table, before)
        yield from (
            (name, old_value, after.get(name)) for name, old_value in values.items() if old_value != after.get(name)
        )
    elif field := _VALUE.get(table):
        yield field, before and before[field], after and after[field]
    else:
        yield "row", before and _values(table, before), after and _values(table, after)


def _changed_pairs(table: str, old: Sequence[Row], new: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Pair the rows that differ by key; rows with equal keys are paired in order."""
    old, new = _without_same(table, old, new)
    for key in KEYS[table]:
        pairs, old, new = _pair_rows(key, old, new, is_first=key == KEYS[table][0])
        yield from pairs
    yield from ((before, None) for before in old)
    yield from ((None, after) for after in new)


def _without_same(table: str, old: Sequence[Row], new: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    texts = [[_json(_values(table, row)) for row in rows] for rows in (old, new)]
    same = Counter(texts[0]) & Counter(texts[1])
    sides = []
    for rows, of_rows in zip((old, new), texts, strict=True):
        left, side = same.copy(), []
        for row, text in zip(rows, of_rows, strict=True):
            if left[text] > 0:
                left[text] -= 1
            else:
                side.append(row)
        sides.append(side)
    return sides[0], sides[1]


def _pair_rows(
    key: Sequence[str], old: Sequence[Row], new: Sequence[Row], *, is_first: bool
) -> tuple[list[tuple[Row | None, Row | None]], list[Row], list[Row]]:
    """Return pairs of rows with the same key, and the remaining rows of both sides."""

    def name(row: Row) -> str | None:
        values = [row.get(column) for column in key]
        # Two rows that both lack a time are not necessarily the same.
        return _json(values) if is_first or None not in values else None

    waiting: dict[str | None, list[Row]] = defaultdict(list)
    for row in new:
        waiting[name(row)].append(row)
    pairs: list[tuple[Row | None, Row | None]] = []
    left = []
    for row in old:
        others = waiting[name(row)] if name(row) is not None else []
        if others:
            pairs.append((row, others.pop(0)))
        else:
            left.append(row)
    remaining = {id(row) for rows in waiting.values() for row in rows}
    return pairs, left, [row for row in new if id(row) in remaining]


def _values(table: str, row: Row) -> Row:
    positions = _POSITIONS.get(table, ())
    return {
        name: value
        for name, value in row.items()
        if name != "version" and name not in positions and name not in _LABELS and not name.endswith("_link")
    }


def _without_sums(pairs: list[tuple[Row | None, Row | None]]) -> list[tuple[Row | None, Row | None]]:
    """Leave out a team's total that changed by as much as its players: their corrections cover it."""
    by_players: dict[tuple[Any, Any], float] = defaultdict(float)

    def delta(before: Row | None, after: Row | None) -> float:
        return ((after or {}).get("value") or 0.0) - ((before or {}).get("value") or 0.0)

    def of(before: Row | None, after: Row | None) -> Row:
        return after or before or {}

    for before, after in pairs:
        row = of(before, after)
        if not row["is_team_total"]:
            by_players[row["team_id"], row["stat"]] += delta(before, after)
    return [
        (before, after)
        for before, after in pairs
        if not (row := of(before, after))["is_team_total"]
        or (row["stat"] not in _SCORES and delta(before, after) != by_players[row["team_id"], row["stat"]])
    ]


def without_consequences(corrections: Sequence[Row]) -> list[Row]:
    """Keep one row for each correction, the one of the box score.

    Consequences are left out: a stat's occurrence that appears or disappears with the stat's own correction, the play
    rewritten for it, and the events of an inserted or removed possession. `corrections` must hold those of whole
    events: of their sessions and of the games themselves.
    """
    possessions = {row["possession"] for row in corrections if row["table"] == "possessions" and "possession" in row}
    corrected = {
        (row["session_id"], row["player_id"], json.loads(row["key"])["stat"])
        for row in corrections
        if row["table"] == "player_stats" and row["field"] == "value"
    }
    teams = {(session, stat) for session, _, stat in corrected}
    plays: dict[str, list[Row]] = defaultdict(list)
    remaining = []
    for row in corrections:
        if row["table"] == "play_by_play":
            plays[row["key"]].append(row)
            continue
        if row["table"] == "possession_events" and row.get("possession") in possessions:
            continue
        if row["table"] == "stat_events" and row["field"] == "row":
            stat = json.loads(row["key"])["stat"]
            if (row["session_id"], row["player_id"], stat) in corrected:
                continue
            if row["player_id"] == 0 and (row["session_id"], stat) in teams:
                continue
        remaining.append(row)
    for rows in plays.values():
        stats = {(rows[0]["session_id"], rows[0]["player_id"], stat) for row in rows for stat in _stats(row)}
        if not stats or not stats <= corrected:
            remaining += rows
    for row in remaining:
        row.pop("possession", None)
    return remaining


def _stats(play: Row) -> set[str]:
    """Return the stat codes whose count differs between two versions of a play."""
    old, new = (play[name] and json.loads(play[name]) for name in ("old", "new"))
    if play["field"] == "row":
        old, new = (old or {}).get("stats"), (new or {}).get("stats")
    elif play["field"] != "stats":
        return set()
    old_stats, new_stats = dict(old or []), dict(new or [])
    return {stat for stat in old_stats.keys() | new_stats.keys() if old_stats.get(stat) != new_stats.get(stat)}


def _optional(value: Any) -> str | None:
    return None if value is None else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
