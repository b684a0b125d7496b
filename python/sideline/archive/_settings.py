"""How much a sync requests, holds and writes at once."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True)
class Settings:
    """The quantities of one archive, which its `Store` holds. They change neither rows nor promises.

    No user sets them: tests make them small.
    """

    max_step_units: int = 400
    max_step_bytes: int = 3 * _MIB
    """Units, or bytes of bodies, that are requested at once. Twice as many bodies are in memory as they were
    received."""

    min_chunk_units: int = 100
    """Units of the first chunk. A later one has half as many as were stored before, so a killed sync keeps most. A sync
    of no more units than a chunk may have is one chunk: each chunk rewrites a file of `coverage`, and opens every
    table."""

    max_chunk_units: int = 400
    max_chunk_bytes: int = 48 * _MIB
    """Units, or bytes of their bodies, from which on a step ends a chunk. A kill loses bodies that are not stored yet:
    up to two chunks, and the steps that are fetched and read."""

    compact_interval: int = 8
    """Chunks between two compactions. Each chunk has the list of each table's files in memory: they must stay few."""

    max_files: int = 12
    """Files in a partition, beyond which the newest ones are compacted."""

    kept_versions: int = 100
    """The last versions of each table that are kept. Delta Lake would keep each for a month, however many there are."""

    max_part_bytes: int = 6 * _MIB
    """Bytes of bodies that are added to `raw` at once. Writing them takes three times as much memory."""

    max_bytes_decoded: int = 1 * _MIB
    """Bytes of bodies whose rows of one table are in memory at once, unless one body has more."""

    max_write_attempts: int = 100
    """Attempts to store a chunk, of which each fails because another writer has changed the same rows."""

    max_row_group_bodies: int = 64
    """Bodies of a row group of `raw`."""

    max_kept_bytes: int = 4 * _MIB
    """Of small objects of a bucket, which a sync reads several times."""

    has_settled_entries: bool = True
    """Whether the rows of settled entries of lists stay in files. Without, a sync has each row in memory."""

    units_per_lease: int = 100
    """Number of units whose parts a machine leases at once."""

    lease_seconds: float = 60.0
    """A machine that has not renewed its leases for this long loses its parts."""
