"""Helpers of the archive's tests: a small season, and tables as hashes of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from needs import ARCHIVE, library, require

import sideline
from sideline.archive._plan import TABLES

require(*ARCHIVE, extra="archive")
pl = library("polars")
pa = library("pyarrow")
selectors = library("polars.selectors")

NOW = "2027-03-01T12:00:00Z"
SEASON = {"start": "2026-09-01", "end": "2027-08-15"}
WINTER = {"start": "2027-01-01", "end": "2027-03-15"}
HALF = {"start": "2026-09-01", "end": "2026-12-31"}
WEEKS = {"start": "2027-02-12", "end": "2027-03-02"}
"""The last ones: their last games may still be corrected, and one goes on."""

OWN_TIMES = {"fetched_at", "served_at", "listed_at", "stored_at", "request_id", "attempts", "listed_from", "listed_until"}
"""What two syncs of the same season need not have in common."""


def frozen() -> datetime:
    """The season's clock."""
    return datetime.fromisoformat(NOW)


def archive_of(client: sideline.Client, root: Path) -> sideline.Archive:
    """An archive that lives when the season does, whatever the date is on this machine."""
    return sideline.Archive(root, client, clock=frozen)


def small_season(**options: Any) -> sideline.Simulator:
    return sideline.Simulator(**{"seed": 7, "teams": 4, "games": 12, "now": NOW, **options})


def sorted_rows(table: Any, without: Iterable[str] = ()) -> list[int]:
    """The rows of a table of pyarrow or polars as their hashes, sorted; the order of the columns does not matter."""
    frame = pl.DataFrame(pl.from_arrow(table) if isinstance(table, pa.Table) else table).drop(without, strict=False)
    # As text, floats tell 0.0 from -0.0.
    texts = frame.select(sorted(frame.columns)).cast({pl.Categorical: pl.String, selectors.float(): pl.String})
    return texts.hash_rows().sort().to_list() if frame.width else []


def contents(archive: sideline.Archive) -> dict[str, list[int]]:
    """All files of an archive: tables, records of bodies, and bodies."""
    tables = {name: sorted_rows(archive.to_arrow(name), OWN_TIMES if name == "players" else ()) for name in TABLES}
    own = {name: sorted_rows(archive.to_arrow(name), OWN_TIMES) for name in ("coverage", "raw")}
    return {**tables, **own}


def ledger(archive: sideline.Archive) -> list[dict[str, Any]]:
    """The rows of `coverage` with the columns that readers do not see."""
    rows: list[dict[str, Any]] = archive.delta("coverage").to_pyarrow_table().to_pylist()
    return rows


def same(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The names of the tables that differ."""
    return [name for name in one if one[name] != other[name]]
