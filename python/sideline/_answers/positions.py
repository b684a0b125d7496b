"""`sideline.moments`: positions around plays."""

import mmap
from collections.abc import Iterator
from math import inf
from tempfile import SpooledTemporaryFile
from typing import Any, overload

from .._client import Duration, as_seconds, table_from_arrow
from .._core import Table
from .._lazy import pa, pl
from .frames import arrow_of, check_zone, frame_of, time_column
from .kinds import Frame, Source, table_of_kind

_MAX_BYTES_IN_MEMORY = 2**22
"""A larger result is written to a temporary file."""

_REQUIRED_COLUMNS = ("session_id", "t", "player_id", "x", "y")


@overload
def moments(  # type: ignore[overload-overlap]
    rows: Frame, locations: Source, before: Duration = 3, after: Duration = 3, normalize: bool = False
) -> Frame: ...
@overload
def moments(
    rows: Source, locations: Source, before: Duration = 3, after: Duration = 3, normalize: bool = False
) -> Table: ...
def moments(rows: Source, locations: Source, before: Duration = 3, after: Duration = 3, normalize: bool = False) -> Any:
    """Find the sensor frames around shots, stat events, possessions or ball screens.

    The result has a row for each position in a frame: `row` (the position among `rows`, from 0), `session_id`, `at`
    (the time of the row), `t_offset_s` (seconds from it to the frame, negative before it), `type`, `team_id`,
    `player_id`, and `x`, `y` and `z` in millimetres of the court. Rows of one session are together and in order, each
    with its frames in order. A row without frames nearby is not in the result.

    Parameters:
        rows: a payload, a `Table` or a frame, with `session_id` and the time: `occurred_at`, `start_timestamp` or
            `timestamp`.
        locations: one or several responses of `client.locations`, a table or frame, or a polars LazyFrame such as
            `archive.scan("locations")`. From a LazyFrame only the needed sessions and times are read, one session at
            a time. A result above 4 MiB is in a temporary file without a name, not in memory, until it is read.
        before, after: time around each row: seconds, or a `timedelta`.
        normalize: rotate the court by half a turn where needed, so that the attacked hoop is at positive y; `rows` need
            `hoop_y`, which shots have.

    Requires polars and pyarrow. Raises `ValueError` for a missing column, times without a zone, or a `session_id`
    that is no text. See the documentation: Answers.

    >>> shot = client.shots(session_id).to_polars().head(1)
    >>> at = shot["occurred_at"][0]
    >>> from datetime import timedelta
    >>> near = client.locations(session_id, at - timedelta(seconds=5), at + timedelta(seconds=5))
    >>> sideline.moments(shot, near)["t_offset_s"].is_between(-3, 3).all()
    True
    """
    before, after = as_seconds(before, "before"), as_seconds(after, "after")
    if not (0 <= before < inf and 0 <= after < inf):
        raise ValueError(f"before and after must be at least 0 seconds, not {before} and {after}")
    windows = _windows(rows, before, after, normalize=normalize)
    lazy = _locations(locations)
    # Equal strings are stored once, because a season's frames have millions of rows.
    sessions = pl.Enum(windows["session_id"].unique(maintain_order=True))
    parts = (
        arrow_of(
            part.select(
                "row",
                pl.col("session_id").cast(sessions),
                pl.from_epoch("at", "ms").dt.replace_time_zone("UTC"),
                t_offset_s=((pl.col("t") - pl.col("at")) / 1000).round(3),
                type=pl.col("type").cast(pl.Categorical),
                team_id="team_id",
                player_id="player_id",
                x=pl.col("x") * pl.col("turn"),
                y=pl.col("y") * pl.col("turn"),
                z="z",
            )
        )
        for part in _around(windows, lazy, is_lazy=isinstance(locations, pl.LazyFrame))
    )
    return table_of_kind(rows, table_from_arrow("moments", _join_parts(parts)))


def _windows(rows: Source, before: float, after: float, *, normalize: bool) -> "pl.DataFrame":
    """Return session and time of each row, with start and end of the time around it and the turn of the court."""
    frame = frame_of("rows", rows)
    time = time_column(frame)
    needed_columns = ["session_id", *(["hoop_y"] if normalize else [])]
    if missing := [name for name in needed_columns if name not in frame.columns]:
        reason = ": it says which hoop is attacked; shots have it" if "hoop_y" in missing else ""
        raise ValueError(f"rows has no column {' and '.join(missing)}{reason}")
    _check_session_ids("rows", frame.schema["session_id"])
    at = pl.col(time).dt.epoch("ms")
    return (
        frame.with_row_index("row")
        .select(
            pl.col("row").cast(pl.Int32),
            pl.col("session_id").cast(pl.String),
            at=at,
            start=at - round(before * 1000),
            end=at + round(after * 1000),
            turn=pl.when(pl.col("hoop_y") < 0).then(-1.0).when(pl.col("hoop_y") > 0).then(1.0)
            if normalize
            else pl.lit(1.0),
        )
        .drop_nulls(["session_id", "at"])
    )


def _check_session_ids(argument: str, kind: "pl.DataType") -> None:
    """Raise for ids that are no texts, which would equal none of the other table."""
    if not isinstance(kind, pl.String | pl.Categorical | pl.Enum | pl.Null):
        raise ValueError(f"{argument}: the column session_id is of type {kind}; it must have texts")


def _join_parts(parts: "Iterator[pa.Table]") -> "pa.Table":
    """Concatenate tables, one after another, in memory or in a temporary file that is mapped into it.

    The file has no name, and its space is free again when the result is.
    """
    first = next(parts)
    with SpooledTemporaryFile(_MAX_BYTES_IN_MEMORY) as file:
        with pa.ipc.new_stream(file, first.schema) as stream:
            stream.write_table(first)
            for part in parts:
                stream.write_table(part)
        if file.tell() <= _MAX_BYTES_IN_MEMORY:
            file.seek(0)
            return pa.ipc.open_stream(file.read()).read_all()
        file.flush()
        memory_map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return pa.ipc.open_stream(pa.py_buffer(memory_map)).read_all()


def _locations(source: object) -> "pl.LazyFrame":
    """Return the needed columns of the locations, with equal types."""
    lazy = source if isinstance(source, pl.LazyFrame) else frame_of("locations", source).lazy()
    frame_schema = lazy.collect_schema()
    if missing := [name for name in _REQUIRED_COLUMNS if name not in frame_schema]:
        raise ValueError(f"locations has no column {' and '.join(missing)}; it has {', '.join(frame_schema)}")
    _check_session_ids("locations", frame_schema["session_id"])
    if not isinstance(frame_schema["t"], pl.Datetime):
        raise ValueError(f"locations: the column t is of type {frame_schema['t']}; it must have times")
    check_zone("locations", "t", frame_schema["t"])
    for name in ("x", "y", "z"):
        if name in frame_schema and not (frame_schema[name].is_numeric() or frame_schema[name] == pl.Null):
            raise ValueError(f"locations: the column {name} is of type {frame_schema[name]}; it must have numbers")
    optional = {"type": pl.String, "team_id": pl.Int64, "z": pl.Float64}
    columns = [
        pl.col(name) if name in frame_schema else pl.lit(None, kind).alias(name) for name, kind in optional.items()
    ]
    return lazy.select(*_REQUIRED_COLUMNS, *columns)


def _around(windows: "pl.DataFrame", locations: "pl.LazyFrame", *, is_lazy: bool) -> "Iterator[pl.DataFrame]":
    """Yield each session's windows with the positions in them, by row and time."""
    empty_frame = locations.clear().collect()
    by_session = {} if is_lazy else locations.collect().partition_by("session_id", as_dict=True)
    for (session,), near in windows.group_by("session_id", maintain_order=True):
        if is_lazy:
            time_type: Any = empty_frame.schema["t"]
            # Times are the same instants in each zone.
            kind = pl.Datetime("ms", time_type.time_zone)
            start, end = (pl.lit(time).cast(kind) for time in (near["start"].min(), near["end"].max()))
            within = locations.filter(pl.col("session_id") == session, pl.col("t").is_between(start, end))
            found_rows = within.collect(engine="streaming")
        else:
            found_rows = by_session.get((session,), empty_frame)
        yield _in_windows(near, found_rows)
    if windows.is_empty():
        yield _in_windows(windows, empty_frame)


def _in_windows(windows: "pl.DataFrame", positions: "pl.DataFrame") -> "pl.DataFrame":
    """Return each window of a session with the positions in it, in the order of the windows and of time."""
    positions = positions.drop("session_id").with_columns(pl.col("t").dt.epoch("ms"))
    order = positions.select(pl.arg_sort_by("t", maintain_order=True)).to_series()
    times = positions["t"][order]
    first = times.search_sorted(windows["start"], side="left")
    last = times.search_sorted(windows["end"], side="right")
    ranges = windows.select("row", "session_id", "at", "turn", place=pl.int_ranges(first, last))
    places = ranges.explode("place").drop_nulls("place")
    return pl.concat([places.drop("place"), positions[order[places["place"]]]], how="horizontal")
