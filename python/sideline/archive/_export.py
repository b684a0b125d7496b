"""An archive's changes into another database by ADBC, each exactly once.

One export is one transaction. It reads from the target which body of each unit it has, replaces the rows of the units
that have another one in the archive, and writes down which they are from now on.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from sideline._frames import library
from sideline.archive._changes import changed, state
from sideline.archive._plan import RESOURCES, TABLES
from sideline.archive._read import require, to_arrow
from sideline.archive._store import Store, contract

if TYPE_CHECKING:
    import pyarrow

STATE, SOURCE = "sideline_units", "sideline_source"
"""Tables of the target: the body of each unit that it has, and the archive that they are from."""

WHOLE = ("coverage", "corrections")
"""Tables that are small and replaced as a whole."""

_AT_ONCE = 200
_TYPES = {"bool": "bool", "int32": "int4", "int64": "int8", "double": "float8", "binary": "bytea"}


class Exported(NamedTuple):
    """What an export did; see `Archive.export`."""

    units: int
    """Bodies whose rows were replaced."""
    rows: Mapping[str, int]
    """Rows that were written, by table."""


class Target:
    """A database in a transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    def commit(self) -> None:
        """Keep what was written."""
        self._connection.commit()

    def close(self) -> None:
        """Undo what was not committed."""
        with suppress(Exception):
            self._cursor.close()
        with suppress(Exception):
            self._connection.rollback()
        self._connection.close()

    def run(self, text: str) -> None:
        """Run a statement."""
        self._cursor.execute(text)

    def read(self, text: str) -> "pyarrow.Table":
        """The result of a query."""
        self._cursor.execute(text)
        found: pyarrow.Table = self._cursor.fetch_arrow_table()
        return found

    def has(self, name: str) -> bool:
        """Whether there is a table of this name."""
        found = self.read(
            "select count(*) as n from information_schema.tables"
            f" where table_name = {_text(name)} and table_schema = current_schema()"
        )
        return bool(found["n"].to_pylist()[0])

    def columns(self, name: str) -> list[str]:
        """The columns of a table, in its order."""
        return list(self.read(f"select * from {_name(name)} limit 0").column_names)

    def create(self, name: str, schema: "pyarrow.Schema") -> None:
        """Make a table."""
        columns = ", ".join(f"{_name(field.name)} {_type(field.type)}" for field in schema)
        self.run(f"create table {_name(name)} ({columns})")

    def add(self, name: str, rows: "pyarrow.Table") -> None:
        """Append rows, their columns in the table's order."""
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
        # A column that these rows lack: through a table that has theirs alone.
        self._cursor.adbc_ingest("sideline_rows", table, mode="create", temporary=True)
        listed = ", ".join(_name(column) for column, _ in present)
        self.run(f"insert into {_name(name)} ({listed}) select {listed} from sideline_rows")
        self.run("drop table sideline_rows")


def deliver(store: Store, to: str, schema: Literal["evolve", "freeze"]) -> Exported:
    """Bring the target up to date in one transaction."""
    if schema not in ("evolve", "freeze"):
        raise ValueError(f'schema is "evolve" or "freeze", not {schema!r}')
    require(store)
    with connected(to) as target:
        done = _export(store, target, is_frozen=schema == "freeze")
        target.commit()
    return done


def _export(store: Store, target: Target, *, is_frozen: bool) -> Exported:
    then = _state(store, target)
    now, _ = state(store)
    shapes = _Shapes(target, is_frozen=is_frozen and bool(then))
    written = dict.fromkeys((*TABLES, *WHOLE), 0)
    for name in written:
        shapes.ensure(name, _plain(contract(name).empty_table()).schema)
    units = 0
    gone: dict[tuple[str, str], list[int | str]] = {}
    new: dict[str, list[pyarrow.Table]] = {}
    names: list[str] = []

    def flush() -> None:
        pa = library("pyarrow", "export")
        for (name, key), ids in gone.items():
            target.run(f"delete from {_name(name)} where {_name(key)} in ({', '.join(map(_value, ids))})")
        for name, tables in new.items():
            rows = _plain(pa.concat_tables(tables, promote_options="default"))
            shapes.ensure(name, rows.schema)
            target.add(name, rows)
            written[name] += rows.num_rows
        if names:
            target.run(f"delete from {STATE} where unit in ({', '.join(map(_text, names))})")
            kept = [(name, now[name]) for name in names if name in now]
            schema = pa.schema({"unit": pa.string(), "sequence": pa.int64()})
            target.add(STATE, pa.Table.from_pylist([{"unit": name, "sequence": at} for name, at in kept], schema))
        for pending in (gone, new, names):
            pending.clear()

    for unit, _, tables in changed(store, then, now):
        units += 1
        resource = RESOURCES[unit.operation]
        names.append(unit.name)
        for name in resource.tables:
            if unit.name in then:
                gone.setdefault((name, resource.key), []).append(unit.key)
            if tables[name].num_rows:
                new.setdefault(name, []).append(tables[name])
        if len(names) == _AT_ONCE:
            flush()
    flush()
    for name in WHOLE:
        rows = _plain(to_arrow(store, name))
        target.run(f"delete from {_name(name)}")
        target.add(name, rows)
        written[name] = rows.num_rows
    return Exported(units, written)


def _state(store: Store, target: Target) -> dict[str, int]:
    """The sequence of the body of each unit that the target has; made where it is not there.

    Raises `ValueError` where the target has the rows of another archive.
    """
    pa = library("pyarrow", "export")
    coverage = store.open("coverage")
    source = "" if coverage is None else str(coverage.metadata().id)
    if not target.has(STATE):
        if taken := [name for name in (*TABLES, *WHOLE) if target.has(name)]:
            raise ValueError(
                f"the target has a table {taken[0]!r} that no export made: export into an empty database or schema"
            )
        target.create(STATE, pa.schema({"unit": pa.string(), "sequence": pa.int64()}))
        target.create(SOURCE, pa.schema({"archive": pa.string()}))
        target.run(f"insert into {SOURCE} values ({_text(source)})")
        return {}
    # Of two exports at once, the second waits here, or fails.
    target.run(f"update {SOURCE} set archive = archive")
    if target.read(f"select archive from {SOURCE}")["archive"].to_pylist() != [source]:
        raise ValueError("the target has the rows of another archive: export into an empty database or schema")
    rows = target.read(f"select unit, sequence from {STATE}")
    return dict(zip(rows["unit"].to_pylist(), rows["sequence"].to_pylist(), strict=True))


class _Shapes:
    """The columns of the target's tables."""

    def __init__(self, target: Target, *, is_frozen: bool) -> None:
        self._target = target
        self._is_frozen = is_frozen
        self._columns: dict[str, set[str]] = {}

    def ensure(self, name: str, schema: "pyarrow.Schema") -> None:
        """Make the table, or add its columns; raises `ValueError` where the schema is frozen and lacks one."""
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
                self._target.run(f"alter table {_name(name)} add column {_name(field.name)} {_type(field.type)}")
        self._columns[name] = (known or set()) | set(schema.names)


def _plain(rows: "pyarrow.Table") -> "pyarrow.Table":
    """As databases have it: microseconds, texts for dictionaries, and JSON for what is nested."""
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


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _value(value: int | str) -> str:
    return str(value) if isinstance(value, int) else _text(value)


@contextmanager
def connected(to: str) -> Iterator[Target]:
    """A database; what is not committed when it closes is undone. No error has the address's password."""
    driver, address = _driver(to)
    secret = urlsplit(to).password or ""
    try:
        connection = driver(address)
    except Exception as error:
        text = str(error).replace(secret, "***") if secret else str(error)
        raise ConnectionError(f"cannot connect to the target of the export: {text}") from None
    target = Target(connection)
    try:
        yield target
    finally:
        target.close()


def _driver(to: str) -> tuple[Callable[[str], Any], str]:
    scheme, separator, rest = to.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return library("adbc_driver_postgresql.dbapi", "export").connect, to
    if separator and scheme == "duckdb" and rest.startswith("/"):
        return library("adbc_driver_duckdb.dbapi", "export").connect, rest
    raise ValueError('to is an address: "postgresql://user@host/database" or "duckdb:///path/to/file.duckdb"')
