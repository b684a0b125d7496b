"""A game of the season that is played action by action: REST has each action at once, and the live streams send it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .bodies import Bodies
from .lines import lines
from .season import Action, Event, Possession, Session

if TYPE_CHECKING:
    from .server import Service

Totals = dict[tuple[int, int], dict[str, float]]
"""By team and player (0 is the team): the codes that are not zero."""


class PlayedGame:
    """The game begins with no action; `play` brings the next ones. `is_numbered` says whether a replay has its messages."""

    def __init__(self, service: Service, event: Event, *, is_numbered: bool = True) -> None:
        self.service, self.event, self.is_numbered = service, event, is_numbered
        self.pending: list[tuple[Session, Possession, Action]] = []
        self.version = 1
        with service.season.lock:
            for session in event.sessions:
                for possession in session.possessions:
                    self.pending += [(session, possession, action) for action in possession.actions]
                    possession.actions = []
            service.season.revision += 1
            self._sent_totals = self.totals()

    def totals(self) -> Totals:
        """The box score, by the season's objects."""
        with self.service.season.lock:
            totals: Totals = {}
            for team_id in self.event.team_ids:
                for line in lines(self.service.season, self.event.sessions, team_id):
                    totals[team_id, line.player_id] = {code: value for code, value in line.totals.items() if value}
            return totals

    def play(self, count: int = 1) -> bool:
        """The next actions happen, each with its messages. Whether there were any."""
        actions, self.pending = self.pending[:count], self.pending[count:]
        for session, possession, action in actions:
            with self.service.season.lock:
                possession.actions.append(action)
                session.revision = self.version
                self.service.season.touch(session, action.player_id)
                self.version = session.revision
                self.service.season.revision += 1
            self.send_changes()
        return bool(actions)

    def correct(self) -> str | None:
        """A shot becomes a make or a miss."""
        session = self.event.sessions[0]
        with self.service.season.lock:
            session.revision = self.version
            change = self.service.change.correct_stat(session.id)
            self.version = session.revision
        self.send_changes()
        return change

    def send_changes(self) -> None:
        """A stats message for each line that changed, with the new values of its changed codes."""
        now = self.totals()
        for (team_id, player_id), stats in now.items():
            before = self._sent_totals.get((team_id, player_id), {})
            changes = {code: stats.get(code, 0.0) for code in {*stats, *before} if stats.get(code, 0) != before.get(code, 0)}
            if changes:
                data = {"occurred_at": self.event.start, "team_id": team_id, "player_id": player_id, "stats": changes}
                data |= {"classification": "", "version": self.version}
                self.service.live.send(data, source="stats", numbered=self.is_numbered, type="stats")
        self._sent_totals = now

    def snapshot(self) -> dict[str, Any]:
        """What the Broadcast API says of the game now."""
        with self.service.season.lock:
            return Bodies(self.service.season, self.service.links, self.service.features).game_stats(self.event)
