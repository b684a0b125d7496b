"""Changes of a season between two requests. Each keeps it consistent: every body and every row follows from the same objects.

Every method takes its target, or chooses one by the seed; it returns a sentence that says what changed, or `None` where nothing could.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from .season import DAY, Event, Possession, Season, Session, instant, milliseconds


class Mutations:
    """What may happen to a season while a client looks at it."""

    def __init__(self, season: Season, seed: int = 0) -> None:
        self.season = season
        self._dice = random.Random(seed)

    @property
    def all(self) -> dict[str, Callable[[], str | None]]:
        """Every mutation by its name, with a target of its own choice."""
        names: tuple[str, ...] = ("add_game", "add_session", "move_game", "remove_session", "withdraw_game", "unlist_game", "reissue_session", "correct_stat")
        names += (
            "insert_possession",
            "remove_possession",
            "trade_player",
            "rename_team",
            "change_status",
            "reorder",
            "schedule_game",
            "start_game",
            "retype_event",
        )
        return {name: getattr(self, name) for name in names}

    def _report_change(self, text: str) -> str:
        self.season.revision += 1
        return text

    def _game(self, event_id: str | None, *, is_played: bool = True) -> Event | None:
        if event_id is not None:
            return self.season.event(event_id)
        games = [event for event in self.season.games if bool(event.sessions) == is_played]
        return self._dice.choice(games) if games else None

    def _session(self, session_id: str | None) -> tuple[Event, Session] | None:
        if session_id is not None:
            return self.season.session(session_id)
        sessions = self.season.sessions()
        return self._dice.choice(sessions) if sessions else None

    def add_game(self, start: datetime | None = None) -> str | None:
        """A game that was played appears."""
        with self.season.lock:
            at = start or instant(self.season.now - self._dice.randint(DAY // 2, max(1, self.season.days - 1) * DAY))
            event = self.season.add_game(at, sessions=self._dice.randint(1, 3))
            return self._report_change(f"game {event.id} was added")

    def schedule_game(self, start: datetime | None = None) -> str | None:
        """A game appears in the schedule alone."""
        with self.season.lock:
            event = self.season.add_upcoming_game(start or instant(self.season.now + self._dice.randint(1, 10) * DAY))
            return self._report_change(f"game {event.id} was scheduled")

    def start_game(self, event_id: str | None = None) -> str | None:
        """An upcoming game is played: it moves to a time that is over and gets its first session."""
        with self.season.lock:
            event = self._game(event_id, is_played=False)
            if event is None:
                return None
            event.tipoff = min(event.tipoff, self.season.now - DAY // 2)
            session = self.season.add_session(event.id)
            return self._report_change(f"game {event.id} began with session {session.id}")

    def add_session(self, event_id: str | None = None) -> str | None:
        """A session appears at the end of a game."""
        with self.season.lock:
            event = self._game(event_id)
            if event is None:
                return None
            return self._report_change(f"session {self.season.add_session(event.id).id} was added to {event.id}")

    def move_game(self, event_id: str | None = None, by: timedelta | None = None) -> str | None:
        """A game and everything in it takes place at another time."""
        with self.season.lock:
            event = self._game(event_id)
            if event is None:
                return None
            delta = round(by.total_seconds() * 1000) if by is not None else self._dice.choice((-1, 1)) * self._dice.randint(1, 180) * 60_000
            event.tipoff += delta
            for session in event.sessions:
                session.start += delta
                session.end += delta
                for possession in session.possessions:
                    possession.start += delta
                    possession.end += delta
                    for action in possession.actions:
                        action.at += delta
            return self._report_change(f"game {event.id} moved by {delta} ms")

    def remove_session(self, session_id: str | None = None) -> str | None:
        """A session is taken from its event, and its id is no longer known. An event keeps at least one."""
        with self.season.lock:
            candidates = [(event, session) for event, session in self.season.sessions() if len(event.sessions) > 1]
            target = self.season.session(session_id) if session_id else self._dice.choice(candidates) if candidates else None
            if target is None:
                return None
            event, session = target
            event.sessions.remove(session)
            return self._report_change(f"session {session.id} was taken from {event.id}")

    def withdraw_game(self, event_id: str | None = None) -> str | None:
        """A game disappears from the schedule and the events, and its ids are no longer known. The last game is never withdrawn."""
        with self.season.lock:
            event = self._game(event_id) if len([event for event in self.season.games if event.sessions]) > 1 else None
            if event is None:
                return None
            self.season.events.remove(event)
            return self._report_change(f"game {event.id} was withdrawn")

    def unlist_game(self, event_id: str | None = None) -> str | None:
        """The schedule no longer lists a game that the teams' events still have, or lists it again."""
        with self.season.lock:
            event = self._game(event_id)
            if event is None:
                return None
            event.is_scheduled = not event.is_scheduled
            return self._report_change(f"game {event.id} is {'listed again' if event.is_scheduled else 'no longer listed'} by the schedule")

    def retype_event(self, event_id: str | None = None) -> str | None:
        """A practice turns out to be a game, or was one after all: an event in which only its first team plays."""
        with self.season.lock:
            events = [
                event
                for event in self.season.events
                if event.sessions and {possession.team_id for session in event.sessions for possession in session.possessions} <= {event.home_id}
            ]
            event = self.season.event(event_id) if event_id else self._dice.choice(events) if events else None
            if event is None:
                return None
            others = [team.id for team in self.season.teams if team.id != event.home_id]
            event.is_game, event.away_id = not event.is_game, 0 if event.is_game else self._dice.choice(others)
            for possession in (possession for session in event.sessions for possession in session.possessions):
                possession.opposing_player_ids = self.season.opponents(event, possession.team_id, possession.player_ids, possession.start)
            return self._report_change(f"event {event.id} is now a {'game' if event.is_game else 'practice'}")

    def reissue_session(self, session_id: str | None = None) -> str | None:
        """Give a session another id and keep its content."""
        with self.season.lock:
            target = self._session(session_id)
            if target is None:
                return None
            old, target[1].id = target[1].id, self.season.new_id()
            return self._report_change(f"session {old} is now {target[1].id}")

    def correct_stat(self, session_id: str | None = None) -> str | None:
        """A shot is now a make, a miss, a two or a three; every number that follows from it changes too."""
        with self.season.lock:
            target = self._session(session_id)
            actions = [] if target is None else [action for _, action in target[1].actions() if action.shot is not None]
            if target is None or not actions:
                return None
            action = self._dice.choice(actions)
            assert action.shot is not None
            # Only makes and misses change: the place of a shot says whether it is a three.
            action.shot.is_make = not action.shot.is_make
            self.season.touch(target[1], action.player_id)
            result = "make" if action.shot.is_make else "miss"
            return self._report_change(f"a shot of {action.player_id} in {target[1].id} is now a {result}")

    def insert_possession(self, session_id: str | None = None) -> str | None:
        """A possession is found in the middle of a session."""
        with self.season.lock:
            target = self._session(session_id)
            if target is None or not target[1].possessions:
                return None
            event, session = target
            index = self._dice.randrange(len(session.possessions))
            before = session.possessions[index]
            after = session.possessions[index + 1].start if index + 1 < len(session.possessions) else session.end
            if after - before.end < 2000:
                return None
            start, end = before.end + 100, before.end + (after - before.end) // 2
            new = self.season.possession(event, self._dice.choice(event.team_ids), start, end, is_rebound=False)
            session.possessions.insert(index + 1, new)
            self._touch_all(session, new)
            return self._report_change(f"a possession of team {new.team_id} was inserted in {session.id}")

    def remove_possession(self, session_id: str | None = None) -> str | None:
        """A possession was none."""
        with self.season.lock:
            target = self._session(session_id)
            if target is None or len(target[1].possessions) < 3:
                return None
            possession = self._dice.choice(target[1].possessions)
            target[1].possessions.remove(possession)
            self._touch_all(target[1], possession)
            return self._report_change(f"a possession of team {possession.team_id} was removed from {target[1].id}")

    def trade_player(self, player_id: int | None = None, team_id: int | None = None) -> str | None:
        """A player belongs to another team from now on."""
        with self.season.lock:
            movable = [player for player in self.season.players if len(self.season.roster(player.team_id)) > 5]
            if (player_id is None and not movable) or len(self.season.teams) < 2:
                return None
            player = self.season.player(player_id) if player_id is not None else self._dice.choice(movable)
            other = team_id if team_id is not None else self._dice.choice([team.id for team in self.season.teams if team.id != player.team_id])
            player.stints.append((other, max(self.season.now, player.stints[-1][1] + 1)))
            return self._report_change(f"player {player.id} went to team {other}")

    def rename_team(self, team_id: int | None = None, name: str | None = None) -> str | None:
        with self.season.lock:
            team = self.season.team(team_id) if team_id is not None else self._dice.choice(self.season.teams)
            if team is None:
                return None
            team.name = name or f"{team.name.split()[0]} {self._dice.choice(('Hawks', 'Łynx', 'Rovers', 'United'))} {self._dice.randint(1, 99)}"
            return self._report_change(f"team {team.id} is now {team.name}")

    def change_status(self, event_id: str | None = None, status: str | None = None) -> str | None:
        with self.season.lock:
            event = self._game(event_id)
            if event is None:
                return None
            event.status = status or self._dice.choice([value for value in ("ACTIVE", "COMPLETED", "FINAL") if value != event.status])
            return self._report_change(f"game {event.id} is {event.status}")

    def reorder(self) -> str | None:
        """Lists of teams, games, events and players are sent in another order. Sessions and possessions keep their order."""
        with self.season.lock:
            self.season.order = self._dice.randint(1, 1 << 30)
            return self._report_change("lists have another order")

    def advance(self, by: timedelta) -> str | None:
        """The season's own time moves on."""
        with self.season.lock:
            self.season.now = milliseconds(instant(self.season.now) + by)
            return self._report_change(f"the time is {instant(self.season.now)}")

    def _touch_all(self, session: Session, possession: Possession) -> None:
        for player in {action.player_id for action in possession.actions}:
            self.season.touch(session, player)
