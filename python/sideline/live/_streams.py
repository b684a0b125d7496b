"""Live streams: their items, one by one or in batches."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from os import PathLike
from sys import modules
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self

from .._client import Duration, Sport, Unpicklable, as_seconds, check_count
from .._core import CoreStream, Table, Update
from .._lazy import LazyModule
from .._rows import facts_html
from ..errors import StreamClosed
from ._box_score import LiveBoxScore
from ._notices import Notice
from ._stats import StreamStats

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from . import _page

    Item = TypeVar("Item", bound=Update | Notice, default=Update | Notice, covariant=True)
else:
    from typing import TypeVar

    _page = LazyModule("sideline.live._page")
    Item = TypeVar("Item", covariant=True)

State = Literal["new", "connecting", "connected", "waiting", "closed"]


class _Life:
    """Whether a stream was entered or has ended, and whether a page reads it, shared with its iterators."""

    __slots__ = ("_core", "has_ended", "has_page", "is_entered")

    def __init__(self, core: CoreStream) -> None:
        self._core = core
        self.is_entered: bool = False
        self.has_ended: bool = False
        self.has_page: bool = False

    def check_not_ended(self) -> None:
        if self.has_ended:
            raise StreamClosed("this stream has ended or was closed; open another one")

    def check_no_page(self) -> None:
        if self.has_page:
            raise RuntimeError(
                "a page takes the items of this stream: close the page first, or record the stream before it"
            )

    def check_readable(self) -> None:
        self.check_not_ended()
        self.check_no_page()

    def close(self) -> None:
        self.has_ended = True
        self._core.close()

    def close_unless_entered(self) -> None:
        if not self.is_entered:
            self.close()


class LiveStream(Unpicklable, Generic[Item]):
    """A live stream: an iterator of updates and of notices about the connection.

    It connects at `with` or at the first item, and reconnects until it is closed. `for` and `async for` read the same
    object. A stream entered with `with` is closed at the end of the block; otherwise it is closed when the loop over it
    ends.

    >>> with client.live_stats(live_game_id) as stream:
    ...     for item in stream:
    ...         if isinstance(item, sideline.Update):
    ...             break
    >>> stream.state
    'closed'
    """

    _instead = "its items can be pickled; record it for another process, or open another stream there"

    def __init__(
        self,
        core: CoreStream,
        title: str,
        game_id: str | None = None,
        *,
        sport: Sport = "basketball",
        has_notices: bool = True,
    ) -> None:
        self._core = core
        self._sport: Sport = sport
        self._has_notices = has_notices
        self._title = title
        self._game_id = game_id
        self._life = _Life(core)
        if "opentelemetry.metrics" in modules:
            from .._companions import observe_stream

            observe_stream(self, title)

    def __iter__(self) -> Iterator[Item]:
        self._life.check_readable()
        return self._items()

    def _items(self) -> Iterator[Item]:
        core = self._core
        try:
            core.open()
            while (item := core.next()) is not None:
                yield item
            self._life.has_ended = True
        finally:
            self._life.close_unless_entered()

    def __next__(self) -> Item:
        self._life.check_no_page()
        self._core.open()
        item: Item | None = self._core.next()
        if item is None:
            self._life.has_ended = True
            raise StopIteration
        return item

    def __aiter__(self) -> AsyncIterator[Item]:
        self._life.check_readable()
        return _AsyncIterator(self, self._core, self._life)

    async def __anext__(self) -> Item:
        self._life.check_no_page()
        item: Item | None = self._core.take_in_turn()
        if item is None and (item := await _next_item(self._core)) is None:
            self._life.has_ended = True
            raise StopAsyncIteration
        return item

    def batches(
        self,
        *,
        max_rows: int = 1000,
        max_seconds: Duration = 1.0,
        table: Literal["live_items", "stat_updates"] = "live_items",
    ) -> "Batches":
        """Return the items as Arrow tables of at most `max_rows` items, at most `max_seconds` after the first of them.

        `live_items` has a row for each item, including notices; `stat_updates` has a row for each stat code of each
        stats message, and none for other items. Iterate over the result with `for` or `async for`. A stats message with
        an unreadable value is left out, counted (`stats.unreadable`), and logged once for each path and reason.

        >>> with client.live_stats(live_game_id) as stream:
        ...     next(iter(stream.batches(max_rows=1))).name
        'live_items'
        """
        check_count("max_rows", max_rows)
        max_seconds = as_seconds(max_seconds, "max_seconds")
        if not max_seconds > 0:
            raise ValueError(f"max_seconds is {max_seconds}; it must be more than 0")
        # Check the name before any item is taken.
        self._core.items_table([], table)
        return Batches(self, self._core, self._life, max_rows, max_seconds, table)

    def record(self, path: str | PathLike[str], *, sync_every: Duration | None = 5.0) -> Self:
        """Append each item taken from now on, including notices, to the journal at `path`; returns the stream.

        An existing journal is continued, with a `Gap` over the time that was not recorded (but not with
        `notices=False`). Items are written at least once a second and once in `sync_every`, so a killed process loses
        at most that much. The journal is complete when the stream is closed. `sideline.replay` replays it; `zstdcat`
        shows it as JSON lines, with times in nanoseconds (documentation: Live, "Recording and replaying").

        Parameters:
            sync_every: seconds between two calls of fsync, at most, while items arrive: a power failure loses this much
                more. 0: after each item; `None`: never, not even at the end.

        Raises `DecodeError` for a file that is not a journal, and does not change it, and `BlockingIOError` while
        another stream records there. If an item cannot be
        written (the disk is full), it raises `OSError`, and the next call returns that item.

        >>> with client.live_stats(live_game_id).record("game.journal") as stream:
        ...     type(next(stream)).__name__
        'Connected'
        >>> [type(item).__name__ for item in sideline.replay("game.journal")]
        ['Connected']
        """
        self._core.record(path, None if sync_every is None else as_seconds(sync_every, "sync_every"))
        return self

    def display(self, score: "LiveBoxScore | None" = None, *, every: Duration = 1.0) -> None:
        """Show the stream while it runs: its state, its last notices, and the box score if it has stats.

        In a notebook it shows one table that refreshes; elsewhere it prints lines, and the box score at the end. It
        takes the items until the stream ends or is interrupted by the notebook's stop button or Ctrl-C, which is not
        raised. Then it closes the stream, unless the stream was entered with `with`.

        Parameters:
            score: the box score to update, such as a seeded one; default: a new one, of the client's sport.
            every: seconds between two refreshes, at least.

        >>> with client.live_stats(live_game_id).record("game.journal") as stream:
        ...     recorded = [next(stream), next(stream)]
        >>> sideline.replay("game.journal", speed=None).display()
        replay of game.journal: ...
        """
        self._life.check_readable()
        every = as_seconds(every, "every")
        if not every > 0:
            raise ValueError(f"every is {every}; it must be more than 0")
        from ._display import View, run, screen

        run(View(self, self._checked_score(score)), screen(), every)

    def serve(
        self,
        score: "LiveBoxScore | None" = None,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
        feed: bool = False,
        delay_s: Duration = 0.0,
    ) -> "_page.LivePage":
        """Show the stream in a browser: score, clock, box score, shot chart, last plays, gaps (documentation: Live).

        With `feed`, graphics systems read the score there too: `/score.json`, `/feed.json`, `/feed.csv`, `/feed.xml`,
        `/overlay` and `/healthz` (documentation: On air).

        The page takes the items in a thread until it is closed; until then the stream has no other reader. `record` it
        before to keep the items. Only this machine can open it unless `host` says otherwise, and nothing is loaded from
        elsewhere. Closing the page closes the stream, unless the stream was entered with `with`.

        Parameters:
            score: the box score to update, such as a seeded one; default: a new one, of the client's sport.
            port: default: any free port.
            host: the address to listen at; another than this machine's own loopback needs a token.
            token: what each address must have as `?token=`; a secret.
            feed: also serve the feed.
            delay_s: show the game as it was this many seconds ago, like delayed pictures.

        Raises `OSError` if the port is in use, `RuntimeError` if another page reads the stream, and `ValueError` for
        another host without a token, or for a stream without notices, of which the page could not say whether it is
        stale.

        >>> with client.live(live_game_id).serve(feed=True) as page:
        ...     page
        <sideline.live.LivePage http://127.0.0.1:..., open>
        """
        from ._page import LivePage, PageOptions

        self._life.check_readable()
        if not self._has_notices:
            raise ValueError("a page shows gaps and lost connections: open its stream without notices=False")
        options = PageOptions(host, port, token, has_feed=feed, delay_s=as_seconds(delay_s, "delay_s"))
        return LivePage(self, self._checked_score(score), options)

    def _checked_score(self, score: LiveBoxScore | None) -> LiveBoxScore:
        """Return the box score to update; a wrong one would fail only with the first item."""
        if score is not None and not isinstance(score, LiveBoxScore):
            raise TypeError(f"score is a sideline.LiveBoxScore, not {type(score).__name__}")
        return LiveBoxScore(sport=self._sport) if score is None else score

    @property
    def state(self) -> State:
        """ "new", "connecting", "connected", "waiting" (for the next attempt) or "closed"."""
        return self._core.state

    @property
    def stats(self) -> StreamStats:
        """The counters so far."""
        return StreamStats(**self._core.stats)

    def __repr__(self) -> str:
        if self.state in ("new", "closed"):
            return f"<sideline.LiveStream {self._title}, {self.state}>"
        stats = self.stats
        return f"<sideline.LiveStream {self._title}, {self.state}, {stats.updates} updates, {stats.gaps} gaps>"

    def _repr_html_(self) -> str:
        stats, last = self.stats, self._core.last
        return facts_html(
            self._title,
            {
                "state": self.state,
                "updates": stats.updates,
                "last received": f"{last:%Y-%m-%d %H:%M:%S} UTC" if last else None,
                "bytes": stats.bytes,
                "reconnects": stats.reconnects or None,
                "gaps": stats.gaps,
                "open gaps": stats.open_gaps or None,
                "recovered": stats.recovered or None,
                "unreadable rows": stats.unreadable or None,
                "repeats": stats.repeats or None,
                "dropped": stats.dropped or None,
                "waiting to be taken": f"{stats.lag:.1f} s" if stats.lag else None,
            },
        )

    def close(self) -> None:
        """Close the stream in any state; items that were not taken are lost. It may be called again.

        Raises `OSError` if the last items of a journal could not be written.
        """
        self._life.close()

    def __enter__(self) -> Self:
        self._life.check_not_ended()
        self._core.open()
        self._life.is_entered = True
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


async def _next_item(core: CoreStream) -> Any:
    """Return the next item, or `None` at the end. Other tasks of the loop get their turns."""
    _check_asyncio()
    core.open()
    while True:
        if core.is_turn_due:
            # Nothing is taken yet, so a cancellation here loses nothing.
            await asyncio.sleep(0)
            core.begin_turn()
        item = core.take()
        if item is not None:
            return item
        if core.has_ended:
            # An item may have arrived before the stream ended.
            return core.take()
        await core.wait()
        core.begin_turn()


def _check_asyncio() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "streams are awaited in asyncio or uvloop; under trio, read them with `for` in a thread "
            "(trio.to_thread.run_sync)"
        ) from None


class _AsyncIterator(Generic[Item]):
    """The iterator of one `async for` over a stream."""

    __slots__ = ("_core", "_life", "_stream")

    def __init__(self, stream: LiveStream[Item], core: CoreStream, life: _Life) -> None:
        self._stream = stream
        self._core = core
        self._life = life

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        # Most items are already buffered: this saves a coroutine for each.
        item: Item | None = self._core.take_in_turn()
        return await self._stream.__anext__() if item is None else item

    def __del__(self) -> None:
        # The loop ended, or its task was cancelled.
        self._life.close_unless_entered()


class Batches(Unpicklable):
    """The items of a stream as Arrow tables; see `LiveStream.batches`.

    If a wait is cancelled or interrupted, the items taken so far are in the next table.

    >>> with client.live_stats(live_game_id) as stream:
    ...     for table in stream.batches(max_rows=2, max_seconds=5):
    ...         break
    >>> table.column_names == sideline.SCHEMAS["live_items"].names
    True
    """

    _instead = "its tables can be pickled"

    def __init__(
        self, stream: LiveStream, core: CoreStream, life: _Life, max_rows: int, max_seconds: float, table: str
    ) -> None:
        self._stream = stream
        self._core = core
        self._life = life
        self._max_rows = max_rows
        self._max_seconds = max_seconds
        self._table = table
        self._items: list[Update | Notice] = []
        self._deadline = 0.0
        self._error: Exception | None = None

    def __iter__(self) -> Self:
        self._life.check_readable()
        return self

    def __next__(self) -> Table:
        self._life.check_no_page()
        core = self._core
        core.open()
        self._raise_pending()
        if not self._items:
            try:
                self._start(next(self._stream))
            except StopIteration:
                self._life.close_unless_entered()
                raise
        try:
            while len(self._items) < self._max_rows:
                item = core.next_within(self._deadline - monotonic())
                if item is None:
                    break
                self._items.append(item)
        except Exception as error:  # noqa: BLE001 - raised after the items that were received before it
            self._error = error
        return self._take_table()

    def __aiter__(self) -> Self:
        self._life.check_readable()
        return self

    async def __anext__(self) -> Table:
        _check_asyncio()
        # Other tasks of the loop get a turn before anything is taken.
        await asyncio.sleep(0)
        core = self._core
        core.open()
        self._raise_pending()
        if not self._items:
            try:
                self._start(await self._stream.__anext__())
            except StopAsyncIteration:
                self._life.close_unless_entered()
                raise
        # `wait_for` of Python 3.11 loses a cancellation that comes together with an item.
        limit = asyncio.timeout(self._deadline - monotonic())
        try:
            async with limit:
                while len(self._items) < self._max_rows:
                    if (item := core.take_in_turn()) is None and (item := await _next_item(core)) is None:
                        break
                    self._items.append(item)
        except Exception as error:  # noqa: BLE001 - raised after the items that were received before it
            if not (isinstance(error, TimeoutError) and limit.expired()):
                self._error = error
        return self._take_table()

    def _start(self, first: Update | Notice) -> None:
        self._items.append(first)
        self._deadline = monotonic() + self._max_seconds

    def _raise_pending(self) -> None:
        if not self._items and self._error is not None:
            error, self._error = self._error, None
            self._life.close_unless_entered()
            raise error

    def _take_table(self) -> Table:
        items, self._items = self._items, []
        return self._core.items_table(items, self._table)

    def __del__(self) -> None:
        # The loop ended, or its task was cancelled.
        self._life.close_unless_entered()
