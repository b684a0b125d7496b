"""The tables of an audit as uniform polars frames, and helpers of the rules: scopes, limits, rows of `violations`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, TypeAlias

from ..._lazy import pl
from ..frames import of_other_units
from ..tracking import Tracking

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterator[Row]

ROUNDING_TOLERANCE = 1e-6
"""Values are decimal fractions: smaller differences are rounding errors."""

MIN_SETTLED_TIME = timedelta(minutes=15)
"""An event that ended less than this before the responses were sent may not be over: its end may be provisional."""

CLOCK_LIMITS_S = {"game": 25 * 60.0, "other": 60 * 60.0}
"""No period is longer than 20 minutes; drills may run any clock, so theirs has a wider limit."""

REGULAR_SESSIONS: Mapping[str, int] = {"HALF": 2, "QUARTER": 4}
"""Number of sessions in the regular time of a game, by `game_type`."""

_ROW_KEY = ("team_id", "player_id", "is_team_total")
COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "player_stats": {"player_stats": (*_ROW_KEY, "stat", "value"), "box_score": (*_ROW_KEY, "FG", "FGA", "PTS")},
    "stat_events": {"stat_events": (*_ROW_KEY, "stat", "value", "occurred_at", "game_clock_s", "period")},
    "possessions": {
        "possessions": (
            *("session_id", "team_id", "possession", "start_timestamp", "end_timestamp", "start_game_clock_s"),
            *("end_game_clock_s", "period", "player_ids", "opposing_player_ids"),
        ),
        "possession_events": ("session_id", "player_id", "possession_type", "details", "timestamp"),
    },
    "shots": {
        "shots": (
            *("team_id", "player_id", "occurred_at", "is_make", "is_3point", "player_x", "player_y", "hoop_x"),
            *("hoop_y", "hoop_player_x", "hoop_player_y", "game_clock_s", "period"),
        )
    },
    "play_by_play": {"play_by_play": ("game_id", "session_id", "player_id", "stats")},
    "sessions": {
        "location_windows": ("session_id", "start", "end"),
        "sessions": ("session_id", "started_at", "ended_at"),
        "events": ("event_id", "started_at", "ended_at"),
    },
    "players": {"players": ("team_id", "player_id"), "team": ("team_id", "sport")},
    "coverage": {"coverage": ("operation", "session_id", "status")},
    "locations": {"locations": ("session_id", "t", "player_id", "x", "y")},
}
"""The tables of each argument, and the columns that each must have. Other columns are optional."""

_OPTIONAL: Mapping[str, Mapping[str, str]] = {
    "stat_events": {"shot_clock_s": "Float64", "hoop_to_event_x": "Float64", "hoop_to_event_y": "Float64"},
    "possessions": {"turnover": "Int64"},
    "possession_events": {
        "team_id": "Int64",
        "possession": "Int32",
        "game_clock_s": "Float64",
        "shot_clock_s": "Float64",
        "shot_distance_cm": "Float64",
        "is_3point": "Boolean",
    },
    "shots": {"shot_clock_s": "Float64"},
    "sessions": {"event_id": "String", "name": "String", "type": "String", "position": "Int32"},
    "events": {
        "is_practice_event": "Boolean",
        "game_type": "String",
        "home_team_id": "Int64",
        "away_team_id": "Int64",
    },
}

_FLAGS = ("is_make", "is_3point", "is_team_total")
"""Columns of flags, which a database without booleans writes as 0 and 1."""

SESSION_TABLES = ("stats", "stat_events", "possessions", "shots")
"""The tables, one for each operation of a session, whose rows have `session_id`."""


_CALENDAR = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The first and last times that rules read, a day within what Python has in any zone."""


class Tables:
    """The tables by name, with `scope`: the session, or else the game, that a row belongs to.

    `player_stats` and `box_score` both become `stats`, in the long form.
    """

    def __init__(
        self,
        frames: "Mapping[str, pl.DataFrame]",
        *,
        served_at: datetime | None,
        is_one_session: bool,
        thresholds: Mapping[str, float],
    ) -> None:
        self.thresholds = thresholds
        self.is_one_session = is_one_session
        self.frames = {name: self._complete(name, frame) for name, frame in frames.items()}
        lines, boxes = (self.frames.pop(name, None) for name in ("player_stats", "box_score"))
        if boxes is not None:
            long = self._long(boxes)
            parts = [long] if lines is None else [lines, of_other_units(long, lines)]
            lines = pl.concat(parts, how="diagonal_relaxed")
        if lines is not None:
            self.frames["stats"] = lines
        self.served_at = served_at if served_at and not self._has_rows_after(served_at) else None

    @cached_property
    def lines(self) -> "pl.DataFrame":
        """Return the lines of box scores, a repeated one once."""
        return self["stats"].unique(maintain_order=True)

    @cached_property
    def tracking(self) -> Tracking:
        """The positions, with the shots and possessions that were passed."""
        locations, shots, possessions = (self.frames.get(name) for name in ("locations", "shots", "possessions"))
        is_field = locations is not None and not locations.filter(self.is_football).is_empty()
        return Tracking(locations, shots, possessions=possessions, court="football" if is_field else None)

    def _has_rows_after(self, served_at: datetime) -> bool:
        """Return whether a session continues after the responses were sent: then their clock is another one."""
        is_after = (pl.col("at") > served_at + MIN_SETTLED_TIME) & (pl.col("at") <= pl.col("ended_at")).fill_null(True)
        times = {"stat_events": "occurred_at", "shots": "occurred_at", "possessions": "end_timestamp"}
        frames = [self.with_span(self[name]).with_columns(at=column) for name, column in times.items() if name in self]
        return any(frame.filter(is_after).height for frame in frames)

    def __contains__(self, name: str) -> bool:
        return name in self.frames

    def __getitem__(self, name: str) -> "pl.DataFrame":
        return self.frames[name]

    def _complete(self, name: str, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Return the frame with uniform keys and times, and every column that a rule may read."""
        optional = {"session_id": "String", "game_id": "String", **_OPTIONAL.get(name, {})}
        absent = [
            pl.lit(None, getattr(pl, kind)).alias(key) for key, kind in optional.items() if key not in frame.columns
        ]
        frame = frame.with_columns(*absent)
        times = (_in_calendar(column, kind) for column, kind in frame.schema.items() if isinstance(kind, pl.Datetime))
        flags = [column for column in _FLAGS if column in frame.columns]
        return frame.with_columns(
            pl.col("session_id", "game_id").cast(pl.String), pl.col(flags).cast(pl.Boolean), *times
        )

    def _long(self, boxes: "pl.DataFrame") -> "pl.DataFrame":
        keys = ["session_id", "game_id", *_ROW_KEY]
        about = {*keys, "team_name", "first_name", "last_name", "version", "games_played"}
        codes = [name for name in boxes.columns if name not in about]
        long = boxes.unpivot(codes, index=keys, variable_name="stat", value_name="value")
        return long.drop_nulls("value")

    def add_scope(self, frame: "pl.DataFrame", key: str | None = None) -> "pl.DataFrame":
        """Add `scope`: `session_id`, or `game_id` without one, after the name of that key."""
        session, game = (pl.format(f"{name} {{}}", name) for name in ("session_id", "game_id"))
        scope = {"session_id": session, "game_id": game}[key] if key else pl.coalesce(session, game)
        return frame.with_columns(scope=scope.fill_null(""))

    def common(self, left: "pl.DataFrame", right: "pl.DataFrame") -> "tuple[pl.DataFrame, pl.DataFrame]":
        """Return both by session if every row of both has one, else by game."""
        for key in ("session_id", "game_id"):
            if not left[key].null_count() and not right[key].null_count():
                return self.add_scope(left, key), self.add_scope(right, key)
        if left["session_id"].is_null().all() and right["session_id"].is_null().all():
            return self.add_scope(left), self.add_scope(right)
        raise ValueError("some tables are of sessions and some of games: pass tables of the same kind")

    # Facts about sessions.

    @cached_property
    def sessions(self) -> "pl.DataFrame":
        """Return each listed session once, with `event_start`, `event_end`, `game_type` and `is_practice` of its
        event."""
        columns = ["session_id", "game_id", "event_id", "name", "type", "position", "started_at", "ended_at"]
        if "sessions" not in self:
            times = dict.fromkeys(("started_at", "ended_at", "event_start", "event_end"), pl.Datetime("ms", "UTC"))
            texts = dict.fromkeys((*columns[:5], "game_type"), pl.String)
            return pl.DataFrame(schema={**texts, "position": pl.Int32, **times, "is_practice": pl.Boolean})
        listed_sessions = self["sessions"].select(columns).unique("session_id", maintain_order=True, keep="first")
        return listed_sessions.join(self.events, on="event_id", how="left")

    @cached_property
    def events(self) -> "pl.DataFrame":
        if "events" not in self:
            times = dict.fromkeys(("event_start", "event_end"), pl.Datetime("ms", "UTC"))
            texts = dict.fromkeys(("event_id", "game_type"), pl.String)
            return pl.DataFrame(schema={**texts, **times, "is_practice": pl.Boolean})
        events = self["events"].unique("event_id", maintain_order=True, keep="first")
        return events.select(
            *("event_id", "game_type"),
            event_start="started_at",
            event_end="ended_at",
            is_practice="is_practice_event",
        )

    def is_over(self, ended_at: "pl.Expr") -> "pl.Expr":
        """Return whether something has ended; without the time of a response, whether it has an end."""
        if self.served_at is None:
            return ended_at.is_not_null()
        return (ended_at < self.served_at - MIN_SETTLED_TIME).fill_null(False)

    @cached_property
    def is_football(self) -> "pl.Expr":
        """Return whether a row with `session_id` and `team_id` is known to be of football."""
        sessions = self.sessions.filter(pl.col("type").str.to_uppercase().str.starts_with("FOOTBALL"))["session_id"]
        other = pl.col("session_id").is_in(sessions.to_list()).fill_null(False)
        if "team" in self:
            teams = self["team"].filter(pl.col("sport").str.to_uppercase() != "BASKETBALL")["team_id"]
            other = other | pl.col("team_id").is_in(teams.to_list()).fill_null(False)
        return other

    @cached_property
    def is_practice(self) -> "pl.Expr":
        """Return whether a row with `session_id` is known to be of a practice."""
        known_sessions = self.sessions
        practices = known_sessions.filter(
            pl.col("is_practice") | (pl.col("type").str.contains("(?i)drill|practice|workout"))
        )
        return pl.col("session_id").is_in(practices["session_id"].to_list()).fill_null(False)

    @cached_property
    def is_game(self) -> "pl.Expr":
        """Return whether a row with `session_id` is known to be of a game."""
        games = self.sessions.filter(pl.col("is_practice").not_() | pl.col("game_id").is_not_null())
        is_listed = pl.col("session_id").is_in(games["session_id"].to_list()).fill_null(False)
        return is_listed & ~self.is_practice

    @cached_property
    def clock_limit(self) -> "pl.Expr":
        """Return the highest possible game clock of a row with `session_id`, in seconds."""
        game, other = CLOCK_LIMITS_S["game"], CLOCK_LIMITS_S["other"]
        return pl.when(self.is_game).then(game).otherwise(other)

    def with_span(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Add `started_at` and `ended_at` of the session; null if unknown, or if it ends before it starts."""
        spans = self.sessions.select("session_id", "started_at", "ended_at")
        in_order = (pl.col("started_at") <= pl.col("ended_at")).fill_null(True)
        return frame.join(spans.filter(in_order), on="session_id", how="left")


def _in_calendar(column: str, kind: "pl.Datetime") -> "pl.Expr":
    """Return times in milliseconds; one that no calendar has is the first or the last that rules read."""
    moment = pl.col(column).dt.epoch("ms").clip(*(round(at.timestamp() * 1000) for at in _CALENDAR))
    return moment.cast(pl.Datetime("ms", kind.time_zone)).alias(column)


def violation(row: Row, message: str, expected: Any, found_value: Any) -> Row:
    """Return a row of `violations`; `row` has `scope` or the ids, and the player and team."""
    if "scope" in row:
        key, _, scope = row["scope"].partition(" ")
        session_id, game_id = (scope, None) if key == "session_id" else (None, scope or None)
    else:
        session_id, game_id = row.get("session_id"), row.get("game_id")
    return {
        "team_id": row.get("team_id"),
        "game_id": game_id,
        "session_id": session_id,
        "player_id": row.get("player_id"),
        "expected": number(expected),
        "found": number(found_value),
        "message": message,
    }


def owner(row: Row) -> str:
    """Describe the player, team or session of a row."""
    player, team = row.get("player_id"), row.get("team_id")
    return f"player {player}" if player else f"team {team}" if team is not None else "the session"


def number(value: Any) -> Any:
    """Format a number without its insignificant digits; return anything else unchanged."""
    return f"{value:.10g}" if isinstance(value, float | int) else value


def moment(value: Any) -> Any:
    """Format a time."""
    if value in _CALENDAR:
        return "<out of range>"
    return None if value is None else value.isoformat(timespec="milliseconds")


def at(value: Any) -> str:
    """Format a time for a message."""
    return f"at {moment(value)}" if value else "at an unknown time"
