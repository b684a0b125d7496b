"""The database that an export writes to, by ADBC: DuckDB, PostgreSQL, or any other by an open connection."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .._lazy import library
from ..errors import SidelineError
from ._libraries import pa, pc
from ._store_errors import disk_full

_TYPES = {"bool": "bool", "int32": "int4", "int64": "int8", "double": "float8", "binary": "bytea"}

_SERVER = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::(\d*))?")
"""A host name or a literal IPv6 address, and a port."""

_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")

_POSTGRESQL = ("postgresql", "postgres")
"""The schemes of its addresses."""

_SECRET_KEYWORDS = ("password", "sslpassword")

_JSON_TYPES = {"postgresql": "jsonb", "duckdb": "json"}

_MAX_INGESTED_ROWS = 2048
"""Rows of a vector of DuckDB, which casts no larger batch, such as text to JSON, and refuses it instead."""

_OUT_OF_MEMORY = "SET memory_limit"
"""What DuckDB advises in each of its errors about memory, which have no other mark."""

_JSONB_VERSION = b"\x01"
"""The first byte of a value of `jsonb` in PostgreSQL's binary format; the text follows."""


class Address:
    """The address of a target, which may contain a password. Its `repr` and its frames do not show it."""

    __slots__ = ("_keywords", "_path", "_scheme")

    def __init__(self, text: str) -> None:
        try:
            self._scheme, separator, self._path = text.partition("://")
            self._scheme = self._scheme if separator else ""
            self._keywords = keywords_of(text) if self._scheme in _POSTGRESQL else None
        finally:
            del text

    def __repr__(self) -> str:
        return "<address of an export's target>"

    def open(self) -> "Target":
        """Begin a transaction. Raises `ValueError` for an invalid address, `ConnectionError` without a connection."""
        if self._scheme in _POSTGRESQL:
            return self._open_postgresql()
        if self._path.startswith("/") and self._scheme == "duckdb":
            return self._open_duckdb()
        raise ValueError(
            'to is an address, "postgresql://user@host/database" or "duckdb:///path/to/file.duckdb", or an open ADBC '
            "connection"
        )

    def _open_duckdb(self) -> "Target":
        # DuckDB has its driver, which needs this one and would not say where it is from.
        library("adbc_driver_manager", "export")
        driver = library("adbc_driver_duckdb.dbapi", "export")
        path = Path(self._path)
        is_new = not path.exists()
        try:
            return Target(driver.connect(self._path))
        except Exception as error:  # noqa: BLE001 - the driver raises classes of its own
            failure = _line(str(error))
            if is_new and disk_full(error):
                # It would be taken for a damaged database.
                path.unlink(missing_ok=True)
        raise ConnectionError(f"cannot connect to the target of the export: {failure}")

    def _open_postgresql(self) -> "Target":
        driver = library("adbc_driver_postgresql.dbapi", "export")
        if self._keywords is None:
            raise ValueError(
                "the address of the export's target cannot be read: write / @ : ? # & and % of a name or password as "
                "%2F %40 %3A %3F %23 %26 and %25"
            )
        try:
            return Target(driver.connect(_conninfo(self._keywords)), self._without_secrets)
        except Exception as error:  # noqa: BLE001 - the driver raises classes of its own
            failure = _line(self._without_secrets(str(error)))
        raise ConnectionError(f"cannot connect to the target of the export: {failure}")

    def _without_secrets(self, text: str) -> str:
        """Return a text without passwords: a server can repeat the one that it received."""
        for name in _SECRET_KEYWORDS:
            if self._keywords is not None and name in self._keywords:
                text = text.replace(self._keywords[name], "***")
        return text


def keywords_of(address: str) -> dict[str, str] | None:
    """Return an address of PostgreSQL as keywords of its library; `None` if it can be read in more than one way.

    >>> from sideline.archive._export_target import keywords_of
    >>> keywords_of("postgresql://me:a%2Fb@localhost:5433/league?sslmode=require")
    {'user': 'me', 'password': 'a/b', 'dbname': 'league', 'host': 'localhost', 'port': '5433', 'sslmode': 'require'}
    """
    rest = address.partition("://")[2]
    place, _, query = rest.partition("?")
    authority, _, database = place.partition("/")
    login, at, hosts = authority.rpartition("@")
    servers = [_SERVER.fullmatch(server) for server in hosts.split(",")]
    options = [part.partition("=") for part in query.split("&")] if query else []
    is_clear = rest.count("@") == len(at) and _STRAY_PERCENT.search(rest) is None
    if not is_clear or not all(servers) or not all(name.isidentifier() and equals for name, equals, _ in options):
        return None
    user, _, password = login.partition(":")
    keywords = {"user": user, "password": password, "dbname": database}
    keywords["host"] = ",".join(server[1] or server[2] or "" for server in servers if server)
    if any(server[3] for server in servers if server):
        keywords["port"] = ",".join(server[3] or "" for server in servers if server)
    for name, _, value in options:
        # As PostgreSQL's library does.
        keywords |= {"sslmode": "require"} if (name, value) == ("ssl", "true") else {name: value}
    try:
        texts = {name: unquote(value, errors="strict") for name, value in keywords.items() if value}
    except UnicodeDecodeError:
        return None
    return None if any("\0" in text for text in texts.values()) else texts


def _conninfo(keywords: Mapping[str, str]) -> str:
    """Return keywords as one text, in which nothing of a value can end it."""
    return " ".join(
        "{}='{}'".format(name, value.replace("\\", "\\\\").replace("'", "\\'")) for name, value in keywords.items()
    )


def _line(text: str) -> str:
    """Return the text of an error as one line."""
    return " ".join(text.split())


class Target:
    """A database in a transaction."""

    def __init__(self, connection: Any, scrub: Callable[[str], str] = str) -> None:
        self._connection = connection
        self._scrub = scrub
        with self._translate_errors():
            self._cursor = connection.cursor()
            self.kind = str(connection.adbc_get_info().get("vendor_name", "")).lower()
        """"postgresql", "duckdb", or another database's name."""

    @property
    def is_postgresql(self) -> bool:
        """Whether the rules of PostgreSQL for names and texts hold."""
        return self.kind == "postgresql"

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise the errors of the driver as `SidelineError`, without a secret."""
        failure = None
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith("adbc_"):
                raise
            failure = _line(self._scrub(str(error)))
            # The driver manager cancels the statement that runs at a Ctrl-C.
            if getattr(getattr(error, "status_code", None), "name", "") == "CANCELLED":
                raise KeyboardInterrupt from None
        if failure is not None and self.kind == "duckdb" and _OUT_OF_MEMORY in failure:
            raise MemoryError(f"DuckDB has no memory for a statement of the export: {failure}")
        if failure is not None:
            raise SidelineError(f"the target of the export refused a statement: {failure}")

    def commit(self) -> None:
        """Commit the transaction."""
        with self._translate_errors():
            self._connection.commit()

    def roll_back(self) -> None:
        """Undo uncommitted changes."""
        # A broken connection raises an error of its driver; the error that broke it matters.
        with suppress(Exception):
            self._cursor.close()
        with suppress(Exception):
            self._connection.rollback()

    def close(self) -> None:
        """Roll back uncommitted changes and close the connection."""
        self.roll_back()
        self._connection.close()

    def run(self, text: str) -> None:
        """Run a statement."""
        with self._translate_errors():
            self._cursor.execute(text)

    def read(self, text: str) -> "pa.Table":
        """Return the result of a query."""
        with self._translate_errors():
            self._cursor.execute(text)
            result: pa.Table = self._cursor.fetch_arrow_table()
        return result

    def has(self, name: str) -> bool:
        """Return whether there is a table of this name."""
        if self.kind in _JSON_TYPES:
            rows = self.read(
                "select count(*) as n from information_schema.tables"
                f" where table_name = {quote_text(name)} and table_schema = current_schema()"
            )
            return bool(rows["n"].to_pylist()[0])
        with self._translate_errors():
            catalogs = self._connection.adbc_get_objects(depth="tables", table_name_filter=name).read_all().to_pylist()
        schemas = [schema for catalog in catalogs for schema in catalog["catalog_db_schemas"] or []]
        return any(table["table_name"] == name for schema in schemas for table in schema["db_schema_tables"] or [])

    def columns(self, name: str) -> list[str]:
        """Return the columns of a table, in order."""
        with self._translate_errors():
            return list(self._connection.adbc_get_table_schema(name).names)

    def create(self, name: str, schema: "pa.Schema", key: Sequence[str] = ()) -> None:
        """Create a table, in PostgreSQL with a primary key: it can be dropped where rows turn out to share it."""
        columns = [f"{quote_name(field.name)} {self.type_of(field.type)}" for field in schema]
        if key and self.is_postgresql:
            columns.append(f"primary key ({', '.join(map(quote_name, key))})")
        self.run(f"create table {quote_name(name)} ({', '.join(columns)})")

    def add_column(self, name: str, field: "pa.Field") -> None:
        """Add a column to a table."""
        self.run(f"alter table {quote_name(name)} add column {quote_name(field.name)} {self.type_of(field.type)}")

    def drop_key(self, name: str, key: Sequence[str]) -> bool:
        """Remove the primary key of a table, with what its columns must not lack; returns whether it had one."""
        rows = self.read(
            "select constraint_name as name from information_schema.table_constraints where table_schema ="
            f" current_schema() and table_name = {quote_text(name)} and constraint_type = 'PRIMARY KEY'"
        )
        for constraint in rows["name"].to_pylist():
            self.run(f"alter table {quote_name(name)} drop constraint {quote_name(constraint)}")
        for column in key:
            self.run(f"alter table {quote_name(name)} alter column {quote_name(column)} drop not null")
        return bool(rows.num_rows)

    def drop_index(self, name: str, column: str) -> None:
        """Remove the index on a column."""
        self.run(f"drop index if exists {quote_name(f'{name}_{column}')}")

    def index(self, name: str, column: str) -> None:
        """Add an index on a column, but in DuckDB, which scans columns and whose loads indexes slow down."""
        if self.kind != "duckdb":
            self.run(f"create index {quote_name(f'{name}_{column}')} on {quote_name(name)} ({quote_name(column)})")

    def comment(self, name: str, description: str, columns: dict[str, str]) -> None:
        """Describe a table and its columns, where the database has comments."""
        if self.kind in _JSON_TYPES:
            self.run(f"comment on table {quote_name(name)} is {quote_text(description)}")
            for column, text in columns.items():
                self.run(f"comment on column {quote_name(name)}.{quote_name(column)} is {quote_text(text)}")

    def type_of(self, kind: Any) -> str:
        """Return the database's type of an Arrow type."""
        if isinstance(kind, pa.JsonType):
            return _JSON_TYPES.get(self.kind, "text")
        text = str(kind)
        if text.startswith("timestamp"):
            return "timestamptz" if self.kind in _JSON_TYPES else "timestamp"
        return _TYPES.get(text, "text")

    def add(self, name: str, rows: "pa.Table") -> None:
        """Append rows, with their columns in the order of the table."""
        if not rows.num_rows:
            return
        with self._translate_errors():
            schema = self._connection.adbc_get_table_schema(name)
            columns = {
                field.name: self._driver_column(rows[field.name])
                if field.name in rows.column_names
                else pa.nulls(rows.num_rows, pa.binary() if isinstance(field.type, pa.JsonType) else field.type)
                for field in schema
            }
            batches = pa.table(columns).to_reader(_MAX_INGESTED_ROWS if self.kind == "duckdb" else None)
            self._cursor.adbc_ingest(name, batches, mode="append")

    def _driver_column(self, column: Any) -> Any:
        if not isinstance(column.type, pa.JsonType):
            return column
        texts = pc.cast(column, pa.string())
        if not self.is_postgresql:
            return texts
        return pc.binary_join_element_wise(pa.scalar(_JSONB_VERSION), texts.cast(pa.binary()), pa.scalar(b""))


def quote_name(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: object) -> str:
    """Return a text as SQL."""
    return "'" + str(value).replace("'", "''") + "'"


@contextmanager
def open_target(to: object) -> Iterator[Target]:
    """Begin a transaction in a database; leaving it undoes uncommitted changes.

    A connection of the user is never closed.
    """
    if isinstance(to, Address):
        target = to.open()
    elif hasattr(to, "adbc_get_info"):
        target = Target(to)
    else:
        raise TypeError(f"to is an address or an open ADBC connection, not {type(to).__name__}")
    try:
        yield target
    finally:
        if isinstance(to, Address):
            target.close()
        else:
            target.roll_back()
