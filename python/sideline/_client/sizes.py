"""Sizes of bodies, expected before they are requested."""

from collections.abc import Mapping

_AVERAGE_BYTES: Mapping[str, int] = {
    "stats": 7_000,
    "stats_details": 190_000,
    "possessions": 110_000,
    "shots": 26_000,
    "play_by_play": 330_000,
    "ball_screens": 130_000,
    "locations": 6_000_000,
}
"""Bytes of an average body of a simulated season, of a full window for locations (`tests/test_plan.py` compares)."""

_LONGEST_WINDOW = 30 * 60


def expected_bytes(operation: str, seconds: float | None = None) -> float:
    """Return the bytes of an average body before compression; `seconds` is the length of a window of locations."""
    average = _AVERAGE_BYTES.get(operation, 0)
    return average if operation != "locations" or seconds is None else average * seconds / _LONGEST_WINDOW
