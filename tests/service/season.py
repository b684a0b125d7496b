"""A season as plain objects: teams, players, games with sessions, practices. Every body and every row derives from them.

An `Action` is the only place where a number is stored: a statistic, a possession's event and a shot of the same moment are views of one action, so
the box score, the stat events, the possessions and the shots of a session agree by construction.
"""

from __future__ import annotations

import math
import random
import threading
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

Item = TypeVar("Item")

MINUTE = 60_000
DAY = 86_400_000

COUNTERS: tuple[str, ...] = (
    "left_wing",
    "middle_wing",
    "right_wing",
    "pick_n_pop",
    "pick_n_roll",
    "pick_n_short_roll",
    "screened_shot",
    "handoff",
    "drag",
    "pop",
    "roll",
)
COUNTERS += ("slip", "short_roll", "reject", "re_screen", "stay", "step_up", "snake", "split", "other")
ATTRIBUTES = ("turnover", "passes", "half_court", "paint_touch", "ball_reversals", "ball_screens", *(f"ball_screens_{name}" for name in COUNTERS))
"""The fields of `possession_attributes` in the specification's order."""

_FIRST = ("Ana", "Ben", "Chloé", "Đorđe", "Eve", "Finn", "Grace", "Hugo", "Ida", "José", "Kai", "Lena", "Mo", "Nía", "Omar", "Pia")
_LAST = ("Adams", "Brown", "Čech", "Díaz", "Evans", "Ford", "García", "Hall", "Ito", "Jones", "Kim", "Łukasz", "Moore", "O'Neil")
_PLACES = ("Ames", "Boone", "Cody", "Dover", "Elko", "Fargo", "Galena", "Helena", "Ithaca", "Juneau", "Keene", "Laredo", "Macon", "Nome", "Ogden", "Provo")


def milliseconds(moment: datetime) -> int:
    """A time as the wire has it."""
    return round(moment.timestamp() * 1000)


def instant(value: int) -> datetime:
    """A time of the wire as an aware datetime."""
    return datetime.fromtimestamp(value // 1000, UTC) + timedelta(milliseconds=value % 1000)


@dataclass
class Team:
    id: int
    name: str
    gender: str = "MEN"
    conference_name: str = "North"
    league_name: str = "League One"
    sport: str = "BASKETBALL"
    reference_id: str = ""


@dataclass
class Player:
    id: int
    first_name: str
    last_name: str
    jersey_number: int
    position: str
    sensor: int
    services: list[tuple[str, str]]
    stints: list[tuple[int, int]]
    """Team id and since when (epoch ms), oldest first."""

    @property
    def display_name(self) -> str:
        return f"{self.first_name[0]}. {self.last_name}"

    @property
    def team_id(self) -> int:
        """The current team's."""
        return self.stints[-1][0]

    def team_at(self, at: int) -> int | None:
        """The team's id at a time; `None` before the first."""
        return next((team for team, since in reversed(self.stints) if since <= at), None)


@dataclass
class Shot:
    """One attempt from the field. Positions in millimetres."""

    is_make: bool
    is_3point: bool
    zone: int
    advanced_zone: int
    player: tuple[int, int, int]
    hoop: tuple[int, int, int]
    attribute: str
    """`OTD` (off the dribble) or `CAS`."""

    @property
    def points(self) -> int:
        return (3 if self.is_3point else 2) if self.is_make else 0

    @property
    def to_hoop(self) -> tuple[int, int]:
        """The player seen from the hoop: y grows toward mid-court."""
        sign = 1 if self.hoop[1] > 0 else -1
        return -sign * (self.player[0] - self.hoop[0]), -sign * (self.player[1] - self.hoop[1])

    @property
    def distance_cm(self) -> float:
        return math.hypot(*self.to_hoop) / 10


@dataclass
class Action:
    """What one player did at one moment."""

    at: int
    player_id: int
    type: str
    position: tuple[int, int, int]
    hoop: tuple[int, int, int]
    shot: Shot | None = None
    free_throw: bool | None = None

    @property
    def increments(self) -> dict[str, float]:
        """Stat code → how much the action adds."""
        if self.shot is not None:
            suffix = "3" if self.shot.is_3point else "2"
            codes: dict[str, float] = {"FGA": 1, f"FGA{suffix}": 1}
            if self.shot.is_make:
                codes |= {"FG": 1, f"FG{suffix}": 1, "PTS": self.shot.points}
            if self.shot.attribute == "OTD":
                codes |= {"FGA_OTD": 1, "FGA3_OTD": 1} if self.shot.is_3point else {"FGA_OTD": 1}
            return codes
        if self.free_throw is not None:
            return {"FTA": 1, "FT": 1, "PTS": 1} if self.free_throw else {"FTA": 1}
        if self.type in ("DEFENSIVE_REB", "OFFENSIVE_REB"):
            return {"REB": 1, self.type: 1}
        return {self.type: 1}

    @property
    def details(self) -> list[str]:
        """The codes beside the possession type."""
        return [code for code in self.increments if code != self.type]


@dataclass
class Possession:
    team_id: int
    start: int
    end: int
    player_ids: list[int]
    opposing_player_ids: list[int]
    actions: list[Action]
    passes: int = 0
    ball_screens: int = 0
    half_court: bool = True

    @property
    def attributes(self) -> dict[str, int | bool]:
        """The 26 fields of `possession_attributes`."""
        values: dict[str, int | bool] = dict.fromkeys(ATTRIBUTES, 0)
        values |= {"turnover": sum(action.type == "TO" for action in self.actions), "passes": self.passes, "half_court": self.half_court}
        values |= {"paint_touch": any(action.shot is not None and not action.shot.is_3point for action in self.actions)}
        values |= {"ball_screens": self.ball_screens, "ball_screens_roll": self.ball_screens, "ball_reversals": self.passes // 3}
        return values


@dataclass
class Session:
    id: str
    name: str
    type: str
    start: int
    end: int
    minutes: int
    """On the game clock, which runs down as the time passes."""
    possessions: list[Possession]
    revision: int = 1
    revisions: dict[int, int] = field(default_factory=dict)
    """Player id → the revision of the last correction of the player's line."""

    def of_team(self, team_id: int) -> list[Possession]:
        return [possession for possession in self.possessions if possession.team_id == team_id]

    def actions(self) -> Iterator[tuple[int, Action]]:
        """Each action with its team."""
        for possession in self.possessions:
            for action in possession.actions:
                yield possession.team_id, action

    def game_clock(self, at: int) -> str:
        left = max(0, self.minutes * MINUTE - (at - self.start))
        return f"{left // MINUTE}:{left % MINUTE // 1000:02d}.{left % 1000 // 100}"

    def shot_clock(self, at: int) -> str:
        left = 30_000 - (at - self.start) % 30_000
        return f"{left // 1000}.{left % 1000 // 100}"

    def windows(self) -> list[tuple[int, int]]:
        """Consecutive, non-overlapping windows that cover the session."""
        step = 7 * MINUTE
        return [(start, min(start + step, self.end)) for start in range(self.start, self.end, step)]


@dataclass
class Event:
    """A game or a practice."""

    id: str
    name: str
    is_game: bool
    tipoff: int
    sessions: list[Session]
    home_id: int
    """The team of a practice."""
    away_id: int = 0
    game_type: str = "QUARTER"
    status: str = "ACTIVE"
    court_id: str = ""
    facility_id: str = ""
    facility_name: str = ""
    tournament: str | None = None
    is_scheduled: bool = True
    """Whether the schedule lists it."""
    is_listed: bool = True
    """Whether the teams' events list it, once it has begun."""

    @property
    def team_ids(self) -> list[int]:
        return [self.home_id, self.away_id] if self.is_game else [self.home_id]

    @property
    def start(self) -> int:
        return self.sessions[0].start if self.sessions else self.tipoff

    @property
    def end(self) -> int:
        return max((session.end for session in self.sessions), default=self.tipoff + 2 * MINUTE)


class Season:
    """A consistent season, the same for the same seed, and the mutations that keep it consistent (`Mutations`)."""

    def __init__(
        self,
        seed: int = 0,
        *,
        now: datetime | None = None,
        teams: int = 4,
        players: int = 10,
        games: int = 6,
        sessions: tuple[int, int] = (2, 4),
        possessions: int = 10,
        practices: int = 2,
        upcoming: int = 1,
        days: int = 20,
        sport: str = "BASKETBALL",
    ) -> None:
        self.lock = threading.RLock()
        self.revision = 0
        self.random = random.Random(seed)
        self.now = milliseconds(now or datetime.now(UTC)) // MINUTE * MINUTE
        self.sport = sport
        self.size, self.days = possessions, days
        self.order = 0
        """Changes the order in which lists are served; 0 is the natural one."""
        begin = self.now - days * DAY
        self.teams = [self._team(index) for index in range(teams)]
        self.players = [self._player(team.id, index, begin - DAY) for team in self.teams for index in range(players)]
        self.events: list[Event] = []
        for index in range(games):
            at = begin + (days - 1) * DAY * index // max(1, games)
            self.add_game(instant(at), sessions=self.random.randint(*sessions))
        for index in range(practices):
            self.add_practice(self.teams[index % teams].id, instant(begin + (index + 1) * DAY + 5 * 60 * MINUTE))
        for index in range(upcoming):
            self.add_upcoming_game(instant(self.now + (index + 1) * DAY))
        self.revision = 0

    # Reading

    def team(self, team_id: int) -> Team | None:
        return next((team for team in self.teams if team.id == team_id), None)

    def team_name(self, team_id: int) -> str:
        team = self.team(team_id)
        return team.name if team else ""

    def player(self, player_id: int) -> Player:
        return next(player for player in self.players if player.id == player_id)

    def roster(self, team_id: int, at: int | None = None) -> list[Player]:
        """The current players, or those of the team at a time."""
        return [player for player in self.players if (player.team_id if at is None else player.team_at(at)) == team_id]

    @property
    def games(self) -> list[Event]:
        return [event for event in self.events if event.is_game]

    @property
    def played(self) -> list[Event]:
        """Events that have begun: only these have an event resource."""
        return [event for event in self.events if event.sessions]

    def event(self, event_id: str) -> Event | None:
        return next((event for event in self.events if event.id == event_id), None)

    def session(self, session_id: str) -> tuple[Event, Session] | None:
        return next(((event, session) for event in self.events for session in event.sessions if session.id == session_id), None)

    def sessions(self) -> list[tuple[Event, Session]]:
        return [(event, session) for event in self.events for session in event.sessions]

    def reorder(self, items: Iterable[Item], scope: str) -> list[Item]:
        """The items in the order in which a list of the scope is served now."""
        result = list(items)
        if self.order:
            random.Random(f"{self.order} {scope}").shuffle(result)
        return result

    # Creation

    def add_game(self, start: datetime | None = None, *, home_id: int | None = None, away_id: int | None = None, sessions: int = 2) -> Event:
        """A game that was played, by default after the last one and before now."""
        with self.lock:
            home, away = self._pair(home_id, away_id)
            at = milliseconds(start) if start else self._free_time()
            event = self._event(at, home, away, is_game=True)
            event.game_type = "HALF" if sessions == 2 else "QUARTER"
            for _ in range(sessions):
                self._append_session(event)
            self.events.append(event)
            self.revision += 1
            return event

    def add_upcoming_game(self, start: datetime, *, home_id: int | None = None, away_id: int | None = None) -> Event:
        """A game that only the schedule has yet."""
        with self.lock:
            event = self._event(milliseconds(start), *self._pair(home_id, away_id), is_game=True)
            self.events.append(event)
            self.revision += 1
            return event

    def add_practice(self, team_id: int, start: datetime) -> Event:
        with self.lock:
            event = self._event(milliseconds(start), team_id, 0, is_game=False)
            self._append_session(event)
            self.events.append(event)
            self.revision += 1
            return event

    def add_session(self, event_id: str) -> Session:
        """One more session at the end of an event; the first one starts an upcoming game."""
        with self.lock:
            event = self._find_event(event_id)
            session = self._append_session(event)
            self.revision += 1
            return session

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _find_event(self, event_id: str) -> Event:
        event = self.event(event_id)
        if event is None:
            raise LookupError(f"no event {event_id}")
        return event

    def _pair(self, home_id: int | None, away_id: int | None) -> tuple[int, int]:
        home = home_id if home_id is not None else self.random.choice([team.id for team in self.teams if team.id != away_id])
        away = away_id if away_id is not None else self.random.choice([team.id for team in self.teams if team.id != home])
        return home, away

    def _free_time(self) -> int:
        last = max((event.end for event in self.events if event.sessions), default=self.now - 2 * DAY)
        return min(last + 2 * 60 * MINUTE, self.now - 5 * 60 * MINUTE)

    def _team(self, index: int) -> Team:
        place = _PLACES[index % len(_PLACES)] + (f" {index // len(_PLACES) + 1}" if index >= len(_PLACES) else "")
        conference = "North" if index % 2 == 0 else "South"
        return Team(11 + 2 * index, f"{place} Rovers", conference_name=conference, sport=self.sport, reference_id=f"ext-{index}")

    def _player(self, team_id: int, index: int, since: int) -> Player:
        number = self.random.randint(0, 55)
        services = [("MIC", f"mic{index}")] if index == 0 else [("VIDEO", f"cam {index}"), ("MIC", f"mic{index}")] if index == 1 else []
        names = self.random.choice(_FIRST), self.random.choice(_LAST)
        return Player(team_id * 100 + index, *names, number, "GFC"[index % 3], 100_000 + team_id * 100 + index, services, [(team_id, since)])

    def _event(self, at: int, home: int, away: int, *, is_game: bool) -> Event:
        name = f"{self.team_name(home)} - {self.team_name(away)}" if is_game else f"{self.team_name(home)} practice"
        event = Event(self.new_id(), name, is_game, at, [], home, away)
        event.court_id, event.facility_id, event.facility_name = self.new_id(), self.new_id(), f"{self.team_name(home)} Arena"
        event.tournament = "Winter Cup" if self.random.random() < 0.2 else None
        return event

    def _append_session(self, event: Event) -> Session:
        number = len(event.sessions) + 1
        minutes = 10 if event.is_game else 6
        start = event.sessions[-1].end + 5 * MINUTE if event.sessions else event.tipoff
        label = ("H" if event.game_type == "HALF" else "Q") if event.is_game else "Drill "
        kind = ("FOOTBALL_GAME_QUARTER" if self.sport == "FOOTBALL" else f"GAME_{event.game_type}") if event.is_game else "PRACTICE_DRILL"
        session = Session(self.new_id(), f"{label}{number}", kind, start, start + minutes * MINUTE, minutes, [])
        slot = minutes * MINUTE // (self.size + 1)
        teams = event.team_ids
        first = self.random.randrange(len(teams))
        is_rebound = False
        for index in range(self.size):
            team_id = teams[(first + index) % len(teams)]
            at = start + index * slot
            # Idle time after each possession leaves room for one more.
            possession = self.possession(event, team_id, at, at + slot * 6 // 10, is_rebound=is_rebound)
            last = possession.actions[-1]
            is_rebound = (last.shot is not None and not last.shot.is_make) or last.free_throw is False
            session.possessions.append(possession)
        event.sessions.append(session)
        return session

    def possession(self, event: Event, team_id: int, start: int, end: int, *, is_rebound: bool) -> Possession:
        """A possession of a team within a span of time, with actions that make sense together."""
        dice = self.random
        roster_then = self.roster(team_id, start) or self.roster(team_id)
        roster_then = roster_then if event.is_game else roster_then[:5]
        lineup = [player.id for player in dice.sample(roster_then, min(5, len(roster_then)))]
        against = self.opponents(event, team_id, lineup, start)
        hoop = (dice.randint(-40, 40), 12_725 if dice.random() < 0.5 else -12_725, 3048)
        step = (end - start) // 6
        actions: list[Action] = []

        def act(kind: str, *, shot: Shot | None = None, free_throw: bool | None = None, by: int | None = None) -> None:
            at = start + step * (len(actions) + 1)
            place = shot.player if shot else (dice.randint(-7000, 7000), dice.randint(-13_000, 13_000), 1000)
            actions.append(Action(at, dice.choice(lineup) if by is None else by, kind, place, hoop, shot, free_throw))

        if is_rebound:
            act("DEFENSIVE_REB")
        outcome = dice.random()
        if outcome < 0.15:
            act("TO")
        elif outcome < 0.27:
            shooter = dice.choice(lineup)
            act("FTA", free_throw=True, by=shooter)
            act("FTA", free_throw=dice.random() < 0.7, by=shooter)
        else:
            shot = self.shot(hoop)
            if not shot.is_make and dice.random() < 0.3:
                act("FGA", shot=shot)
                act("OFFENSIVE_REB")
                shot = self.shot(hoop)
            shooter = dice.choice(lineup)
            if shot.is_make and len(lineup) > 1 and dice.random() < 0.5:
                act("AST", by=dice.choice([player for player in lineup if player != shooter]))
            act("FGA", shot=shot, by=shooter)
        return Possession(team_id, start, end, lineup, against, actions, dice.randint(0, 7), dice.randint(0, 3), dice.random() < 0.8)

    def opponents(self, event: Event, team_id: int, lineup: Collection[int], at: int) -> list[int]:
        """Five of the other team; in a practice, those of the own team that are not in the line-up."""
        others = [team for team in event.team_ids if team != team_id]
        players = self.roster(others[0], at) if others else [player for player in self.roster(team_id, at) if player.id not in lineup]
        return [player.id for player in self.random.sample(players, min(5, len(players)))]

    def shot(self, hoop: tuple[int, int, int]) -> Shot:
        dice = self.random
        is_three = dice.random() < 0.35
        # Beyond the line (6,750 mm) and inside it, in front of the hoop.
        distance, angle = dice.randint(7000, 8200) if is_three else dice.randint(300, 6300), math.radians(dice.randint(25, 155))
        sign = 1 if hoop[1] > 0 else -1
        x, y = round(distance * math.cos(angle)), round(distance * math.sin(angle))
        player = (hoop[0] - sign * x, hoop[1] - sign * y, 1100)
        zone = dice.randint(10, 14) if is_three else dice.randint(1, 9)
        return Shot(dice.random() < 0.47, is_three, zone, zone + 6, player, hoop, dice.choice(("OTD", "CAS")))

    def touch(self, session: Session, player_id: int | None) -> None:
        """Counts a correction of a player's line, and of the team's."""
        session.revision += 1
        for key in (0, player_id):
            if key is not None:
                session.revisions[key] = session.revision
