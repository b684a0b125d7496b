"""Runs one sync: reads the lists, plans, fetches and stores, some events at a time."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate, chain, groupby
from sys import modules
from typing import TYPE_CHECKING, Any
from zlib import crc32

from .._client import ProgressOption, bar, check_range, expected_bytes
from .._core import _epoch_ms
from . import _compaction, _plan, _service_check, _withdrawals
from ._account import Scope, account, rows_of
from ._body import body_id
from ._discovery import Discovery
from ._fetch import Fetched, Outcome, fetch, read
from ._leases import PART_COUNT, Leases, leases
from ._ledger import mark_listed, remove_holes, update_facts, update_holes
from ._libraries import pa
from ._life import COMPLETE, RESERVED_SEQUENCE, Observation, State, after, state_of
from ._listing import Event, Origin, fragment, moment
from ._memory import trim
from ._packed import pack
from ._pipeline import Pipeline, steps_of
from ._plan import LIST_OPERATIONS, TEAMS_LIST, Unit, is_list
from ._read import coverage
from ._schemas import internal_schemas
from ._settled import Ledger
from ._store import Store, now
from ._stored_bodies import write_undecodable
from ._writer import Context, version, write_outcomes

if TYPE_CHECKING:
    from .._client import Client

Row = Mapping[str, Any]
"""A row of `coverage` as it was before the sync."""


class Sync:
    """One sync: its requests and outcomes."""

    def __init__(
        self,
        store: Store,
        client: "Client",
        *,
        operations: frozenset[str],
        window: timedelta | None,
        clock: Callable[[], datetime] | None,
        progress: ProgressOption,
        only: frozenset[str] | None = None,
        fresh_after: datetime | None = None,
    ) -> None:
        """`only`: ids of events and sessions; others are not due. Nor are units fetched after `fresh_after`."""
        self._store = store
        self._only = only
        self._fresh_after = fresh_after
        self._settings = store.settings
        self._client = client
        self._operations = operations
        self._window = window
        self._progress = progress
        self._id = uuid.uuid4().hex
        self._ledger = Ledger(store)
        self._existing_rows = self._ledger.rows
        entries = self._settled_entries = self._ledger.find_settled(operations, window)
        find = self._ledger.find if "schedule" in operations else None
        self._lists = Discovery(client, clock, entries, self._is_practice, self._has_team, find=find)
        self._owners: dict[str, str] = {}
        """The event that first listed a session, by its id."""
        self._listing_times: dict[str, datetime] = {}
        """When events and entries were listed that are not written again."""
        self._sizes: dict[str, tuple[int, int]] = {}
        self._stored_chunks = 0
        self.done: int = 0
        self.rows: int = 0
        self._rows_of_units: list[pa.Buffer] = []
        """The rows of `coverage` of the units that have ended, packed."""
        self.corrections: list[dict[str, Any]] = []
        self._report: Callable[[Iterable[Outcome]], None]

    def run(self, team_ids: Sequence[int] | None, game_ids: Sequence[str] | None, start: Any, end: Any) -> None:
        """Request and store everything that is due."""
        try:
            with _trace() as self._report:
                self._run(team_ids, game_ids, start, end)
            if self._store.logs is not None:
                self._store.logs.save()
        finally:
            self._store.forget_files()

    def _run(self, team_ids: Sequence[int] | None, game_ids: Sequence[str] | None, start: Any, end: Any) -> None:
        lists = self._lists
        if game_ids is None:
            if end is None:
                end = lists.service_time()
                check_range(start, None, end)
            first, last = moment(_epoch_ms("start", start)), moment(_epoch_ms("end", end))
            self._scope = Scope(team_ids=team_ids, start=first, end=last)
            lists.read_lists(team_ids, start, end, with_teams="teams" in self._operations)
            self._ledger.read_range(first, last, lists.events)
            self._ledger.read_events({*lists.events, *lists.games}, lists.events)
            self._check_service(first, last)
            lists.read_games(self._events_by_id(first, last, are_all_teams=team_ids is None))
            if self._only is not None:
                self._scope = Scope(game_ids={event.id for event in lists.events.values() if self._is_selected(event)})
        else:
            self._ledger.read_events(game_ids, game_ids)
            lists.read_games(game_ids)
            # A session that was in another game may not be in that one any more.
            previous_ids = self._ledger.games_of(lists.events.values()) - {*game_ids}
            self._ledger.read_events(previous_ids, previous_ids)
            lists.read_games(sorted(previous_ids))
            self._scope = Scope(game_ids={*game_ids, *previous_ids})
        self._context = Context(self._id, lists.clock, self._existing_rows)
        if lists.are_all_ids_unknown(team_ids, game_ids, self._existing_rows):
            self._add([*lists.outcomes, *lists.missing_games])
            return
        withdrawn = self._withdrawals(first, last) if game_ids is None else []
        problems, withdrawn_within = self._problems()
        self._ledger.release()
        self._update_holes(problems)
        self._remove_void_holes()
        self._write([game for game in lists.missing_games if not lists.is_unknown_game(game, self._existing_rows)])
        self._add([*lists.outcomes, *lists.missing_games])
        self._keep(problems)
        for outcomes in _slices([*withdrawn, *withdrawn_within], self._settings.max_chunk_units):
            self._write(outcomes)
            self._add(outcomes)
        self._fetch_due(game_ids is None)

    def _add(self, outcomes: Sequence[Outcome]) -> None:
        self._keep(outcomes)
        self._report(outcomes)

    def _keep(self, outcomes: Sequence[Outcome]) -> None:
        if outcomes:
            self._rows_of_units.append(pack(rows_of(outcomes)))

    def account(self) -> "pa.Table":
        """End the sync; return how each planned unit ended, and what else the archive lacks in the scope."""
        # Those of many seasons are as large as the account.
        del self._lists, self._owners
        trim()
        operations = None if self._fresh_after is None else self._operations
        return account(self._store, self._rows_of_units, replace(self._scope, operations=operations))

    def _is_practice(self, event_id: str) -> bool:
        """Return whether the archive has the event as a practice, and not as a game since."""
        practice, game = (self._existing_rows.get(f"{operation}/{event_id}") for operation in ("team_events", "game"))
        return practice is not None and (practice["status"] != "withdrawn" or game is None)

    def _has_team(self, team_id: int | None) -> bool:
        return any(row["team_id"] == team_id and _plan.has_rows(row) for row in self._existing_rows.values())

    def _events_by_id(self, first: datetime, last: datetime, *, are_all_teams: bool) -> list[str]:
        """Return the events to request by their ids."""
        lists = self._lists
        # The event of a game whose entry in the schedule has changed may be settled.
        settled_ids = set() if self._settled_entries is None else self._settled_entries.listed_events(lists.games)
        listed_ids = {*lists.events, *settled_ids}
        games = _plan.unlisted_games(lists.games.values(), listed_ids, lists.clock)
        parents = lists.parents(first, last)
        orphans = _withdrawals.orphaned_events(
            self._existing_rows.values(), parents, listed_ids, are_all_teams=are_all_teams
        )
        return list(dict.fromkeys([*games, *orphans]))

    def _check_service(self, first: datetime, last: datetime) -> None:
        """Raise `ConfigurationError` for lists of another service; those of another account withdraw nothing yet."""
        lists, rows = self._lists, self._existing_rows.values()
        teams = _service_check.unlisted_teams(rows, lists.teams)
        entries = _service_check.entries_within(rows, lists.parents(first, last))
        listed_ids = {*lists.events, *lists.games}
        are_some_settled = self._settled_entries is not None and bool(self._settled_entries.event_ids)
        if not are_some_settled and not any((row["game_id"] or _plan.event_of(row)) in listed_ids for row in entries):
            _service_check.check_host([*teams, *(entries if listed_ids else ())], lists.url)
        if teams:
            lists.count_as_empty()

    def _withdrawals(self, first: datetime, last: datetime) -> list[Outcome]:
        """Return the withdrawals of games, practices and teams that their lists no longer have."""
        lists = self._lists.parents(first, last)
        existing_rows = self._existing_rows.values()
        absent = _withdrawals.missing_events(existing_rows, lists)
        games = sorted(game for game in absent if any(row["game_id"] == game for row in existing_rows))
        # A game that still exists by its id at a time outside the range has only moved.
        moved_games, unknown_games = self._lists.locate(games, first, last)
        outcomes = []
        for event_id, observation in absent.items():
            if event_id in moved_games or event_id in unknown_games:
                continue
            if observation is Observation.UNREADABLE_PARENT:
                unit = Unit("team_events", event_id, start=first, end=last, is_malformed=True)
                reason = "its teams' lists no longer have it, and another list that should have it could not be read"
                self._lists.problems.append(Outcome(unit, "failed", now(), error=reason, attempts=0))
            elif self._after(event_id, observation) is State.WITHDRAWN:
                outcomes += [
                    self._withdrawn(row, "no list has its event any more")
                    for row in existing_rows
                    if _is_of(row, event_id)
                ]
                self._lists.readable.add(event_id)
            else:
                unit = Unit("team_events", event_id, start=first, end=last, is_malformed=True)
                self._lists.problems.append(
                    _absent(unit, "no list has it any more: the next sync that misses it withdraws it")
                )
        for game, observation in _withdrawals.missing_games(existing_rows, self._ledger.find, lists).items():
            if game not in moved_games and game not in unknown_games:
                row = self._existing_rows[f"schedule/{game}"]
                outcomes.append(self._count_absence(row, observation, "the schedule no longer lists it"))
        parent = self._lists.teams_parent
        if parent is None or not parent.is_whole:
            return outcomes
        for row in existing_rows:
            is_stored = _plan.has_rows(row) and row["status"] != "withdrawn" and not is_list(row["unit"])
            if row["operation"] in ("teams", "roster") and is_stored and str(row["team_id"]) not in parent.ids:
                observation = Observation.EMPTY_LIST if parent.is_empty else Observation.LIST_WITHOUT_IT
                others = ", nor any other that is stored: it may be another account's"
                reason = f"the list of teams no longer has its team{others if parent.ids and parent.is_empty else ''}"
                outcomes.append(self._count_absence(row, observation, reason))
        return outcomes

    def _problems(self) -> tuple[list[Outcome], list[Outcome]]:
        """Return events that cannot be stored, and withdrawals of sessions that events no longer list."""
        lists = self._lists
        sessions = {session.id for event in lists.events.values() for session in event.sessions}
        by_event: dict[str, list[Row]] = {}
        for row in self._existing_rows.values():
            if row["event_id"] is not None:
                by_event.setdefault(row["event_id"], []).append(row)
        withdrawn: list[Outcome] = []
        for event in lists.events.values():
            absent = _withdrawals.unlisted_sessions(event, by_event.get(event.id, ()), sessions)
            if not absent:
                continue
            observation = Observation.LIST_WITHOUT_IT if event.sessions else Observation.EMPTY_LIST
            if self._after(event.id, observation) is State.WITHDRAWN:
                withdrawn += [self._withdrawn(row, "its event no longer lists its session") for row in absent]
            else:
                unit = Unit("game" if event.is_game else "team_events", event.id, event.team_id, is_malformed=True)
                text = "it lists no session any more: the next sync that finds none withdraws them"
                lists.problems.append(_absent(unit, text))
                lists.unstorable.add(event.id)
        if "game" in self._operations:
            withdrawn += self._withdraw_retyped()
        outcomes = [
            game
            for game in lists.missing_games
            if game.is_absence
            and after(state_of(self._existing_rows.get(game.unit.name)), Observation.NOT_FOUND_LINKED)
            is State.WITHDRAWN
        ]
        for outcome in outcomes:
            # An event that responds with 404 for the second time is withdrawn with everything in it.
            lists.missing_games.remove(outcome)
            rows = [row for row in self._existing_rows.values() if _is_of(row, outcome.unit.id)]
            withdrawn += [self._withdrawn(row, "its event is gone") for row in rows]
        return lists.problems, withdrawn

    def _after(self, event_id: str, observation: Observation) -> State:
        """Return the state of a stored event after an observation. Its hole stands for the first absence."""
        hole = self._existing_rows.get(f"event/{event_id}")
        return after(State.MISSING_STORED if hole is not None and hole["absent_in"] else State.FETCHED, observation)

    def _withdraw_retyped(self) -> Iterator[Outcome]:
        """Return practices that are games now, and the reverse: the rows of both units have the same key.

        One that was only requested in vain would stay a hole, which nothing requests again.
        """
        for event in self._lists.events.values():
            other = self._existing_rows.get(f"{'team_events' if event.is_game else 'game'}/{event.id}")
            if other is not None and other["status"] != "withdrawn" and event.id not in self._lists.unstorable:
                yield self._withdrawn(other, "its event is listed as another kind now")

    def _withdrawn(self, row: Mapping[str, Any], reason: str) -> Outcome:
        unit = _plan.unit_of(row)
        return Outcome(unit, "withdrawn", now(), error=reason, attempts=0)

    def _count_absence(self, row: Row, observation: Observation, reason: str) -> Outcome:
        if observation is Observation.LIST_WITHOUT_IT:
            return self._withdrawn(row, reason)
        return _absent(_plan.unit_of(row), f"{reason}: the next sync that misses it withdraws it")

    def _update_holes(self, problems: Sequence[Outcome]) -> None:
        lists = self._lists
        known_lists = [outcome for outcome in lists.outcomes if not lists.is_unknown_team(outcome)]
        update_holes(
            self._store, known_lists, problems, lists.readable - {problem.unit.id for problem in problems}, self._id
        )
        # Undecodable bodies are kept for a later version.
        write_undecodable(self._store, [outcome for outcome in (*known_lists, *problems) if outcome.body], now())

    def _remove_void_holes(self) -> None:
        """Remove the holes of games that are not played yet, or not at all, and of teams that do not exist.

        Such games were requested too early: one has moved or was canceled since, or the service's clock was ahead.
        """
        lists = self._lists
        missing_ids = {outcome.unit.id for outcome in lists.missing_games}
        games = _plan.early_games(lists.games.values(), {*lists.events, *missing_ids}, lists.clock)
        units = {f"game/{game}" for game in games} & self._existing_rows.keys()
        units = {unit for unit in units if _plan.is_unstored_hole(self._existing_rows[unit])}
        of_teams = {name: row["team_id"] for name, row in self._existing_rows.items() if name.startswith(TEAMS_LIST)}
        units |= {name for name, team in of_teams.items() if lists.lacks_team(team)}
        remove_holes(self._store, units, _plan.is_unstored_hole)
        for unit in units:
            del self._existing_rows[unit]

    def _fragments(self) -> Iterator[Outcome]:
        """Yield each team, game and event of the lists as a body of its own; store when settled ones were listed."""
        for unit, body, origin in self._take_entries():
            if self._is_settled(unit, body):
                if origin.served_at is not None:
                    key = unit.id if unit.operation in ("game", "team_events") else unit.name
                    self._listing_times[key] = origin.served_at
                continue
            outcome = read(unit, body, origin.fetched_at, origin.served_at, origin.request_id, url=origin.url)
            outcome.listed_at = origin.served_at
            yield outcome
        mark_listed(
            self._store, self._listing_times, () if self._settled_entries is None else self._settled_entries.listings
        )

    def _take_entries(self) -> Iterator[tuple[Unit, bytes, Origin]]:
        """Yield each entry of the lists, and drop its bytes: those of a season are large."""
        lists = self._lists
        if "teams" in self._operations:
            for team_id, (team, origin) in lists.teams.items():
                yield Unit("teams", str(team_id), team_id=team_id), fragment("teams", team), origin
        if "schedule" in self._operations:
            for game_id, game in lists.games.items():
                lists.games[game_id] = replace(game, body=b"")
                yield _plan.of_game(game), game.body, game.origin
        if "game" in self._operations:
            # Sorted, so that a chunk has events of few months: it writes a file for each.
            for event in self._lists.events_by_time():
                if event.id not in lists.unstorable:
                    lists.events[event.id] = replace(event, body=b"")
                    yield _plan.of_event(event), event.body, event.origin

    def _is_settled(self, unit: Unit, body: bytes) -> bool:
        """Return whether an entry is beyond the correction window and unchanged. Then it is neither decoded nor written
        again, which would take longer each night of a season."""
        row = None if unit.name in self._ledger.interrupted_units else self._existing_rows.get(unit.name)
        return (
            row is not None
            and _plan.is_settled(unit, row, self._context.clock, self._window)
            and row["body_id"] == body_id(body)
        )

    def _store_problems(self, fragments: Sequence[Outcome]) -> None:
        """Store fragments that cannot be decoded as holes of their list."""
        for outcome in fragments:
            of_list = self._source(outcome.unit)
            outcome.unit = replace(
                outcome.unit, team_id=of_list.team_id, start=of_list.start, end=of_list.end, is_malformed=True
            )
        write_undecodable(self._store, fragments, now())
        update_holes(self._store, (), fragments, (), self._id)

    def _source(self, unit: Unit) -> Origin:
        lists = self._lists
        if unit.operation == "teams":
            return lists.teams[int(unit.id)][1]
        return (lists.games if unit.operation == "schedule" else lists.events)[unit.id].origin

    def _write(self, outcomes: Sequence[Outcome]) -> None:
        if outcomes:
            self.corrections += write_outcomes(self._store, outcomes, self._context, now)

    def _plan(self) -> tuple[int, int, dict[str, Unit]]:
        """Return how many units of events are due, the expected bytes of their bodies, and the units that are not."""
        count, size = 0, 0.0
        units: dict[str, Unit] = {}
        for event in self._lists.events_by_time():
            for unit in self._units_of(event):
                if self._is_due(unit):
                    count += 1
                    size += expected_bytes(unit.operation, unit.start, unit.end)
                else:
                    units[unit.name] = unit
        return count, round(size), units

    def _groups(self) -> Iterator[list[Unit]]:
        """Yield the due units of events, of one month after another: those of many seasons take much memory."""
        for _, of_month in groupby(
            self._lists.events_by_time(), key=lambda event: str(event.starts_at)[: len("2026-11")]
        ):
            new: list[Unit] = []
            for event in of_month:
                due = [unit for unit in self._units_of(event) if self._is_due(unit)]
                known_units = [unit for unit in due if self._is_known(unit.name)]
                yield known_units
                new += [unit for unit in due if not self._is_known(unit.name)]
            # Sorted, so that storing a chunk does not read the files of the one before.
            yield from ([unit] for unit in sorted(new, key=lambda unit: unit.id))

    def _units_of(self, event: Event) -> Iterator[Unit]:
        """Yield the units that the event is the first to list."""
        if not self._is_selected(event):
            return
        units = {unit.name: unit for unit in _plan.units_within(event, self._operations, self._context.clock)}
        if not event.are_sessions_known:
            known_units = _plan.known_units_within(event, self._operations, self._existing_rows.values())
            units |= {unit.name: unit for unit in known_units if unit.name not in units}
        yield from (unit for unit in units.values() if self._owners.setdefault(unit.id, event.id) == event.id)

    def _is_due(self, unit: Unit) -> bool:
        row = None if unit.name in self._ledger.interrupted_units else self._existing_rows.get(unit.name)
        return not self._is_fresh(unit, row) and _plan.is_due(unit, row, self._context.clock, self._window)

    def _is_known(self, name: str) -> bool:
        return name in self._existing_rows or name in self._ledger.interrupted_units

    def _listed_at(self, unit: Unit) -> datetime | None:
        """Return when the event of a unit was listed."""
        event = None if unit.event_id is None else self._lists.events.get(unit.event_id)
        return None if event is None else event.origin.served_at

    def _is_selected(self, event: Event) -> bool:
        only = self._only
        return only is None or event.id in only or any(session.id in only for session in event.sessions)

    def _is_fresh(self, unit: Unit, row: Row | None) -> bool:
        """Return whether its last response is trusted: a recent one that agrees with what lists it now."""
        if row is None or self._fresh_after is None or row["fetched_at"] is None:
            return False
        if row["status"] not in (COMPLETE if unit.is_linked else (*COMPLETE, "unavailable")):
            return False
        # A time in the future comes from a clock that was ahead.
        return row["game_id"] == unit.game_id and bool(self._fresh_after <= row["fetched_at"] <= now())

    def _steps(self, groups: Iterable[list[Unit]], leases: Leases | None) -> Iterator[tuple[list[Unit], list[int]]]:
        """Yield the next units to fetch, and the parts to release once they are stored."""
        if leases is None:
            for step in steps_of(groups, self._expected_size, self._settings):
                yield step, []
            return
        parts: dict[int, list[Sequence[Unit]]] = {}
        for group in groups:
            for unit in group[:1]:
                parts.setdefault(crc32((unit.event_id or unit.name).encode()) % PART_COUNT, []).append(group)
        order = sorted(parts, key=lambda part: crc32(f"{part} {self._id}".encode()))
        while order:
            counts = accumulate(sum(map(len, parts[part])) for part in order)
            enough = self._settings.units_per_lease
            size = next((number for number, units in enumerate(counts, 1) if units >= enough), len(order))
            lease = next(filter(None, (leases.take(order[at : at + size]) for at in range(0, len(order), size))), [])
            if not lease:
                leases.wait()
                continue
            self._store.fence = leases.number
            order = [part for part in order if part not in lease]
            left = self._units_left([group for part in lease for group in parts[part]])
            steps = list(steps_of(left, self._expected_size, self._settings))
            for step in steps[:-1]:
                yield step, []
            if steps:
                yield steps[-1], lease
            else:
                leases.release(lease)

    def _units_left(self, groups: Sequence[Sequence[Unit]]) -> list[list[Unit]]:
        """Return the units that no other machine has stored since this sync began, and report the others."""
        rows = {
            row["unit"]: row for row in coverage(self._store, units=[unit.name for group in groups for unit in group])
        }

        def is_done(unit: Unit) -> bool:
            row = rows.get(unit.name)
            return (
                row is not None
                and row["sequence"] != RESERVED_SEQUENCE
                and version(row) != version(self._existing_rows.get(unit.name))
            )

        left = []
        for group in groups:
            done = [unit for unit in group if is_done(unit)]
            self._add([_done_elsewhere(unit, rows[unit.name]) for unit in done])
            self.done += len(done)
            left.append([unit for unit in group if unit not in done])
        return [group for group in left if group]

    def _fetch_due(self, with_rosters: bool) -> None:
        shared_leases = leases(self._store)
        if shared_leases is None:
            self._fetch_parts(with_rosters, None)
            return
        with shared_leases:
            self._fetch_parts(with_rosters, shared_leases)

    def _fetch_parts(self, with_rosters: bool, leases: Leases | None) -> None:
        team_ids = self._lists.team_ids if with_rosters and "roster" in self._operations else []
        rosters = [[Unit("roster", str(team), team_id=team)] for team in team_ids]
        count, size, units_by_name = self._plan()
        update_facts(self._store, units_by_name, self._existing_rows)
        for unit in units_by_name.values():
            if unit.event_id is not None and (at := self._listed_at(unit)) is not None:
                self._listing_times[unit.event_id] = at
        total = len(rosters) + count
        display = bar(self._progress, "sync", total, self, size)  # type: ignore[arg-type]
        done = 0

        def on_ended(ended_units: int) -> None:
            self.done = done + ended_units
            if display:
                display()

        def store(outcomes: list[Outcome], parts: Sequence[int]) -> None:
            self._store_chunk(outcomes)
            if leases is not None and parts:
                leases.release(parts)

        with Pipeline(store, self._settings, self._fragments(), total) as pipeline:
            for units, parts in self._steps(chain(rosters, self._groups()), leases):
                fetched = list(fetch(self._client, units, on_ended))
                done += len(units)
                self._record_sizes(fetched)
                pipeline.add(fetched, parts)
                # A name would keep the bodies until the next ones are there.
                del fetched
        if self._ledger.is_new and not self._stored_chunks:
            self._store.open_or_create("coverage", internal_schemas()["coverage"])
        self._compact()
        if display:
            display(True)

    def _compact(self) -> None:
        """Compact the tables that were written since the last time."""
        _compaction.compact(self._store, sorted(self._store.written))
        self._store.written.clear()

    def _expected_size(self, unit: Unit) -> int:
        """Return the expected size of the unit's body: the mean of its operation, in this sync as soon as possible."""
        if unit.operation not in self._sizes:
            return round(expected_bytes(unit.operation, unit.start, unit.end))
        count, size = self._sizes[unit.operation]
        return size // count

    def _record_sizes(self, fetched: Iterable[Fetched]) -> None:
        for unit in fetched:
            if unit.size:
                count, size = self._sizes.get(unit.operation, (0, 0))
                self._sizes[unit.operation] = (count + 1, size + unit.size)

    def _store_chunk(self, outcomes: list[Outcome]) -> None:
        fragments = [outcome for outcome in outcomes if outcome.unit.operation in LIST_OPERATIONS]
        units = [outcome for outcome in outcomes if outcome.unit.operation not in LIST_OPERATIONS]
        for outcome in units:
            outcome.listed_at = self._listed_at(outcome.unit)
        if problems := [outcome for outcome in fragments if not outcome.is_stored]:
            self._store_problems(problems)
        stored_fragments = [outcome for outcome in fragments if outcome.is_stored]
        self._write([*stored_fragments, *(outcome for outcome in units if not self._lists.is_unknown_team(outcome))])
        self.rows += sum(outcome.rows for outcome in units)
        for outcome in outcomes:
            outcome.release()
        trim()
        # Stored fragments are not reported, because their list is.
        self._add([*problems, *units])
        self._stored_chunks += 1
        if self._stored_chunks % self._settings.compact_interval == 0:
            self._compact()


def _trace() -> AbstractContextManager[Callable[[Iterable[Outcome]], None]]:
    """Report the sync to OpenTelemetry if the program uses it."""
    if "opentelemetry.trace" not in modules:
        return nullcontext(lambda _: None)
    from .._companions import trace_sync

    return trace_sync()


def _done_elsewhere(unit: Unit, row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a unit that another machine requested."""
    facts = {name: row[name] for name in ("status", "fetched_at", "served_at", "request_id", "error", "rows")}
    return Outcome(unit, attempts=0, **facts)


def _is_of(row: Mapping[str, Any], event_id: str) -> bool:
    """Return whether the row is a unit of the event, or the event itself."""
    is_event = row["operation"] in ("game", "team_events") and row["unit"] == f"{row['operation']}/{event_id}"
    return row["status"] != "withdrawn" and bool(is_event or row["event_id"] == event_id)


def _absent(unit: Unit, reason: str) -> Outcome:
    return Outcome(unit, "missing", now(), error=reason, attempts=0, is_absence=True)


def _slices(outcomes: Sequence[Outcome], size: int) -> Iterator[list[Outcome]]:
    for first in range(0, len(outcomes), size):
        yield list(outcomes[first : first + size])
