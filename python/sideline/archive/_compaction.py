"""Compacts small files, and deletes files that nothing refers to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import _commits
from ._libraries import deltalake
from ._log_copy import CHECKPOINT_INTERVAL
from ._memory import trim
from ._plan import NO_MONTH
from ._schemas import MONTH
from ._store import MONTH_OF_FILE, Store, listed_files, name_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MIN_COMPACTED = 4
"""Newest files that are compacted whatever their size."""

_MAX_FILE_SIZE, _MAX_BODIES_FILE_SIZE = 128 * 1024 * 1024, 8 * 1024 * 1024
"""Bytes of a file that is not compacted."""

_MIN_FULL_VACUUM = timedelta(days=1)
"""Only a vacuum that retains at least this deletes uncommitted files: a writer may be about to commit younger ones."""


def compaction_size(sizes: Sequence[int], large: int, max_files: int) -> int | None:
    """Return the size below which files of a partition are compacted, or `None` if there are few.

    `sizes` begins with the newest file. An older file is left alone while it is larger than half of all newer ones, so
    that each row is rewritten only a few times in a season. Only neighbours can be compacted, so age counts, not size.
    """
    if len(sizes) <= max_files:
        return None
    total = 0
    for count, size in enumerate(sizes):
        if count >= _MIN_COMPACTED and 2 * size > total:
            break
        total += size
    return min(total + 1, large)


def compact(store: Store, names: Iterable[str]) -> None:
    """Compact small files where a partition has many. Commits of other writers take precedence."""
    for name in sorted(names):
        table = store.take(name)
        if table is None:
            continue
        if store.is_local:
            table.update_incremental()
        months = _sizes(table)
        large = _max_file_size(name)
        for month, sizes in months.items():
            size = compaction_size([size for size in sizes if size < large], large, store.settings.max_files)
            if size is None:
                continue
            # If another writer replaced one of the files, the next sync compacts them.
            with suppress(deltalake.exceptions.CommitFailedError):
                table = store.in_place(table)
                if not _compact(store, table, name, month, size):
                    _compact(store, table, name, month, large)
                for past in _past(name, months, month):
                    _compact(store, table, name, past, large)
        _clean_log(store, table)
        store.keep(table)


def _clean_log(store: Store, table: "DeltaTable") -> None:
    """Remove the entries of a table's log before the last versions, but for what these are read from."""
    first_kept = table.version() - store.settings.kept_versions
    # To list the log of a bucket and to remove entries takes requests.
    if not store.is_local and (
        store.logs is None or store.logs.oldest(name_of(table)) >= first_kept - CHECKPOINT_INTERVAL
    ):
        return
    entries = _commits.log(store, table)
    checkpoints = [number for number, path in entries if _commits.is_checkpoint(path)]
    base = last_kept = max((number for number in checkpoints if number <= first_kept), default=0)
    unneeded_checkpoints = set()
    # Readers begin with one of the last two. Those before are half of a log; a few suffice for its earlier versions.
    for number in checkpoints[:-2]:
        if base < number < last_kept + store.settings.kept_versions // 2:
            unneeded_checkpoints.add(number)
        else:
            last_kept = number
    paths = [
        path
        for number, path in entries
        if number < base or (number in unneeded_checkpoints and _commits.is_checkpoint(path))
    ]
    _commits.remove_log(store, table, paths)


def _past(name: str, months: Mapping[str | None, Sequence[int]], month: str | None) -> list[str]:
    """Return the months before this one with several files, which games of this month no longer change.

    Every commit reads what is known of every file, so that without it a sync takes longer each month. Bodies, which
    are half of the bytes, stay.
    """
    if name == "raw" or month is None or month == NO_MONTH:
        return []
    return [past for past, sizes in months.items() if past is not None and past[:7] < month[:7] and len(sizes) > 1]


def compact_all(store: Store, names: Iterable[str]) -> None:
    """Compact each partition's files up to the size beyond which compacting gains nothing, after other writers."""
    for name in names:
        for attempt in range(store.settings.max_write_attempts):
            table = store.open(name)
            months = {} if table is None else _sizes(table)
            try:
                for month, sizes in months.items():
                    if table is not None and len(sizes) > 1:
                        _compact(store, table, name, month, _max_file_size(name))
                break
            except deltalake.exceptions.CommitFailedError:
                store.wait(attempt)
        else:
            raise store.error_of_contention(name)


def _max_file_size(name: str) -> int:
    return _MAX_BODIES_FILE_SIZE if name == "raw" else _MAX_FILE_SIZE


def _compact(store: Store, table: "DeltaTable", name: str, month: str | None, size: int) -> bool:
    """Return whether any files were compacted."""
    if name == "raw" and store.can_add_files:
        return _compact_bodies(store, table, month, size)
    try:
        done = table.optimize.compact(
            partition_filters=None if month is None else [(MONTH, "=", month)],
            target_size=size,
            # Concurrent tasks would hold several files in memory.
            max_concurrent_tasks=1,
            writer_properties=store.writer_properties(name),
            commit_properties=store.commit_properties(name),
        )
    except deltalake.exceptions.CommitFailedError:
        raise
    except (deltalake.exceptions.DeltaError, OSError) as error:
        raise store.error_of_write(table, error) from None
    trim()
    return bool(done["numFilesRemoved"])


def _compact_bodies(store: Store, table: "DeltaTable", month: str | None, size: int) -> bool:
    """Compact files of bodies, of which deltalake would have all of several files in memory."""
    is_done = False
    group: list[Mapping[str, Any]] = []
    # The oldest first, and neighbours together.
    small = [
        file for file in reversed(listed_files(table)) if file[MONTH_OF_FILE] == month and file["size_bytes"] < size
    ]
    for file, following in zip(small, [*small[1:], None], strict=True):
        group.append(file)
        group_size = sum(member["size_bytes"] for member in group)
        if following is not None and group_size + following["size_bytes"] <= _MAX_BODIES_FILE_SIZE:
            continue
        if len(group) > 1:
            if not _commits.join_files(store, table, group):
                # Another writer was active: the next sync compacts them.
                return is_done
            table.update_incremental()
            is_done = True
        group = []
    trim()
    return is_done


def _sizes(table: "DeltaTable") -> dict[str | None, list[int]]:
    """Return the sizes of the files of each month, the newest first."""
    sizes: dict[str | None, list[int]] = defaultdict(list)
    for file in listed_files(table):
        sizes[file.get(MONTH_OF_FILE)].append(file["size_bytes"])
    return sizes


def vacuum(store: Store, names: Iterable[str], retain: timedelta) -> int:
    """Delete files that were replaced longer ago, including what a killed writer left. Returns their number."""
    hours = -(retain // timedelta(hours=-1))
    count = 0
    for name in names:
        if (table := store.open(name)) is not None:
            try:
                files = table.vacuum(
                    retention_hours=hours,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=retain >= _MIN_FULL_VACUUM,
                    commit_properties=store.commit_properties(name),
                )
            except (deltalake.exceptions.DeltaError, OSError) as error:
                raise store.error_of_write(table, error) from None
            count += len(files)
    return count
