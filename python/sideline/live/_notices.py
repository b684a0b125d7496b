"""The items of a live stream that are not updates."""

from dataclasses import dataclass
from datetime import datetime

from .._core import Update


class Notice:
    """An item of a stream that is not an update.

    >>> with client.live_stats(live_game_id) as stream:
    ...     notice = next(stream)
    >>> isinstance(notice, sideline.live.Notice), notice.at.tzinfo is not None
    (True, True)
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Connected(Notice):
    """A connection is open."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Disconnected(Notice):
    """A connection was lost, or an attempt to connect failed. It comes at once.

    Notices that nobody takes are merged: the last one is kept, and its reason says how many it stands for and over how
    many seconds.
    """

    at: datetime
    reason: str
    status: int | None
    """The status of a response that did not open the stream."""
    attempt: int
    """Number of failed attempts in a row; 0: an open connection was lost."""
    retry_at: datetime | None
    """When the next attempt is made; `None`: never."""


@dataclass(frozen=True, slots=True)
class Gap(Notice):
    """Messages are missing here, or may be.

    After a lost connection it comes with the next one, and covers the time between. Within a connection its reason is
    "overflow" (the buffer was full), "restarted" (the sequence numbers started again), "started" (a page with a feed
    requests the state of the game), or names an oversized message.
    In a journal it also covers the time between two recordings, and its reason is "damaged" where the file is damaged,
    and "torn" where the recorder was killed. With `recover="auto"` the client requests the missing messages until a
    `Recovered` closes the gap; if the service refuses for good, the same gap comes again as a final one (`is_final`)
    whose reason says why (documentation: Streams in detail, "Recovery").
    """

    start: datetime
    """When the last byte before it was received."""
    end: datetime | None
    """When the first byte after it was received; `None`: the stream ended in the gap."""
    reason: str
    dropped: int | None = None
    """Number of missing messages; `None`: unknown."""
    is_final: bool = False
    """Whether nothing further is tried: the service refuses what is missing; `reason` says why."""


@dataclass(frozen=True, slots=True)
class Quiet(Notice):
    """Only heartbeats since then; the connection is open."""

    since: datetime


@dataclass(frozen=True, slots=True)
class Recovering(Notice):
    """What the service had of a gap that stays open, and is requested again. `LiveBoxScore.feed` applies it."""

    gap: Gap
    """The oldest gap that is open."""
    updates: tuple[Update, ...]
    """One update, as in `Recovered`."""
    missing: tuple[str, ...]
    """What is missing: "stats" (the response may be older than the gap), "plays", "shots", or the JSON path of a row
    that is unreadable."""
    requested_at: datetime
    """When the request was sent."""

    @property
    def at(self) -> datetime:
        """When the response was received."""
        return self.updates[-1].received_at


@dataclass(frozen=True, slots=True)
class Recovered(Notice):
    """A gap is closed: `updates` have the state of the game after it. `LiveBoxScore.feed` applies it.

    It comes once for each gap, in the order of the gaps, however late. The updates received meanwhile precede it.
    """

    gap: Gap
    updates: tuple[Update, ...]
    """One update: for the event stream a snapshot like its others; for the websocket the response of `catch_up` with
    "stats" and "details" (source "catch_up"), or, where the service refuses that, a body of `stats` that is the sum of
    the game's sessions (source "session_stats")."""
    requested_at: datetime | None
    """When the request was sent; `None`: the stream itself delivered the complete state."""

    @property
    def at(self) -> datetime:
        """When the state was received."""
        return self.updates[-1].received_at


NOTICES = (Connected, Disconnected, Gap, Quiet, Recovering, Recovered)
"""What streams deliver beside updates."""
