"""Reads bodies and stores chunks while the next units are fetched, each in a thread of its own."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from ._fetch import Fetched, Outcome, connection_error
from ._plan import Unit
from ._settings import Settings


class Pipeline:
    """Holds what was fetched until a chunk is full. An error of an earlier step is raised by a later call."""

    def __init__(
        self,
        store: Callable[[list[Outcome], Sequence[int]], None],
        settings: Settings,
        first: Iterable[Outcome] = (),
        units: float = math.inf,
    ) -> None:
        """Call `store` for each chunk, with the parts whose leases it releases.

        `first` is read while the first step is fetched, and precedes it in the first chunk. `units`: how many follow.
        """
        self._settings = settings
        is_large = units > settings.max_chunk_units
        self._min_units = settings.min_chunk_units if is_large else settings.max_chunk_units
        self._store = store
        self._outcomes: list[Outcome] = []
        self._size = self._closed = 0
        self._reading, self._storing = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._stored_last: Future[None] | None = None
        self._read_last: Future[None] = self._reading.submit(self._hold_first, first)

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Store what is held, also where the caller was interrupted or a body could not be read."""
        errors: list[Exception] = []
        with self._storing, self._reading:
            for finish in (self._wait_for_reading, lambda: self._close_chunk(()), self._wait_for_storing):
                try:
                    finish()
                except Exception as own_error:  # noqa: BLE001 - raised below, unless the caller's own error says more
                    errors.append(own_error)
        if errors and error is None:
            raise errors[0]

    def add(self, fetched: Iterable[Fetched], parts: Sequence[int]) -> None:
        """Take the units of a step, once those of the step before are read; with `parts`, the chunk ends with them."""
        self._wait_for_reading()
        self._read_last = self._reading.submit(self._read, deque(fetched), parts)

    def _wait_for_reading(self) -> None:
        self._read_last.result()

    def _wait_for_storing(self) -> None:
        if self._stored_last is not None:
            self._stored_last.result()

    def _read(self, fetched: deque[Fetched], parts: Sequence[int]) -> None:
        first = len(self._outcomes)
        while fetched:
            # One after another, so that only one body is held twice.
            self._hold(fetched.popleft().read())
        cause = connection_error(self._outcomes[first:])
        if parts or cause or self._is_full():
            self._close_chunk(parts)
        if cause is not None:
            raise cause

    def _hold_first(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            self._hold(outcome)
            if self._is_full():
                self._close_chunk(())

    def _hold(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._size += outcome.body.size if outcome.body else 0

    def _is_full(self) -> bool:
        max_units = min(self._settings.max_chunk_units, max(self._min_units, self._closed // 2))
        return len(self._outcomes) >= max_units or self._size >= self._settings.max_chunk_bytes

    def _close_chunk(self, parts: Sequence[int]) -> None:
        """Store what is held, after the chunk before."""
        chunk, self._outcomes, self._size = self._outcomes, [], 0
        self._closed += len(chunk)
        self._wait_for_storing()
        if chunk or parts:
            self._stored_last = self._storing.submit(self._store, chunk, parts)


def steps_of(groups: Iterable[Sequence[Unit]], size: Callable[[Unit], int], settings: Settings) -> Iterator[list[Unit]]:
    """Yield the units of whole events, so that a correction is seen with all of its consequences."""
    step: list[Unit] = []
    expected = 0
    for group in groups:
        step += group
        expected += sum(map(size, group))
        if len(step) >= settings.max_step_units or expected >= settings.max_step_bytes:
            yield step
            step, expected = [], 0
    if step:
        yield step
