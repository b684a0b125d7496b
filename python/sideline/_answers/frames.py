"""Converts arguments to polars frames, and polars frames to a `Table`."""

from typing import Any

from .._client import table_from_arrow
from .._core import Table
from .._lazy import pa, pl
from .._rows import arrow_rows, has_tables, polars_frame, with_plain_types


def frame_of(argument: str, source: object) -> "pl.DataFrame":
    """Return an argument as a polars frame with plain types; of a payload its first table.

    A list of arguments is concatenated.
    """
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError(f"{argument} is an empty list")
        return pl.concat([frame_of(argument, part) for part in source], how="diagonal_relaxed")
    if has_tables(source):
        if not source.tables:
            raise ValueError(f"{argument} has no table, only a dict: pass one of stat events, shots or possessions")
        source = source.table(source.tables[0])
    return with_plain_types(polars_frame(argument, arrow_rows(argument, source)))


def of_other_units(frame: "pl.DataFrame", known_rows: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of teams in sessions or games of which `known_rows` has none."""

    def unit(rows: "pl.DataFrame") -> "pl.Expr":
        ids = [pl.col(name).cast(pl.String) for name in ("session_id", "game_id") if name in rows.columns]
        team = pl.col("team_id").cast(pl.Int64).cast(pl.String)
        return pl.format("{} {}", pl.coalesce(*ids, pl.lit("")), team.fill_null(""))

    return frame.join(known_rows, left_on=unit(frame), right_on=unit(known_rows), how="anti", maintain_order="left")


def arrow_of(frame: "pl.DataFrame") -> "pa.Table":
    """Return a frame as an Arrow table with the types of the tables of `sideline.SCHEMAS`."""
    arrow = frame.to_arrow()
    return arrow.cast(pa.schema([pa.field(field.name, _plain(field.type)) for field in arrow.schema]))


def table_of(name: str, frame: "pl.DataFrame") -> Table:
    """Return a frame as a `Table` of this name."""
    return table_from_arrow(name, arrow_of(frame))


def _plain(kind: Any) -> Any:
    """Return the type that the tables have for values of this type."""
    types = pa.types
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return pa.string()
    if types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _plain(kind.value_type))
    if types.is_large_list(kind) or types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    # Tables have no type for dates, so a date becomes text.
    if types.is_date(kind):
        return pa.string()
    if types.is_integer(kind) and kind not in (pa.int32(), pa.uint64()):
        return pa.int64()
    return pa.float64() if types.is_floating(kind) else kind


def check_zone(argument: str, name: str, kind: Any) -> None:
    """Raise `ValueError` for times without a zone, which no other times can be compared with."""
    if isinstance(kind, pl.Datetime) and kind.time_zone is None:
        advice = f"write frame.with_columns(pl.col({name!r}).dt.replace_time_zone('UTC')) if they are UTC"
        raise ValueError(f"{argument}: the column {name} has times without a zone: {advice}")


def time_column(frame: "pl.DataFrame") -> str:
    """Return the name of the column with the times of plays."""
    names = ("occurred_at", "start_timestamp", "timestamp")
    for name in names:
        if name in frame.columns and isinstance(frame.schema[name], pl.Datetime):
            check_zone("rows", name, frame.schema[name])
            return name
    column_names = ", ".join(frame.columns)
    raise ValueError(f"rows needs a column {', '.join(names[:-1])} or {names[-1]} with times; it has {column_names}")
