"""The rules of `sideline.audit` over the stored tables."""

from typing import TYPE_CHECKING, Any

from .._rows import library
from ._read import coverage, require, scan

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars

    from .._answers import Violations
    from ._store import Store

_BATCH_SIZE = 50
"""Events audited together, to bound the memory."""

_TABLES = {
    "stats": ("player_stats",),
    "stats_details": ("stat_events",),
    "possessions": ("possessions", "possession_events"),
    "shots": ("shots",),
}
"""For each operation, the session tables that rules read."""

_ORPHAN_RULES = ("sessions_are_listed", "withdrawn_sessions_have_no_rows")
"""Rules about rows of sessions that no event lists."""


def audit(store: "Store", events: "Collection[str] | None" = None) -> "Violations":
    """Return the violations of finished events, a few events at a time, and of rows that belong to no event.

    With `events`, only the violations of these events.
    """
    from .._answers import check_rules, merge_violations

    require(store)
    pl = library("polars", "archive")
    columns = ("operation", "game_id", "session_id", "status")
    units = coverage(store, (*columns, "unit", "final"))
    synced = {row["operation"] for row in units}
    finals = (row["unit"] for row in units if row["final"] and row["operation"] in ("game", "team_events"))
    over = [key for unit in finals if (key := unit.partition("/")[2]) and (events is None or key in events)]
    covered = pl.DataFrame([{name: row[name] for name in columns} for row in units], dict.fromkeys(columns, pl.String))
    names = [name for operation, names in _TABLES.items() if operation in synced for name in names]
    shared = {"coverage": covered} | _rosters(store)

    def of(name: str, key: str, ids: list[str]) -> "polars.DataFrame":
        return scan(store, name).filter(pl.col(key).is_in(ids)).collect()

    runs = []
    for first in range(0, max(1, len(over)), _BATCH_SIZE):
        some = over[first : first + _BATCH_SIZE]
        frames = {name: of(name, "event_id", some) for name in ("events", "sessions")}
        ids = frames["sessions"]["session_id"].to_list()
        frames |= {name: of(name, "session_id", ids) for name in ("location_windows", *names)}
        if "play_by_play" in synced:
            frames["play_by_play"] = of("play_by_play", "game_id", some)
        runs.append(check_rules(_plain(frames | shared)))
    if events is not None:
        return merge_violations(runs)
    sessions = scan(store, "sessions").collect()
    orphans = {name: _orphans(store, name, sessions) for name in names}
    if any(frame.height for frame in orphans.values()):
        runs.append(check_rules(_plain(orphans | {"sessions": sessions, "coverage": covered}), rules=_ORPHAN_RULES))
    return merge_violations(runs)


def _orphans(store: "Store", name: str, sessions: "polars.DataFrame") -> "polars.DataFrame":
    """Return the rows of sessions that no event lists."""
    pl = library("polars", "archive")
    listed = sessions["session_id"].unique().to_list()
    unlisted = pl.col("session_id").is_not_null() & ~pl.col("session_id").is_in(listed)
    found: polars.DataFrame = scan(store, name).filter(unlisted).collect()
    return found


def _rosters(store: "Store") -> "dict[str, polars.DataFrame]":
    """Return the sport of each team, and its players."""
    return {"team": scan(store, "teams").collect(), "players": scan(store, "players").collect()}


def _plain(frames: "dict[str, polars.DataFrame]") -> "dict[str, polars.DataFrame]":
    """Convert categories to strings."""
    pl: Any = library("polars", "archive")
    return {name: frame.with_columns(pl.col(pl.Categorical).cast(pl.String)) for name, frame in frames.items()}
