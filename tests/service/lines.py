"""Box-score rows and stat occurrences of sessions as Python objects, from which bodies and truth follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .season import Action, Possession, Season, Session, Shot

BASE = ("FGA", "FG", "PTS")
"""Codes that every line has; the others are left out where they are zero."""


@dataclass(frozen=True)
class Occurrence:
    """One stat occurrence."""

    session: Session
    stat: str
    value: float
    action: Action


@dataclass
class Line:
    """One element of `player_stats`: a player's, or with id 0 the team's."""

    team_id: int
    player_id: int
    version: int
    occurrences: list[Occurrence]

    @property
    def totals(self) -> dict[str, float]:
        """Stat code → sum of its occurrences."""
        sums: dict[str, float] = dict.fromkeys(BASE, 0)
        for one in self.occurrences:
            sums[one.stat] = sums.get(one.stat, 0) + one.value
        return sums

    @property
    def by_stat(self) -> dict[str, list[Occurrence]]:
        found: dict[str, list[Occurrence]] = {}
        for one in self.occurrences:
            found.setdefault(one.stat, []).append(one)
        return found


def team_ids(season: Season, sessions: Iterable[Session]) -> list[int]:
    """The teams of the sessions' events, in the order in which they are served."""
    found: dict[int, None] = {}
    for session in sessions:
        known = season.session(session.id)
        for team_id in known[0].team_ids if known else ():
            found[team_id] = None
    return season.reorder(found, "teams of a session")


def lines(season: Season, sessions: Iterable[Session], team_id: int) -> list[Line]:
    """The team's total and each of its players that did something or were on court, in the order in which they are served."""
    chosen = list(sessions)
    version = max((session.revision for session in chosen), default=1)
    occurrences = [
        Occurrence(session, stat, value, action)
        for session in chosen
        for possession in session.of_team(team_id)
        for action in possession.actions
        for stat, value in action.increments.items()
    ]
    players: dict[int, list[Occurrence]] = {}
    for session in chosen:
        for possession in session.of_team(team_id):
            for player in possession.player_ids:
                players.setdefault(player, [])
    for one in occurrences:
        players.setdefault(one.action.player_id, []).append(one)
    found = [Line(team_id, 0, version, occurrences)]
    for player_id in sorted(players):
        found.append(Line(team_id, player_id, max((session.revisions.get(player_id, 1) for session in chosen), default=1), players[player_id]))
    return season.reorder(found, f"lines of {team_id}")


def shots(session: Session, team_id: int) -> Iterator[tuple[Action, Shot]]:
    """The team's attempts from the field, by time."""
    for possession in session.of_team(team_id):
        for action in possession.actions:
            if action.shot is not None:
                yield action, action.shot


def court_players(season: Season, session: Session, team_id: int) -> list[int]:
    """The team's players who were on court."""
    found = {player for possession in session.of_team(team_id) for player in possession.player_ids}
    found |= {action.player_id for possession in session.of_team(team_id) for action in possession.actions}
    return season.reorder(sorted(found), f"court players of {team_id}")


@dataclass(frozen=True)
class Sample:
    """One sensor location."""

    t: int
    player_id: int
    team_id: int
    tag: str
    x: int
    y: int
    z: int
    speed: float


def samples(season: Season, session: Session, start: int, end: int, step: int = 30_000) -> list[list[Sample]]:
    """Batches of locations in [start, end), one for each time step."""
    found = []
    for index, t in enumerate(range(session.start, session.end, step)):
        if not start <= t < end:
            continue
        batch = []
        for team_id in team_ids(season, [session]):
            for player_id in court_players(season, session, team_id):
                turn = (index * 397 + player_id * 31) % 1000
                tag = str(season.player(player_id).sensor)
                batch.append(Sample(t, player_id, team_id, tag, turn * 14 - 7000, 13_000 - turn * 26, 1000 + turn, turn / 250))
        found.append(batch)
    return found


def possession_number(session: Session, possession: Possession) -> int:
    """Its place within the team's list."""
    return next(index for index, one in enumerate(session.of_team(possession.team_id)) if one is possession)
