"""The types of arguments, each named once, and modules that only annotations name."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._core import Table

Time: TypeAlias = datetime | date | str | int
"""An aware `datetime`, a `date`, an ISO 8601 string (a date alone means midnight UTC) or epoch milliseconds."""

Duration: TypeAlias = float | timedelta
"""Seconds, or a `timedelta`."""

if TYPE_CHECKING:
    from uuid import UUID

    Id: TypeAlias = int | str | UUID
    """One id."""
else:
    # To import `uuid` takes a millisecond, which no run-time use of this type is worth.
    Id = int | str

Many: TypeAlias = Iterable[Any] | Table
"""Ids in an order: a list, a column, or a payload, batch or table with a column of them."""

Ids: TypeAlias = Id | Many
"""One id or several."""

GameIds: TypeAlias = Id | Iterable[Any]
"""The game of a session, or of each of several."""

OnError = Literal["raise", "keep"]
"""Whether an incomplete batch raises `IncompleteError` or is returned."""

Sport = Literal["basketball", "football"]
Environment = Literal["production", "development"]

# generated
TableName = Literal[
    "teams",
    "players",
    "special_services",
    "team",
    "games",
    "sessions",
    "events",
    "location_windows",
    "player_stats",
    "box_score",
    "stat_events",
    "possessions",
    "possession_events",
    "possession_players",
    "shots",
    "locations",
    "play_by_play",
    "ball_screens",
    "videos",
    "game_box_score",
    "drift",
    "corrections",
    "coverage",
    "live_items",
    "live_leaders",
    "stat_updates",
    "violations",
    "tracking_frames",
    "tracking_opponents",
    "tracking_defenders",
    "tracking_matchups",
    "tracking_shot_quality",
    "tracking_touches",
    "tracking_passes",
    "tracking_spacing",
    "tracking_loads",
    "tracking_coverage",
]
SyncTable = Literal[
    "teams",
    "players",
    "special_services",
    "team",
    "games",
    "events",
    "sessions",
    "location_windows",
    "player_stats",
    "box_score",
    "stat_events",
    "possessions",
    "possession_events",
    "possession_players",
    "shots",
    "locations",
    "play_by_play",
    "ball_screens",
    "tracking_loads",
    "tracking_defenders",
]
Operation = Literal[
    "teams",
    "roster",
    "schedule",
    "team_events",
    "team_game_stats",
    "game_events",
    "game",
    "stats",
    "stats_details",
    "possessions",
    "shots",
    "locations",
    "game_stats_details",
    "game_shots",
    "play_by_play",
    "ball_screens",
    "videos",
    "catch_up",
    "matchup",
    "follow",
    "get",
    "broadcast_schedule",
    "broadcast_teams",
    "broadcast_roster",
    "broadcast_stats",
    "broadcast_colors",
    "broadcast_locomotion",
]
CatchUpResource = Literal["stats", "details", "shots", "possessions"]
# end

ArchiveTable = Literal[SyncTable, "coverage", "corrections", "raw"]
"""The tables of an archive: those that a sync stores, and its own."""
