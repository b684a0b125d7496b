"""Live streams: their items, what they tell about themselves, and the box score kept from them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from time import monotonic
from types import TracebackType
from typing import Literal, Self

from sideline._core import CoreBoxScore, CoreStream, Payload, Table, Update, _items_table
from sideline._text import facts_html
from sideline.errors import StreamClosed

__all__ = [
    "Batches",
    "Connected",
    "Disconnected",
    "Gap",
    "LiveBoxScore",
    "LiveStream",
    "Notice",
    "Quiet",
    "StreamStats",
]

State = Literal["new", "connecting", "connected", "waiting", "closed"]


class Notice:
    """What a stream tells about itself, among its updates.

    >>> with client.live_stats(live_game_id) as stream:
    ...     notice = next(stream)
    >>> isinstance(notice, sideline.Notice), notice.at.tzinfo is not None
    (True, True)
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Connected(Notice):
    """A connection stands."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Disconnected(Notice):
    """A connection was lost, or an attempt to connect failed. It comes at once.

    Notices that wait because nobody takes them are merged: then the last one is kept, and its reason says how many it
    stands for and in how many seconds they came.
    """

    at: datetime
    reason: str
    status: int | None
    """The status of a response that did not open the stream."""
    attempt: int
    """Attempts that failed in a row; 0: an open connection was lost."""
    retry_at: datetime | None
    """When the next attempt is made; `None`: never."""


@dataclass(frozen=True, slots=True)
class Gap(Notice):
    """Messages are missing here, or may be.

    After a lost connection it comes with the next one, and covers the time between. Within a connection its reason is
    "overflow" (the buffer was full), "restarted" (the numbers of the messages began anew), or names a message that was
    too long. In a journal it also covers the time between two recordings.
    """

    start: datetime
    """The last byte before it."""
    end: datetime | None
    """`None`: the stream ended in it."""
    reason: str
    dropped: int | None = None
    """Messages that are missing; `None`: unknown."""


@dataclass(frozen=True, slots=True)
class Quiet(Notice):
    """Nothing but heartbeats since then. The connection stands."""

    since: datetime


@dataclass(frozen=True, slots=True)
class StreamStats:
    """What a stream has done so far.

    >>> with client.live_stats(live_game_id) as stream:
    ...     items = [next(stream), next(stream)]
    >>> stream.stats.updates >= 1, stream.stats.gaps
    (True, 0)
    """

    updates: int
    """Updates received."""
    bytes: int
    """Bytes read."""
    reconnects: int
    """Connections after the first."""
    gaps: int
    """Gaps of every kind."""
    repeats: int
    """Messages left out: an earlier connection had delivered them, with the same source, number and content."""
    dropped: int
    """Updates dropped from a full buffer, where `overflow` says so."""
    lag: float
    """Seconds that the oldest update has waited to be taken."""


class LiveStream:
    """Updates of a live stream and, among them, notices of what happened to it.

    It connects at `with` or at the first item, and connects again for as long as it is not closed. `for` and
    `async for` read the same object. A stream that was entered with `with` lives until the block's end; one that is
    only looped over ends with its loop.

    >>> with client.live_stats(live_game_id) as stream:
    ...     for item in stream:
    ...         if isinstance(item, sideline.Update):
    ...             break
    >>> stream.state
    'closed'
    """

    def __init__(self, core: CoreStream, what: str) -> None:
        self._core = core
        self._what = what
        self._entered = False
        self._is_over = False

    # Taking.

    def __iter__(self) -> Iterator[Update | Notice]:
        self._check_not_over()
        return self._items()

    def _items(self) -> Iterator[Update | Notice]:
        core = self._core
        try:
            core.open()
            while (item := core.next()) is not None:
                yield item
            self._is_over = True
        finally:
            if not self._entered:
                self.close()

    def __next__(self) -> Update | Notice:
        self._core.open()
        item = self._core.next()
        if item is None:
            self._is_over = True
            raise StopIteration
        return item

    def __aiter__(self) -> AsyncIterator[Update | Notice]:
        self._check_not_over()
        return _Loop(self)

    async def __anext__(self) -> Update | Notice:
        core = self._core
        item = core.take_in_turn()
        if item is not None:
            return item
        _check_asyncio()
        core.open()
        while True:
            if core.is_turn_due:
                # Before anything is taken: to be cancelled here loses nothing.
                await asyncio.sleep(0)
                core.begin_turn()
            item = core.take()
            if item is not None:
                return item
            if core.ended:
                # It may have ended between the two.
                item = core.take()
                if item is None:
                    self._is_over = True
                    raise StopAsyncIteration
                return item
            await core.wait()
            core.begin_turn()

    def _check_not_over(self) -> None:
        if self._is_over:
            raise StreamClosed("this stream has ended, and was read to its end or closed; open another one")

    def batches(
        self,
        *,
        max_rows: int = 1000,
        max_seconds: float = 1.0,
        table: Literal["live_items", "stat_updates"] = "live_items",
    ) -> "Batches":
        """The items as Arrow tables of at most `max_rows` items, each at most `max_seconds` after its first item.

        `live_items` has a row for each item, notices among them; `stat_updates` a row for each stat code of each stats
        message, and none for other items. It is iterated with `for` or `async for`, as the stream is.

        >>> with client.live_stats(live_game_id) as stream:
        ...     next(iter(stream.batches(max_rows=1))).name
        'live_items'
        """
        if max_rows < 1:
            raise ValueError(f"max_rows is {max_rows}; it must be at least 1")
        if not max_seconds > 0:
            raise ValueError(f"max_seconds is {max_seconds}; it must be more than 0")
        # A wrong name is told before any item is taken for it.
        _items_table([], table)
        return Batches(self, max_rows, max_seconds, table)

    def record(self, path: str | PathLike[str], *, sync_every: float | None = 5.0) -> Self:
        """Append each item that is taken from now on, notices too, to the journal at `path`; the result is the stream.

        A new file is made; an existing journal is continued, with a `Gap` over the time that was not recorded (not with
        `notices=False`). It is written at least once a second: that is what a killed process loses. It is complete when
        the stream is closed. `sideline.replay` gives its items again; `zstd -dc` shows them as JSON lines, times in
        nanoseconds since 1970.

        Parameters:
            sync_every: seconds between two calls of fsync, at most, while items come: a power failure loses this much
                more. 0: after each write; `None`: never, not even at the end.

        Raises `DecodeError` for a file that is no journal or is damaged, and leaves it as it is (`sideline journal
        repair` saves what is whole); `BlockingIOError` while another stream is recorded there. Where an item cannot be
        written (the disk is full) it is not taken: that raises `OSError`, and the item comes with the next call.

        >>> with client.live_stats(live_game_id).record("game.journal") as stream:
        ...     type(next(stream)).__name__
        'Connected'
        >>> [type(item).__name__ for item in sideline.replay("game.journal")]
        ['Connected']
        """
        self._core.record(path, sync_every)
        return self

    def display(self, score: "LiveBoxScore | None" = None, *, every: float = 1.0) -> None:
        """Show the stream while it runs: its state, its last notices, and the box score if it brings stats.

        In a notebook it is one table that refreshes; elsewhere lines are printed, and the box score at the end. It
        takes the stream's items until the stream ends or is interrupted: by the notebook's stop button or Ctrl-C, which
        is not raised. Then the stream is closed, unless it was entered with `with`.

        Parameters:
            score: where the stats are kept, such as one that is seeded with what was before; default: a new one.
            every: seconds from one refresh to the next, at least.

        >>> with client.live_stats(live_game_id).record("game.journal") as stream:
        ...     recorded = [next(stream), next(stream)]
        >>> sideline.replay("game.journal", speed=None).display()
        replay of game.journal: ...
        """
        if not every > 0:
            raise ValueError(f"every is {every}; it must be more than 0")
        from sideline._display import View, run, screen

        run(View(self, LiveBoxScore() if score is None else score), screen(), every)

    # What it is.

    @property
    def state(self) -> State:
        """ "new", "connecting", "connected", "waiting" (for the next attempt) or "closed"."""
        return self._core.state

    @property
    def stats(self) -> StreamStats:
        """What it has done so far."""
        return StreamStats(*self._core.stats)

    def __repr__(self) -> str:
        if self.state in ("new", "closed"):
            return f"<sideline.LiveStream {self._what}, {self.state}>"
        stats = self.stats
        return f"<sideline.LiveStream {self._what}, {self.state}, {stats.updates} updates, {stats.gaps} gaps>"

    def _repr_html_(self) -> str:
        stats, last = self.stats, self._core.last
        return facts_html(
            self._what,
            {
                "state": self.state,
                "updates": stats.updates,
                "last received": f"{last:%Y-%m-%d %H:%M:%S} UTC" if last else None,
                "bytes": stats.bytes,
                "reconnects": stats.reconnects or None,
                "gaps": stats.gaps,
                "repeats": stats.repeats or None,
                "dropped": stats.dropped or None,
                "waiting to be taken": f"{stats.lag:.1f} s" if stats.lag else None,
            },
        )

    # Its life.

    def close(self) -> None:
        """End it, in any state; what was not taken is thrown away. It may be called again.

        Raises `OSError` where the last items of a journal could not be written.
        """
        self._is_over = True
        self._core.close()

    def __enter__(self) -> Self:
        self._core.open()
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_asyncio() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "streams are awaited in asyncio or uvloop; under trio, read them with `for` in a thread of their own "
            "(trio.to_thread.run_sync)"
        ) from None


class _Loop:
    """One `async for` over a stream."""

    __slots__ = ("_stream",)

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Update | Notice:
        # Most items are there: a coroutine less for each.
        item = self._stream._core.take_in_turn()
        return await self._stream.__anext__() if item is None else item

    def __del__(self) -> None:
        # The loop was left, or its task was cancelled.
        if not self._stream._entered:
            self._stream.close()


class Batches:
    """The items of a stream as Arrow tables; see `LiveStream.batches`.

    What was taken for a batch that was not given, because the wait was cancelled or interrupted, is in the next one.

    >>> with client.live_stats(live_game_id) as stream:
    ...     for table in stream.batches(max_rows=2, max_seconds=5):
    ...         break
    >>> table.column_names == sideline.SCHEMAS["live_items"].names
    True
    """

    def __init__(self, stream: LiveStream, max_rows: int, max_seconds: float, table: str) -> None:
        self._stream = stream
        self._max_rows = max_rows
        self._max_seconds = max_seconds
        self._table = table
        self._items: list[Update | Notice] = []
        self._until = 0.0
        self._error: Exception | None = None

    def __iter__(self) -> Self:
        self._stream._check_not_over()
        return self

    def __next__(self) -> Table:
        core = self._stream._core
        core.open()
        self._raise()
        if not self._items:
            first = core.next()
            if first is None:
                self._stream._is_over = True
                self._end()
                raise StopIteration
            self._begin(first)
        try:
            while len(self._items) < self._max_rows:
                item = core.next_within(self._until - monotonic())
                if item is None:
                    break
                self._items.append(item)
        except Exception as error:
            # What came before it is given first.
            self._error = error
        return self._give()

    def __aiter__(self) -> Self:
        self._stream._check_not_over()
        return self

    async def __anext__(self) -> Table:
        _check_asyncio()
        # Before anything is taken: other tasks of the loop want their turn.
        await asyncio.sleep(0)
        core = self._stream._core
        core.open()
        self._raise()
        if not self._items:
            try:
                self._begin(await self._stream.__anext__())
            except StopAsyncIteration:
                self._end()
                raise
        try:
            while len(self._items) < self._max_rows:
                item = core.take_in_turn()
                if item is not None:
                    self._items.append(item)
                    continue
                if core.is_turn_due:
                    await asyncio.sleep(0)
                    core.begin_turn()
                    continue
                left = self._until - monotonic()
                if core.ended or left <= 0:
                    break
                try:
                    # `wait_for` of Python 3.11 would forget a cancellation that comes together with an item.
                    async with asyncio.timeout(left):
                        await core.wait()
                except TimeoutError:
                    break
        except Exception as error:
            self._error = error
        return self._give()

    def _begin(self, first: Update | Notice) -> None:
        self._items.append(first)
        self._until = monotonic() + self._max_seconds

    def _raise(self) -> None:
        if not self._items and self._error is not None:
            error, self._error = self._error, None
            self._end()
            raise error

    def _give(self) -> Table:
        items, self._items = self._items, []
        return _items_table(items, self._table)

    def _end(self) -> None:
        if not self._stream._entered:
            self._stream.close()

    def __del__(self) -> None:
        # The loop was left, or its task was cancelled.
        self._end()


class LiveBoxScore:
    """The current box score of a game, kept from the updates of either stream.

    A message holds new current values: they replace what was there and are never added. A correction is one of a higher
    `version`; what comes late or twice is left out. `seed` takes a REST answer, to begin with or after a gap.

    >>> score = sideline.LiveBoxScore(client.team_game_stats(team_id, game_id=game_id))
    >>> score.table().name
    'box_score'
    """

    def __init__(self, *seeds: Payload) -> None:
        self._core = CoreBoxScore()
        for payload in seeds:
            self.seed(payload)

    def feed(self, item: object) -> bool:
        """Apply an item of a stream; whether the box score changed. Notices and other messages change nothing."""
        return isinstance(item, Update) and self._core.feed(item)

    def feed_all(self, items: Iterable[object]) -> int:
        """Apply items; how many of them changed the box score."""
        return sum(self.feed(item) for item in items)

    def seed(self, payload: Payload) -> None:
        """Take the lines of an answer of `team_game_stats`, or of `stats`, where they are not older than those here.

        A line takes the place of the one that is here; lines are never added up. So `stats`, which is of one session,
        seeds a game that has had no other: of a later one it has that session's numbers alone.

        Raises `ValueError` for a body without such lines.
        """
        if not isinstance(payload, Payload):
            raise TypeError(f"a box score is seeded with payloads, one by one, not with a {type(payload).__name__}")
        self._core.seed(payload.raw)

    @property
    def ignored(self) -> int:
        """Updates left out: late, or seen before."""
        return self._core.ignored

    def table(self) -> Table:
        """The table `box_score`: a row for each player and for each team's own total."""
        return self._core.table()

    def __repr__(self) -> str:
        return f"<sideline.LiveBoxScore {self.table().num_rows} lines>"
