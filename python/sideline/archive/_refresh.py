"""Brings an archive up to date for one query, and reads it then: a scan that requests what the archive lacks."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from math import inf
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from .._core import _epoch_ms
from .._rows import stack_level, terms
from . import _plan, _read
from ._account import Scope, holes
from ._ledger import READ, mark_listed
from ._libraries import pl
from ._listing import moment
from ._schemas import public_schema
from ._store import Store, now

if TYPE_CHECKING:
    from .._client import Time

_MARGIN = timedelta(days=1)
"""How far from a row's time the start of its game may lie."""

_FIRST, _LAST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 12, 31, tzinfo=UTC)
"""The first and last times of requested ranges."""

_COLUMNS = ("session_id", "game_id", "event_id", "starts_at", "status")
"""Columns of `coverage` that are read."""

_KEYS = ("session_id", "game_id")

_OF_A_GAME = {*_plan.SESSION_OPERATIONS, *_plan.GAME_OPERATIONS, "game", "team_events"}
"""What a sync of games by their ids requests; it reads neither the schedule nor rosters."""

_UPCOMING = {"schedule", "game", "team_events"}
"""Operations that list upcoming games and events. A range of the others without an end ends now."""

_AHEAD = timedelta(days=366)
"""How far ahead upcoming games and events are read in a range without an end."""

_MARK = f"{READ}/"
"""Prefix of the name of a mark, before its operation, range and key."""

_ALL = ""
"""The key of everything. That of a game or session is its id, after an equals sign."""

_TURNS_OF_THREADS: dict[str, Lock] = {}


class Refresh(NamedTuple):
    """What a scan may trust, and the range that it brings up to date."""

    max_age: timedelta
    start: "Time | None"
    end: "Time | None"


class Need(NamedTuple):
    """What one query needs of the service: games by their ids, or a range, or of a range only what has these ids."""

    tables: list[str]
    game_ids: list[str] | None
    start: "Time | None"
    end: "Time | None"
    only: frozenset[str] | None
    fresh_after: datetime


class _Due(NamedTuple):
    """What a query needs that must be read first, and when the query began."""

    keys: list[str]
    is_all: bool
    rows: list[dict[str, Any]]
    """Rows of `coverage`; none if a range suffices."""
    start: Any
    end: Any
    fresh_after: datetime
    at: datetime


def scan(store: Store, name: str, refresh: Refresh, sync: Callable[[Need], None]) -> "pl.LazyFrame":
    """Return a table lazily. `sync` is called at each collection whose rows may be missing or older than allowed."""
    if not refreshable([_read.check_name(name)]):
        raise ValueError(f"{name} cannot be refreshed: it is the archive's own; scan it without refresh=")
    public = pl.DataFrame(public_schema(name).empty_table()).schema
    from polars.io.plugins import register_io_source

    types = _read.scan(store, name).collect_schema() if store.has(name) else public

    def rows(
        columns: list[str] | None, predicate: "pl.Expr | None", limit: int | None, _: int | None
    ) -> "Iterator[pl.DataFrame]":
        bring_up_to_date(store, [name], predicate, refresh, sync)
        frame = _read.scan(store, name)
        if new := [column for column in frame.collect_schema() if column not in types]:
            warnings.warn(f"{name} has more columns now: scan it again for {', '.join(new)}", stacklevel=stack_level())
        frame = frame.select(_read.by_name(types))
        if limit is not None:
            # A limit with a predicate counts the rows before it.
            frame = frame.head(limit)
        if predicate is not None:
            frame = frame.filter(predicate)
        yield frame.select(_read.by_name(columns or types)).collect(engine="streaming")

    return register_io_source(rows, schema=types, is_pure=False)


def refreshable(names: Collection[str]) -> list[str]:
    """Return the tables that a sync can bring up to date: all but the archive's own."""
    return [name for name in (*_plan.TABLES, *_plan.ANSWERS) if name in names]


@contextmanager
def turn(store: Store) -> Iterator[None]:
    """Wait for the refreshes of this archive in other threads, and in a folder also in other processes.

    What they fetched is fresh then, and is not requested again. Machines that share a bucket share by leases.
    """
    with _TURNS_OF_THREADS.setdefault(store.root, Lock()):
        if not store.is_local:
            yield
            return
        folder = Path(store.root)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "_refresh.lock").open("a+b") as file:
            lock_file(file)
            yield


def lock_file(file: BinaryIO) -> None:
    """Wait until no other process holds the file; the lock ends with the file or the process."""
    try:
        import fcntl
    except ImportError:  # Windows, whose call gives up after ten seconds
        import msvcrt

        while True:
            with suppress(OSError):
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined] # Windows alone has it
                return
    fcntl.flock(file, fcntl.LOCK_EX)


def bring_up_to_date(
    store: Store, names: Sequence[str], predicate: "pl.Expr | None", refresh: Refresh, sync: Callable[[Need], None]
) -> None:
    """Sync what rows of the tables may match the predicate, unless all of it was read recently enough."""
    operations = sorted(_plan.operations(names))
    # What needs no sync needs no lock either: a folder may be one that only others can write.
    if _due(store, operations, predicate, refresh) is None:
        return
    with turn(store):
        due = _due(store, operations, predicate, refresh)
        if due is not None:
            _read_due(store, names, operations, due, sync)


def _due(store: Store, operations: Collection[str], predicate: "pl.Expr | None", refresh: Refresh) -> _Due | None:
    """Return what a query needs that was not read recently enough, or has a hole; `None` if it needs no sync."""
    at = now()
    fresh_after = at - refresh.max_age
    marks = Marks(store, fresh_after, at)
    start, end = refresh.start, refresh.end
    if start is None and predicate is not None:
        start, end = dates(predicate)
        if start is not None and end is None and _UPCOMING.isdisjoint(operations):
            # Nothing has rows after now, where the range ends.
            start = min(start, at - _MARGIN)
    ids = None if predicate is None else ids_of(predicate)
    rows = [] if ids is None and start is not None else _read.coverage(store, _COLUMNS)
    if start is None:
        start = min((row["starts_at"] for row in rows if row["starts_at"] is not None), default=None)
        if start is not None:
            # Before the first game too the range without an end is not empty.
            start = min(start, at - _MARGIN)
    keys = [_ALL] if ids is None else [f"={key}" for key in ids]
    if not holes(store, _scope(operations, rows, ids, start, end)):
        keys = [key for key in keys if not marks.covers(operations, key, start, end)]
    return _Due(keys, ids is None, rows, start, end, fresh_after, at) if keys else None


def _read_due(
    store: Store, names: Sequence[str], operations: Collection[str], due: _Due, sync: Callable[[Need], None]
) -> None:
    start, end = due.start, due.end
    read_at = min([due.at, *_fetch_times(store, operations, due.fresh_after, due.at)])
    ids = None if due.is_all else frozenset(key.removeprefix("=") for key in due.keys)
    games = _games(due.rows, ids) if ids is not None and _OF_A_GAME.issuperset(operations) else None
    if ids is not None and games is not None:
        sync(Need([*names], games, None, None, None, due.fresh_after))
        # A session that is no longer in its game may be in another.
        games = _games(_read.coverage(store, _COLUMNS), ids)
    if games is not None:
        # A game that is read by its id is read whatever its time.
        start = end = None
    else:
        until = end
        if end is None and not _UPCOMING.isdisjoint(operations) and start is not None:
            until = max(due.at, moment(_epoch_ms("start", start))) + _AHEAD
        sync(Need([*names], None, _required(start), until, ids, due.fresh_after))
    begins, ends = _bounds(start, end)
    marks = (f"{_MARK}{operation} {begins} {ends} {key}" for operation in operations for key in due.keys)
    mark_listed(store, dict.fromkeys(marks, read_at))


def _fetch_times(store: Store, operations: Collection[str], fresh_after: datetime, latest: datetime) -> list[datetime]:
    """Return when the bodies that a sync trusts were fetched: its rows are as old as the oldest of them."""
    rows = _read.coverage(store, ("operation", "fetched_at"))
    requested_operations = {*_plan.SESSION_OPERATIONS, *_plan.GAME_OPERATIONS}.intersection(operations)
    times = (row["fetched_at"] for row in rows if row["operation"] in requested_operations)
    return [at for at in times if at is not None and fresh_after <= at <= latest]


def _scope(
    operations: Collection[str], rows: list[dict[str, Any]], ids: Collection[str] | None, start: Any, end: Any
) -> Scope:
    """Return the scope in which a hole voids the marks: another sync may have found one since."""
    requested_operations = _plan.with_events(frozenset(operations))
    if ids is not None:
        events = {row["event_id"] for row in rows if row["session_id"] in ids}
        return Scope(game_ids={*ids, *events} - {None}, operations=requested_operations)
    first, last = (None if at is None else moment(_epoch_ms("start", at)) for at in (start, end))
    return Scope(start=first, end=last, operations=requested_operations)


def _required(start: Any) -> Any:
    if start is None:
        raise ValueError("the archive is empty: give the range to read, start= and end=")
    return start


def _games(rows: list[dict[str, Any]], ids: Collection[str]) -> list[str] | None:
    """Return the games of ids of games and sessions; `None` if the archive has not all of them now."""
    stored_rows = [row for row in rows if row["status"] != "withdrawn"]
    games = {
        row[key]: row["game_id"] for key in ("game_id", "session_id") for row in stored_rows if row[key] is not None
    }
    known_games = {games.get(key) for key in ids}
    return None if None in known_games else sorted(game for game in known_games if game is not None)


class Marks:
    """What was read completely, and not too long ago: of a range everything, or one game or session, by operation."""

    def __init__(self, store: Store, fresh_after: datetime, at: datetime) -> None:
        self._ranges: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for name, read_at in _read.last_listed(store).items():
            # A later time comes from a clock that was ahead.
            if name.startswith(_MARK) and fresh_after <= read_at <= at:
                operation, begins, ends, key = name.removeprefix(_MARK).split(" ", 3)
                self._ranges[operation, key].append((float(begins), float(ends)))

    def covers(self, operations: Collection[str], key: str, start: Any, end: Any) -> bool:
        """Return whether all rows of a key in a range were read. Without an end it ended when it was read."""
        first, last = _bounds(start, end)
        return all(
            any(
                begins <= first and last <= ends
                for scope in (_ALL, key)
                for begins, ends in self._ranges[operation, scope]
            )
            for operation in operations
        )


def _bounds(start: Any, end: Any) -> tuple[float, float]:
    return -inf if start is None else _epoch_ms("start", start), inf if end is None else _epoch_ms("end", end)


def ids_of(predicate: "pl.Expr") -> set[str] | None:
    """Return the ids of games or sessions of which alone rows can match; `None` if the predicate names none."""
    for term in terms(predicate):
        names = set(term.meta.root_names())
        if len(names) == 1 and names <= set(_KEYS) and (ids := _ids(term)) is not None:
            return ids
    return None


def _ids(term: "pl.Expr") -> set[str] | None:
    inputs = term.meta.pop()
    if len(inputs) != 2:
        return None
    for column, value in (inputs, inputs[::-1]):
        if column.meta.is_column() and not value.meta.root_names():
            is_equal = any((a == b).meta.eq(term) for a, b in ((column, value), (value, column)))
            if is_equal or column.is_in(value).meta.eq(term):
                values = pl.select(value).to_series()
                values = values.explode() if values.dtype.is_nested() else values
                keys = values.to_list()
                return set(keys) if keys and all(isinstance(key, str) for key in keys) else None
    left, right = (_ids(term) for term in inputs)
    is_or = (inputs[0] | inputs[1]).meta.eq(term) or (inputs[1] | inputs[0]).meta.eq(term)
    return left | right if is_or and left is not None and right is not None else None


def dates(predicate: "pl.Expr") -> tuple[datetime | None, datetime | None]:
    """Return the range of a predicate's comparisons of times with a value, a day wider, or nothing.

    The range can be requested, also where no time can match.
    """
    first, last = _times(predicate)
    if first is None:
        return None, None
    start = min(max(first, _FIRST + _MARGIN), _LAST) - _MARGIN
    return start, None if last is None or last >= _LAST else max(last, start) + _MARGIN


def _times(predicate: "pl.Expr") -> tuple[datetime | None, datetime | None]:
    """Return the range in which all times are that match; `None` for an end that is open."""
    inputs = predicate.meta.pop()

    def is_one_of(*forms: "pl.Expr") -> bool:
        return any(form.meta.eq(predicate) for form in forms)

    for column, value in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
        is_and = is_one_of(column & value)
        if is_and or is_one_of(column | value):
            (*firsts,), (*lasts,) = zip(_times(column), _times(value), strict=True)
            known_firsts, known_lasts = ([at for at in times if at is not None] for times in (firsts, lasts))
            if is_and:
                return max(known_firsts, default=None), min(known_lasts, default=None)
            return (min(known_firsts) if known_firsts == firsts else None), (
                max(known_lasts) if known_lasts == lasts else None
            )
        at = _time(column, value)
        if at is not None:
            is_equal = is_one_of(column == value, value == column)
            starts = is_equal or is_one_of(column >= value, column > value, value <= column, value < column)
            ends = is_equal or is_one_of(column <= value, column < value, value >= column, value > column)
            return (at if starts else None), (at if ends else None)
    for column, low, high in (inputs, inputs[::-1]) if len(inputs) == 3 else ():
        if is_one_of(*(column.is_between(low, high, closed=closed) for closed in ("both", "left", "right", "none"))):
            return _time(column, low), _time(column, high)
    return None, None


def _time(column: "pl.Expr", value: "pl.Expr") -> datetime | None:
    """Return the time with which a column, or its date, is compared; `None` for any other comparison."""
    names = column.meta.root_names()
    if len(names) != 1 or value.meta.root_names():
        return None
    if not column.meta.is_column() and not pl.col(names[0]).dt.date().meta.eq(column):
        return None
    literal = pl.select(value).to_series()
    at = literal[0] if literal.len() == 1 else None
    if isinstance(at, datetime):
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return datetime(at.year, at.month, at.day, tzinfo=UTC) if isinstance(at, date) else None
