"""Reads the service's lists: games of a schedule, events of a team, sessions of an event. Pure.

An entry that cannot be read is a problem of its own, and does not affect the others.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from sys import intern
from typing import Any, NamedTuple

_SENDABLE = re.compile(r"[A-Za-z0-9\-_.@:]+")

MAX_EVENT_LENGTH = timedelta(days=1)
"""The assumed length of an event without an end, or without a start."""

_MAX_DIGITS = 19
"""Of a number of 64 bits."""

_SIDES = ("home_team_id", "away_team_id")

_LINKS = {
    "stats": "_stats",
    "stats_details": "_stats_details",
    "possessions": "_possessions",
    "shots": "_shots",
    "locations": "_locations",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """When and by which request a list was received, and its range."""

    fetched_at: datetime
    served_at: datetime | None = None
    request_id: str | None = None
    url: str | None = None
    team_id: int | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A session in the list of its event."""

    id: str
    start: datetime | None
    end: datetime | None
    links: frozenset[str]
    """The operations that it has links to."""


@dataclass(frozen=True, slots=True)
class Event:
    """A game or practice in a list."""

    id: str
    body: bytes
    """Its bytes in the list, in the shape of a response of its own."""
    origin: Origin
    is_game: bool
    team_id: int | None
    """The team whose list has it; `None` for a game, which is in the lists of both teams."""
    teams: tuple[int, ...]
    """The teams whose lists should have it."""
    starts_at: datetime | None
    over_at: datetime | None
    sessions: tuple[Session, ...]
    problem: str | None = None
    """Why it cannot be stored."""
    are_sessions_known: bool = True
    """Whether `sessions` is complete."""
    has_results: bool = True
    """Whether it has a list of sessions, or anything else as its results."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game in the schedule."""

    id: str
    body: bytes
    origin: Origin
    tipoff_at: datetime | None
    teams: tuple[int, ...]
    status: str
    problem: str | None = None


@dataclass
class Listing:
    """The entries of a list."""

    events: list[Event] = field(default_factory=list)
    games: list[Game] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    """Entries without a usable id: their position and the problem."""
    is_empty: bool = True
    """Whether it has no readable entry, not even one that was dropped because it is settled."""

    @property
    def ids(self) -> set[str]:
        """The ids of the readable entries."""
        return {event.id for event in self.events} | {game.id for game in self.games}


def events(elements: Iterable[bytes], team_id: int | None, origin: Origin, first: int = 0) -> Listing:
    """Read the events of a list, or of a part of it that begins at position `first`."""
    listing = Listing()
    for position, raw in enumerate(elements, first):
        item, problem = parse(raw)
        key, problem = (None, problem) if problem else _id(item, "id")
        if key is None:
            listing.unreadable.append((position, problem))
        else:
            listing.events.append(event(key, item, team_id, origin, raw))
    return listing


def games(elements: Iterable[bytes], origin: Origin, first: int = 0) -> Listing:
    """Read the games of a schedule, or of a part of it that begins at position `first`."""
    listing = Listing()
    for position, raw in enumerate(elements, first):
        item, problem = parse(raw)
        key, problem = (None, problem) if problem else _id(item, "event_id")
        if key is None:
            listing.unreadable.append((position, problem))
            continue
        tipoff_at, time_problem = _time(item, "tipoff_at")
        body, status = fragment("schedule", raw), str(item.get("status")).upper()
        listing.games.append(
            Game(key, body, origin, tipoff_at, _teams(item), status, time_problem or _team_problem(item))
        )
    return listing


def parse(raw: bytes) -> tuple[Any, str]:
    """Return a list's element as Python objects, or why that is impossible."""
    try:
        return json.loads(raw), ""
    except (ValueError, RecursionError) as error:
        return None, f"the entry cannot be read: {error}"


def _is_game(item: Mapping[str, Any], team_id: int | None) -> bool | None:
    """Return whether an event is a game; `None` if it does not say. Only a game is requested without a team."""
    is_game, is_practice = item.get("is_game_event"), item.get("is_practice_event")
    if isinstance(is_game, bool):
        return is_game
    if isinstance(is_practice, bool):
        return not is_practice
    return True if team_id is None or isinstance(item.get("game_attributes"), Mapping) else None


def event(key: str, item: Mapping[str, Any], team_id: int | None, origin: Origin, raw: bytes = b"") -> Event:
    """Read one event, whose bytes are `raw`. If its times cannot be read or contradict each other, it is not over."""
    attributes = item.get("game_attributes")
    is_game = _is_game(item, team_id)
    starts_at, over_at, problem = _span(item)
    results = _results(item)
    is_over_known = problem is None and not _is_backwards(starts_at, over_at) and results.has_ends
    problem = problem or results.problem
    sessions, are_known = results.sessions, results.is_complete
    if results.has_copies:
        item = {**item, "results": list({_session_id(result): result for result in item["results"]}.values())}
        raw = json.dumps(item).encode()
    last = max((end for end in (over_at, *(session.end for session in sessions)) if end is not None), default=None)
    if is_game is None:
        # Its sessions may belong to a game or not: those that are stored keep what they have.
        sessions, are_known = [], False
        problem = problem or "neither is_game_event nor is_practice_event is true or false"
    if last is None and starts_at is not None:
        last = starts_at + MAX_EVENT_LENGTH
    teams = _teams(attributes if isinstance(attributes, Mapping) else {}) if is_game else ()
    return Event(
        key,
        fragment("game" if is_game else "team_events", raw),
        origin,
        bool(is_game),
        None if is_game else team_id,
        teams or (() if team_id is None else (team_id,)),
        starts_at,
        last if is_over_known else None,
        tuple(sessions),
        problem,
        are_known,
        item.get("results") is not None,
    )


def unite(event: Event, other: Event) -> Event:
    """Return an event with the sessions that only another list's version of it has."""
    ids = {session.id for session in event.sessions}
    more = tuple(session for session in other.sessions if session.id not in ids)
    if not more:
        return event
    if not event.are_sessions_known:
        return replace(event, sessions=(*event.sessions, *more))
    item, other_item = (json.loads(element(version.is_game, version.body)) for version in (event, other))
    ids = {session.id for session in more}
    item["results"] += [result for result in other_item["results"] if _session_id(result)[0] in ids]
    [union] = events([json.dumps(item).encode()], event.origin.team_id, event.origin).events
    return union


class _Results(NamedTuple):
    """What an event says of its sessions."""

    sessions: list[Session]
    is_complete: bool
    has_ends: bool
    """Whether no time of a session is unreadable, or contradicts another."""
    has_copies: bool
    """Whether its only fault is that it lists a session twice."""
    problem: str | None


def _results(item: Mapping[str, Any]) -> _Results:
    """Read the sessions of an event; the problem is that of the first one with any."""
    results = item.get("results")
    if not isinstance(results, list):
        kind = "missing" if "results" not in item else "null" if results is None else f"a {type(results).__name__}"
        return _Results([], False, True, False, f"results is {kind}, not a list of sessions")
    sessions: list[Session] = []
    by_id: dict[str, Any] = {}
    is_complete, has_ends, problems = True, True, []
    for position, result in enumerate(results):
        session_id, problem = _session_id(result)
        if session_id is None:
            is_complete = False
            problems.append(f"results[{position}]: {problem}")
            continue
        if session_id in by_id:
            if result != by_id[session_id]:
                problems.append(f"results[{position}]: it has the id of another session, and differs from it")
            continue
        by_id[session_id] = result
        start, end, unreadable = _span(result)
        if unreadable:
            problems.append(f"results[{position}]: {unreadable}")
        has_ends = has_ends and not unreadable and not _is_backwards(start, end)
        links = frozenset(operation for operation, link in _LINKS.items() if result.get(link))
        sessions.append(Session(session_id, start, end, links))
    has_copies = not problems and len(by_id) < len(results)
    return _Results(sessions, is_complete, has_ends, has_copies, next(iter(problems), None))


def moment(milliseconds: float) -> datetime:
    """Convert epoch milliseconds to a time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def fragment(operation: str, raw: bytes) -> bytes:
    """Return a list's entry as a body of its own, in the shape of the operation's responses."""
    root = {"teams": b"teams", "schedule": b"games", "team_events": b"events"}.get(operation)
    return raw if root is None else b'{"%s":[%s]}' % (root, raw)


def element(is_game: bool, body: bytes) -> bytes:
    """Return the list's entry of which `fragment` made the body of an event."""
    return body if is_game else body[len(b'{"events":[') : -len(b"]}")]


def number(value: object) -> int | None:
    """Return a team id as a number; the wire may send a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        return None
    return value


def is_sendable(key: str) -> bool:
    """Return whether the id can be part of a path."""
    return _SENDABLE.fullmatch(key) is not None and key not in (".", "..")


def _id(item: object, name: str) -> tuple[str | None, str]:
    if not isinstance(item, Mapping):
        return None, f"the entry is {'null' if item is None else f'a {type(item).__name__}'}, not an object"
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None, f"its {name} is {'null or missing' if value is None else f'a {type(value).__name__}'}"
    if not is_sendable(str(value)):
        return None, f"its {name} {str(value)[:80]!r} is no id: ids hold ASCII letters, digits, - _ . @ and :"
    # The lists of both teams, and the schedule, have it.
    return intern(str(value)), ""


def _session_id(item: object) -> tuple[str | None, str]:
    """Return the id of a session, even one that cannot be sent: then its units fail by themselves."""
    key, problem = _id(item, "id")
    value = item.get("id") if isinstance(item, Mapping) else None
    # A NUL or half of a surrogate pair is in no name of a unit.
    is_name = isinstance(value, str) and value != "" and value.isprintable()
    return (value, "") if key is None and is_name else (key, problem)


def _teams(item: Mapping[str, Any]) -> tuple[int, ...]:
    sides = (number(item.get(side)) for side in _SIDES)
    return tuple(side for side in sides if side)


def _team_problem(item: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the teams of a game. One that is null is not known yet."""
    sides = [side for side in _SIDES if item.get(side) and number(item[side]) is None]
    return next((f"{side} is {str(item[side])[:40]!r}, not the id of a team" for side in sides), None)


def _span(item: Mapping[str, Any]) -> tuple[datetime | None, datetime | None, str | None]:
    start, unreadable_start = _time(item, "started_at")
    end, unreadable_end = _time(item, "ended_at")
    return start, end, unreadable_start or unreadable_end


def _is_backwards(start: datetime | None, end: datetime | None) -> bool:
    return start is not None and end is not None and end < start


def _time(item: Mapping[str, Any], name: str) -> tuple[datetime | None, str | None]:
    value = item.get(name)
    if value is None:
        return None, None
    try:
        if not isinstance(value, (int, float, str)) or isinstance(value, bool):
            raise TypeError
        return moment(float(value)), None
    except (ValueError, TypeError, OverflowError, OSError):
        return None, f"{name} is {str(value)[:40]!r}, not a time in epoch milliseconds"
