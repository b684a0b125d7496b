"""Converts rows to the types that Delta Lake has, and refuses what cannot be stored and read again."""

import re
from collections.abc import Sequence

from ._libraries import pa, pc
from ._schemas import CHANGE, MONTH

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_MIN_TIME, _MAX_TIME = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, the range of `datetime`, in seconds of the epoch."""

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def to_storage_types(table: "pa.Table") -> "pa.Table":
    """Convert to the types of Delta Lake: microseconds, no dictionaries, all columns nullable.

    Raises `ValueError` for a time or a column name that cannot be stored and read again.
    """
    check_names(table.column_names)
    check_times(table)
    return table.cast(pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema]))


def check_names(columns: Sequence[str]) -> None:
    """Raise `ValueError` for a column name that cannot be stored and read again."""
    if len({name.lower() for name in columns}) < len(columns):
        raise ValueError("two columns have names that differ only in case")
    for name in columns:
        if _CONTROL.search(name):
            raise ValueError(f"a column is named {name[:80]!r}, with a control character")
        if name.lower() in (MONTH, CHANGE):
            raise ValueError(f"a column is named {name!r}, as one of the archive's own")


def check_times(table: "pa.Table") -> None:
    """Raise `ValueError` for a time that cannot be stored and read again."""
    for field in table.schema:
        if not pa.types.is_timestamp(field.type):
            continue
        ends = pc.min_max(table[field.name])
        first, last = ends["min"].value, ends["max"].value
        second = _PER_SECOND[field.type.unit]
        if first is not None and (first // second < _MIN_TIME or last // second > _MAX_TIME):
            raise ValueError(f"{field.name} has a time outside the years 1 to 9999")


def _plain(kind: "pa.DataType") -> "pa.DataType":
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
