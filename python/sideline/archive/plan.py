"""What a sync asks for: units of work from the schedule and the teams' events. Pure: it asks nobody."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

SETTLED = timedelta(hours=3)
"""A game may go on until so long after the end that was last seen: a break between sessions looks like an end."""

_LONGEST = timedelta(days=1)
"""What has no end is over so long after its start."""

_OFF = {"CANCELED", "CANCELLED", "POSTPONED"}


class Resource(NamedTuple):
    """One body's tables, and the column whose value names the body in all of them."""

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
"""What is archived. A game's event is kept as `game` gives it, a practice as `team_events` does."""

TABLES: tuple[str, ...] = tuple(dict.fromkeys(name for resource in RESOURCES.values() for name in resource.tables))

_OF_SESSION = {
    "stats": "_stats",
    "stats_details": "_stats_details",
    "possessions": "_possessions",
    "shots": "_shots",
    "locations": "_locations",
}
_OF_GAME = ("play_by_play", "ball_screens")


@dataclass(frozen=True)
class Unit:
    """One body to have: what to ask for, and when what it tells of was over."""

    operation: str
    id: str
    """Of the team, game, event or session: the value of `RESOURCES[operation].key`."""
    team_id: int | None = None
    game_id: str | None = None
    session_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    over_at: datetime | None = None
    """When the event was over, as far as is known; `None` where it is no event."""

    @property
    def name(self) -> str:
        """Names it in the archive."""
        return f"{self.operation}/{self.id}"


def operations(tables: Iterable[str] | None) -> frozenset[str]:
    """Those that give the tables; without a choice all but locations, which are a hundred times the rest."""
    if tables is None:
        return frozenset(RESOURCES) - {"locations"}
    names = [tables] if isinstance(tables, str) else list(tables)
    if unknown := sorted(set(names) - set(TABLES)):
        raise ValueError(f"no archived table is named {', '.join(unknown)}; there are {', '.join(TABLES)}")
    return frozenset(operation for operation, resource in RESOURCES.items() if set(names) & set(resource.tables))


def over_at(event: Mapping[str, Any]) -> datetime | None:
    """The last end among an event and its sessions; a day after its start where it has none."""
    ends = [item["ended_at"] for item in (event, *(event.get("results") or ())) if item.get("ended_at") is not None]
    if ends:
        return moment(max(ends))
    return None if event.get("started_at") is None else moment(event["started_at"]) + _LONGEST


def moment(milliseconds: float) -> datetime:
    """Epoch milliseconds as a time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def of_event(event: Mapping[str, Any], team_id: int | None) -> Unit:
    """The event itself, whose body the teams' events hold."""
    is_game = bool(event.get("is_game_event"))
    over = over_at(event)
    return Unit(
        "game" if is_game else "team_events",
        event["id"],
        team_id=None if is_game else team_id,
        game_id=event["id"] if is_game else None,
        over_at=over,
    )


def within(event: Mapping[str, Any], wanted: Collection[str]) -> list[Unit]:
    """What an event leads to: each session's resources, and a game's own.

    A session that links to any resource has those that it links to; one without links is asked for all.
    """
    event_unit = of_event(event, None)
    units = []
    for session in event.get("results") or ():
        linked = {operation for operation, link in _OF_SESSION.items() if session.get(link)}
        for operation in _OF_SESSION:
            if operation not in wanted or (linked and operation not in linked):
                continue
            span = _span(session) if operation == "locations" else (None, None)
            if operation == "locations" and span == (None, None):
                continue
            units.append(
                Unit(
                    operation,
                    session["id"],
                    game_id=event_unit.game_id,
                    session_id=session["id"],
                    start=span[0],
                    end=span[1],
                    over_at=event_unit.over_at,
                )
            )
    if event_unit.game_id and event.get("results"):
        units += [
            Unit(operation, event_unit.id, game_id=event_unit.id, over_at=event_unit.over_at)
            for operation in _OF_GAME
            if operation in wanted
        ]
    return units


def _span(session: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    start, end = session.get("started_at"), session.get("ended_at")
    return (None, None) if start is None or end is None or end <= start else (moment(start), moment(end))


def clock(now: datetime, events: Iterable[Mapping[str, Any]]) -> datetime:
    """What time it is at the service: nothing can have ended after it, whatever this machine's clock says."""
    ends = (
        item["ended_at"]
        for event in events
        for item in (event, *(event.get("results") or ()))
        if item.get("ended_at") is not None
    )
    last = max(ends, default=None)
    return now if last is None else max(now, moment(last))


def is_final(unit: Unit, clock: datetime) -> bool:
    """Whether what it tells of is over, so that a change of it is a correction. What is no event is never over."""
    return unit.over_at is not None and unit.over_at + SETTLED <= clock


def is_due(unit: Unit, stored: Mapping[str, Any] | None, clock: datetime, window: timedelta | None) -> bool:
    """Whether to ask for it: it is new, was unfinished or not had when last seen, or may still be corrected.

    `stored` is its row of the table `coverage`; a `window` of `None` is without end.
    """
    if stored is None or stored["status"] not in ("fetched", "empty") or not stored["final"]:
        return True
    if unit.over_at is None or window is None or clock - unit.over_at <= window:
        return True
    return stored["over_at"] is None or unit.over_at > stored["over_at"]


def lost(games: Iterable[Mapping[str, Any]], seen: Collection[str], clock: datetime) -> list[str]:
    """Games of the schedule that were played and are in no team's events: each is asked for by its id."""
    return [
        game["event_id"]
        for game in games
        if game["event_id"] not in seen
        and game.get("tipoff_at") is not None
        and moment(game["tipoff_at"]) + SETTLED <= clock
        and str(game.get("status")).upper() not in _OFF
    ]
