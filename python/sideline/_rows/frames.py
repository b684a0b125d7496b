"""Converts tables to frames of other libraries, each of which is loaded only when it is used."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

from .._lazy import library, pa, pl
from .files import replaced_file, replaced_path

if TYPE_CHECKING:
    import pandas

    from .._core import Schema, Table


_POLARS_TIMES_MS = (-8_334_601_228_800_000, 8_210_266_876_799_999)
"""The milliseconds that polars can show: it ends the print of a frame with any other, by a panic."""


def to_arrow(table: "Table") -> "pa.Table":
    # `pyarrow.table` would import pandas, to see whether the table is a frame of it.
    return pa.RecordBatchReader.from_stream(table).read_all()


def schema_to_arrow(schema: "Schema") -> "pa.Schema":
    return pa.schema(schema)


def to_polars(table: "Table") -> "pl.DataFrame":
    frame = pl.DataFrame(table)
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    unusual_names = [name for name in times if not frame[name].to_physical().is_between(*_POLARS_TIMES_MS).all()]
    if not unusual_names:
        return frame
    is_shown = {name: pl.col(name).to_physical().is_between(*_POLARS_TIMES_MS) for name in unusual_names}
    return frame.with_columns(pl.when(is_shown[name]).then(pl.col(name)).alias(name) for name in unusual_names)


def to_pandas(table: "Table") -> "pandas.DataFrame":
    pandas: Any = library("pandas", "pandas")
    pyarrow = library("pyarrow", "pandas")
    arrow = _without_views(pyarrow.table(table))
    # Nullable types even without nulls: otherwise an id would be an integer in one body and a float in the next.
    nullable = {
        pyarrow.int32(): pandas.Int32Dtype(),
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    # Without a mapping for strings, all-null columns would become objects. Without "strict", a map becomes a list of
    # pairs.
    columns = {
        field.name: column.to_pandas(
            types_mapper=nullable.get if field.nullable and field.type in nullable else None, maps_as_pydicts="strict"
        )
        for field, column in zip(arrow.schema, arrow.columns, strict=True)
    }
    # Categories without values stay strings: otherwise frames joined with an empty one would become objects.
    for name, column in columns.items():
        if pyarrow.types.is_dictionary(arrow.schema.field(name).type) and not len(column.cat.categories):
            columns[name] = column.cat.set_categories(pandas.Index([], dtype="str"))
    # Without a column, the index alone has the number of rows.
    return pandas.DataFrame(columns, index=pandas.RangeIndex(arrow.num_rows))


def _without_views(table: "pa.Table") -> "pa.Table":
    """Return a table without views, which polars exports: pyarrow cannot convert them in lists and dictionaries."""

    def plain(kind: Any) -> Any:
        types = pa.types
        if types.is_string_view(kind) or types.is_binary_view(kind):
            return pa.large_string() if types.is_string_view(kind) else pa.large_binary()
        if types.is_dictionary(kind):
            return pa.dictionary(kind.index_type, plain(kind.value_type), kind.ordered)
        if types.is_list(kind) or types.is_large_list(kind):
            return (pa.list_ if types.is_list(kind) else pa.large_list)(plain(kind.value_type))
        if types.is_struct(kind):
            return pa.struct([field.with_type(plain(field.type)) for field in kind])
        return kind

    schema = pa.schema([field.with_type(plain(field.type)) for field in table.schema], table.schema.metadata)
    # A cast of a table without columns loses its rows.
    return table if schema == table.schema else table.cast(schema)


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for a formula (OWASP, CSV injection)."""


def to_parquet(table: "Table", path: "str | PathLike[str]") -> None:
    with suppress(ModuleNotFoundError):
        parquet = import_module("pyarrow.parquet")
        with replaced_path(path) as temporary:
            parquet.write_table(_without_views(to_arrow(table)), temporary)
        return
    with suppress(ModuleNotFoundError):
        polars = import_module("polars")
        with replaced_path(path) as temporary:
            polars.DataFrame(table).write_parquet(temporary)
        return
    library("pyarrow", "arrow")


def to_csv(table: "Table", path: "str | PathLike[str]", formulas: str, bom: bool) -> None:
    import csv

    if formulas not in ("keep", "escape"):
        raise ValueError(f'formulas is {formulas!r}; it must be "keep" or "escape"')
    with replaced_file(path) as file:
        if bom:
            file.write("\ufeff")
        # With this end of a line, a carriage return in a text is quoted.
        writer = csv.writer(_LineFeeds(file), lineterminator="\r\n")
        for values in (table.column_names, *(row.values() for row in table.to_dicts())):
            writer.writerow([_csv(value, is_escaped=formulas == "escape") for value in values])


class _LineFeeds:
    """A file that gets lines that end with a line feed alone."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        """Write a line of a CSV writer."""
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _csv(value: Any, *, is_escaped: bool) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return value
    text = json.dumps(_plain_json(value), ensure_ascii=False) if isinstance(value, (list, dict)) else _text(value)
    return f"'{text}" if is_escaped and isinstance(text, str) and text.startswith(_FORMULA_STARTS) else text


def _plain_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_json(part) for part in value]
    if isinstance(value, dict):
        return {_text(key): _plain_json(part) for key, part in value.items()}
    return _text(value)


def _text(value: Any) -> Any:
    """Write times and durations in ISO 8601, bytes in base64 and decimals as text; anything else stays."""
    if isinstance(value, datetime):
        timespec = "microseconds" if value.microsecond % 1_000 else "milliseconds"
        return value.isoformat(timespec=timespec).replace("+00:00", "Z")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        sign, length = ("-", -value) if value.days < 0 else ("", value)
        fraction = f".{length.microseconds:06}".rstrip("0").rstrip(".")
        return f"{sign}PT{length.days * 86_400 + length.seconds}{fraction}S"
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value


def tables_of(argument: str, source: object, tables: Mapping[str, Iterable[str]]) -> "dict[str, pl.DataFrame]":
    """Return the tables in a caller's argument as polars frames, with categories as strings.

    `tables` maps names to the columns that each must have. The argument is a payload, a batch, a `Table`, a polars
    frame, any other Arrow table, or a list of them, which are concatenated. A frame without a name is recognised by its
    columns.
    """
    from .schemas import SCHEMAS

    if isinstance(source, list | tuple):
        parts = [tables_of(argument, part, tables) for part in source]
        if not parts:
            raise ValueError(f"{argument} is an empty list")
        return {
            name: pl.concat([part[name] for part in parts if name in part], how="diagonal_relaxed")
            for name in tables
            if any(name in part for part in parts)
        }
    if has_tables(source):
        frames = {name: source.table(name) for name in tables if name in source.tables}
        if not frames:
            table_names = ", ".join(source.tables) or "none"
            raise ValueError(f"{argument} needs a table {' or '.join(tables)}; this response has {table_names}")
        return {name: _plain(argument, pl.DataFrame(table)) for name, table in frames.items()}
    rows = arrow_rows(argument, source)
    frame = polars_frame(argument, rows)
    if isinstance(rows, pl.Series) and rows.dtype == pl.Struct:
        # That is what `polars.from_arrow` makes of a `Table`.
        frame = rows.struct.unnest()
    missing = {name: [column for column in columns if column not in frame.columns] for name, columns in tables.items()}
    name = getattr(source, "name", None) if type(source).__module__ == "sideline" else None
    if name not in SCHEMAS:
        # The result of a query, or a table that the caller made.
        name = None
    fits = [candidate for candidate, lacks in missing.items() if not lacks and name in (None, candidate)]
    if not fits:
        lacks = (
            "; ".join(f"for {candidate} it lacks {', '.join(lacks)}" for candidate, lacks in missing.items() if lacks)
            or f"it is a table {name}"
        )
        raise ValueError(f"{argument} is not a table {' or '.join(tables)}: {lacks}")
    return {fits[0]: _plain(argument, frame)}


def has_tables(source: object) -> TypeGuard[Any]:
    """Return whether an argument is a payload or a batch, which have tables by their names."""
    return isinstance(getattr(source, "tables", None), list)


def arrow_rows(argument: str, source: Any) -> Any:
    """Return rows with Arrow's C interface, collected if they are lazy; raises `TypeError` for anything else."""
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return source
    kind = type(source).__name__
    raise TypeError(f"{argument} is a response, a Table, a frame, an Arrow table or a list of them, not {kind}")


def polars_frame(argument: str, rows: Any) -> "pl.DataFrame":
    """Return rows as a polars frame; raises `TypeError` for a column of pandas whose values have no common type."""
    try:
        return pl.DataFrame(rows)
    except (TypeError, ValueError) as error:
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise mixed_column(argument, rows) from None


def mixed_column(argument: str, rows: Any) -> TypeError:
    """Return the error of rows of which Arrow refused a column."""
    for name in rows:
        try:
            pa.array(rows[name])
        except (pa.ArrowException, TypeError, ValueError) as error:
            advice = f"frame[{name!r}].astype('string') or pandas.to_numeric(frame[{name!r}])"
            text = f"the column {name} has values of no common type ({error}); give it one first, in pandas {advice}"
            return TypeError(f"{argument}: {text}")
    return TypeError(f"{argument} has a column that Arrow does not know")


def with_plain_types(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a frame with categories as strings, and null for NaN, which pandas writes for a missing value.

    Integers of 128 bits, which Arrow lacks, have 64 if they fit.
    """
    for name in (name for name, kind in frame.schema.items() if str(kind).endswith("nt128")):
        with suppress(pl.exceptions.PolarsError):
            frame = frame.cast({name: pl.Int64})
    return frame.with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.Float32, pl.Float64).fill_nan(None)
    )


def _plain(argument: str, frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a frame whose ids, flags and clocks have the types of the service's tables, which joins and sums need.

    Times of any zone are in UTC.
    """
    ids = pl.List(pl.Int64)
    kinds: dict[str, Any] = {"team_id": pl.Int64, "player_id": pl.Int64, "possession": pl.Int32}
    kinds |= {"is_team_total": pl.Boolean, "player_ids": ids, "opposing_player_ids": ids}
    kinds |= {"details": pl.List(pl.String), "is_3point": pl.Boolean}
    kinds |= dict.fromkeys(("start_game_clock_s", "end_game_clock_s"), pl.Float64)
    zoned_times = pl.col([pl.Datetime(unit, "*") for unit in ("ms", "us", "ns")])
    frame = with_plain_types(frame).with_columns(
        pl.col(pl.Decimal).cast(pl.Float64), zoned_times.dt.convert_time_zone("UTC")
    )
    for name in (name for name in kinds if name in frame.schema):
        try:
            frame = frame.with_columns(_exact_cast(frame[name], kinds[name]))
        except (pl.exceptions.PolarsError, ValueError):
            raise ValueError(
                f"{argument}: the column {name} is of type {frame.schema[name]}; it must have values of {kinds[name]}"
            ) from None
    return frame


def _exact_cast(values: "pl.Series", kind: Any) -> "pl.Series":
    """Cast a column; raises if an id has a fraction, which a cast cuts off."""
    typed_values = values.cast(kind)
    if kind.is_integer() and values.dtype.is_float() and (typed_values != values).any():
        raise ValueError("fractions")
    return typed_values


def terms(predicate: "pl.Expr") -> "list[pl.Expr]":
    """Return the terms of an AND."""
    # The text and JSON of an expression have no fixed form, so it is rebuilt from its parts and compared.
    inputs = predicate.meta.pop()
    for left, right in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
        if (left & right).meta.eq(predicate):
            return [*terms(left), *terms(right)]
    return [predicate]
