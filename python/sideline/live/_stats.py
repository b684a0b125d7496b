"""Counters of a stream."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStats:
    """Counters of a stream.

    >>> with client.live_stats(live_game_id) as stream:
    ...     items = [next(stream), next(stream)]
    >>> stream.stats.updates >= 1, stream.stats.gaps
    (True, 0)
    """

    updates: int
    """Updates received, including those that are still in the buffer."""
    bytes: int
    """Bytes read."""
    reconnects: int
    """Connections after the first."""
    gaps: int
    """Gaps of every kind."""
    open_gaps: int
    """Gaps that are neither closed nor final."""
    recovered: int
    """Gaps that are closed (`Recovered`)."""
    repeats: int
    """Messages left out because an earlier connection delivered them, with the same source, number and `data`."""
    dropped: int
    """Updates dropped from a full buffer, by the `overflow` option."""
    unreadable: int
    """Rows that `batches`, `display`, `serve` and recovery left out, because a value or an id is unreadable."""
    buffer_bytes: int
    """Approximate bytes of the items that wait to be taken."""
    lag: float
    """Seconds that the oldest update has waited to be taken."""
