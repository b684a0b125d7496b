"""Sizes of bodies, expected before they are requested."""

from collections.abc import Mapping

from .._core import _epoch_ms
from .types import Time

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

_LONGEST_WINDOW_MS = 30 * 60_000


def expected_bytes(operation: str, start: Time | None = None, end: Time | None = None) -> float:
    """Return the bytes of an average body before compression, 0 if unknown; those of locations are of the range."""
    average = _AVERAGE_BYTES.get(operation, 0)
    if operation != "locations" or start is None or end is None:
        return average
    return average * max(0, _epoch_ms("end", end) - _epoch_ms("start", start)) / _LONGEST_WINDOW_MS
