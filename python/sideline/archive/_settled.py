"""Finds the entries of lists that need no work: those that are stored unchanged, with every unit of theirs settled.

A season has thousands of them. They are compared as Arrow arrays, one month at a time, so that no Python object grows
with the season. Every other entry goes through `_plan`, which decides the same for it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arrow, _plan
from ._body import body_id
from ._libraries import pa, pc
from ._life import COMPLETE
from ._listing import Event, Game, Origin, Session, element, events as listed_in
from ._memory import trim
from ._plan import GAME_OPERATIONS, LIST_OPERATIONS, NO_MONTH, SESSION_OPERATIONS
from ._raw import interrupted_units
from ._read import bodies, check_missing, coverage_of, require, to_views
from ._schemas import MONTH, internal_schemas
from ._store import Store
from ._stored_bodies import entry

if TYPE_CHECKING:
    from deltalake import DeltaTable

_DAY = timedelta(days=1)
"""How far a unit's month may be from a range that its event touches."""

_FILES_BETWEEN_TRIMS = 4
"""Files that are read before freed memory is returned, which takes some milliseconds."""

_COLUMNS = (
    *("operation", "unit", "status", "body_id", "sequence", "team_id", "event_id"),
    *("starts_at", "over_at", "planned_at", "linked", "final", "start", "end"),
)


class _Units(NamedTuple):
    """The units of events of a month."""

    units: "pa.Array"
    """Names of the settled ones; of locations with the times of their session."""
    is_unavailable: "pa.Array"
    """Whether each must not have a link: one that has is requested again."""
    events: "pa.Array"
    """Ids of events with units, settled or not."""
    counts: "pa.Array"
    """Number of units of each event."""


class Settled:
    """The settled entries of one sync, and those of them that its lists have."""

    def __init__(
        self,
        store: Store,
        table: "DeltaTable",
        operations: Collection[str],
        window: timedelta,
        holes: Collection[str],
        find_interrupted: "Callable[[str, pa.Table], Collection[str]]",
    ) -> None:
        """`table`: the opened `coverage`. `holes`: ids of unreadable entries, which are read again.

        `find_interrupted` returns the units of a month, which has these rows, whose storing was interrupted.
        """
        self._store = store
        self._table = table
        self._find_interrupted = find_interrupted
        self._operations = operations
        self._window_us = window // timedelta(microseconds=1)
        self._holes = holes
        self._session_operations = [name for name in SESSION_OPERATIONS if name in operations]
        self._game_operations = [name for name in GAME_OPERATIONS if name in operations]
        self._entries: dict[str, pa.Table] = {}
        """Settled entries of lists of each month, with their unit, body, team and end."""
        self._units: dict[str, _Units] = {}
        self.event_ids: list[pa.Array] = []
        """Ids of listed events that are settled."""
        self.units: list[pa.Array] = []
        """Names of the units of listed entries that are settled."""
        self.listings: list[tuple[pa.Array, datetime]] = []
        """Ids of events and names of games in the schedule, and when a list had them."""

    def forget_units(self) -> None:
        """Drop the units of each month, once the lists of events are read."""
        self._units.clear()
        trim()

    def forget_entries(self) -> None:
        """Drop what else was read of each month, once the schedule is read."""
        self._entries.clear()
        trim()

    def drop_settled(self, events: Sequence[Event], unsettled_events: Collection[str], clock: datetime) -> list[Event]:
        """Return those of a part of a list of events that are not settled. Of several versions none is dropped."""
        counts = Counter(event.id for event in events)
        single = [event for event in events if counts[event.id] == 1 and event.id not in unsettled_events]
        settled_ids: set[str] = set()
        for month, group in _by_month((_plan.of_event(event).month, event) for event in single).items():
            self._read(month, clock)
            settled_ids |= self._settled_events(self._entries[month], self._units[month], group)
        self._add([event for event in events if event.id in settled_ids])
        return [event for event in events if event.id not in settled_ids]

    def versions(self, unsettled_events: Collection[str]) -> Iterator[Event]:
        """Yield the stored version of each unsettled event that another list has in settled form."""
        ids = self.listed_events(unsettled_events)
        names = [f"{operation}/{key}" for key in ids for operation in ("game", "team_events")]
        rows = coverage_of(self._store, self._table, names) if names else []
        by_entry = {entry(row["unit"], row["sequence"]): row for row in rows if row["status"] in COMPLETE}
        months = {row[MONTH].partition("-lists")[0] for row in by_entry.values()}
        for body in bodies(self._store, entries=by_entry, months=months):
            row = by_entry[body["entry"]]
            raw = element(row["operation"] == "game", body["body"])
            yield from listed_in([raw], row["team_id"], Origin(body["stored_at"])).events

    def drop_settled_games(
        self, games: Sequence[Game], unsettled_events: Collection[str], clock: datetime
    ) -> list[Game]:
        """Return those of a part of the schedule that are not settled, or that no list of events has."""
        listed_ids = self.listed_events(game.id for game in games)
        settled_ids: set[str] = set()
        for month, group in _by_month((_plan.of_game(game).month, game) for game in games).items():
            self._read(month, clock)
            group = [game for game in group if game.id in listed_ids or game.id in unsettled_events]
            if "schedule" in self._operations:
                rows = _find_rows([f"schedule/{game.id}" for game in group], self._entries[month])
                group = [game for game, row in zip(group, rows, strict=True) if row and _is_same(game.body, row)]
            settled_ids |= {game.id for game in group if game.problem is None and game.id not in self._holes}
        settled_games = [game for game in games if game.id in settled_ids]
        if settled_games:
            names = _texts(f"schedule/{game.id}" for game in settled_games)
            self.units.append(names)
            if (at := settled_games[0].origin.served_at) is not None and "schedule" in self._operations:
                self.listings.append((names, at))
        return [game for game in games if game.id not in settled_ids]

    def listed_events(self, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that are settled events of the lists."""
        texts = list(ids)
        places = _places(texts, pa.chunked_array(self.event_ids, pa.string()))
        return {text for text, place in zip(texts, places, strict=True) if place is not None}

    def _settled_events(self, entries: "pa.Table", month: _Units, events: Sequence[Event]) -> set[str]:
        names = [_plan.of_event(event).name for event in events]
        units_by_event: dict[str, list[tuple[str, bool]]] = {}
        for event, row in zip(events, _find_rows(names, entries), strict=True):
            if row is not None and self._is_settled(event, row):
                units_by_event[event.id] = list(self._units_of(event))
        keys = [unit for units in units_by_event.values() for unit in units]
        places = _places([name for name, _ in keys], month.units)
        unavailable = _take(month.is_unavailable, places)
        is_settled = iter(
            place is not None and not (is_linked and is_unavailable)
            for (_, is_linked), place, is_unavailable in zip(keys, places, unavailable, strict=True)
        )
        counts = _take(month.counts, _places(units_by_event, month.events))
        return {
            event_id
            for (event_id, units), count in zip(units_by_event.items(), counts, strict=True)
            if all([next(is_settled) for _ in units]) and (count or 0) == len(units)  # noqa: C419 - takes one for each
        }

    def _is_settled(self, event: Event, row: Mapping[str, Any]) -> bool:
        is_whole = event.problem is None and event.are_sessions_known and event.id not in self._holes
        is_own = event.origin.team_id in event.teams
        over_at = None if row["over_at"] is None else datetime.fromtimestamp(row["over_at"] / 1e6, UTC)
        is_same = row["team_id"] == event.team_id and over_at == event.over_at
        return is_whole and is_own and is_same and _is_same(event.body, row)

    def _units_of(self, event: Event) -> "Iterable[tuple[str, bool]]":
        """Yield the name of each unit of an event, as `_plan.units_within` does, and whether it is linked."""
        for session in event.sessions:
            for operation in self._session_operations:
                times = _times(session) if operation == "locations" else ""
                yield f"{operation}/{session.id}{times}", operation in session.links
        if event.is_game and event.sessions:
            for operation in self._game_operations:
                yield f"{operation}/{event.id}", False

    def _add(self, events: Sequence[Event]) -> None:
        if not events:
            return
        ids = _texts(event.id for event in events)
        names = _texts(_plan.of_event(event).name for event in events)
        self.event_ids.append(ids)
        self.units.append(names)
        if (at := events[0].origin.served_at) is not None:
            self.listings.append((ids, at))

    def _read(self, month: str, clock: datetime) -> None:
        """Read a month once."""
        if month in self._entries:
            return
        schema = internal_schemas()["coverage"]
        batches = self._store.select(self._table, _COLUMNS, months=_plan.partitions(month))
        rows = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in _COLUMNS]))
        is_stored = pc.invert(_is_one_of(rows["unit"], self._find_interrupted(month, rows)))
        over_at, last = _microseconds(rows["over_at"]), round(clock.timestamp() * 1e6) - self._window_us
        is_over = _arrow.is_true(pc.less(pc.coalesce(over_at, _microseconds(rows["starts_at"])), _number(last)))
        is_final = pc.or_(_arrow.is_true(rows["final"]), pc.equal(rows["operation"], _text("schedule")))
        is_ok = pc.and_(pc.and_(is_over, is_final), is_stored)
        is_entry = pc.and_(_is_one_of(rows["operation"], LIST_OPERATIONS), _is_one_of(rows["status"], COMPLETE))
        entries = rows.select(["unit", "body_id", "team_id"]).append_column("over_at", over_at)
        self._entries[month] = entries.filter(pc.and_(is_ok, is_entry)).combine_chunks()
        self._units[month] = self._units_among(rows, is_ok, self._entries[month])
        trim()

    def _units_among(self, rows: "pa.Table", is_ok: Any, entries: "pa.Table") -> _Units:
        """Return the units of events of a month; none is settled that a later request may still change."""
        operation, status, over_at = rows["operation"], rows["status"], _microseconds(rows["over_at"])
        age = pc.subtract(_microseconds(rows["planned_at"]), over_at)
        is_too_early = _arrow.is_true(pc.less(age, _number(self._window_us)))
        is_unavailable = pc.equal(status, _text("unavailable"))
        is_linked = _arrow.is_true(rows["linked"])
        is_ended = pc.or_(_is_one_of(status, COMPLETE), pc.and_(is_unavailable, pc.invert(is_linked)))
        key = pc.replace_substring_regex(entries["unit"], "^(game|team_events)/", "")
        ends = entries["over_at"].take(pc.index_in(rows["event_id"], _arrow.whole(key)))
        is_current = _arrow.is_true(pc.equal(over_at, ends))
        is_unit = pc.and_(_is_one_of(operation, self._operations), pc.is_valid(rows["event_id"]))
        is_unit = pc.and_(is_unit, pc.not_equal(status, _text("withdrawn")))
        is_settled = pc.and_(pc.and_(is_unit, is_ok), pc.and_(pc.and_(is_ended, pc.invert(is_too_early)), is_current))
        counts = pc.value_counts(_arrow.whole(rows["event_id"].filter(is_unit)))
        return _Units(
            _arrow.whole(_with_times(rows).filter(is_settled)),
            _arrow.whole(is_unavailable.filter(is_settled)),
            counts.field("values"),
            counts.field("counts"),
        )


def _times(session: Session) -> str:
    times = (session.start, session.end)
    return "".join(" " if at is None else f" {round(at.timestamp() * 1e6)}" for at in times)


def _with_times(rows: "pa.Table") -> Any:
    """Return the names of units, those of locations with the times of their session."""
    ends = [pc.coalesce(_microseconds(rows[name]).cast("string"), _text("")) for name in ("start", "end")]
    names = pc.binary_join_element_wise(rows["unit"], *ends, _text(" "))
    return pc.if_else(pc.equal(rows["operation"], _text("locations")), names, rows["unit"])


def _microseconds(times: Any) -> Any:
    return times.cast(pa.int64())


def _number(value: int) -> Any:
    return _arrow.scalar(value, pa.int64())


def _text(value: str) -> Any:
    return _arrow.scalar(value, pa.string())


def _is_one_of(column: Any, values: Iterable[str]) -> Any:
    return pc.is_in(column, _texts(values))


def _by_month(pairs: "Iterable[tuple[str, Any]]") -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for month, item in pairs:
        if month != NO_MONTH:
            groups.setdefault(month, []).append(item)
    return groups


def _is_same(body: bytes, row: Mapping[str, Any]) -> bool:
    return bool(row["body_id"] == body_id(body))


def _texts(values: Iterable[str]) -> "pa.Array":
    return _arrow.array(values, pa.string())


def _places(texts: Iterable[str], among: Any) -> list[int | None]:
    """Return the place of each text in an array, or `None`."""
    places: list[int | None] = pc.index_in(_texts(texts), among).to_pylist()
    return places


def _take(array: Any, places: Sequence[int | None]) -> list[Any]:
    values: list[Any] = array.take(_arrow.array(places, pa.int64())).to_pylist()
    return values


def _find_rows(names: Sequence[str], rows: "pa.Table") -> list[dict[str, Any] | None]:
    """Return the row of each unit, or `None`."""
    places = _places(names, rows["unit"])
    columns = {name: _take(rows[name], places) for name in rows.column_names}
    return [
        None if place is None else {name: column[at] for name, column in columns.items()}
        for at, place in enumerate(places)
    ]


class Ledger:
    """The rows of `coverage` that one sync needs, by unit. Those of settled entries stay in files."""

    def __init__(self, store: Store) -> None:
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.interrupted_units: set[str] = set()
        """Names of units whose storing was interrupted, of the months that were read."""
        self.raw = store.open_checked("raw")
        self._store = store
        self._table = store.open_checked("coverage")
        if self._table is None and self.raw is not None:
            require(store)
        elif self._table is not None:
            missing = ["raw"] if self.raw is None else []
            if store.is_local and not store.has("corrections"):
                missing.append("corrections")
            check_missing(store, missing)
        self._settled_entries: Settled | None = None
        self._by_month: dict[str, set[str]] = {}
        self._add(() if self._table is None else store.select(self._table, months=[NO_MONTH]))
        self._interrupted_in(NO_MONTH)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever stored."""
        return self._table is None

    def find_settled(self, operations: Collection[str], window: timedelta | None) -> Settled | None:
        """Return what drops settled entries, unless any of them may be due."""
        is_used = self._store.settings.has_settled_entries and "game" in operations
        if is_used and self._table is not None and window is not None:
            holes = {name.partition("/")[2] for name in self.rows if name.startswith("event/")}
            self._settled_entries = Settled(self._store, self._table, operations, window, holes, self._interrupted_in)
        return self._settled_entries

    def read_range(self, start: datetime, end: datetime, unsettled_events: Collection[str]) -> None:
        """Read the rows of units that start in a range, but for those of settled entries that a list has."""
        if self._table is None:
            return
        if self._settled_entries is not None:
            self._settled_entries.forget_entries()
        months = [
            month
            for month in self._stored_months()
            if f"{start - _DAY:%Y-%m}" <= month[:7] <= f"{end + _DAY:%Y-%m}" and month != NO_MONTH
        ]
        for month in {month[:7] for month in months}:
            self._interrupted_in(month)
        # A file at a time: few of the rows stay.
        batches = self._store.select(self._table, months=months)
        self._add(self._without_settled(batches, unsettled_events))

    def read_events(self, event_ids: Collection[str], unsettled_events: Collection[str]) -> None:
        """Read the rows of events that no row is known of, in whatever month they are, except those of settled entries.

        The row of a settled entry would look like one that its list does not have any more.
        """
        names = ("game", "team_events", "schedule")
        months = {
            key: [self.rows.get(f"{name}/{key}", {MONTH: NO_MONTH})[MONTH] for name in names] for key in event_ids
        }
        # The row of an event that was missed has no month.
        ids = [key for key, found_months in months.items() if {*found_months} == {NO_MONTH}]
        if self._table is None or not ids:
            return
        before = len(self.rows)
        for texts in (("event_id", ids), ("unit", [f"{name}/{key}" for name in names for key in ids])):
            self._add(self._without_settled(self._store.select(self._table, texts=texts), unsettled_events))
        if len(self.rows) > before:
            for month in {row[MONTH][:7] for row in self.rows.values() if row[MONTH] != NO_MONTH}:
                self._interrupted_in(month)

    def games_of(self, events: Iterable[Event]) -> set[str]:
        """Return the games that have the sessions of events in the archive."""
        sessions = [session.id for event in events for session in event.sessions]
        if self._table is None or not sessions:
            return set()
        batches = self._store.select(self._table, ["game_id", "status"], texts=("session_id", sessions))
        rows = [row for batch in batches for row in batch.to_pylist()]
        return {row["game_id"] for row in rows if row["status"] != "withdrawn"} - {None}

    def find(self, unit: str) -> Mapping[str, Any] | None:
        """Return the row of a unit, also of a settled one."""
        if unit not in self.rows and self._table is not None:
            return next(iter(coverage_of(self._store, self._table, [unit])), None)
        return self.rows.get(unit)

    def release(self) -> None:
        """Leave the opened tables to the writer."""
        self._store.keep(self._table)
        self._store.keep(self.raw)
        trim()

    def _stored_months(self) -> set[str]:
        partitions = [] if self._table is None else self._table.partitions()
        return {str(partition[MONTH]) for partition in partitions}

    def _interrupted_in(self, month: str, rows: "pa.Table | None" = None) -> set[str]:
        if month not in self._by_month:
            self._by_month[month] = interrupted_units(self._store, self.raw, self._table, [month], rows)
            self.interrupted_units |= self._by_month[month]
        return self._by_month[month]

    def _without_settled(
        self, batches: "Iterable[pa.RecordBatch]", unsettled_events: Collection[str]
    ) -> "Iterator[pa.RecordBatch]":
        if self._settled_entries is None:
            yield from batches
            return
        events = pa.chunked_array(self._settled_entries.event_ids, pa.string())
        # Two lists may have an event in two forms.
        unsettled_names = _texts([*unsettled_events, *(f"game/{key}" for key in unsettled_events)])
        events = events.filter(pc.invert(pc.is_in(events, unsettled_names)))
        units = pa.chunked_array(self._settled_entries.units, pa.string())
        units = units.filter(pc.invert(pc.is_in(units, unsettled_names)))
        for rows in batches:
            is_settled = pc.or_(pc.is_in(rows["event_id"], events), pc.is_in(rows["unit"], units))
            yield rows.filter(pc.invert(is_settled))

    def _add(self, batches: "Iterable[pa.RecordBatch]") -> None:
        for count, batch in enumerate(batches, 1):
            if batch.num_rows:
                self.rows.update((row["unit"], row) for row in to_views(batch))
            # Of a long range, hundreds of files are read, of which nothing is kept.
            if count % _FILES_BETWEEN_TRIMS == 0:
                trim()
