"""The situation of a live game: sides, points, period and clock, read from messages whose fields are not documented."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .._rows import shorten, visible

MAX_TEXT = 60
"""Characters of a name, and of a clock: a longer one is left out."""

MAX_LATE = timedelta(seconds=20)
"""How long after a value an earlier one is late: beyond, a time was wrong, or the service's clock was set back."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a live game; values that no message had are `None`.

    >>> print(sideline.live.LiveBoxScore().home.points)
    None
    """

    team_id: int | None = None
    name: str | None = None
    points: int | None = None
    fouls: int | None = None
    timeouts_left: int | None = None


class Situation:
    """Sides, points, period and clock, kept from the messages of a stream (documentation: The wire)."""

    def __init__(self) -> None:
        self.teams: dict[str, int] = {}
        """Team ids by side ("home", "away")."""
        self.names: dict[int, str] = {}
        self.points: dict[str, int] = {}
        self.timeouts_left: dict[str, int] = {}
        self.period: str | None = None
        self.clock: str | None = None
        self._is_period_numbered = True
        """Whether only numbered messages had a period."""
        self._has_periods = False
        self._newest: dict[tuple[str, str], tuple[float, datetime]] = {}
        """When the newest message with a value occurred and was received, by kind and side."""

    def forget(self) -> None:
        """Forget what may have changed in a gap: no recovery brings it, so it is unknown until a message has it."""
        self.points, self.timeouts_left, self.period, self.clock = {}, {}, None, None
        self._is_period_numbered = True

    def read(self, message: Mapping[str, Any], received_at: datetime, *, is_numbered: bool) -> None:
        """Read a message, inside its envelope if it has one."""
        inner = message.get("data")
        data = inner if isinstance(inner, dict) else message
        if whole(data.get("team_id")) is not None and whole(data.get("player_id")) is not None:
            return
        occurred_at = number(data.get("occurred_at"))
        at = None if occurred_at is None else (occurred_at, received_at)
        self._read_sides(data, at)
        self._read_clock(data, at, is_numbered=is_numbered)

    def recover(self, state: Mapping[str, Any]) -> None:
        """Take sides, points and period of a response of `catch_up`, where no message since the gap had them.

        A period only if the stream has periods: else it would stand still, as its clock would in any case.
        """
        totals = state.get("gameTotals")
        if not isinstance(totals, dict):
            return
        names = [f"{side}TeamScore" for side in ("home", "away") if side not in self.points]
        self._read_sides({name: totals.get(name) for name in names}, None)
        if self.period is None and self._has_periods:
            self._read_clock({"period": totals.get("period")}, None, is_numbered=True)

    def _is_late(self, kind: str, side: str, at: tuple[float, datetime] | None) -> bool:
        """Return whether a value is older than the newest one; if not, it is the newest."""
        if at is None:
            return False
        newest, received_at = self._newest.setdefault((kind, side), at)
        # The reader's clock may be set back too.
        is_late = at[0] < newest and abs(at[1] - received_at) <= MAX_LATE
        if not is_late:
            self._newest[kind, side] = at
        return is_late

    def side(self, place: str, rows: Sequence[Mapping[str, Any]]) -> Side:
        """Return a side ("home" or "away"), with the name, points and fouls of the rows of its box score."""
        team_id = self.teams.get(place)
        if team_id is None:
            return Side()
        names = self.names.get(team_id), self.points.get(place), self.timeouts_left.get(place)
        return side_of(team_id, rows, *names)

    def _read_sides(self, data: Mapping[str, Any], at: tuple[float, datetime] | None) -> None:
        before = dict(self.teams)
        for side in ("home", "away"):
            totals = data.get(f"{side}TeamScore")
            totals = totals if isinstance(totals, dict) else {}
            numbers = {
                "teams": data.get(f"{side}_team_id", totals.get("teamId")),
                "points": data.get(f"{side}_score", totals.get("value")),
                "timeouts_left": data.get(f"{side}_timeouts_left"),
            }
            for kind, value in numbers.items():
                count = whole(value)
                if count is not None and not self._is_late(kind, side, at):
                    getattr(self, kind)[side] = count
        if len(set(self.teams.values())) < len(self.teams):
            self.teams = before
        # A box score has no team without a row, so none before the game.
        for team_fields in dicts(data.get("teams")):
            team_id, name = whole(team_fields.get("id")), team_fields.get("name")
            if team_id is not None and team_id in self.teams.values() and isinstance(name, str) and name:
                self.names[team_id] = short_text(name)
        self.names = {team_id: name for team_id, name in self.names.items() if team_id in self.teams.values()}

    def _read_clock(self, data: Mapping[str, Any], at: tuple[float, datetime] | None, *, is_numbered: bool) -> None:
        period = data.get("period")
        # Numbered messages are repeated after a reconnect: their period and clock may be old ones.
        is_ordered = not is_numbered or self.period is None or (self._is_period_numbered and at is not None)
        if isinstance(period, str) and period and is_ordered and not self._is_late("period", "", at):
            self.period, self._has_periods = short_text(period), True
            self._is_period_numbered = self._is_period_numbered and is_numbered
        names = [name for name in ("game_clock", "gameClock") if name in data]
        if not names or is_numbered or self._is_late("clock", "", at):
            return
        clock = data[names[0]]
        self.clock = short_text(clock) if isinstance(clock, str) and 0 < len(clock) <= MAX_TEXT else None


def side_of(
    team_id: int,
    rows: Sequence[Mapping[str, Any]],
    name: str | None = None,
    points: int | None = None,
    timeouts_left: int | None = None,
) -> Side:
    """Return a team as a side: name, points and fouls by its box score, where that has them."""
    of_team = [row for row in rows if row["team_id"] == team_id]
    total: Mapping[str, Any] = next((row for row in of_team if row["is_team_total"]), {})
    own_name = next((row["team_name"] for row in of_team if row["team_name"]), None)
    own_points = next((total[code] for code in ("PTS", "TEAM_SCORE") if total.get(code) is not None), None)
    points = points if own_points is None else whole(own_points)
    return Side(team_id, own_name or name, points, whole(total.get("FL")), timeouts_left)


def player_text(row: Mapping[str, Any]) -> str:
    """Return the name of a player, or the id."""
    name = " ".join(filter(None, (row["first_name"], row["last_name"])))
    return short_text(name) if name else f"player {row['player_id']}"


def clock_seconds(clock: str | None) -> float | None:
    """Return the seconds of a clock in any of the service's shapes: "16:3.1" is 963.1; `None` for another text.

    >>> from sideline.live._situation import clock_seconds
    >>> [clock_seconds(text) for text in ("16:3.1", "4.5", "00:15:00", "half", None)]
    [963.1, 4.5, 900.0, None, None]
    """
    # Seconds of more digits would be infinite.
    parts = [] if clock is None or len(clock) > MAX_TEXT else clock.split(":")
    if not 1 <= len(parts) <= 3 or not all(part.replace(".", "", 1).isdigit() and part.isascii() for part in parts):
        return None
    if any("." in part for part in parts[:-1]):
        return None
    seconds = 0.0
    for part in parts:
        seconds = 60 * seconds + float(part)
    return seconds


def clock_text(clock: str | None) -> str | None:
    """Return a clock as a scoreboard shows it: "16:3.1" is "16:03", and below a minute "4.5" stays; a short text too.

    >>> from sideline.live._situation import clock_text
    >>> [clock_text(text) for text in ("16:3.1", "12:30.00", "02.00", "4.5", "00:15:00", "half")]
    ['16:03', '12:30', '2.0', '4.5', '15:00', 'half']
    """
    seconds = clock_seconds(clock)
    if clock is None or seconds is None:
        return None if clock is None or len(clock) > MAX_TEXT else short_text(clock)
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}" if seconds >= 60 else f"{math.floor(seconds * 10) / 10:.1f}"


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Return the dicts of a list; none of another value."""
    return (element for element in value if isinstance(element, dict)) if isinstance(value, list) else iter(())


def number(value: Any) -> float | None:
    """Return a finite number of a sensible size, else `None`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An integer may be too large for a float.
    return float(value) if abs(value) < 1e15 and math.isfinite(value) else None


def whole(value: Any) -> int | None:
    """Return an id or a count, which some bodies write as text."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None
    count = number(value)
    return int(count) if count is not None and count == int(count) else None


def short_text(value: str) -> str:
    """Return a name of the service as a screen shows it."""
    return shorten(visible(value), MAX_TEXT)
