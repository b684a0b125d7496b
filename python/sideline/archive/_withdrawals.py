"""Finds what the lists of a sync no longer have. Pure.

A complete list with other entries withdraws what it no longer lists at once; an empty list does so when a second sync
finds the same.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ._life import COMPLETE, Observation
from ._listing import MAX_EVENT_LENGTH, Event
from ._plan import event_of, has_rows

Row = Mapping[str, Any]

_MAX_LENGTH = timedelta(days=31)
"""An end that is later than this after the start is wrong."""


@dataclass(frozen=True)
class Parent:
    """A received list: the parent of the units that it lists."""

    ids: frozenset[str]
    """Those of its entries that are not settled: nothing stored of the others is missing."""
    is_whole: bool
    """Whether each entry has an id: an entry without one may be any missing one."""
    is_empty: bool


@dataclass
class Lists:
    """The lists of one sync, and their range."""

    start: datetime
    end: datetime
    schedule: Parent | None = None
    teams: dict[int, Parent] = field(default_factory=dict)

    def covers(self, row: Row) -> bool:
        """Return whether the range contains the whole event: how the service reads a range is unknown."""
        starts_at, ends_at = row["starts_at"], row["over_at"]
        if starts_at is None and ends_at is not None:
            starts_at = ends_at - MAX_EVENT_LENGTH
        elif starts_at is not None and (ends_at is None or ends_at - starts_at > _MAX_LENGTH):
            ends_at = starts_at
        return starts_at is not None and self.start <= starts_at and ends_at < self.end

    def never_cover(self, row: Row) -> bool:
        """Return whether it is a stored game of the teams, without the times by which a range contains it."""
        ends_at = row["over_at"]
        has_time = row["starts_at"] is not None or (ends_at is not None and ends_at - self.end <= _MAX_LENGTH)
        is_stored_game = row["game_id"] is not None and has_rows(row)
        return is_stored_game and not has_time and any(team in self.teams for team in row["teams"] or ())


def orphaned_events(
    rows: Iterable[Row], lists: Lists, listed_ids: Collection[str], *, are_all_teams: bool
) -> list[str]:
    """Return stored events that no list of events has, of which no list can say that they are gone.

    The schedule alone lists them, none of their teams is in the list of teams, or they are games without times. They
    are requested by their ids.
    """
    scheduled_ids = frozenset() if lists.schedule is None else lists.schedule.ids
    events: dict[str, None] = {}
    for row in rows:
        event_id = event_of(row)
        if event_id is None or event_id in listed_ids or event_id in events or row["status"] == "withdrawn":
            continue
        is_scheduled = event_id in scheduled_ids and row["session_id"] is not None
        has_no_list = are_all_teams and not any(team in lists.teams for team in row["teams"] or ())
        if is_scheduled or (has_no_list and lists.covers(row)) or lists.never_cover(row):
            events[event_id] = None
    return list(events)


def missing_events(rows: Iterable[Row], lists: Lists) -> dict[str, Observation]:
    """Return the events that no list has any more, with what the lists say about each."""
    observations: dict[str, Observation] = {}
    # A practice may be in the list of another team now.
    listed_ids = frozenset().union(*(parent.ids for parent in lists.teams.values() if parent is not None))
    for row in rows:
        event_id = event_of(row)
        if event_id is None or event_id in observations or row["status"] == "withdrawn" or not lists.covers(row):
            continue
        if event_id in listed_ids:
            continue
        parents = [lists.teams.get(team) for team in row["teams"] or () if team in lists.teams]
        if not parents:
            continue
        if row["game_id"] is not None:
            parents.append(lists.schedule)
        if (observation := _absent(event_id, parents)) is not None:
            observations[event_id] = observation
    return observations


def missing_games(rows: Iterable[Row], find: Callable[[str], Row | None], lists: Lists) -> dict[str, Observation]:
    """Return the games that the schedule no longer has, but for those whose event has moved out of the range.

    `find` returns the row of a unit.
    """
    observations: dict[str, Observation] = {}
    for row in rows:
        if row["operation"] == "schedule" and has_rows(row) and (row["starts_at"] is None or lists.covers(row)):
            observation = _absent(row["game_id"], [lists.schedule])
            if observation is None:
                continue
            event = find(f"game/{row['game_id']}")
            if row["starts_at"] is None:
                # Only its event says when it is.
                is_within = event is not None and (event["status"] == "withdrawn" or lists.covers(event))
            else:
                is_within = event is None or event["status"] not in COMPLETE or lists.covers(event)
            if is_within:
                observations[row["game_id"]] = observation
    return observations


def _absent(key: str, parents: Iterable[Parent | None]) -> Observation | None:
    """Return `None` if one of the parents has it, or none can be read."""
    readable = []
    is_known = True
    for parent in parents:
        if parent is None or not parent.is_whole:
            is_known = False
        elif key in parent.ids:
            return None
        else:
            readable.append(parent)
    if not readable:
        return None
    if not is_known:
        return Observation.UNREADABLE_PARENT
    return Observation.LIST_WITHOUT_IT if not all(parent.is_empty for parent in readable) else Observation.EMPTY_LIST


def unlisted_sessions(event: Event, rows: Iterable[Row], session_ids: Collection[str]) -> list[Row]:
    """Return rows of units of sessions that neither this event nor another one lists any more.

    Units of a game as a whole have none if the event lists no session, or is a practice now.
    """
    if not event.are_sessions_known:
        return []
    has_game_units = event.is_game and bool(event.sessions)
    return [
        row
        for row in rows
        if row["event_id"] == event.id
        and row["status"] != "withdrawn"
        and (row["session_id"] not in session_ids if row["session_id"] is not None else not has_game_units)
    ]
