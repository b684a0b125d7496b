"""Shares units between machines that sync one archive in a bucket.

One object of the bucket records which machine works on which part of the units. It is replaced only by conditional
puts, so that each part has one holder. A holder renews its entry; a machine that sees an entry unchanged for the
duration of a lease takes over its parts. Clocks of different machines are never compared.

Leases save requests. The stored data is right without them, because `_writer` orders the bodies of all writers.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._core import _logger
from ._libraries import obstore

if TYPE_CHECKING:
    from ._store import Store

PART_COUNT = 16
"""Number of parts into which units fall, by their event."""

_PATH = "_leases.json"
_MAX_ATTEMPTS = 50

Record = dict[str, Any]
"""The object as JSON: `number`, and for each of `machines` its `parts` and how often it `renewed` them."""


class Leases:
    """The leases of one sync: a context manager that renews and releases them."""

    def __init__(self, bucket: Any, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds`: a holder that has not renewed for this long loses its parts."""
        self._bucket = bucket
        self._seconds = seconds
        self._clock = clock
        self._id = uuid.uuid4().hex
        self._seen: dict[str, tuple[int, float]] = {}
        self._last: tuple[str, Any] | None = None
        """The object as it was last read or written, and the condition for replacing it."""
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="sideline leases", daemon=True)
        self.number = 0
        """Grows with each part that any machine takes. Commits record the last of their sync; it refuses nothing."""

    def __enter__(self) -> "Leases":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop_event.set()
        self._thread.join()
        self._let_go(lambda record: record["machines"].pop(self._id, None))

    def take(self, parts: Sequence[int]) -> list[int]:
        """Take the parts that are free or whose holder does not renew them, and return them."""

        def change(record: Record) -> list[int]:
            self._drop_expired(record)
            taken_parts = {part for machine in record["machines"].values() for part in machine["parts"]}
            free = [part for part in parts if part not in taken_parts]
            if free:
                record["number"] += 1
                machine = record["machines"].setdefault(self._id, {"renewed": 0, "parts": []})
                machine["parts"] += free
                self.number = record["number"]
            return free

        # Without a free part, whether others have released one since is requested.
        numbers: list[int] = self._change(change, is_read_again=True)
        return numbers

    def release(self, parts: Sequence[int]) -> None:
        """Release parts whose units are stored."""

        def change(record: Record) -> None:
            machine = record["machines"].get(self._id)
            if machine is not None:
                machine["parts"] = [part for part in machine["parts"] if part not in parts]
                if not machine["parts"]:
                    del record["machines"][self._id]

        self._let_go(change)

    def _let_go(self, change: Callable[[Record], Any]) -> None:
        try:
            self._change(change)
        except Exception as error:  # noqa: BLE001 - everything is stored, and leases expire by themselves
            _logger().warning("leases were not given back: %s", type(error).__name__)

    def wait(self) -> None:
        """Wait between two attempts to take parts of other machines."""
        self._stop_event.wait(min(1.0, self._seconds / 10))

    def _drop_expired(self, record: Record) -> None:
        now = self._clock()
        for machine, lease in list(record["machines"].items()):
            if machine == self._id:
                continue
            renewal, since = self._seen.get(machine, (-1, now))
            if renewal != lease["renewed"]:
                self._seen[machine] = lease["renewed"], now
            elif now - since > self._seconds:
                del record["machines"][machine]

    def _renew(self) -> None:
        def change(record: Record) -> None:
            if (machine := record["machines"].get(self._id)) is not None:
                machine["renewed"] += 1

        while not self._stop_event.wait(self._seconds / 4):
            try:
                self._change(change)
            except Exception as error:  # noqa: BLE001 - the next renewal may succeed
                _logger().warning("a lease of the archive was not renewed: %s", type(error).__name__)

    def _read(self) -> tuple[str, Any]:
        try:
            output = obstore.get(self._bucket, _PATH)
        except FileNotFoundError:
            record: Record = {"number": 0, "machines": {}}
            self._last = json.dumps(record), "create"
        else:
            self._last = json.dumps(json.loads(bytes(output.bytes()))), {"e_tag": output.meta["e_tag"]}
        return self._last

    def _change(self, change: Callable[[Record], Any], *, is_read_again: bool = False) -> Any:
        """Apply a function to the object, after any other machine's change."""
        with self._lock:
            for attempt in range(_MAX_ATTEMPTS):
                # What was last seen suffices to replace it, as the put fails if it has changed.
                is_current = self._last is None
                before, mode = self._last or self._read()
                record = json.loads(before)
                result = change(record)
                after = json.dumps(record)
                if after == before:
                    if is_current or not is_read_again:
                        return result
                    self._last = None
                    continue
                self._last = None
                try:
                    output = obstore.put(self._bucket, _PATH, after.encode(), mode=mode)
                except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                    time.sleep(0.01 * min(attempt + 1, 20))
                else:
                    self._last = after, {"e_tag": output["e_tag"]}
                    return result
        raise TimeoutError(f"the leases of the archive changed {_MAX_ATTEMPTS} times while one was written")


def is_available(store: "Store") -> bool:
    """Return whether the archive is in a bucket, and obstore is installed."""
    return not store.is_local and find_spec("obstore") is not None


def leases(store: "Store") -> Leases | None:
    """Return the leases of an archive in a bucket, or `None` if it has none."""
    if not is_available(store):
        return None
    try:
        leases_of_store = Leases(store.bucket, store.settings.lease_seconds)
        leases_of_store.take([])
    except Exception as error:  # noqa: BLE001 - leases save requests; a sync is right without them
        _logger().warning(
            "the archive's bucket has no leases (%s): machines that sync at once may request the same",
            type(error).__name__,
        )
        return None
    return leases_of_store
