"""The one account of what an archive lacks: every report and exit status is a view of the rows of `coverage`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._life import is_lacking
from ._plan import event_of
from ._read import to_dicts
from ._store import Store

Row = Mapping[str, Any]


def is_hole(row: Row) -> bool:
    """Return whether the unit of a row of `coverage` lacks data that it should have."""
    return is_lacking(row["status"])


@dataclass(frozen=True)
class Scope:
    """What a sync was to store: the games of these ids, or the teams' data of a range."""

    game_ids: Collection[str] | None = None
    team_ids: Collection[int] | None = None
    start: datetime | None = None
    end: datetime | None = None

    def contains(self, row: Row) -> bool:
        """Return whether a unit belongs to it. A unit without a team or a time may belong to any."""
        if self.game_ids is not None:
            return row["game_id"] in self.game_ids or event_of(row) in self.game_ids
        teams = {*(row["teams"] or ()), row["team_id"]} - {None}
        if self.team_ids is not None and teams and not teams & {*self.team_ids}:
            return False
        begins, ends = row["starts_at"] or row["start"], row["starts_at"] or row["end"]
        return (
            begins is None
            or ends is None
            or self.start is None
            or self.end is None
            or (begins < self.end and self.start <= ends)
        )


def account(store: Store, rows: Sequence[Row], scope: Scope) -> list[Row]:
    """Return the rows of a sync's units, and the archive's holes in its scope, with the status that they have now.

    Another process may have closed a hole of this sync meanwhile. A unit that is not in `coverage` keeps its row.
    """
    table = store.reopen("coverage")
    if table is None:
        return [*rows]
    holes = [row["unit"] for row in rows if is_hole(row)]
    statuses = {status for batch in store.select(table, ["status"]) for status in batch["status"].unique().to_pylist()}
    selections = [store.select(table, texts=("status", set(filter(is_lacking, statuses))))]
    if holes:
        selections.append(store.select(table, texts=("unit", holes)))
    selected_rows = [row for batches in selections for batch in batches for row in to_dicts(batch)]
    store.keep(table)
    current = {row["unit"]: row for row in selected_rows}
    own_rows = {row["unit"]: current.get(row["unit"], row) if is_hole(row) else row for row in rows}
    others = [row for row in current.values() if row["unit"] not in own_rows and is_hole(row) and scope.contains(row)]
    return [*own_rows.values(), *others]
