"""The rows by which two states of the archive differ.

A state is the stored body of each unit. Rows follow from bodies, so changes are exact even after a compaction or
vacuum.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from . import _arrow, _commits, _corrections
from ._decode import decode_tables, decode_together, empty_tables
from ._libraries import deltalake, pa
from ._memory import returned_blocks
from ._plan import RESOURCES, TABLES, Unit
from ._read import bodies, conform, error_of_lost_bodies, names_damage, to_views, unit_of_body
from ._rosters import history
from ._schemas import CHANGE, MONTH, public_schema
from ._store import Store

Row = dict[str, Any]

KEYS: Mapping[str, tuple[str, ...]] = {
    **{name: keys[0] for name, keys in _corrections.KEYS.items()},
    "box_score": ("session_id", "team_id", "player_id"),
    "players": ("team_id", "player_id"),
    "team": ("team_id",),
    "teams": ("team_id",),
}
"""The columns that identify an updated row. Rows of other tables, and rows with equal keys, are deleted and
inserted."""

_BATCH_SIZE = 100
"""Units whose bodies are in memory at the same time."""


class State(dict[str, int]):
    """The sequence of each unit's stored body. `earlier` is the first of two states, `now` the second."""

    def __init__(self, sequences: "Iterable[tuple[str, int]]" = (), months: Mapping[str, str] | None = None) -> None:
        super().__init__(sequences)
        self.months: Mapping[str, str] = months or {}
        """The month of each unit's body, if it is known."""


class ChangeStream:
    """The changed rows of one table: iterate for record batches, or pass it to a library that reads Arrow streams.

    Each iteration reads the stored bodies again, some at a time. polars, DuckDB, deltalake and others read it by
    `__arrow_c_stream__`, for which all rows are written to a temporary file first.

    >>> shots = archive.changes()["shots"]
    >>> sum(batch.num_rows for batch in shots) == shots.table().num_rows
    True
    """

    def __init__(self, store: Store, name: str, earlier: State, now: State) -> None:
        self._store = store
        self._name = name
        self._earlier, self._now = earlier, now

    @cached_property
    def schema(self) -> "pa.Schema":
        """The columns of the table, and `_change`."""
        return _change_schema(self._store, self._name)

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        for _, old, new in changed_units(self._store, self._earlier, self._now, self._name):
            rows = difference(self._name, old[self._name], new[self._name])
            yield from conform(rows, self.schema).select(self.schema.names).to_batches()

    @names_damage
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface, through a temporary file."""
        return _arrow.file_reader(self.schema, self).__arrow_c_stream__(requested_schema)

    @names_damage
    def table(self) -> "pa.Table":
        """Return all rows as one `pyarrow.Table`."""
        return pa.Table.from_batches(list(self), self.schema)

    def __repr__(self) -> str:
        return f"<sideline.archive.ChangeStream of {self._name}>"


class Changes(Mapping[str, ChangeStream]):
    """The changed rows by table, with the column `_change`: "insert", "update" or "delete".

    An updated row has the new values and replaces the row with the same `sideline.archive.KEYS[table]`; a deleted row
    has the old values. Each value is a `ChangeStream`: `.table()` has all rows at once. See `Archive.changes`.


    >>> changes = archive.changes()
    >>> changes["shots"].table().num_rows == archive.to_arrow("shots").num_rows
    True
    """

    def __init__(self, store: Store, earlier: State, now: State, version: int) -> None:
        self._streams = {name: ChangeStream(store, name, earlier, now) for name in TABLES}
        self._units = sum(earlier.get(unit, 0) != now.get(unit, 0) for unit in earlier.keys() | now.keys())
        self.version = version
        """The version of the newer state, for `since=` of the next call."""

    def __getitem__(self, name: str) -> ChangeStream:
        return self._streams[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)

    def __len__(self) -> int:
        return len(self._streams)

    def __repr__(self) -> str:
        return f"<sideline.Changes up to version {self.version}: {self._units:,} units>"


class ChangedUnits(NamedTuple):
    """Units of one operation with their rows: one that has another body, or some that had none."""

    units: list[Unit]
    old: "Mapping[str, pa.Table]"
    new: "Mapping[str, pa.Table]"


def current_state(store: Store, version: int | None = None) -> tuple[State, int]:
    """Return the state of the archive, now or at a version, and that version.

    Raises `ValueError` for a version that does not exist, or no longer exists.
    """
    table = store.open("coverage")
    if table is None:
        if version is not None and version >= 0:
            raise ValueError(f"the archive has no version {version} yet: nothing is stored")
        return State(), -1
    if version is not None and not 0 <= version <= table.version():
        raise ValueError(f"the archive has the versions 0 to {table.version()}, not {version}")
    try:
        newest = table.version()
        if version is not None:
            table.load_as_version(version)
        months: dict[str, str] = {}
        sequences = []
        for batch in store.select(table, ("unit", "sequence", MONTH)):
            for row in to_views(batch):
                if row["sequence"]:
                    sequences.append((row["unit"], row["sequence"]))
                    months[row["unit"]] = sys.intern(row[MONTH].removesuffix("-lists"))
    except (FileNotFoundError, OSError, deltalake.exceptions.DeltaError) as error:
        if version is None:
            raise
        oldest = _commits.oldest_version(store)
        if version < oldest:
            raise ValueError(
                f"version {version} is no longer kept; the oldest is {oldest}: pass the time of that state instead"
            ) from error
        raise ValueError(f"version {version} was vacuumed: pass the time of that state instead") from error
    return State(sequences, months), newest if version is None else version


def state_at(store: Store, when: datetime, now: State) -> State:
    """Return the state of the archive at a time."""
    state: dict[str, int] = {}
    for row in bodies(store, columns=("unit", "sequence", "status", "stored_at")):
        unit, sequence = row["unit"], row["sequence"]
        if row["status"] != "undecodable" and row["stored_at"] <= when and sequence <= now.get(unit, 0):
            state[unit] = max(sequence, state.get(unit, 0))
    return State(state.items())


def changed_units(
    store: Store, earlier: Mapping[str, int], now: State, table: str | None = None
) -> Iterator[ChangedUnits]:
    """Yield the units whose bodies differ, or those with rows in a table, a few in memory at a time."""
    operations = {name for name, resource in RESOURCES.items() if table is None or table in resource.tables}
    units = sorted(
        # Bodies of a unit that has others may be in several months.
        (operation, "" if earlier.get(unit) else now.months.get(unit, ""), bool(earlier.get(unit)), unit)
        for unit in earlier.keys() | now.keys()
        if earlier.get(unit, 0) != now.get(unit, 0) and (operation := unit.partition("/")[0]) in operations
    )
    for (operation, month, had_body), same in groupby(units, key=itemgetter(0, 1, 2)):
        names = [unit for *_, unit in same]
        tables = RESOURCES[operation].tables if table is None else (table,)
        months = [month] if month else None
        # A body of locations has about 100 times the rows of another.
        is_large = operation == "locations"
        size = 1 if is_large else _BATCH_SIZE
        with returned_blocks() if is_large else nullcontext():
            for first in range(0, len(names), size):
                part = names[first : first + size]
                if had_body or "players" in tables:
                    yield from _one_by_one(store, part, (earlier, now), tables, months)
                else:
                    yield _together(store, part, now, tables, months)


def _together(
    store: Store, names: Sequence[str], now: State, tables: Sequence[str], months: Sequence[str] | None
) -> ChangedUnits:
    """Return the rows of units that had no body, decoded in one call."""
    entries = [f"{unit}#{now[unit]}" for unit in names]
    rows = list(bodies(store, entries=entries, months=months))
    if len(rows) < len(names):
        # The body of a unit whose event moved since is in the month that it had.
        rows = list(bodies(store, entries=entries))
    if len(rows) < len(names):
        raise error_of_lost_bodies(store, names)
    units = [unit_of_body(row) for row in rows]
    none = empty_tables(units[0])
    # A withdrawn unit has no body.
    decodable = [(unit, row["body"]) for unit, row in zip(units, rows, strict=True) if row["body"] is not None]
    new = {name: decode_together(name, decodable) for name in tables} if decodable else none
    return ChangedUnits(units, none, new)


def _one_by_one(
    store: Store,
    names: Sequence[str],
    states: Sequence[Mapping[str, int]],
    tables: Sequence[str],
    months: Sequence[str] | None,
) -> Iterator[ChangedUnits]:
    """Yield each unit with the rows of its body in the earlier and in the later state."""
    entries = [f"{unit}#{state[unit]}" for unit in names for state in states if state.get(unit)]
    rows_of_body: dict[tuple[str, int], Mapping[str, pa.Table]] = {}
    units: dict[str, Unit] = {}
    for row in bodies(store, entries=entries, months=months):
        unit = units[row["unit"]] = unit_of_body(row)
        rows = empty_tables(unit) if row["body"] is None else decode_tables(unit, row["body"], tables)
        if "players" in tables:
            rows["players"] = history(store, [unit.name], row["sequence"])
        rows_of_body[row["unit"], row["sequence"]] = rows
    if len(rows_of_body) < len(entries):
        raise error_of_lost_bodies(store, names)
    for name in names:
        none = empty_tables(units[name])
        old, new = (rows_of_body.get((name, state.get(name, 0)), none) for state in states)
        yield ChangedUnits([units[name]], old, new)


def _change_schema(store: Store, name: str) -> "pa.Schema":
    schema = public_schema(name)
    table = store.open(name) if name == "box_score" else None
    if table is not None:
        more = pa.schema(table.schema().to_arrow())
        for field in more:
            if field.name not in (*schema.names, MONTH):
                schema = schema.append(pa.field(field.name, field.type))
    return schema.append(pa.field(CHANGE, pa.string()))


def difference(name: str, old: "pa.Table", new: "pa.Table") -> "pa.Table":
    """Return the rows by which a table's rows of one unit differ, with their change."""
    if not old.num_rows or not new.num_rows:
        one_side, change = (new, "insert") if new.num_rows else (old, "delete")
        return _with_changes(name, one_side, [change] * one_side.num_rows)
    all_rows = pa.concat_tables([old, new], promote_options="default")
    rows = all_rows.to_pylist()
    sides = rows[: old.num_rows], rows[old.num_rows :]
    same = Counter(map(repr, sides[0])) & Counter(map(repr, sides[1]))
    old_rows, new_rows = (
        [row for row in side if not _take_one(counts, row)] for side in sides for counts in [same.copy()]
    )
    updates = _updates(name, sides, new_rows) & {_key(name, row) for row in old_rows}
    changes = [(row, "delete") for row in old_rows if _key(name, row) not in updates]
    changes += [(row, "update" if _key(name, row) in updates else "insert") for row in new_rows]
    changed_rows = pa.Table.from_pylist([row for row, _ in changes], all_rows.schema)
    return _with_changes(name, changed_rows, [change for _, change in changes])


def _take_one(counts: "Counter[str]", row: Row) -> bool:
    text = repr(row)
    counts[text] -= 1
    return counts[text] >= 0


def _updates(name: str, sides: Sequence[Sequence[Row]], new_rows: Sequence[Row]) -> set[str | None]:
    """Return the keys that identify exactly one row on each side."""
    if name not in KEYS:
        return set()
    counts = [Counter(_key(name, row) for row in side) for side in sides]
    return {key for key in (_key(name, row) for row in new_rows) if all(count[key] == 1 for count in counts)}


def _key(name: str, row: Row) -> str | None:
    return repr([row[column] for column in KEYS[name]]) if name in KEYS else None


def _with_changes(name: str, rows: "pa.Table", changes: Sequence[str]) -> "pa.Table":
    return conform(rows, public_schema(name)).append_column(CHANGE, pa.array(changes, pa.string()))
