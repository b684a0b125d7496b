"""The one account of what an archive lacks: every report and exit status is a view of the rows of `coverage`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import _arrow
from ._fetch import Outcome
from ._libraries import pa, pc
from ._life import is_lacking
from ._packed import unpack
from ._plan import LIST_OPERATIONS, event_of
from ._read import public_columns_of_coverage, to_dicts
from ._schemas import internal_schemas
from ._store import Store
from ._writer import coverage_row

Row = Mapping[str, Any]

_ORDER = ("starts_at", "event_id")
"""The columns by which the rows are ordered."""


@dataclass(frozen=True)
class Scope:
    """What a sync was to store: the games of these ids, or the teams' data of a range; for a query, of its tables."""

    game_ids: Collection[str] | None = None
    team_ids: Collection[int] | None = None
    start: datetime | None = None
    end: datetime | None = None
    operations: Collection[str] | None = None
    """What a query needs, besides the lists that say what there is."""

    def contains(self, row: Row) -> bool:
        """Return whether a unit belongs to it. A unit without a team or a time may belong to any."""
        if self.operations is not None and row["operation"] not in (*self.operations, *LIST_OPERATIONS):
            return False
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


def rows_of(outcomes: Sequence[Outcome]) -> "pa.Table":
    """Return outcomes as rows of `coverage`: its public columns, and those of their order."""
    names = (*public_columns_of_coverage().names, *_ORDER)
    schema = internal_schemas()["coverage"]
    columns = pa.schema([schema.field(name) for name in names])
    return _arrow.table([coverage_row(outcome) for outcome in outcomes], columns)


def account(store: Store, streams: "list[pa.Buffer]", scope: Scope) -> "pa.Table":
    """Return the rows of a sync's units, and the archive's holes in its scope, with the status that they have now.

    Another process may have closed a hole of this sync meanwhile. A unit that is not in `coverage` keeps its row. The
    rows are in the order of the events; lists and rosters come first, holes of earlier syncs last.

    Parameters:
        streams: packed rows of `coverage`, one for each unit that the sync requested, in the order in which they
            ended. One column after another is unpacked and ordered: those of many seasons are large.
    """
    none = rows_of([])

    def columns_of(*names: str) -> Any:
        return pa.concat_tables([none.select(names), *(unpack(stream, none.schema, names) for stream in streams)])

    rows = columns_of("unit", "status", *_ORDER)
    units, statuses = rows["unit"], rows["status"]
    lacking = [status for status in statuses.unique().to_pylist() if is_lacking(status)]
    lacks = pc.is_in(statuses, value_set=_arrow.array(lacking, pa.string()))
    current = _holes_and(store, units.filter(lacks).to_pylist())
    matches = pc.index_in(units, value_set=_arrow.array(current, pa.string())).cast(pa.int64())
    count = rows.num_rows
    places = pc.if_else(
        pc.and_(lacks, pc.is_valid(matches)),
        pc.add(matches, _arrow.scalar(count, pa.int64())),
        _arrow.array(range(count), pa.int64()),
    )
    own_places = set(matches.drop_null().to_pylist())
    others = [
        count + place
        for place, row in enumerate(current.values())
        if place not in own_places and is_lacking(row["status"]) and scope.contains(row)
    ]
    keys = rows.select(_ORDER).append_column("has_event", pc.is_valid(rows["event_id"]))
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in ("has_event", *_ORDER)])
    places = pa.chunked_array([*places.take(order).chunks, _arrow.array(others, pa.int64())])
    del rows, units, statuses, keys
    holes = _arrow.table([*current.values()], none.schema)
    schema = public_columns_of_coverage()
    columns = [pa.concat_tables([columns_of(name), holes.select([name])])[name].take(places) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def holes(store: Store, scope: Scope) -> list[Row]:
    """Return what the archive lacks in a scope."""
    return [row for row in _holes_and(store, ()).values() if scope.contains(row)]


def _holes_and(store: Store, units: Sequence[str]) -> dict[str, Row]:
    """Return the rows of all holes of `coverage`, and of some units."""
    table = store.reopen("coverage")
    if table is None:
        return {}
    statuses = {status for batch in store.select(table, ["status"]) for status in batch["status"].unique().to_pylist()}
    selections = [store.select(table, texts=("status", set(filter(is_lacking, statuses))))]
    if units:
        selections.append(store.select(table, texts=("unit", units)))
    rows: dict[str, Row] = {row["unit"]: row for batches in selections for batch in batches for row in to_dicts(batch)}
    store.keep(table)
    return rows
