"""The rows by which two states of the archive differ.

A state is the stored body of each unit. Rows follow from bodies, so changes are exact even after a compaction or
vacuum.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from .._rows import library
from . import _corrections
from ._decode import decode_tables, empty_tables
from ._plan import RESOURCES, TABLES, Unit
from ._read import bodies, conform, unit_of_body
from ._rosters import history
from ._store import Store, public_schema

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
State = Mapping[str, int]
"""The sequence of each unit's stored body. `then` is the earlier of two states, `now` the later."""

CHANGE = "_change"
"""The column that the tables of `Changes` have in addition."""

KEYS: Mapping[str, tuple[str, ...]] = {
    **{name: keys[0] for name, keys in _corrections.KEYS.items()},
    "box_score": ("session_id", "team_id", "player_id"),
    "players": ("team_id", "player_id"),
    "team": ("team_id",),
    "teams": ("team_id",),
}
"""The columns that identify an updated row. Rows of other tables, and rows with equal keys, are deleted and
inserted."""

_BATCH_SIZE = 200
"""Units whose bodies are in memory at the same time."""


class Changes(dict[str, "pyarrow.Table"]):
    """The changed rows by table, with the column `_change`: "insert", "update" or "delete".

    An updated row has the new values and replaces the row with the same `sideline.archive.KEYS[table]`; a deleted row
    has the old values. See `Archive.changes`.


    >>> changes = archive.changes()
    >>> changes["shots"].num_rows == archive.to_arrow("shots").num_rows
    True
    """

    def __init__(self, tables: "Mapping[str, pyarrow.Table]", version: int) -> None:
        super().__init__(tables)
        self.version = version
        """The version of the newer state, for `since=` of the next call."""

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {table.num_rows:,}" for name, table in self.items() if table.num_rows)
        return f"<sideline.Changes up to version {self.version}: {counts or 'none'}>"


class ChangedUnit(NamedTuple):
    """A unit with two different bodies."""

    unit: Unit
    old: "Mapping[str, pyarrow.Table]"
    new: "Mapping[str, pyarrow.Table]"


def current_state(store: Store, version: int | None = None) -> tuple[State, int]:
    """Return the state of the archive, now or at a version, and that version.

    Raises `ValueError` for a version that does not exist, or no longer exists.
    """
    deltalake: Any = library("deltalake", "archive")
    table = store.open("coverage")
    if table is None:
        if version is not None and version >= 0:
            raise ValueError(f"the archive has no version {version} yet: nothing is stored")
        return {}, -1
    if version is not None and not 0 <= version <= table.version():
        raise ValueError(f"the archive has the versions 0 to {table.version()}, not {version}")
    try:
        if version is not None:
            table.load_as_version(version)
        rows = table.to_pyarrow_dataset().to_table(columns=["unit", "sequence"])
    except (FileNotFoundError, OSError, deltalake.exceptions.DeltaError) as error:
        if version is None:
            raise
        raise ValueError(f"version {version} was vacuumed: pass the time of that state instead") from error
    pairs = zip(rows["unit"].to_pylist(), rows["sequence"].to_pylist(), strict=True)
    return {unit: sequence for unit, sequence in pairs if sequence}, table.version()


def state_at(store: Store, when: datetime, now: State) -> State:
    """Return the state of the archive at a time."""
    then: dict[str, int] = {}
    for row in bodies(store, columns=("unit", "sequence", "status", "stored_at")):
        unit, sequence = row["unit"], row["sequence"]
        if row["status"] != "undecodable" and row["stored_at"] <= when and sequence <= now.get(unit, 0):
            then[unit] = max(sequence, then.get(unit, 0))
    return then


def changes(store: Store, then: State, now: State, version: int) -> Changes:
    """Return the rows of all tables by which the two states differ."""
    pa = library("pyarrow", "archive")
    parts: dict[str, list[pyarrow.Table]] = {name: [_marked(name, [], [])] for name in TABLES}
    for unit, old, new in changed_units(store, then, now):
        for name in RESOURCES[unit.operation].tables:
            parts[name].append(difference(name, old[name], new[name]))
    return Changes(
        {name: pa.concat_tables(tables, promote_options="default") for name, tables in parts.items()}, version
    )


def changed_units(store: Store, then: State, now: State) -> Iterator[ChangedUnit]:
    """Yield the units whose bodies differ, a few in memory at a time."""
    units = sorted(unit for unit in then.keys() | now.keys() if then.get(unit, 0) != now.get(unit, 0))
    for first in range(0, len(units), _BATCH_SIZE):
        some = units[first : first + _BATCH_SIZE]
        entries = [f"{unit}#{states[unit]}" for unit in some for states in (then, now) if states.get(unit)]
        found: dict[tuple[str, int], Mapping[str, pyarrow.Table]] = {}
        of: dict[str, Unit] = {}
        for row in bodies(store, entries=entries):
            unit = of[row["unit"]] = unit_of_body(row)
            tables = empty_tables(unit) if row["body"] is None else decode_tables(unit, row["body"])
            if "players" in tables:
                tables["players"] = history(store, unit, row["sequence"])
            found[row["unit"], row["sequence"]] = tables
        for name in some:
            none = empty_tables(of[name])
            old, new = (found.get((name, states.get(name, 0)), none) for states in (then, now))
            yield ChangedUnit(of[name], old, new)


def difference(name: str, old: "pyarrow.Table", new: "pyarrow.Table") -> "pyarrow.Table":
    """Return the rows by which a table's rows of one unit differ, with their change."""
    if not old.num_rows or not new.num_rows:
        return _with_change(name, *((new, "insert") if new.num_rows else (old, "delete")))
    pa = library("pyarrow", "archive")
    both = pa.concat_tables([old, new], promote_options="default")
    rows = both.to_pylist()
    sides = rows[: old.num_rows], rows[old.num_rows :]
    same = Counter(map(repr, sides[0])) & Counter(map(repr, sides[1]))
    old_rows, new_rows = (
        [row for row in side if not _take_one(counts, row)] for side in sides for counts in [same.copy()]
    )
    updates = _updates(name, sides, new_rows) & {_key(name, row) for row in old_rows}
    marked = [(row, "delete") for row in old_rows if _key(name, row) not in updates]
    marked += [(row, "update" if _key(name, row) in updates else "insert") for row in new_rows]
    return _marked(name, [row for row, _ in marked], [change for _, change in marked], both.schema)


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


def _marked(
    name: str, rows: Sequence[Row], marks: Sequence[str], schema: "pyarrow.Schema | None" = None
) -> "pyarrow.Table":
    pa = library("pyarrow", "archive")
    table = pa.Table.from_pylist(list(rows), schema) if schema is not None else public_schema(name).empty_table()
    return conform(table, public_schema(name)).append_column(CHANGE, pa.array(marks, pa.string()))


def _with_change(name: str, rows: "pyarrow.Table", change: str) -> "pyarrow.Table":
    pa = library("pyarrow", "archive")
    return conform(rows, public_schema(name)).append_column(CHANGE, pa.array([change] * rows.num_rows, pa.string()))
