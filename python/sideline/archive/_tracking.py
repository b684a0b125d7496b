"""Answers from stored positions: a `Tracking` of one game, and the season's tables of loads and defenders.

The season's tables are computed for each session from its stored bodies. `tracking_sources` records which bodies a
session's rows come from, so that a sync computes them again when one of the bodies changes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import IncompleteError
from . import _arrow
from ._decode import stored_schema
from ._libraries import pa
from ._life import COMPLETE
from ._memory import trim
from ._plan import ANSWERS, NO_MONTH, SOURCES_OF_ANSWERS
from ._read import conform, open_table, require, scan, to_dicts
from ._schemas import MONTH, in_month, internal_schemas, public_schema
from ._storage_types import to_storage_types
from ._store import Store, is_in, now

if TYPE_CHECKING:
    from .._answers import Tracking

Row = dict[str, Any]

_FORMULA = 3
"""Counted up when the formulas change: every session is computed again."""

_BATCH_SIZE = 8
"""Sessions written in one transaction."""

_COLUMNS = ("operation", "unit", "game_id", "session_id", "status", "body_id", MONTH, "error")


def tracking(store: Store, game_id: str, *, keep: bool) -> "Tracking":
    """Return the positions of a game from the stored tables; without `keep`, a hole raises `IncompleteError`."""
    require(store)
    units = [row for row in _units(store, texts=("game_id", [game_id])) if row["status"] != "withdrawn"]
    positions = [row for row in units if row["operation"] == "locations"]
    if not positions and not keep:
        raise IncompleteError(
            f"the archive has no locations of game {game_id}: "
            f"sync(game_ids=[{game_id!r}], tables=['locations', 'shots', 'possessions', 'stat_events'])"
        )
    if holes := [row for row in units if row["status"] not in COMPLETE and not keep]:
        names = ", ".join(f"{row['unit']}: {row['error'] or row['status']}" for row in holes[:5])
        raise IncompleteError(f'{names}; sync again, or pass on_error="keep" to treat them as missing frames')
    return _tracking(store, [row["session_id"] for row in positions], with_players=True)


def _units(store: Store, **only: Any) -> list[Row]:
    """Return the rows of `coverage` that answers depend on; `only`: as `Store.select` takes them."""
    table = store.open_checked("coverage")
    batches = () if table is None else store.select(table, _COLUMNS, **only)
    return [row for batch in batches for row in to_dicts(batch) if row["operation"] in SOURCES_OF_ANSWERS]


def _tracking(store: Store, sessions: Sequence[str], *, with_players: bool = False) -> "Tracking":
    from .._answers import Tracking

    names = ("locations", "shots", "stat_events", "possessions")
    locations, shots, stat_events, possessions = (_rows_of(store, name, sessions) for name in names)
    players = scan(store, "players").select("player_id", "first_name", "last_name").collect() if with_players else None
    kinds = _rows_of(store, "sessions", sessions)["type"].to_pylist()
    is_football = any(str(kind).upper().startswith("FOOTBALL") for kind in kinds)
    return Tracking(locations, shots, stat_events, possessions, players, court="football" if is_football else None)


def _rows_of(store: Store, name: str, sessions: Sequence[str]) -> "pa.Table":
    """Return the rows of sessions, from files of all months: a game may have moved since its rows were stored.

    pyarrow gives their memory back; the first use of polars would take 70 MB.
    """
    table, schema = open_table(store, name), stored_schema(name)
    batches = () if table is None else store.select(table, texts=("session_id", sessions), schema=schema)
    return conform(pa.Table.from_batches(batches, schema), public_schema(name))


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
    batches = store.select(table, ("session_id", "signature"))
    return {row["session_id"]: row["signature"] for batch in batches for row in to_dicts(batch)}


def update(store: Store) -> int:
    """Compute the answers of each session whose bodies have changed; return the number of such sessions.

    A month at a time: the units of a season are many.
    """
    table = store.open_checked("coverage")
    months = sorted({str(partition[MONTH]) for partition in table.partitions()} if table is not None else ())
    previous = stored_signatures(store)
    if store.is_local and not all(store.has(name) for name in ANSWERS):
        # A table that was lost is computed again.
        previous = dict.fromkeys(previous, "")
    count = 0
    for month in months:
        expected = signatures(_units(store, months=[month]))
        changed_sessions = [session for session, signature in expected.items() if previous.get(session) != signature]
        for first in range(0, len(changed_sessions), _BATCH_SIZE):
            _write(store, changed_sessions[first : first + _BATCH_SIZE], month, expected)
        count += len(changed_sessions)
        for session in expected:
            previous.pop(session, None)
    if removed_sessions := sorted(previous):
        for name in ("tracking_loads", "tracking_defenders", "tracking_sources"):
            _replace(store, name, None, removed_sessions)
    return count + len(removed_sessions)


def _write(store: Store, sessions: Sequence[str], month: str, expected: Mapping[str, str]) -> None:
    parts: dict[str, list[pa.Table]] = {"tracking_loads": [], "tracking_defenders": []}
    for session in sessions:
        positions = _tracking(store, [session])
        loads, defenders = positions.loads(by=("player_id", "period", "session_id")), positions.defenders()
        for rows, part in zip((loads, defenders), parts.values(), strict=True):
            part.append(to_storage_types(rows.to_arrow()))
        # The positions of one session at a time: they are most of an archive.
        del positions
        trim()
    for name, tables in parts.items():
        _replace(store, name, in_month(pa.concat_tables(tables), month), sessions)
    # Last: an interrupted sync computes them again.
    schema = internal_schemas()["tracking_sources"]
    rows_of_sources = [
        {"session_id": session, "signature": expected[session], "computed_at": now()} for session in sessions
    ]
    _replace(store, "tracking_sources", _arrow.table(rows_of_sources, schema), sessions)


def _replace(store: Store, name: str, rows: "pa.Table | None", sessions: Collection[str]) -> None:
    if rows is None:
        table = store.open(name)
        if table is None:
            return
        rows = _arrow.empty(_schema(name))
    store.replace(name, lambda: rows, is_in("session_id", sessions))


def _schema(name: str) -> "pa.Schema":
    if name in internal_schemas():
        return internal_schemas()[name]
    return in_month(to_storage_types(_arrow.empty(public_schema(name))), NO_MONTH).schema
