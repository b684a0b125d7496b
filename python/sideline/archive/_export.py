"""Exports an archive's changes to another database by ADBC, each exactly once.

An export is one transaction. It reads from the target which body of each unit it has, replaces the rows of units that
have another body in the archive, and records the new bodies in the target. Tables that are not decoded from bodies are
compared by groups of rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._rows import did_you_mean
from ._changes import KEYS, State, changed_units, current_state
from ._export_target import Target, open_target, quote_name, quote_text
from ._export_values import MAX_COLUMNS, deliverable, is_long, key_problem, sentence
from ._libraries import pa, pc
from ._plan import ANSWERS, RESOURCES, TABLES
from ._pseudonyms import replace_rows
from ._read import batches, open_table, require, to_arrow
from ._schemas import comments_of, public_schema
from ._store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from .._companions import Pseudonyms

UNITS_TABLE, GROUPS_TABLE, SOURCE_TABLE = "sideline_units", "sideline_groups", "sideline_source"
"""Tables of the target: the body of each unit, the digest of each group of rows, and the archive that they are from."""

GROUPED_TABLES: Mapping[str, str] = {
    "coverage": "unit",
    "corrections": "session_id",
    **dict.fromkeys(ANSWERS, "session_id"),
}
"""Tables that are not decoded from bodies, with the column by which their rows are compared and replaced."""

_EVERY_TABLE = (*TABLES, *GROUPED_TABLES)

PRIMARY_KEYS: Mapping[str, Sequence[str]] = {
    **{name: key for name, key in KEYS.items() if name != "locations"},
    "players": ("team_id", "player_id", "listed_from"),
    "possession_players": ("session_id", "team_id", "player_id"),
    # Two events may list a session.
    "location_windows": ("event_id", "session_id", "start"),
    "coverage": ("unit",),
    "tracking_loads": ("session_id", "period", "player_id"),
    "tracking_defenders": ("session_id", "row"),
}

_INDEXED_COLUMNS = (
    *("game_id", "session_id", "event_id", "team_id", "player_id"),
    *("occurred_at", "timestamp", "start_timestamp", "t", "tipoff_at", "started_at", "seen_at"),
)
_BATCH_SIZE = 200


class UnsuitableTarget(ValueError):
    """The target has other tables or rows than those of the archive, or a frozen schema that lacks a column."""


class Exported(NamedTuple):
    """The result of an export; see `Archive.export`."""

    units: int
    """Number of bodies whose rows were replaced."""
    rows: Mapping[str, int]
    """Number of written rows, by table."""
    problems: tuple[str, ...] = ()
    """What the target could not hold: values that are null there, columns that were left out, keys that rows share."""


def export(
    store: Store,
    to: object,
    tables: Iterable[str] | str | None,
    schema: Literal["evolve", "freeze"],
    pseudonyms: "Pseudonyms | None" = None,
) -> Exported:
    """Bring the target up to date in one transaction."""
    if tables is None:
        names: tuple[Any, ...] = _EVERY_TABLE
    else:
        names = (tables,) if isinstance(tables, str) or not isinstance(tables, Iterable) else tuple(tables)
    if not names:
        raise ValueError("tables has no table: name one, or leave it out for all")
    if unknown_names := [name for name in names if name not in _EVERY_TABLE]:
        hint = did_you_mean(unknown_names[0], _EVERY_TABLE)
        raise ValueError(f"no table {unknown_names[0]!r} is exported; there are {', '.join(_EVERY_TABLE)}{hint}")
    if schema not in ("evolve", "freeze"):
        raise ValueError(f'schema is {schema!r}; it must be "evolve" or "freeze"')
    require(store)
    with open_target(to) as target:
        result = _Export(store, target, names, pseudonyms, is_frozen=schema == "freeze").run()
        target.commit()
    return result


class _Export:
    """One export: the tables of the target, and what was written to them."""

    def __init__(
        self, store: Store, target: Target, names: Sequence[str], pseudonyms: "Pseudonyms | None", *, is_frozen: bool
    ) -> None:
        self._store, self._target, self._pseudonyms = store, target, pseudonyms
        units, self._is_restored = _exported_units(store, target, pseudonyms)
        self._earlier_units = _own_units(store, units, pseudonyms)
        self._is_frozen = is_frozen and bool(self._earlier_units)
        present = {name for name in _EVERY_TABLE if target.has(name)}
        # A table that was chosen once is kept up to date.
        self._tables = [name for name in _EVERY_TABLE if name in names or name in present]
        self._columns = {name: target.columns(name) for name in present}
        self._rows = dict.fromkeys(self._tables, 0)
        self._problems: Counter[tuple[str, str]] = Counter()
        # All bodies and groups of a table that the target does not have whole, or no longer, are exported again.
        new = {name for name in self._tables if not {*public_schema(name).names}.issubset(self._columns.get(name, ()))}
        for name in new & GROUPED_TABLES.keys():
            target.run(f"delete from {GROUPS_TABLE} where table_name = {quote_text(name)}")
            if name in present:
                target.run(f"delete from {quote_name(name)}")
        self._new_operations = {operation for operation, resource in RESOURCES.items() if new & set(resource.tables)}

    def run(self) -> Exported:
        """Write what has changed."""
        now, version = current_state(self._store)
        for name in self._tables:
            self._ensure(name, self._deliverable(name, public_schema(name).empty_table()).schema)
        earlier_units = {
            unit: at for unit, at in self._earlier_units.items() if unit.partition("/")[0] not in self._new_operations
        }
        if self._is_restored:
            # Its bodies may have the numbers of other ones in the target, so everything is exported again.
            earlier_units = {}
        # Everything that is replaced is deleted first: a practice that is a game now has its rows in another unit.
        stale = (unit for unit in self._earlier_units if earlier_units.get(unit, -1) != now.get(unit, 0))
        self._delete(sorted(stale))
        if self._is_restored:
            self._target.run(f"delete from {UNITS_TABLE}")
        units = self._write_units(earlier_units, now)
        coverage = self._store.open("coverage")
        committed_at = 0 if coverage is None else _commit_time(coverage, version)
        self._target.run(f"update {SOURCE_TABLE} set version = {version}, committed_at = {committed_at}")
        for name, column in GROUPED_TABLES.items():
            if name in self._tables:
                self._write_groups(name, column)
        problems = (sentence(*problem, count) for problem, count in self._problems.items())
        return Exported(units, self._rows, tuple(problems))

    def _report(self, name: str, problem: str, count: int = 0) -> None:
        self._problems[name, problem] += count

    def _deliverable(self, name: str, rows: "pa.Table") -> "pa.Table":
        is_postgresql = self._target.is_postgresql
        return deliverable(name, rows, self._report, is_postgresql=is_postgresql)

    def _write_units(self, earlier_units: Mapping[str, int], now: State) -> int:
        units = 0
        new: dict[str, list[pa.Table]] = {}
        names: list[str] = []
        for part, _, tables in changed_units(self._store, earlier_units, now):
            units += len(part)
            names += (unit.name for unit in part)
            for name in self._rows.keys() & tables.keys():
                if tables[name].num_rows:
                    new.setdefault(name, []).append(tables[name])
            if len(names) >= _BATCH_SIZE:
                self._flush(new, names, now)
        self._flush(new, names, now)
        return units

    def _with_pseudonyms(self, rows: "pa.Table") -> "pa.Table":
        return rows if self._pseudonyms is None else replace_rows(rows, self._pseudonyms)

    def _flush(self, new: "dict[str, list[pa.Table]]", names: list[str], now: State) -> None:
        for name, tables in new.items():
            self._add(name, self._with_pseudonyms(pa.concat_tables(tables, promote_options="default")))
        if names:
            self._target.run(
                f"delete from {UNITS_TABLE} where unit in ({', '.join(quote_text(self._unit(name)) for name in names)})"
            )
            current = [{"unit": self._unit(name), "sequence": now[name]} for name in names if name in now]
            self._target.add(UNITS_TABLE, pa.Table.from_pylist(current, _units_schema()))
        new.clear()
        names.clear()

    def _unit(self, name: str) -> str:
        """Return the name of a unit in the target."""
        return name if self._pseudonyms is None else self._pseudonyms.unit(name)

    def _add(self, name: str, rows: "pa.Table") -> None:
        rows = self._deliverable(name, rows)
        self._ensure(name, rows.schema)
        key = PRIMARY_KEYS.get(name, ())
        if self._target.is_postgresql:
            if key and (problem := key_problem(rows, key)) and self._target.drop_key(name, key):
                self._report(name, f"no primary key ({', '.join(key)}), because {problem}")
            for column in _INDEXED_COLUMNS:
                if column in rows.column_names and is_long(rows[column]):
                    self._target.drop_index(name, column)
                    self._report(name, f"no index on {column}, because a value is too long for one")
        self._target.add(name, rows)
        self._rows[name] += rows.num_rows

    def _ensure(self, name: str, schema: "pa.Schema") -> None:
        """Create the table or add missing columns. Raises `ValueError` if the schema is frozen and lacks a column."""
        present_columns = self._columns.get(name)
        missing = [field for field in schema if present_columns is None or field.name not in present_columns]
        if self._target.is_postgresql and (excess := missing[max(0, MAX_COLUMNS - len(present_columns or ())) :]):
            missing = missing[: -len(excess)]
            names = ", ".join(repr(field.name[:80]) for field in excess)
            self._report(name, f"beyond {MAX_COLUMNS} columns, these are left out: {names}")
        if missing and self._is_frozen:
            names = ", ".join(field.name for field in missing[:5])
            raise UnsuitableTarget(
                f'{name} has columns that the target lacks: {names}. Add them, or export with schema="evolve"'
            )
        if present_columns is None:
            key = PRIMARY_KEYS.get(name, ())
            self._target.create(name, schema, key)
            for column in _INDEXED_COLUMNS:
                if column in schema.names and column not in key[:1]:
                    self._target.index(name, column)
            self._target.comment(name, *comments_of(name))
        else:
            for field in missing:
                self._target.add_column(name, field)
        self._columns[name] = [*(present_columns or []), *(field.name for field in missing)]

    def _delete(self, units: list[str]) -> None:
        """Delete the rows of some units."""
        ids: dict[tuple[str, str], list[str]] = {}
        for unit in units:
            operation, _, id_ = self._unit(unit).partition("/")
            key = RESOURCES[operation].key
            for name in set(RESOURCES[operation].tables) & self._rows.keys():
                ids.setdefault((name, key), []).append(id_ if key == "team_id" else quote_text(id_))
        for (name, key), keys in ids.items():
            for first in range(0, len(keys), _BATCH_SIZE):
                key_list = ", ".join(keys[first : first + _BATCH_SIZE])
                self._target.run(f"delete from {quote_name(name)} where {quote_name(key)} in ({key_list})")

    def _write_groups(self, name: str, column: str) -> None:
        """Replace the groups of a table's rows that differ from those of the target."""
        digests = self._target.read(f"select name, digest from {GROUPS_TABLE} where table_name = {quote_text(name)}")
        earlier_digests = dict(zip(digests["name"].to_pylist(), digests["digest"].to_pylist(), strict=True))
        table = open_table(self._store, name)

        def parts() -> "Iterator[pa.Table]":
            return map(self._with_pseudonyms, () if table is None else batches(self._store, table))

        now = _digests(parts(), column)
        groups_to_write = sorted(
            group for group in earlier_digests.keys() | now.keys() if earlier_digests.get(group) != now.get(group)
        )
        for first in range(0, len(groups_to_write), _BATCH_SIZE):
            names = groups_to_write[first : first + _BATCH_SIZE]
            name_list = ", ".join(map(quote_text, names))
            self._target.run(
                f"delete from {quote_name(name)} where coalesce({quote_name(column)}, '') in ({name_list})"
            )
            self._target.run(
                f"delete from {GROUPS_TABLE} where table_name = {quote_text(name)} and name in ({name_list})"
            )
            current = [{"table_name": name, "name": group, "digest": now[group]} for group in names if group in now]
            self._target.add(GROUPS_TABLE, pa.Table.from_pylist(current, _groups_schema()))
        requested_groups = pa.array(groups_to_write, pa.string())
        for rows in parts() if groups_to_write else ():
            new = rows.filter(pc.is_in(pc.fill_null(rows[column].cast(pa.string()), ""), requested_groups))
            if new.num_rows:
                self._add(name, new)


def _digests(parts: "Iterable[pa.Table]", column: str) -> dict[str, str]:
    """Return a digest of each group of rows, whatever their order: files are read as they come."""
    sums: dict[str, int] = {}
    for rows in parts:
        for group, row in zip(rows[column].to_pylist(), rows.to_pylist(), strict=True):
            digest = int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest(), "big")
            sums[group or ""] = (sums.get(group or "", 0) + digest) % 2**128
    return {group: f"{total:032x}" for group, total in sums.items()}


def _units_schema() -> "pa.Schema":
    return pa.schema({"unit": pa.string(), "sequence": pa.int64()})


def _groups_schema() -> "pa.Schema":
    return pa.schema({"table_name": pa.string(), "name": pa.string(), "digest": pa.string()})


def _own_units(store: Store, units: dict[str, int], pseudonyms: "Pseudonyms | None") -> dict[str, int]:
    """Return units of the target by their names in the archive."""
    if pseudonyms is None or not units:
        return units
    names = {pseudonyms.unit(name): name for name in to_arrow(store, "coverage")["unit"].to_pylist()}
    if any(unit not in names for unit in units):
        raise UnsuitableTarget(
            "the target has units that the archive lacks, which was restored from an earlier copy: export into an "
            "empty database or schema"
        )
    return {names[unit]: sequence for unit, sequence in units.items()}


def _commit_time(table: "DeltaTable", version: int) -> int:
    """Return when a version of a table was committed, in epoch milliseconds; 0 if the log no longer has it."""
    entries = table.history(table.version() - version + 1)
    return next((int(item.get("timestamp", 0)) for item in entries if item.get("version") == version), 0)


def _exported_units(store: Store, target: Target, pseudonyms: "Pseudonyms | None") -> tuple[dict[str, int], bool]:
    """Return the sequence of each unit's body in the target, and whether the archive was restored from a copy since.

    Creates the tables that record them.

    Raises `ValueError` if the target has the rows of another archive, or those of another key of pseudonyms.
    """
    coverage = store.open("coverage")
    source = "" if coverage is None else str(coverage.metadata().id)
    if pseudonyms is not None:
        source = pseudonyms.fingerprint(source)
    if not target.has(UNITS_TABLE):
        if present_names := [name for name in _EVERY_TABLE if target.has(name)]:
            raise UnsuitableTarget(
                f"the target has a table {present_names[0]!r} that no export made: use an empty database or schema"
            )
        target.create(UNITS_TABLE, _units_schema())
        target.create(GROUPS_TABLE, _groups_schema())
        columns = {"archive": pa.string(), "version": pa.int64(), "committed_at": pa.int64()}
        target.create(SOURCE_TABLE, pa.schema(columns))
        target.run(f"insert into {SOURCE_TABLE} values ({quote_text(source)}, -1, 0)")
        return {}, False
    # The second of two concurrent exports waits here, or fails.
    target.run(f"update {SOURCE_TABLE} set archive = archive")
    [state] = target.read(f"select * from {SOURCE_TABLE}").to_pylist()
    if state["archive"] != source:
        raise UnsuitableTarget(
            "the target has the rows of another archive, or with other pseudonyms: export into an empty database or "
            "schema"
        )
    rows = target.read(f"select unit, sequence from {UNITS_TABLE}")
    units = dict(zip(rows["unit"].to_pylist(), rows["sequence"].to_pylist(), strict=True))
    version = state["version"]
    if coverage is None or version > coverage.version():
        return units, coverage is not None
    # A version that the log no longer has may be one of another log.
    return units, _commit_time(coverage, version) != state["committed_at"] > 0
