"""What the lists of a sync no longer have. Pure.

A parent that is whole and lists other entries withdraws what it no longer lists; one that lists nothing at all does so
when a second sync finds the same.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sideline.archive._listing import Event
from sideline.archive._plan import has_rows

Row = Mapping[str, Any]

Verdict = Literal["withdrawn", "missed", "unconfirmed"]
"""Of an entry that lists no longer have: gone at once, gone when the next sync misses it too, or a list that might have
it could not be read."""


@dataclass(frozen=True)
class Parent:
    """A list that was received."""

    ids: frozenset[str]
    is_whole: bool
    """Whether each of its entries has an id: one without may be any that is missed."""


@dataclass
class Lists:
    """The lists of one sync, and their range."""

    start: datetime
    end: datetime
    schedule: Parent | None = None
    teams: dict[int, Parent] = field(default_factory=dict)

    def has(self, row: Row) -> bool:
        """Whether the range has all of what the row's event may last: how the service reads a range is unknown."""
        starts_at, ends_at = row["starts_at"], row["over_at"] or row["starts_at"]
        return starts_at is not None and self.start <= starts_at and ends_at < self.end


def events(stored: Iterable[Row], lists: Lists) -> dict[str, Verdict]:
    """Events that no list has any more."""
    found: dict[str, Verdict] = {}
    for row in stored:
        event_id = row["event_id"] or (
            row["unit"].partition("/")[2] if row["operation"] in ("game", "team_events") else None
        )
        if event_id is None or event_id in found or row["status"] == "withdrawn" or not lists.has(row):
            continue
        parents = [lists.teams.get(team) for team in row["teams"] or () if team in lists.teams]
        if not parents:
            continue
        if row["game_id"] is not None:
            parents.append(lists.schedule)
        if (verdict := _absent(event_id, parents)) is not None:
            found[event_id] = verdict
    return found


def scheduled(stored: Iterable[Row], lists: Lists) -> dict[str, Verdict]:
    """Games that the schedule no longer has."""
    found: dict[str, Verdict] = {}
    for row in stored:
        if row["operation"] == "schedule" and has_rows(row) and lists.has(row):
            verdict = _absent(row["game_id"], [lists.schedule])
            if verdict is not None:
                found[row["game_id"]] = verdict
    return found


def _absent(key: str, parents: Iterable[Parent | None]) -> Verdict | None:
    """`None` where one of the parents has it, or none can be believed."""
    believed = []
    verdict: Verdict = "missed"
    for parent in parents:
        if parent is None or not parent.is_whole:
            verdict = "unconfirmed"
        elif key in parent.ids:
            return None
        else:
            believed.append(parent)
    if not believed:
        return None
    if verdict == "missed" and any(parent.ids for parent in believed):
        return "withdrawn"
    return verdict


def within(event: Event, stored: Iterable[Row], listed: Collection[str]) -> list[Row]:
    """Rows of units of sessions that the event no longer lists, and no other event does."""
    if not event.are_sessions_known:
        return []
    return [
        row
        for row in stored
        if row["event_id"] == event.id
        and row["status"] != "withdrawn"
        and (row["session_id"] not in listed if row["session_id"] is not None else not event.sessions)
    ]
