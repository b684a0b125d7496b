"""Rules about positions: events and positions of the same moment agree."""

from collections.abc import Mapping
from typing import Any

from .tables import Rows, Tables, at, owner, violation

THRESHOLDS: Mapping[str, float] = {
    "shooter_is_at_the_shot": 1.0,
    "named_defender_is_near": 3.0,
    "ball_is_with_its_player": 2.0,
    "no_teleport": 0,
}
"""The limits that `thresholds=` changes: metres, and a number of positions."""


def _shots(tables: Tables) -> list[dict[str, Any]]:
    """Return the shots with the distances at their moments."""
    return tables.tracking.defenders().to_dicts()


def _distance(value: float) -> str:
    return f"{value:.2f} m"


def shooter_is_at_the_shot(tables: Tables) -> Rows:
    limit = tables.thresholds["shooter_is_at_the_shot"]
    for row in _shots(tables):
        distance = row["place_error_m"]
        if distance is not None and distance > limit:
            message = f"{owner(row)}: the shot {at(row['occurred_at'])} is {_distance(distance)} from the player"
            yield violation(row, message, f"at most {limit:g} m", _distance(distance))


def named_defender_is_near(tables: Tables) -> Rows:
    limit = tables.thresholds["named_defender_is_near"]
    for row in _shots(tables):
        named_m, nearest_m = row["service_defender_distance_m"], row["distance_m"]
        if named_m is not None and nearest_m is not None and named_m > nearest_m + limit:
            names = ", ".join(map(str, row["service_defender_ids"]))
            nearest_player = f"player {row['defender_id']} at {_distance(nearest_m)}"
            message = (
                f"{owner(row)}: at the shot {at(row['occurred_at'])} defender {names} is {_distance(named_m)} away,"
                f" and {nearest_player}"
            )
            yield violation(row, message, f"at most {limit:g} m farther than {nearest_player}", _distance(named_m))


def ball_is_with_its_player(tables: Tables) -> Rows:
    limit = tables.thresholds["ball_is_with_its_player"]
    for row in _shots(tables):
        distance = row["ball_distance_m"]
        if distance is not None and distance > limit:
            message = f"{owner(row)}: at the shot {at(row['occurred_at'])} the ball is {_distance(distance)} away"
            yield violation(row, message, f"at most {limit:g} m", _distance(distance))


def no_teleport(tables: Tables) -> Rows:
    limit = tables.thresholds["no_teleport"]
    for row in tables.tracking.coverage().to_dicts():
        if row["player_id"] is not None and row["teleports"] > limit:
            message = f"{owner(row)}: {row['teleports']} of the positions need more than 12 m/s"
            yield violation(row, message, f"at most {limit:g}", row["teleports"])
