"""Turns rows of an archive into rows that another database can hold."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._libraries import pa, pc

_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999 in epoch microseconds."""

_US_PER_UNIT = {"ms": 1_000, "us": 1}

_NUL_IN_JSON = r"(?:^|[^\\])(?:\\\\)*\\u0000"
"""The escape of a NUL, but not an escaped backslash before `u0000`."""

_MAX_NAME_BYTES = 63
"""PostgreSQL cuts longer names."""

MAX_COLUMNS = 900
"""Columns of a table in PostgreSQL, which stores no row of a thousand numbers, each of which has 8 of 8,160 bytes."""

_MAX_INDEXED_BYTES = 600
"""Of a text: an entry of an index of PostgreSQL has at most 2,704 bytes, and a primary key up to three texts."""

_SYSTEM_COLUMNS = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid"}
"""Columns that each table of PostgreSQL has."""

Report = Callable[[str, str, int], None]
"""Takes the table or column of which the target could not hold something, what that is, and its number of values."""


def column_problem(name: str, *, is_postgresql: bool) -> str | None:
    """Return why the target cannot have a column of this name; `None` if it can."""
    if not name:
        return "an empty name"
    if "\0" in name:
        return "a NUL in its name"
    if is_postgresql and len(name.encode()) > _MAX_NAME_BYTES:
        return f"a name of more than {_MAX_NAME_BYTES} bytes"
    if is_postgresql and name.lower() in _SYSTEM_COLUMNS:
        return "the name of a system column"
    return None


def deliverable(table: str, rows: "pa.Table", report: Report, *, is_postgresql: bool) -> "pa.Table":
    """Return rows with microseconds, strings for dictionaries and JSON for nested values.

    A value that the target cannot hold is null, and a column that it cannot hold is left out; each is reported.
    """
    columns, names = {}, set()
    for field in rows.schema:
        problem = column_problem(field.name, is_postgresql=is_postgresql)
        # DuckDB does not distinguish upper and lower case.
        if problem is None and not is_postgresql and field.name.lower() in names:
            problem = "the name of another column but for upper and lower case"
        if problem is not None:
            report(table, f"the column {field.name[:80]!r} has {problem}, and is left out", 0)
            continue
        names.add(field.name.lower())
        name = f"{table}.{field.name}"
        columns[field.name] = _convert(rows[field.name], name, report, is_postgresql=is_postgresql)
    return pa.table(columns)


def _convert(column: Any, name: str, report: Report, *, is_postgresql: bool) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        numbers, per_unit = column.cast(pa.int64()), _US_PER_UNIT[column.type.unit]
        is_odd = pc.or_(pc.less(numbers, _FIRST_US // per_unit), pc.greater(numbers, _LAST_US // per_unit))
        column = _null_where(column, is_odd, name, "outside the years 1 to 9999", report)
        return column.cast(pa.timestamp("us", column.type.tz))
    is_nested = pa.types.is_nested(column.type)
    if is_nested:
        column = pa.chunked_array([pa.array(_json_texts(column), pa.string())])
    if is_postgresql and pa.types.is_string(column.type):
        is_odd = pc.match_substring_regex(column, _NUL_IN_JSON if is_nested else "\\x00")
        column = _null_where(column, is_odd, name, "with a NUL", report)
    return column.cast(pa.json_(pa.string())) if is_nested else column


def _null_where(column: Any, is_odd: Any, name: str, problem: str, report: Report) -> Any:
    count = pc.sum(is_odd).as_py()
    if not count:
        return column
    report(name, f"{problem}, null in the target", count)
    return pc.if_else(is_odd, pa.scalar(None, column.type), column)


def sentence(name: str, problem: str, count: int) -> str:
    """Return what was reported as text."""
    values = f"{count} value{'s' * (count != 1)} " if count else ""
    return f"{name}: {values}{problem}"


def _json_texts(column: Any) -> Iterator[str | None]:
    is_map = pa.types.is_map(column.type)
    for value in column.to_pylist():
        plain = dict(value) if is_map and value is not None else value
        yield None if plain is None else json.dumps(plain, ensure_ascii=False)


def is_long(column: Any) -> bool:
    """Return whether an index of PostgreSQL may refuse a value of a column."""
    return pa.types.is_string(column.type) and (pc.max(pc.binary_length(column)).as_py() or 0) > _MAX_INDEXED_BYTES


def key_problem(rows: "pa.Table", key: Iterable[str]) -> str | None:
    """Return why the columns are no primary key of the rows; `None` if they are one."""
    key_columns = rows.select(list(key))
    if any(column.null_count for column in key_columns.columns):
        return "a part of it is null"
    if any(map(is_long, key_columns.columns)):
        return "a value is too long for an index"
    if key_columns.group_by(key_columns.column_names).aggregate([]).num_rows < rows.num_rows:
        return "several rows have the same"
    return None
