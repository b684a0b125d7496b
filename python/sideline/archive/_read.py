"""Reading the archive: as it stands, and as it was known at a time. No client is needed."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive._decode import decoded
from sideline.archive._plan import RESOURCES, TABLES, Unit
from sideline.archive._store import MONTH, Store, contract, own_schemas

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow
    from deltalake import DeltaTable

_AT_ONCE = 64
"""Bodies in memory."""


def known(name: str) -> str:
    """The name of a table of an archive."""
    if name not in TABLES and name not in own_schemas():
        raise ValueError(f"no archived table is named {name!r}; there are {', '.join((*TABLES, *own_schemas()))}")
    return name


def require(store: Store) -> None:
    """Raise `FileNotFoundError` where the folder holds no archive."""
    if all(store.open(name) is None for name in ("coverage", "raw")):
        raise FileNotFoundError(
            f"{store.root} holds no archive: check the path, or make one with sideline.Archive(path, client).sync(...)"
        )


def opened(store: Store, name: str) -> "DeltaTable | None":
    """The table; `None` where nothing was stored of it. An archive or a table that is gone is no empty one."""
    table = store.readable(known(name))
    if table is None:
        require(store)
    if table is None and name in TABLES:
        # What `rows` counts is a resource's first table.
        counted = {operation for operation, resource in RESOURCES.items() if resource.tables[0] == name}
        has_rows = any(row["rows"] and row["operation"] in counted for row in coverage(store, ("operation", "rows")))
        # Another process may have made it meanwhile.
        if has_rows and (table := store.readable(name)) is None:
            raise FileNotFoundError(
                f"{store.root} has no {name}, though rows of it were stored: archive.rebuild({name!r}) makes it anew"
            )
    return table


def scan(store: Store, name: str) -> "polars.LazyFrame":
    """A table, lazily; one that nothing was stored of has its columns and no row."""
    pl = library("polars", "archive")
    table = opened(store, name)
    if table is None:
        return typed(pl.from_arrow(contract(name).empty_table()).lazy(), name)
    return typed(pl.from_arrow(_coverage(store, table)).lazy() if name == "coverage" else pl.scan_delta(table), name)


def _coverage(store: Store, table: "DeltaTable") -> "pyarrow.Table":
    """The contract's columns, with the last time that a list had a unit that was not due."""
    pa = library("pyarrow", "archive")
    rows = pa.table(table.to_pyarrow_table())
    listings = store.open("listings")
    if listings is not None:
        listed = dict(
            zip(*(listings.to_pyarrow_table()[name].to_pylist() for name in ("event_id", "listed_at")), strict=True)
        )
        times = zip(rows["event_id"].to_pylist(), rows["listed_at"].to_pylist(), strict=True)
        later = [max((at for at in (listed.get(event), at) if at is not None), default=None) for event, at in times]
        place = rows.schema.get_field_index("listed_at")
        rows = rows.set_column(place, rows.schema.field(place), pa.array(later, rows.schema.field(place).type))
    return rows.select(contract("coverage").names)


def typed(frame: "polars.LazyFrame", name: str) -> "polars.LazyFrame":
    """The contract's columns and types; columns that another version of it stored stay, at the end.

    Of the archive's own tables readers see the contract's columns alone.
    """
    pl = library("polars", "archive")
    target = pl.from_arrow(contract(name).empty_table()).schema
    has = frame.collect_schema()
    columns = [
        (pl.col(column) if column in has else pl.lit(None)).cast(kind).alias(column) for column, kind in target.items()
    ]
    more = [] if name in own_schemas() else [pl.col(column) for column in has if column not in (*target, MONTH)]
    return frame.select(*columns, *more)


def to_arrow(store: Store, name: str) -> "pyarrow.Table":
    """A whole table."""
    pa = library("pyarrow", "archive")
    table = opened(store, name)
    target = contract(name)
    if table is None:
        return target.empty_table()
    found = _coverage(store, table) if name == "coverage" else pa.table(table.to_pyarrow_table())
    return conformed(found.select(target.names) if name in own_schemas() else found.drop_columns(MONTH), target)


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
        if (table := opened(store, name)) is None:
            connection.register(name, contract(name).empty_table())
        elif name == "coverage":
            connection.register(name, _coverage(store, table))
        elif name in own_schemas():
            columns = [f'"{column}"' for column in contract(name).names]
            connection.register(f"_{name}", table.to_pyarrow_dataset())
            connection.sql(f"create view {name} as select {', '.join(columns)} from _{name}")
        else:
            connection.register(f"_{name}", table.to_pyarrow_dataset())
            connection.sql(f"create view {name} as select * exclude ({MONTH}) from _{name}")
    found: duckdb.DuckDBPyRelation = connection.sql(query)
    return found


def bodies(
    store: Store,
    units: Iterable[str] | None = None,
    columns: Iterable[str] = (),
    entries: Iterable[str] | None = None,
) -> "Iterator[dict[str, Any]]":
    """Rows of `raw`, a few in memory at a time: of units, of entries, or all of them."""
    column, values = ("entry", entries) if entries is not None else ("unit", units)
    values = None if values is None else list(values)
    table = store.readable("raw") if values != [] else None
    if table is None:
        return
    field: Any = library("pyarrow.compute", "archive").field
    batches = table.to_pyarrow_dataset().to_batches(
        columns=list(columns) or None,
        filter=None if values is None else field(column).isin(values),
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

    def _changed(self, name: str) -> tuple[set[str], dict[str, int]]:
        """Ids of what is not what it was, and of each unit among them the sequence of the body that was known then."""
        operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
        ids: dict[str, str] = {}
        then: dict[str, int] = {}
        last: dict[str, int] = {}
        for row in bodies(self._store, columns=("unit", "operation", "id", "sequence", "status", "stored_at")):
            if row["operation"] not in operations or row["status"] == "undecodable":
                continue
            unit, sequence = row["unit"], row["sequence"]
            ids[unit] = row["id"]
            last[unit] = max(sequence, last.get(unit, 0))
            if row["stored_at"] <= self.when:
                then[unit] = max(sequence, then.get(unit, 0))
        changed = {unit for unit in last if then.get(unit) != last[unit]}
        return {ids[unit] for unit in changed}, {unit: sequence for unit, sequence in then.items() if unit in changed}

    def _decoded(self, name: str, then: Mapping[str, int]) -> "Iterator[pyarrow.Table]":
        from sideline.archive._rosters import history

        for row in bodies(self._store, entries=[f"{unit}#{sequence}" for unit, sequence in then.items()]):
            if name == "players":
                yield history(self._store, unit_of(row), row["sequence"])
            elif row["body"] is not None:
                yield decoded(unit_of(row), row["body"])[name]


def coverage(
    store: Store, columns: Iterable[str] | None = None, units: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Rows of the table `coverage`."""
    units = None if units is None else list(units)
    table = store.readable("coverage")
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
