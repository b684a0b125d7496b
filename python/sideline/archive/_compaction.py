"""Small files joined, and files that nothing refers to deleted."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sideline._frames import library
from sideline.archive._store import MONTH, Store, writing

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MOST_FILES = 12
"""In a partition; beyond it the newest ones are joined."""

_LEAST_JOINED = 4


_LARGE, _LARGE_OF_BODIES = 128 * 1024 * 1024, 8 * 1024 * 1024
"""Bytes of a file that is not joined with others. Bodies are joined in memory, where they are ten times as large."""

_FULL_VACUUM = timedelta(days=1)
"""Files that no commit names are deleted where nothing younger is: a writer may be about to commit them."""


def joined_size(sizes: Sequence[int], large: int = _LARGE) -> int | None:
    """Below which size to join a partition's files, the newest of which is the first; `None` where they are few.

    An older file is left alone while it weighs more than half of what is newer, so that in a season each row is
    rewritten a few times. Only neighbours can be joined, which is why age counts and not size.
    """
    if len(sizes) <= _MOST_FILES:
        return None
    joined = 0
    for count, size in enumerate(sizes):
        if count >= _LEAST_JOINED and 2 * size > joined:
            break
        joined += size
    return min(joined + 1, large)


def join(store: Store, names: Iterable[str]) -> None:
    """Join the small files of the tables, where a partition has more than a few. Another writer's commit goes first."""
    deltalake: Any = library("deltalake", "archive")
    for name in sorted(names):
        table = store.open(name)
        if table is None:
            continue
        for month, sizes in _sizes(table).items():
            large = _large(name)
            size = joined_size([size for size in sizes if size < large], large)
            if size is None:
                continue
            # Where another writer replaced one of them, the next sync joins them.
            with suppress(deltalake.exceptions.CommitFailedError):
                if not _join(store, table, month, size):
                    _join(store, table, month, large)


def join_all(store: Store, names: Iterable[str]) -> None:
    """Join each partition's files, up to a size at which joining gains nothing."""
    for name in names:
        if (table := store.open(name)) is not None:
            for month, sizes in _sizes(table).items():
                if len(sizes) > 1:
                    _join(store, table, month, _large(name))


def _large(name: str) -> int:
    return _LARGE_OF_BODIES if name == "raw" else _LARGE


def _join(store: Store, table: "DeltaTable", month: str | None, size: int) -> bool:
    """Whether any files could be joined."""
    deltalake: Any = library("deltalake", "archive")
    try:
        done = table.optimize.compact(
            partition_filters=None if month is None else [(MONTH, "=", month)],
            target_size=size,
            # One file after another: several at once are in memory.
            max_concurrent_tasks=1,
            writer_properties=writing(),
            commit_properties=store.commit_properties(),
        )
    except deltalake.exceptions.CommitFailedError:
        raise
    except (deltalake.exceptions.DeltaError, OSError) as error:
        raise store.explained(table, error) from None
    return bool(done["numFilesRemoved"])


def _sizes(table: "DeltaTable") -> dict[str | None, list[int]]:
    """The sizes of the files of each month, the newest first."""
    pa = library("pyarrow", "archive")
    sizes: dict[str | None, list[int]] = defaultdict(list)
    files = pa.table(table.get_add_actions(flatten=True))
    partition = f"partition.{MONTH}"
    months = files[partition].to_pylist() if partition in files.column_names else [None] * files.num_rows
    for month, size in zip(months, files["size_bytes"].to_pylist(), strict=True):
        sizes[month].append(size)
    return sizes


def mean_size(store: Store, name: str) -> int | None:
    """The bytes of a row in the table's files; `None` where there is none."""
    table = store.open(name)
    if table is None:
        return None
    files = library("pyarrow", "archive").table(table.get_add_actions(flatten=True))
    rows = sum(count or 0 for count in files["num_records"].to_pylist())
    return sum(files["size_bytes"].to_pylist()) // rows if rows else None


def vacuum(store: Store, names: Iterable[str], retain: timedelta) -> int:
    """Delete files that were replaced longer ago; the result is how many. What a kill left goes with them."""
    deltalake: Any = library("deltalake", "archive")
    hours = -(retain // timedelta(hours=-1))
    deleted = 0
    for name in names:
        if (table := store.open(name)) is not None:
            try:
                gone = table.vacuum(
                    retention_hours=hours,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=retain >= _FULL_VACUUM,
                    commit_properties=store.commit_properties(),
                )
            except (deltalake.exceptions.DeltaError, OSError) as error:
                raise store.explained(table, error) from None
            deleted += len(gone)
    return deleted
