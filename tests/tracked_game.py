"""A game whose truth is known at every moment: ten players, substitutes beside the sideline, a ball, shots, possessions.

The offence moves on circles; each defender stands between an attacker and the hoop. Sensors may be imperfect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from needs import library

pa = library("pyarrow")

START = 1_790_000_000_000
HOME, AWAY = 1, 2
HOOP = (0.0, 12_725.4)
Floats = npt.NDArray[np.float64]


def player(team: int, slot: int) -> int:
    return 100 * team + slot


def place(team: int, slot: int, t: Floats | float) -> tuple[Floats, Floats]:
    """Metres at seconds since the start."""
    t = np.asarray(t, dtype=np.float64)
    phase = slot * math.tau / 5
    if slot >= 5:
        side = -1 if team == HOME else 1
        return 9.0 + 0.1 * np.sin(t / 7 + phase), side * (3.0 + slot - 5) + 0 * t
    middle = 7 * np.sin(t / 12 * math.tau)
    x = 4.5 * np.cos(phase + t / 5)
    y = middle + 4 * np.sin(phase + t / 5) + 0.8 * np.sin(1.3 * t + phase)
    if team == HOME:
        return x, y
    distance = 1.3 + 0.9 * np.sin(t / 3 + 2 * phase)
    length = np.hypot(x, HOOP[1] / 1000 - y)
    return x - x / length * distance, y + (HOOP[1] / 1000 - y) / length * distance


@dataclass(frozen=True)
class Sensors:
    """What is wrong with the sensors."""

    rate: float = 10.0
    noise_m: float = 0.0
    offset_s: float = 0.0
    dropouts: float = 0.0
    teleports: float = 0.0
    substitutes: int = 0
    seconds: float = 300.0
    has_ball: bool = True
    ball_of_shooter: bool = False
    """Whether the ball is at each shot with its shooter, and not always with the first player."""
    teams: tuple[int, ...] = (HOME, AWAY)
    seed: int = 1


def moment(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(round(milliseconds) / 1000, UTC)


@dataclass(frozen=True)
class TrackedGame:
    """The tables of a game, as `sideline.Tracking` takes them."""

    sensors: Sensors = field(default_factory=Sensors)

    @property
    def shots_at(self) -> list[tuple[float, int]]:
        """Second and slot of each shooter, all of the home team."""
        return [(5 + 9.7 * number + 0.1 * (number % 7), number % 5) for number in range(int((self.sensors.seconds - 8) / 9.7))]

    def locations(self) -> pa.Table:
        sensors, random = self.sensors, np.random.default_rng(self.sensors.seed)
        ms = np.round(np.arange(int(sensors.seconds * sensors.rate) + 1) * 1000 / sensors.rate)
        parts = [self._track(team, slot, ms, random) for team in sensors.teams for slot in range(5 + sensors.substitutes)]
        if sensors.has_ball:
            x, y = self._ball(ms / 1000)
            parts.append(self._part("BALL", None, None, ms, x + 0.3, y))
        table = pa.concat_tables(parts)
        return table.take(pa.compute.sort_indices(table, sort_keys=[("t", "ascending")]))

    def _ball(self, t: Floats) -> tuple[Floats, Floats]:
        if not self.sensors.ball_of_shooter:
            return place(HOME, 0, t)
        slots = [slot for _, slot in self.shots_at]
        # It changes hands in the middle between two shots.
        number = np.searchsorted([second + 4.85 for second, _ in self.shots_at[:-1]], t)
        places = np.array([place(HOME, slot, t) for slot in range(5)])
        x, y = places[np.array(slots)[number], :, np.arange(len(t))].T
        return x, y

    def _track(self, team: int, slot: int, ms: Floats, random: np.random.Generator) -> pa.Table:
        x, y = place(team, slot, ms / 1000)
        x, y = (values + self.sensors.noise_m * random.standard_normal(len(ms)) for values in (x, y))
        jumps = random.random(len(ms)) < self.sensors.teleports
        x = np.where(jumps, np.where(x > 0, x - 9, x + 9), x)
        stays = random.random(len(ms)) >= self.sensors.dropouts
        return self._part("PLAYER", team, player(team, slot), ms[stays], x[stays], y[stays])

    def _part(self, kind: str, team: int | None, player_id: int | None, ms: Floats, x: Floats, y: Floats) -> pa.Table:
        count = len(ms)
        return pa.table(
            {
                "session_id": ["s-1"] * count,
                "game_id": ["g-1"] * count,
                "t": pa.array((START + ms).astype(np.int64), pa.timestamp("ms", "UTC")),
                "type": [kind] * count,
                "team_id": pa.array([team] * count, pa.int64()),
                "player_id": pa.array([player_id] * count, pa.int64()),
                "x": np.round(1000 * x),
                "y": np.round(1000 * y),
                "z": [1000.0] * count,
                "game_clock_s": 600.0 - ms / 1000,
            }
        )

    def _in_events(self, seconds: float) -> datetime:
        return moment(START + 1000 * (seconds - self.sensors.offset_s))

    def shots(self) -> pa.Table:
        return pa.Table.from_pylist([self._shot(number, t, slot) for number, (t, slot) in enumerate(self.shots_at)])

    def _shot(self, number: int, t: float, slot: int) -> dict[str, Any]:
        x, y = (float(1000 * value) for value in place(HOME, slot, t))
        is_make, is_3point = number % 2 == 0, number % 3 == 0
        return {
            "session_id": "s-1",
            "game_id": "g-1",
            "team_id": HOME,
            "player_id": player(HOME, slot),
            "occurred_at": self._in_events(t),
            "is_make": is_make,
            "is_3point": is_3point,
            "points": (3 if is_3point else 2) if is_make else 0,
            "zone": 1 + number % 3,
            "player_x": x,
            "player_y": y,
            "hoop_x": HOOP[0],
            "hoop_y": HOOP[1],
            "hoop_player_x": HOOP[0] - x,
            "hoop_player_y": HOOP[1] - y,
            "game_clock_s": 600.0 - t,
            "period": "Q1" if t < self.sensors.seconds / 2 else "Q2",
            "defender_ids": [player(AWAY, slot)],
        }

    def possessions(self) -> pa.Table:
        fives = {team: [player(team, slot) for slot in range(5)] for team in (HOME, AWAY)}
        rows = []
        for number in range(int(self.sensors.seconds / 20)):
            team, other = (HOME, AWAY) if number % 5 else (AWAY, HOME)
            rows.append(
                {
                    "session_id": "s-1",
                    "game_id": "g-1",
                    "team_id": team,
                    "possession": number,
                    "start_timestamp": self._in_events(20 * number),
                    "end_timestamp": self._in_events(20 * number + 20),
                    "period": "Q1" if number < self.sensors.seconds / 40 else "Q2",
                    "player_ids": fives[team],
                    "opposing_player_ids": fives[other],
                }
            )
        return pa.Table.from_pylist(rows)

    def nearest(self, t: float, slot: int) -> tuple[int, float]:
        """The nearest opponent of a home player, and the distance."""
        x, y = place(HOME, slot, t)
        others = [(player(AWAY, other), place(AWAY, other, t)) for other in range(5)]
        return min(((name, float(np.hypot(x - a, y - b))) for name, (a, b) in others), key=lambda pair: pair[1])

    def distance(self, t: float, slot: int, defender: int) -> float:
        (x, y), (a, b) = place(HOME, slot, t), place(AWAY, defender - 100 * AWAY, t)
        return float(np.hypot(x - a, y - b))
