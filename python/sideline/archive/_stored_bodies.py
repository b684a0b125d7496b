"""Stores the bodies of units in `raw`, each once, and finds their places there."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ._fetch import Outcome
from ._plan import NO_MONTH, UNDATED_OPERATIONS
from ._raw import UNDECODABLE, WITHDRAWN, add_bodies
from ._read import to_dicts
from ._schemas import MONTH, internal_schemas
from ._store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

Row = dict[str, Any]

_PLACE_COLUMNS = ("unit", "sequence", "status", "body_id", "stored_at", "game_id", MONTH)


class BodyPlaces(NamedTuple):
    """The places of bodies in `raw`, and of their rows in the tables."""

    bodies: dict[str, tuple[int, datetime]]
    """For each stored unit, the sequence of its body and when it was stored."""
    interrupted_units: set[str]
    """Units whose last body is not accounted for."""
    months: dict[str, set[str]]
    """The months that may have rows of any of a unit's bodies."""


def store_bodies(store: Store, outcomes: Sequence[Outcome], seen: Mapping[str, Row], at: datetime) -> BodyPlaces:
    """Store each body once, even if two writers bring it."""
    # A unit that was never reserved needs no withdrawal.
    reserved_units = {name for name, row in seen.items() if row["sequence"] is not None}
    rows = (
        _body(outcome, at)
        for outcome in outcomes
        if outcome.body or (outcome.status == WITHDRAWN and outcome.unit.name in reserved_units)
    )
    requested_rows = {row["unit"]: row for row in rows}
    attempt = 0
    while True:
        table = store.open_or_create("raw", internal_schemas()["raw"]) if requested_rows else None
        last, number, months = _places_before(store, table, requested_rows)
        new = []
        for name, row in requested_rows.items():
            # A restored `raw` may be older than `coverage`.
            last_accounted = sequence_of(seen.get(name))
            if _is_new(row, last.get(name)) or last[name]["sequence"] < last_accounted:
                row["sequence"] = max(number.get(name, 0), last_accounted) + 1
                new.append({**row, "entry": entry(name, row["sequence"])})
        added_rows = (
            len(new)
            if table is None
            else add_bodies(store, table, new, is_contended=attempt > 0 or not store.can_add_files)
        )
        store.keep(table)
        if added_rows == len(new):
            break
        if not added_rows:
            if attempt == store.settings.max_write_attempts:
                raise store.error_of_contention("raw")
            attempt += 1
            store.wait(attempt)
    new_units = {row["unit"] for row in new}
    places = {
        name: (row["sequence"], at) if name in new_units else (last[name]["sequence"], last[name]["stored_at"])
        for name, row in requested_rows.items()
        if row["status"] != UNDECODABLE
    }
    decodable = {name: row for name, row in last.items() if row["status"] != UNDECODABLE}
    interrupted_before = {name for name, row in decodable.items() if row["sequence"] > sequence_of(seen.get(name))}
    return BodyPlaces(places, interrupted_before, months)


def _is_new(row: Row, last: Row | None) -> bool:
    return last is None or any(last[column] != row[column] for column in ("body_id", "status", "game_id", MONTH))


def _places_before(
    store: Store, table: "DeltaTable | None", rows: Mapping[str, Row]
) -> tuple[dict[str, Row], dict[str, int], dict[str, set[str]]]:
    """Return the last place of the same kind, the last sequence, and the months of each unit of `rows`."""
    last: dict[str, Row] = {}
    number: dict[str, int] = {}
    months = {name: {row[MONTH]} for name, row in rows.items()}
    names = {name for unit in rows for name in units_with_same_rows(unit)}
    for place in places_of(store, table, names) if table is not None else ():
        name = place["unit"]
        for same in rows.keys() & units_with_same_rows(name):
            months[same].add(place[MONTH])
        if name not in rows:
            continue
        number[name] = max(number.get(name, 0), place["sequence"])
        is_same_kind = (place["status"] == UNDECODABLE) == (rows[name]["status"] == UNDECODABLE)
        if is_same_kind and (name not in last or last[name]["sequence"] < place["sequence"]):
            last[name] = place
    return last, number, months


def places_of(store: Store, table: "DeltaTable", units: Collection[str]) -> list[Row]:
    """Return the rows of units in an opened table `raw`, without their bodies."""
    is_undated = all(unit.partition("/")[0] in UNDATED_OPERATIONS for unit in units)
    batches = store.select(table, _PLACE_COLUMNS, ("unit", units), [NO_MONTH] if is_undated else None)
    return [row for batch in batches for row in to_dicts(batch)]


def units_with_same_rows(unit: str) -> set[str]:
    """Return the units whose rows have the same key: an event may be requested as a game or as a practice."""
    operation, _, key = unit.partition("/")
    return {f"game/{key}", f"team_events/{key}"} if operation in ("game", "team_events") else {unit}


def _body(outcome: Outcome, at: datetime) -> Row:
    unit = outcome.unit
    status = WITHDRAWN if outcome.status == WITHDRAWN else "stored" if outcome.is_stored else UNDECODABLE
    return {
        # An unreadable entry of a list is stored under the name of its unit.
        "unit": f"{unit.operation}/{unit.id}",
        MONTH: unit.month,
        "status": status,
        "operation": unit.operation,
        "id": unit.id,
        "team_id": unit.team_id,
        "game_id": unit.game_id,
        "session_id": unit.session_id,
        "body_id": None if outcome.body is None or status == WITHDRAWN else outcome.body.id,
        "served_at": outcome.served_at,
        "stored_at": at,
        "body": None if status == WITHDRAWN else outcome.body,
    }


def write_undecodable(store: Store, outcomes: Sequence[Outcome], at: datetime) -> None:
    """Add undecodable bodies to `raw`."""
    store_bodies(store, outcomes, {}, at)


def entry(unit: str, sequence: int) -> str:
    """Return the id of a row of `raw`."""
    return f"{unit}#{sequence}"


def sequence_of(row: Mapping[str, Any] | None) -> int:
    return (row["sequence"] or 0) if row else 0
