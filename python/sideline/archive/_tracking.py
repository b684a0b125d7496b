"""Answers from stored positions: a `Tracking` of one game, and the season's tables of loads and defenders.

The season's tables are computed for each session from its stored bodies. `tracking_sources` records which bodies a
session's rows come from, so that a sync computes them again when one of the bodies changes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._rows import library
from ..errors import IncompleteError
from . import _arrow
from ._life import COMPLETE
from ._plan import SOURCES_OF_ANSWERS, UNDATED
from ._read import coverage, require, scan
from ._schemas import MONTH, in_month, internal_schemas, public_schema
from ._storage_types import to_storage_types
from ._store import Store, is_in, now

if TYPE_CHECKING:
    import polars
    import pyarrow

    from .._answers import Tracking

Row = dict[str, Any]

_FORMULA = 1
"""Counted up when the formulas change: every session is computed again."""

_BATCH_SIZE = 8
"""Sessions written in one transaction."""

_COLUMNS = ("operation", "unit", "game_id", "session_id", "status", "body_id", MONTH, "error")


def tracking(store: Store, game_id: str, *, keep: bool) -> "Tracking":
    """Return the positions of a game from the stored tables; without `keep`, a hole raises `IncompleteError`."""
    require(store)
    units = [row for row in _units(store) if row["game_id"] == game_id and row["status"] != "withdrawn"]
    positions = [row for row in units if row["operation"] == "locations"]
    if not positions and not keep:
        raise IncompleteError(
            f"the archive has no locations of game {game_id}: "
            f"sync(game_ids=[{game_id!r}], tables=['locations', 'shots', 'possessions', 'stat_events'])"
        )
    if holes := [row for row in units if row["status"] not in COMPLETE and not keep]:
        names = ", ".join(f"{row['unit']}: {row['error'] or row['status']}" for row in holes[:5])
        raise IncompleteError(f'{names}; sync again, or pass on_error="keep" to treat them as missing frames')
    return _tracking(store, [row["session_id"] for row in positions])


def _units(store: Store) -> list[Row]:
    return [row for row in coverage(store, _COLUMNS) if row["operation"] in SOURCES_OF_ANSWERS]


def _tracking(store: Store, sessions: Sequence[str]) -> "Tracking":
    from .._answers import Tracking

    pl: Any = library("polars", "archive")

    def rows(name: str) -> "polars.DataFrame":
        return scan(store, name).filter(pl.col("session_id").is_in(list(sessions))).collect()

    names = ("locations", "shots", "stat_events", "possessions")
    locations, shots, stat_events, possessions = map(rows, names)
    players = scan(store, "players").select("player_id", "first_name", "last_name").collect()
    kinds = rows("sessions")["type"].cast(pl.String).str.to_uppercase()
    court: Literal["football"] | None = "football" if kinds.str.starts_with("FOOTBALL").any() else None
    return Tracking(locations, shots, stat_events, possessions, players, court=court)


def signatures(units: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return for each session with stored positions the bodies that its answers come from."""
    bodies: dict[str, dict[str, str]] = defaultdict(dict)
    for row in units:
        if (
            row["operation"] in SOURCES_OF_ANSWERS
            and row["session_id"]
            and row["body_id"]
            and row["status"] != "withdrawn"
        ):
            bodies[row["session_id"]][row["operation"]] = row["body_id"]
    return {
        session: f"{_FORMULA} " + " ".join(f"{name}={by_operation[name]}" for name in sorted(by_operation))
        for session, by_operation in bodies.items()
        if "locations" in by_operation
    }


def stored_signatures(store: Store) -> dict[str, str]:
    """Return the bodies that the stored answers come from, by session."""
    table = store.open_checked("tracking_sources")
    if table is None:
        return {}
    rows = store.rows(table, ("session_id", "signature"))
    return dict(zip(rows["session_id"].to_pylist(), rows["signature"].to_pylist(), strict=True))


def update(store: Store) -> int:
    """Compute the answers of each session whose bodies have changed; return the number of such sessions."""
    units = _units(store)
    expected, previous = signatures(units), stored_signatures(store)
    months = {row["session_id"]: row[MONTH] or UNDATED for row in units if row["operation"] == "locations"}
    changed_sessions = [session for session, signature in expected.items() if previous.get(session) != signature]
    for sessions in _batches(changed_sessions, months):
        _write(store, sessions, months[sessions[0]], expected)
    if removed_sessions := sorted(previous.keys() - expected.keys()):
        for name in ("tracking_loads", "tracking_defenders", "tracking_sources"):
            _replace(store, name, None, removed_sessions)
    return len(changed_sessions) + len(removed_sessions)


def _batches(sessions: Iterable[str], months: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield a few sessions of one month at a time."""
    by_month: dict[str, list[str]] = defaultdict(list)
    for session in sessions:
        by_month[months[session]].append(session)
    for group in by_month.values():
        for first in range(0, len(group), _BATCH_SIZE):
            yield group[first : first + _BATCH_SIZE]


def _write(store: Store, sessions: Sequence[str], month: str, expected: Mapping[str, str]) -> None:
    pa: Any = library("pyarrow", "archive")
    trackings = [_tracking(store, [session]) for session in sessions]
    loads = pa.concat_tables(
        [source.loads(by=("player_id", "period", "session_id")).to_arrow() for source in trackings]
    )
    defenders = pa.concat_tables([source.defenders().to_arrow() for source in trackings])
    _replace(store, "tracking_loads", in_month(to_storage_types(loads), month), sessions)
    _replace(store, "tracking_defenders", in_month(to_storage_types(defenders), month), sessions)
    # Last: an interrupted sync computes them again.
    schema = internal_schemas()["tracking_sources"]
    rows = [{"session_id": session, "signature": expected[session], "computed_at": now()} for session in sessions]
    _replace(store, "tracking_sources", _arrow.table(rows, schema), sessions)


def _replace(store: Store, name: str, rows: "pyarrow.Table | None", sessions: Collection[str]) -> None:
    if rows is None:
        table = store.open(name)
        if table is None:
            return
        rows = _arrow.empty(_schema(name))
    store.replace(name, lambda: rows, is_in("session_id", sessions))


def _schema(name: str) -> "pyarrow.Schema":
    if name in internal_schemas():
        return internal_schemas()[name]
    return in_month(to_storage_types(_arrow.empty(public_schema(name))), UNDATED).schema
