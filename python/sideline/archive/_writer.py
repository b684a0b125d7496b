"""Writes outcomes into the tables, so that a kill at any point loses and duplicates nothing.

A chunk is written in five steps, each a transaction of its own table: `coverage` for new units, as failed; the bodies
(`raw`); the tables' rows, which replace those of earlier bodies; the corrections; and last `coverage` with the
outcomes. A body in `raw` that `coverage` does not account for was interrupted: it is requested and stored again in the
same place, or withdrawn if no list has it any more.

The bodies of a unit are numbered by `sequence`. If another writer stored the unit after this sync read it, the
service's `Date` decides whose body is newer; if that is impossible, the stored body stays and the unit is requested
again.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .._core import __version__
from . import _arrow, _commits, _corrections
from ._body import Body
from ._decode import decode_tables
from ._fetch import Outcome
from ._libraries import pa
from ._life import COMPLETE, RESERVED_SEQUENCE, Observation, State, after, state_of
from ._plan import RESOURCES, TABLES, UNDATED_OPERATIONS, is_final, partition
from ._raw import WITHDRAWN
from ._read import bodies, coverage_of, to_dicts, unit_of_body
from ._schemas import LINEAGE, MONTH, internal_schemas
from ._store import Store, is_in
from ._stored_bodies import entry, places_of, sequence_of, store_bodies, units_with_same_rows
from ._table_rows import write_rows

if TYPE_CHECKING:
    from deltalake import DeltaTable

Row = dict[str, Any]

_BODY_COLUMNS = ("body_id", "sequence", "stored_at", "served_at", "rows", *LINEAGE)
"""Columns of `coverage` about the stored body."""


@dataclass(frozen=True)
class Context:
    """What a sync knew before it sent requests; its outcomes are judged by it."""

    sync: str
    """The id of the sync: an absence counts once in each sync."""
    clock: datetime
    """The time by which the sync plans."""
    existing_rows: Mapping[str, Mapping[str, Any]]
    """Rows of `coverage` before the requests."""


@dataclass
class _WriteResult:
    """What one attempt to write has stored."""

    at: datetime
    places: dict[str, tuple[int, datetime]]
    """For each stored unit, the sequence of its body and when it was stored."""
    corrections: list[Row] = field(default_factory=list)


def write_outcomes(
    store: Store, outcomes: Sequence[Outcome], context: Context, now: Callable[[], datetime]
) -> list[Row]:
    """Store and account for outcomes; return the corrections."""
    own_outcomes = {outcome.unit.name: outcome for outcome in outcomes}
    _reject_case_conflicts(store, outcomes)
    written: set[str] = set()
    attempt = 0
    is_contended = not store.can_add_files
    while True:
        table = store.open_or_create("coverage", internal_schemas()["coverage"])
        seen = {row["unit"]: row for row in _rows_of_units(store, table, own_outcomes, context)}
        months = {row[MONTH] for row in seen.values()}
        for outcome in outcomes:
            _resolve_absence(outcome, seen.get(outcome.unit.name), context)
        rows_of_reserved: dict[str, Row] = {}
        reservation = _reservation([own_outcomes[name] for name in own_outcomes.keys() - seen.keys()], context)
        # Opened before the units are reserved: rows of theirs that another writer adds are a later version.
        names = {name for outcome in outcomes for name in outcome.tables} if reservation is not None else ()
        tables_before = {name: store.reopen(name) for name in names}
        if reservation is not None:
            rows_of_reserved = {row["unit"]: row for row in to_dicts(reservation)}
            if not _reserve(store, table, reservation, rows_of_reserved, is_contended=is_contended):
                is_contended = True
                continue
            seen |= rows_of_reserved
            months |= {row[MONTH] for row in rows_of_reserved.values()}
        outdated_units = {
            name for name, row in seen.items() if _is_outdated(own_outcomes[name], row, context.existing_rows.get(name))
        }
        current_outcomes = [outcome for name, outcome in own_outcomes.items() if name not in outdated_units]
        result = _write_units(
            store, current_outcomes, seen, context, now(), rows_of_reserved.keys(), tables_before, written
        )
        restored_units = outdated_units & written
        _restore_newer(store, [seen[name] for name in restored_units])
        written |= {outcome.unit.name for outcome in current_outcomes if outcome.is_stored}
        # As long as nobody else changes these rows, the table is still as it was seen.
        is_as_seen = not outdated_units
        while True:
            if not is_as_seen:
                table = store.open_or_create("coverage", internal_schemas()["coverage"])
                after = {row["unit"]: row for row in _rows_of_units(store, table, own_outcomes, context)}
                months = {row[MONTH] for row in after.values()}
                if any(version(row) != version(seen.get(name)) for name, row in after.items()):
                    break
            rows = [
                _coverage_after(outcome, seen.get(outcome.unit.name), result, context) for outcome in current_outcomes
            ]
            # Which body is newer is unknown: the next sync requests the unit again.
            ties = {name for name in outdated_units if _is_tie(own_outcomes[name], seen[name])}
            rows += [
                {
                    **seen[name],
                    "final": seen[name]["final"] and name not in ties,
                    # The rows may have replaced those of a third writer, which sees by this that it must write again.
                    "restored_in": uuid.uuid4().hex if name in restored_units else seen[name].get("restored_in"),
                }
                for name in sorted(ties | restored_units)
            ]
            if not rows or _replace_coverage(store, table, rows, months, is_contended=is_contended):
                store.keep(table)
                return result.corrections
            if attempt >= store.settings.max_write_attempts:
                raise store.error_of_contention("coverage")
            is_contended = True
            is_as_seen = False
            attempt += 1
            store.wait(attempt)


def _rows_of_units(store: Store, table: "DeltaTable", outcomes: Mapping[str, Outcome], context: Context) -> list[Row]:
    """Return the rows of units in an opened table `coverage`.

    Only their own months are read, those of now and of before. A new unit may be one of another game in any month, and
    another writer may have moved a known one.
    """
    months = {partition(outcome.unit) for outcome in outcomes.values()}
    months |= {context.existing_rows[name][MONTH] for name in outcomes.keys() & context.existing_rows.keys()}
    dated_units = {name for name, outcome in outcomes.items() if outcome.unit.operation not in UNDATED_OPERATIONS}
    if not dated_units <= context.existing_rows.keys():
        return coverage_of(store, table, outcomes)
    rows = coverage_of(store, table, outcomes, months=months)
    moved_units = dated_units - {row["unit"] for row in rows}
    return rows + (coverage_of(store, table, moved_units) if moved_units else [])


def _reserve(
    store: Store, table: "DeltaTable", rows: "pa.Table", units: Collection[str], *, is_contended: bool
) -> bool:
    """Add the rows of reserved units; return whether nobody else changed the table `coverage` meanwhile."""
    before = table.version()
    # Of a contended table, other writers may change other rows meanwhile.
    if is_contended:
        is_done = store.try_replace(table, rows, is_in("unit", units))
    else:
        is_done = _commits.try_commit(store, table, _commits.add_files(store, table, _commits.by_month(rows)))
        table.update_incremental()
    # Between the two versions another writer may have changed other units.
    return is_done and table.version() == before + 1


def _replace_coverage(
    store: Store,
    table: "DeltaTable",
    rows: Sequence[Row],
    months: Collection[str],
    *,
    is_contended: bool,
) -> bool:
    """`months`: those in which the table has rows of the units."""
    units, new = {row["unit"] for row in rows}, rows_to_arrow(rows, "coverage")
    if is_contended:
        return store.try_replace(table, new, is_in("unit", units))
    return _commits.replace_units(store, table, new, units, months)


def _reservation(outcomes: Sequence[Outcome], context: Context) -> "pa.Table | None":
    """Return the rows of `coverage` that reserve new units, so that a kill leaves no unaccounted rows."""
    rows: list[Row] = []
    for outcome in outcomes:
        if outcome.is_stored:
            row = _coverage_after(outcome, None, _WriteResult(context.clock, {}), context)
            row |= {"status": "failed", "error": "storing was interrupted", "rows": 0, "final": False}
            rows.append({**row, "sequence": RESERVED_SEQUENCE})
    return rows_to_arrow(rows, "coverage") if rows else None


def _is_withdrawn(row: Row | None) -> bool:
    """Return whether the unit's last entry in `raw` is a withdrawal; a later request may have failed."""
    return row is not None and bool(row["sequence"]) and row["body_id"] is None


def version(row: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """Return a value that changes whenever a writer accounts for the unit."""
    names = ("sequence", "status", "served_at", "fetched_at", "attempts", "restored_in")
    return tuple(row and row.get(name) for name in names)


def _resolve_absence(outcome: Outcome, seen: Row | None, context: Context) -> None:
    """Decide what a 404 means for what is stored. Within one sync an absence counts once."""
    if not outcome.is_absence:
        return
    state = state_of(seen)
    if seen is not None and seen["sequence"] is None:
        # Nothing was ever stored of it.
        state = State.EXPECTED
    if state is State.MISSING_STORED and seen is not None and seen["absent_in"] == context.sync:
        return
    was_linked = outcome.unit.is_linked or (seen is not None and bool(seen["linked"]))
    outcome.status = after(state, Observation.NOT_FOUND_LINKED if was_linked else Observation.NOT_FOUND).status


def _is_outdated(outcome: Outcome, row: Row, existing: Mapping[str, Any] | None) -> bool:
    """Return whether another writer stored a body that is newer or as new since this sync read the archive."""
    if row["body_id"] is None or version(row) == version(existing):
        return False
    if not outcome.is_stored:
        return row["status"] in COMPLETE
    if outcome.body is not None and row["body_id"] == outcome.body.id:
        return False
    return _is_tie(outcome, row) or bool(outcome.served_at and row["served_at"] > outcome.served_at)


def _is_tie(outcome: Outcome, row: Row) -> bool:
    return outcome.is_stored and (
        outcome.served_at is None or row["served_at"] is None or row["served_at"] == outcome.served_at
    )


def _reject_case_conflicts(store: Store, outcomes: Sequence[Outcome]) -> None:
    """Fail bodies with a stat code that differs from a column only in case, which cannot be a column."""
    with_stat_codes = [outcome for outcome in outcomes if outcome.extra_columns and outcome.is_stored]
    table = store.reopen("box_score") if with_stat_codes else None
    store.keep(table)
    names = {} if table is None else {field.name.lower(): field.name for field in table.schema().fields}
    for outcome in with_stat_codes:
        conflict = next((name for name in outcome.extra_columns if names.get(name.lower(), name) != name), None)
        if conflict is None:
            names |= {name.lower(): name for name in outcome.extra_columns}
        else:
            outcome.status, outcome.rows = "failed", 0
            outcome.error = (
                f"ValueError: the stat code {conflict!r} has the name of the column {names[conflict.lower()]!r}"
            )


def _write_units(
    store: Store,
    outcomes: Sequence[Outcome],
    seen: Mapping[str, Row],
    context: Context,
    at: datetime,
    new_units: Collection[str],
    tables_before: "Mapping[str, DeltaTable | None]",
    written: Collection[str],
) -> _WriteResult:
    """Store bodies and their rows. No rows are stored of `new_units`, which were reserved after `tables_before` were
    opened. The rows of `written` units are ours or were restored, and those of the stored body are written again."""
    places, interrupted_before, months = store_bodies(store, outcomes, seen, at)
    changed_outcomes = {
        outcome.unit.name: outcome
        for outcome in outcomes
        if outcome.unit.name in places
        and (
            places[outcome.unit.name][0] != sequence_of(seen.get(outcome.unit.name))
            or outcome.unit.name in interrupted_before
            or outcome.unit.name in written
        )
    }
    result = _WriteResult(at, places)
    if not changed_outcomes:
        return result
    has_rows = not changed_outcomes.keys() <= {*new_units} or not changed_outcomes.keys().isdisjoint(
        {*interrupted_before, *written}
    )
    of_units = [(outcome, outcome.unit.month) for outcome in changed_outcomes.values()]
    write_rows(store, of_units, months, has_rows=has_rows, tables_before=tables_before)
    result.corrections = _find_corrections(store, changed_outcomes, seen, context.clock, at)
    changes = {name: _change_id(name, seen[name]) for name in changed_outcomes if name in seen}
    if changes and (result.corrections or interrupted_before & changes.keys()):
        store.replace(
            "corrections",
            lambda: rows_to_arrow(result.corrections, "corrections"),
            is_in("change", changes.values()),
        )
    return result


def _restore_newer(store: Store, rows: Sequence[Row]) -> None:
    """Restore the rows of bodies of another writer that are newer than ours."""
    if not rows:
        return
    newer = []
    months: dict[str, set[str]] = {row["unit"]: set() for row in rows}
    names = {name for unit in months for name in units_with_same_rows(unit)}
    for row in bodies(store, names, columns=("unit", MONTH)):
        for same in months.keys() & units_with_same_rows(row["unit"]):
            months[same].add(row[MONTH])
    for row in bodies(store, entries=[entry(row["unit"], row["sequence"]) for row in rows]):
        body = Body.of(row["body"] or b"")
        status = "fetched" if body else WITHDRAWN
        newer.append((Outcome(unit_of_body(row), status, row["stored_at"], body=body), row[MONTH]))
    if newer:
        write_rows(store, newer, months, has_rows=True)


def _find_corrections(
    store: Store, changed_outcomes: Mapping[str, Outcome], seen: Mapping[str, Row], clock: datetime, at: datetime
) -> list[Row]:
    """Return changes of values whose game was over; changes of the schedule and withdrawals always count."""
    corrections: list[Row] = []
    before: dict[str, Row] = {}
    for name, outcome in changed_outcomes.items():
        row = seen.get(name)
        if row is None:
            continue
        was_withdrawn, is_withdrawn = _is_withdrawn(row), outcome.status == WITHDRAWN
        if was_withdrawn != is_withdrawn and (was_withdrawn or row["body_id"]):
            corrections += _status_corrections(outcome, "withdrawn" if was_withdrawn else "fetched")
        elif row["body_id"] and (
            outcome.unit.operation == "schedule" or (row["final"] and is_final(outcome.unit, clock))
        ):
            before[entry(name, row["sequence"])] = row
    raw = store.reopen("raw") if before else None
    places = [] if raw is None else places_of(store, raw, {row["unit"] for row in before.values()})
    store.keep(raw)
    months = {row[MONTH] for row in places if entry(row["unit"], row["sequence"]) in before}
    for row in bodies(store, entries=before, months=months):
        name = row["unit"]
        old = decode_tables(unit_of_body(row), row["body"])
        for table, rows in changed_outcomes[name].decode().items():
            if table in _corrections.KEYS:
                corrections += [
                    {
                        **correction,
                        "game_id": correction["game_id"] or changed_outcomes[name].unit.game_id,
                        "unit": name,
                    }
                    for correction in _corrections.corrections(table, old[table].to_pylist(), rows.to_pylist())
                ]
    return [
        {**correction, "seen_at": at, "change": _change_id(name, seen[name])}
        for correction in _corrections.without_consequences(corrections)
        for name in [correction.pop("unit")]
    ]


def _status_corrections(outcome: Outcome, old_status: str) -> list[Row]:
    """Return one correction of the status for each table of a unit that was withdrawn or is listed again."""
    unit = outcome.unit
    ids = {"team_id": unit.team_id, "game_id": unit.game_id, "session_id": unit.session_id, "player_id": None}
    if unit.operation == "teams":
        ids["team_id"] = int(unit.id)
    new_status = "fetched" if old_status == WITHDRAWN else WITHDRAWN
    values = {
        "field": "status",
        "old": f'"{old_status}"',
        "new": f'"{new_status}"',
        "old_version": None,
        "new_version": None,
    }
    key = f'{{"{RESOURCES[unit.operation].key}": "{unit.id}"}}'
    return [
        {"table": table, **ids, "key": key, **values, "unit": unit.name} for table in outcome.tables if table in TABLES
    ]


def _change_id(name: str, before: Row) -> str:
    """Return the id of the change from one body to the next, so that recording it again replaces it."""
    return entry(name, sequence_of(before))


def _coverage_after(outcome: Outcome, seen: Row | None, result: _WriteResult, context: Context) -> Row:
    unit = outcome.unit
    row = coverage_row(outcome)
    row |= {
        "listed_at": outcome.listed_at or (seen and seen["listed_at"]),
        "over_at": unit.over_at,
        "teams": list(unit.teams),
        "linked": unit.is_linked or (seen is not None and bool(seen["linked"])),
        "final": is_final(unit, context.clock) and (outcome.is_stored or outcome.status == "unavailable"),
        "absent_in": None,
        "url": outcome.url,
        "sideline_version": __version__,
        # The time that decides whether later changes are corrections.
        "planned_at": context.clock if outcome.is_stored else seen and seen.get("planned_at"),
    }
    if unit.name in result.places:
        row["sequence"], row["stored_at"] = result.places[unit.name]
        row["body_id"] = None if outcome.body is None or outcome.status == WITHDRAWN else outcome.body.id
    elif seen is not None and seen["sequence"] is not None:
        # Stored rows stay.
        row |= {name: seen[name] for name in _BODY_COLUMNS}
    if outcome.status in ("missing", WITHDRAWN):
        row["absent_in"] = (seen and seen["absent_in"]) or context.sync
    return row


def coverage_row(outcome: Outcome) -> Row:
    """Return an outcome as a row of `coverage`."""
    unit = outcome.unit
    return {
        "operation": unit.operation,
        "team_id": unit.team_id,
        "game_id": unit.game_id,
        "session_id": unit.session_id,
        "start": unit.start,
        "end": unit.end,
        "status": outcome.status,
        "rows": outcome.rows,
        "request_id": outcome.request_id,
        "error": outcome.error,
        "attempts": outcome.attempts,
        "fetched_at": outcome.fetched_at,
        "unit": unit.name,
        "served_at": outcome.served_at,
        "listed_at": outcome.listed_at,
        MONTH: partition(unit),
        "event_id": unit.event_id,
        "starts_at": unit.starts_at,
    }


def rows_to_arrow(rows: Sequence[Mapping[str, Any]], name: str) -> "pa.Table":
    """Return rows of one of the archive's own tables."""
    return _arrow.table(rows, internal_schemas()[name])
