"""Reads the archive. No client is needed."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .._lazy import library
from .._rows import did_you_mean, stack_level
from ..errors import DecodeError, QueryError
from . import _arrow
from ._libraries import pa, pl
from ._plan import ANSWERS, GAME_OPERATIONS, NO_MONTH, RESOURCES, SESSION_OPERATIONS, TABLES, Unit, event_of
from ._schemas import MONTH, internal_schemas, public_schema
from ._store import Store, name_of
from ._store_errors import check_last_commits, find_damage, is_from_a_reader, recorded_versions, remedy

if TYPE_CHECKING:
    from deltalake import DeltaTable

_BATCH_SIZE = 64
"""Bodies in memory at the same time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def names_damage(method: "Callable[Concatenate[Any, _P], _R]") -> "Callable[Concatenate[Any, _P], _R]":
    """Decorate a method of `Archive` or `AsOf`.

    A reader's error about a damaged file becomes a `DecodeError` that names it. All files are read, but only after such
    an error.
    """

    @wraps(method)
    def call_method(self: Any, /, *arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return method(self, *arguments, **options)
        except BaseException as error:  # a panic of polars is not an `Exception`
            reader = error.__cause__ if isinstance(error, QueryError) else error
            is_suspect = reader is not None and is_from_a_reader(reader)
            damage = find_damage(self._store, (*internal_schemas(), *TABLES, *ANSWERS)) if is_suspect else None
            if damage is None:
                raise
            raise DecodeError(damage) from error

    return call_method


def check_name(name: str) -> str:
    """Return the name of a table of an archive; raise `ValueError` for an unknown name."""
    names = (*TABLES, *ANSWERS, *internal_schemas())
    if name not in names:
        hint = did_you_mean(name, names)
        raise ValueError(f"no archived table is named {name!r}; there are {', '.join(names)}{hint}")
    return name


def require(store: Store) -> None:
    """Raise `FileNotFoundError` if the folder holds no archive, or one without its record."""
    if store.has("coverage"):
        return
    if store.has("raw"):
        raise _error_of_loss(store, "coverage")
    raise FileNotFoundError(
        f"{store.root} holds no archive: check the path, or make one with sideline.Archive(path, client).sync(...)"
    )


def _error_of_loss(store: Store, name: str) -> FileNotFoundError:
    return FileNotFoundError(f"{store.root} has no {name}, though rows of it were stored: {remedy(name)}")


def error_of_lost_bodies(store: Store, names: Sequence[str]) -> DecodeError:
    """Return the error to raise where bodies that `coverage` accounts for are missing."""
    more = f" or the {len(names) - 1} units after it" if len(names) > 1 else ""
    return DecodeError(f"{store.root} has lost bodies of {names[0]}{more}: {remedy('raw')}")


def check_bodies(store: Store, table: str) -> None:
    """Raise `DecodeError` if `raw` lacks the last body of a unit with rows in a table."""
    operations = {operation for operation, resource in RESOURCES.items() if table in resource.tables}
    # In this order: a sync stores bodies before it accounts for them.
    units = columns_of(store, "coverage", ("unit", "operation", "sequence"))
    last = columns_of(store, "raw", ("unit", "sequence")).group_by("unit").agg(pl.col("sequence").max().alias("last"))
    units = units.filter(pl.col("operation").is_in(operations)).join(last, on="unit", how="left")
    if names := sorted(units.filter(pl.col("sequence") > pl.col("last").fill_null(0))["unit"]):
        raise error_of_lost_bodies(store, names)


def check_missing(store: Store, names: Iterable[str]) -> "dict[str, DeltaTable]":
    """Raise `FileNotFoundError` if one of the missing tables was lost: the first body of an operation makes all of its,
    and the account records that there are corrections.

    Returns those that another process has made meanwhile.
    """
    wanted_names = {*names}
    all_names = {*recorded_versions(store.root)} if store.is_local else set()
    if wanted_names != {"corrections"}:
        units = columns_of(store, "coverage", ("operation", "sequence")).filter(pl.col("sequence") > 0)
        operations = units["operation"].unique().to_list()
        all_names |= {name for operation in operations for name in ("raw", *RESOURCES[operation].tables)}
        if store.has("tracking_sources"):
            all_names |= {*ANSWERS}
    tables = {}
    for name in sorted(all_names & wanted_names):
        if (table := store.open_checked(name)) is None:
            raise _error_of_loss(store, name)
        tables[name] = table
    return tables


def open_table(store: Store, name: str) -> "DeltaTable | None":
    """Return the table, or `None` if nothing of it is stored. A missing archive or a lost table raises."""
    return open_tables(store, [name])[name]


def open_tables(store: Store, names: Iterable[str]) -> "dict[str, DeltaTable | None]":
    """Return tables by name, as `open_table` does."""
    tables = {name: store.open_checked(check_name(name)) for name in names}
    missing = [name for name, table in tables.items() if table is None]
    if missing:
        require(store)
        tables |= check_missing(store, missing)
    return {name: None if table is None else store.in_place(table) for name, table in tables.items()}


def counts_of_rows(store: Store, names: Iterable[str]) -> dict[str, int]:
    """Return the number of rows of each stored table by its log, which alone is checked."""
    tables = {}
    for name in names:
        if store.is_local:
            check_last_commits(store.root, name)
        tables[name] = store.open(name)
    check_missing(store, [name for name, table in tables.items() if table is None])
    return {name: table.count() for name, table in tables.items() if table is not None}


def warn_of_unrequested(store: Store, names: Collection[str]) -> None:
    """Warn of tables of sessions and games without a row, if no body of them was requested: the service may have it."""
    bodies = {
        name: operation for operation in (*SESSION_OPERATIONS, *GAME_OPERATIONS) for name in RESOURCES[operation].tables
    }
    bodies |= dict.fromkeys(ANSWERS, "locations")
    wanted_names = [name for name in names if name in bodies]
    # Without sessions there is nothing to request.
    if not wanted_names or store.open_checked("sessions") is None:
        return
    operations = set(columns_of(store, "coverage", ("operation",))["operation"])
    for name in wanted_names:
        if bodies[name] not in operations:
            text = f"{store.root} has no rows of {name}: no sync has requested them; sync(..., tables=[{name!r}]) does"
            warnings.warn(text, stacklevel=stack_level())


def scan(store: Store, name: str, *, warn: bool = False) -> "pl.LazyFrame":
    """Return a table lazily; a table that is not stored has its columns and no rows."""
    return with_public_types(stored_rows(store, name, warn=warn), name)


def stored_rows(store: Store, name: str, *, warn: bool = False) -> "pl.LazyFrame":
    """Return a table lazily, in storage types; tables of rows of bodies have the column `MONTH`."""
    table = open_table(store, name)
    if table is None:
        if warn:
            warn_of_unrequested(store, [name])
        empty = pl.DataFrame(public_schema(name).empty_table()).lazy()
        return empty.with_columns(pl.lit(None, pl.String).alias(MONTH))
    if name == "coverage":
        return pl.DataFrame(coverage_table(store, table)).lazy()
    # polars itself takes a folder `season=2027` above the table for a partition.
    return pl.scan_delta(table, use_pyarrow="=" in store.root)


def last_listed(store: Store) -> "dict[str, datetime]":
    """Return the time of the last listing of each event, by its id, and of each old entry, by the name of its unit."""
    table = store.open_checked("listings")
    if table is None:
        return {}
    times: dict[str, datetime] = {}
    # An event may be in the lists of two teams.
    for row in (row for batch in store.select(table) for row in to_views(batch)):
        times[row["listed"]] = max(row["listed_at"], times.get(row["listed"], row["listed_at"]))
    return times


def listed_at(row: Mapping[str, Any], last_times: "Mapping[str, datetime]") -> "datetime | None":
    """Return when a unit, or its event, was last listed without being stored again."""
    return last_times.get(event_of(row) or row["unit"])


def coverage_table(store: Store, table: "DeltaTable") -> "pa.Table":
    """Return the public columns of `coverage`."""
    return pa.Table.from_batches(coverage_batches(store, table), public_columns_of_coverage())


def public_columns_of_coverage() -> "pa.Schema":
    """Return the public columns in storage types."""
    schema = internal_schemas()["coverage"]
    return pa.schema([schema.field(name) for name in public_schema("coverage").names])


def coverage_batches(store: Store, table: "DeltaTable") -> "Iterator[pa.RecordBatch]":
    """Yield rows of the opened table. `listed_at` is the later of the row's own and that of `listings`."""
    last_times, schema = last_listed(store), public_columns_of_coverage()
    place = schema.get_field_index("listed_at")
    for rows in store.select(table, (*schema.names, "event_id")):
        later = [
            max((time for time in (listed_at(row, last_times), row["listed_at"]) if time is not None), default=None)
            for row in to_views(rows)
        ]
        columns_of_batch = [
            pa.array(later, schema.field(place).type) if at == place else rows[at] for at in range(len(schema))
        ]
        yield pa.record_batch(columns_of_batch, schema)


def batches(store: Store, table: "DeltaTable") -> "Iterator[pa.Table]":
    """Yield the rows of an opened table with its public columns and types, some in memory at a time."""
    name = name_of(table)
    target = public_schema(name)
    rows = coverage_batches(store, table) if name == "coverage" else store.dataset(table).to_batches()
    for batch in rows:
        yield conform(pa.Table.from_batches([batch]), target).select(target.names)


def with_public_types(frame: "pl.LazyFrame", name: str) -> "pl.LazyFrame":
    """Convert to the public columns and types. Columns stored by another version follow at the end.

    The archive's own tables have only the public columns.
    """
    target = pl.DataFrame(public_schema(name).empty_table()).schema
    schema = frame.collect_schema()
    columns = [
        (pl.col(column) if column in schema else pl.lit(None)).cast(kind).alias(column)
        for column, kind in target.items()
    ]
    names = [] if name in internal_schemas() else [column for column in schema if column not in (*target, MONTH)]
    return frame.select(*columns, by_name(names))


def by_name(names: Iterable[str]) -> "pl.Expr":
    """Return these columns. polars would take a name such as `*` or `^a$`, which a stat code may be, for a pattern."""
    selection: pl.Expr = library("polars.selectors", "archive").by_name(*names)
    return selection


def to_arrow(store: Store, name: str, *, warn: bool = False) -> "pa.Table":
    """Return a whole table."""
    table = open_table(store, name)
    target = public_schema(name)
    if table is None:
        if warn:
            warn_of_unrequested(store, [name])
        return target.empty_table()
    rows = coverage_table(store, table) if name == "coverage" else store.dataset(table).to_table()
    return conform(rows.select(target.names) if name in internal_schemas() else rows.drop_columns(MONTH), target)


def conform(table: "pa.Table", target: "pa.Schema") -> "pa.Table":
    """Put the target's columns first and cast them to its types."""
    fields, columns = list(target), []
    for field in target:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            column = column.cast(pa.string()).dictionary_encode()
        # Stored times are finer than public ones.
        columns.append(column.cast(field.type, safe=not pa.types.is_timestamp(field.type)))
    for field in table.schema:
        if field.name not in target.names:
            fields.append(field)
            columns.append(table[field.name])
    return pa.table(columns, pa.schema(fields, metadata=target.metadata))


def bodies(
    store: Store,
    units: Iterable[str] | None = None,
    columns: Iterable[str] = (),
    entries: Iterable[str] | None = None,
    months: Iterable[str] | None = None,
) -> "Iterator[dict[str, Any]]":
    """Yield rows of `raw`, a few in memory at a time: those of units, those of entries, or all. Files of other months
    than `months` are not read."""
    column, values = ("entry", entries) if entries is not None else ("unit", units)
    values = None if values is None else list(values)
    table = None if values == [] else store.open_checked("raw")
    if table is None:
        if values != []:
            check_missing(store, ["raw"])
        return
    batches = store.select(
        table,
        list(columns) or None,
        None if values is None else (column, values),
        None if months is None else set(months),
        size=8192 if columns else _BATCH_SIZE,
    )
    for batch in batches:
        yield from to_dicts(batch)


def unit_of_body(row: Mapping[str, Any]) -> Unit:
    """Return the unit of a row of `raw`."""
    return Unit(row["operation"], row["id"], row["team_id"], row["game_id"], row["session_id"])


def columns_of(store: Store, name: str, columns: "tuple[str, ...]") -> "pl.DataFrame":
    """Return columns of a table of the archive's own."""
    table = store.open_checked(name)
    if table is None and name == "raw":
        check_missing(store, [name])
    empty = pl.DataFrame(_arrow.empty(internal_schemas()[name]).select(columns))
    batches = [] if table is None else store.select(table, columns)
    return pl.concat([empty, *map(pl.DataFrame, batches)])


def coverage(
    store: Store, columns: Iterable[str] | None = None, units: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Return rows of the table `coverage`: those of units, or all."""
    table = store.open_checked("coverage")
    units = None if units is None else list(units)
    if table is None or units == []:
        return []
    texts = None if units is None else ("unit", units)
    batches = store.select(table, None if columns is None else list(columns), texts)
    return [row for batch in batches for row in to_dicts(batch)]


def coverage_of(
    store: Store,
    table: "DeltaTable",
    units: Iterable[str],
    prefixes: tuple[str, ...] = (),
    months: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Return rows of an opened table `coverage`: those of units, and of undated ones whose names begin so.

    `months`: the only ones that may have the units; `None`: any.
    """
    names = set(units)
    selection = [row for batch in store.select(table, texts=("unit", names), months=months) for row in to_dicts(batch)]
    undated_rows = store.select(table, months=[NO_MONTH]) if prefixes else ()
    rows = (row for batch in undated_rows for row in to_views(batch))
    return selection + [dict(row) for row in rows if row["unit"] not in names and row["unit"].startswith(prefixes)]


def to_dicts(rows: "pa.Table | pa.RecordBatch") -> list[dict[str, Any]]:
    """Return rows in storage types as dicts."""
    return [dict(row) for row in to_views(rows)]


class _Columns(dict[str, list[Any]]):
    """The values of each column, made when it is first read: planning reads half of those of `coverage`."""

    def __init__(self, rows: "pa.Table | pa.RecordBatch") -> None:
        super().__init__()
        self.rows = rows

    def __missing__(self, name: str) -> list[Any]:
        """Convert a column. pyarrow's own conversion of times takes eight times as long."""
        column = self.rows[name]
        if pa.types.is_timestamp(column.type):
            microseconds = column.cast(pa.int64()).to_pylist()
            values = [None if since is None else _EPOCH + timedelta(microseconds=since) for since in microseconds]
        else:
            values = column.to_pylist()
        self[name] = values
        return values


class RowView(Mapping[str, Any]):
    """A row of columns. A dict of each row would take most of the time in which a sync reads `coverage`."""

    __slots__ = ("_columns", "_place")

    def __init__(self, columns: _Columns, place: int) -> None:
        self._columns = columns
        self._place = place

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._place]

    def __iter__(self) -> "Iterator[str]":
        return iter(self._columns.rows.schema.names)

    def __len__(self) -> int:
        return len(self._columns.rows.schema.names)


def to_views(rows: "pa.Table | pa.RecordBatch") -> list[RowView]:
    """Return rows in storage types."""
    columns = _Columns(rows)
    return [RowView(columns, place) for place in range(rows.num_rows)]
