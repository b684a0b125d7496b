"""The box score of a whole game, from the service's sums or from those of its sessions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._client import Sport, with_texts
from .._core import Table, _own_table

_KEYS = frozenset(
    ("session_id", "game_id", "team_id", "team_name", "player_id", "first_name", "last_name", "is_team_total")
)
_NOT_COUNTS = _KEYS | {"version", "games_played", "source", "period"}
_NAMES = ("team_name", "first_name", "last_name")
_SCORES = ("TEAM_SCORE", "OPPOSING_TEAM_SCORE")
"""Codes of the score so far, which is no count: the last session has that of the game."""

Row = dict[str, Any]


def game_box_score(
    game_id: str,
    teams: Sequence[int],
    service: Iterable[Table],
    sessions: Iterable[Table],
    periods: Mapping[str, str | None] | None,
    sport: Sport,
) -> Table:
    """Return the table `game_box_score` of box scores.

    Parameters:
        teams: those that play, so that sums of another are none.
        service: those of the whole game, one for each team.
        sessions: those of sessions, used for the teams that `service` lacks.
        periods: the period of each session, to keep sessions apart and name them.
    """
    service_rows = [{**row, "source": "service"} for row in _unique_rows(service) if row["team_id"] in teams]
    known_teams = {row["team_id"] for row in service_rows}
    parts = [
        {**row, "source": "sessions", "period": None if periods is None else periods.get(row["session_id"])}
        for row in _unique_rows(sessions)
        if row["team_id"] not in known_teams
    ]
    keys = ("team_id", "player_id") if periods is None else ("team_id", "player_id", "session_id")
    if periods is None:
        partial_totals = _partial_totals(parts)
        parts = [row for row in parts if not (row["is_team_total"] and row["team_id"] in partial_totals)]
    rows = [*service_rows, *_sum_rows(parts, keys)]
    rows.sort(key=_order(rows))
    table = _own_table("game_box_score", json.dumps(list(_lines(game_id, rows))).encode(), sport)
    if periods is None:
        return table
    return with_texts(table, [("period", "Period, such as Q1 or H1", [row["period"] for row in rows], False)])


def _unique_rows(tables: Iterable[Table]) -> Iterable[Row]:
    """Return one row for each line: of several with the same ids that of the highest version, or else the last."""
    lines: dict[tuple[Any, ...], Row] = {}
    for row in (row for table in tables for row in table.to_dicts()):
        key = (row["session_id"], row["team_id"], row["player_id"])
        if key not in lines or (row["version"] or 0) >= (lines[key]["version"] or 0):
            lines[key] = row
    return lines.values()


def _order(rows: Sequence[Row]) -> Any:
    """Return the sort key: teams in their first order, each with its total last."""
    teams = {team: place for place, team in enumerate(dict.fromkeys(row["team_id"] for row in rows))}
    sessions = {name: place for place, name in enumerate(dict.fromkeys(row.get("session_id") for row in rows))}
    return lambda row: (sessions[row.get("session_id")], teams[row["team_id"]], row["is_team_total"])


def _counts(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _NOT_COUNTS and value is not None}


def _partial_totals(rows: Sequence[Row]) -> set[int]:
    """Return the teams whose total a session lacks: the sum of the others is not that of the game."""
    sessions = {(row["team_id"], row["session_id"]) for row in rows if _counts(row)}
    return {
        team for team, _ in sessions - {(row["team_id"], row["session_id"]) for row in rows if row["is_team_total"]}
    }


def _sum_rows(rows: Iterable[Row], keys: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each key, with the sum of its counts."""
    groups: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        first = groups.setdefault(key, {name: value for name, value in row.items() if name in _NOT_COUNTS})
        first.update({name: row[name] for name in _NAMES if first[name] is None})
        for code, value in _counts(row).items():
            before = first.get(code, 0)
            first[code] = max(before, value) if code in _SCORES else before + value
    for row in groups.values():
        yield row if "session_id" in keys else {**row, "session_id": None}


def _lines(game_id: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows as the table's declaration reads them."""
    codes = sorted({code for row in rows for code in _counts(row)})
    for row in rows:
        counts = _counts(row)
        did_not_play = not counts and not row["is_team_total"]
        names = " ".join(filter(None, (row["first_name"], row["last_name"])))
        yield {
            "game_id": game_id,
            "team_id": row["team_id"],
            "team_name": row["team_name"],
            "player_id": row["player_id"],
            "player_name": "Team total" if row["is_team_total"] else names or None,
            "is_team_total": row["is_team_total"],
            "did_not_play": did_not_play,
            "source": row["source"],
            "stats": {} if did_not_play else {code: counts.get(code, _nothing(code)) for code in codes},
        }


def _nothing(code: str) -> int | None:
    return None if code in _SCORES else 0


def session_periods(sessions: Table, stat_events: Iterable[Table]) -> dict[str, str | None]:
    """Return the period of each session: its name, else that of its stat events."""
    periods: dict[str, str | None] = dict(zip(sessions["session_id"], sessions["name"], strict=True))
    for table in stat_events:
        for session, period in zip(table["session_id"], table["period"], strict=True):
            if periods.get(session) is None:
                periods[session] = period
    return periods
