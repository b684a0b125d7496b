"""Box-score rows and stat occurrences of sessions as Python objects, from which bodies and truth follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .season import Action, Season, Session, Shot

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
        for occurrence in self.occurrences:
            sums[occurrence.stat] = sums.get(occurrence.stat, 0) + occurrence.value
        return sums

    @property
    def by_stat(self) -> dict[str, list[Occurrence]]:
        occurrences: dict[str, list[Occurrence]] = {}
        for occurrence in self.occurrences:
            occurrences.setdefault(occurrence.stat, []).append(occurrence)
        return occurrences


def team_ids(season: Season, sessions: Iterable[Session]) -> list[int]:
    """The teams of the sessions' events, in the order in which they are served."""
    ids: dict[int, None] = {}
    for session in sessions:
        entry = season.session(session.id)
        for team_id in entry[0].team_ids if entry else ():
            ids[team_id] = None
    return season.reorder(ids, "teams of a session")


def lines(season: Season, sessions: Iterable[Session], team_id: int) -> list[Line]:
    """The team's total and each of its players that did something or were on court, in the order in which they are served."""
    selected_sessions = list(sessions)
    version = max((session.revision for session in selected_sessions), default=1)
    occurrences = [
        Occurrence(session, stat, value, action)
        for session in selected_sessions
        for possession in session.of_team(team_id)
        for action in possession.actions
        for stat, value in action.increments.items()
    ]
    players: dict[int, list[Occurrence]] = {}
    for session in selected_sessions:
        for possession in session.of_team(team_id):
            for player in possession.player_ids:
                players.setdefault(player, [])
    for occurrence in occurrences:
        players.setdefault(occurrence.action.player_id, []).append(occurrence)
    lines_of_team = [Line(team_id, 0, version, occurrences)]
    for player_id in sorted(players):
        lines_of_team.append(
            Line(team_id, player_id, max((session.revisions.get(player_id, 1) for session in selected_sessions), default=1), players[player_id])
        )
    return season.reorder(lines_of_team, f"lines of {team_id}")


def shots(session: Session, team_id: int) -> Iterator[tuple[Action, Shot]]:
    """The team's attempts from the field, by time."""
    for possession in session.of_team(team_id):
        for action in possession.actions:
            if action.shot is not None:
                yield action, action.shot


def court_players(season: Season, session: Session, team_id: int) -> list[int]:
    """The team's players who were on court."""
    player_ids = {player for possession in session.of_team(team_id) for player in possession.player_ids}
    player_ids |= {action.player_id for possession in session.of_team(team_id) for action in possession.actions}
    return season.reorder(sorted(player_ids), f"court players of {team_id}")


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
    batches = []
    for index, t in enumerate(range(session.start, session.end, step)):
        if not start <= t < end:
            continue
        batch = []
        for team_id in team_ids(season, [session]):
            for player_id in court_players(season, session, team_id):
                turn = (index * 397 + player_id * 31) % 1000
                tag = str(season.player(player_id).sensor)
                batch.append(Sample(t, player_id, team_id, tag, turn * 14 - 7000, 13_000 - turn * 26, 1000 + turn, turn / 250))
        batches.append(batch)
    return batches
