"""What a body that came again says otherwise than before: rows of the table `corrections`. Pure."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

Row = dict[str, Any]

KEYS: Mapping[str, tuple[str, ...]] = {
    "events": ("event_id",),
    "sessions": ("event_id", "session_id"),
    "player_stats": ("session_id", "team_id", "player_id", "stat"),
    "stat_events": ("session_id", "team_id", "player_id", "stat", "occurred_at"),
    "possessions": ("session_id", "team_id", "possession"),
    "possession_events": ("session_id", "team_id", "possession", "position"),
    "shots": ("session_id", "team_id", "player_id", "occurred_at"),
    "play_by_play": ("game_id", "event_id"),
    "ball_screens": ("game_id", "event_id"),
    "locations": ("session_id", "t", "tag", "team_id", "player_id"),
}
"""What names a row. A box score is the same body as `player_stats`, windows and names are no measurements."""

_NAMES = ("team_id", "game_id", "session_id", "player_id")
_VALUE = {"player_stats": "value"}
"""Where a row is one value, a row that comes is that value's change from nothing."""

_DERIVED = {"TEAM_SCORE", "OPPOSING_TEAM_SCORE"}
"""They are sums of PTS, over the sessions so far."""


def corrections(table: str, old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Each changed value of one table of one body.

    Versions and links are no values. A row that came or went is one change of the field `row`.
    """
    changed = list(_changed(KEYS[table], old, new))
    if table == "player_stats":
        changed = _without_sums(changed)
    told = []
    for before, after in changed:
        row = after or before or {}
        named = {
            "table": table,
            **{name: row.get(name) for name in _NAMES},
            "key": _json({name: row[name] for name in KEYS[table] if name not in _NAMES}),
            "old_version": before and before.get("version"),
            "new_version": after and after.get("version"),
        }
        for field, was, now in _fields(table, before, after):
            told.append({**named, "field": field, "old": _optional(was), "new": _optional(now)})
    return told


def _fields(table: str, before: Row | None, after: Row | None) -> Iterator[tuple[str, Any, Any]]:
    if before is not None and after is not None:
        yield from (
            (name, before[name], after.get(name)) for name in _values(before) if before[name] != after.get(name)
        )
    elif field := _VALUE.get(table):
        yield field, before and before[field], after and after[field]
    else:
        yield "row", before and _values(before), after and _values(after)


def _changed(key: Sequence[str], old: Iterable[Row], new: Iterable[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows that are not the same, paired by key; those of one key in order."""
    sides: list[dict[str, list[Row]]] = []
    same = _counted(old := list(old)) & _counted(new := list(new))
    for rows in (old, new):
        left, by_key = same.copy(), defaultdict(list)
        for row in rows:
            if left[_json(_values(row))] > 0:
                left[_json(_values(row))] -= 1
            else:
                by_key[_json([row[name] for name in key])].append(row)
        sides.append(by_key)
    before, after = sides
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, []), after.get(name, [])
        for place in range(max(len(was), len(now))):
            yield was[place] if place < len(was) else None, now[place] if place < len(now) else None


def _counted(rows: Iterable[Row]) -> Counter[str]:
    return Counter(_json(_values(row)) for row in rows)


def _values(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "version" and not name.endswith("_link")}


def _without_sums(changed: list[tuple[Row | None, Row | None]]) -> list[tuple[Row | None, Row | None]]:
    """A team's total that changed as much as its players did is their correction, told already."""
    by_players: dict[tuple[Any, Any], float] = defaultdict(float)

    def delta(before: Row | None, after: Row | None) -> float:
        return ((after or {}).get("value") or 0.0) - ((before or {}).get("value") or 0.0)

    def of(before: Row | None, after: Row | None) -> Row:
        return after or before or {}

    for before, after in changed:
        row = of(before, after)
        if not row["is_team_total"]:
            by_players[row["team_id"], row["stat"]] += delta(before, after)
    return [
        (before, after)
        for before, after in changed
        if not (row := of(before, after))["is_team_total"]
        or (row["stat"] not in _DERIVED and delta(before, after) != by_players[row["team_id"], row["stat"]])
    ]


def once(told: Sequence[Row]) -> list[Row]:
    """Each correction once, where the box score tells it.

    A stat's occurrence that comes or goes with the stat's own correction, and the play that was rewritten for it, are
    consequences. `told` are the corrections of whole events: of their sessions and of the games themselves.
    """
    corrected = {
        (row["session_id"], row["player_id"], json.loads(row["key"])["stat"])
        for row in told
        if row["table"] == "player_stats"
    }
    teams = {(session, stat) for session, _, stat in corrected}
    plays: dict[str, list[Row]] = defaultdict(list)
    kept = []
    for row in told:
        if row["table"] == "play_by_play":
            plays[row["key"]].append(row)
            continue
        if row["table"] == "stat_events" and row["field"] == "row":
            stat = json.loads(row["key"])["stat"]
            if (row["session_id"], row["player_id"], stat) in corrected:
                continue
            if row["player_id"] == 0 and (row["session_id"], stat) in teams:
                continue
        kept.append(row)
    for rows in plays.values():
        stats = {(rows[0]["session_id"], rows[0]["player_id"], stat) for row in rows for stat in _stats(row)}
        if not stats or not stats <= corrected:
            kept += rows
    return kept


def _stats(play: Row) -> set[str]:
    """The stat codes whose count a changed play changes."""
    old, new = (play[name] and json.loads(play[name]) for name in ("old", "new"))
    if play["field"] == "row":
        old, new = (old or {}).get("stats"), (new or {}).get("stats")
    elif play["field"] != "stats":
        return set()
    was, now = dict(old or []), dict(new or [])
    return {stat for stat in was.keys() | now.keys() if was.get(stat) != now.get(stat)}


def _optional(value: Any) -> str | None:
    return None if value is None else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
