"""Who was on a team's roster, and when.

The table `players` has every player of any stored roster once per team; `stints` has a row for each stay.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from . import _arrow
from ._decode import decode_tables, stored_schema
from ._libraries import pa
from ._plan import NO_MONTH
from ._read import bodies, conform, coverage, scan, unit_of_body
from ._schemas import public_schema
from ._storage_types import to_storage_types
from ._store import Store

Row = dict[str, Any]
Key = tuple[int, int]

_BATCH_SIZE = 16
"""Teams whose rosters are in memory at once."""


def history(store: Store, units: Sequence[str], until: int | None = None) -> "pa.Table":
    """Return the rows of `players` of some teams, from all their rosters in `raw`, or those up to a sequence.

    Each player has the values of the last roster that lists them. `listed_from` is the time of the first roster that
    did, and `listed_until` that of the first roster after the last: null for players who are listed now.
    """
    players: list[Row] = []
    for first in range(0, len(units), _BATCH_SIZE):
        for rows in _rosters(store, units[first : first + _BATCH_SIZE], [NO_MONTH]):
            players_by_key: dict[Key, Row] = {}
            for row in rows:
                if until is None or row["sequence"] <= until:
                    players_by_key = _next(players_by_key, _players_of(row), row["served_at"] or row["stored_at"])
            players += players_by_key.values()
    return _arrow.table(players, stored_schema("players"))


def _rosters(store: Store, units: Iterable[str], months: Iterable[str] | None = None) -> Iterable[list[Row]]:
    """Return the stored rosters of each team, the oldest first."""
    by_team: dict[str, list[Row]] = {}
    for row in bodies(store, units, months=months):
        if row["status"] != "undecodable":
            by_team.setdefault(row["unit"], []).append(row)
    return [sorted(rows, key=itemgetter("sequence")) for rows in by_team.values()]


def _next(existing_players: Mapping[Key, Row], players: Iterable[Row], at: datetime) -> dict[Key, Row]:
    current: dict[Key, Row] = {}
    entries: dict[int, list[Row]] = {}
    for player in players:
        # A roster may list a player twice: with the same values that is one row.
        others = entries.setdefault(player["player_id"], [])
        if player in others:
            continue
        key = (player["player_id"], len(others))
        others.append(player)
        first = existing_players.get(key, {}).get("listed_from", at)
        current[key] = {**player, "listed_from": first, "listed_until": None}
    former = {
        key: {**row, "listed_until": row["listed_until"] or at}
        for key, row in existing_players.items()
        if key not in current
    }
    return {**current, **former}


def stints(store: Store, at: datetime | None) -> "pa.Table":
    """Return the columns of `players` and `team_name`, with a row for each stay of a player on a team's roster.

    With `at`, only the stays at that time.
    """
    units = [row["unit"] for row in coverage(store, ("unit", "operation")) if row["operation"] == "roster"]
    names = dict(scan(store, "team").select("team_id", "name").collect().iter_rows())
    all_stints = []
    for rows in _rosters(store, units):
        rosters = ((row["served_at"] or row["stored_at"], _players_of(row)) for row in rows)
        all_stints += [{**row, "team_name": names.get(row["team_id"])} for row in _stints(rosters)]
    all_stints = [
        row
        for row in all_stints
        if at is None or (row["listed_from"] <= at and (row["listed_until"] is None or at < row["listed_until"]))
    ]
    all_stints.sort(key=lambda row: (row["player_id"], row["listed_from"], row["team_id"]))
    target = public_schema("players")
    place = target.get_field_index("listed_from")
    target = target.insert(place, pa.field("team_name", pa.string()))
    return conform(pa.Table.from_pylist(all_stints, to_storage_types(target.empty_table()).schema), target)


def _players_of(row: Row) -> list[Row]:
    """Return the players of a stored roster; a withdrawn one lists nobody."""
    if row["body"] is None:
        return []
    players: list[Row] = decode_tables(unit_of_body(row), row["body"])["players"].to_pylist()
    return players


def _stints(rosters: Iterable[tuple[datetime, Iterable[Row]]]) -> Iterator[Row]:
    """Yield each unbroken run of rosters that list a player, with the values of the last one."""
    current: dict[int, Row] = {}
    for at, players in rosters:
        before, current = current, {}
        for player in players:
            key = player["player_id"]
            since = before.get(key, {}).get("listed_from", at)
            current[key] = {**player, "listed_from": since, "listed_until": None}
        yield from ({**row, "listed_until": at} for key, row in before.items() if key not in current)
    yield from current.values()
