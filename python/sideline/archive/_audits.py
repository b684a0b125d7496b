"""The rules of `sideline.audit` over the stored tables."""

from functools import cached_property
from typing import TYPE_CHECKING

from .._rows import with_plain_types
from ._libraries import pl
from ._raw import interrupted_units
from ._read import columns_of, require, scan, stored_rows, with_public_types
from ._schemas import MONTH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .._answers import Violations
    from ._store import Store

_BATCH_SIZE = 50
"""Events audited together, to bound the memory."""

_MAX_ATTEMPTS = 5
"""How often events are read that a sync is storing. One that was killed never stores the rest of them."""

_SEEN = ("sequence", "restored_in")
"""The columns of `coverage` that change when a unit is stored."""

_TABLES = {
    "stats": ("player_stats",),
    "stats_details": ("stat_events",),
    "possessions": ("possessions", "possession_events"),
    "shots": ("shots",),
}
"""For each operation, the session tables that rules read."""

_ORPHAN_RULES = ("sessions_are_listed", "withdrawn_sessions_have_no_rows")
"""Rules about rows of sessions that no event lists."""


def audit(store: "Store") -> "Violations":
    """Return the violations of finished events, a few events at a time, and of rows that belong to no event."""
    from .._answers import merge_violations

    require(store)
    auditor = Auditor(store)
    return merge_violations([*auditor.of_events(), *auditor.of_orphans()])


class Auditor:
    """The tables of an archive that rules read.

    A sync may commit between two of them: events of which it stored something meanwhile are read again.
    """

    def __init__(self, store: "Store", attempt: int = 1) -> None:
        self._store, self._attempt = store, attempt
        version, units = _version(store), _units(store)
        self._units = units.drop(_SEEN)
        self._months = _months(store, self._units)
        self._operations = set(self._units["operation"])
        self._session_tables = _session_tables(self._operations)
        names = ("events", "sessions", "location_windows", *self._session_tables, *_game_tables(self._operations))
        self._frames = {name: stored_rows(store, name) for name in names}
        self._rosters = _rosters(store)
        self._changed_events = _changed_events(store, version, units) if attempt < _MAX_ATTEMPTS else set()

    @cached_property
    def _retry(self) -> "Auditor":
        """The same tables, opened a moment later."""
        self._store.wait(self._attempt)
        return Auditor(self._store, self._attempt + 1)

    def of_events(self, events: "Collection[str] | None" = None) -> "Iterator[Violations]":
        """Yield the violations of the finished ones of some events, or of all, a few at a time; at least once."""
        from .._answers import check_rules

        for batch, months, operations in self._parts(events):
            yield check_rules(_plain(self._tables_of(batch, months, operations) | self._rosters))
        if changed_events := self._changed_events if events is None else self._changed_events.intersection(events):
            yield from self._retry.of_events(changed_events)

    def of_orphans(self) -> "Iterator[Violations]":
        """Yield the violations of rows that belong to no event."""
        from .._answers import check_rules

        if self._changed_events:
            yield from self._retry.of_orphans()
            return
        sessions = with_public_types(self._frames["sessions"], "sessions").collect()
        orphans = {
            name: _orphans(with_public_types(self._frames[name], name), sessions) for name in self._session_tables
        }
        if any(frame.height for frame in orphans.values()):
            tables = orphans | {"sessions": sessions, "coverage": self._units}
            yield check_rules(_plain(tables), rules=_ORPHAN_RULES)

    def _parts(self, events: "Collection[str] | None") -> "Iterator[tuple[list[str], list[str], Collection[str]]]":
        """Yield parts of the finished events, the months that have their rows, and the operations requested of them."""
        is_event = pl.col("operation").is_in(("game", "team_events")) & pl.col("final")
        event_ids = self._units.filter(is_event)["event_id"].unique(maintain_order=True)
        event_ids = event_ids.filter(~event_ids.is_in(list(self._changed_events)))
        if events is not None:
            event_ids = event_ids.filter(event_ids.is_in(list(events)))
        by_event = self._units.group_by("event_id").agg(operations=pl.col("operation").unique().sort())
        by_event = by_event.join(self._months, on="event_id", how="left")
        # Events of one month share its files.
        finished_events = event_ids.to_frame().join(by_event, on="event_id", how="left", maintain_order="left")
        by_month = finished_events.sort(pl.col("months").list.join(","), maintain_order=True)
        groups = by_month.group_by("operations", maintain_order=True)
        parts = [(operations, part) for (operations,), rows in groups for part in rows.iter_slices(_BATCH_SIZE)]
        for operations, part in parts:
            yield part["event_id"].to_list(), part["months"].explode().drop_nulls().unique().to_list(), operations
        if not parts:
            yield [], [], self._operations

    def _tables_of(
        self, events: list[str], months: list[str], operations: "Collection[str]"
    ) -> "dict[str, pl.DataFrame]":

        def of(name: str, key: str, ids: list[str]) -> "pl.DataFrame":
            frame = with_public_types(self._frames[name].filter(pl.col(MONTH).is_in(months)), name)
            return frame.filter(pl.col(key).is_in(ids)).collect()

        tables = {name: of(name, "event_id", events) for name in ("events", "sessions")}
        sessions = tables["sessions"]["session_id"].to_list()
        tables |= {
            name: of(name, "session_id", sessions) for name in ("location_windows", *_session_tables(operations))
        }
        tables |= {name: of(name, "game_id", events) for name in _game_tables(operations)}
        tables["coverage"] = self._units.filter(pl.col("event_id").is_in(events))
        return tables


def _session_tables(operations: "Collection[str]") -> list[str]:
    return [name for operation, names in _TABLES.items() if operation in operations for name in names]


def _game_tables(operations: "Collection[str]") -> list[str]:
    return ["play_by_play"] if "play_by_play" in operations else []


def units_being_stored(store: "Store") -> set[str]:
    """Return the units that a sync is storing, or was when it was interrupted."""
    raw = store.open_checked("raw")
    months = [] if raw is None else sorted({str(partition[MONTH]) for partition in raw.partitions()})
    return interrupted_units(store, raw, store.open_checked("coverage"), months)


def _version(store: "Store") -> int | None:
    """Return what changes whenever a unit has been stored."""
    table = store.open_checked("coverage")
    return None if table is None else table.version()


def _changed_events(store: "Store", version: int | None, units: "pl.DataFrame") -> set[str]:
    """Return the events of which something was stored since this version of `coverage`, or is being stored."""
    stored_now = units_being_stored(store)
    if _version(store) == version:
        changed_units = units.filter(pl.col("unit").is_in(list(stored_now)))
    else:
        units_now = _units(store)
        of_stored = units_now.filter(pl.col("unit").is_in(list(stored_now)))
        changed_units = pl.concat([units, units_now]).unique(keep="none").vstack(of_stored)
    return set(changed_units["event_id"].drop_nulls())


def _units(store: "Store") -> "pl.DataFrame":
    """Return what rules need of `coverage`, and `_SEEN`. The id of an event is also that of its own unit."""
    columns = ("operation", "game_id", "session_id", "status", "unit", "final", "event_id", *_SEEN)
    key = pl.col("unit").str.strip_prefix(pl.col("operation") + "/")
    is_event = pl.col("operation").is_in(("game", "team_events", "schedule"))
    return columns_of(store, "coverage", columns).with_columns(
        event_id=pl.when(is_event).then(key).otherwise("event_id")
    )


def _months(store: "Store", units: "pl.DataFrame") -> "pl.DataFrame":
    """Return the months of the rows of each event. Rows of an event that moved may be in the month that it had."""
    stored_in = columns_of(store, "raw", ("unit", MONTH)).unique()
    by_event = stored_in.join(units.select("unit", "event_id"), on="unit").group_by("event_id")
    return by_event.agg(months=pl.col(MONTH).unique().sort())


def _orphans(frame: "pl.LazyFrame", sessions: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of sessions that no event lists."""
    session_ids = sessions["session_id"].unique().implode()
    is_orphan = pl.col("session_id").is_not_null() & ~pl.col("session_id").is_in(session_ids)
    return frame.filter(is_orphan).collect(engine="streaming")


def _rosters(store: "Store") -> "dict[str, pl.DataFrame]":
    """Return the sport of each team, and its players."""
    return {"team": scan(store, "teams").collect(), "players": scan(store, "players").collect()}


def _plain(frames: "dict[str, pl.DataFrame]") -> "dict[str, pl.DataFrame]":
    return {name: with_plain_types(frame) for name, frame in frames.items()}
