"""The archive as of a time."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from .._client import ArchiveTable
from ._decode import decode_tables
from ._libraries import pa, pl
from ._plan import RESOURCES, TABLES
from ._read import bodies, check_bodies, check_name, conform, names_damage, scan, unit_of_body, with_public_types
from ._rosters import history
from ._schemas import public_schema
from ._store import Store


class AsOf:
    """The archive as of a time; see `Archive.as_of`."""

    def __init__(self, store: Store, when: datetime) -> None:
        self._store = store
        self.when = when
        """Data stored up to this time is visible."""

    @names_damage
    def scan(self, name: ArchiveTable) -> "pl.LazyFrame":
        """Return a table as it was at that time, as a polars LazyFrame.

        Rows that changed since are decoded from the stored bodies; the others are read from the table.

        >>> import datetime
        >>> archive.as_of(datetime.datetime.now(datetime.UTC)).scan("events").collect().height == games
        True
        """
        if check_name(name) == "corrections":
            return scan(self._store, name).filter(pl.col("seen_at") <= self.when)
        if name not in TABLES:
            raise ValueError(f"{name} describes only the current archive; tables with a past: {', '.join(TABLES)}")
        check_bodies(self._store, name)
        frame = scan(self._store, name)
        changed_ids, sequences = self._changed_bodies(name)
        if not changed_ids:
            return frame
        key = next(resource.key for resource in RESOURCES.values() if name in resource.tables)
        unchanged_rows = frame.filter(
            ~pl.col(key).is_in(pl.Series(list(changed_ids)).cast(frame.collect_schema()[key]).implode())
        )
        parts = [pl.DataFrame(rows).lazy() for rows in self._decode_bodies(name, sequences)]
        return pl.concat([unchanged_rows, *(with_public_types(part, name) for part in parts)], how="diagonal")

    @names_damage
    def to_arrow(self, name: ArchiveTable) -> "pa.Table":
        """Return a table as it was at that time, as a `pyarrow.Table`."""
        return conform(self.scan(name).collect().to_arrow(), public_schema(name))

    def _changed_bodies(self, name: str) -> tuple[set[str], dict[str, int]]:
        """Return the ids whose body has changed, and for each of their units the sequence of its body at that time."""
        operations = {operation for operation, resource in RESOURCES.items() if name in resource.tables}
        ids: dict[str, str] = {}
        sequences: dict[str, int] = {}
        last: dict[str, int] = {}
        for row in bodies(self._store, columns=("unit", "operation", "id", "sequence", "status", "stored_at")):
            if row["operation"] not in operations or row["status"] == "undecodable":
                continue
            unit, sequence = row["unit"], row["sequence"]
            ids[unit] = row["id"]
            last[unit] = max(sequence, last.get(unit, 0))
            if row["stored_at"] <= self.when:
                sequences[unit] = max(sequence, sequences.get(unit, 0))
        changed_units = {unit for unit in last if sequences.get(unit) != last[unit]}
        return {ids[unit] for unit in changed_units}, {
            unit: sequence for unit, sequence in sequences.items() if unit in changed_units
        }

    def _decode_bodies(self, name: str, sequences: Mapping[str, int]) -> "Iterator[pa.Table]":
        for row in bodies(self._store, entries=[f"{unit}#{sequence}" for unit, sequence in sequences.items()]):
            if name == "players":
                yield history(self._store, [row["unit"]], row["sequence"])
            elif row["body"] is not None:
                yield decode_tables(unit_of_body(row), row["body"])[name]
