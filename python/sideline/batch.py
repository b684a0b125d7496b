"""Many ids at once: the responses, and why the others are missing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

from ._client import (
    UPDATE_INTERVAL,
    CallLimits,
    OnError,
    ProgressOption,
    TableName,
    bar,
    check_on_error,
    expected_bytes,
    mask_id,
)
from ._core import (
    CoreProgress,
    CoreUnits,
    CoverageRow,
    Payload,
    Table,
    _batch_async,
    _batch_sync,
    _batch_table,
    _coverage_table,
)
from ._lazy import LazyModule
from ._rows import count_text, report_drift
from .errors import AuthenticationError, IncompleteBatch

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from . import _client
else:
    _client = LazyModule("sideline._client")
    pandas, polars, pyarrow = LazyModule("pandas"), LazyModule("polars"), LazyModule("pyarrow")

__all__ = ["AsyncBatch", "Batch", "OnError"]

STATUSES = ("fetched", "empty", "forbidden", "missing", "failed")
"""The outcomes of a unit of a batch. A complete batch has only the first two. Archives have more."""

MAX_HOLES_SHOWN = 10


class Query(NamedTuple):
    """One operation for many ids."""

    operation: str
    name: str
    """The argument that takes the ids."""
    ids: list[int | str]
    arguments: dict[str, Any]
    """The other arguments."""
    timeout: CallLimits
    game_ids: list[Any] | None = None
    """The game of each id, if they differ."""


class Unit(NamedTuple):
    """The outcome of one operation for one id."""

    id: int | str
    payload: Payload | None
    """The response, even if it cannot be decoded."""
    error: Exception | None
    row: CoverageRow
    """Its row of `coverage`."""

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        return self.row.status

    @property
    def is_answered(self) -> bool:
        """Return whether the unit is no hole: it was fetched or is empty."""
        return self.status in STATUSES[:2]


class BaseBatch:
    """What both kinds of batch share; it sends no request."""

    def __init__(
        self,
        client: "_client.Client | _client.AsyncClient",
        query: Query,
        shape: Payload,
        units: "Sequence[Unit] | CoreUnits",
    ) -> None:
        self._client: Any = client
        self._query, self._shape = query, shape
        # Units without a hole are not built before someone reads them.
        self._core_units = units if isinstance(units, CoreUnits) else None
        self._python_units = [] if isinstance(units, CoreUnits) else list(units)

    @property
    def _units(self) -> list[Unit]:
        if (core_units := self._core_units) is not None:
            units = [Unit(key, *unit) for key, unit in zip(self._query.ids, core_units.to_list(), strict=True)]
            if self._core_units is not None:
                # In this order: another thread may read meanwhile.
                self._python_units, self._core_units = units, None
        return self._python_units

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_python_units": self._units, "_core_units": None}

    @property
    def operation(self) -> str:
        """The operation, such as `stats`."""
        return self._query.operation

    @property
    def ids(self) -> list[int | str]:
        """The requested ids, in order."""
        return list(self._query.ids)

    @property
    def tables(self) -> list[TableName]:
        """The names of the tables; the first is the default."""
        return self._shape.tables

    def table(
        self,
        name: TableName | None = None,
        columns: Sequence[str] | None = None,
        names: bool = False,
        tz: str | None = None,
    ) -> Table:
        """Return one table over all payloads, in the order of the ids; by default the first of `tables`.

        It keeps an Arrow batch for each payload, without copying. `box_score` has a column for each code of any
        payload; codes without a fixed position are at the end, by name. `names` and `tz` are as for a payload, with the
        names of all bodies. Raises `ValueError` if there is no such table or column.

        >>> client.stats([session_id, session_id]).table(columns=["session_id", "stat"]).column_names
        ['session_id', 'stat']
        """
        table = _batch_table(self._shape, list(self), name, columns)
        if names:
            from ._rows import with_names

            table = with_names(table, self)
        if tz is not None:
            from ._rows import in_zone

            table = in_zone(table, tz)
        return table

    def to_arrow(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "pyarrow.Table":
        """Return a `pyarrow.Table`, like `table(name, columns).to_arrow()`."""
        return self.table(name, columns).to_arrow()

    def to_polars(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "polars.DataFrame":
        """Return a `polars.DataFrame`, like `table(name, columns).to_polars()`."""
        return self.table(name, columns).to_polars()

    def to_pandas(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> "pandas.DataFrame":
        """Return a `pandas.DataFrame`, like `table(name, columns).to_pandas()`."""
        return self.table(name, columns).to_pandas()

    @property
    def coverage(self) -> Table:
        """The table `coverage`: one row with the status of each planned unit, in order.

        >>> client.stats([session_id]).coverage.to_dicts()[0]["status"]
        'fetched'
        """
        return _coverage_table([unit.row for unit in self._units])

    @property
    def counts(self) -> dict[str, int]:
        """The number of units by status: fetched, empty, forbidden, missing, failed.

        >>> client.stats([session_id]).counts
        {'fetched': 1, 'empty': 0, 'forbidden': 0, 'missing': 0, 'failed': 0}
        """
        count = Counter(unit.status for unit in self._units)
        return {status: count[status] for status in STATUSES}

    @property
    def complete(self) -> bool:
        """Whether every unit was fetched or is empty."""
        return self._core_units is not None or all(unit.is_answered for unit in self._units)

    @property
    def errors(self) -> dict[int | str, Exception]:
        """The error of each missing unit by its id: what a call with this id alone would have raised.

        Once the service refuses the credentials, the remaining ids are not requested: each has that
        `AuthenticationError` too, and no attempts in `coverage`.

        >>> list(client.stats([session_id, "no-such-session"], on_error="keep").errors)
        ['no-such-session']
        """
        return {unit.id: unit.error for unit in self._units if unit.error is not None}

    def raise_if_incomplete(self) -> None:
        """Raise `IncompleteBatch`, which carries this batch, unless it is complete.

        >>> client.stats([session_id]).raise_if_incomplete()
        """
        if self.complete:
            return
        counts = {status: count for status, count in self.counts.items() if count and status not in STATUSES[:2]}
        holes = [unit for unit in self._units if not unit.is_answered]
        batch: Any = self
        unsent_count = sum(isinstance(unit.error, AuthenticationError) and not unit.row.attempts for unit in holes)
        reason = f" The service refused the credentials, so {unsent_count} were not requested." if unsent_count else ""
        raise IncompleteBatch(
            f"{self.operation}: {len(holes)} of {len(self._units)} units are missing "
            f"({', '.join(f'{count} {status}' for status, count in counts.items())}); the first is "
            f"{self._query.name} {mask_id(self, str(holes[0].id))}: {holes[0].error}.{reason} The exception's .batch "
            "holds the fetched ones: its .coverage lists every unit, and its .retry() requests the missing ones again. "
            'Pass on_error="keep" to get the batch without this error',
            batch=batch,
        ) from holes[0].error

    def __iter__(self) -> Iterator[Payload]:
        return (unit.payload for unit in self._units if unit.is_answered and unit.payload is not None)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Payload: ...
    @overload
    def __getitem__(self, place: slice) -> list[Payload]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Payload | list[Payload]:
        """Return the payload at a position among those that iteration yields."""
        if not isinstance(place, slice) and not hasattr(place, "__index__"):
            raise TypeError(f"a batch is indexed by position, such as batch[0], not by {type(place).__name__}")
        return list(self)[place]

    def __len__(self) -> int:
        return len(self._query.ids) if self._core_units is not None else sum(unit.is_answered for unit in self._units)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        counts = "".join(f", {count} {status}" for status, count in self.counts.items() if count)
        tables = f"tables: {', '.join(self.tables)}" if self.tables else "no table"
        units = count_text(len(self._units), "unit")
        return f"<sideline.{type(self).__name__} {self.operation}: {units}{counts}; {tables}>"

    def _repr_html_(self) -> str:
        from ._rows import facts_html

        fetched = [unit.payload.fetched_at for unit in self._units if unit.payload is not None]
        last = max((at for at in fetched if at is not None), default=None)
        holes = [(f"{unit.status}: {unit.id}", str(unit.error)) for unit in self._units if not unit.is_answered]
        left_out = len(holes) - MAX_HOLES_SHOWN
        return facts_html(
            self.operation,
            {
                "units": len(self._units),
                **{status: count for status, count in self.counts.items() if count},
                "rows": sum(unit.row.rows for unit in self._units),
                "bytes": sum(payload._size for payload in self),
                "last fetched": None if last is None else f"{last:%Y-%m-%d %H:%M:%S} UTC",
                "tables": ", ".join(self.tables) or "none: use to_dict() of each payload",
                **dict(holes[:MAX_HOLES_SHOWN]),
                "and": f"{left_out:,} more missing units: see .coverage" if left_out > 0 else None,
            },
        )


class Batch(BaseBatch):
    """The payloads of several ids, in the order of the ids, and the coverage of each.

    It is complete if every unit was fetched or is empty. It iterates over these payloads, and `len` counts them, so
    positions are those of `ids` only if it is complete; `coverage` has a row for each id.

    >>> batch = client.stats([session_id, "no-such-session"], on_error="keep")
    >>> batch
    <sideline.Batch stats: 2 units, 1 fetched, 1 missing; tables: player_stats, box_score>
    >>> [payload.request_id == batch.coverage.to_dicts()[0]["request_id"] for payload in batch]
    [True]
    """

    def retry(
        self,
        *,
        client: "_client.Client | None" = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
    ) -> "Batch":
        """Request only the missing units again, and return a new batch of all units in the same order.

        Units that were forbidden are requested again too.

        Parameters:
            client: another client, such as one with the right secret; default: the client of this batch.
            on_error, progress: as for the call that returned this batch.

        Raises `TypeError` for an `AsyncClient`.

        >>> service.faults.add("*/stats", status=503)
        >>> batch = client.stats([session_id], on_error="keep")
        >>> service.faults.clear()
        >>> batch.complete, batch.retry().complete
        (False, True)
        """
        return fetch_sync(_same_class(self._client, client), self._query, on_error, progress, before=self)


class AsyncBatch(BaseBatch):
    """The batch of an `AsyncClient`: like `Batch`, but `retry` is a coroutine.

    >>> batch = await client.stats([session_id, "no-such-session"], on_error="keep")
    >>> batch
    <sideline.AsyncBatch stats: 2 units, 1 fetched, 1 missing; tables: player_stats, box_score>
    """

    async def retry(
        self,
        *,
        client: "_client.AsyncClient | None" = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
    ) -> "AsyncBatch":
        """Request only the missing units again, and return a new batch of all units in the same order.

        See `Batch.retry`. Raises `TypeError` for a `Client`.

        >>> service.faults.add("*/stats", status=503)
        >>> batch = await client.stats([session_id], on_error="keep")
        >>> service.faults.clear()
        >>> again = await batch.retry()
        >>> batch.complete, again.complete
        (False, True)
        """
        return await fetch_async(_same_class(self._client, client), self._query, on_error, progress, before=self)


def _same_class(used: Any, value: Any) -> Any:
    """Return the given client, or else the one that was used; both must be of the same class."""
    from ._client import waits

    if value is not None and waits(value) is not waits(used):
        name, kind = "Client" if waits(used) else "AsyncClient", type(value).__name__
        raise TypeError(f"client must be a {name}, like the client of this batch, not {kind}")
    return used if value is None else value


def fetch_sync(
    client: "_client.Client",
    query: Query,
    on_error: OnError,
    progress: ProgressOption,
    before: BaseBatch | None = None,
) -> Batch:
    """Fetch the units of a query, or only those missing in the batch `before`."""
    check_on_error(on_error)
    run = _Run(client, query, progress, before)
    try:
        response = _batch_sync(client._core, run.open_query(), run.strict, run.counters, run.bar)
    finally:
        run.end()
    batch = Batch(client, query, *run.units(*response))
    if on_error == "raise":
        batch.raise_if_incomplete()
    return batch


async def fetch_async(
    client: "_client.AsyncClient",
    query: Query,
    on_error: OnError,
    progress: ProgressOption,
    before: BaseBatch | None = None,
) -> AsyncBatch:
    """Fetch the units of a query, as `fetch_sync`."""
    # Not at the top: a synchronous client needs no asyncio.
    import asyncio

    check_on_error(on_error)
    run = _Run(client, query, progress, before)
    running = asyncio.ensure_future(_batch_async(client._core, run.open_query(), run.strict, run.counters))
    try:
        while run.bar is not None and not running.done():
            run.bar()
            await asyncio.wait({running}, timeout=UPDATE_INTERVAL)
        response = await running
    finally:
        running.cancel()
        run.end()
    batch = AsyncBatch(client, query, *run.units(*response))
    if on_error == "raise":
        batch.raise_if_incomplete()
    return batch


class _Run:
    """One run of a query: the units to fetch, and those of the batch before."""

    def __init__(
        self,
        client: "_client.Client | _client.AsyncClient",
        query: Query,
        progress: ProgressOption,
        before: BaseBatch | None,
    ) -> None:
        self._query = query
        self.strict: bool = client._options["strict"]
        self._answered_units: list[Unit | None] = (
            [None] * len(query.ids)
            if before is None
            else [unit if unit.is_answered else None for unit in before._units]
        )
        self._open = [place for place, unit in enumerate(self._answered_units) if unit is None]
        self.counters = CoreProgress()
        size = expected_bytes(query.operation, query.arguments.get("start"), query.arguments.get("end"))
        self.bar = bar(progress, query.operation, len(self._open), self.counters, round(len(self._open) * size))

    def open_query(self) -> Query:
        """Return the query for the units to fetch."""
        ids, games = self._query.ids, self._query.game_ids
        return self._query._replace(
            ids=[ids[place] for place in self._open],
            game_ids=None if games is None else [games[place] for place in self._open],
        )

    def end(self) -> None:
        """Close the progress bar."""
        if self.bar is not None:
            self.bar(is_over=True)

    def units(self, shape: Payload, core_units: CoreUnits) -> "tuple[Payload, Sequence[Unit] | CoreUnits]":
        """Return the shape of a batch, and all its units."""
        if core_units.plain and len(self._open) == len(self._answered_units):
            return shape, core_units
        units = list(self._answered_units)
        for place, (payload, error, row) in zip(self._open, core_units.to_list(), strict=True):
            units[place] = Unit(self._query.ids[place], payload, error, row)
            if payload is not None and payload._drift_fields:
                report_drift(payload, warn=not self.strict)
        return shape, [unit for unit in units if unit]
