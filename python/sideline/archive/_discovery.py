"""Requests and reads the lists of one sync: teams, games and events."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from .._client import elements_of, options_of, refusal_of
from .._core import Payload, _epoch_ms
from ..errors import DecodeError
from . import _listing
from ._body import Body
from ._fetch import REQUEST_ERRORS, SEASON_DATE, Outcome, Refusals, connection_error, failed, map_in_threads, served_at
from ._listing import Event, Game, Listing, Origin
from ._memory import trim
from ._packed import Packed
from ._plan import Unit, has_rows
from ._store import now
from ._withdrawals import Lists, Parent

if TYPE_CHECKING:
    from .._client import Client, Duration, Timeout
    from ._settled import Settled

Request = tuple[Unit, Callable[[], Payload], str]
"""A unit, the call that requests it, and the key of the list in its body; without a key the body is an event."""

_FIRST_DAY, _LAST_DAY = datetime(1990, 1, 2, tzinfo=UTC), datetime(2100, 12, 30, tzinfo=UTC)
"""Times of which a day before and after can be requested."""
_DAY = timedelta(days=1)

_BATCH_SIZE = 128
"""Entries of a list that are Python objects at once, before settled ones are dropped."""

_MAX_LONG_LISTS, _LONG_RANGE = 4, timedelta(days=60)
"""Lists of a long range that are requested at once, and wait to be read: each may have megabytes."""


class Discovery:
    """The teams, games and events that the service lists now."""

    def __init__(
        self,
        client: "Client",
        clock: Callable[[], datetime] | None,
        settled_entries: "Settled | None" = None,
        is_practice: Callable[[str], bool] | None = None,
        has_team: Callable[[int | None], bool] = lambda _: False,
        find: Callable[[str], Mapping[str, Any] | None] | None = None,
        timeout: "Timeout | Duration | None" = None,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._settled_entries = settled_entries
        """Drops entries that need no work."""
        self._is_practice = is_practice
        """Whether the event of an id was a practice."""
        self._has_team = has_team
        """Whether the archive has rows of a team."""
        self._own_clock = clock
        self._service_clock: datetime | None = None
        self._parents: dict[str, Parent] = {}
        self.outcomes: list[Outcome] = []
        """The outcomes of the requests for lists."""
        self.missing_games: list[Outcome] = []
        """The outcomes of games that were requested by their id and could not be read."""
        self.problems: list[Outcome] = []
        """Entries that cannot be read, or that lists no longer have."""
        self.readable: set[str] = set()
        """Ids of well-formed events and games."""
        self.unstorable: set[str] = set()
        """Ids of events whose body must not replace the stored one."""
        self.events: Packed[Event] = Packed()
        self.games: Packed[Game] = Packed()
        self.teams: dict[int, tuple[bytes, Origin]] = {}
        self.team_ids: list[int] = []
        self._selected_teams: frozenset[int] | None = None
        """The teams whose games are wanted; `None`: all."""
        self._were_teams_requested = False
        self._find = find
        """Returns the stored row of a unit, if the games of the schedule are stored."""
        self._games_without_entry: dict[str, datetime] = {}
        """The games near the ends of the range that the schedule lacks, and when their events start."""

    @property
    def clock(self) -> datetime:
        """The time by which the sync plans: the archive's clock, or the time in the service's first response."""
        if self._own_clock is not None:
            return self._own_clock()
        return self._service_clock or now()

    def service_time(self) -> datetime:
        """Return the time by which the sync plans, before any other request."""
        if self._own_clock is None:
            self._read_teams()
        return self.clock

    @property
    def teams_parent(self) -> Parent | None:
        """The list of teams, if it was received."""
        return self._parents.get("teams/all")

    @property
    def url(self) -> str | None:
        """The address of one of the received lists that have an entry."""
        origins = (origin for _, origin in self.teams.values())
        entries = (entry.origin for entries in (self.events, self.games) for entry in entries.values())
        return next((origin.url for origin in chain(origins, entries)), None)

    def count_as_empty(self) -> None:
        """Let no list withdraw what it lacks before a second sync finds the same."""
        self._parents = {name: replace(parent, is_empty=True) for name, parent in self._parents.items()}

    def parents(self, start: datetime, end: datetime) -> Lists:
        """Return the received lists and their range."""
        teams = {team: self._parents.get(f"team_events/team {team}") for team in self.team_ids}
        events = {
            team: Parent(frozenset(), is_whole=False, is_empty=True) if parent is None else parent
            for team, parent in teams.items()
        }
        return Lists(start, end, self._parents.get("schedule/all"), events)

    def events_by_time(self) -> Iterator[Event]:
        """Yield the events, the first to start first."""
        order = sorted((str(event.starts_at or ""), event_id) for event_id, event in self.events.items())
        return (self.events[event_id] for _, event_id in order)

    def read_lists(self, team_ids: Sequence[int] | None, start: Any, end: Any, *, with_teams: bool) -> None:
        """Request the schedule, the teams, and the events of each team."""
        first, last = (_listing.moment(_epoch_ms(name, time)) for name, time in (("start", start), ("end", end)))
        schedule = Unit("schedule", "all", start=first, end=last)
        of_schedule: Request = (schedule, lambda: self._client.schedule(start, end, timeout=self._timeout), "games")
        if (team_ids is None or with_teams) and not self._were_teams_requested:
            self._read_teams()
        self.team_ids = list(self.teams if team_ids is None else team_ids)
        self._selected_teams = None if team_ids is None else frozenset(team_ids)
        schedules: Iterable[tuple[Unit, Payload | None, Iterator[bytes]]] = self._request([of_schedule])
        if team_ids is None and not self.teams:
            # Without the list of teams, the games name them.
            schedules = list(schedules)
            self.team_ids = sorted({team for _, payload, _ in schedules for team in _teams_of_games(payload)})
        requests: list[Request] = [
            (
                Unit("team_events", f"team {team}", team_id=team, start=first, end=last),
                lambda team=team: self._client.team_events(team, start, end, timeout=self._timeout),  # type: ignore[misc]
                "events",
            )
            for team in self.team_ids
        ]
        max_concurrency = _MAX_LONG_LISTS if last - first > _LONG_RANGE else None
        for unit, payload, elements in self._request(requests, max_concurrency):
            self._note(unit, payload, self._read_events(unit, payload, elements))
            trim()
        self._add_settled_versions()
        # After the events: a game that none of them is needs a request of its own. Both would take twice the memory.
        if self._settled_entries is not None:
            self._settled_entries.forget_units()
        for unit, payload, _ in schedules:
            self._note(unit, payload, self._read_schedule(unit, payload))
            if payload is not None:
                self._read_ends(first, last)
        if not self._were_teams_requested and any(outcome.error for outcome in self.outcomes):
            # The list of teams says whether such a team exists.
            self._read_teams()

    def _read_events(self, unit: Unit, payload: Payload | None, elements: Iterator[bytes]) -> Iterator[Listing]:
        """Yield parts of a team's list, without settled events."""
        origin = _origin_of(payload, unit)
        facts: dict[str, tuple[Any, ...]] = {}
        for position, part in _batches(elements):
            listing = _listing.events(part, unit.team_id, origin, position)
            listing.is_empty = not listing.events
            for event in listing.events:
                if facts.setdefault(event.id, (event.starts_at, event.teams)) != (event.starts_at, event.teams):
                    text = "its list has it twice, with other times or teams"
                    self._problem(_problem_unit(event), text, event.body, origin)
                if (at := _time_near_an_end(event, unit)) is not None:
                    self._games_without_entry[event.id] = at
            if self._settled_entries is not None:
                listing.events = self._settled_entries.drop_settled(listing.events, self.events, self.clock)
            for event in listing.events:
                self._add(event)
            yield listing

    def _add_settled_versions(self) -> None:
        """Add the version of an event that was dropped as settled before another list had another one."""
        for version in () if self._settled_entries is None else self._settled_entries.versions(self.events):
            event = self.events.pop(version.id)
            self._add(replace(version, origin=event.origin))
            self._add(event)

    def _read_schedule(self, unit: Unit, payload: Payload | None) -> Iterator[Listing]:
        """Yield parts of the schedule, without settled games."""
        elements = iter(()) if payload is None else elements_of(payload, "games") or iter(())
        for position, part in _batches(elements):
            listing = _listing.games(part, _origin_of(payload, unit), position)
            listing.is_empty = not listing.games
            for game in listing.games:
                self._games_without_entry.pop(game.id, None)
            if self._settled_entries is not None:
                listing.games = self._settled_entries.drop_settled_games(listing.games, self.events, self.clock)
                trim()
            listing.games = [self._compare(game) for game in listing.games]
            yield listing

    def _read_ends(self, *ends: datetime) -> None:
        """Request the entries of games that were to begin outside the range, and whose events are of it."""
        failures: dict[str, Outcome] = {}
        for end in ends:
            ids = [key for key, at in self._games_without_entry.items() if abs(at - end) <= _DAY and self._is_new(key)]
            if ids and (failure := self._read_around(end, ids)) is not None:
                failures.update(dict.fromkeys(ids, failure))
        # Not a hole of the schedule, which has its range only.
        for game_id in failures.keys() & self._games_without_entry.keys():
            unit = replace(failures[game_id].unit, id=game_id, game_id=game_id, is_malformed=True)
            self.problems.append(replace(failures[game_id], unit=unit, is_absence=False))

    def _read_around(self, at: datetime, game_ids: Collection[str]) -> Outcome | None:
        """Request the schedule around a time, and record these games of it; return the outcome if it failed.

        A time that no range may have is left out.
        """
        if not _FIRST_DAY <= at <= _LAST_DAY:
            return None
        first, last = at - _DAY, at + _DAY
        unit = Unit("schedule", "all", start=first, end=last)
        call = partial(self._client.schedule, first, last, timeout=self._timeout)
        # All of it: the end of the iterator raises if the service cannot be reached.
        [(_, payload, elements)] = self._request([(unit, call, "games")])
        if payload is None:
            return self.outcomes.pop()
        for _, part in _batches(elements):
            games = [game for game in _listing.games(part, _origin_of(payload, unit)).games if game.id in game_ids]
            self._note_games([self._compare(game) for game in games])
            for game in games:
                self._games_without_entry.pop(game.id, None)
        return None

    def _is_new(self, game_id: str) -> bool:
        """Return whether an entry may be new that the schedule lacks: that of a settled event, if it is not stored."""
        if self._find is None:
            return False
        if game_id in self.events:
            return True
        row = self._find(f"schedule/{game_id}")
        return row is None or not has_rows(row)

    def _compare(self, game: Game) -> Game:
        """Record a game of the schedule, the last of several entries, which have a problem if they differ."""
        before = self.games.get(game.id)
        if before is not None and json.loads(before.body) != json.loads(game.body):
            game = replace(game, problem="the schedule has another entry of this id, which differs")
        if self._is_selected(game):
            self.games[game.id] = game
        return game

    def read_games(self, game_ids: Iterable[str]) -> None:
        """Request games by their ids."""
        for event in self._games(game_ids).values():
            if not isinstance(event, Event):
                self.missing_games.append(event)
            elif self._is_selected(event):
                self._add(event)

    def _is_selected(self, entry: Event | Game) -> bool:
        """Return whether it may be of a selected team: a game without its two teams may be of any."""
        teams = self._selected_teams
        return teams is None or len(entry.teams) < len(("home", "away")) or not teams.isdisjoint(entry.teams)

    def locate(self, game_ids: Sequence[str], start: datetime, end: datetime) -> tuple[set[str], set[str]]:
        """Return the games that may be out of the range now, and those that could not be read."""
        moved_games, unknown_games = set(), set()
        for game, event in self._games(game_ids).items():
            if not isinstance(event, Event):
                if not event.is_absence:
                    unknown_games.add(game)
                    self.missing_games.append(event)
            elif event.starts_at is None:
                moved_games.add(game)
                self._add(event)
            elif not start <= event.starts_at < end:
                failure = None if self._find is None else self._read_around(event.starts_at, [game])
                if failure is None:
                    moved_games.add(game)
                    self._add(event)
                else:
                    # With its new time, the next sync would not look for it.
                    unknown_games.add(game)
                    self.missing_games.append(replace(failure, unit=self._unit(game), is_absence=False))
        return moved_games, unknown_games

    def are_all_ids_unknown(
        self, team_ids: Sequence[int] | None, game_ids: Sequence[str] | None, existing_rows: Mapping[str, Any]
    ) -> bool:
        """Return whether the service knows none of the requested ids; then nothing is stored."""
        if game_ids is not None:
            return (
                all(self.is_unknown_game(outcome, existing_rows) for outcome in self.missing_games) and not self.events
            )
        if not team_ids:
            return False
        outcomes = [outcome for outcome in self.outcomes if outcome.unit.operation == "team_events"]
        return all(self.is_unknown_team(outcome) for outcome in outcomes)

    def is_unknown_game(self, outcome: Outcome, existing_rows: Mapping[str, Any]) -> bool:
        """Return whether the user named a game that neither the service nor the archive knows."""
        return _is_unknown(outcome) and outcome.unit.name not in existing_rows and outcome.unit.id not in self.games

    def is_unknown_team(self, outcome: Outcome) -> bool:
        """Return whether the outcome is of a mistyped team id: unknown to the service and to the list of teams.

        Such a team is reported, and leaves nothing in the archive.
        """
        unit, teams = outcome.unit, self.teams_parent
        is_of_team = unit.operation in ("team_events", "roster") and unit.event_id is None
        if not is_of_team or teams is None or unit.team_id in self.teams:
            return False
        return _is_unknown(outcome) or (outcome.error is not None and self.lacks_team(unit.team_id))

    def lacks_team(self, team_id: int | None) -> bool:
        """Return whether neither the complete list of teams nor the archive has the team."""
        teams = self.teams_parent
        is_complete = teams is not None and teams.is_whole and bool(self.teams)
        return is_complete and team_id not in self.teams and not self._has_team(team_id)

    def _read_teams(self) -> None:
        for _, payload, elements in self._request([self._teams_request()]):
            self._keep_teams(payload, elements)

    def _teams_request(self) -> Request:
        self._were_teams_requested = True
        return Unit("teams", "all"), lambda: self._client.teams(timeout=self._timeout), "teams"

    def _keep_teams(self, payload: Payload | None, elements: Iterator[bytes]) -> None:
        if payload is None:
            return
        is_whole = True
        for position, raw in enumerate(elements):
            team, _ = _listing.parse(raw)
            key = _listing.number(team.get("id")) if isinstance(team, Mapping) else None
            if key is None:
                is_whole = False
                unit = Unit("teams", f"teams[{position}]", is_malformed=True)
                body = _listing.fragment("teams", raw)
                self._problem(unit, "the entry has no id that is a number", body, _origin_of(payload))
            else:
                if key in self.teams and team != _listing.parse(self.teams[key][0])[0]:
                    unit, body = Unit("teams", f"teams[{position}]", is_malformed=True), _listing.fragment("teams", raw)
                    text = f"the list has another entry of the team {key}, which differs"
                    self._problem(unit, text, body, _origin_of(payload))
                self.teams[key] = (raw, _origin_of(payload))
        self._parents["teams/all"] = Parent(frozenset(map(str, self.teams)), is_whole, not self.teams)

    def _games(self, game_ids: Iterable[str]) -> dict[str, Event | Outcome]:
        requests: list[Request] = [
            (self._unit(game), lambda game=game: self._client.game(game, timeout=self._timeout), "")  # type: ignore[misc]
            for game in game_ids
        ]
        events: dict[str, Event | Outcome] = {}
        before = len(self.outcomes)
        results = list(self._request(requests))
        outcomes, self.outcomes = self.outcomes[before:], self.outcomes[:before]
        for outcome, (unit, payload, elements) in zip(outcomes, results, strict=True):
            if payload is None:
                events[unit.id] = outcome
                continue
            listing = _listing.events(elements, None, _origin_of(payload))
            if listing.ids != {unit.id}:
                text = listing.unreadable[0][1] if listing.unreadable else f"it has the id {listing.events[0].id}"
                body, error = Body.of(payload.raw), f"DecodeError: {text}"
                events[unit.id] = Outcome(unit, "failed", outcome.fetched_at, outcome.served_at, body, error=error)
                continue
            events[unit.id] = listing.events[0]
            self.outcomes.append(outcome)
        return events

    def _unit(self, event_id: str) -> Unit:
        if self._is_practice is not None and self._is_practice(event_id):
            return Unit("team_events", event_id)
        return Unit("game", event_id, game_id=event_id)

    def _request(
        self, requests: Sequence[Request], max_concurrency: int | None = None
    ) -> Iterator[tuple[Unit, Payload | None, Iterator[bytes]]]:
        """Yield the elements that each request lists, or none if it failed; its outcome has the error.

        `max_concurrency`: how many are in flight at once, if not as many as the client may send.
        """
        refusals = Refusals(self._client)

        def send_request(
            unit: Unit, call: Callable[[], Payload], name: str
        ) -> tuple[Outcome, Payload | None, Iterator[bytes]]:
            try:
                payload, elements = _received_elements(call, name)
            except REQUEST_ERRORS as error:
                refusals.check(error)
                return failed(unit, error), None, iter(())
            origin = _origin_of(payload)
            status = "fetched" if len(elements) else "empty"  # type: ignore[arg-type]
            outcome = Outcome(unit, status, origin.fetched_at, origin.served_at, request_id=payload.request_id)
            return outcome, payload, elements

        limit = options_of(self._client)["max_concurrency"]
        threads = min(limit, max_concurrency or limit)
        outcomes = []
        for outcome, payload, elements in map_in_threads(lambda request: send_request(*request), requests, threads):
            if self._service_clock is None:
                self._service_clock = served_at(payload, SEASON_DATE) or served_at(payload)
            outcomes.append(outcome)
            self.outcomes.append(outcome)
            yield outcome.unit, payload, elements
        if (cause := connection_error(outcomes)) is not None:
            raise cause

    def _note(self, unit: Unit, payload: Payload | None, parts: Iterable[Listing]) -> None:
        """Record the entries of a list, and the entries that cannot be read."""
        if payload is None:
            return
        ids: set[str] = set()
        is_whole = is_empty = True
        for part in parts:
            ids |= part.ids
            is_whole &= not part.unreadable
            is_empty &= part.is_empty
            for position, text in part.unreadable:
                name = f"{unit.team_id or unit.operation}[{position}]"
                entry = Unit(unit.operation, name, is_malformed=True)
                self._problem(entry, text, None, _origin_of(payload, unit))
            self._note_games(part.games)
        self._parents[unit.name] = Parent(frozenset(ids), is_whole, is_empty)

    def _note_games(self, games: Iterable[Game]) -> None:
        """Record games of the schedule, and their problems."""
        for game in games:
            if game.problem is None:
                self.readable.add(game.id)
            else:
                entry = Unit("schedule", game.id, game_id=game.id, is_malformed=True)
                self._problem(entry, game.problem, game.body, game.origin)

    def _add(self, event: Event) -> None:
        """Record an event. If two lists have it, the last readable one counts, with the sessions of both."""
        before = self.events.get(event.id)
        is_upcoming = event.starts_at is not None and event.starts_at > self.clock
        has_no_results = not event.are_sessions_known and not event.has_results
        if event.problem is not None and not (is_upcoming and has_no_results):
            self._problem(_problem_unit(event), event.problem, event.body, event.origin)
            if before is None:
                self.unstorable.add(event.id)
            else:
                event, before = before, event
        else:
            self.readable.add(event.id)
            self.unstorable.discard(event.id)
        if before is not None:
            if (event.is_game, event.team_id) != (before.is_game, before.team_id):
                text = "two lists have an event of this id, of different teams or kinds"
                self._problem(_problem_unit(event), text, event.body, event.origin)
            event = _listing.unite(event, before)
        self.events[event.id] = event

    def _problem(self, unit: Unit, text: str, body: bytes | None, origin: Origin) -> None:
        if any(problem.unit.name == unit.name for problem in self.problems):
            return
        self.problems.append(
            Outcome(
                replace(unit, team_id=origin.team_id, start=origin.start, end=origin.end),
                "failed",
                origin.fetched_at,
                origin.served_at,
                None if body is None else Body.of(body),
                request_id=origin.request_id,
                error=f"DecodeError: {text}",
            )
        )


def _time_near_an_end(event: Event, unit: Unit) -> datetime | None:
    """Return when a game starts, if that is within a day of an end of its list's range."""
    if not event.is_game or event.starts_at is None or unit.start is None or unit.end is None:
        return None
    return None if unit.start + _DAY < event.starts_at < unit.end - _DAY else event.starts_at


def _problem_unit(event: Event) -> Unit:
    game_id = event.id if event.is_game else None
    return Unit("game" if event.is_game else "team_events", event.id, game_id=game_id, is_malformed=True)


def _origin_of(payload: Payload | None, unit: Unit | None = None) -> Origin:
    if payload is None:
        return Origin(now())
    of_list = (None, None, None) if unit is None else (unit.team_id, unit.start, unit.end)
    return Origin(payload.fetched_at or now(), served_at(payload), payload.request_id, payload.url, *of_list)


def _is_unknown(outcome: Outcome) -> bool:
    # A `ValueError` is an id that cannot be sent, or `InvalidRequest`.
    return outcome.is_absence or outcome.status == "forbidden" or isinstance(outcome.cause, ValueError)


def _batches(elements: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield parts of a list, and the position of each."""
    position = 0
    while part := list(islice(elements, _BATCH_SIZE)):
        yield position, part
        position += len(part)


def _teams_of_games(payload: Payload | None) -> Iterator[int]:
    elements = iter(()) if payload is None else elements_of(payload, "games") or iter(())
    for _, part in _batches(elements):
        for game in _listing.games(part, _origin_of(payload)).games:
            yield from game.teams


def _received_elements(call: Callable[[], Payload], name: str) -> tuple[Payload, Iterator[bytes]]:
    """Return the elements of a list if at least one of them can be read, and no strict client refuses it."""
    try:
        payload = call()
        return payload, _elements(payload, name)
    except DecodeError as error:
        if error.payload is None or not name or refusal_of(error.payload) is not None:
            raise
        if not any(raw.startswith(b"{") for raw in _elements(error.payload, name)):
            raise
        return error.payload, _elements(error.payload, name)


def _elements(payload: Payload, name: str) -> Iterator[bytes]:
    elements = elements_of(payload, name or None)
    if elements is None and name == "events":
        # The specification allows both a list of events and one event.
        elements = elements_of(payload, None)
        if elements is not None and payload.raw.lstrip()[:1] == b"{" and "id" not in json.loads(payload.raw):
            elements = None
    if elements is None:
        raise DecodeError(f"{payload.operation}: the response has no list of {name}", path=f"$.{name}", payload=payload)
    return elements
