"""What an archive has learned of its own bodies: when they usually arrive, and how many rows they usually have."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ._libraries import pl
from ._life import COMPLETE
from ._raw import UNDECODABLE
from ._read import columns_of
from ._schemas import MONTH
from ._store import Store

_MIN_BODIES = 3
"""Bodies needed to learn the usual delay of an operation."""

_MAX_OBSERVED_DELAY = timedelta(days=3)
"""A unit first requested later than this after its end says nothing about the delay."""

_COLUMNS = ("unit", "operation", "status", "rows", "final", "over_at", "planned_at", "game_id", "body_id", MONTH)


@dataclass(frozen=True)
class Baseline:
    """What is usual for each operation. An operation that is absent has too few bodies."""

    delays: Mapping[str, timedelta]
    """The time after the end by which nine of ten bodies were stored."""
    rows: Mapping[str, float]
    """The median of the rows of a body."""
    operations: frozenset[str]
    """Those that the service has data of."""
    requested_by: Mapping[datetime, frozenset[str]]
    """The operations of which a sync stored a unit, by the clock of the sync."""


def ledger(store: Store) -> "pl.DataFrame":
    """Return the columns of `coverage` that `learn` needs, and those that tell where the rows of a game are."""
    return columns_of(store, "coverage", _COLUMNS)


def learn(store: Store, units: "pl.DataFrame") -> Baseline:
    """Return what is usual, from the rows of `ledger` and the times of the stored bodies."""
    bodies = columns_of(store, "raw", ("unit", "status", "served_at", "stored_at"))
    first_stored = (
        bodies.filter(pl.col("status") != UNDECODABLE)
        .group_by("unit")
        .agg(pl.coalesce("served_at", "stored_at").min().alias("first_stored"))
    )
    delay = (pl.col("first_stored") - pl.col("over_at")).alias("delay")
    delays = (
        units.join(first_stored, on="unit")
        .select("operation", delay)
        .filter(pl.col("delay") <= _MAX_OBSERVED_DELAY)
        .group_by("operation")
        .agg(
            pl.len().alias("count"),
            pl.col("delay").dt.total_microseconds().clip(0).quantile(0.9, "linear").alias("delay"),
        )
        .filter(pl.col("count") >= _MIN_BODIES)
    )
    rows = (
        units.filter(pl.col("status").is_in(COMPLETE) & pl.col("final"))
        .group_by("operation")
        .agg(pl.col("rows").median())
    )
    operations = units.filter(~pl.col("status").is_in(("unavailable", "withdrawn")))["operation"]
    syncs = units.filter(pl.col("planned_at").is_not_null()).group_by("planned_at").agg(pl.col("operation").unique())
    return Baseline(
        {name: timedelta(seconds=round(delay / 1e6)) for name, _, delay in delays.iter_rows()},
        {name: median for name, median in rows.iter_rows() if median is not None},
        frozenset(operations),
        {planned_at: frozenset(names) for planned_at, names in syncs.iter_rows()},
    )
