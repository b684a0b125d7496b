"""Exports an archive's changes to another database by ADBC, each exactly once.

An export is one transaction. It reads from the target which body of each unit it has, replaces the rows of units that
have another body in the archive, and records the new bodies in the target.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from .._rows import library
from ._changes import changed_units, current_state
from ._plan import ANSWERS, RESOURCES, TABLES
from ._read import require, to_arrow
from ._store import Store, public_schema

if TYPE_CHECKING:
    import pyarrow

UNITS_TABLE, SOURCE_TABLE = "sideline_units", "sideline_source"
"""Tables of the target: the body of each unit, and the archive that they are from."""

REPLACED_TABLES = ("coverage", "corrections", *ANSWERS)
"""Small tables that are replaced as a whole."""

_BATCH_SIZE = 200
_TYPES = {"bool": "bool", "int32": "int4", "int64": "int8", "double": "float8", "binary": "bytea"}


class Exported(NamedTuple):
    """The result of an export; see `Archive.export`."""

    units: int
    """Number of bodies whose rows were replaced."""
    rows: Mapping[str, int]
    """Number of written rows, by table."""


class Target:
    """A database in a transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    def commit(self) -> None:
        """Commit the transaction."""
        self._connection.commit()

    def close(self) -> None:
        """Roll back uncommitted changes and close the connection."""
        # A broken connection raises an error of its driver; the error that broke it matters.
        with suppress(Exception):
            self._cursor.close()
        with suppress(Exception):
            self._connection.rollback()
        self._connection.close()

    def run(self, text: str) -> None:
        """Run a statement."""
        self._cursor.execute(text)

    def read(self, text: str) -> "pyarrow.Table":
        """Return the result of a query."""
        self._cursor.execute(text)
        found: pyarrow.Table = self._cursor.fetch_arrow_table()
        return found

    def has(self, name: str) -> bool:
        """Return whether there is a table of this name."""
        found = self.read(
            "select count(*) as n from information_schema.tables"
            f" where table_name = {_text(name)} and table_schema = current_schema()"
        )
        return bool(found["n"].to_pylist()[0])

    def columns(self, name: str) -> list[str]:
        """Return the columns of a table, in order."""
        return list(self.read(f"select * from {_quote_name(name)} limit 0").column_names)

    def create(self, name: str, schema: "pyarrow.Schema") -> None:
        """Create a table."""
        columns = ", ".join(f"{_quote_name(field.name)} {_type(field.type)}" for field in schema)
        self.run(f"create table {_quote_name(name)} ({columns})")

    def add(self, name: str, rows: "pyarrow.Table") -> None:
        """Append rows, with their columns in the order of the table."""
        pa = library("pyarrow", "export")
        if not rows.num_rows:
            return
        columns = self.columns(name)
        arrays = [rows[column] if column in rows.column_names else pa.nulls(rows.num_rows) for column in columns]
        present = [
            (column, array) for column, array in zip(columns, arrays, strict=True) if column in rows.column_names
        ]
        table = pa.table(dict(present))
        if len(present) == len(columns):
            self._cursor.adbc_ingest(name, table, mode="append")
            return
        # `adbc_ingest` needs every column, so rows without one go through a temporary table.
        self._cursor.adbc_ingest("sideline_rows", table, mode="create", temporary=True)
        listed = ", ".join(_quote_name(column) for column, _ in present)
        self.run(f"insert into {_quote_name(name)} ({listed}) select {listed} from sideline_rows")
        self.run("drop table sideline_rows")


class Address:
    """The address of a target, which may contain a password. Its `repr` and its frames do not show it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        try:
            self._text = text
        finally:
            del text

    def __repr__(self) -> str:
        return "<address of an export's target>"

    def open(self) -> Target:
        """Begin a transaction. Raises `ValueError` for an invalid address, `ConnectionError` without a connection."""
        failure = None
        try:
            scheme, separator, rest = self._text.partition("://")
            if separator and scheme in ("postgresql", "postgres"):
                return Target(library("adbc_driver_postgresql.dbapi", "export").connect(self._text))
            if separator and scheme == "duckdb" and rest.startswith("/"):
                # DuckDB has its driver, which needs this one and would not say where it is from.
                library("adbc_driver_manager", "export")
                return Target(library("adbc_driver_duckdb.dbapi", "export").connect(rest))
        except ModuleNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - drivers raise classes of their own, whose texts repeat the address
            failure = self._without_password(str(error))
        finally:
            scheme = separator = rest = ""
        if failure is None:
            raise ValueError('to is an address: "postgresql://user@host/database" or "duckdb:///path/to/file.duckdb"')
        raise ConnectionError(f"cannot connect to the target of the export: {failure}")

    def _without_password(self, text: str) -> str:
        try:
            password = urlsplit(self._text).password or ""
        except ValueError:
            # The driver's text may repeat any part of it.
            return "its address cannot be read"
        for form in filter(None, {password, unquote(password), quote(unquote(password), safe="")}):
            text = text.replace(form, "***")
        return text


def export(store: Store, to: Address, schema: Literal["evolve", "freeze"]) -> Exported:
    """Bring the target up to date in one transaction."""
    if schema not in ("evolve", "freeze"):
        raise ValueError(f'schema is "evolve" or "freeze", not {schema!r}')
    require(store)
    with open_target(to) as target:
        done = _export(store, target, is_frozen=schema == "freeze")
        target.commit()
    return done


def _export(store: Store, target: Target, *, is_frozen: bool) -> Exported:
    then = _exported_units(store, target)
    now, _ = current_state(store)
    tables_of_target = _TargetTables(target, is_frozen=is_frozen and bool(then))
    written = dict.fromkeys((*TABLES, *REPLACED_TABLES), 0)
    for name in written:
        tables_of_target.ensure(name, _plain(public_schema(name).empty_table()).schema)
    units = 0
    new: dict[str, list[pyarrow.Table]] = {}
    names: list[str] = []

    # Everything that is replaced is deleted first: a practice that is a game now has its rows in another unit.
    _delete(target, [unit for unit in sorted(then) if then[unit] != now.get(unit, 0)])

    def flush() -> None:
        pa = library("pyarrow", "export")
        for name, tables in new.items():
            rows = _plain(pa.concat_tables(tables, promote_options="default"))
            tables_of_target.ensure(name, rows.schema)
            target.add(name, rows)
            written[name] += rows.num_rows
        if names:
            target.run(f"delete from {UNITS_TABLE} where unit in ({', '.join(map(_text, names))})")
            current = [(name, now[name]) for name in names if name in now]
            schema = pa.schema({"unit": pa.string(), "sequence": pa.int64()})
            target.add(
                UNITS_TABLE, pa.Table.from_pylist([{"unit": name, "sequence": at} for name, at in current], schema)
            )
        new.clear()
        names.clear()

    for unit, _, tables in changed_units(store, then, now):
        units += 1
        resource = RESOURCES[unit.operation]
        names.append(unit.name)
        for name in resource.tables:
            if tables[name].num_rows:
                new.setdefault(name, []).append(tables[name])
        if len(names) == _BATCH_SIZE:
            flush()
    flush()
    for name in REPLACED_TABLES:
        rows = _plain(to_arrow(store, name))
        target.run(f"delete from {_quote_name(name)}")
        target.add(name, rows)
        written[name] = rows.num_rows
    return Exported(units, written)


def _delete(target: Target, units: list[str]) -> None:
    """Delete the rows of some units."""
    ids: dict[tuple[str, str], list[str]] = {}
    for unit in units:
        operation, _, id_ = unit.partition("/")
        key = RESOURCES[operation].key
        for name in RESOURCES[operation].tables:
            ids.setdefault((name, key), []).append(id_ if key == "team_id" else _text(id_))
    for (name, key), keys in ids.items():
        for first in range(0, len(keys), _BATCH_SIZE):
            some = ", ".join(keys[first : first + _BATCH_SIZE])
            target.run(f"delete from {_quote_name(name)} where {_quote_name(key)} in ({some})")


def _exported_units(store: Store, target: Target) -> dict[str, int]:
    """Return the sequence of each unit's body in the target; creates the tables that record it.

    Raises `ValueError` if the target has the rows of another archive.
    """
    pa = library("pyarrow", "export")
    coverage = store.open("coverage")
    source = "" if coverage is None else str(coverage.metadata().id)
    if not target.has(UNITS_TABLE):
        if taken := [name for name in (*TABLES, *REPLACED_TABLES) if target.has(name)]:
            raise ValueError(
                f"the target has a table {taken[0]!r} that no export made: export into an empty database or schema"
            )
        target.create(UNITS_TABLE, pa.schema({"unit": pa.string(), "sequence": pa.int64()}))
        target.create(SOURCE_TABLE, pa.schema({"archive": pa.string()}))
        target.run(f"insert into {SOURCE_TABLE} values ({_text(source)})")
        return {}
    # The second of two concurrent exports waits here, or fails.
    target.run(f"update {SOURCE_TABLE} set archive = archive")
    if target.read(f"select archive from {SOURCE_TABLE}")["archive"].to_pylist() != [source]:
        raise ValueError("the target has the rows of another archive: export into an empty database or schema")
    rows = target.read(f"select unit, sequence from {UNITS_TABLE}")
    return dict(zip(rows["unit"].to_pylist(), rows["sequence"].to_pylist(), strict=True))


class _TargetTables:
    """Creates the target's tables and adds their columns."""

    def __init__(self, target: Target, *, is_frozen: bool) -> None:
        self._target = target
        self._is_frozen = is_frozen
        self._columns: dict[str, set[str]] = {}

    def ensure(self, name: str, schema: "pyarrow.Schema") -> None:
        """Create the table or add missing columns. Raises `ValueError` if the schema is frozen and lacks a column."""
        if name not in self._columns and self._target.has(name):
            self._columns[name] = set(self._target.columns(name))
        known = self._columns.get(name)
        missing = [field for field in schema if known is None or field.name not in known]
        if missing and self._is_frozen:
            what = ", ".join(field.name for field in missing[:5])
            raise ValueError(
                f'{name} has columns that the target lacks: {what}. Add them, or export with schema="evolve"'
            )
        if known is None:
            self._target.create(name, schema)
        else:
            for field in missing:
                self._target.run(
                    f"alter table {_quote_name(name)} add column {_quote_name(field.name)} {_type(field.type)}"
                )
        self._columns[name] = (known or set()) | set(schema.names)


def _plain(rows: "pyarrow.Table") -> "pyarrow.Table":
    """Convert to types that databases have: microseconds, strings for dictionaries, JSON for nested values."""
    import json

    pa: Any = library("pyarrow", "export")
    columns = {}
    for field in rows.schema:
        column = rows[field.name]
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        elif pa.types.is_timestamp(field.type):
            column = column.cast(pa.timestamp("us", field.type.tz))
        elif pa.types.is_nested(field.type):
            values = (
                dict(value) if pa.types.is_map(field.type) and value is not None else value
                for value in column.to_pylist()
            )
            texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            column = pa.chunked_array([pa.array(texts, pa.string())])
        columns[field.name] = column
    return pa.table(columns)


def _type(kind: Any) -> str:
    text = str(kind)
    return "timestamptz" if text.startswith("timestamp") else _TYPES.get(text, "text")


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


@contextmanager
def open_target(to: Address) -> Iterator[Target]:
    """Connect to a database; closing it undoes uncommitted changes."""
    target = to.open()
    try:
        yield target
    finally:
        target.close()
