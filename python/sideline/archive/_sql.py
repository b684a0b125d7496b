"""Queries over an archive by DuckDB: locked ones for `Archive.sql`, and an open connection for people."""

from concurrent.futures import ThreadPoolExecutor, wait
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any

from .._client import check_count
from .._lazy import library
from ..errors import QueryError
from ._libraries import pa, pc
from ._plan import ANSWERS, TABLES
from ._query_scope import Scope, read_scope
from ._read import coverage_table, open_tables, warn_of_unrequested
from ._schemas import MONTH, internal_schemas, public_schema
from ._store import Store

if TYPE_CHECKING:
    import duckdb

_LOCKED_SETTINGS = {
    "allow_community_extensions": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}

_LOCKS = (
    # Otherwise DuckDB follows the symbolic links of a path before it refuses it.
    "disabled_filesystems = 'LocalFileSystem'",
    "enable_external_access = false",
    "lock_configuration = true",
)

_AS_THEY_ARE = {"bigint", "blob", "boolean", "double", "integer", "varchar"}
_AS_INTEGERS = {"hugeint", "smallint", "tinyint", "ubigint", "uhugeint", "uinteger", "usmallint", "utinyint"}
_AS_FLOATS = {"decimal", "float"}
_AS_TIMES = {"timestamp", "timestamp with time zone", "timestamp_ms", "timestamp_ns", "timestamp_s"}


POSITION_TABLES = frozenset(("locations", "tracking_loads", "tracking_defenders", "tracking_sources"))
"""Tables with positions of persons, and what is computed from them."""


def connect(store: Store) -> "duckdb.DuckDBPyConnection":
    """Return a DuckDB database in memory that has the stored tables, by name."""
    connection: duckdb.DuckDBPyConnection = _database(store, {}, positions=True)[0]
    return connection


def _database(store: Store, config: dict[str, Any], *, positions: bool) -> tuple[Any, list[str]]:
    """Return a database, and the names of its tables that are not stored; `positions`: also those of persons."""
    missing_names: list[str] = []
    connection: Any = library("duckdb", "archive").connect(config=config)
    connection.execute("set TimeZone = 'UTC'")
    names = [name for name in (*TABLES, *ANSWERS, *internal_schemas()) if positions or name not in POSITION_TABLES]
    for name, table in open_tables(store, names).items():
        if table is None:
            missing_names.append(name)
            connection.register(name, public_schema(name).empty_table())
        elif name == "coverage":
            connection.register(name, coverage_table(store, table))
        else:
            rows = store.dataset(table)
            if name == "raw" and not positions:
                rows = rows.filter(pc.field("operation") != "locations")
            connection.register(f"_{name}", rows)
            columns = f"* exclude ({MONTH})"
            if name in internal_schemas():
                columns = ", ".join(f'"{column}"' for column in public_schema(name).names)
            connection.execute(f"create view {name} as select {columns} from _{name}")
    return connection, missing_names


def scope_of(query: str) -> Scope:
    """Return which tables one `select` names, and for which games. Raises `QueryError` for any other statement."""
    duckdb: Any = library("duckdb", "archive")
    with duckdb.connect(config={**_LOCKED_SETTINGS, "enable_external_access": False}) as connection:
        try:
            _check_select(connection, query)
        except duckdb.ParserException as error:
            raise QueryError(str(error)) from None
        return read_scope(connection, query)


def select(
    store: Store, query: str, max_rows: int, timeout: float, memory_limit: str, *, positions: bool = True
) -> "pa.Table":
    """Return the rows of one `select`, in types of a `Table`. Nothing outside is read or written."""
    check_count("max_rows", max_rows)
    duckdb: Any = library("duckdb", "archive")
    try:
        connection, missing_names = _database(
            store, {**_LOCKED_SETTINGS, "memory_limit": memory_limit}, positions=positions
        )
    except duckdb.ParserException as error:
        raise ValueError(f"memory_limit={memory_limit!r} is not a size; write '1GB', for example") from error
    with connection:
        for lock in _LOCKS:
            connection.execute(f"set {lock}")
        try:
            rows = _rows_in_time(connection, query, max_rows, timeout)
        except duckdb.InterruptException:
            raise QueryError(f"the query took longer than {timeout:g} s: select less, or raise timeout=") from None
        except duckdb.OutOfMemoryException:
            raise QueryError(
                f"the query needs more memory than {memory_limit}: select less, or raise memory_limit="
            ) from None
        except (
            duckdb.BinderException,
            duckdb.CatalogException,
            duckdb.ParserException,
            duckdb.PermissionException,
        ) as error:
            raise QueryError(str(error)) from None
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        if any(name in query.lower() for name in missing_names):
            scope = read_scope(connection, query)
            warn_of_unrequested(store, [name for name in missing_names if name in scope])
    return rows


def _rows_in_time(connection: Any, query: str, max_rows: int, timeout: float) -> "pa.Table":
    """Return the rows, or raise DuckDB's `InterruptException` after the timeout. In a thread, because DuckDB may not
    look for Ctrl-C for minutes."""
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(_rows, connection, query, max_rows)
        try:
            wait([future], min(timeout, TIMEOUT_MAX))
        finally:
            # An interrupt before the statement runs has no effect.
            while not future.done():
                connection.interrupt()
                wait([future], 0.01)
        rows: pa.Table = future.result()
    return rows


def _check_select(connection: Any, query: str) -> None:
    if not isinstance(query, str):
        raise TypeError(f"query is one select as text, not {type(query).__name__}")
    kinds = [statement.type.name for statement in connection.extract_statements(query)]
    if kinds != ["SELECT"]:
        statements = " and ".join(kind.lower() for kind in kinds) or "nothing"
        raise QueryError(f"archive.sql takes one select, not {statements}; archive.connect() is an open connection")


def _rows(connection: Any, query: str, max_rows: int) -> Any:
    _check_select(connection, query)
    relation = connection.sql(query)
    columns = [
        _column(name.replace('"', '""'), kind) for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    rows = relation.limit(max_rows + 1).project(", ".join(columns)).to_arrow_table()
    if rows.num_rows > max_rows:
        raise QueryError(f"the query has more than {max_rows:,} rows: select fewer, or raise max_rows=")
    return rows.cast(_in_milliseconds(rows.schema), safe=False)


def _in_milliseconds(schema: "pa.Schema") -> "pa.Schema":
    """DuckDB's times of a zone are microseconds, those of a `Table` milliseconds."""
    fields = [
        field.with_type(pa.timestamp("ms", "UTC")) if pa.types.is_timestamp(field.type) else field for field in schema
    ]
    return pa.schema(fields)


def _column(name: str, kind: Any) -> str:
    target = _target(kind)
    cast = f'"{name}"' if target is None else f'cast("{name}" as {target})'
    return f'{cast} as "{name}"'


def _target(kind: Any) -> str | None:
    """Return the type to which a column is cast, or `None`: a `Table` has few types, and the others become text."""
    if kind.id == "list":
        [(_, item)] = kind.children
        target = _target(item)
        # Only a column can have the type of a time.
        return None if target is None else "varchar[]" if item.id in _AS_TIMES else f"{target}[]"
    if str(kind) == "MAP(VARCHAR, DOUBLE)":
        # That of a stored table.
        return None
    if kind.id in _AS_THEY_ARE:
        return None
    if kind.id in _AS_TIMES:
        return "timestamp with time zone"
    return "bigint" if kind.id in _AS_INTEGERS else "double" if kind.id in _AS_FLOATS else "varchar"
