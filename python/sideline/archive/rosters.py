"""Who was on a team's roster, and when: the table `players` has everyone that any stored roster had."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive.decode import decoded
from sideline.archive.plan import Unit
from sideline.archive.read import bodies, unit_of
from sideline.archive.store import Store, contract, stored

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
Key = tuple[int, int]


def history(store: Store, unit: Unit, until: int | None = None) -> "pyarrow.Table":
    """The rows of `players` of one team, from all its rosters in `raw`, or those up to a sequence.

    Each player has the values of the last roster that lists him; `listed_from` is when a roster first did, and
    `listed_until` when the first one after the last did not: null for who is listed now.
    """
    rows = [row for row in bodies(store, [unit.name]) if row["status"] != "undecodable"]
    rows.sort(key=lambda row: row["sequence"])
    known: dict[Key, Row] = {}
    for row in rows:
        if until is None or row["sequence"] <= until:
            # A roster that was withdrawn lists nobody.
            players = [] if row["body"] is None else decoded(unit_of(row), row["body"])["players"].to_pylist()
            known = _next(known, players, row["served_at"] or row["stored_at"])
    pa: Any = library("pyarrow", "archive")
    schema = stored(contract("players").empty_table()).schema
    return pa.Table.from_pylist(list(known.values()), schema)


def _next(known: Mapping[Key, Row], players: Iterable[Row], at: datetime) -> dict[Key, Row]:
    listed: dict[Key, Row] = {}
    seen: Counter[int] = Counter()
    for player in players:
        # A roster may list someone twice.
        key = (player["player_id"], seen[player["player_id"]])
        seen[player["player_id"]] += 1
        first = known.get(key, {}).get("listed_from", at)
        listed[key] = {**player, "listed_from": first, "listed_until": None}
    gone = {key: {**row, "listed_until": row["listed_until"] or at} for key, row in known.items() if key not in listed}
    return {**listed, **gone}
