"""Outcomes into the tables, so that a kill at any point leaves nothing lost and nothing twice.

A chunk is stored in four steps, each a transaction of its own table: the bodies (`raw`), the tables' rows, each body's
in the place of its earlier ones, the corrections, and last `coverage`, which says what is done. What lies in `raw` and
is not in `coverage` was torn off: it is asked for and stored again, in the same places.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive import corrections
from sideline.archive.fetch import Outcome, decoded
from sideline.archive.plan import RESOURCES, is_final
from sideline.archive.read import bodies, coverage, unit_of
from sideline.archive.store import Store, one_of, own_schemas

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]

_TABLES_AT_ONCE = 4


def torn(store: Store) -> dict[str, Row]:
    """The last body of each unit whose storing did not come to its end."""
    done = {row["unit"]: row["stored_at"] for row in coverage(store, ("unit", "stored_at"))}
    found: dict[str, Row] = {}
    for row in bodies(store, None, ("unit", "body_id", "stored_at")):
        at = done.get(row["unit"])
        later = found.get(row["unit"])
        if (at is None or row["stored_at"] > at) and (later is None or row["stored_at"] > later["stored_at"]):
            found[row["unit"]] = row
    return found


def keep(
    store: Store,
    outcomes: Sequence[Outcome],
    torn: Mapping[str, Row],
    clock: datetime,
    now: Callable[[], datetime],
) -> list[Row]:
    """Store what arrived and account for what did not; the result are the corrections that it brought."""
    mine = {outcome.unit.name: outcome for outcome in outcomes}
    written: set[str] = set()
    attempt = 0
    while True:
        seen = {row["unit"]: row for row in coverage(store, None, mine)}
        # Another writer may have asked later than we did, and stored it meanwhile.
        older = {name for name, row in seen.items() if _later(row, mine[name])}
        ours = [outcome for name, outcome in mine.items() if name not in older]
        told = _stored(store, ours, seen, torn, clock, now())
        _restore(store, [seen[name] for name in older & written])
        written |= {outcome.unit.name for outcome in ours if outcome.raw is not None}
        while True:
            table = store.opened("coverage", own_schemas()["coverage"])
            after = {row["unit"]: row for row in coverage(store, ("unit", "stored_at", "fetched_at"), mine)}
            if any(_moved(row, seen.get(name)) for name, row in after.items()):
                break
            rows = [_account(outcome, seen.get(outcome.unit.name), torn, clock, told.at) for outcome in ours]
            if not rows or store.replaced(
                table, _table(rows, "coverage"), one_of("unit", (row["unit"] for row in rows)), last=attempt > 100
            ):
                return told.corrections
            attempt += 1
            store.wait(attempt)


class _Told:
    def __init__(self, at: datetime, corrections: list[Row]) -> None:
        self.at = at
        self.corrections = corrections


def _later(row: Row, outcome: Outcome) -> bool:
    return row["body_id"] is not None and row["fetched_at"] is not None and row["fetched_at"] > outcome.fetched_at


def _moved(row: Row, seen: Row | None) -> bool:
    return seen is None or any(row[name] != seen[name] for name in ("stored_at", "fetched_at"))


def body_id(raw: bytes) -> str:
    """Names a body by what is in it."""
    return hashlib.sha256(raw).hexdigest()[:32]


def _stored(
    store: Store,
    outcomes: Sequence[Outcome],
    seen: Mapping[str, Row],
    torn: Mapping[str, Row],
    clock: datetime,
    now: datetime,
) -> _Told:
    had = {outcome.unit.name: outcome for outcome in outcomes if outcome.raw is not None}
    ids = {name: body_id(outcome.raw or b"") for name, outcome in had.items()}
    changed = {
        name: outcome
        for name, outcome in had.items()
        if name in torn or name not in seen or seen[name]["body_id"] != ids[name]
    }
    # After all that is known of these units, whatever this machine's clock says.
    last = [row["stored_at"] for row in seen.values() if row["unit"] in changed and row["stored_at"]]
    at = max([now, *(known + timedelta(microseconds=1) for known in last)])
    if not changed:
        return _Told(at, [])
    new = [
        _body(outcome, ids[name], at)
        for name, outcome in changed.items()
        if name not in torn or torn[name]["body_id"] != ids[name]
    ]
    if new:
        store.append("raw", _table(new, "raw"))
    _write(store, list(changed.values()), touched=any(name in seen or name in torn for name in changed))
    told = _corrections(store, changed, seen, clock, at)
    if told or torn.keys() & changed.keys():
        changes = {name: _change(name, seen[name]) for name in changed if name in seen}
        if changes:
            store.replace("corrections", _table(told, "corrections"), one_of("change", changes.values()))
    return _Told(at, told)


def _write(store: Store, outcomes: Sequence[Outcome], *, touched: bool) -> None:
    """Each table's rows of these bodies, in the place of their earlier ones."""
    pa = library("pyarrow", "archive")
    parts: dict[str, list[pyarrow.Table]] = {}
    ids: dict[str, list[object]] = {}
    for outcome in outcomes:
        key = RESOURCES[outcome.unit.operation].key
        for name, rows in outcome.tables.items():
            parts.setdefault(name, []).append(rows)
            ids.setdefault(name, []).append(int(outcome.unit.id) if key == "team_id" else outcome.unit.id)

    def write(name: str) -> None:
        rows = pa.concat_tables(parts[name], promote_options="default")
        if rows.num_rows or touched:
            key = next(resource.key for resource in RESOURCES.values() if name in resource.tables)
            store.replace(name, rows, one_of(key, ids[name]))

    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        list(pool.map(write, parts))


def _restore(store: Store, rows: Sequence[Row]) -> None:
    """Put back what another writer stored of bodies that came later than ours."""
    wanted = {row["unit"]: row["body_id"] for row in rows}
    found = {
        row["unit"]: Outcome(
            unit_of(row), "fetched", row["stored_at"], row["body"], tables=decoded(unit_of(row), row["body"])
        )
        for row in bodies(store, wanted)
        if row["body_id"] == wanted[row["unit"]]
    }
    if found:
        _write(store, list(found.values()), touched=True)


def _corrections(
    store: Store, changed: Mapping[str, Outcome], seen: Mapping[str, Row], clock: datetime, at: datetime
) -> list[Row]:
    """What is not what it was when its game was already over."""
    before = {name: seen[name] for name in changed if name in seen and seen[name]["final"] and seen[name]["body_id"]}
    told: list[Row] = []
    done: set[str] = set()
    for row in bodies(store, before) if before else ():
        name = row["unit"]
        if row["body_id"] != before[name]["body_id"] or name in done or not is_final(changed[name].unit, clock):
            continue
        done.add(name)
        old = decoded(unit_of(row), row["body"])
        for table, rows in changed[name].tables.items():
            if table in corrections.KEYS:
                told += [
                    {**one, "game_id": one["game_id"] or changed[name].unit.game_id, "unit": name}
                    for one in corrections.corrections(table, old[table].to_pylist(), rows.to_pylist())
                ]
    return [
        {**one, "seen_at": at, "change": _change(one.pop("unit"), before[name])}
        for one in corrections.once(told)
        for name in [one["unit"]]
    ]


def _change(name: str, before: Row) -> str:
    """Names the step from one body of a unit to the next, so that telling it again replaces it."""
    at = before["stored_at"]
    return f"{name}@{at.isoformat() if at else ''}"


def _body(outcome: Outcome, body: str, at: datetime) -> Row:
    unit = outcome.unit
    return {
        "unit": unit.name,
        "operation": unit.operation,
        "id": unit.id,
        "team_id": unit.team_id,
        "game_id": unit.game_id,
        "session_id": unit.session_id,
        "body_id": body,
        "stored_at": at,
        "body": outcome.raw,
    }


def _account(outcome: Outcome, seen: Row | None, torn: Mapping[str, Row], clock: datetime, at: datetime) -> Row:
    if outcome.raw is None and seen is not None and seen["body_id"] is not None:
        # What is had stays had, and is asked for again.
        return {**seen, "final": False}
    row = told(outcome)
    # A body `null` says nothing, and not that there is nothing.
    says = outcome.raw is not None and outcome.raw.strip() != b"null"
    row["final"] = says and is_final(outcome.unit, clock)
    row["over_at"] = outcome.unit.over_at
    if outcome.raw is not None:
        body, name = body_id(outcome.raw), outcome.unit.name
        same = seen is not None and seen["body_id"] == body and name not in torn
        again = name in torn and torn[name]["body_id"] == body
        row["body_id"] = body
        row["stored_at"] = seen["stored_at"] if seen and same else torn[name]["stored_at"] if again else at
    return row


def told(outcome: Outcome) -> Row:
    """An outcome as a row of `coverage`."""
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
    }


def _table(rows: Sequence[Row], name: str) -> "pyarrow.Table":
    return library("pyarrow", "archive").Table.from_pylist(list(rows), own_schemas()[name])
