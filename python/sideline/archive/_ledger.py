"""Writes rows of `coverage` that have no body: lists, unreadable entries, and when units were listed."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from . import _arrow, _commits
from ._fetch import Outcome
from ._libraries import pa, pc
from ._memory import trim
from ._plan import LISTS, NO_MONTH, TEAMS_LIST, Unit, is_list, partition
from ._read import coverage_of
from ._schemas import MONTH, internal_schemas
from ._store import Store, now
from ._writer import Row, coverage_row, rows_to_arrow

_MAX_ATTEMPTS = 100

READ = "read/"
"""How the names begin of what a scan with `refresh` read. These rows are removed after a day."""

_MAX_READ_AGE = timedelta(days=1)

_UNREADABLE = "event/"


def update_holes(
    store: Store, lists: Sequence[Outcome], problems: Sequence[Outcome], readable: Collection[str], sync: str
) -> None:
    """Store the holes of lists and of their entries, and remove those that this sync closed.

    A sync closes the hole of a list if its range contains the list's, and the hole of an event also if a list has the
    event in readable form.
    """
    holes = [outcome for outcome in (*lists, *problems) if outcome.error is not None]

    def change(coverage_rows: Iterable[Row]) -> list[Row] | None:
        before = {row["unit"]: row for row in coverage_rows}
        closed = {name: row for name, row in before.items() if _is_closed(row, lists, readable)}
        rows = {name: row for name, row in before.items() if name not in closed}
        for outcome in holes:
            rows[outcome.unit.name] = _hole(outcome, rows.get(outcome.unit.name), sync)
        return None if rows == before else [*rows.values(), *({"unit": name} for name in closed if name not in rows)]

    names = [outcome.unit.name for outcome in holes]
    months = {NO_MONTH, *(partition(outcome.unit) for outcome in holes)}
    _replace(store, change, [*LISTS, *names], prefixes=(TEAMS_LIST, _UNREADABLE), months=months)


def remove_holes(store: Store, units: Collection[str], is_closed: Callable[[Row], bool] = lambda _: True) -> None:
    """Remove closed holes, except rows that are not `is_closed`: another writer may have stored them meanwhile."""

    def change(rows: Iterable[Row]) -> list[Row] | None:
        return [{"unit": row["unit"]} for row in rows if is_closed(row)] or None

    if units:
        _replace(store, change, units)


def update_facts(store: Store, units: Mapping[str, Unit], existing_rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the facts that parents have about units, where they differ from the known ones."""

    def change(coverage_rows: Iterable[Row]) -> list[Row] | None:
        rows = [_with_facts(row, units[row["unit"]]) for row in coverage_rows]
        return [row for row in rows if row is not None] or None

    names = [
        name
        for name, unit in units.items()
        if name in existing_rows and _with_facts(existing_rows[name], unit) is not None
    ]
    if names:
        _replace(store, change, names)


def _with_facts(row: Mapping[str, Any], unit: Unit) -> Row | None:
    """Return the row with its parent's facts; `None` if it has them."""
    facts: Row = {"event_id": unit.event_id, "starts_at": unit.starts_at, "teams": list(unit.teams)}
    facts |= {"linked": unit.is_linked or row["linked"], MONTH: partition(unit)}
    return {**row, **facts} if any(row[name] != value for name, value in facts.items()) else None


def mark_listed(
    store: Store, listed_at: Mapping[str, datetime], more: "Sequence[tuple[pa.Array, datetime]]" = ()
) -> None:
    """Store when events, by their ids, and entries, by the names of their units, were last listed; `more` has names.

    They are in a table of their own: otherwise each sync would rewrite all of `coverage`.
    """
    new = rows_to_arrow([{"listed": name, "listed_at": at} for name, at in listed_at.items()], "listings")
    when = new.schema.field("listed_at").type
    parts = [[names, pa.repeat(_arrow.scalar(at, when), len(names))] for names, at in more]
    new = pa.concat_tables([new, *(pa.table(part, new.schema) for part in parts)]).combine_chunks()
    oldest = _arrow.scalar(now() - _MAX_READ_AGE, when)

    def is_kept(rows: "pa.RecordBatch") -> Any:
        is_old = pc.and_(pc.starts_with(rows["listed"], READ), pc.less(rows["listed_at"], oldest))
        return pc.invert(pc.or_(is_old, pc.is_in(rows["listed"], new["listed"])))

    for attempt in range(_MAX_ATTEMPTS + 1 if new.num_rows else 0):
        table = store.open_or_create("listings", internal_schemas()["listings"])
        # Some thousand rows at a time: of a sync of all seasons none stays.
        others = [pa.Table.from_batches([rows.filter(is_kept(rows))]) for rows in store.select(table)]
        trim()
        rows = pa.concat_tables([*others, new])
        is_done = _commits.overwrite(store, table, rows)
        store.keep(table)
        if is_done:
            return
        store.wait(attempt)
    if new.num_rows:
        raise store.error_of_contention("listings")


def _replace(
    store: Store,
    change: Any,
    units: Collection[str],
    prefixes: tuple[str, ...] = (),
    months: Collection[str] | None = None,
) -> None:
    """Replace rows of units in one transaction. A row with only a unit removes that unit's row.

    `months`: the only ones that may have them; `None`: any.
    """
    for attempt in range(_MAX_ATTEMPTS + 1):
        table = store.open_or_create("coverage", internal_schemas()["coverage"])
        rows_before = coverage_of(store, table, units, prefixes, months)
        rows = change(rows_before)
        if rows is None:
            store.keep(table)
            return
        full = rows_to_arrow([row for row in rows if len(row) > 1], "coverage")
        is_done = _commits.replace_units(
            store, table, full, {row["unit"] for row in rows}, {row[MONTH] for row in rows_before}
        )
        store.keep(table)
        if is_done:
            return
        store.wait(attempt)
    raise store.error_of_contention("coverage")


def _is_closed(row: Row, lists: Sequence[Outcome], readable: Collection[str]) -> bool:
    if row["unit"].startswith(_UNREADABLE) and row["unit"].partition("/")[2] in readable:
        return True
    # The event of a game is an entry of a team's list.
    operation = "team_events" if row["operation"] == "game" else row["operation"]
    for outcome in lists:
        unit = outcome.unit
        if (
            outcome.error is None
            and is_list(unit.name)
            and (unit.operation, unit.team_id) == (operation, row["team_id"])
        ):
            return row["start"] is None or unit.start is None or (unit.start <= row["start"] and row["end"] <= unit.end)
    return False


def _hole(outcome: Outcome, before: Row | None, sync: str) -> Row:
    row = coverage_row(outcome) | {"final": False}
    if outcome.is_absence:
        row["absent_in"] = (before and before["absent_in"]) or sync
    if before is not None and before["start"] and row["start"]:
        row |= {"start": min(row["start"], before["start"]), "end": max(row["end"], before["end"])}
    return row
