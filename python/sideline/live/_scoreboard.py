"""A watched game: the items of its stream as one view, which a terminal or a page shows."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from .._core import Update
from .._rows import shorten, visible
from ..court import COURT, HOOP, transform
from ..errors import DecodeError
from ._box_score import LiveBoxScore
from ._display import describe_notice, format_clock, stat_columns
from ._notices import Gap, Notice, Recovered
from ._situation import Side, clock_text, dicts, number, player_text, short_text, side_of, whole
from ._stats import StreamStats

MAX_PLAYERS = 60
"""Rows of a team's box score."""
MAX_PLAYS = 12
MAX_NOTICES = 10
MAX_SHOTS = 1000
MAX_NOTICE = 300
"""Characters of a notice."""
MAX_DISTANCE = 35_000
"""Millimetres from the hoop beyond which a position is not on a court."""


class Row(TypedDict):
    """A line of a box score."""

    name: str
    values: list[str]


class TeamView(TypedDict):
    """A team, its score and its box score."""

    name: str
    side: str
    """ "home", "away" or ""."""
    score: int | None
    rows: list[Row]
    total: list[str] | None


class Shot(TypedDict):
    """A shot, in millimetres from the attacked hoop (`sideline.court.HOOP`)."""

    team: int
    """0 or 1: the place of the team in the view."""
    x: float
    y: float
    made: bool
    text: str


class Play(TypedDict):
    """A play."""

    at: str
    """The period, and the clock if a shot at the same moment has it."""
    team: str
    text: str


class GameView(TypedDict):
    """All that a screen shows of a game. It can be written as JSON, and its texts hold no control characters."""

    title: str
    state: str
    updates: int
    gaps: int
    open_gaps: int
    stale: bool
    """Whether values may be missing."""
    unreadable: int
    """Number of rows that are left out, because an id or a value is unreadable."""
    left_out: int
    """Number of rows of the box score that are not in `teams`: of a third team, or beyond the most of a team."""
    last: str | None
    error: str | None
    period: str | None
    clock: str | None
    is_over: bool
    columns: list[str]
    teams: list[TeamView]
    shots: list[Shot]
    plays: list[Play]
    """The newest first."""
    notices: list[dict[str, str]]
    """Kind (the class in lower case; "closed" for a gap that is closed) and text, the newest first."""


class Scoreboard:
    """The state of one game, kept from the items of its stream; it does no I/O.

    Teams, players, statistics, period and clock are those of a `LiveBoxScore`.
    """

    def __init__(self, title: str, score: LiveBoxScore) -> None:
        self._title = short_text(title)
        self._score = score
        self._is_over = False
        self._ended_at: float | None = None
        self._last: str | None = None
        self._shots: dict[tuple[int, int, Any], dict[str, Any]] = {}
        self._last_shot: tuple[float | None, str] = None, ""
        self._plays: deque[tuple[str, int | None, int | None, str]] = deque(maxlen=MAX_PLAYS)
        self._seen: deque[tuple[Any, ...]] = deque(maxlen=10 * MAX_PLAYS)
        self._notices: deque[tuple[object, dict[str, str]]] = deque(maxlen=MAX_NOTICES)

    def add(self, item: object) -> None:
        """Add an item of the stream; an item of an unknown class is a notice."""
        if isinstance(item, (Update, Notice)):
            self._score.feed(item)
        if isinstance(item, Update):
            self._last = format_clock(item.received_at)
            self._read_update(item)
            return
        text = shorten(visible(describe_notice(item)), MAX_NOTICE)
        self._notices.append((item, {"kind": type(item).__name__.lower(), "text": text}))
        if isinstance(item, Recovered):
            for other, notice in self._notices:
                if isinstance(other, Gap) and _covers(item.gap, other):
                    notice["kind"] = "closed"
        # Shots that were recovered after a gap.
        for update in _updates_of(item):
            self._read_update(update, is_requested=True)

    @property
    def is_over(self) -> bool:
        """Whether the service said that the game is over."""
        return self._is_over

    def _read_update(self, update: Update, *, is_requested: bool = False) -> None:
        try:
            message = update.to_dict()
        except DecodeError:
            return
        if isinstance(message, dict):
            inner = message.get("data")
            self._read(inner if isinstance(inner, dict) else message, is_requested=is_requested)

    def view(
        self, state: str, stats: StreamStats, error: str | None = None, *, is_stale: bool | None = None
    ) -> GameView:
        """Return the view at this moment; `state`, `stats` and `error` are the stream's.

        `is_stale` says whether values may be missing; `None`: the box score says it.
        """
        rows = self._score.table().to_dicts()
        sides = {"home": self._score.home, "away": self._score.away}
        ids = _team_ids(rows, sides.values())
        players = {(row["team_id"], row["player_id"]): player_text(row) for row in rows}
        columns = stat_columns(rows)
        teams = [_team(team, [row for row in rows if row["team_id"] == team], columns, sides) for team in ids]
        names = {team: team_view["name"] for team, team_view in zip(ids, teams, strict=True)}
        return {
            "title": self._title,
            "state": state,
            "updates": stats.updates,
            "gaps": stats.gaps,
            "open_gaps": stats.open_gaps,
            "stale": self._score.stale if is_stale is None else is_stale,
            "unreadable": self._score.unreadable,
            "left_out": len(rows) - sum(len(team["rows"]) + (team["total"] is not None) for team in teams),
            "last": self._last,
            "error": None if error is None else shorten(visible(error), MAX_NOTICE),
            "period": self._score.period,
            "clock": clock_text(self._score.clock),
            "is_over": self._is_over,
            "columns": [short_text(column) for column in columns],
            "teams": teams,
            "shots": self._shot_views(ids, players),
            "plays": self._play_views(names, players),
            "notices": [dict(notice) for _, notice in reversed(self._notices)],
        }

    def _shot_views(self, ids: Sequence[int], players: Mapping[tuple[int, int], str]) -> list[Shot]:
        return [
            {
                "team": ids.index(team),
                "x": shot["x"],
                "y": shot["y"],
                "made": shot["made"],
                "text": f"{_name_player(players, team, player)}, {shot['text']}",
            }
            for (team, player, _), shot in self._shots.items()
            if team in ids
        ]

    def _play_views(self, teams: Mapping[int, str], players: Mapping[tuple[int, int], str]) -> list[Play]:
        return [
            {
                "at": at,
                "team": "" if team is None else teams.get(team, f"team {team}"),
                "text": text if not player else f"{_name_player(players, team, player)}: {text}",
            }
            for at, team, player, text in reversed(self._plays)
        ]

    def _read(self, data: Mapping[str, Any], *, is_requested: bool) -> None:
        team, player = whole(data.get("team_id")), whole(data.get("player_id"))
        if team is not None and player is not None:
            # A play takes its clock from the shot before it.
            self._read_shot(team, player, data)
            self._read_play(team, player, data)
            return
        self._read_shots(data, is_requested=is_requested)
        self._read_recovered_shots(data)
        self._read_marker(data)

    def _read_marker(self, data: Mapping[str, Any]) -> None:
        marker = data.get("marker")
        if not isinstance(marker, str) or "player_ids" in data:
            return
        at = number(data.get("occurred_at"))
        if marker.startswith("GAME_END"):
            self._is_over, self._ended_at = True, at
        elif "START" in marker and at is not None and self._ended_at is not None and at > self._ended_at:
            # It continues. What is repeated after a reconnect started before.
            self._is_over = False
        period = data.get("period")
        place = short_text(period) if isinstance(period, str) else self._score.period or ""
        self._add_play(place, None, None, _words(marker), data)

    def _read_play(self, team: int, player: int, data: Mapping[str, Any]) -> None:
        kind = data.get("classification")
        if player and isinstance(kind, str) and kind not in ("", "DISTANCE"):
            moment, clock = self._last_shot
            is_known = moment is not None and moment == number(data.get("occurred_at"))
            self._add_play(clock if is_known else self._score.period or "", team, player, _words(kind), data)

    def _add_play(self, at: str, team: int | None, player: int | None, text: str, data: Mapping[str, Any]) -> None:
        # Messages may be repeated after a reconnect.
        key = (team, player, text, number(data.get("occurred_at")), number(data.get("version")))
        if key not in self._seen:
            self._seen.append(key)
            self._plays.append((at, team, player, text))

    def _read_shots(self, data: Mapping[str, Any], *, is_requested: bool) -> None:
        """Read the shots of a whole document, which has them as the response of `shots` has."""
        for team in dicts(data.get("teams")):
            team_id = whole(team.get("id"))
            if team_id is None or not isinstance(team.get("player_shots"), list):
                continue
            # A shot that a document had and a later one lacks is deleted. What was requested may be older.
            self._shots = {
                key: shot
                for key, shot in self._shots.items()
                if is_requested or key[0] != team_id or not shot["is_of_document"]
            }
            for player in dicts(team["player_shots"]):
                player_id = whole(player.get("id"))
                if player_id is not None:
                    for shot in dicts(player.get("shots")):
                        self._read_shot(team_id, player_id, shot, is_of_document=True)

    def _read_recovered_shots(self, data: Mapping[str, Any]) -> None:
        """Read the shots of a response of `catch_up`."""
        for shot in dicts(data.get("shots")):
            team_id, player_id = whole(shot.get("tid")), whole(shot.get("pid"))
            if team_id is not None and player_id is not None:
                fields = {name: shot.get(wire_name) for name, wire_name in _GAME_SHOT.items()}
                fields["is_make"] = {"MAKE": True, "MISS": False}.get(str(shot.get("st")))
                self._read_shot(team_id, player_id, fields)

    def _read_shot(self, team: int, player: int, data: Mapping[str, Any], *, is_of_document: bool = False) -> None:
        position = _position(data)
        is_make = data.get("is_make")
        if position is None or not isinstance(is_make, bool):
            return
        x, y = position
        at = number(data.get("occurred_at"))
        period, game_clock = data.get("period"), data.get("game_clock")
        period = short_text(period) if isinstance(period, str) else None
        game_clock = clock_text(game_clock) if isinstance(game_clock, str) else None
        clock = " ".join(part for part in (period, game_clock) if part)
        points = "3 points" if data.get("is_3point") is True else "2 points"
        text = ", ".join(part for part in (points, "made" if is_make else "missed", clock) if part)
        key = team, player, position if at is None else at
        is_of_document = is_of_document or (key in self._shots and self._shots[key]["is_of_document"])
        self._shots[key] = {"x": x, "y": y, "made": is_make, "text": text, "is_of_document": is_of_document}
        self._last_shot = at, clock
        if len(self._shots) > MAX_SHOTS:
            del self._shots[next(iter(self._shots))]


def _team_ids(rows: Sequence[Mapping[str, Any]], sides: Iterable[Side]) -> list[int]:
    """Return the two teams, the home team first if it is known; of others those with the most rows, by id."""
    known_sides = list(dict.fromkeys(side.team_id for side in sides if side.team_id is not None))
    others = Counter(row["team_id"] for row in rows if row["team_id"] not in known_sides)
    return known_sides + sorted(team for team, _ in others.most_common(2 - len(known_sides)))


def _team(
    team: int, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Sequence[str]], sides: Mapping[str, Side]
) -> TeamView:
    place = next((place for place, named_side in sides.items() if named_side.team_id == team), "")
    side = sides[place] if place else side_of(team, rows)
    total = next((row for row in rows if row["is_team_total"]), None)
    players = [row for row in rows if not row["is_team_total"]][:MAX_PLAYERS]
    return {
        "name": short_text(side.name or f"team {team}"),
        "side": place,
        "score": side.points,
        "rows": [{"name": player_text(row), "values": _values(row, columns)} for row in players],
        "total": None if total is None else _values(total, columns),
    }


def _covers(gap: Gap, other: Gap) -> bool:
    """Return whether a gap is another one, or was merged from it."""
    return gap.end is not None and other.end is not None and gap.start <= other.start and other.end <= gap.end


def _updates_of(item: object) -> list[Update]:
    updates = getattr(item, "updates", None)
    return [update for update in updates if isinstance(update, Update)] if isinstance(updates, (list, tuple)) else []


def _values(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> list[str]:
    return [_value([row.get(code) for code in codes]) for codes in columns.values()]


def _value(numbers: Sequence[Any]) -> str:
    """Format one number, or makes and attempts; a code without a value is 0 beside one that has a value."""
    if all(number is None for number in numbers):
        return ""
    return "–".join(f"{number or 0:g}" if abs(number or 0) < 1e6 else f"{number:.3g}" for number in numbers)


def _position(data: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the shooter's position relative to the hoop, or `None` if the message has no usable one."""
    x, y = number(data.get("hoop_player_x")), number(data.get("hoop_player_y"))
    if x is None or y is None:
        numbers = [number(data.get(name)) for name in ("player_x", "player_y", "hoop_x", "hoop_y")]
        player_x, player_y, hoop_x, hoop_y = numbers
        if player_x is None or player_y is None or hoop_x is None or not hoop_y:
            return None
        x, y = transform(player_x, player_y, COURT, HOOP, hoop=(hoop_x, hoop_y))
    return (x, y) if max(abs(x), abs(y)) <= MAX_DISTANCE else None


def _name_player(players: Mapping[tuple[int, int], str], team: int | None, player: int) -> str:
    return players.get((team or 0, player), f"player {player}")


_GAME_SHOT = {
    "occurred_at": "t",
    "is_3point": "is3",
    "hoop_player_x": "hsx",
    "hoop_player_y": "hsy",
    "player_x": "px",
    "player_y": "py",
    "hoop_x": "hx",
    "hoop_y": "hy",
    "period": "prd",
    "game_clock": "gc",
}
"""The members of a shot of a game, by their names in a message."""

_SHOT = re.compile(r"(DELETED_|UPDATED_)?(TWO_POINT|THREE_POINT|FREE_THROW)_(MAKE|MISS)(?:_TO_(MAKE|MISS))?")
_SHOTS = {"TWO_POINT": "two-pointer", "THREE_POINT": "three-pointer", "FREE_THROW": "free throw"}
_RESULTS = {"MAKE": "made", "MISS": "missed"}


def _words(code: str) -> str:
    """Return a classification or a marker of the service in words."""
    if shot := _SHOT.fullmatch(code):
        change, kind, result, corrected = shot.groups()
        if corrected:
            return f"{_SHOTS[kind]} corrected from {_RESULTS[result]} to {_RESULTS[corrected]}"
        return f"{_RESULTS[result]} {_SHOTS[kind]}{' deleted' if change == 'DELETED_' else ''}"
    return short_text(code.replace("_", " ").lower())
