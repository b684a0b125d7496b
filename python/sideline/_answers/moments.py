"""`sideline.moments`: positions around plays."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sideline._access import table_from_arrow
from sideline._answers.frames import arrow_of, frame_of, time_column
from sideline._core import Table
from sideline._frames import library

if TYPE_CHECKING:
    import polars

_SESSION_BATCH_SIZE = 4
"""Sessions of lazy locations that are read together, to bound the memory."""

_REQUIRED_COLUMNS = ("session_id", "t", "player_id", "x", "y")


def moments(rows: object, locations: object, before: float = 3, after: float = 3, normalize: bool = False) -> Table:
    """Find the sensor frames around shots, stat events, possessions or ball screens.

    The result has a row for each position in a frame: `row` (the position among `rows`, from 0), `session_id`, `at`
    (the time of the row), `t_offset_s` (seconds from it to the frame, negative before it), `type`, `team_id`,
    `player_id`, and `x`, `y` and `z` in millimetres of the court. Rows of one session are together and in order, each
    with its frames in order. A row without frames nearby is not in the result.

    Parameters:
        rows: a payload, a `Table` or a frame, with `session_id` and the time: `occurred_at`, `start_timestamp` or
            `timestamp`.
        locations: one or several responses of `client.locations`, a table or frame, or a polars LazyFrame such as
            `archive.scan("locations")`. From a LazyFrame only the needed sessions and times are read, a few sessions at
            a time.
        before, after: seconds around each row.
        normalize: rotate the court by half a turn where needed, so that the attacked hoop is at positive y; `rows` need
            `hoop_y`, which shots have.

    Requires polars and pyarrow. Raises `ValueError` for a missing column. See `docs/answers.md`.


    >>> shot = client.shots(session_id).to_polars().head(1)
    >>> at = shot["occurred_at"][0]
    >>> from datetime import timedelta
    >>> near = client.locations(session_id, at - timedelta(seconds=5), at + timedelta(seconds=5))
    >>> sideline.moments(shot, near).to_polars()["t_offset_s"].is_between(-3, 3).all()
    True
    """
    if before < 0 or after < 0:
        raise ValueError(f"before and after must be at least 0 seconds, not {before} and {after}")
    pl = library("polars", "polars")
    frame = frame_of("rows", rows)
    time = time_column("rows", frame)
    needed = ["session_id", *(["hoop_y"] if normalize else [])]
    if missing := [name for name in needed if name not in frame.columns]:
        why = ": it says which hoop is attacked; shots have it" if "hoop_y" in missing else ""
        raise ValueError(f"rows has no column {' and '.join(missing)}{why}")
    at = pl.col(time).dt.epoch("ms")
    windows = (
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
    lazy, at_once = _locations(locations)
    # Equal strings are stored once, because a season's frames have millions of rows.
    sessions = pl.Enum(windows["session_id"].unique(maintain_order=True))
    parts = [
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
            ).sort("row", "t_offset_s", maintain_order=True)
        )
        for part in _around(windows, lazy, at_once)
    ]
    return table_from_arrow("moments", library("pyarrow", "arrow").concat_tables(parts))


def _locations(source: object) -> "tuple[polars.LazyFrame, int | None]":
    """Return the locations, and how many of their sessions to read at once (`None`: all)."""
    pl = library("polars", "polars")
    is_lazy = isinstance(source, pl.LazyFrame)
    lazy: Any = source if is_lazy else frame_of("locations", source).lazy()
    has = lazy.collect_schema()
    if missing := [name for name in _REQUIRED_COLUMNS if name not in has]:
        raise ValueError(f"locations has no column {' and '.join(missing)}; it has {', '.join(has)}")
    optional = {"type": pl.String, "team_id": pl.Int64, "z": pl.Float64}
    columns = [pl.col(name) if name in has else pl.lit(None, kind).alias(name) for name, kind in optional.items()]
    return lazy.select(*_REQUIRED_COLUMNS, *columns), _SESSION_BATCH_SIZE if is_lazy else None


def _around(
    windows: "polars.DataFrame", locations: "polars.LazyFrame", at_once: int | None
) -> "Iterator[polars.DataFrame]":
    """Yield each window joined with the positions in it, a few sessions at a time."""
    pl = library("polars", "polars")
    ids = windows["session_id"].unique(maintain_order=True).to_list()
    # A window overlaps two or three buckets of its own length.
    width = max(1, (windows["end"] - windows["start"]).max() or 1)
    bucket = pl.col("start") // width
    spread = pl.int_ranges(bucket, pl.col("end") // width + 1).alias("bucket")
    buckets = windows.with_columns(spread).explode("bucket")
    step = at_once or max(1, len(ids))
    for first in range(0, max(1, len(ids)), step):
        some = ids[first : first + step]
        near = buckets.filter(pl.col("session_id").is_in(some))
        span = near.select(
            pl.from_epoch(pl.col("start").min(), "ms").dt.replace_time_zone("UTC").alias("start"),
            pl.from_epoch(pl.col("end").max(), "ms").dt.replace_time_zone("UTC").alias("end"),
        ).row(0)
        read = locations.filter(pl.col("session_id").is_in(some))
        if near.height:
            read = read.filter(pl.col("t").is_between(*span))
        found = read.collect().with_columns(pl.col("session_id").cast(pl.String), pl.col("t").dt.epoch("ms"))
        joined: polars.DataFrame = (
            found.with_columns(bucket=pl.col("t") // width)
            .join(near, on=["session_id", "bucket"])
            .filter(pl.col("t").is_between("start", "end"))
        )
        yield joined
