"""A watched game, as a page and its feed show it: with a delay, as it was some seconds ago."""

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .._client import core_of_score, core_of_stream, game_of, sport_of_score, title_of
from .._core import Update
from ._box_score import LiveBoxScore
from ._display import add_counted
from ._feed import Document, documents, feed_rows, row_names, score_fields
from ._notices import Connected, Gap
from ._scoreboard import GameView, Scoreboard
from ._stats import StreamStats

if TYPE_CHECKING:
    from ._streams import LiveStream

SETTLE_TIME = 2.0
"""Seconds after the first connection within which a service that nothing is requested of sends the present state."""


class Received(NamedTuple):
    """An item, with the stream's state when it was received."""

    due: float
    item: object
    state: str
    stats: StreamStats


class Start:
    """The start of a stream: what happened before its first connection is a gap, or the service sends it."""

    def __init__(self) -> None:
        self._connected_at: float | None = None
        self._has_updates = False
        self._has_gap = False

    def add(self, item: object) -> bool:
        """Add an item of the stream; returns whether it is the first connection."""
        self._has_updates = self._has_updates or isinstance(item, Update)
        self._has_gap = self._has_gap or (isinstance(item, Gap) and item.reason == "started")
        is_first = self._connected_at is None and isinstance(item, Connected)
        if is_first:
            self._connected_at = monotonic()
        return is_first

    def is_over(self, *, is_requested: bool) -> bool:
        """Return whether the score says what may be missing: its gap is open, or updates and the time for them came."""
        if is_requested or self._connected_at is None:
            return self._has_gap
        return self._has_updates and monotonic() - self._connected_at >= SETTLE_TIME


class WatchedGame:
    """The items of a stream, applied to a box score after a delay; any thread may read it."""

    def __init__(
        self,
        stream: "LiveStream",
        score: LiveBoxScore,
        delay_s: float,
        *,
        has_feed: bool,
    ) -> None:
        self._stream = stream
        self._score = score
        self._delay_s = delay_s
        self._game_id = game_of(stream)
        sport = sport_of_score(score)
        # Of this moment, which the delay does not change.
        self._current = LiveBoxScore(sport=sport) if delay_s else score
        self._has_feed = has_feed
        # A stream that was read before has no first connection to come.
        self._is_start_requested = has_feed and stream.state == "connected" and core_of_stream(stream).push_start_gap()
        self._current_start = Start()
        self._start = Start() if delay_s else self._current_start
        # Codes that only some bodies have are in the box score, and not in the feed.
        self._empty = LiveBoxScore(sport=sport)
        self._names = row_names(self._empty)
        self._title = title_of(stream)
        self._board = Scoreboard(self._title, score)
        self._waiting: deque[Received] = deque()
        self._delayed_state: Received | None = None
        self._lock = Lock()
        self._version = 0
        self._documents: tuple[object, dict[str, Document]] = None, {}
        self.error: BaseException | None = None
        """What ended the reader: no item is taken any more, although the stream may be open."""

    def add(self, item: object) -> None:
        """Take an item that was received now."""
        with self._lock:
            if self._current_start.add(item) and self._has_feed and not self._is_start_requested:
                self._is_start_requested = core_of_stream(self._stream).push_start_gap()
            # Counted now, also where the item is shown later.
            add_counted(self._stream, self._current, item, self._current.feed if self._delay_s else self._apply)
            if self._delay_s:
                stream = self._stream
                self._waiting.append(Received(monotonic() + self._delay_s, item, stream.state, stream.stats))

    def _apply(self, item: object) -> None:
        self._version += 1
        self._board.add(item)

    def _apply_due(self) -> None:
        while self._waiting and self._waiting[0].due <= monotonic():
            self._delayed_state = self._waiting.popleft()
            self._start.add(self._delayed_state.item)
            self._apply(self._delayed_state.item)

    @property
    def _is_begun(self) -> bool:
        """Whether the first item is shown. Before, a seeded score has values that the delay does not allow yet."""
        return not self._delay_s or self._delayed_state is not None

    @property
    def next_due(self) -> float | None:
        """Seconds until the next item that waits is applied."""
        with self._lock:
            return max(0.0, self._waiting[0].due - monotonic()) if self._waiting else None

    def _is_stale(self) -> bool:
        """Return whether values may be missing in what is shown."""
        # A feed does not show, as a page does, that the stream has ended: nothing more comes, unless it waits here.
        has_ended = self._has_feed and self._stream.state == "closed" and not self._waiting
        is_start_open = self._has_feed and not self._start.is_over(is_requested=self._is_start_requested)
        is_incomplete = not self._board.is_over if has_ended else is_start_open or not self._is_begun
        return is_incomplete or self.error is not None or core_of_score(self._score).is_stale(self._delay_s)

    def view(self) -> GameView:
        """Return what a screen shows."""
        with self._lock:
            self._apply_due()
            is_stale = self._is_stale()
            if not self._is_begun:
                return Scoreboard(self._title, self._empty).view("connecting", EMPTY_STATS, is_stale=is_stale)
            delayed_item, error = self._delayed_state, None if self.error is None else str(self.error)
            if delayed_item is not None and error is None and (self._waiting or self._stream.state != "closed"):
                return self._board.view(delayed_item.state, delayed_item.stats, is_stale=is_stale)
            return self._board.view(self._stream.state, self._stream.stats, error, is_stale=is_stale)

    def documents(self) -> tuple[dict[str, Document], Mapping[str, Any]]:
        """Return what each path of the feed sends, and its verdict."""
        with self._lock:
            self._apply_due()
            is_over, is_stale = self._board.is_over, self._is_stale()
            score = self._score if self._is_begun else self._empty
            at = score.updated_at
            verdict = {
                "stale": is_stale,
                "updated_at": None if at is None else at.isoformat(),
                "verdict": "final" if is_over else "stale" if is_stale else "live",
            }
            key = self._version, is_stale
            if self._documents[0] != key:
                rows = feed_rows(score, self._game_id, self._names, verdict)
                fields = score_fields(score, self._game_id, verdict)
                self._documents = key, documents(fields, rows, self._names)
            return self._documents[1], verdict

    def health(self) -> tuple[bool, dict[str, float | str | None]]:
        """Return whether the stream is connected, read and not stale, and its figures, both of this moment."""
        with self._lock:
            stats, last = self._stream.stats, core_of_stream(self._stream).last
            is_begun = self._current_start.is_over(is_requested=self._is_start_requested)
            is_current = is_begun and not self._current.stale
            figures: dict[str, float | str | None] = {
                "lag_s": stats.lag,
                "open_gaps": stats.open_gaps,
                "reconnects": stats.reconnects,
                "buffer_bytes": stats.buffer_bytes,
                "unreadable": stats.unreadable,
                "since_update_s": None if last is None else max(0.0, (datetime.now(UTC) - last).total_seconds()),
            }
            if self.error is not None:
                # Its text may contain a secret.
                figures["error"] = f"the page no longer reads the stream: {type(self.error).__name__}"
            return is_current and self.error is None and self._stream.state == "connected", figures


EMPTY_STATS = StreamStats(**dict.fromkeys(StreamStats.__dataclass_fields__, 0))
"""Those of a stream of which nothing is shown yet."""
