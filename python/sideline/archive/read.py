"""Reading the archive: as it stands, and as it was known at a time. No client is needed."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sideline._core import Table
from sideline._frames import library
from sideline.archive.fetch import decoded
from sideline.archive.plan import RESOURCES, TABLES, Unit
from sideline.archive.store import Store, contract, own_schemas

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow
    from deltalake import DeltaTable

_AT_ONCE = 64
"""Bodies in memory."""

_EVENTS_AT_ONCE = 50
"""Events audited together."""


def known(name: str) -> str:
    """The name of a table of an archive."""
    if name not in TABLES and name not in own_schemas():
        raise ValueError(f"no archived table is named {name!r}; there are {', '.join((*TABLES, *own_schemas()))}")
    return name


def opened(store: Store, name: str) -> "DeltaTable | None":
    """The table; `None` where nothing was stored of it. One that is gone is no empty one, and raises."""
    table = store.open(known(name))
    if table is None and name in TABLES:
        # What `rows` counts is a resource's first table.
        counted = {operation for operation, resource in RESOURCES.items() if resource.tables[0] == name}
        had = any(row["rows"] and row["operation"] in counted for row in coverage(store, ("operation", "rows")))
        # It may have come meanwhile.
        if had and (table := store.open(name)) is None:
            raise FileNotFoundError(
                f"{store.root} has no {name}, though rows of it were stored: archive.rebuild({name!r}) makes it anew"
            )
    return table


def scan(store: Store, name: str) -> "polars.LazyFrame":
    """A table, lazily; one that nothing was stored of has its columns and no row."""
    pl = library("polars", "archive")
    table = opened(store, name)
    return typed(pl.scan_delta(table) if table else pl.from_arrow(contract(name).empty_table()).lazy(), name)


def typed(frame: "polars.LazyFrame", name: str) -> "polars.LazyFrame":
    """The contract's columns and types; columns that another version of it stored stay, at the end."""
    pl = library("polars", "archive")
    target = pl.from_arrow(contract(name).empty_table()).schema
    has = frame.collect_schema()
    columns = [
        (pl.col(column) if column in has else pl.lit(None)).cast(kind).alias(column) for column, kind in target.items()
    ]
    return frame.select(*columns, *(pl.col(column) for column in has if column not in target))


def to_arrow(store: Store, name: str) -> "pyarrow.Table":
    """A whole table."""
    pa = library("pyarrow", "archive")
    table = opened(store, name)
    target = contract(name)
    if table is None:
        return target.empty_table()
    return conformed(pa.table(table.to_pyarrow_table()), target)


def conformed(table: "pyarrow.Table", target: "pyarrow.Schema") -> "pyarrow.Table":
    """With the target's columns first and of its types."""
    pa = library("pyarrow", "archive")
    fields, columns = list(target), []
    for field in target:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            column = column.cast(pa.string()).dictionary_encode()
        # Times of our own are finer than the contract's.
        columns.append(column.cast(field.type, safe=not pa.types.is_timestamp(field.type)))
    for field in table.schema:
        if field.name not in target.names:
            fields.append(field)
            columns.append(table[field.name])
    return pa.table(columns, pa.schema(fields, metadata=target.metadata))


def sql(store: Store, query: str) -> "duckdb.DuckDBPyRelation":
    """A query by DuckDB over the tables that were stored, by their names, as they are stored."""
    connection: Any = library("duckdb", "archive").connect()
    connection.sql("SET TimeZone = 'UTC'")
    for name in (*TABLES, *own_schemas()):
        if (table := opened(store, name)) is not None:
            connection.register(name, table.to_pyarrow_dataset())
        else:
            connection.register(name, contract(name).empty_table())
    found: duckdb.DuckDBPyRelation = connection.sql(query)
    return found


def bodies(store: Store, units: Iterable[str] | None, columns: Iterable[str] = ()) -> "Iterator[dict[str, Any]]":
    """Rows of `raw` of the units (`None`: of all), a few in memory at a time; without `columns` all of them."""
    units = None if units is None else list(units)
    table = store.open("raw")
    if table is None or units == []:
        return
    field: Any = library("pyarrow.compute", "archive").field
    batches = table.to_pyarrow_dataset().to_batches(
        columns=list(columns) or None,
        filter=None if units is None else field("unit").isin(units),
        batch_size=8192 if columns else _AT_ONCE,
        batch_readahead=1,
        fragment_readahead=1,
    )
    for batch in batches:
        yield from batch.to_pylist()


def unit_of(row: Mapping[str, Any]) -> Unit:
    """The unit of a row of `raw`."""
    return Unit(row["operation"], row["id"], row["team_id"], row["game_id"], row["session_id"])


class AsOf:
    """The archive as it was known at a time; see `Archive.as_of`."""

    def __init__(self, store: Store, when: datetime) -> None:
        self._store = store
        self.when = when
        """What was stored up to then is seen."""

    def scan(self, name: str) -> "polars.LazyFrame":
        """A table as it was known then, as a polars LazyFrame.

        What changed since is read from the bodies that were kept, all else from the table as it stands.

        >>> import datetime
        >>> archive.as_of(datetime.datetime.now(datetime.UTC)).scan("events").collect().height == games
        True
        """
        pl = library("polars", "archive")
        if known(name) == "corrections":
            return scan(self._store, name).filter(pl.col("seen_at") <= self.when)
        if name not in TABLES:
            raise ValueError(f"{name} tells of the archive as it is now; its data has a past: {', '.join(TABLES)}")
        frame = scan(self._store, name)
        changed, then = self._changed(name)
        if not changed:
            return frame
        key = next(resource.key for resource in RESOURCES.values() if name in resource.tables)
        kept = frame.filter(~pl.col(key).is_in(pl.Series(list(changed)).cast(frame.collect_schema()[key]).implode()))
        parts = [pl.from_arrow(rows).lazy() for rows in self._decoded(name, then)]
        whole: polars.LazyFrame = pl.concat([kept, *(typed(part, name) for part in parts)], how="diagonal")
        return whole

    def to_arrow(self, name: str) -> "pyarrow.Table":
        """A table as it was known then."""
        return conformed(self.scan(name).collect().to_arrow(), contract(name))

    def _changed(self, name: str) -> tuple[set[str], dict[str, datetime]]:
        """Ids of what is not what it was, and of each unit among them the body that was known then."""
        operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
        ids: set[str] = set()
        then: dict[str, datetime] = {}
        changed: set[str] = set()
        for row in bodies(self._store, None, ("unit", "operation", "id", "stored_at")):
            unit, at = row["unit"], row["stored_at"]
            if row["operation"] not in operations:
                continue
            if at <= self.when:
                then[unit] = max(at, then.get(unit, at))
            else:
                changed.add(unit)
                ids.add(row["id"])
        return ids, {unit: at for unit, at in then.items() if unit in changed}

    def _decoded(self, name: str, then: Mapping[str, datetime]) -> "Iterator[pyarrow.Table]":
        for row in bodies(self._store, then):
            if row["stored_at"] == then[row["unit"]]:
                yield decoded(unit_of(row), row["body"])[name]


def coverage(
    store: Store, columns: Iterable[str] | None = None, units: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Rows of the table `coverage`."""
    units = None if units is None else list(units)
    table = store.open("coverage")
    if table is None or units == []:
        return []
    field: Any = library("pyarrow.compute", "archive").field
    rows: list[dict[str, Any]] = (
        table.to_pyarrow_dataset()
        .to_table(
            columns=None if columns is None else list(columns),
            filter=None if units is None else field("unit").isin(units),
        )
        .to_pylist()
    )
    return rows


def audit(store: Store) -> Table:
    """The violations of what is over, a few events at a time."""
    from sideline.audits import audit as audited

    pa, pl = library("pyarrow", "archive"), library("polars", "archive")
    rows = coverage(store, ("operation", "game_id", "unit", "final"))
    over = [
        row["unit"].partition("/")[2] for row in rows if row["final"] and row["operation"] in ("game", "team_events")
    ]
    found: list[Any] = [contract("violations").empty_table()]
    sessions = scan(store, "sessions")
    for first in range(0, len(over), _EVENTS_AT_ONCE):
        events = over[first : first + _EVENTS_AT_ONCE]
        of_events = sessions.filter(pl.col("event_id").is_in(events)).collect()
        ids = of_events["session_id"].to_list()

        def of(name: str, ids: list[str] = ids) -> "polars.DataFrame":
            frame: polars.DataFrame = scan(store, name).filter(pl.col("session_id").is_in(ids)).collect()
            return frame

        violations = audited(
            stats=of("player_stats"),
            details=of("stat_events"),
            possessions=[of("possessions"), of("possession_events")],
            shots=of("shots"),
            game=[of_events, of("location_windows")],
        )
        found.append(violations.to_arrow())
    return Table._from_arrow("violations", pa.concat_tables(found).unify_dictionaries())
