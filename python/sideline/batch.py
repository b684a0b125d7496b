"""Many ids at once: what came, what did not, and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

import sideline
from sideline._core import (
    CoreProgress,
    CoreUnits,
    Payload,
    Table,
    _batch_async,
    _batch_sync,
    _batch_table,
    _coverage_table,
    _ids,
)
from sideline._drift import report_drift
from sideline._progress import UPDATE_INTERVAL, ProgressOption, bar
from sideline._timeout import Timeout, call_limits
from sideline._types import LazyModule, OnError, TableName
from sideline.errors import AuthenticationError, IncompleteError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
else:
    pandas, polars, pyarrow = LazyModule("pandas"), LazyModule("polars"), LazyModule("pyarrow")

__all__ = ["AsyncBatch", "Batch", "OnError"]

STATUSES = ("fetched", "empty", "forbidden", "missing", "failed")
"""How a unit of a batch may end; the first two are what a complete batch has. Archives know more."""

HOLES = 10
"""So many of those that did not come are shown."""

_STATUS, _ATTEMPTS = 6, 10
"""Their places in a row of `coverage`."""


class Question(NamedTuple):
    """One operation for many ids."""

    operation: str
    name: str
    """The argument that takes the ids."""
    ids: list[int | str]
    arguments: dict[str, Any]
    """The other arguments."""
    timeout: tuple[float | None, float | None, float] | None
    """Connect, read and total."""
    game_ids: list[Any] | None = None
    """The game of each id, where they differ."""


class Unit(NamedTuple):
    """One operation for one id, ended."""

    id: int | str
    payload: Payload | None
    """What came; with an error beside it where it does not fit."""
    error: Exception | None
    row: tuple[Any, ...]
    """Its row of `coverage`."""

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        status: str = self.row[_STATUS]
        return status

    @property
    def came(self) -> bool:
        """Whether it is one of those that a complete batch has."""
        return self.status in STATUSES[:2]


class BaseBatch:
    """What both batches share: nothing of it sends a request."""

    def __init__(
        self,
        client: "sideline.Client | sideline.AsyncClient",
        question: Question,
        shape: Payload,
        units: "Sequence[Unit] | CoreUnits",
    ) -> None:
        self._client: Any = client
        self._question, self._shape = question, shape
        # Of units that all came nothing is made before it is looked at.
        self._whole = units if isinstance(units, CoreUnits) else None
        self._made = [] if isinstance(units, CoreUnits) else list(units)

    @property
    def _units(self) -> list[Unit]:
        if (whole := self._whole) is not None:
            made = [Unit(one, *unit) for one, unit in zip(self._question.ids, whole.made(), strict=True)]
            if self._whole is not None:
                # In this order: another thread may look meanwhile.
                self._made, self._whole = made, None
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": self._units, "_whole": None}

    @property
    def operation(self) -> str:
        """What was asked."""
        return self._question.operation

    @property
    def ids(self) -> list[int | str]:
        """The ids asked for, in order."""
        return list(self._question.ids)

    @property
    def tables(self) -> list[TableName]:
        """The names of the tables; the first is the default."""
        return self._shape.tables

    def table(self, name: TableName | None = None, columns: Sequence[str] | None = None, names: bool = False) -> Table:
        """One table over all payloads, in the order of the ids; none named is the first.

        It keeps an Arrow batch for each payload, so that nothing is held twice. `box_score` has a column for each code
        that any of them has, those of no fixed place at the end, by name. `names=True` is as for a payload: the names
        are those of all bodies. Raises `ValueError` where there is no such table or column.

        >>> client.stats([session_id, session_id]).table(columns=["session_id", "stat"]).column_names
        ['session_id', 'stat']
        """
        table = _batch_table(self._shape, list(self), name, columns)
        if names:
            from sideline._names import with_names

            return with_names(table, self)
        return table

    def to_arrow(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "pyarrow.Table":
        """As `table(name, columns).to_arrow()`: a `pyarrow.Table`."""
        return self.table(name, columns).to_arrow()

    def to_polars(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "polars.DataFrame":
        """As `table(name, columns).to_polars()`: a `polars.DataFrame`."""
        return self.table(name, columns).to_polars()

    def to_pandas(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "pandas.DataFrame":
        """As `table(name, columns).to_pandas()`: a `pandas.DataFrame`."""
        return self.table(name, columns).to_pandas()

    @property
    def coverage(self) -> Table:
        """The table `coverage`: a row for each unit that was planned, in order, with its status.

        >>> client.stats([session_id]).coverage.to_dicts()[0]["status"]
        'fetched'
        """
        return _coverage_table([unit.row for unit in self._units])

    @property
    def counts(self) -> dict[str, int]:
        """How many units ended how: fetched, empty, forbidden, missing, failed. Their sum is what was planned.

        >>> client.stats([session_id]).counts
        {'fetched': 1, 'empty': 0, 'forbidden': 0, 'missing': 0, 'failed': 0}
        """
        ended = Counter(unit.status for unit in self._units)
        return {status: ended[status] for status in STATUSES}

    @property
    def complete(self) -> bool:
        """Whether every unit was fetched or is empty."""
        return self._whole is not None or all(unit.came for unit in self._units)

    @property
    def errors(self) -> dict[int | str, Exception]:
        """Why units did not come, by their id: what a call for that id alone would have raised.

        Once the service refuses the credentials themselves the other ids are not asked for: each has that
        `AuthenticationError` too, and no attempt in `coverage`.

        >>> list(client.stats([session_id, "no-such-session"], on_error="keep").errors)
        ['no-such-session']
        """
        return {unit.id: unit.error for unit in self._units if unit.error is not None}

    def raise_if_incomplete(self) -> None:
        """Raise `IncompleteError`, which carries this batch, unless it is complete.

        >>> client.stats([session_id]).raise_if_incomplete()
        """
        if self.complete:
            return
        counts = {status: count for status, count in self.counts.items() if count and status not in STATUSES[:2]}
        holes = [unit for unit in self._units if not unit.came]
        batch: Any = self
        unasked = sum(isinstance(unit.error, AuthenticationError) and not unit.row[_ATTEMPTS] for unit in holes)
        refused = f" The service refused the credentials, so that {unasked} were not asked for." if unasked else ""
        raise IncompleteError(
            f"{self.operation}: {len(holes)} of {len(self._units)} units did not come "
            f"({', '.join(f'{count} {status}' for status, count in counts.items())}); the first is "
            f"{self._question.name} {holes[0].id}: {holes[0].error}.{refused} What came is in the exception's .batch, "
            "whose .coverage lists every unit and whose .retry() asks again for what is not there; "
            'on_error="keep" gives the batch instead',
            batch=batch,
        )

    def __iter__(self) -> Iterator[Payload]:
        return (unit.payload for unit in self._units if unit.came and unit.payload is not None)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Payload: ...
    @overload
    def __getitem__(self, place: slice) -> list[Payload]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Payload | list[Payload]:
        """The payload at a place among those that were fetched, as iteration has them."""
        if not isinstance(place, slice) and not hasattr(place, "__index__"):
            raise TypeError(f"a batch is read by place, such as batch[0], not by {type(place).__name__}")
        return list(self)[place]

    def __len__(self) -> int:
        return len(self._question.ids) if self._whole is not None else sum(unit.came for unit in self._units)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        counts = "".join(f", {count} {status}" for status, count in self.counts.items() if count)
        tables = f"tables: {', '.join(self.tables)}" if self.tables else "no table"
        units = "1 unit" if len(self._units) == 1 else f"{len(self._units)} units"
        return f"<sideline.{type(self).__name__} {self.operation}: {units}{counts}; {tables}>"

    def _repr_html_(self) -> str:
        from sideline._text import facts_html

        fetched = [unit.payload.fetched_at for unit in self._units if unit.payload is not None]
        last = max((at for at in fetched if at is not None), default=None)
        holes = [(f"{unit.status}: {unit.id}", str(unit.error)) for unit in self._units if not unit.came]
        left_out = len(holes) - HOLES
        return facts_html(
            self.operation,
            {
                "units": len(self._units),
                **{status: count for status, count in self.counts.items() if count},
                "rows": sum(unit.row[_STATUS + 1] for unit in self._units),
                "bytes": sum(payload._size for payload in self),
                "last fetched": None if last is None else f"{last:%Y-%m-%d %H:%M:%S} UTC",
                "tables": ", ".join(self.tables) or "none: use to_dict() of each payload",
                **dict(holes[:HOLES]),
                "and": f"{left_out:,} more that did not come: see .coverage" if left_out > 0 else None,
            },
        )


class Batch(BaseBatch):
    """The payloads of several ids, in their order, and the coverage of each.

    It is complete when every unit was fetched or is empty. It iterates over the payloads that came, `len` counts them.

    >>> batch = client.stats([session_id, "no-such-session"], on_error="keep")
    >>> batch
    <sideline.Batch stats: 2 units, 1 fetched, 1 missing; tables: player_stats, box_score>
    >>> [payload.request_id == batch.coverage.to_dicts()[0]["request_id"] for payload in batch]
    [True]
    """

    def retry(
        self,
        *,
        client: "sideline.Client | None" = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
    ) -> "Batch":
        """Requests again what did not come, and nothing else: a new batch of all units, in the same order.

        What was forbidden or missing is requested again too.

        Parameters:
            client: another client to request with, such as one whose secret is right; default: the one that was used.
            on_error, progress: as for the call that returned this batch.

        Raises `TypeError` for an `AsyncClient`.

        >>> service.faults.add("*/stats", status=503)
        >>> batch = client.stats([session_id], on_error="keep")
        >>> service.faults.clear()
        >>> batch.complete, batch.retry().complete
        (False, True)
        """
        return fetch_sync(_same_class(self._client, client), self._question, on_error, progress, before=self)


class AsyncBatch(BaseBatch):
    """The payloads of several ids, as a `Batch`; an `AsyncClient` returns it, and `retry` is a coroutine.

    >>> batch = await client.stats([session_id, "no-such-session"], on_error="keep")
    >>> batch
    <sideline.AsyncBatch stats: 2 units, 1 fetched, 1 missing; tables: player_stats, box_score>
    """

    async def retry(
        self,
        *,
        client: "sideline.AsyncClient | None" = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
    ) -> "AsyncBatch":
        """Requests again what did not come, and nothing else: a new batch of all units, in the same order.

        As `Batch.retry`. Raises `TypeError` for a `Client`.

        >>> service.faults.add("*/stats", status=503)
        >>> batch = await client.stats([session_id], on_error="keep")
        >>> service.faults.clear()
        >>> again = await batch.retry()
        >>> batch.complete, again.complete
        (False, True)
        """
        return await fetch_async(_same_class(self._client, client), self._question, on_error, progress, before=self)


def _same_class(used: Any, given: Any) -> Any:
    """The client to request with: the given one, if any, where it is of the class of the one that was used."""
    from sideline._client import Client

    expected = Client if isinstance(used, Client) else sideline.AsyncClient
    if given is not None and not isinstance(given, expected):
        name, kind = expected.__name__, type(given).__name__
        raise TypeError(f"client is of the class {name}, as the one that asked, not {kind}")
    return used if given is None else given


def keys(name: str, given: object) -> tuple[list[Any], list[Any] | None] | None:
    """The ids of a payload, batch or table that has a column of them, each once, and the game of each session.

    `None`: it is none of these.
    """
    if not isinstance(given, (Payload, BaseBatch, Table)):
        return None
    wanted = dict.fromkeys((name, "game_id"))
    if isinstance(given, Table):
        names = given.column_names
        rows = given.to_dicts() if name in names else []
    else:
        from sideline._schemas import SCHEMAS

        table: TableName | None = next((table for table in given.tables if name in SCHEMAS[table].names), None)
        names = [] if table is None else [one for one in wanted if one in SCHEMAS[table].names]
        rows = given.table(table, columns=names).to_dicts() if table else []
    if name not in names:
        kind = type(given).__name__
        raise TypeError(
            f"{name} is one id, several in a list or a column, or what has a column {name}: this {kind} has none"
        )
    found: dict[Any, Any] = {}
    for row in rows:
        found[row[name]] = found.get(row[name]) or row.get("game_id")
    has_games = name == "session_id" and "game_id" in names
    return list(found), list(found.values()) if has_games else None


def many(name: str, given: object) -> list[int | str] | None:
    """The ids of a container with an order; `None`: it is one id, or nothing that holds ids."""
    if isinstance(given, (bytes, bytearray, memoryview)):
        # Python reads them as numbers.
        kind = type(given).__name__
        raise TypeError(f"{name} is an id (int, str or UUID) or several in a list, not {kind}: decode it to str")
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        return None
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"{name} is a {type(given).__name__}, which has no order: write sorted({name})")
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        raise TypeError(f"{name} is one id or several in a list or a column, not a {type(given).__name__}")
    if getattr(given, "ndim", 1) == 0:
        # NumPy's array of no dimension is one value.
        return None
    to_pylist = getattr(given, "to_pylist", None)
    values: Iterable[Any] = given if to_pylist is None else to_pylist()
    return _ids(name, list(values))


def several(name: str, given: object) -> list[int | str] | None:
    """The ids of an argument such as `team_ids`: of a container, or of what has a column `team_id`."""
    found = keys(name.removesuffix("s"), given)
    return many(name, given) if found is None else _ids(name, found[0])


def question(operation: str, arguments: Mapping[str, Any], timeout: Timeout | float | None) -> Question | None:
    """The question of a call whose first argument holds many ids; `None`: it holds one."""
    (name, given), *others = arguments.items()
    found = keys(name, given)
    ids, games = (many(name, given), None) if found is None else (_ids(name, found[0]), found[1])
    if ids is None:
        return None
    rest = dict(others)
    if name == "session_id" and (of_user := rest.get("game_id")) is not None:
        games = _games(of_user, len(ids))
        if games is not None:
            rest["game_id"] = None
    # An iterator is read now: a retry sends the same.
    kept = {name: list(value) if isinstance(value, Iterator) else value for name, value in rest.items()}
    return Question(operation, name, ids, kept, call_limits(timeout), games)


def _games(given: object, count: int) -> list[Any] | None:
    """The game of each of `count` ids; `None`: one for all."""
    found = keys("game_id", given)
    games = many("game_id", given) if found is None else found[0]
    if games is not None and len(games) != count:
        raise ValueError(f"game_id has {len(games)} ids for {count} sessions: give one for all, or one for each")
    return games


def check(on_error: str) -> None:
    """Raise `ValueError` for another word."""
    if on_error not in ("raise", "keep"):
        raise ValueError(f'on_error is {on_error!r}; it must be "raise" or "keep"')


def fetch_sync(
    client: "sideline.Client",
    question: Question,
    on_error: OnError,
    progress: ProgressOption,
    before: BaseBatch | None = None,
) -> Batch:
    """The batch of a question, waited for; of the units `before` those that did not come."""
    check(on_error)
    run = _Run(client, question, progress, before)
    try:
        came = _batch_sync(client._core, run.open_question(), run.strict, run.counters, run.bar)
    finally:
        run.end()
    batch = Batch(client, question, *run.units(*came))
    if on_error == "raise":
        batch.raise_if_incomplete()
    return batch


async def fetch_async(
    client: "sideline.AsyncClient",
    question: Question,
    on_error: OnError,
    progress: ProgressOption,
    before: BaseBatch | None = None,
) -> AsyncBatch:
    """The batch of a question, awaited."""
    # Not at the top: a synchronous client needs no asyncio.
    import asyncio

    check(on_error)
    run = _Run(client, question, progress, before)
    running = asyncio.ensure_future(_batch_async(client._core, run.open_question(), run.strict, run.counters))
    try:
        while run.bar is not None and not running.done():
            run.bar()
            await asyncio.wait({running}, timeout=UPDATE_INTERVAL)
        came = await running
    finally:
        running.cancel()
        run.end()
    batch = AsyncBatch(client, question, *run.units(*came))
    if on_error == "raise":
        batch.raise_if_incomplete()
    return batch


class _Run:
    """One run of a question: the units that are still to come, and those of the batch before."""

    def __init__(
        self,
        client: "sideline.Client | sideline.AsyncClient",
        question: Question,
        progress: ProgressOption,
        before: BaseBatch | None,
    ) -> None:
        self._question = question
        self.strict: bool = client._options["strict"]
        self._kept: list[Unit | None] = (
            [None] * len(question.ids) if before is None else [unit if unit.came else None for unit in before._units]
        )
        self._open = [place for place, unit in enumerate(self._kept) if unit is None]
        self.counters = CoreProgress()
        self.bar = bar(progress, question.operation, len(self._open), self.counters)

    def open_question(self) -> Question:
        """The question for the units that are still to come."""
        ids, games = self._question.ids, self._question.game_ids
        return self._question._replace(
            ids=[ids[place] for place in self._open],
            game_ids=None if games is None else [games[place] for place in self._open],
        )

    def end(self) -> None:
        """Tell the bar that nothing more comes."""
        if self.bar is not None:
            self.bar(ended=True)

    def units(self, shape: Payload, came: CoreUnits) -> "tuple[Payload, Sequence[Unit] | CoreUnits]":
        """The shape of a batch, and all of its units."""
        if came.plain and len(self._open) == len(self._kept):
            return shape, came
        units = list(self._kept)
        for place, (payload, error, row) in zip(self._open, came.made(), strict=True):
            units[place] = Unit(self._question.ids[place], payload, error, row)
            if payload is not None and payload._met:
                report_drift(payload, warn=not self.strict)
        return shape, [unit for unit in units if unit]
