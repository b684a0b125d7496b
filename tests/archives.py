"""Helpers of the archive's tests: a small season, tables as hashes of their rows, and the one door to what is private.

Tests take the private parts of the archive from here: its settings, its store, what it stores, and when it commits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from needs import ARCHIVE, library, require

import sideline
from sideline.archive import _commits
from sideline.archive._body import Body
from sideline.archive._fetch import Fetched, Outcome
from sideline.archive._plan import NO_MONTH, Unit
from sideline.archive._schemas import MONTH, internal_schemas
from sideline.archive._settings import Settings
from sideline.archive._store import Store, is_in, now

__all__ = ["MONTH", "NO_MONTH", "Body", "Fetched", "Outcome", "Store", "Unit", "internal_schemas", "is_in", "now"]
"""What a unit is, what became of it, and how it is stored, for tests of parts of the archive."""

TABLES = ("teams", "players", "special_services", "team", "games", "events", "sessions", "location_windows", "player_stats", "box_score", "stat_events")
TABLES += ("possessions", "possession_events", "possession_players", "shots", "locations", "play_by_play", "ball_screens")
"""The tables of an archive; test_archive.py compares them with those of `Archive.changes`."""

TRUE = [name for name in TABLES if name not in ("locations", "play_by_play", "ball_screens")]
"""Those of a second service without additions that are synced by default."""

require(*ARCHIVE, extra="archive")
pl = library("polars")
pa = library("pyarrow")
selectors = library("polars.selectors")

NOW = "2027-03-01T12:00:00Z"
SEASON = {"start": "2026-09-01", "end": "2027-08-15"}
WINTER = {"start": "2027-01-01", "end": "2027-03-15"}
HALF = {"start": "2026-09-01", "end": "2026-12-31"}
WEEKS = {"start": "2027-02-12", "end": "2027-03-02"}
"""The last weeks: their last games may still be corrected, and one is still in progress."""

OWN_TIMES = {"fetched_at", "served_at", "listed_at", "stored_at", "request_id", "attempts", "listed_from", "listed_until"}
"""What two syncs of the same season need not have in common."""


def season_clock() -> datetime:
    """The season's clock."""
    return datetime.fromisoformat(NOW)


def archive_of(client: sideline.Client, root: Path) -> sideline.Archive:
    """An archive that lives when the season does, whatever the date is on this machine."""
    return sideline.Archive(root, client, clock=season_clock)


def settings(**quantities: Any) -> Settings:
    """The settings of an archive, with other quantities than those of users."""
    return replace(Settings(), **quantities)


def archive_with(
    root: Path | str, client: sideline.Client | None = None, *, clock: Callable[[], datetime] | None = None, **quantities: Any
) -> sideline.Archive:
    """An archive with other settings than those of users: see `sideline/archive/_settings.py`."""
    return set_quantities(sideline.Archive(root, client, clock=clock), **quantities)


def set_quantities(archive: sideline.Archive, **quantities: Any) -> sideline.Archive:
    """The same archive, whose next calls have these settings."""
    archive._store.settings = settings(**quantities)
    return archive


def store_of(root: Path) -> Store:
    """What an archive writes to, without the archive."""
    return sideline.Archive(root)._store


def archive_on(store: Store) -> sideline.Archive:
    """An archive that reads and writes by this store."""
    archive = sideline.Archive(store.root)
    archive._store = store
    return archive


Commit = Callable[[], bool]


@contextmanager
def around_commits(call: Callable[[Store, Any, Any, Commit], bool]) -> Iterator[None]:
    """Each commit of a store, with its table and rows, is a call of this function, which commits or does not."""

    def wrap(original: Callable[..., bool]) -> Callable[..., bool]:
        def commit(self: Store, table: Any, rows: Any, *arguments: Any, **options: Any) -> bool:
            return call(self, table, rows, lambda: original(self, table, rows, *arguments, **options))

        return commit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "try_replace", wrap(Store.try_replace))
        patch.setattr(_commits, "try_commit", wrap(_commits.try_commit))
        yield


def rows_of_commit(table: Any, rows: Any) -> Any:
    """The rows that a commit to a folder adds, as a table: it may name files that hold them."""
    if not isinstance(rows, list):
        return rows
    parquet = library("pyarrow.parquet")
    files = [parquet.ParquetFile(Path(url2pathname(urlsplit(table.table_uri).path)) / action.path).read() for action in rows]
    return pa.concat_tables(files, promote_options="permissive") if files else pa.table({})


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@contextmanager
def killed_after(transactions: int | None) -> Iterator[list[int]]:
    """Whoever writes to an archive ends right after the transaction of this number; `None`: never. The list has their number so far."""
    count = [0]

    def commit(store: Store, table: Any, rows: Any, original: Commit) -> bool:
        if not original():
            return False
        count[0] += 1
        if count[0] == transactions:
            raise Killed
        return True

    with around_commits(commit):
        yield count


def small_season(**options: Any) -> sideline.Simulator:
    return sideline.Simulator(**{"seed": 7, "teams": 4, "games": 12, "now": NOW, **options})


def sorted_rows(table: Any, without: Iterable[str] = ()) -> list[int]:
    """The rows of a table of pyarrow or polars as their hashes, sorted; the order of the columns does not matter."""
    frame = pl.DataFrame(pl.from_arrow(table) if isinstance(table, pa.Table) else table).drop(without, strict=False)
    # As text, floats tell 0.0 from -0.0.
    texts = frame.select(sorted(frame.columns)).cast({pl.Categorical: pl.String, selectors.float(): pl.String})
    return texts.hash_rows().sort().to_list() if frame.width else []


def contents(archive: sideline.Archive, names: Iterable[str] | None = None) -> dict[str, list[int]]:
    """All files of an archive, or those of these tables: tables, records of bodies, and bodies."""
    with warnings.catch_warnings():
        # Two archives that lack a table are alike in it.
        warnings.filterwarnings("ignore", ".*no sync has requested them", UserWarning)
        tables = {name: sorted_rows(archive.to_arrow(name), OWN_TIMES if name == "players" else ()) for name in names or TABLES}
    own_tables = {name: sorted_rows(archive.to_arrow(name), OWN_TIMES) for name in ("coverage", "raw")}
    return {**tables, **own_tables}


def ledger(archive: sideline.Archive) -> list[dict[str, Any]]:
    """The rows of `coverage` with the columns that readers do not see."""
    rows: list[dict[str, Any]] = archive.delta("coverage").to_pyarrow_table().to_pylist()
    return rows


def different_tables(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """The names of the tables that differ."""
    return [name for name in left if left[name] != right[name]]
