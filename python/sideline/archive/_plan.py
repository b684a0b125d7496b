"""Decides what a sync requests: units from the schedule and the teams' events. Pure: no request, no file."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from .._rows import did_you_mean
from ._life import COMPLETE, RESERVED_SEQUENCE, Observation, after, is_lacking, state_of
from ._listing import Event, Game, is_sendable

MIN_SETTLED_TIME = timedelta(hours=3)
"""A game may continue for this long after its last known end: a break between sessions looks like an end."""

_MAX_SESSION_TIME = timedelta(days=200)
"""A longer session has a wrong start or end; `client.locations` refuses a little more, 10,000 windows."""

_NOT_PLAYED = {"CANCELED", "CANCELLED", "POSTPONED"}


class Resource(NamedTuple):
    """The tables of one body, and the column whose value identifies the body in all of them."""

    key: str
    tables: tuple[str, ...]


RESOURCES: Mapping[str, Resource] = {
    "teams": Resource("team_id", ("teams",)),
    "roster": Resource("team_id", ("players", "special_services", "team")),
    "schedule": Resource("game_id", ("games",)),
    "game": Resource("event_id", ("events", "sessions", "location_windows")),
    "team_events": Resource("event_id", ("events", "sessions", "location_windows")),
    "stats": Resource("session_id", ("player_stats", "box_score")),
    "stats_details": Resource("session_id", ("stat_events",)),
    "possessions": Resource("session_id", ("possessions", "possession_events", "possession_players")),
    "shots": Resource("session_id", ("shots",)),
    "locations": Resource("session_id", ("locations",)),
    "play_by_play": Resource("game_id", ("play_by_play",)),
    "ball_screens": Resource("game_id", ("ball_screens",)),
}
"""The archived resources. The event of a game is stored from `game`, a practice from `team_events`."""

TABLES: tuple[str, ...] = tuple(dict.fromkeys(name for resource in RESOURCES.values() for name in resource.tables))

ANSWERS = ("tracking_loads", "tracking_defenders")
"""Tables that a sync computes from stored positions."""

SOURCES_OF_ANSWERS = ("locations", "possessions", "shots", "stats_details")
"""The operations whose bodies they come from."""

SESSION_OPERATIONS = ("stats", "stats_details", "possessions", "shots", "locations")
"""Operations requested for each session."""

GAME_OPERATIONS = ("play_by_play", "ball_screens")
"""Operations requested for each game as a whole."""

LIST_OPERATIONS = ("teams", "schedule", "game", "team_events")
"""Operations whose bodies are entries of lists."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One body to request, with the keys known from the plan."""

    operation: str
    id: str
    """The id of the team, game, event or session: the value of `RESOURCES[operation].key`."""
    team_id: int | None = None
    game_id: str | None = None
    session_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    over_at: datetime | None = None
    """When its event ended; `None` if that is unknown, or the unit has no event."""
    event_id: str | None = None
    """The event that lists it; `None` if a list does."""
    starts_at: datetime | None = None
    """When its event or game starts: lists whose range contains this time should have it."""
    teams: tuple[int, ...] = ()
    """The teams whose events should list it."""
    is_linked: bool = True
    """Whether its parent links to it. A resource that was never linked may not exist."""
    is_malformed: bool = False
    """Whether it stands for an unreadable entry of a list."""

    @property
    def name(self) -> str:
        """The name of the unit in the archive: "stats/<session id>", or "event/<id>" for an unreadable entry."""
        return f"{'event' if self.is_malformed else self.operation}/{self.id}"

    @property
    def month(self) -> str:
        """The month in which its game or practice starts, such as "2026-11": the partition of its rows.

        A malformed entry has none, so that each sync of a list reads its hole.
        """
        at = self.starts_at
        return NO_MONTH if at is None or self.is_malformed else f"{at.year:04d}-{at.month:02d}"

    @property
    def key(self) -> int | str:
        """The value that identifies its rows."""
        return int(self.id) if RESOURCES[self.operation].key == "team_id" else self.id

    @property
    def problem(self) -> str | None:
        """Why it cannot be requested, or `None`."""
        if not is_sendable(self.id):
            return f"not sent: {self.id[:80]!r} is no id: ids hold ASCII letters, digits, - _ . @ and :"
        if self.operation == "locations":
            start, end = self.start or "no start", self.end or "no end"
            if not (self.start and self.end and self.start < self.end):
                return f"not sent: locations need a session's start and a later end; it has {start} and {end}"
            if self.end - self.start > _MAX_SESSION_TIME:
                return f"not sent: a session of {(self.end - self.start).days} days, from {start} to {end}"
        return None


LISTS, TEAMS_LIST = ("schedule/all", "teams/all"), "team_events/team "
"""The names of the requests for lists, and how those for the events of teams begin."""


def is_list(unit: str) -> bool:
    """Return whether the unit of this name is the request for a list."""
    return unit in LISTS or unit.startswith(TEAMS_LIST)


NO_MONTH = "undated"
"""The month of units without an event."""

UNDATED_OPERATIONS = frozenset(("teams", "roster"))
"""Operations whose units never have an event."""


def partitions(month: str) -> tuple[str, ...]:
    """Return the partitions of `coverage` with the units of a month.

    Each sync rewrites the entries of lists, so they have one of their own.
    """
    return (month,) if month == NO_MONTH else (month, f"{month}-lists")


def partition(unit: "Unit") -> str:
    """Return the partition of `coverage` with a unit."""
    return partitions(unit.month)[-1 if unit.operation in LIST_OPERATIONS else 0]


def operations(tables: Iterable[str] | None) -> frozenset[str]:
    """Return the operations that have the tables; by default all but locations, which are about 100 times the rest."""
    if tables is None:
        return frozenset(RESOURCES) - {"locations"}
    names = [tables] if isinstance(tables, str) else list(tables)
    if not names:
        raise ValueError("tables has no table: name one, or leave it out for all but locations")
    candidates = (*TABLES, *ANSWERS)
    if unknown_names := [name for name in names if name not in candidates]:
        hint = did_you_mean(unknown_names[0], candidates)
        raise ValueError(
            f"no archived table is named {', '.join(map(str, unknown_names))}; there are {', '.join(candidates)}{hint}"
        )
    sources = SOURCES_OF_ANSWERS if set(names) & set(ANSWERS) else ()
    of_bodies = (operation for operation, resource in RESOURCES.items() if set(names) & set(resource.tables))
    return frozenset((*of_bodies, *sources))


def with_events(operations: frozenset[str]) -> frozenset[str]:
    """Add the events that list a game's sessions: without them no stored game is known to be over.

    Their bodies are entries of lists that a plan requests anyway.
    """
    needs_events = operations.intersection((*SESSION_OPERATIONS, *GAME_OPERATIONS))
    return operations | {"game", "team_events"} if needs_events else operations


def of_event(event: Event) -> Unit:
    """Return the unit of the event itself, whose body is in the list of the team's events."""
    return Unit(
        "game" if event.is_game else "team_events",
        event.id,
        team_id=event.team_id,
        game_id=event.id if event.is_game else None,
        over_at=event.over_at,
        starts_at=event.starts_at,
        teams=event.teams,
    )


def of_game(game: Game) -> Unit:
    """Return the unit of a game of the schedule."""
    return Unit("schedule", game.id, game_id=game.id, starts_at=game.tipoff_at, teams=game.teams)


def units_within(event: Event, operations: Collection[str], clock: datetime) -> list[Unit]:
    """Return each wanted resource of each session of an event, and of the game itself, linked or not.

    Before its event is over, a session without a start and a later end has no locations yet.
    """
    is_open = event.over_at is not None and event.over_at > clock
    facts: dict[str, Any] = {
        "game_id": event.id if event.is_game else None,
        "over_at": event.over_at,
        "event_id": event.id,
        "starts_at": event.starts_at,
        "teams": event.teams,
    }
    units = []
    for session in event.sessions:
        for operation in SESSION_OPERATIONS:
            if operation not in operations:
                continue
            span: dict[str, Any] = {"start": session.start, "end": session.end} if operation == "locations" else {}
            has_link = operation in session.links
            unit = Unit(operation, session.id, session_id=session.id, is_linked=has_link, **span, **facts)
            if operation != "locations" or unit.problem is None or not is_open:
                units.append(unit)
    if event.is_game and event.sessions:
        units += [Unit(name, event.id, is_linked=False, **facts) for name in GAME_OPERATIONS if name in operations]
    return units


def known_units_within(event: Event, operations: Collection[str], rows: Iterable[Mapping[str, Any]]) -> list[Unit]:
    """Return the units of an event from their rows of `coverage`, for an event whose sessions cannot be read now."""
    return [
        unit_of(row)
        for row in rows
        if row["event_id"] == event.id and row["operation"] in operations and row["status"] != "withdrawn"
    ]


def unit_of(row: Mapping[str, Any]) -> Unit:
    """Return the unit of a row of `coverage`."""
    return Unit(
        row["operation"],
        row["unit"].partition("/")[2],
        team_id=row["team_id"],
        game_id=row["game_id"],
        session_id=row["session_id"],
        start=row["start"],
        end=row["end"],
        over_at=row["over_at"],
        event_id=row["event_id"],
        starts_at=row["starts_at"],
        teams=tuple(row["teams"] or ()),
        is_linked=bool(row["linked"]),
        is_malformed=row["unit"].startswith("event/"),
    )


def team_numbers(teams: Sequence[object]) -> list[int]:
    """Return each team once; raise `ValueError` for an id that is not a number, and for no team at all."""
    if not teams:
        raise ValueError("team_ids has no team: if a search found none, check the name; leave it out for all teams")
    if not all(str(team).isascii() and str(team).isdigit() for team in teams):
        raise ValueError(f"team_ids are numbers, not {teams}: client.find_team(name) finds a team")
    return list(dict.fromkeys(int(str(team)) for team in teams))


def event_of(row: Mapping[str, Any]) -> str | None:
    """Return the id of the event that a unit is, or belongs to."""
    is_event = row["operation"] in ("game", "team_events") and not is_list(row["unit"])
    return row["event_id"] or (row["unit"].partition("/")[2] if is_event else None)


def has_rows(row: Mapping[str, Any]) -> bool:
    """Return whether the unit has rows in the tables, or may have some from an interrupted sync."""
    return row["body_id"] is not None or row["sequence"] == RESERVED_SEQUENCE


def is_unstored_hole(row: Mapping[str, Any]) -> bool:
    """Return whether the unit is lacking and nothing of it was ever stored."""
    return is_lacking(row["status"]) and not has_rows(row) and not row["sequence"]


def is_final(unit: Unit, clock: datetime) -> bool:
    """Return whether its event is over, so that a change is a correction. A unit without an event is never final."""
    return unit.over_at is not None and unit.over_at <= clock - MIN_SETTLED_TIME


def is_due(unit: Unit, row: Mapping[str, Any] | None, clock: datetime, window: timedelta | None) -> bool:
    """Return whether to request it: it is new, was unfinished or a hole, or may have been corrected since.

    `row` is that of the table `coverage`. A `window` of `None` has no end.
    """
    state = state_of(row)
    for observation in _since(unit, row, clock, window):
        state = after(state, observation)
    return not state.is_final


def _since(
    unit: Unit, row: Mapping[str, Any] | None, clock: datetime, window: timedelta | None
) -> Iterator[Observation]:
    """Yield what the lists and the time say about a stored unit before it is requested again."""
    if row is None:
        return
    if row["final"] and unit.over_at is not None and window is not None and clock - unit.over_at > window:
        planned_at = row.get("planned_at")
        # Otherwise a correction between the last request in the window and its end would be missed.
        if planned_at is None or planned_at - unit.over_at >= window:
            yield Observation.LAST_LOOK
    if unit.is_linked:
        yield Observation.FIRST_LINK
    has_moved = unit.operation == "locations" and (row["start"], row["end"]) != (unit.start, unit.end)
    if has_moved or row["game_id"] != unit.game_id or row["over_at"] != unit.over_at:
        yield Observation.NEW_DATE


def is_settled(unit: Unit, row: Mapping[str, Any], clock: datetime, window: timedelta | None) -> bool:
    """Return whether an entry of a list is beyond the window, and `row` is the row it would get, but for times."""
    at = unit.over_at or unit.starts_at
    if at is None or window is None or clock - at <= window:
        return False
    facts: dict[str, Any] = {
        "team_id": unit.team_id,
        "game_id": unit.game_id,
        "event_id": unit.event_id,
        "starts_at": unit.starts_at,
    }
    facts |= {"over_at": unit.over_at, "teams": list(unit.teams), "linked": unit.is_linked}
    facts |= {"final": is_final(unit, clock)}
    return row["status"] in COMPLETE and all(row[name] == value for name, value in facts.items())


def unlisted_games(games: Iterable[Game], listed_ids: Collection[str], clock: datetime) -> list[str]:
    """Return the ids of games of the schedule that were played but are in no team's events."""
    return [game.id for game in games if game.id not in listed_ids and _is_due(game, clock)]


def early_games(games: Iterable[Game], event_ids: Collection[str], clock: datetime) -> list[str]:
    """Return the ids of games of the schedule that are in no team's events because they were not played."""
    return [game.id for game in games if game.id not in event_ids and not _is_due(game, clock)]


def _is_due(game: Game, clock: datetime) -> bool:
    # One without a tip-off may have been played.
    is_over = game.tipoff_at is None or game.tipoff_at <= clock - MIN_SETTLED_TIME
    return is_over and game.status not in _NOT_PLAYED
