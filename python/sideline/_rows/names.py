"""Adds the names of teams and players to tables with their ids, from the same bodies."""

from collections.abc import Iterable, Iterator
from typing import Any

from .._client import with_texts
from .._core import Payload, Table


class Found:
    """The names of players and teams in some bodies, by id."""

    def __init__(self, payloads: Iterable[Payload]) -> None:
        self.players: dict[int, str] = {}
        self.teams: dict[int, str] = {}
        for payload in payloads:
            for key, member in _objects(payload.to_dict()):
                number = _number(member.get("id"))
                if number is None:
                    continue
                first, last = (member.get(short, member.get(long)) for short, long in _PARTS)
                if isinstance(name := " ".join(part for part in (first, last) if isinstance(part, str)), str) and name:
                    self.players.setdefault(number, name)
                elif key in ("teams", "team", "home", "away") and isinstance(member.get("name"), str):
                    self.teams.setdefault(number, member["name"])


_PARTS = (("firstname", "first_name"), ("lastname", "last_name"))


def _objects(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with the key above it."""
    waiting = [("", content)]
    while waiting:
        key, node = waiting.pop()
        if isinstance(node, dict):
            yield key, node
            waiting.extend((name, value) for name, value in node.items() if isinstance(value, (dict, list)))
        elif isinstance(node, list):
            waiting.extend((key, value) for value in node if isinstance(value, (dict, list)))


def _number(value: Any) -> int | None:
    try:
        return None if isinstance(value, (bool, float)) else int(value)
    except (TypeError, ValueError):
        return None


def with_names(table: Table, payloads: Iterable[Payload]) -> Table:
    """Append a column of names for each column of team or player ids.

    The new columns depend only on the table's columns; a name that no body has is null.
    """
    columns = table.column_names
    lookup: Found | None = None
    new_columns: list[tuple[str, str, list[Any], bool]] = []
    for column in columns:
        name, is_list = _name_column(column)
        if name is None or name in columns or (name == "player_name" and "last_name" in columns):
            continue
        lookup = lookup or Found(payloads)
        names = lookup.teams if column.endswith("team_id") else lookup.players
        if is_list:
            values: list[Any] = [None if ids is None else [names.get(key) for key in ids] for ids in table[column]]
        else:
            values = [names.get(key) for key in table[column]]
        new_columns.append((name, f"Name of {column}; null if the same body has none", values, is_list))
    return with_texts(table, new_columns) if new_columns else table


def _name_column(column: str) -> tuple[str | None, bool]:
    """Return the name column for a column of ids, and whether it has lists."""
    if column == "team_id" or column.endswith(("_team_id", "player_id")):
        return f"{column.removesuffix('_id')}_name", False
    if column.endswith("player_ids") or column == "defender_ids":
        return f"{column.removesuffix('_ids')}_names", True
    return None, False
